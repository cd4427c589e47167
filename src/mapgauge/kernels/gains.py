"""The gain of matching each pair of points, in units of ``c^p``, and bounds from the largest gains.

Matching ``x_i`` with ``y_j`` instead of leaving both unmatched saves ``c^p - d^p``. In units of ``c^p`` the *gain* is
``1 - (d / c)^p``, and ``sospa^p = c^p ((n + m) / 2 - heaviest chain of gains)``. Only pairs with ``d < c`` have a
positive gain. All other gains are stored as 0 or not stored.

Gains are rounded to multiples of ``2^-44``. Sums of up to 512 gains are then exact in float64, in any order of
summation. A pair that is read backwards, swapped or rotated therefore has the same heaviest chain to the last bit. The
rounding never reaches a reported value, because values are computed from the matching that the chain describes. It can
hide the difference between two matchings only if both leave no point unmatched; ``complete.py`` decides between these.

Among matchings of equal cost, the one with the most matched points must win. Each positive gain therefore carries a
bonus of ``2^-42``. A matching chosen with the bonus costs at most ``1 + 2^-42`` times the optimum: each extra match
replaces at least ``c^p`` of gaps in the optimum, and these gaps are part of the optimum's cost.
"""

import math

from mapgauge.kernels._extremes import most
from mapgauge.kernels._jit import ONE, ZERO, U, jit, jit_allocating
from mapgauge.kernels.band import AT, COLUMN_BEST, HIGH, LOW, ROW_BEST, allocate_band, find_runs
from mapgauge.kernels.lines import BLOCK, START, blocks_in

ROUND = 1.5 * 2.0**8  # adding and subtracting this rounds a number in [-128, 1] to a multiple of 2^-44
BONUS = 2.0**-42


@jit
def _gain(saving):
    """Round a saving in units of ``c^p`` and add the bonus for a match; 0 if nothing is saved."""
    rounded = (saving + ROUND) - ROUND
    return rounded + BONUS if rounded > 0.0 else 0.0


@jit
def _fill_fast(points, i, column, inverse, gain, at, count):
    """Write the gains of order 1 in two dimensions, from point ``i`` to ``count`` points from ``column`` on."""
    u, v = points[ZERO, i], points[ONE, i]
    for j in range(count):
        a = (u - points[ZERO, column + j]) * inverse
        b = (v - points[ONE, column + j]) * inverse
        gain[at + j] = _gain(1.0 - math.sqrt(a * a + b * b))


@jit
def _fill_squares(points, i, column, inverse, gain, at, count):
    """Write the squared distances in units of the cutoff, in any dimension."""
    for j in range(count):
        gain[at + j] = 0.0
    for k in range(U(points.shape[0])):
        u = points[k, i]
        for j in range(count):
            a = (u - points[k, column + j]) * inverse
            gain[at + j] += a * a


@jit
def _squares_to_gains(order, gain, cells):
    """Turn squared scaled distances into gains. Each case has its own loop: a power in it takes five times as long."""
    if order == 1.0:
        for c in range(cells):
            gain[c] = _gain(1.0 - math.sqrt(gain[c]))
    elif order == 2.0:
        for c in range(cells):
            gain[c] = _gain(1.0 - gain[c])
    else:
        for c in range(cells):
            # Far pairs are excluded first, because their power may overflow.
            gain[c] = _gain(1.0 - gain[c] ** (0.5 * order)) if gain[c] < 1.0 else 0.0


@jit
def fill_gains(lines, x, y, begin, n, cutoff, order, band):
    """Write the gains between ``n`` points of line ``x``, from point ``begin`` on, and all points of line ``y``.

    Returns the number of cells. If they do not fit into the band, writes no gains.
    """
    _, cells = find_runs(lines, x, y, begin, n, cutoff, band)
    if cells == ZERO or cells > U(len(band.gain)):
        return cells
    points, start, other = lines.points, lines.span[x, START] + begin, lines.span[y, START]
    first_run, runs, gain = band.first_run, band.runs, band.gain
    inverse = 1.0 / cutoff
    fast = points.shape[0] == 2 and order == 1.0
    for b in range(blocks_in(n)):
        first = b * BLOCK
        for r in range(first_run[b], first_run[b + ONE]):
            column, width, at = other + runs[r, LOW], runs[r, HIGH] - runs[r, LOW], runs[r, AT]
            for i in range(start + first, start + min(first + BLOCK, n)):
                if fast:
                    _fill_fast(points, i, column, inverse, gain, at, width)
                else:
                    _fill_squares(points, i, column, inverse, gain, at, width)
                at += width
    if not fast:
        _squares_to_gains(order, gain, cells)
    return cells


@jit_allocating
def band_of_matrix(distance, closed, cutoff, order):
    """Gains from a matrix of point distances of any metric: one run of all columns for every block of rows."""
    n, m = U(distance.shape[0]), U(distance.shape[1])
    blocks = blocks_in(n)
    band = allocate_band(n, m, blocks, n * m, closed, ZERO)
    for b in range(blocks):
        band.first_run[b] = b
        band.runs[b, LOW], band.runs[b, HIGH], band.runs[b, AT] = ZERO, m, b * BLOCK * m
    band.first_run[blocks] = blocks
    for i in range(n):
        for j in range(m):
            ratio = distance[i, j] / cutoff
            band.gain[i * m + j] = _gain(1.0 - ratio**order) if ratio < 1.0 else 0.0
    return band


@jit
def best_of_rows(band, n):
    """Fill ``ROW_BEST`` and return its sum, an upper bound of the gain of every chain."""
    first_run, runs, gain, row_best = band.first_run, band.runs, band.gain, band.work[ROW_BEST]
    total = 0.0
    for i in range(n):
        b = i // BLOCK
        best = 0.0
        for r in range(first_run[b], first_run[b + ONE]):
            width = runs[r, HIGH] - runs[r, LOW]
            at = runs[r, AT] + (i - b * BLOCK) * width
            for c in range(at, at + width):
                best = most(best, gain[c])
        row_best[i] = best
        total += best
    return total


@jit
def best_of_columns(band, n, m):
    """Sum of the largest gain of each column, an upper bound of the gain of every chain."""
    first_run, runs, gain, column_best = band.first_run, band.runs, band.gain, band.work[COLUMN_BEST]
    for j in range(m):
        column_best[j] = 0.0
    for b in range(blocks_in(n)):
        for r in range(first_run[b], first_run[b + ONE]):
            low, width, at = runs[r, LOW], runs[r, HIGH] - runs[r, LOW], runs[r, AT]
            for _ in range(min(BLOCK, n - b * BLOCK)):
                for j in range(width):
                    column_best[low + j] = most(column_best[low + j], gain[at + j])
                at += width
    total = 0.0
    for j in range(m):
        total += column_best[j]
    return total
