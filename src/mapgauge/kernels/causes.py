"""The causes of all costs of PLD (order 1).

Each instance has a row of costs by cause. The rows add up to PLD. ``docs/explanation/causes.md`` has the definitions.
A matched pair is *loose* if neither line covers the share ``covered`` of the other. Costs of a loose pair have the
causes of a false prediction and of missed truth. Arrays of working memory hold numbers of points or of instances, by
their index.
"""

from typing import NamedTuple

import numpy as np

from mapgauge.kernels._jit import ONE, ZERO, U, jit, jit_allocating
from mapgauge.kernels.fits import NONE, best_fit, gaps_between, nearest_end, nearest_point, share_closer
from mapgauge.kernels.lines import START, STOP, box_distance_squared, length_of
from mapgauge.kernels.pld import in_order
from mapgauge.kernels.sospa import value_of

CAUSES = 13
LOCALISATION, EXTENT, SHAPE, DISPLACED, FRAGMENT, MERGE, DUPLICATE = range(7)
CLASS, BACKGROUND, MISSED, FAINT, UNDER, OVER = range(7, CAUSES)


class Rules(NamedTuple):
    """The numbers in the definitions. Lengths are metres."""

    cutoff: float
    reach: float
    covered: float
    winding: float
    sure: float
    faint: float
    worth: float


@jit
def _beyond_end(lines, closed, q, x, gap):
    """Whether a point is past an end of an open line: its nearest point is an end, and it lies ahead of this end.

    ``gap`` is its squared distance to the nearest point.
    """
    start = lines.span[x, START]
    last = lines.span[x, STOP] - ONE
    if closed[x] or start == last:
        return False
    nearest = nearest_end(lines, q, x, gap)
    if nearest > last:
        return False
    if nearest == start:
        before = start + ONE
    else:
        before = last - ONE
    ahead = 0.0
    for k in range(U(lines.points.shape[0])):
        end = lines.points[k, nearest]
        ahead += (lines.points[k, q] - end) * (end - lines.points[k, before])
    return ahead > 0.0


@jit
def _along_truth(lines, closed, order, bounds, g, x, weight, limit, least, taken, free, memory):
    """The true line of group g that a prediction lies along, how many it covers, and whether most of this was taken.

    The line is -1 if less than the share ``least`` of the prediction is near true lines. ``near`` gets the true points
    that the prediction covers. A true point past an end of the prediction is not covered, nor is one beside a part of
    the prediction that another true line is nearer to. ``free`` is raised to ``weight`` at covered points.
    """
    near, overlaps, gap, closest, owner, _ = memory
    own = over = had = count = 0
    best = NONE
    most = 0
    for p in range(lines.span[x, START], lines.span[x, STOP]):
        closest[p] = limit
    for k in range(bounds[g, 1], bounds[g, 2]):
        y = order[k]
        overlaps[y] = box_distance_squared(lines.line_box, x, y) < limit
        if overlaps[y]:
            gaps_between(lines, x, y, limit, gap)
            for p in range(lines.span[x, START], lines.span[x, STOP]):
                if gap[p] < closest[p]:
                    closest[p] = gap[p]
                    owner[p] = y
    for p in range(lines.span[x, START], lines.span[x, STOP]):
        if closest[p] < limit:
            count += 1
    for k in range(bounds[g, 1], bounds[g, 2]):
        y = order[k]
        owned = 0
        covered = 0
        if not overlaps[y]:
            continue
        for p in range(lines.span[x, START], lines.span[x, STOP]):
            if closest[p] < limit and owner[p] == y:
                owned += 1
        for q in range(lines.span[y, START], lines.span[y, STOP]):
            near[q] = False
            if gap[q] < limit:
                # The nearest point of x is needed only where several true lines are near.
                owns = owned == count or owner[nearest_point(lines, q, x, gap[q])] == y
                near[q] = owns and not _beyond_end(lines, closed, q, x, gap[q])
            if near[q]:
                free[q] = max(free[q], weight)
                covered += 1
                if taken[q]:
                    had += 1
        over += covered
        if covered >= least * length_of(lines, y):
            own += 1
        if owned > most:
            best = k
            most = owned
    along = over > 0 and count >= least * length_of(lines, x)
    return (best if along else NONE), own, 2 * had >= over


