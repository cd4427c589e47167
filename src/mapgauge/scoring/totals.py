"""Totals: what the values of each class are computed from, pooled over frames.

Everything but average precision is a count or a sum. Sums are exact and rounded once, so neither the order of frames
nor where they were added shows in them. Average precision needs all predictions in the order of their confidence.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapgauge.metrics.average_precision import average_precisions
from mapgauge.protocols import Protocol
from mapgauge.scoring.exact import exact_sums, rounded
from mapgauge.scoring.score import PARTS, Scores, thresholds_of

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sums:
    """Counts and exact sums of some frames; those of others can be added."""

    frames: int
    without_truth: int  # frames
    predicted: Indices  # (classes,)
    true: Indices  # (classes,)
    columns: tuple[int, ...]  # exact sums of ``per_frame``, see ``mapgauge.exact``

    @classmethod
    def of(cls, scores: Scores, order: float) -> "Sums":
        """Of the frames of some scores."""
        return cls(*_counts(scores), tuple(exact_sums(per_frame(scores, order))))

    def __add__(self, other: "Sums") -> "Sums":
        """Of the frames of both."""
        return Sums(
            self.frames + other.frames,
            self.without_truth + other.without_truth,
            self.predicted + other.predicted,
            self.true + other.true,
            tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)),
        )


@dataclass(frozen=True, eq=False)
class Totals:
    """Counts, sums and average precisions over all frames."""

    frames: int
    without_truth: int
    predicted: Indices  # (classes,)
    true: Indices  # (classes,)
    parts: Floats  # (cutoffs, classes, 6): five parts of PLD and the mass, p-th powers
    frame_values: Floats  # (cutoffs, classes): the normalised PLD of each frame, added
    ring_parts: Floats  # (rings, classes, 6): the same as parts, of the points in each ring
    precision: dict[str, Floats]  # by metric: (thresholds, classes)

    @classmethod
    def of(cls, scores: Scores, protocol: Protocol) -> "Totals":
        """Of scores in memory."""
        sums = [math.fsum(column) for column in per_frame(scores, protocol.order).T.tolist()]
        counts = _counts(scores)
        label = labels_of(scores)
        mine = [label == c for c in range(len(counts[3]))]
        names = list(scores.hits)
        bits = bits_of(protocol, names)
        hits = list(scores.hits.values())
        values = [
            precisions_of(scores.confidence[chosen], [column[chosen] for column in hits], bits, int(truth), protocol)
            for chosen, truth in zip(mine, counts[3], strict=True)
        ]
        precision = by_metric(values, names, bits)
        return cls(*counts, *_unpacked(sums, len(scores.parts), len(scores.ring_parts), len(mine)), precision)

    @classmethod
    def of_sums(cls, sums: Sums, cutoffs: int, rings: int, precision: dict[str, Floats]) -> "Totals":
        """Of sums that were made in pieces."""
        columns = [rounded(column) for column in sums.columns]
        counts = (sums.frames, sums.without_truth, sums.predicted, sums.true)
        return cls(*counts, *_unpacked(columns, cutoffs, rings, len(sums.true)), precision)


def bits_of(protocol: Protocol, metrics: Sequence[str]) -> list[tuple[int, int]]:
    """All thresholds of average precisions: which metric, and which bit of its hits."""
    return [(m, t) for m, name in enumerate(metrics) for t in range(len(thresholds_of(protocol, name)))]


def flags_of(hits: Sequence[NDArray[np.uint16]], bits: list[tuple[int, int]]) -> NDArray[np.bool_]:
    """Which predictions hit, from the hits of each metric: a column for each threshold."""
    count = len(hits[0]) if hits else 0
    return np.stack([(hits[m] >> t) & 1 == 1 for m, t in bits], axis=1) if bits else np.empty((count, 0), np.bool_)


def precisions_of(
    confidence: Floats,
    hits: Sequence[NDArray[np.uint16]],
    bits: list[tuple[int, int]],
    truth: int,
    protocol: Protocol,
) -> list[float]:
    """The average precisions of one class, from the hits of each metric."""
    some = np.zeros(len(confidence), np.bool_)
    for column in hits:
        some |= column != 0
    flags = flags_of([column[some] for column in hits], bits)
    return average_precisions(confidence, confidence[some], flags, truth, protocol.interpolation)


def by_metric(
    values: Sequence[Sequence[float]], metrics: Sequence[str], bits: list[tuple[int, int]]
) -> dict[str, Floats]:
    """Average precisions of each class at each threshold, as ``(thresholds, classes)`` for each metric."""
    table = np.array(values, np.float64).reshape(len(values), len(bits)).T
    return {name: table[[k for k, (of, _) in enumerate(bits) if of == m]] for m, name in enumerate(metrics)}


def labels_of(scores: Scores) -> Indices:
    """The class of each prediction."""
    frames, classes = scores.predicted.shape
    return np.repeat(np.tile(np.arange(classes), frames), scores.predicted.ravel())


def normalised_of_frames(parts: Floats, order: float) -> Floats:
    """Normalised PLD of each row of parts and mass; 0 where there is nothing."""
    power = 1 / order
    value, mass = parts[..., :5].sum(axis=-1) ** power, parts[..., 5] ** power
    normalised: Floats = np.divide(2 * value, mass + value, out=np.zeros_like(mass), where=mass > 0)
    return normalised


def per_frame(scores: Scores, order: float) -> Floats:
    """What is added over frames: one row per frame, all numbers of ``Totals`` side by side."""
    frames = len(scores.predicted)
    blocks = (scores.parts, normalised_of_frames(scores.parts, order)[..., None], scores.ring_parts)
    flat = [block.swapaxes(0, 1).reshape(frames, block.size // max(frames, 1)) for block in blocks]
    return np.concatenate(flat, axis=1)


def _unpacked(sums: list[float], cutoffs: int, rings: int, classes: int) -> tuple[Floats, Floats, Floats]:
    """The columns of ``per_frame`` in their own shapes again."""
    shapes = [(cutoffs, classes, PARTS), (cutoffs, classes), (rings, classes, PARTS)]
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    parts, values, ring_parts = (
        block.reshape(shape) for block, shape in zip(np.split(np.array(sums), ends[:-1]), shapes, strict=True)
    )
    return parts, values, ring_parts


def _counts(scores: Scores) -> tuple[int, int, Indices, Indices]:
    """Frames, frames without truth, predictions and truth of each class."""
    without = int(np.count_nonzero(scores.true.sum(axis=1) == 0))
    return len(scores.true), without, scores.predicted.sum(axis=0), scores.true.sum(axis=0)
