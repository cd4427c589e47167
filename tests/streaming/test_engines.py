"""Engines run every task once, also if workers die."""

import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
from tests.streaming.deaths import die_at_three, die_once, double

import mapgauge as mg
from mapgauge.evaluation.engines import Pool, open_engine, run


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_every_task_is_done_once(engine: str) -> None:
    with open_engine(engine, 2) as pool:
        assert sorted(run(pool, double, range(9))) == [(task, 2 * task) for task in range(9)]


def test_few_tasks_are_handed_out_at_a_time() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(100):
            taken.append(task)
            yield task

    with ThreadPoolExecutor(2) as executor:
        next(run(Pool(executor, lambda: 2), double, tasks()))
        assert len(taken) <= 6


def test_an_error_of_a_task_is_its_outcome() -> None:
    def fail(task: int) -> int:
        if task == 1:
            raise mg.InvalidInput("bad")
        return task

    with open_engine("threads", 2) as pool:
        outcomes = dict(run(pool, fail, range(3)))
    assert isinstance(outcomes[1], mg.InvalidInput)
    assert outcomes[0] == 0
    assert outcomes[2] == 2


def test_what_a_killed_process_had_is_done_again(tmp_path: Path) -> None:
    with open_engine("processes", 2) as pool:
        outcomes = list(run(pool, partial(die_once, tmp_path / "mark"), range(6)))
    assert sorted(outcomes) == [(task, 2 * task) for task in range(6)]


class BrokenOnce(ThreadPoolExecutor):
    """Refuses the third task, as a pool does whose worker died between two tasks."""

    submitted = 0

    def submit(self, *arguments: Any, **keywords: Any) -> Any:
        type(self).submitted += 1
        if type(self).submitted == 3:
            raise BrokenExecutor("a worker died")
        return super().submit(*arguments, **keywords)


def test_a_pool_that_breaks_between_two_tasks_is_renewed() -> None:
    with BrokenOnce(2) as executor:
        renewed: list[Executor] = []

        def renew() -> Executor:
            renewed.append(executor)
            return executor

        outcomes = list(run(Pool(executor, lambda: 2, renew), double, range(6)))
    assert len(renewed) == 1
    assert sorted(outcomes) == [(task, 2 * task) for task in range(6)]


def test_a_task_that_kills_its_worker_is_found_and_the_others_are_done() -> None:
    with open_engine("processes", 2) as pool:
        outcomes = list(run(pool, die_at_three, range(6)))
    assert sorted(task for task, _ in outcomes) == list(range(6))
    found = dict(outcomes)
    assert isinstance(found.pop(3), BrokenExecutor)
    assert found == {task: 2 * task for task in (0, 1, 2, 4, 5)}


def test_a_renewed_pool_starts_all_processes_before_its_first_task() -> None:
    """If one is started while a task kills another, the thread of a pool of CPython 3.11 may fail."""
    with open_engine("processes", 3) as pool:
        others = set(active_children())
        pool.renew()
        assert len(set(active_children()) - others) == 3
        assert sorted(run(pool, double, range(4))) == [(task, 2 * task) for task in range(4)]


def test_workers_of_others_that_are_gone_end_the_run() -> None:
    with open_engine("processes", 1) as own:
        pool = Pool(own.executor, lambda: 1)
        with pytest.raises(mg.MapgaugeError, match="all workers died"):
            list(run(pool, die_at_three, range(6)))


def test_work_that_a_scheduler_cancels_ends_the_run() -> None:
    class Gone(Executor):
        def submit(self, *_: object, **__: object) -> "Future[int]":  # type: ignore[override]
            future: Future[int] = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    with pytest.raises(mg.MapgaugeError, match="all workers died"):
        list(run(Pool(Gone(), lambda: 1), double, range(3)))


def test_workers_that_come_later_get_work() -> None:
    width, three = [1], threading.Barrier(3)

    def busy(task: int) -> int:
        if task == 0:
            width[0] = 3
        else:
            three.wait(120)  # for two others; without more workers, there would be one
        return task

    with ThreadPoolExecutor(8) as executor:
        found = dict(run(Pool(executor, lambda: width[0]), busy, range(7)))
    assert found == {task: task for task in range(7)}


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", _no_answer)
    with (
        pytest.raises(mg.MapgaugeError, match="tcp://127.0.0.1:1: no Dask scheduler answers"),
        open_engine("tcp://127.0.0.1:1", None),
    ):
        pass


def _no_answer(*_: object, **__: object) -> None:
    raise OSError("timed out")
