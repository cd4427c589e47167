"""Compares confidence intervals with a slow bootstrap that repeats the drawn frames and evaluates them again."""

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special, stats
from tests.checks.world import placed, predictions_of, truth_of
from tests.evaluation.worlds import packed, worlds

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.results.drawn_values import drawn_values, mean_over_classes, units_with_class

PROTOCOL = mg.protocol(
    "paper-60x30",
    settings={
        "ap_chamfer": {"thresholds": (0.5, 1.0)},
        "ap_frechet": {"thresholds": (1.0,)},
        "ap_sospa": {"thresholds": (0.5,)},
    },
)
SCENES = 5
SAMPLES = 60
SEED = 11


@cache
def methods(scenes: bool = True) -> tuple[mg.Results, ...]:
    """Return a good method, the same with other noise, and one that is half a metre off."""
    rng = np.random.default_rng(5)
    truth = truth_of(rng, frames=12)
    good = predictions_of(rng, truth)
    known = {token: f"scene {k % SCENES}" for k, token in enumerate(truth.tokens)} if scenes else None
    sides = (good, predictions_of(rng, truth), placed(predictions_of(rng, truth), shift=(0.5, 0.5)))
    return tuple(mg.evaluate(side, truth, PROTOCOL, scenes=known) for side in sides)


def draws(units: int, samples: int = SAMPLES, seed: int = SEED) -> NDArray[np.int64]:
    """Return how often each scene or frame is drawn in each sample."""
    return np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), samples)


def repeated(results: mg.Results, units: list[str], times: NDArray[np.int64]) -> mg.Results:
    """Return the results of frames that are repeated as often as their unit was drawn."""
    often = dict(zip(sorted(set(units)), times.tolist(), strict=True))
    return results.of_frames([frame for frame, unit in enumerate(units) for _ in range(often[unit])])


def samples_of(results: mg.Results) -> list[mg.Results]:
    """Return the results of every sample."""
    units = list(results.scenes or results.tokens)
    return [repeated(results, units, times) for times in draws(len(set(units)))]


def slow_values(samples: list[mg.Results], name: str, key: str) -> NDArray[np.float64]:
    """Return one value of every sample."""
    values = [(sample.mean if name == "mean" else sample.classes[name])[key] for sample in samples]
    return np.array([np.nan if value is None else value for value in values])


def interval(
    value: float | None, samples: NDArray[np.float64], units: int, level: float = 0.95, within: float = 1.0
) -> tuple[float, float]:
    """Return the value with Student's t around it: of a share on the logit scale, of others cut off at the bounds."""
    assert value is not None
    error = np.nanstd(samples, ddof=1) * np.sqrt(units / (units - 1))
    half = stats.t.ppf((1 + level) / 2, min(units, len(samples)) - 1) * error
    if within == 1 and 0 < value < 1:
        away = half / (value * (1 - value))
        return float(special.expit(special.logit(value) - away)), float(special.expit(special.logit(value) + away))
    return max(value - half, 0 if within == 1 else -within), min(value + half, within)


@pytest.mark.parametrize("scenes", [True, False])
def test_intervals_are_those_of_repeated_frames(scenes: bool) -> None:
    results = methods(scenes)[0]
    samples = samples_of(results)
    comparison = mg.compare([results], samples=SAMPLES, seed=SEED, level=0.8)
    assert (comparison.drawn, comparison.units) == (("scene", SCENES) if scenes else ("frame", 12))
    assert (comparison.samples, comparison.level) == (SAMPLES, 0.8)
    for name, by_key in comparison.estimates[0].items():
        for key, estimate in by_key.items():
            values = results.mean if name == "mean" else results.classes[name]
            assert estimate.value == values[key]
            expected = interval(values[key], slow_values(samples, name, key), comparison.units, 0.8)
            assert (estimate.low, estimate.high) == pytest.approx(expected, abs=1e-12), (name, key)


@cache
def demo_results(interpolation: str) -> mg.Results:
    """Evaluate 30 frames of the demo with one interpolation of average precision."""
    protocol = mg.protocol(
        "paper-60x30",
        settings={"ap_chamfer": {"interpolation": interpolation}, "ap_frechet": {"interpolation": interpolation}},
    )
    return mg.evaluate(*demo_world(30), protocol)


INTERPOLATIONS = pytest.mark.parametrize("interpolation", ["area", "11-point", "101-point"])


