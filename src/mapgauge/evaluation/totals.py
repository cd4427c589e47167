"""Exact sums over frames, and the values that follow from them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapgauge.evaluation.scores import Scores
from mapgauge.metrics.average_precision import Interpolation, average_precisions
from mapgauge.metrics.metric import Bits
from mapgauge.metrics.table import METRICS, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Floats, Indices

_SHIFT = 1127  # every float64, as numpy splits it, is a multiple of 2**-1127
_LOW = 27  # low bits of a mantissa, which are added separately
_ROWS = 1 << 26  # values that are added at once


def exact_sums(values: NDArray[np.float64]) -> list[int]:
    """Return the sum of each column, in units of ``2**-1127``.

    >>> exact_sums(np.array([[0.1], [0.2], [-0.3]]))[0] == sum(exact_sums(np.array([[v]]))[0] for v in (-0.3, 0.1, 0.2))
    True
    """
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    places = exponent.astype(np.int64) - 53 + _SHIFT
    sums = []
    for column in range(values.shape[1]):
        total = 0
        for start in range(0, len(values), _ROWS):
            part = slice(start, start + _ROWS)
            place, index = np.unique(places[part, column], return_inverse=True)
            # These sums of whole numbers stay below 2**53, so float64 holds them exactly.
            high = np.bincount(index, whole[part, column] >> _LOW).astype(np.int64)
            low = np.bincount(index, whole[part, column] & ((1 << _LOW) - 1)).astype(np.int64)
            parts = zip(place.tolist(), high.tolist(), low.tolist(), strict=True)
            total += sum(((upper << _LOW) + lower) << where for where, upper, lower in parts)
        sums.append(total)
    return sums


def rounded(total: int) -> float:
    """Return an exact sum as the nearest float64."""
    return total / (1 << _SHIFT)


@dataclass(frozen=True, eq=False)
class Sums:
    """Counts and exact sums of some frames. The sums of other frames can be added."""

    frames: int
    without_truth: int  # number of frames without truth
    predicted: Indices  # (classes,)
    true: Indices  # (classes,)
    columns: tuple[int, ...]  # exact sums of ``per_frame``, see ``mapgauge.evaluation.totals``

    @classmethod
    def of(cls, scores: Scores, protocol: Protocol) -> "Sums":
        """Return the sums of scores."""
        return cls(*_counts(scores), tuple(exact_sums(per_frame(scores, protocol))))

    def __add__(self, other: "Sums") -> "Sums":
        """Return the sums of the frames of both."""
        return Sums(
            self.frames + other.frames,
            self.without_truth + other.without_truth,
            self.predicted + other.predicted,
            self.true + other.true,
            tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)),
        )


@dataclass(frozen=True, eq=False)
class MetricSums:
    """The sums of one metric over frames."""

    sums: Floats  # (settings, classes, columns)
    frame_values: Floats  # (settings, classes): sum of the values of frames; NaN if the metric has no frame mean
    rings: Floats  # (rings, classes, columns)


@dataclass(frozen=True, eq=False)
class Totals:
    """Counts, sums and average precisions over all frames."""

    frames: int
    without_truth: int
    predicted: Indices  # (classes,)
    true: Indices  # (classes,)
    sums: dict[str, MetricSums]  # by metric
    precision: dict[str, Floats]  # by metric: (settings, classes)

    @classmethod
    def of(cls, scores: Scores, protocol: Protocol) -> "Totals":
        """Return the totals of scores in memory."""
        columns = [math.fsum(column) for column in per_frame(scores, protocol).T.tolist()]
        counts = _counts(scores)
        names = list(scores.hits)
        bits, how = bits_of(protocol, names), interpolations(protocol, names)
        values = []
        for c, truth in enumerate(counts[3].tolist()):
            counted = scores.counted(c, protocol)
            hits = [column[counted] for column in scores.hits.values()]
            values.append(precisions_of(scores.confidence[counted], hits, bits, truth, how))
        rings = max((len(block) for block in scores.rings.values()), default=0)
        sums = _unpacked(columns, list(scores.sums), protocol, rings, len(counts[3]))
        return cls(*counts, sums, by_metric(values, names, bits))

    @classmethod
    def of_sums(
        cls, sums: Sums, protocol: Protocol, metrics: Sequence[str], rings: int, precision: dict[str, Floats]
    ) -> "Totals":
        """Return the totals from sums over chunks."""
        columns = [rounded(column) for column in sums.columns]
        names = [metric.name for metric, _ in sum_metrics(metrics)]
        unpacked = _unpacked(columns, names, protocol, rings, len(sums.true))
        return cls(sums.frames, sums.without_truth, sums.predicted, sums.true, unpacked, precision)


def bits_of(protocol: Protocol, metrics: Sequence[str]) -> list[tuple[int, int]]:
    """Return all settings of some average precisions, as index of the metric and bit of its hits."""
    return [(m, t) for m, name in enumerate(metrics) for t in range(len(METRICS[name].settings(protocol)))]


def interpolations(protocol: Protocol, metrics: Sequence[str]) -> list[Interpolation]:
    """Return how average precision is computed, for each setting of ``bits_of``."""
    return [protocol.settings[name].interpolation for name in metrics for _ in METRICS[name].settings(protocol)]


def flags_of(hits: Sequence[Bits], bits: list[tuple[int, int]]) -> Flags:
    """Return which predictions hit, with a column for each setting, from the hits of each metric."""
    count = len(hits[0]) if hits else 0
    return np.stack([(hits[m] >> t) & 1 == 1 for m, t in bits], axis=1) if bits else np.empty((count, 0), np.bool_)


def precisions_of(
    confidence: Floats,
    hits: Sequence[Bits],
    bits: list[tuple[int, int]],
    truth: int,
    interpolation: Sequence[Interpolation],
) -> list[float]:
    """Return the average precisions of one class, from the hits of each metric."""
    some = np.zeros(len(confidence), np.bool_)
    for column in hits:
        some |= column != 0
    flags = flags_of([column[some] for column in hits], bits)
    return average_precisions(confidence, confidence[some], flags, truth, interpolation)


def by_metric(
    values: Sequence[Sequence[float]], metrics: Sequence[str], bits: list[tuple[int, int]]
) -> dict[str, Floats]:
    """Return average precisions of each class at each setting, as ``(settings, classes)`` for each metric."""
    table = np.array(values, np.float64).reshape(len(values), len(bits)).T
    return {name: table[[k for k, (of, _) in enumerate(bits) if of == m]] for m, name in enumerate(metrics)}


def per_frame(scores: Scores, protocol: Protocol) -> Floats:
    """Return the numbers that are added over frames: one row per frame, the blocks of all metrics side by side."""
    blocks = [block for metric in scores.sums for block in _blocks(metric, scores, protocol)]
    flat = [block.swapaxes(0, 1).reshape(scores.frames, len(block) * math.prod(block.shape[2:])) for block in blocks]
    return np.concatenate([np.empty((scores.frames, 0)), *flat], axis=1)


def _blocks(name: str, scores: Scores, protocol: Protocol) -> Iterator[Floats]:
    """Yield the blocks of one metric in the order of ``_unpacked``: (settings or rings, frames, classes, columns)."""
    ((_, rows),) = sum_metrics((name,))
    yield scores.sums[name]
    if rows.frame_mean is not None:
        yield rows.frame_mean.of(scores.sums[name], protocol)[..., None]
    if rows.rings:
        yield scores.rings[name]


def _unpacked(
    sums: list[float], metrics: Sequence[str], protocol: Protocol, rings: int, classes: int
) -> dict[str, MetricSums]:
    """Return the sums of the columns of ``per_frame`` in the shapes of their blocks."""
    left = np.array(sums)

    def taken(*shape: int) -> Floats:
        nonlocal left
        size = math.prod(shape)
        block, left = left[:size].reshape(shape), left[size:]
        return block

    by_metric = {}
    for metric, rows in sum_metrics(metrics):
        settings, width = len(metric.settings(protocol)), len(rows.columns)
        pooled = taken(settings, classes, width)
        values = taken(settings, classes) if rows.frame_mean else np.full((settings, classes), np.nan)
        by_metric[metric.name] = MetricSums(pooled, values, taken(rings if rows.rings else 0, classes, width))
    return by_metric


def _counts(scores: Scores) -> tuple[int, int, Indices, Indices]:
    """Return the numbers of frames, of frames without truth, and of predictions and truth of each class."""
    without = int(np.count_nonzero(scores.true.sum(axis=1) == 0))
    return scores.frames, without, scores.predicted.sum(axis=0), scores.true.sum(axis=0)
