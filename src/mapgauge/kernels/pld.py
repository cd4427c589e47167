"""PLD of one frame and class: the optimal assignment of instances, from few exact distances.

``pld^p`` is the mass less the largest total of ``min(r, s) (1 - D^p)`` over all assignments, where D is normalised
SOSPA. Bounds are enough to discard most pairs. The search starts with upper bounds of all savings and assigns. It
replaces the chosen bounds by better bounds or exact values and assigns again, until all chosen savings are exact. No
other assignment can then be better, because the upper bound of its savings has already lost.

If many instances are heaped, bounds discard few pairs, and the search would take many rounds. It then computes all
remaining distances at once and assigns a last time.

An assignment over many frames may prefer any pair that saves something. For metrics with such assignments, the savings
of all near pairs are computed (``savings_of_pairs``), for order 1.
"""

import numpy as np

from mapgauge.kernels._jit import ZERO, U, jit, jit_allocating
from mapgauge.kernels.assignment import assign, cheapest_columns
from mapgauge.kernels.gains import best_of_columns, best_of_rows, fill_gains, make_band, pairs_of_groups
from mapgauge.kernels.interpreting import interpreted_while_small
from mapgauge.kernels.lines import START, are_near, length_of
from mapgauge.kernels.sospa import CLEARLY, align_lines, normalise, saturation, value_of

MATCHED_POINTS, UNMATCHED_POINTS, CONFIDENCE, MISSED, FALSE, MASS = range(6)
# how precisely a saving is known
COARSE = 0
FINE = 1
EXACT = 2

# The work on assignments, in savings looked at, before all distances are computed. It takes a few per cent of the time
# of these distances.
WORK_PER_PAIR = 16.0
WORK_PER_CELL = 0.125
TINY = 2.0**-10  # a share of the mass


@jit
def _comes_before(lines, confidence, a, b):
    """Compare instances by content: confidence from high to low, then points. Input order decides between equals."""
    if confidence[a] != confidence[b]:
        return confidence[a] > confidence[b]
    n = length_of(lines, a)
    m = length_of(lines, b)
    if n != m:
        return n < m
    start = lines.span[a, START]
    other = lines.span[b, START]
    for i in range(n):
        for k in range(U(lines.points.shape[0])):
            p = lines.points[k, start + i]
            q = lines.points[k, other + i]
            if p != q:
                return p < q
    return a < b


@jit_allocating
def in_order(lines, confidence, begin, end):
    """Instances ``begin .. end`` sorted by content, so that results do not depend on the order of the input."""
    order = np.empty(end - begin, np.uint64)
    for i in range(end - begin):
        order[i] = begin + i
    gap = len(order) // 2
    while gap > 0:  # Shell sort
        for i in range(gap, len(order)):
            item = order[i]
            j = i
            while j >= gap and _comes_before(lines, confidence, item, order[j - gap]):
                order[j] = order[j - gap]
                j -= gap
            order[j] = item
        gap //= 2
    return order


@jit
def _distance(gain, points, order):
    """Normalised SOSPA of two lines with this gain of their heaviest chain, in units of ``c^p`` (the cutoff is 1)."""
    return normalise(saturation(max(0.5 * points - gain, 0.0), points, 1.0, order))


@jit
def _saving(weight, distance, order):
    """``min(r, s) (1 - D^p)``: the saving of matching two instances instead of leaving both unmatched."""
    return weight * (1.0 - (distance if order == 1.0 else distance**order))


@jit
def _bound(lines, x, y, cutoff, order, band):
    """Upper bound of the gain of two lines in any reading: each point is matched with its best partner."""
    n = length_of(lines, x)
    m = length_of(lines, y)
    if fill_gains(lines, x, y, ZERO, n, cutoff, order, band) == ZERO:
        return 0.0
    return min(best_of_rows(band, n), best_of_columns(band, n, m))