@INTERPOLATIONS
def test_every_value_lies_inside_its_own_interval(interpolation: str) -> None:
    comparison = mg.compare([demo_results(interpolation)])
    for name, by_key in comparison.estimates[0].items():
        for key, estimate in by_key.items():
            assert estimate.low <= estimate.value <= estimate.high, (name, key)


@INTERPOLATIONS
def test_a_sample_that_draws_every_frame_once_has_the_values_of_the_results(interpolation: str) -> None:
    results = demo_results(interpolation)
    frames = len(results.tokens)
    found = drawn_values(results, np.arange(frames), np.ones((2, frames)))
    for name, by_key in found.items():
        values = results.mean if name == "mean" else results.classes[name]
        for key, column in by_key.items():
            assert column == pytest.approx(values[key], abs=1e-12), (name, key)


@INTERPOLATIONS
def test_intervals_use_the_interpolation_of_the_protocol(interpolation: str) -> None:
    results = demo_results(interpolation)
    samples = samples_of(results)
    comparison = mg.compare([results], samples=SAMPLES, seed=SEED)
    for key in ("ap_chamfer", "ap_chamfer@1.0", "ap_frechet"):
        estimate = comparison.estimates[0]["mean"][key]
        expected = interval(results.mean[key], slow_values(samples, "mean", key), comparison.units)
        assert (estimate.low, estimate.high) == pytest.approx(expected, abs=1e-12)


def test_every_main_value_has_an_interval() -> None:
    comparison = mg.compare([methods()[0]], samples=5)
    keys = {"pld", "localisation", "detection", "ap_chamfer", "ap_chamfer@0.5", "ap_frechet@1.0", "ap_sospa"}
    for name in ("ped_crossing", "divider", "boundary", "mean"):
        assert keys <= set(comparison.estimates[0][name])


def test_differences_are_paired() -> None:
    """Both methods use the same draws, and the interval is that of the differences of the same samples."""
    good, _, moved = methods()
    both = [samples_of(results) for results in (good, moved)]
    comparison = mg.compare([good, moved], names=["good", "moved"], samples=SAMPLES, seed=SEED)
    for name in ("divider", "mean"):
        for key in ("pld", "localisation", "ap_chamfer", "ap_frechet@1.0"):
            first, second = (slow_values(samples, name, key) for samples in both)
            difference = comparison.differences["good", "moved"][name][key]
            low, high = interval(difference.value, second - first, SCENES, within=math.inf)
            expected = max(low, -1.0), min(high, 1.0)  # both values are in [0, 1]
            assert (difference.low, difference.high) == pytest.approx(expected, abs=1e-12)
            estimates = [found[name][key] for found in comparison.estimates]
            assert difference.value == estimates[1].value - estimates[0].value


def test_repeating_rows_is_evaluating_repeated_frames() -> None:
    """The slow bootstrap above relies on this."""
    predictions, truth = worlds(np.random.default_rng(8), frames=6)
    results = mg.evaluate(packed(predictions, truth=False), packed(truth, truth=True), PROTOCOL)
    for times in draws(6, samples=4):
        tokens = [token for token, often in zip(sorted(truth), times, strict=True) for _ in range(often)]
        again = [
            {f"{k}": side[token] for k, token in enumerate(tokens) if token in side} for side in (predictions, truth)
        ]
        expected = mg.evaluate(packed(again[0], truth=False), packed(again[1], truth=True), PROTOCOL)
        found = repeated(results, list(results.tokens), times)
        assert found.classes == expected.classes
        assert found.mean == expected.mean


def test_a_class_that_a_sample_lacks_is_left_out_of_its_mean() -> None:
    """Every other mean does the same, and so does an evaluation of the drawn frames."""
    line, other = [[0, 0], [9, 0]], [[0, 0.4], [9, 0.4]]
    truth = mg.MapFrames.of({f"t{k}": {"divider": [line], "boundary": [line] if k == 0 else []} for k in range(4)})
    guess = {f"t{k}": {"divider": [other if k % 2 else line], "boundary": [line] if k == 0 else []} for k in range(4)}
    results = mg.evaluate(mg.MapFrames.of(guess).with_confidence(0.9), truth, PROTOCOL)
    samples = samples_of(results)
    drawn = drawn_values(results, np.arange(4), np.array(draws(4), np.float64))["mean"]
    for key in ("pld", "ap_chamfer@0.5"):
        assert drawn[key] == pytest.approx(slow_values(samples, "mean", key), abs=1e-12), key


