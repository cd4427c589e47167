"""Runs independent pieces of work in threads. Kernels release the interpreter lock."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

from mapgauge.arguments import check_workers

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
Progress: TypeAlias = Callable[[int, int], None]

# Seconds for which a thread keeps the interpreter lock while another one waits for it. A thread that returns from a
# kernel waits for the lock, and Python lets another thread keep it for 5 ms otherwise, as long as a kernel runs.
SWITCH_INTERVAL = 1e-4
_CHANGING = Lock()
_before: list[float] = []  # the interval of Python, for each use of the shorter one


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Let threads that return from kernels wait for a short time only.

    Uses may overlap: the last one that ends restores the interval of Python.
    """
    with _CHANGING:
        _before.append(_before[0] if _before else sys.getswitchinterval())
        sys.setswitchinterval(min(_before[0], SWITCH_INTERVAL))
    try:
        yield
    finally:
        with _CHANGING:
            interval = _before.pop()
            if not _before:
                sys.setswitchinterval(interval)


class Background(Generic[Outcome]):
    """A function without arguments that runs at the same time as other work, and its outcome."""

    def __init__(self, function: Callable[[], Outcome]) -> None:
        """Keep the function."""
        self._function = function

    def __call__(self) -> None:
        """Run the function."""
        self.outcome = self._function()


def in_threads(
    work: Callable[[Task], Outcome],
    tasks: Sequence[Task],
    workers: int | None,
    progress: Progress | None = None,
    background: Sequence[Callable[[], None]] = (),
) -> list[Outcome]:
    """Return the outcome of each task, in the order of the tasks. No task may depend on another.

    ``progress`` gets the number of finished tasks and of all tasks. Functions in the ``background`` run before
    the tasks, or at the same time. If several fail, the first of them counts, and they come before the tasks.
    """
    threads = min(check_workers(workers) or os.cpu_count() or 1, len(tasks))

    def gathered(outcomes: Iterable[Outcome]) -> list[Outcome]:
        done = []
        for outcome in outcomes:
            done.append(outcome)
            if progress is not None:
                progress(len(done), len(tasks))
        return done

    if threads < 2:
        for other in background:
            other()
        return gathered(map(work, tasks))
    pool = ThreadPoolExecutor(threads)
    with short_switch_interval():
        others = [pool.submit(other) for other in background]
        try:
            return gathered(pool.map(work, tasks))
        finally:
            try:
                for running in others:
                    running.result()
            finally:
                pool.shutdown(cancel_futures=True)
