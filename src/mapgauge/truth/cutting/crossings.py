"""Merges pedestrian crossings that a map draws as several polygons. Each repository merges them differently.

Merging happens after cutting, in the coordinates of the frame. Polygons of many frames are merged in one call.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapgauge.geometry.polylines import ranges
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, polygons_in
from mapgauge.truth.rules import MergeName
from mapgauge.typing import Flags, Indices

PARALLEL = 0.01  # largest 1 - |cos| of two parallel sides: about 8 degrees
ALIGNED = 0.001  # the same for the rectangles around a polygon and around its union with another: about 2.6 degrees
COMPACT = 0.8  # smallest share of the convex hull that a merged crossing fills
SMALL = 20.0  # square metres; a smaller crossing is dropped if another covers it
LEAST = 1.0  # square metres; a smaller crossing is always dropped


class Crossings(NamedTuple):
    """The crossings of many frames, or other polygons."""

    polygons: Geometries  # (n,)
    ids: list[tuple[str, ...]]  # (n,): the sorted ids of the map elements of each polygon
    frame: Indices  # (n,), sorted

    def take(self, chosen: Indices) -> "Crossings":
        """Return some of the crossings, in the given order."""
        return Crossings(self.polygons[chosen], [self.ids[k] for k in chosen.tolist()], self.frame[chosen])

    def parts(self) -> "Crossings":
        """Return the single polygons of multipolygons."""
        parts, owner = polygons_in(self.polygons)
        return Crossings(parts, [self.ids[k] for k in owner.tolist()], self.frame[owner])


class _Pairs(NamedTuple):
    """Pairs of crossings of the same frame, sorted by the first."""

    first: Indices
    second: Indices

    def where(self, chosen: Flags) -> "_Pairs":
        return _Pairs(self.first[chosen], self.second[chosen])


def rectangle_sides(polygons: Geometries) -> NDArray[np.float64]:
    """Return the directions of the long and the short side of the smallest rectangle around each polygon, (n, 2, 2).

    A polygon as thin as a line has the directions 0. A right triangle has two smallest rectangles, and regions cut
    right triangles out of crossings. As in the public converters, the first edge of the hull with the smallest area
    counts, and rounding decides. shapely's ``oriented_envelope`` differs here between versions.
    """
    if not len(polygons):
        return np.zeros((0, 2, 2))
    hulls = shapely.convex_hull(polygons)
    hulls[shapely.get_type_id(hulls) != shapely.GeometryType.POLYGON] = shapely.Polygon()
    coords, owner = shapely.get_coordinates(hulls, return_index=True)
    sizes = np.bincount(owner, minlength=len(hulls))
    place = ranges(np.zeros_like(sizes), sizes)
    corners = np.zeros((len(hulls), max(2, sizes.max()), 2))
    corners[owner[place == 0]] = coords[place == 0, None]  # hulls with fewer points repeat their first point
    corners[owner, place] = coords
    steps = np.diff(corners, axis=1)
    lengths = np.sqrt(steps[..., 0] ** 2 + steps[..., 1] ** 2)
    x, y = np.moveaxis(steps / np.where(lengths > 0, lengths, 1.0)[..., None], -1, 0)
    along = x[..., None] * corners[:, None, :, 0] + y[..., None] * corners[:, None, :, 1]
    across = -y[..., None] * corners[:, None, :, 0] + x[..., None] * corners[:, None, :, 1]
    low, high = (np.stack([f(along, axis=2), f(across, axis=2)]) for f in (np.min, np.max))
    area = np.where(lengths > 0, shapely.area(shapely.box(*low, *high)), np.inf)
    best = np.arange(len(hulls)), area.argmin(axis=1)
    length, width = (high - low)[:, *best]
    sides = np.stack([np.stack([x, y], axis=-1)[best], np.stack([-y, x], axis=-1)[best]], axis=1)
    return np.where((width > length)[:, None, None], sides[:, ::-1], sides)


def merge_parallel(crossings: Crossings) -> Crossings:
    """Merge each polygon with all later ones that are parallel to it and whose bounding boxes meet its own."""
    return _grouped(crossings, _parallel(crossings)).parts()  # bounding boxes may meet where polygons do not


def merge_touching(crossings: Crossings) -> Crossings:
    """Merge all polygons that touch."""
    starts = np.flatnonzero(np.diff(crossings.frame, prepend=-1))
    if len(starts):
        groups = np.split(crossings.polygons, starts[1:])
    else:
        groups = []
    united = as_geometries([shapely.union_all(group) for group in groups])
    parts, owner = polygons_in(united)
    frame = crossings.frame[starts][owner]
    begin = np.searchsorted(crossings.frame, frame)
    end = np.searchsorted(crossings.frame, frame, side="right")
    part = np.repeat(np.arange(len(parts)), end - begin)
    source = ranges(begin, end - begin)
    touch = shapely.intersects(parts[part], crossings.polygons[source])
    members: list[set[str]] = [set() for _ in parts]
    for k, crossing in zip(part[touch].tolist(), source[touch].tolist(), strict=True):
        members[k].update(crossings.ids[crossing])
    return Crossings(parts, [tuple(sorted(names)) for names in members], frame)


def merge_compact(crossings: Crossings) -> Crossings:
    """Merge parallel polygons whose union nearly fills its convex hull, in two passes, and drop small leftovers.

    The first pass merges, from large to small, those whose boxes meet, whose long sides are parallel and whose union is
    compact. The second pass merges a group with smaller ones if their boxes meet, the union is compact, and the
    smallest rectangle around the union has the directions of the rectangle around the larger. Both passes test a
    polygon as it was before the pass.
    """
    largest_first = np.lexsort((-shapely.area(crossings.polygons), crossings.frame))
    crossings = crossings.take(largest_first)
    crossings = _grouped(crossings, _compact(crossings.polygons, _parallel(crossings))[0])
    area = shapely.area(crossings.polygons)
    pairs = _meeting(crossings)
    pairs, unions = _compact(crossings.polygons, pairs.where(area[pairs.second] < area[pairs.first]))
    used, at = np.unique(pairs.first, return_inverse=True)
    sides = rectangle_sides(crossings.polygons[used])[at]
    pairs = pairs.where((_off_parallel(sides, rectangle_sides(unions)) < ALIGNED).sum(axis=(1, 2)) == 2)
    order = np.lexsort((-area[pairs.second], pairs.first))
    crossings = _grouped(crossings, _Pairs(pairs.first[order], pairs.second[order])).parts()
    crossings = crossings.take(np.flatnonzero(shapely.area(crossings.polygons) >= LEAST))
    area = shapely.area(crossings.polygons)
    pairs = _meeting(crossings)
    pairs = pairs.where(area[pairs.second] < SMALL)
    covered = shapely.covers(crossings.polygons[pairs.first], crossings.polygons[pairs.second])
    kept = np.ones(len(area), np.bool_)
    kept[pairs.second[covered]] = False
    return crossings.take(np.flatnonzero(kept))


def _meeting(crossings: Crossings) -> _Pairs:
    """Return the pairs, in both orders, whose bounding boxes meet."""
    frame = crossings.frame
    begin = np.searchsorted(frame, frame)
    end = np.searchsorted(frame, frame, side="right")
    first = np.repeat(np.arange(len(frame)), end - begin)
    second = ranges(begin, end - begin)
    boxes = shapely.bounds(crossings.polygons)
    meets = (boxes[first, :2] <= boxes[second, 2:]).all(axis=1) & (boxes[second, :2] <= boxes[first, 2:]).all(axis=1)
    return _Pairs(first, second).where(meets & (first != second))


def _parallel(crossings: Crossings) -> _Pairs:
    """Return the pairs, in their order, whose bounding boxes meet and whose long sides are parallel."""
    pairs = _meeting(crossings)
    pairs = pairs.where(pairs.first < pairs.second)
    used, at = np.unique(np.concatenate(pairs), return_inverse=True)
    first, second = np.split(rectangle_sides(crossings.polygons[used])[at, :1], 2)
    return pairs.where(_off_parallel(first, second)[:, 0, 0] < PARALLEL)


def _off_parallel(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - |cos| of directions ``(..., k, 2)`` and ``(..., l, 2)`` as ``(..., k, l)``; 0 if parallel."""
    off: NDArray[np.float64] = 1 - np.abs(a @ np.swapaxes(b, -1, -2))
    return off


