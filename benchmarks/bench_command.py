"""Measures the whole command: ``mapgauge evaluate PREDICTIONS TRUTH --csv``, from the start of Python on.

Run it with ``make bench-command``. The files are JSON of StreamMapNet and of MapTR, with as many frames as nuScenes val
(``mapgauge.demo``). One worker and two workers run in turn, each in a process of its own, and the best of each counts.
Their output must be the same. A second table has the stages of the command in this process, with one worker, as
processor time: it does not depend on other load as much as the time on the clock.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.tables import at_least, at_most, heading, machine, race, row

import mapgauge as mg
from mapgauge.checks import check
from mapgauge.demo import demo_world
from mapgauge.frames.content import content_hash
from mapgauge.results.results import Results
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import prepare
from mapgauge.scoring.score import score_frames

FRAMES = 6019  # nuScenes val
ROUNDS = 5
PROTOCOL = mg.protocol("paper-60x30")
METRICS = {"PLD": ("pld",), "Chamfer-AP": ("ap_chamfer",), "Fréchet-AP": ("ap_frechet",)}
ALL = tuple(name for names in METRICS.values() for name in names)

# Targets on the development machine.
SECONDS = 5.0  # with two workers
TWO_WORKERS = 1.8  # scoring, times as fast as one worker
MEMORY = 1000  # MB


def command(folder: Path, workers: int) -> tuple[float, float, str]:
    """Run the command in a process of its own. Returns seconds on the clock, processor seconds, and the output."""
    files = [str(folder / name) for name in ("predictions.json", "truth.json")]
    words = [sys.executable, "-m", "mapgauge", "evaluate", *files, "--csv", "--workers", str(workers)]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, check=True, capture_output=True, text=True, encoding="utf-8")
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def whole(folder: Path, rounds: int) -> None:
    """Print the time and the memory of the command."""
    command(folder, 1)  # compiles what is not compiled yet
    runs = [[command(folder, workers) for workers in (1, 2)] for _ in range(rounds)]
    if len({output for both in runs for _, _, output in both}) > 1:
        raise SystemExit("the output depends on the number of workers")
    clock = [min(both[k][0] for both in runs) for k in (0, 1)]
    spent = [min(both[k][1] for both in runs) for k in (0, 1)]
    heading("The whole command", "workers", "s", "processor s", "times as fast as one")
    row("1", f"{clock[0]:.2f}", f"{spent[0]:.2f}", "")
    row("2", at_most(clock[1], SECONDS, f"{clock[1]:.2f}"), f"{spent[1]:.2f}", f"{clock[0] / clock[1]:.2f}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3
    heading("Memory of the command", "what", "MB")
    row("largest peak", at_most(peak, MEMORY, f"{peak:.0f}"))


def grouped(x: mg.MapFrames, y: mg.MapFrames) -> None:
    """Resample, sort and pack all frames, block by block."""
    Data.of(x, y, PROTOCOL).in_blocks(lambda _: None)


def hashed(x: mg.MapFrames, y: mg.MapFrames) -> None:
    """Compute the hashes of both sides."""
    content_hash(x)
    content_hash(y)


def stages(folder: Path, rounds: int) -> None:
    """Print the processor time of each stage, and the speed-up of a second thread when frames are scored."""
    paths = folder / "predictions.json", folder / "truth.json"
    predictions, truth = (mg.read(path) for path in paths)
    x, y = prepare(predictions, truth, PROTOCOL, "error")

    def scoring(metrics: tuple[str, ...], workers: int = 1) -> Callable[[], object]:
        return partial(score_frames, Data.of(x, y, PROTOCOL), metrics, workers=workers)

    def summary(results: Results) -> str:
        return results.without_data().table()

    found = mg.evaluate(predictions, truth, PROTOCOL)
    jobs: dict[str, Callable[[], object]] = {
        "starting Python, numba and the command": partial(subprocess.run, start_command(), check=True),
        "reading the predictions": partial(mg.read, paths[0], workers=1),
        "reading the truth": partial(mg.read, paths[1], workers=1),
        "checks": partial(check, predictions, truth, region=PROTOCOL.region, classes=PROTOCOL.classes),
        "alignment": partial(prepare, predictions, truth, PROTOCOL, "error"),
        "grouping, resampling, packing": partial(grouped, x, y),
        **{f"scoring, with the line above: {name}": scoring(metrics) for name, metrics in METRICS.items()},
        "summary": partial(summary, found),
        "hashes, only if results are written": partial(hashed, predictions, truth),
    }
    heading("Stages of the command, one worker", "stage", "processor s")
    for name, seconds in zip(jobs, race(*jobs.values(), rounds=rounds, clock=processor_time), strict=True):
        row(name, f"{seconds:.2f}")
    one, two = race(scoring(ALL), scoring(ALL, workers=2), rounds=rounds)
    heading("Scoring with all three metrics, from resampling on", "workers", "s", "times as fast as one")
    row("1", f"{one:.2f}", "")
    row("2", f"{two:.2f}", at_least(one / two, TWO_WORKERS, f"{one / two:.2f}"))


def start_command() -> list[str]:
    """A process that imports all that the command needs, and loads one compiled kernel."""
    code = """
import mapgauge.cli.app, mapgauge.evaluation.evaluate
from mapgauge import kernels
kernels.resample.lengths_of(kernels.resample.np.zeros((2, 2)), kernels.resample.np.array([0, 2]))
"""
    return [sys.executable, "-c", code]


def processor_time() -> float:
    """Processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(frames: int, rounds: int) -> None:
    """Write the files, measure, and print the tables."""
    machine("numpy", "numba", "msgspec", "mapgauge")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        predictions, truth = demo_world(frames)
        mg.write(predictions, folder / "predictions.json", "streammapnet")
        mg.write(truth, folder / "truth.json", "maptr-truth")
        heading("Files", "file", "MB")
        for file in sorted(folder.iterdir()):
            row(file.name, f"{file.stat().st_size / 1e6:.0f}")
        del predictions, truth
        whole(folder, rounds)
        stages(folder, rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    main(given.frames, given.rounds)
