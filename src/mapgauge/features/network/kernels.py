"""The best runs along each line of a network, at given prices of the points of the other network.

Lines are rows of ``(first point, number of points, whether it is a ring)``. The first network is ``x``, the second
``y``. A run is a row ``(line of y, line of x, step, point of x, point of y, number of pairs, whether it is closed)``:
its points of ``y`` ascend, and those of ``x`` ascend if the step is 1 and descend if it is -1. Points count from the
start of their line. Each end of a run costs ``half`` for each of the two lines that goes on there. A closed run goes
around two rings with as many points, and has no ends.

A *near* pair of points saves something. A pair beyond the cutoff saves nothing. A run includes such pairs only between
near pairs, or to reach the end of a line, where an end costs less. So the best runs along a line are found by one pass
over its near pairs: a run starts at a near pair or at the start of its diagonal, and ends at a near pair or at the end
of its diagonal. Sums of prices pass over the points in between.

``near`` is the tuple ``(start, pairs, saving)``. The near pairs of point ``q`` of ``y`` are the rows ``start[q]`` to
``start[q + 1]`` of ``pairs``: the point of ``x``, its line, and the step of runs through it.
"""

import math

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating

ROUNDING = 1e-13  # the share of a total that sums in another order may change
NEVER = 1 << 40  # the number of steps to the end of a ring


@jit_allocating
def find_pairs(x, y, x_lines, y_lines, x_weight, y_weight, cutoff, directed):
    """Return the near pairs as ``near``, each for both steps unless the direction matters.

    The smaller weight of its lines is what a pair saves at distance 0. The longest step of a line says how many of
    its points after a far one cannot be near.
    """
    dimension = len(x)
    longest = np.zeros(len(x_lines))
    low = np.empty((len(x_lines), dimension))
    high = np.empty((len(x_lines), dimension))
    for a in range(len(x_lines)):
        first = x_lines[a, 0]
        stop = x_lines[a, 0] + x_lines[a, 1]
        for i in range(first, stop):
            for d in range(dimension):
                if i == first:
                    low[a, d] = x[d, i]
                    high[a, d] = x[d, i]
                else:
                    low[a, d] = min(low[a, d], x[d, i])
                    high[a, d] = max(high[a, d], x[d, i])
            longest[a] = max(longest[a], math.sqrt(_squared(x, i, x, max(i - 1, first))))
    ways = 2
    if directed:
        ways = 1
    start = np.zeros(y.shape[1] + 1, np.int64)
    count = 0
    pairs = np.empty((1024, 3), np.int64)
    saving = np.empty(1024)
    beside = np.empty(len(x_lines), np.int64)
    bottom = np.empty(dimension)
    top = np.empty(dimension)
    for b in range(len(y_lines)):
        for d in range(dimension):
            bottom[d] = np.inf
            top[d] = -np.inf
            for q in range(y_lines[b, 0], y_lines[b, 0] + y_lines[b, 1]):
                bottom[d] = min(bottom[d], y[d, q])
                top[d] = max(top[d], y[d, q])
        many = 0  # lines whose boxes are near; in a large map, few of all
        for a in range(len(x_lines)):
            apart = False
            for d in range(dimension):
                apart = apart or bottom[d] - high[a, d] >= cutoff or low[a, d] - top[d] >= cutoff
            if not apart:
                beside[many] = a
                many += 1
        for q in range(y_lines[b, 0], y_lines[b, 0] + y_lines[b, 1]):
            for a in beside[:many]:
                weight = min(x_weight[a], y_weight[b])
                i = x_lines[a, 0]
                stop = x_lines[a, 0] + x_lines[a, 1]
                for d in range(dimension):
                    if y[d, q] - high[a, d] >= cutoff or low[a, d] - y[d, q] >= cutoff:
                        i = stop
                while i < stop:
                    distance = math.sqrt(_squared(x, i, y, q))
                    gain = weight * (1.0 - distance / cutoff)
                    if gain > 0:
                        if count + 2 > len(pairs):
                            more = np.empty((4 * count, 3), np.int64)
                            larger = np.empty(4 * count)
                            more[:count] = pairs[:count]
                            larger[:count] = saving[:count]
                            pairs = more
                            saving = larger
                        for way in range(ways):
                            pairs[count, 0] = i
                            pairs[count, 1] = a
                            pairs[count, 2] = 1 - 2 * way
                            saving[count] = gain
                            count += 1
                    skip = distance - cutoff
                    if skip > 0 and longest[a] > 0:
                        i += max(1, int(min(skip / longest[a], 1e9)))
                    else:
                        i += 1
            start[q + 1] = count
    return start, pairs[:count].copy(), saving[:count].copy()