@jit
def _other_class(lines, order, bounds, classes, g, x, limit, least, covered):
    """The true line of another class that a prediction fits best, and the share of that line."""
    best = NONE
    most = 0.0
    share = 0.0
    first = g - g % classes
    for h in range(first, first + classes):
        if h != g:
            k, part, fit = best_fit(lines, order, bounds, h, x, False, limit, least, None, covered)
            if fit > most:
                best = k
                share = part
                most = fit
    return best, share


@jit
def _cause_of_false(lines, closed, order, bounds, classes, g, x, r, weight, rules, settled, taken, free, memory):
    """The cause of a prediction as if it were unmatched, the place of the true line it is about, and the share of it.

    The place is -1 if it is about none. ``taken`` gets the points of the first predictions along a true line. A line
    that fits a missed line of its class within ``reach`` is displaced, unless it lies within half of the cutoff of
    another line.
    """
    limit = rules.cutoff * rules.cutoff
    wide = rules.reach * rules.reach
    least = rules.covered
    near, overlaps, _, closest, _, flags = memory
    best, own, repeated = _along_truth(lines, closed, order, bounds, g, x, weight, limit, least, taken, free, memory)
    close = 0
    for p in range(lines.span[x, START], lines.span[x, STOP]):
        if closest[p] < 0.25 * limit:
            close += 1
    lost = NONE
    of_lost = 0.0
    if close < least * length_of(lines, x):
        lost, of_lost, _ = best_fit(lines, order, bounds, g, x, True, wide, least, settled, flags)
    if lost >= 0 and _other_class(lines, order, bounds, classes, g, x, 0.25 * limit, least, flags)[0] < 0:
        return DISPLACED, lost, of_lost
    if best >= 0 and repeated:
        return DUPLICATE, best, 0.0
    if best >= 0:
        for k in range(bounds[g, 1], bounds[g, 2]):
            y = order[k]
            if overlaps[y]:
                for q in range(lines.span[y, START], lines.span[y, STOP]):
                    taken[q] = taken[q] or near[q]
        return (MERGE if own > 1 else FRAGMENT), best, 0.0
    best, share = _other_class(lines, order, bounds, classes, g, x, limit, least, near)
    if best >= 0:
        return CLASS, best, share
    best, share, _ = best_fit(lines, order, bounds, g, x, True, wide, least, None, near)
    if best >= 0:
        return DISPLACED, best, share
    return (OVER if r >= rules.sure else BACKGROUND), NONE, 0.0


@jit
def _cover_others(lines, order, bounds, g, x, match, r, partner, limit, gap, merged, out):
    """Write the confidence of a matched prediction at points of other true lines that its unmatched points cover.

    ``merged`` gets its own points that other true lines cover.
    """
    for p in range(lines.span[x, START], lines.span[x, STOP]):
        merged[p] = False
    for k in range(bounds[g, 1], bounds[g, 2]):
        y = order[k]
        if y == match or box_distance_squared(lines.line_box, x, y) >= limit:
            continue
        gaps_between(lines, x, y, limit, gap)
        for p in range(lines.span[x, START], lines.span[x, STOP]):
            merged[p] = merged[p] or gap[p] < limit
        for q in range(lines.span[y, START], lines.span[y, STOP]):
            if gap[q] < limit and out[q] < r and partner[nearest_point(lines, q, x, gap[q])] < 0:
                out[q] = r