def test_equal_confidences_are_one_step_in_every_sample() -> None:
    """Three predictions of three frames: a hit at 0.9, and a hit and a miss at 0.8. Frame "c" is drawn alone, too."""
    line, far = [[0, 0], [9, 0]], [[0, 5], [9, 5]]
    truth = mg.MapFrames.of({"a": {"divider": [line]}, "b": {"divider": [line]}, "c": {"divider": []}})
    near = [[0, 0.2], [9, 0.2]]
    guess: dict[str, Any] = {"a": {"divider": [line]}, "b": {"divider": [near]}, "c": {"divider": [far]}}
    sure = {"a": {"divider": [0.9]}, "b": {"divider": [0.8]}, "c": {"divider": [0.8]}}
    protocol = PROTOCOL.replace(cutoffs=(1.5, 100.0))
    results = mg.evaluate(mg.MapFrames.of(guess, confidence=sure), truth, protocol)
    found = drawn_values(results, np.arange(3), np.array([[1, 1, 1], [0, 0, 1], [0, 0, 0]], np.float64))["divider"]
    assert found["ap_chamfer@0.5"][0] == pytest.approx((1 + 2 / 3) / 2)
    assert found["pld"][0] == results.mean["pld"] != results.mean["pld@100.0"]
    assert found["pld"][1] == 1  # one false prediction and nothing else
    assert np.isnan(found["pld"][2])
    units = units_with_class(results, np.array([0, 1, 0]))
    assert {name: there.tolist() for name, there in units.items()}["divider"] == [True, True]


def test_a_mean_over_no_classes_is_nan() -> None:
    mean = mean_over_classes([np.array([0.5, np.nan, np.nan]), np.array([1.0, 0.25, np.nan])])
    assert mean[:2].tolist() == [0.75, 0.25]
    assert np.isnan(mean[2])


def test_a_class_without_truth_has_ap_0_in_every_sample() -> None:
    line = [[0, 0], [9, 0]]
    truth = mg.MapFrames.of({"a": {"divider": [line]}, "b": {"divider": [line]}})
    guess = mg.MapFrames.of({t: {"divider": [line], "boundary": [line]} for t in "ab"}).with_confidence(1)
    comparison = mg.compare([mg.evaluate(guess, truth, PROTOCOL)], samples=20)
    assert comparison.estimates[0]["boundary"]["ap_chamfer"] == mg.Estimate(0, 0, 0)
    assert comparison.estimates[0]["mean"]["ap_chamfer"] == mg.Estimate(0.5, 0.5, 0.5)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_class_that_only_one_method_has_can_be_compared(backwards: bool) -> None:
    """The class has no truth. One method predicts instances of it, the other does not."""
    line = [[0, 0], [9, 0]]
    truth = mg.MapFrames.of({"a": {"divider": [line]}, "b": {"divider": [line]}})
    guess = mg.MapFrames.of({t: {"divider": [line], "boundary": [line]} for t in "ab"}).with_confidence(1)
    both = [mg.evaluate(side, truth, PROTOCOL) for side in (guess, guess.select(["divider"]))]
    comparison = mg.compare(both[::-1] if backwards else both, names=["first", "second"], samples=20)
    assert comparison.differences["first", "second"]["divider"]["pld"].value == 0
    assert comparison.table()


def test_methods_that_differ_by_noise_cannot_be_told_apart_and_others_can() -> None:
    good, alike, moved = methods()
    comparison = mg.compare([good, alike, moved], names=["good", "alike", "moved"])
    noise = comparison.differences["good", "alike"]["mean"]["pld"]
    assert not noise.decided
    assert str(noise).endswith("(cannot be decided)")
    for first in ("good", "alike"):
        clear = comparison.differences[first, "moved"]["mean"]["pld"]
        assert clear.decided
        assert clear.low > 0
        assert "cannot" not in str(clear)
    lines = comparison.table(["pld"]).splitlines()
    assert [line.split(" minus ")[0] for line in lines if " minus " in line] == ["alike", "moved", "moved"]
    assert ["cannot be decided" in line for line in lines if " minus " in line] == [True, False, False]


def test_a_method_cannot_be_told_from_itself() -> None:
    comparison = mg.compare([methods()[0]] * 2, names=["a", "b"], samples=20)
    for by_key in comparison.differences["a", "b"].values():
        for difference in by_key.values():
            assert difference[:5] == (0, 0, 0, False, 1)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    one, same, other = (mg.compare(methods()[:2], names=["a", "b"], samples=40, seed=seed) for seed in (3, 3, 4))
    assert one.estimates == same.estimates
    assert one.differences == same.differences
    assert one.estimates != other.estimates


