"""``mapgauge convert``: writes a file in another format, or files as a Parquet data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.inputs import InputReader, check_files, check_unnamed, split_options
from mapgauge.cli.output import exit_on, inform, progress, say, tell_findings, warn
from mapgauge.cli.parsing import refuse
from mapgauge.cli.targets import check_targets
from mapgauge.frames.findings import Finding

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.io._format import Format
    from mapgauge.io.dataset import DatasetWriter


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """The options of ``mapgauge convert``."""

    sources: Annotated[
        list[Path],
        o.files_argument("IN", "File to read; several for a data set. Options follow a name: FILE,scenes=FILE."),
    ]
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="File to write, or a folder for a Parquet data set: OUT/. Files that end in .gz or .zst are "
            "compressed. Options of the format follow the name: OUT,points=float16.",
            show_default=False,
        ),
    ]
    to: o.ToOption = None
    workers: o.WorkersOption = None
    fail_on: o.FailOnOption = None
    quiet: o.QuietOption = False


@command
def convert(options: ConvertOptions) -> None:
    """Write a file in another format.

    If OUT is a folder, one or more files become a Parquet data set, which `evaluate` reads in chunks. The data set is
    sorted, so that a chunk of predictions and its truth are found together. Several files are converted in parallel.
    """
    from mapgauge.io import format_to_write, write
    from mapgauge.io.files.places import is_folder_target

    sources = options.sources
    check_unnamed(*sources)
    target, settings = split_options(options.target)
    if is_folder_target(target):
        _check_folder(options, target, settings)
        check_files(*sources)
        done = _convert_all(sources, target, options.workers)
        _tell(options, done)
    else:
        _check_file(options, target, settings)
        check_files(*sources)
        frames = InputReader(options.workers).alone(sources[0])
        done = [_written(frames)]
        _tell(options, done)
        write(frames, target, options.to, **settings)
        _tell_axes(frames, format_to_write(Path(target), options.to))
    inform(f"written to {target}")
    exit_on(options.fail_on, [finding for written in done for finding in written.findings])


def _check_folder(options: ConvertOptions, target: str, settings: Mapping[str, str]) -> None:
    """Refuse a data set that cannot be written."""
    from mapgauge.io.files.places import UNFINISHED, is_url

    if options.to not in (None, "parquet"):
        refuse("--to", f"a folder is a Parquet data set, got {options.to}")
    if settings:
        refuse("OUT", "a Parquet data set has no options")
    if not is_url(target):
        check_targets([], options.sources, folders=[Path(target) / UNFINISHED])


def _check_file(options: ConvertOptions, target: str, settings: Mapping[str, str]) -> None:
    """Refuse a file that cannot be written."""
    from mapgauge.io import format_to_write

    check_targets([Path(target)], options.sources)
    if len(options.sources) > 1:
        refuse("OUT", f"several files become a data set, which is a folder: {target}/")
    row = format_to_write(Path(target), options.to)
    unknown = [name for name in settings if name not in row.write_options]
    if unknown:
        known = ", ".join(row.write_options) or "none"
        refuse("OUT", f"must be followed by options of {row.name} ({known}), got {unknown[0]!r}")


def _tell(options: ConvertOptions, done: "Sequence[_Written]") -> None:
    """Print what was read from each file."""
    for source, written in zip(options.sources, done, strict=True):
        tell_findings(written.findings)
        if not options.quiet:
            say(f"{source} ({written.format}): {written.frames} frames, {written.instances} instances")
    if len(done) > 1 and not all(written.scenes for written in done):
        warn(
            "this data set has no scenes, so its files overlap and must be read at the same time. "
            "Give the scenes of each file to sort it by scene, which needs less reading: IN,scenes=FILE"
        )


def _tell_axes(frames: "MapFrames", row: "Format") -> None:
    """Say if another axis points forward than the programs that read this format expect. Nothing is turned unasked."""
    if row.forward is None or frames.forward in (None, row.forward):
        return
    if row.forward != "longer":
        angle = {"x": -90, "y": 90}[row.forward]
        warn(
            f"warning: {frames.forward} points forward in these frames, and {row.forward} in files of {row.name}: "
            f"programs that read them would see everything turned. Write IN,rotate={angle}"
        )
    elif frames.forward == "x":
        inform(
            f"note: x points forward, as in files of {row.name} on Argoverse 2. On nuScenes, y points forward in them: "
            "IN,rotate=90"
        )


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written for one file."""

    format: str
    frames: int
    instances: int
    scenes: bool
    findings: tuple[Finding, ...]


def _convert_all(sources: Sequence[Path], target: str, workers: int | None) -> list[_Written]:
    """Write files to a data set. It appears when all of them are written; after an error, nothing is left."""
    from mapgauge.evaluation.engines import open_engine, run
    from mapgauge.io.dataset import DatasetWriter

    writer = DatasetWriter(target)
    work = partial(_convert, writer, InputReader(workers))
    tasks = list(enumerate(sources))
    done: dict[int, _Written] = {}
    try:
        # A single file is read here and written in threads. Several files have a process each, because reading holds
        # the interpreter lock.
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
    return [done[index] for index, _ in tasks]


def _convert(writer: "DatasetWriter", reading: InputReader, task: tuple[int, Path]) -> _Written:
    index, source = task
    frames = reading.alone(source)
    writer.add(frames, f"part-{index:05}")
    return _written(frames)


def _written(frames: "MapFrames") -> _Written:
    return _Written(
        frames.format, len(frames), len(frames.polylines), scenes=frames.scenes is not None, findings=frames.findings
    )
