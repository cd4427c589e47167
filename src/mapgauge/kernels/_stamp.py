"""Which edits make compiled kernels stale: those of a kernel's file, and of the files that it imports."""

import hashlib
import re
from functools import cache
from pathlib import Path

DECORATORS = Path(__file__).with_name("_jit.py")
_IMPORT = re.compile(rb"^ *from mapgauge\.kernels\.(\w+) import", re.MULTILINE)


@cache
def files_of(path: Path) -> dict[Path, bytes]:
    """Return a file of kernels and all files of this folder that it imports, directly or not, with their contents."""
    reached: dict[Path, bytes] = {}
    waiting = [path, DECORATORS]
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached[file] = file.read_bytes()
            waiting += [file.with_name(f"{name.decode()}.py") for name in _IMPORT.findall(reached[file])]
    return {file: reached[file] for file in sorted(reached)}


@cache
def stamp(path: Path) -> str:
    """Return a hash of a file of kernels and of all files of this folder that it imports, directly or not.

    numba decides by the date of a kernel's own file whether its compiled form on disk is stale. It does not look at the
    files of the kernels that are called and compiled in. With this stamp, an edit or an upgrade takes effect, and only
    the kernels that it concerns are compiled again.
    """
    return hashlib.blake2b(b"".join(files_of(path).values())).hexdigest()
