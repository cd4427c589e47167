"""Checks that output files can be written, before the work begins."""

import os
from collections.abc import Sequence
from pathlib import Path

from mapgauge.cli.parsing import refuse
from mapgauge.errors import MapgaugeError

SUFFIX = ".mg"


def check_target(path: Path | None) -> None:
    """Refuse a file that cannot be written."""
    if path is None:
        return
    if path.is_dir():
        raise MapgaugeError(f"{path}: cannot be written: expected the name of a file, found a folder")
    if not path.parent.is_dir():
        raise MapgaugeError(
            f"{path}: cannot be written: the folder {path.parent} does not exist", remedy="Create it first"
        )
    if not os.access(path.parent, os.W_OK):
        raise MapgaugeError(f"{path}: cannot be written: no permission to write in {path.parent}")


def make_folder(path: Path) -> None:
    """Create a folder if it does not exist."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MapgaugeError(f"{path}: the folder cannot be created: {error.strerror or error}") from error


def result_files(output: Path | None, names: Sequence[str]) -> list[Path | None]:
    """Return the file for the results of each method: the given file, or files in the given folder."""
    if output is None:
        return [None] * len(names)
    if len(names) == 1:
        check_target(output)
        return [output]
    if output.suffix == SUFFIX:
        refuse("--output", f"must be a folder if there are several predictions, got the file {output}")
    make_folder(output)
    files: list[Path | None] = [output / f"{name.replace('/', '-')}{SUFFIX}" for name in names]
    for file in files:
        check_target(file)
    return files
