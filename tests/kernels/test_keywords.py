"""Kernels are called with keywords as functions are."""

from typing import Any

import numpy as np
import pytest

from mapgauge import kernels
from mapgauge.kernels import interpreting
from mapgauge.kernels._jit import jit
from mapgauge.kernels.interpreting import interpreted_while_small


def _of_digits(a: Any, b: Any, c: Any, d: Any) -> Any:
    return 1000 * a + 100 * b + 10 * c + d


@pytest.fixture
def kernel() -> Any:
    return jit(_of_digits)


def test_a_kernel_takes_keywords_in_any_order(kernel: Any) -> None:
    assert kernel(1, 2, 3, 4) == 1234
    assert kernel(1, 2, d=4, c=3) == 1234
    assert kernel(d=4, c=3, b=2, a=1) == 1234


def test_calls_with_and_without_keywords_share_one_compiled_function(kernel: Any) -> None:
    kernel(1, 2, 3, d=4)
    kernel(1, 2, 3, 4)
    assert len(kernel.entry.overloads) == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((1, 2, 3), {"e": 4}),  # unknown
        ((1, 2, 3, 4), {"e": 4}),
        ((1, 2), {"d": 4}),  # one is missing
        ((1, 2, 3, 4), {"d": 4}),  # given twice
        ((1, 2, 3), {"c": 4}),
    ],
)
@pytest.mark.parametrize("is_small", [False, True])
def test_wrong_keywords_are_refused(kernel: Any, is_small: bool, arguments: tuple[int, ...], named: Any) -> None:
    if is_small:
        kernel = interpreted_while_small()(kernel)
    with pytest.raises(TypeError, match="argument"):
        kernel(*arguments, **named)


def test_parameters_with_defaults_may_be_left_out() -> None:
    @jit
    def with_default(a: Any, b: Any, c: Any = 7) -> Any:
        return 100 * a + 10 * b + c

    assert with_default(1, b=2) == 127
    assert with_default(1, c=3, b=2) == 123


def test_an_interpreted_kernel_takes_keywords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(interpreting.SWITCH, "1")
    monkeypatch.setattr(interpreting, "_CALLED", interpreting._CALLED.copy())
    monkeypatch.setattr(interpreting, "python_function", lambda kernel: kernel.entry.py_func)
    kernel: Any = interpreted_while_small()(jit(_of_digits))
    monkeypatch.setattr(kernel, "is_compiled", lambda types: False)
    assert kernel(1, 2, d=4, c=3) == 1234
    assert not kernel.entry.overloads


def test_a_kernel_of_the_package_takes_keywords() -> None:
    saving = np.random.default_rng(0).uniform(size=(5, 7))
    partner, work = kernels.assignment.assign(saving=saving)
    expected, same_work = kernels.assignment.assign(saving)
    assert (partner.tolist(), work) == (expected.tolist(), same_work)
