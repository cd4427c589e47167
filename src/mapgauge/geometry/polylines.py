"""Polylines: many sequences of points in two flat arrays.

``coords`` holds all points, and ``offsets`` where each polyline starts: polyline ``i`` is
``coords[offsets[i]:offsets[i + 1]]``. A GeoArrow linestring column and shapely's ragged arrays have the same layout.
Lists of small arrays exist only at the public border.
"""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.typing import Closed, Flags, Floats, Indices, Offsets, Pairs, Points, PolylinesLike

CLOSED_TOLERANCE = 0.1  # metres; the published numbers were computed with this rule


@dataclass(frozen=True, slots=True, eq=False)
class Polylines:
    """Many polylines with the same dimension.

    >>> lines = Polylines.of([[[0, 0], [1, 0]], [[5, 5]]])
    >>> len(lines), lines.dimension
    (2, 2)
    >>> lines[0]
    array([[0., 0.],
           [1., 0.]])
    """

    coords: Points  # (points, dimension), float64, C-contiguous, finite
    offsets: Offsets  # (polylines + 1,), from 0 to the number of points
    measured: Any = field(default=None, init=False, repr=False)  # see ``geometry.survey``

    def __post_init__(self) -> None:
        """Refuse arrays that the kernels cannot work with."""
        coords = self.coords
        offsets = self.offsets
        if coords.ndim != 2 or coords.shape[1] < 1 or coords.dtype != np.float64 or not coords.flags.c_contiguous:
            raise InvalidInput(
                f"coords must be a C-contiguous float64 array (points, dimension), got {coords.dtype} {coords.shape}"
            )
        if offsets.ndim != 1 or offsets.dtype != np.int64 or not len(offsets):
            raise InvalidInput(f"offsets must be an int64 array (polylines + 1,), got {offsets.dtype} {offsets.shape}")
        if offsets[0] != 0 or offsets[-1] != len(coords) or np.any(np.diff(offsets) < 0):
            raise InvalidInput(f"offsets must be ascending, from 0 to the number of points, {len(coords)}")
        check_finite(coords, "coords")

    @classmethod
    def of(cls, polylines: PolylinesLike, name: str = "polylines", dimension: int | None = None) -> "Polylines":
        """Pack an iterable of polylines: array-likes of shape ``(n, dimension)`` or shapely geometries.

        Args:
            polylines: The polylines; a ``Polylines`` is returned as it is.
            name: Their name in an error message.
            dimension: The expected dimension; if None, the dimension of the first polyline with points.
        """
        if isinstance(polylines, Polylines):
            if dimension is not None and len(polylines.coords) and polylines.dimension != dimension:
                raise InvalidInput(f"{name}: points have {polylines.dimension} coordinates, expected {dimension}")
            return polylines
        if isinstance(polylines, str | bytes | dict):
            raise InvalidInput(f"{name} must be a sequence of polylines, got a {type(polylines).__name__}")
        if hasattr(polylines, "geoms"):  # a shapely collection
            polylines = polylines.geoms
        elif hasattr(polylines, "geom_type"):
            raise InvalidInput(
                f"{name} must be a sequence of polylines, got one {polylines.geom_type}", remedy="Put it in a list"
            )
        try:
            items = list(polylines)
        except TypeError as error:
            raise InvalidInput(f"{name} must be a sequence of polylines, got {polylines!r}") from error
        arrays = []
        names = [f"{name}[{i}]" for i in range(len(items))]
        for item, called in zip(items, names, strict=True):
            arrays.append(as_points(item, called, dimension))
            if dimension is None and len(arrays[-1]):
                dimension = arrays[-1].shape[1]
        return cls.pack(arrays, names, 2 if dimension is None else dimension)

    @classmethod
    def pack(cls, arrays: list[Points], names: list[str], dimension: int) -> "Polylines":
        """Pack the results of ``as_points``. Arrays without points may have any dimension."""
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([len(points) for points in arrays], out=offsets[1:])
        filled = [points for points in arrays if len(points)]
        if filled:
            coords = np.concatenate(filled)
        else:
            coords = np.empty((0, dimension))
        try:
            return cls(coords, offsets)
        except InvalidInput:
            for points, name in zip(arrays, names, strict=True):
                check_finite(points, name)  # the same error, with the name of the polyline
            raise

    @classmethod
    def unchecked(cls, coords: Points, offsets: Offsets) -> "Polylines":
        """Make ``Polylines`` from arrays that were taken from other ``Polylines`` and are therefore valid."""
        made = object.__new__(cls)
        for name, value in (("coords", coords), ("offsets", offsets), ("measured", None)):
            object.__setattr__(made, name, value)
        return made

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return int(self.coords.shape[1])

    def __len__(self) -> int:
        """Number of polylines."""
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Points:
        """Return the points of one polyline, as a view."""
        i = operator.index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"no polyline {i}, there are {len(self)}")
        i %= len(self)
        return self.coords[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[Points]:
        """Iterate over the points of each polyline, as views."""
        return (self[i] for i in range(len(self)))

    @classmethod
    def joined(cls, parts: "Sequence[Polylines]") -> "Polylines":
        """Join parts, one after the other. All must have the same dimension, except those without points."""
        blocks = [part.coords for part in parts if len(part.coords)] or [parts[0].coords]
        sizes = [np.diff(part.offsets) for part in parts]
        return cls.unchecked(np.concatenate(blocks), np.concatenate([[0], *sizes]).cumsum())

    def and_then(self, other: "Polylines") -> "Polylines":
        """Append other polylines."""
        return Polylines.joined([self, other])

    def pick(self, rows: Offsets) -> "Polylines":
        """Pick some of the polylines, in the order given."""
        sizes = np.diff(self.offsets)
        if len(sizes) and (same := sizes[0]) > 0 and (sizes == same).all():  # a copy line by line is faster
            lines = self.coords.reshape(len(sizes), -1)[rows]
            return Polylines.unchecked(lines.reshape(-1, self.dimension), same * np.arange(len(lines) + 1))
        sizes = sizes[rows]
        points = ranges(self.offsets[rows], sizes)
        return Polylines.unchecked(self.coords[points], np.concatenate([[0], sizes]).cumsum())

    def closed(self, rule: Closed, tolerance: float = CLOSED_TOLERANCE) -> tuple[Flags, Flags]:
        """Return which polylines are closed, and which of those repeat their first point as their last.

        With ``True`` or ``False``, all or none are closed, and a last point is a closing point only if it equals the
        first exactly. With ``"auto"``, a polyline is closed if it has more than two points and its last point is at
        most ``tolerance`` metres from its first; the last point is then the closing point.
        """
        several = np.flatnonzero(np.diff(self.offsets) > 2)
        first = self.coords[self.offsets[several]]
        last = self.coords[self.offsets[several + 1] - 1]
        repeats = np.zeros(len(self), np.bool_)
        if rule == "auto":
            with np.errstate(over="ignore"):  # an overflow to infinity still means "far apart"
                squares = np.square(first - last).T
                repeats[several] = np.sqrt(sum(squares[1:], squares[0])) <= tolerance
            return repeats, repeats
        if rule:
            repeats[several] = (first == last).all(axis=1)
        return np.full(len(self), rule), repeats


def ranges(starts: Offsets, sizes: Offsets) -> Offsets:
    """Concatenate the ranges ``starts[i], starts[i] + 1, ...`` of ``sizes[i]`` numbers each."""
    before = sizes.cumsum() - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


def as_points(polyline: Any, name: str, dimension: int | None = None) -> Points:
    """Return the points of one polyline as a float64 array ``(n, dimension)``; refuse anything else.

    ``name`` names the polyline in an error message. An empty polyline has shape ``(0, dimension)``, or ``(0, 2)`` if
    ``dimension`` is None. This function does not check that numbers are finite: ``check_finite`` does, and is cheaper
    for many polylines at once.
    """
    kind = getattr(polyline, "geom_type", None)
    if kind == "Polygon":
        if len(polyline.interiors):
            raise InvalidInput(
                f"{name} is a Polygon with a hole, expected one ring",
                remedy="Pass its exterior, and each of its interiors as a polyline of its own if it should count",
            )
        polyline = polyline.exterior
    elif kind not in (None, "LineString", "LinearRing"):
        raise InvalidInput(f"{name} is a {kind}, expected a LineString, a LinearRing or a Polygon")
    if kind is not None:
        if len(polyline.coords):
            polyline = polyline.coords
        else:
            polyline = np.empty((0, 2))
    if isinstance(polyline, np.ma.MaskedArray) and np.ma.is_masked(polyline):
        masked = np.count_nonzero(polyline.mask)
        raise InvalidInput(f"{name} has {masked} masked values", remedy="Fill or remove them first")
    try:
        points = np.asarray(polyline)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"{name} is not an array of points: {error}") from error
    if points.ndim <= 2 and points.shape[:1] == (0,):
        if points.ndim == 2:
            width = points.shape[1]
        else:
            width = 0
        if width and dimension is not None and width != dimension:
            raise InvalidInput(f"{name}: points have {width} coordinates, expected {dimension}")
        return np.empty((0, width or dimension or 2))
    if points.dtype.kind not in "iuf":
        example = ""
        if points.size:
            example = f" (for instance {points.flat[0]!r})"
        raise InvalidInput(f"{name} must hold numbers, got values of type {points.dtype}{example}")
    if points.ndim == 1:
        raise InvalidInput(
            f"{name} is one flat list of {len(points)} numbers, expected points of shape (n, dimension), "
            "such as [[0, 0], [1, 0]]",
            remedy="Put a single polyline in a list where several are expected",
        )
    if points.ndim != 2 or points.shape[1] == 0:
        raise InvalidInput(f"{name} has shape {points.shape}, expected (n, dimension)")
    if dimension is not None and points.shape[1] != dimension:
        raise InvalidInput(f"{name}: points have {points.shape[1]} coordinates, expected {dimension}")
    return np.ascontiguousarray(points, dtype=np.float64)


