"""Optimal assignments of the k most confident predictions, for all k at once, and the average precision of each."""

import numpy as np

from mapgauge.kernels._jit import ZERO, U, jit, jit_allocating
from mapgauge.kernels.fits import most_gain
from mapgauge.kernels.gains import make_band, pairs_of_groups
from mapgauge.kernels.lines import are_near, length_of
from mapgauge.kernels.sospa import align_lines, normalise, saturation, value_of

MARGIN = 1e-9  # by which bounds are larger than rounding


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
        held = saving[owner[j], j] if owner[j] >= 0 else 0.0
        best[j] = saving[row, j] - held if saving[row, j] > 0.0 else -np.inf
        came_from[j] = -1
    for _ in range(columns):
        settled = True
        for j in range(columns):
            i = owner[j]
            if i < 0 or best[j] == -np.inf:
                continue
            for k in range(columns):
                if saving[i, k] > 0.0 and k != j:
                    held = saving[owner[k], k] if owner[k] >= 0 else 0.0
                    through = best[j] + saving[i, k] - held
                    if through > best[k] and not _leads_through(came_from, j, k):
                        best[k], came_from[k] = through, j
                        settled = False
        if settled:
            break
    last = 0
    for j in range(columns):
        if best[j] > best[last]:
            last = j
    return last if columns > 0 and best[last] > 0.0 else -1


@jit
def _saving(weight, distance, known, power):
    """``min(r, s) (1 - D^p)``, or a number that is clearly larger if only a lower bound of D is known."""
    d = distance if power == 1.0 else distance**power
    return weight * (1.0 - d) if known or weight <= 0.0 else weight * (1.0 - d) + MARGIN


@jit
def _bound(lines, x, y, cutoff, order):
    """A lower bound of the normalised SOSPA of two lines, and whether it is exact."""
    points = length_of(lines, x) + length_of(lines, y)
    if points == ZERO:
        return 0.0, True
    if not are_near(lines, x, y, cutoff):
        return 1.0, True
    short, other = (x, y) if length_of(lines, x) <= length_of(lines, y) else (y, x)
    gain = most_gain(lines, short, other, cutoff, order)
    return normalise(saturation(max(0.5 * points - gain - MARGIN, 0.0), points, 1.0, order)), False


@jit_allocating
def bound_distances(lines, bounds, weight, cutoff, order, distance, known, by_weight):
    """Write lower bounds of the distances of all pairs of each group, prediction by prediction.

    ``known`` gets which of them are exact. ``by_weight`` gets the predictions of each group by falling weight.
    """
    at = 0
    for g in range(len(bounds)):
        for k in range(bounds[g, 0], bounds[g, 1]):
            place = k
            while place > bounds[g, 0] and weight[by_weight[place - 1]] < weight[k]:
                by_weight[place] = by_weight[place - 1]
                place -= 1
            by_weight[place] = k
        for x in range(U(bounds[g, 0]), U(bounds[g, 1])):
            for y in range(U(bounds[g, 1]), U(bounds[g, 2])):
                distance[at], known[at] = _bound(lines, x, y, cutoff, order)
                at += 1


@jit
def _measure(solver, x, y, at, distance, known):
    """Compute the exact distance of a pair."""
    lines, closed, directed, cutoff, order, band, long = solver
    cyclic = closed[x] or closed[y]
    matched, cost, _ = align_lines(lines, U(x), U(y), cyclic, directed, cutoff, order, band, long)
    points = length_of(lines, U(x)) + length_of(lines, U(y))
    _, distance[at] = value_of(cost, matched, points, cutoff, order)
    known[at] = True


@jit
def _sort_equals(solver, first, split, end, start, order, weight, distance, known, near):
    """Sort predictions of equal confidence by their distances, not by their order in the file."""
    columns = end - split
    k = first
    while k < split:
        stop = k + 1
        while stop < split and weight[order[stop]] == weight[order[k]]:
            stop += 1
        for a in range(k if stop > k + 1 else stop, stop):
            x, total = order[a], 0.0
            for j in range(columns):
                at = start + (x - first) * columns + j
                if not known[at]:
                    _measure(solver, x, split + j, at, distance, known)
                total += 1.0 - distance[at]
            near[x] = total
            b = a
            while b > k and near[order[b - 1]] < total:
                order[b] = order[b - 1]
                b -= 1
            order[b] = x
        k = stop


