"""Gives polylines a start and a direction that depend on their shape only.

Resampling begins at the first point of a polyline. Many detectors reverse a line or begin a polygon elsewhere from one
frame to the next. The samples would then lie at other places of the same line, and a map that stands still would seem
to jitter.
"""

import numpy as np

from mapgauge.geometry.polylines import CLOSED_TOLERANCE, Polylines, ranges
from mapgauge.typing import Flags, Forward, Indices

# Lines start at their lower end along this direction, forward and to the left. Few lines of a road run across it.
_ALONG = {"x": np.array([0.54, 0.84]), "y": np.array([-0.84, 0.54])}


def oriented(polylines: Polylines, forward: Forward | None = None) -> Polylines:
    """Return polylines that start at their lower end, and polygons that start at their lowest point, counter-clockwise.

    Low is meant along a fixed direction in the plane.

    Args:
        polylines: The polylines.
        forward: The axis that points forward. If None, it is taken to be x.

    >>> lines = Polylines.of([[[9, 0], [0, 0]], [[0, 1], [1, 1], [1, 0], [0, 0], [0, 1]]])
    >>> [line.tolist() for line in oriented(lines)]
    [[[0.0, 0.0], [9.0, 0.0]], [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]]
    """
    along = _ALONG[forward or "x"]
    counts = np.diff(polylines.offsets)
    rows = np.flatnonzero(counts > 1)
    first, last = polylines.offsets[rows], polylines.offsets[rows + 1] - 1
    gap = polylines.coords[last] - polylines.coords[first]
    closed = (counts[rows] > 3) & (np.sqrt(np.square(gap).sum(axis=1)) <= CLOSED_TOLERANCE)
    order = np.arange(len(polylines.coords))
    _reverse(order, first[~closed], last[~closed], (gap[~closed, :2] * along).sum(axis=1) < 0)
    coords = polylines.coords.copy()
    for a, b in zip(first[closed].tolist(), last[closed].tolist(), strict=True):
        ring = coords[a : b + 1]
        x, y = ring[:, 0] - ring[0, 0], ring[:, 1] - ring[0, 1]
        if (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() < 0:
            ring = ring[::-1]
        body = ring[:-1]
        start = int(np.argmin((body[:, :2] * along).sum(axis=1)))
        coords[a : b + 1] = np.concatenate([body[start:], body[:start], body[start : start + 1]])
    return Polylines.unchecked(np.ascontiguousarray(coords[order]), polylines.offsets)


def _reverse(order: Indices, first: Indices, last: Indices, which: Flags) -> None:
    """Reverse the given spans of an order of points."""
    first, last = first[which], last[which]
    sizes = last - first + 1
    forwards = ranges(first, sizes)
    order[forwards] = np.repeat(first + last, sizes) - forwards