def test_the_order_of_frames_in_the_results_does_not_matter(rng: np.random.Generator) -> None:
    good, _, moved = methods()
    expected = mg.compare([good, moved], names=["good", "moved"], samples=40)
    both = [method.of_frames(rng.permutation(len(method.tokens)).tolist()) for method in (good, moved)]
    for pair in (both, [good, both[1]], [both[0], moved]):
        found = mg.compare(pair, names=["good", "moved"], samples=40)
        assert found.estimates == expected.estimates  # to the last bit
        assert found.differences == expected.differences


def test_one_scene_has_no_interval_and_no_verdict() -> None:
    truth = truth_of(np.random.default_rng(1), frames=3)
    sides = (truth.with_confidence(0.5), truth.with_confidence(0.9))
    scenes = dict.fromkeys(truth.tokens, "only")
    both = [mg.evaluate(side, truth, PROTOCOL, scenes=scenes) for side in sides]
    comparison = mg.compare(both, names=["a", "b"], samples=10)
    estimate = comparison.estimates[0]["mean"]["pld"]
    assert (math.isnan(estimate.low), math.isnan(estimate.high)) == (True, True)
    assert comparison.differences["a", "b"]["mean"]["pld"].decided is None
    assert comparison.notes == (
        "warning: there is only one scene, so there are no intervals and no verdicts. Evaluate at least 5 scenes",
    )
    assert "0.500" in comparison.table(["pld"])
    assert "[" not in comparison.table(["pld"])
    assert "(too few scenes to decide)" in comparison.table(["pld"])


@pytest.mark.parametrize("scenes", [2, 3, 4, 5])
def test_below_five_scenes_there_is_no_verdict(scenes: int) -> None:
    good, _, moved = methods()
    some = [k for k, scene in enumerate(good.scenes or ()) if int(scene[-1]) < scenes]
    comparison = mg.compare([good.of_frames(some), moved.of_frames(some)], names=["good", "moved"])
    told = {found.decided for values in comparison.differences["good", "moved"].values() for found in values.values()}
    assert (told == {None}) == (scenes < 5)
    assert bool(comparison.tested) == (scenes == 5)
    assert comparison.notes == (
        (f"warning: {scenes} scenes are too few to decide which method is better. Evaluate at least 5 scenes",)
        if scenes < 5
        else ()
    )


def test_scenes_without_a_class_do_not_count_for_it() -> None:
    """A class in 2 of 8 scenes has the intervals of 2 scenes, and no verdict."""
    line, other = [[0, 0], [9, 0]], [[0, 0.4], [9, 0.4]]
    truth = mg.MapFrames.of({f"t{k}": {"divider": [line], "boundary": [line] if k < 2 else []} for k in range(8)})
    near = mg.MapFrames.of(
        {f"t{k}": {"divider": [other], "boundary": [other] if k < 2 else []} for k in range(8)}, classes=truth.classes
    )
    both = [mg.evaluate(side.with_confidence(0.9), truth, PROTOCOL) for side in (truth, near)]
    found = mg.compare(both, names=["a", "b"]).differences["a", "b"]
    assert found["divider"]["pld"].decided is True
    assert found["boundary"]["pld"].decided is None


def test_drawing_frames_is_noted() -> None:
    (note,) = mg.compare([methods(scenes=False)[0]], samples=5).notes
    assert "single frames were drawn" in note
    assert "scenes=" in note
    assert "TRUTH,scenes=FILE" in note
    assert mg.compare([methods()[0]], samples=5).notes == ()


def test_p_values_agree_with_the_intervals() -> None:
    for level in (0.8, 0.95, 0.99):
        comparison = mg.compare(methods(), names=["good", "alike", "moved"], level=level)
        for by_class in comparison.differences.values():
            for by_key in by_class.values():
                for found in by_key.values():
                    assert found.decided == (found.low > 0 or found.high < 0) == (found.p < 1 - level)


