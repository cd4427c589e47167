"""Discrete Fréchet distance: the shortest leash with which two walkers can go along both lines point by point.

There are two Fréchet distances between closed lines here, and they differ:

- ``frechet_both_shifted`` is the minimum over the cyclic shifts of both lines. ``mapgauge.frechet`` returns it.
- ``frechet_prediction_shifted`` is the minimum over the cyclic shifts of the prediction alone, as in the evaluator of
  the paper's authors. Average precision uses it.

They are equal between open lines, which are not shifted.

All distances are squared until the end, where the root is taken once. If every value in a row of the dynamic programme
has reached the best known result, the search ends: the rows below cannot improve on it. Each cell takes the minimum
with its left neighbour last, because that value has only just been computed. The order of the minima makes a third of
the run time.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating, least, most
from mapgauge.kernels.chamfer import nearest_squares
from mapgauge.kernels.interpreting import interpreted_while_small
from mapgauge.kernels.lines import (
    ROUNDING,
    START,
    STOP,
    box_distance_squared,
    longest_of,
    runs_against,
    square_between,
)


@jit
def _squares_from(points, i, y0, y1, backward, out):
    """Write the squared distances from point ``i`` to the points of y, in the order in which y is read."""
    m = y1 - y0
    for j in range(m):
        out[j] = 0.0
    for k in range(U(points.shape[0])):
        p = points[k, i]
        if backward:
            for j in range(m):
                a = p - points[k, y1 - ONE - j]
                out[j] += a * a
        else:
            for j in range(m):
                a = p - points[k, y0 + j]
                out[j] += a * a


@jit
def _open(points, x0, x1, y0, y1, backward, limit, square, row):
    """Squared distance between open lines, or infinity if it is not below ``limit``."""
    m = y1 - y0
    for i in range(x0, x1):
        _squares_from(points, i, y0, y1, backward, square)
        diagonal = left = np.inf
        lowest = np.inf
        for j in range(m):
            if i > x0:
                above = row[j]
            else:
                above = np.inf
            best = min(min(above, diagonal), left)
            if i == x0 and j == ZERO:
                best = 0.0
            diagonal = above
            left = max(best, square[j])
            row[j] = left
            lowest = min(lowest, left)
        if lowest >= limit:
            return np.inf
    return row[m - ONE]


@jit
def _closed(points, x0, x1, y0, y1, backward, limit, square, row, stepped):
    """Squared distance between closed lines, the minimum over the cyclic shifts of both; at most ``limit``.

    Take a walk from a shifted start to the point before it on each line, and close it with one step of both walkers.
    The result is a closed walk around both lines in which both walkers step at once somewhere. Each such walk enters
    the first point of x once, at some point s of y. The function tries each s. For every cell it keeps the best walk
    (``row``) and the best walk in which both walkers have stepped at once (``stepped``).
    """
    m = y1 - y0
    _squares_from(points, x0, y0, y1, backward, square)
    nearest = ZERO
    for j in range(m):
        if square[j] < square[nearest]:
            nearest = j
    for turn in range(m):
        # nearest first: it rules out most others
        if nearest + turn < m:
            s = nearest + turn
        else:
            s = nearest + turn - m
        entry = 0.0
        alive = True
        for i in range(x0, x1):
            _squares_from(points, i, y0, y1, backward, square)
            if i == x0:
                entry = square[s]
                if entry >= limit:
                    alive = False
                    break
            diagonal = left = left_stepped = np.inf
            lowest = np.inf
            for j in range(m + ONE):  # y from its point s all around to s again
                if s + j < m:
                    at = s + j
                else:
                    at = s + j - m
                if i > x0:
                    above, above_stepped = (row[j], stepped[j])
                else:
                    above, above_stepped = (np.inf, np.inf)
                best = min(min(above, diagonal), left)
                if i == x0 and j == ZERO:
                    best = 0.0
                best_stepped = min(min(above_stepped, diagonal), left_stepped)
                diagonal = above
                left = max(best, square[at])
                left_stepped = max(best_stepped, square[at])
                row[j] = left
                stepped[j] = left_stepped
                lowest = min(lowest, left)
            if lowest >= limit:
                alive = False
                break
        if alive:
            # The walk returns to the first point of x by a step of both, or of x alone if both have stepped before.
            limit = min(limit, max(entry, min(row[m - ONE], stepped[m])))
    return limit


@interpreted_while_small(300)
@jit_allocating
def frechet_both_shifted(lines, x, y, cyclic, directed):
    """Discrete Fréchet distance; with ``cyclic`` the minimum over the cyclic shifts of both lines.

    Both lines must have points. Unless ``directed``, y may also be read backwards.
    """
    x0 = lines.span[x, START]
    x1 = lines.span[x, STOP]
    y0 = lines.span[y, START]
    y1 = lines.span[y, STOP]
    square = np.empty(y1 - y0)
    row = np.empty(y1 - y0 + ONE)
    stepped = np.empty(y1 - y0 + ONE)
    best = np.inf
    for backward in range(ONE if directed else TWO):
        if cyclic:
            best = _closed(lines.points, x0, x1, y0, y1, backward == ONE, best, square, row, stepped)
        else:
            best = min(best, _open(lines.points, x0, x1, y0, y1, backward == ONE, best, square, row))
    return math.sqrt(best)


@jit
def _hausdorff(points, x0, x1, y0, y1, limit, nearest):
    """Squared Hausdorff distance, a lower bound of the squared Fréchet distance; infinity if it exceeds ``limit``."""
    nearest_squares(points, x0, x1, y0, y1, nearest)
    largest = 0.0
    for j in range(y1 - y0):
        largest = most(largest, nearest[ZERO, j])
    for i in range(x1 - x0):
        largest = most(largest, nearest[ONE, i])
    if largest <= limit:
        return largest
    return np.inf


@jit
def _walk(points, x0, x1, y0, y1, backward, limit, row):
    """Squared Fréchet distance of two open lines, or infinity if it exceeds ``limit``.

    Only cells that a walk can reach within the limit are visited. Each row begins at the first cell that was reached in
    the row before.
    """
    m = y1 - y0
    flat = points.shape[0] == 2
    # cells reached in the last row lie in low .. high
    low = ZERO
    high = ONE
    row[ZERO, ZERO] = square_between(points, x0, y1 - ONE if backward else y0)
    if row[ZERO, ZERO] > limit:
        return np.inf
    for i in range(x0, x1):
        diagonal = left = np.inf
        first = m
        last = low
        j = low
        while j < m and (j <= high or left < np.inf):
            if j < high:
                above = row[ZERO, j]
            else:
                above = np.inf
            best = least(least(above, diagonal), left)
            diagonal = above
            if backward:
                c = y1 - ONE - j
            else:
                c = y0 + j
            if flat:  # most lines; a call takes as long as the rest of the cell
                a = points[ZERO, i] - points[ZERO, c]
                b = points[ONE, i] - points[ONE, c]
                left = most(best, a * a + b * b)
            else:
                left = most(best, square_between(points, i, c))
            if left > limit:
                left = np.inf
            else:
                if first == m:
                    first = j
                last = j + ONE
            row[ZERO, j] = left
            j += ONE
        if first == m:
            return np.inf
        low = first
        high = last
    if high == m:
        return row[ZERO, m - ONE]
    return np.inf


@jit
def _ends_apart(points, x0, x1, y0, y1, backward):
    """The larger squared distance of the two pairs of ends, a lower bound of the squared Fréchet distance."""
    if backward:
        first, last = (y1 - ONE, y0)
    else:
        first, last = (y0, y1 - ONE)
    return most(square_between(points, x0, first), square_between(points, x1 - ONE, last))


@jit
def frechet_prediction_shifted(lines, x, y, cyclic, directed, reach, room, row):
    """Discrete Fréchet distance, or infinity if it exceeds ``reach``; with ``cyclic`` the minimum over shifts of x.

    x is the prediction and y the true line. Shifting x alone follows the evaluator of the paper's authors. ``room`` is
    working memory for the points of three lines, and ``row`` for two rows with a number per point of a line.
    """
    points = lines.points
    x0 = lines.span[x, START]
    x1 = lines.span[x, STOP]
    y0 = lines.span[y, START]
    y1 = lines.span[y, STOP]
    limit = reach * reach * ROUNDING
    if box_distance_squared(lines.line_box, x, y) > limit:
        return np.inf
    n = x1 - x0
    m = y1 - y0
    shifts = ONE
    if cyclic:
        shifts = n
        for k in range(U(points.shape[0])):  # x twice, then y: a shift of x is then a range of columns
            for i in range(n):
                room[k, i] = room[k, n + i] = points[k, x0 + i]
            for j in range(m):
                room[k, TWO * n + j] = points[k, y0 + j]
        points = room
        x0 = ZERO
        y0 = TWO * n
        y1 = TWO * n + m
    best = np.inf
    bound = 0.0
    if cyclic and not directed and runs_against(lines, x, y, cyclic):
        guess = ONE
    else:
        guess = ZERO
    for either in range(ONE if directed else TWO):
        # The direction that seems right comes first, because its result rules out most of the other.
        backward = (either == ONE) != (guess == ONE)
        near = np.inf
        start = ZERO
        for s in range(shifts):  # the shift whose ends fit best comes first too
            ends = _ends_apart(points, x0 + s, x0 + s + n, y0, y1, backward)
            if ends < near:
                near, start = (ends, s)
        if near > limit:
            continue
        for turn in range(shifts):
            if start + turn < shifts:
                s = start + turn
            else:
                s = start + turn - shifts
            ends = _ends_apart(points, x0 + s, x0 + s + n, y0, y1, backward)
            if ends > limit:
                continue
            # Most distances equal a lower bound, and a walk within a smaller limit visits fewer cells.
            if cyclic:
                square = np.inf
            else:
                square = _walk(points, x0, x0 + n, y0, y1, backward, ends, row)
            if square == np.inf and bound == 0.0:
                bound = _hausdorff(points, x0, x0 + n, y0, y1, limit, row)
                if bound == np.inf:
                    return np.inf
            for within in (max(ends, bound), limit):
                if square == np.inf:
                    square = _walk(points, x0 + s, x0 + s + n, y0, y1, backward, within, row)
            best = min(best, square)
            limit = min(limit, best)
            if best <= bound:
                return math.sqrt(best)
    return math.sqrt(best)


@jit_allocating
def frechet_pairs(lines, closed, bounds, factor, directed, limit, out):
    """Fréchet distances of all pairs of a prediction and a true line in each group, with the prediction shifted.

    The arguments are as in ``chamfer_pairs`` with ``nearest_only``. A pair is skipped if its ``out`` is infinite at the
    start.
    """
    longest = longest_of(lines)
    row = np.empty((2, longest))
    room = np.empty((lines.points.shape[0], 3 * longest))
    at = 0
    for g in range(len(bounds)):
        for x in range(U(bounds[g, 0]), U(bounds[g, 1])):
            reach = limit
            for y in range(U(bounds[g, 1]), U(bounds[g, 2])):
                if out[at] < np.inf:
                    cyclic = closed[x] or closed[y]
                    within = reach / factor[y]
                    distance = frechet_prediction_shifted(lines, x, y, cyclic, directed, within, room, row)
                    out[at] = factor[y] * distance
                    reach = min(reach, out[at])
                at += 1
