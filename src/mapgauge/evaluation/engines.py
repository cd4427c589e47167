"""Engines run the chunks of a streamed evaluation. All use the interface of ``concurrent.futures.Executor``.

Threads, processes and Dask on this machine are chosen by name. A Dask client or any executor (loky, MPI, a batch
system) can be passed as an object. A new engine is a function that opens an executor, and a row in ``ENGINES``.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from concurrent.futures import ThreadPoolExecutor as Threads
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy

if TYPE_CHECKING:
    from multiprocessing.synchronize import Lock

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
EngineLike: TypeAlias = Any  # a name of ENGINES, the address of a scheduler, a Dask client, or an executor

ATTEMPTS = 3  # how often a task is tried if its worker dies
_PATIENCE = 600  # seconds to wait for the first worker of a cluster
_SAFE_PATH = "PYTHONSAFEPATH"  # a variable of Python: the option -P
_MOST_ON_WINDOWS = 61  # processes of a pool, by the documentation of ProcessPoolExecutor
_AHEAD = 2  # submitted tasks per worker: one that runs, and one that waits


@dataclass(slots=True)
class Pool:
    """Workers: their executor, their number, and a function that replaces them if they die."""

    executor: Executor
    width: Callable[[], int]  # called before every submission: the number of workers in a cluster changes
    renew: Callable[[], Executor] | None = None


@contextmanager
def _threads(workers: int) -> Iterator[Pool]:
    with Threads(workers) as executor:
        yield Pool(executor, lambda: workers)


@contextmanager
def _without_current_folder() -> Iterator[None]:
    """Let new processes of Python not look for modules in the current folder, which may be full of files of others.

    ``multiprocessing`` starts processes with ``python -c``, which would. Once they run, they get the path of this one.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SAFE_PATH, None)
        else:
            os.environ[_SAFE_PATH] = before


def _check_semaphores(engine: str) -> None:
    """Refuse to start processes where they cannot share semaphores, as in a container without ``/dev/shm``."""
    from multiprocessing import get_context

    try:
        with _without_current_folder():  # the first semaphore starts a process that watches them
            get_context("spawn").Lock()
    except (OSError, ImportError) as error:  # ImportError: this Python was built without them
        raise MapgaugeError(
            f"engine {engine!r}: processes cannot share memory: {getattr(error, 'strerror', None) or error}",
            remedy=Remedy(
                'Make /dev/shm writable, or pass engine="threads"', "Make /dev/shm writable, or use --engine threads"
            ),
        ) from error


@contextmanager
def _processes(workers: int) -> Iterator[Pool]:
    from concurrent.futures import ProcessPoolExecutor  # imported here because it is slow and rarely needed
    from multiprocessing import get_context

    _check_semaphores("processes")
    # Processes are spawned: a forked process would inherit locks that threads of the parent hold.
    context = get_context("spawn")
    if sys.platform == "win32":
        workers = min(workers, _MOST_ON_WINDOWS)
    make = partial(ProcessPoolExecutor, workers, mp_context=context)
    pool = Pool(make(initializer=end_with_parent), lambda: workers)

    def renew() -> Executor:
        """Replace the pool by one whose processes are all started before its first task.

        A pool starts a process when a task is submitted and no process is idle. If another process dies in this
        moment, the thread of the pool ends with a traceback (``dictionary changed size during iteration``, in CPython
        3.11). Tasks of which one has killed its worker are submitted one after the other, so that this can happen.
        """
        pool.executor.shutdown(wait=False, cancel_futures=True)
        starting = context.Lock()
        pool.executor = make(initializer=_begin, initargs=(starting,))
        with starting:  # no process is idle meanwhile, so each of these tasks starts one
            for _ in range(workers):
                _submitted(pool, abs, 0)
        return pool.executor

    pool.renew = renew
    try:
        with _without_current_folder():
            yield pool
    finally:
        pool.executor.shutdown(cancel_futures=True)


def _begin(starting: "Lock") -> None:
    """Begin a process of a pool as soon as the others are started, too."""
    end_with_parent()
    with starting:
        pass


def end_with_parent() -> None:
    """Let this process end when its parent ends, also when the parent is killed.

    A worker of a pool waits for tasks on a queue. Other workers hold the ends of this queue open, so that a worker
    does not notice the death of the parent there. The sentinel of the parent is a pipe that only the parent holds.
    """
    from multiprocessing import parent_process
    from multiprocessing.connection import wait as wait_for

    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)  # no clean-up: the queues of the pool are broken, and waiting for them would take forever

    Thread(target=watch, name="mapgauge-parent", daemon=True).start()


