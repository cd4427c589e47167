"""Computes exact average precision of more predictions than fit into memory, with an external sort.

Average precision needs all predictions of a class in the order of confidence. Up to ``LIMIT`` predictions are sorted in
memory. More are sorted in runs on disk, which are then merged from the lowest confidence to the highest. The totals are
known, so recall and precision at a confidence follow from the predictions below it. The highest precision at this
recall or a higher one is then a running maximum. The steps are the same numbers that ``average_precision`` adds, and
sums are exact, so the bits are the same.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.metrics.average_precision import RECALLS, Interpolation, at_recalls, recall_and_precision
from mapgauge.metrics.metric import Bits
from mapgauge.protocols import Protocol
from mapgauge.scoring.scores import bits_of, by_metric, exact_sums, flags_of, interpolations, precisions_of, rounded
from mapgauge.typing import Floats

LIMIT = 1 << 24  # predictions of one class in memory at once; sorting them takes half a gigabyte
WINDOW = 1 << 18  # predictions of all runs together that are merged at once

Records: TypeAlias = tuple[Floats, Bits]  # confidence (n,), hits (n, metrics)


def precisions(
    records: Callable[[int], Iterable[Records]],
    predicted: Sequence[int],
    true: Sequence[int],
    protocol: Protocol,
    metrics: Sequence[str],
    folder: Path,
    limit: int = LIMIT,
    window: int = WINDOW,
) -> dict[str, Floats]:
    """Return average precision by metric, ``(thresholds, classes)``.

    ``records`` returns the predictions of a class in parts, with a column of hits for each metric. ``predicted`` and
    ``true`` are the numbers of instances of each class. At most ``limit`` predictions are in memory; more are sorted in
    temporary files in the folder, and merged by at most ``window`` of all files together.
    """
    bits = bits_of(protocol, metrics)
    how = interpolations(protocol, metrics)
    if not bits:
        return {}

    def values(c: int) -> list[float]:
        method = _in_memory if predicted[c] <= limit else _external
        return method(records(c), bits, true[c], how, folder, limit, window)

    # Classes run in parallel if all of them fit into memory, because sorting releases the GIL.
    with ThreadPoolExecutor(os.cpu_count() if sum(predicted) <= limit else 1) as pool:
        return by_metric(list(pool.map(values, range(len(true)))), metrics, bits)


def _in_memory(
    records: Iterable[Records], bits: list[tuple[int, int]], truth: int, how: list[Interpolation], *_: Any
) -> list[float]:
    pieces = list(records)
    confidence = np.concatenate([np.empty(0), *(piece[0] for piece in pieces)])
    hits = np.concatenate([np.empty((0, bits[-1][0] + 1), np.uint16), *(piece[1] for piece in pieces)])
    return precisions_of(confidence, list(hits.T), bits, truth=truth, interpolation=how)


def _external(
    records: Iterable[Records],
    bits: list[tuple[int, int]],
    truth: int,
    how: list[Interpolation],
    folder: Path,
    limit: int,
    window: int,
) -> list[float]:
    with tempfile.TemporaryDirectory(dir=folder, prefix="sort-") as scratch:
        runs, number, hit_count = _runs(records, bits, Path(scratch), limit=limit)
        curve = _PrecisionCurve(number, hit_count, truth, recalls={*how} - {"area"})
        for confidence, hits in _merged(runs, max(min(limit, window) // len(runs), 1)):
            curve.add(confidence, flags_of(list(hits.T), bits).astype(np.int64))
        curve.finish()
        del runs  # some systems cannot delete files that are mapped into memory
    if not truth:
        return [0.0] * len(how)
    values = []
    for k, which in enumerate(how):
        if which == "area":
            values.append(rounded(curve.area[k]))
        else:
            values.append(float(np.mean(curve.reached[which][:, k])))
    return values


def _runs(
    records: Iterable[Records], bits: list[tuple[int, int]], folder: Path, limit: int
) -> tuple[list[Records], int, NDArray[np.int64]]:
    """Write sorted runs, and return them as memory-mapped arrays, with the number of predictions and of hits."""
    runs: list[Records] = []
    number = 0
    hit_count = np.zeros(len(bits), np.int64)
    pieces: list[Records] = []

    def write() -> None:
        confidence = np.concatenate([piece[0] for piece in pieces])
        hits = np.concatenate([piece[1] for piece in pieces])
        pieces.clear()
        order = np.argsort(confidence, kind="stable")
        names = [folder / f"{len(runs)}.{part}.npy" for part in ("confidence", "hits")]
        for name, column in zip(names, (confidence, hits), strict=True):
            np.save(name, column[order])
        runs.append((np.load(names[0], mmap_mode="r"), np.load(names[1], mmap_mode="r")))

    for confidence, hits in records:
        number += len(confidence)
        hit_count += flags_of(list(hits.T), bits).sum(axis=0)
        pieces.append((confidence, hits))
        if sum(len(piece[0]) for piece in pieces) >= limit:
            write()
    if pieces:
        write()
    return runs, number, hit_count


def _merged(runs: list[Records], window: int) -> Iterator[Records]:
    """Yield all records by rising confidence, in blocks. Equal confidences may be in two blocks."""
    at = [0] * len(runs)
    while True:
        open_runs = [k for k, (confidence, _) in enumerate(runs) if at[k] < len(confidence)]
        if not open_runs:
            return
        views = {k: np.array(runs[k][0][at[k] : at[k] + window]) for k in open_runs}
        # All records up to this confidence are in the windows.
        bound = min(view[-1] for view in views.values())
        taken = {k: int(np.searchsorted(view, bound, side="right")) for k, view in views.items()}
        confidence = np.concatenate([views[k][:n] for k, n in taken.items()])
        hits = np.concatenate([runs[k][1][at[k] : at[k] + n] for k, n in taken.items()])
        for k, n in taken.items():
            at[k] += n
        order = np.argsort(confidence, kind="stable")
        yield confidence[order], hits[order]


class _PrecisionCurve:
    """The curve of precision over recall, built from low confidence to high."""

    def __init__(self, number: int, hit_count: NDArray[np.int64], truth: int, recalls: Iterable[Interpolation]) -> None:
        """Start below the lowest confidence, where all predictions count."""
        self.number = number
        self.hit_count = hit_count
        self.truth = truth
        self.envelope = np.zeros(len(hit_count))
        self.area = [0] * len(hit_count)
        self.reached = {how: np.zeros((len(RECALLS[how]), len(hit_count))) for how in recalls}
        self.held: tuple[float, int, NDArray[np.int64]] | None = None  # a level that may continue in the next block

    def add(self, confidence: Floats, hits: NDArray[np.int64]) -> None:
        """Add the next predictions. The last level is held back until it is complete."""
        first = np.flatnonzero(np.append(True, confidence[1:] != confidence[:-1]))
        levels = confidence[first]
        sizes = np.diff(np.append(first, len(confidence)))
        counts = np.add.reduceat(hits, first)
        if self.held is not None:
            level, size, count = self.held
            if level == levels[0]:
                sizes[0] += size
                counts[0] += count
            else:
                sizes = np.append(size, sizes)
                counts = np.concatenate([count[None], counts])
        self.held = (float(levels[-1]), int(sizes[-1]), counts[-1])
        self._steps(sizes[:-1], counts[:-1])

    def finish(self) -> None:
        """Add the level that was held back. No more predictions follow."""
        if self.held is not None:
            _, size, count = self.held
            self._steps(np.array([size]), count[None])

    def _steps(self, sizes: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        if not len(sizes):
            return
        number = self.number - (sizes.cumsum() - sizes)
        hit_count = self.hit_count - (counts.cumsum(axis=0) - counts)
        recall, precision = recall_and_precision(hit_count, number[:, None], self.truth)
        before, _ = recall_and_precision(hit_count - counts, number[:, None], self.truth)
        envelope = np.maximum(np.maximum.accumulate(precision), self.envelope)
        for k, total in enumerate(exact_sums((recall - before) * envelope)):
            self.area[k] += total
        for how, reached in self.reached.items():
            self.reached[how] = np.maximum(reached, at_recalls(recall, precision, how))
        self.envelope = envelope[-1]
        self.number -= int(sizes.sum())
        self.hit_count = self.hit_count - counts.sum(axis=0)
