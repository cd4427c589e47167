"""Runs independent pieces of work in threads. Kernels release the interpreter lock."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias, TypeVar

from mapgauge.arguments import check_workers

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
Progress: TypeAlias = Callable[[int, int], None]


def in_threads(
    work: Callable[[Task], Outcome], tasks: Sequence[Task], workers: int | None, progress: Progress | None = None
) -> list[Outcome]:
    """Return the outcome of each task, in the order of the tasks. No task may depend on another.

    ``progress`` gets the number of finished tasks and of all tasks. With one worker, there is no thread.
    """
    threads = min(check_workers(workers) or os.cpu_count() or 1, len(tasks))
    pool = ThreadPoolExecutor(threads) if threads > 1 else None
    done = []
    try:
        for outcome in map(work, tasks) if pool is None else pool.map(work, tasks):
            done.append(outcome)
            if progress is not None:
                progress(len(done), len(tasks))
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    return done
