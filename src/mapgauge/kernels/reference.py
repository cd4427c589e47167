"""The definitions in plain Python: slow, obvious, and what the tests believe.

Nobody optimises this file. Functions take and return plain numbers and arrays; ``distance`` is a matrix of point
distances. What is written as loops over arrays also compiles as it stands, so that the long random search can run it
a million times.
"""

import itertools
import math

import numpy as np


def distances(x, y):
    """Euclidean distances between all points of x and all points of y."""
    out = np.zeros((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j] = math.sqrt(sum((x[i][k] - y[j][k]) ** 2 for k in range(len(x[i]))))
    return out


def ordered_assignments(n, m):
    """All sets of index pairs that increase strictly on both sides."""
    for k in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), k):
            for columns in itertools.combinations(range(m), k):
                yield list(zip(rows, columns, strict=True))


def assignment_cost(pairs, distance, cutoff, order):
    """What eq. 1 minimises, for one ordered assignment: ``sospa^p``."""
    n, m = distance.shape
    return sum(distance[i, j] ** order for i, j in pairs) + cutoff**order / 2 * (n + m - 2 * len(pairs))


def sospa_by_enumeration(distance, cutoff, order):
    """Eq. 1 word for word: ``sospa^p`` as the minimum over all ordered assignments. For a handful of points."""
    return min(assignment_cost(pairs, distance, cutoff, order) for pairs in ordered_assignments(*distance.shape))


def wagner_fischer(distance, cutoff, order):
    """Lemma 1: ``sospa^p`` as the cost of the cheapest edits."""
    n, m = distance.shape
    gap = cutoff**order / 2
    cost = np.zeros((n + 1, m + 1))
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0 or j == 0:
                cost[i, j] = gap * (i + j)
            else:
                match = cost[i - 1, j - 1] + distance[i - 1, j - 1] ** order
                cost[i, j] = min(match, cost[i - 1, j] + gap, cost[i, j - 1] + gap)
    return cost[n, m]


def _rolled(distance, rows, columns):
    n, m = distance.shape
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = distance[(i + rows) % n, (j + columns) % m]
    return out


def cyclic_by_rotation(distance, cutoff, order):
    """Eq. 7: ``sospa^p`` as the minimum over all cyclic shifts of both sides."""
    n, m = distance.shape
    best = cutoff**order / 2 * (n + m)
    for rows in range(n):
        for columns in range(m):
            best = min(best, wagner_fischer(_rolled(distance, rows, columns), cutoff, order))
    return best


def cyclic_one_side(distance, cutoff, order):
    """Lemma 2: shifting one side is enough."""
    n, m = distance.shape
    best = cutoff**order / 2 * (n + m)
    for columns in range(m):
        best = min(best, wagner_fischer(_rolled(distance, 0, columns), cutoff, order))
    return best


def maes(distance, cutoff, order):
    """Maes' algorithm for ``sospa^p`` of closed lines, O(n m log m).

    Write y twice. The best path for a shift runs from column ``shift`` to column ``shift + m``; best paths of
    neighbouring shifts need not cross. So the path of a shift halfway between two others is sought only between their
    paths.
    """
    n, m = distance.shape
    gap = cutoff**order / 2
    if n == 0 or m == 0:
        return gap * (n + m)
    best = [math.inf]

    def path(shift, left, right):
        """The best path of a shift as the first and last column it visits in each row, between two others (or None)."""
        low = [shift if left is None else max(shift, left[i][0]) for i in range(n + 1)]
        high = [shift + m if right is None else min(shift + m, right[i][1]) for i in range(n + 1)]
        cost, came_from = {}, {}
        for i in range(n + 1):
            for j in range(low[i], high[i] + 1):
                options = [(0.0, None)] if (i, j) == (0, shift) else []
                if (i - 1, j) in cost:
                    options.append((cost[i - 1, j] + gap, (i - 1, j)))
                if (i, j - 1) in cost:
                    options.append((cost[i, j - 1] + gap, (i, j - 1)))
                if (i - 1, j - 1) in cost:
                    options.append((cost[i - 1, j - 1] + distance[i - 1, (j - 1) % m] ** order, (i - 1, j - 1)))
                if options:
                    cost[i, j], came_from[i, j] = min(options, key=lambda option: option[0])
        best[0] = min(best[0], cost[n, shift + m])
        visited = [[2 * m + 1, -1] for _ in range(n + 1)]
        cell = (n, shift + m)
        while cell is not None:
            i, j = cell
            visited[i] = [min(visited[i][0], j), max(visited[i][1], j)]
            cell = came_from[cell]
        return visited

    def between(first, first_path, last, last_path):
        middle = (first + last) // 2
        if first < middle:
            middle_path = path(middle, first_path, last_path)
            between(first, first_path, middle, middle_path)
            between(middle, middle_path, last, last_path)

    zero = path(0, None, None)
    between(0, zero, m, [[low + m, high + m] for low, high in zero])
    return best[0]


