"""Runs a streamed evaluation: plans chunks, evaluates them on an engine, keeps them in a folder and merges them."""

import hashlib
import os
import tempfile
import weakref
from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Literal

from mapgauge.errors import InvalidInput, MapgaugeError, Remedy
from mapgauge.evaluation.engines import EngineLike, Pool, open_engine, run
from mapgauge.evaluation.streaming.plan import ROWS, Chunk, Plan, explained_error, plan_of
from mapgauge.evaluation.streaming.work import (
    Job,
    Reread,
    findings_in,
    read_again,
    scenes_by_token,
    score_chunk,
    sides_of,
)
from mapgauge.frames.alignment import UnknownFrames, align
from mapgauge.frames.findings import Finding
from mapgauge.io.dataset import DataSet, open_dataset, stamp_of
from mapgauge.io.files.places import is_url
from mapgauge.io.files.writing import remove_folder
from mapgauge.protocols import Protocol
from mapgauge.results.folder import LAYOUT, About, Folder, Partial, changed
from mapgauge.results.loading import results_of
from mapgauge.results.results import Results
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import check_axes, cropped, no_confidences
from mapgauge.scoring.score import has_scene_metrics, score_frames
from mapgauge.typing import Degenerate, Progress
from mapgauge.version import __version__


def check_finished(
    folder: Folder,
    job: Job,
    plan: Plan,
    sides: tuple[DataSet, DataSet],
    open_pool: Callable[[], AbstractContextManager[Pool]],
) -> None:
    """Refuse finished chunks whose inputs have changed. Workers are opened only if files have changed."""
    then = folder.about.stamps
    suspect = sides[0].files_changed(then[0]), sides[1].files_changed(then[1])
    if not any(suspect):
        return
    finished = folder.finished
    doubtful = [chunk for chunk in plan.chunks if chunk.index in finished and _has_pieces_of(chunk, suspect)]
    if has_scene_metrics(job.scored):
        for chunk in doubtful:  # times and poses are not in the hash
            folder.forget(chunk.index)
    elif doubtful:
        with open_pool() as pool:
            for chunk, now in run(pool, partial(read_again, job), doubtful):
                if isinstance(now, Exception):
                    raise explained_error(chunk, now) from now
                _check_same(folder, chunk, now)
    folder.note_stamps((dict(sides[0].stamps), dict(sides[1].stamps)))


def _has_pieces_of(chunk: Chunk, files: tuple[Container[str], Container[str]]) -> bool:
    """Whether a chunk has row groups of some files of predictions or of truth."""
    of_predictions, of_truth = files
    return any(piece.file in of_predictions for piece in chunk.predictions) or any(
        piece.file in of_truth for piece in chunk.truth
    )


def _check_same(folder: Folder, chunk: Chunk, now: Reread) -> None:
    """Refuse a finished chunk whose frames have changed."""
    before = folder.chunk(chunk.index).header
    for side, old, new in zip(("predictions", "truth"), before.hashes, now.hashes, strict=True):
        if old != new:
            raise changed(folder, side)
    if scenes_by_token(before.tokens, before.scenes) != now.scenes:  # scenes are not in the hash
        raise changed(folder, "truth")


def check_unchanged(sides: tuple[DataSet, DataSet]) -> None:
    """Refuse files on this machine that were written during the evaluation: chunks may have different versions."""
    for side in sides:
        for file, stamp in zip(side.files, side.stamps.values(), strict=True):
            if not is_url(file) and stamp_of(file) != stamp:
                raise InvalidInput(f"{file}: the file was written while it was evaluated")


OnError = Literal["stop", "skip"]


