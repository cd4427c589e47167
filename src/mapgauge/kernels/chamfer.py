"""Chamfer distance: mean nearest-point distances, both ways."""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating
from mapgauge.kernels.lines import START, STOP


@jit
def nearest_squares(points, x0, x1, y0, y1, nearest):
    """Squared distance from each point of y to its nearest in x. The inner loop runs along y, so it vectorises."""
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
    for i in range(x0, x1):
        for j in range(y1 - y0):
            square = 0.0
            for k in range(dimension):
                a = points[k, i] - points[k, y0 + j]
                square += a * a
            nearest[j] = min(nearest[j], square)


@jit_allocating
def chamfer_of_lines(lines, x, y):
    """Mean of the two directed mean nearest-point distances between lines x and y, both with points."""
    x0, x1, y0, y1 = lines.span[x, START], lines.span[x, STOP], lines.span[y, START], lines.span[y, STOP]
    nearest = np.empty(max(x1 - x0, y1 - y0))
    means = 0.0
    for a0, a1, b0, b1 in ((x0, x1, y0, y1), (y0, y1, x0, x1)):
        nearest_squares(lines.points, a0, a1, b0, b1, nearest)
        total = 0.0
        for j in range(b1 - b0):
            total += math.sqrt(nearest[j])
        means += 0.5 * total / (b1 - b0)
    return means
