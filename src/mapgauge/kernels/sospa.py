"""SOSPA between lines: the best direction, the best cut of closed lines, the matching, and the value."""

import math
from typing import NamedTuple

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.band import all_pairs, band_of_matrix, best_of_rows, fill_from_lines, make_band
from mapgauge.kernels.chain import heaviest_chain, rest_by_rows, trace
from mapgauge.kernels.cyclic import best_cut, fewest_close
from mapgauge.kernels.lines import START, are_near, length_of, longest_of, runs_against, square_between

HALF_STEP = 2.0**-45  # half the step between two gains: "at least g" is tested as "more than g - HALF_STEP"


class Reading(NamedTuple):
    """How two lines are read together: rows from ``first_row`` on, columns from ``cut`` on."""

    gain: float
    first_row: int
    backward: bool
    cut: int


@jit
def best_reading(band, n, m, cyclic, directed, guess_backward, move):
    """The reading with the heaviest chain, and whether that chain is recorded in ``move``. Forwards wins a tie.

    ``guess_backward`` says which direction to try first. The second direction must exceed the gain of the first and
    usually stops after a few rows. Therefore the first is recorded at once, if ``move`` is an array and the lines are
    open.
    """
    promise = best_of_rows(band, n) if cyclic or not directed else 0.0
    start = fewest_close(band, n) if cyclic else ZERO
    best = Reading(0.0, ZERO, False, ZERO)
    recorded = False
    for second in range(1 if directed else 2):
        backward = guess_backward != (second == 1)
        floor = best.gain
        if second == 1 and not backward:
            floor = max(floor - HALF_STEP, 0.0)
        first_row = start if cyclic or not backward else n - ONE
        cut = ZERO
        if cyclic:
            gain, cut = best_cut(band, n, m, first_row, backward, promise, floor)
        elif second == 0:
            gain = heaviest_chain(band, n, m, first_row, backward, ZERO, -1.0, move)
        else:
            rest_by_rows(band, n, first_row, backward)
            gain = heaviest_chain(band, n, m, first_row, backward, ZERO, floor, None)
        if gain > floor:
            best = Reading(gain, first_row, backward, cut)
            recorded = second == 0 and not cyclic
    return best, recorded


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
def match(band, n, m, cyclic, directed, guess_backward, pairs):
    """Write the pairs of the best matching by increasing row. Returns their number and whether y is read backwards."""
    reading, recorded = best_reading(band, n, m, cyclic, directed, guess_backward, band.move)
    if reading.gain <= 0.0:
        return ZERO, False
    first_row, backward, cut = reading.first_row, reading.backward, reading.cut
    if not recorded:
        heaviest_chain(band, n, m, first_row, backward, cut, -1.0, band.move)
    k = trace(band, n, m, first_row, backward, cut, pairs)
    # The trace lists the last pair first. To make the rows increase, reverse the pairs and rotate to the smallest row.
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
    return k, backward


