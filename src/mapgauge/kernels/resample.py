"""Resampling at equal arc lengths: count the samples of all lines, then write them.

Lines are read as ``(points, dimension)``, as the rest of the package stores them, and written as
``(dimension, points)``, as other kernels take them.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, U, jit, jit_allocating
from mapgauge.kernels.interpreting import interpreted_while_small

SLACK = 1e-9  # of a spacing: a sample this close before the end is the end (the length is a multiple up to rounding)


@jit
def _step(coords, i):
    """Distance from point ``i`` to the next."""
    square = 0.0
    for k in range(U(coords.shape[1])):
        a = coords[i + ONE, k] - coords[i, k]
        square += a * a
    return math.sqrt(square)


@jit
def length_along(coords, start, stop):
    """Arc length of points ``start .. stop``."""
    total = 0.0
    for i in range(start + ONE, stop):
        total += _step(coords, i - ONE)
    return total


@jit
def samples_before_end(length, spacing):
    """Number of arc lengths 0, s, 2s, ... that lie before the end; 1 for a line without length."""
    return max(U(math.ceil(length / spacing - SLACK)), ONE)


@jit
def even_pieces(length, spacing):
    """Number of equal pieces of about a spacing. The slack lets a line and its reversal have the same number."""
    return max(U(math.floor(length / spacing + 0.5 + SLACK)), ONE)


@jit
def _place(coords, start, stop, begin, samples, spacing, out):
    """Write the points at arc lengths ``0, spacing, 2 spacing, ...`` to ``out[:, begin:begin + samples]``."""
    i = start
    walked = 0.0
    step = 0.0
    if start + ONE < stop:
        step = _step(coords, start)
    for s in range(samples):
        target = s * spacing
        while walked + step < target and i + TWO < stop:
            walked += step
            i += ONE
            step = _step(coords, i)
        share = 0.0
        if step > 0.0:
            share = min((target - walked) / step, 1.0)
        if i + ONE < stop:
            following = i + ONE
        else:
            following = i
        for k in range(U(coords.shape[1])):
            p = coords[i, k]
            q = coords[following, k]
            out[k, begin + s] = p + (q - p) * share


@interpreted_while_small(20_000)
@jit_allocating
def lengths_of(coords, offsets):
    """Arc length of every line."""
    out = np.zeros(len(offsets) - 1)
    for i in range(len(out)):
        out[i] = length_along(coords, U(offsets[i]), U(offsets[i + 1]))
    return out


@jit
def _copy(coords, start, stop, begin, out):
    for k in range(U(coords.shape[1])):
        for i in range(stop - start):
            out[k, begin + i] = coords[start + i, k]


@jit
def _ends_meet(out, begin, end, tolerance):
    """Whether the ends of a line are at most a distance apart; equal if it is negative. Two points are no loop."""
    if end - begin <= TWO:
        return False
    square = 0.0
    equal = True
    for k in range(U(out.shape[0])):
        a = out[k, begin] - out[k, end - ONE]
        square += a * a
        equal = equal and out[k, begin] == out[k, end - ONE]
    if tolerance < 0.0:
        return equal
    return math.sqrt(square) <= tolerance


@jit
def _resample(coords, start, stop, begin, end, step, out):
    """Write the samples of a line. The last one is exactly its last point."""
    _place(coords, start, stop, begin, end - begin - ONE, step, out)
    for k in range(U(coords.shape[1])):
        out[k, end - ONE] = coords[stop - ONE, k]


def _samples(x, x_offsets, y, y_offsets, order, lengths, kept, spacing, even, count, tolerance):
    """Return about how many points ``resample_lines`` reads and writes."""
    return len(x) + len(y) + (np.maximum(lengths / spacing, 1).sum() if spacing > 0 else count * len(lengths))


@interpreted_while_small(10_000, _samples)
@jit_allocating
def resample_lines(x, x_offsets, y, y_offsets, order, lengths, kept, spacing, even, count, tolerance):
    """Resample the lines of two sides, and write them in a given order.

    ``order`` has the indices of all lines: the first side comes before the second side. Lines that are ``kept`` are
    copied. There are ``count`` samples on a line; if it is 0, one at each ``spacing``, or, if ``even``, at the ends of
    equal pieces of about a spacing. ``tolerance`` is how far apart the ends of a closed line may be; if negative, they
    must be equal. Return the points, ``(dimension, points)``, their offsets, and whether the ends of each line meet.
    """
    first = len(x_offsets) - 1
    offsets = np.zeros(len(order) + 1, np.int64)
    closed = np.empty(len(order), np.bool_)
    for k in range(len(order)):
        i = order[k]
        if i < first:
            size = x_offsets[i + 1] - x_offsets[i]
        else:
            size = y_offsets[i - first + 1] - y_offsets[i - first]
        if size > 0 and not kept[i]:
            if count > 0:
                size = count
            elif even:
                size = 1 + np.int64(even_pieces(lengths[i], spacing))
            else:
                size = 1 + np.int64(samples_before_end(lengths[i], spacing))
        offsets[k + 1] = offsets[k] + size
    out = np.empty((x.shape[1] if len(x) > 0 or len(y) == 0 else y.shape[1], offsets[-1]))
    for k in range(len(order)):
        i = order[k]
        begin = U(offsets[k])
        end = U(offsets[k + 1])
        if i < first:
            j = i
            coords, bounds = (x, x_offsets)
        else:
            j = i - first
            coords, bounds = (y, y_offsets)
        start = U(bounds[j])
        stop = U(bounds[j + 1])
        if kept[i]:
            _copy(coords, start, stop, begin, out)
        elif begin < end:
            if count > 0 or even:
                step = lengths[i] / (end - begin - ONE)
            else:
                step = spacing
            _resample(coords, start, stop, begin, end, step, out)
        closed[k] = _ends_meet(out, begin, end, tolerance)
    return out, offsets, closed
