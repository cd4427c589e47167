"""The matched points of assigned lines, and the nearest points of two lines within a reach."""

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.band import make_band
from mapgauge.kernels.lines import (
    BLOCK,
    FIRST_BLOCK,
    START,
    STOP,
    blocks_in,
    box_distance_squared,
    gap_between,
    length_of,
    square_between,
)
from mapgauge.kernels.sospa import align_lines


@jit_allocating
def match_points(lines, closed, truth_of, directed, cutoff, order, long, partner, matched, cost):
    """Match the points of each prediction with those of its true line.

    ``partner`` gets the index of the matched point of each point. ``matched`` and ``cost`` get the number of matched
    points of each prediction and the sum of their costs, as PLD computes them.
    """
    count = 0
    for x in range(len(truth_of)):
        count += 1 if truth_of[x] >= 0 else 0
    pairs = np.empty((count, 2), np.int64)
    at = 0
    for x in range(len(truth_of)):
        if truth_of[x] >= 0:
            pairs[at, 0], pairs[at, 1] = x, truth_of[x]
            at += 1
    band = make_band(lines, closed, pairs, cutoff, long)
    for k in range(count):
        x, y = U(pairs[k, 0]), U(pairs[k, 1])
        found, total, _ = align_lines(lines, x, y, closed[x] or closed[y], directed, cutoff, order, band, long)
        matched[x], cost[x] = found, total
        first, second = lines.span[x, START], lines.span[y, START]
        for a in range(found):
            i, j = first + U(band.pairs[a, 0]), second + U(band.pairs[a, 1])
            partner[i], partner[j] = j, i


@jit
def _is_far(lines, block, y, limit):
    """Whether the box of a block and the box of line y are so far apart that no squared distance is below a limit."""
    square, dimension = 0.0, U(lines.line_box.shape[0]) // TWO
    for k in range(dimension):
        low, high = lines.block_box[k, block], lines.block_box[dimension + k, block]
        apart = gap_between(low, high, lines.line_box[k, y], lines.line_box[dimension + k, y])
        square += apart * apart
    return square >= limit


@jit
def nearest_points(lines, x, y, limit, gap, nearest, at_x, at_y):
    """Write the squared distance of each point of x to the nearest point of y, and of each point of y to x.

    ``nearest`` gets the index of that point. Points whose squared distance is ``limit`` or more have infinity and -1.
    The numbers of x begin at ``at_x`` and those of y at ``at_y``.
    """
    n, m = length_of(lines, x), length_of(lines, y)
    for i in range(n):
        gap[at_x + i], nearest[at_x + i] = np.inf, -1
    for j in range(m):
        gap[at_y + j], nearest[at_y + j] = np.inf, -1
    x_start, y_start, x_stop, y_stop = (
        lines.span[x, START],
        lines.span[y, START],
        lines.span[x, STOP],
        lines.span[y, STOP],
    )
    x_block, y_block = lines.span[x, FIRST_BLOCK], lines.span[y, FIRST_BLOCK]
    for a in range(blocks_in(n)):
        if _is_far(lines, x_block + a, y, limit):
            continue
        for b in range(blocks_in(m)):
            if box_distance_squared(lines.block_box, x_block + a, y_block + b) >= limit:
                continue
            for i in range(x_start + a * BLOCK, min(x_start + (a + ONE) * BLOCK, x_stop)):
                p = at_x + (i - x_start)
                for j in range(y_start + b * BLOCK, min(y_start + (b + ONE) * BLOCK, y_stop)):
                    square = square_between(lines.points, i, j)
                    if square >= limit:
                        continue
                    q = at_y + (j - y_start)
                    if square < gap[p]:
                        gap[p], nearest[p] = square, j
                    if square < gap[q]:
                        gap[q], nearest[q] = square, i


@jit
def share_within(gap, at, count, limit):
    """The share of ``count`` squared distances that are below ``limit``; 0 if there are none."""
    within = 0
    for k in range(at, at + count):
        within += 1 if gap[k] < limit else 0
    return within / count if count > ZERO else 0.0