@jit
def _squared(x, i, y, j):
    total = 0.0
    for d in range(len(x)):
        step = x[d, i] - y[d, j]
        total += step * step
    return total


@jit
def _diagonal(i, t, count, ring, step, length):
    """Return the number of the diagonal of point ``i`` of a line and position ``t`` of another with ``length``."""
    if ring:
        return (i - step * t) % count
    if step > 0:
        return i - t + length - 1
    return i + t


@jit
def _steps_back(at, count, is_ring, step):
    """Return how many points come before a point if one walks along its line by ``step``; ``NEVER`` on a ring."""
    if is_ring:
        return NEVER
    if step > 0:
        return at
    return count - 1 - at


@jit
def _longest(n, ring, m, y_ring):
    """Return how many pairs a run can have at most: it takes a point of a ring once."""
    limit = NEVER
    if ring:
        limit = min(limit, n)
    if y_ring:
        limit = min(limit, m)
    return limit


@jit
def _cost_of_end(x_steps, y_steps, half):
    """Return the cost of an end of a run, from which the two lines go on for some steps: half for each that does."""
    cost = 0.0
    if x_steps > 0:
        cost += half
    if y_steps > 0:
        cost += half
    return cost


@jit
def _most_through(y_line, x_lines, start, pairs, gain, half, back, base, last, best):
    """Write what a run can gain at most up to each near pair of a line, or from it on if ``back``, less its end."""
    first = y_line[0]
    m = y_line[1]
    y_ring = y_line[2]
    if y_ring:
        length = 2 * m
    else:
        length = m
    last[:] = -1
    for z in range(length):
        if back:
            t = length - 1 - z
        else:
            t = z
        for k in range(start[first + t % m], start[first + t % m + 1]):
            a = pairs[k, 1]
            step = pairs[k, 2]
            n = x_lines[a, 1]
            ring = x_lines[a, 2]
            i = pairs[k, 0] - x_lines[a, 0]
            at = base[a] + (0 if step > 0 else n + length) + _diagonal(i, t, n, ring, step, length)
            if (step > 0) != back:
                steps_x = i
            else:
                steps_x = n - 1 - i
            if back:
                steps_y = m - 1 - t
            else:
                steps_y = t
            if ring and y_ring:
                if n == m:
                    most = 0.0
                else:
                    most = -2 * half
            else:
                if not ring and not y_ring and steps_x == steps_y:
                    most = 0.0
                else:
                    most = -half
            if last[at] >= 0:
                most = max(most, best[last[at]])
            best[k] = most + gain[k]
            last[at] = k


@jit_allocating
def is_useful(chosen, x_lines, y_lines, near, price, y_price, half, floor):
    """Return which near pairs of some lines of ``y`` have a run through them that may gain more than ``floor``.

    A run gains what it saves, less its ends and the prices of its points.
    """
    start, pairs, saving = near
    gain = np.empty(len(pairs))
    best = np.empty((2, len(pairs)))
    useful = np.zeros(len(pairs), np.bool_)
    base = _bases(chosen, x_lines, y_lines)
    last = np.empty(base[-1], np.int64)
    for b in chosen:
        for q in range(y_lines[b, 0], y_lines[b, 0] + y_lines[b, 1]):
            for k in range(start[q], start[q + 1]):
                gain[k] = saving[k] - price[pairs[k, 0]] - y_price[q]
        for back in range(2):
            _most_through(y_lines[b], x_lines, start, pairs, gain, half, back == 1, base, last, best[back])
        for k in range(start[y_lines[b, 0]], start[y_lines[b, 0] + y_lines[b, 1]]):
            useful[k] = best[0, k] + best[1, k] - gain[k] > floor
    return useful


@jit_allocating
def _bases(chosen, x_lines, y_lines):
    """Return where the diagonals of each line of ``x`` begin, for both steps and two laps of a line of ``y``."""
    base = np.zeros(len(x_lines) + 1, np.int64)
    longest = 0
    for b in chosen:
        longest = max(longest, y_lines[b, 1])
    for a in range(len(x_lines)):
        base[a + 1] = base[a] + 2 * (x_lines[a, 1] + 2 * longest)
    return base


@jit_allocating
def _totals(price):
    """Return the sums of the prices before each point."""
    totals = np.zeros(len(price) + 1)
    for p in range(len(price)):
        totals[p + 1] = totals[p] + price[p]
    return totals


