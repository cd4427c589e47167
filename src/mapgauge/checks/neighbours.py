"""Computes how near predictions are to truth: Chamfer distances between coarse lines in a few frames.

The distances tell whether axes are turned or classes swapped. They are never used as a score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Floats, Indices, Points

Motion: TypeAlias = Callable[[Points], Points]  # moves points (..., 2)
T = TypeVar("T")

POINTS = 10  # points per line
_PAIRS = 512  # lines that are compared at once
_LONGEST = 1e6  # metres; a longer step between two points counts as if it were so long
_NEAR = 2.0  # metres; a truth instance votes for the class of its nearest prediction within this distance
_VOTES = 3  # number of votes needed per class
_WON = 0.6  # share of the votes that a class needs
_OWN = 0.25  # with a larger share for the right class, nothing is swapped
_INSTANCES = 10  # truth instances needed for a judgement
_SAME = 0.001  # metres; two turns after which the distances differ by no more cannot be told apart
_APART = 1.0  # metres; if the sides are nearer than this, the axes are right


class CheckedFrame(NamedTuple):
    """The lines of one frame, ``(lines, points, dimension)``, with their labels."""

    truth: Points
    truth_label: Indices
    predictions: Points
    label: Indices


class CheckedFrames(NamedTuple):
    """Truth and the most confident predictions of a few frames."""

    frames: tuple[CheckedFrame, ...]

    @classmethod
    def of(cls, predictions: MapFrames, truth: MapFrames) -> "CheckedFrames":
        """Prepare two sides that have the same frames."""
        true = []
        predicted = []
        for i in range(len(truth)):
            y = spread(truth, rows_with_points(truth, i), most=24)
            sure = most_confident(predictions, rows_with_points(predictions, i), 2 * len(y))
            x = spread(predictions, sure, most=100)  # there may be no confidences to choose by
            if len(x) and len(y):
                true.append(y)
                predicted.append(x)
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

    @property
    def truths(self) -> int:
        """Number of truth instances."""
        return sum(len(frame.truth) for frame in self.frames)

    def distances(self, motion: Motion = np.asarray, most: float = np.inf) -> list[NDArray[np.float64]]:
        """Return one matrix (truth, predictions) per frame: distances in the plane to the moved predictions.

        Distances above ``most`` metres may be infinity instead, because few lines are near each other.
        """
        return [near_chamfer(frame.truth[..., :2], motion(frame.predictions[..., :2]), most) for frame in self.frames]

    def gap(self, motion: Motion = np.asarray, most: float = np.inf) -> float:
        """Return the median distance in metres from a truth instance to the nearest prediction.

        It is never too small. It is exact if the two distances in the middle are at most ``most``.
        """
        return float(np.median(np.concatenate([matrix.min(axis=1) for matrix in self.distances(motion, most)])))

    def gap_to_others(self, motion: Motion = np.asarray) -> float:
        """Return the same distance to the predictions of another frame."""
        far = len(self.frames) // 2
        others = self.frames[far:] + self.frames[:far]
        pairs = zip(self.frames, others, strict=True)
        return CheckedFrames(tuple(x._replace(predictions=y.predictions, label=y.label) for x, y in pairs)).gap(motion)


def near_chamfer(x: Points, y: Points, most: float) -> NDArray[np.float64]:
    """Return the ``(n, m)`` Chamfer distances between lines ``(n, points, 2)`` and ``(m, points, 2)``.

    It is infinity for lines whose boxes are farther apart than ``most``. No Chamfer distance is shorter than the gap
    between the boxes.
    """
    distance = np.full((len(x), len(y)), np.inf)
    gap = np.maximum(x.min(axis=1)[:, None] - y.max(axis=1), y.min(axis=1) - x.max(axis=1)[:, None])
    rows, columns = np.nonzero((gap <= most * (1 + 1e-9)).all(axis=2))  # a mean may be rounded down
    distance[rows, columns] = chamfer_of_pairs(x, y, rows, columns=columns)
    return distance


def chamfer_of_pairs(x: Points, y: Points, rows: Indices, columns: Indices) -> Floats:
    """Return the Chamfer distances of lines ``x[rows]`` and ``y[columns]``, some pairs after another."""
    distance = np.empty(len(rows))
    for first in range(0, len(rows), _PAIRS):
        some = slice(first, first + _PAIRS)
        distance[some] = chamfer(x[rows[some]], y[columns[some]])
    return distance


def chamfer(x: Points, y: Points) -> Floats:
    """Return the Chamfer distances of pairs of lines ``(pairs, points, 2)``."""
    # With the pairs last, numpy computes many of them at once.
    x_at = np.ascontiguousarray(x.transpose(2, 1, 0))
    y_at = np.ascontiguousarray(y.transpose(2, 1, 0))
    square = np.square(x_at[0][:, None] - y_at[0])
    square += np.square(x_at[1][:, None] - y_at[1])
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
    rows = np.arange(side.offsets[frame], side.offsets[frame + 1])
    return np.compress(side.polylines.offsets[rows + 1] > side.polylines.offsets[rows], rows)


def spread(side: MapFrames, rows: Indices, most: int) -> Indices:
    """Return an even sample of instances, by first point, so that it does not depend on the order in the file."""
    first = side.polylines.coords[side.polylines.offsets[rows]]
    return np.array(evenly(rows[np.lexsort(first.T)].tolist(), most), np.int64)


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
    together = coarse(side, np.concatenate([np.empty(0, np.int64), *rows]))
    ends = np.cumsum([len(of_frame) for of_frame in rows]).tolist()
    return [together[start:end] for start, end in pairwise([0, *ends])]


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
    if neighbours.truths < _INSTANCES or neighbours.gap(most=_APART) <= _APART:
        return AxisTurn()
    here = neighbours.gap()
    if not here > _APART:
        return AxisTurn()
    (best, i), (second, _) = sorted((neighbours.gap(turn), i) for i, turn in enumerate(TURNS))[:2]
    if best < 0.6 * here and best + _SAME < 0.75 * second:
        return TURNS[i]
    return AxisTurn()


def find_exchange(
    neighbours: CheckedFrames, motion: Motion, predicted: Sequence[str], true: Sequence[str]
) -> dict[str, str]:
    """Return predicted class names and the classes they stand for, if some are clearly permuted."""
    votes = np.zeros((len(true), len(predicted)), np.int64)
    for frame, distance in zip(neighbours.frames, neighbours.distances(motion, _NEAR), strict=True):
        near = distance.min(axis=1) < _NEAR
        np.add.at(votes, (frame.truth_label[near], frame.label[distance.argmin(axis=1)[near]]), 1)
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