@jit_allocating
def _decompose(lines, confidence, xs, ys, partner, matched, cost, cutoff, order):
    """The five parts of the cost of an assignment (a refinement of eq. 10 and 11), and the mass."""
    parts = np.zeros(6)
    missed = np.ones(len(ys), np.bool_)
    for i in range(len(xs)):
        r = confidence[xs[i]]
        j = partner[i]
        parts[MASS] += 0.5 * r
        if j < 0:
            parts[FALSE] += 0.5 * r
            continue
        missed[j] = False
        s = confidence[ys[j]]
        points = length_of(lines, xs[i]) + length_of(lines, ys[j])
        total, distance = value_of(cost[i, j], matched[i, j], points, cutoff, order)
        weighted = min(r, s) * (distance if order == 1.0 else distance**order)
        if total > 0.0:  # D^p splits in proportion to the two terms of eq. 1
            parts[MATCHED_POINTS] += weighted * (cost[i, j] / total)
            parts[UNMATCHED_POINTS] += weighted * ((total - cost[i, j]) / total)
        parts[CONFIDENCE] += 0.5 * abs(r - s)
    for j in range(len(ys)):
        parts[MASS] += 0.5 * confidence[ys[j]]
        if missed[j]:
            parts[MISSED] += 0.5 * confidence[ys[j]]
    return parts


@jit_allocating
def _is_tiny(lines, confidence, xs, ys, partner, matched, cost, cutoff, order):
    """Whether the cost of an assignment is so small that savings, rounded relative to the mass, cannot resolve it.

    For order 1 the rounding of savings is no larger than the rounding of the value. For a higher order, the value is
    the p-th root.
    """
    if order == 1.0:
        return False
    parts = _decompose(lines, confidence, xs, ys, partner, matched, cost, cutoff, order)
    total = 0.0
    for k in range(MASS):
        total += parts[k]
    return 0.0 < total < TINY * parts[MASS]


@jit_allocating
def _cheapest_by_cost(lines, confidence, xs, ys, partner, saving, matched, cost, cutoff, order):
    """Replace ``partner`` by the assignment with the smallest cost, if that is clearly smaller.

    Costs are not computed from savings, so they are exact however small they are. All distances must be exact. The
    matrix is square: an instance that is assigned to none costs half its confidence. Two instances at distance 1 cost
    as much as two unmatched ones.
    """
    rows = len(xs)
    columns = len(ys)
    size = max(rows, columns)
    total = np.zeros((size, size))
    missed = np.ones(columns, np.bool_)
    before = after = 0.0
    for i in range(size):
        for j in range(size):
            if i >= rows:
                total[i, j] = 0.5 * confidence[ys[j]]
            elif j >= columns:
                total[i, j] = 0.5 * confidence[xs[i]]
            else:
                x = xs[i]
                y = ys[j]
                points = length_of(lines, x) + length_of(lines, y)
                _, distance = value_of(cost[i, j], matched[i, j], points, cutoff, order)
                r = confidence[x]
                s = confidence[y]
                total[i, j] = min(r, s) * distance**order + 0.5 * abs(r - s)
    for i in range(rows):
        if partner[i] >= 0:
            before += total[i, partner[i]]
            missed[partner[i]] = False
        else:
            before += 0.5 * confidence[xs[i]]
    for j in range(columns):
        if missed[j]:
            before += 0.5 * confidence[ys[j]]
    column_of, _ = cheapest_columns(total)
    for i in range(size):
        after += total[i, column_of[i]]
    if after < CLEARLY * before:
        for i in range(rows):
            j = column_of[i]
            if j < columns and saving[i, j] > 0.0:
                partner[i] = j
            else:
                partner[i] = -1


