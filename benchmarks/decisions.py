"""Measures whether plans, verdicts with a margin, intervals over seeds and ranks keep what they promise.

Run it with ``python -m benchmarks.decisions TABLE [WORLDS]``, where TABLE is ``power``, ``margins``, ``seeds`` or
``ties``. It prints a table in GitHub markdown, which is in ``docs/explanation/intervals.md``. Scenes are made up, so
the true difference is known. Seeds are fixed: the same command prints the same table.
"""

import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
from tests.results.made_up import made_up, made_up_runs

import mapgauge as mg
from mapgauge.results.intervals import FEWEST
from mapgauge.results.student import quantile

LARGE = 100_000  # scenes of the data set whose difference is taken for the true one
NAMES = ("a", "b")
KEYS = ("pld", "ap_chamfer")
BETTER = 0.03  # how much more skill the better method has, of about 0.65
VERDICTS = ("better", "not worse", "worse", "cannot tell")


@cache
def true_difference(better: float, key: str) -> float:
    """Return the difference of so many scenes that its error does not matter."""
    first, second = made_up(np.random.default_rng(1), LARGE, better=better)
    return float(second.mean[key] or 0) - float(first.mean[key] or 0)


def compared(rng: np.random.Generator, scenes: int, *, better: float = 0.0, samples: int) -> mg.Comparison:
    """Return the comparison of two methods on new scenes."""
    seed = int(rng.integers(2**32))
    return mg.compare(made_up(rng, scenes, better=better), names=NAMES, samples=samples, seed=seed)


def planned_as_if_known(difference: mg.Difference, smallest: float, scenes: int) -> int:
    """Return the scenes that a difference needs if the standard error is taken for the true one."""
    known = 2.8 * difference.error / smallest  # fewer scenes than with so many degrees of freedom are not enough
    enough = max(FEWEST, int(scenes * known**2))
    # The second quantile is the one-sided one of a power of 80 %.
    while (quantile(0.95, enough - 1) + quantile(0.6, enough - 1)) * difference.error * math.sqrt(
        scenes / enough
    ) > smallest:
        enough += 1
    return enough


def power_reached(pilot: int, worlds: int, *, samples: int = 1000, as_if_known: bool = True) -> tuple[float, float]:
    """Return how often a true difference is decided with as many new scenes as a pilot study says.

    Args:
        pilot: The scenes of the pilot study. Every world has a new one.
        worlds: Number of worlds.
        samples: Number of bootstrap samples.
        as_if_known: Whether to measure the simpler plan too, which takes the standard error of the pilot for the true
            one.

    Returns:
        The share decided by the plan of ``mg.scenes_needed``, and by the simpler one.
    """
    rng = np.random.default_rng((21, pilot))
    smallest = abs(true_difference(BETTER, "pld"))
    decided = np.zeros(2)
    for _ in range(worlds):
        found = compared(rng, pilot, better=BETTER, samples=samples).differences[NAMES]["mean"]["pld"]
        scenes = mg.scenes_needed(found, smallest, pilot, samples=samples)
        sizes = [scenes or FEWEST]
        if as_if_known:
            sizes.append(planned_as_if_known(found, smallest, pilot))
        for k, size in enumerate(sizes):
            study = compared(rng, size, better=BETTER, samples=samples)
            decided[k] += bool(study.differences[NAMES]["mean"]["pld"].decided)
    now, simple = (decided / worlds).tolist()
    return now, simple


def verdicts_given(
    scenes: int, better: float, margins: dict[str, float], worlds: int, *, samples: int = 1000
) -> dict[str, Counter[str]]:
    """Return how often each verdict about the second method is given, by the key of the value."""
    rng = np.random.default_rng((22, scenes, round(1000 * (1 + better))))
    counts = {key: Counter[str]() for key in margins}
    for _ in range(worlds):
        mean = compared(rng, scenes, better=better, samples=samples).differences[NAMES]["mean"]
        for key, margin in margins.items():
            counts[key][mg.margin_verdict(mean[key], margin, lower_is_better=key == "pld")] += 1
    return counts


