"""Measures the speed and the cost of evaluating more frames than fit into memory.

Run it with ``make bench-cluster``. Frames are generated (``mapgauge.demo``: 75 predictions of 20 points and about 12
true instances each). A block of them is repeated with other names and confidences and written as two Parquet data sets.
Two workers evaluate a tenth of the frames and all of them, to see what grows, in processes and on a local Dask cluster.
The baseline is the evaluation of that tenth in memory with as many threads. All three must give the same bits. Every
evaluation runs in its own process, so that its memory is measured alone. They run in turn, and the best of each counts.
"""

import argparse
import hashlib
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil  # type: ignore[import-untyped]
from benchmarks.tables import at_most, heading, machine, peak_memory, row

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.evaluation.streaming.plan import plan_of
from mapgauge.io.dataset import DatasetWriter, open_dataset
from mapgauge.results.folder import Folder
from mapgauge.results.loading import results_of

FRAMES = 100_000
BLOCK = 2_000  # frames that are generated; all other frames repeat them
WORKERS = 2
PROTOCOL = mg.protocol("paper-60x30")
ENGINES = ("processes", "dask")
SIDES = ("predictions", "truth")
RUNS = 8  # sorted runs on disk of the largest class, to measure the sort on disk
SAMPLES = 20  # readings of the memory of workers per second

# Targets on the development machine.
OVERHEAD = 0.10  # largest share of the processor time that is not spent in scoring
FLAT = 1.2  # largest ratio of a worker's memory with all frames to its memory with a tenth of them


@dataclass(frozen=True)
class Run:
    """The measurements of one evaluation. An evaluation in memory sets the first five only."""

    frames: int
    seconds: float  # of the whole call
    cpu: float  # seconds of all processes
    driver: float  # peak, MB
    values: str  # of all metrics and classes, with all digits
    worker: float = 0  # highest peak of any worker, MB
    reading: float = 0  # processor seconds of all workers
    scoring: float = 0  # processor seconds of all workers
    opening: float = 0  # seconds of the driver: reading all footers and planning
    keeping: float = 0  # seconds of the driver: receiving and writing the results of workers
    merging: float = 0  # seconds of the driver until the summary of all metrics
    sorting: float = 0  # seconds of the driver: the same if average precision needs the sort on disk
    adding: float = 0  # seconds of the driver: reading all rows once, which is a merge without average precision
    chunks: int = 0
    returned: int = 0  # bytes that workers return
    kept: int = 0  # bytes in the work folder


def write(folder: Path, frames: int) -> None:
    """Write two data sets of this many frames, block by block."""
    predictions, truth = demo_world(min(BLOCK, frames))
    # Networks compute float32 numbers, which take less space.
    lines = replace(predictions.polylines, coords=predictions.polylines.coords.astype(np.float32).astype(np.float64))
    block = replace(predictions, polylines=lines, timestamps=None, poses=None), truth
    writers = [DatasetWriter(folder / side) for side in SIDES]
    rng = np.random.default_rng(0)
    for first in range(0, frames, len(block[1])):
        part = slice(0, min(len(block[1]), frames - first))
        for writer, side in zip(writers, block, strict=True):
            writer.add(_again(side.between(part), first, rng), f"part-{first:09}")
    for writer in writers:
        writer.finish()


def _again(frames: mg.MapFrames, first: int, rng: np.random.Generator) -> mg.MapFrames:
    """The frames with new names and confidences; tokens are as long as those of nuScenes."""
    scenes = tuple(f"{first:09}-{scene}" for scene in frames.scenes or ())
    tokens = tuple(hashlib.blake2b(f"{first}{t}".encode(), digest_size=16).hexdigest() for t in frames.tokens)
    if frames.confidence is None:
        return replace(frames, tokens=tokens, scenes=scenes)
    confidence = frames.confidence * rng.uniform(0.99, 1, len(frames.confidence))
    confidence = confidence.astype(np.float32).astype(np.float64)
    return replace(frames, tokens=tokens, scenes=scenes, confidence=confidence)


@contextmanager
def watched() -> Iterator[list[float]]:
    """Track the highest memory, in MB, of any process that this process starts in the meantime."""
    me, peaks, over = psutil.Process(), [0.0], threading.Event()

    def look() -> None:
        while not over.wait(1 / SAMPLES):
            for process in me.children(recursive=True):
                try:
                    peaks[0] = max(peaks[0], _peak_of(process.pid) or process.memory_info().rss / 2**20)
                except (psutil.Error, OSError):
                    continue  # the process has just ended

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peaks
    finally:
        over.set()
        thread.join()


