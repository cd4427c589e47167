"""Distances of lane segments and of boxes, and the comparison of lanes by the F-score.

The layout of pairs is that of ``chamfer_pairs``: group g has the predictions ``bounds[g, 0] .. bounds[g, 1]`` and the
true instances ``bounds[g, 1] .. bounds[g, 2]``, and its pairs are consecutive, prediction by prediction.

Average precision of the neighbours of each true vertex, as OpenLane-V2 defines its topology scores (TOP).
"""

import math

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import U, jit, jit_allocating
from mapgauge.kernels.assignment import cheapest_columns
from mapgauge.kernels.chamfer import chamfer_within
from mapgauge.kernels.frechet import frechet_prediction_shifted
from mapgauge.kernels.lines import ROUNDING, longest_of


@jit_allocating
def segment_pairs(centre, left, right, bounds, factor, limit, out):
    """Distances of lane segments: half the sum of Fréchet of the centres, Chamfer of the left and of the right lines.

    ``centre``, ``left`` and ``right`` are ``Lines`` in which segment i is line i. Each distance to true segment y is
    multiplied by ``factor[y]``. A pair is skipped if its ``out`` is infinite at the start. Infinity is written beyond
    ``limit``, and may be written for a true segment that is not the nearest.
    """
    longest = longest_of(centre)
    row = np.empty((2, longest))
    room = np.empty((centre.points.shape[0], 3 * longest))
    nearest = np.empty((2, max(longest_of(left), longest_of(right))))
    at = 0
    for g in range(len(bounds)):
        for x in range(U(bounds[g, 0]), U(bounds[g, 1])):
            reach = limit
            for y in range(U(bounds[g, 1]), U(bounds[g, 2])):
                if out[at] < np.inf:
                    left_over = 2.0 * reach / factor[y] * ROUNDING
                    sides = chamfer_within(left, x, y, left_over, nearest)
                    if sides < np.inf:
                        sides += chamfer_within(right, x, y, left_over - sides, nearest)
                    out[at] = np.inf
                    if sides <= left_over:
                        walk = frechet_prediction_shifted(centre, x, y, False, True, left_over - sides, room, row)
                        out[at] = 0.5 * (walk + sides) * factor[y]
                    reach = min(reach, out[at])
                at += 1


@jit
def box_pairs(
    points: NDArray[np.float64], start: NDArray[np.int64], bounds: NDArray[np.int64], out: NDArray[np.float64]
) -> None:
    """Distances of boxes in an image, 1 minus intersection over union, between the corners at ``start`` and after."""
    at = 0
    for g in range(len(bounds)):
        for x in range(bounds[g, 0], bounds[g, 1]):
            for y in range(bounds[g, 1], bounds[g, 2]):
                shared = own = other = 1.0
                for k in range(2):
                    a0 = points[k, start[x]]
                    a1 = points[k, start[x] + 1]
                    b0 = points[k, start[y]]
                    b1 = points[k, start[y] + 1]
                    shared *= max(min(a1, b1) - max(a0, b0), 0.0)
                    own *= a1 - a0
                    other *= b1 - b0
                if shared > 0.0:
                    out[at] = 1.0 - shared / (own + other - shared)
                else:
                    out[at] = 1.0
                at += 1


