"""``average_precision``: its value by hand, and what it refuses."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.metrics.average_precision import curve


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: mg.average_precision([0.9, 0.8], [1, 1], 1), "at most truth, got 2 hits and 1 true instances"),
        (lambda: mg.average_precision([0.9], [1], 0), "at most truth, got 1 hits and 0 true instances"),
        (lambda: mg.average_precision([0.9, math.nan, math.nan], [1, 1, 1], 3), "confidence 1 is NaN"),
        (lambda: mg.average_precision([0.9], [1], -1), "^truth must be a whole number of at least 0, got -1"),
        (lambda: mg.average_precision([0.9], [1], 1.5), "truth must be a whole number of at least 0, got 1.5"),  # type: ignore[arg-type]
        (lambda: mg.average_precision([0.9], [1], True), "truth must be a whole number"),
        (lambda: mg.average_precision([0.9], [0.5], 1), "hits must be True or False"),
        (lambda: mg.average_precision([0.9], [math.nan], 1), "hits must be True or False"),
        (lambda: mg.average_precision(["high"], [1], 1), "one number and one flag per prediction"),
        (lambda: mg.average_precision([[0.9], [0.8, 0.7]], [1], 1), "one number and one flag per prediction"),
        (lambda: mg.average_precision([0.9, 0.8], [1], 1), "must have the same length"),
        (lambda: mg.average_precision([[0.9]], [[1]], 1), r"must have the same length, got \(1, 1\) and \(1, 1\)"),
        (
            lambda: mg.average_precision([0.9], [1], 1, interpolation="12"),  # type: ignore[arg-type]
            "must be 'area', '11-point' or '101-point', got '12'",
        ),
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


def test_the_area_and_the_eleven_points_of_five_predictions() -> None:
    """Hits at ranks 1, 3 and 4 of 5, and 4 true instances.

    Recall is 1/4, 2/4, 3/4 at precision 1, 2/3, 3/4. The monotone curve has 1, 3/4, 3/4. It reaches the recalls 0, 0.1,
    0.2 at precision 1, then 0.3 to 0.7 at 3/4, and none of the last three.
    """
    confidence, hits = [0.5, 0.9, 0.7, 0.8, 0.6], [False, True, True, False, True]
    assert mg.average_precision(confidence, hits, 4) == (1 + 0.75 + 0.75) / 4
    eleven = mg.average_precision(confidence, hits, 4, interpolation="11-point")
    assert eleven == pytest.approx((3 * 1 + 5 * 0.75) / 11, abs=1e-15)


def test_equal_confidences_are_one_step() -> None:
    """Two of three hit at the same confidence: recall 1 at precision 2/3. One more below them changes nothing."""
    assert mg.average_precision([0.5, 0.5, 0.5, 0.1], [True, False, True, False], 2) == 2 / 3
    assert mg.average_precision([0.5, 0.5, 0.1], [True, False, True], 2) == (2 / 3 + 2 / 3) / 2


def test_steps_of_different_sizes() -> None:
    """Two of four true instances are found at precision 1, and one more at precision 3/5."""
    area = mg.average_precision([0.9, 0.9, 0.8, 0.7, 0.6], [True, True, False, False, True], 4)
    assert area == pytest.approx(0.5 * 1 + 0.25 * 0.6, abs=1e-15)


def test_the_curve_has_one_step_for_each_confidence() -> None:
    recall, precision = curve(np.array([0.9, 0.8, 0.8, 0.7]), np.array([1, 4, 4, 5]), 4)
    assert recall.tolist() == [1 / 4, 3 / 4, 1]
    assert precision.tolist() == [1, 3 / 4, 4 / 5]


def test_infinite_confidences_have_a_place_in_the_ranking() -> None:
    assert mg.average_precision([math.inf, 0.5, -math.inf], [True, False, True], 2) == (1 + 2 / 3) / 2


def test_no_hits_and_no_truth_give_0() -> None:
    for interpolation in ("area", "11-point", "101-point"):
        assert mg.average_precision([0.9], [False], 0, interpolation=interpolation) == 0
        assert mg.average_precision([0.9], [False], 3, interpolation=interpolation) == 0
        assert mg.average_precision([], [], 3, interpolation=interpolation) == 0


def test_a_recall_that_misses_a_level_by_rounding_reaches_it() -> None:
    """3 of 10 true instances are found: 3 / 10 is less than 0.1 + 0.2 in binary."""
    found = mg.average_precision([0.9, 0.8, 0.7], [True] * 3, 10, interpolation="11-point")
    assert found == pytest.approx(4 / 11, abs=1e-15)
