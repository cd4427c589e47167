"""Intervals, p-values and verdicts: against scipy, and against their own definitions."""

import math

import numpy as np
import pytest
from scipy import stats

import mapgauge as mg
from mapgauge.results.estimation import difference, estimate
from mapgauge.results.families import holm
from mapgauge.results.intervals import bracket
from mapgauge.results.standard_errors import Draws, error_of_mean
from mapgauge.results.student import quantile, share_below, share_within


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 8, 9, 19, 30, 149, 150, 999, 6018])
def test_students_t_is_that_of_scipy(freedom: int) -> None:
    for t in (0.0, 1e-6, 0.1, 1.0, 2.2, 4.5, 40.0, 1e6):
        assert share_within(t, freedom) == pytest.approx(1 - 2 * stats.t.sf(t, freedom), abs=1e-10)
    for level in (0.01, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 1 - 1e-6):
        assert quantile(level, freedom) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-7)


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, 100, 101, 500, 10_000])
def test_the_share_below_is_that_of_scipy(freedom: int) -> None:
    for t in (-5.0, -1.0, 0.0, 0.3, 2.2, 7.0):
        assert share_below(t, freedom) == pytest.approx(stats.t.cdf(t, freedom), abs=3e-6)


def test_rounding_does_not_raise_a_share_above_1() -> None:
    assert max(share_within(float(t), freedom) for t in range(100, 200) for freedom in (10, 11)) == 1


def test_a_quantile_is_the_smallest_number_that_reaches_the_level() -> None:
    """With one degree of freedom, half of the probability lies between -1 and 1."""
    t = quantile(0.5, 1)
    assert t == pytest.approx(1, rel=1e-15)
    assert share_within(math.nextafter(t, 0), 1) < share_within(t, 1) == 0.5
    assert quantile(share_within(3.0, 4), 4) <= 3


@pytest.mark.parametrize("units", [5, 6, 10, 30])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_intervals_of_a_mean_are_those_of_students_t_test(units: int, level: float) -> None:
    """The bootstrap of a mean has a known spread. With it, the interval and the p-value are those of the t-test."""
    rng = np.random.default_rng(units)
    for shift in (0.0, 0.2, 1.0):
        values = rng.normal(shift, 0.5, units)
        spread = values.std() / math.sqrt(units)
        samples = values.mean() + spread * math.sqrt(99_999 / 100_000) * np.tile([-1.0, 1.0], 50_000)
        found = difference(float(values.mean()), Draws(samples, units), level)
        test = stats.ttest_1samp(values, 0)
        assert (found.low, found.high) == pytest.approx(tuple(test.confidence_interval(level)), rel=1e-9)
        assert found.p == pytest.approx(test.pvalue, rel=1e-9)
        assert found.decided == (found.low > 0 or found.high < 0) == (found.p < 1 - level)


def test_one_unit_has_no_interval() -> None:
    samples = np.full(100, 0.5)
    assert str(estimate(0.5, Draws(samples, 1), 0.95)) == "0.500"
    found = difference(0.5, Draws(samples, 1), 0.95)
    assert found.decided is None
    assert [math.isnan(value) for value in (found.low, found.high, found.p)] == [True] * 3
    assert str(found) == "+0.500 (too few scenes to decide)"


@pytest.mark.parametrize("units", [2, 3, 4, 5, 6])
def test_there_is_no_verdict_below_five_units(units: int) -> None:
    found = difference(0.5, Draws(np.full(100, 0.5), units), 0.95)
    assert found == mg.Difference(0.5, 0.5, 0.5, None if units < 5 else True, 0.0, error=0.0, freedom=units - 1)


def test_samples_without_a_value_do_not_count() -> None:
    some = np.array([math.nan, 0.1, 0.2, math.nan, 0.3])
    assert estimate(0.2, Draws(some, 10), 0.95) == estimate(0.2, Draws(some[[1, 2, 4]], 10), 0.95)
    for few in (some[:2], some[:1], some[:0]):
        assert math.isnan(estimate(0.2, Draws(few, 10), 0.95).low)


