"""Pairs of points of two sets that are near each other, and their one-to-one matching by rising distance."""

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating

_ROW = 1 << 31  # cells in a row of the grid; more than there are in any map


@jit_allocating
def _cells(points, size):
    """The number of the cell of each point in a grid over the first two coordinates."""
    cells = np.empty(len(points), np.int64)
    for i in range(len(points)):
        cells[i] = np.int64(np.floor(points[i, 0] / size)) * _ROW + np.int64(np.floor(points[i, 1] / size))
    return cells


@jit
def _squared(x, i, y, j):
    total = 0.0
    for k in range(x.shape[1]):
        step = x[i, k] - y[j, k]
        total += step * step
    return total


@jit_allocating
def close_points(x, y, radius):
    """All pairs of a point of x and a point of y closer than ``radius``: both indices, and the squared distance."""
    own, cells = _cells(x, radius), _cells(y, radius)
    order = np.argsort(cells, kind="mergesort")
    cells = cells[order]
    first, second, squared = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    count = 0
    for i in range(len(x)):
        for row in range(-1, 2):
            middle = own[i] + row * _ROW
            k = np.searchsorted(cells, middle - 1)
            while k < len(cells) and cells[k] <= middle + 1:
                distance = _squared(x, i, y, order[k])
                if distance < radius * radius:
                    if count == len(first):
                        first = np.concatenate((first, np.empty(count, np.int64)))
                        second = np.concatenate((second, np.empty(count, np.int64)))
                        squared = np.concatenate((squared, np.empty(count)))
                    first[count], second[count], squared[count] = i, order[k], distance
                    count += 1
                k += 1
    return first[:count].copy(), second[:count].copy(), squared[:count].copy()


@jit_allocating
def accept_pairs(first, second, firsts, seconds):
    """The positions of the pairs that a one-to-one matching accepts, which takes them in the order given."""
    used, taken = np.zeros(firsts, np.bool_), np.zeros(seconds, np.bool_)
    accepted = np.empty(min(firsts, seconds), np.int64)
    count = 0
    for k in range(len(first)):
        if not used[first[k]] and not taken[second[k]]:
            used[first[k]] = taken[second[k]] = True
            accepted[count] = k
            count += 1
    return accepted[:count].copy()


@jit
def mean_gap(x, y):
    """The mean of the two mean distances from the points of one set to the nearest point of the other."""
    forth = 0.0
    for i in range(len(x)):
        nearest = np.inf
        for j in range(len(y)):
            nearest = min(nearest, _squared(x, i, y, j))
        forth += np.sqrt(nearest)
    back = 0.0
    for j in range(len(y)):
        nearest = np.inf
        for i in range(len(x)):
            nearest = min(nearest, _squared(x, i, y, j))
        back += np.sqrt(nearest)
    return 0.5 * (forth / len(x) + back / len(y))
