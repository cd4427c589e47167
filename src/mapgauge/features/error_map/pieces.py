"""Cuts true lines into pieces of the road that are the same from frame to frame.

The world has a grid with ``STEP`` metres between its lines, which pass through the origin. A segment of a true line
that runs more along x crosses the grid lines ``x = k * STEP``, and a segment that runs more along y those of y. Each
crossing is a *sample*. So a road is sampled at the same places in every frame, wherever a frame begins to see it.

Samples of one class on one grid line are sorted along it. Where the next sample is more than ``APART`` metres away, a
new *piece* begins. A piece lies at the mean of its samples, and is as long as the road from halfway before to halfway
after its grid line. Means are sums of whole numbers, so they do not depend on the order of the frames.
"""

from typing import NamedTuple

import numpy as np

from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Flags, Floats, Indices

STEP = 0.5  # metres between two grid lines
APART = 0.25  # metres between samples on a grid line; those that are farther apart are different pieces
# A segment runs more along x if |dx| >= TURN * |dy|. It is not 1, because roads at exactly 45 degrees are more frequent
# than others, and rounding would decide about them in every frame anew.
TURN = 0.9
_PLACES = 10_000  # of means: a tenth of a millimetre
_SLOPES = 1_000_000
_MOST_LINES = 1 << 33  # grid lines on each side of the origin


class GridCrossings(NamedTuple):
    """Crossings of segments and grid lines."""

    segment: Indices  # the segment of each sample
    along_x: Flags  # whether the segment runs more along x
    line: Indices  # the number k of the grid line
    across: Floats  # metres: the place on the grid line
    slope: Floats  # the growth of this place per metre
    at_end: Flags  # whether the end of the segment is nearer than its start


class RoadPieces(NamedTuple):
    """Pieces of the road, sorted by class, direction, grid line and place on it."""

    label: Indices  # the class of each piece
    x: Floats  # metres in the world: the middle
    y: Floats
    half_x: Floats  # metres: from the middle to one end; the other end is opposite
    half_y: Floats

    @property
    def length(self) -> Floats:
        """The length of each piece in metres."""
        length: Floats = 2 * np.sqrt(self.half_x * self.half_x + self.half_y * self.half_y)
        return length


def samples_of(start: Floats, end: Floats) -> GridCrossings:
    """Return where segments cross the grid. ``start`` and ``end`` are ``(segments, 2)``, in metres in the world.

    A segment that ends on a grid line at its larger coordinate crosses it, and one that begins there does not. So a
    line that has a point on a grid line is sampled there once.

    >>> found = samples_of(np.array([[0.2, 3.0]]), np.array([[1.0, 3.4]]))
    >>> found.line.tolist(), found.across.round(3).tolist(), found.at_end.tolist()
    ([1, 2], [3.15, 3.4], [False, True])
    """
    step = end - start
    along_x = np.abs(step[:, 0]) >= TURN * np.abs(step[:, 1])
    first = np.where(along_x, start[:, 0], start[:, 1])
    last = np.where(along_x, end[:, 0], end[:, 1])
    # In numbers of grid lines. Both ends are rounded down, so every number above the lower end is crossed.
    below = np.floor(np.minimum(first, last) / STEP).astype(np.int64)
    above = np.floor(np.maximum(first, last) / STEP).astype(np.int64)
    count = above - below
    segment = np.repeat(np.arange(len(start)), count)
    line = ranges(below + 1, count)
    along_x = along_x[segment]
    run = (last - first)[segment]
    share = (line * STEP - first[segment]) / run
    rise = np.where(along_x, step[segment, 1], step[segment, 0])
    base = np.where(along_x, start[segment, 1], start[segment, 0])
    return GridCrossings(
        segment=segment,
        along_x=along_x,
        line=line,
        across=base + share * rise,
        slope=rise / run,
        at_end=share > 0.5,
    )


def grid_keys(label: Indices, along_x: Flags, line: Indices) -> Indices:
    """Return a number for the class, the direction and the grid line of each sample. Keys sort in this order."""
    if len(line) and np.abs(line).max() >= _MOST_LINES:
        raise OverflowError("a sample is too far from the origin")  # poses are checked before
    keys: Indices = (2 * label + along_x) * (2 * _MOST_LINES) + (line + _MOST_LINES)
    return keys


def pieces_of(keys: Indices, across: Floats, slope: Floats) -> tuple[RoadPieces, Indices]:
    """Return the pieces that samples belong to, and the piece of each sample.

    ``keys`` come from ``grid_keys``, the others from ``samples_of``.
    """
    order = np.lexsort((across, keys))
    keys = keys[order]
    place = across[order]
    begins = np.ones(len(keys), np.bool_)
    begins[1:] = (np.diff(keys) != 0) | (np.diff(place) > APART)
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(begins) - 1
    first = np.flatnonzero(begins)
    count = np.diff(np.append(first, len(keys)))
    kind, line = np.divmod(keys[first], 2 * _MOST_LINES)
    middle = _mean(place, first, count, per_unit=_PLACES)
    rise = _mean(slope[order], first, count, per_unit=_SLOPES)
    on_grid = (line - _MOST_LINES) * STEP
    along_x = kind % 2 == 1
    half = np.full(len(first), STEP / 2)
    return RoadPieces(
        label=kind // 2,
        x=np.where(along_x, on_grid, middle),
        y=np.where(along_x, middle, on_grid),
        half_x=np.where(along_x, half, half * rise),
        half_y=np.where(along_x, half * rise, half),
    ), number


def _mean(values: Floats, first: Indices, count: Indices, per_unit: int) -> Floats:
    """Return the mean of each run of values, rounded. Whole numbers add up to the same sum in any order."""
    whole: Indices = np.rint(values * per_unit).astype(np.int64)
    if not len(first):
        return np.zeros(0)
    sums = np.add.reduceat(whole, first)
    mean: Floats = sums / count / per_unit
    return mean