@jit
def _split_missed(lines, confidence, y, free, proper, shares):
    """Write the shares of the causes of a missed true line. A prediction explains it as far as it is confident."""
    m = length_of(lines, y)
    s = confidence[y]
    scale = 0.0
    if s > 0.0:
        scale = 1.0 / s
    merge = fragment = 0.0
    for q in range(lines.span[y, START], lines.span[y, STOP]):
        part = min(proper[q] * scale, 1.0)
        merge += part
        fragment += min(free[q] * scale, 1.0 - part)
    if m > ZERO:
        shares[y, MERGE] = merge / m
    else:
        shares[y, MERGE] = 0.0
    rest = 1.0 - shares[y, MERGE]
    shares[y, FRAGMENT] = min(fragment / m if m > ZERO else 0.0, rest)
    rest -= shares[y, FRAGMENT]
    shares[y, CLASS] = min(shares[y, CLASS] * scale, rest)
    rest -= shares[y, CLASS]
    shares[y, DISPLACED] = min(shares[y, DISPLACED] * scale, rest)
    shares[y, MISSED] = rest - shares[y, DISPLACED]


@jit
def _spread(cost, shares, y, out):
    """Add a cost to the row of a true line, split by the shares of missed truth."""
    for k in range(CAUSES):
        out[y, k] += cost * shares[y, k]


@jit
def _mark_close(lines, closed, x, y, partner, limit, gap, close):
    """Mark the unmatched points of line x that are close to line y and not past an end of it, and count them.

    A point is past an end of an open line if its nearest point is an end.
    """
    count = 0
    for p in range(lines.span[x, START], lines.span[x, STOP]):
        close[p] = partner[p] < 0 and gap[p] < limit
        if close[p] and not closed[y]:
            close[p] = nearest_end(lines, p, y, gap[p]) == lines.span[y, STOP]
        if close[p]:
            count += 1
    return count


@jit
def _split_pair(lines, closed, confidence, x, y, loose, cause, assigned, rules, memory, shares, out):
    """Add the costs of a matched pair: of its confidences and of its points."""
    _, partner, matched, cost = assigned
    free, proper, close, merged, gap = memory
    r = confidence[x]
    s = confidence[y]
    points = length_of(lines, x) + length_of(lines, y)
    total, distance = value_of(cost[x], U(matched[x]), points, rules.cutoff, 1.0)
    weight = min(r, s)
    lacking = 0.5 * abs(r - s)
    geometry = weight * distance
    if loose and r < s:
        _spread(lacking, shares, y, out)
    elif r >= s:
        out[x, OVER] += lacking
    elif r < rules.faint:
        out[x, FAINT] += lacking
    elif distance < rules.worth:
        out[x, UNDER] += lacking
    else:  # more confidence would not help, so the geometry is the cause
        geometry += lacking
    if total <= 0.0:
        return
    limit = rules.cutoff * rules.cutoff
    wide = rules.reach * rules.reach
    out[x, LOCALISATION] += geometry * (cost[x] / total)
    unit = geometry * (0.5 * rules.cutoff / total)
    count = _mark_close(lines, closed, x, y, partner, limit, gap, close)
    count += _mark_close(lines, closed, y, x, partner, limit, gap, close)
    mixed = closed[x] != closed[y]
    if mixed or count > rules.winding * points:
        winds = SHAPE
    else:
        winds = LOCALISATION
    for line in (x, y):
        if line == x:
            other = y
        else:
            other = x
        for p in range(lines.span[line, START], lines.span[line, STOP]):
            if partner[p] >= 0:
                continue
            part = 0.0
            if close[p]:
                out[line, winds] += unit
                continue
            if line == x and merged[p]:
                out[x, MERGE] += unit
                continue
            if line == x and loose:
                out[x, cause] += unit
                continue
            if line == y:
                part = min(max(free[p], proper[p]) / weight, 1.0)
                out[y, FRAGMENT] += unit * part
                if loose:
                    _spread(unit * (1.0 - part), shares, y, out)
                    continue
            apart = gap[p] < wide and partner[nearest_point(lines, p, other, gap[p])] < 0
            if mixed:
                reason = SHAPE
            elif apart:
                reason = DISPLACED
            else:
                reason = EXTENT
            out[line, reason] += unit * (1.0 - part)