def check_finite(points: Points, name: str) -> None:
    """Refuse NaN and infinity; the error names the first one."""
    finite = np.isfinite(points)
    if not finite.all():
        i, k = (int(v) for v in np.argwhere(~finite)[0])
        raise InvalidInput(
            f"{name}: coordinate {k} of point {i} is {points[i, k]}, expected a finite number "
            f"({np.count_nonzero(~finite)} of {finite.size} are not)"
        )


MANY = 200_000  # points; for fewer, numpy is fast enough and no kernel is compiled


class Survey(NamedTuple):
    """Values of each polyline."""

    low: Floats  # (polylines, dimension): lowest coordinates; infinity without points
    high: Floats  # (polylines, dimension): highest coordinates; minus infinity without points
    repeats: Indices  # (polylines,): number of points that equal the previous one

    @property
    def reach(self) -> Floats:
        """The largest absolute coordinates of each polyline; minus infinity without points."""
        return np.maximum(-self.low, self.high)


def survey(polylines: Polylines, many: int = MANY) -> Survey:
    """Return the survey of polylines. It is computed once for each of them.

    With more than ``many`` points it is computed by a kernel.

    >>> survey(Polylines.of([[[0, 5], [2, 1], [2, 1]], [[7, 7]]])).repeats
    array([1, 0])
    """
    coords = polylines.coords
    offsets = polylines.offsets
    measured: Survey | None = polylines.measured
    if measured is None and len(coords) > many:
        # The kernel would be compiled again for other arrays.
        measured = Survey(*kernels.lines.survey_lines(np.require(coords, requirements=["C", "W"]), offsets))
    elif measured is None:
        low, high = (np.full((len(polylines), polylines.dimension), value) for value in (np.inf, -np.inf))
        rows = np.flatnonzero(np.diff(offsets))
        if len(rows):
            low[rows], high[rows] = boxes_of(coords, offsets[rows])
        same = np.flatnonzero((coords[1:] == coords[:-1]).all(axis=1))
        owner = np.searchsorted(offsets, same, side="right") - 1
        inside = same + 1 < offsets[owner + 1]
        measured = Survey(low, high, np.bincount(owner[inside], minlength=len(polylines)))
    object.__setattr__(polylines, "measured", measured)
    return measured


