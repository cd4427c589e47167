"""Chamfer distance: the mean nearest-point distance in both directions.

Average precision asks two things about a prediction: which true line is nearest, and whether it is near enough. A
distance beyond the largest threshold is therefore not needed. Bounds rule out most pairs, and the distances of the
remaining pairs are computed exactly.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, THREE, TWO, ZERO, U, jit, jit_allocating, least
from mapgauge.kernels.interpreting import interpreted_while_small
from mapgauge.kernels.lines import (
    BLOCK,
    FIRST_BLOCK,
    ROUNDING,
    START,
    STOP,
    blocks_in,
    box_distance_squared,
    gap_between,
    length_of,
    longest_of,
    square_between,
)


@jit
def nearest_squares(points, x0, x1, y0, y1, nearest):
    """Write the squared distances to the nearest point: from the points of y to x, and from the points of x to y.

    The two rows of ``nearest`` get them. The inner loop runs along y, so it vectorises. Two points of x at a time save
    loads and stores.
    """
    n = x1 - x0
    m = y1 - y0
    dimension = U(points.shape[0])
    for j in range(m):
        nearest[ZERO, j] = np.inf
    if dimension == TWO:
        for i in range(ZERO, n, TWO):
            k = min(i + ONE, n - ONE)
            u = points[ZERO, x0 + i]
            v = points[ONE, x0 + i]
            s = points[ZERO, x0 + k]
            t = points[ONE, x0 + k]
            to_y = other_to_y = np.inf
            for j in range(m):
                a = u - points[ZERO, y0 + j]
                b = v - points[ONE, y0 + j]
                c = s - points[ZERO, y0 + j]
                d = t - points[ONE, y0 + j]
                first = a * a + b * b
                second = c * c + d * d
                to_y = least(to_y, first)
                other_to_y = least(other_to_y, second)
                nearest[ZERO, j] = least(nearest[ZERO, j], least(first, second))
            nearest[ONE, i] = to_y
            nearest[ONE, k] = other_to_y
        return
    if dimension == THREE:
        for i in range(n):
            u = points[ZERO, x0 + i]
            v = points[ONE, x0 + i]
            w = points[TWO, x0 + i]
            to_y = np.inf
            for j in range(m):
                a = u - points[ZERO, y0 + j]
                b = v - points[ONE, y0 + j]
                c = w - points[TWO, y0 + j]
                square = a * a + b * b + c * c
                to_y = least(to_y, square)
                nearest[ZERO, j] = least(nearest[ZERO, j], square)
            nearest[ONE, i] = to_y
        return
    for i in range(n):
        nearest[ONE, i] = np.inf
        for j in range(m):
            square = square_between(points, x0 + i, y0 + j)
            nearest[ZERO, j] = least(nearest[ZERO, j], square)
            nearest[ONE, i] = least(nearest[ONE, i], square)


@jit
def _mean_to_box(lines, x, y):
    """Mean distance from the blocks of x to the box of y, a lower bound of the mean nearest-point distance to y."""
    box = lines.block_box
    other = lines.line_box
    dimension = U(lines.points.shape[0])
    n = length_of(lines, x)
    first = lines.span[x, FIRST_BLOCK]
    total = 0.0
    for b in range(blocks_in(n)):
        square = 0.0
        for k in range(dimension):
            low = box[k, first + b]
            high = box[dimension + k, first + b]
            gap = gap_between(low, high, other[k, y], other[dimension + k, y])
            square += gap * gap
        total += math.sqrt(square) * min(BLOCK, n - b * BLOCK)
    return total / n


@jit
def chamfer_within(lines, x, y, reach, nearest):
    """Chamfer distance of lines x and y, or infinity if it exceeds ``reach``. Both lines must have points.

    ``nearest`` is working memory: two rows, as long as the longer line.
    """
    if box_distance_squared(lines.line_box, x, y) > reach * reach * ROUNDING:
        return np.inf
    back = _mean_to_box(lines, x, y)
    if 0.5 * (_mean_to_box(lines, y, x) + back) > reach * ROUNDING:
        return np.inf
    x0 = lines.span[x, START]
    x1 = lines.span[x, STOP]
    y0 = lines.span[y, START]
    y1 = lines.span[y, STOP]
    nearest_squares(lines.points, x0, x1, y0, y1, nearest)
    means = 0.0
    for row, count, rest in ((ZERO, y1 - y0, back), (ONE, x1 - x0, 0.0)):
        total = 0.0
        for j in range(count):  # a loop by itself, because it vectorises
            nearest[row, j] = math.sqrt(nearest[row, j])
        for j in range(count):
            total += nearest[row, j]
        means += 0.5 * total / count
        if means + 0.5 * rest > reach * ROUNDING:
            return np.inf
    return means


@interpreted_while_small()
@jit_allocating
def chamfer_of_lines(lines, x, y):
    """Chamfer distance of lines x and y. Both lines must have points."""
    return chamfer_within(lines, x, y, np.inf, np.empty((2, max(length_of(lines, x), length_of(lines, y)))))


@jit_allocating
def chamfer_pairs(lines, bounds, factor, limit, nearest_only, out):
    """Chamfer distances of all pairs of a prediction and a true line in each group; infinity beyond ``limit``.

    A group is one class in one frame. Group g has the predictions ``bounds[g, 0] .. bounds[g, 1]`` and the true lines
    ``bounds[g, 1] .. bounds[g, 2]``. Its pairs are consecutive in ``out``, prediction by prediction. Each distance to
    true line y is multiplied by ``factor[y]``. With ``nearest_only``, infinity may also be written for a true line that
    is not the nearest.
    """
    nearest = np.empty((2, longest_of(lines)))
    at = 0
    for g in range(len(bounds)):
        for x in range(U(bounds[g, 0]), U(bounds[g, 1])):
            reach = limit
            for y in range(U(bounds[g, 1]), U(bounds[g, 2])):
                out[at] = factor[y] * chamfer_within(lines, x, y, reach / factor[y], nearest)
                if nearest_only:
                    reach = min(reach, out[at])
                at += 1
