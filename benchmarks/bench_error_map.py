"""Measures ``mapgauge.error_map`` beside the evaluation, on as many frames as the validation set of nuScenes has.

Run it with ``make bench-error-map``. It prints a table in GitHub markdown. The baselines are the evaluation of PLD on
the same frames, which makes the same assignment, and the rule of the map in plain Python on some frames. Both must
have the same counts.
"""

import sys
import time

from benchmarks.tables import at_most, heading, machine, peak_memory, race, row
from tests.features.error_map import reference

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 6019
PLAIN = 10  # frames of the rule in plain Python
MOST = 10.0  # seconds on two cores
WORKERS = 2
MAP = "`mg.error_map`"


def plain_milliseconds() -> float:
    """Return the time of a frame of the rule in plain Python, after a comparison of its counts with the map."""
    results = mg.evaluate(*demo_world(PLAIN))
    columns = mg.error_map(results).columns()
    found = reference.pieces(results, 0.0)
    ours = sorted(zip(columns["class"].tolist(), columns["seen"].tolist(), columns["found"].tolist(), strict=True))
    assert ours == sorted((piece[0], piece[4], piece[5]) for piece in found)
    (seconds,) = race(lambda: reference.pieces(results, 0.0), rounds=2, clock=time.process_time)
    return 1000 * seconds / PLAIN


def main(frames: int) -> None:
    """Print processor seconds, which depend less on other load, beside the time on the clock."""
    machine("numpy", "numba")
    plain = plain_milliseconds()
    sides = [demo_world(frames, quality=quality) for quality in ("good", "poor")]
    methods = [mg.evaluate(*side, metrics=["pld"]) for side in sides]
    before = peak_memory()
    jobs = {
        "`mg.evaluate`, PLD": lambda: mg.evaluate(*sides[0], metrics=["pld"], workers=WORKERS),
        MAP: lambda: mg.error_map(methods[0], workers=WORKERS),
        "`mg.error_map` of two methods": lambda: mg.error_map(methods, workers=WORKERS),
    }
    processor = race(*jobs.values(), rounds=2, clock=time.process_time)
    clock = race(*jobs.values(), rounds=1)
    heading(
        f"Error map of {frames:,} frames, {WORKERS} workers",
        "what",
        "processor time",
        "times the evaluation",
        "time",
    )
    for name, seconds, passed in zip(jobs, processor, clock, strict=True):
        said = f"{passed:.1f} s"
        if name == MAP:
            said = at_most(passed, MOST, said)
        row(name, f"{seconds:.1f} s", f"{seconds / processor[0]:.1f}", said)
    ours = 1000 * processor[1] / frames
    row("the rule in plain Python, per frame", f"{plain:.1f} ms", f"{plain / ours:.0f} times `mg.error_map`", "")
    row("memory beyond that of the data and results", f"{peak_memory() - before:,.0f} MB", "", "")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES)