def sospa(x, y, cutoff, order, *, closed=False, directed=True):
    """SOSPA of points x and y; a closing point must have been dropped."""
    cost = cyclic_one_side if closed else wagner_fischer
    value = cost(distances(x, y), cutoff, order)
    if not directed:
        value = min(value, cost(distances(x, y[::-1]), cutoff, order))
    return value ** (1 / order)


def normalise(value, n, m, cutoff, order):
    """Eq. 4."""
    if n + m == 0:
        return 0.0
    return 2 * value / ((cutoff**order / 2 * (n + m)) ** (1 / order) + value)


def assignments(n, m):
    """All sets of index pairs in which no index appears twice."""
    for k in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), k):
            for columns in itertools.permutations(range(m), k):
                yield list(zip(rows, columns, strict=True))


def pld_by_enumeration(distance, r, s, order):
    """Eq. 9 word for word: ``pld^p`` as the minimum over all assignments; ``distance`` is normalised SOSPA."""

    def cost(pairs):
        matched_rows, matched_columns = {i for i, _ in pairs}, {j for _, j in pairs}
        matched = sum(min(r[i], s[j]) * distance[i, j] ** order + abs(r[i] - s[j]) / 2 for i, j in pairs)
        left_r = sum(r[i] for i in range(len(r)) if i not in matched_rows)
        left_s = sum(s[j] for j in range(len(s)) if j not in matched_columns)
        return matched + (left_r + left_s) / 2

    return min(cost(pairs) for pairs in assignments(len(r), len(s)))


def chamfer(x, y):
    """Mean of the two directed mean nearest-point distances."""
    d = distances(x, y)
    return (d.min(axis=0).mean() + d.min(axis=1).mean()) / 2


def frechet(distance):
    """Discrete Fréchet distance from its recursion."""
    n, m = distance.shape
    leash = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            before = math.inf
            if i > 0:
                before = min(before, leash[i - 1, j])
            if j > 0:
                before = min(before, leash[i, j - 1])
            if i > 0 and j > 0:
                before = min(before, leash[i - 1, j - 1])
            leash[i, j] = distance[i, j] if i == j == 0 else max(before, distance[i, j])
    return leash[n - 1, m - 1]


def cyclic_frechet(distance):
    """The minimum of ``frechet`` over all cyclic shifts of both sides."""
    n, m = distance.shape
    best = math.inf
    for rows in range(n):
        for columns in range(m):
            best = min(best, frechet(_rolled(distance, rows, columns)))
    return best


def resample(points, targets):
    """Points at the given arc lengths, by walking segment by segment."""
    out = []
    for target in targets:
        walked = 0.0
        place = points[-1]
        for a, b in itertools.pairwise(points):
            step = math.dist(a, b)
            if step > 0 and walked + step >= target:
                place = [p + (q - p) * (target - walked) / step for p, q in zip(a, b, strict=True)]
                break
            walked += step
        out.append(place)
    return np.array(out)
