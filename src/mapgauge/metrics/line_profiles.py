"""Compares lines of different frames as functions along an axis, for mAS. Many pairs are compared at once.

The earlier line of a pair is moved into the later frame. Both lines are read as functions along the axis on which the
later one is longer, at the same places. A line that has several values at a place has their mean there.
"""

from typing import NamedTuple

import numpy as np

from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.typing import Bounds, Flags, Floats, Indices, Points

PLACES = 20  # places at which two lines are compared
_BLOCK = 256  # pairs that are compared together; they take some megabytes


class _Lines(NamedTuple):
    """One line of each pair."""

    points: Points  # (points, 2), line by line
    start: Indices  # (lines,): the first point of each line
    sizes: Indices  # (lines,): the number of points of each line


def compare_lines(
    polylines: Polylines, pairs: Indices, motions: Floats, region: Bounds | None
) -> tuple[Floats, Floats, Flags]:
    """Return how far the lines of each pair are apart, and how much their mean turning angles differ.

    Args:
        polylines: All lines.
        pairs: The earlier and the later line of each pair, ``(pairs, 2)``.
        motions: The motion from the earlier frame to the later one, ``(pairs, 4, 4)``.
        region: The region of each frame. Only places inside that of both frames are compared.

    Returns:
        The mean distance in metres, the difference of the mean turning angles in radians, and whether the lines have a
        common place; without one, the numbers are 0.
    """
    numbers, common = np.empty((2, len(pairs))), np.empty(len(pairs), np.bool_)
    for first in range(0, len(pairs), _BLOCK):
        block = slice(first, first + _BLOCK)
        numbers[:, block], common[block] = _compared(polylines, pairs[block], motions[block], region)
    return numbers[0], numbers[1], common


def _compared(polylines: Polylines, pairs: Indices, motions: Floats, region: Bounds | None) -> tuple[Floats, Flags]:
    earlier, later = _lines(polylines, pairs[:, 0]), _lines(polylines, pairs[:, 1])
    earlier = earlier._replace(points=_moved(earlier, motions))
    low, high = (
        [end.reduceat(line.points, line.start) for line in (earlier, later)] for end in (np.minimum, np.maximum)
    )
    axis = np.argmax(high[1] - low[1], axis=1)
    mine = np.arange(len(pairs)), axis
    begin, end = np.maximum(low[0], low[1])[mine], np.minimum(high[0], high[1])[mine]
    at = begin[:, None] + (np.arange(PLACES) + 0.5) / PLACES * (end - begin)[:, None]
    heights = np.stack([_heights(line, axis, at, motions, region) for line in (earlier, later)])
    # Nowhere if ``begin >= end``: a place that both lines have lies between them.
    there: Flags = np.isfinite(heights[0]) & np.isfinite(heights[1])
    numbers, count = np.zeros((2, len(pairs))), there.sum(axis=1)
    for places in np.unique(count[count > 0]).tolist():
        rows = np.flatnonzero(count == places)
        some = there[rows]
        x, (y0, y1) = at[rows][some].reshape(-1, places), heights[:, rows][:, some].reshape(2, -1, places)
        numbers[0, rows] = np.abs(y1 - y0).mean(axis=1)
        if places > 2:
            numbers[1, rows] = np.abs(_turning(x, y1) - _turning(x, y0))
    return numbers, count > 0


def _lines(polylines: Polylines, rows: Indices) -> _Lines:
    sizes = np.diff(polylines.offsets)[rows]
    points = polylines.coords[ranges(polylines.offsets[rows], sizes), :2]
    return _Lines(points, sizes.cumsum() - sizes, sizes)


def _moved(lines: _Lines, motions: Floats) -> Points:
    """Return the points of earlier lines in the later frame."""
    x, y = lines.points.T
    turn = np.repeat(motions, lines.sizes, axis=0)
    return np.stack([x * row[:, 0] + y * row[:, 1] + row[:, 3] for row in (turn[:, 0], turn[:, 1])], axis=1)


def _heights(lines: _Lines, axis: Indices, at: Floats, motions: Floats, region: Bounds | None) -> Floats:
    """Return the mean value of each line at each place, over its points there inside both regions; NaN without any."""
    line = np.repeat(np.arange(len(axis)), lines.sizes - 1)
    first = ranges(lines.start, lines.sizes - 1)
    u, v = lines.points[first, axis[line]], lines.points[first + 1, axis[line]]
    low, high, places = np.minimum(u, v)[:, None], np.maximum(u, v)[:, None], at[line]
    segment, place = np.nonzero((low <= places) & (places < high))
    # Few places lie on a segment, so everything else is computed for these only.
    line, first, along = line[segment], first[segment], places[segment, place]
    across = 1 - axis[line]
    share = (along - u[segment]) / (v - u)[segment]
    start, end = lines.points[first, across], lines.points[first + 1, across]
    value = start + share * (end - start)
    if region is not None:
        x, y = np.where(across == 1, along, value), np.where(across == 1, value, along)
        inside = _is_inside(x, y, region)
        turn = motions[line]
        x, y = x - turn[:, 0, 3], y - turn[:, 1, 3]  # back into the earlier frame
        inside &= _is_inside(x * turn[:, 0, 0] + y * turn[:, 1, 0], x * turn[:, 0, 1] + y * turn[:, 1, 1], region)
        line, place, value = line[inside], place[inside], value[inside]
    key = line * PLACES + place
    number = np.bincount(key, minlength=at.size)
    total = np.bincount(key, value, minlength=at.size)
    return (total / np.where(number, number, np.nan)).reshape(at.shape)


def _is_inside(x: Floats, y: Floats, region: Bounds) -> Flags:
    return (x >= region[0]) & (x <= region[2]) & (y >= region[1]) & (y <= region[3])


def _turning(at: Floats, height: Floats) -> Floats:
    """Return the mean turning angle of functions ``(lines, places)``, in radians."""
    angle = np.arctan(np.diff(height) / np.diff(at))
    mean: Floats = np.abs(np.diff(angle)).mean(axis=1)
    return mean
