"""Where output goes: files that can be written are known before the work begins, not after it."""

import os
from collections.abc import Sequence
from pathlib import Path

from mapgauge.cli.options import refuse
from mapgauge.errors import MapgaugeError

SUFFIX = ".mg"


def check_target(path: Path | None) -> None:
    """Refuse a file that cannot be written, early."""
    if path is None:
        return
    if path.is_dir():
        raise MapgaugeError(f"{path}: cannot be written: this is a folder, expected the name of a file")
    if not path.parent.is_dir():
        raise MapgaugeError(f"{path}: cannot be written: there is no folder {path.parent}. Make it first")
    if not os.access(path.parent, os.W_OK):
        raise MapgaugeError(f"{path}: cannot be written: no permission to write in {path.parent}")


def make_folder(path: Path) -> None:
    """Make a folder, unless it is there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MapgaugeError(f"{path}: this folder cannot be made: {error.strerror or error}") from error


def result_files(output: Path | None, names: Sequence[str]) -> list[Path | None]:
    """Where the results of each method go: to the file given; of several methods, to files in the folder given."""
    if output is None:
        return [None] * len(names)
    if len(names) == 1:
        check_target(output)
        return [output]
    if output.suffix == SUFFIX:
        refuse("--output", f"with several predictions this is a folder for their results, got the file {output}")
    make_folder(output)
    files: list[Path | None] = [output / f"{name.replace('/', '-')}{SUFFIX}" for name in names]
    for file in files:
        check_target(file)
    return files
