"""Resampling of polylines at equal distances along the line."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.arguments import check_count, check_length
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.geometry.polylines import Polylines, as_points
from mapgauge.geometry.starts import FixedStarts, with_fixed_starts
from mapgauge.typing import Flags, Floats, Forward, Indices, Offsets, Points, PolylineLike, Sampling

# More points come from a wrong unit or a broken coordinate, not from a map. 4 million points at a spacing of 0.5 m are
# 2,000 km. 270 million points take 4 GiB.
_MOST_POINTS = 1 << 22
_MOST_POINTS_OF_FRAME = 1 << 25
_MOST_POINTS_AT_ONCE = 1 << 28
_PADDED = 1 << 16  # a line with more points is searched for zeros
_FAR = 1e4  # metres from the origin; a line that begins there and has a point at the origin was padded
_METRES = "Check that the coordinates are in metres"


def resample(
    x: PolylineLike, *, spacing: float | None = None, count: int | None = None, sampling: Sampling = "paper"
) -> Points:
    """Resample a polyline at equal spacing, or to a fixed number of points.

    With ``spacing`` s the points lie at the arc lengths 0, s, 2s, ... before the end, and at the end itself. The last
    gap is usually shorter. With ``sampling="even"`` the line is cut into ``round(length / s)`` equal pieces, at least
    one, so that a line and its reversal have the same points. A closed line, whose ends are at most 0.1 m apart, then
    begins at a point that its geometry decides: where the ray from its centroid along +x meets it farthest from the
    centroid. With ``count`` the points lie at ``linspace(0, length, count)``. With ``count`` and ``"paper"``, a closing
    point is treated like any other point.

    Args:
        x: ``(n, dimension)`` points in metres.
        spacing: Metres between neighbouring points along the line. Give either this or ``count``.
        count: Number of points, at least 2.
        sampling: How points are placed with ``spacing``: ``"paper"`` or ``"even"``.

    Returns:
        The new points. A polyline without length gives two (or ``count``) equal points. A polyline without points gives
        none.

    >>> resample([[0, 0], [1, 0], [1, 0.2]], spacing=0.5)
    array([[0. , 0. ],
           [0.5, 0. ],
           [1. , 0. ],
           [1. , 0.2]])
    >>> resample([[0, 0], [1, 0], [1, 0.2]], spacing=0.5, sampling="even")
    array([[0. , 0. ],
           [0.6, 0. ],
           [1. , 0.2]])
    >>> resample([[0, 0], [3, 0]], count=3)
    array([[0. , 0. ],
           [1.5, 0. ],
           [3. , 0. ]])
    """
    points = as_points(x, "x")
    return resample_polylines(
        Polylines.pack([points], ["x"], points.shape[1]),
        spacing=spacing,
        count=count,
        sampling=sampling,
        locate=lambda i: "x",
    ).coords


def resample_polylines(
    polylines: Polylines,
    *,
    spacing: float | None = None,
    count: int | None = None,
    sampling: Sampling = "paper",
    locate: Callable[[int], str] = "polyline {}".format,
    frames: NDArray[np.int64] | None = None,
    kept: Flags | None = None,
    forward: Forward | None = None,
) -> Polylines:
    """Resample many polylines at once, as ``resample`` does, except polylines that are ``kept``.

    ``locate`` names a polyline in error messages, from its index. The polylines of frame i are
    ``frames[i] .. frames[i + 1]``. If ``frames`` is None, points per frame are not limited. ``forward`` is the axis
    that points forward, along which the ray of closed polylines goes; x if it is None.
    """
    if (spacing is None) == (count is None):
        if spacing is None:
            which = "neither"
        else:
            which = f"spacing={spacing!r} and count={count!r}"
        raise InvalidInput(f"give either spacing (metres) or count (points), got {which}")
    check_sampling(sampling, spacing)
    starts = None
    if sampling == "even":
        starts = with_fixed_starts(polylines, forward=forward, kept=kept)
    side = Side.of(polylines, spacing, count, locate=locate, frames=frames, kept=kept, starts=starts)
    points, offsets, _ = resample_sides(
        side, side.none, np.arange(len(polylines)), spacing=spacing, count=count, sampling=sampling
    )
    return Polylines.unchecked(np.ascontiguousarray(points.T), offsets)


class Side(NamedTuple):
    """Polylines that can be resampled."""

    coords: Points
    offsets: Offsets
    lengths: Floats
    kept: Flags  # which of them stay as they are
    turned: Flags  # whose samples are reversed

    @classmethod
    def of(
        cls,
        polylines: Polylines,
        spacing: float | None,
        count: int | None,
        locate: Callable[[int], str],
        frames: NDArray[np.int64] | None = None,
        kept: Flags | None = None,
        starts: FixedStarts | None = None,
    ) -> "Side":
        """Measure polylines, and refuse those that are too long; see ``resample_polylines``.

        Without ``spacing`` and ``count``, all of them stay as they are. ``starts`` has the polylines with other starts.
        """
        given = polylines
        turned = np.zeros(len(polylines), np.bool_)
        if starts is not None:
            polylines, turned = starts
        # Kernels would be compiled again for other arrays.
        coords = np.require(polylines.coords, requirements=["C", "W"])
        if spacing is None and count is None:
            return cls(
                coords,
                polylines.offsets,
                np.zeros(len(polylines)),
                kept=np.ones(len(polylines), np.bool_),
                turned=turned,
            )
        lengths = kernels.resample.lengths_of(coords, polylines.offsets)
        if kept is None:
            stays = np.zeros(len(polylines), np.bool_)
        else:
            stays = kept
        lengths[stays] = 0.0
        step, number = _step_and_count(spacing, count)
        with np.errstate(over="ignore"):  # infinity if there are too many points for a number
            if number:
                sizes = np.full(len(lengths), float(number))
            else:
                sizes = lengths / step + 1
        if number:
            how = f"to {number} points"
        else:
            how = f"at a spacing of {step:g} m"
        _refuse_large(given, lengths, sizes, how=how, most=max(_MOST_POINTS, number), locate=locate)
        if frames is not None:
            of_frame = np.diff(np.append(0.0, sizes.cumsum())[frames])
        else:
            of_frame = np.empty(0)
        if of_frame.max(initial=0.0) > _MOST_POINTS_OF_FRAME and frames is not None:
            raise InvalidInput(
                f"resampling gives {of_frame.max():.0f} points in one frame, expected at most {_MOST_POINTS_OF_FRAME}. "
                f"Its first polyline is {locate(int(frames[np.argmax(of_frame)]))}",
                remedy=_METRES,
            )
        return cls(coords, polylines.offsets, lengths, kept=stays, turned=turned)

    @property
    def none(self) -> "Side":
        """No polylines of the same dimension."""
        return Side(
            self.coords[:0], np.zeros(1, np.int64), self.lengths[:0], kept=self.kept[:0], turned=self.turned[:0]
        )


def resample_sides(
    x: Side,
    y: Side,
    order: Indices,
    spacing: float | None,
    count: int | None,
    sampling: Sampling = "paper",
    tolerance: float = 0.0,
) -> tuple[Floats, Offsets, Flags]:
    """Resample the polylines of two sides, as ``resample`` does, in the layout of kernels.

    ``order`` has the polylines of the result: indices of all polylines, first of one side, then of the other. Returns
    the points, ``(dimension, points)``, their offsets, and whether the ends of each polyline meet: whether they are at
    most ``tolerance`` apart, or equal if it is negative.
    """
    lengths = np.concatenate([x.lengths, y.lengths])
    kept = np.concatenate([x.kept, y.kept])
    step, number = _step_and_count(spacing, count)
    points, offsets, ends_meet = kernels.resample.resample_lines(
        x.coords,
        x.offsets,
        y.coords,
        y_offsets=y.offsets,
        order=order,
        lengths=lengths,
        kept=kept,
        spacing=step,
        even=sampling == "even",
        count=number,
        tolerance=tolerance,
    )
    turned = np.concatenate([x.turned, y.turned])[order]
    if turned.any():
        # Indexing would return another layout, for which kernels would be compiled again.
        points = np.take(points, _with_reversals(offsets, turned), axis=1)
    return points, offsets, ends_meet


def _with_reversals(offsets: Offsets, turned: Flags) -> Indices:
    """Return the points of all lines, with the points of some lines from the last to the first."""
    point = np.arange(offsets[-1])
    mirror = np.repeat(offsets[:-1] + offsets[1:] - 1, np.diff(offsets))
    return np.where(np.repeat(turned, np.diff(offsets)), mirror - point, point)


def check_sampling(sampling: str, spacing: float | None) -> None:
    """Refuse an unknown rule, and one that has no effect because there is no spacing."""
    if sampling not in ("paper", "even"):
        raise InvalidInput(f'sampling must be "paper" or "even", got {sampling!r}')
    if sampling == "even" and spacing is None:
        raise InvalidInput('sampling "even" needs a spacing', remedy=Remedy("Set spacing=", "Pass --set spacing=0.5"))


def _step_and_count(spacing: float | None, count: int | None) -> tuple[float, int]:
    """Return the arguments of the kernel: the spacing, or 0 and the number of points."""
    if count is not None:
        return 0.0, check_count("count", count)
    return 0.0 if spacing is None else check_length("spacing", spacing), 0


def _refuse_large(
    polylines: Polylines, lengths: Floats, sizes: Floats, how: str, most: int, locate: Callable[[int], str]
) -> None:
    """Refuse lines that were padded with zeros, and more points than a map can have, before memory is allocated."""
    for i in np.flatnonzero(sizes > _PADDED).tolist():
        line = polylines[i]
        zero = ~line.any(axis=1)
        away = np.abs(line[~zero]).max(axis=1)
        if zero.any() and len(away) > 1 and away.min() > _FAR:  # a single far point is a broken coordinate
            raise InvalidInput(
                f"{locate(i)}: {np.count_nonzero(zero)} of {len(line)} points are zero and the others are at least "
                f"{away.min():.0f} m away from the origin. The line seems to be padded with zeros",
                remedy="Remove the padding",
            )
    too_long = ~np.isfinite(lengths) | (sizes > most)
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
