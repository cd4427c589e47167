"""The folder of compiled kernels on disk.

numba stores compiled kernels as pickles. Whoever can write into their folder can run code, so it must be a folder into
which only this user (or the superuser) can write. numba's own choices do not fit: others may be able to write into
``__pycache__`` beside the package, and ``NUMBA_CACHE_DIR`` can name a folder that somebody else made.

Kernels lie in the folder that the environment variable ``NUMBA_CACHE_DIR`` names, or in the user's cache. Inside, each
installation of the package has a folder of its own, which is named after the place of the package. Other users cannot
replace this folder: its owner is checked, and links of others on the way to it are refused. If it exists, then it need
not be writable: the kernels of an image can be compiled by the superuser and used by everybody.
"""

import hashlib
import os
import stat
import sys
from functools import cache
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
PACKAGE = Path(__file__).parents[1]
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Unusable(Exception):
    """There is no folder for compiled kernels. The text says why."""


def folder() -> Path:
    """Return the folder of compiled kernels of this installation, which is made if necessary."""
    return _checked(_base() / f"kernels-{_short(PACKAGE)}")


def folder_of(file: str) -> Path:
    """Return the folder for the compiled kernels of a file. Files in several folders have equal names."""
    parent = Path(file).parent
    if parent.is_relative_to(PACKAGE):
        return folder().joinpath(*parent.relative_to(PACKAGE).parts)
    return folder() / f"other-{_short(parent)}"  # of a plug-in


def _short(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def _base() -> Path:
    given = os.environ.get(VARIABLE)
    if given:
        if not Path(given).is_absolute():
            raise Unusable(f"{VARIABLE}={given} is not an absolute path, so it would depend on the current folder")
        return Path(given)
    try:
        return _user_cache() / "mapgauge"
    except RuntimeError as error:
        raise Unusable("this user has no home folder") from error


def _user_cache() -> Path:
    """Return the folder in which programs of this user keep what they can make again."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    name = "XDG_CACHE_HOME"
    if os.name == "nt":
        name = "LOCALAPPDATA"
    given = Path(os.environ.get(name, ""))
    if given.is_absolute():  # others are to be ignored (XDG Base Directory Specification)
        return given
    return Path.home() / ("AppData/Local" if os.name == "nt" else ".cache")


@cache
def _checked(path: Path) -> Path:
    """Return a folder after it was made and its owner and mode were checked."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
    except OSError as error:
        raise Unusable(f"{path}: {error.strerror or error}") from error
    if os.name == "nt":  # folders of a user are not writable for others there, and have no mode
        return path
    trusted = (os.geteuid(), 0)
    if not stat.S_ISDIR(found.st_mode):
        raise Unusable(f"{path}: a link in place of a folder")
    if found.st_uid not in trusted:
        raise Unusable(f"{path}: this folder belongs to another user")
    if found.st_mode & _OTHERS:
        raise Unusable(f"{path}: other users can write into this folder")
    for above in path.parents:
        link = above.lstat()
        if stat.S_ISLNK(link.st_mode) and link.st_uid not in trusted:
            raise Unusable(f"{above}: this link belongs to another user")
    return path
