"""The kinds of things that a path can be."""

import os
import stat
from pathlib import Path

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def kind_of(mode: int) -> str | None:
    """Return what a path is if it is not a plain file, such as ``"a device"``; None for a plain file."""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), None)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder."""
    return stat.S_ISDIR(_mode(path))


def is_plain_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a file that can be read from its beginning as often as needed."""
    return stat.S_ISREG(_mode(path))


def _mode(path: str | os.PathLike[str]) -> int:
    """Return the mode of a path; 0 if there is nothing, or if no file can have this name."""
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):  # a name with a zero byte is a ValueError
        return 0
