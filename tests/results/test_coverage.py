"""Coverage of the intervals by simulation: how often they contain the true value, and how often equal methods differ.

``make fuzz`` prints the table of docs/explanation/intervals.md.
"""

import os
from functools import cache

import numpy as np
import pytest
from tests.results.made_up import made_up

import mapgauge as mg

VALUES = (("mean", "pld"), ("divider", "pld"), ("mean", "ap_chamfer"), ("divider", "ap_chamfer"))


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values do not depend on the number of threads, and starting them takes longer than so little work."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)


@cache
def true_values(present: tuple[float, float] = (1.0, 1.0)) -> dict[tuple[str, str], float]:
    """Return the values of so many scenes that their error does not matter."""
    results, _ = made_up(np.random.default_rng(1), 40_000, present)
    values = {**results.classes, "mean": results.mean}
    return {(name, key): float(values[name][key] or 0) for name, key in VALUES}


def simulated(scenes: int, cases: int, seed: int, samples: int = 1000) -> tuple[float, float]:
    """Return how often intervals cover the true value, and how often two equal methods are told apart."""
    rng = np.random.default_rng((seed, scenes))
    covered, apart = [], []
    for _ in range(cases):
        comparison = mg.compare(made_up(rng, scenes), names=["a", "b"], samples=samples)
        for name, key in VALUES:
            estimate = comparison.estimates[0][name][key]
            covered.append(estimate.low <= true_values()[name, key] <= estimate.high)
            apart.append(bool(comparison.differences["a", "b"][name][key].told_apart))
    return float(np.mean(covered)), float(np.mean(apart))


def simulated_rare(scenes: int, present: tuple[float, float], cases: int, samples: int) -> tuple[float, float]:
    """Return the same as ``simulated`` for the mean over classes that only a share of the scenes has."""
    rng = np.random.default_rng((6, scenes))
    covered: list[bool] = []
    apart: list[bool] = []
    while len(covered) < 2 * cases:
        methods = made_up(rng, scenes, present)
        if any(method.without_value for method in methods):
            continue  # the mean is one over other classes
        comparison = mg.compare(methods, names=["a", "b"], samples=samples)
        for key in ("pld", "ap_chamfer"):
            estimate = comparison.estimates[0]["mean"][key]
            if np.isfinite(estimate.low):
                covered.append(estimate.low <= true_values(present)["mean", key] <= estimate.high)
                apart.append(bool(comparison.differences["a", "b"]["mean"][key].told_apart))
    return float(np.mean(covered)), float(np.mean(apart))


def test_intervals_of_a_mean_over_rare_classes_hold() -> None:
    covered, apart = simulated_rare(10, (1.0, 0.2), 200, samples=200)
    assert 0.92 <= covered <= 0.99
    assert apart <= 0.07


@pytest.mark.fuzz
@pytest.mark.parametrize("present", [(1.0, 0.2), (0.5, 0.2), (0.2, 0.2), (1.0, 0.5), (0.5, 0.5)])
@pytest.mark.parametrize("scenes", [10, 20, 50])
def test_intervals_of_a_mean_hold_however_rare_classes_are(scenes: int, present: tuple[float, float]) -> None:
    cases = int(os.environ.get("MAPGAUGE_FUZZ_COVERAGE", "600"))
    covered, apart = simulated_rare(scenes, present, cases, samples=300)
    print(f"| {present} | {scenes} | {100 * covered:.1f} % | {100 * apart:.1f} % |")  # noqa: T201
    assert covered >= 0.92
    assert apart <= 0.09  # 0.07 and twice the error of so few cases


def test_intervals_of_ten_scenes_hold() -> None:
    covered, apart = simulated(10, 300, seed=3, samples=300)
    assert 0.925 <= covered <= 0.975
    assert apart <= 0.075


def test_equal_methods_are_never_told_apart_below_five_scenes() -> None:
    assert [simulated(scenes, 20, seed=4, samples=100)[1] for scenes in (1, 2, 3, 4)] == [0, 0, 0, 0]


@pytest.mark.fuzz
@pytest.mark.parametrize("scenes", [2, 3, 5, 10, 20, 50, 150])
def test_intervals_hold_at_any_number_of_scenes(scenes: int) -> None:
    cases = int(os.environ.get("MAPGAUGE_FUZZ_COVERAGE", "2000" if scenes < 50 else "1000"))
    covered, apart = simulated(scenes, cases, seed=5)
    print(f"| {scenes} | {100 * covered:.1f} % | {100 * apart:.1f} % |")  # noqa: T201
    assert 0.93 <= covered <= 0.985 if scenes < 10 else 0.93 <= covered <= 0.97
    assert apart <= 0.07
