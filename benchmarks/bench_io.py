"""Measures the speed and the memory of the readers.

Run it with ``make bench-io``. The baseline does what scripts of the field do: ``json.load`` or ``pickle.load``, then
one numpy array per polyline. Each file is read in its own process, so that its peak memory is measured alone. Files
are read up to three times, and the best counts. Both must read the same data.
"""

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.tables import at_most, heading, machine, peak_memory, row
from numpy.typing import NDArray

import mapgauge as mg
from mapgauge.frames.links import Links

FRAMES, INSTANCES, POINTS = 6019, 75, 20  # nuScenes val, with the output of a typical detector for each frame
ROUNDS, SECONDS = 3, 5.0  # runs of a file, while they take less than this together
CLASSES = ("ped_crossing", "divider", "boundary")
LANES, LANE_SHARE = 200, 5  # lanes of a frame of OpenLane-V2; one such frame for each five of the others
MAPTR_ID = {"divider": 0, "ped_crossing": 1, "boundary": 2}

Summary = tuple[int, int, float]  # frames, instances, a sum that depends on every coordinate


def generate(folder: Path, frames: int) -> None:
    """Write the same seeded predictions as JSON of StreamMapNet and of MapTR, and as mapgauge's Parquet.

    Coordinates are float32 numbers written as doubles, because networks compute the former and Python writes the
    latter.
    """
    rng = np.random.default_rng(0)
    with (
        (folder / "streammapnet.json").open("w", encoding="utf-8") as ours,
        (folder / "maptr.json").open("w", encoding="utf-8") as theirs,
    ):
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


