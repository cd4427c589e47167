"""Results of a streamed evaluation: the summary at once, the rows of frames when they are asked for."""

from functools import cached_property
from pathlib import Path
from typing import Any

from mapgauge.errors import InvalidInput
from mapgauge.evaluation.evaluate import prepare
from mapgauge.frames.findings import Finding, summed
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._options import ReadOptions
from mapgauge.io.dataset import open_dataset
from mapgauge.results.folder import Folder, records_of
from mapgauge.results.results import Input, Results
from mapgauge.scoring.precision import LIMIT, Records, precisions
from mapgauge.scoring.score import Scores
from mapgauge.scoring.totals import Sums, Totals


class StreamedResults(Results):
    """Results whose rows lie in a folder.

    ``classes``, ``mean``, ``table()`` and ``to_dict()`` need no memory to speak of. What needs the rows (``frames``,
    ``by``, ``save``, ``compare``) reads them from the folder, all at once: about a kilobyte a frame.
    """

    folder: Folder

    def __init__(self, folder: Folder, totals: Totals, **fields: Any) -> None:
        """Take all fields but the rows."""
        for name, value in {"folder": folder, "totals": totals, **fields}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _rows(self) -> tuple[tuple[str, ...], tuple[str, ...] | None, Scores]:
        """Tokens, scenes and scores of all frames."""
        chunks = list(self.folder.chunks())
        known = all(chunk.scenes is not None for chunk in chunks)
        return (
            tuple(token for chunk in chunks for token in chunk.tokens),
            tuple(scene for chunk in chunks for scene in chunk.scenes or ()) if known else None,
            Scores.join([chunk.scores for chunk in chunks]),
        )

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """The frames, sorted by scene and token."""
        return self._rows[0]

    @cached_property
    def scenes(self) -> tuple[str, ...] | None:
        """The scene of each frame."""
        return self._rows[1]

    @cached_property
    def scores(self) -> Scores:
        """The rows of all frames."""
        return self._rows[2]

    @cached_property
    def data(self) -> tuple[MapFrames, MapFrames]:
        """Everything that was compared, in memory: for assignments and figures of data that fit there."""
        sides = [open_dataset(path) for path in self.folder.about.paths]
        for side, digest in zip(sides, self.folder.about.digests, strict=True):
            if side.digest != digest:
                raise InvalidInput(f"{side.path}: changed since it was evaluated")
        x, y = (side.read(ReadOptions(None, "drop")) for side in sides)
        return prepare(x, y, self.protocol, "ignore")[:2]


def results_of(
    folder: Folder,
    *,
    failed: dict[int, str] | None = None,
    limit: int = LIMIT,
) -> StreamedResults:
    """Merge the finished chunks of a folder, one at a time.

    Args:
        folder: The folder.
        failed: Chunks that are left out, and why.
        limit: Predictions of a class in memory at once, for average precision.
    """
    about = folder.about
    lost = failed or {}
    lacking = about.chunks - len(folder.finished) - len(lost)
    if lacking:
        raise InvalidInput(
            f"{folder.path}: {about.chunks - lacking} of {about.chunks} chunks are finished. Resume the evaluation"
        )
    sums: Sums | None = None
    missing = ignored = 0
    frames, counts = [0, 0], [[0] * len(classes) for classes in about.classes]
    noticed: dict[Finding, None] = dict.fromkeys(folder.findings)
    protocol, rings = about.settings, about.rings
    classes = range(len(protocol.classes or ()))
    held: list[list[Records]] | None = [[] for _ in classes]  # while they fit into memory, so that chunks are read once
    for chunk in folder.chunks():
        sums = chunk.sums if sums is None else sums + chunk.sums
        missing, ignored = missing + chunk.missing, ignored + chunk.ignored
        frames = [a + b for a, b in zip(frames, chunk.frames, strict=True)]
        counts = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(counts, chunk.counts, strict=True)]
        noticed |= dict.fromkeys(chunk.findings)
        if int(sums.predicted.sum()) > limit:
            held = None
        if held is not None:
            for c in classes:
                held[c].append(records_of(chunk.scores, c))
    if sums is None:
        raise InvalidInput(f"{folder.path}: no chunk could be evaluated. The first failed with: {lost[min(lost)]}")
    found = precisions(
        folder.records if held is None else held.__getitem__,
        *(sums.predicted.tolist(), sums.true.tolist(), protocol),
        [name for name in about.metrics if name != "pld"],
        folder.path,
        limit,
    )
    cutoffs = len(protocol.cutoffs) if "pld" in about.metrics else 0
    inputs = tuple(
        Input(path, "parquet", number, dict(zip(names, amounts, strict=True)), digest)
        for path, number, names, amounts, digest in zip(
            about.paths, frames, about.classes, counts, about.digests, strict=True
        )
    )
    return StreamedResults(
        folder,
        Totals.of_sums(sums, cutoffs, max(len(rings) - 1, 0), found),
        protocol=protocol,
        metrics=about.metrics,
        class_names=protocol.classes,
        ranges=rings,
        inputs=inputs,
        frames_missing=missing,
        frames_ignored=ignored,
        findings=(*_skipped(lost, about.chunks), *summed(noticed, "chunks")),
        version=about.mapgauge,
    )


def _skipped(lost: dict[int, str], chunks: int) -> list[Finding]:
    if not lost:
        return []
    return [
        Finding(
            "error",
            "chunks-skipped",
            f"{len(lost)} of {chunks} chunks could not be evaluated, and the numbers are without them",
            len(lost),
            tuple(lost[index] for index in sorted(lost)[:3]),
        )
    ]


def load_folder(path: Path) -> StreamedResults:
    """The results of an evaluation whose folder was kept; chunks that could not be evaluated are a finding."""
    folder = Folder(path)
    return results_of(folder, failed=folder.failures)