@jit
def _turn(pairs, begin, end):
    """Reverse the order of pairs ``begin .. end``."""
    for a in range((end - begin) // TWO):
        for side in range(2):
            i, j = begin + a, end - ONE - a
            pairs[i, side], pairs[j, side] = pairs[j, side], pairs[i, side]


@jit
def align_lines(lines, x, y, cyclic, directed, cutoff, order, band, pairs):
    """Match lines x and y. Returns the number of matched points, their total cost, and whether y is read backwards."""
    if not are_near(lines, x, y, cutoff) or fill_from_lines(lines, x, y, cutoff, order, band) == ZERO:
        return ZERO, 0.0, False
    against = not directed and runs_against(lines, x, y, cyclic)
    matched, backward = match(band, length_of(lines, x), length_of(lines, y), cyclic, directed, against, pairs)
    x_start, y_start = lines.span[x, START], lines.span[y, START]
    cost = 0.0
    for a in range(matched):
        cost += point_cost(lines.points, x_start + U(pairs[a, 0]), y_start + U(pairs[a, 1]), cutoff, order)
    return matched, cost, backward


@jit
def gain_of_lines(lines, x, y, cyclic, directed, cutoff, order, band):
    """Gain of the heaviest chain in units of ``c^p``, without the matching."""
    if not are_near(lines, x, y, cutoff) or fill_from_lines(lines, x, y, cutoff, order, band) == ZERO:
        return 0.0
    against = not directed and runs_against(lines, x, y, cyclic)
    reading, _ = best_reading(band, length_of(lines, x), length_of(lines, y), cyclic, directed, against, None)
    return max(reading.gain, 0.0)


@jit_allocating
def gains_of_pairs(lines, pairs, cyclic, directed, cutoff, order, out):
    """``gain_of_lines`` for many pairs of lines."""
    band = make_band(lines, pairs, cutoff)
    for k in range(len(pairs)):
        out[k] = gain_of_lines(lines, U(pairs[k, 0]), U(pairs[k, 1]), cyclic[k], directed, cutoff, order, band)


@jit
def saturation(cost, points, cutoff, order):
    """``sospa / M`` in [0, 1], where M is the cost of two unmatched lines with this many points; 0 without points."""
    if points == ZERO:
        return 0.0
    unmatched = 0.5 * points * (cutoff if order == 1.0 else 1.0)
    share = min(cost / unmatched, 1.0)
    return share if order == 1.0 else share ** (1.0 / order)


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


@jit_allocating
def align_two(lines, cyclic, directed, cutoff, order):
    """Match lines 0 and 1. Returns pairs, whether y is read backwards, their cost, ``sospa^p``, normalised SOSPA."""
    n, m = length_of(lines, ZERO), length_of(lines, ONE)
    pairs = np.empty((min(n, m), 2), np.int64)
    band = make_band(lines, np.array([[0, 1]]), cutoff)
    matched, cost, backward = align_lines(lines, ZERO, ONE, cyclic, directed, cutoff, order, band, pairs)
    total, normalised = value_of(cost, matched, n + m, cutoff, order)
    return pairs[:matched], backward, cost, total, normalised


@jit_allocating
def align_matrix(distance, cyclic, directed, cutoff, order):
    """Same as ``align_two`` for a matrix of point distances of any metric."""
    n, m = U(distance.shape[0]), U(distance.shape[1])
    pairs = np.empty((min(n, m), 2), np.int64)
    matched, cost, backward = ZERO, 0.0, False
    if n > ZERO and m > ZERO:
        band = band_of_matrix(distance, cutoff, order)
        matched, backward = match(band, n, m, cyclic, directed, False, pairs)
    for a in range(matched):
        d = distance[pairs[a, 0], pairs[a, 1]]
        cost += d if order == 1.0 else (d / cutoff) ** order
    total, normalised = value_of(cost, matched, n + m, cutoff, order)
    return pairs[:matched], backward, cost, total, normalised


@jit_allocating
def normalised_pairs(lines, closed, pairs, directed, cutoff, order, out):
    """Write the normalised SOSPA of pairs of lines."""
    band = make_band(lines, pairs, cutoff)
    matches = np.empty((longest_of(lines), 2), np.int64)
    for k in range(len(pairs)):
        x, y = U(pairs[k, 0]), U(pairs[k, 1])
        matched, cost, _ = align_lines(lines, x, y, closed[x] or closed[y], directed, cutoff, order, band, matches)
        points = length_of(lines, x) + length_of(lines, y)
        _, out[k] = value_of(cost, matched, points, cutoff, order)


@jit_allocating
def normalised_matrix(lines, closed, rows, directed, cutoff, order):
    """Normalised SOSPA of each of the first ``rows`` lines to each of the others."""
    columns = len(closed) - rows
    out = np.empty((rows, columns))
    pairs = all_pairs(np.arange(rows), np.arange(rows, rows + columns))
    normalised_pairs(lines, closed, pairs, directed, cutoff, order, out.reshape(rows * columns))
    return out
