"""Cuts polygons at the edges of patches."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines
from mapgauge.truth.cutting.fragments import Fragment
from mapgauge.truth.cutting.layers import Layer
from mapgauge.truth.cutting.patches import Patches, outside
from mapgauge.truth.cutting.shapes import Geometries, polygons_in, shapely_module
from mapgauge.typing import Bounds, Indices, Points

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