@jit
def _passed(totals, line, i, step, count):
    """Return the prices of ``count`` points after point ``i`` of a line. ``totals`` are the sums of prices before."""
    first = line[0]
    n = line[1]
    if not line[2]:
        if step > 0:
            return totals[first + i + 1 + count] - totals[first + i + 1]
        return totals[first + i] - totals[first + i - count]
    around = totals[first + n] - totals[first]
    total = around * (count // n)
    rest = count % n
    end = i + step * rest
    if step > 0:
        total += totals[first + end % n + 1] - totals[first + i + 1] + (around if end >= n else 0.0)
    else:
        total += totals[first + i] - totals[first + end % n] + (around if end < 0 else 0.0)
    return total


@jit
def _oldest(entry, tail, position, limit):
    """Return the first entry of a chain from which a run to a position has at most ``limit`` pairs, or -1."""
    oldest = -1
    while tail >= 0 and position - entry[tail, 0] < limit:
        oldest = tail
        tail = entry[tail, 1]
    return oldest


@jit
def _pass_line(y_line, cut, x_lines, near, totals, half, base, room, value, came):
    """Find the best runs along a line of ``y`` that is cut before its point ``cut``.

    Positions count from the cut. A ring gets a second lap. There, runs across the cut are compared with what the first
    lap has at the points that they take: ``value`` never falls along a line, so the best runs of a ring with one
    across the cut save no more than this run, less the difference of the values at its ends. Returns this bound, and
    where the run starts.

    ``value`` is written: what the best runs before each position save. ``came`` is written: a near pair of the run that
    ends before a position, the position of this pair, and where the run starts; the pair is -1 if no run ends there.
    ``room`` is memory: the last near pair visited and the last entry of each diagonal; of each pair visited, its number
    and position, and what its diagonal saves up to it; of each entry, where a run may start and the entry before, and
    what it is worth. Entries before are worth more, but a run from them may become too long.
    """
    start, pairs, saving = near
    last, tail, node, sums, entry, worth = room
    first = y_line[0]
    m = y_line[1]
    y_ring = y_line[2]
    if y_ring:
        length = 2 * m
    else:
        length = m
    last[:] = -1
    tail[:] = -1
    value[1 : m + 1] = -np.inf
    came[: m + 1, 0] = -1
    value[0] = 0.0
    nodes = 0
    entries = 0
    across = -np.inf
    across_start = -1
    for t in range(length):
        q = first + (cut + t) % m
        for k in range(start[q], start[q + 1]):
            p = pairs[k, 0]
            a = pairs[k, 1]
            step = pairs[k, 2]
            line = x_lines[a]
            n = line[1]
            ring = line[2]
            i = p - line[0]
            limit = _longest(n, ring, m, y_ring)
            at = base[a] + _diagonal(i, t, n, ring, step, length)
            if step < 0:
                at += n + length
            gain = saving[k] - (totals[p + 1] - totals[p])
            before = last[at]
            chain = tail[at]
            sums[nodes] = gain
            if before >= 0:
                gap = t - node[before, 1] - 1
                i_before = pairs[node[before, 0], 0] - line[0]
                sums[nodes] += sums[before] - _passed(totals, line, i_before, step, gap)
            node[nodes, 0] = k
            node[nodes, 1] = t
            last[at] = nodes
            steps_x = _steps_back(i, n, ring, step)
            steps_y = _steps_back(t, m, y_ring, 1)
            back = min(steps_x, steps_y)
            if before < 0 and 0 < back <= t and t - back < m:  # from the start of the diagonal
                ends = _cost_of_end(steps_x - back, steps_y - back, half)
                skipped = _passed(totals, line, i, -step, back)
                entry[entries, 0] = t - back
                entry[entries, 1] = -1
                worth[entries] = value[t - back] - ends - skipped - (sums[nodes] - gain)
                chain = entries
                entries += 1
            if t < m:  # from here
                ends = _cost_of_end(steps_x, steps_y, half)
                own = value[t] - ends - (sums[nodes] - gain)
                if limit < length:
                    while chain >= 0 and worth[chain] <= own:
                        chain = entry[chain, 1]
                if limit < length or chain < 0 or worth[chain] < own:
                    entry[entries, 0] = t
                    if limit < length:
                        entry[entries, 1] = chain
                    else:
                        entry[entries, 1] = -1
                    worth[entries] = own
                    chain = entries
                    entries += 1
            tail[at] = chain
            steps_x = _steps_back(i, n, ring, -step)
            steps_y = _steps_back(t, m, y_ring, -1)
            ahead = min(steps_x, steps_y)
            for z in range(2):  # up to here, and to the end of the diagonal
                skip = 0
                passed = 0.0
                if z == 1:
                    if ahead == 0 or ahead == NEVER:
                        continue
                    skip = ahead
                    passed = _passed(totals, line, i, step, skip)
                end = t + skip
                begin = _oldest(entry, chain, end, limit)
                if begin < 0:
                    continue
                ends = _cost_of_end(steps_x - skip, steps_y - skip, half)
                total = sums[nodes] + worth[begin] - ends - passed
                if end < m:
                    if total > value[end + 1]:
                        value[end + 1] = total
                        came[end + 1, 2] = entry[begin, 0]
                        came[end + 1, 0] = k
                        came[end + 1, 1] = t
                elif total - value[end + 1 - m] > across:
                    across = total - value[end + 1 - m]
                    across_start = entry[begin, 0]
            nodes += 1
        if t < m and value[t] >= value[t + 1]:
            value[t + 1] = value[t]
            came[t + 1, 0] = -1
    return across, across_start


@jit
def _closed_runs(y_line, b, x_lines, near, totals, sums, floor, runs):
    """Write the closed runs of a ring of ``y`` that gain more than ``floor`` at the prices of ``x``, up to ``runs``.

    Returns their number, and what the best one gains, which is the last one if there is room for one only.
    """
    start, pairs, saving = near
    first = y_line[0]
    m = y_line[1]
    best = floor
    count = 0
    for a in range(len(x_lines)):
        line = x_lines[a]
        if not line[2] or line[1] != m:
            continue
        sums[:] = 0.0
        for q in range(first, first + m):
            for k in range(start[q], start[q + 1]):
                if pairs[k, 1] == a:
                    step = pairs[k, 2]
                    sums[0 if step > 0 else 1, (pairs[k, 0] - line[0] - step * (q - first)) % m] += saving[k]
        for way in range(2):
            for i in range(m):
                gain = sums[way, i] - (totals[line[0] + m] - totals[line[0]])
                if sums[way, i] > 0 and gain > (best if len(runs) == 1 else floor):
                    best = max(best, gain)
                    run = runs[min(count, len(runs) - 1)]
                    run[0] = b
                    run[1] = a
                    run[2] = 1 - 2 * way
                    run[3] = i
                    run[4] = 0
                    run[5] = m
                    run[6] = 1
                    count = min(count + 1, len(runs))
    return count, best


@jit_allocating
def best_runs(chosen, cuts, x_lines, y_lines, near, price, half, most, y_price):
    """Return the best runs along some lines of ``y``, and two bounds of what any runs save, less the prices of ``x``.

    The first bound is the better one. The second belongs to ``y_price``, which is written: what each point of ``y``
    adds to the best runs. Runs with one that gains -g at both prices save no more than the second bound less g.

    A ring is cut at ``cuts``, which is rewritten. If runs across the cut could save more, it is cut where the best of
    them starts, at most ``most`` times. The bound is exact for open lines and if all cuts of a ring are tried.
    """
    start, pairs, _ = near
    totals = _totals(price)
    base = _bases(chosen, x_lines, y_lines)
    size = longest = points = 0
    for b in chosen:
        first, m, ring = y_lines[b]
        size = max(size, (start[first + m] - start[first]) * (1 + ring))
        longest = max(longest, m)
        points = points + m
    last = np.empty(base[-1], np.int64)
    tail = np.empty(base[-1], np.int64)
    node = np.empty((size, 2), np.int64)
    sums_of_nodes = np.empty(size)
    entry = np.empty((2 * size, 2), np.int64)
    worth = np.empty(2 * size)
    room = (last, tail, node, sums_of_nodes, entry, worth)
    value = np.empty(longest + 1)
    came = np.empty((longest + 1, 3), np.int64)
    sums = np.empty((2, longest))
    best_came = np.empty((longest + 1, 3), np.int64)
    tried = np.empty(longest, np.bool_)
    runs = np.empty((points, 7), np.int64)
    count = 0
    closed = np.empty((1, 7), np.int64)
    bound = loose = 0.0
    for b in chosen:
        first, m, ring = y_lines[b]
        around = 0.0
        is_closed = 0
        if ring:
            is_closed, around = _closed_runs(y_lines[b], b, x_lines, near, totals, sums, 0.0, closed)
        best = around
        upper = np.inf
        loose_upper = np.inf
        cut = cuts[b]
        best_cut = -1
        trials = 0
        tried[:] = False
        while True:
            across, begin = _pass_line(y_lines[b], cut, x_lines, near, totals, half, base, room, value, came)
            tried[cut] = True
            trials += 1
            if value[m] > best:
                best = value[m]
                best_cut = cut
                best_came[: m + 1] = came[: m + 1]
            if max(best, across) < upper:
                upper = max(best, across)
                loose_upper = upper
                for t in range(m):
                    y_price[first + (cut + t) % m] = value[t + 1] - value[t]
            if not ring or trials == m:
                upper = best
            if upper <= best * (1 + ROUNDING):
                upper = best
            if upper == best or trials >= most:
                break
            cut = (cut + begin) % m
            while tried[cut]:
                cut = (cut + 1) % m
        bound += upper
        loose += loose_upper
        if best_cut < 0:
            runs[count : count + is_closed] = closed[:is_closed]
            count += is_closed
            continue
        cuts[b] = best_cut
        t = m
        while t > 0:
            k, position, begin = best_came[t]
            if k < 0:
                t -= 1
                continue
            p, a, step = pairs[k]
            run = runs[count]
            run[3] = (p - x_lines[a, 0] - step * (position - begin)) % x_lines[a, 1]
            run[0] = b
            run[1] = a
            run[2] = step
            run[4] = (best_cut + begin) % m
            run[5] = t - begin
            run[6] = 0
            count += 1
            t = begin
    return runs[:count].copy(), bound, loose


@jit
def _pair_at(start, pairs, p, q, step):
    """Return the near pair of two points with a step, or -1."""
    for k in range(start[q], start[q + 1]):
        if pairs[k, 0] == p and pairs[k, 2] == step:
            return k
    return -1


@jit_allocating
def all_runs(chosen, x_lines, y_lines, near, price, y_price, half, floor, highest, most):
    """Return all runs along some lines of ``y`` that gain at least ``floor``, or ``most`` of them if there are more.

    A run gains what it saves, less its ends and the prices of its points, and never more than ``highest``.
    """
    start, pairs, saving = near
    runs = np.empty((most, 7), np.int64)
    count = 0
    sums = np.empty((2, len(y_price)))
    totals = _totals(price)
    for b in chosen:
        first, m, y_ring = y_lines[b]
        for q in range(first, first + m):
            for k in range(start[q], start[q + 1]):
                p, a, step = pairs[k]
                x_first, n, ring = x_lines[a]
                i = p - x_first
                j = q - first
                limit = _longest(n, ring, m, y_ring)
                steps_x = _steps_back(i, n, ring, step)
                steps_y = _steps_back(j, m, y_ring, 1)
                back = min(steps_x, steps_y)
                for beginning in range(2):  # from here, and from the start of the diagonal
                    skip = 0
                    if beginning == 1:
                        if back == 0 or back >= limit:
                            break
                        skip = back
                    if count == most:
                        return runs
                    gain = -_cost_of_end(steps_x - skip, steps_y - skip, half)
                    is_first = True
                    for z in range(1, skip + 1):
                        p = x_first + (i - step * z) % n
                        r = first + (j - z) % m
                        gain -= price[p] + y_price[r]
                        is_first &= _pair_at(start, pairs, p, r, step) < 0
                    if is_first:
                        size = skip
                    else:
                        size = limit
                    while size < limit and count < most:
                        t = size - skip
                        p = x_first + (i + step * t) % n
                        r = first + (j + t) % m
                        at = _pair_at(start, pairs, p, r, step)
                        saved = 0.0
                        if at >= 0:
                            saved = saving[at]
                        gain += saved - price[p] - y_price[r]
                        size += 1
                        if gain + highest + 2 * half < floor:  # what follows is a run, but for its first end
                            break
                        ahead_x = _steps_back(i + step * t, n, ring, -step)
                        ahead_y = _steps_back(j + t, m, y_ring, -1)
                        ends = _cost_of_end(ahead_x, ahead_y, half)
                        if gain - ends >= floor and (at >= 0 or ahead_x == 0 or ahead_y == 0):
                            run = runs[count]
                            run[0] = b
                            run[1] = a
                            run[2] = step
                            run[3] = (i - step * skip) % n
                            run[4] = (j - skip) % m
                            run[5] = size
                            run[6] = 0
                            count += 1
                        if ahead_x == 0 or ahead_y == 0:
                            break
        if y_ring:
            total = 0.0
            for q in range(first, first + m):
                total += y_price[q]
            count += _closed_runs(y_lines[b], b, x_lines, near, totals, sums, floor + total, runs[count:])[0]
    return runs[:count].copy()
