"""Fragments are the parts of map elements that frames show. Cuts layers into fragments, and names fragments."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import shapely

from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.truth.cutting import shapes
from mapgauge.truth.cutting.crossings import MERGES, Crossings
from mapgauge.truth.cutting.shapes import Geometries
from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Bounds, Points


class Fragment(NamedTuple):
    """The part of a map element that a patch shows, or of several elements that were merged."""

    points: Points  # (n, 2) or (n, 3), metres, x forward, y to the left; a polygon repeats its first point as its last
    elements: tuple[str, ...]  # ids of the elements, sorted
    along: tuple[float, float] = (0.0, 1.0)  # start and stop along the element, metres; (0, 1) for a polygon
    period: float = 0.0  # length of a closed element, where ``along`` may continue past its start; 0 if it is open


def by_frame(count: int, fragments: Iterable[tuple[int, Fragment]]) -> list[list[Fragment]]:
    """Return the fragments of each of ``count`` frames, in the given order."""
    groups: list[list[Fragment]] = [[] for _ in range(count)]
    for frame, fragment in fragments:
        groups[frame].append(fragment)
    return groups


def simplify_fragments(fragments: list[list[Fragment]], tolerance: float) -> list[list[Fragment]]:
    """Simplify the fragments of every patch to a tolerance in metres."""
    flat = [fragment for group in fragments for fragment in group]
    if not flat or tolerance <= 0:
        return fragments
    coords = np.concatenate([fragment.points for fragment in flat])
    owner = np.repeat(np.arange(len(flat)), [len(fragment.points) for fragment in flat])
    lines = shapes.simplify(shapely.linestrings(coords, indices=owner), tolerance)
    left, owner = shapely.get_coordinates(lines, include_z=coords.shape[1] > 2, return_index=True)
    rows = shapes.frame_slices(owner, len(flat))
    shorter = (fragment._replace(points=left[some]) for fragment, some in zip(flat, rows, strict=True))
    return [[next(shorter) for _ in group] for group in fragments]


def cut_lines(
    layer: shapes.Layer, patches: shapes.Patches, *, grow: float = 0.0, shortest: float = 0.0
) -> list[list[Fragment]]:
    """Return the fragments of lines in each patch, whose sides are moved outwards by ``grow`` metres.

    Fragments below ``shortest`` metres are left out.
    """
    if not len(layer):
        return by_frame(len(patches), [])
    lines = layer.lines
    patch, line, begin, end = lines.near(patches, grow)
    bounds = patches.bounds(grow)
    sizes = end - begin + 1
    for k in np.flatnonzero(lines.closed[line] & (sizes == lines.steps[line] + 1)).tolist():
        # The range is a whole closed line. Start it at a point shapes.outside, so that no fragment contains the start.
        local = patches.to_local(lines.coords[begin[k] : end[k] + 1], np.repeat(patch[k], sizes[k]))
        begin[k] += int(shapes.outside(local, bounds).argmax())
    points = ranges(begin, sizes)
    local = patches.to_local(lines.coords[points], np.repeat(patch, sizes))
    # The distance along the line is a third coordinate, which cropping interpolates.
    with_length = Polylines(np.column_stack([local, lines.along[points]]), np.concatenate([[0], sizes]).cumsum())
    cropped, sources = crop_polylines(with_length, bounds)
    periods = np.where(lines.closed, lines.length, 0.0)[line].tolist()
    patch_of = patch.tolist()
    line_of = line.tolist()
    fragments = []
    for part, k in zip(cropped, sources.tolist(), strict=True):
        start, stop = part[[0, -1], -1].tolist()
        if stop - start >= shortest:
            fragments.append(
                (patch_of[k], Fragment(part[:, :-1], (layer.ids[line_of[k]],), (start, stop), period=periods[k]))
            )
    return by_frame(len(patches), fragments)


def cut_polygons(layer: shapes.Layer, patches: shapes.Patches, rules: TruthRules) -> list[list[Fragment]]:
    """Return the outlines of crossings in each patch, after the polygons were cut at its edge and merged."""
    if not len(layer):
        return by_frame(len(patches), [])
    patch, near = shapes.query_index(layer.tree, patches.rectangles())
    owner = np.repeat(patch, shapely.get_num_coordinates(layer.geometries[near]))
    polygons = shapely.transform(layer.geometries[near], lambda coords: patches.to_local(coords, owner))
    bounds = patches.bounds()
    corners = shapely.bounds(polygons)
    crossing = (corners[:, :2] < bounds[:2]).any(axis=1) | (corners[:, 2:] > bounds[2:]).any(axis=1)
    crossing |= rules.crossing_merge == "none"  # all, so that their outlines begin where those of cut polygons do
    polygons[crossing] = shapely.intersection(polygons[crossing], shapely.box(*bounds))
    polygons, owners = shapes.polygons_in(polygons)
    shown = Crossings(polygons, [(layer.ids[i],) for i in near[owners].tolist()], patch[owners])
    shown = MERGES[rules.crossing_merge](shown)
    if rules.crossing_least:
        shown = shown.take(np.flatnonzero(shapely.area(shown.polygons) >= rules.crossing_least))
    rings, polygon = shapes.rings_in(shown.polygons, clockwise=rules.crossing_clockwise, holes=rules.crossing_holes)
    order = np.argsort(polygon, kind="stable")  # the holes of a polygon follow its outline
    fragments = [
        (int(shown.frame[k]), Fragment(shapely.get_coordinates(ring), shown.ids[k]))
        for ring, k in zip(rings[order], polygon[order].tolist(), strict=True)
    ]
    if rules.crossing_cut is not None:
        fragments = _open(fragments, patches.bounds(rules.crossing_cut))
    return by_frame(len(patches), fragments)


def _open(fragments: list[tuple[int, Fragment]], bounds: Bounds) -> list[tuple[int, Fragment]]:
    """Return the parts of closed lines inside the bounds. A line that does not leave them stays closed."""
    if not fragments:
        return []
    turned = []
    for _, fragment in fragments:
        start = int(shapes.outside(fragment.points, bounds).argmax())  # so that no part contains the start of the line
        turned.append(np.concatenate([fragment.points[start:-1], fragment.points[: start + 1]]))
    arcs, sources = crop_polylines(Polylines(np.concatenate(turned), np.cumsum([0, *map(len, turned)])), bounds)
    chosen = [fragments[i] for i in sources.tolist()]
    return [(frame, fragment._replace(points=arc)) for arc, (frame, fragment) in zip(arcs, chosen, strict=True)]


def name_boundaries(rings: shapes.Layer, points: Sequence[Points], lines: Geometries) -> list[Fragment]:
    """Return boundaries of frames as fragments of the closed lines around the union of a whole map.

    A boundary is named after the closed line nearest to its middle, because rounding can open slits between polygons
    that touch. ``points`` are in the coordinates of the frames, ``lines`` the same boundaries in map coordinates.
    """
    if not len(lines):
        return []
    middle = shapely.line_interpolate_point(lines, 0.5, normalized=True)
    which, nearest = rings.tree.query_nearest(middle, all_matches=False)
    ring = nearest[np.argsort(which)]
    geometries = rings.geometries[ring]
    at = shapely.line_locate_point(geometries, middle)
    half = shapely.length(lines) / 2
    period = shapely.length(geometries)
    return [
        Fragment(line, (rings.ids[k],), (float(at[i] - half[i]), float(at[i] + half[i])), period=float(period[i]))
        for i, (line, k) in enumerate(zip(points, ring.tolist(), strict=True))
    ]


class Tracker:
    """Names the fragments of one class, one frame of a scene after the other."""

    def __init__(self) -> None:
        """Start a scene."""
        self._seen: dict[str, dict[str, tuple[float, float]]] = {}  # element -> name -> where it was last seen
        self._names: set[str] = set()

    def names(self, fragments: Sequence[Fragment]) -> list[str]:
        """Return a name for each fragment of the next frame."""
        claims: dict[tuple[int, str], float] = {}  # over all elements that a fragment and a name have in common
        for k, fragment in enumerate(fragments):
            for element in fragment.elements:
                for name, along in self._seen.get(element, {}).items():
                    claims[k, name] = claims.get((k, name), 0.0) + _overlap(fragment, along)
        known: dict[int, str] = {}
        for (k, name), overlap in sorted(claims.items(), key=lambda claim: (-claim[1], claim[0])):
            if overlap > 0 and k not in known and name not in known.values():
                known[k] = name
        names = [known[k] if k in known else self._new(part.elements[0]) for k, part in enumerate(fragments)]
        for name, fragment in zip(names, fragments, strict=True):
            for element in fragment.elements:
                self._seen.setdefault(element, {})[name] = fragment.along
        return names

    def _new(self, element: str) -> str:
        name = element
        number = 0
        while name in self._names:
            number += 1
            name = f"{element}#{number}"
        self._names.add(name)
        return name


def _overlap(fragment: Fragment, along: tuple[float, float]) -> float:
    """Metres that a fragment and an interval have in common, also across the start of a closed element."""
    start, stop = fragment.along
    laps = [0.0]
    if fragment.period:
        laps = [-fragment.period, 0.0, fragment.period]
    return sum(max(0.0, min(stop + lap, along[1]) - max(start + lap, along[0])) for lap in laps)
