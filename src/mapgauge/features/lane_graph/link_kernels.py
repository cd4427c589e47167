"""Assignments of two graphs with links: what pairs add to the two matrices of link costs, and the links they break.

A pair ``(i, j)`` adds the weights of the links from or to i to a matrix, and subtracts those from or to j. In the first
matrix, links lead to i and from j: a link from k to i is added at ``(k, j)``, and a link from j to l is subtracted at
``(i, l)``. In the second matrix, links lead the other way. ``x`` and ``y`` have two sets of ways, into elements and
onward from them: the first way of each element, the link of each way, the element at its other end and its weight.
"""

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import jit, jit_allocating
from mapgauge.kernels.grouping import pairs_of


@jit_allocating
def ways_of(
    row: NDArray[np.int64], column: NDArray[np.int64], weight: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The links of each of ``size`` elements in ``row``: the first of each, and links, other elements and weights."""
    of, link = pairs_of(row, size)
    return of, link, column[link], weight[link]


@jit
def _mark(x, y, i, j, marks):
    """Mark where the pair adds and where it subtracts something."""
    for k in range(2):
        of, _, other, _ = x[k]
        for e in range(of[i], of[i + 1]):
            marks[k, 0, other[e], j] = True
        of, _, other, _ = y[1 - k]
        for e in range(of[j], of[j + 1]):
            marks[k, 1, i, other[e]] = True


@jit_allocating
def marks_of(x, y, chosen):
    """Where the chosen pairs add something to each matrix, and where they subtract something."""
    marks = np.zeros((2, 2, *chosen.shape), np.bool_)
    for i in range(chosen.shape[0]):
        for j in range(chosen.shape[1]):
            if chosen[i, j]:
                _mark(x, y, i, j, marks)
    return marks


@jit_allocating
def pair_rows(x, y, first, second, number):
    """The rows of pairs in the linear programme of prices: elements of x, elements of y, then entries of the matrices.

    ``number`` has the number of each entry, or -1 if only one side can change it. Returns the rows by start, column and
    value, and what each pair adds to or subtracts from entries without a number.
    """
    size = number.shape[1:]
    most = 0
    for p in range(len(first)):
        i = first[p]
        j = second[p]
        most += 2
        for k in range(2):
            most += x[k][0][i + 1] - x[k][0][i] + y[k][0][j + 1] - y[k][0][j]
    start = np.zeros(len(first) + 1, np.int64)
    column = np.empty(most, np.int64)
    value = np.empty(most)
    alone = np.zeros(len(first))
    end = 0
    for p in range(len(first)):
        i = first[p]
        j = second[p]
        column[end + 1] = size[0] + j
        column[end] = i
        value[end] = 1.0
        value[end + 1] = 1.0
        end += 2
        for k in range(2):
            own = -1  # the place of (i, j), which links of i and j to themselves share
            of, _, other, weight = x[k]
            for e in range(of[i], of[i + 1]):
                entry = number[k, other[e], j]
                if entry < 0:
                    alone[p] += weight[e]
                    continue
                if other[e] == i:
                    own = end
                column[end], value[end] = size[0] + size[1] + entry, weight[e]
                end += 1
            of, _, other, weight = y[1 - k]
            for e in range(of[j], of[j + 1]):
                entry = number[k, i, other[e]]
                if entry < 0:
                    alone[p] += weight[e]
                elif own >= 0 and other[e] == j:
                    value[own] -= weight[e]
                else:
                    column[end], value[end] = size[0] + size[1] + entry, -weight[e]
                    end += 1
        start[p + 1] = end
    return start, column[:end], value[:end], alone


@jit
def add_link_prices(x, y, dual, price):
    """Add to the price of each pair what it costs at the prices ``dual`` of the entries of the matrices."""
    for k in range(2):
        of, _, other, weight = x[k]
        for i in range(price.shape[0]):
            for e in range(of[i], of[i + 1]):
                for j in range(price.shape[1]):
                    price[i, j] += weight[e] * dual[k, other[e], j]
        of, _, other, weight = y[1 - k]
        for i in range(price.shape[0]):
            for j in range(price.shape[1]):
                for e in range(of[j], of[j + 1]):
                    price[i, j] -= weight[e] * dual[k, i, other[e]]


@jit_allocating
def broken_links(x, y, first, second, weight, links):
    """How much of each link an assignment breaks, false and missing, and the halves of these, as ``Broken`` says."""
    size = len(x[0][0]) - 1, len(y[0][0]) - 1
    free_x = np.zeros(size[0])
    free_y = np.zeros(size[1])
    for p in range(len(first)):
        free_x[first[p]] += weight[p]
        free_y[second[p]] += weight[p]
    for i in range(size[0]):
        free_x[i] = max(1.0 - free_x[i], 0.0)
    for j in range(size[1]):
        free_y[j] = max(1.0 - free_y[j], 0.0)
    out = np.zeros((2, 2, max(links)))  # of a side: whole and half
    for k in range(2):
        sums = np.zeros((2, *size))
        for p in range(len(first)):
            of, _, other, share = x[k]
            for e in range(of[first[p]], of[first[p] + 1]):
                sums[0, other[e], second[p]] += share[e] * weight[p]
            of, _, other, share = y[1 - k]
            for e in range(of[second[p]], of[second[p] + 1]):
                sums[1, first[p], other[e]] += share[e] * weight[p]
        part = np.zeros((2, 2, max(links)))
        for p in range(len(first)):
            for side in range(2):
                if side == 0:
                    of, link, other, share = x[k]
                    element = first[p]
                else:
                    of, link, other, share = y[1 - k]
                    element = second[p]
                for e in range(of[element], of[element + 1]):
                    if side == 0:
                        i, j = (other[e], second[p])
                    else:
                        i, j = (first[p], other[e])
                    whole = sums[side, i, j]
                    if whole > 0.0:
                        excess = max(whole - sums[1 - side, i, j], 0.0)
                        half = min(excess, (free_x[i] if side == 0 else free_y[j]) * whole)
                        amount = 0.5 * (share[e] * weight[p] / whole)
                        part[side, 0, link[e]] += amount * (excess - half)
                        part[side, 1, link[e]] += amount * half
        out += part
    return out
