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
    longest, low, high = (
        np.zeros(len(x_lines)),
        np.empty((len(x_lines), dimension)),
        np.empty((len(x_lines), dimension)),
    )
    for a in range(len(x_lines)):
        first, stop = x_lines[a, 0], x_lines[a, 0] + x_lines[a, 1]
        for i in range(first, stop):
            for d in range(dimension):
                low[a, d] = x[d, i] if i == first else min(low[a, d], x[d, i])
                high[a, d] = x[d, i] if i == first else max(high[a, d], x[d, i])
            longest[a] = max(longest[a], math.sqrt(_squared(x, i, x, max(i - 1, first))))
    ways, start, count = 1 if directed else 2, np.zeros(y.shape[1] + 1, np.int64), 0
    pairs, saving = np.empty((1024, 3), np.int64), np.empty(1024)
    beside, bottom, top = np.empty(len(x_lines), np.int64), np.empty(dimension), np.empty(dimension)
    for b in range(len(y_lines)):
        for d in range(dimension):
            bottom[d], top[d] = np.inf, -np.inf
            for q in range(y_lines[b, 0], y_lines[b, 0] + y_lines[b, 1]):
                bottom[d], top[d] = min(bottom[d], y[d, q]), max(top[d], y[d, q])
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
                weight, i, stop = min(x_weight[a], y_weight[b]), x_lines[a, 0], x_lines[a, 0] + x_lines[a, 1]
                for d in range(dimension):
                    if y[d, q] - high[a, d] >= cutoff or low[a, d] - y[d, q] >= cutoff:
                        i = stop
                while i < stop:
                    distance = math.sqrt(_squared(x, i, y, q))
                    gain = weight * (1.0 - distance / cutoff)
                    if gain > 0:
                        if count + 2 > len(pairs):
                            more, larger = np.empty((4 * count, 3), np.int64), np.empty(4 * count)
                            more[:count], larger[:count] = pairs[:count], saving[:count]
                            pairs, saving = more, larger
                        for way in range(ways):
                            pairs[count, 0], pairs[count, 1], pairs[count, 2], saving[count] = i, a, 1 - 2 * way, gain
                            count += 1
                    skip = distance - cutoff
                    i += max(1, int(min(skip / longest[a], 1e9))) if skip > 0 and longest[a] > 0 else 1
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
    return i - t + length - 1 if step > 0 else i + t


