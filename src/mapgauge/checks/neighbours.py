"""Computes how near predictions are to truth: Chamfer distances between coarse lines in a few frames.

This is precise enough to find turned axes or swapped classes. It is never used as a score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Indices, Points

Motion: TypeAlias = Callable[[Points], Points]  # moves points (..., 2)
T = TypeVar("T")

_POINTS = 10  # points per line
_MOST_TRUE = 24  # truth instances per frame, at most
_PER_TRUE = 2  # predictions per truth instance, the most confident ones
_PAIRS = 4096  # lines that are compared at once
_MOST_PREDICTED = 100  # predictions per frame, at most, if there are no confidences to choose by


def stay(points: Points) -> Points:
    """Return the points unchanged: the identity motion."""
    return points


class Frame(NamedTuple):
    """The lines of one frame, ``(lines, points, dimension)``, with their labels."""

    truth: Points
    truth_label: Indices
    predictions: Points
    label: Indices


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Truth and the most confident predictions of a few frames."""

    frames: tuple[Frame, ...]

    @classmethod
    def of(cls, predictions: MapFrames, truth: MapFrames) -> "Neighbours":
        """Prepare two sides that have the same frames."""
        frames = []
        for i in range(len(truth)):
            y = _spread(truth, _rows(truth, i), _MOST_TRUE)
            sure = most_confident(predictions, _rows(predictions, i), _PER_TRUE * len(y))
            x = _spread(predictions, sure, _MOST_PREDICTED)
            if len(x) and len(y):
                frames.append(Frame(coarse(truth, y), truth.label[y], coarse(predictions, x), predictions.label[x]))
        return cls(tuple(frames))

    @cached_property
    def count(self) -> int:
        """Number of truth instances."""
        return sum(len(frame.truth) for frame in self.frames)

    def distances(self, motion: Motion = stay) -> list[NDArray[np.float64]]:
        """Return one matrix (truth, predictions) per frame: distances in the plane to the moved predictions."""
        return [chamfer(frame.truth[..., :2], motion(frame.predictions[..., :2])) for frame in self.frames]

    def gap(self, motion: Motion = stay) -> float:
        """Return the median distance in metres from a truth instance to the nearest prediction."""
        return float(np.median(np.concatenate([matrix.min(axis=1) for matrix in self.distances(motion)])))

    def gap_to_others(self, motion: Motion = stay) -> float:
        """Return the same distance to the predictions of another frame."""
        far = len(self.frames) // 2
        others = self.frames[far:] + self.frames[:far]
        pairs = zip(self.frames, others, strict=True)
        return Neighbours(tuple(x._replace(predictions=y.predictions, label=y.label) for x, y in pairs)).gap(motion)


def chamfer(x: Points, y: Points) -> NDArray[np.float64]:
    """Return the ``(n, m)`` Chamfer distances between lines ``(n, points, 2)`` and ``(m, points, 2)``."""
    return _of_pairs(x[:, None], y[None])


def near_chamfer(x: Points, y: Points, most: float) -> NDArray[np.float64]:
    """Return the same distances; infinity for lines whose boxes are farther apart than ``most``.

    A Chamfer distance is at least as long as the gap between the boxes.
    """
    distance = np.full((len(x), len(y)), np.inf)
    gap = np.maximum(x.min(axis=1)[:, None] - y.max(axis=1), y.min(axis=1) - x.max(axis=1)[:, None])
    rows, columns = np.nonzero((gap <= most * (1 + 1e-9)).all(axis=2))  # a mean may be rounded down
    for first in range(0, len(rows), _PAIRS):
        i, j = rows[first : first + _PAIRS], columns[first : first + _PAIRS]
        distance[i, j] = _of_pairs(x[i], y[j])
    return distance


def _of_pairs(x: Points, y: Points) -> NDArray[np.float64]:
    """Return the Chamfer distances of pairs of lines ``(..., points, 2)``."""
    square = sum(np.square(x[..., :, None, k] - y[..., None, :, k]) for k in (0, 1))
    there, back = (np.sqrt(np.min(square, axis=axis)).mean(axis=-1) for axis in (-1, -2))
    mean: NDArray[np.float64] = (there + back) / 2
    return mean


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


def _rows(side: MapFrames, frame: int) -> Indices:
    """Return the instances of one frame that have points."""
    rows = np.arange(side.offsets[frame], side.offsets[frame + 1])
    return rows[np.diff(side.polylines.offsets)[rows] > 0]


def _spread(side: MapFrames, rows: Indices, most: int) -> Indices:
    """Return an even sample of instances, by first point, so that it does not depend on the order in the file."""
    first = side.polylines.coords[side.polylines.offsets[rows]]
    return np.array(evenly(rows[np.lexsort(first.T)].tolist(), most), np.int64)


def coarse(side: MapFrames, rows: Indices) -> Points:
    """Resample the instances to lines of a few points at equal distances."""
    lines = np.empty((len(rows), _POINTS, side.dimension))
    for line, i in zip(lines, rows.tolist(), strict=True):
        points = side.polylines[i]
        along = np.concatenate([[0], np.hypot(*np.diff(points[:, :2], axis=0).T).cumsum()])
        at = np.linspace(0, along[-1], _POINTS)
        for k in range(side.dimension):
            line[:, k] = np.interp(at, along, points[:, k])
    return lines
