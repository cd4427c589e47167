"""Runs as columns of a linear programme: their points, savings, rows and parts. ``kernels.py`` says what a run is."""

import math

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating


@jit
def _x_point(run, t, x_lines):
    return x_lines[run[1], 0] + (run[3] + run[2] * t) % x_lines[run[1], 1]


@jit
def _y_point(run, t, y_lines):
    return y_lines[run[0], 0] + (run[4] + t) % y_lines[run[0], 1]


@jit_allocating
def savings_of(runs, x, y, x_lines, y_lines, x_weight, y_weight, cutoff, half):
    """Return what each run saves, less the cost of its ends."""
    savings = np.zeros(len(runs))
    for c in range(len(runs)):
        run = runs[c]
        x_line = x_lines[runs[c, 1]]
        y_line = y_lines[runs[c, 0]]
        weight = min(x_weight[run[1]], y_weight[run[0]])
        for t in range(run[5]):
            p = _x_point(run, t, x_lines)
            q = _y_point(run, t, y_lines)
            squared = 0.0
            for d in range(len(x)):
                squared += (x[d, p] - y[d, q]) ** 2
            savings[c] += weight * max(1.0 - math.sqrt(squared) / cutoff, 0.0)
        if not run[6]:
            for way in range(2):
                t = (run[5] - 1) * way
                i = _x_point(run, t, x_lines) - x_line[0]
                j = _y_point(run, t, y_lines) - y_line[0]
                x_end = 0
                if (run[2] > 0) == (way == 1):
                    x_end = x_line[1] - 1
                goes_on = (x_line[2] or i != x_end) + (y_line[2] or j != (y_line[1] - 1) * way)
                savings[c] -= half * goes_on
    return savings


@jit_allocating
def prices_of(runs, x_lines, y_lines, price, y_price):
    """Return the sum of the prices of the points of each run."""
    total = np.zeros(len(runs))
    for c in range(len(runs)):
        for t in range(runs[c, 5]):
            total[c] += price[_x_point(runs[c], t, x_lines)] + y_price[_y_point(runs[c], t, y_lines)]
    return total


@jit_allocating
def uses_of(runs, x_lines, points):
    """Return how many runs have each point of ``x``."""
    uses = np.zeros(points, np.int64)
    for c in range(len(runs)):
        for t in range(runs[c, 5]):
            uses[_x_point(runs[c], t, x_lines)] += 1
    return uses


@jit_allocating
def pairs_of(runs, x_lines, y_lines):
    """Return the pairs of all runs: the run, the point of ``x`` and the point of ``y``."""
    pairs = np.empty((runs[:, 5].sum(), 3), np.int64)
    count = 0
    for c in range(len(runs)):
        for t in range(runs[c, 5]):
            pairs[count, 1] = _x_point(runs[c], t, x_lines)
            pairs[count, 0] = c
            pairs[count, 2] = _y_point(runs[c], t, y_lines)
            count += 1
    return pairs


@jit_allocating
def parts_of(runs, x_lines, y_lines, uses):
    """Return parts of runs that share points of ``x`` with others.

    A run is divided where shared points begin and end. Its parts are the pieces, and the pieces before and after each
    of these places.
    """
    size = 0
    for c in range(len(runs)):
        size += 3 * runs[c, 5]
    parts = np.empty((size, 7), np.int64)
    count = 0
    for c in range(len(runs)):
        run = runs[c]
        begin = 0
        if run[6]:
            continue
        for t in range(1, run[5] + 1):
            if t < run[5] and (uses[_x_point(run, t, x_lines)] > 1) == (uses[_x_point(run, t - 1, x_lines)] > 1):
                continue
            for way in range(3):
                if way == 1:
                    low = 0
                else:
                    low = begin
                if way == 2:
                    high = run[5]
                else:
                    high = t
                if high - low < run[5] and (way == 0 or (begin > 0 and t < run[5])):
                    part = parts[count]
                    part[:] = run
                    part[3], part[4] = (run[3] + run[2] * low) % x_lines[run[1], 1], (run[4] + low) % y_lines[run[0], 1]
                    part[5] = high - low
                    count += 1
            begin = t
    return parts[:count].copy()


@jit_allocating
def rows_of(runs, x_lines, y_lines, x_points, y_points):
    """Return the rows of a programme in which each point of both sides is in one run at most.

    Points that are in the same runs share a row. Points that are in one run have no row.

    Returns:
        The row of each point of ``x`` and then of ``y``, or -1; the number of rows; and the rows of each run as
        ``start`` and ``index``.
    """
    size = 2 * runs[:, 5].sum() + 1
    # points in the same runs; 0 has points in none
    group = np.zeros(x_points + y_points, np.int64)
    groups = 1
    members = np.zeros(size, np.int64)
    successor = np.empty(size, np.int64)
    seen = np.full(size, -1)
    for c in range(len(runs)):
        for t in range(runs[c, 5]):
            for side in range(2):
                if side:
                    g = x_points + _y_point(runs[c], t, y_lines)
                else:
                    g = _x_point(runs[c], t, x_lines)
                old = group[g]
                if seen[old] != c:
                    members[groups] = members[old] + 1
                    seen[old] = c
                    successor[old] = groups
                    groups += 1
                group[g] = successor[old]
    row = np.full(groups, -1)
    rows = 0
    point_row = np.full(len(group), -1)
    leads = np.zeros(len(group), np.bool_)
    for g in range(len(group)):
        if members[group[g]] > 1:
            if row[group[g]] < 0:
                row[group[g]] = rows
                leads[g] = True
                rows += 1
            point_row[g] = row[group[g]]
    start = np.zeros(len(runs) + 1, np.int32)
    index = np.empty(size, np.int32)
    count = 0
    for c in range(len(runs)):
        for t in range(runs[c, 5]):
            for side in range(2):
                if side:
                    g = x_points + _y_point(runs[c], t, y_lines)
                else:
                    g = _x_point(runs[c], t, x_lines)
                if leads[g]:
                    index[count] = point_row[g]
                    count += 1
        start[c + 1] = count
    return point_row, rows, start, index[:count].copy()


@jit_allocating
def first_free(order, runs, x_lines, y_lines, x_points, y_points):
    """Return which runs are taken if each is taken in turn that shares no point with those taken before."""
    taken = np.zeros(len(runs), np.bool_)
    x_used = np.zeros(x_points, np.bool_)
    y_used = np.zeros(y_points, np.bool_)
    for c in order:
        free = True
        for t in range(runs[c, 5]):
            if x_used[_x_point(runs[c], t, x_lines)] or y_used[_y_point(runs[c], t, y_lines)]:
                free = False
        if free:
            taken[c] = True
            for t in range(runs[c, 5]):
                x_used[_x_point(runs[c], t, x_lines)] = y_used[_y_point(runs[c], t, y_lines)] = True
    return taken
