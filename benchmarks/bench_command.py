"""Measures whole commands, from the start of Python on: ``mapgauge evaluate PREDICTIONS TRUTH`` and what follows.

Run it with ``make bench-command``. The files are JSON of StreamMapNet and of MapTR, with as many frames as nuScenes val
(``mapgauge.demo``). Each command runs in a process of its own, and the best of its runs counts. The output must not
depend on the number of workers. A second table has the stages of the command in this process, with one worker, as
processor time: it does not depend on other load as much as the time on the clock.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.launch import launched
from benchmarks.tables import at_least, heading, machine, race, row

import mapgauge as mg
from mapgauge.checks import check
from mapgauge.demo import demo_world
from mapgauge.frames.content import content_hash
from mapgauge.results.results import Results
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import prepare
from mapgauge.scoring.score import score_frames

FRAMES = 6019  # nuScenes val
ROUNDS = 3
PROTOCOL = mg.protocol("paper-60x30")
METRICS = {"PLD": ("pld",), "Chamfer-AP": ("ap_chamfer",), "Fréchet-AP": ("ap_frechet",)}
ALL = tuple(name for names in METRICS.values() for name in names)

# A target on the development machine.
TWO_WORKERS = 1.8  # scoring, times as fast as one worker


def whole(folder: Path, rounds: int) -> None:
    """Print the time, the processor time and the peak memory of commands."""
    files = [str(folder / name) for name in ("predictions.json", "truth.json")]
    saved = str(folder / "results.mg")
    launched("evaluate", *files, "-o", saved)  # compiles what is not compiled yet
    heading("The whole command", "command", "time", "processor time", "peak memory")
    for title, *options in (("`mapgauge evaluate --csv`", "--csv"), ("`mapgauge evaluate`",)):
        two = measured(f"{title}, two workers", rounds, "evaluate", *files, *options, "--workers", "2")
        one = measured(f"{title}, one worker", rounds, "evaluate", *files, *options, "--workers", "1")
        if two != one:
            raise SystemExit(f"the output of {title} depends on the number of workers")
    measured("`mapgauge why` of a file of results", rounds, "why", saved)
    measured("`mapgauge compare` of two files of results", rounds, "compare", f"{saved},name=a", f"{saved},name=b")


def measured(title: str, rounds: int, *words: str) -> str:
    """Run a command some times, print its row, and return what it printed."""
    runs = [launched(*words) for _ in range(rounds)]
    row(
        title,
        f"{min(run.seconds for run in runs):.1f} s",
        f"{min(run.processor for run in runs):.1f} s",
        f"{max(run.peak for run in runs):,.0f} MB",
    )
    if len({run.output for run in runs}) > 1:
        raise SystemExit(f"the runs of {title} printed different things")
    return runs[0].output


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
    heading("Stages of `mapgauge evaluate --csv`, one worker", "stage", "processor time")
    for name, seconds in zip(jobs, race(*jobs.values(), rounds=rounds, clock=processor_time), strict=True):
        row(name, f"{seconds:.2f} s")
    one, two = race(scoring(ALL), scoring(ALL, workers=2), rounds=rounds)
    heading("Scoring with all three metrics, from resampling on", "workers", "time", "times as fast as one")
    row("1", f"{one:.2f} s", "")
    row("2", f"{two:.2f} s", at_least(one / two, TWO_WORKERS, f"{one / two:.2f}"))


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
        heading("Files of the whole command", "file", "size")
        for file in sorted(folder.iterdir()):
            row(file.name, f"{file.stat().st_size / 1e6:.0f} MB")
        del predictions, truth
        whole(folder, rounds)
        stages(folder, rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    main(given.frames, given.rounds)
