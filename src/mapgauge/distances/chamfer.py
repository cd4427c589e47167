"""Chamfer distance, the field's usual one: blind to the order of points, and no metric."""

import math

from mapgauge import kernels
from mapgauge.distances.pack import index, pack_pair
from mapgauge.typing import PolylineLike


def chamfer(x: PolylineLike, y: PolylineLike) -> float:
    """Mean of the two directed mean nearest-point distances, in metres.

    Args:
        x: ``(n, dimension)`` points in metres. A repeated closing point counts like any other.
        y: ``(m, dimension)`` points.

    Returns:
        The distance; 0 between empty polylines, infinity if only one is empty.

    >>> chamfer([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5], [2, 0.5]])
    0.603...
    """
    polylines = pack_pair(x, y)
    lines, _ = index(polylines, closed=False, closed_tolerance=0)
    empty = sum(not len(points) for points in polylines)
    if empty:
        return 0.0 if empty == 2 else math.inf
    return float(kernels.chamfer.chamfer_of_lines(lines, 0, 1))
