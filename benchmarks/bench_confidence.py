"""Measures ``mapgauge.confidence`` beside the evaluation, on as many frames as the validation set of nuScenes has.

Run it with ``make bench-confidence``. It prints a table in GitHub markdown.
"""

import time

from benchmarks.tables import heading, machine, race, row

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 6019


def main() -> None:
    """Print processor seconds, which depend less on other load than the time on the clock."""
    machine("numpy", "numba")
    mg.confidence(mg.evaluate(*demo_world(20)))  # compiles the kernels
    predictions, truth = demo_world(FRAMES)
    results = mg.evaluate(predictions, truth)
    heading(f"Confidences of {FRAMES:,} frames, one worker", "what", "processor time", "times the evaluation")
    jobs = {
        "`mg.evaluate`: PLD, Chamfer-AP, Fréchet-AP": lambda: mg.evaluate(predictions, truth, workers=1),
        "`mg.evaluate`, PLD": lambda: mg.evaluate(predictions, truth, metrics=["pld"], workers=1),
        "`mg.confidence`": lambda: mg.confidence(results, workers=1),
    }
    times = race(*jobs.values(), rounds=2, clock=time.process_time)
    for name, seconds in zip(jobs, times, strict=True):
        row(name, f"{seconds:.1f} s", f"{seconds / times[0]:.1f}")


if __name__ == "__main__":
    main()
