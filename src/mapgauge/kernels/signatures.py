"""The kernels that usual work calls from Python, and the types of their arguments.

numba compiles a kernel when it is first called. To compile it before, the types of its arguments must be known. They
are listed in ``signatures.json``, by the work that needs them. ``python -m tools.kernel_signatures`` writes this file.
A kernel that is not in the list, or that changed, is compiled when it is called.
"""

import importlib
import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mapgauge.kernels._jit import Kernel
from mapgauge.kernels._stamp import files_of
from mapgauge.kernels._type_names import type_from

FILE = Path(__file__).with_name("signatures.json")


class Compiled(NamedTuple):
    """A kernel for arguments of some types."""

    kernel: str  # such as "pld.pld_of_groups"
    types: tuple[str, ...]


LAST = ("words", "report")  # work that comes after the tables of an evaluation


@cache
def table() -> dict[str, list[Compiled]]:
    """Return the kernels that each kind of work needs, in the order of their first calls."""
    stored = json.loads(FILE.read_text())
    return {work: [Compiled(kernel, tuple(types)) for kernel, *types in rows] for work, rows in stored.items()}


def needed_for(works: Iterable[str]) -> list[Compiled]:
    """Return the kernels that several kinds of work need, each once. Work that is not in the table needs none."""
    return list(dict.fromkeys(one for work in works for one in table().get(work, ())))


def kernel_named(name: str) -> Kernel:
    """Return a kernel by the names of its module and function."""
    module, function = name.split(".")
    kernel = getattr(importlib.import_module(f"mapgauge.kernels.{module}"), function)
    if not isinstance(kernel, Kernel):
        raise AttributeError(f"{name} is not a kernel")
    return kernel


def size_of(one: Compiled) -> int:
    """Return how much code a kernel reaches. The kernels that read files come first, and so do not delay reading."""
    module = one.kernel.split(".")[0]
    reached = sum(map(len, files_of(Path(__file__).with_name(f"{module}.py")).values()))
    return sys.maxsize if one in table()["read"] else reached


def compile_kernel(one: Compiled) -> None:
    """Compile a kernel, or load it from the cache."""
    kernel_named(one.kernel).entry.compile(tuple(map(type_from, one.types)))


def is_compiled(one: Compiled) -> bool:
    """Whether a kernel is in memory, or in the cache on disk for this processor. It may be wrong, and costs little."""
    return kernel_named(one.kernel).is_compiled(tuple(map(type_from, one.types)))


def missing_for(works: Iterable[str]) -> list[Compiled]:
    """Return the kernels that some kinds of work need and that are not compiled, the longest first.

    What is only needed after the tables were printed comes after all others.
    """
    works = list(works)
    before = set(needed_for(work for work in works if work not in LAST))
    missing = [one for one in needed_for(works) if not is_compiled(one)]
    return sorted(missing, key=lambda one: (one in before, size_of(one)), reverse=True)


def folder() -> Path | None:
    """Return the folder of compiled kernels; None if there is none that can be written."""
    stored = getattr(kernel_named("lines.index_lines").entry, "_cache", None)
    path = getattr(stored, "cache_path", None)
    return None if path is None else Path(path)
