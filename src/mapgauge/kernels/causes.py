"""The causes of all costs of PLD (order 1) in one frame.

Each instance has a row of costs by cause. The rows add up to PLD. ``docs/explanation/anatomy.md`` has the definitions.
A line *covers* a point if one of its points is closer than the cutoff. A matched pair is *loose* if neither line covers
the share ``covered`` of the other. Costs of a loose pair have the causes of a false prediction and of missed truth.
"""

import numpy as np

from mapgauge.kernels._jit import TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.lines import START, box_distance_squared, length_of, longest_of
from mapgauge.kernels.nearest import nearest_points, share_within
from mapgauge.kernels.pld import in_order
from mapgauge.kernels.sospa import value_of

CAUSES = 12
(LOCALISATION, EXTENT, SHAPE, DISPLACED, FRAGMENT, MERGE, DUPLICATE, CLASS, BACKGROUND, MISSED, UNDER, OVER) = range(
    CAUSES
)
NONE = -1


@jit_allocating
def _near_pairs(lines, xs, ys, label, other, matched_with, cutoff, reach, slot):
    """Nearest points of all pairs of the same class that may be within the cutoff, and of matched pairs within reach.

    ``slot`` gets where the numbers of a pair begin, those of the prediction before those of the truth; -1 for others.
    """
    total = 0
    for i in range(len(xs)):
        for j in range(len(ys)):
            slot[i, j] = NONE
            if label[i] != other[j]:
                continue
            limit = reach if matched_with[i] == j else cutoff
            if box_distance_squared(lines.line_box, xs[i], ys[j]) < limit * limit:
                slot[i, j] = total
                total += np.int64(length_of(lines, xs[i]) + length_of(lines, ys[j]))
    gap, nearest = np.empty(total), np.empty(total, np.int64)
    for i in range(len(xs)):
        for j in range(len(ys)):
            if slot[i, j] >= 0:
                at, limit = U(slot[i, j]), reach if matched_with[i] == j else cutoff
                nearest_points(lines, xs[i], ys[j], limit * limit, gap, nearest, at, at + length_of(lines, xs[i]))
    return gap, nearest


@jit_allocating
def _shares(lines, xs, ys, slot, gap, limit):
    """The shares of each prediction and of each true line whose points are closer to the other than a limit."""
    of_x, of_y = np.zeros(slot.shape), np.zeros(slot.shape)
    for i in range(len(xs)):
        for j in range(len(ys)):
            if slot[i, j] >= 0:
                n, m, at = length_of(lines, xs[i]), length_of(lines, ys[j]), U(slot[i, j])
                of_x[i, j] = share_within(gap, at, n, limit)
                of_y[i, j] = share_within(gap, at + n, m, limit)
    return of_x, of_y


@jit
def _shares_of_pair(lines, x, y, limit, gap, nearest):
    """The same for one pair, with working memory."""
    if box_distance_squared(lines.line_box, x, y) >= limit:
        return 0.0, 0.0
    n, m = length_of(lines, x), length_of(lines, y)
    nearest_points(lines, x, y, limit, gap, nearest, ZERO, n)
    return share_within(gap, ZERO, n, limit), share_within(gap, n, m, limit)


@jit
def _best_fit(lines, xs, ys, i, label, other, same, limit, covered, gap, nearest):
    """The true line that a prediction fits best, and the share of that line; -1 if there is none.

    If ``same``, it is a line of the same class, and each must be near the other. If not, it is one of another class.
    """
    best, most, share = NONE, 0.0, 0.0
    for j in range(len(ys)):
        if (other[j] == label) == same:
            of_x, of_y = _shares_of_pair(lines, xs[i], ys[j], limit, gap, nearest)
            if of_x >= covered and (of_y >= covered or not same) and of_x + of_y > most:
                best, most, share = j, of_x + of_y, of_y
    return best, share


@jit
def _cause_of_covered(lines, xs, ys, i, slot, gap, near, taken, at_truth, limit, covered, cover):
    """The cause of a prediction that lies along true lines of its class, and the true line; -1 for other predictions.

    ``taken`` says which true points are covered by a prediction that came before. A fragment takes those it covers.
    """
    n = length_of(lines, xs[i])
    for k in range(n):
        cover[k] = False
    own = over = had = 0
    best = NONE
    for j in range(len(ys)):
        if slot[i, j] < 0:
            continue
        at = U(slot[i, j])
        for k in range(n):
            cover[k] = cover[k] or gap[at + k] < limit
        for k in range(length_of(lines, ys[j])):
            if gap[at + n + k] < limit:
                over += 1
                had += 1 if taken[at_truth[j] + k] else 0
        own += 1 if near[1][i, j] >= covered else 0
        if near[0][i, j] > 0.0 and (best < 0 or near[0][i, j] > near[0][i, best]):
            best = j
    inside = 0
    for k in range(n):
        inside += 1 if cover[k] else 0
    if best < 0 or inside < covered * n:
        return NONE, NONE
    if 2 * had >= over:
        return DUPLICATE, best
    for j in range(len(ys)):
        if slot[i, j] >= 0:
            at = U(slot[i, j]) + n
            for k in range(length_of(lines, ys[j])):
                if gap[at + k] < limit:
                    taken[at_truth[j] + k] = True
    return (MERGE if own > 1 else FRAGMENT), best


