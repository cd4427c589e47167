"""Average precision of many bootstrap samples."""

import numpy as np

from mapgauge.kernels._jit import jit_allocating


@jit_allocating
def weighted_average_precision(owner, hit, last, weights, truth, out):
    """Average precision where every prediction counts as often as its unit was drawn.

    Predictions are sorted from high confidence to low; ``last`` marks the last of equal confidence, ``owner`` the unit
    (a scene, a frame) of each. ``weights`` is ``(samples, units)``, ``truth`` the number of true instances of each
    unit.
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
        area = best = 0.0
        for k in range(steps):  # from the end: the precision that a recall can still reach
            i = steps - 1 - k
            best = max(best, found[i] / number[i])
            before = found[i - 1] if i > 0 else 0.0
            area += (found[i] - before) * best
        if total > 0.0:
            out[b] = area / total
        else:  # predictions without truth are worth 0; without either there is no value
            out[b] = 0.0 if count > 0.0 else np.nan