def _peak_of(pid: int) -> float:
    """The highest memory of a process so far, in MB; 0 if the system does not provide it."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text(encoding="utf-8").splitlines() if status.exists() else []
    return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def _cpu() -> float:
    """Processor time in seconds of this process and of its ended child processes."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def child(engine: str, folder: Path) -> None:
    """Evaluate once in this process and print the measurements."""
    mg.evaluate(*demo_world(1), PROTOCOL, workers=1)  # compile outside the clock
    predictions, truth = (folder / side for side in SIDES)
    run = in_memory(predictions, truth) if engine == "memory" else streamed(predictions, truth, engine, folder)
    print(json.dumps(asdict(run)))


def in_memory(predictions: Path, truth: Path) -> Run:
    """Evaluate in memory. The frames are read before the clock starts."""
    x, y = mg.read(predictions), mg.read(truth)
    cpu, begin = _cpu(), time.perf_counter()
    values = _values(mg.evaluate(x, y, PROTOCOL, workers=WORKERS))
    return Run(len(y), time.perf_counter() - begin, _cpu() - cpu, peak_memory(), values)


def streamed(predictions: Path, truth: Path, engine: str, folder: Path) -> Run:
    """Evaluate data sets, then repeat each part of the driver's work alone."""
    work = folder / "work"
    cpu, begin = _cpu(), time.perf_counter()
    with watched() as peaks:
        results = mg.evaluate(predictions, truth, PROTOCOL, engine=engine, workers=WORKERS, work=work)
    values = _values(results)
    seconds, cpu, driver = time.perf_counter() - begin, _cpu() - cpu, peak_memory()
    limit = max(1, int(results.totals.predicted.max()) // RUNS)
    frames, chunks, returned, keeping, reading, scoring = 0, 0, 0, 0.0, 0.0, 0.0
    for chunk in Folder(work).chunks():
        message = pickle.dumps(chunk, 5)
        keeping += timed(partial(_keep, folder / "again", chunks, message))
        frames, chunks, returned = frames + len(chunk.header.tokens), chunks + 1, returned + len(message)
        reading, scoring = reading + chunk.header.seconds[0], scoring + chunk.header.seconds[1]
    return Run(
        *(frames, seconds, cpu, driver, values, peaks[0], reading, scoring),
        opening=timed(lambda: plan_of(open_dataset(predictions), open_dataset(truth))),
        keeping=keeping,
        merging=timed(lambda: mg.load_results(work)),
        sorting=timed(lambda: results_of(Folder(work), limit=limit)),
        adding=timed(lambda: sum(len(chunk.header.tokens) for chunk in Folder(work).chunks())),
        chunks=chunks,
        returned=returned,
        kept=_size(work),
    )


def timed(job: Callable[[], object]) -> float:
    """Run time of a job in seconds."""
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def _keep(folder: Path, index: int, message: bytes) -> None:
    """Do what the driver does with the result of a worker."""
    folder.mkdir(exist_ok=True)
    Folder(folder).keep(index, pickle.loads(message))


def _values(results: mg.Results) -> str:
    return repr((results.mean, results.classes))


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure(engine: str, folder: Path) -> Run:
    """Measure one evaluation in a fresh process and remove its output."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name)
        for side in SIDES:
            (place / side).symlink_to(folder / side)
        command = [sys.executable, "-m", "benchmarks.bench_cluster", "--child", engine, name]
        printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout
    return Run(**json.loads(printed.splitlines()[-1]))


def best(runs: list[Run]) -> Run:
    """The fastest run."""
    return min(runs, key=lambda run: run.seconds)


def show_speed(runs: dict[str, Run], memory: Run) -> None:
    """Print frames per second beside the evaluation in memory."""
    heading(
        f"{runs[ENGINES[0]].frames:,} frames from Parquet, {WORKERS} workers, protocol {PROTOCOL.name}",
        *("engine", "time", "frames/s", "frames/s, ratio to memory", "processor time per million frames"),
    )
    base = memory.frames / memory.seconds
    row(
        f"in memory, {memory.frames:,} of the frames, threads",
        f"{memory.seconds:.1f} s",
        f"{base:,.0f}",
        "1",
        f"{1e6 * memory.cpu / memory.frames:,.0f} s",
    )
    for engine, run in runs.items():
        speed = run.frames / run.seconds
        row(
            f"`{engine}`",
            f"{run.seconds:.1f} s",
            f"{speed:,.0f}",
            f"{speed / base:.2f}",
            f"{1e6 * run.cpu / run.frames:,.0f} s",
        )


def show_shares(runs: dict[str, Run]) -> None:
    """Print where the processor time of all processes goes. Other programs on the machine change it little."""
    heading(
        "Shares of the processor time of all processes",
        *("engine", "scoring", "reading and aligning", "hashing, starting, handing out, writing, merging"),
        *("all but scoring", "all but scoring, s per 100,000 frames"),
    )
    for engine, run in runs.items():
        rest = run.cpu - run.scoring
        shares = [f"{part / run.cpu:.1%}" for part in (run.scoring, run.reading, rest - run.reading)]
        outside = at_most(rest / run.cpu, OVERHEAD, f"{rest / run.cpu:.2f}")
        row(f"`{engine}`", *shares, outside, f"{1e5 * rest / run.frames:.1f}")


def show_memory(small: dict[str, Run], large: dict[str, Run]) -> None:
    """Print how memory grows with the number of frames."""
    few, many = (next(iter(runs.values())).frames for runs in (small, large))
    heading(
        "Peak memory of a process, MB",
        *("engine", f"worker, {few:,} frames", f"worker, {many:,} frames", "ratio"),
        *(f"driver, {few:,} frames", f"driver, {many:,} frames"),
    )
    for engine in ENGINES:
        a, b = small[engine], large[engine]
        ratio = b.worker / a.worker
        sizes = (f"{value:.0f}" for value in (a.worker, b.worker))
        row(f"`{engine}`", *sizes, at_most(ratio, FLAT, f"{ratio:.2f}"), f"{a.driver:.0f}", f"{b.driver:.0f}")


def show_costs(folder: Path, run: Run) -> None:
    """Print bytes and seconds per frame and per million frames."""
    heading("Costs", "what", "per frame", "per million frames")
    for side in SIDES:
        _bytes(f"{side} in Parquet", _size(folder / side) / run.frames)
    _bytes("returned by workers", run.returned / run.frames)
    _bytes("kept in the folder", run.kept / run.frames)
    for what, seconds in (
        ("workers: scoring", run.scoring),
        ("workers: reading and aligning", run.reading),
        ("driver: footers and plan", run.opening),
        ("driver: receiving and writing rows", run.keeping),
        ("driver: merging", run.merging),
        ("driver: merging, with the sort on disk", run.sorting),
        ("driver: merging without AP", run.adding),
    ):
        row(what, f"{1e3 * seconds / run.frames:.3f} ms", f"{1e6 * seconds / run.frames:,.0f} s")
    row("chunks", "", f"{1e6 * run.chunks / run.frames:,.0f}")
    sides = [open_dataset(folder / side) for side in SIDES]
    stored = sum(group.rows for side in sides for group in side.groups)
    read = sum(chunk.rows for chunk in plan_of(*sides).chunks)
    row("rows read, ratio to rows stored", f"{read / stored:.2f}", "")


def _bytes(name: str, amount: float) -> None:
    row(name, f"{amount:,.0f} B", f"{amount / 1e3:.2f} GB")


def main(frames: int, rounds: int) -> None:
    """Generate the data sets, measure, and print the tables."""
    machine("numpy", "numba", "pyarrow", "distributed", "mapgauge")
    with tempfile.TemporaryDirectory(prefix="mapgauge-bench-") as name:
        small, large = Path(name) / "small", Path(name) / "large"
        begin = time.perf_counter()
        write(small, max(frames // 10, 1))
        write(large, frames)
        print(f"\n{frames:,} frames and a tenth of them, generated and written in {time.perf_counter() - begin:.0f} s")
        runs: dict[tuple[str, Path], list[Run]] = {}
        for _ in range(rounds):
            for engine, place in (
                *(("memory", small), *((engine, small) for engine in ENGINES)),
                *(("memory", small), *((engine, large) for engine in ENGINES)),
            ):
                runs.setdefault((engine, place), []).append(measure(engine, place))
        for place in (small, large):
            found = {run.values for (_, where), some in runs.items() if where == place for run in some}
            if len(found) > 1:
                raise SystemExit(f"engines differ on {place.name}, expected the same values: {found}")
        few, many = ({engine: best(runs[engine, place]) for engine in ENGINES} for place in (small, large))
        show_speed(many, best(runs["memory", small]))
        show_shares(many)
        show_memory(few, many)
        show_costs(large, many[ENGINES[0]])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--child", nargs=2, metavar=("ENGINE", "FOLDER"), help="used by the script itself")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]))
    else:
        main(arguments.frames, arguments.rounds)
