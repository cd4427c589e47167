"""Which crossings become one: maps draw one crossing as several polygons, and each repository joins them its own way.

All of it happens after cutting at the edge of the region, in the coordinates of the frame, as in the repositories: a
bounding box is that of the frame, and the long side is that of what is left of a crossing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.truth.cutting.cut import Geometries, Members, Merge, only_polygons, shapely_module
from mapgauge.truth.rules import MergeName

PARALLEL = 0.01  # of 1 - |cos|: up to about 8 degrees
COMPACT = 0.8  # of the area of a polygon in the area of its convex hull
SMALL = 20.0  # square metres of a crossing that goes if another covers it
LEAST = 1.0  # square metres of a crossing


def parallel(polygons: Geometries, members: Members) -> tuple[Geometries, Members]:
    """Each polygon in turn is joined with all later ones that meet its bounding box and are parallel to it."""
    return _joined(polygons, members)


def union(polygons: Geometries, members: Members) -> tuple[Geometries, Members]:
    """All that touch are one."""
    shapely = shapely_module()
    parts, _ = only_polygons(np.array([shapely.union_all(polygons)], object))
    of, part = shapely.STRtree(parts).query(polygons, predicate="intersects")
    return parts, [
        tuple(sorted({name for i in of[part == k].tolist() for name in members[i]})) for k in range(len(parts))
    ]


def compact(polygons: Geometries, members: Members) -> tuple[Geometries, Members]:
    """As ``parallel``, from the largest on, if the result nearly fills its convex hull; then without small rests.

    It is done twice. The second time, only small polygons are joined to others, along either of their sides.
    """
    shapely = shapely_module()
    polygons, members = _joined(*_largest_first(polygons, members), compact=True)
    polygons, members = _joined(*_largest_first(polygons, members), compact=True, small=True)
    polygons, members = _largest_first(polygons, members)
    area = shapely.area(polygons)
    kept: list[int] = []
    for k in np.flatnonzero(area >= LEAST).tolist():
        if area[k] >= SMALL or not shapely.covers(polygons[kept], polygons[k]).any():
            kept.append(k)
    return polygons[kept], [members[k] for k in kept]


def _largest_first(polygons: Geometries, members: Members) -> tuple[Geometries, Members]:
    order = np.argsort(-shapely_module().area(polygons), kind="stable")
    return polygons[order], [members[k] for k in order.tolist()]


def _joined(
    polygons: Geometries, members: Members, *, compact: bool = False, small: bool = False
) -> tuple[Geometries, Members]:
    """Polygons joined one after the other; with ``small``, only small ones are taken into others."""
    shapely = shapely_module()
    boxes = shapely.bounds(polygons)
    meets = (boxes[:, None, :2] <= boxes[None, :, 2:]).all(axis=2)
    meets &= meets.T
    meets &= np.arange(len(polygons))[:, None] < np.arange(len(polygons))  # each with later ones
    if small:
        meets &= shapely.area(polygons) < SMALL
    if not meets.any():
        return polygons, members
    sides = _sides(polygons)
    alike = 1 - np.abs(np.einsum("ik,jsk->ijs", sides[:, 0], sides if small else sides[:, :1])) < PARALLEL
    meets &= alike.any(axis=2)
    free = np.ones(len(polygons), np.bool_)
    merged: list[Any] = []
    names: Members = []
    for i, one in enumerate(polygons):
        if not free[i]:
            continue
        ids = set(members[i])
        for j in np.flatnonzero(meets[i] & free).tolist():
            both = shapely.union(one, polygons[j])
            if compact and shapely.area(both) <= COMPACT * shapely.area(shapely.convex_hull(both)):
                continue
            one, free[j] = both, False
            ids |= set(members[j])
        merged.append(one)
        names.append(tuple(sorted(ids)))
    whole = np.empty(len(merged), object)
    whole[:] = merged
    parts, owner = only_polygons(whole)  # boxes may meet where polygons do not
    return parts, [names[k] for k in owner.tolist()]


def _sides(polygons: Geometries) -> NDArray[np.float64]:
    """Directions of the longer and the shorter side of the smallest rectangle around each polygon, ``(n, 2, 2)``.

    Where there is no such rectangle, because a polygon is as thin as a line, both are 0.
    """
    shapely = shapely_module()
    around = shapely.oriented_envelope(polygons)
    sides = np.zeros((len(polygons), 2, 2))
    whole = shapely.get_num_coordinates(around) == 5
    steps = np.diff(shapely.get_coordinates(around[whole]).reshape(-1, 5, 2)[:, :3], axis=1)
    lengths = np.hypot(steps[..., 0], steps[..., 1])
    steps /= np.where(lengths > 0, lengths, 1.0)[..., None]
    sides[whole] = np.where((lengths[:, 1] > lengths[:, 0])[:, None, None], steps[:, ::-1], steps)
    return sides


MERGES: Mapping[MergeName, Merge] = {"parallel": parallel, "union": union, "parallel-compact": compact}
