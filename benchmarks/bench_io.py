"""Measures the speed and the memory of the readers.

Run it with ``make bench-io``. The baseline does what scripts of the field do: ``json.load``, then one numpy array per
polyline. Each file is read in its own process, so that its peak memory is measured alone. The two run in turn, and the
best of each counts. Both must read the same data.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from benchmarks.tables import at_most, heading, machine, peak_memory, row
from numpy.typing import NDArray

import mapgauge as mg

FRAMES, INSTANCES, POINTS = 6019, 75, 20  # nuScenes val, with the output of a typical detector for each frame
ROUNDS = 3
CLASSES = ("ped_crossing", "divider", "boundary")
MAPTR_ID = {"divider": 0, "ped_crossing": 1, "boundary": 2}

Summary = tuple[int, int, float]  # frames, instances, a sum that depends on every coordinate


def generate(folder: Path, frames: int) -> None:
    """Write the same seeded predictions as JSON of StreamMapNet and of MapTR, and as mapgauge's Parquet.

    Coordinates are float32 numbers written as doubles, because networks compute the former and Python writes the
    latter.
    """
    rng = np.random.default_rng(0)
    with (folder / "streammapnet.json").open("w") as ours, (folder / "maptr.json").open("w") as theirs:
        ours.write('{"meta": {"output_format": "vector"}, "results": {')
        theirs.write('{"meta": {"use_lidar": false}, "results": [')
        for i in range(frames):
            starts, steps = rng.uniform(-30, 30, (INSTANCES, 1, 2)), rng.normal(0, 1, (INSTANCES, POINTS, 2))
            vectors = (starts + steps.cumsum(axis=1)).astype(np.float32).astype(np.float64).tolist()
            scores, labels = rng.random(INSTANCES).tolist(), rng.integers(0, 3, INSTANCES).tolist()
            token = f"{i:032x}"
            frame = {"vectors": vectors, "scores": scores, "labels": labels}
            instances = [
                {
                    "pts": points,
                    "pts_num": POINTS,
                    "cls_name": CLASSES[label],
                    "type": MAPTR_ID[CLASSES[label]],
                    "confidence_level": score,
                }
                for points, score, label in zip(vectors, scores, labels, strict=True)
            ]
            comma = ", " if i else ""
            ours.write(f'{comma}"{token}": {json.dumps(frame)}')
            theirs.write(comma + json.dumps({"sample_token": token, "vectors": instances}))
        ours.write("}}")
        theirs.write("]}")
    mg.write(mg.read(folder / "streammapnet.json"), folder / "ours.parquet")


def _weighted(coords: NDArray[np.float64]) -> float:
    """A sum that depends on every coordinate and its position."""
    return float(coords.ravel() @ np.arange(coords.size))


def plain_streammapnet(path: Path) -> object:
    """Read with ``json.load`` and make one array per polyline."""
    with path.open() as file:
        results = json.load(file)["results"]
    return [[np.array(points) for points in frame["vectors"]] for frame in results.values()]


def plain_maptr(path: Path) -> object:
    """Read with ``json.load`` and make one array per polyline."""
    with path.open() as file:
        results = json.load(file)["results"]
    return [[np.array(vector["pts"]) for vector in frame["vectors"]] for frame in results]


def summary(read: object) -> Summary:
    """The values that must be the same for both readers."""
    if isinstance(read, mg.MapFrames):
        return len(read), len(read.polylines), _weighted(read.polylines.coords)
    assert isinstance(read, list)
    lines = [points for frame in read for points in frame]
    return len(read), len(lines), _weighted(np.concatenate(lines))


WAYS: dict[str, Callable[[Path], object]] = {
    "mapgauge": mg.read,
    "plain_streammapnet": plain_streammapnet,
    "plain_maptr": plain_maptr,
}


def child(way: str, path: Path) -> None:
    """Read once in this process and print seconds, megabytes and a summary of the data."""
    if (
        way == "mapgauge"
    ):  # load kernels from disk and import first, so that the clock sees the second file of a session
        mg.read(path.parent / "warm.json")
        if path.suffix == ".parquet":
            mg.read(path.parent / "warm.parquet")
    begin = time.perf_counter()
    read = WAYS[way](path)
    seconds = time.perf_counter() - begin
    print(json.dumps([seconds, peak_memory(), summary(read)]))


def measure(way: str, path: Path) -> tuple[float, float, Summary]:
    """Measure one read in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.bench_io", "--child", way, str(path)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, peak, (frames, instances, checksum) = json.loads(printed)
    return seconds, peak, (frames, instances, checksum)


def verdict(ratio: float, target: float) -> str:
    """A ratio beside its target."""
    return at_most(ratio, round(target, 3), f"{ratio:.3f}")


def main(frames: int) -> None:
    """Generate the files, measure, and print the table."""
    machine("numpy", "numba", "msgspec", "pyarrow", "mapgauge")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm = mg.MapFrames.of({"t": {"divider": [[[0, 0], [1, 1]]]}}).with_confidence(1)
        mg.write(warm, folder / "warm.json", "streammapnet")
        mg.write(warm, folder / "warm.parquet")
        generate(folder, frames)
        rows = [
            ("StreamMapNet JSON", "plain_streammapnet", "streammapnet.json", "streammapnet.json", 1 / 4, 0.7),
            ("MapTR JSON", "plain_maptr", "maptr.json", "maptr.json", 1 / 4, 0.7),
            ("mapgauge Parquet", "plain_streammapnet", "streammapnet.json", "ours.parquet", 1 / 30, 0.7),
        ]
        heading(
            f"Reading {frames:,} frames of {INSTANCES} predictions of {POINTS} points",
            *("file", "MB", "json.load + arrays, s", "mapgauge, s", "time, ratio"),
            *("json.load + arrays, peak MB", "mapgauge, peak MB", "memory, ratio"),
        )
        for title, plain, their_file, our_file, time_target, memory_target in rows:
            best = [[float("inf"), float("inf")], [float("inf"), float("inf")]]
            for _ in range(ROUNDS):
                found = [measure(plain, folder / their_file), measure("mapgauge", folder / our_file)]
                if found[0][2] != found[1][2]:
                    raise SystemExit(f"{title}: the readers disagree: {found[0][2]} and {found[1][2]}")
                for k, (seconds, peak, _) in enumerate(found):
                    best[k] = [min(best[k][0], seconds), min(best[k][1], peak)]
            (their_time, their_peak), (our_time, our_peak) = best
            row(
                title,
                f"{(folder / our_file).stat().st_size / 1e6:.0f}",
                f"{their_time:.2f}",
                f"{our_time:.3f}",
                verdict(our_time / their_time, time_target),
                f"{their_peak:.0f}",
                f"{our_peak:.0f}",
                verdict(our_peak / their_peak, memory_target),
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--child", nargs=2, metavar=("WAY", "PATH"), help="used by the script itself")
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child[0], Path(arguments.child[1]))
    else:
        main(arguments.frames)
