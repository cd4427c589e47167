"""Measures how often intervals cover the true value: the calibration error, and differences of rare causes.

Run it with ``python -m benchmarks.coverage [WORLDS]``. It prints two tables in GitHub markdown, which are in
``docs/explanation/interval-study.md``.
"""

import sys

import numpy as np

from mapgauge.features.confidence.calibration import reliability_of
from mapgauge.results.estimation import difference
from mapgauge.results.intervals import FEWEST
from mapgauge.results.standard_errors import Draws
from mapgauge.typing import Floats

SAMPLES = 300
# By name: the probability that a prediction of confidence r hits.
WORLDS = {
    "calibrated": lambda r: r,
    "slightly over-confident": lambda r: r**1.15,
    "over- and under-confident": lambda r: np.clip(r + 0.05 * np.sin(6 * r), 0, 1),
    "over-confident": lambda r: r**2,
}
SIZES = ((10, 600), (25, 60), (150, 40))  # scenes, and predictions of each


def weights_of(units: int, rng: np.random.Generator) -> Floats:
    """Return how often each unit is drawn, for all samples."""
    return rng.multinomial(units, np.full(units, 1 / units), SAMPLES).astype(np.float64)


def error_coverage(world: str, scenes: int, size: int, worlds: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Return the true and the mean calibration error, the mean error if calibrated, and the share of covered values."""
    many = rng.beta(0.5, 1.5, 2_000_000)
    place = np.minimum((many * 10).astype(int), 9)
    true = float(np.abs(np.bincount(place, many - WORLDS[world](many), 10)).sum() / len(many))
    values, calibrated, covered = [], [], 0
    unit = np.repeat(np.arange(scenes), size)
    for _ in range(worlds):
        r = rng.beta(0.5, 1.5, scenes * size)
        hits = (rng.random(len(r)) < WORLDS[world](r)).astype(np.float64)
        found = reliability_of(r, hits, unit, weights_of(scenes, rng))
        values.append(found.error.value)
        calibrated.append(found.calibrated)
        covered += found.error.low <= true + 1e-12 and true <= found.error.high
    return true, float(np.mean(values)), float(np.mean(calibrated)), covered / worlds


def rare_coverage(
    scenes: int, first: float, second: float, worlds: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the share of worlds with an interval, and the share of these intervals that cover the true difference.

    Each scene has the cause with a probability, and then an exponential cost.
    """
    shown = covered = 0
    for _ in range(worlds):
        costs = rng.exponential(1.0, (2, scenes)) * (rng.random((2, scenes)) < [[first], [second]])
        units = int((costs > 0).any(axis=0).sum())
        apart = costs[1] - costs[0]
        drawn = weights_of(scenes, rng) @ apart / scenes
        found = difference(float(apart.mean()), Draws(drawn, units if units >= FEWEST else 1), 0.95)
        if np.isfinite(found.low):
            shown += 1
            covered += found.low <= second - first <= found.high
    return shown / worlds, covered / shown if shown else float("nan")


def main(worlds: int) -> None:
    """Print both tables."""
    rng = np.random.default_rng(0)
    print("| method | scenes x predictions | true ECE | mean ECE | if calibrated | covered |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    shares = []
    for world in WORLDS:
        for scenes, size in SIZES:
            *values, share = error_coverage(world, scenes, size, worlds, rng)
            shares.append(share)
            print(f"| {world} | {scenes} x {size} | {' | '.join(f'{value:.3f}' for value in values)} | {share:.1%} |")
    print(f"\n{min(shares):.1%} to {max(shares):.1%}, mean {np.mean(shares):.1%}\n")
    print("| scenes | with the cause, of each method | with an interval | covered |\n| ---: | --- | ---: | ---: |")
    for scenes in (10, 25, 50, 150):
        for first, second in ((0.0, 0.3), (0.05, 0.1), (0.2, 0.1), (0.2, 0.3), (0.5, 0.5)):
            shown, share = rare_coverage(scenes, first, second, 4 * worlds, rng)
            print(f"| {scenes} | {first:.0%}, {second:.0%} | {shown:.0%} | {share:.1%} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
