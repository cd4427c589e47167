"""The causes of all costs of PLD (order 1) in one frame.

Each instance has a row of costs by cause. The rows add up to PLD. ``docs/explanation/anatomy.md`` has the definitions.
A matched pair is *loose* if neither line covers the share ``covered`` of the other. Costs of a loose pair have the
causes of a false prediction and of missed truth.
"""

from typing import NamedTuple

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.fits import NONE, along_truth, best_fit, find_fits, take_points
from mapgauge.kernels.lines import START, STOP, length_of, longest_of
from mapgauge.kernels.pld import in_order
from mapgauge.kernels.sospa import value_of

CAUSES = 12
LOCALISATION, EXTENT, SHAPE, DISPLACED, FRAGMENT, MERGE, DUPLICATE, CLASS, BACKGROUND, MISSED, UNDER, OVER = range(12)


class Rules(NamedTuple):
    """The numbers in the definitions. Lengths are metres."""

    cutoff: float
    reach: float
    covered: float
    winding: float
    sure: float


@jit
def _cause_of_false(lines, confidence, fits, i, taken, rules, cover, gap, nearest):
    """The cause of a prediction as if it were unmatched, the true line it is about or -1, and the share of it."""
    limit = rules.cutoff * rules.cutoff
    best, own, repeated = along_truth(lines, fits, i, taken, limit, rules.covered, cover)
    if best >= 0 and repeated:
        return DUPLICATE, best, 0.0
    if best >= 0:
        for j in range(len(fits.ys)):
            if fits.slot[i, j] >= 0:
                take_points(lines, fits, i, j, limit, taken)
        return (MERGE if own > 1 else FRAGMENT), best, 0.0
    j, share = best_fit(lines, fits, i, False, limit, rules.covered, gap, nearest)
    if j >= 0:
        return CLASS, j, share
    j, share = best_fit(lines, fits, i, True, rules.reach * rules.reach, rules.covered, gap, nearest)
    if j >= 0:
        return DISPLACED, j, share
    return (OVER if confidence[fits.xs[i]] >= rules.sure else BACKGROUND), NONE, 0.0


@jit
def _split_missed(lines, confidence, fits, j, explained, free, proper, out):
    """Write the shares of the causes of a missed true line. A prediction explains it as far as it is confident."""
    m, s, first = length_of(lines, fits.ys[j]), confidence[fits.ys[j]], fits.at_truth[j]
    scale = 1.0 / s if s > 0.0 else 0.0
    merge = fragment = 0.0
    for k in range(m):
        part = min(proper[first + k] * scale, 1.0)
        merge += part
        fragment += min(free[first + k] * scale, 1.0 - part)
    out[j, MERGE] = merge / m if m > ZERO else 0.0
    rest = 1.0 - out[j, MERGE]
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
def _beside(lines, closed, fits, at, y, limit):
    """Whether a point is within the cutoff of line y, and not past an end of it: its nearest point is not an end."""
    if fits.gap[at] >= limit:
        return False
    point = U(fits.nearest[at])
    return closed[y] or (point != lines.span[y, START] and point + ONE != lines.span[y, STOP])


@jit
def _unmatched_beside(lines, closed, fits, at, x, y, partner, limit):
    """The number of unmatched points of line x that are beside line y, which it is matched with."""
    found, first = 0, lines.span[x, START]
    for k in range(length_of(lines, x)):
        found += 1 if partner[first + k] < 0 and _beside(lines, closed, fits, at + k, y, limit) else 0
    return found


@jit
def _split_pair(lines, confidence, closed, fits, i, loose, cause, shares, assigned, free, proper, rules, out):
    """Add the costs of a matched pair: of its confidences and of its points."""
    j = fits.matched[i]
    x, y = fits.xs[i], fits.ys[j]
    _, partner, matched, cost = assigned
    r, s = confidence[x], confidence[y]
    if loose and r < s:
        _spread(0.5 * (s - r), shares, j, out, y)
    else:
        out[x, UNDER if r < s else OVER] += 0.5 * abs(r - s)
    n, m = length_of(lines, x), length_of(lines, y)
    total, distance = value_of(cost[x], U(matched[x]), n + m, rules.cutoff, 1.0)
    if total <= 0.0 or fits.slot[i, j] < 0:
        return
    weight, limit, wide = min(r, s), rules.cutoff * rules.cutoff, rules.reach * rules.reach
    out[x, LOCALISATION] += weight * distance * (cost[x] / total)
    unit = weight * distance * (0.5 * rules.cutoff / total)
    gap, nearest, at = fits.gap, fits.nearest, U(fits.slot[i, j])
    x_start, y_start = lines.span[x, START], lines.span[y, START]
    mixed = closed[x] != closed[y]
    inside = _unmatched_beside(lines, closed, fits, at, x, y, partner, limit)
    inside += _unmatched_beside(lines, closed, fits, at + n, y, x, partner, limit)
    winds = SHAPE if mixed or inside > rules.winding * (n + m) else LOCALISATION
    for k in range(m):
        here, p = gap[at + n + k], fits.at_truth[j] + k
        if partner[y_start + k] >= 0:
            continue
        if _beside(lines, closed, fits, at + n + k, x, limit):
            out[y, winds] += unit
            continue
        part = min(max(free[p], proper[p]) / weight, 1.0)
        out[y, FRAGMENT] += unit * part
        if loose:
            _spread(unit * (1.0 - part), shares, j, out, y)
        elif mixed:
            out[y, SHAPE] += unit * (1.0 - part)
        else:
            apart = here < wide and partner[nearest[at + n + k]] < 0
            out[y, DISPLACED if apart else EXTENT] += unit * (1.0 - part)
    for k in range(n):
        here = gap[at + k]
        if partner[x_start + k] >= 0:
            continue
        merged = False
        for z in range(len(fits.ys)):
            if z != j and fits.slot[i, z] >= 0:
                merged = merged or gap[U(fits.slot[i, z]) + k] < limit
        if _beside(lines, closed, fits, at + k, y, limit):
            out[x, winds] += unit
        elif merged:
            out[x, MERGE] += unit
        elif loose:
            out[x, cause] += unit
        elif mixed:
            out[x, SHAPE] += unit
        else:
            apart = here < wide and partner[nearest[at + k]] < 0
            out[x, DISPLACED if apart else EXTENT] += unit


