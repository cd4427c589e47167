"""SOSPA between lines: the best direction, the best cut of closed lines, the matching, and the value.

Long lines need two more algorithms: all cuts at once (``cyclic.py``) and stretches of rows (``chain.py``). They
double the time to compile. So they are compiled only when they are needed: kernels take ``long``, which is True, or
None to leave them out. ``is_long`` decides. Values are the same with and without them.

Complete matchings: two lines of equal length whose points are all matched, compared by their true cost.

The search for the best reading compares gains ``1 - (d / c)^p``, which are rounded to multiples of ``2^-44``. That is
exact enough as soon as a point stays unmatched: the cost is then at least ``c^p / 2``, and the rounding is small
relative to it. If every point is matched, the cost can be much smaller than the rounding, for example if the order is
high or the cutoff large. All readings that match every point then look the same.

In a reading without unmatched points there is only one matching: the i-th point of one line has the i-th point of the
other. So the costs of all these readings are summed directly, and the smallest wins. A sum ends as soon as it is too
large, so this takes little time compared with the search.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.chain import Reading, heaviest_chain, match_by_stretches, rest_by_rows, trace
from mapgauge.kernels.cyclic import best_cut, fewest_close
from mapgauge.kernels.gains import ROOMY, band_of_matrix, best_of_rows, fill_gains, make_band
from mapgauge.kernels.interpreting import interpreted_while_small
from mapgauge.kernels.lines import START, are_near, length_of, runs_against, square_between

# A reading must be clearly cheaper to replace the reading of the search. Costs that differ by rounding are equal.
CLEARLY = 1.0 - 2.0**-40
SMALL = 1.0 / 16.0  # a mean cost of a point, in units of c^p, above which rounded gains are exact enough


@jit
def point_cost(points, i, j, cutoff, order):
    """``d^p`` of two points, in metres for order 1 and in units of ``c^p`` for any other order."""
    square = square_between(points, i, j)
    if order == 1.0:
        return math.sqrt(square)
    if order == 2.0:
        return square / (cutoff * cutoff)
    return (math.sqrt(square) / cutoff) ** order


@jit
def distance_cost(distance, cutoff, order):
    """``d^p`` in metres for order 1 and in units of ``c^p`` for any other order."""
    if order == 1.0:
        return distance
    return (distance / cutoff) ** order


@jit
def _partner(i, n, shift, backward):
    """The column of row ``i`` if row 0 has the column ``shift``."""
    if backward:
        if i <= shift:
            return shift - i
        return shift + n - i
    if shift + i < n:
        return shift + i
    return shift + i - n


@jit
def _cost(points, x_start, y_start, distance, n, shift, backward, cutoff, order, limit):
    """Cost of a complete matching, or infinity if it is not below ``limit`` or a pair is not closer than the cutoff."""
    most = 1.0
    if order == 1.0:
        most = cutoff
    total = 0.0
    for i in range(n):
        j = _partner(i, n, shift, backward)
        cost = 0.0
        if points is not None:
            cost = point_cost(points, x_start + i, y_start + j, cutoff, order)
        if distance is not None:
            cost = distance_cost(distance[i, j], cutoff, order)
        total += cost
        if cost >= most or total >= limit:
            return math.inf
    return total


@jit
def cheapest_complete(points, x_start, y_start, distance, n, cyclic, directed, cutoff, order, cost, backward, pairs):
    """Replace a complete matching of this cost by the cheapest one in any reading, if that is clearly cheaper.

    Costs are computed from points, or from a matrix of distances if it is not None. Returns the cost and whether y is
    read backwards.
    """
    if cost >= SMALL * n * (cutoff if order == 1.0 else 1.0):
        return cost, backward
    limit = cost * CLEARLY
    for way in range(1 if directed else 2):
        against = way == 1
        if against and not cyclic:
            last = n - ONE
        else:
            last = ZERO
        for shift in range(last, n if cyclic else last + ONE):
            other = _cost(points, x_start, y_start, distance, n, shift, against, cutoff, order, limit)
            if other < limit:
                limit = other
                cost = other
                backward = against
                for i in range(n):
                    pairs[i, 0] = i
                    pairs[i, 1] = _partner(i, n, shift, against)
    return cost, backward


HALF_STEP = 2.0**-45  # half the step between two gains: "at least g" is tested as "more than g - HALF_STEP"

LONG = 256  # points; shorter closed lines take milliseconds at worst, also if many cuts are tried one by one


def is_long(lines, closed):
    """True if some of the lines need the algorithms for long lines, otherwise None."""
    length = lines.span[:, 1] - lines.span[:, 0]
    longest = int(length.max(initial=0))
    if longest * longest > ROOMY or length[closed].max(initial=0) > LONG:
        return True
    return None


@jit
def best_reading(band, n, m, cyclic, directed, guess_backward, move, long):
    """The reading with the heaviest chain, its gain, and whether it is recorded in ``move``. Forwards wins a tie.

    ``guess_backward`` says which direction to try first. The second direction must exceed the gain of the first and
    usually stops after a few rows. Therefore the first is recorded at once, if ``move`` is an array.
    """
    promise = 0.0
    if cyclic or not directed:
        promise = best_of_rows(band, n)
    if cyclic:
        start = fewest_close(band, n)
    else:
        start = ZERO
    best = Reading(ZERO, False, ZERO)
    best_gain = 0.0
    recorded = is_best = False
    for second in range(1 if directed else 2):
        backward = guess_backward != (second == 1)
        floor = best_gain
        if second == 1 and not backward:
            floor = max(floor - HALF_STEP, 0.0)
        reading = Reading(start if cyclic or not backward else n - ONE, backward, ZERO)
        if cyclic:
            gain, cut, wrote, is_best = best_cut(band, n, m, start, backward, promise, floor, move, long)
            reading = Reading(start, backward, cut)
            recorded = recorded and not wrote
        elif second == 0:
            gain = heaviest_chain(band, n, m, reading, -1.0, move, None, ZERO)
        else:
            rest_by_rows(band, n, reading)
            gain = heaviest_chain(band, n, m, reading, floor, None, None, ZERO)
        if gain > floor:
            best = reading
            best_gain = gain
            if cyclic:
                recorded = is_best
            else:
                recorded = second == 0
    return best, best_gain, recorded


@jit
def match(band, n, m, cyclic, directed, guess_backward, long):
    """Write the pairs of the best matching, last pair first. Returns their number and whether y is read backwards."""
    reading, gain, recorded = best_reading(band, n, m, cyclic, directed, guess_backward, band.move, long)
    if gain <= 0.0:
        return ZERO, False
    if not recorded:
        heaviest_chain(band, n, m, reading, -1.0, band.move, None, ZERO)
    matched, _ = trace(band, n, m, reading, None, m, ZERO)
    return matched, reading.backward


@jit
def _sort_by_rows(pairs, k, backward):
    """Make the rows of ``k`` traced pairs increase: reverse the pairs and rotate to the smallest row."""
    if not backward:
        _turn(pairs, ZERO, k)
    smallest = ZERO
    for a in range(k):
        if pairs[a, 0] < pairs[smallest, 0]:
            smallest = a
    if smallest > ZERO:
        _turn(pairs, ZERO, smallest)
        _turn(pairs, smallest, k)
        _turn(pairs, ZERO, k)


@jit
def _turn(pairs, begin, end):
    """Reverse the order of pairs ``begin .. end``."""
    for a in range((end - begin) // TWO):
        for side in range(2):
            i = begin + a
            j = end - ONE - a
            pairs[i, side], pairs[j, side] = pairs[j, side], pairs[i, side]


@jit
def align_lines(lines, x, y, cyclic, directed, cutoff, order, band, long):
    """Match lines x and y. Returns the number of matched points, their total cost, and whether y is read backwards.

    The pairs are in the band, by increasing row.
    """
    if not are_near(lines, x, y, cutoff):
        return ZERO, 0.0, False
    cells = fill_gains(lines, x, y, ZERO, length_of(lines, x), cutoff, order, band)
    if cells == ZERO:
        return ZERO, 0.0, False
    n = length_of(lines, x)
    m = length_of(lines, y)
    pairs = band.pairs
    against = not directed and runs_against(lines, x, y, cyclic)
    if long is not None and cells > U(len(band.gain)):
        matched, backward = match_by_stretches(lines, x, y, directed, against, cutoff, order, band)
    else:
        matched, backward = match(band, n, m, cyclic, directed, against, long)
    _sort_by_rows(pairs, matched, backward)
    points = lines.points
    x_start = lines.span[x, START]
    y_start = lines.span[y, START]
    cost = 0.0
    for a in range(matched):
        cost += point_cost(points, x_start + U(pairs[a, 0]), y_start + U(pairs[a, 1]), cutoff, order)
    if matched == n and n == m:
        cost, backward = cheapest_complete(
            points, x_start, y_start, None, n, cyclic, directed, cutoff, order, cost, backward, pairs
        )
    return matched, cost, backward


@jit
def saturation(cost, points, cutoff, order):
    """``sospa / M`` in [0, 1], where M is the cost of two unmatched lines with this many points; 0 without points."""
    if points == ZERO:
        return 0.0
    unmatched = 0.5 * points * (cutoff if order == 1.0 else 1.0)
    share = min(cost / unmatched, 1.0)
    if order == 1.0:
        return share
    return share ** (1.0 / order)


@jit
def total_cost(matched_cost, matched, points, cutoff, order):
    """``sospa^p`` of a matching (eq. 1): the cost of its pairs and half of ``c^p`` per unmatched point."""
    return matched_cost + 0.5 * (points - TWO * matched) * (cutoff if order == 1.0 else 1.0)


@jit
def normalise(saturation):
    """``2 s / (M + s)`` (eq. 4) from the saturation ``s / M``."""
    return 2.0 * saturation / (1.0 + saturation)


@jit
def value_of(matched_cost, matched, points, cutoff, order):
    """``sospa^p`` and normalised SOSPA of a matching with ``matched`` pairs in lines with ``points`` points in all."""
    total = total_cost(matched_cost, matched, points, cutoff, order)
    return total, normalise(saturation(total, points, cutoff, order))


@interpreted_while_small()
@jit_allocating
def align_two(lines, closed, directed, cutoff, order, long):
    """Match lines 0 and 1. Returns pairs, whether y is read backwards, their cost, ``sospa^p``, normalised SOSPA."""
    cyclic = closed[0] or closed[1]
    band = make_band(lines, closed, np.array([[0, 1]]), cutoff, long)
    matched, cost, backward = align_lines(lines, ZERO, ONE, cyclic, directed, cutoff, order, band, long)
    points = length_of(lines, ZERO) + length_of(lines, ONE)
    total, normalised = value_of(cost, matched, points, cutoff, order)
    return band.pairs[:matched], backward, cost, total, normalised


@interpreted_while_small()
@jit_allocating
def align_matrix(distance, cyclic, directed, cutoff, order, long):
    """Same as ``align_two`` for a matrix of point distances of any metric."""
    n = U(distance.shape[0])
    m = U(distance.shape[1])
    band = band_of_matrix(distance, cyclic, cutoff, order)
    matched = ZERO
    cost = 0.0
    backward = False
    if n > ZERO and m > ZERO:
        matched, backward = match(band, n, m, cyclic, directed, False, long)
        _sort_by_rows(band.pairs, matched, backward)
    for a in range(matched):
        cost += distance_cost(distance[band.pairs[a, 0], band.pairs[a, 1]], cutoff, order)
    if matched == n and n == m:
        cost, backward = cheapest_complete(
            None, ZERO, ZERO, distance, n, cyclic, directed, cutoff, order, cost, backward, band.pairs
        )
    total, normalised = value_of(cost, matched, n + m, cutoff, order)
    return band.pairs[:matched], backward, cost, total, normalised


@interpreted_while_small()
@jit_allocating
def values_of_pairs(lines, closed, pairs, directed, cutoff, order, long):
    """``sospa^p`` and normalised SOSPA of pairs of lines."""
    total = np.empty(len(pairs))
    normalised = np.empty(len(pairs))
    band = make_band(lines, closed, pairs, cutoff, long)
    for k in range(len(pairs)):
        x = U(pairs[k, 0])
        y = U(pairs[k, 1])
        matched, cost, _ = align_lines(lines, x, y, closed[x] or closed[y], directed, cutoff, order, band, long)
        points = length_of(lines, x) + length_of(lines, y)
        total[k], normalised[k] = value_of(cost, matched, points, cutoff, order)
    return total, normalised
