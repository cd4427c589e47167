"""Cuts lines and polygons by the patch of a frame."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.truth.cutting.layers import Layer
from mapgauge.truth.cutting.shapes import Geometries, Patches, outside, polygons_in, shapely_module, simplify
from mapgauge.typing import Bounds, Indices, Points


class Fragment(NamedTuple):
    """The part of a map element that a patch shows, or of several elements that were merged."""

    points: Points  # (n, 2) or (n, 3), metres, x forward, y to the left; a polygon repeats its first point as its last
    elements: tuple[str, ...]  # ids of the elements, sorted
    along: tuple[float, float] = (0.0, 1.0)  # start and stop along the element, metres; (0, 1) for a polygon
    period: float = 0.0  # length of a closed element, where ``along`` may continue past its start; 0 if it is open


def simplify_fragments(fragments: list[list[Fragment]], tolerance: float) -> list[list[Fragment]]:
    """Simplify the fragments of every patch to a tolerance in metres."""
    flat = [fragment for group in fragments for fragment in group]
    if not flat or tolerance <= 0:
        return fragments
    shapely = shapely_module()
    coords = np.concatenate([fragment.points for fragment in flat])
    owner = np.repeat(np.arange(len(flat)), [len(fragment.points) for fragment in flat])
    lines = simplify(shapely.linestrings(coords, indices=owner), tolerance)
    left, owner = shapely.get_coordinates(lines, include_z=coords.shape[1] > 2, return_index=True)
    ends = np.searchsorted(owner, np.arange(len(flat) + 1)).tolist()
    shorter = (fragment._replace(points=left[ends[k] : ends[k + 1]]) for k, fragment in enumerate(flat))
    return [[next(shorter) for _ in group] for group in fragments]


def cut_lines(layer: Layer, patches: Patches, *, grow: float = 0.0) -> list[list[Fragment]]:
    """Return the fragments of lines in each patch. A line that leaves a patch and comes back gives several.

    Args:
        layer: Open or closed lines. A closed line is cut at the edge of the patch only, not at its first point.
        patches: Where to cut.
        grow: Metres by which each side of a patch is moved outwards before cutting.
    """
    fragments: list[list[Fragment]] = [[] for _ in range(len(patches))]
    if not len(layer):
        return fragments
    lines = layer.lines
    patch, line, begin, end = lines.near(patches, grow)
    bounds = patches.bounds(grow)
    sizes = end - begin + 1
    for k in np.flatnonzero(lines.closed[line] & (sizes == lines.steps[line] + 1)).tolist():
        # The range is a whole closed line. Start it at a point outside, so that no fragment contains the start.
        local = patches.to_local(lines.coords[begin[k] : end[k] + 1], np.repeat(patch[k], sizes[k]))
        begin[k] += int(outside(local, bounds).argmax())
    points = ranges(begin, sizes)
    local = patches.to_local(lines.coords[points], np.repeat(patch, sizes))
    # The distance along the line is a third coordinate, which cropping interpolates.
    with_length = Polylines(np.column_stack([local, lines.along[points]]), np.concatenate([[0], sizes]).cumsum())
    cropped, sources = crop_polylines(with_length, bounds)
    periods = np.where(lines.closed, lines.length, 0.0)[line].tolist()
    patch_of, line_of = patch.tolist(), line.tolist()
    for part, k in zip(cropped, sources.tolist(), strict=True):
        along = float(part[0, -1]), float(part[-1, -1])
        fragments[patch_of[k]].append(Fragment(part[:, :-1], (layer.ids[line_of[k]],), along, periods[k]))
    return fragments


ElementIds: TypeAlias = list[tuple[str, ...]]  # (n,): for each of n polygons, the sorted ids of its map elements
Merge: TypeAlias = Callable[[Geometries, ElementIds], tuple[Geometries, ElementIds]]


class Crossings(NamedTuple):
    """The crossings of many frames, or other polygons."""

    polygons: Geometries  # (n,)
    ids: ElementIds  # (n,)
    frame: Indices  # (n,), sorted

    def take(self, chosen: Indices) -> "Crossings":
        """Return some of the crossings, in the given order."""
        return Crossings(self.polygons[chosen], [self.ids[k] for k in chosen.tolist()], self.frame[chosen])

    def parts(self) -> "Crossings":
        """Return the single polygons of multipolygons."""
        parts, owner = polygons_in(self.polygons)
        return Crossings(parts, [self.ids[k] for k in owner.tolist()], self.frame[owner])


FrameMerge: TypeAlias = Callable[[Crossings], Crossings]


def cut_polygons(
    layer: Layer,
    patches: Patches,
    *,
    merge: FrameMerge | None = None,
    clockwise: bool = False,
    holes: bool = False,
    open_at: float | None = None,
) -> list[list[Fragment]]:
    """Return the outlines of polygons in each patch, after the polygons were cut at its edge.

    Args:
        layer: Polygons.
        patches: Where to cut.
        merge: Merges the polygons of each patch after cutting.
        clockwise: The direction of outlines, seen from above. Holes run the other way.
        holes: Whether holes become fragments as well. Otherwise they are dropped.
        open_at: None keeps outlines closed; where a polygon was cut, its outline follows the edge of the patch. A
            number cuts the outlines again, at the edge of the patch moved outwards by so many metres. With a negative
            number, an outline is open where it leaves the patch.
    """
    fragments: list[list[Fragment]] = [[] for _ in range(len(patches))]
    if not len(layer):
        return fragments
    shapely = shapely_module()
    patch, near = layer.near(patches)
    owner = np.repeat(patch, shapely.get_num_coordinates(layer.geometries[near]))
    polygons = shapely.transform(layer.geometries[near], lambda coords: patches.to_local(coords, owner))
    bounds = patches.bounds()
    corners = shapely.bounds(polygons)
    crossing = (corners[:, :2] < bounds[:2]).any(axis=1) | (corners[:, 2:] > bounds[2:]).any(axis=1)
    polygons[crossing] = shapely.intersection(polygons[crossing], shapely.box(*bounds))
    polygons, owners = polygons_in(polygons)
    shown = Crossings(polygons, [(layer.ids[i],) for i in near[owners].tolist()], patch[owners])
    if merge is not None:
        shown = merge(shown)
    found = [
        (k, Fragment(points, elements))
        for polygon, elements, k in zip(shown.polygons, shown.ids, shown.frame.tolist(), strict=True)
        for points in _outlines(polygon, clockwise, holes)
    ]
    for k, fragment in found if open_at is None else _open(found, patches.bounds(open_at)):
        fragments[k].append(fragment)
    return fragments


def _outlines(polygon: Any, clockwise: bool, holes: bool) -> list[Points]:
    shapely = shapely_module()
    rings = [(shapely.get_exterior_ring(polygon), clockwise)]
    if holes:
        rings += [(ring, not clockwise) for ring in polygon.interiors]
    found = []
    for ring, turns_right in rings:
        points = shapely.get_coordinates(ring)
        found.append(points if shapely.is_ccw(ring) != turns_right else np.ascontiguousarray(points[::-1]))
    return found


def _open(found: list[tuple[int, Fragment]], bounds: Bounds) -> list[tuple[int, Fragment]]:
    """Return the parts of closed lines inside the bounds. A line that does not leave them stays closed."""
    if not found:
        return []
    turned = []
    for _, fragment in found:
        start = int(outside(fragment.points, bounds).argmax())  # so that no part contains the start of the line
        turned.append(np.concatenate([fragment.points[start:-1], fragment.points[: start + 1]]))
    lines = Polylines(np.concatenate(turned), np.cumsum([0, *map(len, turned)]))
    arcs, sources = crop_polylines(lines, bounds)
    return [(found[i][0], found[i][1]._replace(points=arc)) for arc, i in zip(arcs, sources.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class RingPlaces:
    """The edges of the union of a whole map.

    A union for one frame may differ from it: rounding can open slits between polygons that touch. So a boundary of a
    frame is named after the closed line nearest to its middle. Only names and tracks depend on this.
    """

    rings: Layer

    def fragments(self, points: Sequence[Points], lines: Geometries) -> list[Fragment]:
        """Return boundaries as fragments.

        Args:
            points: The points of each boundary, in the coordinates of its frame.
            lines: The same boundaries in map coordinates.
        """
        if not len(lines):
            return []
        shapely = shapely_module()
        middle = shapely.line_interpolate_point(lines, 0.5, normalized=True)
        which, nearest = self.rings.tree.query_nearest(middle, all_matches=False)
        order = np.argsort(which)
        ring = nearest[order]
        geometries = self.rings.geometries[ring]
        at, half = shapely.line_locate_point(geometries, middle), shapely.length(lines) / 2
        period = shapely.length(geometries)
        return [
            Fragment(one, (self.rings.ids[k],), (float(at[i] - half[i]), float(at[i] + half[i])), float(period[i]))
            for i, (one, k) in enumerate(zip(points, ring.tolist(), strict=True))
        ]
