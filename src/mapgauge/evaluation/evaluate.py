"""Evaluation of whole data sets: align, cut into chunks of frames, score them in threads, put the rows together."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, pairwise
from typing import Literal, TypeAlias

import numpy as np

from mapgauge.arguments import check_confidence, check_workers
from mapgauge.checks import check
from mapgauge.errors import InvalidInput
from mapgauge.evaluation.engines import EngineLike
from mapgauge.files.places import streams
from mapgauge.frames.alignment import align
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import check_region
from mapgauge.io import read
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.results import Input, Results
from mapgauge.scoring.score import METRICS, Scores, score, thresholds_of
from mapgauge.version import __version__

CHUNK = 48  # frames: some milliseconds of work, and little memory

Frames: TypeAlias = MapFrames | str | os.PathLike[str]
Progress: TypeAlias = Callable[[int, int], None]


def evaluate(
    predictions: Frames,
    truth: Frames,
    protocol: str | Protocol = "paper-60x30",
    *,
    metrics: Sequence[str] | None = None,
    ranges: Sequence[float] = (),
    scenes: Mapping[str, str] | None = None,
    unknown: Literal["error", "ignore"] = "error",
    workers: int | None = None,
    progress: Progress | None = None,
    engine: EngineLike = None,
    work: str | os.PathLike[str] | None = None,
    resume: bool = False,
    on_error: Literal["stop", "skip"] = "stop",
) -> Results:
    """Compare predictions with truth over all frames.

    Parquet on both sides, a file, a folder or a URL each, is read piece by piece: memory does not grow with the data.

    Args:
        predictions: ``MapFrames`` with confidences, or a file to read them from.
        truth: ``MapFrames``, or a file to read them from.
        protocol: The settings, by name (``mapgauge.protocols.PROTOCOLS``) or as a ``Protocol``.
        metrics: Which of ``pld``, ``ap_chamfer``, ``ap_frechet``, ``ap_sospa`` to compute; those that the protocol has
            cutoffs or thresholds for if None.
        ranges: Distances from the ego in metres that bound rings, such as ``(0, 10, 20, 30)``: PLD is also computed
            from the points in each ring alone.
        scenes: The scene of each token, if the files do not say; ``compare`` draws whole scenes.
        unknown: What to do with predicted frames that the truth lacks: ``"error"`` refuses, ``"ignore"`` leaves them
            out.
        workers: Number of threads or processes; that of the processors if None. It does not change the result.
        progress: Called with the number of frames done and of all frames; of rows, where Parquet is read in pieces.
        engine: What does the work, for Parquet on both sides: ``"threads"`` (if None), ``"processes"``, ``"dask"``,
            the address of a Dask scheduler, a Dask client, or any ``concurrent.futures.Executor``.
        work: A folder for what is finished, for Parquet on both sides; a temporary one if None. ``load_results`` reads
            it.
        resume: Go on with what ``work`` has. Inputs or settings that changed are refused.
        on_error: ``"stop"`` at a part that cannot be read, or ``"skip"`` it and say so in the findings.

    Returns:
        The scores of every frame and class, and the summary. Frames missing from the predictions count as predicted
        empty, frames without truth count too.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {"divider": [[[0, 0], [0, 9]]]}})
    >>> predictions = mg.MapFrames.of({"a": {"divider": [[[0, 0.5], [9, 0.5]]]}}, confidence={"a": {"divider": [1]}})
    >>> results = evaluate(predictions, truth, mg.protocol("paper-60x30", classes=["divider"]))
    >>> round(results.mean["pld"], 3), results.mean["ap_chamfer@0.5"]
    (0.8, 0.5)
    """
    settings = protocol_of(protocol)
    chosen = chosen_metrics(settings, metrics)
    rings = check_rings(ranges)
    if rings and "pld" not in chosen:
        raise InvalidInput("ranges are for PLD, which is not among the metrics. Add it, or leave ranges out")
    if (
        not isinstance(predictions, MapFrames)
        and not isinstance(truth, MapFrames)
        and scenes is None
        and streams(predictions)
        and streams(truth)
    ):
        from mapgauge.evaluation.streaming import evaluate_stream  # which needs this module

        return evaluate_stream(
            *(predictions, truth, settings),
            metrics=chosen,
            rings=rings,
            unknown=unknown,
            engine="threads" if engine is None else engine,
            workers=check_workers(workers),
            work=work,
            resume=resume,
            on_error=on_error,
            progress=progress,
        )
    if engine is not None or work is not None or resume or on_error != "stop":
        raise InvalidInput(
            "engine, work, resume and on_error are for Parquet on both sides, which is read in pieces, and scenes from "
            "the files. Write it with: mapgauge convert IN OUT.parquet"
        )
    sides = (loaded(predictions), loaded(truth))
    x, y, findings = prepare(sides[0], sides[1], settings, unknown)
    if scenes is not None:
        y = with_scenes(y, scenes)
    return Results(
        settings,
        chosen,
        y.classes,
        y.tokens,
        y.scenes,
        run(x, y, settings, chosen, rings, workers, progress),
        rings,
        (describe(sides[0]), describe(sides[1])),
        frames_missing=sum(token not in sides[0].index for token in sides[1].tokens),
        frames_ignored=sum(token not in sides[1].index for token in sides[0].tokens),
        findings=findings,
        version=__version__,
        data=(x, y),
    )


def loaded(frames: Frames) -> MapFrames:
    """Frames as they are, or read from a file."""
    return frames if isinstance(frames, MapFrames) else read(frames)


def chosen_metrics(protocol: Protocol, metrics: Sequence[str] | None) -> tuple[str, ...]:
    """The metrics asked for; those that the protocol has settings for if None."""
    if isinstance(metrics, str):
        metrics = (metrics,)
    if metrics is not None and not isinstance(metrics, Sequence):
        raise InvalidInput(f"metrics must be a sequence of names, got {metrics!r}. Known: {', '.join(METRICS)}")
    able = tuple(name for name in METRICS if (protocol.cutoffs if name == "pld" else thresholds_of(protocol, name)))
    if metrics is None:
        return able
    unknown = [name for name in metrics if name not in METRICS]
    if unknown or not metrics:
        raise InvalidInput(f"unknown metric {', '.join(map(repr, unknown)) or '()'}. Known: {', '.join(METRICS)}")
    unable = [name for name in metrics if name not in able]
    if unable:
        setting = "cutoffs" if unable[0] == "pld" else unable[0].removeprefix("ap_")
        raise InvalidInput(
            f"the protocol {protocol.name} has no {setting} for {unable[0]}. Give them: "
            f'mg.protocol("{protocol.name}", {setting}=(...))'
        )
    return tuple(name for name in METRICS if name in metrics)


def check_rings(ranges: Sequence[float]) -> tuple[float, ...]:
    """Bounds of rings: rising distances from the ego."""
    try:
        rings = tuple(float(value) for value in ranges)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"ranges must be rising distances in metres, got {ranges!r}") from error
    if rings and (len(rings) < 2 or rings[0] < 0 or not all(a < b for a, b in pairwise(rings))):
        raise InvalidInput(f"ranges must be at least two rising distances in metres, got {ranges!r}")
    return rings


def prepare(
    predictions: MapFrames, truth: MapFrames, protocol: Protocol, unknown: Literal["error", "ignore"]
) -> tuple[MapFrames, MapFrames, tuple[Finding, ...]]:
    """Both sides on the same frames and classes, cropped if the protocol says so; and what the results say of them."""
    check_sides(predictions, truth)
    if not len(truth):
        raise InvalidInput(f"{truth.name or 'truth'}: no frames to compare")
    findings = check(predictions, truth, region=protocol.region, classes=protocol.classes)
    x, y = align(predictions, truth, classes=protocol.classes, unknown=unknown)
    x, y = cropped(x, y, protocol)
    return _sorted(x), _sorted(y), findings


def check_sides(predictions: MapFrames, truth: MapFrames) -> None:
    """Refuse predictions without confidences, and confidences that are none."""
    if predictions.confidence is None:
        hint = " The truth has them: are the two exchanged?" if truth.confidence is not None else ""
        raise InvalidInput(
            f"{predictions.name or 'predictions'}: no confidences.{hint} "
            "If all predictions are certain, call .with_confidence(1)"
        )
    for side, name in ((predictions, "predictions"), (truth, "truth")):
        if side.confidence is not None:
            check_confidence(f"{side.name or name}: confidence", side.confidence, len(side.polylines), "instance")


def cropped(predictions: MapFrames, truth: MapFrames, protocol: Protocol) -> tuple[MapFrames, MapFrames]:
    """Both sides, cut at the edge of the region if the protocol says so."""
    if protocol.crop and protocol.region is not None:
        region = check_region(protocol.region)
        return predictions.crop(region), truth.crop(region)
    return predictions, truth


def _sorted(frames: MapFrames) -> MapFrames:
    """Instances by frame, then by class, then as they come: how the rows of a result are ordered."""
    group = frames.frame * max(len(frames.classes), 1) + frames.label
    return frames if (np.diff(group) >= 0).all() else frames.keep(np.argsort(group, kind="stable"))


def with_scenes(frames: MapFrames, scenes: Mapping[str, str]) -> MapFrames:
    """The frames with the scene of each token."""
    lacking = [token for token in frames.tokens if token not in scenes]
    if lacking:
        raise InvalidInput(f"scenes: {len(lacking)} tokens have none (first: {lacking[0]})")
    return replace(frames, scenes=tuple(str(scenes[token]) for token in frames.tokens))


def run(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    metrics: tuple[str, ...],
    rings: tuple[float, ...],
    workers: int | None,
    progress: Progress | None,
) -> Scores:
    """Score all frames in chunks, in threads. Kernels release the GIL, and nothing is copied to a thread."""
    check_workers(workers)
    starts = range(0, len(truth), CHUNK)

    def work(start: int) -> Scores:
        part = slice(start, min(start + CHUNK, len(truth)))
        return score(predictions.between(part), truth.between(part), protocol, metrics, rings)

    def gathered(chunks: Iterable[Scores]) -> Scores:
        rows = []
        for chunk in chunks:
            rows.append(chunk)
            if progress is not None:
                progress(min(len(rows) * CHUNK, len(truth)), len(truth))
        return Scores.join(rows)

    threads = min(workers or os.cpu_count() or 1, len(starts))
    if threads == 1:
        return gathered(map(work, starts))
    first = work(starts[0])  # compiles, if need be, once and not in every thread
    pool = ThreadPoolExecutor(threads)
    try:
        return gathered(chain([first], pool.map(work, starts[1:])))
    finally:
        pool.shutdown(cancel_futures=True)


def describe(frames: MapFrames) -> Input:
    """What is recorded of an input: where it came from, what is in it, and a hash of its columns."""
    digest = hashlib.blake2b(digest_size=16)
    for column in (frames.frame, frames.label, frames.polylines.offsets, frames.polylines.coords, frames.confidence):
        digest.update(b"" if column is None else np.ascontiguousarray(column).tobytes())
    digest.update("\0".join((*frames.tokens, *frames.classes)).encode())
    return Input(frames.name, frames.format, len(frames), frames.counts, digest.hexdigest())
