"""Lower bounds of the PLD between a frame and many others, from a raster of distances to the points of the frame.

A point of a line of the other frame is matched, at a cost of at least its distance to the nearest point of the same
class, or unmatched, at a cost of half the cutoff. The raster has a lower bound of the first for each cell.
"""

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import jit, jit_allocating


@jit
def draw_distances(
    points: NDArray[np.float64],
    start: NDArray[np.int64],
    stop: NDArray[np.int64],
    first: int,
    last: int,
    corner: NDArray[np.float64],
    cell: float,
    half: float,
    raster: NDArray[np.float64],
) -> None:
    """Write the distance from each cell to the nearest point of some lines, at most ``half``."""
    raster[:] = half
    reach = int(half / cell) + 1
    for i in range(first, last):
        for q in range(start[i], stop[i]):
            x = (points[0, q] - corner[0]) / cell
            y = (points[1, q] - corner[1]) / cell
            left = int(x)
            low = int(y)
            for a in range(max(left - reach, 0), min(left + reach + 1, raster.shape[0])):
                dx = max(a - x, x - a - 1.0, 0.0) * cell
                for b in range(max(low - reach, 0), min(low + reach + 1, raster.shape[1])):
                    dy = max(b - y, y - b - 1.0, 0.0) * cell
                    distance = np.sqrt(dx * dx + dy * dy)
                    if distance < raster[a, b]:
                        raster[a, b] = distance


@jit
def write_cells(
    points: NDArray[np.float64],
    corner: NDArray[np.float64],
    cell: float,
    width: int,
    height: int,
    cells: NDArray[np.int32],
) -> None:
    """Write the cell of each point. Points outside have the number of cells, where rasters have their largest value."""
    for q in range(points.shape[1]):
        a = np.floor((points[0, q] - corner[0]) / cell)
        b = np.floor((points[1, q] - corner[1]) / cell)
        inside = 0 <= a < width and 0 <= b < height
        if inside:
            cells[q] = int(a) * height + int(b)
        else:
            cells[q] = width * height


@jit_allocating
def bound_distances(lengths, own, rasters, cells, start, stop, others, half, out):
    """Write a lower bound of the normalised PLD from a frame to each of many others.

    ``lengths`` are the numbers of points of the lines of the frame, class by class, and ``own`` has the first line and
    the end of each class. ``rasters`` has a row for each class. ``others`` has the lines of the other frames in the
    same way, ``(frames, classes, 2)``.
    """
    classes = len(own)
    saved = np.empty(16)
    for frame in range(len(others)):
        total = 0.0
        mass = 0.0
        for k in range(classes):
            x_first = own[k, 0]
            x_end = own[k, 1]
            y_first = others[frame, k, 0]
            y_end = others[frame, k, 1]
            x_count = x_end - x_first
            y_count = y_end - y_first
            mass += 0.5 * (x_count + y_count)
            total += 0.5 * (x_count + y_count)  # no line is matched
            if x_count == 0 or y_count == 0:
                continue
            if y_count > len(saved):
                saved = np.empty(2 * y_count)
            for j in range(y_first, y_end):
                cost = 0.0
                for q in range(start[j], stop[j]):
                    cost += rasters[k, cells[q]]
                m = stop[j] - start[j]
                most = 0.0
                for i in range(x_first, x_end):
                    n = lengths[i]
                    least = cost + max(n - m, 0) * half  # the other points of the longer line are unmatched
                    least = max(least, (m - n) * half)
                    distance = 2.0 * least / (half * (n + m) + least)
                    most = max(most, 1.0 - distance)
                saved[j - y_first] = most  # by a match of this line
            if y_count > x_count:  # some lines cannot be matched
                saved[:y_count].sort()
            for j in range(max(y_count - x_count, 0), y_count):
                total -= saved[j]
        if mass > 0.0:
            out[frame] = 2.0 * total / (mass + total)
        else:
            out[frame] = 0.0