def test_intervals_stay_within_the_limits_of_the_value() -> None:
    samples = np.linspace(0.9, 1.0, 50)
    assert 0.98 < estimate(0.98, Draws(samples, 10), 0.95, (0.0, 1.0)).high < 1
    assert estimate(0.98, Draws(samples, 10), 0.95).high > 1
    assert 0 < estimate(0.02, Draws(1 - samples, 10), 0.95, (0.0, 1.0)).low < 0.02
    assert estimate(0.1, Draws(samples, 10), 0.95, (0.0, math.inf)).low == 0.1 - (
        estimate(0.1, Draws(samples, 10), 0.95).high - 0.1
    )
    assert estimate(0.5, Draws(np.full(5, 0.5), 10), 0.95, (0.0, 1.0)) == mg.Estimate(0.5, 0.5, 0.5)
    wide = difference(0.6, Draws(np.tile([-1.0, 1.0], 50), 10), 0.95, (-1.0, 1.0))
    assert (wide.low, wide.high) == (-1.0, 1.0)


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e-9, 0.3, 1 - 1e-9, 1.0, 1.0000000000000002])
@pytest.mark.parametrize("spread", [0.0, 1e-12, 0.2, 1e6])
def test_the_interval_of_a_share_contains_it_and_ends_within_0_and_1(value: float, spread: float) -> None:
    found = estimate(value, Draws(np.tile([-spread, spread], 50), 10), 0.95, (0.0, 1.0))
    assert found.low <= value <= found.high
    assert found.low >= 0
    assert found.high <= max(value, 1.0)


def test_the_interval_of_a_share_is_symmetric_on_the_logit_scale() -> None:
    draws = Draws(np.random.default_rng(4).normal(0.8, 0.05, 500), 10)
    found = estimate(0.8, draws, 0.95, (0.0, 1.0))
    half = estimate(0.8, draws, 0.95).high - 0.8
    low, value, high = (math.log(x / (1 - x)) for x in (found.low, found.value, found.high))
    assert high - value == pytest.approx(value - low)
    assert high - value == pytest.approx(half / (0.8 * 0.2))
    assert 0.8 - found.low > found.high - 0.8  # longer on the side with more room


def test_methods_are_told_apart_if_p_is_below_the_bound_and_not_if_it_is_equal() -> None:
    draws = Draws(np.tile([-1.0, 1.0], 50), 10)
    p = difference(0.5, draws, 0.95).p
    assert 0.5 < p < 1  # so 1 - p is exact
    assert difference(0.5, draws, 1 - p).decided is False
    assert difference(0.5, draws, 1 - p - 1e-9).decided is True


@pytest.mark.parametrize("value", [1e-16, -1e-12, 1e-12])
def test_a_difference_that_is_rounding_is_none(value: float) -> None:
    found = difference(value, Draws(np.full(100, value), 10), 0.95)
    assert (found.decided, found.p) == (False, 1.0)


def test_intervals_and_verdicts_in_words() -> None:
    assert str(mg.Estimate(0.79, 0.7714, 0.8116)) == "0.790 [0.771, 0.812]"
    assert str(mg.Difference(0.012, 0.004, 0.021, True, 0.01)) == "+0.012 [+0.004, +0.021]"
    same = mg.Difference(-0.012, -0.03, 0.006, False, 0.2)
    assert str(same) == "-0.012 [-0.030, +0.006] (cannot be decided)"
    assert mg.Difference(0.012, 0.004, 0.021, True, 0.01).verdict == "decided"
    assert str(mg.Estimate(math.nan, math.nan, math.nan)) == "-"
    assert str(mg.Difference(math.nan, math.nan, math.nan, None, math.nan)) == "- (no value to compare)"
    assert bracket(0.1, math.inf) == bracket(-math.inf, 0.1) == bracket(math.nan, 0.1) == "[-]"


def test_holms_correction() -> None:
    assert holm([]) == []
    assert holm([0.2]) == [0.2]
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    found = holm([0.02, math.nan, 0.01])
    assert found[0] == 0.02
    assert found[2] == 0.02
    assert math.isnan(found[1])


def test_the_interval_of_a_mean_rests_on_the_units_of_its_classes(rng: np.random.Generator) -> None:
    common, rare = rng.normal(0.5, 0.01, 400), rng.normal(0.7, 0.05, 400)
    rare[rng.random(400) < 0.1] = np.nan  # samples without the class
    mean = np.where(np.isfinite(rare), (common + rare) / 2, common)

    def width(*units: int) -> float:
        parts = tuple(Draws(column, count) for column, count in zip((common, rare), units, strict=True))
        found = estimate(0.6, Draws(mean, 20, parts), 0.95)
        return found.high - found.low

    everywhere = estimate(0.6, Draws(mean, 20), 0.95)
    assert width(20, 20) == everywhere.high - everywhere.low
    assert 0.09 < width(20, 19) < width(20, 4) < width(20, 2) < 0.4
    assert math.isnan(width(1, 1))


def draws_of(units: int, *samples: float) -> Draws:
    """The samples lie around 7, which does not matter for their spread."""
    return Draws(np.array(samples) + 7, units)


