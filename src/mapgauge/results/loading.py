"""Reads results from files and work folders."""

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path

from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.data import Data, Sides
from mapgauge.evaluation.precision import LIMIT, Records, precisions
from mapgauge.evaluation.prepare import Frames, prepare
from mapgauge.evaluation.scores import Scores, Sums, Totals
from mapgauge.frames.content import added_hashes, has_content, hash_text
from mapgauge.frames.findings import Finding, summed
from mapgauge.frames.history import read_history
from mapgauge.io._format import ReadOptions
from mapgauge.io.dataset import open_dataset
from mapgauge.metrics.table import hit_metrics
from mapgauge.results.folder import Folder, records_of
from mapgauge.results.results import Results
from mapgauge.results.saving import read_results
from mapgauge.results.summary import Input, Summary


class FolderRows:
    """Rows in a folder. All rows are read when the first one is needed."""

    def __init__(self, folder: Folder) -> None:
        """Keep the folder without reading it."""
        self.folder = folder

    @cached_property
    def _all(self) -> tuple[tuple[str, ...], tuple[str, ...] | None, Scores]:
        chunks = list(self.folder.chunks())
        known = all(chunk.scenes is not None for chunk in chunks)
        return (
            tuple(token for chunk in chunks for token in chunk.tokens),
            tuple(scene for chunk in chunks for scene in chunk.scenes or ()) if known else None,
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


def read_sides(rows: FolderRows, hashes: Sequence[str]) -> Sides:
    """Read both sides of the evaluation into memory, for assignments and figures.

    Args:
        rows: The rows. The frames have their order.
        hashes: The content hash of each side; "" if it is not known, because chunks were skipped.
    """
    about = rows.folder.about
    both = []
    for k, path in enumerate(about.paths):
        side = open_dataset(path)
        frames = side.read(ReadOptions(None, "drop", {})) if side.digest == about.digests[k] else None
        same = frames is not None and (
            has_content(frames, hashes[k]) if hashes[k] else not side.files_changed(about.stamps[k])
        )
        if frames is None or not same:
            raise InvalidInput(f"{path}: changed since the evaluation")
        both.append(frames)
    x, y = prepare(both[0], both[1], about.settings, "ignore")
    places = [y.index[token] for token in rows.tokens]
    return x.at(places), y.at(places)


def results_of(folder: Folder, *, failed: dict[int, str] | None = None, limit: int = LIMIT) -> Results:
    """Merge the finished chunks of a folder, one at a time.

    Args:
        folder: The folder.
        failed: Error messages of the chunks that are left out, by index.
        limit: Predictions of a class in memory at once, for average precision.
    """
    about = folder.about
    lost = failed or {}
    lacking = about.chunks - len(folder.finished) - len(lost)
    if lacking:
        raise InvalidInput(
            f"{folder.path}: {about.chunks - lacking} of {about.chunks} chunks are finished",
            remedy=Remedy(
                "Resume the evaluation with resume=True",
                f"Resume it: mapgauge evaluate ... --work {folder.path} --resume",
            ),
        )
    settings = about.settings
    sums: Sums | None = None
    missing = ignored = 0
    frames, counts = [0, 0], [[0] * len(classes) for classes in about.classes]
    noticed: dict[Finding, None] = dict.fromkeys(folder.findings)
    hashes: list[tuple[int, int]] = []
    classes = range(len(settings.classes or ()))
    # Records of each class are kept while they fit into memory, so that chunks are read once.
    held: list[list[Records]] | None = [[] for _ in classes]
    for chunk in folder.chunks():
        sums = chunk.sums if sums is None else sums + chunk.sums
        missing, ignored = missing + chunk.missing, ignored + chunk.ignored
        frames = [a + b for a, b in zip(frames, chunk.frames, strict=True)]
        counts = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(counts, chunk.counts, strict=True)]
        hashes.append(chunk.hashes)
        noticed |= dict.fromkeys(chunk.findings)
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
        settings,
        [metric.name for metric, _ in hit_metrics(about.metrics)],
        folder.path,
        limit,
    )
    summary = Summary(
        settings,
        about.metrics,
        settings.classes or (),
        about.rings,
        (inputs := _inputs(folder, frames, counts, hashes, complete=not lost)),
        missing,
        ignored,
        (*_skipped(lost, about.chunks), *summed(noticed, "chunks")),
        about.mapgauge,
        Totals.of_sums(sums, settings, about.metrics, max(len(about.rings) - 1, 0), precision),
    )
    rows = FolderRows(folder)
    read = partial(read_sides, rows, ["" if lost else recorded.hash for recorded in inputs])
    return Results(summary, rows, Data(read, settings))


def _inputs(
    folder: Folder,
    frames: Sequence[int],
    counts: Sequence[Sequence[int]],
    hashes: Sequence[tuple[int, int]],
    *,
    complete: bool,
) -> tuple[Input, Input]:
    about = folder.about
    inputs = [
        Input(
            about.paths[k],
            "parquet",
            frames[k],
            dict(zip(about.classes[k], counts[k], strict=True)),
            hash_text(added_hashes([pair[k] for pair in hashes])),
            read_history(about.paths[k], None, None, "drop", {}) if complete else None,
        )
        for k in range(2)
    ]
    return inputs[0], inputs[1]


def _skipped(lost: dict[int, str], chunks: int) -> list[Finding]:
    if not lost:
        return []
    return [
        Finding(
            "error",
            "chunks-skipped",
            f"{len(lost)} of {chunks} chunks could not be evaluated. The results do not include them",
            len(lost),
            tuple(lost[index] for index in sorted(lost)[:3]),
        )
    ]


def load_folder(path: Path) -> Results:
    """Return the results of a finished work folder. Chunks that could not be evaluated are reported as a finding."""
    folder = Folder(path)
    return replace(results_of(folder, failed=folder.failures), origin=path)


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
    results = load_folder(file) if file.is_dir() else Results(*read_results(path), file)
    return results if predictions is None and truth is None else results.with_data(predictions, truth)
