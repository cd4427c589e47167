"""The lines of one side of a frame and class, in an order that depends on their content only."""

from dataclasses import dataclass

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

    @property
    def after(self) -> Indices:
        """The point after each point; -1 after the last point of an open line."""
        after = np.arange(1, self.points.shape[1] + 1)
        after[self.start + self.count - 1] = np.where(self.ring, self.start, -1)
        return after


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
            points = _canonical(points, ring, directed)
            lines.append((float(confidence[k]), ring, points.ravel().tolist(), k - start, points))
    lines.sort(key=lambda line: line[:4])
    count = np.array([len(line[-1]) for line in lines], np.int64)
    network = Network(
        np.concatenate([np.empty((0, polylines.dimension)), *(line[-1] for line in lines)]).T.copy(order="C"),
        count.cumsum() - count,
        count,
        ring=np.array([line[1] for line in lines], np.bool_),
        confidence=np.array([line[0] for line in lines], np.float64),
    )
    return NetworkSide(network, np.array([line[3] for line in lines], np.int64))


def _canonical(points: Points, ring: bool, directed: bool) -> Points:
    """Return the points in the first of all equivalent orders: both directions, and all starts of a ring."""
    if directed:
        forms = [points]
    else:
        forms = [points, points[::-1]]
    if ring:
        least = points[np.lexsort(points.T[::-1])[0]]
        forms = [np.roll(form, -k, axis=0) for form in forms for k in np.flatnonzero((form == least).all(axis=1))]
    return min(forms, key=lambda form: form.ravel().tolist())
