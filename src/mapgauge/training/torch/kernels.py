"""The assignments of a whole batch in one call."""

import numpy as np

from mapgauge.kernels._jit import jit_allocating
from mapgauge.kernels.assignment import cheapest_columns


@jit_allocating
def assign_groups(cost, group, limit, row_of):
    """Write the row of each column of many matrices, or -1, in assignments with the smallest total cost.

    Columns of a matrix with the same group are assigned together, independently of other groups. A negative group is
    padding. All columns of a group are assigned, or all rows if these are fewer, and then pairs that do not cost less
    than the limit of their matrix are left out.
    """
    rows, columns = cost.shape[1:]
    place = np.empty(columns, np.int64)
    done = np.empty(columns, np.bool_)
    for number in range(len(cost)):
        for j in range(columns):
            row_of[number, j] = -1
            done[j] = group[number, j] < 0
        for first in range(columns):
            if done[first]:
                continue
            size = 0
            for j in range(first, columns):
                if not done[j] and group[number, j] == group[number, first]:
                    done[j] = True
                    place[size] = j
                    size += 1
            flip = size > rows
            part = np.empty((rows, size) if flip else (size, rows))
            for k in range(size):
                for i in range(rows):
                    if flip:
                        part[i, k] = cost[number, i, place[k]]
                    else:
                        part[k, i] = cost[number, i, place[k]]
            chosen, _ = cheapest_columns(part)
            for k in range(len(chosen)):
                if part[k, chosen[k]] < limit[number]:
                    if flip:
                        row_of[number, place[chosen[k]]] = k
                    else:
                        row_of[number, place[k]] = chosen[k]
