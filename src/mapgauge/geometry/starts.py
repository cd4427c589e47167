"""Where the points of a closed polyline begin.

Points are laid along a line from its first point. A closed polyline has no first point of its own, so a file can begin
it at any vertex and draw it in either direction. Here its geometry decides: the points begin where the ray from its
area centroid, in the direction that points forward, meets it farthest from the centroid. A small error of the line
moves this point by about the same error. If the ray does not meet the line, or the line has no area, they begin at the
vertex that comes first in the order of the coordinates (forward, then to the left, then up).

Everything is computed in one order of the vertices, whatever the order in the file is. So equal polygons have equal
points, to the last bit.
"""

from typing import NamedTuple

import numpy as np

from mapgauge.geometry.polylines import CLOSED_TOLERANCE, Polylines
from mapgauge.typing import Closed, Flags, Floats, Forward, Indices, Offsets, Points

# A vertex this close to the ray, as a share of the size of the polygon, lies on it; an area this small, as a share of
# the square of the size, is none. Both are far above rounding, so that more vertices on the same edges change nothing.
_ROUNDING = 1e-9


class FixedStarts(NamedTuple):
    """Polylines, of which the closed ones begin at a point that their geometry decides."""

    polylines: Polylines
    turned: Flags  # which of them were drawn in the other direction


