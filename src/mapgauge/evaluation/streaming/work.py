"""The task of a worker: reads the row groups of a chunk, aligns the frames, scores them, and returns rows.

A worker receives only paths and ranges. It depends neither on the machine nor on other chunks.
"""

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import le
from typing import Literal, NamedTuple

import numpy as np

from mapgauge import manifest
from mapgauge.errors import MapgaugeError
from mapgauge.evaluation.streaming.plan import Chunk
from mapgauge.frames.alignment import align, tokens_without
from mapgauge.frames.content import content_hash, hash_text
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._format import ReadOptions
from mapgauge.io.dataset import RowGroups, keys_of, read_row_groups
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol
from mapgauge.results.folder import ChunkHeader, Partial
from mapgauge.scoring.data import Data
from mapgauge.scoring.lengths import millimetres
from mapgauge.scoring.prepare import check_boxes_of, check_needs, check_sides, check_times, cropped, findings_of
from mapgauge.scoring.scene_frames import uses_tracks
from mapgauge.scoring.score import score_frames, ties_by_file
from mapgauge.scoring.scores import Sums
from mapgauge.typing import Degenerate, Forward
from mapgauge.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The settings with which every chunk is evaluated."""

    protocol: Protocol  # with its classes named
    metrics: tuple[str, ...]
    rings: tuple[float, ...]
    unknown: Literal["error", "ignore"]
    degenerate: Degenerate
    by_scene: bool
    classes: tuple[tuple[str, ...], tuple[str, ...]]  # of the predictions and of the truth
    forward: tuple[Forward | None, Forward | None]  # axes of both; files that do not state theirs have these, too
    extra: tuple[str, ...] = ()  # metrics that are scored along, of which only sums are kept
    in_order: bool = True  # whether the truth is one file, which can be ordered by time; a folder is sorted by token
    version: str = __version__  # version of mapgauge, which must be the same on all workers
    plugins: tuple[str, ...] = field(default_factory=manifest.used)  # modules with further rows of the tables

    @property
    def scored(self) -> tuple[str, ...]:
        """All metrics that are scored."""
        return (*self.metrics, *self.extra)


def score_chunk(job: Job, chunk: Chunk) -> Partial:
    """Read a chunk and score its frames."""
    if job.version != __version__:
        raise MapgaugeError(
            f"a worker has mapgauge {__version__}, expected {job.version}",
            remedy="Install the same version on all workers",
        )
    began = time.thread_time()
    predictions, truth = sides_of(job, chunk)
    missing = len(tokens_without(truth, predictions))
    ignored = len(tokens_without(predictions, truth))
    x, y = align(predictions, truth, classes=job.protocol.classes, unknown=job.unknown)
    check_boxes_of(job.protocol, x, y)
    x, y = cropped(x, y, job.protocol)
    check_needs(job.scored, x, y)
    if not job.in_order:
        check_times(job.scored, y)
    read = time.thread_time()
    scores = score_frames(Data.of(x, y, job.protocol), job.scored, job.rings)
    sums = Sums.of(scores, job.protocol)
    counts = [np.bincount(side.label, minlength=len(side.classes)).tolist() for side in (predictions, truth)]
    header = ChunkHeader(
        tokens=y.tokens,
        scenes=y.scenes,
        columns=tuple(f"{column:x}" for column in sums.columns),
        without_truth=sums.without_truth,
        missing=missing,
        ignored=ignored,
        counts=(counts[0], counts[1]),
        frames=(len(predictions), len(truth)),
        findings=(*predictions.findings, *truth.findings),
        seconds=(read - began, time.thread_time() - read),
        hashes=_hashes(job, predictions, truth),
        lengths=millimetres(y),
    )
    return Partial(header, scores.only(job.metrics))


def _hashes(job: Job, predictions: MapFrames, truth: MapFrames) -> tuple[str, str]:
    """Return the content hash of both sides, with tracks where a metric uses them."""
    both = zip((predictions, truth), uses_tracks(job.metrics), strict=True)
    x, y = (hash_text(content_hash(side, tracks=tracks)) for side, tracks in both)
    return x, y


class Reread(NamedTuple):
    """What a chunk holds now, to compare it with a finished chunk."""

    hashes: tuple[str, str]
    scenes: dict[str, str | None]  # of each frame of the truth


def read_again(job: Job, chunk: Chunk) -> Reread:
    """Read a chunk without scoring it."""
    predictions, truth = sides_of(job, chunk)
    return Reread(_hashes(job, predictions, truth), scenes_by_token(truth.tokens, truth.scenes))


def scenes_by_token(tokens: Sequence[str], scenes: Sequence[str] | None) -> dict[str, str | None]:
    """Return the scene of each token, or None for each token if there are no scenes."""
    if scenes is None:
        return dict.fromkeys(tokens)
    return dict(zip(tokens, scenes, strict=True))


def sides_of(job: Job, chunk: Chunk, *, times: bool = False) -> tuple[MapFrames, MapFrames]:
    """Return the predictions and the truth of a chunk, with time stamps if a metric uses them or on request."""
    manifest.use(job.plugins)
    both = []
    for pieces, classes, forward in zip((chunk.predictions, chunk.truth), job.classes, job.forward, strict=True):
        if pieces:
            side = _owned(job, chunk, pieces, times=times).as_classes(classes)
        else:
            side = _nothing(classes)
        both.append(side if side.forward == forward else side.with_forward(forward))
    predictions, truth = both
    if not chunk.predictions:
        predictions = predictions.with_confidence(1)
    check_sides(predictions, truth)
    check_needs(job.scored, predictions, truth)
    return predictions, truth


def _nothing(classes: tuple[str, ...]) -> MapFrames:
    """Return no frames."""
    return replace(MapFrames.of({}, classes=classes), track=np.empty(0, np.str_))


def findings_in(job: Job, chunk: Chunk) -> tuple[Finding, ...]:
    """Return the findings of the readers and the checks in one chunk."""
    sides = sides_of(job, chunk, times=True)  # the checks compare neighbours in time
    findings = findings_of(*sides, job.protocol, metrics=job.metrics, unknown=job.unknown)
    if job.protocol.ties == "content":
        return findings
    x, y = cropped(*align(*sides, classes=job.protocol.classes, unknown=job.unknown), job.protocol)
    data = Data.of(x, y, job.protocol)
    return (*findings, *ties_by_file(data, job.metrics, score_frames(data, job.metrics), workers=1))


def _owned(job: Job, chunk: Chunk, pieces: tuple[RowGroups, ...], *, times: bool = False) -> MapFrames:
    """Return the frames in some row groups that belong to the chunk, sorted by their keys."""
    metrics = [METRICS[name] for name in job.scored]
    in_time = any(metric.level == "scene" for metric in metrics)
    if in_time or times:
        unused = []
    else:
        unused = ["timestamp"]
    if not any(metric.needs & {"tracks", "truth tracks"} for metric in metrics):
        unused += ["track"]
    if not any("poses" in metric.needs for metric in metrics):
        unused += ["pose"]
    frames = read_row_groups(pieces, ReadOptions(classes=None, degenerate=job.degenerate), without=tuple(unused))
    keys = keys_of(frames, job.by_scene)
    # Without timestamps, the order of the file is the order of time. It is kept within scenes.
    by_file = in_time and frames.timestamps is None
    if not by_file and all(map(le, keys, keys[1:])):
        if chunk.first is None:
            first = 0
        else:
            first = bisect_left(keys, chunk.first)
        if chunk.end is None:
            end = len(keys)
        else:
            end = bisect_left(keys, chunk.end)
        if (first, end) == (0, len(keys)):
            return frames
        return frames.between(slice(first, end))
    order = sorted(range(len(keys)), key=lambda i: keys[i][0] if by_file else keys[i])
    return frames.at([i for i in order if chunk.owns(keys[i])])