def generate_others(folder: Path, frames: int) -> None:
    """Write the formats that are JSON of single instances or pickles, as their programs write them.

    OpenLane-V2's predictions have 200 lanes with a score for each pair of them.
    """
    rng = np.random.default_rng(0)
    hdmapnet, tracks, vectormapnet, results, truth, lanes = {}, [], {}, {}, {}, {}
    for i in range(frames):
        token, scene = f"{i:032x}", f"scene-{i // 40:04d}"
        lines = _lines(rng, INSTANCES, 2)
        scores, labels = rng.random(INSTANCES), rng.integers(0, 3, INSTANCES)
        hdmapnet[token] = [
            {"pts": points.tolist(), "pts_num": POINTS, "type": label, "confidence_level": score}
            for points, label, score in zip(lines, labels.tolist(), scores.tolist(), strict=True)
        ]
        vectormapnet[token] = {
            "vectors": [one | {"pts": points} for one, points in zip(hdmapnet[token], lines, strict=True)]
        }
        truth[token] = {label: list(_lines(rng, 8, 2)) for label in range(3)}
        results[token] = {
            "vectors": list(lines.astype(np.float32)),
            "scores": scores.astype(np.float32),
            "labels": labels,
        }
        tracks.append(
            {
                "vectors": lines.reshape(INSTANCES, -1),
                "labels": labels,
                "scores": scores.astype(np.float32),
                "global_ids": rng.permutation(300)[:INSTANCES],
                "scene_name": scene,
                "local_idx": i % 40,
                "meta": {
                    "token": token,
                    "ego2global_translation": rng.normal(size=3).tolist(),
                    "ego2global_rotation": np.eye(3).tolist(),
                },
            }
        )
    with (folder / "hdmapnet.json").open("w", encoding="utf-8") as file:
        file.write(json.dumps({"meta": {"vector": True}, "results": hdmapnet}))  # faster than json.dump
    _dump(tracks, folder / "pos_predictions.pkl")
    _dump(
        {"results": vectormapnet, "groundTruth": {token: {"vectors": []} for token in vectormapnet}},
        folder / "vectormapnet.pkl",
    )
    _dump({"meta": {"output_format": "vector"}, "results": results}, folder / "submission_vector.pkl")
    _dump(truth, folder / "tmp_gts.pkl")
    for i in range(frames // LANE_SHARE):
        instances = [
            {"id": k, "points": points, "confidence": score}
            for k, (points, score) in enumerate(
                zip(_lines(rng, LANES, 3).astype(np.float32), rng.random(LANES, np.float32), strict=True)
            )
        ]
        scores = rng.uniform(0.001, 1, (LANES, LANES)).astype(np.float32)
        predictions = {"lane_centerline": instances, "traffic_element": [], "topology_lclc": scores}
        predictions["topology_lcte"] = np.zeros((LANES, 0), np.float32)
        lanes["val", f"{i // 40:05d}", f"{315971916927482490 + i}"] = {"predictions": predictions}
    _dump({"method": "none", "results": lanes}, folder / "result.pkl")


def _lines(rng: np.random.Generator, count: int, dimension: int) -> NDArray[np.float64]:
    """Random polylines."""
    steps = rng.normal(0, 1, (count, POINTS, dimension))
    lines: NDArray[np.float64] = rng.uniform(-30, 30, (count, 1, dimension)) + steps.cumsum(axis=1)
    return lines


def _dump(document: object, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(document, file)


def _weighted(coords: NDArray[np.float64]) -> float:
    """A sum that depends on every coordinate and its position."""
    return float(coords.ravel() @ np.arange(coords.size))


def plain_streammapnet(path: Path) -> object:
    """Read with ``json.load`` and make one array per polyline."""
    with path.open(encoding="utf-8") as file:
        results = json.load(file)["results"]
    return [[np.array(points) for points in frame["vectors"]] for frame in results.values()]


def plain_maptr(path: Path) -> object:
    """Read with ``json.load`` and make one array per polyline."""
    with path.open(encoding="utf-8") as file:
        results = json.load(file)["results"]
    return [[np.array(vector["pts"]) for vector in frame["vectors"]] for frame in results]


def plain_hdmapnet(path: Path) -> object:
    """Read with ``json.load`` and make one array per polyline."""
    with path.open(encoding="utf-8") as file:
        results = json.load(file)["results"]
    return [[np.array(vector["pts"]) for vector in frame] for frame in results.values()]


def plain_tracks(path: Path) -> object:
    """Read with ``pickle.load``, make one array per polyline and one name per track."""
    frames = pickle.loads(path.read_bytes())
    for frame in frames:
        frame["tracks"] = [
            f"{frame['scene_name']}/{CLASSES[label]}/{number}"
            for label, number in zip(frame["labels"], frame["global_ids"], strict=True)
        ]
    return [[points.reshape(-1, 2) for points in frame["vectors"]] for frame in frames]


def plain_vectormapnet(path: Path) -> object:
    """Read with ``pickle.load`` and collect the arrays."""
    results = pickle.loads(path.read_bytes())["results"]
    return [[np.array(vector["pts"]) for vector in frame["vectors"]] for frame in results.values()]


def plain_results(path: Path) -> object:
    """Read with ``pickle.load`` and collect the arrays."""
    results = pickle.loads(path.read_bytes())["results"]
    return [[np.array(points, np.float64) for points in frame["vectors"]] for frame in results.values()]


def plain_truth(path: Path) -> object:
    """Read with ``pickle.load`` and collect the arrays."""
    document = pickle.loads(path.read_bytes())
    return [[np.array(points) for group in frame.values() for points in group] for frame in document.values()]


def plain_openlanev2(path: Path) -> object:
    """Read with ``pickle.load``, make one array per lane and list the links of each frame."""
    frames = [frame["predictions"] for frame in pickle.loads(path.read_bytes())["results"].values()]
    for frame in frames:
        source, target = np.nonzero(frame["topology_lclc"])
        frame["links"] = source, target, frame["topology_lclc"][source, target].astype(np.float64)
    return [[np.array(lane["points"], np.float64) for lane in frame["lane_centerline"]] for frame in frames]


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
    "plain_hdmapnet": plain_hdmapnet,
    "plain_tracks": plain_tracks,
    "plain_vectormapnet": plain_vectormapnet,
    "plain_results": plain_results,
    "plain_truth": plain_truth,
    "plain_openlanev2": plain_openlanev2,
}


WARM = {  # small files of the same kind
    ".json": ("warm.json",),
    ".parquet": ("warm.json", "warm.parquet"),
    ".pkl": ("warm.pkl", "warm_lanes.pkl"),
}


def child(way: str, path: Path) -> None:
    """Read once in this process and print seconds, megabytes and a summary of the data."""
    if way == "mapgauge":  # load kernels and import first, so that the clock sees the second file of a session
        for name in WARM[path.suffix]:
            mg.read(path.parent / name)
    begin = time.perf_counter()
    read = WAYS[way](path)
    seconds = time.perf_counter() - begin
    print(json.dumps([seconds, peak_memory(), summary(read)]))


class Read(NamedTuple):
    """One read in a fresh process."""

    seconds: float
    peak: float  # MB
    content: Summary


def runs(way: str, path: Path) -> list[Read]:
    """Read a file some times, each in a fresh process. Reads that take long are not repeated."""
    command = [sys.executable, "-m", "benchmarks.bench_io", "--child", way, str(path)]
    found: list[Read] = []
    while len(found) < ROUNDS and sum(run.seconds for run in found) < SECONDS:
        printed = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout
        seconds, peak, content = json.loads(printed)
        found.append(Read(seconds, peak, tuple(content)))
    return found


def verdict(ratio: float, target: float) -> str:
    """A ratio beside its target."""
    return at_most(ratio, round(target, 3), f"{ratio:.3f}")


class Row(NamedTuple):
    """A row of a table: the baseline with its file, and the file that mapgauge reads."""

    title: str
    plain: str
    their_file: str
    our_file: str
    time: float  # the largest ratios
    memory: float


ROWS = (
    Row("StreamMapNet JSON", "plain_streammapnet", "streammapnet.json", "streammapnet.json", 1 / 4, 0.7),
    Row("MapTR JSON", "plain_maptr", "maptr.json", "maptr.json", 1 / 4, 0.7),
    # The baseline reads the JSON of StreamMapNet.
    Row("mapgauge Parquet", "plain_streammapnet", "streammapnet.json", "ours.parquet", 1 / 30, 0.7),
    Row("HDMapNet JSON", "plain_hdmapnet", "hdmapnet.json", "hdmapnet.json", 1 / 4, 0.7),
    Row("MapTracker tracks", "plain_tracks", "pos_predictions.pkl", "pos_predictions.pkl", 1.0, 2.0),
    Row("VectorMapNet pickle", "plain_vectormapnet", "vectormapnet.pkl", "vectormapnet.pkl", 1.0, 2.0),
    Row("StreamMapNet pickle", "plain_results", "submission_vector.pkl", "submission_vector.pkl", 1.0, 2.0),
    Row("StreamMapNet truth", "plain_truth", "tmp_gts.pkl", "tmp_gts.pkl", 1.0, 2.0),
    Row("OpenLane-V2 results", "plain_openlanev2", "result.pkl", "result.pkl", 1.0, 2.0),
)


def main(frames: int) -> None:
    """Generate the files, measure, and print the table."""
    machine("numpy", "numba", "msgspec", "pyarrow", "mapgauge")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm = mg.MapFrames.of({"t": {"divider": [[[0, 0], [1, 1]]]}}).with_confidence(1)
        mg.write(warm, folder / "warm.json", "streammapnet")
        mg.write(warm, folder / "warm.parquet")
        mg.write(warm, folder / "warm.pkl", "streammapnet-truth")
        lanes = mg.MapFrames.of({"t": {"centerline": [[[0, 0, 0], [1, 1, 0]]]}}).with_confidence(1)
        mg.write(replace(lanes, links=Links.of([], [])), folder / "warm_lanes.pkl", "openlanev2")
        generate(folder, frames)
        generate_others(folder, frames)
        heading(
            f"Reading {frames:,} frames of {INSTANCES} predictions of {POINTS} points",
            *("file", "size", "baseline", "mapgauge", "ratio"),
            *("peak memory of the baseline", "of mapgauge", "ratio of memory"),
        )
        measured: dict[str, list[Read]] = {}
        for one in ROWS:
            compare(one, folder, measured)


def compare(one: Row, folder: Path, measured: dict[str, list[Read]]) -> None:
    """Print a row. ``measured`` keeps the runs of the baselines, which two rows may need."""
    if one.plain not in measured:
        measured[one.plain] = runs(one.plain, folder / one.their_file)
    theirs = measured[one.plain]
    ours = runs("mapgauge", folder / one.our_file)
    if any(run.content != theirs[0].content for run in ours):
        raise SystemExit(f"{one.title}: the readers disagree: {theirs[0].content} and {ours[0].content}")
    their_time, our_time = (min(run.seconds for run in some) for some in (theirs, ours))
    their_peak, our_peak = (min(run.peak for run in some) for some in (theirs, ours))
    row(
        one.title,
        f"{(folder / one.our_file).stat().st_size / 1e6:.0f} MB",
        f"{their_time:.2f} s",
        f"{our_time:.2f} s",
        verdict(our_time / their_time, one.time),
        f"{their_peak:,.0f} MB",
        f"{our_peak:,.0f} MB",
        verdict(our_peak / their_peak, one.memory),
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
