"""Runs independent pieces of work in threads. Kernels release the interpreter lock."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeAlias, TypeVar

from mapgauge.arguments import check_workers
from mapgauge.kernels.turns import short_turns

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
Progress: TypeAlias = Callable[[int, int], None]


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
    """Return the outcome of each task, in the order of the tasks.

    Args:
        work: A function of one task. No task may depend on another.
        tasks: The tasks.
        workers: Number of threads. If None, the number of processors.
        progress: A function that is called with the number of finished tasks and the number of all tasks.
        background: Functions that run before the tasks, or at the same time. If several fail, the first of them counts,
            and they come before the tasks.
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
    with short_turns():
        others = [pool.submit(other) for other in background]
        try:
            return gathered(pool.map(work, tasks))
        finally:
            try:
                for running in others:
                    running.result()
            finally:
                pool.shutdown(cancel_futures=True)
