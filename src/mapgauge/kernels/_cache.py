"""Compiled kernels on disk: which edits make them stale, and how they are loaded and stored.

A cache that is damaged or cannot be written must not stop anything. A kernel that cannot be loaded is discarded and
compiled again. A kernel that cannot be stored is compiled in every run, which is reported once.

Loading leaves out the parts of numba that only compiling needs. Before it looks for a compiled function on disk, numba
imports and registers all that it could compile, and scipy if it is installed. This takes as long as importing numba. If
a kernel is not on disk, numba catches up before it compiles it. This uses methods of numba that are not part of its
public interface. For versions of numba on which it was not tested, kernels are loaded in the usual way.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

from mapgauge.kernels.progress import WATCH

PACKAGE = Path(__file__).parents[1]
_IMPORT = re.compile(r"^ *from mapgauge\.([\w.]+) import (\w+)?", re.MULTILINE)


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a kernel: its module in this package and its function."""
    return f"{function.__module__.removeprefix('mapgauge.')}.{function.__qualname__}"


def file_of(module: str) -> Path:
    """Return the file of a module of this package, such as ``kernels.pld``."""
    return PACKAGE.joinpath(*module.split(".")).with_suffix(".py")


@cache
def files_of(path: Path) -> dict[Path, bytes]:
    """Return a file of kernels and all files of kernels that it imports, directly or not, with their contents."""
    reached: dict[Path, bytes] = {}
    waiting = [path, file_of("kernels._jit")]
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached[file] = file.read_bytes()
            for module, name in _IMPORT.findall(reached[file].decode()):
                imported = file_of(module)
                waiting.append(imported if imported.exists() else file_of(f"{module}.{name}"))
    return {file: reached[file] for file in sorted(reached)}


@cache
def stamp(path: Path) -> str:
    """Return a hash of a file of kernels and of all files of kernels that it imports, directly or not.

    numba decides by the date of a kernel's own file whether its compiled form on disk is stale. It does not look at the
    files of the kernels that are called and compiled in. With this stamp, an edit or an upgrade takes effect, and only
    the kernels that it concerns are compiled again.
    """
    return hashlib.blake2b(b"".join(files_of(path).values())).hexdigest()


# From the oldest to the newest version of numba on which this and ``_inner.py`` were tested.
IS_TESTED = (0, 61) <= numba.version_info.short <= (0, 68)


def use_cache(compiled: Any) -> None:
    """Make a compiled function use its cache on disk as far as that works."""
    cache = compiled._cache
    if IS_TESTED:
        load = _lean_load(cache)
    else:
        load = cache.load_overload
    save = cache.save_overload

    def load_overload(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except Exception:  # damaged files raise errors of every kind
            with contextlib.suppress(OSError):  # a kernel that is compiled is not stored either, which is reported
                cache.flush()
            return None

    def save_overload(signature: Any, data: Any) -> None:
        try:
            save(signature, data)
        except Exception as error:
            WATCH.unstored = f"{cache.cache_path}: {getattr(error, 'strerror', None) or error}"
            WATCH.report_unstored()

    cache.load_overload = load_overload
    cache.save_overload = save_overload


def _lean_load(cache: Any) -> Any:
    """Return a function that loads from disk without the rest of numba."""
    from numba.core.runtime.nrt import rtsys  # other versions may not have it

    def load(signature: Any, target: Any) -> Any:
        rtsys.initialize(target)  # memory of arrays
        with cache._guard_against_spurious_io_errors():
            return cache._load_overload(signature, target)

    return load
