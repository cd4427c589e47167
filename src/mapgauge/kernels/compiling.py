"""Compiles kernels before they are called: the kernels that usual work needs, in processes of their own.

numba compiles a kernel when it is first called. To compile it before, the types of its arguments must be known. They
are listed in ``signatures.json``, by the work that needs them. ``python -m tools.kernel_signatures`` writes this file.
A kernel that is not in the list, or that changed, is compiled when it is called.

numba compiles one kernel after the other. If several are missing from the cache, other processes compile them and write
them to the cache. Each process takes the next kernel that is left. A call of a kernel waits for it, and then loads it
from the cache. If a process fails, the kernel is compiled where it is called, as usual. Results do not depend on any of
this.

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

from mapgauge.kernels import _folder, _jit
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
def table(file: Path = FILE) -> dict[str, list[Compiled]]:
    """Return the kernels that each kind of work needs, from ``FILE``, in the order of their first calls.

    Kernels of features that were deleted are left out.
    """
    stored = json.loads(file.read_text(encoding="utf-8"))
    present = {kernel: is_present(kernel) for kernel in {row[0] for rows in stored.values() for row in rows}}
    return {
        work: [Compiled(kernel, tuple(types)) for kernel, *types in rows if present[kernel]]
        for work, rows in stored.items()
    }


def is_present(kernel: str) -> bool:
    """Whether the package has the module of a kernel."""
    return file_of(kernel.rpartition(".")[0]).is_file()


def needed_for(works: Iterable[str]) -> list[Compiled]:
    """Return the kernels that several kinds of work need, each once. Work that is not in the table needs none."""
    return list(dict.fromkeys(kernel for work in works for kernel in table().get(work, ())))


def kernel_named(name: str) -> Kernel:
    """Return a kernel by the names of its module and function."""
    module, _, function = name.rpartition(".")
    kernel = getattr(importlib.import_module(f"mapgauge.{module}"), function)
    if not isinstance(kernel, Kernel):
        raise AttributeError(f"{name} is not a kernel")
    return kernel


def size_of(compiled: Compiled) -> int:
    """Return how much code a kernel reaches. The kernels that read files come first, and so do not delay reading."""
    reached = sum(map(len, files_of(file_of(compiled.kernel.rpartition(".")[0])).values()))
    if compiled in table()["read"]:
        return sys.maxsize
    return reached


def compile_kernel(compiled: Compiled) -> None:
    """Compile a kernel, or load it from the cache."""
    kernel_named(compiled.kernel).entry.compile(tuple(map(type_from, compiled.types)))


def is_compiled(compiled: Compiled) -> bool:
    """Whether a kernel is in memory, or in the cache on disk for this processor. It may be wrong, and costs little."""
    return kernel_named(compiled.kernel).is_compiled(tuple(map(type_from, compiled.types)))


def missing_for(works: Iterable[str]) -> list[Compiled]:
    """Return the kernels that some kinds of work need and that are not compiled, the longest first.

    Kernels that are only needed after the tables were printed come last.
    """
    works = list(works)
    before = set(needed_for(work for work in works if work not in LAST))
    missing = [compiled for compiled in needed_for(works) if not is_compiled(compiled)]
    return sorted(missing, key=lambda compiled: (compiled in before, size_of(compiled)), reverse=True)


def folder() -> Path | None:
    """Return the folder of compiled kernels; None if there is none."""
    try:
        return _folder.folder()
    except _folder.Unusable:
        return None


SWITCH = "MAPGAUGE_COMPILERS"  # the number of processes; 0 switches this off
MOST = 4
_TICK = 0.2  # seconds between two looks at the time


class _Elsewhere:
    """The kernels that other processes compile at the moment."""

    def __init__(self, tick: float = _TICK) -> None:
        self.tick = tick
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
        """Count kernels as finished when their places are answered, and all of them when the processes have ended."""
        with self.changed:
            if not self.left:
                self.begun = time.monotonic()
                self.of = 0
            self.left += kernels
            self.of += len(kernels)
            _jit.PENDING.update((compiled.kernel, self.wait) for compiled in kernels)

        def count() -> None:
            with open(answers, "rb", buffering=0) as places:
                while place := places.read(1):
                    self._finish([kernels[place[0]]])
            self._finish(kernels)  # kernels that are left are compiled where they are called

        threading.Thread(target=count, daemon=True).start()

    def _finish(self, kernels: Sequence[Compiled]) -> None:
        with self.changed:
            self.left = [compiled for compiled in self.left if compiled not in kernels]
            for name in {compiled.kernel for compiled in kernels} - {compiled.kernel for compiled in self.left}:
                _jit.PENDING.pop(name, None)
            self.changed.notify_all()

    def wait(self, kernel: str) -> None:
        """Wait until a kernel is in the cache for all types, or until it is certain that no process compiles it."""
        with self.changed:
            while any(compiled.kernel == kernel for compiled in self.left):
                if WATCH.interrupted:  # Python waits for all threads before it ends
                    raise KeyboardInterrupt
                if not self.changed.wait(self.tick):
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

    The number is 0 in processes that another process started, such as the workers of a data loader: they would all do
    the same.
    """
    given = os.environ.get(SWITCH)
    if given is not None:
        if given.isdecimal():
            return int(given)
        return 0
    if multiprocessing.parent_process() is not None or not sys.executable or getattr(sys, "frozen", False):
        return 0
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    if available > 1:
        return min(available, MOST)
    return 0


def compile_ahead(works: Iterable[str], processes: int | None = None) -> int:
    """Begin to compile the kernels that some kinds of work need and that are not in the cache. Returns their number.

    There is one process per processor, up to four, unless their number is given.
    """
    if processes is None:
        count = compilers()
    else:
        count = processes
    if count == 0:
        return 0
    try:
        missing = missing_for(works)
    except (AttributeError, ImportError, OSError, TypeError, ValueError):  # other kernels, or a cache of another kind
        return 0
    if missing and folder() is None:  # nothing can be handed over
        return 0
    missing = [compiled for compiled in missing if compiled.kernel not in _jit.PENDING]
    if len(missing) > 1:
        _ELSEWHERE.add(missing, count)
    return len(missing)


def compile_missing(works: Iterable[str]) -> int:
    """Compile the kernels that some kinds of work need and that are not in the cache. Returns their number."""
    missing = missing_for(works)
    compile_ahead(works)
    for compiled in missing:
        _ELSEWHERE.wait(compiled.kernel)
    for compiled in missing:  # the processes may have left some
        compile_kernel(compiled)
    return len(missing)


def main() -> None:
    """Compile the kernels of the list in the command whose places are on stdin, and answer with the place of each."""
    gc.disable()  # saves a tenth of the time
    sys.modules["scipy"] = None  # type: ignore[assignment]  # numba would import it for linear algebra
    kernels = [Compiled(kernel, tuple(types)) for kernel, types in json.loads(sys.argv[1])]
    with contextlib.suppress(KeyboardInterrupt, OSError):
        while place := os.read(0, 1):
            with contextlib.suppress(Exception):  # the call of the kernel compiles it and raises the error
                compile_kernel(kernels[place[0]])
            os.write(1, place)


if __name__ == "__main__":
    main()
