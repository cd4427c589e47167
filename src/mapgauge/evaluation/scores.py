"""``Scores``: the rows of a range of frames, one per frame and class, and one per prediction.

Every row belongs to one frame. Concatenating the rows of ranges gives the same bits for every division into ranges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.assigned import Matches, ScoredMatches
from mapgauge.metrics.metric import Bits
from mapgauge.metrics.table import METRICS, hit_metrics, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.typing import Confidences, Flags, Floats, Indices

_SUMS, _RINGS, _HITS = "sums/", "rings/", "hits/"
_NAMES = {"sums/pld": "parts", "rings/pld": "ring_parts"}  # names in files
_MATCHES = "matches"


@dataclass(frozen=True, eq=False)
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
    matches: Matches | None = None  # of PLD at the first cutoff; None if they are not known. They only save time

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
        return of_class & (self.true[self.frame, label] > 0) if protocol.skip_without_truth else of_class

    def at(self, frames: Indices) -> "Scores":
        """Return the rows of some frames, in the given order."""
        per_frame = self.predicted.sum(axis=1)
        records = ranges(per_frame.cumsum()[frames] - per_frame[frames], per_frame[frames])
        return Scores(
            self.predicted[frames],
            self.true[frames],
            self.confidence[records],
            {name: block[:, frames] for name, block in self.sums.items()},
            {name: block[:, frames] for name, block in self.rings.items()},
            {name: column[records] for name, column in self.hits.items()},
            None if self.matches is None else self.matches.at(records),
        )

    def scored_matches(self, frames: slice) -> ScoredMatches | None:
        """Return the matches of some frames, for the evaluation by other metrics; None if they are not known."""
        if self.matches is None:
            return None
        sums = self.sums.get("pld")
        rows = slice(*self._ends[[frames.start, frames.stop]].tolist())
        of_groups = None if sums is None else sums[0, frames].reshape(-1, sums.shape[-1])
        return ScoredMatches(self.matches.at(rows), of_groups)

    @cached_property
    def _ends(self) -> Indices:
        """The first prediction of each frame, and the number of predictions."""
        return np.append(0, self.predicted.sum(axis=1).cumsum())

    def and_metrics(self, other: "Scores", metrics: Sequence[str]) -> "Scores":
        """Return the rows of these metrics and of other metrics of the same frames, in the order of ``metrics``."""

        def in_order(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
            columns = first | second
            return {name: columns[name] for name in metrics if name in columns}

        columns = {name: in_order(getattr(self, name), getattr(other, name)) for name in ("sums", "rings", "hits")}
        matches = other.matches if self.matches is None else self.matches
        return Scores(self.predicted, self.true, self.confidence, **columns, matches=matches)

    @classmethod
    def concatenate(cls, parts: Sequence["Scores"]) -> "Scores":
        """Concatenate the rows of consecutive ranges of frames."""
        first = parts[0]
        matches = [part.matches for part in parts if part.matches is not None]
        return cls(
            np.concatenate([part.predicted for part in parts]),
            np.concatenate([part.true for part in parts]),
            np.concatenate([part.confidence for part in parts]),
            {name: np.concatenate([part.sums[name] for part in parts], axis=1) for name in first.sums},
            {name: np.concatenate([part.rings[name] for part in parts], axis=1) for name in first.rings},
            {name: np.concatenate([part.hits[name] for part in parts]) for name in first.hits},
            Matches.concatenate(matches) if len(matches) == len(parts) else None,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all columns by their names in files. Columns of PLD always exist; they are empty if not computed."""
        frames, classes = self.predicted.shape
        none = np.zeros((0, frames, classes, len(_pld_columns())))
        blocks = {_SUMS + name: block for name, block in ({"pld": none} | self.sums).items()}
        blocks |= {_RINGS + name: block for name, block in ({"pld": none} | self.rings).items()}
        columns: dict[str, NDArray[Any]] = {_HITS + name: bits for name, bits in self.hits.items()}
        columns |= {"predicted": self.predicted, "true": self.true}
        columns |= {_NAMES.get(name, name): block for name, block in blocks.items()}
        columns |= {"confidence": self.confidence}
        # Without the parts of PLD, matches of a file could not be checked.
        if self.matches is not None and "pld" in self.sums:
            largest = int(self.matches.truth.max(initial=0))
            columns[_MATCHES] = self.matches.truth.astype(np.min_scalar_type(-1 - largest))
        return columns

    @classmethod
    def of_arrays(cls, arrays: dict[str, NDArray[Any]], metrics: Sequence[str]) -> "Scores":
        """Return the scores from the columns of ``arrays``, for the computed metrics."""
        named = {stored: name for name, stored in _NAMES.items()}
        known = {named.get(name, name): column for name, column in arrays.items()}

        def of(prefix: str) -> dict[str, Any]:
            blocks = {name.removeprefix(prefix): block for name, block in known.items() if name.startswith(prefix)}
            return {name: block for name, block in blocks.items() if name != "pld" or name in metrics}

        matches = arrays.get(_MATCHES) if "pld" in metrics else None
        if matches is not None and (matches.dtype.kind != "i" or matches.ndim != 1):
            raise ValueError("its matches are not whole numbers")
        columns = arrays["predicted"], arrays["true"], arrays["confidence"], of(_SUMS), of(_RINGS), of(_HITS)
        return cls(*columns, None if matches is None else Matches(matches.astype(np.int64), None))

    def check(self, frames: int, classes: int, protocol: Protocol, metrics: Sequence[str], rings: int) -> None:
        """Raise ``ValueError`` for inconsistent columns, which a damaged file may have."""
        shape = (frames, classes)
        records = int(self.predicted.sum()) if self.predicted.dtype == np.int64 else -1
        expected: list[tuple[Any, tuple[int, ...], type]] = [
            (self.predicted, shape, np.int64),
            (self.true, shape, np.int64),
            (self.confidence, (records,), np.float64),
        ]
        if not set(metrics) <= set(METRICS) or not all(METRICS[name].settings(protocol) for name in metrics):
            raise ValueError("its metrics are not those of its protocol")
        added = {metric.name: (metric, rows) for metric, rows in sum_metrics(metrics)}
        ringed = {name for name, (_, rows) in added.items() if rows.rings}
        hits = {metric.name for metric, _ in hit_metrics(metrics)}
        if (set(self.sums), set(self.rings), set(self.hits)) != (set(added), ringed, hits):
            raise ValueError("its columns are not those of its metrics")
        for name, (metric, rows) in added.items():
            width = len(rows.columns)
            expected.append((self.sums[name], (len(metric.settings(protocol)), *shape, width), np.float64))
            if rows.rings:
                expected.append((self.rings[name], (rings, *shape, width), np.float64))
        expected += [(bits, (records,), np.uint16) for bits in self.hits.values()]
        if any(column.shape != size or column.dtype != kind for column, size, kind in expected):
            raise ValueError("its columns do not fit together")
        if self.matches is not None:
            self._check_matches(self.matches.truth)

    def _check_matches(self, truth: Indices) -> None:
        """Raise ``ValueError`` for matches with no truth, or with truth that has another match."""
        if len(truth) != len(self.confidence):
            raise ValueError("its matches are not those of its predictions")
        matched = np.flatnonzero(truth >= 0)
        group = self.frame[matched] * self.true.shape[1] + self.label[matched]
        first = np.append(0, self.true.cumsum())
        instances = first[group] + truth[matched]
        if (instances >= first[group + 1]).any() or (np.bincount(instances) > 1).any():
            raise ValueError("its matches are not those of its truth")


def _pld_columns() -> tuple[str, ...]:
    return next(rows.columns for metric, rows in sum_metrics(("pld",)))
