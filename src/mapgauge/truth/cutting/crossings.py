"""Merges pedestrian crossings that a map draws as several polygons. Each repository merges them differently.

As in the repositories, merging happens after cutting at the edge of the region, in the coordinates of the frame. So
bounding boxes are aligned with the frame, and the long side is that of the visible part of a crossing.
"""

from collections.abc import Mapping
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from mapgauge.truth.cutting.polygons import ElementIds, Merge
from mapgauge.truth.cutting.rectangles import rectangle_sides
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, polygons_in, shapely_module
from mapgauge.truth.rules import MergeName
from mapgauge.typing import Flags

PARALLEL = 0.01  # largest 1 - |cos| of two parallel sides: about 8 degrees
ALIGNED = 0.001  # the same for the rectangles around a polygon and around its union with another: about 2.6 degrees
COMPACT = 0.8  # smallest share of the convex hull that a merged crossing fills
SMALL = 20.0  # square metres; a smaller crossing is dropped if another covers it
LEAST = 1.0  # square metres; a smaller crossing is always dropped


def merge_parallel(polygons: Geometries, ids: ElementIds) -> tuple[Geometries, ElementIds]:
    """Merge each polygon with all later ones that are parallel to it and whose bounding boxes meet its own."""
    merged, merged_ids = _grouped(polygons, ids, _boxes_meet(polygons) & _parallel(polygons))
    parts, owner = polygons_in(merged)  # bounding boxes may meet where polygons do not
    return parts, [merged_ids[k] for k in owner.tolist()]


def merge_touching(polygons: Geometries, ids: ElementIds) -> tuple[Geometries, ElementIds]:
    """Merge all polygons that touch."""
    shapely = shapely_module()
    parts, _ = polygons_in(np.array([shapely.union_all(polygons)], object))
    source, part = shapely.STRtree(parts).query(polygons, predicate="intersects")
    return parts, [
        tuple(sorted({name for i in source[part == k].tolist() for name in ids[i]})) for k in range(len(parts))
    ]


def merge_compact(polygons: Geometries, ids: ElementIds) -> tuple[Geometries, ElementIds]:
    """Merge parallel polygons whose union nearly fills its convex hull, in two passes, and drop small leftovers.

    The first pass goes from the largest polygon to the smallest: it merges those whose boxes meet, whose long sides are
    parallel and whose union is compact. The second pass goes through the groups in the same order and merges each with
    smaller ones, if the rectangle around the union has the directions of the rectangle around the larger and the union
    is compact. Both passes test a polygon as it was before the pass, not the group that it has become.
    """
    shapely = shapely_module()
    order = np.argsort(-shapely.area(polygons), kind="stable")
    polygons, ids = polygons[order], [ids[k] for k in order.tolist()]
    alike = _boxes_meet(polygons) & _parallel(polygons)
    polygons, ids = _grouped(polygons, ids, _compact(polygons, alike)[0])
    area = shapely.area(polygons)
    smaller = _boxes_meet(polygons) & (area[None, :] < area[:, None])
    smaller, unions = _compact(polygons, smaller)
    first, _ = smaller.nonzero()
    sides, around = rectangle_sides(polygons)[first], rectangle_sides(unions)
    smaller[smaller] = (_off_parallel(sides, around) < ALIGNED).sum(axis=(1, 2)) == 2
    polygons, ids = _grouped(polygons, ids, smaller, largest_first=True)
    parts, owner = polygons_in(polygons)
    return _without_small(parts, [ids[k] for k in owner.tolist()])


def _without_small(polygons: Geometries, ids: ElementIds) -> tuple[Geometries, ElementIds]:
    """Drop polygons below ``LEAST``, and those below ``SMALL`` that another covers."""
    shapely = shapely_module()
    area = shapely.area(polygons)
    large = np.flatnonzero(area >= LEAST)
    polygons, area, ids = polygons[large], area[large], [ids[k] for k in large.tolist()]
    covered = shapely.covers(polygons[:, None], polygons[None, :])
    np.fill_diagonal(covered, False)
    kept = np.flatnonzero((area >= SMALL) | ~covered.any(axis=0))
    return polygons[kept], [ids[k] for k in kept.tolist()]


def _grouped(
    polygons: Geometries, ids: ElementIds, joins: Flags, *, largest_first: bool = False
) -> tuple[Geometries, ElementIds]:
    """Unite polygons that join, one group after the other. A polygon that has joined a group is taken.

    Args:
        polygons: Polygons.
        ids: Their element ids.
        joins: ``(n, n)``: whether the polygon of a column joins the group that the polygon of a row begins.
        largest_first: Whether the largest candidate joins first, instead of the first.
    """
    shapely = shapely_module()
    order = np.argsort(-shapely.area(polygons), kind="stable") if largest_first else np.arange(len(polygons))
    free = np.ones(len(polygons), np.bool_)
    groups: list[list[int]] = []
    for i in range(len(polygons)):
        if free[i]:
            free[i] = False
            members = order[(joins[i] & free)[order]].tolist()
            free[members] = False
            groups.append([i, *members])
    united = [reduce(shapely.union, polygons[group]) for group in groups]
    return as_geometries(united), [tuple(sorted({name for k in group for name in ids[k]})) for group in groups]


def _boxes_meet(polygons: Geometries) -> Flags:
    """Return ``(n, n)``: whether the bounding boxes of two polygons meet."""
    boxes = shapely_module().bounds(polygons)
    meets: Flags = (boxes[:, None, :2] <= boxes[None, :, 2:]).all(axis=2)
    return meets & meets.T


def _parallel(polygons: Geometries) -> Flags:
    """Return ``(n, n)``: whether the long sides of two polygons are parallel."""
    long = rectangle_sides(polygons)[:, :1]
    found: Flags = _off_parallel(long[:, None], long[None, :])[..., 0, 0] < PARALLEL
    return found


def _off_parallel(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - |cos| of directions ``(..., k, 2)`` and ``(..., l, 2)`` as ``(..., k, l)``; 0 if parallel."""
    off: NDArray[np.float64] = 1 - np.abs(one @ np.swapaxes(other, -1, -2))
    return off


def _compact(polygons: Geometries, joins: Flags) -> tuple[Flags, Geometries]:
    """Return which of the pairs that join have a compact union, and these unions."""
    shapely = shapely_module()
    one, other = joins.nonzero()
    unions = shapely.union(polygons[one], polygons[other])
    kept = shapely.area(unions) > COMPACT * shapely.area(shapely.convex_hull(unions))
    compact = joins.copy()
    compact[one, other] = kept
    return compact, unions[kept]


MERGES: Mapping[MergeName, Merge] = {
    "parallel": merge_parallel,
    "union": merge_touching,
    "parallel-compact": merge_compact,
}