@jit
def _split_missed(lines, confidence, ys, j, explained, free, proper, at_truth, out):
    """Write the shares of the causes of a missed true line. A prediction explains it as far as it is confident."""
    m, s = length_of(lines, ys[j]), confidence[ys[j]]
    scale = 1.0 / s if s > 0.0 else 0.0
    merge = fragment = 0.0
    for k in range(m):
        first = min(proper[at_truth[j] + k] * scale, 1.0)
        merge += first
        fragment += min(free[at_truth[j] + k] * scale, 1.0 - first)
    rest = 1.0
    out[j, MERGE] = merge / m if m > ZERO else 0.0
    rest -= out[j, MERGE]
    out[j, FRAGMENT] = min(fragment / m if m > ZERO else 0.0, rest)
    rest -= out[j, FRAGMENT]
    out[j, CLASS] = min(explained[j, 0] * scale, rest)
    rest -= out[j, CLASS]
    out[j, DISPLACED] = min(explained[j, 1] * scale, rest)
    out[j, MISSED] = rest - out[j, DISPLACED]


@jit
def _spread(cost, shares, j, out, row):
    """Add a cost to a row, split by the shares of missed truth."""
    for k in range(CAUSES):
        out[row, k] += cost * shares[j, k]


@jit
def _inside(gap, at, count, partner, first, limit):
    """The number of unmatched points of a line that are within the cutoff of the line it is matched with."""
    found = 0
    for k in range(count):
        found += 1 if partner[first + k] < 0 and gap[at + k] < limit else 0
    return found


@jit
def _split_pair(
    lines,
    confidence,
    closed,
    xs,
    ys,
    i,
    j,
    loose,
    cause,
    shares,
    slot,
    gap,
    nearest,
    partner,
    matched,
    cost,
    free,
    proper,
    at_truth,
    cutoff,
    reach,
    winding,
    out,
):
    """Add the costs of a matched pair: of its points and of its confidences."""
    x, y = xs[i], ys[j]
    n, m, r, s = length_of(lines, x), length_of(lines, y), confidence[x], confidence[y]
    weight, limit = min(r, s), cutoff * cutoff
    total, distance = value_of(cost[x], U(matched[x]), n + m, cutoff, 1.0)
    if loose and r < s:
        _spread(0.5 * (s - r), shares, j, out, y)
    else:
        out[x, UNDER if r < s else OVER] += 0.5 * abs(r - s)
    if total <= 0.0:
        return
    out[x, LOCALISATION] += weight * distance * (cost[x] / total)
    unit = weight * distance * (0.5 * cutoff / total)
    at, x_start, y_start = U(slot[i, j]), lines.span[x, START], lines.span[y, START]
    mixed = closed[x] != closed[y]
    inside = _inside(gap, at, n, partner, x_start, limit) + _inside(gap, at + n, m, partner, y_start, limit)
    winds = SHAPE if mixed or inside > winding * (n + m) else LOCALISATION
    for k in range(m):
        if partner[y_start + k] >= 0:
            continue
        here = gap[at + n + k]
        if here < limit:
            out[y, winds] += unit
            continue
        there = max(free[at_truth[j] + k], proper[at_truth[j] + k])
        part = min(there / weight, 1.0)
        out[y, FRAGMENT] += unit * part
        if loose:
            _spread(unit * (1.0 - part), shares, j, out, y)
        elif mixed:
            out[y, SHAPE] += unit * (1.0 - part)
        else:
            apart = here < reach * reach and partner[nearest[at + n + k]] < 0
            out[y, DISPLACED if apart else EXTENT] += unit * (1.0 - part)
    for k in range(n):
        if partner[x_start + k] >= 0:
            continue
        here = gap[at + k]
        if here < limit:
            out[x, winds] += unit
            continue
        merged = False
        for z in range(len(ys)):
            if z != j and slot[i, z] >= 0:
                merged = merged or gap[U(slot[i, z]) + k] < limit
        if merged:
            out[x, MERGE] += unit
        elif loose:
            out[x, cause] += unit
        elif mixed:
            out[x, SHAPE] += unit
        else:
            apart = here < reach * reach and partner[nearest[at + k]] < 0
            out[x, DISPLACED if apart else EXTENT] += unit


