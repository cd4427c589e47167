"""Optimal assignments of the k most confident predictions, for all k at once, and the average precision of each."""

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import jit, jit_allocating


@jit
def _leads_through(came_from, j, k):
    """Whether the path that ends at column ``j`` goes through column ``k``."""
    while j >= 0:
        if j == k:
            return True
        j = came_from[j]
    return False


@jit
def _best_path(saving, row, owner, best, came_from):
    """The last column of the best path by which a row is added to an optimal assignment; -1 if none saves anything.

    The row takes a column, the owner of which takes another one, and so on, until a column is free or an owner is left
    without one. The best of these paths gives an optimal assignment of all rows so far. ``best`` is the growth along
    the best path to each column, found by relaxation. An optimal assignment has no cycle that improves it, so the best
    paths are simple. Rounding is no exception: a path never goes through a column twice.
    """
    columns = len(owner)
    for j in range(columns):
        held = 0.0
        if owner[j] >= 0:
            held = saving[owner[j], j]
        if saving[row, j] > 0.0:
            best[j] = saving[row, j] - held
        else:
            best[j] = -np.inf
        came_from[j] = -1
    for _ in range(columns):
        settled = True
        for j in range(columns):
            i = owner[j]
            if i < 0 or best[j] == -np.inf:
                continue
            for k in range(columns):
                if saving[i, k] > 0.0 and k != j:
                    held = 0.0
                    if owner[k] >= 0:
                        held = saving[owner[k], k]
                    through = best[j] + saving[i, k] - held
                    if through > best[k] and not _leads_through(came_from, j, k):
                        best[k] = through
                        came_from[k] = j
                        settled = False
        if settled:
            break
    last = 0
    for j in range(columns):
        if best[j] > best[last]:
            last = j
    if columns > 0 and best[last] > 0.0:
        return last
    return -1


@jit_allocating
def assign_by_confidence(bounds, order, weight, distance, power, level, growth, hits, assigned):
    """Assign the predictions of each group one after the other.

    After each prediction, the assignment of all predictions so far is optimal: PLD to the power of ``power`` is the
    mass of these predictions and the truth less the sum of ``growth`` so far.

    ``order[k]`` is the k-th instance to add. ``distance`` is normalised SOSPA of all pairs of each group, prediction by
    prediction. ``hits`` counts how many more pairs are within ``level`` after each prediction, and ``assigned`` is its
    distance in the assignment of all, NaN for an unassigned one.
    """
    start = 0
    for g in range(len(bounds)):
        first, split, end = bounds[g]
        rows = split - first
        columns = end - split
        saving = np.empty((rows, columns))
        for i in range(rows):
            for j in range(columns):
                d = distance[start + i * columns + j]
                saving[i, j] = min(weight[first + i], weight[split + j]) * (1.0 - (d if power == 1.0 else d**power))
        owner = np.full(columns, -1)
        best = np.empty(columns)
        came_from = np.empty(columns, np.int64)
        before = 0
        for k in range(first, split):
            row = order[k] - first
            last = _best_path(saving, row, owner, best, came_from)
            if last >= 0:
                growth[first + row] = best[last]
            else:
                growth[first + row] = 0.0
            while last >= 0:  # along the path, each column goes to the owner of the one before
                j = last
                last = came_from[last]
                if last >= 0:
                    owner[j] = owner[last]
                else:
                    owner[j] = row
            now = 0
            for j in range(columns):
                if owner[j] >= 0 and distance[start + owner[j] * columns + j] <= level:
                    now += 1
            hits[first + row] = now - before
            before = now
            assigned[first + row] = np.nan
        for j in range(columns):
            if owner[j] >= 0:
                assigned[first + owner[j]] = distance[start + owner[j] * columns + j]
        start += rows * columns


@jit_allocating
def areas_so_far(recall: NDArray[np.float64], precision: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Write the area under the monotone curve of the first k points, for all k.

    A new point raises the precision of all points before it that have a lower one. Steps of equal precision are kept
    together, so each point is merged once.
    """
    heights = np.empty(len(recall))
    widths = np.empty(len(recall))
    count = 0
    area = 0.0
    before = 0.0
    for k in range(len(recall)):
        width = recall[k] - before
        before = recall[k]
        while count > 0 and heights[count - 1] <= precision[k]:
            count -= 1
            area -= heights[count] * widths[count]
            width += widths[count]
        heights[count] = precision[k]
        widths[count] = width
        count += 1
        area += precision[k] * width
        out[k] = area
