"""Measures the report and ``compare`` by stage, on as many frames as the validation set of nuScenes has.

Run it with ``make bench-report``. It prints tables in GitHub markdown. The baseline of the bootstrap is numpy: one
sample after another, and every prediction counts as often as its frame was drawn. Both must agree to 1e-12.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.tables import heading, machine, race, row

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.metrics.table import METRICS
from mapgauge.report import write_report
from mapgauge.results.drawn_values import drawn_values
from mapgauge.results.frame_tables import MemoryRows
from mapgauge.results.instance_costs import instances_of
from mapgauge.typing import Floats
from mapgauge.views.report.drawings import drawings
from mapgauge.views.report.frames import frame_numbers
from mapgauge.views.report.pack import pack

FRAMES = 6019
SAMPLES = 1000
DRAWN = 200
PLAIN = 5  # samples of the baseline, which takes as long for each


def plain_precisions(results: mg.Results, weights: Floats) -> dict[str, Floats]:
    """Return Chamfer-AP of each class and threshold, from the definition, for each sample."""
    scores, found = results.scores, {}
    for c, name in enumerate(results.class_names):
        mine = np.flatnonzero(scores.label == c)
        mine = mine[np.argsort(-scores.confidence[mine], kind="stable")]
        confidence, owner = scores.confidence[mine], scores.frame[mine]
        last = np.append(confidence[1:] != confidence[:-1], True)
        for t, setting in enumerate(METRICS["ap_chamfer"].settings(results.protocol)):
            hit = (scores.hits["ap_chamfer"][mine] >> t) & 1
            values = []
            for sample in weights:
                often = sample[owner]
                hits, number = np.cumsum(often * hit)[last], np.cumsum(often)[last]
                precision = np.maximum.accumulate((hits / np.maximum(number, 1))[::-1])[::-1]
                values.append(float((np.diff(hits, prepend=0) * precision).sum() / (sample @ scores.true[:, c])))
            found[f"{name} {setting}"] = np.array(values)
    return found


def bootstrap(results: mg.Results) -> None:
    """Print the time of all average precisions of a sample, and that of the baseline."""
    frames = len(results.tokens)
    weights = np.random.default_rng(0).multinomial(frames, np.full(frames, 1 / frames), SAMPLES).astype(np.float64)
    plain = plain_precisions(results, weights[:PLAIN])
    ours = drawn_values(results, np.arange(frames), weights)
    for key, values in plain.items():
        name, _, setting = key.partition(" ")
        np.testing.assert_allclose(ours[name][f"ap_chamfer@{setting}"][:PLAIN], values, rtol=0, atol=1e-12)
    jobs = (
        lambda: drawn_values(results, np.arange(frames), weights),
        lambda: plain_precisions(results, weights[:PLAIN]),
    )
    fast, slow = race(*jobs, rounds=3, clock=time.process_time)
    curves = len(plain) * 2  # of both metrics
    per_curve = fast / SAMPLES / curves, slow / PLAIN / len(plain)
    heading(f"Bootstrap of {SAMPLES:,} samples", "what", "us of processor for a curve of a sample", "ratio")
    row("numpy, one sample after another", f"{1e6 * per_curve[1]:,.0f}", "1")
    row("mapgauge, with PLD", f"{1e6 * per_curve[0]:,.0f}", f"{per_curve[0] / per_curve[1]:.3f}")


def _without_matches(results: mg.Results) -> mg.Results:
    """Return results as of a file that has no assignment."""
    rows = MemoryRows(results.tokens, results.rows.scenes, replace(results.scores, matches=None))
    return replace(results, rows=rows)


def stages(results: mg.Results, folder: Path) -> None:
    """Print the time of each stage of a report, and of the whole."""
    page = folder / "page.html"
    heading(
        f"Stages of a report, {len(results.tokens):,} frames, {DRAWN} of them drawn",
        *("stage", "processor time", "time"),
    )

    def measured(name: str, work: Callable[[], object]) -> None:
        processor, clock = time.process_time(), time.perf_counter()
        work()
        row(name, f"{time.process_time() - processor:.2f} s", f"{time.perf_counter() - clock:.2f} s")

    caused = with_metrics(results, ["causes"])
    drawn = list(range(0, len(results.tokens), max(len(results.tokens) // DRAWN, 1)))[:DRAWN]
    some, numbers = caused.of_frames(drawn), frame_numbers(caused)
    file = folder / "run.mg"
    sizes = []
    for one in (_without_matches(results), results):
        one.save(file)
        sizes.append(file.stat().st_size)
    loaded = replace(mg.load_results(file), geometry=results.geometry)
    row("file of results: with matches / without", f"{sizes[1] / sizes[0]:.3f}", "")
    measured("causes of all frames, assigned again", lambda: with_metrics(_without_matches(results), ["causes"]))
    measured("causes of all frames, matches from a file", lambda: with_metrics(loaded, ["causes"]))
    measured("compare, one method", lambda: mg.compare([results]))
    measured("compare, two methods", lambda: mg.compare([results, results], names=["a", "b"]))
    measured("values of all frames", lambda: frame_numbers(caused))
    measured("drawings", lambda: drawings(some, lambda: None))
    measured("causes of drawn instances", lambda: instances_of(some))
    measured("compression", lambda: pack(numbers | drawings(caused.of_frames(drawn[:1]), lambda: None).columns))
    for name, causes in (("whole report", None), ("whole report, --no-causes", False)):
        measured(name, partial(write_report, results, page, frames=DRAWN, causes=causes))
        row(f"{name}: size of the page", f"{page.stat().st_size / 1e6:.1f} MB", "")


def main(frames: int) -> None:
    """Print all tables."""
    machine("numpy", "numba")
    with tempfile.TemporaryDirectory() as name:
        write_report(mg.evaluate(*demo_world(20)), Path(name) / "small.html")  # compiles the kernels
        predictions, truth = demo_world(frames)
        # Every frame is a scene. That takes longest, because there are as many units to draw as frames.
        results = mg.evaluate(predictions, truth, scenes={token: token for token in truth.tokens})
        bootstrap(results)
        stages(results, Path(name))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else FRAMES)
