"""``mapgauge convert`` to a folder: one or many files become a Parquet data set, several at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mapgauge.cli.output import progress, say, show_findings, warn
from mapgauge.cli.reading import Reading
from mapgauge.errors import MapgaugeError
from mapgauge.frames.findings import Finding

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.io.dataset_write import DatasetWriter


@dataclass(frozen=True, slots=True)
class _Written:
    """What became of one file."""

    format: str
    frames: int
    instances: int
    scenes: bool
    findings: tuple[Finding, ...]


def convert_all(
    sources: Sequence[Path], target: str, reading: Reading, scenes: Mapping[str, str] | None, workers: int | None
) -> None:
    """Write files to a data set: it appears when all of them are done, or not at all."""
    from mapgauge.evaluation.engines import open_engine, run
    from mapgauge.io.dataset_write import DatasetWriter

    writer = DatasetWriter(target)
    work = partial(_convert, writer, reading, scenes)
    tasks = list(enumerate(sources))
    done: dict[int, _Written] = {}
    try:
        # One file is read here and written in threads. Of several, each has a process: reading holds the interpreter.
        with (
            open_engine("threads" if len(tasks) == 1 else "processes", workers) as pool,
            progress("converting", "files") as advance,
        ):
            for (index, _), outcome in run(pool, work, tasks):
                if isinstance(outcome, Exception):
                    raise outcome
                done[index] = outcome
                if advance is not None:
                    advance(len(done), len(tasks))
        writer.finish()
    except BaseException:
        writer.remove()
        raise
    for index, source in tasks:
        written = done[index]
        show_findings(written.findings)
        say(f"{source} ({written.format}): {written.frames} frames, {written.instances} instances")
    if len(tasks) > 1 and not all(written.scenes for written in done.values()):
        warn("without scenes, files are read side by side; with --scenes they are sorted into scenes, which takes less")
    warn(f"written to {target}")


def _convert(
    writer: "DatasetWriter", reading: Reading, scenes: Mapping[str, str] | None, task: tuple[int, Path]
) -> _Written:
    index, source = task
    frames = with_scenes_of(reading.predictions(source), scenes)
    try:
        writer.add(frames, f"part-{index:05}")
    except OSError as error:
        raise MapgaugeError(f"{writer.path}: cannot be written: {error}") from error
    return _Written(frames.format, len(frames), len(frames.polylines), frames.scenes is not None, frames.findings)


def with_scenes_of(frames: "MapFrames", scenes: Mapping[str, str] | None) -> "MapFrames":
    """The frames with their scenes, if some are given."""
    from mapgauge.scoring.prepare import with_scenes

    return frames if scenes is None else with_scenes(frames, scenes)
