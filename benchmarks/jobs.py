"""The jobs that ``bench_against`` does with two versions of mapgauge. They use names that both versions have.

``python -m benchmarks.jobs NAME FOLDER`` does one job in this process. It prints wall and processor seconds, the peak
memory, and what the job put out, as a hash. The page of a report is not compared.
"""

import hashlib
import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from benchmarks.bench_io import LANE_SHARE, LANES, generate_others
from benchmarks.tables import peak_memory

import mapgauge as mg
from mapgauge.demo import demo_world

SOME = 1000  # frames for jobs that are slow
FEW = 80  # frames of the demo


class Job(NamedTuple):
    """A job. ``start`` loads what it needs and returns the work, which returns its output as text."""

    title: str
    start: Callable[[Path], Callable[[], str]]
    cold: bool = False  # with an empty cache of compiled kernels
    once: bool = False  # it takes so long that it is done once


def prepare_files(folder: Path, frames: int) -> None:
    """Write the files that the jobs read."""
    predictions, truth = demo_world(frames)
    mg.write(predictions, folder / "predictions.json", "streammapnet")
    mg.write(truth, folder / "truth.json", "maptr-truth")
    few = slice(0, FEW)
    mg.write(predictions.between(few), folder / "few.json", "streammapnet")
    mg.write(truth.between(few), folder / "few-truth.json", "maptr-truth")
    some = slice(0, SOME)
    mg.write(predictions.between(some), folder / "some.json", "streammapnet")
    mg.write(truth.between(some), folder / "some-truth.json", "maptr-truth")
    mg.write(predictions.between(some), folder / "hdmapnet.json", "hdmapnet")
    mg.write(truth.between(some), folder / "truth.pkl", "streammapnet-truth")
    (folder / "others").mkdir()
    generate_others(folder / "others", SOME)


def command(*arguments: str) -> Callable[[Path], Callable[[], str]]:
    """A command line in a process of its own, from the start of Python on. Files of the folder begin with @."""

    def start(folder: Path) -> Callable[[], str]:
        given = [str(folder / word[1:]) if word.startswith("@") else word for word in arguments]

        def work() -> str:
            done = subprocess.run(
                [sys.executable, "-m", "mapgauge", *given], check=True, capture_output=True, text=True, encoding="utf-8"
            )
            return done.stdout or "a file"

        return work

    return start


def first_sospa(_: Path) -> Callable[[], str]:
    """The first SOSPA of a process."""
    return lambda: repr(mg.sospa(np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([[0.0, 0.1], [4.0, 0.5]])))


def evaluate(metrics: tuple[str, ...]) -> Callable[[Path], Callable[[], str]]:
    """An evaluation in memory with one worker."""

    def start(folder: Path) -> Callable[[], str]:
        x, y = mg.read(folder / "predictions.json"), mg.read(folder / "truth.json")
        few = slice(0, 2)
        mg.evaluate(x.between(few), y.between(few), metrics=metrics)
        return lambda: json.dumps(mg.evaluate(x, y, metrics=metrics, workers=1).to_dict()["classes"], sort_keys=True)

    return start


def read(name: str) -> Callable[[Path], Callable[[], str]]:
    """The reading of one file. It is read once before, to load kernels."""

    def start(folder: Path) -> Callable[[], str]:
        mg.read(folder / name)

        def work() -> str:
            frames = mg.read(folder / name)
            columns = (frames.polylines.coords, frames.polylines.offsets, frames.confidence, frames.label)
            return "".join(hashlib.sha256(one.tobytes()).hexdigest() for one in columns if one is not None)

        return work

    return start


def streaming(folder: Path) -> Callable[[], str]:
    """An evaluation of Parquet files, which each version writes for itself, in two processes."""
    own = folder / f"parquet-{hashlib.sha256(str(mg.__file__).encode()).hexdigest()[:8]}"
    own.mkdir(exist_ok=True)
    for name in ("predictions", "truth"):
        if not (own / f"{name}.parquet").exists():
            mg.write(mg.read(folder / f"{name}.json"), own / f"{name}.parquet")

    def work() -> str:
        shutil.rmtree(own / "work", ignore_errors=True)
        results = mg.evaluate(
            own / "predictions.parquet", own / "truth.parquet", engine="processes", workers=2, work=own / "work"
        )
        return json.dumps(results.to_dict()["classes"], sort_keys=True)

    return work


def causes(folder: Path) -> Callable[[], str]:
    """The causes of PLD, from results in memory."""
    x, y = mg.read(folder / "predictions.json"), mg.read(folder / "truth.json")
    few = slice(0, 2)
    split: Any = getattr(mg, "causes" if "causes" in mg.__all__ else "anatomy")  # its earlier name
    split(mg.evaluate(x.between(few), y.between(few)), workers=1)
    results = mg.evaluate(x, y, workers=1)
    return lambda: repr(split(results, workers=1))