def boxes_of(points: Floats, starts: Indices, axis: int = 0) -> tuple[Floats, Floats]:
    """Return the lowest and the highest coordinates of runs of points, given their starts. No run may be empty."""
    return np.minimum.reduceat(points, starts, axis=axis), np.maximum.reduceat(points, starts, axis=axis)


def buffers_meet(polylines: Polylines, pairs: Pairs, width: float) -> Flags:
    """Return for each pair whether the buffers of its two lines, ``width`` metres to each side, intersect in the plane.

    Caps are flat and joins are mitred, so a buffer does not extend beyond the ends of its line. Short lines one behind
    the other therefore do not meet although they are near. A line of length 0 has an empty buffer and meets nothing.
    """
    shapely = require("shapely", "the pre-filter by buffers", "shapely")
    used, index = np.unique(pairs, return_inverse=True)
    picked = polylines.pick(used)
    sizes = np.diff(picked.offsets)
    doubled = np.where(sizes == 1, 2, 1)  # shapely does not accept a line of one point
    owner = np.repeat(np.arange(len(picked)), sizes * doubled)
    points = np.repeat(picked.coords[:, :2], np.repeat(doubled, sizes), axis=0)
    if len(used):
        lines: Any = shapely.linestrings(points, indices=owner)
    else:
        lines = np.empty(0, object)
    areas = shapely.buffer(lines, width, cap_style="flat", join_style="mitre")
    at = index.reshape(pairs.shape)
    return np.asarray(shapely.intersects(areas[at[:, 0]], areas[at[:, 1]]), np.bool_)
