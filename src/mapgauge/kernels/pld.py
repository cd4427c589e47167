"""PLD of one frame and class: the optimal assignment of instances, computing few of the distances it rests on.

``pld^p = mass - the largest total of min(r, s) (1 - D^p)`` over assignments (METRICS: the savings form), where D is
normalised SOSPA. Bounds are enough to discard most pairs: start with savings that are surely not too small, assign, replace
the chosen ones by better bounds or exact values, and assign again, until all that is chosen is exact. Then no other
assignment can be better, because its savings are bounded by numbers that already lost.
"""

import numpy as np

from mapgauge.kernels._jit import ONE, ZERO, U, jit, jit_allocating
from mapgauge.kernels.assignment import assign
from mapgauge.kernels.band import best_of_columns, best_of_rows, fill_from_lines, make_band
from mapgauge.kernels.lines import START, are_near, length_of
from mapgauge.kernels.sospa import align_lines, gain_of_lines, normalise, saturation, value_of

MATCHED_POINTS, UNMATCHED_POINTS, CONFIDENCE, MISSED, FALSE, MASS = range(6)
COARSE, FINE, EXACT = 0, 1, 2  # how well a saving is known


@jit
def _comes_before(lines, confidence, a, b):
    """A total order of instances by content: confidence from high to low, then points. Input order decides only twins."""
    if confidence[a] != confidence[b]:
        return confidence[a] > confidence[b]
    n, m = length_of(lines, a), length_of(lines, b)
    if n != m:
        return n < m
    start, other = lines.span[a, START], lines.span[b, START]
    for i in range(n):
        for k in range(U(lines.points.shape[0])):
            p, q = lines.points[k, start + i], lines.points[k, other + i]
            if p != q:
                return p < q
    return a < b


@jit_allocating
def _in_order(lines, confidence, begin, end):
    """Instances ``begin .. end`` in the order above, so that results do not depend on the order of the input."""
    order = np.empty(end - begin, np.uint64)
    for i in range(end - begin):
        order[i] = begin + i
    gap = len(order) // 2
    while gap > 0:  # Shell's sort
        for i in range(gap, len(order)):
            item, j = order[i], i
            while j >= gap and _comes_before(lines, confidence, item, order[j - gap]):
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 2
    return order


@jit
def _saving(weight, gain, points, order):
    """``min(r, s) (1 - D^p)`` when the heaviest chain has this gain, in units of ``c^p`` (cutoff 1)."""
    distance = normalise(saturation(max(0.5 * points - gain, 0.0), points, 1.0, order))
    return weight * (1.0 - (distance if order == 1.0 else distance**order))


@jit
def _refine(lines, x, y, weight, known, cyclic, directed, cutoff, order, band):
    """A better bound on the saving of a pair, or its exact value. Closed pairs are worth the extra bound."""
    points = length_of(lines, x) + length_of(lines, y)
    if cyclic and known == COARSE:
        gain = 0.0
        if fill_from_lines(lines, x, y, cutoff, order, band) > ZERO:
            n, m = length_of(lines, x), length_of(lines, y)
            gain = min(best_of_rows(band, n), best_of_columns(band, n, m))
        return _saving(weight, gain, points, order), FINE
    gain = gain_of_lines(lines, x, y, cyclic, directed, cutoff, order, band)
    return _saving(weight, gain, points, order), EXACT


@jit_allocating
def _near_pairs(lines, xs, ys, cutoff):
    pairs = np.empty((len(xs) * len(ys), 2), np.int64)
    count = 0
    for x in xs:
        for y in ys:
            if are_near(lines, x, y, cutoff):
                pairs[count, 0], pairs[count, 1] = x, y
                count += 1
    return pairs[:count]


@jit_allocating
def pld_of_lines(lines, closed, confidence, split, directed, cutoff, order):
    """PLD between the instances before ``split`` (predictions) and those from it on (truth).

    Returns the five parts and the mass (unnormalised; p-th powers), and for each prediction its truth or -1.
    """
    xs = _in_order(lines, confidence, ZERO, U(split))
    ys = _in_order(lines, confidence, U(split), U(len(confidence)))
    near = _near_pairs(lines, xs, ys, cutoff)
    band = make_band(lines, near, cutoff)
    saving = np.zeros((len(xs), len(ys)))
    known = np.full(saving.shape, EXACT, np.uint8)  # of pairs that are not near, the saving is known: 0
    longest = ONE
    for i in range(len(xs)):
        longest = max(longest, length_of(lines, xs[i]))
        for j in range(len(ys)):
            x, y = xs[i], ys[j]
            weight = min(confidence[x], confidence[y])
            if weight > 0.0 and are_near(lines, x, y, cutoff):
                n, m = length_of(lines, x), length_of(lines, y)
                saving[i, j], known[i, j] = _saving(weight, 1.0 * min(n, m), n + m, order), COARSE
    searching = True
    partner = assign(saving)
    while searching:
        searching = False
        for i in range(len(xs)):
            j = partner[i]
            if j >= 0 and known[i, j] != EXACT:
                searching = True
                x, y = xs[i], ys[j]
                weight, cyclic = min(confidence[x], confidence[y]), closed[x] or closed[y]
                saving[i, j], known[i, j] = _refine(
                    lines, x, y, weight, known[i, j], cyclic, directed, cutoff, order, band
                )
        if searching:
            partner = assign(saving)
    parts = np.zeros(6)
    truth_of = np.full(split, -1)
    matches = np.empty((longest, 2), np.int64)
    missed = np.ones(len(ys), np.bool_)
    for i in range(len(xs)):
        x, r = xs[i], confidence[xs[i]]
        parts[MASS] += 0.5 * r
        matched, cost = ZERO, 0.0
        y = x
        if partner[i] >= 0:
            y = ys[partner[i]]
            _, matched, cost = align_lines(
                lines, x, y, closed[x] or closed[y], directed, cutoff, order, band, matches
            )
        if matched == ZERO:  # a pair that saves nothing is no match (paper, table 1)
            parts[FALSE] += 0.5 * r
            continue
        truth_of[x], missed[partner[i]] = y - U(split), False
        points = length_of(lines, x) + length_of(lines, y)
        total, distance = value_of(cost, matched, points, cutoff, order)
        weighted = min(r, confidence[y]) * (distance if order == 1.0 else distance**order)
        if total > 0.0:
            parts[MATCHED_POINTS] += weighted * (cost / total)
            parts[UNMATCHED_POINTS] += weighted * ((total - cost) / total)
        parts[CONFIDENCE] += 0.5 * abs(r - confidence[y])
    for j in range(len(ys)):
        parts[MASS] += 0.5 * confidence[ys[j]]
        if missed[j]:
            parts[MISSED] += 0.5 * confidence[ys[j]]
    return parts, truth_of
