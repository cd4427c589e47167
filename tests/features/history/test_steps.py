"""Steps, deviating nights and slow changes of curves, planted and simulated."""

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from mapgauge.features.history.steps import FEWEST, SHORTEST, HistoryChange, cost_of, fit, noise_of


def changes_of(values: Sequence[float]) -> tuple[HistoryChange, ...]:
    found = fit(values)
    assert found is not None
    return found.changes


@pytest.mark.parametrize("night", [1, 2, 15, 38, 39])
@pytest.mark.parametrize("size", [0.1, -0.1])
def test_a_planted_step_is_found_at_its_night_with_its_size(rng: np.random.Generator, night: int, size: float) -> None:
    curve = 0.5 + rng.normal(0, 0.01, 40) + size * (np.arange(40) >= night)
    (step,) = changes_of(curve.tolist())
    assert (step.kind, step.night, step.last) == ("step", night, night)
    assert step.size == pytest.approx(size, abs=0.03)
    assert abs(step.size - size) < 4 * step.error


def test_several_steps_are_found_and_recovery_is_a_step_too(rng: np.random.Generator) -> None:
    nights = np.arange(90)
    curve = 0.5 + 0.1 * (nights >= 30) - 0.1 * (nights >= 60) + rng.normal(0, 0.01, 90)
    assert [(change.kind, change.night) for change in changes_of(curve.tolist())] == [("step", 30), ("step", 60)]


@pytest.mark.parametrize("nights", [10, 30, 90])
def test_constant_noise_has_a_change_in_few_of_many_curves(rng: np.random.Generator, nights: int) -> None:
    """The stated rate is 1 in 1,000; 5 of 300 would have a probability below 1e-4 then."""
    curves = 0.5 + rng.normal(0, 0.01, (300, nights))
    assert sum(bool(changes_of(curve.tolist())) for curve in curves) < 5


@pytest.mark.parametrize("noise", [0.0, 0.002, 0.01])
@pytest.mark.parametrize("slope", [0.003, -0.003])
def test_a_slow_decline_is_one_slow_change_and_no_staircase(
    rng: np.random.Generator, slope: float, noise: float
) -> None:
    curve = 0.5 + slope * np.arange(60) + rng.normal(0, noise, 60)
    (change,) = changes_of(curve.tolist())
    assert change.kind == "slow"
    assert (change.night, change.last) == (0, 59)
    assert change.size == pytest.approx(59 * slope, abs=4 * noise + 1e-12)


def test_a_step_after_which_a_decline_begins_is_told_apart(rng: np.random.Generator) -> None:
    nights = np.arange(80)
    curve = 0.5 + 0.15 * (nights >= 30) + 0.005 * np.maximum(nights - 30, 0) + rng.normal(0, 0.004, 80)
    step, slow = changes_of(curve.tolist())
    assert (step.kind, step.night) == ("step", 30)
    assert (slow.kind, slow.night, slow.last) == ("slow", 30, 79)
    assert step.size == pytest.approx(0.15, abs=0.02)


def test_a_bend_is_no_step(rng: np.random.Generator) -> None:
    nights = np.arange(80)
    curve = 0.5 + 0.005 * np.maximum(nights - 40, 0) + rng.normal(0, 0.004, 80)
    assert {change.kind for change in changes_of(curve.tolist())} == {"slow"}


def test_one_deviating_night_is_no_step(rng: np.random.Generator) -> None:
    curve = 0.5 + rng.normal(0, 0.01, 40)
    curve[20] += 0.2
    (change,) = changes_of(curve.tolist())
    assert (change.kind, change.night) == ("night", 20)
    assert change.size == pytest.approx(0.2, abs=0.05)


def test_nights_of_one_model_have_no_noise_and_each_change_is_seen() -> None:
    curve = [0.5] * 20 + [0.502] * 20
    (step,) = changes_of(curve)
    assert step.night == 20
    assert step.size == pytest.approx(0.002)
    assert changes_of([0.5] * 20 + [0.5005] * 20) == ()
    assert changes_of([0.5] * 40) == ()


def test_models_that_are_evaluated_for_a_week_have_the_noise_of_models(rng: np.random.Generator) -> None:
    models = 0.5 + rng.normal(0, 0.01, 30)
    assert changes_of(np.repeat(models, 7).tolist()) == ()
    models[20:] += 0.08
    (step,) = changes_of(np.repeat(models, 7).tolist())
    assert (step.kind, step.night, step.last) == ("step", 140, 140)


def test_one_bad_model_has_all_its_nights(rng: np.random.Generator) -> None:
    models = 0.5 + rng.normal(0, 0.01, 30)
    models[12] += 0.2
    found = fit(np.repeat(models, 3).tolist())
    assert found is not None
    (change,) = found.changes
    assert (change.kind, change.night, change.last) == ("night", 36, 38)
    assert [(part.begin, part.end) for part in found.stretches] == [(0, 36), (36, 39), (39, 90)]


