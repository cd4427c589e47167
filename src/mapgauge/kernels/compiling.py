"""Compiles kernels before they are called: which ones usual work needs, and the processes that compile them.

numba compiles a kernel when it is first called. To compile it before, the types of its arguments must be known. They
are listed in ``signatures.json``, by the work that needs them. ``python -m tools.kernel_signatures`` writes this file.
A kernel that is not in the list, or that changed, is compiled when it is called.

numba compiles one kernel after the other. If several are missing from the cache, processes of their own compile them,
each the next one that is left, and write them to the cache. A call of a kernel waits for it, and then loads it from the
cache. If a process fails, the kernel is compiled where it is called, as usual. Results do not depend on any of this.

The processes are started with ``subprocess``, never by a fork, and run nothing but this module. They end when they have
nothing left to do, when the process that started them ends, or when it is interrupted.
"""

import atexit
import contextlib
import importlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mapgauge.kernels import _jit
from mapgauge.kernels._cache import file_of, files_of, stamp
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
_READY = "ready"


class _Queue:
    """Kernels that other processes compile."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.left: list[Compiled] = []
        self.unfinished: Counter[str] = Counter()  # a kernel can be compiled for several types
        self.finished: dict[str, threading.Event] = {}
        self.of = 0
        self.done = 0
        self.begun = 0.0
        self.drivers = 0
        self.running: set[subprocess.Popen[str]] = set()

    def add(self, kernels: Sequence[Compiled], processes: int) -> None:
        """Begin to compile some kernels."""
        with self.lock:
            if not self.drivers:
                self.begun, self.of, self.done = time.monotonic(), 0, 0
            self.left += kernels
            self.of += len(kernels)
            for one in kernels:
                self.unfinished[one.kernel] += 1
                self.finished.setdefault(one.kernel, threading.Event())
                _jit.PENDING[one.kernel] = self.wait
            more = max(min(processes, len(self.left)) - self.drivers, 0)
            self.drivers += more
        for _ in range(more):
            threading.Thread(target=self._drive, daemon=True).start()

    def wait(self, kernel: str) -> None:
        """Wait until a kernel is in the cache, or until it is certain that no process compiles it."""
        event = self.finished.get(kernel)
        if event is None:
            return
        while not event.wait(_TICK):
            if WATCH.interrupted:  # Python waits for all threads before it ends
                raise KeyboardInterrupt
            WATCH.report(self.done, self.of, self.begun)
        WATCH.clear()

    def _take(self) -> Compiled | None:
        """Return the next kernel to compile, if there is one."""
        with self.lock:
            return self.left.pop(0) if self.left else None

    def _finish(self, one: Compiled) -> None:
        """Count a kernel as finished, whether it went well or not."""
        with self.lock:
            self.done += 1
            self.unfinished[one.kernel] -= 1
            if not self.unfinished[one.kernel]:
                self._release(one.kernel)

    def _release(self, kernel: str) -> None:
        """Let those go on that wait for a kernel."""
        _jit.PENDING.pop(kernel, None)
        event = self.finished.pop(kernel, None)
        if event is not None:
            event.set()

    def _drive(self) -> None:
        """Run one process and give it one kernel after the other."""
        process = _start()
        try:
            if process is not None:
                self.running.add(process)
                self._compile_in(process)
        finally:
            self.stop([process] if process is not None else [])
            with self.lock:
                self.drivers -= 1
                if not self.drivers:  # whatever is left is compiled where it is called
                    self.left.clear()
                    self.unfinished.clear()
                    for kernel in list(self.finished):
                        self._release(kernel)

    def _compile_in(self, process: "subprocess.Popen[str]") -> None:
        """Give one kernel after the other to a process, until none is left or the process has ended."""
        if process.stdin is None or process.stdout is None or not _is_same(process.stdout.readline()):
            return
        answer = _READY
        while answer and (one := self._take()) is not None:
            answer = ""
            try:
                with contextlib.suppress(OSError):  # it has ended
                    process.stdin.write("\t".join((one.kernel, *one.types)) + "\n")
                    process.stdin.flush()
                    answer = process.stdout.readline()
            finally:
                self._finish(one)

    def stop(self, processes: Iterable["subprocess.Popen[str]"]) -> None:
        """End processes."""
        for process in processes:
            self.running.discard(process)
            process.terminate()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()


_QUEUE = _Queue()


@atexit.register
def _stop() -> None:
    _QUEUE.left.clear()
    _QUEUE.stop(list(_QUEUE.running))


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
    missing = [one for one in missing if one.kernel not in _QUEUE.finished]
    if len(missing) > 1:
        _QUEUE.add(missing, count)
    return len(missing)


def compile_missing(works: Iterable[str]) -> int:
    """Compile the kernels that some kinds of work need and that are not in the cache. Returns their number."""
    missing = missing_for(works)
    compile_ahead(works)
    while _QUEUE.finished:
        for kernel in list(_QUEUE.finished):
            _QUEUE.wait(kernel)
    for one in missing:  # those that the processes did not compile
        compile_kernel(one)
    return len(missing)


def _start() -> "subprocess.Popen[str] | None":
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {SWITCH: "0"},
        )
    except OSError:  # no memory, or too many processes
        return None


def _identity() -> str:
    """Say which kernels this process would compile. Two processes with other files must not fill one cache."""
    return f"{_READY} {Path(__file__).resolve()} {stamp(file_of('kernels.pld'))}"


def _is_same(line: str) -> bool:
    return line.strip() == _identity()


def main() -> None:
    """Compile the kernels named on stdin, one in each line, and answer with a line for each."""
    import gc

    gc.disable()  # saves a tenth of the time
    sys.modules["scipy"] = None  # type: ignore[assignment]  # numba would import it for linear algebra
    sys.stdout.write(f"{_identity()}\n")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        for line in sys.stdin:
            kernel, *types = line.rstrip("\n").split("\t")
            try:
                compile_kernel(Compiled(kernel, tuple(types)))
            except Exception as error:
                sys.stdout.write(f"{type(error).__name__}\n")
            else:
                sys.stdout.write("compiled\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
