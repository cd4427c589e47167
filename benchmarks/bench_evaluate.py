"""Measures the speed and the memory of a whole evaluation.

Run it with ``make bench-evaluate``. Predictions and truth are generated (``mapgauge.demo``): as many frames as nuScenes
val has, with about 75 predictions and 12 true instances each. They are in memory and kernels are compiled before the
clock starts. Alternatives run in turn, and the best time of each counts, because other load only adds time.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context

import numpy as np
from benchmarks import plain
from benchmarks.tables import at_least, at_most, heading, machine, peak_memory, row
from benchmarks.tables import race as race_for

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.results.values import Input
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import prepare
from mapgauge.scoring.score import score_frames

FRAMES = 6019  # nuScenes val
PLAIN = 24  # frames for the baseline, which is slow
ROUNDS = 3
MORE = 15  # rounds of short jobs
SIZES = (100, 300, 1000, 3000)  # numbers of frames; all frames are measured too
SOME = 1500  # frames for the comparison of one worker with two: shorter runs are disturbed less
PROTOCOL = mg.protocol("paper-60x30")
METRICS = {"mPLD at one cutoff": ("pld",), "mPLD, CD-mAP, FD-mAP": ("pld", "ap_chamfer", "ap_frechet")}
EVERYTHING = METRICS["mPLD, CD-mAP, FD-mAP"]

# Targets on the development machine.
FRAMES_PER_SECOND = {"mPLD at one cutoff": 4000, "mPLD, CD-mAP, FD-mAP": 2000}
TWO_WORKERS = 1.8  # times as fast as one worker
FLAT = 1.2  # times the cost per frame of the smallest run
MEMORY = 1000  # MB
TOLERANCE = 1e-6  # between mapgauge and the baseline

race = partial(race_for, rounds=ROUNDS)


def scoring(x: mg.MapFrames, y: mg.MapFrames, metrics: tuple[str, ...], workers: int = 1) -> Callable[[], object]:
    """A call that scores aligned frames: all work per frame, from resampling on."""
    return partial(score_frames, Data.of(x, y, PROTOCOL), metrics, workers=workers)


def throughput(predictions: mg.MapFrames, truth: mg.MapFrames, x: mg.MapFrames, y: mg.MapFrames) -> None:
    """Print frames per second."""
    frames = len(truth)
    heading(f"{frames:,} frames in memory, one worker", "what", "time", "frames a second")
    for name, metrics in METRICS.items():
        (seconds,) = race(scoring(x, y, metrics))
        speed = frames / seconds
        row(name, f"{seconds:.2f} s", at_least(speed, FRAMES_PER_SECOND[name], f"{speed:,.0f}"))
    (seconds,) = race(partial(mg.evaluate, predictions, truth, PROTOCOL, workers=1))
    row("the whole call `mg.evaluate`, all three", f"{seconds:.2f} s", f"{frames / seconds:,.0f}")


def two_workers(x: mg.MapFrames, y: mg.MapFrames) -> None:
    """Print the speed-up of a second thread, and that of two processes with half of the frames each.

    Processes share no interpreter. Their speed-up is what the processors and the memory of the machine allow.
    """
    some = slice(0, SOME)
    x, y = x.between(some), y.between(some)
    heading(
        f"{len(y):,} frames, two workers",
        *("metrics", "one worker", "two workers", "times as fast", "two processes, times as fast"),
    )
    for name, metrics in METRICS.items():
        for half in (slice(0, SOME // 2), slice(SOME // 2, SOME)):
            _HALVES.append(scoring(x.between(half), y.between(half), metrics))
        with get_context("fork").Pool(2) as pool:
            one, two, ceiling = race(
                *(scoring(x, y, metrics), scoring(x, y, metrics, workers=2)),
                partial(pool.map, _score_half, range(len(_HALVES) - 2, len(_HALVES)), chunksize=1),
                rounds=MORE,
            )
        speed_up = at_least(one / two, TWO_WORKERS, f"{one / two:.2f}")
        row(name, f"{one:.2f} s", f"{two:.2f} s", speed_up, f"{one / ceiling:.2f}")


_HALVES: list[Callable[[], object]] = []  # jobs of the processes, which inherit them


def _score_half(index: int) -> None:
    _HALVES[index]()


def shares(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    """Print the time that a whole call spends outside scoring."""
    heading("Time outside scoring", "part", "s")
    looking = partial(mg.check, predictions, truth, region=PROTOCOL.region, classes=PROTOCOL.classes)
    preparing = partial(prepare, predictions, truth, PROTOCOL, "error")
    hashing = partial(_describe, predictions, truth)
    checked, prepared, hashed = race(looking, preparing, hashing)
    row("findings (`mg.check`)", f"{checked:.2f}")
    row("aligning and sorting", f"{prepared:.2f}")
    row("hashes of the inputs", f"{hashed:.2f}")
    results = mg.evaluate(predictions, truth, PROTOCOL)
    begin = time.perf_counter()
    results.table()
    row("the summary, computed on first use", f"{time.perf_counter() - begin:.2f}")


def _describe(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    Input.of(predictions)
    Input.of(truth)


def flatness(x: mg.MapFrames, y: mg.MapFrames) -> None:
    """Print the cost per frame for several numbers of frames, in processor time, which excludes waiting."""
    heading(
        "Cost per frame, all three metrics, one worker",
        *("frames", "ms of processor time per frame", "ratio to the fewest frames"),
    )
    sizes = [*(size for size in SIZES if size < len(y)), len(y)]
    jobs = [scoring(x.between(part), y.between(part), EVERYTHING) for part in (slice(0, size) for size in sizes)]
    seconds = race(*jobs, clock=time.process_time)
    seconds[0] = min(seconds[0], *race(jobs[0], rounds=MORE, clock=time.process_time))
    costs = [1e3 * best / size for best, size in zip(seconds, sizes, strict=True)]
    for size, cost in zip(sizes, costs, strict=True):
        ratio = cost / costs[0]
        row(f"{size:,}", f"{cost:.3f}", f"{ratio:.2f}" if size < sizes[-1] else at_most(ratio, FLAT, f"{ratio:.2f}"))


def against_plain(x: mg.MapFrames, y: mg.MapFrames) -> None:
    """Compare with the plain evaluation on some of the frames; both must find the same values."""
    count = min(PLAIN, len(y))
    frames = [i * len(y) // count for i in range(count)]
    x, y = x.at(frames), y.at(frames)
    groups = {name: plain.groups_of(x, y, name) for name in y.classes}
    results = mg.evaluate(x, y, PROTOCOL)
    for name in y.classes:
        for metric, values in plain.evaluate(groups[name], PROTOCOL, EVERYTHING).items():
            found = results.classes[name]
            ours = [found["pld"]] if metric == "pld" else [found[key] for key in found if key.startswith(f"{metric}@")]
            if not np.allclose(np.array(ours, np.float64), values, rtol=0, atol=TOLERANCE):
                raise SystemExit(f"{name}, {metric}: mapgauge gives {ours}, the baseline {values}; they must agree")
    heading(
        f"Against the plain evaluation, {count} frames, one worker",
        *("metrics", "baseline, per frame", "mapgauge, per frame", "times as fast"),
    )
    for name, metrics in METRICS.items():
        slow, *fast = race(partial(_plain, groups, metrics), *[scoring(x, y, metrics)] * MORE)
        row(name, *(f"{1e3 * seconds / count:.2f} ms" for seconds in (slow, min(fast))), f"{slow / min(fast):,.0f}")


def _plain(groups: dict[str, list[plain.Group]], metrics: tuple[str, ...]) -> None:
    for group in groups.values():
        plain.evaluate(group, PROTOCOL, metrics)


def memory(frames: int) -> None:
    """Print the peak memory of a fresh process that generates the frames and evaluates them."""
    command = [sys.executable, "-m", "benchmarks.bench_evaluate", "--child", "--frames", str(frames)]
    made, evaluated = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout
    )
    heading("Memory of a process", "after", "peak, MB")
    row("generating the frames", f"{made:.0f}")
    row("evaluating all three metrics", at_most(evaluated, MEMORY, f"{evaluated:.0f}"))


def child(frames: int) -> None:
    """Evaluate in this process and print its peak memory."""
    predictions, truth = demo_world(frames)
    made = peak_memory()
    mg.evaluate(predictions, truth, PROTOCOL).table()
    print(json.dumps([made, peak_memory()]))


def main(frames: int) -> None:
    """Generate the frames, measure, and print the tables."""
    machine("numpy", "numba", "scipy", "shapely", "mapgauge")
    begin = time.perf_counter()
    predictions, truth = demo_world(frames)
    seconds = time.perf_counter() - begin
    heading("Generated frames", "what", "value")
    row("frames", f"{frames:,}")
    row("predictions in a frame", f"{len(predictions.polylines) / frames:.1f}")
    row("true instances in a frame", f"{len(truth.polylines) / frames:.1f}")
    row("generated in", f"{seconds:.1f} s")
    x, y = prepare(predictions, truth, PROTOCOL, "error")
    few = slice(0, min(frames, 2))
    mg.evaluate(x.between(few), y.between(few), PROTOCOL)  # compile outside the clock
    throughput(predictions, truth, x, y)
    two_workers(x, y)
    shares(predictions, truth)
    flatness(x, y)
    memory(frames)
    against_plain(x, y)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--child", action="store_true", help="used by the script itself")
    arguments = parser.parse_args()
    (child if arguments.child else main)(arguments.frames)
