"""Tests of isotonic regression, reliability and the Brier score."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from benchmarks.coverage import error_coverage, weights_of
from hypothesis import given
from hypothesis import strategies as st

from mapgauge.features.confidence.calibration import reliability_of
from mapgauge.features.confidence.operating import fit_isotonic

shares = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.floats(0, 1)


def best_monotone(confidence: np.ndarray, target: np.ndarray) -> float:
    """Return the smallest sum of squares of a function that never falls: all divisions of the levels into blocks."""
    levels = np.unique(confidence)
    best = np.inf
    for count in range(len(levels)):
        for cuts in combinations(range(1, len(levels)), count):
            blocks = np.split(np.arange(len(levels)), cuts)
            members = [np.isin(confidence, levels[block]) for block in blocks]
            means = [target[mine].mean() for mine in members]
            if all(a <= b + 1e-12 for a, b in pairwise(means)):
                error = sum(((target[mine] - mean) ** 2).sum() for mine, mean in zip(members, means, strict=True))
                best = min(best, error)
    return float(best)


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=8))
def test_isotonic_regression_is_monotone_and_optimal(pairs: list[tuple[float, float]]) -> None:
    confidence, target = np.array(pairs).T
    fit = fit_isotonic(confidence, target)
    values = fit(np.linspace(0, 1, 41))
    assert (np.diff(values) >= 0).all()
    assert target.min() - 1e-12 <= values.min()
    assert values.max() <= target.max() + 1e-12
    assert ((fit(confidence) - target) ** 2).sum() == pytest.approx(best_monotone(confidence, target), abs=1e-9)


@given(st.lists(st.tuples(shares, shares, st.integers(0, 3)), min_size=1, max_size=30), st.integers(1, 12))
def test_the_parts_of_the_brier_score_add_up(rows: list[tuple[float, float, int]], bins: int) -> None:
    confidence, target, unit = (np.array(column) for column in zip(*rows, strict=True))
    found = reliability_of(confidence, target, unit, np.ones((2, 4)), bins=bins)
    parts = found.reliability - found.resolution + found.uncertainty + found.remainder
    assert parts == pytest.approx(found.brier.value, abs=1e-14)
    assert found.brier.value == pytest.approx(np.mean((confidence - target) ** 2))
    assert found.number.sum() == len(rows)
    # Drawing each unit once gives the value itself.
    assert found.error.low == pytest.approx(found.error.value) or np.isnan(found.error.low)


def test_equal_confidences_leave_no_remainder() -> None:
    confidence, target = np.repeat([0.25, 0.65], 4), np.array([0, 0, 0, 1, 1, 1, 0, 0.0])
    found = reliability_of(confidence, target, np.arange(8), np.ones((2, 8)), bins=10)
    assert found.remainder == 0
    assert found.uncertainty == pytest.approx(3 / 8 * 5 / 8)
    assert found.error.value == pytest.approx((4 * 0.0 + 4 * 0.15) / 8)
    assert found.reliability == pytest.approx(0.15**2 / 2)


def test_a_calibrated_detector_has_no_error(rng: np.random.Generator) -> None:
    confidence = rng.uniform(size=50_000)
    target = (rng.uniform(size=len(confidence)) < confidence).astype(float)
    found = reliability_of(confidence, target, np.arange(len(confidence)) % 20, np.ones((2, 20)))
    assert found.error.value < 0.01
    assert found.brier.value == pytest.approx(1 / 6, abs=0.01)
    halved = reliability_of(confidence / 2, target, np.arange(len(confidence)) % 20, np.ones((2, 20)))
    assert halved.error.value == pytest.approx(0.25, abs=0.01)
    fit = fit_isotonic(confidence[::2] / 2, target[::2])
    assert np.abs(fit(confidence[1::2] / 2) - confidence[1::2]).mean() < 0.03


def test_the_interval_of_the_calibration_error_covers_calibrated_and_other_methods() -> None:
    for world in ("calibrated", "over-confident"):
        true, mean, calibrated, covered = error_coverage(world, 25, 60, 60, np.random.default_rng(1))
        assert covered >= 0.9
        assert mean == pytest.approx(
            max(true, calibrated), rel=0.1
        )  # noise alone gives the error of a calibrated method
    assert true == pytest.approx(0.125, abs=0.001)


def test_excess_confidence_is_the_mean_difference(rng: np.random.Generator) -> None:
    confidence, target = rng.random(400), (rng.random(400) < 0.3).astype(float)
    found = reliability_of(confidence, target, np.arange(400) % 20, weights_of(20, rng))
    assert found.excess.value == pytest.approx(confidence.mean() - target.mean())
    assert found.excess.low > 0
    assert found.error.low <= found.error.value <= found.error.high