@jit
def _most_through(y_line, x_lines, start, pairs, gain, half, back, base, last, best):
    """Write what a run can gain at most up to each near pair of a line, or from it on if ``back``, less its end."""
    first, m, y_ring = y_line[0], y_line[1], y_line[2]
    length = 2 * m if y_ring else m
    last[:] = -1
    for z in range(length):
        t = length - 1 - z if back else z
        for k in range(start[first + t % m], start[first + t % m + 1]):
            a, step = pairs[k, 1], pairs[k, 2]
            n, ring, i = x_lines[a, 1], x_lines[a, 2], pairs[k, 0] - x_lines[a, 0]
            at = base[a] + (0 if step > 0 else n + length) + _diagonal(i, t, n, ring, step, length)
            steps_x, steps_y = i if (step > 0) != back else n - 1 - i, m - 1 - t if back else t
            if ring and y_ring:
                most = 0.0 if n == m else -2 * half
            else:
                most = 0.0 if not ring and not y_ring and steps_x == steps_y else -half
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
    gain, best, useful = np.empty(len(pairs)), np.empty((2, len(pairs))), np.zeros(len(pairs), np.bool_)
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
    base, longest = np.zeros(len(x_lines) + 1, np.int64), 0
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
    first, n = line[0], line[1]
    if not line[2]:
        if step > 0:
            return totals[first + i + 1 + count] - totals[first + i + 1]
        return totals[first + i] - totals[first + i - count]
    around = totals[first + n] - totals[first]
    total, rest = around * (count // n), count % n
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
    first, m, y_ring = y_line[0], y_line[1], y_line[2]
    length = 2 * m if y_ring else m
    last[:], tail[:], value[1 : m + 1], came[: m + 1, 0] = -1, -1, -np.inf, -1
    value[0], nodes, entries, across, across_start = 0.0, 0, 0, -np.inf, -1
    for t in range(length):
        q = first + (cut + t) % m
        for k in range(start[q], start[q + 1]):
            p, a, step = pairs[k, 0], pairs[k, 1], pairs[k, 2]
            line = x_lines[a]
            n, ring = line[1], line[2]
            i = p - line[0]
            limit = min(n if ring else NEVER, m if y_ring else NEVER)
            at = base[a] + (0 if step > 0 else n + length) + _diagonal(i, t, n, ring, step, length)
            gain, before = saving[k] - (totals[p + 1] - totals[p]), last[at]
            sums[nodes], chain = gain, tail[at]
            if before >= 0:
                gap, i_before = t - node[before, 1] - 1, pairs[node[before, 0], 0] - line[0]
                sums[nodes] += sums[before] - _passed(totals, line, i_before, step, gap)
            node[nodes, 0], node[nodes, 1], last[at] = k, t, nodes
            steps_x, steps_y = NEVER if ring else (i if step > 0 else n - 1 - i), NEVER if y_ring else t
            back = min(steps_x, steps_y)
            if before < 0 and 0 < back <= t and t - back < m:  # from the start of the diagonal
                ends = (half if steps_x > back else 0.0) + (half if steps_y > back else 0.0)
                skipped = _passed(totals, line, i, -step, back)
                entry[entries, 0], entry[entries, 1] = t - back, -1
                worth[entries] = value[t - back] - ends - skipped - (sums[nodes] - gain)
                chain = entries
                entries += 1
            if t < m:  # from here
                ends = (half if steps_x > 0 else 0.0) + (half if steps_y > 0 else 0.0)
                own = value[t] - ends - (sums[nodes] - gain)
                if limit < length:
                    while chain >= 0 and worth[chain] <= own:
                        chain = entry[chain, 1]
                if limit < length or chain < 0 or worth[chain] < own:
                    entry[entries, 0], entry[entries, 1] = t, chain if limit < length else -1
                    worth[entries] = own
                    chain = entries
                    entries += 1
            tail[at] = chain
            steps_x, steps_y = NEVER if ring else (n - 1 - i if step > 0 else i), NEVER if y_ring else m - 1 - t
            ahead = min(steps_x, steps_y)
            for z in range(2 if 0 < ahead < NEVER else 1):  # up to here, and to the end of the diagonal
                skip = ahead if z else 0
                end = t + skip
                begin = _oldest(entry, chain, end, limit)
                if begin < 0:
                    continue
                ends = (half if steps_x > skip else 0.0) + (half if steps_y > skip else 0.0)
                total = sums[nodes] + worth[begin] - ends - (_passed(totals, line, i, step, skip) if z else 0.0)
                if end < m:
                    if total > value[end + 1]:
                        value[end + 1] = total
                        came[end + 1, 0], came[end + 1, 1], came[end + 1, 2] = k, t, entry[begin, 0]
                elif total - value[end + 1 - m] > across:
                    across, across_start = total - value[end + 1 - m], entry[begin, 0]
            nodes += 1
        if t < m and value[t] >= value[t + 1]:
            value[t + 1], came[t + 1, 0] = value[t], -1
    return across, across_start


@jit
def _closed_runs(y_line, b, x_lines, near, totals, sums, floor, runs):
    """Write the closed runs of a ring of ``y`` that gain more than ``floor`` at the prices of ``x``, up to ``runs``.

    Returns their number, and what the best one gains, which is the last one if there is room for one only.
    """
    start, pairs, saving = near
    first, m, best, count = y_line[0], y_line[1], floor, 0
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
                    best, run = max(best, gain), runs[min(count, len(runs) - 1)]
                    run[0], run[1], run[2], run[3], run[4], run[5], run[6] = b, a, 1 - 2 * way, i, 0, m, 1
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
    totals, base = _totals(price), _bases(chosen, x_lines, y_lines)
    size = longest = points = 0
    for b in chosen:
        first, m, ring = y_lines[b]
        size = max(size, (start[first + m] - start[first]) * (1 + ring))
        longest, points = max(longest, m), points + m
    last, tail = np.empty(base[-1], np.int64), np.empty(base[-1], np.int64)
    node, sums_of_nodes = np.empty((size, 2), np.int64), np.empty(size)
    entry, worth = np.empty((2 * size, 2), np.int64), np.empty(2 * size)
    room = (last, tail, node, sums_of_nodes, entry, worth)
    value, came, sums = np.empty(longest + 1), np.empty((longest + 1, 3), np.int64), np.empty((2, longest))
    best_came, tried = np.empty((longest + 1, 3), np.int64), np.empty(longest, np.bool_)
    runs, count, closed = np.empty((points, 7), np.int64), 0, np.empty((1, 7), np.int64)
    bound = loose = 0.0
    for b in chosen:
        first, m, ring = y_lines[b]
        around, is_closed = 0.0, 0
        if ring:
            is_closed, around = _closed_runs(y_lines[b], b, x_lines, near, totals, sums, 0.0, closed)
        best, upper, loose_upper, cut, best_cut, trials = around, np.inf, np.inf, cuts[b], -1, 0
        tried[:] = False
        while True:
            across, begin = _pass_line(y_lines[b], cut, x_lines, near, totals, half, base, room, value, came)
            tried[cut] = True
            trials += 1
            if value[m] > best:
                best, best_cut, best_came[: m + 1] = value[m], cut, came[: m + 1]
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
        cuts[b], t = best_cut, m
        while t > 0:
            k, position, begin = best_came[t]
            if k < 0:
                t -= 1
                continue
            p, a, step = pairs[k]
            run = runs[count]
            run[0], run[1], run[2], run[3] = b, a, step, (p - x_lines[a, 0] - step * (position - begin)) % x_lines[a, 1]
            run[4], run[5], run[6] = (best_cut + begin) % m, t - begin, 0
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
    runs, count, sums, totals = np.empty((most, 7), np.int64), 0, np.empty((2, len(y_price))), _totals(price)
    for b in chosen:
        first, m, y_ring = y_lines[b]
        for q in range(first, first + m):
            for k in range(start[q], start[q + 1]):
                p, a, step = pairs[k]
                x_first, n, ring = x_lines[a]
                i, j, limit = p - x_first, q - first, min(n if ring else NEVER, m if y_ring else NEVER)
                steps_x, steps_y = NEVER if ring else (i if step > 0 else n - 1 - i), NEVER if y_ring else j
                back = min(steps_x, steps_y)
                for skip in (0, back if back < limit else 0):  # from here, and from the start of the diagonal
                    if count == most:
                        return runs
                    gain = -(half if steps_x > skip else 0.0) - (half if steps_y > skip else 0.0)
                    is_first = True
                    for z in range(1, skip + 1):
                        p, r = x_first + (i - step * z) % n, first + (j - z) % m
                        gain -= price[p] + y_price[r]
                        is_first &= _pair_at(start, pairs, p, r, step) < 0
                    size = skip if is_first else limit
                    while size < limit and count < most:
                        t = size - skip
                        p, r = x_first + (i + step * t) % n, first + (j + t) % m
                        at = _pair_at(start, pairs, p, r, step)
                        gain += (saving[at] if at >= 0 else 0.0) - price[p] - y_price[r]
                        size += 1
                        if gain + highest + 2 * half < floor:  # what follows is a run, but for its first end
                            break
                        ahead_x = NEVER if ring else (n - 1 - i - t if step > 0 else i - t)
                        ahead_y = NEVER if y_ring else m - 1 - j - t
                        ends = (half if ahead_x > 0 else 0.0) + (half if ahead_y > 0 else 0.0)
                        if gain - ends >= floor and (at >= 0 or ahead_x == 0 or ahead_y == 0):
                            run = runs[count]
                            run[0], run[1], run[2], run[3] = b, a, step, (i - step * skip) % n
                            run[4], run[5], run[6] = (j - skip) % m, size, 0
                            count += 1
                        if ahead_x == 0 or ahead_y == 0:
                            break
                    if back == 0 or back >= limit:
                        break
        if y_ring:
            total = 0.0
            for q in range(first, first + m):
                total += y_price[q]
            count += _closed_runs(y_lines[b], b, x_lines, near, totals, sums, floor + total, runs[count:])[0]
    return runs[:count].copy()