def seeds_covered(
    scenes: int, counts: Sequence[int], seeds: float, worlds: int, *, samples: int = 300
) -> dict[str, float]:
    """Return how often the interval of the difference of two equal methods with several runs contains 0, by key."""
    rng = np.random.default_rng((23, scenes, *counts, round(1000 * seeds)))
    covered = dict.fromkeys(KEYS, 0)
    for _ in range(worlds):
        first, second = made_up_runs(rng, scenes, counts, seeds=seeds)
        draw = int(rng.integers(2**32))
        mean = mg.compare_runs({"a": first, "b": second}, samples=samples, seed=draw).differences[NAMES]["mean"]
        for key in covered:
            covered[key] += mean[key].low <= 0 <= mean[key].high
    return {key: count / worlds for key, count in covered.items()}


def told_apart(methods: int, scenes: int, worlds: int, *, samples: int = 300) -> dict[str, float]:
    """Return how often equal methods do not all share the first rank, by the key of the value."""
    rng = np.random.default_rng((24, methods, scenes))
    names = [f"method {k}" for k in range(methods)]
    apart = dict.fromkeys(KEYS, 0)
    for _ in range(worlds):
        runs = made_up_runs(rng, scenes, [1] * methods, seeds=0.0)
        draw = int(rng.integers(2**32))
        comparison = mg.compare([only for (only,) in runs], names=names, samples=samples, seed=draw)
        for key in apart:
            apart[key] += any(row.rank != 1 for row in mg.ranks(comparison, key))
    return {key: count / worlds for key, count in apart.items()}


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def power(worlds: int) -> Iterator[Sequence[str]]:
    """Yield the rows of the table of power."""
    yield "scenes of the pilot", "power, standard error taken as known", "power, now"
    for pilot in (6, 10, 20, 35, 70, 150, 330):
        now, simple = power_reached(pilot, worlds)
        yield str(pilot), _percent(simple), _percent(now)


def margins(worlds: int) -> Iterator[Sequence[str]]:
    """Yield the rows of the table of verdicts with a margin."""
    yield "scenes", "true loss", "value", *VERDICTS
    margin = {key: abs(true_difference(-BETTER, key)) for key in KEYS}
    losses = {"a gain of the margin": BETTER, "none": 0.0, "the margin": -BETTER, "twice the margin": -2 * BETTER}
    for scenes in (10, 30, 100):
        for loss, better in losses.items():
            for key, counts in verdicts_given(scenes, better, margin, worlds).items():
                yield str(scenes), loss, key, *(_percent(counts[verdict] / worlds) for verdict in VERDICTS)


def seeds(worlds: int) -> Iterator[Sequence[str]]:
    """Yield the rows of the table of intervals over scenes and seeds."""
    yield "scenes", "runs", "skill of seeds", "PLD covered", "AP covered"
    for scenes in (10, 30, 150):
        for counts in ((2, 2), (3, 3), (5, 5), (2, 4)):
            for spread in (0.0, 0.01, 0.05):
                found = seeds_covered(scenes, counts, spread, worlds)
                yield str(scenes), f"{counts[0]}, {counts[1]}", f"{spread:g}", *map(_percent, found.values())


def ties(worlds: int) -> Iterator[Sequence[str]]:
    """Yield the rows of the table of ranks."""
    yield "methods", "scenes", "PLD told apart", "AP told apart"
    for methods in (2, 3, 5):
        for scenes in (5, 10, 30, 100):
            yield str(methods), str(scenes), *map(_percent, told_apart(methods, scenes, worlds).values())


TABLES: dict[str, Callable[[int], Iterator[Sequence[str]]]] = {
    "power": power,
    "margins": margins,
    "seeds": seeds,
    "ties": ties,
}


def main(table: str, worlds: int) -> None:
    """Print a table."""
    os.cpu_count = lambda: 1  # starting threads takes longer than so little work; values do not depend on it
    for k, row in enumerate(TABLES[table](worlds)):
        print(f"| {' | '.join(row)} |", flush=True)
        if k == 0:
            print(f"|{' --- |' * len(row)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
