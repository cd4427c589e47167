"""Chamfer and Fréchet distances between the predictions and the truth of many groups, and the hits they make.

A group is one class in one frame. Average precision asks of a prediction only which truth is nearest and whether that
is near enough. So a distance beyond the largest threshold need not be known: bounds rule out most pairs, and what is
left is computed exactly.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.chamfer import nearest_squares
from mapgauge.kernels.lines import START, STOP, box_distance_squared, gap_between, length_of
from mapgauge.kernels.sospa import runs_against

SLACK = 1.0 + 1e-12  # a bound must exceed a limit by more than rounding before it rules a pair out


@jit
def _mean_to_box(lines, x, y):
    """Mean distance from the points of x to the box of y: never more than to their nearest points of y."""
    dimension = U(lines.points.shape[0])
    box = lines.line_box
    total = 0.0
    for i in range(lines.span[x, START], lines.span[x, STOP]):
        square = 0.0
        for k in range(dimension):
            p = lines.points[k, i]
            gap = gap_between(p, p, box[k, y], box[dimension + k, y])
            square += gap * gap
        total += math.sqrt(square)
    return total / length_of(lines, x)


@jit
def chamfer_within(lines, x, y, reach, nearest):
    """Chamfer distance of lines x and y, or infinity once it is beyond ``reach``."""
    if box_distance_squared(lines.line_box, x, y) > reach * reach * SLACK:
        return np.inf
    back = _mean_to_box(lines, x, y)
    if 0.5 * (_mean_to_box(lines, y, x) + back) > reach * SLACK:
        return np.inf
    x0, x1, y0, y1 = lines.span[x, START], lines.span[x, STOP], lines.span[y, START], lines.span[y, STOP]
    means = 0.0
    for a0, a1, b0, b1, rest in ((x0, x1, y0, y1, back), (y0, y1, x0, x1, 0.0)):  # as ``chamfer_of_lines`` adds up
        nearest_squares(lines.points, a0, a1, b0, b1, nearest)
        total = 0.0
        for j in range(b1 - b0):
            total += math.sqrt(nearest[j])
        means += 0.5 * total / (b1 - b0)
        if means + 0.5 * rest > reach * SLACK:
            return np.inf
    return means


@jit
def _square_between(points, i, j):
    square = 0.0
    for k in range(U(points.shape[0])):
        a = points[k, i] - points[k, j]
        square += a * a
    return square


@jit
def _hausdorff(points, x0, x1, y0, y1, limit, nearest):
    """The squared distance that some point has to the nearest of the other line, or infinity once beyond ``limit``.

    Fréchet's distance cannot be less.
    """
    most = 0.0
    for a0, a1, b0, b1 in ((x0, x1, y0, y1), (y0, y1, x0, x1)):
        nearest_squares(points, a0, a1, b0, b1, nearest)
        for j in range(b1 - b0):
            most = max(most, nearest[j])
        if most > limit:
            return np.inf
    return most


@jit
def _walk(points, x0, x1, y0, y1, backward, limit, row):
    """Squared Fréchet distance of two open lines, or infinity if it is beyond ``limit``.

    Only the cells that a walk can reach without a longer leash are visited: in each row those from the first that the
    row before reached.
    """
    m = y1 - y0
    low, high = ZERO, ONE  # the cells of the last row that were reached lie from low up to high
    row[ZERO] = _square_between(points, x0, y1 - ONE if backward else y0)
    if row[ZERO] > limit:
        return np.inf
    for i in range(x0, x1):
        diagonal = left = np.inf
        first, last = m, low
        j = low
        while j < m and (j <= high or left < np.inf):
            above = row[j] if j < high else np.inf
            best = min(min(above, diagonal), left)
            diagonal = above
            left = max(best, _square_between(points, i, y1 - ONE - j if backward else y0 + j))
            if left > limit:
                left = np.inf
            else:
                first, last = min(first, j), j + ONE
            row[j] = left
            j += ONE
        if first == m:
            return np.inf
        low, high = first, last
    return row[m - ONE] if high == m else np.inf


@jit
def _ends_apart(points, x0, x1, y0, y1, backward):
    """The larger squared distance of the two pairs of ends: no walk has a shorter leash."""
    first, last = (y1 - ONE, y0) if backward else (y0, y1 - ONE)
    return max(_square_between(points, x0, first), _square_between(points, x1 - ONE, last))


@jit
def frechet_within(lines, x, y, cyclic, directed, reach, room, row):
    """Discrete Fréchet distance, or infinity once it is beyond ``reach``.

    With ``cyclic`` the minimum over the cyclic shifts of x, as the evaluator of the paper has it.
    """
    points = lines.points
    x0, x1, y0, y1 = lines.span[x, START], lines.span[x, STOP], lines.span[y, START], lines.span[y, STOP]
    limit = reach * reach * SLACK
    if box_distance_squared(lines.line_box, x, y) > limit:
        return np.inf
    n, m = x1 - x0, y1 - y0
    shifts = ONE
    if cyclic:
        shifts = n
        for k in range(U(points.shape[0])):  # x twice, then y
            for i in range(n):
                room[k, i] = room[k, n + i] = points[k, x0 + i]
            for j in range(m):
                room[k, TWO * n + j] = points[k, y0 + j]
        points = room
        x0, y0, y1 = ZERO, TWO * n, TWO * n + m
    best = least = np.inf
    guess = ONE if not directed and runs_against(lines, x, y, cyclic) else ZERO
    for either in range(ONE if directed else TWO):
        backward = (either == ONE) != (
            guess == ONE
        )  # the direction that seems right comes first: its result rules out most of the other
        near, start = np.inf, ZERO
        for s in range(shifts):  # the shift whose ends fit best comes first, for the same reason
            ends = _ends_apart(points, x0 + s, x0 + s + n, y0, y1, backward)
            near, start = (ends, s) if ends < near else (near, start)
        if near > limit:
            continue
        if least == np.inf:
            least = _hausdorff(points, x0, x0 + n, y0, y1, limit, row)
            if least == np.inf:
                return np.inf
        for turn in range(shifts):
            s = start + turn if start + turn < shifts else start + turn - shifts
            if _ends_apart(points, x0 + s, x0 + s + n, y0, y1, backward) <= limit:
                best = min(best, _walk(points, x0 + s, x0 + s + n, y0, y1, backward, limit, row))
                limit = min(limit, best)
                if best <= least:
                    return math.sqrt(best)
    return math.sqrt(best)


@jit
def _longest(lines):
    most = ONE
    for i in range(U(len(lines.span))):
        most = max(most, length_of(lines, i))
    return most


@jit_allocating
def chamfer_pairs(lines, bounds, factor, limit, nearest_only, out):
    """Chamfer distances of all pairs of all groups; infinity beyond ``limit``.

    Group g has the predictions ``bounds[g, 0] .. bounds[g, 1]`` and the truth from there to ``bounds[g, 2]``; its pairs
    lie one after the other in ``out``, prediction by prediction. Distances to a truth count ``factor`` times. With
    ``nearest_only`` a truth that is farther than another one may be infinitely far.
    """
    nearest = np.empty(_longest(lines))
    at = 0
    for g in range(len(bounds)):
        for x in range(U(bounds[g, 0]), U(bounds[g, 1])):
            reach = limit
            for y in range(U(bounds[g, 1]), U(bounds[g, 2])):
                out[at] = factor[y] * chamfer_within(lines, x, y, reach / factor[y], nearest)
                if nearest_only:
                    reach = min(reach, out[at])
                at += 1


@jit_allocating
def frechet_pairs(lines, closed, bounds, factor, directed, limit, out):
    """The same for Fréchet distances, the nearest only; a pair is left out where ``out`` is infinite already."""
    longest = _longest(lines)
    row = np.empty(longest)
    room = np.empty((lines.points.shape[0], 3 * longest))
    at = 0
    for g in range(len(bounds)):
        for x in range(U(bounds[g, 0]), U(bounds[g, 1])):
            reach = limit
            for y in range(U(bounds[g, 1]), U(bounds[g, 2])):
                if out[at] < np.inf:
                    cyclic = closed[x] or closed[y]
                    out[at] = factor[y] * frechet_within(lines, x, y, cyclic, directed, reach / factor[y], room, row)
                    reach = min(reach, out[at])
                at += 1


@jit
def _nearest_truth(bounds, distance, nearest, least):
    """For each prediction the place of its nearest truth, -1 if none is within the limit, and its distance."""
    at = 0
    for g in range(len(bounds)):
        for x in range(bounds[g, 0], bounds[g, 1]):
            nearest[x], least[x] = -1, np.inf
            for y in range(bounds[g, 1], bounds[g, 2]):
                if distance[at] < least[x]:
                    nearest[x], least[x] = y, distance[at]
                at += 1


@jit
def hits_of_groups(bounds, order, distance, thresholds, strict, nearest, least, taken, hits):
    """Which predictions are true positives at each threshold, as bits of ``hits``.

    ``distance`` is as ``chamfer_pairs`` gives it; ``order`` are all instances, those of a group one after the other,
    from high confidence to low. In this order a prediction takes its nearest truth if that is near enough and still
    free; there is no second choice. Among equal confidences it does not matter who comes first: one takes the truth,
    the others do not. ``nearest``, ``least`` and ``taken`` are room to work in, as long as there are instances.
    """
    _nearest_truth(bounds, distance, nearest, least)
    for t in range(len(thresholds)):
        for y in range(len(taken)):
            taken[y] = False
        for g in range(len(bounds)):
            for i in range(bounds[g, 0], bounds[g, 1]):
                x = order[i]
                near = least[x] < thresholds[t] if strict else least[x] <= thresholds[t]
                if nearest[x] >= 0 and near and not taken[nearest[x]]:
                    taken[nearest[x]] = True
                    hits[x] |= 1 << t