@jit_allocating
def causes_of_groups(lines, closed, confidence, bounds, classes, assigned, rules, out, cause_of, about):
    """Write the costs of all instances by cause.

    A frame has ``classes`` consecutive groups. ``assigned`` is a tuple: the true line of each prediction, and the
    output of ``match_points``. ``cause_of`` gets the cause of each prediction that is unmatched or in a loose pair, and
    ``about`` the true line that it is about; both are -1 for others.
    """
    truth_of, partner, _, _ = assigned
    limit = rules.cutoff * rules.cutoff
    count = len(confidence)
    points = len(partner)
    order = np.empty(count, np.uint64)
    shares = np.zeros((count, CAUSES))
    loose = np.zeros(count, np.bool_)
    is_matched = np.zeros(count, np.bool_)
    overlaps = np.empty(count, np.bool_)
    settled = np.zeros(count, np.bool_)  # true lines with a match that is not loose
    # of true points
    taken = np.zeros(points, np.bool_)
    free = np.zeros(points)
    proper = np.zeros(points)
    near = np.empty(points, np.bool_)
    merged = np.empty(points, np.bool_)
    # of matched lines, to the other line; of any two lines
    gap = np.empty(points)
    other_gap = np.empty(points)
    memory = near, overlaps, other_gap, np.empty(points), np.empty(points, np.uint64), merged
    for g in range(len(bounds)):
        for side in range(2):
            k = bounds[g, side]
            for x in in_order(lines, confidence, U(bounds[g, side]), U(bounds[g, side + 1])):
                order[k] = x
                k += 1
    for x in range(U(count)):
        if truth_of[x] < 0:
            continue
        y = U(truth_of[x])
        is_matched[y] = True
        gaps_between(lines, x, y, rules.reach * rules.reach, gap)
        of_x = share_closer(lines, x, limit, gap, near)
        of_y = share_closer(lines, y, limit, gap, near)
        loose[x] = max(of_x, of_y) < rules.covered
        settled[y] = not loose[x]
        for q in range(lines.span[y, START], lines.span[y, STOP]):
            if near[q] and not loose[x]:
                taken[q] = not _beyond_end(lines, closed, q, x, gap[q])
    for g in range(len(bounds)):
        for k in range(bounds[g, 0], bounds[g, 1]):
            x = order[k]
            r = confidence[x]
            alone = truth_of[x] < 0 or loose[x]
            if alone:
                weight = 0.0
                if truth_of[x] < 0:
                    weight = r
                cause_of[x], j, share = _cause_of_false(
                    lines, closed, order, bounds, classes, g, x, r, weight, rules, settled, taken, free, memory
                )
                if j >= 0:
                    y = order[j]
                    about[x] = y
                    shares[y, cause_of[x]] = max(shares[y, cause_of[x]], r * share)
            if truth_of[x] >= 0:
                if alone:
                    covered = free
                else:
                    covered = proper
                _cover_others(lines, order, bounds, g, x, U(truth_of[x]), r, partner, limit, other_gap, merged, covered)
    for g in range(len(bounds)):
        for y in range(U(bounds[g, 1]), U(bounds[g, 2])):
            _split_missed(lines, confidence, y, free, proper, shares)
            if not is_matched[y]:
                _spread(0.5 * confidence[y], shares, y, out)
        for x in range(U(bounds[g, 0]), U(bounds[g, 1])):
            if truth_of[x] < 0:
                out[x, cause_of[x]] += 0.5 * confidence[x]
            else:
                y = U(truth_of[x])
                of_points = (free, proper, near, merged, gap)
                _split_pair(
                    lines, closed, confidence, x, y, loose[x], cause_of[x], assigned, rules, of_points, shares, out
                )
