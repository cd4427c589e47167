"""How near predictions lie to truth: Chamfer distances between coarse lines, in a few frames.

Enough to see that axes are turned or classes exchanged; never a score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.map_frames import Indices, MapFrames
from mapgauge.typing import Points

Motion: TypeAlias = Callable[[Points], Points]  # of points (..., 2)
T = TypeVar("T")

_POINTS = 10  # per line
_MOST_TRUE = 24  # instances of the truth, per frame
_PER_TRUE = 2  # predictions kept for each of them, the most confident ones
_MOST_PREDICTED = 100  # per frame, where confidences do not choose


def stay(points: Points) -> Points:
    """The motion that moves nothing."""
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
        """Of two sides with the same frames."""
        frames = []
        for i in range(len(truth)):
            y = _spread(truth, _rows(truth, i), _MOST_TRUE)
            sure = most_confident(predictions, _rows(predictions, i), _PER_TRUE * len(y))
            x = _spread(predictions, sure, _MOST_PREDICTED)
            if len(x) and len(y):
                frames.append(Frame(_coarse(truth, y), truth.label[y], _coarse(predictions, x), predictions.label[x]))
        return cls(tuple(frames))

    @cached_property
    def count(self) -> int:
        """Number of truth instances."""
        return sum(len(frame.truth) for frame in self.frames)

    def distances(self, motion: Motion = stay) -> list[NDArray[np.float64]]:
        """For each frame a matrix (truth, predictions) of distances in the plane, predictions moved."""
        return [chamfer(frame.truth[..., :2], motion(frame.predictions[..., :2])) for frame in self.frames]

    def gap(self, motion: Motion = stay) -> float:
        """Metres from the usual truth instance to the prediction nearest to it."""
        return float(np.median(np.concatenate([matrix.min(axis=1) for matrix in self.distances(motion)])))

    def gap_to_others(self, motion: Motion = stay) -> float:
        """The same, to the predictions of another frame."""
        far = len(self.frames) // 2
        others = self.frames[far:] + self.frames[:far]
        pairs = zip(self.frames, others, strict=True)
        return Neighbours(tuple(x._replace(predictions=y.predictions, label=y.label) for x, y in pairs)).gap(motion)


def chamfer(x: Points, y: Points) -> NDArray[np.float64]:
    """Chamfer distances between lines ``(n, points, 2)`` and ``(m, points, 2)``, as ``(n, m)``."""
    square = sum(np.square(x[:, None, :, None, k] - y[None, :, None, :, k]) for k in (0, 1))
    there, back = (np.sqrt(np.min(square, axis=axis)).mean(axis=2) for axis in (3, 2))
    mean: NDArray[np.float64] = (there + back) / 2
    return mean


def evenly(values: Sequence[T], most: int) -> list[T]:
    """At most so many of them, evenly spread."""
    if len(values) <= most:
        return list(values)
    return [values[i * (len(values) - 1) // (most - 1)] for i in range(most)]


def most_confident(predictions: MapFrames, rows: Indices, most: int) -> Indices:
    """The most confident of some predictions. Those that equal the last of them come along: chance does not choose."""
    if predictions.confidence is None or not 0 < most < len(rows):
        return rows
    confidence = predictions.confidence[rows]
    sure: Indices = rows[confidence >= np.partition(confidence, -most)[-most]]
    return sure


def _rows(side: MapFrames, frame: int) -> Indices:
    """The instances of one frame that have points."""
    rows = np.arange(side.offsets[frame], side.offsets[frame + 1])
    return rows[np.diff(side.polylines.offsets)[rows] > 0]


def _spread(side: MapFrames, rows: Indices, most: int) -> Indices:
    """Some instances, chosen by where they begin: not by their order in the file."""
    first = side.polylines.coords[side.polylines.offsets[rows]]
    return np.array(evenly(rows[np.lexsort(first.T)].tolist(), most), np.int64)


def _coarse(side: MapFrames, rows: Indices) -> Points:
    """The instances as lines of a few points at equal distances."""
    lines = np.empty((len(rows), _POINTS, side.dimension))
    for line, i in zip(lines, rows.tolist(), strict=True):
        points = side.polylines[i]
        along = np.concatenate([[0], np.hypot(*np.diff(points[:, :2], axis=0).T).cumsum()])
        at = np.linspace(0, along[-1], _POINTS)
        for k in range(side.dimension):
            line[:, k] = np.interp(at, along, points[:, k])
    return lines
