"""Exact sums have the bits of ``math.fsum``, in any order and in parts."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from mapgauge.scoring.scores import exact_sums, rounded

Floats = NDArray[np.float64]
numbers = arrays(np.float64, st.integers(0, 30), elements=st.floats(-1e300, 1e300))


@given(values=numbers)
def test_a_sum_is_correctly_rounded(values: Floats) -> None:
    assert [rounded(total) for total in exact_sums(values[:, None])] == [math.fsum(values)]


@given(values=numbers, cut=st.integers(0, 30))
def test_pieces_add_up_to_the_whole(values: Floats, cut: int) -> None:
    one, other = exact_sums(values[:cut, None]), exact_sums(values[cut:, None])
    assert one[0] + other[0] == exact_sums(values[:, None])[0]


@given(values=numbers)
def test_the_order_does_not_matter(values: Floats) -> None:
    assert exact_sums(values[:, None]) == exact_sums(values[::-1, None])


def test_columns_are_added_apart() -> None:
    assert [rounded(total) for total in exact_sums(np.array([[0.1, 1e-320], [0.2, 5e-324]]))] == [
        math.fsum([0.1, 0.2]),
        1e-320 + 5e-324,
    ]
