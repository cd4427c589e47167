"""How much of a line another line covers, and the true line that a prediction fits best.

A line covers a point if one of its points is closer than a limit. Limits are squared distances. The true lines of group
g are those of ``order`` from ``bounds[g, 1]`` to ``bounds[g, 2]``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels._vectors import WIDTH, closer_of_eight, ends_of_closer, least_of_eight
from mapgauge.kernels._vectors import least as lesser
from mapgauge.kernels.lines import (
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
SIZE = U(WIDTH)  # points of a disc


class Discs(NamedTuple):
    """Discs around every ``SIZE`` points of lines, in the first two coordinates, and a little working memory.

    The discs of a line have the places of its first blocks.
    """

    centre: NDArray[np.float64]  # (2, blocks + SIZE)
    radius: NDArray[np.float64]  # (lines,): the largest of each line
    least: NDArray[np.float64]  # (SIZE,)


@jit_allocating
def discs_of(lines):
    """The discs of all lines."""
    box, dimension = lines.block_box, U(lines.points.shape[0])
    centre, radius = np.zeros((2, box.shape[1] + SIZE)), np.zeros(len(lines.span))
    for x in range(U(len(radius))):
        first = lines.span[x, FIRST_BLOCK]
        last = first + blocks_in(length_of(lines, x))
        for d in range(_discs_in(length_of(lines, x))):
            a = first + TWO * d
            b = min(a + ONE, last - ONE)
            square = 0.0
            for k in range(min(dimension, TWO)):
                low, high = min(box[k, a], box[k, b]), max(box[dimension + k, a], box[dimension + k, b])
                centre[k, first + d] = 0.5 * (low + high)
                square += (high - low) ** 2
            radius[x] = max(radius[x], 0.5 * np.sqrt(square))
    return Discs(centre, radius, np.empty(SIZE))


@jit
def _discs_in(points):
    """Number of discs of a line with this many points."""
    return (points + SIZE - ONE) // SIZE


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
def _find_least(lines, discs, begin, end, first, last):
    """Write the smallest squared distances of a few points to the points from ``first`` to ``last``."""
    points = lines.points
    if points.shape[0] == 2 and begin + SIZE <= points.shape[1]:
        least_of_eight(points, begin, first, last, discs.least)
        return
    for i in range(begin, end):
        discs.least[i - begin] = _least_square(points, i, first, last)


@jit
def _points_near(lines, discs, a, y, far):
    """The first and the last point of line y, plus one, that may be near disc ``a``. They are equal if none is."""
    start, first = lines.span[y, START], lines.span[y, FIRST_BLOCK]
    low, high = ends_of_closer(discs.centre, a, first, first + _discs_in(length_of(lines, y)), far)
    if low >= high:
        return start, start
    return start + (low - first) * SIZE, min(start + (high - first) * SIZE, lines.span[y, STOP])


@jit
def _write_gaps(lines, discs, x, y, far, limit, gap):
    x_stop, a = lines.span[x, STOP], lines.span[x, FIRST_BLOCK]
    for begin in range(lines.span[x, START], x_stop, SIZE):
        end = min(begin + SIZE, x_stop)
        p, q = _points_near(lines, discs, a, y, far)
        _find_least(lines, discs, begin, end, p, q)
        for i in range(begin, end):
            square = discs.least[i - begin]
            gap[i] = square if square < limit else np.inf
        a += ONE


@jit
def gaps_between(lines, discs, x, y, limit, gap):
    """Write the squared distance of each point of x to the nearest point of y, and of each point of y to x.

    Points whose squared distance is ``limit`` or more have infinity.
    """
    far = _far(discs, x, y, limit)
    _write_gaps(lines, discs, x, y, far, limit, gap)
    _write_gaps(lines, discs, y, x, far, limit, gap)


@jit
def most_gain(lines, discs, x, y, cutoff, order):
    """Upper bound of the gain of two lines in any reading: each point of x is matched with the nearest point of y."""
    limit, inverse, total = cutoff * cutoff, 1.0 / cutoff, 0.0
    far = _far(discs, x, y, limit)
    x_stop, a = lines.span[x, STOP], lines.span[x, FIRST_BLOCK]
    for begin in range(lines.span[x, START], x_stop, SIZE):
        end = min(begin + SIZE, x_stop)
        p, q = _points_near(lines, discs, a, y, far)
        if p < q:
            _find_least(lines, discs, begin, end, p, q)
            for k in range(end - begin):
                scaled = np.sqrt(discs.least[k]) * inverse
                if scaled < 1.0:
                    total += 1.0 - (scaled if order == 1.0 else scaled**order)
        a += ONE
    return total


@jit
def nearest_point(lines, i, y, gap):
    """The first of the points of line y that have this squared distance to point ``i``. There must be one."""
    j = lines.span[y, START]
    while _square(lines.points, i, j) != gap:
        j += ONE
    return j


@jit
def share_closer(lines, x, limit, gap, covered):
    """The share of the points of x whose squared distance to another line is below a limit; 1 if x has no points.

    ``covered`` gets which these are.
    """
    count, n = ZERO, length_of(lines, x)
    for i in range(lines.span[x, START], lines.span[x, STOP]):
        covered[i] = gap[i] < limit
        count += ONE if covered[i] else ZERO
    return count / n if n > ZERO else 1.0


@jit
def share_covered(lines, discs, x, y, limit, least, covered):
    """The share of the points of x that line y covers; 0 if x has none. ``covered`` gets whether it covers each.

    It stops early if the share is below ``least``.
    """
    n, x_stop, a = length_of(lines, x), lines.span[x, STOP], lines.span[x, FIRST_BLOCK]
    count, rest, far = ZERO, n, _far(discs, x, y, limit)
    for begin in range(lines.span[x, START], x_stop, SIZE):
        end = min(begin + SIZE, x_stop)
        p, q = _points_near(lines, discs, a, y, far)
        if p == q:
            for i in range(begin, end):
                covered[i] = False
        elif lines.points.shape[0] == 2 and end - begin == SIZE:
            count += closer_of_eight(lines.points, begin, p, q, limit, covered)
        else:
            _find_least(lines, discs, begin, end, p, q)
            for i in range(begin, end):
                covered[i] = discs.least[i - begin] < limit
                count += ONE if covered[i] else ZERO
        rest -= end - begin
        if count + rest < least * n - 0.5:
            break
        a += ONE
    return count / n if n > ZERO else 0.0


@jit
def best_fit(lines, discs, order, bounds, g, x, same, limit, least, without, covered):
    """The true line of group g that a prediction fits best, the share of that line, and the sum of both shares.

    The line is -1 if there is none. Each must cover at least the share ``least`` of the other if they have the ``same``
    class. If not, it is enough that the true line covers the prediction. Lines that are flagged in ``without`` are left
    out, unless it is None. ``covered`` is working memory.
    """
    best, most, share = NONE, 0.0, 0.0
    for k in range(bounds[g, 1], bounds[g, 2]):
        y = order[k]
        if box_distance_squared(lines.line_box, x, y) >= limit or (without is not None and without[y]):
            continue
        of_x = share_covered(lines, discs, x, y, limit, least, covered)
        if of_x >= least:
            of_y = share_covered(lines, discs, y, x, limit, least if same else 0.0, covered)
            if (of_y >= least or not same) and of_x + of_y > most:
                best, most, share = k, of_x + of_y, of_y
    return best, share, most
