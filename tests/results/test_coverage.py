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


@cache
def true_values() -> dict[tuple[str, str], float]:
    """Return the values of so many scenes that their error does not matter."""
    results, _ = made_up(np.random.default_rng(1), 40_000)
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
