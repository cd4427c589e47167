"""Resampling of polylines at equal distances along the line."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.arguments import check_count, check_length
from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import Polylines, as_points
from mapgauge.typing import Points, PolylineLike

# More points come from a wrong unit or a broken coordinate, not from a map. 4 million points at a spacing of 0.5 m are
# 2,000 km. 270 million points take 4 GiB.
_MOST_POINTS, _MOST_POINTS_AT_ONCE = 1 << 22, 1 << 28
_METRES = "Check that the coordinates are in metres"


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
    return resample_polylines(
        Polylines.pack([points], ["x"], points.shape[1]), spacing=spacing, count=count, locate=lambda i: "x"
    ).coords


def resample_polylines(
    polylines: Polylines,
    *,
    spacing: float | None = None,
    count: int | None = None,
    locate: Callable[[int], str] = "polyline {}".format,
) -> Polylines:
    """Resample many polylines at once; see ``resample``.

    Args:
        polylines: The polylines.
        spacing: As in ``resample``.
        count: As in ``resample``.
        locate: Returns the place of a polyline from its index. Error messages show it.
    """
    if (spacing is None) == (count is None):
        which = "neither" if spacing is None else f"spacing={spacing!r} and count={count!r}"
        raise InvalidInput(f"give either spacing (metres) or count (points), got {which}")
    coords = np.require(polylines.coords, requirements=["C", "W"])  # kernels would be compiled again for other arrays
    lengths = kernels.resample.lengths_of(coords, polylines.offsets)
    if spacing is not None:
        step, number = check_length("spacing", spacing), 0
    elif count is not None:
        step, number = 0.0, check_count(count)
    _check_size(lengths, step, number, locate)
    return Polylines.unchecked(*kernels.resample.resample_lines(coords, polylines.offsets, lengths, step, number))


def _check_size(lengths: NDArray[np.float64], step: float, number: int, locate: Callable[[int], str]) -> None:
    """Refuse to make more points than a map can have, before memory for them is allocated."""
    with np.errstate(over="ignore"):
        sizes = np.full(len(lengths), float(number)) if number else lengths / step + 1
    how = f"to {number} points" if number else f"at a spacing of {step:g} m"
    too_long = ~np.isfinite(lengths) | (sizes > max(_MOST_POINTS, number))
    if too_long.any():
        i = int(np.argmax(too_long))
        raise InvalidInput(f"{locate(i)} is {lengths[i]:g} m long, too long to resample {how}", remedy=_METRES)
    if sizes.sum() > _MOST_POINTS_AT_ONCE:
        i = int(np.argmax(lengths))
        raise InvalidInput(
            f"resampling {len(lengths)} polylines {how} gives {sizes.sum():.0f} points, expected at most "
            f"{_MOST_POINTS_AT_ONCE}. The longest, {locate(i)}, is {lengths[i]:g} m long",
            remedy=_METRES,
        )
