"""Average precision: the true positives of predictions, and the precision of many bootstrap samples."""

import numpy as np

from mapgauge.kernels._jit import ONE, THREE, TWO, U, jit, jit_allocating
from mapgauge.kernels.chamfer import chamfer_within
from mapgauge.kernels.frechet import frechet_prediction_shifted
from mapgauge.kernels.interpreting import interpreted_while_small
from mapgauge.kernels.lines import longest_of


@jit
def hits_of_groups(bounds, order, distance, thresholds, strict, nearest, least, taken, hits):
    """Set bit t of ``hits[x]`` if prediction x is a true positive at the t-th threshold.

    ``bounds`` and ``distance`` are as in ``chamfer_pairs``. ``order`` lists all instances group by group, each group
    from high confidence to low. ``nearest``, ``least`` and ``taken`` are working memory, one entry per instance.
    """
    at = 0
    for g in range(len(bounds)):
        for x in range(bounds[g, 0], bounds[g, 1]):
            nearest[x] = -1
            least[x] = np.inf
            for y in range(bounds[g, 1], bounds[g, 2]):
                if distance[at] < least[x]:
                    least[x] = distance[at]
                    nearest[x] = y
                at += 1
    for t in range(len(thresholds)):
        for y in range(len(taken)):
            taken[y] = False
        for g in range(len(bounds)):
            for i in range(bounds[g, 0], bounds[g, 1]):
                x = order[i]
                if strict:
                    near = least[x] < thresholds[t]
                else:
                    near = least[x] <= thresholds[t]
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


@interpreted_while_small()
@jit_allocating
def hits_of_lines(lines, closed, bounds, order, factor, directed, thresholds, strict, hits):
    """Set bits as ``hits_of_groups`` does, from few distances. They are Chamfer distances if ``closed`` is None.

    If a true line is taken at a threshold, it is taken at all larger ones. ``free[y]`` is the largest threshold at
    which y is not taken. A prediction can only hit a true line that is no farther than that. Distances beyond it are
    computed for one purpose: to find out whether another true line is nearer.
    """
    longest = longest_of(lines)
    row = np.empty((2, longest))
    room = np.empty((lines.points.shape[0], 3 * longest))
    largest = -np.inf
    for t in range(len(thresholds)):
        largest = max(largest, thresholds[t])
    free = np.full(len(order), largest)
    for g in range(len(bounds)):
        first = U(bounds[g, 1])
        end = U(bounds[g, 2])
        for i in range(bounds[g, 0], bounds[g, 1]):
            x = U(order[i])
            nearest = end
            least = np.inf
            for y in range(first, end):
                if free[y] >= 0.0:
                    reach = min(free[y], least)
                    distance = _distance(lines, closed, x, y, directed, factor[y], reach, room, row)
                    if distance < least and distance <= free[y]:
                        nearest = y
                        least = distance
            for y in range(first, end):
                if free[y] < least and least < np.inf:
                    distance = _distance(lines, closed, x, y, directed, factor[y], least, room, row)
                    if distance < least or (distance == least and y < nearest):
                        least = np.inf
            if least < np.inf:
                before = free[nearest]
                free[nearest] = -1.0
                for t in range(len(thresholds)):
                    threshold = thresholds[t]
                    if least < threshold or (least == threshold and not strict):
                        if threshold <= before:
                            hits[x] |= 1 << t
                    else:
                        free[nearest] = max(free[nearest], min(threshold, before))


LANES = 64  # samples of a block; more take less time until the weights of all scenes exceed the cache
_LANES = U(LANES)


@jit
def _add_area(state, base, number, gain):
    """Add a step of a curve.

    The columns of the state are the number of hits, the highest precision at this recall or a larger one, and the area.
    They are in one array, because the compiler must know that they do not overlap.
    """
    for lane in range(_LANES):
        # A sample without predictions up to here has no hits either. Its precision is 0.
        precision = state[base + lane] / (number[lane] if number[lane] > 1.0 else 1.0)
        best = state[base + _LANES + lane]
        if precision > best:
            best = precision
        state[base + _LANES + lane] = best
        state[base + TWO * _LANES + lane] += gain[lane] * best
        state[base + lane] -= gain[lane]


@jit
def _add_levels(state, base, number, gain, total, level, recalls):
    """Add the levels of recall above a step of a curve that were not added yet. The state is as in ``_add_area``."""
    for lane in range(_LANES):
        hit_count = state[base + lane]
        best = state[base + _LANES + lane]
        while level[lane] >= 0 and hit_count / total[lane] < recalls[level[lane]]:
            state[base + TWO * _LANES + lane] += best / len(recalls)
            level[lane] -= 1
        precision = hit_count / (number[lane] if number[lane] > 1.0 else 1.0)
        if precision > best:
            state[base + _LANES + lane] = precision
        else:
            state[base + _LANES + lane] = best
        state[base + lane] -= gain[lane]


@jit
def _add_rest(state, base, level, recalls):
    """Add the levels of recall that were not added yet."""
    for lane in range(_LANES):
        while level[lane] >= 0:
            state[base + TWO * _LANES + lane] += state[base + _LANES + lane] / len(recalls)
            level[lane] -= 1


@jit
def weighted_precisions(owner, flags, some, starts, weights, total, number, state, level, gain, recalls):
    """Compute average precisions of a block of samples, where every prediction counts as often as its unit was drawn.

    A unit is a scene or a frame. Predictions are sorted from high confidence to low. The result is the area under the
    precision-recall curve times the number of true instances, after the curve is made monotone. With ``recalls``,
    which rise, it is the mean over them of the highest precision at that recall or a larger one. Neither is defined for
    a sample without true instances.

    ``owner`` is the unit of each prediction, ``flags`` are ``(predictions, settings)``, ``some`` says whether a
    prediction of each confidence is a true positive at some setting, and ``starts`` where each confidence begins.
    ``weights`` are ``(units, LANES)``. ``total`` and ``number`` count the truth and the predictions of each sample.
    ``state`` has, for each setting, the true positives of each sample, 0, and 0, which becomes the result.
    """
    confidences = U(len(some))
    settings = U(len(level))
    for k in range(confidences):
        g = confidences - ONE - k
        begin = U(starts[g])
        end = U(starts[g + ONE])
        for s in range(settings if some[g] else U(0)):
            hits = False
            for i in range(begin, end):
                if flags[i, s]:
                    u = U(owner[i])
                    for lane in range(_LANES):
                        gain[lane] = weights[u, lane] + (gain[lane] if hits else 0.0)
                    hits = True
            if hits and len(recalls):
                _add_levels(state, s * THREE * _LANES, number, gain, total, level[s], recalls)
            elif hits:
                _add_area(state, s * THREE * _LANES, number, gain)
        for i in range(begin, end):
            u = U(owner[i])
            for lane in range(U(len(number))):  # with a constant number, the compiler does not vectorise
                number[lane] -= weights[u, lane]
    for s in range(settings if len(recalls) else U(0)):
        _add_rest(state, s * THREE * _LANES, level[s], recalls)
