"""Compiles kernels before they are called: which ones usual work needs, and the processes that compile them.

numba compiles a kernel when it is first called. To compile it before, the types of its arguments must be known. They
are listed in ``signatures.json``, by the work that needs them. ``python -m tools.kernel_signatures`` writes this file.
A kernel that is not in the list, or that changed, is compiled when it is called.

numba compiles one kernel after the other. If several are missing from the cache, processes of their own compile them,
each the next one that is left, and write them to the cache. A call of a kernel waits for it, and then loads it from the
cache. If a process fails, the kernel is compiled where it is called, as usual. Results do not depend on any of this.

The processes are started with ``subprocess``, never by a fork, and run nothing but this module. They end when nothing
is left to do, or when the process that started them ends or is interrupted.
"""

import atexit
import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mapgauge.kernels import _jit
from mapgauge.kernels._cache import file_of, files_of
from mapgauge.kernels._jit import Kernel
from mapgauge.kernels._stored import type_from
from mapgauge.kernels.progress import WATCH

FILE = Path(__file__).with_name("signatures.json")


class Compiled(NamedTuple):
    """A kernel for arguments of some types."""

    kernel: str  # such as "kernels.pld.pld_of_groups"
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
    module, _, function = name.rpartition(".")
    kernel = getattr(importlib.import_module(f"mapgauge.{module}"), function)
    if not isinstance(kernel, Kernel):
        raise AttributeError(f"{name} is not a kernel")
    return kernel


def size_of(one: Compiled) -> int:
    """Return how much code a kernel reaches. The kernels that read files come first, and so do not delay reading."""
    reached = sum(map(len, files_of(file_of(one.kernel.rpartition(".")[0])).values()))
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
    stored = getattr(kernel_named("kernels.lines.index_lines").entry, "_cache", None)
    path = getattr(stored, "cache_path", None)
    return None if path is None else Path(path)


SWITCH = "MAPGAUGE_COMPILERS"  # the number of processes; 0 switches this off
MOST = 4
_TICK = 0.2  # seconds


class _Elsewhere:
    """The kernels that other processes compile at the moment."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.left: list[Compiled] = []
        self.of = 0
        self.begun = 0.0
        self.processes: list[subprocess.Popen[bytes]] = []

    def add(self, kernels: Sequence[Compiled], processes: int) -> None:
        """Start processes. They read places in this list from one pipe, and write them to another once compiled."""
        tasks, given = os.pipe()
        answers, answer = os.pipe()
        os.write(given, bytes(range(len(kernels))))
        command = [sys.executable, "-P", "-m", __name__, json.dumps(kernels)]
        environment = os.environ | {SWITCH: "0"}
        started: list[subprocess.Popen[bytes]] = []
        with contextlib.suppress(OSError):  # no memory, or too many processes
            for _ in range(min(processes, len(kernels))):
                started.append(
                    subprocess.Popen(command, stdin=tasks, stdout=answer, stderr=subprocess.DEVNULL, env=environment)
                )
        for pipe in (tasks, given, answer):
            os.close(pipe)
        self.processes += started
        self.listen(kernels, answers)

    def listen(self, kernels: Sequence[Compiled], answers: int) -> None:
        """Count kernels as finished when their places are answered, and all of them when nobody can answer any more."""
        with self.changed:
            if not self.left:
                self.begun, self.of = time.monotonic(), 0
            self.left += kernels
            self.of += len(kernels)
            _jit.PENDING.update((one.kernel, self.wait) for one in kernels)

        def count() -> None:
            with open(answers, "rb", buffering=0) as places:
                while place := places.read(1):
                    self._finish([kernels[place[0]]])
            self._finish(kernels)  # whatever is left is compiled where it is called

        threading.Thread(target=count, daemon=True).start()

    def _finish(self, kernels: Sequence[Compiled]) -> None:
        with self.changed:
            self.left = [one for one in self.left if one not in kernels]
            for name in {one.kernel for one in kernels} - {one.kernel for one in self.left}:
                _jit.PENDING.pop(name, None)
            self.changed.notify_all()

    def wait(self, kernel: str) -> None:
        """Wait until a kernel is in the cache for all types, or until it is certain that no process compiles it."""
        with self.changed:
            while any(one.kernel == kernel for one in self.left):
                if WATCH.interrupted:  # Python waits for all threads before it ends
                    raise KeyboardInterrupt
                if not self.changed.wait(_TICK):
                    WATCH.report(self.of - len(self.left), self.of, self.begun)
        WATCH.clear()

    def stop(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.terminate()
            process.wait()


_ELSEWHERE = _Elsewhere()
atexit.register(_ELSEWHERE.stop)


def compilers() -> int:
    """Return the number of processes that may compile at the same time.

    It is 0 in processes that another one started, such as the workers of a data loader: they would all do the same.
    """
    given = os.environ.get(SWITCH)
    if given is not None:
        return int(given) if given.isdecimal() else 0
    if multiprocessing.parent_process() is not None or not sys.executable or getattr(sys, "frozen", False):
        return 0
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, MOST) if available > 1 else 0


def compile_ahead(works: Iterable[str], processes: int | None = None) -> int:
    """Begin to compile the kernels that some kinds of work need and that are not in the cache. Returns their number.

    There is one process per processor, up to four, unless their number is given.
    """
    count = compilers() if processes is None else processes
    if count == 0:
        return 0
    try:
        missing = missing_for(works)
    except (AttributeError, ImportError, OSError, TypeError, ValueError):  # other kernels, or a cache of another kind
        return 0
    if missing and folder() is None:  # nothing can be handed over
        return 0
    missing = [one for one in missing if one.kernel not in _jit.PENDING]
    if len(missing) > 1:
        _ELSEWHERE.add(missing, count)
    return len(missing)


def compile_missing(works: Iterable[str]) -> int:
    """Compile the kernels that some kinds of work need and that are not in the cache. Returns their number."""
    missing = missing_for(works)
    compile_ahead(works)
    for one in missing:
        _ELSEWHERE.wait(one.kernel)
    for one in missing:  # those that the processes did not compile
        compile_kernel(one)
    return len(missing)


def main() -> None:
    """Compile the kernels of the list in the command whose places are on stdin, and answer with the place of each."""
    gc.disable()  # saves a tenth of the time
    sys.modules["scipy"] = None  # type: ignore[assignment]  # numba would import it for linear algebra
    kernels = [Compiled(kernel, tuple(types)) for kernel, types in json.loads(sys.argv[1])]
    with contextlib.suppress(KeyboardInterrupt, OSError):
        while place := os.read(0, 1):
            with contextlib.suppress(Exception):  # it is compiled where it is called, which tells what is wrong
                compile_kernel(kernels[place[0]])
            os.write(1, place)


if __name__ == "__main__":
    main()