@jit_allocating
def _of_frame(
    lines,
    closed,
    confidence,
    bounds,
    truth_of,
    partner,
    matched,
    cost,
    cutoff,
    reach,
    covered,
    winding,
    sure,
    out,
    cause_of,
    about,
):
    """Write the costs of one frame. ``bounds`` are those of its groups."""
    predicted = true = 0
    for g in range(len(bounds)):
        predicted += bounds[g, 1] - bounds[g, 0]
        true += bounds[g, 2] - bounds[g, 1]
    xs, ys = np.empty(predicted, np.uint64), np.empty(true, np.uint64)
    label, other, at_truth = np.empty(predicted, np.int64), np.empty(true, np.int64), np.empty(true, np.uint64)
    place = np.full(bounds[-1, 2] - bounds[0, 0], NONE)
    a = b = 0
    points = ZERO
    for g in range(len(bounds)):
        for x in in_order(lines, confidence, U(bounds[g, 0]), U(bounds[g, 1])):
            xs[a], label[a] = x, g
            a += 1
        for y in in_order(lines, confidence, U(bounds[g, 1]), U(bounds[g, 2])):
            ys[b], other[b], at_truth[b], place[y - U(bounds[0, 0])] = y, g, points, b
            points += length_of(lines, y)
            b += 1
    limit = cutoff * cutoff
    matched_with, found = np.full(predicted, NONE), np.zeros(true, np.bool_)
    for i in range(predicted):
        if truth_of[xs[i]] >= 0:
            matched_with[i] = place[truth_of[xs[i]] - bounds[0, 0]]
            found[matched_with[i]] = True
    slot = np.empty((predicted, true), np.int64)
    gap, nearest = _near_pairs(lines, xs, ys, label, other, matched_with, cutoff, reach, slot)
    near = _shares(lines, xs, ys, slot, gap, limit)
    taken, loose = np.zeros(points, np.bool_), np.zeros(predicted, np.bool_)
    for i in range(predicted):
        j = matched_with[i]
        if j < 0 or slot[i, j] < 0:
            continue
        loose[i] = near[0][i, j] < covered and near[1][i, j] < covered
        at = U(slot[i, j]) + length_of(lines, xs[i])
        for k in range(length_of(lines, ys[j])):
            taken[at_truth[j] + k] = not loose[i] and gap[at + k] < limit
    explained = np.zeros((true, 2))
    free, proper = np.zeros(points), np.zeros(points)
    room = TWO * longest_of(lines)
    cover, some_gap, some_nearest = np.empty(room, np.bool_), np.empty(room), np.empty(room, np.int64)
    for i in range(predicted):
        r = confidence[xs[i]]
        alone = matched_with[i] < 0 or loose[i]
        if alone:
            cause, j = _cause_of_covered(lines, xs, ys, i, slot, gap, near, taken, at_truth, limit, covered, cover)
            if cause < 0:
                cause = CLASS
                j, share = _best_fit(lines, xs, ys, i, label[i], other, False, limit, covered, some_gap, some_nearest)
                if j < 0:
                    cause = DISPLACED
                    j, share = _best_fit(
                        lines, xs, ys, i, label[i], other, True, reach * reach, covered, some_gap, some_nearest
                    )
                if j >= 0:
                    kind = 0 if cause == CLASS else 1
                    explained[j, kind] = max(explained[j, kind], r * share)
                else:
                    cause = OVER if r >= sure else BACKGROUND
            cause_of[xs[i]], about[xs[i]] = cause, ys[j] if j >= 0 else NONE
        for j in range(true):  # where the prediction covers true points with points of its own that are unmatched
            if slot[i, j] < 0 or matched_with[i] == j:
                continue
            at = U(slot[i, j]) + length_of(lines, xs[i])
            for k in range(length_of(lines, ys[j])):
                if gap[at + k] < limit and partner[nearest[at + k]] < 0:
                    p = at_truth[j] + k
                    if alone:
                        free[p] = max(free[p], r)
                    else:
                        proper[p] = max(proper[p], r)
    shares = np.zeros((true, CAUSES))
    for j in range(true):
        _split_missed(lines, confidence, ys, j, explained, free, proper, at_truth, shares)
        if not found[j]:
            _spread(0.5 * confidence[ys[j]], shares, j, out, ys[j])
    for i in range(predicted):
        j = matched_with[i]
        if j < 0:
            out[xs[i], cause_of[xs[i]]] += 0.5 * confidence[xs[i]]
        elif slot[i, j] >= 0:
            _split_pair(
                *(lines, confidence, closed, xs, ys, i, j, loose[i], cause_of[xs[i]], shares, slot, gap, nearest),
                *(partner, matched, cost, free, proper, at_truth, cutoff, reach, winding, out),
            )
        else:  # two empty lines
            out[xs[i], UNDER if confidence[xs[i]] < confidence[ys[j]] else OVER] += 0.5 * abs(
                confidence[xs[i]] - confidence[ys[j]]
            )


@jit_allocating
def causes_of_groups(
    lines,
    closed,
    confidence,
    bounds,
    classes,
    truth_of,
    partner,
    matched,
    cost,
    cutoff,
    reach,
    covered,
    winding,
    sure,
    out,
    cause_of,
    about,
):
    """Write the costs of all instances by cause, frame by frame.

    A frame has ``classes`` consecutive groups. ``cause_of`` gets the cause of each prediction that is unmatched or in a
    loose pair, and ``about`` the true line that it is about; both are -1 for others.
    """
    for first in range(0, len(bounds), classes):
        _of_frame(
            *(lines, closed, confidence, bounds[first : first + classes], truth_of, partner, matched, cost),
            *(cutoff, reach, covered, winding, sure, out, cause_of, about),
        )
