"""What drawings show of errors: how far every piece of a prediction is from the truth.

Figures, the report, ``mapgauge view``, camera images and notebooks draw these numbers, so that all of them agree.
``docs/explanation/what-the-drawings-show.md`` explains them.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.metrics.colours import FAR
from mapgauge.typing import Indices, Points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapgauge.results.assignment import Assignment

STEPS = 6  # levels up to the cutoff; the last level is beyond it
NEAR = 2  # levels that are near: a third of the cutoff

Levels = NDArray[np.uint8]


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
    levels = levels_of_frames([assignment])
    ends = np.cumsum([len(line.points) for line in assignment.predictions])
    if len(ends):
        return np.split(levels, ends[:-1])
    return []


def levels_of_frames(assignments: "Sequence[Assignment]") -> Levels:
    """Return the levels of all predictions of some frames, one after the other; see ``levels_of``."""
    lines = [line.points[:, :2] for frame in assignments for line in frame.predictions]
    closed = [flag for frame in assignments for flag in _flags(frame.predictions_closed, len(frame.predictions))]
    cutoff = next((frame.cutoff for frame in assignments if frame.cutoff is not None), None)
    points = np.concatenate([np.empty((0, 2)), *lines])
    if cutoff is None:
        return np.zeros(len(points), np.uint8)
    truth: list[Points] = []
    truth_closed: list[bool] = []
    compared: list[range] = []  # the true lines that each prediction is compared with
    for frame in assignments:
        in_order, of_predictions = _lines_of_truth(frame, before=len(truth))
        flags = _flags(frame.truth_closed, len(frame.truth))
        truth += [frame.truth[j].points[:, :2] for j in in_order]
        truth_closed += [flags[j] for j in in_order]
        compared += of_predictions
    levels: Levels = kernels.marks.piece_levels(
        points,
        _offsets(lines),
        np.array(closed, np.bool_),
        truth=np.concatenate([np.empty((0, 2)), *truth]),
        truth_offsets=_offsets(truth),
        truth_closed=np.array(truth_closed, np.bool_),
        first=np.array([lines.start for lines in compared], np.int64),
        stop=np.array([lines.stop for lines in compared], np.int64),
        cutoff=cutoff,
        steps=STEPS,
    )
    return levels


def _lines_of_truth(frame: "Assignment", *, before: int) -> tuple[list[int], list[range]]:
    """Return the true lines of a frame class by class, and the ones that each prediction is compared with.

    These are the line that it is matched with, or all lines of its class, as places behind ``before`` other lines.
    """
    names = [line.class_name for line in frame.truth]
    in_order = sorted(range(len(names)), key=names.__getitem__)
    place = {j: before + k for k, j in enumerate(in_order)}
    of_class: dict[str, range] = {}
    for j in in_order:
        first = place[j]
        if names[j] in of_class:
            first = of_class[names[j]].start
        of_class[names[j]] = range(first, place[j] + 1)
    of_predictions = [of_class.get(line.class_name, range(0)) for line in frame.predictions]
    for match in frame.matches:
        of_predictions[match.prediction] = range(place[match.truth], place[match.truth] + 1)
    return in_order, of_predictions


def _flags(given: "Sequence[bool]", count: int) -> "Sequence[bool]":
    """Return which lines are closed. Without flags, none is."""
    if len(given) == count:
        return given
    return [*given, *[False] * (count - len(given))]


def _offsets(lines: "Sequence[Points]") -> Indices:
    return np.concatenate([[0], np.cumsum([len(line) for line in lines], dtype=np.int64)])


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
