"""Hits: which predictions average precision counts as true positives."""

import numpy as np

from mapgauge.kernels._jit import jit


@jit
def _nearest_truth(bounds, distance, nearest, least):
    """Write the nearest true line of each prediction and its distance; -1 if all distances are infinite."""
    at = 0
    for g in range(len(bounds)):
        for x in range(bounds[g, 0], bounds[g, 1]):
            nearest[x], least[x] = -1, np.inf
            for y in range(bounds[g, 1], bounds[g, 2]):
                if distance[at] < least[x]:
                    nearest[x], least[x] = y, distance[at]
                at += 1


@jit
def hits_of_groups(bounds, order, distance, thresholds, strict, nearest, least, taken, hits):
    """Set bit t of ``hits[x]`` if prediction x is a true positive at the t-th threshold.

    ``bounds`` and ``distance`` are as in ``chamfer_pairs``. ``order`` lists all instances group by group, each group
    from high confidence to low. In this order each prediction takes its nearest true line if that is near enough and
    still free. There is no second choice. The order among equal confidences does not matter: one prediction takes the
    true line and the others do not. ``nearest``, ``least`` and ``taken`` are working memory, one entry per instance.
    """
    _nearest_truth(bounds, distance, nearest, least)
    for t in range(len(thresholds)):
        for y in range(len(taken)):
            taken[y] = False
        for g in range(len(bounds)):
            for i in range(bounds[g, 0], bounds[g, 1]):
                x = order[i]
                near = least[x] < thresholds[t] if strict else least[x] <= thresholds[t]
                if nearest[x] >= 0 and near and not taken[nearest[x]]:
                    taken[nearest[x]] = True
                    hits[x] |= 1 << t