@jit
def _in_places(points, start, stop, order, first, height, seen):
    """Write y and z of a line, sorted by x, at ``first``, ``first + 1``, ..., and which of these places it reaches.

    Between its points, and beyond them, the line is continued straight. Returns the number of places.
    """
    n = stop - start
    for i in range(n):  # insertion keeps equal points in their order
        k = i
        while k > 0 and points[0, order[k - 1]] > points[0, start + i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = start + i
    reached = 0
    at = 0  # the first point at or after the place
    for p in range(len(seen)):
        place = first + p
        while at < n and points[0, order[at]] < place:
            at += 1
        high = min(max(at, 1), n - 1)
        a = order[high - 1]
        b = order[high]
        for k in range(2):
            other = 0.0
            if k + 1 < points.shape[0]:
                other = points[k + 1, a]
            rise = (points[k + 1, b] if k + 1 < points.shape[0] else 0.0) - other
            height[k, p] = rise / (points[0, b] - points[0, a]) * (place - points[0, a]) + other
        seen[p] = points[0, order[0]] <= place <= points[0, order[n - 1]]
        reached += seen[p]
    return reached


@jit_allocating
def matched_lanes(points, offsets, bounds, first, places, apart, share, out):
    """Count the lanes that a one-to-one assignment recovers: the numbers of the F-score of 3-D lanes.

    Lanes are compared at ``places`` places along x, one metre apart, from ``first`` on. They match if they are less
    than ``apart`` metres apart at a ``share`` of the places of a lane. A row of ``out`` has true lanes that are found,
    predicted lanes that are right, and the numbers of true and of predicted lanes that take part.
    """
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    order = np.empty(longest, np.int64)
    for g in range(len(bounds)):
        lanes = bounds[g, 2] - bounds[g, 0]
        height = np.empty((lanes, 2, places))
        seen = np.empty((lanes, places), np.bool_)
        reached = np.empty(lanes, np.int64)
        count = np.zeros(2, np.int64)  # of predicted lanes, then of true lanes, that take part
        for side in range(2):
            for i in range(bounds[g, side], bounds[g, side + 1]):
                start = offsets[i]
                stop = offsets[i + 1]
                if stop - start < 2:
                    continue
                if points[0, start] < first + places - 1 and points[0, stop - 1] > first:
                    at = count[0] + count[1]
                    reached[at] = _in_places(points, start, stop, order, first, height[at], seen[at])
                    count[side] += reached[at] > 1
        x_count, y_count = count
        flip = x_count < y_count  # the smaller side has the rows of the assignment
        if flip:
            shape = (x_count, y_count)
        else:
            shape = (y_count, x_count)
        cost = np.empty(shape)
        near = np.empty(shape, np.int64)
        for x in range(x_count):
            for y in range(y_count):
                total = 0.0
                close = 0
                for p in range(places):
                    if seen[x, p] and seen[x_count + y, p]:
                        a = height[x, 0, p] - height[x_count + y, 0, p]
                        b = height[x, 1, p] - height[x_count + y, 1, p]
                        distance = math.sqrt(a * a + b * b)
                        total += distance
                        close += distance < apart
                    elif seen[x, p] or seen[x_count + y, p]:
                        total += apart
                # Costs are whole numbers, at least 1 unless the lanes are equal. A cost that is no number becomes 0.
                if 0.0 < total < 1.0:
                    whole = 1.0
                else:
                    whole = math.floor(total)
                if flip:
                    i, j = (x, y)
                else:
                    i, j = (y, x)
                if total < np.inf:
                    cost[i, j] = whole
                else:
                    cost[i, j] = 0.0
                near[i, j] = close
        out[g, 2] = y_count
        out[g, 3] = x_count
        column, _ = cheapest_columns(cost)
        for i in range(len(column)):
            j = column[i]
            if cost[i, j] < apart * places:
                if flip:
                    x, y = (i, j)
                else:
                    x, y = (j, i)
                out[g, 0] += near[i, j] / reached[x_count + y] >= share
                out[g, 1] += near[i, j] / reached[x] >= share


ROUNDS = 10  # of version 1.0


@jit
def vertex_precisions(true: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Sum of the average precisions of all rows: of the neighbours of a vertex, predicted with a score above 0.5."""
    total = 0.0
    rows, columns = true.shape
    for v in range(rows):
        neighbours = predicted = 0
        for j in range(columns):
            neighbours += true[v, j]
            predicted += score[v, j] > 0.5
        if neighbours == 0 and predicted == 0:
            total += 1.0
        if neighbours == 0 or predicted == 0:
            continue
        precision = 0.0
        for j in range(columns):
            if true[v, j] and score[v, j] > 0.5:
                rank = hits = 1
                for k in range(columns):
                    before = score[v, k] > score[v, j] or (score[v, k] == score[v, j] and k < j)
                    rank += before
                    hits += before and true[v, k]
                precision += hits / rank
        total += precision / neighbours
    return total


@jit
def _round_thresholds(confidence, order, first, last, hit, out):
    """Write the confidence from which a prediction of a frame counts, for each of the ten rounds of version 1.0.

    The recalls of the sorted predictions have a quantile at 0.1, 0.2, ..., 1, by the nearest rank; a rank in the middle
    goes to the even one. The threshold is the confidence of the last prediction with this recall.
    """
    count = last - first
    for r in range(ROUNDS):
        rank = count * ((r + 1) * 10 / 100) - 1.0 - 0.5
        lower = math.floor(rank)
        if rank == lower and lower % 2 == 0:
            k = lower
        else:
            k = lower + 1
        k = min(max(k, 0), count - 1)
        while k + 1 < count and not hit[order[first + k + 1]]:
            k += 1
        out[r] = confidence[order[first + k]]


@jit_allocating
def topology_sums(lanes, elements, old, confidence, own, nearest, hit, true_links, links, filler, out):
    """Write the sum of the average precisions of all vertices of each frame, and their number.

    ``lanes`` and ``elements`` have the first prediction, the first truth and the end of each frame, for the vertices in
    rows and in columns. ``old`` are the rules of version 1.0. ``own`` has all instances
    frame by frame, predictions before truth, from high confidence to low. ``nearest`` is the true instance of a
    prediction, and ``hit`` whether they match. Links are sorted by source. ``filler`` is the score of a pair that is
    not linked, if one of its lanes is missed.
    """
    rounds = 1
    if old:
        rounds = ROUNDS
    from_lane = np.zeros(ROUNDS)
    from_element = np.zeros(ROUNDS)
    source, target, weight = links
    found = np.full(len(confidence), -1)  # the prediction of each true instance
    for f in range(len(lanes)):
        x0, y0, y1 = lanes[f]
        a0, b0, b1 = elements[f]
        n = y1 - y0
        m = b1 - b0
        if n == 0 or m == 0:
            continue
        true = np.zeros((n, m), np.bool_)
        for k in range(np.searchsorted(true_links[0], y0), np.searchsorted(true_links[0], y1)):
            true[true_links[0, k] - y0, true_links[1, k] - b0] = True
        for first, last in ((x0, y0), (a0, b0)):  # both are the same if rows and columns are
            for i in range(first, last):
                if hit[i]:
                    found[nearest[i]] = i
        predicted = np.zeros((y0 - x0, b0 - a0))
        for k in range(np.searchsorted(source, x0), np.searchsorted(source, y0)):
            predicted[source[k] - x0, target[k] - a0] = weight[k]
        if old:
            if y0 > x0:
                _round_thresholds(confidence, own, x0, y0, hit, from_lane)
            if b0 > a0:
                _round_thresholds(confidence, own, a0, b0, hit, from_element)
        score = np.empty((n, m))
        for r in range(rounds):
            for i in range(n):
                x = found[y0 + i]
                known = x >= 0 and (not old or confidence[x] >= from_lane[r])
                for j in range(m):
                    a = found[b0 + j]
                    if known and a >= 0 and (not old or confidence[a] >= from_element[r]):
                        score[i, j] = predicted[x - x0, a - a0]
                    else:
                        if true[i, j]:
                            score[i, j] = 0.0
                        else:
                            score[i, j] = filler
            out[f, 0] += vertex_precisions(true, score) + vertex_precisions(true.T, score.T)
            out[f, 1] += n + m
