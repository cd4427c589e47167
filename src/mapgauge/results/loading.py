"""Reads results from files and work folders."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

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
        if side.digest == about.digests[k]:
            frames = side.read(ReadOptions(None, "drop", {}))
        else:
            frames = None
        same = frames is not None and (
            has_content(frames, hashes[k]) if hashes[k] else not side.files_changed(about.stamps[k])
        )
        if frames is None or not same:
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
    sums: Sums | None = None
    numbers = np.zeros(4, np.int64)  # frames that are missing and ignored, and frames of both sides
    counts = [np.zeros(len(classes), np.int64) for classes in about.classes]
    noticed: dict[Finding, None] = dict.fromkeys(folder.findings)
    hashes: list[tuple[int, int]] = []
    lengths: list[list[int]] = []
    classes = range(len(settings.classes or ()))
    # Records of each class are kept while they fit into memory, so that chunks are read once.
    held: list[list[Records]] | None = [[] for _ in classes]
    for chunk in folder.chunks():
        header = chunk.header
        if sums is None:
            sums = chunk.sums
        else:
            sums = sums + chunk.sums
        numbers += (header.missing, header.ignored, *header.frames)
        for total, of_side in zip(counts, header.counts, strict=True):
            total += of_side
        hashes.append((int(header.hashes[0], 16), int(header.hashes[1], 16)))
        if header.lengths is not None:
            lengths.append(header.lengths)
        noticed |= dict.fromkeys(header.findings)
        if int(sums.predicted.sum()) > limit:
            held = None
        if held is not None:
            for c in classes:
                held[c].append(records_of(chunk.scores, c, settings))
    if sums is None:
        raise InvalidInput(f"{folder.path}: no chunk could be evaluated. First error: {lost[min(lost)]}")
    precision = precisions(
        folder.records if held is None else held.__getitem__,
        sums.predicted.tolist(),
        sums.true.tolist(),
        protocol=settings,
        metrics=[metric.name for metric, _ in hit_metrics(about.metrics)],
        folder=folder.path,
        limit=limit,
    )
    missing, ignored, *frames = numbers.tolist()
    x, y = (
        Input(
            about.paths[k],
            "parquet",
            frames[k],
            counts=dict(zip(about.classes[k], counts[k].tolist(), strict=True)),
            hash=hash_text(added_hashes([pair[k] for pair in hashes])),
            history=None if lost else read_history(about.paths[k], None, None, degenerate="drop", options={}),
        )
        for k in range(2)
    )
    skipped = f"{len(lost)} of {about.chunks} chunks could not be evaluated. The results do not include them"
    examples = tuple(lost[index] for index in sorted(lost)[:3])
    if lost:
        findings = [Finding("error", "chunks-skipped", skipped, count=len(lost), examples=examples)]
    else:
        findings = []
    findings += [*_frames_of_one_side(noticed, (missing, ignored), (frames[0], frames[1]))]
    rows = FolderRows(folder)
    return Results(
        settings,
        about.metrics,
        settings.classes or (),
        ranges=about.rings,
        records=InputRecords.known(x, y),
        frames_missing=missing,
        frames_ignored=ignored,
        findings=(*findings, *summed((finding for finding in noticed if finding.code not in _TOKENS), "chunks")),
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
        truth_lengths=metres(settings.classes or (), lengths) if len(lengths) == len(hashes) else None,
        geometry=Data(partial(read_sides, rows, ["" if lost else recorded.hash for recorded in (x, y)]), settings),
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