def evaluate_stream(
    predictions: str | os.PathLike[str],
    truth: str | os.PathLike[str],
    protocol: Protocol,
    *,
    metrics: tuple[str, ...],
    extra: tuple[str, ...] = (),
    rings: tuple[float, ...],
    unknown: Literal["error", "ignore"] = "error",
    degenerate: Degenerate = "strict",
    engine: EngineLike = "threads",
    workers: int | None = None,
    work: str | os.PathLike[str] | None = None,
    resume: bool = False,
    on_error: OnError = "stop",
    progress: Progress | None = None,
    noted: tuple[str, dict[str, str]] = ("", {}),
    most_rows: int = ROWS,
) -> Results:
    """Evaluate two Parquet data sets chunk by chunk. ``mapgauge.evaluate`` describes the arguments.

    Progress counts the rows of both sides, because footers have the number of rows and not of frames. ``noted`` is the
    date and the metadata. An evaluation that is continued keeps the date on which it began. A chunk has about
    ``most_rows`` rows of both sides.
    """
    _check_options(on_error, work, resume=resume)
    sides = open_dataset(predictions), open_dataset(truth)
    plan = plan_of(*sides, whole_scenes=has_scene_metrics((*metrics, *extra)), most_rows=most_rows)
    job = _job(protocol, metrics, rings, unknown=unknown, degenerate=degenerate, extra=extra, plan=plan, sides=sides)
    if work is None:
        path = Path(tempfile.mkdtemp(prefix="mapgauge-"))
    else:
        path = Path(work)
    try:
        folder = _begin(path, job, plan, sides=sides, resume=resume, noted=noted)
    except BaseException:
        if work is None:
            remove_folder(path)
        raise
    job = replace(job, extra=folder.about.extra)  # finished chunks have the extra metrics of the run that began
    open_pool = partial(open_engine, engine, workers)
    if resume:
        check_finished(folder, job, plan, sides=sides, open_pool=open_pool)
    todo = [chunk for chunk in plan.chunks if chunk.index not in folder.finished]
    try:
        if engine in ("processes", "dask") and todo:
            _compile(job, todo[0])  # compile once here, instead of in every worker
        with ThreadPoolExecutor(1) as aside, open_pool() as pool:
            noticed = aside.submit(_sampled_findings, job, plan)  # runs while workers start
            failed = _score_chunks(
                pool, job, folder, plan=plan, todo=todo, sides=sides, on_error=on_error, progress=progress
            )
            folder.note_findings(noticed.result())
        check_unchanged(sides)
        folder.note_failures(failed)
        results = results_of(folder, failed=failed)
    except (MapgaugeError, KeyboardInterrupt) as error:
        if work is None and not folder.finished:
            remove_folder(path)
            raise
        raise _with_way_on(error, folder, plan, path=path, is_named=work is not None) from error
    except BaseException:  # a bug, or no memory: nothing says where the chunks are
        if work is None:
            remove_folder(path)
        raise
    if work is None:
        weakref.finalize(results.rows, remove_folder, path)
    return results


def _check_options(on_error: str, work: str | os.PathLike[str] | None, *, resume: bool) -> None:
    """Refuse options of ``evaluate_stream`` that are not valid, or not together."""
    if on_error not in ("stop", "skip"):
        raise InvalidInput(f"on_error must be 'stop' or 'skip', got {on_error!r}")
    if work is not None and is_url(os.fspath(work)):
        raise InvalidInput(f"work must be a folder on this machine, got the URL {work}")
    if resume and work is None:
        raise InvalidInput(
            "resume needs the work folder of the evaluation",
            remedy=Remedy("Pass work= with the folder", "Pass --work FOLDER"),
        )


def _score_chunks(
    pool: Pool,
    job: Job,
    folder: Folder,
    *,
    plan: Plan,
    todo: Sequence[Chunk],
    sides: tuple[DataSet, DataSet],
    on_error: OnError,
    progress: Progress | None,
) -> dict[int, str]:
    """Score chunks and keep them in the folder. Return the errors of those that failed, if these are skipped."""
    failed: dict[int, str] = {}
    whole = sum(chunk.rows for chunk in plan.chunks)
    done = whole - sum(chunk.rows for chunk in todo)
    for chunk, outcome in run(pool, partial(score_chunk, job), todo):
        if isinstance(outcome, Partial):
            folder.keep(chunk.index, outcome)
        else:
            error = explained_error(chunk, outcome)
            if on_error == "stop" and isinstance(error, UnknownFrames):
                raise _unknown_frames(sides) from outcome
            if on_error == "stop":
                raise error from outcome
            failed[chunk.index] = error.message  # without the remedy, which differs between Python and shell
        done += chunk.rows
        if progress is not None:
            progress(done, whole)
    return failed


def _with_way_on(
    error: MapgaugeError | KeyboardInterrupt, folder: Folder, plan: Plan, *, path: Path, is_named: bool
) -> BaseException:
    """Return an error that says as well how to continue with the chunks that are finished."""
    kept = f"{len(folder.finished)} of {len(plan.chunks)} chunks are finished and kept in {path}. Continue with"
    shell = f"--work {path} --resume"
    if is_named:
        # With several predictions, --work is the folder of all of them, and this is one inside it.
        shell = "the same command and --resume"
    note = Remedy(f'{kept} work="{path}", resume=True', f"{kept} {shell}")
    if isinstance(error, KeyboardInterrupt):
        return KeyboardInterrupt(f"{note.python} (in the shell: {shell})")
    return error.and_also(note)


