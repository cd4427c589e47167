"""Resampling of polylines at equal distances along the line."""

import numpy as np

from mapgauge import kernels
from mapgauge.arguments import check_count, check_length
from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import Polylines, as_points
from mapgauge.typing import Points, PolylineLike

_MOST_POINTS = 2**31  # of one polyline; more points come from a wrong unit or a broken coordinate, not from a map


def resample(x: PolylineLike, *, spacing: float | None = None, count: int | None = None) -> Points:
    """Resample a polyline at equal spacing, or to a fixed number of points.

    With ``spacing`` s the points lie at the arc lengths 0, s, 2s, ... before the end, and at the end itself. The last
    gap is usually shorter. With ``count`` the points lie at ``linspace(0, length, count)``. A closing point is treated
    like any other point.

    Args:
        x: ``(n, dimension)`` points in metres.
        spacing: Metres between neighbouring points along the line. Give either this or ``count``.
        count: Number of points, at least 2.

    Returns:
        The new points. A polyline without length gives two (or ``count``) equal points. A polyline without points gives
        none.

    >>> resample([[0, 0], [1, 0], [1, 0.2]], spacing=0.5)
    array([[0. , 0. ],
           [0.5, 0. ],
           [1. , 0. ],
           [1. , 0.2]])
    >>> resample([[0, 0], [3, 0]], count=3)
    array([[0. , 0. ],
           [1.5, 0. ],
           [3. , 0. ]])
    """
    points = as_points(x, "x")
    return resample_polylines(Polylines.pack([points], ["x"], points.shape[1]), spacing=spacing, count=count).coords


def resample_polylines(polylines: Polylines, *, spacing: float | None = None, count: int | None = None) -> Polylines:
    """Resample many polylines at once; see ``resample``."""
    if (spacing is None) == (count is None):
        which = "neither" if spacing is None else f"spacing={spacing!r} and count={count!r}"
        raise InvalidInput(f"give either spacing (metres) or count (points), got {which}")
    coords = np.require(polylines.coords, requirements=["C", "W"])  # kernels would be compiled again for other arrays
    lengths = kernels.resample.lengths_of(coords, polylines.offsets)
    if spacing is not None:
        step, number = check_length("spacing", spacing), 0
    elif count is not None:
        step, number = 0.0, check_count(count)
    too_long = (
        np.flatnonzero(~(lengths < _MOST_POINTS * step)) if number == 0 else np.flatnonzero(~np.isfinite(lengths))
    )
    if len(too_long):
        i = int(too_long[0])
        how = f"at a spacing of {step:g} m" if number == 0 else f"to {number} points"
        raise InvalidInput(
            f"polyline {i} is {lengths[i]:g} m long, too long to resample {how}",
            remedy="Check that the coordinates are in metres",
        )
    return Polylines.unchecked(*kernels.resample.resample_lines(coords, polylines.offsets, lengths, step, number))
