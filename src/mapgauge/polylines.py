"""Polylines: many sequences of points in two flat arrays.

``coords`` holds all points, ``offsets`` where each polyline starts; polyline ``i`` is ``coords[offsets[i]:offsets[i + 1]]``. It is
the layout of a GeoArrow linestring column and of shapely's ragged arrays. Lists of small arrays exist only outside.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.typing import Closed, Flags, Offsets, Points, PolylineLike, PolylinesLike

CLOSED_TOLERANCE = 0.1  # metres; the rule behind the published numbers (METRICS: when is a polyline closed)


@dataclass(frozen=True, slots=True)
class Polylines:
    """Many polylines of one dimension.

    >>> lines = Polylines.of([[[0, 0], [1, 0]], [[5, 5]]])
    >>> len(lines), lines.dimension
    (2, 2)
    >>> lines[0]
    array([[0., 0.],
           [1., 0.]])
    """

    coords: Points  # (points, dimension), float64, C-contiguous
    offsets: Offsets  # (polylines + 1,)

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
        return cls.join(arrays, 2 if dimension is None else dimension)

    @classmethod
    def join(cls, arrays: list[Points], dimension: int) -> "Polylines":
        """Pack checked arrays; those without points may have any dimension."""
        offsets = np.zeros(len(arrays) + 1, np.int64)
        np.cumsum([len(points) for points in arrays], out=offsets[1:])
        filled = [points for points in arrays if len(points)]
        coords = np.concatenate(filled) if filled else np.empty((0, dimension))
        return cls(np.ascontiguousarray(coords), offsets)

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return int(self.coords.shape[1])

    def __len__(self) -> int:
        """Number of polylines."""
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Points:
        """The points of one polyline, as a view."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"polyline {i} of {len(self)}")
        i %= len(self)
        return self.coords[self.offsets[i] : self.offsets[i + 1]]

    def __iter__(self) -> Iterator[Points]:
        """The points of each polyline, as views."""
        return (self[i] for i in range(len(self)))

    def closed(self, rule: Closed, tolerance: float = CLOSED_TOLERANCE) -> tuple[Flags, Flags]:
        """Which polylines are closed, and which of them repeat their first point as their last.

        ``True`` and ``False`` say so for all; then only an exact repetition is a closing point. ``"auto"`` looks at the ends: more
        than two points, and at most ``tolerance`` metres from the first to the last, which then is the closing point.
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


def as_points(polyline: PolylineLike, name: str, dimension: int | None = None) -> Points:
    """The points of one polyline as a float64 array ``(n, dimension)``; refuses what is not a polyline.

    ``name`` says in an error message which polyline it is. An empty one has shape ``(0, dimension)``, or ``(0, 2)``.
    """
    kind = getattr(polyline, "geom_type", None)
    if kind is not None:
        polyline = _shapely_coordinates(polyline, kind, name)
    masked = np.ma.getmask(polyline) if isinstance(polyline, np.ma.MaskedArray) else np.ma.nomask
    if np.any(masked):
        raise InvalidInput(f"{name} has {np.count_nonzero(masked)} masked values; fill or remove them first")
    try:
        points = np.asarray(polyline)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"{name} is not an array of points: {error}") from error
    if points.size == 0 and points.ndim <= 2:
        if dimension is not None and points.ndim == 2 and points.shape[1] not in (0, dimension):
            raise InvalidInput(f"{name}: points have {points.shape[1]} coordinates, expected {dimension}")
        return np.empty((0, points.shape[1] if points.ndim == 2 and points.shape[1] else dimension or 2))
    if points.dtype.kind not in "iuf":
        raise InvalidInput(
            f"{name} must hold numbers, got values of type {points.dtype} (for instance {points.flat[0]!r})"
        )
    if points.ndim == 1:
        raise InvalidInput(
            f"{name} is one flat list of {len(points)} numbers, expected points of shape (n, dimension), "
            "such as [[0, 0], [1, 0]]. One polyline where several are expected goes into a list."
        )
    if points.ndim != 2:
        raise InvalidInput(f"{name} has shape {points.shape}, expected (n, dimension)")
    if dimension is not None and points.shape[1] != dimension:
        raise InvalidInput(f"{name}: points have {points.shape[1]} coordinates, expected {dimension}")
    points = np.ascontiguousarray(points, dtype=np.float64)
    finite = np.isfinite(points)
    if not finite.all():
        i, k = (int(v) for v in np.argwhere(~finite)[0])
        raise InvalidInput(
            f"{name}: coordinate {k} of point {i} is {points[i, k]}, expected a finite number "
            f"({np.count_nonzero(~finite)} of {finite.size} are not)"
        )
    return points


def _shapely_coordinates(geometry: PolylineLike, kind: str, name: str) -> PolylineLike:
    if kind == "Polygon":
        geometry = geometry.exterior
    elif kind not in ("LineString", "LinearRing"):
        raise InvalidInput(f"{name} is a {kind}, expected a LineString, a LinearRing or a Polygon")
    coordinates = np.asarray(geometry.coords)
    return coordinates.reshape(len(coordinates), -1) if len(coordinates) else np.empty((0, 2))
