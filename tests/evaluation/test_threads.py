"""Work in threads: the order of outcomes, and errors."""

import threading

import pytest

from mapgauge.scoring.data import in_threads


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_outcomes_are_in_the_order_of_tasks(workers: int) -> None:
    counts: list[tuple[int, int]] = []
    squares = in_threads(lambda k: k * k, range(20), workers, lambda *now: counts.append(now))
    assert squares == [k * k for k in range(20)]
    assert counts == [(k + 1, 20) for k in range(20)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("task", [0, 5])
def test_the_error_of_a_task_is_raised(workers: int, task: int) -> None:
    def work(k: int) -> None:
        if k == task:
            raise ValueError("task")

    with pytest.raises(ValueError, match="task"):
        in_threads(work, range(9), workers)


def test_one_worker_starts_no_thread() -> None:
    seen: set[int] = set()
    in_threads(lambda _: seen.add(threading.get_ident()), range(3), 1)
    assert seen == {threading.get_ident()}
