"""Which lines of different frames show the same thing, and the sets of lines that follow from it."""

import numpy as np

from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Flags, Floats, Indices, Points

_PART = 500  # lines that are compared at once
# The cells around a point in which close points may lie.
_AROUND = [(column, row) for column in (-1, 0, 1) for row in (-1, 0, 1)]


def same_lines(
    lines: tuple[Points, Indices, Indices],
    others: tuple[Points, Indices, Indices],
    reach: float,
    share: float,
) -> tuple[Indices, Indices]:
    """Return the pairs of lines that show the same thing: one of both lies along the other, for most of its length.

    Args:
        lines: Points in the world, the offsets of lines, and their classes.
        others: The same.
        reach: Metres from a point to a point of the other line.
        share: The share of the points of one of both that are so close.

    >>> line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    >>> one = (line, np.array([0, 4]), np.array([0]))
    >>> two = (np.concatenate([line[2:] + 0.1, line + 9.0]), np.array([0, 2, 6]), np.array([0, 0]))
    >>> [pair.tolist() for pair in same_lines(one, two, 0.5, 0.7)]
    [[0], [0]]
    """
    firsts = []
    seconds = []
    points, offsets, label = others
    if not len(points) or not len(lines[0]):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    sizes = np.diff(offsets)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    corner = np.minimum(points.min(axis=0), lines[0].min(axis=0))
    top = np.maximum(points.max(axis=0), lines[0].max(axis=0))
    wide, high = (np.floor((top - corner) / reach).astype(np.int64) + 3).tolist()

    def cells_of(some: Points, of: Indices) -> Indices:
        column, row = (np.floor((some - corner) / reach).astype(np.int64) + 1).T
        cells: Indices = (of * high + row) * wide + column
        return cells

    cell = cells_of(points, label[owner])
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    for start in range(0, len(lines[1]) - 1, _PART):
        stop = min(start + _PART, len(lines[1]) - 1)
        span = slice(int(lines[1][start]), int(lines[1][stop]))
        size = np.diff(lines[1][start : stop + 1])
        mine = np.repeat(np.arange(start, stop), size)
        at = lines[0][span]
        wanted = cells_of(at, lines[2][mine])
        ones = []
        twos = []
        for column, row in _AROUND:
            key = wanted + row * wide + column
            begin = np.searchsorted(cell, key, side="left")
            count = np.searchsorted(cell, key, side="right") - begin
            one = np.repeat(np.arange(len(at)), count)
            two = order[ranges(begin, count)]
            near = np.square(at[one] - points[two]).sum(axis=1) <= reach * reach
            ones.append(one[near])
            twos.append(two[near])
        one = np.concatenate(ones)
        two = np.concatenate(twos)
        pair = mine[one] * len(sizes) + owner[two]
        found, place = np.unique(pair, return_inverse=True)
        place = place.reshape(-1)
        mine_near = _distinct(place, one, len(found))
        other_near = _distinct(place, two, len(found))
        first, second = np.divmod(found, len(sizes))
        along = np.maximum(mine_near / size[first - start], other_near / sizes[second])
        firsts.append(first[along >= share])
        seconds.append(second[along >= share])
    return np.concatenate(firsts), np.concatenate(seconds)


def _distinct(pair: Indices, point: Indices, count: int) -> Floats:
    """Return the number of different points of each pair."""
    if not len(pair):
        return np.zeros(count)
    width = int(point.max()) + 1
    once = np.unique(pair * width + point) // width
    return np.bincount(once, minlength=count).astype(np.float64)


def picked(points: Points, offsets: Indices, label: Indices, rows: Indices | Flags) -> tuple[Points, Indices, Indices]:
    """Return some lines as ``same_lines`` takes them."""
    chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    sizes = np.diff(offsets)[chosen]
    at = ranges(offsets[:-1][chosen], sizes)
    return points[at], np.concatenate([[0], sizes.cumsum()]), label[chosen]
