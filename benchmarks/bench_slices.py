"""Measures three slices with intervals beside the evaluation, on as many frames as the validation set of nuScenes has.

Run it with ``make bench-slices``. It prints a table in GitHub markdown.
"""

import time

from benchmarks.tables import at_most, heading, machine, race, row

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 6019
MOST = 1.3  # times the evaluation


def main() -> None:
    """Print processor seconds, which depend less on other load than the time on the clock."""
    machine("numpy", "numba")
    mg.evaluate(*demo_world(60)).by("scene").tables()  # compiles the kernels
    predictions, truth = demo_world(FRAMES)
    tokens = truth.tokens
    apart = {f"part {k}": tokens[begin : begin + 2010] for k, begin in enumerate(range(0, FRAMES, 2010))}
    sharing = {f"part {k}": tokens[k::3] for k in range(3)}

    def evaluated() -> mg.Results:
        results = mg.evaluate(predictions, truth, workers=1)
        _ = results.mean
        return results

    heading(f"Slices of {FRAMES:,} frames, one worker", "what", "processor time", "times the evaluation")
    jobs = {
        "`mg.evaluate`": evaluated,
        "with three slices of other scenes, and their intervals": lambda: evaluated().by(apart).tables(),
        "with three slices that share scenes, and their intervals": lambda: evaluated().by(sharing).tables(),
    }
    times = race(*jobs.values(), rounds=2, clock=time.process_time)
    for name, seconds in zip(jobs, times, strict=True):
        ratio = seconds / times[0]
        row(name, f"{seconds:.1f} s", at_most(ratio, MOST, f"{ratio:.2f}"))


if __name__ == "__main__":
    main()
