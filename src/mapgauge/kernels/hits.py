"""Hits: which predictions average precision counts as true positives.

From high confidence to low, each prediction takes its nearest true line if that is near enough and still free. There is
no second choice. The order among equal confidences does not matter: one prediction takes the true line and the others
do not.
"""

import numpy as np

from mapgauge.kernels._jit import U, jit, jit_allocating
from mapgauge.kernels.chamfer import chamfer_within
from mapgauge.kernels.frechet import frechet_prediction_shifted
from mapgauge.kernels.lines import longest_of


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
    from high confidence to low. ``nearest``, ``least`` and ``taken`` are working memory, one entry per instance.
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


@jit
def _distance(lines, closed, x, y, directed, factor, reach, room, row):
    """Chamfer distance if ``closed`` is None, otherwise Fréchet distance, times a factor; infinity beyond ``reach``."""
    if closed is None:
        return factor * chamfer_within(lines, x, y, reach / factor, row)
    cyclic = closed[x] or closed[y]
    return factor * frechet_prediction_shifted(lines, x, y, cyclic, directed, reach / factor, room, row)


@jit_allocating
def hits_of_lines(lines, closed, bounds, order, factor, directed, thresholds, strict, hits):
    """Set bits as ``hits_of_groups`` does, from few distances. They are Chamfer distances if ``closed`` is None.

    If a true line is taken at a threshold, it is taken at all larger ones. ``free[y]`` is the largest threshold at
    which y is not taken. A prediction can only hit a true line that is no farther than that. Distances beyond it are
    computed for one purpose: to find out whether another true line is nearer.
    """
    longest = longest_of(lines)
    row, room = np.empty((2, longest)), np.empty((lines.points.shape[0], 3 * longest))
    largest = -np.inf
    for t in range(len(thresholds)):
        largest = max(largest, thresholds[t])
    free = np.full(len(order), largest)
    for g in range(len(bounds)):
        first, end = U(bounds[g, 1]), U(bounds[g, 2])
        for i in range(bounds[g, 0], bounds[g, 1]):
            x = U(order[i])
            nearest, least = end, np.inf
            for y in range(first, end):
                if free[y] >= 0.0:
                    reach = min(free[y], least)
                    found = _distance(lines, closed, x, y, directed, factor[y], reach, room, row)
                    if found < least and found <= free[y]:
                        nearest, least = y, found
            for y in range(first, end):
                if free[y] < least and least < np.inf:
                    found = _distance(lines, closed, x, y, directed, factor[y], least, room, row)
                    if found < least or (found == least and y < nearest):
                        least = np.inf
            if least < np.inf:
                before, free[nearest] = free[nearest], -1.0
                for t in range(len(thresholds)):
                    threshold = thresholds[t]
                    if least < threshold or (least == threshold and not strict):
                        if threshold <= before:
                            hits[x] |= 1 << t
                    else:
                        free[nearest] = max(free[nearest], min(threshold, before))
