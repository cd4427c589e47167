"""Average precision of many bootstrap samples."""

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating

MISS = 1e-9  # a recall that misses a level by less than this reaches it: the difference is rounding


@jit
def _area(found, number, steps, total):
    """Area under the precision-recall curve after it is made monotone."""
    area = best = 0.0
    for k in range(steps):  # from the end, so that ``best`` is the highest precision at this recall or a larger one
        i = steps - 1 - k
        best = max(best, found[i] / number[i])
        before = found[i - 1] if i > 0 else 0.0
        area += (found[i] - before) * best
    return area / total


@jit
def _eleven_points(found, number, steps, total):
    """Mean over the recalls 0, 0.1, ..., 1 of the highest precision at that recall or a larger one."""
    mean = best = 0.0
    i = steps
    for k in range(11):  # from recall 1 down, so that each step of the curve is looked at once
        level = (10 - k) / 10
        while i > 0 and found[i - 1] / total >= level - MISS:
            i -= 1
            best = max(best, found[i] / number[i])
        mean += best / 11
    return mean


@jit_allocating
def weighted_average_precision(owner, hit, last, weights, truth, out, eleven):
    """Average precision of each sample, where every prediction counts as often as its unit was drawn.

    A unit is a scene or a frame. Predictions are sorted from high confidence to low. ``owner`` is the unit of each
    prediction, ``hit`` is 1 for a true positive and 0 otherwise, and ``last`` marks the last prediction of each
    confidence. ``weights`` is ``(samples, units)``, and ``truth`` the number of true instances of each unit. With
    ``eleven`` the precision is averaged at 11 recalls; otherwise the result is the area under the curve.
    """
    found, number = np.empty(len(hit)), np.empty(len(hit))
    for b in range(len(weights)):
        total = 0.0
        for u in range(len(truth)):
            total += weights[b, u] * truth[u]
        hits = count = reached = 0.0
        steps = 0
        for i in range(len(hit)):
            weight = weights[b, owner[i]]
            count += weight
            hits += weight * hit[i]
            if last[i] and hits > reached:  # a step without a new hit changes nothing
                reached = hits
                found[steps], number[steps] = hits, count
                steps += 1
        if total > 0.0:
            out[b] = _eleven_points(found, number, steps, total) if eleven else _area(found, number, steps, total)
        else:  # predictions without true instances have the value 0; with neither there is no value
            out[b] = 0.0 if count > 0.0 else np.nan
