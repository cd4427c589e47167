"""Lengths and distances of matched points, summed for each group: what ``metrics/completeness.py`` is computed from."""

import math

from mapgauge.kernels._jit import ONE, U, jit
from mapgauge.kernels.lines import START, STOP, square_between

TRUE, FOUND, SURE_FOUND, PREDICTED, RIGHT, SURE, SURE_RIGHT, WEIGHT, OFFSET, CUTOFF, FIRST_BIN = range(11)


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