def _compact(polygons: Geometries, pairs: _Pairs) -> tuple[_Pairs, Geometries]:
    """Return the pairs whose union is compact, and these unions."""
    unions = shapely.union(polygons[pairs.first], polygons[pairs.second])
    kept = shapely.area(unions) > COMPACT * shapely.area(shapely.convex_hull(unions))
    return pairs.where(kept), unions[kept]


def _grouped(crossings: Crossings, pairs: _Pairs) -> Crossings:
    """Unite polygons. The first free one begins a group, and the second ones of its pairs join it if they are free."""
    candidates: dict[int, list[int]] = {}
    for first, second in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
        candidates.setdefault(first, []).append(second)
    taken: set[int] = set()
    heads: list[int] = []
    united = crossings.polygons.copy()
    ids = list(crossings.ids)
    for head in range(len(united)):
        if head in taken:
            continue
        heads.append(head)
        taken.add(head)
        members = [k for k in candidates.get(head, ()) if k not in taken]
        if members:
            taken.update(members)
            united[head] = reduce(shapely.union, crossings.polygons[[head, *members]])
            ids[head] = tuple(sorted({name for k in (head, *members) for name in crossings.ids[k]}))
    return Crossings(united, ids, crossings.frame).take(np.array(heads, np.int64))


MERGES: Mapping[MergeName, Callable[[Crossings], Crossings]] = {
    "parallel": merge_parallel,
    "union": merge_touching,
    "parallel-compact": merge_compact,
    "none": lambda crossings: crossings,
}
