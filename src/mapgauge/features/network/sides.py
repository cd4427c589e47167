"""The lines of one side of a frame and class, in an order that depends on their content only."""

from dataclasses import dataclass
from functools import cmp_to_key
from typing import NamedTuple

import numpy as np

from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Flags, Floats, Indices, Points


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The lines of one side. Lines must be in an order that depends on their content only, and have points."""

    points: Floats  # (dimension, points), contiguous
    start: Indices  # (lines,): the first point of each line
    count: Indices  # (lines,): its number of points
    ring: Flags  # (lines,): whether the last point is linked to the first
    confidence: Floats  # (lines,)

    @property
    def lines(self) -> Indices:
        """The lines as kernels need them."""
        return np.stack([self.start, self.count, self.ring], axis=1).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class NetworkSide:
    """The lines of one side of a frame and class."""

    network: Network
    index: Indices  # (lines,): the index of each line in the input

    @property
    def line(self) -> Indices:
        """The line of each point."""
        return np.repeat(np.arange(len(self.index)), self.network.count)

    @property
    def confidence(self) -> Floats:
        """The confidence of each point."""
        return np.repeat(self.network.confidence, self.network.count)


def side_of(
    polylines: Polylines, start: int, stop: int, closed: Flags, repeats: Flags, confidence: Floats, directed: bool
) -> NetworkSide:
    """Return the lines ``start`` to ``stop`` without closing points and without lines that have no points.

    A polyline repeats if its last point is the first.
    """
    lines = []
    for k in range(start, stop):
        points = polylines.coords[polylines.offsets[k] : polylines.offsets[k + 1] - int(repeats[k])]
        if len(points):
            ring = bool(closed[k]) and len(points) > 2
            lines.append(_Line(float(confidence[k]), ring, _canonical(points, ring, directed), k - start))
    lines.sort(key=cmp_to_key(_compare_lines))
    count = np.array([len(line.points) for line in lines], np.int64)
    network = Network(
        np.concatenate([np.empty((0, polylines.dimension)), *(line.points for line in lines)]).T.copy(order="C"),
        count.cumsum() - count,
        count,
        np.array([line.ring for line in lines], np.bool_),
        np.array([line.confidence for line in lines], np.float64),
    )
    return NetworkSide(network, np.array([line.place for line in lines], np.int64))


class _Line(NamedTuple):
    """A line whose points have the first of all equivalent orders."""

    confidence: float
    ring: bool
    points: Points
    place: int  # in the input


def _compare_lines(first: _Line, second: _Line) -> int:
    """Return a negative number if the first line comes before the second: by confidence, kind, points and place."""
    before, after = first[:2], second[:2]
    if before == after:
        order = _compare(first.points, second.points)
        return order if order else first.place - second.place
    return -1 if before < after else 1


def _compare(first: Points, second: Points) -> int:
    """Return -1, 0 or 1 for the lexicographic order of two lists of points."""
    length = min(len(first), len(second))
    x, y = first[:length].ravel(), second[:length].ravel()
    differ = np.flatnonzero(x != y)
    if len(differ):
        return -1 if x[differ[0]] < y[differ[0]] else 1
    return (len(first) > len(second)) - (len(first) < len(second))


def _canonical(points: Points, ring: bool, directed: bool) -> Points:
    """Return the points in the first of all equivalent orders: both directions, and all starts of a ring."""
    forms = [points] if directed else [points, points[::-1]]
    if ring:
        least = points[np.lexsort(points.T[::-1])[0]]
        forms = [np.roll(form, -k, axis=0) for form in forms for k in np.flatnonzero((form == least).all(axis=1))]
    return min(forms, key=cmp_to_key(_compare))
