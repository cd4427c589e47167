"""``average_precision``: what it refuses."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mapgauge as mg


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: mg.average_precision([0.9, 0.8], [1, 1], 1), "at most truth, got 2 hits and 1 true instances"),
        (lambda: mg.average_precision([0.9], [1], 0), "at most truth, got 1 hits and 0 true instances"),
        (lambda: mg.average_precision([0.9, math.nan], [1, 1], 2), "confidence 1 is NaN"),
        (lambda: mg.average_precision([0.9], [1], -1), "truth must be a whole number of at least 0, got -1"),
        (lambda: mg.average_precision([0.9], [1], 1.5), "truth must be a whole number of at least 0, got 1.5"),  # type: ignore[arg-type]
        (lambda: mg.average_precision([0.9], [1], True), "truth must be a whole number"),
        (lambda: mg.average_precision([0.9], [0.5], 1), "hits must be True or False"),
        (lambda: mg.average_precision([0.9], [math.nan], 1), "hits must be True or False"),
        (lambda: mg.average_precision(["high"], [1], 1), "one number and one flag per prediction"),
        (lambda: mg.average_precision([[0.9], [0.8, 0.7]], [1], 1), "one number and one flag per prediction"),
        (lambda: mg.average_precision([0.9, 0.8], [1], 1), "must have the same length"),
    ],
)
def test_impossible_counts_and_confidences_are_refused(action: Callable[[], float], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        action()


def test_numbers_of_numpy_and_both_kinds_of_flags_are_accepted() -> None:
    two: Any = np.int64(2)
    assert mg.average_precision([0.9, 0.8], [1, 0], two) == mg.average_precision([0.9, 0.8], [True, False], 2)
    assert mg.average_precision([], [], 0) == 0
    assert mg.average_precision([0.9], np.array([1.0]), 1) == 1
