"""Polylines in the form that kernels use: one row per coordinate, and boxes around every few points.

Boxes have three sizes: around ``BLOCK`` consecutive points, around ``GROUP`` consecutive blocks, and around each line.
If two boxes are at least a cutoff apart, no point of one is close to any point of the other. Whole rectangles of the
dynamic programme are then skipped without looking at a point. Skipping is exact, not approximate.

An array of boxes has ``2 * dimension`` rows: the lowest coordinates, then the highest coordinates.

A survey of lines: the box around each, and its repeated points, in one pass over all coordinates.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import ONE, THREE, TWO, ZERO, U, jit, jit_allocating, least, most
from mapgauge.kernels.interpreting import interpreted_while_small

BLOCK = U(4)  # points; small enough that a 1.5 m cutoff at 0.5 m spacing leaves about 12 columns a row
GROUP = U(8)  # blocks

ROUNDING = 1.0 + 1e-12  # a lower bound rules a pair out only if it exceeds the limit by more than rounding

START, STOP, FIRST_BLOCK, FIRST_GROUP = ZERO, ONE, TWO, THREE  # columns of ``span``


class Lines(NamedTuple):
    """Many polylines and their boxes. Line ``i`` is ``points[:, span[i, START]:span[i, STOP]]``."""

    points: NDArray[np.float64]  # (dimension, points)
    span: NDArray[np.uint64]  # (lines, 4)
    block_box: NDArray[np.float64]  # (2 * dimension, blocks)
    group_box: NDArray[np.float64]  # (2 * dimension, groups)
    line_box: NDArray[np.float64]  # (2 * dimension, lines)


@jit
def blocks_in(points):
    """Number of blocks that hold this many points."""
    return (points + BLOCK - ONE) // BLOCK


@jit
def groups_in(blocks):
    """Number of groups that hold this many blocks."""
    return (blocks + GROUP - ONE) // GROUP


@jit
def length_of(lines, i):
    """Number of points of line ``i``."""
    return lines.span[i, STOP] - lines.span[i, START]


@jit
def _box_points(points, start, stop, box, first):
    """Write the boxes around every ``BLOCK`` consecutive points."""
    dimension = U(points.shape[0])
    full = (stop - start) // BLOCK
    for k in range(dimension):
        for b in range(full):
            s = start + b * BLOCK
            p, q, r, t = points[k, s], points[k, s + ONE], points[k, s + TWO], points[k, s + THREE]
            box[k, first + b] = least(least(p, q), least(r, t))
            box[dimension + k, first + b] = most(most(p, q), most(r, t))
        s = start + full * BLOCK
        if s < stop:
            lowest = highest = points[k, s]
            for i in range(s + ONE, stop):
                lowest = least(points[k, i], lowest)
                highest = most(points[k, i], highest)
            box[k, first + full] = lowest
            box[dimension + k, first + full] = highest


@jit
def _box_boxes(box, first, count, size, outer, outer_first):
    """Write the boxes around every ``size`` consecutive boxes."""
    dimension = U(box.shape[0]) // TWO
    for k in range(dimension):
        at = outer_first
        for s in range(first, first + count, size):
            lowest, highest = box[k, s], box[dimension + k, s]
            for b in range(s + ONE, min(s + size, first + count)):
                lowest = least(box[k, b], lowest)
                highest = most(box[dimension + k, b], highest)
            outer[k, at] = lowest
            outer[dimension + k, at] = highest
            at += ONE


@interpreted_while_small(5_000)
@jit_allocating
def index_lines(points, start, stop):
    """Build ``Lines`` from points ``(dimension, points)`` and the start and stop of each line."""
    rows, count = 2 * points.shape[0], U(len(start))
    span = np.empty((count, 4), np.uint64)
    blocks = groups = ZERO
    for i in range(count):
        span[i, START], span[i, STOP], span[i, FIRST_BLOCK], span[i, FIRST_GROUP] = start[i], stop[i], blocks, groups
        blocks += blocks_in(stop[i] - start[i])
        groups += groups_in(blocks_in(stop[i] - start[i]))
    block_box, group_box = np.empty((rows, blocks)), np.empty((rows, groups))
    line_box = np.empty((rows, count))
    for i in range(count):
        blocks = blocks_in(stop[i] - start[i])
        groups = groups_in(blocks)
        _box_points(points, start[i], stop[i], block_box, span[i, FIRST_BLOCK])
        _box_boxes(block_box, span[i, FIRST_BLOCK], blocks, GROUP, group_box, span[i, FIRST_GROUP])
        if groups == ZERO:  # an empty line has an empty box, infinitely far from everything
            line_box[: rows // 2, i], line_box[rows // 2 :, i] = np.inf, -np.inf
        else:
            _box_boxes(group_box, span[i, FIRST_GROUP], groups, groups, line_box, i)
    return Lines(points, span, block_box, group_box, line_box)


@jit
def gap_between(low, high, other_low, other_high):
    """Distance between two intervals; 0 if they overlap."""
    return most(most(other_low - high, low - other_high), 0.0)


@jit
def square_between_boxes(box, a, other, b):
    """Squared distance between box ``a`` and box ``b`` of another array; 0 if they overlap."""
    dimension = U(box.shape[0]) // TWO
    total = 0.0
    for k in range(dimension):
        gap = gap_between(box[k, a], box[dimension + k, a], other[k, b], other[dimension + k, b])
        total += gap * gap
    return total


@jit
def box_distance_squared(box, a, b):
    """Squared distance between boxes ``a`` and ``b``; 0 if they overlap."""
    return square_between_boxes(box, a, box, b)


@jit
def are_near(lines, x, y, cutoff):
    """Whether the boxes of lines ``x`` and ``y`` are closer than the cutoff. If not, their SOSPA is saturated."""
    return box_distance_squared(lines.line_box, x, y) < cutoff * cutoff


@jit
def longest_of(lines):
    """Number of points of the longest line; at least 1."""
    most = ONE
    for i in range(U(len(lines.span))):
        most = max(most, length_of(lines, i))
    return most


@jit
def square_between(points, i, j):
    """Squared distance between points ``i`` and ``j``."""
    square = 0.0
    for k in range(U(points.shape[0])):
        a = points[k, i] - points[k, j]
        square += a * a
    return square


@jit
def runs_against(lines, x, y, cyclic):
    """Guess whether y runs against x, from the ends of open lines or the signed areas of closed lines."""
    p = lines.points
    x0, x1, y0, y1 = lines.span[x, START], lines.span[x, STOP], lines.span[y, START], lines.span[y, STOP]
    agreement = 0.0
    if not cyclic:
        for k in range(U(p.shape[0])):
            agreement += (p[k, x1 - ONE] - p[k, x0]) * (p[k, y1 - ONE] - p[k, y0])
    elif p.shape[0] > 1:
        agreement = _area(p, x0, x1) * _area(p, y0, y1)
    return agreement < 0.0


@jit
def _area(p, begin, end):
    """Twice the signed area in the first two coordinates, relative to the first point."""
    total = 0.0
    u, v = p[ZERO, begin], p[ONE, begin]
    for i in range(begin + ONE, end - ONE):
        total += (p[ZERO, i] - u) * (p[ONE, i + ONE] - v) - (p[ZERO, i + ONE] - u) * (p[ONE, i] - v)
    return total


@jit_allocating
def survey_lines(coords, offsets):
    """Return the lowest and the highest coordinates of each line, and how many of its points equal the previous one.

    ``coords`` is ``(points, dimension)``. A line without points has the lowest coordinates infinity, and the highest
    minus infinity.
    """
    lines, dimension = len(offsets) - 1, U(coords.shape[1])
    low, high = np.full((lines, coords.shape[1]), np.inf), np.full((lines, coords.shape[1]), -np.inf)
    repeats = np.zeros(lines, np.int64)
    for i in range(U(lines)):
        start, stop = U(offsets[i]), U(offsets[i + ONE])
        for k in range(dimension):
            lowest, highest = np.inf, -np.inf
            for p in range(start, stop):
                value = coords[p, k]
                lowest = value if value < lowest else lowest
                highest = value if value > highest else highest
            low[i, k], high[i, k] = lowest, highest
        for p in range(start + ONE, stop):
            same = True
            for k in range(dimension):
                same &= coords[p, k] == coords[p - ONE, k]
            repeats[i] += same
    return low, high, repeats
