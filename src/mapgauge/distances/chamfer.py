"""Chamfer distance, the usual distance in the field. It ignores the order of points and is not a metric."""

import math

from mapgauge import kernels
from mapgauge.distances.pack import as_lines, pack_pair
from mapgauge.typing import PolylineLike


def chamfer(x: PolylineLike, y: PolylineLike) -> float:
    """Chamfer distance in metres: the mean of the two directed mean nearest-point distances.

    Args:
        x: ``(n, dimension)`` points in metres. A closing point counts like any other point.
        y: ``(m, dimension)`` points.

    Returns:
        The distance. It is 0 between empty polylines and infinite if only one is empty.

    >>> chamfer([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5], [2, 0.5]])
    0.603...
    """
    polylines = pack_pair(x, y)
    lines, _ = as_lines(polylines, closed=False, closed_tolerance=0)
    empty = sum(not len(points) for points in polylines)
    if empty:
        return 0.0 if empty == 2 else math.inf
    visits = kernels.interpreting.Pairs(lines, math.inf).visits
    return float(kernels.interpreting.call(kernels.chamfer.chamfer_of_lines, visits, lines, 0, 1))
