"""Polylines: many sequences of points in two flat arrays.

``coords`` holds all points, and ``offsets`` where each polyline starts: polyline ``i`` is
``coords[offsets[i]:offsets[i + 1]]``. A GeoArrow linestring column and shapely's ragged arrays have the same layout.
Lists of small arrays exist only at the public border.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.typing import Closed, Flags, Offsets, Points, PolylineLike, PolylinesLike

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
        coords, offsets = self.coords, self.offsets
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
        for i, item in enumerate(items):
            points = as_points(item, f"{name}[{i}]", dimension)
            if dimension is None and len(points):
                dimension = points.shape[1]
            arrays.append(points)
        return cls.pack(arrays, [f"{name}[{i}]" for i in range(len(arrays))], 2 if dimension is None else dimension)

    @classmethod
    def pack(cls, arrays: list[Points], names: list[str], dimension: int) -> "Polylines":
        """Pack the results of ``as_points``. Arrays without points may have any dimension."""
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([len(points) for points in arrays], out=offsets[1:])
        filled = [points for points in arrays if len(points)]
        coords = np.concatenate(filled) if filled else np.empty((0, dimension))
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
        object.__setattr__(made, "coords", coords)
        object.__setattr__(made, "offsets", offsets)
        object.__setattr__(made, "measured", None)
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

    def and_then(self, other: "Polylines") -> "Polylines":
        """Append other polylines. Both must have the same dimension unless one has no points."""
        blocks = [side.coords for side in (self, other) if len(side.coords)] or [self.coords]
        offsets = np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]])
        return Polylines.unchecked(np.concatenate(blocks), offsets)

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
        first, last = self.coords[self.offsets[several]], self.coords[self.offsets[several + 1] - 1]
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


def as_points(polyline: PolylineLike, name: str, dimension: int | None = None) -> Points:
    """Return the points of one polyline as a float64 array ``(n, dimension)``; refuse anything else.

    ``name`` names the polyline in an error message. An empty polyline has shape ``(0, dimension)``, or ``(0, 2)`` if
    ``dimension`` is None. This function does not check that numbers are finite: ``check_finite`` does, and is cheaper
    for many polylines at once.
    """
    kind = getattr(polyline, "geom_type", None)
    if kind is not None:
        polyline = _shapely_coordinates(polyline, kind, name)
    if isinstance(polyline, np.ma.MaskedArray) and np.ma.is_masked(polyline):
        masked = np.count_nonzero(polyline.mask)
        raise InvalidInput(f"{name} has {masked} masked values", remedy="Fill or remove them first")
    try:
        points = np.asarray(polyline)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"{name} is not an array of points: {error}") from error
    if points.ndim <= 2 and points.shape[:1] == (0,):
        width = points.shape[1] if points.ndim == 2 else 0
        if width and dimension is not None and width != dimension:
            raise InvalidInput(f"{name}: points have {width} coordinates, expected {dimension}")
        return np.empty((0, width or dimension or 2))
    if points.dtype.kind not in "iuf":
        example = f" (for instance {points.flat[0]!r})" if points.size else ""
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


def _shapely_coordinates(geometry: Any, kind: str, name: str) -> Points:
    if kind == "Polygon":
        if len(geometry.interiors):
            raise InvalidInput(
                f"{name} is a Polygon with a hole, expected one ring",
                remedy="Pass its exterior, and each of its interiors as a polyline of its own if it should count",
            )
        geometry = geometry.exterior
    elif kind not in ("LineString", "LinearRing"):
        raise InvalidInput(f"{name} is a {kind}, expected a LineString, a LinearRing or a Polygon")
    coordinates: Points = np.asarray(geometry.coords)
    return coordinates if len(coordinates) else np.empty((0, 2))
