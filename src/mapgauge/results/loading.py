"""Reads results from files and work folders."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.frames.content import added_hashes, has_content, hash_text
from mapgauge.frames.findings import Finding, ignored_frames, missing_frames, summed, unknown_frames
from mapgauge.frames.history import read_history
from mapgauge.io._format import ReadOptions
from mapgauge.io.dataset import open_dataset
from mapgauge.metrics.table import hit_metrics
from mapgauge.results.folder import Folder, is_folder, records_of
from mapgauge.results.results import Results
from mapgauge.results.saving import read_results
from mapgauge.results.values import Input, InputRecords
from mapgauge.scoring.data import Data, Sides
from mapgauge.scoring.lengths import metres
from mapgauge.scoring.precision import LIMIT, Records, precisions
from mapgauge.scoring.prepare import Frames, prepare
from mapgauge.scoring.scores import Scores, Sums, Totals


class FolderRows:
    """Rows in a folder. All rows are read when the first one is needed."""

    def __init__(self, folder: Folder) -> None:
        """Keep the folder without reading it."""
        self.folder = folder

    @cached_property
    def _all(self) -> tuple[tuple[str, ...], tuple[str, ...] | None, Scores]:
        chunks = list(self.folder.chunks())
        known = all(chunk.header.scenes is not None for chunk in chunks)
        return (
            tuple(token for chunk in chunks for token in chunk.header.tokens),
            tuple(scene for chunk in chunks for scene in chunk.header.scenes or ()) if known else None,
            Scores.concatenate([chunk.scores for chunk in chunks]),
        )

    @property
    def tokens(self) -> tuple[str, ...]:
        """The frames, sorted by scene and token."""
        return self._all[0]

    @property
    def scenes(self) -> tuple[str, ...] | None:
        """The scene of each frame, if known."""
        return self._all[1]

    @property
    def scores(self) -> Scores:
        """The scores of each frame."""
        return self._all[2]

    @property
    def metrics(self) -> Collection[str]:
        """The names of the metrics that the scores have. Extra metrics have totals only."""
        return self.folder.about.metrics

    @property
    def drive(self) -> None:
        """No poses: the data set that was evaluated has them, if they are known."""
        return None


def read_sides(rows: FolderRows, hashes: Sequence[str]) -> Sides:
    """Read both sides of the evaluation into memory, in the order of the rows, for assignments and figures.

    The content hash of a side is "" if it is not known, because chunks were skipped.
    """
    about = rows.folder.about
    both = []
    for k, path in enumerate(about.paths):
        side = open_dataset(path)
        if side.digest != about.digests[k]:
            raise InvalidInput(f"{path}: changed since the evaluation")
        frames = side.read(ReadOptions(classes=None, degenerate="drop", extra={}))
        if hashes[k]:
            changed = not has_content(frames, hashes[k])
        else:
            changed = bool(side.files_changed(about.stamps[k]))
        if changed:
            raise InvalidInput(f"{path}: changed since the evaluation")
        both.append(frames)
    x, y = prepare(both[0], both[1], about.settings, unknown="ignore")
    places = [y.index[token] for token in rows.tokens]
    return x.at(places), y.at(places)


_TOKENS = ("tokens-missing", "tokens-unknown")


def _frames_of_one_side(
    noticed: Iterable[Finding], numbers: tuple[int, int], frames: tuple[int, int]
) -> Iterator[Finding]:
    """Return the findings about frames that are missing and that are ignored.

    The checks see one chunk, and these counts are of all. The examples are those of the chunk.
    """
    missing, ignored = numbers
    predicted, true = frames
    shown = {finding.code: finding.examples for finding in noticed if finding.code in _TOKENS}
    if missing:
        yield missing_frames(missing, true, shown.get("tokens-missing", ()), cause="", remedy=None)
    if ignored:
        yield ignored_frames(unknown_frames(ignored, predicted, shown.get("tokens-unknown", ()), cause="", remedy=None))


def results_of(folder: Folder, *, failed: dict[int, str] | None = None, limit: int = LIMIT) -> Results:
    """Merge the finished chunks of a folder, one at a time.

    ``failed`` has the error messages of the chunks that are left out, by index. For average precision, at most
    ``limit`` predictions of a class are in memory at once.
    """
    about = folder.about
    lost = failed or {}
    lacking = about.chunks - len(folder.finished) - len(lost)
    if lacking:
        raise InvalidInput(
            f"{folder.path}: {about.chunks - lacking} of {about.chunks} chunks are finished",
            remedy=Remedy(
                "Resume the evaluation with resume=True",
                "Run the command that began it again, with --resume",
            ),
        )
    settings = about.settings
    merged = _merged(folder, limit)
    sums = merged.sums
    if sums is None:
        raise InvalidInput(f"{folder.path}: no chunk could be evaluated. First error: {lost[min(lost)]}")
    records: Callable[[int], Iterable[Records]] = folder.records
    if merged.records is not None:
        records = merged.records.__getitem__
    precision = precisions(
        records,
        sums.predicted.tolist(),
        sums.true.tolist(),
        protocol=settings,
        metrics=[metric.name for metric, _ in hit_metrics(about.metrics)],
        folder=folder.path,
        limit=limit,
    )
    x = _input_of(folder, merged, side=0, is_whole=not lost)
    y = _input_of(folder, merged, side=1, is_whole=not lost)
    findings = []
    if lost:
        skipped = f"{len(lost)} of {about.chunks} chunks could not be evaluated. The results do not include them"
        examples = tuple(lost[index] for index in sorted(lost)[:3])
        findings.append(Finding("error", "chunks-skipped", skipped, count=len(lost), examples=examples))
    findings += _frames_of_one_side(merged.noticed, (merged.missing, merged.ignored), (x.frames, y.frames))
    truth_lengths = None
    if len(merged.lengths) == len(merged.hashes):
        truth_lengths = metres(settings.classes or (), merged.lengths)
    hashes = [x.hash, y.hash]
    if lost:
        hashes = ["", ""]  # what is read again has the frames of the lost chunks too
    rows = FolderRows(folder)
    return Results(
        protocol=settings,
        metrics=about.metrics,
        class_names=settings.classes or (),
        ranges=about.rings,
        records=InputRecords.known(x, y),
        frames_missing=merged.missing,
        frames_ignored=merged.ignored,
        findings=(*findings, *summed((one for one in merged.noticed if one.code not in _TOKENS), "chunks")),
        version=about.mapgauge,
        totals_from=partial(
            Totals.of_sums,
            sums,
            settings,
            (*about.metrics, *about.extra),
            rings=max(len(about.rings) - 1, 0),
            precision=precision,
        ),
        rows=rows,
        extra=about.extra,
        date=about.date,
        metadata=about.metadata,
        truth_lengths=truth_lengths,
        geometry=Data(partial(read_sides, rows, hashes), settings),
    )


@dataclass(kw_only=True)
class _Merged:
    """What the finished chunks of a folder have together. Lists of two are for predictions and truth."""

    counts: list[NDArray[np.int64]]  # instances of each class of the files
    noticed: dict[Finding, None]
    sums: Sums | None = None  # None without a chunk
    missing: int = 0  # frames
    ignored: int = 0
    frames: list[int] = field(default_factory=lambda: [0, 0])
    hashes: list[tuple[int, int]] = field(default_factory=list)  # of each chunk
    lengths: list[list[int]] = field(default_factory=list)  # of each chunk that has them
    records: list[list[Records]] | None = None  # of each class, if they fit into memory


def _merged(folder: Folder, limit: int) -> _Merged:
    """Read the finished chunks of a folder. Records are kept while they fit into memory, so that chunks are read once.

    ``limit`` is the number of predictions that fit.
    """
    settings = folder.about.settings
    merged = _Merged(
        counts=[np.zeros(len(classes), np.int64) for classes in folder.about.classes],
        noticed=dict.fromkeys(folder.findings),
        records=[[] for _ in settings.classes or ()],
    )
    for chunk in folder.chunks():
        header = chunk.header
        if merged.sums is None:
            merged.sums = chunk.sums
        else:
            merged.sums = merged.sums + chunk.sums
        merged.missing += header.missing
        merged.ignored += header.ignored
        for side in range(2):
            merged.frames[side] += header.frames[side]
            merged.counts[side] += header.counts[side]
        merged.hashes.append((int(header.hashes[0], 16), int(header.hashes[1], 16)))
        if header.lengths is not None:
            merged.lengths.append(header.lengths)
        merged.noticed |= dict.fromkeys(header.findings)
        if int(merged.sums.predicted.sum()) > limit:
            merged.records = None
        if merged.records is not None:
            for c, of_class in enumerate(merged.records):
                of_class.append(records_of(chunk.scores, c, settings))
    return merged


def _input_of(folder: Folder, merged: _Merged, side: int, *, is_whole: bool) -> Input:
    """Return what is recorded of a side. It has no history if chunks are lost: a file has their frames too."""
    about = folder.about
    history = None
    if is_whole:
        history = read_history(about.paths[side], format=None, classes=None, degenerate="drop", options={})
    return Input(
        about.paths[side],
        "parquet",
        merged.frames[side],
        counts=dict(zip(about.classes[side], merged.counts[side].tolist(), strict=True)),
        hash=hash_text(added_hashes([pair[side] for pair in merged.hashes])),
        history=history,
    )


def load_results(
    path: str | os.PathLike[str], predictions: Frames | None = None, truth: Frames | None = None
) -> Results:
    """Load results from a file that ``Results.save`` wrote, or from the work folder of a streamed evaluation.

    Args:
        path: The file or the folder.
        predictions: The evaluated predictions, for assignments and figures. They are not needed if the file has the
            geometry, or if ``Results.with_data`` finds the evaluated files. Their content must be the same; the file
            format may differ.
        truth: The truth of the evaluation.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    >>> results = mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", classes=["divider"]))
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "results.mg"
    >>> results.save(file)
    >>> mg.load_results(file).mean["pld"]
    0.0
    """
    file = Path(path)
    if is_folder(file):
        folder = Folder(file)
        results = replace(results_of(folder, failed=folder.failures), origin=file)
    else:
        results = Results(**read_results(path), origin=file)
    if predictions is None and truth is None:
        return results
    return results.with_data(predictions, truth)
