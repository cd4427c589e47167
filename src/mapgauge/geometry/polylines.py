"""Polylines: many sequences of points in two flat arrays.

``coords`` holds all points, ``offsets`` where each polyline starts; polyline ``i`` is
``coords[offsets[i]:offsets[i + 1]]``. It is the layout of a GeoArrow linestring column and of shapely's ragged arrays.
Lists of small arrays exist only outside.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.typing import Closed, Flags, Offsets, Points, PolylineLike, PolylinesLike

CLOSED_TOLERANCE = 0.1  # metres; the rule behind the published numbers


@dataclass(frozen=True, slots=True, eq=False)
class Polylines:
    """Many polylines of one dimension.

    >>> lines = Polylines.of([[[0, 0], [1, 0]], [[5, 5]]])
    >>> len(lines), lines.dimension
    (2, 2)
    >>> lines[0]
    array([[0., 0.],
           [1., 0.]])
    """

    coords: Points  # (points, dimension), float64, C-contiguous, finite
    offsets: Offsets  # (polylines + 1,), from 0 to the number of points

    def __post_init__(self) -> None:
        """Refuse arrays that are not what the kernels rely on."""
        coords, offsets = self.coords, self.offsets
        if coords.ndim != 2 or coords.shape[1] < 1 or coords.dtype != np.float64 or not coords.flags.c_contiguous:
            raise InvalidInput(
                f"coords must be a C-contiguous float64 array (points, dimension), got {coords.dtype} {coords.shape}"
            )
        if offsets.ndim != 1 or offsets.dtype != np.int64 or not len(offsets):
            raise InvalidInput(f"offsets must be an int64 array (polylines + 1,), got {offsets.dtype} {offsets.shape}")
        if offsets[0] != 0 or offsets[-1] != len(coords) or np.any(np.diff(offsets) < 0):
            raise InvalidInput(f"offsets must rise from 0 to the number of points, {len(coords)}")
        check_finite(coords, "coords")

    @classmethod
    def of(cls, polylines: PolylinesLike, name: str = "polylines", dimension: int | None = None) -> "Polylines":
        """Pack an iterable of polylines: array-likes of shape ``(n, dimension)`` or shapely geometries.

        Args:
            polylines: The polylines; a ``Polylines`` is returned as it is.
            name: What to call them in an error message.
            dimension: The dimension they must have; taken from the first polyline with points if None.
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
                f"{name} must be a sequence of polylines, got one {polylines.geom_type}. Put it in a list."
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
        return cls.join(arrays, [f"{name}[{i}]" for i in range(len(arrays))], 2 if dimension is None else dimension)

    @classmethod
    def join(cls, arrays: list[Points], names: list[str], dimension: int) -> "Polylines":
        """Pack what ``as_points`` gave; arrays without points may have any dimension."""
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([len(points) for points in arrays], out=offsets[1:])
        filled = [points for points in arrays if len(points)]
        coords = np.concatenate(filled) if filled else np.empty((0, dimension))
        try:
            return cls(coords, offsets)
        except InvalidInput:
            for points, name in zip(arrays, names, strict=True):
                check_finite(points, name)  # the same complaint, with the name of the polyline
            raise

    @classmethod
    def unchecked(cls, coords: Points, offsets: Offsets) -> "Polylines":
        """From arrays made of those of other ``Polylines``, which were checked."""
        made = object.__new__(cls)
        object.__setattr__(made, "coords", coords)
        object.__setattr__(made, "offsets", offsets)
        return made

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return int(self.coords.shape[1])

    def __len__(self) -> int:
        """Number of polylines."""
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Points:
        """The points of one polyline, as a view."""
        i = operator.index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"polyline {i} of {len(self)}")
        i %= len(self)
        return self.coords[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[Points]:
        """The points of each polyline, as views."""
        return (self[i] for i in range(len(self)))

    def and_then(self, other: "Polylines") -> "Polylines":
        """These and then others, of the same dimension unless one side has no points."""
        blocks = [side.coords for side in (self, other) if len(side.coords)] or [self.coords]
        offsets = np.concatenate([self.offsets, other.offsets[1:] + self.offsets[-1]])
        return Polylines.unchecked(np.concatenate(blocks), offsets)

    def pick(self, rows: Offsets) -> "Polylines":
        """Some of the polylines, in the order given."""
        sizes = np.diff(self.offsets)[rows]
        points = ranges(self.offsets[rows], sizes)
        return Polylines.unchecked(self.coords[points], np.concatenate([[0], sizes]).cumsum())

    def closed(self, rule: Closed, tolerance: float = CLOSED_TOLERANCE) -> tuple[Flags, Flags]:
        """Which polylines are closed, and which of them repeat their first point as their last.

        ``True`` and ``False`` say so for all; then only an exact repetition is a closing point. ``"auto"`` looks at the
        ends: more than two points, and at most ``tolerance`` metres from the first to the last, which then is the
        closing point.
        """
        several = np.flatnonzero(np.diff(self.offsets) > 2)
        first, last = self.coords[self.offsets[several]], self.coords[self.offsets[several + 1] - 1]
        repeats = np.zeros(len(self), np.bool_)
        if rule == "auto":
            with np.errstate(over="ignore"):  # ends too far apart to square are far apart
                repeats[several] = np.sqrt(np.square(first - last).sum(axis=1)) <= tolerance
            return repeats, repeats
        if rule:
            repeats[several] = (first == last).all(axis=1)
        return np.full(len(self), rule), repeats


def ranges(starts: Offsets, sizes: Offsets) -> Offsets:
    """``starts[i], starts[i] + 1, ...``, ``sizes[i]`` numbers each, one after the other."""
    before = sizes.cumsum() - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


def as_points(polyline: PolylineLike, name: str, dimension: int | None = None) -> Points:
    """The points of one polyline as a float64 array ``(n, dimension)``; refuses what is not a polyline.

    ``name`` says in an error message which polyline it is. An empty one has shape ``(0, dimension)``, or ``(0, 2)``.
    Whether the numbers are finite is left to ``check_finite``, which is cheaper for many polylines at once.
    """
    kind = getattr(polyline, "geom_type", None)
    if kind is not None:
        polyline = _shapely_coordinates(polyline, kind, name)
    if isinstance(polyline, np.ma.MaskedArray) and np.ma.is_masked(polyline):
        raise InvalidInput(f"{name} has {np.count_nonzero(polyline.mask)} masked values; fill or remove them first")
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
            "such as [[0, 0], [1, 0]]. One polyline where several are expected goes into a list."
        )
    if points.ndim != 2 or points.shape[1] == 0:
        raise InvalidInput(f"{name} has shape {points.shape}, expected (n, dimension)")
    if dimension is not None and points.shape[1] != dimension:
        raise InvalidInput(f"{name}: points have {points.shape[1]} coordinates, expected {dimension}")
    return np.ascontiguousarray(points, dtype=np.float64)


def check_finite(points: Points, name: str) -> None:
    """Refuse NaN and infinity, and say where they are."""
    finite = np.isfinite(points)
    if not finite.all():
        i, k = (int(v) for v in np.argwhere(~finite)[0])
        raise InvalidInput(
            f"{name}: coordinate {k} of point {i} is {points[i, k]}, expected a finite number "
            f"({np.count_nonzero(~finite)} of {finite.size} are not)"
        )


def _shapely_coordinates(geometry: Any, kind: str, name: str) -> Points:
    if kind == "Polygon":
        geometry = geometry.exterior
    elif kind not in ("LineString", "LinearRing"):
        raise InvalidInput(f"{name} is a {kind}, expected a LineString, a LinearRing or a Polygon")
    coordinates: Points = np.asarray(geometry.coords)
    return coordinates if len(coordinates) else np.empty((0, 2))