def test_the_error_of_a_mean_of_two_classes_by_hand() -> None:
    """A unit of the rare class varies at least as much as a unit of both classes.

    The samples have the variances 4/3 and 1/2, and the covariance 1. With 5 and 3 units, these are widened to 5/3, 3/4
    and the root of 15/8. A unit varies by (5/3 * 5 * 4 + 3/4 * 3 * 2) / 6 = 227/36, so the rare class by 227/108.
    """
    common, rare = draws_of(5, 1, -1, 1, -1), draws_of(3, 0.5, -0.5, math.nan, math.nan)
    together = math.sqrt(15 / 8)
    shares = (5 / 3 + together) / 4, (227 / 108 + together) / 4
    freedom = sum(shares) ** 2 / (shares[0] ** 2 / 4 + shares[1] ** 2 / 3)
    assert 6 < freedom < 7
    assert error_of_mean((common, rare), 10)[1] == 6
    error, most = error_of_mean((common, rare), 5)
    assert error == pytest.approx(math.sqrt(sum(shares)))
    assert most == 5


def test_a_class_in_five_units_or_with_a_large_variance_has_its_own_variance() -> None:
    """The variances of the samples are 4/3 and 16/3, and they have no covariance."""
    small, large = (1, -1, 1, -1), (2, 2, -2, -2)
    error, freedom = error_of_mean((draws_of(5, *small), draws_of(9, *large)), 20)
    shares = 4 / 3 * 5 / 4 / 4, 16 / 3 * 9 / 8 / 4
    assert error == pytest.approx(math.sqrt(sum(shares)))
    assert freedom == 11  # 3.67 / (0.043 + 0.281)
    error, freedom = error_of_mean((draws_of(9, *small), draws_of(4, *large)), 20)
    shares = 4 / 3 * 9 / 8 / 4, 16 / 3 * 4 / 3 / 4
    assert error == pytest.approx(math.sqrt(sum(shares)))


def test_classes_with_one_sample_or_one_unit_or_none() -> None:
    """The class in two units has the variance 2, widened to 4. The others have none of their own.

    A unit varies by 4 * 2 * 1 / 1 = 8. So the class in two units has 4, those in one unit 8, of 16 ** 2 / 4 ** 2 parts.
    """
    two, one = draws_of(2, 1, -1, math.nan), draws_of(1, math.nan, math.nan, 3)
    nothing = draws_of(1, math.nan, math.nan, math.nan)
    error, freedom = error_of_mean((two, one, nothing, nothing), 20)
    assert error == pytest.approx(math.sqrt((4 + 8 + 8 + 8) / 16))
    assert freedom == 3  # 28 ** 2 / (4 ** 2 + 3 * 8 ** 2) with one degree of freedom each, because there is one in all


def test_a_mean_without_spread_has_the_error_0() -> None:
    """Equal samples; and samples whose covariance, on the samples that both classes have, exceeds their variances."""
    assert error_of_mean((draws_of(20, 1, 1), draws_of(9, 2, 2)), 19) == (0, 19)
    opposite = draws_of(20, 1, -1, 0, 0), draws_of(19, -1, 1, math.nan, math.nan)
    assert error_of_mean(opposite, 19) == (0, 1)


def test_the_error_of_a_mean_has_at_most_the_degrees_of_freedom_of_its_samples() -> None:
    first, second = draws_of(20, 1, -1, 1, -1), draws_of(19, 1, 1, -1, -1)
    mean = Draws(np.array([8.0, 7, 7, 6]), 20, (first, second))
    error = math.sqrt(4 / 3 * (20 / 19 + 19 / 18)) / 2
    assert estimate(7, mean, 0.95).high == pytest.approx(7 + quantile(0.95, 3) * error)
    alone = estimate(7, Draws(first.samples, 20, (second,)), 0.95)
    assert alone.high == pytest.approx(7 + quantile(0.95, 3) * math.sqrt(4 / 3 * 20 / 19))


@pytest.mark.parametrize(("units", "verdict"), [(2, True), (1, None)])
def test_a_class_in_one_unit_leaves_the_mean_without_a_verdict(units: int, verdict: bool | None) -> None:
    samples = np.tile([0.499, 0.501], 100)
    classes = Draws(samples, 20), Draws(samples, units)
    assert difference(0.5, Draws(samples, 20, classes), 0.95).decided is verdict


@pytest.mark.filterwarnings("error")
def test_a_class_without_a_single_match_has_no_interval_and_no_warning_of_numpy() -> None:
    line, far = [[0.0, 0.0], [9.0, 0.0]], [[0.0, 9.0], [9.0, 9.0]]
    tokens = [str(k) for k in range(6)]
    truth = mg.MapFrames.of({token: {"divider": [line], "boundary": [line]} for token in tokens})
    found = mg.MapFrames.of({token: {"divider": [far], "boundary": [line]} for token in tokens})
    protocol = mg.protocol("paper-60x30", classes=["divider", "boundary"])
    results = mg.evaluate(found.with_confidence(1), truth, protocol, metrics=["pld", "completeness"])
    mean = mg.compare([results, results]).estimates[0]["mean"]
    assert (mean["pld"].low, mean["pld"].high) == (0.5, 0.5)
    assert np.isnan(mean["median_across"].low)
