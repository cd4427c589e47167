"""The assignment with the largest total saving, by shortest augmenting paths on a small dense matrix.

``scipy.optimize.linear_sum_assignment`` computes the same and is the reference in the tests. It is not used here
because it needs one call from Python per frame and class, holds the GIL, and takes 0.6 s to import. ``benchmarks/``
prints the ratio of the run times.
"""

import numpy as np

from mapgauge.kernels._jit import jit_allocating


@jit_allocating
def cheapest_columns(cost):
    """The column of each row in the assignment of all rows with the smallest total cost, and the work it took.

    There must be at least as many columns as rows. Rows are added one by one, each along the cheapest path of
    reassignments to a free column (Hungarian method with potentials ``u`` and ``v`` for rows and columns). This takes
    O(rows^2 columns) at worst. If all costs are at least 0, the rounding error of the total is relative to the total
    and not to the largest cost, because no path is longer than the total. The work is the number of costs looked at.
    """
    rows, columns = cost.shape
    u = np.zeros(rows)
    v = np.zeros(columns)
    row_of = np.full(columns, -1)
    column_of = np.full(rows, -1)
    length = np.empty(columns)
    came_from = np.zeros(columns, np.int64)
    order = np.empty(columns, np.int64)  # columns without a final path first, then the others
    work = 0
    for row in range(rows):
        for j in range(columns):
            length[j] = np.inf
            order[j] = j
        left = columns
        i = row
        walked = 0.0
        free = -1
        while free < 0:
            work += left
            shortest = np.inf
            nearest = 0
            for k in range(left):
                j = order[k]
                through = walked + (cost[i, j] - u[i] - v[j])
                if through < length[j]:
                    length[j] = through
                    came_from[j] = i
                # Among equally near columns a free one ends the search. Otherwise ties would make it visit all of them.
                if length[j] < shortest or (length[j] == shortest and row_of[j] < 0):
                    shortest = length[j]
                    nearest = k
            walked = shortest
            left -= 1
            j = order[nearest]
            order[nearest] = order[left]
            order[left] = j
            if row_of[j] < 0:
                free = j
            i = row_of[j]
        u[row] += walked
        for k in range(left, columns):
            j = order[k]
            v[j] -= walked - length[j]
            if row_of[j] >= 0:
                u[row_of[j]] += walked - length[j]
        j = free
        while j >= 0:
            i = came_from[j]
            row_of[j] = i
            column_of[i], j = j, column_of[i]
            if i == row:
                break
    return column_of, work


@jit_allocating
def assign(saving):
    """The column of each row, or -1, in the one-to-one assignment with the largest total saving, and the work it took.

    Pairs that save nothing are left out.
    """
    flip = saving.shape[0] > saving.shape[1]
    cost = np.empty((saving.shape[1], saving.shape[0]) if flip else saving.shape)
    for i in range(saving.shape[0]):
        for j in range(saving.shape[1]):
            if flip:
                cost[j, i] = -saving[i, j]
            else:
                cost[i, j] = -saving[i, j]
    column_of, work = cheapest_columns(cost)
    partner = np.full(saving.shape[0], -1)
    for row in range(len(column_of)):
        if cost[row, column_of[row]] < 0.0:
            if flip:
                partner[column_of[row]] = row
            else:
                partner[row] = column_of[row]
    return partner, work


def cheapest_pairs(cost):
    """The rows and columns of the one-to-one assignment with the smallest total cost, sorted by row.

    All rows or all columns are assigned, whichever are fewer.
    """
    if cost.shape[0] <= cost.shape[1]:
        return np.arange(cost.shape[0]), cheapest_columns(np.ascontiguousarray(cost))[0]
    rows, _ = cheapest_columns(np.ascontiguousarray(cost.T))
    order = np.argsort(rows)
    return rows[order], order
