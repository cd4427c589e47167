"""Measures whether plans, verdicts with a margin, intervals over seeds and ranks keep what they promise.

Run it with ``python -m benchmarks.decisions TABLE [WORLDS]``, where TABLE is ``power``, ``margins``, ``seeds``,
``crossed`` or ``ties``. It prints a table in GitHub markdown, which is in
``docs/explanation/interval-study.md``. Scenes are made up, so the true difference is known. All cores are used. Seeds
are fixed, and worlds are drawn in parts of ``PART`` worlds with a seed each: the same command prints the same table, on
any number of cores.
"""

import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from functools import cache, partial
from typing import NamedTuple, TypeAlias

import numpy as np
from tests.results.made_up import made_up, made_up_runs

import mapgauge as mg
from mapgauge.results.bootstrap import draw
from mapgauge.results.comparison import Sampled
from mapgauge.results.intervals import FEWEST
from mapgauge.results.student import quantile

LARGE = 100_000  # scenes of the data set whose difference is taken for the true one
SAMPLES = 500  # bootstrap samples
PART = 20  # worlds that one process draws together
NAMES = ("a", "b")
KEYS = ("pld", "ap_chamfer")
BETTER = 0.03  # how much more skill the better method has, of about 0.65
VERDICTS = ("better", "not worse", "worse", "cannot tell")

World: TypeAlias = Callable[[np.random.Generator], Iterable[str]]  # draws a world, and returns what happened in it


class Row(NamedTuple):
    """A row of a table: what its worlds have in common."""

    title: tuple[str, ...]
    world: World


class Table(NamedTuple):
    """A table: for each row, in which share of its worlds something happened."""

    titles: tuple[str, ...]
    events: tuple[str, ...]
    rows: tuple[Row, ...]


@cache
def true_difference(better: float, key: str, *, hard: bool = False) -> float:
    """Return the difference of so many scenes that its error does not matter."""
    first, second = made_up(np.random.default_rng(1), LARGE, better=better, hard=hard)
    return float(second.mean[key] or 0) - float(first.mean[key] or 0)


def compared(
    rng: np.random.Generator, scenes: int, *, better: float = 0.0, hard: bool = False
) -> dict[str, mg.Difference]:
    """Return the differences of the means of two methods on new scenes."""
    seed = int(rng.integers(2**32))
    methods = made_up(rng, scenes, better=better, hard=hard)
    return mg.compare(methods, names=NAMES, samples=SAMPLES, seed=seed).differences[NAMES]["mean"]


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


def planned_study(
    rng: np.random.Generator, *, pilot: int, better: float, hard: bool, smallest: dict[str, float]
) -> Iterator[str]:
    """Plan from a pilot study, and yield which plans decide the true difference on as many new scenes as they say."""
    found = compared(rng, pilot, better=better, hard=hard)
    plans = {"PLD, standard error taken as known": ("pld", planned_as_if_known(found["pld"], smallest["pld"], pilot))}
    for key, title in zip(KEYS, ("PLD", "AP"), strict=True):
        scenes = mg.scenes_needed(found[key], smallest[key], pilot, samples=SAMPLES)
        plans[title] = (key, scenes or FEWEST)
    for event, (key, scenes) in plans.items():
        study = compared(rng, scenes, better=better, hard=hard)
        if study[key].decided:
            yield event


def margin_verdicts(rng: np.random.Generator, *, scenes: int, better: float, key: str, margin: float) -> Iterator[str]:
    """Yield the verdict about the second method."""
    difference = compared(rng, scenes, better=better)[key]
    yield mg.margin_verdict(difference, margin, lower_is_better=key == "pld")


def covered_with_seeds(
    rng: np.random.Generator, *, scenes: int, counts: Sequence[int], spread: float, hard: bool
) -> Iterator[str]:
    """Yield whose interval of the difference of two equal methods with several runs contains 0."""
    first, second = made_up_runs(rng, scenes, counts, seeds=spread, hard=hard)
    draw = int(rng.integers(2**32))
    mean = mg.compare_runs({"a": first, "b": second}, samples=SAMPLES, seed=draw).differences[NAMES]["mean"]
    for key, event in zip(KEYS, ("PLD covered", "AP covered"), strict=True):
        if mean[key].low <= 0 <= mean[key].high:
            yield event


def covered_by_crossed_bootstrap(
    rng: np.random.Generator, *, scenes: int, counts: Sequence[int], spread: float
) -> Iterator[str]:
    """Yield which intervals of the difference of PLD contain 0: of draws of scenes and runs, and of the package."""
    methods = made_up_runs(rng, scenes, counts, seeds=spread)
    seed = int(rng.integers(2**32))
    mean = mg.compare_runs(dict(zip(NAMES, methods, strict=True)), samples=SAMPLES, seed=seed).differences[NAMES][
        "mean"
    ]
    drawn_scenes = draw(methods[0], SAMPLES, seed)
    drawn_means = []
    for runs in methods:
        sampled = [Sampled.of(run, drawn_scenes.unit_of_frame, drawn_scenes.weights) for run in runs]
        of_runs = np.stack([one.samples["mean"]["pld"] for one in sampled])
        chosen = rng.integers(len(runs), size=(len(runs), SAMPLES))
        drawn_means.append(np.take_along_axis(of_runs, chosen, axis=0).mean(axis=0))
    error = float(np.std(drawn_means[1] - drawn_means[0], ddof=1)) * math.sqrt(scenes / (scenes - 1))
    if abs(mean["pld"].value) <= quantile(0.95, scenes - 1) * error:
        yield "crossed bootstrap"
    if mean["pld"].low <= 0 <= mean["pld"].high:
        yield "now"


