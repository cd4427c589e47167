"""The lines of a recording: the marks of all drawings, as Rerun can draw them.

Rerun has no dashes and no hatches. A false prediction is cut into dashes, and missed truth is red without hatches.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mapgauge.features.rerun.colours import Colours, colours_of_texts
from mapgauge.frames.map_frames import MapFrames
from mapgauge.markup import stroke_width
from mapgauge.metrics.colours import FOUND, MISSED
from mapgauge.metrics.table import colours_of
from mapgauge.results.assignment import Assignment
from mapgauge.results.marks import far_colour, levels_of_frames, runs_of
from mapgauge.typing import Floats, Indices, Points

# A negative radius is half a width in pixels. One in metres would be a tube near a camera.
TRUTH_RADIUS = -2.5
_HALF = -0.5  # of the width of a prediction
DASH = 1.5  # metres of a dash, at least
_GAP = 1.0  # metres between two dashes, at least


class DrawnLines(NamedTuple):
    """Lines with a colour and a radius. An instance may have several lines."""

    strips: list[Floats]  # points (n, 3), float32, in the coordinates of the vehicle
    colours: Colours
    radii: Floats
    instance: Indices  # of each line


def true_lines(side: MapFrames, strips: list[Floats], matched: Sequence[bool] | None) -> DrawnLines:
    """Return the true lines: grey if they are matched, red if they are missed; of their class without a matching."""
    if matched is None:
        by_class = colours_of(side.classes)
        texts = [by_class[side.classes[label]] for label in side.label.tolist()]
    else:
        texts = [FOUND if flag else MISSED for flag in matched]
    count = len(strips)
    return DrawnLines(strips, colours_of_texts(texts), np.full(count, TRUTH_RADIUS), instance=np.arange(count))


def predicted_lines(side: MapFrames, frames: Sequence[Assignment], motions: Floats, *, compared: bool) -> DrawnLines:
    """Return the predictions of frames: pieces in the colour of their distance to the truth, false ones in dashes.

    Args:
        side: The predictions.
        frames: The assignments of the same frames, with the predictions in the same order.
        motions: ``(frames, 4, 4)``, from the coordinates of polylines to those of the vehicle.
        compared: Whether predictions were matched with truth. Otherwise they have the colours of their classes.
    """
    by_class = colours_of(side.classes)
    levels = levels_of_frames(frames)
    strips: list[Floats] = []
    texts: list[str] = []
    radii: list[float] = []
    instance: list[int] = []
    at = 0
    row = 0
    for k, frame in enumerate(frames):
        matched = {match.prediction for match in frame.matches}
        closed = [*frame.predictions_closed, *[False] * len(frame.predictions)]
        for i, line in enumerate(frame.predictions):
            some = levels[at : at + len(line.points)]
            at += len(line.points)
            moved = _moved(line.points, motions[k])
            for run in runs_of(moved, some, closed=closed[i]):
                pieces = [run.points]
                if compared and i not in matched:
                    pieces = dashes(run.points)
                strips += pieces
                colour = far_colour(run.level) if compared else None
                texts += [colour or by_class[line.class_name]] * len(pieces)
                radii += [_HALF * stroke_width(line.confidence)] * len(pieces)
                instance += [row] * len(pieces)
            row += 1
    return DrawnLines(strips, colours_of_texts(texts), np.array(radii), instance=np.array(instance, np.int64))


def dashes(points: Points) -> list[Points]:
    """Return every second stretch of a line. A stretch ends at the first point after the length of a dash or a gap.

    >>> line = np.array([[0.0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0]])
    >>> [piece[:, 0].tolist() for piece in dashes(line)]
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    steps = np.sqrt(np.square(np.diff(points, axis=0)).sum(axis=1)).tolist()
    pieces = []
    start = 0
    length = 0.0
    drawn = True
    for k, step in enumerate(steps):
        length += step
        if length < (DASH if drawn else _GAP) and k + 1 < len(steps):
            continue
        if drawn:
            pieces.append(points[start : k + 2])
        drawn = not drawn
        start = k + 1
        length = 0.0
    return pieces or [points]


def _moved(points: Points, motion: Floats) -> Any:
    """Return points with three coordinates in those of the vehicle. Flat points lie on the ground."""
    dimension = points.shape[1]
    moved = np.zeros((len(points), 3), np.float32)
    moved[:, :dimension] = points @ motion[:dimension, :dimension].T + motion[:dimension, 3]
    return moved
