"""Computes how near predictions are to truth: Chamfer distances between coarse lines in a few frames.

The distances tell whether axes are turned or classes swapped. They are never used as a score.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Floats, Indices, Points

Motion: TypeAlias = Callable[[Points], Points]  # moves points (..., 2)
NearPairs: TypeAlias = tuple[Indices, Indices, Floats]  # predictions, true lines and distances
T = TypeVar("T")

POINTS = 10  # points per line
_PAIRS = 512  # lines that are compared at once
_LONGEST = 1e6  # metres; a longer step between two points counts as if it were so long
ANY = 0  # the only class if classes do not count
_ROUNDED = 1 + 1e-9  # a mean distance may be rounded down
_NEAR = 2.0  # metres; a truth instance votes for the class of its nearest prediction within this distance
_VOTES = 3  # number of votes needed per class
_WON = 0.6  # share of the votes that a class needs
_OWN = 0.25  # with a larger share for the right class, nothing is swapped
_INSTANCES = 10  # truth instances needed for a judgement
_SAME = 0.001  # metres; two turns after which the distances differ by no more cannot be told apart
_APART = 1.0  # metres; if the sides are nearer than this, the axes are right


@dataclass(frozen=True, slots=True)
class AxisTurn:
    """A turn or mirroring that moves the predictions onto the axes of the truth."""

    matrix: tuple[tuple[int, int], tuple[int, int]] = ((1, 0), (0, 1))
    what: str = ""  # what is wrong with the predictions
    degrees: int = 0  # of a turn; 0 for a mirroring
    instead: str = ""  # what to do about a mirroring
    explanation: str = ""

    def __call__(self, points: Points) -> Points:
        """Turn points ``(..., 2)``."""
        if not self.what:
            return points
        turned: Points = points @ np.array(self.matrix).T
        return turned

    def remedy(self, file: str, *, certain: bool) -> Remedy:
        """Return what to do about the predictions, and ``certain`` if both sides know that their axes differ so."""
        if not self.degrees:
            return Remedy.of(self.instead)
        file = file or "FILE"
        if certain:
            auto = ('. Or pass axes="auto" to evaluate', f" or {file},rotate=auto")
        else:
            auto = ("", "")
        return Remedy(f"Use predictions.rotate({self.degrees}){auto[0]}", f"Use {file},rotate={self.degrees}{auto[1]}")


class FittedLines(NamedTuple):
    """Some lines of a frame."""

    points: Points  # (lines, POINTS, 2)
    label: Indices  # (lines,): numbers of the classes

    def moved(self, motion: Motion) -> "FittedLines":
        """Return the lines after a motion."""
        return self._replace(points=motion(self.points))

    def of_class(self, label: int) -> "FittedLines":
        """Return the lines of one class."""
        own = self.label == label
        return FittedLines(self.points[own], self.label[own])


class JoinedLines(NamedTuple):
    """The lines of one side of several frames, one frame after another."""

    points: Points  # (lines, POINTS, 2)
    label: Indices  # (lines,)
    sizes: Indices  # (frames,): number of lines of each frame
    frame: Indices  # (lines,)

    @classmethod
    def of(cls, frames: Sequence[FittedLines]) -> "JoinedLines":
        """Join the lines of some frames."""
        sizes = np.array([len(lines.label) for lines in frames], np.int64)
        return cls(
            points=np.concatenate([np.empty((0, POINTS, 2)), *(lines.points for lines in frames)]),
            label=np.concatenate([np.empty(0, np.int64), *(lines.label for lines in frames)]),
            sizes=sizes,
            frame=np.repeat(np.arange(len(sizes)), sizes),
        )

    def of_frames(self, values: Floats) -> Floats:
        """Return the mean over the lines of each frame, and 0 without lines."""
        total = np.bincount(self.frame, values, len(self.sizes))
        return np.asarray(total / np.maximum(self.sizes, 1))


@dataclass(frozen=True, eq=False, kw_only=True)
class LinePairs:
    """Predictions and truth of several frames, one after another, and which of their lines may be compared.

    A frame may stand here several times, each time with the truth of another frame.
    """

    predictions: JoinedLines
    truth: JoinedLines
    predicted: Indices  # (pairs,): pairs of lines of the same frame and class, prediction by prediction
    true: Indices  # (pairs,)

    @classmethod
    def of(cls, frames: Sequence[tuple[FittedLines, FittedLines]]) -> "LinePairs":
        """Return the lines of some frames, each given by its predictions and a truth."""
        predictions = JoinedLines.of([lines for lines, _ in frames])
        truth = JoinedLines.of([lines for _, lines in frames])
        # Each prediction with all true lines of its frame.
        beside = truth.sizes[predictions.frame]
        first = (truth.sizes.cumsum() - truth.sizes)[predictions.frame]
        predicted = np.repeat(np.arange(len(predictions.label)), beside)
        true = ranges(first, beside)
        same = np.flatnonzero(predictions.label[predicted] == truth.label[true])
        return cls(predictions=predictions, truth=truth, predicted=predicted[same], true=true[same])

    @cached_property
    def true_lines(self) -> Points:
        """The points of the true lines with the lines last."""
        return lines_last(self.truth.points)

    @cached_property
    def _true_boxes(self) -> tuple[Points, Points]:
        """The lowest and the highest coordinates of the true lines."""
        return self.true_lines.min(axis=1), self.true_lines.max(axis=1)

    def near(self, points: Points, most: float) -> NearPairs:
        """Return the pairs whose Chamfer distance is below ``most``, and these distances.

        Args:
            points: The predictions after a motion.
            most: Metres.
        """
        lines = lines_last(points)
        low = lines.min(axis=1)
        high = lines.max(axis=1)
        true_low, true_high = self._true_boxes
        predicted = self.predicted
        true = self.true
        # No Chamfer distance is shorter than the gap between the boxes.
        for k in range(2):
            above = low[k][predicted] - true_high[k][true]
            below = true_low[k][true] - high[k][predicted]
            candidates = np.flatnonzero(np.maximum(above, below) < most)
            predicted = predicted[candidates]
            true = true[candidates]
        apart = chamfer_of_pairs(lines, self.true_lines, predicted, columns=true)
        within = np.flatnonzero(apart < most)
        return predicted[within], true[within], apart[within]

    def nearest(self, points: Points, most: float) -> tuple[Floats, Floats]:
        """Return the distance of each prediction from the nearest true line, and of each true line, at most ``most``.

        Args:
            points: The predictions after a motion.
            most: Metres.
        """
        predicted, true, apart = self.near(points, most)
        of_prediction = np.full(len(self.predictions.label), most)
        of_truth = np.full(len(self.truth.label), most)
        np.minimum.at(of_prediction, predicted, apart)
        np.minimum.at(of_truth, true, apart)
        return of_prediction, of_truth


def nearest_of(lines: Indices, others: Indices, apart: Floats) -> tuple[Indices, Indices]:
    """Return the lines of some pairs, and the nearest other line of each: the first one of those that are as near."""
    order = np.lexsort((others, apart, lines))
    found, first = np.unique(lines[order], return_index=True)
    return found, others[order][first]


class CheckedFrame(NamedTuple):
    """The lines of one frame, ``(lines, points, dimension)``, with their labels."""

    truth: Points
    truth_label: Indices
    predictions: Points
    label: Indices


@dataclass(frozen=True, eq=False)
class CheckedFrames:
    """Truth and the most confident predictions of a few frames."""

    frames: tuple[CheckedFrame, ...]

    @classmethod
    def of(cls, predictions: MapFrames, truth: MapFrames) -> "CheckedFrames":
        """Prepare two sides that have the same frames."""
        every = range(len(truth))
        true = spread(truth, rows_of_frames(truth, every), most=24)
        sure = []
        for y, x in zip(true, rows_of_frames(predictions, every), strict=True):
            sure.append(most_confident(predictions, x, 2 * len(y)))
        predicted = spread(predictions, sure, most=100)  # there may be no confidences to choose by
        both = [i for i in every if len(true[i]) and len(predicted[i])]
        true = [true[i] for i in both]
        predicted = [predicted[i] for i in both]
        frames = []
        lines = zip(coarse_frames(truth, true), coarse_frames(predictions, predicted), strict=True)
        for y, x, (y_lines, x_lines) in zip(true, predicted, lines, strict=True):
            frames.append(
                CheckedFrame(
                    truth=y_lines,
                    truth_label=truth.label[y],
                    predictions=x_lines,
                    label=predictions.label[x],
                )
            )
        return cls(tuple(frames))

    @cached_property
    def truths(self) -> int:
        """Number of truth instances."""
        return sum(len(frame.truth) for frame in self.frames)

    @cached_property
    def pairs(self) -> LinePairs:
        """All lines in the plane, each with all lines of the other side of its frame."""
        return _in_plane(self.frames, self.frames)

    @cached_property
    def near(self) -> NearPairs:
        """The pairs of lines that are near each other before any motion."""
        return self.pairs.near(self.pairs.predictions.points, _NEAR * _ROUNDED)

    def gap(self, motion: Motion = np.asarray, most: float = np.inf) -> float:
        """Return the median distance in metres from a truth instance to the nearest prediction.

        It is never too small. It is exact if the two distances in the middle are at most ``most``.
        """
        return _gap(self.pairs, self.pairs.near(motion(self.pairs.predictions.points), most * _ROUNDED))

    def gap_to_others(self, motion: Motion = np.asarray) -> float:
        """Return the same distance to the predictions of another frame."""
        far = len(self.frames) // 2
        pairs = _in_plane(self.frames[far:] + self.frames[:far], self.frames)
        return _gap(pairs, pairs.near(motion(pairs.predictions.points), np.inf))

    def nearest(self, turn: AxisTurn) -> tuple[Indices, Indices]:
        """Return the true lines less than 2 m from a turned prediction, and the nearest prediction of each.

        Lines are numbered frame by frame.
        """
        if turn.what:
            predicted, true, apart = self.pairs.near(turn(self.pairs.predictions.points), _NEAR * _ROUNDED)
        else:
            predicted, true, apart = self.near
        near = apart < _NEAR
        return nearest_of(true[near], predicted[near], apart[near])


def _gap(pairs: LinePairs, near: NearPairs) -> float:
    """Return the median distance of a true line from the nearest prediction, given the pairs that are near."""
    _, true, apart = near
    of_truth = np.full(len(pairs.truth.label), np.inf)
    np.minimum.at(of_truth, true, apart)
    return float(np.median(of_truth))


def _in_plane(predictions: Sequence[CheckedFrame], truth: Sequence[CheckedFrame]) -> LinePairs:
    """Return all predictions of each frame with all true lines of another."""
    frames = []
    for x, y in zip(predictions, truth, strict=True):
        predicted = FittedLines(x.predictions[..., :2], np.full(len(x.label), ANY))
        true = FittedLines(y.truth[..., :2], np.full(len(y.truth_label), ANY))
        frames.append((predicted, true))
    return LinePairs.of(frames)


def near_chamfer(x: Points, y: Points, most: float) -> NDArray[np.float64]:
    """Return the ``(n, m)`` Chamfer distances between lines ``(n, points, 2)`` and ``(m, points, 2)``.

    It is infinity for lines whose boxes are farther apart than ``most``. No Chamfer distance is shorter than the gap
    between the boxes.
    """
    distance = np.full((len(x), len(y)), np.inf)
    gap = np.maximum(x.min(axis=1)[:, None] - y.max(axis=1), y.min(axis=1) - x.max(axis=1)[:, None])
    rows, columns = np.nonzero((gap <= most * _ROUNDED).all(axis=2))
    distance[rows, columns] = chamfer_of_pairs(lines_last(x), lines_last(y), rows, columns=columns)
    return distance


def lines_last(points: Points) -> Points:
    """Return lines ``(lines, points, 2)`` as ``(2, points, lines)``, so that numpy computes many of them at once."""
    return np.ascontiguousarray(points.transpose(2, 1, 0))


def chamfer_of_pairs(x: Points, y: Points, rows: Indices, columns: Indices) -> Floats:
    """Return the Chamfer distances of the lines ``rows`` of x and ``columns`` of y, some pairs after another.

    Args:
        x: Points with the lines last, ``(2, points, lines)``.
        y: The same of the other side.
        rows: Lines of ``x``.
        columns: Lines of ``y``, one for each row.
    """
    distance = np.empty(len(rows))
    for first in range(0, len(rows), _PAIRS):
        some = slice(first, first + _PAIRS)
        distance[some] = chamfer(x.take(rows[some], axis=2), y.take(columns[some], axis=2))
    return distance


def chamfer(x: Points, y: Points) -> Floats:
    """Return the Chamfer distances of pairs of lines ``(2, points, pairs)``."""
    square = np.square(x[0][:, None] - y[0])
    square += np.square(x[1][:, None] - y[1])
    to_y = np.sqrt(square.min(axis=1)).mean(axis=0)
    to_x = np.sqrt(square.min(axis=0)).mean(axis=0)
    return np.asarray((to_y + to_x) / 2)


def evenly(values: Sequence[T], most: int) -> list[T]:
    """Return at most ``most`` values, evenly spread."""
    if len(values) <= most:
        return list(values)
    return [values[i * (len(values) - 1) // (most - 1)] for i in range(most)]


def most_confident(predictions: MapFrames, rows: Indices, most: int) -> Indices:
    """Return the ``most`` most confident predictions, and all that tie with the last, so that order does not matter."""
    if predictions.confidence is None or not 0 < most < len(rows):
        return rows
    confidence = predictions.confidence[rows]
    sure: Indices = rows[confidence >= np.partition(confidence, -most)[-most]]
    return sure


def rows_with_points(side: MapFrames, frame: int) -> Indices:
    """Return the instances of one frame that have points."""
    first, end = side.offsets[frame : frame + 2].tolist()
    return np.asarray(first + np.flatnonzero(np.diff(side.polylines.offsets[first : end + 1])), np.int64)


def rows_of_frames(side: MapFrames, frames: Iterable[int]) -> list[Indices]:
    """Return the instances with points of each of some frames."""
    rows = np.flatnonzero(np.diff(side.polylines.offsets))
    ends = np.searchsorted(rows, side.offsets).tolist()
    return [rows[ends[i] : ends[i + 1]] for i in frames]


def spread(side: MapFrames, rows: Sequence[Indices], most: int) -> list[Indices]:
    """Return an even sample of the instances of several frames, whose rows are given, at most ``most`` of each.

    They are sorted by first point, so that they do not depend on the order in the file.
    """
    together = _joined(rows)
    frame = np.repeat(np.arange(len(rows)), [len(of_frame) for of_frame in rows])
    first = side.polylines.coords[side.polylines.offsets[together]]
    ordered = together[np.lexsort((*first.T, frame))]
    return [_evenly(of_frame, most) for of_frame in _parted(ordered, rows)]


def _evenly(rows: Indices, most: int) -> Indices:
    if len(rows) <= most:
        return rows
    return np.array(evenly(rows.tolist(), most), np.int64)


def _joined(rows: Sequence[Indices]) -> Indices:
    return np.concatenate([np.empty(0, np.int64), *rows])


def _parted(values: NDArray[Any], rows: Sequence[Indices]) -> list[NDArray[Any]]:
    """Return values that belong to the rows of several frames, frame by frame."""
    ends = np.cumsum([len(of_frame) for of_frame in rows]).tolist()
    return [values[start:end] for start, end in pairwise([0, *ends])]


def coarse(side: MapFrames, rows: Indices) -> Points:
    """Resample the instances to lines of a few points at equal distances."""
    lines = side.polylines.pick(rows)
    if not len(rows):
        return np.empty((0, POINTS, side.dimension))
    first = lines.offsets[:-1]
    last = lines.offsets[1:] - 1
    # All lines are laid one after another, 1 m apart, so that one call interpolates all of them. A broken line is not
    # so long that the places of those after it are inexact.
    step = np.minimum(np.hypot(*np.diff(lines.coords[:, :2], axis=0).T), _LONGEST)
    step[last[:-1]] = 1.0
    along = np.concatenate([[0.0], step.cumsum()])
    share = np.linspace(0, 1, POINTS)
    at = along[first][:, None] * (1 - share) + along[last][:, None] * share
    return np.stack([np.interp(at, along, lines.coords[:, k]) for k in range(side.dimension)], axis=2)


def coarse_frames(side: MapFrames, rows: Sequence[Indices]) -> list[Points]:
    """Return the resampled instances of several frames, whose rows are given."""
    return _parted(coarse(side, _joined(rows)), rows)


_MAPTR = "MapTR's nuScenes files have x to the right and y forward, StreamMapNet's have x forward and y to the left"
TURNS = (
    AxisTurn(((0, -1), (1, 0)), "turned by 90 degrees", 90, explanation=_MAPTR),
    AxisTurn(((-1, 0), (0, -1)), "turned by 180 degrees", 180),
    AxisTurn(((0, 1), (-1, 0)), "turned by 90 degrees", -90, explanation=_MAPTR),
    AxisTurn(((1, 0), (0, -1)), "mirrored, y points to the other side", instead="Negate y on one side"),
    AxisTurn(((-1, 0), (0, 1)), "mirrored, x points the other way", instead="Negate x on one side"),
    AxisTurn(((0, 1), (1, 0)), "mirrored, x and y are swapped", instead="Swap x and y on one side"),
    AxisTurn(((0, -1), (-1, 0)), "mirrored, x is minus y", instead="Swap and negate x and y on one side"),
)


def find_turn(neighbours: CheckedFrames) -> AxisTurn:
    """Return the turn that clearly moves the predictions onto the truth; usually the one that does nothing."""
    if neighbours.truths < _INSTANCES or _gap(neighbours.pairs, neighbours.near) <= _APART:
        return AxisTurn()
    here = neighbours.gap()
    # A median below ``here`` is the mean of two distances below twice that. The others need not be exact.
    (best, i), (second, _) = sorted((neighbours.gap(turn, 2 * here), i) for i, turn in enumerate(TURNS))[:2]
    if best < 0.6 * here and best + _SAME < 0.75 * second:
        return TURNS[i]
    return AxisTurn()


def find_exchange(
    neighbours: CheckedFrames, turn: AxisTurn, predicted: Sequence[str], true: Sequence[str]
) -> dict[str, str]:
    """Return predicted class names and the classes they stand for, if some are clearly permuted."""
    votes = np.zeros((len(true), len(predicted)), np.int64)
    if neighbours.frames:
        truth, predictions = neighbours.nearest(turn)
        truth_label = np.concatenate([frame.truth_label for frame in neighbours.frames])
        label = np.concatenate([frame.label for frame in neighbours.frames])
        np.add.at(votes, (truth_label[truth], label[predictions]), 1)
    meant: dict[str, str] = {}
    for name, row in zip(true, votes, strict=True):
        total = row.sum()
        if name in predicted:
            own = row[predicted.index(name)]
        else:
            own = 0
        if total >= _VOTES and row.max() >= _WON * total and own <= _OWN * total:
            meant[predicted[int(row.argmax())]] = name
    if set(meant) != set(meant.values()):
        return {}
    return meant
