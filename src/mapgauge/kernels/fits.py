"""How much of a line another line covers, and the true line that a prediction fits best.

A line covers a point if one of its points is closer than a limit. Limits are squared distances. The true lines of group
g are ``order[bounds[g, 1] : bounds[g, 2]]``.
"""

import numpy as np

from mapgauge.kernels._jit import ONE, ZERO, jit
from mapgauge.kernels._jit import least as lesser
from mapgauge.kernels.lines import (
    BLOCK,
    FIRST_BLOCK,
    FIRST_GROUP,
    GROUP,
    START,
    STOP,
    blocks_in,
    box_distance_squared,
    groups_in,
    length_of,
    square_between,
    square_between_boxes,
)

NONE = -1


@jit
def _square(points, i, j):
    """Squared distance of two points. Without a loop over coordinates, it is faster in two dimensions."""
    if points.shape[0] == 2:
        u, v = points[ZERO, i] - points[ZERO, j], points[ONE, i] - points[ONE, j]
        return u * u + v * v
    return square_between(points, i, j)


@jit
def _points_near(lines, x, begin, y, limit):
    """The first and the last point of y, plus one, that may be closer to the block of x from ``begin`` on than a limit.

    They are equal if there is none.
    """
    start, first = lines.span[y, START], lines.span[y, FIRST_BLOCK]
    own = lines.span[x, FIRST_BLOCK] + (begin - lines.span[x, START]) // BLOCK
    low = high = ZERO
    if square_between_boxes(lines.block_box, own, lines.line_box, y) >= limit:
        return start, start
    blocks = blocks_in(length_of(lines, y))
    for group in range(groups_in(blocks)):
        if square_between_boxes(lines.block_box, own, lines.group_box, lines.span[y, FIRST_GROUP] + group) >= limit:
            continue
        for b in range(group * GROUP, min((group + ONE) * GROUP, blocks)):
            if box_distance_squared(lines.block_box, own, first + b) < limit:
                low, high = (b if high == ZERO else low), b + ONE
    return start + low * BLOCK, min(start + high * BLOCK, lines.span[y, STOP])


@jit
def _least_square(points, i, first, last):
    """The smallest squared distance of a point to the points from ``first`` to ``last``."""
    square = np.inf
    for j in range(first, last):
        square = lesser(square, _square(points, i, j))
    return square


@jit
def gaps_between(lines, x, y, limit, gap):
    """Write the squared distance of each point of x to the nearest point of y, and of each point of y to x.

    Points whose squared distance is ``limit`` or more have infinity. Each pair of points is measured once.
    """
    for j in range(lines.span[y, START], lines.span[y, STOP]):
        gap[j] = limit
    x_stop = lines.span[x, STOP]
    for begin in range(lines.span[x, START], x_stop, BLOCK):
        first, last = _points_near(lines, x, begin, y, limit)
        for i in range(begin, min(begin + BLOCK, x_stop)):
            nearest = limit
            for j in range(first, last):
                square = _square(lines.points, i, j)
                nearest = lesser(nearest, square)
                gap[j] = lesser(gap[j], square)
            if nearest < limit:
                gap[i] = nearest
            else:
                gap[i] = np.inf
    for j in range(lines.span[y, START], lines.span[y, STOP]):
        if gap[j] >= limit:
            gap[j] = np.inf


@jit
def nearest_point(lines, i, y, gap):
    """The first of the points of line y that have this squared distance to point ``i``. There must be one."""
    j = lines.span[y, START]
    while _square(lines.points, i, j) != gap:
        j += ONE
    return j


@jit
def nearest_end(lines, i, y, gap):
    """The point of line y that ``nearest_point`` finds if it is an end of the line; otherwise the stop of the line."""
    start = lines.span[y, START]
    stop = lines.span[y, STOP]
    if _square(lines.points, i, start) == gap:
        return start
    if _square(lines.points, i, stop - ONE) == gap and nearest_point(lines, i, y, gap) == stop - ONE:
        return stop - ONE
    return stop


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
def share_covered(lines, x, y, limit, least, covered):
    """The share of the points of x that line y covers; 0 if x has none. ``covered`` gets whether it covers each.

    The kernel stops early if the share is below ``least``.
    """
    count, n, start, stop = ZERO, length_of(lines, x), lines.span[x, START], lines.span[x, STOP]
    for begin in range(start, stop, BLOCK):
        p, q = _points_near(lines, x, begin, y, limit)
        end = min(begin + BLOCK, stop)
        for i in range(begin, end):
            covered[i] = _least_square(lines.points, i, p, q) < limit
            count += ONE if covered[i] else ZERO
        if count + (stop - end) < least * n - 0.5:
            break
    return count / n if n > ZERO else 0.0


@jit
def best_fit(lines, order, bounds, g, x, same, limit, least, without, covered):
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
        of_x = share_covered(lines, x, y, limit, least, covered)
        if of_x >= least:
            of_y = share_covered(lines, y, x, limit, least if same else 0.0, covered)
            if (of_y >= least or not same) and of_x + of_y > most:
                best, most, share = k, of_x + of_y, of_y
    return best, share, most
