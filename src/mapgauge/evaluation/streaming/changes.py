"""Recognises inputs that changed since chunks were scored.

A footer tells little about the values in its file. The work folder therefore records the size and the times of every
file. If they differ when a run is resumed, the finished chunks of these files are read again and compared by their
content hash. A file that was copied or touched passes, and a file with other values is refused. Chunks of metrics of
scenes are scored again.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from mapgauge.errors import InvalidInput
from mapgauge.evaluation.engines import Pool, run
from mapgauge.evaluation.streaming.failures import explained_error
from mapgauge.evaluation.streaming.plan import Chunk, Plan
from mapgauge.evaluation.streaming.work import Job, Reread, read_again, scenes_by_token
from mapgauge.files.places import is_url
from mapgauge.io.dataset import DataSet, stamp_of
from mapgauge.metrics.table import METRICS
from mapgauge.results.folder import Folder, changed


def check_finished(
    folder: Folder,
    job: Job,
    plan: Plan,
    sides: tuple[DataSet, DataSet],
    open_pool: Callable[[], AbstractContextManager[Pool]],
) -> None:
    """Refuse finished chunks whose inputs have changed. Chunks of early versions without a hash are scored again.

    Args:
        folder: The work folder.
        job: The settings.
        plan: All chunks.
        sides: Predictions and truth.
        open_pool: Opens workers, which are needed only if files have changed.
    """
    then = folder.about.stamps or ({}, {})
    suspect = sides[0].files_changed(then[0]), sides[1].files_changed(then[1])
    if not any(suspect):
        return
    finished = folder.finished
    doubtful = [chunk for chunk in plan.chunks if chunk.index in finished and _reads(chunk, suspect)]
    if any(METRICS[name].level == "scene" for name in job.metrics):
        for chunk in doubtful:  # times and poses are not in the hash
            folder.forget(chunk.index)
    elif doubtful:
        with open_pool() as pool:
            for chunk, outcome in run(pool, partial(read_again, job), doubtful):
                if isinstance(outcome, Exception):
                    raise explained_error(chunk, outcome) from outcome
                _compare(folder, chunk, outcome)
    folder.note_stamps((dict(sides[0].stamps), dict(sides[1].stamps)))


def _reads(chunk: Chunk, files: tuple[set[str], set[str]]) -> bool:
    """Whether a chunk has row groups of some files."""
    both = zip((chunk.predictions, chunk.truth), files, strict=True)
    return any(piece.file in suspect for pieces, suspect in both for piece in pieces)


def _compare(folder: Folder, chunk: Chunk, now: Reread) -> None:
    before = folder.chunk(chunk.index)
    if before.hashes is None:
        folder.forget(chunk.index)
        return
    for side, was, found in zip(("predictions", "truth"), before.hashes, now.hashes, strict=True):
        if was != found:
            raise changed(folder, side)
    if scenes_by_token(before.tokens, before.scenes) != now.scenes:  # scenes are not in the hash
        raise changed(folder, "truth")


def check_unchanged(sides: tuple[DataSet, DataSet]) -> None:
    """Refuse files on this machine that were written during the evaluation: chunks may have different versions."""
    for side in sides:
        for file, stamp in zip(side.files, side.stamps.values(), strict=True):
            if not is_url(file) and stamp_of(file) != stamp:
                raise InvalidInput(f"{file}: the file was written while it was evaluated")