def test_holms_correction_counts_every_difference() -> None:
    plain, corrected = (
        mg.compare(methods(), names=["good", "alike", "moved"], correction=correction)
        for correction in ("none", "holm")
    )
    assert plain.tested == corrected.tested == 3 * 4 * 10  # pairs, classes and their mean, keys
    pairs = [
        (by_key[key], corrected.differences[pair][name][key])
        for pair, by_class in plain.differences.items()
        for name, by_key in by_class.items()
        for key in by_key
    ]
    assert all(after[:3] == before[:3] and after.p >= before.p for before, after in pairs)
    assert all(after.decided == (after.p < 0.05) for _, after in pairs)
    smallest = min(pairs, key=lambda pair: pair[0].p)
    assert smallest[1].p == pytest.approx(min(1, plain.tested * smallest[0].p))
    assert sum(bool(after.decided) for _, after in pairs) < sum(bool(before.decided) for before, _ in pairs)
    assert "120 differences tested, over all classes and values. If all were equal, about 6.0" in plain.table()
    assert "120 differences tested, over all classes and values. The verdicts have Holm's correction" in (
        corrected.table()
    )
    with pytest.raises(mg.InvalidInput, match="correction must be 'none' or 'holm', got 'bonferroni'"):
        mg.compare(methods(), correction="bonferroni")  # type: ignore[arg-type]


def test_higher_orders_have_intervals_of_the_value_alone() -> None:
    truth = truth_of(np.random.default_rng(1), frames=4)
    predictions = predictions_of(np.random.default_rng(2), truth)
    results = mg.evaluate(predictions, truth, PROTOCOL.replace(order=2))
    comparison = mg.compare([results], samples=SAMPLES, seed=SEED)
    assert "localisation" not in comparison.estimates[0]["mean"]
    expected = interval(results.classes["divider"]["pld"], slow_values(samples_of(results), "divider", "pld"), 4)
    estimate = comparison.estimates[0]["divider"]["pld"]
    assert (estimate.low, estimate.high) == pytest.approx(expected, abs=1e-12)


def test_different_truths_are_noted() -> None:
    truth = truth_of(np.random.default_rng(1), frames=3)
    predictions = predictions_of(np.random.default_rng(2), truth)
    both = [mg.evaluate(predictions, side, PROTOCOL) for side in (truth, placed(truth, shift=(0.1, 0)))]
    assert "2 different truths" in mg.compare(both, names=["a", "b"], samples=5).table()
    assert "different truths" not in mg.compare(both[:1] * 2, names=["a", "b"], samples=5).table()


def test_scenes_of_argoverse_2_are_in_the_tokens() -> None:
    logs = [f"{k:08x}-7b0b-3268-a571-b0889dbf40b6" for k in range(6)]
    tokens = [f"{log}_31597191692748249{k}" for log in logs for k in range(2)]
    truth = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in tokens})
    dividers = PROTOCOL.replace(classes=("divider",))
    results = mg.evaluate(truth.with_confidence(0.5), truth, dividers)
    comparison = mg.compare([results], samples=5)
    assert (comparison.drawn, comparison.units, comparison.notes) == ("scene", 6, ())
    assert results.scenes == tuple(log for log in logs for _ in range(2))
    given = mg.evaluate(truth.with_confidence(0.5), truth, dividers, scenes=dict.fromkeys(tokens, "one"))
    assert mg.compare([results, given], names=["a", "b"], samples=5).units == 1  # scenes of the data come first
    other = mg.MapFrames.of({token: {"divider": [[[0, 0], [9, 0]]]} for token in [*tokens, "another"]})
    comparison = mg.compare([mg.evaluate(other.with_confidence(0.5), other, dividers)], samples=5)
    assert comparison.drawn == "frame"
    assert comparison.notes[0].startswith("warning: the scenes are not known")


def test_means_over_different_classes_are_told() -> None:
    """A false prediction of a class that the truth lacks gives this class a value, and a part in the mean."""
    truth = mg.MapFrames.of({f"t{i}": {"divider": [[[0, i], [9, i]]]} for i in range(6)})
    extra = mg.MapFrames.of(
        {f"t{i}": {"divider": [[[0, i], [9, i]]], "boundary": [[[0, 5], [9, 5]]]} for i in range(6)}
    )
    settings = mg.protocol("paper-60x30", classes=["divider", "boundary"])
    methods = [mg.evaluate(side.with_confidence(0.9), truth, settings) for side in (truth, extra)]
    notes = "\n".join(mg.compare(methods, names=["plain", "extra"], samples=20).notes)
    assert "boundary has values of extra only" in notes
    assert "different classes" not in "\n".join(mg.compare(methods[:1], names=["plain"], samples=20).notes)
