"""Average precision of many bootstrap samples.

Samples are computed in blocks of ``LANES`` side by side, so that every step of the curves is a step of vectors. Weights
are whole numbers, so the counts are exact in any order. The areas are added from the lowest confidence to the highest.
"""

from mapgauge.kernels._jit import ONE, THREE, TWO, U, jit

LANES = 16  # samples of a block
LEVELS = 10  # the recalls 0, 0.1, ..., 1 are the levels 0 to 10
MISS = 1e-9  # a recall that misses a level by less than this reaches it: the difference is rounding
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
        best = precision if precision > best else best
        state[base + _LANES + lane] = best
        state[base + TWO * _LANES + lane] += gain[lane] * best
        state[base + lane] -= gain[lane]


@jit
def _add_levels(state, base, number, gain, total, level):
    """Add the levels of recall above a step of a curve that were not added yet. The state is that of ``_add_area``."""
    for lane in range(_LANES):
        found, best = state[base + lane], state[base + _LANES + lane]
        while level[lane] >= 0 and found / total[lane] < level[lane] / LEVELS - MISS:
            state[base + TWO * _LANES + lane] += best / (LEVELS + 1)
            level[lane] -= 1
        precision = found / (number[lane] if number[lane] > 1.0 else 1.0)
        state[base + _LANES + lane] = precision if precision > best else best
        state[base + lane] -= gain[lane]


@jit
def _add_rest(state, base, level):
    """Add the levels of recall that were not added yet."""
    for lane in range(_LANES):
        while level[lane] >= 0:
            state[base + TWO * _LANES + lane] += state[base + _LANES + lane] / (LEVELS + 1)
            level[lane] -= 1


@jit
def weighted_precisions(owner, flags, some, starts, weights, total, number, state, level, gain, eleven):
    """Compute average precisions of a block of samples, where every prediction counts as often as its unit was drawn.

    A unit is a scene or a frame. Predictions are sorted from high confidence to low. The result is the area under the
    precision-recall curve times the number of true instances, after the curve is made monotone. With ``eleven`` it is
    the mean over the recalls 0, 0.1, ..., 1 of the highest precision at that recall or a larger one. Neither is defined
    for a sample without true instances.

    Args:
        owner: The unit of each prediction.
        flags: ``(predictions, settings)``: whether each is a true positive.
        some: Whether a prediction of each confidence is a true positive at some setting.
        starts: The first prediction of each confidence, and the number of predictions.
        weights: ``(units, LANES)``: how often each unit was drawn in each sample.
        total: ``(LANES,)``: number of true instances of each sample.
        number: ``(LANES,)``: number of predictions of each sample. Changed.
        state: ``(settings, 3, LANES)``, flat: number of true positives of each sample, 0, and 0. The last becomes the
            result.
        level: ``(settings, LANES)`` integers of ``LEVELS``. Changed.
        gain: ``(LANES,)`` to work with.
        eleven: Whether the precision is averaged at 11 recalls.
    """
    confidences, settings = U(len(some)), U(len(level))
    for k in range(confidences):
        g = confidences - ONE - k
        begin, end = U(starts[g]), U(starts[g + ONE])
        for s in range(settings if some[g] else U(0)):
            hits = False
            for i in range(begin, end):
                if flags[i, s]:
                    u = U(owner[i])
                    for lane in range(_LANES):
                        gain[lane] = weights[u, lane] + (gain[lane] if hits else 0.0)
                    hits = True
            if hits and eleven:
                _add_levels(state, s * THREE * _LANES, number, gain, total, level[s])
            elif hits:
                _add_area(state, s * THREE * _LANES, number, gain)
        for i in range(begin, end):
            u = U(owner[i])
            for lane in range(U(len(number))):  # with a constant number, the compiler does not vectorise
                number[lane] -= weights[u, lane]
    for s in range(settings if eleven else U(0)):
        _add_rest(state, s * THREE * _LANES, level[s])
