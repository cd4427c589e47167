"""Points of assigned lines: their matching, the lengths they stand for, and their offsets."""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, U, jit, jit_allocating
from mapgauge.kernels.gains import make_band
from mapgauge.kernels.interpreting import interpreted_while_small
from mapgauge.kernels.lines import START, STOP, square_between
from mapgauge.kernels.sospa import align_lines


@interpreted_while_small()
@jit_allocating
def match_points(lines, closed, truth_of, directed, cutoff, order, long, partner, matched, cost):
    """Match the points of each prediction with those of its true line.

    ``partner`` gets the index of the matched point of each point. ``matched`` and ``cost`` get the number of matched
    points of each prediction and the sum of their costs, as PLD computes them.
    """
    count = 0
    for x in range(len(truth_of)):
        count += 1 if truth_of[x] >= 0 else 0
    pairs = np.empty((count, 2), np.int64)
    at = 0
    for x in range(len(truth_of)):
        if truth_of[x] >= 0:
            pairs[at, 0], pairs[at, 1] = x, truth_of[x]
            at += 1
    band = make_band(lines, closed, pairs, cutoff, long)
    for k in range(count):
        x, y = U(pairs[k, 0]), U(pairs[k, 1])
        found, total, _ = align_lines(lines, x, y, closed[x] or closed[y], directed, cutoff, order, band, long)
        matched[x], cost[x] = found, total
        first, second = lines.span[x, START], lines.span[y, START]
        for a in range(found):
            i, j = first + U(band.pairs[a, 0]), second + U(band.pairs[a, 1])
            partner[i], partner[j] = j, i


TRUE, FOUND, SURE_FOUND, PREDICTED, RIGHT, SURE, SURE_RIGHT, WEIGHT, OFFSET, CUTOFF, FIRST_BIN = range(11)


@interpreted_while_small(5_000)
@jit
def measure_groups(lines, repeats, confidence, bounds, truth_of, prediction_of, partner, cutoff, sure, bins, out):
    """Write the sums of each group.

    A point stands for half of the two pieces of its line beside it. The closing point of a closed line is no point of
    its own, so the piece before it belongs to the last point and the first point.
    """
    points = lines.points
    for g in range(len(bounds)):
        for k in range(bounds[g, 0], bounds[g, 2]):
            truth = k >= bounds[g, 1]
            other = prediction_of[k] if truth else truth_of[k]
            r, s = confidence[k], confidence[other] if other >= 0 else 0.0
            start, stop = lines.span[k, START], lines.span[k, STOP]
            rings = repeats[k] and stop > start
            closing = 0.5 * math.sqrt(square_between(points, stop - ONE, stop)) if rings else 0.0
            before = closing
            for point in range(start, stop):
                after = closing
                if point + ONE < stop:
                    after = 0.5 * math.sqrt(square_between(points, point, point + ONE))
                length = before + after
                before = after
                matched = partner[point] >= 0
                if truth:
                    out[g, TRUE] += length
                    if matched:
                        out[g, FOUND] += length
                        out[g, SURE_FOUND] += length if s >= sure else 0.0
                    continue
                out[g, PREDICTED] += r * length
                out[g, SURE] += length if r >= sure else 0.0
                if matched:
                    out[g, RIGHT] += r * length
                    out[g, SURE_RIGHT] += length if r >= sure else 0.0
                    offset, weight = math.sqrt(square_between(points, point, U(partner[point]))), min(r, s)
                    out[g, WEIGHT] += weight
                    out[g, OFFSET] += weight * offset
                    out[g, CUTOFF] += weight * cutoff
                    out[g, FIRST_BIN + min(int(offset * (bins / cutoff)), bins - 1)] += weight
