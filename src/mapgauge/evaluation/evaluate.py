"""``evaluate``: compares predictions with truth, from files or from ``MapFrames``. ``with_metrics`` adds metrics."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from typing import Literal

from mapgauge.arguments import check_workers
from mapgauge.checks import CHECKS
from mapgauge.checks.coordinates import with_axes_of
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.evaluation.engines import EngineLike
from mapgauge.frames.alignment import tokens_without
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.cropping import corridor_radius
from mapgauge.io.files.places import opened, streams
from mapgauge.metrics.table import chosen_metrics, in_order
from mapgauge.protocols import Protocol
from mapgauge.protocols import protocol as protocol_of
from mapgauge.results.drives import Drive
from mapgauge.results.frame_tables import MemoryRows, Rows
from mapgauge.results.metadata import checked_metadata
from mapgauge.results.results import Results, totals_of
from mapgauge.results.values import InputRecords
from mapgauge.scoring.data import BLOCK, Data
from mapgauge.scoring.lengths import metres, millimetres
from mapgauge.scoring.prepare import (
    Frames,
    check_needs,
    check_rings,
    findings_of,
    loaded,
    prepare,
    with_scenes,
)
from mapgauge.scoring.scene_frames import uses_tracks
from mapgauge.scoring.score import score_frames, ties_by_file
from mapgauge.scoring.scores import Scores, Totals
from mapgauge.typing import Degenerate, Progress
from mapgauge.version import __version__


def evaluate(
    predictions: Frames,
    truth: Frames,
    protocol: str | Protocol = "paper-60x30",
    *,
    metrics: Sequence[str] | None = None,
    extra: Sequence[str] = (),
    ranges: Sequence[float] = (),
    scenes: Mapping[str, str] | None = None,
    unknown: Literal["error", "ignore"] = "error",
    degenerate: Degenerate = "strict",
    workers: int | None = None,
    progress: Progress | None = None,
    engine: EngineLike = None,
    work: str | os.PathLike[str] | None = None,
    resume: bool = False,
    on_error: Literal["stop", "skip"] = "stop",
    axes: Literal["keep", "auto"] = "keep",
    metadata: Mapping[str, str | int | float] | None = None,
) -> Results:
    """Compare predictions with truth over all frames.

    If both sides are Parquet (a file, a folder or a URL), they are read chunk by chunk, and memory does not grow with
    the size of the data.

    Args:
        predictions: ``MapFrames`` with confidences, or a file to read them from.
        truth: ``MapFrames``, or a file to read them from.
        protocol: The settings, by name (``mapgauge.protocols.PROTOCOLS``) or as a ``Protocol``.
        metrics: Names of metrics, such as ``"pld"``; ``mapgauge list metrics`` prints all, also those of plug-ins. If
            None, the metrics for which the protocol has settings.
        extra: Further metrics that are scored in the same pass. Tables, JSON and files leave them out. Sentences,
            figures and the report use them, such as ``("completeness", "causes")``, and need not score them again.
        ranges: Bounds of rings around the ego vehicle in metres, such as ``(0, 10, 20, 30)``. PLD is also computed from
            the points in each ring.
        scenes: The scene of each token, if the files have no scenes. ``compare`` draws whole scenes.
        unknown: What to do with predicted frames that the truth lacks. ``"error"`` raises an error. ``"ignore"`` leaves
            them out.
        degenerate: What to do, when files are read, with instances that are not polylines (fewer than two points, or a
            number that is not finite). ``"strict"`` raises an error. ``"drop"`` leaves them out and counts them in a
            finding.
        workers: Number of threads or processes. If None, the number of processors. It does not change the result.
        progress: A function that is called with the number of finished frames and the number of all frames. For
            streamed Parquet, it counts rows.
        engine: Where chunks of streamed Parquet are evaluated: ``"threads"`` (the default), ``"processes"``,
            ``"dask"``, the address of a Dask scheduler, a Dask client, or any ``concurrent.futures.Executor``.
        work: A folder for the finished chunks of streamed Parquet. If None, a temporary folder. ``load_results`` reads
            it.
        resume: Whether to continue the evaluation in ``work``. Changed inputs or settings are refused.
        on_error: What to do with a chunk that cannot be read. ``"stop"`` raises an error. ``"skip"`` leaves it out and
            reports it in the findings.
        axes: What to do if predictions and truth have different axes, as MapTR and StreamMapNet have.
            ``"keep"`` leaves them as they are. ``"auto"`` turns the predictions if it is certain how: both files say
            which axis points forward, and nearest distances show the same turn. A finding says what was done, or why
            nothing was. Both sides are read into memory.
        metadata: What to keep with the results, such as ``{"commit": "4f2a", "epoch": 12}``. Tables and JSON
            show it. It changes no number. The key ``date`` replaces the date of the evaluation.

    Returns:
        The scores of every frame and class, and the summary. Frames that the predictions lack count as frames without
        predictions. Frames without truth count as well. ``Results.save`` writes a file (.mg), as ``evaluate -o``
        does in the shell, and ``load_results`` reads it.

    >>> import mapgauge as mg
    >>> truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}, "b": {"divider": [[[0, 0], [0, 9]]]}})
    >>> predictions = mg.MapFrames.of({"a": {"divider": [[[0, 0.5], [9, 0.5]]]}}, confidence={"a": {"divider": [1]}})
    >>> results = evaluate(predictions, truth, mg.protocol("paper-60x30", classes=["divider"]))
    >>> round(results.mean["pld"], 3), results.mean["ap_chamfer@0.5"]
    (0.8, 0.5)
    """
    settings = protocol_of(protocol)
    noted = checked_metadata(metadata)
    chosen = chosen_metrics(settings, metrics)
    further = tuple(name for name in chosen_metrics(settings, extra) if name not in chosen) if extra else ()
    rings = check_rings(ranges, chosen)
    count = check_workers(workers)
    if axes not in ("keep", "auto"):
        raise InvalidInput(f'axes must be "keep" or "auto", got {axes!r}')
    sources = [given if isinstance(given, MapFrames) else opened(given) for given in (predictions, truth)]
    files = [source for source in sources if not isinstance(source, MapFrames)]
    whole = corridor_radius(settings.window) is not None  # a path leads through frames of other chunks
    if len(files) == 2 and scenes is None and axes == "keep" and not whole and all(map(streams, files)):
        from mapgauge.evaluation.streaming.run import evaluate_stream

        return evaluate_stream(
            os.fspath(files[0]),
            os.fspath(files[1]),
            settings,
            metrics=chosen,
            extra=further,
            rings=rings,
            unknown=unknown,
            degenerate=degenerate,
            engine="threads" if engine is None else engine,
            workers=count,
            work=work,
            resume=resume,
            on_error=on_error,
            progress=progress,
            noted=noted,
        )
    if engine is not None or work is not None or resume or on_error != "stop":
        raise InvalidInput(
            "engine, work, resume and on_error are for Parquet files on both sides, with scenes in the files and the "
            "same axes",
            remedy=Remedy(
                "Write Parquet with mg.write(frames, 'OUT.parquet')", "Write it with: mapgauge convert IN OUT.parquet"
            ),
        )
    files.clear()  # the bytes of a file are not needed once it is read
    sides = loaded(sources.pop(0), degenerate, count), loaded(sources.pop(0), degenerate, count)
    if axes == "auto":
        sides = with_axes_of(*sides), sides[1]
    return evaluate_frames(
        *sides,
        settings,
        metrics=chosen,
        extra=further,
        rings=rings,
        scenes=scenes,
        unknown=unknown,
        workers=count,
        progress=progress,
        noted=noted,
    )


def evaluate_frames(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    *,
    metrics: tuple[str, ...],
    extra: tuple[str, ...] = (),
    rings: tuple[float, ...] = (),
    scenes: Mapping[str, str] | None = None,
    unknown: Literal["error", "ignore"] = "error",
    workers: int | None = None,
    progress: Progress | None = None,
    noted: tuple[str, dict[str, str]] | None = None,
    before: Callable[[Data], None] | None = None,
    block_size: int = BLOCK,
) -> Results:
    """Compare frames in memory. The arguments are as in ``evaluate``, after they were checked.

    ``noted`` is the date and the metadata. If it is None, the date is that of today. ``before`` is called with the
    aligned frames before they are scored; it may call ``Data.expect``. ``block_size`` is the number of frames that are
    scored together.
    """
    if noted is None:
        noted = checked_metadata(given=None)
    date, metadata = noted
    if scenes is not None:
        truth = with_scenes(truth, scenes)
    if not protocol.has_ego and predictions.confidence is None:
        predictions = predictions.with_confidence(1)
    x, y = prepare(predictions, truth, protocol, unknown=unknown)
    scored = (*metrics, *(name for name in extra if name not in metrics))
    check_needs(scored, x, y)
    data = Data.of(x, y, protocol, block_size=block_size)
    if before is not None:
        before(data)
    list(CHECKS)  # imports them here: a thread that holds the table could wait for an import that waits for the table
    with ThreadPoolExecutor(1) as aside:
        checking = aside.submit(findings_of, predictions, truth, protocol, metrics, unknown)
        try:
            scores = score_frames(data, scored, rings, workers=workers, progress=progress)
        finally:
            findings = checking.result()  # an error of the checks comes before an error of scoring
    ties = ties_by_file(data, metrics, scores.only(metrics), workers=workers)
    rows = MemoryRows(y.tokens, y.scenes, scores, drive=Drive.of(x, y))
    return Results(
        protocol=protocol,
        metrics=metrics,
        class_names=y.classes,
        ranges=rings,
        records=InputRecords.of(predictions, truth, uses_tracks(metrics)),
        frames_missing=len(tokens_without(truth, predictions)),
        frames_ignored=len(tokens_without(predictions, truth)),
        findings=(*findings, *ties),
        version=__version__,
        totals_from=totals_of(rows, metrics, protocol),
        rows=rows,
        geometry=data,
        date=date,
        metadata=metadata,
        truth_lengths=metres(y.classes, [millimetres(y)]),
    )


def with_metrics(results: Results, metrics: Sequence[str], workers: int | None = None) -> Results:
    """Return results with further metrics.

    Metrics that were scored with the others are there at no cost. The rest is computed from the data, with the matches
    of PLD, and kept.
    """
    lacking = tuple(name for name in metrics if name not in results.metrics)
    if not lacking:
        return results
    names = in_order((*results.metrics, *lacking), results.protocol)
    rows: Rows = results.rows
    if set(lacking) <= set(rows.metrics):
        totals = partial(_totals_with, results, totals_of(rows, lacking, results.protocol), names)
        return replace(results, metrics=names, totals_from=totals)
    rows = _RowsScoredLater(results, names, lacking, workers=workers)
    if set(lacking) <= set(results.extra):
        return replace(results, metrics=names, rows=rows)
    _ = rows.scores  # an error is raised here
    return replace(results, metrics=names, totals_from=totals_of(rows, names, results.protocol), rows=rows)


def _totals_with(results: Results, further: Callable[[], Totals], metrics: tuple[str, ...]) -> Totals:
    """Return the totals of results with those of further metrics. What results know is not added up again."""
    return results.totals.and_metrics(further(), metrics)


def must_score(results: Results, metrics: Sequence[str]) -> bool:
    """Whether ``with_metrics`` scores frames for these metrics. The results must have their data."""
    kept = results.need_data().added
    return not results.has_scored([name for name in metrics if name not in kept])


class _RowsScoredLater:
    """Rows of results with further metrics, which are scored from the data when rows are needed."""

    def __init__(
        self, results: Results, metrics: tuple[str, ...], lacking: tuple[str, ...], workers: int | None
    ) -> None:
        """Keep the results, all metrics that rows shall have, and those that may be lacking."""
        self.metrics = metrics
        self._results = results
        self._lacking = lacking
        self._workers = workers

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of the frames."""
        return self._results.tokens

    @property
    def scenes(self) -> tuple[str, ...] | None:
        """The scene of each frame, if known."""
        return self._results.rows.scenes

    @property
    def drive(self) -> Drive | None:
        """The poses of the frames, if they are kept."""
        return self._results.rows.drive

    @cached_property
    def scores(self) -> Scores:
        """The scores of each frame."""
        results = self._results
        data = results.need_data()
        scores = results.rows.scores
        lacking = [name for name in self._lacking if name not in scores.metrics]
        if new := tuple(name for name in lacking if name not in data.added):
            added = score_frames(data, new, results.ranges, known=scores, workers=self._workers)
            data.added.update(dict.fromkeys(new, added))
        for name in lacking:
            scores = scores.and_metrics(data.added[name], self.metrics)
        return scores
