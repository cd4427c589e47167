"""The files that the running command writes. No file that it reads may be one of them.

The command line declares its outputs before it reads anything. Each file that is opened afterwards is compared with
them, so no command has to list what it reads. Programs in Python declare nothing, and may write a file that they read.
"""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from mapgauge.errors import MapgaugeError

_ANOTHER = "Give another name"


class _Outputs:
    """The declared outputs, and those of them that were read."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self._read: list[Path] = []

    def declare(self, paths: Iterable[Path] = ()) -> None:
        """Replace the declared outputs."""
        self.paths, self._read = list(paths), []

    def check_input(self, path: str | os.PathLike[str]) -> None:
        """Refuse to read a file that will be overwritten. It is then not overwritten, even if this error is handled."""
        for output in self.paths:
            if _is_same(Path(path), output):
                self._read.append(output)
                raise overwrites(output)

    def check_output(self, path: Path) -> None:
        """Refuse to write a file that was read."""
        if any(_is_same(path, read) for read in self._read):
            raise overwrites(path)


OUTPUTS = _Outputs()


def overwrites(path: Path) -> MapgaugeError:
    """Return the error for an output that is an input."""
    return MapgaugeError(f"{path}: would overwrite an input of this command", remedy=_ANOTHER)


def _is_same(one: Path, other: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):  # one does not exist, or cannot
        return one.samefile(other)
    return False