def staying(rng: np.random.Generator, nights: int) -> np.ndarray:
    """Return noise of which half stays in the next night."""
    noise = rng.normal(0, 0.01, nights)
    for night in range(1, nights):
        noise[night] += 0.5 * noise[night - 1]
    return noise


def test_independent_noise_is_seldom_taken_for_noise_that_stays(rng: np.random.Generator) -> None:
    """2 % of the curves have such a warning, with or without a step and a slow change, and the mean is 0."""
    planted = 0.2 * (np.arange(60) >= 20) + 0.01 * np.maximum(np.arange(60) - 35, 0)
    for size in (0.0, 1.0):
        found = []
        for _ in range(200):
            fitted = fit((0.5 + size * planted + rng.normal(0, 0.01, 60)).tolist())
            assert fitted is not None
            assert fitted.autocorrelation is not None
            found.append(fitted.autocorrelation)
        assert sum(one.is_positive for one in found) <= 0.05 * len(found)
        values = [one.value for one in found]
        assert np.mean(values) == pytest.approx(0.0, abs=0.025)
        assert np.std(values) == pytest.approx(np.mean([one.error for one in found]), rel=0.15)


def test_noise_that_stays_is_seen(rng: np.random.Generator) -> None:
    for nights, least in ((40, 0.5), (100, 0.95), (365, 1.0)):
        fits = [fit((0.5 + staying(rng, nights)).tolist()) for _ in range(20)]
        seen = [one for one in fits if one is not None and one.autocorrelation and one.autocorrelation.is_positive]
        assert len(seen) >= least * len(fits)


def test_the_autocorrelation_of_nights_of_one_model_and_of_few_nights_is_not_known(rng: np.random.Generator) -> None:
    one_model = fit([0.5] * 30)
    few_models = fit(np.repeat(rng.normal(0.5, 0.01, 8), 5).tolist())
    no_noise = fit((0.5 + 1e-5 * np.arange(40)).tolist())
    for found in (one_model, few_models, no_noise):
        assert found is not None
        assert found.autocorrelation is None


def test_few_nights_have_no_fit() -> None:
    assert fit([0.5] * (FEWEST - 1)) is None
    assert fit([0.5] * FEWEST) is not None


def test_steps_do_not_move_the_noise(rng: np.random.Generator) -> None:
    curve = rng.normal(0, 0.01, 200)
    with_steps = curve + 0.3 * (np.arange(200) // 40)
    assert noise_of(curve) == pytest.approx(0.01, rel=0.15)
    assert noise_of(with_steps) == pytest.approx(noise_of(curve), rel=0.1)


def test_the_changes_depend_neither_on_the_level_nor_on_the_direction(rng: np.random.Generator) -> None:
    curve = rng.normal(0, 0.01, 60) + 0.1 * (np.arange(60) >= 25)
    found = [(change.kind, change.night) for change in changes_of(curve.tolist())]
    assert [(change.kind, change.night) for change in changes_of((100 + curve).tolist())] == found
    assert [(change.kind, change.night) for change in changes_of((-curve).tolist())] == found


def test_what_would_be_found_in_the_last_night_is_found(rng: np.random.Generator) -> None:
    curve = 0.5 + rng.normal(0, 0.01, 40)
    found = fit(curve.tolist())
    assert found is not None
    assert found.changes == ()
    curve[-1] = curve[:-1].mean() + 1.3 * found.detectable
    assert [(change.kind, change.night) for change in changes_of(curve.tolist())] == [("step", 39)]


def partitions(nights: int) -> Iterator[list[tuple[int, int]]]:
    """All ways to cut nights into stretches."""
    for cuts in range(1 << (nights - 1)):
        ends = [k + 1 for k in range(nights - 1) if cuts >> k & 1] + [nights]
        yield list(zip([0, *ends[:-1]], ends, strict=True))


def cost_of_stretch(part: np.ndarray, noise: float, cost: float) -> float:
    """The smaller of the costs as a constant and as a line, from the definition."""
    constant = float(((part - part.mean()) ** 2).sum()) / noise**2
    if len(part) < SHORTEST:
        return constant
    places = np.arange(len(part))
    line = np.polyval(np.polyfit(places, part, 1), places)
    return min(constant, cost + float(((part - line) ** 2).sum()) / noise**2)


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_has_the_smallest_cost_of_all_partitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nights = 12
    curve = np.cumsum(rng.normal(0, 1, nights) * (rng.random(nights) < 0.3)) + rng.normal(0, 0.1, nights)
    found = fit(curve.tolist())
    assert found is not None
    cost = cost_of(nights)

    def total(cuts: list[tuple[int, int]]) -> float:
        return sum(cost_of_stretch(curve[a:b], found.noise, cost) for a, b in cuts) + cost * (len(cuts) - 1)

    best = min(map(total, partitions(nights)))
    assert total([(part.begin, part.end) for part in found.stretches]) == pytest.approx(best, rel=1e-9)
