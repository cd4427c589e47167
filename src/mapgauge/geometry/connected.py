"""Which points are connected: points of one group that are close to each other, and all that follow from these."""

import numpy as np

from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Floats, Indices


def connected(x: Floats, y: Floats, group: Indices, reach: float) -> Indices:
    """Return the number of the connected set of each point, from 0, in the order of their first points.

    Two points of one group are connected if they are at most ``reach`` metres apart.

    >>> x = np.array([0.0, 5.0, 0.9, 1.8])
    >>> connected(x, np.zeros(4), np.zeros(4, np.int64), 1.0).tolist()
    [0, 1, 0, 0]
    """
    if not len(x):
        return np.zeros(0, np.int64)
    return components(len(x), *_close(x, y, group, reach=reach))


def components(count: int, first: Indices, second: Indices) -> Indices:
    """Return the number of the connected set of each of ``count`` things, in the order of their first members.

    ``first`` and ``second`` are the pairs that are connected.

    >>> components(4, np.array([0, 3]), np.array([2, 2])).tolist()
    [0, 1, 0, 0]
    """
    lowest = np.arange(count)
    while True:
        # Everything takes the lowest number beside it, and then the number of the thing with this number.
        low = np.minimum(lowest[first], lowest[second])
        lower = lowest.copy()
        np.minimum.at(lower, first, low)
        np.minimum.at(lower, second, low)
        np.minimum.at(lower, lowest[first], low)
        np.minimum.at(lower, lowest[second], low)
        lower = lower[lower]
        if np.array_equal(lower, lowest):
            break
        lowest = lower
    number: Indices = np.unique(lowest, return_inverse=True)[1].reshape(-1)
    return number


def _close(x: Floats, y: Floats, group: Indices, reach: float) -> tuple[Indices, Indices]:
    """Return all pairs of close points of one group."""
    column = np.floor((x - x.min()) / reach).astype(np.int64)
    row = np.floor((y - y.min()) / reach).astype(np.int64)
    # A number for each cell. There is an empty column between two rows, and an empty row between two groups.
    wide = int(column.max()) + 2
    high = int(row.max()) + 2
    cell = (group * high + row) * wide + column
    order = np.argsort(cell, kind="stable")
    in_order = cell[order]
    firsts = []
    seconds = []
    # The other half of the neighbours finds this point from its own side.
    for across, along in ((0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)):
        wanted = in_order + along * wide + across
        begin = np.searchsorted(in_order, wanted, side="left")
        end = np.searchsorted(in_order, wanted, side="right")
        one = np.repeat(np.arange(len(order)), end - begin)
        other = ranges(begin, end - begin)
        one = order[one]
        other = order[other]
        gap = np.square(x[one] - x[other]) + np.square(y[one] - y[other])
        near = (gap <= reach * reach) & (one != other)
        firsts.append(one[near])
        seconds.append(other[near])
    return np.concatenate(firsts), np.concatenate(seconds)
