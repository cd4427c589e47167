"""Plans: power of comparisons, verdicts with a margin, runs with several seeds, and ranks with ties."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.results.made_up import made_up, made_up_runs

import mapgauge as mg
from mapgauge.results import gate


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values do not depend on the number of threads, and starting them takes longer than so little work."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)


def found(value: float, error: float, freedom: int) -> mg.Difference:
    half = float(stats.t.ppf(0.975, freedom)) * error
    return mg.Difference(value, value - half, value + half, abs(value) > half, 0.5, error=error, freedom=freedom)


@pytest.mark.parametrize("freedom", [9, 30, 150])
def test_the_smallest_difference_has_the_power_over_all_that_the_standard_error_may_be(freedom: int) -> None:
    """The plan takes its standard error from the scenes, and the test from other scenes."""
    away = mg.smallest_difference(found(0.0, 0.01, freedom)) / 0.01
    rng = np.random.default_rng(3)
    of_plan = np.sqrt(rng.chisquare(freedom, 400_000) / freedom)
    of_test = np.sqrt(rng.chisquare(freedom, 400_000) / freedom)
    t = (away * of_plan + rng.standard_normal(400_000)) / of_test
    power = np.mean(np.abs(t) > stats.t.ppf(0.975, freedom))
    assert power == pytest.approx(0.8, abs=0.01)


def test_a_quarter_of_the_difference_needs_about_sixteen_times_the_scenes() -> None:
    difference = found(0.01, 0.01, 149)
    few = mg.scenes_needed(difference, 0.04, 150)
    many = mg.scenes_needed(difference, 0.01, 150)
    assert few is not None
    assert many is not None
    assert many / few == pytest.approx(16, rel=0.05)


def test_scenes_are_enough_for_what_they_show() -> None:
    difference = found(0.01, 0.01, 149)
    smallest = mg.smallest_difference(difference)
    assert mg.scenes_needed(difference, smallest * 1.0001, 150) == 150
    assert mg.scenes_needed(difference, smallest * 0.999, 150) == 151


def test_without_an_interval_there_is_no_plan() -> None:
    nothing = mg.Difference(0.1, math.nan, math.nan, None, math.nan)
    assert math.isnan(mg.smallest_difference(nothing))
    assert mg.scenes_needed(nothing, 0.01, 1) is None


def test_methods_that_differ_by_the_same_in_all_scenes_say_nothing_about_other_scenes() -> None:
    same = mg.Difference(0.1, 0.1, 0.1, True, 0.0, error=1e-17, freedom=5)
    assert math.isnan(mg.smallest_difference(same))
    assert mg.scenes_needed(same, 0.01, 6) is None


def test_more_scenes_do_not_help_against_seeds() -> None:
    difference = found(0.0, 0.01, 30)
    of_scenes = mg.scenes_needed(difference, 0.02, 150)
    half = mg.scenes_needed(difference, 0.025, 150, of_seeds=0.5)
    assert of_scenes is not None
    assert half is not None
    assert half > of_scenes
    assert mg.scenes_needed(difference, 0.02, 150, of_seeds=0.9) is None


def test_without_degrees_of_freedom_there_is_no_plan() -> None:
    assert math.isnan(mg.smallest_difference(found(0.01, 0.01, 0)))
    assert mg.scenes_needed(found(0.01, 0.01, 0), 0.005, 150) is None


def test_a_difference_that_nothing_shows_needs_no_number_of_scenes() -> None:
    assert mg.scenes_needed(found(0.0, 1.0, 149), 1e-9, 150) is None


@pytest.mark.parametrize("smallest", [0.0, -0.1, math.nan, math.inf, "0.1"])
def test_differences_to_show_must_be_positive(smallest: float) -> None:
    with pytest.raises(mg.InvalidInput, match="positive"):
        mg.scenes_needed(found(0.01, 0.01, 149), smallest, 150)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, math.nan, "0.95"])
def test_levels_are_between_0_and_1(level: float) -> None:
    with pytest.raises(mg.InvalidInput, match="level"):
        mg.scenes_needed(found(0.01, 0.01, 149), 0.005, 150, level=level)
    with pytest.raises(mg.InvalidInput, match="level"):
        mg.smallest_difference(found(0.01, 0.01, 149), level=level)


@pytest.mark.parametrize("power", [0.5, 1.0, math.nan, "0.8"])
def test_power_is_a_probability_above_a_half(power: float) -> None:
    with pytest.raises(mg.InvalidInput, match="power"):
        mg.smallest_difference(found(0.01, 0.01, 149), power=power)


@pytest.mark.parametrize(
    ("low", "high", "lower_is_better", "verdict"),
    [
        (-0.02, -0.01, True, "better"),
        (-0.02, 0.004, True, "not worse"),
        (0.001, 0.004, True, "not worse"),  # worse, but by no more than the margin
        (0.001, 0.02, True, "worse"),
        (-0.02, 0.02, True, "cannot tell"),
        (0.01, 0.02, False, "better"),
        (-0.004, 0.02, False, "not worse"),
        (-0.02, -0.001, False, "worse"),
        (-0.02, 0.02, False, "cannot tell"),
    ],
)
def test_the_verdict_compares_the_ends_of_the_interval_with_the_margin(
    low: float, high: float, lower_is_better: bool, verdict: str
) -> None:
    difference = mg.Difference((low + high) / 2, low, high, decided=low > 0 or high < 0, p=0.5)
    assert mg.margin_verdict(difference, 0.005, lower_is_better=lower_is_better) == verdict


def test_too_few_scenes_cannot_tell() -> None:
    difference = mg.Difference(-0.1, -0.2, -0.05, decided=None, p=0.01)
    assert mg.margin_verdict(difference, 0.005, lower_is_better=True) == "cannot tell"


def power_reached(cases: int, *, better: float, samples: int) -> tuple[float, int]:
    """Return how often a known difference is decided with as many scenes as are said to be needed for it."""
    rng = np.random.default_rng(21)
    # So many scenes that the error of their difference does not matter.
    large = mg.compare(made_up(rng, 40_000, better=better), names=["a", "b"], samples=samples, keys=["pld"])
    difference = large.differences["a", "b"]["mean"]["pld"]
    scenes = mg.plan(large, abs(difference.value))["a", "b"]["mean"]["pld"].scenes
    assert scenes is not None
    decided = 0
    for _ in range(cases):
        comparison = mg.compare(made_up(rng, scenes, better=better), names=["a", "b"], samples=samples, keys=["pld"])
        decided += bool(comparison.differences["a", "b"]["mean"]["pld"].decided)
    return decided / cases, scenes


def test_as_many_scenes_as_needed_decide_a_known_difference_with_the_power() -> None:
    power, _ = power_reached(200, better=0.03, samples=100)
    assert 0.72 <= power <= 0.88  # 80 % and three times the error of so few cases


@pytest.mark.fuzz
@pytest.mark.parametrize("better", [0.015, 0.03, 0.06])
def test_the_power_is_reached_whatever_the_difference(better: float) -> None:
    cases = int(os.environ.get("MAPGAUGE_FUZZ_COVERAGE", "2000"))
    power, scenes = power_reached(cases, better=better, samples=300)
    print(f"| {better} | {scenes} | {100 * power:.1f} % |")  # noqa: T201
    assert 0.77 <= power <= 0.83


def runs_covered(cases: int, scenes: int, counts: tuple[int, int], seeds: float, *, samples: int) -> dict[str, float]:
    """Return how often the interval of the difference of two equal methods with several runs contains 0."""
    rng = np.random.default_rng((scenes, *counts, round(1000 * seeds)))
    covered: dict[str, int] = {"pld": 0, "ap_chamfer": 0}
    for _ in range(cases):
        first, second = made_up_runs(rng, scenes, counts, seeds=seeds)
        comparison = mg.compare_runs({"a": first, "b": second}, samples=samples)
        for key in covered:
            difference = comparison.differences["a", "b"]["mean"][key]
            covered[key] += difference.low <= 0 <= difference.high
    return {key: count / cases for key, count in covered.items()}


def test_intervals_over_scenes_and_seeds_hold() -> None:
    for key, share in runs_covered(100, 30, (3, 3), 0.05, samples=60).items():
        assert 0.89 <= share <= 1.0, key


@pytest.mark.fuzz
@pytest.mark.parametrize("seeds", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("counts", [(2, 2), (3, 3), (5, 5), (2, 4)])
@pytest.mark.parametrize("scenes", [10, 30, 150])
def test_intervals_over_scenes_and_seeds_hold_at_any_number(scenes: int, counts: tuple[int, int], seeds: float) -> None:
    cases = int(os.environ.get("MAPGAUGE_FUZZ_COVERAGE", "600"))
    covered = runs_covered(cases, scenes, counts, seeds, samples=200)
    print(f"| {scenes} | {counts} | {seeds} | {' | '.join(f'{100 * share:.1f} %' for share in covered.values())} |")  # noqa: T201
    assert all(0.91 <= share <= 1.0 for share in covered.values())


def test_seeds_that_vary_much_have_most_of_the_variance() -> None:
    rng = np.random.default_rng(5)
    first, second = made_up_runs(rng, 200, (4, 4), seeds=0.1)
    spread = mg.compare_runs({"a": first, "b": second}, samples=200).spreads["a", "b"]["mean"]["pld"]
    assert spread.of_seeds > 0.8
    assert spread.of_seeds + spread.of_scenes == pytest.approx(1)
    assert "Twice as many scenes help less" in str(spread)
    assert spread.with_run < spread.with_scenes < spread.error


def test_scenes_that_vary_much_are_what_more_is_needed_of() -> None:
    rng = np.random.default_rng(5)
    first, second = made_up_runs(rng, 20, (4, 4), seeds=0.0)
    spread = mg.compare_runs({"a": first, "b": second}, samples=200).spreads["a", "b"]["mean"]["pld"]
    assert "Twice as many scenes help more" in str(spread)
    assert spread.with_scenes < spread.with_run <= spread.error


def test_one_more_run_and_twice_the_scenes_make_the_standard_error_as_small_as_promised() -> None:
    """On average over worlds, because seeds of few runs are known badly."""
    rng = np.random.default_rng(15)
    promised = np.zeros(2)
    reached = np.zeros(2)
    for _ in range(60):
        before = made_up_runs(rng, 20, (3, 3), seeds=0.05)
        spread = mg.compare_runs(dict(zip("ab", before, strict=True)), samples=60).spreads["a", "b"]["mean"]["pld"]
        promised += [spread.with_run**2, spread.with_scenes**2]
        for k, (scenes, runs) in enumerate(((20, 4), (40, 3))):
            after = made_up_runs(rng, scenes, (runs, runs), seeds=0.05)
            reached[k] += mean_difference(after) ** 2
    assert promised / reached == pytest.approx(np.ones(2), abs=0.5)


def mean_difference(methods: list[list[mg.Results]]) -> float:
    """The difference of the mean PLD of two equal methods, whose true difference is 0."""
    means = [np.mean([float(run.mean["pld"] or 0) for run in runs]) for runs in methods]
    return float(means[1] - means[0])


def test_a_run_that_is_given_twice_is_refused() -> None:
    first, second = made_up_runs(np.random.default_rng(5), 20, (2, 2), seeds=0.1)
    with pytest.raises(mg.InvalidInput, match="run 1 and run 3 are the same"):
        mg.compare_runs({"a": [*first, first[0]], "b": second})


def test_runs_have_the_warnings_of_a_comparison_and_one_about_two_runs() -> None:
    first, second = made_up_runs(np.random.default_rng(5), 3, (3, 2), seeds=0.1)
    notes = "\n".join(mg.compare_runs({"a": first, "b": second}, samples=50).notes)
    assert "3 scenes are too few" in notes
    assert "two runs say little about what seeds do (b)" in notes


def test_the_values_of_runs_are_means_and_single_runs_are_not_enough() -> None:
    rng = np.random.default_rng(6)
    first, second = made_up_runs(rng, 20, (3, 2), seeds=0.02)
    comparison = mg.compare_runs({"a": first, "b": second}, samples=50)
    assert comparison.runs == (3, 2)
    values = [float(run.mean["pld"] or 0) for run in first]
    assert comparison.estimates[0]["mean"]["pld"].value == pytest.approx(sum(values) / 3)
    with pytest.raises(mg.InvalidInput, match="two or more"):
        mg.compare_runs({"a": first[:1], "b": second})


def test_ranks_are_shared_where_nothing_is_decided() -> None:
    rng = np.random.default_rng(7)
    poor, good = made_up(rng, 60, better=0.2)
    comparison = mg.compare([poor, good, good], names=["poor", "good", "copy"], samples=200)
    rows = mg.ranks(comparison)
    assert [(row.name, row.rank) for row in rows] == [("good", 1), ("copy", 1), ("poor", 3)]
    assert rows[0].ties == ("copy",)
    by_ap = mg.ranks(comparison, "ap_chamfer")
    assert [row.rank for row in by_ap] == [1, 1, 3]


def test_ranks_need_all_pairs_and_a_direction() -> None:
    rng = np.random.default_rng(8)
    methods = [*made_up(rng, 10), *made_up(np.random.default_rng(8), 10)]
    first = mg.compare(methods[:3], names=["a", "b", "c"], samples=50, pairs="first")
    with pytest.raises(mg.InvalidInput, match="all pairs"):
        mg.ranks(first)
    every = mg.compare(methods[:3], names=["a", "b", "c"], samples=50)
    with pytest.raises(mg.InvalidInput, match="not always better"):
        mg.ranks(every, "localisation")
    with pytest.raises(mg.InvalidInput, match="a has no values of 'crossing'"):
        mg.ranks(every, class_name="crossing")
    with pytest.raises(mg.InvalidInput, match="a has no value 'ap_frechet' of 'mean'"):
        mg.ranks(every, "ap_frechet")


def test_a_comparison_of_one_value_is_that_of_all() -> None:
    methods = list(made_up(np.random.default_rng(8), 10, (1.0, 0.5)))
    every = mg.compare(methods, names=["a", "b"], samples=50)
    one = mg.compare(methods, names=["a", "b"], samples=50, keys=["ap_chamfer"])
    for name, by_key in one.differences["a", "b"].items():
        assert by_key == {"ap_chamfer": every.differences["a", "b"][name]["ap_chamfer"]}
        assert one.estimates[1][name] == {"ap_chamfer": every.estimates[1][name]["ap_chamfer"]}
    with pytest.raises(mg.InvalidInput, match="no value plt. Available: pld, "):
        mg.compare(methods, names=["a", "b"], samples=50, keys=["plt"])


def test_verdicts_that_are_corrected_already_are_not_corrected_again() -> None:
    methods = [*made_up(np.random.default_rng(8), 10), *made_up(np.random.default_rng(8), 10)]
    corrected = mg.compare(methods[:3], names=["a", "b", "c"], samples=50, correction="holm")
    with pytest.raises(mg.InvalidInput, match="corrected already"):
        mg.ranks(corrected)


def judged(text: str, difference: mg.Difference, comparison: mg.Comparison, methods: list[mg.Results]) -> gate.Verdict:
    """The verdict of a condition on the mean PLD, with another difference in the place of the measured one."""
    pair = (comparison.names[0], comparison.names[1])
    changed = {pair: {"mean": comparison.differences[pair]["mean"] | {"pld": difference}}}
    (verdict,) = gate.judge([gate.parse(text)], replace(comparison, differences=changed), methods)
    return verdict


def test_a_gate_with_a_margin_fails_unless_the_loss_is_shown_to_be_within_it() -> None:
    methods = list(made_up(np.random.default_rng(9), 20))
    comparison = mg.compare(methods, names=["a", "b"], samples=50)
    cases = {
        "better": (-0.02, -0.01),
        "not worse": (-0.02, 0.004),
        "worse": (0.001, 0.02),
        "cannot tell": (-0.02, 0.02),
    }
    fails = {}
    for verdict, (low, high) in cases.items():
        difference = mg.Difference((low + high) / 2, low, high, decided=low > 0 or high < 0, p=0.5)
        found = judged("pld not within 0.005", difference, comparison, methods)
        assert found.shown == verdict
        assert found.to_dict()["verdict"] == verdict
        fails[verdict] = found.fails
    assert fails == {"better": False, "not worse": False, "worse": True, "cannot tell": True}


def test_a_gate_that_passes_because_nothing_is_decided_is_known() -> None:
    methods = list(made_up(np.random.default_rng(10), 20, better=-0.05))
    comparison = mg.compare(methods, names=["a", "b"], samples=50)
    loss = comparison.differences["a", "b"]["mean"]["pld"]
    assert loss.value > 0.001
    undecided = loss._replace(decided=False)
    assert judged("pld > +0.001 and decided", undecided, comparison, methods).passes_undecided
    assert not judged("pld > +0.9 and decided", undecided, comparison, methods).passes_undecided
    assert not judged("pld > +0.001", undecided, comparison, methods).passes_undecided


def test_a_gate_that_passes_on_the_measured_difference_says_if_its_interval_reaches_beyond_the_limit() -> None:
    methods = list(made_up(np.random.default_rng(10), 20, better=-0.05))
    comparison = mg.compare(methods, names=["a", "b"], samples=50)
    loss = comparison.differences["a", "b"]["mean"]["pld"]
    limit = loss.value + 0.001
    assert loss.high > limit
    assert "reaches beyond" in judged(f"pld > +{limit}", loss, comparison, methods).passes_untold
    assert "too few" in judged(f"pld > +{limit}", loss._replace(decided=None), comparison, methods).passes_untold
    assert not judged(f"pld > +{loss.high + 0.001}", loss, comparison, methods).passes_untold
    assert not judged("pld > +0", loss, comparison, methods).passes_untold  # it fails


@pytest.mark.parametrize("text", ["pld not within 0", "pld not within -0.1", "pld/mean/missed not within 0.1"])
def test_margins_that_mean_nothing_are_refused(text: str) -> None:
    with pytest.raises(mg.InvalidInput, match="margin"):
        gate.parse(text)
