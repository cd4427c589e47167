"""Measures how well the lines of single frames lie on their truth, on that of other frames, and after a motion.

The distances tell whether tokens, axes or coordinates of some frames are wrong. They are never used as a score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mapgauge.checks.neighbours import (
    ANY,
    POINTS,
    AxisTurn,
    FittedLines,
    LinePairs,
    Motion,
    coarse_frames,
    evenly,
    most_confident,
    nearest_of,
    rows_of_frames,
    spread,
)
from mapgauge.frames.map_frames import MapFrames
from mapgauge.typing import Flags, Floats, Indices, Points

FRAMES = 64  # at most this many frames are measured
FARTHEST = 3.0  # metres; all lines that are farther away count the same
_LINES = 150  # at most this many lines of a frame are used
_OUT_OF_REACH = 1e6  # metres; points beyond count as if they were there
_OTHERS = (1, 2, 3)  # each frame is compared with the truth of the frames that are so many quarters of the sample away
_AWAY = 1.8  # metres from the truth of other frames; on the samples it is 2.6 or more
_STEPS = 6  # steps of a fit; on the samples, more change a scale by less than 0.001
_DOUBT = 0.5  # metres; in a fit, a point at this distance counts half of a point at distance 0


class Fit(NamedTuple):
    """One frame: its truth, and as many of the most confident predictions."""

    token: str
    predictions: FittedLines
    truth: FittedLines


@dataclass(frozen=True, slots=True)
class Similarity:
    """A scale, a turn and a shift that move the predictions onto the truth."""

    scale: float = 1.0
    degrees: float = 0.0  # counter-clockwise
    shift: tuple[float, float] = (0.0, 0.0)  # metres, after scale and turn

    def __call__(self, points: Points) -> Points:
        """Move points ``(..., 2)``."""
        moved: Points = points @ self.matrix.T + np.array(self.shift)
        return moved

    @property
    def matrix(self) -> Points:
        """Scale and turn."""
        cosine = np.cos(np.radians(self.degrees))
        sine = np.sin(np.radians(self.degrees))
        return self.scale * np.array([[cosine, -sine], [sine, cosine]])


def tables(predicted: Sequence[str], true: Sequence[str]) -> tuple[Indices, Indices]:
    """Return the number of each class of both sides: the same for classes of the same name, -1 for other classes."""
    numbers = {name: k for k, name in enumerate(true) if name in predicted}
    x, y = (np.array([numbers.get(name, -1) for name in names], np.int64) for names in (predicted, true))
    return x, y


def rows_of(side: MapFrames, frames: Sequence[int], table: Indices | None) -> list[Indices]:
    """Return the lines of each of some frames whose class has a number. Without a table, all classes have."""
    rows = rows_of_frames(side, frames)
    if table is None:
        return rows
    known = table[side.label] >= 0
    return [of_frame[known[of_frame]] for of_frame in rows]


def lines_of(side: MapFrames, rows: Sequence[Indices], table: Indices | None) -> list[FittedLines]:
    """Return the lines of each frame, whose rows are given. Without a table, classes do not count."""
    lines = []
    for points, of_frame in zip(coarse_frames(side, rows), rows, strict=True):
        if table is None:
            label = np.full(len(of_frame), ANY)
        else:
            label = table[side.label[of_frame]]
        lines.append(FittedLines(np.clip(points[..., :2], -_OUT_OF_REACH, _OUT_OF_REACH), label))
    return lines


def distances(pairs: LinePairs, motion: Motion = np.asarray) -> Floats:
    """Return the distance of each frame from its truth after a motion of the predictions.

    It is the mean distance in metres to the nearest line of the other side, the smaller of both directions. A model
    that finds few lines is near in one direction, and a model with many false lines in the other.
    """
    return _of_frames(pairs, *pairs.nearest(motion(pairs.predictions.points), FARTHEST))


def _of_frames(pairs: LinePairs, of_prediction: Floats, of_truth: Floats) -> Floats:
    """Return the distance of each frame, given the distance of each line from the nearest line of the other side."""
    from_predictions = pairs.predictions.of_frames(of_prediction)
    from_truth = pairs.truth.of_frames(of_truth)
    filled = (pairs.predictions.sizes > 0) & (pairs.truth.sizes > 0)
    return np.where(filled, np.minimum(from_predictions, from_truth), FARTHEST)


@dataclass(frozen=True)
class Fits:
    """An even sample of frames that have lines on both sides."""

    frames: tuple[Fit, ...]
    predictions: MapFrames
    truth: MapFrames
    turn: AxisTurn  # of the predictions to the axes of the truth
    tables: tuple[Indices | None, Indices | None]  # number of each class of both sides; None if classes do not count
    order: tuple[int, ...]  # frames of the truth in the order of time or, if it is not known, of the file

    @classmethod
    def of(
        cls, predictions: MapFrames, truth: MapFrames, tokens: Sequence[str], turn: AxisTurn, by_class: bool
    ) -> "Fits":
        """Prepare a sample of the frames with these tokens, the predictions turned to the axes of the truth.

        If classes count, only classes of both sides are used.
        """
        if by_class:
            x_table, y_table = tables(predictions.classes, truth.classes)
        else:
            x_table = None
            y_table = None
        sample = evenly(tokens, FRAMES)
        x_rows = rows_of(predictions, [predictions.index[token] for token in sample], x_table)
        y_rows = rows_of(truth, [truth.index[token] for token in sample], y_table)
        chosen = []
        predicted = []
        true = []
        for token, x, y in zip(sample, x_rows, y_rows, strict=True):
            if not len(x) or not len(y):
                continue
            chosen.append(token)
            predicted.append(most_confident(predictions, x, len(y)))
            true.append(y)
        predicted = spread(predictions, predicted, _LINES)
        true = spread(truth, true, _LINES)
        lines = zip(chosen, lines_of(predictions, predicted, x_table), lines_of(truth, true, y_table), strict=True)
        frames = tuple(Fit(token, x.moved(turn), y) for token, x, y in lines)
        return cls(frames, predictions, truth, turn=turn, tables=(x_table, y_table), order=_in_order(truth))

    @cached_property
    def pairs(self) -> LinePairs:
        """The lines of all frames, each with its own truth."""
        return LinePairs.of([(frame.predictions, frame.truth) for frame in self.frames])

    @cached_property
    def nearest(self) -> tuple[Floats, Floats]:
        """The distance of each prediction from the nearest line of its own truth, and of each true line."""
        return self.pairs.nearest(self.pairs.predictions.points, FARTHEST)

    @cached_property
    def own(self) -> Floats:
        """The distance of each frame from its own truth."""
        return _of_frames(self.pairs, *self.nearest)

    @cached_property
    def others(self) -> Floats:
        """The distance of each frame from the truth of other frames: the median of three."""
        number = len(self.frames)
        pairs = []
        for quarter in _OTHERS:
            away = quarter * number // 4
            others = self.frames[away:] + self.frames[:away]
            pairs += [(frame.predictions, other.truth) for frame, other in zip(self.frames, others, strict=True)]
        rows = distances(LinePairs.of(pairs)).reshape(len(_OTHERS), number)
        middle: Floats = np.median(rows, axis=0)
        return middle

    @cached_property
    def share(self) -> Floats:
        """The distance from the own truth as a share of the distance from others: near 1 for unrelated frames.

        It is 0 if the frame is near the truth of others, too: frames that look alike cannot be distinguished.
        """
        away = self.others > _AWAY
        return np.where(away, self.own / np.where(away, self.others, 1.0), 0.0)

    @cached_property
    def beside(self) -> tuple[Floats, Floats]:
        """The distance of each frame from the truth of the previous and the next frame; NaN if there is none."""
        place = {frame: k for k, frame in enumerate(self.order)}
        scenes = self.truth.scenes
        found = []  # direction and number of a frame, and the frame of the truth beside it
        for k, frame in enumerate(self.frames):
            index = self.truth.index[frame.token]
            for direction, step in enumerate((-1, 1)):
                at = place[index] + step
                if not 0 <= at < len(self.order):
                    continue
                other = self.order[at]
                if scenes is None or scenes[other] == scenes[index]:
                    found.append((direction, k, other))
        lines = self._truth_of({other for _, _, other in found})
        found = [(direction, k, other) for direction, k, other in found if len(lines[other].label)]
        pairs = [(self.frames[k].predictions, lines[other]) for _, k, other in found]
        result = np.full((2, len(self.frames)), np.nan)
        for (direction, k, _), distance in zip(found, distances(LinePairs.of(pairs)).tolist(), strict=True):
            result[direction, k] = distance
        return result[0], result[1]

    def _truth_of(self, frames: set[int]) -> dict[int, FittedLines]:
        """Return the lines of some frames of the truth, many of which belong to the sample."""
        known = {self.truth.index[frame.token]: frame.truth for frame in self.frames}
        others = sorted(frames - known.keys())
        rows = spread(self.truth, rows_of(self.truth, others, self.tables[1]), _LINES)
        lines = lines_of(self.truth, rows, self.tables[1])
        return known | dict(zip(others, lines, strict=True))

    def of_class(self, label: int) -> tuple[Indices, Floats]:
        """Return the frames that have a class on both sides, and the distance of its lines there from their truth."""
        number = len(self.frames)
        sizes = []
        means = []
        for side, nearest in zip((self.pairs.predictions, self.pairs.truth), self.nearest, strict=True):
            rows = np.flatnonzero(side.label == label)
            size = np.bincount(side.frame[rows], minlength=number)
            total = np.bincount(side.frame[rows], nearest[rows], number)
            sizes.append(size)
            means.append(total / np.maximum(size, 1))
        frames = np.flatnonzero(np.minimum(*sizes))
        return frames, np.minimum(*means)[frames]

    @cached_property
    def enough(self) -> Flags:
        """The frames that have at least three lines on both sides. With fewer, one wrong line decides."""
        sizes = [min(len(frame.predictions.label), len(frame.truth.label)) for frame in self.frames]
        return np.array(sizes, np.int64) >= 3


def similarity(lines: LinePairs, start: Similarity) -> Similarity:
    """Return the scale, turn and shift that bring lines of the predictions nearest to those of the truth.

    Each step moves points along the normals of the nearest lines, because nothing is known about where along a line
    a point belongs.
    """
    matrix = start.matrix
    shift = np.array(start.shift)
    for _ in range(_STEPS):
        left, right = _equations(lines, lines.predictions.points @ matrix.T + shift)
        if len(right) < len(left.T) * POINTS:
            break
        weight = 1 / (1 + np.square(right / _DOUBT))
        weighted = (left * weight[:, None]).T
        # Points of a single straight line leave some directions open. Those do not move.
        grow, turn, dx, dy = np.linalg.lstsq(weighted @ left, weighted @ right, rcond=1e-9)[0]
        change = np.array([[1 + grow, -turn], [turn, 1 + grow]])
        matrix = change @ matrix
        shift = change @ shift + (dx, dy)
    scale = float(np.hypot(matrix[0, 0], matrix[1, 0]))
    degrees = float(np.degrees(np.arctan2(matrix[1, 0], matrix[0, 0])))
    return Similarity(scale, degrees, (float(shift[0]), float(shift[1])))


def _equations(fitted: LinePairs, points: Points) -> tuple[Points, Floats]:
    """Return the linear equations for a small change that moves points onto the nearest line of their class.

    The unknowns are the growth, the angle in radians and the shift in x and y.
    """
    found, nearest = nearest_of(*fitted.near(points, FARTHEST))
    # Lines come last, so that numpy computes many of them at once: (POINTS, 1, lines) and (POINTS - 1, lines).
    x, y = points[found].transpose(2, 1, 0)[:, :, None]
    lines = fitted.true_lines.take(nearest, axis=2)
    start_x, start_y = lines[:, :-1]
    along_x, along_y = np.diff(lines, axis=1)
    square = np.maximum(np.square(along_x) + np.square(along_y), 1e-12)
    place = ((x - start_x) * along_x + (y - start_y) * along_y) / square
    on_segment = np.clip(place, 0, 1)
    missing_x = start_x + on_segment * along_x - x
    missing_y = start_y + on_segment * along_y - y
    segment = (np.square(missing_x) + np.square(missing_y)).argmin(axis=1)  # (POINTS, lines)
    at, line = np.indices(segment.shape)
    own = place[at, segment, line]
    beside = (own > 0) & (own < 1)  # not beyond the end of a segment
    at = at[beside]
    line = line[beside]
    segment = segment[beside]
    length = np.sqrt(square[segment, line])
    normal_x = -along_y[segment, line] / length
    normal_y = along_x[segment, line] / length
    missing = missing_x[at, segment, line] * normal_x + missing_y[at, segment, line] * normal_y
    x = x[at, 0, line]
    y = y[at, 0, line]
    growth = normal_x * x + normal_y * y
    turn = normal_y * x - normal_x * y
    return np.column_stack([growth, turn, normal_x, normal_y]), missing


def _in_order(truth: MapFrames) -> tuple[int, ...]:
    """Return the frames in the order of their scenes and times or, without times, as they are in the file."""
    frames = range(len(truth))
    if truth.timestamps is None:
        return tuple(frames)
    times = truth.timestamps.tolist()
    scenes = truth.scenes or ("",) * len(truth)
    return tuple(sorted(frames, key=lambda i: (scenes[i], times[i], truth.tokens[i])))


class Ranking(NamedTuple):
    """Whether predictions that lie on a line of the truth have higher confidences than others."""

    area: float  # under the ROC curve: the share of pairs of a hit and another in which the hit has the higher one
    error: float  # its standard error if confidences were random
    hits: int
    others: int
    found: float  # share of the truth that has a hit


def ranking(fits: Fits, near: float) -> Ranking | None:
    """Return how confidences rank hits, which lie within ``near`` metres of truth; None without hits or others."""
    predictions = fits.predictions
    if predictions.confidence is None:
        return None
    # All predictions, not only the most confident.
    rows = rows_of(predictions, [predictions.index[frame.token] for frame in fits.frames], fits.tables[0])
    chosen = spread(predictions, rows, _LINES)
    lines = zip(lines_of(predictions, chosen, fits.tables[0]), fits.frames, strict=True)
    pairs = LinePairs.of([(own.moved(fits.turn), frame.truth) for own, frame in lines])
    of_prediction, of_truth = pairs.nearest(pairs.predictions.points, near)
    is_hit = of_prediction < near
    is_found = of_truth < near
    hits = int(np.count_nonzero(is_hit))
    others = int(np.count_nonzero(~is_hit))
    if not hits or not others:
        return None
    values = predictions.confidence[np.concatenate(chosen)]
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    rank = sizes.cumsum() - (sizes - 1) / 2  # equal confidences have the mean of their ranks
    area = (float(rank[group[is_hit]].sum()) - hits * (hits + 1) / 2) / (hits * others)
    error = float(np.sqrt((hits + others + 1) / (12 * hits * others)))
    return Ranking(area, error, hits, others=others, found=float(is_found.mean()))
