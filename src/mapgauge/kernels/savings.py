"""The savings of all pairs of a prediction and a true line that are near, for metrics that assign over many frames.

``pld.py`` computes few exact distances, because an assignment within a frame needs no more. An assignment over many
frames may prefer any pair that saves something. So all of them are computed, for order 1.
"""

import numpy as np

from mapgauge.kernels._jit import ZERO, U, jit_allocating
from mapgauge.kernels.band import make_band
from mapgauge.kernels.lines import are_near, length_of
from mapgauge.kernels.sospa import align_lines, value_of

SAVING, MATCHED_POINTS, UNMATCHED_POINTS = range(3)


@jit_allocating
def near_pairs(lines, confidence, bounds, cutoff):
    """All pairs of a prediction and a true line of the same group that may save something, as ``(pairs, 2)``.

    Group g has the predictions ``bounds[g, 0] .. bounds[g, 1]`` and the true lines ``bounds[g, 1] .. bounds[g, 2]``.
    """
    pairs = np.empty((1024, 2), np.int64)
    count = 0
    for g in range(len(bounds)):
        for x in range(bounds[g, 0], bounds[g, 1]):
            for y in range(bounds[g, 1], bounds[g, 2]):
                if min(confidence[x], confidence[y]) <= 0.0:
                    continue
                empty = length_of(lines, U(x)) + length_of(lines, U(y)) == ZERO
                if empty or are_near(lines, U(x), U(y), cutoff):
                    if count == len(pairs):
                        more = np.empty((2 * count, 2), np.int64)
                        more[:count] = pairs
                        pairs = more
                    pairs[count, 0], pairs[count, 1] = x, y
                    count += 1
    return pairs[:count].copy()


@jit_allocating
def savings_of_pairs(lines, closed, confidence, pairs, directed, cutoff, long):
    """``min(r, s) (1 - D)`` of each pair, and the two terms of ``min(r, s) D``: matched and unmatched points."""
    out = np.zeros((len(pairs), 3))
    band = make_band(lines, closed, pairs, cutoff, long)
    for k in range(len(pairs)):
        x, y = U(pairs[k, 0]), U(pairs[k, 1])
        weight = min(confidence[x], confidence[y])
        points = length_of(lines, x) + length_of(lines, y)
        if points == ZERO:
            out[k, SAVING] = weight  # two empty lines are equal
            continue
        matched, cost, _ = align_lines(lines, x, y, closed[x] or closed[y], directed, cutoff, 1.0, band, long)
        total, distance = value_of(cost, matched, points, cutoff, 1.0)
        out[k, SAVING] = weight * (1.0 - distance)
        if total > 0.0:
            out[k, MATCHED_POINTS] = weight * distance * (cost / total)
            out[k, UNMATCHED_POINTS] = weight * distance * ((total - cost) / total)
    return out
