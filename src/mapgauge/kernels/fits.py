"""How much of a line another line covers, and the true line that a prediction fits best.

A line covers a point if one of its points is closer than a limit. Limits are squared distances. The true lines of group
g are those of ``order`` from ``bounds[g, 1]`` to ``bounds[g, 2]``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._extremes import least as lesser
from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.lines import (
    BLOCK,
    FIRST_BLOCK,
    ROUNDING,
    START,
    STOP,
    blocks_in,
    box_distance_squared,
    length_of,
    square_between,
)

NONE = -1


class Discs(NamedTuple):
    """Discs around the blocks of lines, in the first two coordinates. Two discs are compared faster than two boxes."""

    centre: NDArray[np.float64]  # (2, blocks)
    radius: NDArray[np.float64]  # (lines,): the largest of the blocks of each line


@jit_allocating
def discs_of(lines):
    """The discs around the boxes of all blocks."""
    box, dimension = lines.block_box, U(lines.points.shape[0])
    centre, radius = np.zeros((2, box.shape[1])), np.zeros(len(lines.span))
    for x in range(U(len(radius))):
        first = lines.span[x, FIRST_BLOCK]
        for b in range(first, first + blocks_in(length_of(lines, x))):
            square = 0.0
            for k in range(min(dimension, TWO)):
                centre[k, b] = 0.5 * (box[k, b] + box[dimension + k, b])
                square += (box[dimension + k, b] - box[k, b]) ** 2
            radius[x] = max(radius[x], 0.5 * np.sqrt(square))
    return Discs(centre, radius)


@jit
def _between(points, i, j):
    """Squared distance of two points in the first two coordinates."""
    u, v = points[ZERO, i] - points[ZERO, j], points[ONE, i] - points[ONE, j]
    return u * u + v * v


@jit
def _square(points, i, j):
    """Squared distance of two points. Without a loop over coordinates, it is faster in two dimensions."""
    return _between(points, i, j) if points.shape[0] == 2 else square_between(points, i, j)


@jit
def _least_between(centre, a, first, last):
    """The smallest squared distance of a centre to the centres from ``first`` to ``last``."""
    square = np.inf
    for b in range(first, last):
        square = lesser(square, _between(centre, a, b))
    return square


@jit
def _least_square(points, i, first, last):
    """The smallest squared distance of a point to the points from ``first`` to ``last``."""
    if points.shape[0] == 2:
        return _least_between(points, i, first, last)
    square = np.inf
    for j in range(first, last):
        square = lesser(square, square_between(points, i, j))
    return square


@jit
def _far(discs, x, y, limit):
    """The squared distance of centres from which two blocks of lines x and y have no points closer than the limit."""
    apart = (np.sqrt(limit) + discs.radius[x] + discs.radius[y]) * ROUNDING
    return apart * apart


@jit
def nearest_points(lines, discs, x, y, limit, gap, nearest):
    """Write the squared distance of each point of x to the nearest point of y, and of each point of y to x.

    ``nearest`` gets the index of that point. Points whose squared distance is ``limit`` or more have infinity and -1.
    """
    x_start, x_stop = lines.span[x, START], lines.span[x, STOP]
    y_start, y_stop = lines.span[y, START], lines.span[y, STOP]
    for i in range(x_start, x_stop):
        gap[i], nearest[i] = np.inf, NONE
    for j in range(y_start, y_stop):
        gap[j], nearest[j] = np.inf, NONE
    a, far = lines.span[x, FIRST_BLOCK], _far(discs, x, y, limit)
    for p in range(x_start, x_stop, BLOCK):
        b = lines.span[y, FIRST_BLOCK]
        for q in range(y_start, y_stop, BLOCK):
            if _between(discs.centre, a, b) < far:
                for i in range(p, min(p + BLOCK, x_stop)):
                    for j in range(q, min(q + BLOCK, y_stop)):
                        square = _square(lines.points, i, j)
                        if square < limit and square < gap[i]:
                            gap[i], nearest[i] = square, j
                        if square < limit and square < gap[j]:
                            gap[j], nearest[j] = square, i
            b += ONE
        a += ONE


@jit
def share_covered(lines, discs, x, y, limit, least, covered):
    """The share of the points of x that line y covers; 0 if x has none. ``covered`` gets whether it covers each.

    It stops early if the share is below ``least``.
    """
    n, x_stop, y_start, y_stop = length_of(lines, x), lines.span[x, STOP], lines.span[y, START], lines.span[y, STOP]
    count, rest, a, first = ZERO, n, lines.span[x, FIRST_BLOCK], lines.span[y, FIRST_BLOCK]
    last = first + blocks_in(y_stop - y_start)
    far = _far(discs, x, y, limit)
    for begin in range(lines.span[x, START], x_stop, BLOCK):
        end = min(begin + BLOCK, x_stop)
        left = end - begin
        for i in range(begin, end):
            covered[i] = False
        if _least_between(discs.centre, a, first, last) < far:
            low, high = first, last
            while _between(discs.centre, a, low) >= far:
                low += ONE
            while _between(discs.centre, a, high - ONE) >= far:
                high -= ONE
            p, q = y_start + (low - first) * BLOCK, min(y_start + (high - first) * BLOCK, y_stop)
            for i in range(begin, end):
                covered[i] = _least_square(lines.points, i, p, q) < limit
                left -= ONE if covered[i] else ZERO
        count += end - begin - left
        rest -= end - begin
        if count + rest < least * n - 0.5:
            break
        a += ONE
    return count / n if n > ZERO else 0.0


@jit
def best_fit(lines, discs, order, bounds, g, x, same, limit, least, covered):
    """The true line of group g that a prediction fits best, the share of that line, and the sum of both shares.

    The line is -1 if there is none. Each must cover at least the share ``least`` of the other if they have the ``same``
    class. If not, it is enough that the true line covers the prediction. ``covered`` is working memory.
    """
    best, most, share = NONE, 0.0, 0.0
    for k in range(bounds[g, 1], bounds[g, 2]):
        y = order[k]
        if box_distance_squared(lines.line_box, x, y) >= limit:
            continue
        of_x = share_covered(lines, discs, x, y, limit, least, covered)
        if of_x >= least:
            of_y = share_covered(lines, discs, y, x, limit, least if same else 0.0, covered)
            if (of_y >= least or not same) and of_x + of_y > most:
                best, most, share = k, of_x + of_y, of_y
    return best, share, most
