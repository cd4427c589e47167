"""Complete matchings: two lines of equal length whose points are all matched, compared by their true cost.

The search for the best reading compares gains ``1 - (d / c)^p``, which are rounded to multiples of ``2^-44``. That is
exact enough as soon as a point stays unmatched: the cost is then at least ``c^p / 2``, and the rounding is small
relative to it. If every point is matched, the cost can be much smaller than the rounding, for example if the order is
high or the cutoff large. All readings that match every point then look the same.

In a reading without unmatched points there is only one matching: the i-th point of one line has the i-th point of the
other. So the costs of all these readings are summed directly, and the smallest wins. A sum ends as soon as it is too
large, so this takes little time compared with the search.
"""

import math

from mapgauge.kernels._jit import ONE, ZERO, jit
from mapgauge.kernels.lines import square_between

# A reading must be clearly cheaper to replace the one that the search found. Costs that differ by rounding are equal.
CLEARLY = 1.0 - 2.0**-40
SMALL = 1.0 / 16.0  # a mean cost of a point, in units of c^p, above which rounded gains are exact enough


@jit
def point_cost(points, i, j, cutoff, order):
    """``d^p`` of two points, in metres for order 1 and in units of ``c^p`` for any other order."""
    square = square_between(points, i, j)
    if order == 1.0:
        return math.sqrt(square)
    if order == 2.0:
        return square / (cutoff * cutoff)
    return (math.sqrt(square) / cutoff) ** order


@jit
def distance_cost(distance, cutoff, order):
    """``d^p`` in metres for order 1 and in units of ``c^p`` for any other order."""
    return distance if order == 1.0 else (distance / cutoff) ** order


@jit
def _partner(i, n, shift, backward):
    """The column of row ``i`` if row 0 has the column ``shift``."""
    if backward:
        return shift - i if i <= shift else shift + n - i
    return shift + i if shift + i < n else shift + i - n


@jit
def _cost(points, x_start, y_start, distance, n, shift, backward, cutoff, order, limit):
    """Cost of a complete matching, or infinity if it is not below ``limit`` or a pair is not closer than the cutoff."""
    most = cutoff if order == 1.0 else 1.0
    total = 0.0
    for i in range(n):
        j = _partner(i, n, shift, backward)
        cost = 0.0
        if points is not None:
            cost = point_cost(points, x_start + i, y_start + j, cutoff, order)
        if distance is not None:
            cost = distance_cost(distance[i, j], cutoff, order)
        total += cost
        if cost >= most or total >= limit:
            return math.inf
    return total


@jit
def cheapest_complete(points, x_start, y_start, distance, n, cyclic, directed, cutoff, order, cost, backward, pairs):
    """Replace a complete matching of this cost by the cheapest one in any reading, if that is clearly cheaper.

    The costs are those of points, or of a matrix of distances if it is not None. Returns the cost and whether y is
    read backwards.
    """
    if cost >= SMALL * n * (cutoff if order == 1.0 else 1.0):
        return cost, backward
    limit = cost * CLEARLY
    for way in range(1 if directed else 2):
        against = way == 1
        last = n - ONE if against and not cyclic else ZERO
        for shift in range(last, n if cyclic else last + ONE):
            other = _cost(points, x_start, y_start, distance, n, shift, against, cutoff, order, limit)
            if other < limit:
                limit, cost, backward = other, other, against
                for i in range(n):
                    pairs[i, 0], pairs[i, 1] = i, _partner(i, n, shift, against)
    return cost, backward
