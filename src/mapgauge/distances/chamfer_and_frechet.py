"""Chamfer and discrete Fréchet distance between two polylines."""

import math

from mapgauge import kernels
from mapgauge.arguments import check_flag
from mapgauge.distances.sospa import as_lines, pack_pair
from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import CLOSED_TOLERANCE, Polylines
from mapgauge.typing import Closed, PolylineLike


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
        if empty == 2:
            return 0.0
        return math.inf
    return _finite(kernels.chamfer.chamfer_of_lines(lines, 0, 1), polylines)


def frechet(
    x: PolylineLike,
    y: PolylineLike,
    *,
    closed: Closed = False,
    directed: bool = True,
    closed_tolerance: float = CLOSED_TOLERANCE,
) -> float:
    """Discrete Fréchet distance in metres.

    With ``closed`` it is the minimum over the cyclic shifts of both polylines. Average precision (``ap_frechet``) uses
    another Fréchet distance between closed polylines: there only the prediction is shifted, as in the evaluator of the
    paper's authors. That distance is never smaller than this one. Between open polylines the two are equal.

    Args:
        x: ``(n, dimension)`` points in metres.
        y: ``(m, dimension)`` points.
        closed: As in ``sospa``. Both polylines are shifted, because shifting one is not enough here. For SOSPA it is.
        directed: If false, the minimum over y and y reversed.
        closed_tolerance: Metres; used by "auto" only.

    Returns:
        The distance. It is 0 between empty polylines and infinite if only one is empty.

    >>> frechet([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5], [2, 0.5]])
    1.118...
    """
    directed = check_flag("directed", directed)
    polylines = pack_pair(x, y)
    lines, flags = as_lines(polylines, closed, closed_tolerance)
    empty = sum(not len(points) for points in polylines)
    if empty:
        if empty == 2:
            return 0.0
        return math.inf
    return _finite(
        kernels.frechet.frechet_both_shifted(lines, 0, 1, cyclic=bool(flags.any()), directed=directed), polylines
    )


def _finite(distance: float, polylines: Polylines) -> float:
    """Return a distance between polylines with points. The square of a distance above 1e154 m is no number."""
    if math.isinf(distance):
        largest = float(abs(polylines.coords).max())
        raise InvalidInput(
            f"x and y are too far apart: distances must be below 1e154 metres, and a coordinate is {largest:g}"
        )
    return float(distance)
