"""Resampling at equal arc lengths: count the samples of all lines, then write them.

Coordinates are ``(points, dimension)`` here, as the rest of the package stores them, and not ``(dimension, points)`` as
in ``Lines``. A sample touches all coordinates of two points, so nothing would be gained from transposing.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating

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
def _place(coords, start, stop, begin, samples, spacing, out):
    """Write the points at arc lengths ``0, spacing, 2 spacing, ...`` to ``out[begin:begin + samples]``."""
    i = start
    walked, step = 0.0, 0.0
    if start + ONE < stop:
        step = _step(coords, start)
    for s in range(samples):
        target = s * spacing
        while walked + step < target and i + TWO < stop:
            walked += step
            i += ONE
            step = _step(coords, i)
        share = min((target - walked) / step, 1.0) if step > 0.0 else 0.0
        following = i + ONE if i + ONE < stop else i
        for k in range(U(coords.shape[1])):
            p, q = coords[i, k], coords[following, k]
            out[begin + s, k] = p + (q - p) * share


@jit_allocating
def lengths_of(coords, offsets):
    """Arc length of every line."""
    out = np.zeros(len(offsets) - 1)
    for i in range(len(out)):
        out[i] = length_along(coords, U(offsets[i]), U(offsets[i + 1]))
    return out


@jit_allocating
def resample_lines(coords, offsets, lengths, spacing, count):
    """Resample every line at equal ``spacing``, or to ``count`` points if that is positive. Empty lines stay empty.

    ``coords`` is ``(points, dimension)``. Returns the new points in the same form, and their offsets. The last sample
    of a line is exactly its last point.
    """
    lines = len(lengths)
    out_offsets = np.zeros(lines + 1, np.int64)
    for i in range(lines):
        samples = count if count > 0 else 1 + np.int64(samples_before_end(lengths[i], spacing))
        out_offsets[i + 1] = out_offsets[i] + (samples if offsets[i] < offsets[i + 1] else 0)
    out = np.empty((out_offsets[lines], coords.shape[1]))
    for i in range(lines):
        start, stop, begin = U(offsets[i]), U(offsets[i + 1]), U(out_offsets[i])
        samples = U(out_offsets[i + 1]) - begin
        if samples > ZERO:
            step = lengths[i] / (count - 1) if count > 0 else spacing
            _place(coords, start, stop, begin, samples - ONE, step, out)
            for k in range(U(coords.shape[1])):
                out[begin + samples - ONE, k] = coords[stop - ONE, k]
    return out, out_offsets
