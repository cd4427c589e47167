"""Chamfer distance: the mean nearest-point distance in both directions.

Average precision asks two things about a prediction: which true line is nearest, and whether it is near enough. A
distance beyond the largest threshold is therefore not needed. Bounds rule out most pairs, and the distances of the
remaining pairs are computed exactly.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, THREE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.lines import ROUNDING, START, STOP, box_distance_squared, gap_between, length_of, longest_of


@jit
def nearest_squares(points, x0, x1, y0, y1, nearest):
    """Write the squared distance from each point of y to its nearest point of x.

    The inner loop runs along y, so it vectorises.
    """
    dimension = U(points.shape[0])
    for j in range(y1 - y0):
        nearest[j] = np.inf
    if dimension == TWO:
        for i in range(x0, x1):
            u, v = points[ZERO, i], points[ONE, i]
            for j in range(y1 - y0):
                a, b = u - points[ZERO, y0 + j], v - points[ONE, y0 + j]
                square = a * a + b * b
                nearest[j] = square if square < nearest[j] else nearest[j]
        return
    if dimension == THREE:
        for i in range(x0, x1):
            u, v, w = points[ZERO, i], points[ONE, i], points[TWO, i]
            for j in range(y1 - y0):
                a, b, c = u - points[ZERO, y0 + j], v - points[ONE, y0 + j], w - points[TWO, y0 + j]
                square = a * a + b * b + c * c
                nearest[j] = square if square < nearest[j] else nearest[j]
        return
    for i in range(x0, x1):
        for j in range(y1 - y0):
            square = 0.0
            for k in range(dimension):
                a = points[k, i] - points[k, y0 + j]
                square += a * a
            nearest[j] = min(nearest[j], square)


@jit
def _mean_to_box(lines, x, y):
    """Mean distance from the points of x to the box of y, a lower bound of their mean nearest-point distance to y."""
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
    """Chamfer distance of lines x and y, or infinity if it exceeds ``reach``. Both lines must have points.

    ``nearest`` is working memory, as long as the longer line.
    """
    if box_distance_squared(lines.line_box, x, y) > reach * reach * ROUNDING:
        return np.inf
    back = _mean_to_box(lines, x, y)
    if 0.5 * (_mean_to_box(lines, y, x) + back) > reach * ROUNDING:
        return np.inf
    x0, x1, y0, y1 = lines.span[x, START], lines.span[x, STOP], lines.span[y, START], lines.span[y, STOP]
    means = 0.0
    for a0, a1, b0, b1, rest in ((x0, x1, y0, y1, back), (y0, y1, x0, x1, 0.0)):
        nearest_squares(lines.points, a0, a1, b0, b1, nearest)
        total = 0.0
        for j in range(b1 - b0):
            total += math.sqrt(nearest[j])
        means += 0.5 * total / (b1 - b0)
        if means + 0.5 * rest > reach * ROUNDING:
            return np.inf
    return means


@jit_allocating
def chamfer_of_lines(lines, x, y):
    """Chamfer distance of lines x and y. Both lines must have points."""
    return chamfer_within(lines, x, y, np.inf, np.empty(max(length_of(lines, x), length_of(lines, y))))


@jit_allocating
def chamfer_pairs(lines, bounds, factor, limit, nearest_only, out):
    """Chamfer distances of all pairs of a prediction and a true line in each group; infinity beyond ``limit``.

    A group is one class in one frame. Group g has the predictions ``bounds[g, 0] .. bounds[g, 1]`` and the true lines
    ``bounds[g, 1] .. bounds[g, 2]``. Its pairs are consecutive in ``out``, prediction by prediction. Each distance to
    true line y is multiplied by ``factor[y]``. With ``nearest_only``, infinity may also be written for a true line that
    is not the nearest.
    """
    nearest = np.empty(longest_of(lines))
    at = 0
    for g in range(len(bounds)):
        for x in range(U(bounds[g, 0]), U(bounds[g, 1])):
            reach = limit
            for y in range(U(bounds[g, 1]), U(bounds[g, 2])):
                out[at] = factor[y] * chamfer_within(lines, x, y, reach / factor[y], nearest)
                if nearest_only:
                    reach = min(reach, out[at])
                at += 1
