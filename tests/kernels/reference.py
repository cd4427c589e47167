"""The definitions in plain Python: slow, obvious, and the reference for the tests.

This file stays unoptimised. Functions take and return plain numbers and arrays; ``distance`` is a matrix of point
distances. Functions that are written as loops over arrays also compile unchanged, so that the long random search can
run them a million times.
"""

import itertools
import math

import numpy as np


def distances(x, y):
    """Euclidean distances between all points of x and all points of y."""
    out = np.empty((len(x), len(y)))
    for i in range(len(x)):
        for j in range(len(y)):
            out[i, j] = math.sqrt(sum((x[i][k] - y[j][k]) ** 2 for k in range(len(x[i]))))
    return out


def assignments(n, m, *, ordered):
    """All sets of index pairs in which no index appears twice; if ``ordered``, both indices increase strictly."""
    choose = itertools.combinations if ordered else itertools.permutations
    for k in range(min(n, m) + 1):
        for rows in itertools.combinations(range(n), k):
            for columns in choose(range(m), k):
                yield list(zip(rows, columns, strict=True))


def assignment_cost(pairs, distance, cutoff, order):
    """The cost that eq. 1 minimises, for one ordered assignment."""
    n, m = distance.shape
    return sum(distance[i, j] ** order for i, j in pairs) + cutoff**order / 2 * (n + m - 2 * len(pairs))


def sospa_by_enumeration(distance, cutoff, order):
    """Eq. 1 literally: ``sospa^p`` as the minimum over all ordered assignments. Feasible for a few points only."""
    ordered = assignments(*distance.shape, ordered=True)
    return min(assignment_cost(pairs, distance, cutoff, order) for pairs in ordered)


def wagner_fischer(distance, cutoff, order):
    """Lemma 1: ``sospa^p`` as the cost of the cheapest edits."""
    n, m = distance.shape
    gap = cutoff**order / 2
    cost = np.empty((n + 1, m + 1))
    for i in range(n + 1):
        for j in range(m + 1):
            if i == 0 or j == 0:
                cost[i, j] = gap * (i + j)
            else:
                match = cost[i - 1, j - 1] + distance[i - 1, j - 1] ** order
                cost[i, j] = min(match, cost[i - 1, j] + gap, cost[i, j - 1] + gap)
    return cost[n, m]


def _rolled(distance, rows, columns):
    """The matrix after a cyclic shift of its rows and its columns."""
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
    """Lemma 2: ``sospa^p`` as the minimum over the cyclic shifts of one side."""
    n, m = distance.shape
    best = cutoff**order / 2 * (n + m)
    for columns in range(m):
        best = min(best, wagner_fischer(_rolled(distance, 0, columns), cutoff, order))
    return best


def maes(distance, cutoff, order):
    """Maes' algorithm for ``sospa^p`` of closed lines, O(n m log m).

    Write y twice. The best path for a shift runs from column ``shift`` to column ``shift + m``. Best paths of
    different shifts need not cross. So the path of a shift halfway between two others is searched only between their
    paths.
    """
    n, m = distance.shape
    gap = cutoff**order / 2
    best = []

    def path(shift, left, right):
        """The first and the last column that the best path of a shift visits in each row, between two columns."""
        cost, came_from = {(0, shift): 0.0}, {(0, shift): None}
        for i in range(n + 1):
            for j in range(left[i], right[i] + 1):
                options = []
                for before in ((i - 1, j), (i, j - 1), (i - 1, j - 1)):
                    if before in cost:
                        diagonal = before == (i - 1, j - 1)
                        step = distance[i - 1, (j - 1) % m] ** order if diagonal else gap
                        options.append((cost[before] + step, before))
                if options:
                    cost[i, j], came_from[i, j] = min(options)
        cell = (n, shift + m)
        best.append(cost[cell])
        first, last = [None] * (n + 1), [None] * (n + 1)
        while cell is not None:
            i, j = cell
            first[i], last[i] = j, j if last[i] is None else last[i]
            cell = came_from[cell]
        return first, last

    def between(low, left, high, right):
        middle = (low + high) // 2
        if low < middle:
            first, last = path(middle, left, right)
            between(low, left, middle, last)
            between(middle, first, high, right)

    first, last = path(0, [0] * (n + 1), [m] * (n + 1))
    between(0, first, m, [column + m for column in last])
    return min(best)


def sospa(x, y, cutoff, order, *, closed=False, directed=True):
    """SOSPA of points x and y, which must not contain a closing point."""
    cost = cyclic_one_side if closed else wagner_fischer
    value = cost(distances(x, y), cutoff, order)
    if not directed:
        value = min(value, cost(distances(x, y[::-1]), cutoff, order))
    return value ** (1 / order)


def normalise(value, n, m, cutoff, order):
    """Normalised SOSPA (eq. 4)."""
    if n + m == 0:
        return 0.0
    return 2 * value / ((cutoff**order / 2 * (n + m)) ** (1 / order) + value)