def _unknown_frames(sides: tuple[DataSet, DataSet]) -> UnknownFrames:
    """Return the error about all frames that the truth lacks. That of a chunk counts the frames of the chunk."""
    predicted = sides[0].tokens()
    true = sides[1].tokens()
    known = set(true)
    extra = [token for token in predicted if token not in known]
    first = None
    if true:
        first = true[0]
    return UnknownFrames.of(extra, len(predicted), first)


def _sampled_findings(job: Job, plan: Plan) -> tuple[Finding, ...]:
    """Return the findings of one chunk in the middle, as a sample of all chunks."""
    chunks = len(plan.chunks)
    try:
        findings = findings_in(job, plan.chunks[chunks // 2])
    except MapgaugeError:
        return ()  # the same error is raised when the chunk is scored
    if chunks == 1:
        return findings
    # Findings about published counts need the counts of all frames.
    findings = tuple(finding for finding in findings if not finding.code.endswith("-published"))
    looked = f"the checks used one of {chunks} chunks, and the counts in their findings are for this chunk"
    return (*findings, Finding("note", "checked-sample", looked))


def _compile(job: Job, chunk: Chunk) -> None:
    """Compile kernels, so that workers on this machine find them on disk."""
    from mapgauge.kernels import compiling  # imports numba

    compiling.compile_missing(job.scored)
    if all(name in compiling.table() for name in job.scored):
        return
    try:  # the kernels of other metrics are compiled by scoring one frame
        x, y = align(*sides_of(job, chunk), classes=job.protocol.classes, unknown="ignore")
    except MapgaugeError:
        return  # the same error is raised when the chunk is scored
    x = x.between(slice(0, 1))
    y = y.between(slice(0, 1))
    score_frames(Data.of(*cropped(x, y, job.protocol), job.protocol), job.scored, job.rings)


def _job(
    protocol: Protocol,
    metrics: tuple[str, ...],
    rings: tuple[float, ...],
    unknown: Literal["error", "ignore"],
    degenerate: Degenerate,
    extra: tuple[str, ...],
    plan: Plan,
    sides: tuple[DataSet, DataSet],
) -> Job:
    """Return the job of all workers, with all classes named."""
    predictions, truth = sides
    if not predictions.confidence and predictions.groups:
        raise no_confidences(predictions.path, truth_has_them=truth.confidence)
    if protocol.classes is None:
        lines = [name for name in truth.classes + predictions.classes if name not in truth.boxes + predictions.boxes]
        protocol = protocol.replace(classes=tuple(dict.fromkeys(lines)))
    check_axes(predictions.forward, truth.forward, protocol, names=(predictions.path, truth.path))
    classes = (predictions.classes, truth.classes)
    forward = (predictions.forward, truth.forward)
    return Job(
        protocol=protocol,
        metrics=metrics,
        rings=rings,
        unknown=unknown,
        degenerate=degenerate,
        by_scene=plan.by_scene,
        classes=classes,
        forward=forward,
        extra=extra,
        in_order=truth.files == (truth.path,),
    )


def _begin(
    path: Path,
    job: Job,
    plan: Plan,
    sides: tuple[DataSet, DataSet],
    resume: bool,
    noted: tuple[str, dict[str, str]],
) -> Folder:
    """Return the work folder, new or with the chunks finished before."""
    digests = (sides[0].digest, sides[1].digest)
    settings = asdict(job)
    del settings["extra"]  # a run that says more or less continues the same evaluation
    described = settings | {"chunks": [(chunk.first, chunk.end) for chunk in plan.chunks], "digests": digests}
    fingerprint = hashlib.blake2b(repr(described).encode(), digest_size=16).hexdigest()
    about = About(
        LAYOUT,
        __version__,
        fingerprint,
        chunks=len(plan.chunks),
        protocol=job.protocol.to_dict(),
        metrics=job.metrics,
        ranges=job.rings,
        paths=(sides[0].path, sides[1].path),
        digests=digests,
        classes=job.classes,
        stamps=(dict(sides[0].stamps), dict(sides[1].stamps)),
        unknown=job.unknown,
        degenerate=job.degenerate,
        extra=job.extra,
        date=noted[0],
        metadata=noted[1],
    )
    folder = Folder.begin(path, about, resume=resume)
    if noted[1] and folder.about.metadata != noted[1]:
        folder.note_metadata(noted[1])
    return folder
