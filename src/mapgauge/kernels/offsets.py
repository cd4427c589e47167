"""Lengths and distances of matched points, summed for each group: what ``metrics/completeness.py`` is computed from."""

import math

from mapgauge.kernels._jit import ONE, U, jit
from mapgauge.kernels.lines import START, STOP, square_between

TRUE, FOUND, SURE_FOUND, PREDICTED, RIGHT, SURE, SURE_RIGHT, WEIGHT, OFFSET, CUTOFF, FIRST_BIN = range(11)


@jit
def _step(points, i, j):
    return 0.5 * math.sqrt(square_between(points, i, j))


@jit
def _add_point(lines, point, length, truth, r, s, partner, cutoff, sure, bins, out, g):
    """Add a point that stands for a length. ``r`` is the confidence of its line and ``s`` that of the matched line."""
    matched = partner[point] >= 0
    if truth:
        out[g, TRUE] += length
        if matched:
            out[g, FOUND] += length
            if s >= sure:
                out[g, SURE_FOUND] += length
        return
    out[g, PREDICTED] += r * length
    if r >= sure:
        out[g, SURE] += length
    if not matched:
        return
    out[g, RIGHT] += r * length
    if r >= sure:
        out[g, SURE_RIGHT] += length
    offset, weight = 2.0 * _step(lines.points, point, U(partner[point])), min(r, s)
    out[g, WEIGHT] += weight
    out[g, OFFSET] += weight * offset
    out[g, CUTOFF] += weight * cutoff
    out[g, FIRST_BIN + min(int(offset * (bins / cutoff)), bins - 1)] += weight


@jit
def measure_groups(lines, repeats, confidence, bounds, truth_of, prediction_of, partner, cutoff, sure, bins, out):
    """Write the sums of each group.

    A point stands for half of the two pieces of its line beside it. The closing point of a closed line is no point of
    its own, so the piece before it belongs to the last point and the first point.
    """
    for g in range(len(bounds)):
        for k in range(bounds[g, 0], bounds[g, 2]):
            truth = k >= bounds[g, 1]
            other = prediction_of[k] if truth else truth_of[k]
            r, s = confidence[k], confidence[other] if other >= 0 else 0.0
            start, stop = lines.span[k, START], lines.span[k, STOP]
            closing = _step(lines.points, stop - ONE, stop) if repeats[k] and stop > start else 0.0
            for point in range(start, stop):
                length = _step(lines.points, point - ONE, point) if point > start else closing
                length += _step(lines.points, point, point + ONE) if point + ONE < stop else closing
                _add_point(lines, point, length, truth, r, s, partner, cutoff, sure, bins, out, g)
