"""Pairs by their first member, as offsets and indices."""

import numpy as np

from mapgauge.kernels._jit import jit_allocating


@jit_allocating
def pairs_of(pair_a, count):
    """The pairs of each node of a: node i is in the pairs ``pairs[of[i]:of[i + 1]]``, which rise."""
    of = np.zeros(count + 1, np.int64)
    for k in range(len(pair_a)):
        of[pair_a[k] + 1] += 1
    of = np.cumsum(of)
    at = of.copy()
    pairs = np.empty(len(pair_a), np.int64)
    for k in range(len(pair_a)):
        pairs[at[pair_a[k]]] = k
        at[pair_a[k]] += 1
    return of, pairs
