"""The matched points of assigned lines."""

import numpy as np

from mapgauge.kernels._jit import U, jit_allocating
from mapgauge.kernels.band import make_band
from mapgauge.kernels.lines import START
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