@jit
def _add_row(solver, saving, row, first, split, start, power, weight, distance, known, owner, best, came_from):
    """Add a row to an optimal assignment. Returns how much the total saving grows; -1 if distances are missing.

    Only savings along the best path must be exact. Those of others are upper bounds, and their paths have lost already.
    """
    columns = len(owner)
    while True:
        last = _best_path(saving, row, owner, best, came_from)
        if last < 0:
            return 0.0
        settled, j = True, last
        while j >= 0:
            i = row if came_from[j] < 0 else owner[came_from[j]]
            at = start + i * columns + j
            if not known[at]:
                if solver is None:
                    return -1.0
                _measure(solver, first + i, split + j, at, distance, known)
                less = min(weight[first + i], weight[split + j])
                saving[i, j] = _saving(less, distance[at], True, power)
                settled = False
            j = came_from[j]
        if settled:
            break
    growth, j = best[last], last
    while came_from[j] >= 0:
        owner[j] = owner[came_from[j]]
        j = came_from[j]
    owner[j] = row
    return growth


@jit_allocating
def _assign(solver, equals, bounds, order, weight, distance, known, power, level, growth, hits, assigned, lacking):
    """Assign the predictions of all groups. ``solver`` computes distances; with None, groups that need one are left."""
    near = np.zeros(len(weight))
    start = 0
    for g in range(len(bounds)):
        first, split, end = bounds[g]
        rows, columns = split - first, end - split
        if solver is not None and equals:
            _sort_equals(solver, first, split, end, start, order, weight, distance, known, near)
        saving = np.zeros((rows, columns))
        for i in range(rows):
            for j in range(columns):
                at = start + i * columns + j
                saving[i, j] = _saving(min(weight[first + i], weight[split + j]), distance[at], known[at], power)
        owner, best = np.full(columns, -1), np.zeros(columns)
        came_from = np.full(columns, -1)
        before = 0
        for k in range(first, split):
            row = order[k] - first
            growth[first + row] = 0.0
            if columns:
                growth[first + row] = _add_row(
                    solver, saving, row, first, split, start, power, weight, distance, known, owner, best, came_from
                )
            if growth[first + row] < 0.0:
                lacking[g] = True
                break
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
def assign_by_confidence(
    lines,
    closed,
    directed,
    cutoff,
    long,
    equals,
    bounds,
    order,
    weight,
    distance,
    known,
    power,
    level,
    growth,
    hits,
    assigned,
):
    """Assign the predictions of each group one after the other.

    After each prediction, the assignment of all predictions so far is optimal: PLD to the power of ``power`` is the
    mass of these predictions and the truth less the sum of ``growth`` so far.

    ``equals`` says whether predictions of equal weight must be sorted by their distances. ``order[k]`` is the k-th
    instance to add. ``distance`` is normalised SOSPA of all pairs, or a lower bound where it is not ``known``; those
    that are needed become exact. ``hits`` counts how many more pairs are within ``level`` after each prediction, and
    ``assigned`` is its distance in the assignment of all, NaN for an unassigned one.
    """
    band = make_band(lines, closed, pairs_of_groups(bounds), cutoff, long)
    solver = (lines, closed, directed, cutoff, power, band, long)
    lacking = np.zeros(len(bounds), np.bool_)
    _assign(solver, equals, bounds, order, weight, distance, known, power, level, growth, hits, assigned, lacking)


@jit_allocating
def assign_again(bounds, order, weight, distance, known, power, level, growth, hits, assigned, lacking):
    """Do the same with other weights and without lines. ``lacking`` gets the groups that need further distances."""
    _assign(None, False, bounds, order, weight, distance, known, power, level, growth, hits, assigned, lacking)


@jit_allocating
def areas_so_far(recall, precision, out):
    """Write the area under the monotone curve of the first k points, for all k.

    A new point raises the precision of all points before it that have a lower one. Steps of equal precision are kept
    together, so each point is merged once.
    """
    heights, widths = np.empty(len(recall)), np.empty(len(recall))
    count, area, before = 0, 0.0, 0.0
    for k in range(len(recall)):
        width, before = recall[k] - before, recall[k]
        while count > 0 and heights[count - 1] <= precision[k]:
            count -= 1
            area -= heights[count] * widths[count]
            width += widths[count]
        heights[count], widths[count] = precision[k], width
        count += 1
        area += precision[k] * width
        out[k] = area
