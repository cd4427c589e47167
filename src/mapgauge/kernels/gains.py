"""The gain of matching each pair of points, in units of ``c^p``, and bounds from the largest gains.

Matching ``x_i`` with ``y_j`` instead of leaving both unmatched saves ``c^p - d^p``. In units of ``c^p`` the *gain* is
``1 - (d / c)^p``, and ``sospa^p = c^p ((n + m) / 2 - heaviest chain of gains)``. Only pairs with ``d < c`` have a
positive gain. All other gains are stored as 0 or not stored.

Gains are rounded to multiples of ``2^-44``. Sums of up to 512 gains are then exact in float64, in any order of
summation. A pair that is read backwards, swapped or rotated therefore has the same heaviest chain to the last bit. The
rounding never reaches a reported value, because values are computed from the matching that the chain describes. It can
hide the difference between two matchings only if both leave no point unmatched; ``sospa.py`` decides between these.

Among matchings of equal cost, the one with the most matched points must win. Each positive gain therefore carries a
bonus of ``2^-42``. A matching chosen with the bonus costs at most ``1 + 2^-42`` times the optimum: each extra match
replaces at least ``c^p`` of gaps in the optimum, and these gaps are part of the optimum's cost.

The band holds the gains, and the working memory of a pair of lines. A gain is positive only if the points are closer
than the cutoff, so gains are stored only where points may be close.

Layout: the rows (points of x) of one block share their runs of columns (points of y). Run ``r`` covers the columns
``runs[r, LOW] .. runs[r, HIGH]``. Its gains for the q-th row of the block start at ``runs[r, AT] + q * width``.

If all points are close to each other, the band of two open lines of 16,000 points would take gigabytes. Open pairs with
more cells than fit are therefore processed a stretch of rows at a time (``chain.py``).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import ONE, THREE, TWO, ZERO, U, jit, jit_allocating, most
from mapgauge.kernels.interpreting import interpreted_while_small
from mapgauge.kernels.lines import (
    BLOCK,
    FIRST_BLOCK,
    FIRST_GROUP,
    GROUP,
    START,
    are_near,
    blocks_in,
    box_distance_squared,
    gap_between,
    groups_in,
    length_of,
)

ROOMY = U(1 << 22)  # cells that are reserved without counting first: 32 MB of address space, paged in on use
ALIGNED = BLOCK * GROUP  # stretches of rows start at multiples of this

# columns of ``runs``
LOW = ZERO
HIGH = ONE
AT = TWO

# Rows of ``work``. They are one array, because a call copies seven numbers for each array.
ROW_BEST = U(0)  # the largest gain of each row
REST = U(1)  # bound of the total gain of the t-th row read and all later rows
PREFIX = U(2)  # the current row of the dynamic programme
LATE = U(3)  # like PREFIX, from the end, in the second of two rounds of a closed line
EARLY = U(4)  # the same in the first round
COLUMN_BEST = U(5)  # the largest gain of each column
CUT_GAIN = U(6)  # the gain of each cut of a closed line
TRIED = U(7)  # 1 for cuts of a closed line that were tried, 0 for others


class Band(NamedTuple):
    """Gains of one pair of lines and the working memory for them; reused from pair to pair."""

    first_run: NDArray[np.uint64]  # (row blocks + 1,)
    runs: NDArray[np.uint64]  # (runs, 3): first column, one past the last column, index of the first gain
    gain: NDArray[np.float64]  # (cells,)
    work: NDArray[np.float64]  # (8, the larger of n and m, plus 1) the working memory named below
    move: NDArray[np.uint8]  # (cells,) the move by which the chain entered each cell
    reach: NDArray[np.uint64]  # (runs * BLOCK * 2,) last position to which the value at a run's end was carried
    pairs: NDArray[np.int64]  # (min(n, m), 2) the matched points of a chain: row, column
    path: NDArray[np.uint64]  # (slots, n) chains of cuts: the column of each row, or the column after the last match
    saved: NDArray[np.float64]  # (stretches * (m + 2),) ``prefix`` and ``stored`` before each stretch of rows


@jit_allocating
def allocate_band(n, m, runs, cells, closed, saved):
    """Memory for one pair of n and m points. Only closed lines need ``path``."""
    slots = TWO
    while closed and (m >> (slots - TWO)) > ZERO:
        slots += ONE
    return Band(
        np.empty(blocks_in(n) + ONE, np.uint64),
        np.empty((runs, 3), np.uint64),
        np.empty(cells, np.float64),
        np.empty((8, max(n, m) + ONE), np.float64),
        np.empty(cells, np.uint8),
        np.empty(runs * BLOCK * TWO, np.uint64),
        np.empty((min(n, m), 2), np.int64),
        np.empty((slots, n if closed else ZERO), np.uint64),
        np.empty(saved, np.float64),
    )


@interpreted_while_small(10_000, lambda bounds: (np.diff(bounds[:, :2]) * np.diff(bounds[:, 1:])).sum())
@jit_allocating
def pairs_of_groups(bounds):
    """All pairs of a prediction and a true line of the same group, group by group (see ``pld_of_groups``)."""
    count = 0
    for g in range(len(bounds)):
        count += (bounds[g, 1] - bounds[g, 0]) * (bounds[g, 2] - bounds[g, 1])
    pairs = np.empty((count, 2), np.int64)
    at = 0
    for g in range(len(bounds)):
        for x in range(bounds[g, 0], bounds[g, 1]):
            for y in range(bounds[g, 1], bounds[g, 2]):
                pairs[at, 0] = x
                pairs[at, 1] = y
                at += 1
    return pairs


@jit_allocating
def make_band(lines, closed, pairs, cutoff, long):
    """Memory for the largest of these pairs. A pair is closed if one of its lines is.

    Long lines have too many cells, so the cells that are needed are counted. Open pairs need no more than a stretch of
    about the square root of their rows, and the state of the dynamic programme before each stretch.
    """
    n = m = ONE
    cyclic = False
    for k in range(len(pairs)):
        n = max(n, length_of(lines, U(pairs[k, 0])))
        m = max(m, length_of(lines, U(pairs[k, 1])))
        cyclic = cyclic or closed[pairs[k, 0]] or closed[pairs[k, 1]]
    runs = blocks_in(n) * (blocks_in(m) // TWO + ONE)
    cells = n * m
    saved = ZERO
    if cells > ROOMY:
        rows = max(ROOMY // m, U(math.sqrt(1.0 * n))) // ALIGNED * ALIGNED + ALIGNED
        counting = allocate_band(n, m, ZERO, ZERO, cyclic, ZERO)
        runs = cells = ONE
        for k in range(len(pairs)):
            x = U(pairs[k, 0])
            y = U(pairs[k, 1])
            if are_near(lines, x, y, cutoff):
                more_runs, more_cells = find_runs(lines, x, y, ZERO, length_of(lines, x), cutoff, counting)
                if long is not None and more_cells > rows * m and not (closed[x] or closed[y]):
                    more_cells = rows * m
                    saved = (n // rows + ONE) * (m + TWO)
                runs = max(runs, more_runs)
                cells = max(cells, more_cells)
    return allocate_band(n, m, runs, cells, cyclic, saved)


@jit
def _block_distances(box, a, first, begin, end, out):
    """Write squared distances from block ``a`` to blocks ``begin .. end`` of the line with first block ``first``."""
    dimension = U(box.shape[0]) // TWO
    if dimension == TWO:
        low = box[ZERO, a]
        high = box[TWO, a]
        low_y = box[ONE, a]
        high_y = box[THREE, a]
        for b in range(begin, end):
            across = gap_between(low, high, box[ZERO, first + b], box[TWO, first + b])
            along = gap_between(low_y, high_y, box[ONE, first + b], box[THREE, first + b])
            out[b] = across * across + along * along
        return
    for b in range(begin, end):
        out[b] = 0.0
    for k in range(dimension):
        low = box[k, a]
        high = box[dimension + k, a]
        for b in range(begin, end):
            gap = gap_between(low, high, box[k, first + b], box[dimension + k, first + b])
            out[b] += gap * gap


@jit
def find_runs(lines, x, y, first, n, cutoff, band):
    """Store the runs of near blocks of ``n`` rows from row ``first`` on, a multiple of ``ALIGNED``.

    Returns the numbers of runs and cells, including runs and cells that did not fit.
    """
    m = length_of(lines, y)
    x_block = lines.span[x, FIRST_BLOCK] + first // BLOCK
    y_block = lines.span[y, FIRST_BLOCK]
    x_group = lines.span[x, FIRST_GROUP] + first // ALIGNED
    y_group = lines.span[y, FIRST_GROUP]
    x_blocks = blocks_in(n)
    y_blocks = blocks_in(m)
    y_groups = groups_in(y_blocks)
    block_box = lines.block_box
    group_box = lines.group_box
    first_run = band.first_run
    runs = band.runs
    distance = band.work[LATE]
    limit = cutoff * cutoff
    count = cells = begin = end = ZERO
    for b in range(x_blocks):
        first_run[b] = count
        if b % GROUP == ZERO:  # a new group of rows: find the columns that can be near any of them
            begin = end = ZERO
            for h in range(y_groups):
                if box_distance_squared(group_box, x_group + b // GROUP, y_group + h) < limit:
                    if end == ZERO:
                        begin = h * GROUP
                    end = (h + ONE) * GROUP
            end = min(end, y_blocks)
        if begin >= end:
            continue
        _block_distances(block_box, x_block + b, y_block, begin, end, distance)
        rows = min(BLOCK, n - b * BLOCK)
        last = end
        while last > begin and distance[last - ONE] >= limit:
            last -= ONE
        t = begin
        while t < last:
            while distance[t] >= limit:
                t += ONE
            low = t * BLOCK
            while t < last and distance[t] < limit:
                t += ONE
            high = min(t * BLOCK, m)
            if count < len(runs):
                runs[count, LOW] = low
                runs[count, HIGH] = high
                runs[count, AT] = cells
            count += ONE
            cells += rows * (high - low)
    first_run[x_blocks] = count
    return count, cells


ROUND = 1.5 * 2.0**8  # adding and subtracting this rounds a number in [-128, 1] to a multiple of 2^-44
BONUS = 2.0**-42


@jit
def _gain(saving):
    """Round a saving in units of ``c^p`` and add the bonus for a match; 0 if nothing is saved."""
    rounded = (saving + ROUND) - ROUND
    if rounded > 0.0:
        return rounded + BONUS
    return 0.0


@jit
def _fill_fast(points, i, column, inverse, gain, at, count):
    """Write the gains of order 1 in two dimensions, from point ``i`` to ``count`` points from ``column`` on."""
    u = points[ZERO, i]
    v = points[ONE, i]
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
            if gain[c] < 1.0:
                gain[c] = _gain(1.0 - gain[c] ** (0.5 * order))
            else:
                gain[c] = 0.0


@jit
def fill_gains(lines, x, y, begin, n, cutoff, order, band):
    """Write the gains between ``n`` points of line ``x``, from point ``begin`` on, and all points of line ``y``.

    Returns the number of cells. If they do not fit into the band, writes no gains.
    """
    _, cells = find_runs(lines, x, y, begin, n, cutoff, band)
    if cells == ZERO or cells > U(len(band.gain)):
        return cells
    points = lines.points
    start = lines.span[x, START] + begin
    other = lines.span[y, START]
    first_run = band.first_run
    runs = band.runs
    gain = band.gain
    inverse = 1.0 / cutoff
    fast = points.shape[0] == 2 and order == 1.0
    for b in range(blocks_in(n)):
        first = b * BLOCK
        for r in range(first_run[b], first_run[b + ONE]):
            column = other + runs[r, LOW]
            width = runs[r, HIGH] - runs[r, LOW]
            at = runs[r, AT]
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
    n = U(distance.shape[0])
    m = U(distance.shape[1])
    blocks = blocks_in(n)
    band = allocate_band(n, m, blocks, n * m, closed, ZERO)
    for b in range(blocks):
        band.first_run[b] = b
        band.runs[b, LOW] = ZERO
        band.runs[b, HIGH] = m
        band.runs[b, AT] = b * BLOCK * m
    band.first_run[blocks] = blocks
    for i in range(n):
        for j in range(m):
            ratio = distance[i, j] / cutoff
            if ratio < 1.0:
                band.gain[i * m + j] = _gain(1.0 - ratio**order)
            else:
                band.gain[i * m + j] = 0.0
    return band


@jit
def best_of_rows(band, n):
    """Fill ``ROW_BEST`` and return its sum, an upper bound of the gain of every chain."""
    first_run = band.first_run
    runs = band.runs
    gain = band.gain
    row_best = band.work[ROW_BEST]
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
    first_run = band.first_run
    runs = band.runs
    gain = band.gain
    column_best = band.work[COLUMN_BEST]
    for j in range(m):
        column_best[j] = 0.0
    for b in range(blocks_in(n)):
        for r in range(first_run[b], first_run[b + ONE]):
            low = runs[r, LOW]
            width = runs[r, HIGH] - runs[r, LOW]
            at = runs[r, AT]
            for _ in range(min(BLOCK, n - b * BLOCK)):
                for j in range(width):
                    column_best[low + j] = most(column_best[low + j], gain[at + j])
                at += width
    total = 0.0
    for j in range(m):
        total += column_best[j]
    return total