@jit_allocating
def _fits_of_frame(lines, confidence, bounds, truth_of, rules):
    """The lines of a frame in an order that does not depend on the input, and their near pairs."""
    predicted = true = 0
    for g in range(len(bounds)):
        predicted += bounds[g, 1] - bounds[g, 0]
        true += bounds[g, 2] - bounds[g, 1]
    xs, ys, at_truth = np.empty(predicted, np.uint64), np.empty(true, np.uint64), np.empty(true, np.uint64)
    label, other, matched = np.empty(predicted, np.int64), np.empty(true, np.int64), np.full(predicted, NONE)
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
    for i in range(predicted):
        if truth_of[xs[i]] >= 0:
            matched[i] = place[truth_of[xs[i]] - bounds[0, 0]]
    return find_fits(lines, xs, ys, label, other, at_truth, matched, rules.cutoff, rules.reach), points


@jit
def _cover_freely(lines, confidence, fits, i, partner, limit, out):
    """Write the confidence of a prediction at true points that it covers with points of its own that are unmatched."""
    r = confidence[fits.xs[i]]
    for j in range(len(fits.ys)):
        if fits.slot[i, j] < 0 or fits.matched[i] == j:
            continue
        at = U(fits.slot[i, j]) + length_of(lines, fits.xs[i])
        for k in range(length_of(lines, fits.ys[j])):
            if fits.gap[at + k] < limit and partner[fits.nearest[at + k]] < 0:
                out[fits.at_truth[j] + k] = max(out[fits.at_truth[j] + k], r)


@jit_allocating
def _of_frame(lines, closed, confidence, bounds, assigned, rules, out, cause_of, about):
    """Write the costs of one frame. ``bounds`` are those of its groups."""
    truth_of, partner, _, _ = assigned
    fits, points = _fits_of_frame(lines, confidence, bounds, truth_of, rules)
    predicted, true, limit = len(fits.xs), len(fits.ys), rules.cutoff * rules.cutoff
    taken, found, loose = np.zeros(points, np.bool_), np.zeros(true, np.bool_), np.zeros(predicted, np.bool_)
    for i in range(predicted):
        j = fits.matched[i]
        if j >= 0:
            found[j] = True
            loose[i] = fits.slot[i, j] >= 0 and max(fits.share_x[i, j], fits.share_y[i, j]) < rules.covered
            if fits.slot[i, j] >= 0 and not loose[i]:
                take_points(lines, fits, i, j, limit, taken)
    explained, shares = np.zeros((true, 2)), np.zeros((true, CAUSES))
    free, proper = np.zeros(points), np.zeros(points)  # confidences of loose predictions, and of properly matched ones
    room = TWO * longest_of(lines)
    cover, gap, nearest = np.empty(room, np.bool_), np.empty(room), np.empty(room, np.int64)
    for i in range(predicted):
        x = fits.xs[i]
        alone = fits.matched[i] < 0 or loose[i]
        if alone:
            cause_of[x], j, share = _cause_of_false(lines, confidence, fits, i, taken, rules, cover, gap, nearest)
            about[x] = fits.ys[j] if j >= 0 else NONE
            if cause_of[x] == CLASS or cause_of[x] == DISPLACED:
                kind = 0 if cause_of[x] == CLASS else 1
                explained[j, kind] = max(explained[j, kind], confidence[x] * share)
        _cover_freely(lines, confidence, fits, i, partner, limit, free if alone else proper)
    for j in range(true):
        _split_missed(lines, confidence, fits, j, explained, free, proper, shares)
        if not found[j]:
            _spread(0.5 * confidence[fits.ys[j]], shares, j, out, fits.ys[j])
    for i in range(predicted):
        x = fits.xs[i]
        if fits.matched[i] < 0:
            out[x, cause_of[x]] += 0.5 * confidence[x]
        else:
            _split_pair(
                *(lines, confidence, closed, fits, i, loose[i], cause_of[x], shares),
                *(assigned, free, proper, rules, out),
            )


@jit_allocating
def causes_of_groups(lines, closed, confidence, bounds, classes, assigned, rules, out, cause_of, about):
    """Write the costs of all instances by cause, frame by frame.

    A frame has ``classes`` consecutive groups. ``assigned`` is a tuple: the true line of each prediction, and the
    output of ``match_points``. ``cause_of`` gets the cause of each prediction that is unmatched or in a loose pair, and
    ``about`` the true line that it is about; both are -1 for others.
    """
    for first in range(0, len(bounds), classes):
        _of_frame(lines, closed, confidence, bounds[first : first + classes], assigned, rules, out, cause_of, about)
