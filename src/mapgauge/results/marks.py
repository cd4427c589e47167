"""What drawings show of errors: how far every piece of a prediction is from the truth, and how wide lines are.

Figures, the report, ``mapgauge view``, camera images and notebooks draw these numbers, so that all of them agree.
``docs/explanation/what-the-drawings-show.md`` explains them.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.metrics.colours import FAR
from mapgauge.typing import Floats, Points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapgauge.frames.instances import Instance
    from mapgauge.results.assignment import Assignment

STEPS = 6  # levels up to the cutoff; the last level is beyond it
NEAR = 2  # levels that are near: a third of the cutoff
THINNEST = 1.0  # width of a prediction with confidence 0, as a multiple of the thinnest line
WIDEST = 3.2  # the same with confidence 1

Levels = NDArray[np.uint8]


def stroke_width(confidence: float | None) -> float:
    """Return how wide a prediction is drawn, as a multiple of the thinnest line.

    >>> stroke_width(0.0), stroke_width(1.0), stroke_width(None)
    (1.0, 3.2, 3.2)
    """
    sure = 1.0 if confidence is None else confidence
    return THINNEST + (WIDEST - THINNEST) * sure


def far_colour(level: int) -> str | None:
    """Return the colour of a piece of a prediction at a level of ``levels_of``; None for the colour of its class."""
    if level < NEAR:
        return None
    return FAR[min((level - NEAR) * (len(FAR) - 1) // (STEPS - NEAR), len(FAR) - 1)]


def levels_of(assignment: "Assignment") -> list[Levels]:
    """Return a level for each point of each prediction: how far the piece that begins there is from the truth.

    A piece is the segment between two consecutive compared points. Its distance is that of its middle to the true line
    that the prediction is matched with. For a prediction without a match, it is that to the nearest true line of its
    class. Distances are horizontal. The level is the number of whole sixths of the cutoff, and 6 from the cutoff on and
    where there is no truth of the class. The last point of an open line repeats the level before it.

    Without a cutoff, nothing was compared, and all levels are 0.
    """
    cutoff = assignment.cutoff
    if cutoff is None:
        return [np.zeros(len(line.points), np.uint8) for line in assignment.predictions]
    truth = [_segments(line, assignment.truth_closed, j) for j, line in enumerate(assignment.truth)]
    partner = {match.prediction: match.truth for match in assignment.matches}
    of_class: dict[str, _Segments] = {}
    for name in dict.fromkeys(line.class_name for line in assignment.predictions):
        same = [truth[j] for j, line in enumerate(assignment.truth) if line.class_name == name]
        of_class[name] = _Segments(
            np.concatenate([np.empty((0, 2)), *(segments.begin for segments in same)]),
            np.concatenate([np.empty((0, 2)), *(segments.end for segments in same)]),
        )
    return [
        _levels(
            _segments(line, assignment.predictions_closed, i),
            truth[partner[i]] if i in partner else of_class[line.class_name],
            len(line.points),
            cutoff=cutoff,
        )
        for i, line in enumerate(assignment.predictions)
    ]


class LineRun(NamedTuple):
    """Consecutive pieces of a line with the same level."""

    level: int
    points: Points


def runs_of(points: Points, levels: Levels, *, closed: bool) -> "list[LineRun]":
    """Return the pieces of a line as few longer lines, each with one level.

    >>> line = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0]])
    >>> [(level, run[:, 0].tolist()) for level, run in runs_of(line, np.array([0, 0, 4, 4], np.uint8), closed=False)]
    [(0, [0.0, 1.0, 2.0]), (4, [2.0, 3.0])]
    """
    if closed:
        points = np.concatenate([points, points[:1]])
    pieces = levels[: max(len(points) - 1, 1)]
    starts = [0, *(np.flatnonzero(np.diff(pieces.astype(np.int64))) + 1).tolist(), len(pieces)]
    return [LineRun(int(pieces[a]), points[a : b + 1]) for a, b in pairwise(starts) if len(points)]


class _Segments(NamedTuple):
    """Segments, by where they begin and end."""

    begin: Points  # (segments, 2)
    end: Points


def _segments(line: "Instance", closed: "Sequence[bool]", place: int) -> _Segments:
    """Return the pieces of an instance. A single point is a piece without length."""
    points = line.points[:, :2]
    if place < len(closed) and closed[place]:
        return _Segments(points, np.roll(points, -1, axis=0))
    if len(points) == 1:
        return _Segments(points, points)
    return _Segments(points[:-1], points[1:])


def _levels(pieces: _Segments, truth: _Segments, count: int, cutoff: float) -> Levels:
    """Return the level of each of ``count`` points."""
    if not len(pieces.begin):
        return np.full(count, STEPS, np.uint8)
    middle = (pieces.begin + pieces.end) / 2
    levels = np.minimum(_distances(middle, truth) * (STEPS / cutoff), STEPS).astype(np.uint8)
    return levels[np.minimum(np.arange(count), len(levels) - 1)]


def _distances(points: Points, segments: _Segments) -> Floats:
    """Return the distance of each point to the nearest of some segments; infinity if there are none."""
    if not len(segments.begin):
        return np.full(len(points), np.inf)
    steps = segments.end - segments.begin
    square = np.square(steps).sum(axis=1)
    x, y = (points[:, None, k] - segments.begin[None, :, k] for k in (0, 1))
    share = np.divide(x * steps[:, 0] + y * steps[:, 1], square, out=np.zeros_like(x), where=square > 0).clip(0, 1)
    gap = np.square(x - share * steps[:, 0]) + np.square(y - share * steps[:, 1])
    least: Floats = np.sqrt(gap.min(axis=1))
    return least
