"""Measures the split of PLD by cause and the numbers in metres, against the evaluation, and the effect of thresholds.

Run it with ``python -m benchmarks.bench_anatomy [FRAMES]``. It prints tables in GitHub markdown.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import mapgauge as mg
from mapgauge.causes.felt import with_metrics
from mapgauge.metrics.causes import CAUSES, THRESHOLDS

OTHERS = {"covered": (0.4, 0.6), "reach": (1.5, 3.0), "winding": (0.15, 0.4), "sure": (0.3, 0.7)}


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one thread."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def main(frames: int) -> None:
    """Print both tables."""
    x, y = mg.demo.demo_world(frames)
    small = mg.demo.demo_world(10)
    with_metrics(mg.evaluate(*small), ["completeness", "causes"], 1)  # compiles
    mg.anatomy(mg.evaluate(*small), workers=1)
    results = mg.evaluate(x, y, workers=1)
    print(f"| what, {frames:,} frames, one worker | seconds |\n| --- | ---: |")
    both = ["completeness", "causes"]
    print(f"| evaluate: PLD, Chamfer-AP, Fréchet-AP | {seconds(lambda: mg.evaluate(x, y, workers=1)):.1f} |")
    names = ("pld", "ap_chamfer", "ap_frechet", *both)
    one_pass = seconds(lambda: mg.evaluate(x, y, metrics=names, workers=1))
    print(f"| the same, completeness and causes in one pass | {one_pass:.1f} |")
    print(f"| completeness and offsets alone | {seconds(lambda: with_metrics(results, ['completeness'], 1)):.1f} |")
    print(
        f"| completeness and causes, in a pass of their own | {seconds(lambda: with_metrics(results, both, 1)):.1f} |"
    )
    print(
        f"| `mg.anatomy`, with the causes of all instances | {seconds(lambda: mg.anatomy(results, workers=1)):.1f} |\n"
    )
    some = range(min(frames, 200))
    part = mg.evaluate(x.at(some), y.at(some), metrics=["pld"], workers=1)
    before = mg.anatomy(part, workers=1).mean
    print("| threshold | from | to | largest changes of parts of mean PLD |\n| --- | ---: | ---: | --- |")
    for name, values in OTHERS.items():
        for value in values:
            after = mg.anatomy(part, thresholds=replace(THRESHOLDS, **{name: value}), workers=1).mean
            most = sorted(CAUSES, key=lambda cause: -abs(after[cause] - before[cause]))[:3]
            changes = ", ".join(f"{cause.replace('_', ' ')} {after[cause] - before[cause]:+.3f}" for cause in most)
            print(f"| `{name}` | {getattr(THRESHOLDS, name):g} | {value:g} | {changes} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6019)