@contextmanager
def _dask(workers: int) -> Iterator[Pool]:
    distributed = require("distributed", "this engine", "dask")
    _check_semaphores("dask")
    with (
        _without_current_folder(),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit="auto"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield _of_client(client)


@contextmanager
def _scheduler(address: str) -> Iterator[Pool]:
    distributed = require("distributed", "this engine", "dask")
    try:
        client = distributed.Client(address, timeout="20s")
    except (OSError, TimeoutError, ValueError) as error:
        raise MapgaugeError(
            f"{address}: no Dask scheduler answers: {error}", remedy="Start one with: dask scheduler"
        ) from error
    with client:
        yield _of_client(client)


def _of_client(client: Any) -> Pool:
    """Return the pool of a Dask client. The scheduler itself repeats the tasks of a worker that died."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise MapgaugeError(
            f"{client.scheduler.address}: this Dask scheduler has had no worker for {_PATIENCE} s",
            remedy="Start one with: dask worker",
        ) from error
    return Pool(client.get_executor(pure=False), lambda: max(1, sum(client.nthreads().values())))


# Engines on this machine by name. Each function opens a given number of workers.
ENGINES: Mapping[str, Callable[[int], Any]] = {"threads": _threads, "processes": _processes, "dask": _dask}


def open_engine(engine: EngineLike, workers: int | None) -> Any:
    """Return a context manager that opens a ``Pool``. ``workers`` is for an engine on this machine."""
    if isinstance(engine, str) and "://" in engine:
        return _scheduler(engine)
    if isinstance(engine, str):
        if engine not in ENGINES:
            raise InvalidInput(
                f"unknown engine {engine!r}. Known: {', '.join(ENGINES)}; or the address of a Dask scheduler, "
                "a Dask client, or an executor"
            )
        return ENGINES[engine](workers or os.cpu_count() or 1)
    if hasattr(engine, "get_executor"):
        return nullcontext(_of_client(engine))
    if isinstance(engine, Executor):
        width = workers or getattr(engine, "_max_workers", None) or os.cpu_count() or 1
        return nullcontext(Pool(engine, lambda: width))
    raise InvalidInput(
        f"engine must be {', '.join(map(repr, ENGINES))}, the address of a Dask scheduler, a Dask client or an "
        f"executor, got {engine!r}"
    )


def run(
    pool: Pool, work: Callable[[Task], Outcome], tasks: Iterable[Task]
) -> Iterator[tuple[Task, Outcome | Exception]]:
    """Run all tasks, and yield each with its outcome when it ends. The outcome of a failed task is its exception.

    Only a few tasks are submitted at a time, so neither tasks nor results fill the memory. If workers die and the pool
    can be renewed, their tasks run again one at a time, to find the task that kills its worker.
    """
    waiting = iter(tasks)
    running: dict[Future[Outcome], Task] = {}
    suspects: list[Task] = []
    attempts: Counter[int] = Counter()
    try:
        while True:
            if suspects and not running:
                task = suspects.pop(0)
                running[_submitted(pool, work, task)] = task
            while not suspects and len(running) < pool.width() * _AHEAD:
                try:
                    task = next(waiting)
                except StopIteration:
                    break
                running[_submitted(pool, work, task)] = task
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            died: list[tuple[Task, Exception]] = []
            for future in done:
                task = running.pop(future)
                try:
                    outcome: Outcome | Exception = future.result()
                except (BrokenExecutor, CancelledError) as error:  # CancelledError: the scheduler is gone
                    died.append((task, error))
                    continue
                except Exception as error:  # an error of the task or of its worker; the caller decides
                    outcome = error
                yield task, outcome
            if not died:
                continue
            _, reason = died[0]
            if pool.renew is None:
                raise MapgaugeError(f"all workers died: {reason or 'their tasks were cancelled'}") from reason
            # A worker that dies takes the tasks of all others with it.
            died += [(task, reason) for task in running.values()]
            running.clear()
            pool.renew()
            for task, error_of_task in died:
                attempts[id(task)] += 1
                if attempts[id(task)] < ATTEMPTS:
                    suspects.append(task)
                else:
                    yield task, error_of_task
    finally:
        for future in running:
            future.cancel()


def _submitted(pool: Pool, work: Callable[[Task], Outcome], task: Task) -> "Future[Outcome]":
    """Submit a task. If a worker died since the last one, the pool refuses the task, and the future has its error."""
    try:
        return pool.executor.submit(work, task)
    except BrokenExecutor as error:
        refused: Future[Outcome] = Future()
        refused.set_exception(error)
        return refused
