"""Coverage of the intervals by simulation: how often they contain the true value, and how often equal methods differ.

``make fuzz`` prints the table of docs/explanation/interval-study.md.
"""

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from tests.results.made_up import made_up

import mapgauge as mg

VALUES = (("mean", "pld"), ("divider", "pld"), ("mean", "ap_chamfer"), ("divider", "ap_chamfer"))


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values do not depend on the number of threads, and starting them takes longer than so little work."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)


class Held(NamedTuple):
    """How often intervals hold the true value, and how often two equal methods are called different."""

    covered: dict[str, float]  # by key
    apart: dict[str, float]

    def __str__(self) -> str:
        parts = [f"{100 * share:.1f} %" for shares in (self.covered, self.apart) for share in shares.values()]
        return " | ".join(parts)


@cache
def true_values(present: tuple[float, float] = (1.0, 1.0), *, hard: bool = False) -> dict[tuple[str, str], float]:
    """Return the values of so many scenes that their error does not matter."""
    results, _ = made_up(np.random.default_rng(1), 40_000, present, hard=hard)
    values = {**results.classes, "mean": results.mean}
    return {(name, key): float(values[name][key] or 0) for name, key in VALUES}


def simulated(scenes: int, cases: int, seed: int, samples: int = 1000, *, hard: bool = False) -> Held:
    """Return how often intervals of PLD and AP cover the true value, and how often two equal methods are decided."""
    rng = np.random.default_rng((seed, scenes))
    covered: dict[str, list[bool]] = {"pld": [], "ap_chamfer": []}
    apart: dict[str, list[bool]] = {"pld": [], "ap_chamfer": []}
    for _ in range(cases):
        comparison = mg.compare(made_up(rng, scenes, hard=hard), names=["a", "b"], samples=samples)
        for name, key in VALUES:
            estimate = comparison.estimates[0][name][key]
            covered[key].append(estimate.low <= true_values(hard=hard)[name, key] <= estimate.high)
            apart[key].append(bool(comparison.differences["a", "b"][name][key].decided))
    return Held(
        covered={key: float(np.mean(found)) for key, found in covered.items()},
        apart={key: float(np.mean(found)) for key, found in apart.items()},
    )


def simulated_rare(scenes: int, present: tuple[float, float], cases: int, samples: int) -> tuple[float, float]:
    """Return coverage and verdicts for the mean over classes that only a share of the scenes has."""
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
                apart.append(bool(comparison.differences["a", "b"]["mean"][key].decided))
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
    held = simulated(10, 200, seed=3, samples=150)
    for key in ("pld", "ap_chamfer"):
        assert 0.92 <= held.covered[key] <= 0.98, key
        assert held.apart[key] <= 0.075, key


def test_intervals_of_ap_hold_where_scenes_differ_much() -> None:
    """Symmetric intervals cover 86 to 88 % here."""
    held = simulated(10, 200, seed=3, samples=150, hard=True)
    assert held.covered["ap_chamfer"] >= 0.905
    assert held.apart["ap_chamfer"] <= 0.075


def test_equal_methods_are_never_decided_below_five_scenes() -> None:
    held = [simulated(scenes, 20, seed=4, samples=100) for scenes in (1, 2, 3, 4)]
    assert [share for of in held for share in of.apart.values()] == [0] * 8


@pytest.mark.fuzz
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("scenes", [2, 3, 5, 10, 20, 30, 50, 150])
def test_intervals_hold_at_any_number_of_scenes(scenes: int, hard: bool) -> None:
    cases = int(os.environ.get("MAPGAUGE_FUZZ_COVERAGE", "2000" if scenes < 50 else "1000"))
    held = simulated(scenes, cases, seed=5, hard=hard)
    print(f"| {scenes} | {'hard' if hard else 'mild'} | {held} |")  # noqa: T201
    # Where scenes differ much, few of them cannot show it.
    least = 0.87 if hard else 0.925
    for key in ("pld", "ap_chamfer"):
        assert least <= held.covered[key] <= 0.99, key
        assert held.apart[key] <= 0.075, key


def families(scenes: int, cases: int, *, samples: int, hard: bool = False) -> tuple[float, float, float]:
    """Return how often any value or cause of two equal methods is decided.

    Without a correction, with Holm's correction of the values alone, and with that of values and causes together.
    """
    rng = np.random.default_rng((11, scenes, hard))
    counts = np.zeros(3)
    for _ in range(cases):
        both = made_up(rng, scenes, hard=hard, causes=True)
        values = mg.compare(both, names=["a", "b"], samples=samples).differences
        causes = {("a", "b"): mg.compare_causes(*both, samples=samples)}
        alone = mg.correct_together(values)[0]
        families = ((values, causes), (alone, causes), mg.correct_together(values, causes))
        counts += [any(map(_any_decided, family)) for family in families]
    plain, apart, together = (counts / cases).tolist()
    return plain, apart, together


def _any_decided(differences: Mapping[Any, Mapping[str, Mapping[str, mg.Difference]]]) -> bool:
    return any(
        found.decided for by_class in differences.values() for by_key in by_class.values() for found in by_key.values()
    )


def test_one_correction_over_values_and_causes_keeps_the_error_of_the_whole_table() -> None:
    plain, apart, together = families(10, 100, samples=100)
    assert together <= 0.08  # 5 % and twice the error of so few cases
    assert apart > 0.3  # causes that are left out
    assert plain > 0.3


@pytest.mark.fuzz
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("scenes", [5, 10, 30])
def test_one_correction_holds_at_any_number_of_scenes(scenes: int, hard: bool) -> None:
    cases = int(os.environ.get("MAPGAUGE_FUZZ_COVERAGE", "1000"))
    shares = families(scenes, cases, samples=300, hard=hard)
    print(f"| {scenes} | {'hard' if hard else 'mild'} | {' | '.join(f'{100 * share:.1f} %' for share in shares)} |")  # noqa: T201
    assert shares[2] <= 0.07


def slices_decided(scenes: int, cases: int, *, samples: int, correction: Literal["none", "holm"]) -> float:
    """Return how often any difference between four random groups of scenes is decided."""
    rng = np.random.default_rng((12, scenes))
    found = 0
    for _ in range(cases):
        results, _ = made_up(rng, scenes)
        group = dict(zip(results.tokens, rng.permutation(scenes) % 4, strict=True))
        sliced = results.by(group.__getitem__, samples=samples, correction=correction)
        found += _any_decided(sliced.differences)
    return found / cases


def test_random_groups_of_scenes_are_rarely_decided_with_a_correction() -> None:
    assert slices_decided(40, 60, samples=100, correction="holm") <= 0.1  # 5 % and twice the error of so few cases
    assert slices_decided(40, 20, samples=100, correction="none") > 0.3
