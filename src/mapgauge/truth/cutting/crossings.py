"""Merges pedestrian crossings that a map draws as several polygons. Each repository merges them differently.

As in the repositories, merging happens after cutting at the edge of the region, in the coordinates of the frame. So
bounding boxes are aligned with the frame, and the long side is that of the visible part of a crossing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from mapgauge.truth.cutting.polygons import ElementIds, Merge
from mapgauge.truth.cutting.rectangles import rectangle_sides
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, polygons_in, shapely_module
from mapgauge.truth.rules import MergeName

PARALLEL = 0.01  # largest 1 - |cos| of two parallel sides: about 8 degrees
COMPACT = 0.8  # smallest share of the convex hull that a merged crossing fills
SMALL = 20.0  # square metres; a smaller crossing is dropped if another covers it
LEAST = 1.0  # square metres; a smaller crossing is always dropped


def merge_parallel(polygons: Geometries, ids: ElementIds) -> tuple[Geometries, ElementIds]:
    """Merge each polygon with all later ones that are parallel to it and whose bounding boxes meet its own."""
    return _merge(polygons, ids)


def merge_touching(polygons: Geometries, ids: ElementIds) -> tuple[Geometries, ElementIds]:
    """Merge all polygons that touch."""
    shapely = shapely_module()
    parts, _ = polygons_in(np.array([shapely.union_all(polygons)], object))
    source, part = shapely.STRtree(parts).query(polygons, predicate="intersects")
    return parts, [
        tuple(sorted({name for i in source[part == k].tolist() for name in ids[i]})) for k in range(len(parts))
    ]


def merge_compact(polygons: Geometries, ids: ElementIds) -> tuple[Geometries, ElementIds]:
    """Merge parallel polygons whose union nearly fills its convex hull, and drop small leftovers.

    It goes twice through the polygons, from the largest to the smallest. The second time, only small polygons are
    merged into others, along either of their sides.
    """
    shapely = shapely_module()
    polygons, ids = _merge(*_largest_first(polygons, ids), compact=True)
    polygons, ids = _merge(*_largest_first(polygons, ids), compact=True, small=True)
    polygons, ids = _largest_first(polygons, ids)
    area = shapely.area(polygons)
    kept: list[int] = []
    for k in np.flatnonzero(area >= LEAST).tolist():
        if area[k] >= SMALL or not shapely.covers(polygons[kept], polygons[k]).any():
            kept.append(k)
    return polygons[kept], [ids[k] for k in kept]


def _largest_first(polygons: Geometries, ids: ElementIds) -> tuple[Geometries, ElementIds]:
    order = np.argsort(-shapely_module().area(polygons), kind="stable")
    return polygons[order], [ids[k] for k in order.tolist()]


def _merge(
    polygons: Geometries, ids: ElementIds, *, compact: bool = False, small: bool = False
) -> tuple[Geometries, ElementIds]:
    """Merge parallel polygons one after the other; with ``small``, only small ones are merged into others."""
    shapely = shapely_module()
    boxes = shapely.bounds(polygons)
    meets = (boxes[:, None, :2] <= boxes[None, :, 2:]).all(axis=2)
    meets &= meets.T
    meets &= np.arange(len(polygons))[:, None] < np.arange(len(polygons))  # each with later ones only
    if small:
        meets &= shapely.area(polygons) < SMALL
    if not meets.any():
        return polygons, ids
    sides = rectangle_sides(polygons)
    alike = 1 - np.abs(np.einsum("ik,jsk->ijs", sides[:, 0], sides if small else sides[:, :1])) < PARALLEL
    meets &= alike.any(axis=2)
    free = np.ones(len(polygons), np.bool_)
    merged: list[Any] = []
    merged_ids: ElementIds = []
    for i, one in enumerate(polygons):
        if not free[i]:
            continue
        elements = set(ids[i])
        for j in np.flatnonzero(meets[i] & free).tolist():
            both = shapely.union(one, polygons[j])
            if compact and shapely.area(both) <= COMPACT * shapely.area(shapely.convex_hull(both)):
                continue
            one, free[j] = both, False
            elements |= set(ids[j])
        merged.append(one)
        merged_ids.append(tuple(sorted(elements)))
    parts, owner = polygons_in(as_geometries(merged))  # bounding boxes may meet where polygons do not
    return parts, [merged_ids[k] for k in owner.tolist()]


MERGES: Mapping[MergeName, Merge] = {
    "parallel": merge_parallel,
    "union": merge_touching,
    "parallel-compact": merge_compact,
}