@jit_allocating
def _optimal_assignment(lines, closed, confidence, xs, ys, directed, cutoff, order, band, long):
    """The optimal assignment (the minimum in eq. 9): for each of the predictions ``xs`` an index into ``ys``, or -1.

    Also returns the number of matched points and the sum of their costs for all pairs whose distance was computed.
    """
    shape = (len(xs), len(ys))
    saving = np.zeros(shape)
    known = np.full(shape, EXACT, np.uint8)  # a pair that is not near saves exactly 0
    matched = np.zeros(shape, np.uint64)
    cost = np.zeros(shape)
    work = 0.0
    budget = 0.0
    for i in range(len(xs)):
        for j in range(len(ys)):
            x = xs[i]
            y = ys[j]
            weight = min(confidence[x], confidence[y])
            n = length_of(lines, x)
            m = length_of(lines, y)
            if n + m == ZERO:
                saving[i, j] = weight  # two empty lines are equal
            elif weight > 0.0 and are_near(lines, x, y, cutoff):
                known[i, j] = COARSE
                saving[i, j] = _saving(weight, _distance(1.0 * min(n, m), n + m, order), order)
                budget += WORK_PER_PAIR + WORK_PER_CELL * (n * m)
    everything = False
    while True:
        partner, more = assign(saving)  # a pair that saves nothing is not matched (table 1 of the paper)
        work += more
        settled = True
        for i in range(len(xs)):
            settled = settled and (partner[i] < 0 or known[i, partner[i]] == EXACT)
        if settled:
            tiny = _is_tiny(lines, confidence, xs, ys, partner, matched, cost, cutoff, order)
            if tiny and everything:
                _cheapest_by_cost(lines, confidence, xs, ys, partner, saving, matched, cost, cutoff, order)
            if everything or not tiny:
                return partner, matched, cost
        everything = settled or work > budget
        for i in range(len(xs)):
            if partner[i] < 0 and not everything:
                continue
            for j in range(0 if everything else partner[i], len(ys) if everything else partner[i] + 1):
                if known[i, j] == EXACT:
                    continue
                x = xs[i]
                y = ys[j]
                points = length_of(lines, x) + length_of(lines, y)
                cyclic = closed[x] or closed[y]
                if cyclic and known[i, j] == COARSE and not everything:
                    # Solving a closed pair is expensive, so try a better bound first.
                    known[i, j] = FINE
                    distance = _distance(_bound(lines, x, y, cutoff, order, band), points, order)
                else:
                    known[i, j] = EXACT
                    matched[i, j], cost[i, j], _ = align_lines(lines, x, y, cyclic, directed, cutoff, order, band, long)
                    _, distance = value_of(cost[i, j], matched[i, j], points, cutoff, order)
                saving[i, j] = _saving(min(confidence[x], confidence[y]), distance, order)


@interpreted_while_small()
@jit_allocating
def pld_of_groups(lines, closed, confidence, bounds, directed, cutoff, order, long, out, truth_of):
    """Write the five parts and the mass of each group, one class in one frame.

    Group g has the predictions ``bounds[g, 0] .. bounds[g, 1]`` and the true instances
    ``bounds[g, 1] .. bounds[g, 2]``. ``truth_of`` gets the true instance of each matched prediction.
    """
    band = make_band(lines, closed, pairs_of_groups(bounds), cutoff, long)
    for g in range(len(bounds)):
        xs = in_order(lines, confidence, U(bounds[g, 0]), U(bounds[g, 1]))
        ys = in_order(lines, confidence, U(bounds[g, 1]), U(bounds[g, 2]))
        partner, matched, cost = _optimal_assignment(
            lines, closed, confidence, xs, ys, directed, cutoff, order, band, long
        )
        parts = _decompose(lines, confidence, xs, ys, partner, matched, cost, cutoff, order)
        for k in range(len(parts)):  # a slice would take seconds to compile
            out[g, k] = parts[k]
        for i in range(len(xs)):
            if partner[i] >= 0:
                truth_of[xs[i]] = ys[partner[i]]


SAVING, MATCHED_SAVING, UNMATCHED_SAVING = range(3)  # columns of ``savings_of_pairs``


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
                    pairs[count, 0] = x
                    pairs[count, 1] = y
                    count += 1
    return pairs[:count].copy()


@jit_allocating
def savings_of_pairs(lines, closed, confidence, pairs, directed, cutoff, long):
    """``min(r, s) (1 - D)`` of each pair, and the two terms of ``min(r, s) D``: matched and unmatched points."""
    out = np.zeros((len(pairs), 3))
    band = make_band(lines, closed, pairs, cutoff, long)
    for k in range(len(pairs)):
        x = U(pairs[k, 0])
        y = U(pairs[k, 1])
        weight = min(confidence[x], confidence[y])
        points = length_of(lines, x) + length_of(lines, y)
        if points == ZERO:
            out[k, SAVING] = weight  # two empty lines are equal
            continue
        matched, cost, _ = align_lines(lines, x, y, closed[x] or closed[y], directed, cutoff, 1.0, band, long)
        total, distance = value_of(cost, matched, points, cutoff, 1.0)
        out[k, SAVING] = weight * (1.0 - distance)
        if total > 0.0:
            out[k, MATCHED_SAVING] = weight * distance * (cost / total)
            out[k, UNMATCHED_SAVING] = weight * distance * ((total - cost) / total)
    return out
