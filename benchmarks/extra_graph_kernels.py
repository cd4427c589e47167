"""A kernel that only benchmarks and tests call: the lengths of all shortest paths."""

import numba
import numpy as np

from mapgauge.features.graph_scores.graph_kernels import walk


@numba.njit(error_model="numpy")
def all_distances(first, target, length, starts):
    """The length of the shortest path from each of some nodes to every node; infinite if there is none."""
    count = len(first) - 1
    out = np.full((len(starts), count), np.inf)
    found, queue, queued = np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(count, np.bool_)
    for k in range(len(starts)):
        walk(first, target, length, starts[k], np.inf, out[k], found, queue, queued)
    return out