def pld_by_enumeration(distance, r, s, order):
    """Eq. 9 literally: ``pld^p`` as the minimum over all assignments; ``distance`` is normalised SOSPA."""

    def cost(pairs):
        matched_rows, matched_columns = {i for i, _ in pairs}, {j for _, j in pairs}
        matched = sum(min(r[i], s[j]) * distance[i, j] ** order + abs(r[i] - s[j]) / 2 for i, j in pairs)
        left_r = sum(r[i] for i in range(len(r)) if i not in matched_rows)
        left_s = sum(s[j] for j in range(len(s)) if j not in matched_columns)
        return matched + (left_r + left_s) / 2

    return min(cost(pairs) for pairs in assignments(len(r), len(s), ordered=False))


def chamfer(x, y):
    """Mean of the two directed mean nearest-point distances."""
    d = distances(x, y)
    return (d.min(axis=0).mean() + d.min(axis=1).mean()) / 2


def frechet(distance):
    """Discrete Fréchet distance of open lines from its recursion."""
    n, m = distance.shape
    leash = np.zeros((n, m))
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


def frechet_both_shifted(distance):
    """The minimum of ``frechet`` over all cyclic shifts of rows and columns: ``mapgauge.frechet`` of closed lines."""
    n, m = distance.shape
    return min(frechet(_rolled(distance, rows, columns)) for rows in range(n) for columns in range(m))


def frechet_prediction_shifted(distance):
    """The minimum of ``frechet`` over all cyclic shifts of the rows: average precision's distance of closed lines."""
    return min(frechet(_rolled(distance, rows, 0)) for rows in range(len(distance)))


def average_precision(confidence, hit, weight, truth, *, eleven):
    """Average precision of predictions that count ``weight`` times, with ``truth`` true instances (also weighted).

    Predictions of equal confidence are one step of the precision-recall curve. The result is the area under the curve
    after it is made monotone, or with ``eleven`` the mean over the recalls 0, 0.1, ..., 1 of the highest precision at
    that recall or a larger one. It is 0 with predictions but no true instances, and NaN with neither.
    """
    if truth == 0:
        return 0.0 if sum(weight) > 0 else math.nan
    curve = []
    for level in sorted(set(confidence), reverse=True):
        number = sum(w for c, w in zip(confidence, weight, strict=True) if c >= level)
        found = sum(w for c, h, w in zip(confidence, hit, weight, strict=True) if c >= level and h)
        if number > 0:
            curve.append((found / truth, found / number))

    def precision_from(recall):
        """The highest precision at this recall or a larger one; a recall that misses it by rounding reaches it."""
        return max((precision for r, precision in curve if r >= recall - 1e-9), default=0.0)

    if eleven:
        return sum(precision_from(k / 10) for k in range(11)) / 11
    recalls = [0.0] + [recall for recall, _ in curve]
    return sum((after - before) * precision_from(after) for before, after in itertools.pairwise(recalls))


def resample(points, targets):
    """Points at the given arc lengths, found by walking segment by segment."""
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


def from_its_start(points):
    """A closed line from the point at which even sampling begins it, through all its vertices, to this point.

    It is where the ray from the area centroid along +x meets the line farthest from the centroid; the first vertex in
    the order of coordinates if the ray does not meet it or there is no area.
    """
    points = [tuple(point) for point in points]
    vertices = [point for k, point in enumerate(points) if point != points[k - 1]]
    if not vertices:
        return np.array(points)
    edges = list(zip(vertices, vertices[1:] + vertices[:1], strict=True))
    x, y = vertices[0][:2]
    size = max(max(abs(a[0] - x), abs(a[1] - y)) for a in vertices)
    cross = [(a[0] - x) * (b[1] - y) - (b[0] - x) * (a[1] - y) for a, b in edges]
    area = sum(cross) / 2
    place, start = vertices.index(min(vertices)), min(vertices)
    if abs(area) > 0.5e-9 * size**2:
        x += sum((a[0] + b[0] - 2 * vertices[0][0]) * c for (a, b), c in zip(edges, cross, strict=True)) / (6 * area)
        y += sum((a[1] + b[1] - 2 * vertices[0][1]) * c for (a, b), c in zip(edges, cross, strict=True)) / (6 * area)
        slack = 1e-9 * size
        met = []
        for k, (a, b) in enumerate(edges):
            if abs(a[1] - y) <= slack:
                met.append((a[0] - x, k, a))
            elif abs(b[1] - y) > slack and (a[1] > y) != (b[1] > y):
                share = (a[1] - y) / (a[1] - b[1])
                there = tuple(p + share * (q - p) for p, q in zip(a, b, strict=True))
                met.append((there[0] - x, k, there))
        met = [meeting for meeting in met if meeting[0] >= -slack]
        if met:
            _, place, start = max(met)
    return np.array([start, *vertices[place + 1 :], *vertices[: place + 1], start])
