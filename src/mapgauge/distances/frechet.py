"""Discrete Fréchet distance: sees the order of points, but only the worst of them."""

import math

from mapgauge import kernels
from mapgauge.arguments import check_flag
from mapgauge.distances.pack import index, pack_pair
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.typing import Closed, PolylineLike


def frechet(
    x: PolylineLike,
    y: PolylineLike,
    *,
    closed: Closed = False,
    directed: bool = True,
    closed_tolerance: float = CLOSED_TOLERANCE,
) -> float:
    """Discrete Fréchet distance in metres.

    Args:
        x: ``(n, dimension)`` points in metres.
        y: ``(m, dimension)`` points.
        closed: As in ``sospa``. The minimum over all cyclic shifts of both: unlike for SOSPA, shifting one is not
            enough.
        directed: If not, the minimum over y and y reversed.
        closed_tolerance: Metres; only for "auto".

    Returns:
        The distance; 0 between empty polylines, infinity if only one is empty.

    >>> frechet([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5], [2, 0.5]])
    1.118...
    """
    directed = check_flag("directed", directed)
    polylines = pack_pair(x, y)
    lines, flags = index(polylines, closed, closed_tolerance)
    empty = sum(not len(points) for points in polylines)
    if empty:
        return 0.0 if empty == 2 else math.inf
    return float(kernels.frechet.frechet_both_shifted(lines, 0, 1, bool(flags.any()), directed))
