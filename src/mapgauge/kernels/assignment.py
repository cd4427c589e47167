"""The assignment with the largest total saving, by shortest augmenting paths on a small dense matrix.

``scipy.optimize.linear_sum_assignment`` computes the same and is the reference in the tests. It is not used here
because it needs one call from Python per frame and class, holds the GIL, and takes 0.6 s to import. ``benchmarks/``
prints the ratio of the run times.
"""

import numpy as np

from mapgauge.kernels._jit import jit_allocating


@jit_allocating
def assign(saving):
    """The column of each row, or -1, in the one-to-one assignment with the largest total saving.

    Pairs that save nothing are left out. Rows are added one by one, each along the cheapest path of reassignments
    (Hungarian method with potentials ``u`` and ``v`` for rows and columns). With the smaller side as rows this takes
    O(rows^2 columns).
    """
    flip = saving.shape[0] > saving.shape[1]
    rows, columns = (saving.shape[1], saving.shape[0]) if flip else saving.shape
    u, v = np.zeros(rows + 1), np.zeros(columns + 1)
    row_of = np.zeros(columns + 1, np.int64)  # rows and columns count from 1 here; 0 means none
    came_from = np.zeros(columns + 1, np.int64)
    for row in range(1, rows + 1):
        row_of[0] = row
        column = 0
        slack = np.full(columns + 1, np.inf)
        done = np.zeros(columns + 1, np.bool_)
        while row_of[column] != 0:
            done[column] = True
            i = row_of[column]
            delta, following = np.inf, 0
            for j in range(1, columns + 1):
                if not done[j]:
                    cost = -(saving[j - 1, i - 1] if flip else saving[i - 1, j - 1])
                    reduced = cost - u[i] - v[j]
                    if reduced < slack[j]:
                        slack[j], came_from[j] = reduced, column
                    if slack[j] < delta:
                        delta, following = slack[j], j
            for j in range(columns + 1):
                if done[j]:
                    u[row_of[j]] += delta
                    v[j] -= delta
                else:
                    slack[j] -= delta
            column = following
        while column != 0:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    partner = np.full(saving.shape[0], -1)
    for j in range(1, columns + 1):
        if row_of[j] > 0:
            i, k = (j - 1, row_of[j] - 1) if flip else (row_of[j] - 1, j - 1)
            if saving[i, k] > 0.0:
                partner[i] = k
    return partner
