"""Discrete Fréchet distance: the shortest leash that lets two walkers go along both lines point by point.

All in squared distances; the root is taken once, at the end. A row of the dynamic programme in which every value has
reached the best known result ends the search: nothing below it can come of it. (In each cell the value to the left,
which has only just been computed, is looked at last: the order of the minima is a third of the run time.)
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.lines import START, STOP


@jit
def _squares_from(points, i, y0, y1, backward, out):
    """Squared distances from point ``i`` to the points of y, in the order in which y is read."""
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
    """Squared distance between open lines, or infinity once it cannot be below ``limit``."""
    m = y1 - y0
    for i in range(x0, x1):
        _squares_from(points, i, y0, y1, backward, square)
        diagonal = left = np.inf
        lowest = np.inf
        for j in range(m):
            above = row[j] if i > x0 else np.inf
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
    """Squared distance between closed lines, the minimum over the cyclic shifts of both; ``limit`` if not below it.

    A walk from shifted starts to the points before them, closed by one step of both walkers, is a closed walk around
    both lines in which somewhere both step at once. Each such walk enters the first point of x once, at some point s of
    y: try each s, and keep for every cell the best walk (``row``) and the best one in which both have stepped at once
    (``stepped``).
    """
    m = y1 - y0
    _squares_from(points, x0, y0, y1, backward, square)
    nearest = ZERO
    for j in range(m):
        nearest = j if square[j] < square[nearest] else nearest
    for turn in range(m):
        s = nearest + turn if nearest + turn < m else nearest + turn - m  # the nearest first: it rules out most others
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
            for j in range(m + ONE):  # y from its point s around to its point s again
                at = s + j if s + j < m else s + j - m
                above, above_stepped = (row[j], stepped[j]) if i > x0 else (np.inf, np.inf)
                best = min(min(above, diagonal), left)
                if i == x0 and j == ZERO:
                    best = 0.0
                best_stepped = min(min(above_stepped, diagonal), left_stepped)
                diagonal = above
                left, left_stepped = max(best, square[at]), max(best_stepped, square[at])
                row[j], stepped[j] = left, left_stepped
                lowest = min(lowest, left)
            if lowest >= limit:
                alive = False
                break
        if alive:
            # Back into the first point of x: with a step of both, or of x alone if both have stepped before.
            limit = min(limit, max(entry, min(row[m - ONE], stepped[m])))
    return limit


@jit_allocating
def frechet_of_lines(lines, x, y, cyclic, directed):
    """Discrete Fréchet distance between lines x and y, both with points."""
    x0, x1, y0, y1 = lines.span[x, START], lines.span[x, STOP], lines.span[y, START], lines.span[y, STOP]
    square, row, stepped = np.empty(y1 - y0), np.empty(y1 - y0 + ONE), np.empty(y1 - y0 + ONE)
    best = np.inf
    for backward in range(ONE if directed else TWO):
        if cyclic:
            best = _closed(lines.points, x0, x1, y0, y1, backward == ONE, best, square, row, stepped)
        else:
            best = min(best, _open(lines.points, x0, x1, y0, y1, backward == ONE, best, square, row))
    return math.sqrt(best)
