"""Measures causes, confidence and the numbers in metres against the evaluation, and the effect of thresholds.

Run it with ``make bench-causes``. It prints tables in GitHub markdown.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

from benchmarks.tables import heading, machine, row

import mapgauge as mg
from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.metrics.causes import CAUSES, THRESHOLDS

EVALUATION = "`mg.evaluate`: PLD, Chamfer-AP, Fréchet-AP"
IN_WORDS = ("completeness", "causes")  # metrics of the lines after the tables
OTHERS = {
    "covered": (0.4, 0.6),
    "reach": (1.5, 3.0),
    "winding": (0.15, 0.4),
    "sure": (0.3, 0.7),
    "faint": (0.05, 0.2),
    "worth": (0.5, 0.9),
}


REPEATS = 2


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def times(frames: int) -> dict[str, float]:
    """Return the times of all jobs, in one run: the best of a few, in turn."""
    x, y = mg.demo.demo_world(frames)
    fresh: list[mg.Results] = []

    def evaluated(*metrics: str) -> mg.Results:
        fresh[:] = [mg.evaluate(x, y, metrics=("pld", "ap_chamfer", "ap_frechet", *metrics), workers=1)]
        return fresh[0]

    jobs: dict[str, Callable[[], object]] = {
        EVALUATION: evaluated,
        "`mg.causes` of these results, as a table": lambda: mg.causes(fresh[0], workers=1).table(),
        "completeness and offsets alone": lambda: with_metrics(fresh[0], ["completeness"], 1),
        "`mg.confidence` of the same, as a table": lambda: mg.confidence(fresh[0], workers=1).table(),
        "completeness and causes, in a pass of their own": lambda: with_metrics(fresh[0], IN_WORDS, 1),
        "evaluation with completeness and causes in one pass": lambda: evaluated(*IN_WORDS),
        "answer of these results": lambda: mg.answer(fresh[0], workers=1),
    }
    best: dict[str, float] = {}
    for _ in range(REPEATS):
        for name, job in jobs.items():
            best[name] = min(seconds(job), best.get(name, float("inf")))
    return best


def main(frames: int) -> None:
    """Print both tables."""
    times(10)  # compiles
    best = times(frames)
    machine("numpy", "numba")
    heading(f"Causes of {frames:,} frames, one worker", "what", "processor time", "times the evaluation")
    for name, value in best.items():
        row(name, f"{value:.1f} s", f"{value / best[EVALUATION]:.1f}")
    x, y = mg.demo.demo_world(min(frames, 200))
    part = mg.evaluate(x, y, metrics=["pld"], workers=1)
    before = mg.causes(part, workers=1).mean
    heading("Other thresholds of causes", "threshold", "from", "to", "largest changes of parts of mean PLD")
    for name, values in OTHERS.items():
        for value in values:
            after = mg.causes(part, thresholds=replace(THRESHOLDS, **{name: value}), workers=1).mean
            most = sorted(CAUSES, key=lambda cause: -abs(after[cause] - before[cause]))[:3]
            changes = ", ".join(f"{cause.replace('_', ' ')} {after[cause] - before[cause]:+.3f}" for cause in most)
            row(f"`{name}`", f"{getattr(THRESHOLDS, name):g}", f"{value:g}", changes)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6019)
