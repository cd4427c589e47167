"""Work in threads: the order of outcomes, and what runs beside it."""

import sys
import threading
from collections.abc import Iterator

import pytest

from mapgauge.evaluation.threads import Background, in_threads


def fail(what: str) -> None:
    raise ValueError(what)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_outcomes_are_in_the_order_of_tasks_and_functions_beside_have_run(workers: int) -> None:
    first, second = Background(lambda: 7), Background(lambda: "x")
    counts: list[tuple[int, int]] = []
    found = in_threads(lambda k: k * k, range(20), workers, lambda *now: counts.append(now), [first, second])
    assert found == [k * k for k in range(20)]
    assert (first.outcome, second.outcome) == (7, "x")
    assert counts == [(k + 1, 20) for k in range(20)]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("task", [0, 5])
def test_an_error_beside_comes_before_that_of_a_task(workers: int, task: int) -> None:
    def work(k: int) -> None:
        if k == task:
            fail("task")

    others = [Background(lambda: None), Background(lambda: fail("beside")), Background(lambda: fail("later"))]
    with pytest.raises(ValueError, match="beside"):
        in_threads(work, range(9), workers, background=others)
    with pytest.raises(ValueError, match="task"):
        in_threads(work, range(9), workers, background=others[:1])


def test_one_worker_starts_no_thread() -> None:
    seen: set[int] = set()
    note = Background(lambda: seen.add(threading.get_ident()))
    in_threads(lambda _: seen.add(threading.get_ident()), range(3), 1, background=[note])
    assert seen == {threading.get_ident()}


@pytest.fixture
def interval() -> Iterator[float]:
    """The interval that Python begins with. Commands change it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.005)
    yield sys.getswitchinterval()
    sys.setswitchinterval(before)


def test_overlapping_calls_restore_the_switch_interval_of_python(interval: float) -> None:
    inside = threading.Event()
    first_ended = threading.Event()

    def wait(_: int) -> None:
        inside.set()
        first_ended.wait(9)

    late = threading.Thread(target=in_threads, args=(wait, range(2), 2))

    def start_the_other(k: int) -> None:
        if k == 0:
            late.start()
        assert inside.wait(9)

    in_threads(start_the_other, range(2), 2)
    assert sys.getswitchinterval() < interval  # the other call still runs
    first_ended.set()
    late.join(9)
    assert sys.getswitchinterval() == interval
