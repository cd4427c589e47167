"""``mapgauge convert``: writes a file in another format, or files as a Parquet data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.inputs import check_unnamed, input_file
from mapgauge.cli.output import exit_on, inform, progress, say, show_findings, warn, warn_of
from mapgauge.cli.parsing import refuse, valid
from mapgauge.cli.reading import Reading, read_scenes
from mapgauge.cli.targets import check_targets
from mapgauge.frames.findings import Finding

if TYPE_CHECKING:
    from mapgauge.frames.map_frames import MapFrames
    from mapgauge.io._format import Format
    from mapgauge.io.dataset import DatasetWriter


def _writable(name: str | None) -> str | None:
    if name is not None:
        from mapgauge.io import format_named

        valid("--to", format_named, name)
    return name


def convert(
    context: typer.Context,
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="IN", help="File to read; several for a data set.", parser=input_file, show_default=False
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="File to write, or a folder for a Parquet data set: OUT/. Files that end in .gz or .zst are "
            "compressed.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="NAME",
            help="Format to write, if the suffix is not .parquet or .geojson.",
            callback=_writable,
            autocompletion=o.writable_formats,
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Option of the format to write, such as points=float16 for openlanev2. Repeat it for several.",
            show_default=False,
        ),
    ] = None,
    format: o.FormatOption = None,
    rotate: o.RotateOption = 0.0,
    rename: o.RenameOption = None,
    planar: o.PlanarOption = False,
    certain: o.CertainOption = False,
    unshrink: o.UnshrinkOption = False,
    properties: o.PropertiesOption = None,
    degenerate: o.DegenerateOption = "strict",
    scenes: Annotated[
        Path | None,
        typer.Option(
            "--scenes",
            metavar="FILE",
            help="File with the scenes to write: JSON from token to scene, or the truth.",
            show_default=False,
        ),
    ] = None,
    workers: o.WorkersOption = None,
    fail_on: o.FailOnOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """Write a file in another format.

    If OUT is a folder, one or more files become a Parquet data set, which `evaluate` reads in chunks. The data set is
    sorted, so that a chunk of predictions and its truth are found together. Several files are converted in parallel.
    """
    from mapgauge.io import format_to_write, write
    from mapgauge.io.files.places import UNFINISHED, is_folder_target, is_url

    check_unnamed(*sources)
    reading = Reading.of(context)
    given: dict[str, str] = {}
    folder = is_folder_target(target)
    if not folder:
        check_targets([Path(target)], [*sources, scenes])
        if len(sources) > 1:
            refuse("OUT", f"several files become a data set, which is a folder: {target}/")
        given = _settings(settings, format_to_write(Path(target), to))
    elif to not in (None, "parquet"):
        refuse("--to", f"a folder is a Parquet data set, got {to}")
    elif settings:
        refuse("--set", "a Parquet data set has no options")
    elif not is_url(target):
        check_targets([], [*sources, scenes], folders=[Path(target) / UNFINISHED])
    reading.check(*sources)
    scene_of = None if scenes is None else read_scenes(scenes)
    frames = None if folder else _with_scenes(reading.predictions(sources[0]), scene_of)
    done = _convert_all(sources, target, reading, scene_of, workers) if frames is None else [_written(frames)]
    for source, written in zip(sources, done, strict=True):
        if quiet:
            warn_of(written.findings)
        else:
            show_findings(written.findings)
            say(f"{source} ({written.format}): {written.frames} frames, {written.instances} instances")
    if len(done) > 1 and not all(written.scenes for written in done):
        warn(
            "this data set has no scenes, so its files overlap and must be read at the same time. "
            "Pass --scenes to sort it by scene, which needs less reading"
        )
    if frames is not None:
        write(frames, target, to, **given)
    inform(f"written to {target}")
    exit_on(fail_on, [finding for written in done for finding in written.findings])


def _settings(texts: Sequence[str] | None, row: "Format") -> dict[str, str]:
    """Return the options of the format to write, given as ``NAME=VALUE``."""
    split = [text.partition("=") for text in texts or ()]
    for name, sign, _ in split:
        if not sign or name not in row.write_options:
            known = ", ".join(row.write_options) or "none"
            refuse("--set", f"must be NAME=VALUE with an option of {row.name} ({known}), got {name + sign!r}")
    return {name: value for name, _, value in split}


@dataclass(frozen=True, slots=True)
class _Written:
    """What was written for one file."""

    format: str
    frames: int
    instances: int
    scenes: bool
    findings: tuple[Finding, ...]


def _convert_all(
    sources: Sequence[Path], target: str, reading: Reading, scenes: Mapping[str, str] | None, workers: int | None
) -> list[_Written]:
    """Write files to a data set. It appears when all of them are written; after an error, nothing is left."""
    from mapgauge.evaluation.engines import open_engine, run
    from mapgauge.io.dataset import DatasetWriter

    writer = DatasetWriter(target)
    work = partial(_convert, writer, reading, scenes)
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


def _convert(
    writer: "DatasetWriter", reading: Reading, scenes: Mapping[str, str] | None, task: tuple[int, Path]
) -> _Written:
    index, source = task
    frames = _with_scenes(reading.predictions(source), scenes)
    writer.add(frames, f"part-{index:05}")
    return _written(frames)


def _written(frames: "MapFrames") -> _Written:
    return _Written(frames.format, len(frames), len(frames.polylines), frames.scenes is not None, frames.findings)


def _with_scenes(frames: "MapFrames", scenes: Mapping[str, str] | None) -> "MapFrames":
    """Return the frames with the given scenes, or unchanged if there are none."""
    from mapgauge.evaluation.prepare import with_scenes

    return frames if scenes is None else with_scenes(frames, scenes)