def tied(rng: np.random.Generator, *, methods: int, scenes: int) -> Iterator[str]:
    """Yield by which values equal methods do not all share the first rank."""
    names = [f"method {k}" for k in range(methods)]
    runs = made_up_runs(rng, scenes, [1] * methods, seeds=0.0)
    draw = int(rng.integers(2**32))
    comparison = mg.compare([only for (only,) in runs], names=names, samples=SAMPLES, seed=draw)
    for key, event in zip(KEYS, ("PLD: not all first", "AP: not all first"), strict=True):
        if any(row.rank != 1 for row in mg.ranks(comparison, key)):
            yield event


def power() -> Table:
    """Return the table of power."""
    rows = []
    for hard, better, pilots in (
        (False, BETTER, (5, 6, 10, 20, 35, 70, 150, 300)),
        (False, 3 * BETTER, (10, 30, 100)),
        (True, BETTER, (20, 70, 150)),
    ):
        smallest = {key: abs(true_difference(better, key, hard=hard)) for key in KEYS}
        for pilot in pilots:
            study = partial(planned_study, pilot=pilot, better=better, hard=hard, smallest=smallest)
            rows.append(Row(("hard" if hard else "mild", f"{smallest['pld']:.4f}", str(pilot)), study))
    events = ("PLD, standard error taken as known", "PLD", "AP")
    return Table(("world", "difference of PLD", "scenes of the pilot"), events, tuple(rows))


def margins() -> Table:
    """Return the table of verdicts with a margin."""
    margin = {key: abs(true_difference(-BETTER, key)) for key in KEYS}
    losses = {"a gain of the margin": BETTER, "none": 0.0, "the margin": -BETTER, "twice the margin": -2 * BETTER}
    rows = []
    for scenes in (5, 10, 30, 100, 300):
        for loss, better in losses.items():
            for key, title in zip(KEYS, ("PLD", "AP"), strict=True):
                study = partial(margin_verdicts, scenes=scenes, better=better, key=key, margin=margin[key])
                rows.append(Row((str(scenes), loss, title), study))
    return Table(("scenes", "true loss", "value"), VERDICTS, tuple(rows))


def seeds() -> Table:
    """Return the table of intervals over scenes and seeds."""
    rows = []
    for hard, all_scenes in ((False, (10, 30, 150)), (True, (30, 150))):
        for scenes in all_scenes:
            for counts in ((2, 2), (3, 3), (5, 5), (2, 5)):
                for spread in (0.0, 0.01, 0.02, 0.05):
                    study = partial(covered_with_seeds, scenes=scenes, counts=counts, spread=spread, hard=hard)
                    title = ("hard" if hard else "mild", str(scenes), f"{counts[0]}, {counts[1]}", f"{spread:g}")
                    rows.append(Row(title, study))
    titles = ("world", "scenes", "runs of each method", "skill of seeds")
    return Table(titles, ("PLD covered", "AP covered"), tuple(rows))


def crossed() -> Table:
    """Return the table of the crossed bootstrap, which also draws runs with replacement."""
    rows = []
    for count in (2, 3, 5):
        for spread in (0.0, 0.02, 0.05):
            study = partial(covered_by_crossed_bootstrap, scenes=30, counts=(count, count), spread=spread)
            rows.append(Row((str(count), f"{spread:g}"), study))
    return Table(("runs of each method", "skill of seeds"), ("crossed bootstrap", "now"), tuple(rows))


def ties() -> Table:
    """Return the table of ranks."""
    rows = []
    for methods in (2, 3, 5, 10):
        for scenes in (5, 10, 30, 100):
            rows.append(Row((str(methods), str(scenes)), partial(tied, methods=methods, scenes=scenes)))
    return Table(("equal methods", "scenes"), ("PLD: not all first", "AP: not all first"), tuple(rows))


TABLES: dict[str, Callable[[], Table]] = {
    "power": power,
    "margins": margins,
    "seeds": seeds,
    "crossed": crossed,
    "ties": ties,
}


def drawn(world: World, worlds: int, seed: tuple[int, ...]) -> Counter[str]:
    """Return how often things happen in some worlds."""
    os.cpu_count = lambda: 1  # starting threads takes longer than so little work; values do not depend on it
    rng = np.random.default_rng(seed)
    counts = Counter[str]()
    for _ in range(worlds):
        counts.update(world(rng))
    return counts


def started(pool: Executor, world: World, worlds: int, seed: int) -> list[Future[Counter[str]]]:
    """Start to draw worlds, in parts."""
    parts = range(0, worlds, PART)
    return [pool.submit(drawn, world, min(PART, worlds - first), (seed, first)) for first in parts]


def main(name: str, worlds: int) -> None:
    """Print a table."""
    table = TABLES[name]()
    print(f"| {' | '.join((*table.titles, *table.events))} |")
    print(f"|{' --- |' * len(table.titles + table.events)}")
    with ProcessPoolExecutor() as pool:
        parts = [started(pool, row.world, worlds, seed) for seed, row in enumerate(table.rows)]
        for row, of_row in zip(table.rows, parts, strict=True):
            counts = sum((part.result() for part in of_row), Counter[str]())
            shares = [f"{100 * counts[event] / worlds:.1f} %" for event in table.events]
            print(f"| {' | '.join((*row.title, *shares))} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
