"""A survey of lines: the box around each, and its repeated points, in one pass over all coordinates."""

import numpy as np

from mapgauge.kernels._jit import ONE, U, jit_allocating


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
