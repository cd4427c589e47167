"""Scores of frames as rows, their exact sums, and the values that follow from them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.assigned import ScoredMatches
from mapgauge.metrics.average_precision import Interpolation, average_precisions
from mapgauge.metrics.metric import Bits
from mapgauge.metrics.pld import PLD
from mapgauge.metrics.table import METRICS, hit_metrics, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.typing import Confidences, Flags, Floats, Indices

_NAMES = {("sums", PLD.name): "parts", ("rings", PLD.name): "ring_parts"}  # names in files
_COLUMNS = ("predicted", "true", "confidence")
_MATCHES = "matches"


@dataclass(frozen=True, eq=False, kw_only=True)
class Scores:
    """Rows of some frames.

    Predictions are ordered by frame and class, and within a class as in the file.
    """

    predicted: Indices  # (frames, classes): number of predictions
    true: Indices  # (frames, classes): number of true instances
    confidence: Confidences  # (predictions,)
    sums: dict[str, Floats]  # by metric: (settings, frames, classes, columns)
    rings: dict[str, Floats]  # by metric: (rings, frames, classes, columns), at the first setting
    hits: dict[str, Bits]  # by metric: (predictions,), bit t is 1 for a hit at the t-th setting
    matches: Indices | None = None  # (predictions,): ``matches_of`` PLD at the first cutoff. They only save time

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.predicted)

    @cached_property
    def frame(self) -> Indices:
        """The frame of each prediction."""
        return np.repeat(np.arange(self.frames), self.predicted.sum(axis=1))

    @cached_property
    def label(self) -> Indices:
        """The class of each prediction."""
        frames, classes = self.predicted.shape
        return np.repeat(np.tile(np.arange(classes), frames), self.predicted.ravel())

    def counted(self, label: int, protocol: Protocol) -> Flags:
        """Return which predictions count in the average precision of a class."""
        of_class: Flags = self.label == label
        if protocol.skip_without_truth:
            of_class &= self.true[self.frame, label] > 0
        return of_class

    def at(self, frames: Indices) -> "Scores":
        """Return the rows of some frames, in the given order."""
        per_frame = self.predicted.sum(axis=1)
        records = ranges(per_frame.cumsum()[frames] - per_frame[frames], per_frame[frames])
        return Scores(
            predicted=self.predicted[frames],
            true=self.true[frames],
            confidence=self.confidence[records],
            sums={name: block[:, frames] for name, block in self.sums.items()},
            rings={name: block[:, frames] for name, block in self.rings.items()},
            hits={name: column[records] for name, column in self.hits.items()},
            matches=None if self.matches is None else self.matches[records],
        )

    def scored_matches(self, frames: slice) -> ScoredMatches | None:
        """Return the matches of some frames, for the evaluation by other metrics; None if they are not known."""
        if self.matches is None:
            return None
        sums = self.sums.get(PLD.name)
        rows = slice(*self._ends[[frames.start, frames.stop]].tolist())
        if sums is None:
            of_groups = None
        else:
            of_groups = sums[0, frames].reshape(-1, sums.shape[-1])
        return ScoredMatches(self.matches[rows], of_groups)

    @cached_property
    def _ends(self) -> Indices:
        """The first prediction of each frame, and the number of predictions."""
        return np.append(0, self.predicted.sum(axis=1).cumsum())

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics that have rows."""
        return (*self.sums, *self.hits)

    def only(self, metrics: Sequence[str]) -> "Scores":
        """Return the rows of some metrics, in their order."""
        if [name for name in metrics if name in self.metrics] == list(self.metrics):
            return self
        return replace(
            self,
            sums={name: self.sums[name] for name in metrics if name in self.sums},
            rings={name: self.rings[name] for name in metrics if name in self.rings},
            hits={name: self.hits[name] for name in metrics if name in self.hits},
        )

    def and_metrics(self, other: "Scores", metrics: Sequence[str]) -> "Scores":
        """Return the rows of these metrics and of other metrics of the same frames, in the order of ``metrics``."""

        def in_order(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
            columns = first | second
            return {name: columns[name] for name in metrics if name in columns}

        columns = {name: in_order(getattr(self, name), getattr(other, name)) for name in ("sums", "rings", "hits")}
        matches = other.matches if self.matches is None else self.matches
        return Scores(predicted=self.predicted, true=self.true, confidence=self.confidence, **columns, matches=matches)

    @classmethod
    def concatenate(cls, parts: Sequence["Scores"]) -> "Scores":
        """Concatenate the rows of consecutive ranges of frames."""
        matches = [part.matches for part in parts if part.matches is not None]

        def joined(kind: str, axis: int) -> dict[str, Any]:
            blocks = [getattr(part, kind) for part in parts]
            return {name: np.concatenate([block[name] for block in blocks], axis) for name in blocks[0]}

        return cls(
            predicted=np.concatenate([part.predicted for part in parts]),
            true=np.concatenate([part.true for part in parts]),
            confidence=np.concatenate([part.confidence for part in parts]),
            sums=joined("sums", 1),
            rings=joined("rings", 1),
            hits=joined("hits", 0),
            matches=np.concatenate(matches) if len(matches) == len(parts) else None,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all columns by their names in files. Columns of PLD always exist; they are empty if not computed."""
        ((_, pld),) = sum_metrics((PLD.name,))
        none = {PLD.name: np.zeros((0, *self.predicted.shape, len(pld.columns)))}
        blocks = {"sums": none | self.sums, "rings": none | self.rings, "hits": self.hits}
        names = {(kind, name): f"{kind}/{name}" for kind, columns in blocks.items() for name in columns} | _NAMES
        columns: dict[str, NDArray[Any]] = {stored: blocks[kind][name] for (kind, name), stored in names.items()}
        columns |= {name: getattr(self, name) for name in _COLUMNS}
        # Without the parts of PLD, matches of a file could not be checked.
        if self.matches is not None and PLD.name in self.sums:
            largest = int(self.matches.max(initial=0))
            columns[_MATCHES] = self.matches.astype(np.min_scalar_type(-1 - largest))
        return columns

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]], metrics: Sequence[str]) -> "Scores":
        """Return the scores from the columns of ``arrays``, for the computed metrics."""
        blocks: dict[str, dict[str, Any]] = {"sums": {}, "rings": {}, "hits": {}}
        for stored, column in arrays.items():
            kind, _, name = next(("/".join(key) for key in _NAMES if _NAMES[key] == stored), stored).partition("/")
            if kind in blocks and (name != PLD.name or name in metrics):
                blocks[kind][name] = column
        if PLD.name in metrics:
            matches = arrays.get(_MATCHES)
        else:
            matches = None
        if matches is not None and (matches.dtype.kind != "i" or matches.ndim != 1):
            raise ValueError("its matches are not whole numbers")
        if matches is None:
            known = None
        else:
            known = matches.astype(np.int64)
        return cls(**{name: arrays[name] for name in _COLUMNS}, **blocks, matches=known)  # type: ignore[arg-type]

    def check(self, frames: int, classes: int, protocol: Protocol, metrics: Sequence[str], rings: int) -> None:
        """Raise ``ValueError`` for inconsistent columns, which a damaged file may have."""
        shape = (frames, classes)
        if self.predicted.dtype == np.int64:
            records = int(self.predicted.sum())
        else:
            records = -1
        expected: list[tuple[Any, tuple[int, ...], type]] = [
            (self.predicted, shape, np.int64),
            (self.true, shape, np.int64),
            (self.confidence, (records,), np.float64),
        ]
        if not set(metrics) <= set(METRICS) or not all(METRICS[name].settings(protocol) for name in metrics):
            raise ValueError("its metrics are not the metrics of its protocol")
        added = {metric.name: (metric, rows) for metric, rows in sum_metrics(metrics)}
        ringed = {name for name, (_, rows) in added.items() if rows.rings}
        hits = {metric.name for metric, _ in hit_metrics(metrics)}
        if (set(self.sums), set(self.rings), set(self.hits)) != (set(added), ringed, hits):
            raise ValueError("its columns are not the columns of its metrics")
        for name, (metric, rows) in added.items():
            width = len(rows.columns)
            expected.append((self.sums[name], (len(metric.settings(protocol)), *shape, width), np.float64))
            if rows.rings:
                expected.append((self.rings[name], (rings, *shape, width), np.float64))
        expected += [(bits, (records,), np.uint16) for bits in self.hits.values()]
        if any(column.shape != size or column.dtype != kind for column, size, kind in expected):
            raise ValueError("its columns do not fit together")
        if self.matches is not None:
            self._check_matches(self.matches)

    def _check_matches(self, truth: Indices) -> None:
        """Raise ``ValueError`` for matches with no truth, or with truth that has another match."""
        if len(truth) != len(self.confidence):
            raise ValueError("its matches do not fit its predictions")
        matched = np.flatnonzero(truth >= 0)
        group = self.frame[matched] * self.true.shape[1] + self.label[matched]
        first = np.append(0, self.true.cumsum())
        instances = first[group] + truth[matched]
        if (instances >= first[group + 1]).any() or (np.bincount(instances) > 1).any():
            raise ValueError("its matches do not fit its truth")


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
    columns: tuple[int, ...]  # exact sums of ``per_frame``, see ``mapgauge.scoring.scores``

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
            true=self.true + other.true,
            columns=tuple(a + b for a, b in zip(self.columns, other.columns, strict=True)),
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
        bits = bits_of(protocol, names)
        how = interpolations(protocol, names)
        values = []
        for c, truth in enumerate(counts[3].tolist()):
            counted = scores.counted(c, protocol)
            hits = [column[counted] for column in scores.hits.values()]
            values.append(precisions_of(scores.confidence[counted], hits, bits, truth=truth, interpolation=how))
        rings = max((len(block) for block in scores.rings.values()), default=0)
        sums = _unpacked(columns, list(scores.sums), protocol, rings=rings, classes=len(counts[3]))
        return cls(*counts, sums, by_metric(values, names, bits))

    def and_metrics(self, other: "Totals", metrics: Sequence[str]) -> "Totals":
        """Return these totals with those of other metrics of the same frames, in the order of ``metrics``."""
        sums = self.sums | other.sums
        precision = self.precision | other.precision
        return replace(
            self,
            sums={name: sums[name] for name in metrics if name in sums},
            precision={name: precision[name] for name in metrics if name in precision},
        )

    @classmethod
    def of_sums(
        cls, sums: Sums, protocol: Protocol, metrics: Sequence[str], rings: int, precision: dict[str, Floats]
    ) -> "Totals":
        """Return the totals from sums over chunks."""
        columns = [rounded(column) for column in sums.columns]
        names = [metric.name for metric, _ in sum_metrics(metrics)]
        unpacked = _unpacked(columns, names, protocol, rings=rings, classes=len(sums.true))
        return cls(sums.frames, sums.without_truth, sums.predicted, true=sums.true, sums=unpacked, precision=precision)


def bits_of(protocol: Protocol, metrics: Sequence[str]) -> list[tuple[int, int]]:
    """Return all settings of some average precisions, as index of the metric and bit of its hits."""
    return [(m, t) for m, name in enumerate(metrics) for t in range(len(METRICS[name].settings(protocol)))]


def interpolations(protocol: Protocol, metrics: Sequence[str]) -> list[Interpolation]:
    """Return how average precision is computed, for each setting of ``bits_of``."""
    return [protocol.settings[name].interpolation for name in metrics for _ in METRICS[name].settings(protocol)]


def flags_of(hits: Sequence[Bits], bits: list[tuple[int, int]]) -> Flags:
    """Return which predictions hit, with a column for each setting, from the hits of each metric."""
    if hits:
        count = len(hits[0])
    else:
        count = 0
    if bits:
        return np.stack([(hits[m] >> t) & 1 == 1 for m, t in bits], axis=1)
    return np.empty((count, 0), np.bool_)


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
    return average_precisions(confidence, confidence[some], flags, truth=truth, interpolation=interpolation)


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
        block = left[:size].reshape(shape)
        left = left[size:]
        return block

    by_metric = {}
    for metric, rows in sum_metrics(metrics):
        settings = len(metric.settings(protocol))
        width = len(rows.columns)
        pooled = taken(settings, classes, width)
        if rows.frame_mean:
            values = taken(settings, classes)
        else:
            values = np.full((settings, classes), np.nan)
        by_metric[metric.name] = MetricSums(pooled, values, taken(rings if rows.rings else 0, classes, width))
    return by_metric


def _counts(scores: Scores) -> tuple[int, int, Indices, Indices]:
    """Return the numbers of frames, of frames without truth, and of predictions and truth of each class."""
    without = int(np.count_nonzero(scores.true.sum(axis=1) == 0))
    return scores.frames, without, scores.predicted.sum(axis=0), scores.true.sum(axis=0)