def network(folder: Path) -> Callable[[], str]:
    """Network PLD of a few frames."""
    x, y = mg.read(folder / "few.json"), mg.read(folder / "few-truth.json")
    protocol = mg.protocol("paper-60x30", settings={"network_pld": {"break_cost": 0.5}})

    def of(count: int) -> str:
        part = slice(0, count)
        return str(mg.evaluate(x.between(part), y.between(part), protocol, metrics=["network_pld"], workers=1))

    of(1)
    return lambda: of(20)


FILES = ("@predictions.json", "@truth.json")
SOME_FILES = ("@some.json", "@some-truth.json")
FEW_FILES = ("@few.json", "@few-truth.json")
ONE = ("--workers", "1")
DRAWN = 200  # frames of a page
ALL = ("pld", "ap_chamfer", "ap_frechet")

# Versions differ in the text that `evaluate` prints, so its jobs have different outputs. Its CSV is the same. Before
# issue 43, no sentences were printed for more than 100,000 predictions, and pages had 200 drawn frames.
JOBS = {
    "version": Job("`mapgauge --version`", command("--version")),
    "cold-sospa": Job("first `mg.sospa`, nothing compiled", first_sospa, cold=True),
    "cold-evaluate": Job(
        f"first `mapgauge evaluate` ({FEW} frames), nothing compiled", command("evaluate", *FEW_FILES), cold=True
    ),
    "warm-evaluate": Job(f"`mapgauge evaluate` ({FEW} frames)", command("evaluate", *FEW_FILES)),
    "warm-csv": Job(f"`mapgauge evaluate --csv` ({FEW} frames)", command("evaluate", *FEW_FILES, "--csv")),
    "csv-2": Job("`mapgauge evaluate --csv`, two workers", command("evaluate", *FILES, "--csv", "--workers", "2")),
    "csv-1": Job("`mapgauge evaluate --csv`, one worker", command("evaluate", *FILES, "--csv", *ONE)),
    "some-csv": Job(
        f"`mapgauge evaluate --csv`, {SOME:,} frames, one worker", command("evaluate", *SOME_FILES, "--csv", *ONE)
    ),
    "some-answer": Job(f"`mapgauge evaluate`, {SOME:,} frames, one worker", command("evaluate", *SOME_FILES, *ONE)),
    "answer": Job("`mapgauge evaluate`, one worker", command("evaluate", *FILES, *ONE)),
    "some-drawn": Job(
        f"`mapgauge report --frames {DRAWN}`, {SOME:,} frames",
        command("report", *SOME_FILES, "--frames", str(DRAWN), "-o", "@page.html"),
    ),
    "some-report": Job(
        f"`mapgauge evaluate --report`, {SOME:,} frames",
        command("evaluate", *SOME_FILES, "--csv", "--report", "@page.html"),
    ),
    "report": Job(
        "`mapgauge evaluate --report`", command("evaluate", *FILES, "--csv", "--report", "@page.html"), once=True
    ),
    "pld": Job("`mg.evaluate`, PLD, one worker", evaluate(("pld",))),
    "all": Job("`mg.evaluate`, three metrics, one worker", evaluate(ALL)),
    "hdmapnet": Job(f"read HDMapNet JSON, {SOME:,} frames", read("hdmapnet.json")),
    "truth-pickle": Job(f"read a truth pickle, {SOME:,} frames", read("truth.pkl")),
    "maptracker": Job(f"read a pickle of MapTracker, {SOME:,} frames", read("others/pos_predictions.pkl")),
    "vectormapnet": Job(f"read a pickle of VectorMapNet, {SOME:,} frames", read("others/vectormapnet.pkl")),
    "streammapnet": Job(f"read a pickle of StreamMapNet, {SOME:,} frames", read("others/submission_vector.pkl")),
    "openlanev2": Job(
        f"read a pickle of OpenLane-V2, {SOME // LANE_SHARE:,} frames of {LANES} lanes", read("others/result.pkl")
    ),
    "streaming": Job("from Parquet, two processes", streaming),
    "causes": Job("`mg.causes`, one worker", causes),
    "network": Job("network PLD, 20 frames, one worker", network),
}


def _cpu() -> float:
    """Processor seconds of this process and of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(name: str, folder: Path) -> None:
    """Do one job and print its measurements."""
    work = JOBS[name].start(folder)
    wall, cpu = time.perf_counter(), _cpu()
    output = work()
    wall, cpu = time.perf_counter() - wall, _cpu() - cpu
    if not output:
        raise SystemExit(f"{name} has no output")
    digest = hashlib.sha256(output.encode()).hexdigest()
    largest = max(peak_memory(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
    print(json.dumps({"wall": wall, "cpu": cpu, "memory": largest, "output": digest}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
