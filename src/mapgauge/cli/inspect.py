"""``mapgauge inspect``: prints what is in files, as other commands do with their inputs."""

from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mapgauge.cli import options as o
from mapgauge.cli.command import command
from mapgauge.cli.emit import Printing, emit
from mapgauge.cli.inputs import InputReader, check_files, check_unnamed, is_results, options_of
from mapgauge.cli.output import distrust, exit_on, paint, warn, warn_of
from mapgauge.errors import MapgaugeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mapgauge.cli.inspected import InspectedFrames, InspectedResults


@dataclass(frozen=True, kw_only=True)
class InspectOptions(Printing):
    """The options of ``mapgauge inspect``."""

    files: Annotated[list[Path], o.files_argument("FILE", "One or more files of predictions, truth or results.")]
    json: o.JsonOption = False
    fail_on: o.FailOnOption = None
    quiet: o.QuietOption = False


@command
def inspect(options: InspectOptions) -> None:
    """Print what is in files.

    Prints the format, frames, classes, confidences, extents, and what the reader found. For results, prints the tables.
    """
    from mapgauge.cli.inspected import Inspected, InspectedResults

    files = options.files
    check_unnamed(*files)
    if len(files) == 1:
        check_files(*_files_of_frames(files))
        read = [_inspected(files[0])]
    else:
        read = _inspected_if_possible(files)
    emit(options, Inspected(read, is_list=len(files) > 1, is_quiet=options.quiet))
    if options.quiet and options.form == "text":
        for one in read:
            warn_of(one.findings)
    distrust(chain.from_iterable(one.findings for one in read if isinstance(one, InspectedResults)))
    if len(read) < len(files):
        warn(f"{len(files) - len(read)} of {len(files)} files could not be read")
        raise typer.Exit(1)
    exit_on(options.fail_on, [finding for one in read for finding in one.findings])


def _inspected_if_possible(files: "Sequence[Path]") -> "list[InspectedFrames | InspectedResults]":
    """Return what is in several files. A file that cannot be read is a warning, and the others are read."""
    with suppress(MapgaugeError):  # a file that is missing is told below
        check_files(*_files_of_frames(files))
    read: list[InspectedFrames | InspectedResults] = []
    for file in files:
        try:
            read.append(_inspected(file))
        except MapgaugeError as error:
            warn(error.for_shell())
    return read


def _files_of_frames(files: "Sequence[Path]") -> list[Path]:
    """Return the files that are not read as results."""
    return [file for file in files if not _is_stored(file)]


def _is_stored(file: Path) -> bool:
    """Whether a file is read as results."""
    return "format" not in options_of(file) and is_results(file)


def _inspected(file: Path) -> "InspectedFrames | InspectedResults":
    """Return what is in a file."""
    from mapgauge import load_results
    from mapgauge.checks import findings_of_side
    from mapgauge.cli.inspected import InspectedFrames, InspectedResults, contents_of, in_words
    from mapgauge.io import FORMATS

    if _is_stored(file):
        return InspectedResults(file, load_results(file))
    frames = InputReader().alone(file)
    # Parquet keeps the format that frames came from, which may be one of a plug-in that is not here.
    about = frames.format
    if frames.format in FORMATS:
        about += f": {FORMATS[frames.format].about}"
    return InspectedFrames(
        title=f"{paint(frames.name, 'bold')} ({about})",
        words=in_words(frames),
        contents=contents_of(frames),
        findings=findings_of_side(frames),
    )