class _Polygons(NamedTuple):
    """Vertices of closed polylines, without repeated points and closing points."""

    coords: Points  # (vertices, dimension)
    keys: Points  # the same, with the coordinates to the front, to the left and up
    offsets: Offsets

    @property
    def sizes(self) -> Indices:
        """Number of vertices of each."""
        return np.diff(self.offsets)

    @property
    def owner(self) -> Indices:
        """The polygon of each vertex."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def following(self) -> Indices:
        """The next vertex of each vertex."""
        following = np.arange(1, len(self.coords) + 1)
        following[self.offsets[1:] - 1] = self.offsets[:-1]
        return following

    def pick(self, vertices: Indices, sizes: Indices) -> "_Polygons":
        """Return some vertices."""
        return _Polygons(self.coords[vertices], self.keys[vertices], _summed(sizes))

    def turned(self, first: Indices, step: Indices) -> "_Polygons":
        """Return the polygons from another vertex on, given by its place in each; backwards if the step is -1."""
        owner = self.owner
        begin = self.offsets[:-1]
        place = np.arange(len(self.coords)) - begin[owner]
        place = (first[owner] + step[owner] * place) % self.sizes[owner]
        return self.pick(begin[owner] + place, self.sizes)


def _summed(sizes: Indices) -> Offsets:
    return np.concatenate([[0], sizes.cumsum()])


def with_fixed_starts(
    polylines: Polylines,
    closed: Closed = "auto",
    tolerance: float = CLOSED_TOLERANCE,
    *,
    forward: Forward | None = None,
    kept: Flags | None = None,
) -> FixedStarts:
    """Return polylines of which the closed ones begin, and end, at a point that their geometry decides.

    Args:
        polylines: The polylines.
        closed: Which of them are closed, as in ``Polylines.closed``. Lines whose ends do not meet stay as they are.
        tolerance: Largest gap of a closed polyline in metres, for "auto". It is closed by a segment.
        forward: The axis that points forward; x if it is not known.
        kept: Which polylines stay as they are.
    """
    turned = np.zeros(len(polylines), np.bool_)
    meets = polylines.closed(closed, tolerance)[1]
    if kept is not None:
        meets = meets & ~kept
    if polylines.dimension < 2 or not meets.any():
        return FixedStarts(polylines, turned)
    polygons = _polygons_of(polylines.pick(np.flatnonzero(meets)), forward)
    has_length = polygons.sizes > 1
    rows = np.flatnonzero(meets)[has_length]
    if not len(rows):
        return FixedStarts(polylines, turned)
    polygons = polygons.pick(np.flatnonzero(has_length[polygons.owner]), polygons.sizes[has_length])
    first, backwards = _canonical(polygons)
    step = np.where(backwards, -1, 1)
    begun = _begun(polygons.turned(first, step))
    turned[rows] = backwards
    others = np.flatnonzero(~np.isin(np.arange(len(polylines)), rows))
    order = np.argsort(np.concatenate([others, rows]))
    return FixedStarts(polylines.pick(others).and_then(begun).pick(order), turned)


def _polygons_of(closed: Polylines, forward: Forward | None) -> _Polygons:
    """Return the vertices of closed polylines. At least one of each is left."""
    coords = closed.coords
    offsets = closed.offsets
    keys = coords
    if forward == "y":  # x is to the right
        keys = np.column_stack([coords[:, 1], -coords[:, 0], coords[:, 2:]])
    # A point that equals the one before it is left out. The point before the first is the last.
    before = np.arange(-1, len(coords) - 1)
    before[offsets[:-1]] = offsets[1:] - 1
    differs = (coords != coords[before]).any(axis=1)
    all_equal = ~np.logical_or.reduceat(differs, offsets[:-1])
    differs[offsets[:-1][all_equal]] = True
    sizes = np.add.reduceat(differs.astype(np.int64), offsets[:-1])
    return _Polygons(coords, keys, offsets).pick(np.flatnonzero(differs), sizes)


def _canonical(polygons: _Polygons) -> tuple[Indices, Flags]:
    """Return the vertex at which each polygon is read, and whether it is read backwards, whatever its order is.

    It begins at its first vertex in the order of coordinates, and goes on to the neighbour that comes first.
    """
    rank = _ranks(polygons.keys)
    order = np.lexsort((rank, polygons.owner))
    first = order[polygons.offsets[:-1]]
    size = polygons.sizes
    begin = polygons.offsets[:-1]
    place = first - begin
    after = rank[begin + (place + 1) % size]
    before = rank[begin + (place - 1) % size]
    backwards = before < after
    # A polygon that comes to its first vertex twice, or goes there and back, needs more than one step.
    again = rank[order[begin + 1]] == rank[first]
    for k in np.flatnonzero(again | (before == after)).tolist():
        of_one = rank[polygons.offsets[k] : polygons.offsets[k + 1]].tolist()
        forth = _least_turn(of_one)
        back = _least_turn(of_one[::-1])
        backwards[k] = back.ranks < forth.ranks
        if backwards[k]:
            place[k] = len(of_one) - 1 - back.start
        else:
            place[k] = forth.start
    return place, backwards


def _ranks(keys: Points) -> Indices:
    """Return a number for each vertex that is in the order of its coordinates. Equal vertices have the same number."""
    order = np.lexsort(keys.T[::-1])
    differs = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    rank = np.empty(len(keys), np.int64)
    rank[order] = np.concatenate([[0], differs.cumsum()])
    return rank


class _Turn(NamedTuple):
    start: int
    ranks: list[int]


def _least_turn(ranks: list[int]) -> _Turn:
    """Return the start from which a cyclic sequence is the least in the order of lists, in linear time.

    >>> _least_turn([2, 1, 3, 1, 2])
    _Turn(start=3, ranks=[1, 2, 2, 1, 3])
    """
    size = len(ranks)
    # Two starts, and how many values from them on are equal.
    one = 0
    other = 1
    equal = 0
    while one < size and other < size and equal < size:
        a = ranks[(one + equal) % size]
        b = ranks[(other + equal) % size]
        if a == b:
            equal += 1
            continue
        # No start up to the first difference is the least, on the side with the larger value.
        if a > b:
            one += equal + 1
        else:
            other += equal + 1
        if one == other:
            other += 1
        equal = 0
    start = min(one, other)
    return _Turn(start, ranks[start:] + ranks[:start])


def _begun(polygons: _Polygons) -> Polylines:
    """Return polygons as polylines, each from its start through all its vertices to its start."""
    segment, share = _starts(polygons)
    following = polygons.following[segment]
    step = polygons.coords[following] - polygons.coords[segment]
    start = polygons.coords[segment] + share[:, None] * step
    offsets = _summed(polygons.sizes + 2)
    coords = np.empty((offsets[-1], polygons.coords.shape[1]))
    coords[offsets[:-1]] = start
    coords[offsets[1:] - 1] = start
    after = polygons.turned(segment + 1 - polygons.offsets[:-1], np.ones_like(segment))
    inside = np.ones(len(coords), np.bool_)
    inside[offsets[:-1]] = False
    inside[offsets[1:] - 1] = False
    coords[inside] = after.coords
    return Polylines.unchecked(coords, offsets)


def _starts(polygons: _Polygons) -> tuple[Indices, Floats]:
    """Return the first vertex of the segment on which each polygon begins, and the share of the segment before it."""
    begin = polygons.offsets[:-1]
    owner = polygons.owner
    following = polygons.following
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # coordinates that no map has
        x, y = (polygons.keys[:, :2] - polygons.keys[begin][owner, :2]).T
        size = np.maximum.reduceat(np.maximum(np.abs(x), np.abs(y)), begin)
        cross = x * y[following] - x[following] * y
        # ``bincount`` adds in the order of vertices, so the sum does not depend on other polygons.
        double_area = np.bincount(owner, cross)
        has_area = np.abs(double_area) > _ROUNDING * size**2
        centre_x = np.bincount(owner, (x + x[following]) * cross) / (3 * double_area)
        centre_y = np.bincount(owner, (y + y[following]) * cross) / (3 * double_area)
        ahead = x - centre_x[owner]
        aside = y - centre_y[owner]
        slack = (_ROUNDING * size)[owner]
        is_on_ray = np.abs(aside) <= slack
        crosses = ~is_on_ray & ~is_on_ray[following] & ((aside > 0) != (aside[following] > 0))
        share = np.where(crosses, aside / (aside - aside[following]), 0.0)
        reach = np.where(crosses, ahead + share * (ahead[following] - ahead), ahead)
        meets = (is_on_ray | crosses) & (reach >= -slack) & has_area[owner]
    reach = np.where(meets, reach, -np.inf)
    farthest = np.maximum.reduceat(reach, begin)
    found = np.flatnonzero(meets & (reach == farthest[owner]))
    segment = begin.copy()  # the first vertex in the order of coordinates, if the ray meets nothing
    segment[owner[found][::-1]] = found[::-1]  # the first of equal ones is written last
    return segment, np.where(meets[segment], share[segment], 0.0)
