"""Frames to train on: the demo world, and real road maps cut with ``mapgauge truth``; as rasters and padded lines."""

import json
import shutil
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mapgauge as mg

CLASSES = ("ped_crossing", "divider", "boundary")
SIZE = np.array([60.0, 30.0])  # metres
CELL = 0.5  # metres
PARTS = ("train", "validation", "test")
FAR, EDGE = 36.0, 12.0  # metres: more than half the diagonal of a frame; from the edge of a map
NORTH = 0.62  # share of the first map that is south of the line between validation and test


@dataclass(frozen=True)
class Frames:
    """Frames as arrays: what the network sees before noise, and what it learns."""

    masks: NDArray[np.uint8]  # (frames, classes, rows, columns)
    points: NDArray[np.float32]  # (frames, lines, points, 2) in metres
    labels: NDArray[np.int64]  # (frames, lines), -1 for padding
    closed: NDArray[np.bool_]  # (frames, lines)

    def save(self, path: Path) -> None:
        """Write the arrays."""
        np.savez(path, masks=self.masks, points=self.points, labels=self.labels, closed=self.closed)

    @staticmethod
    def load(path: Path) -> "Frames":
        """Read the arrays."""
        with np.load(path) as file:
            return Frames(**file)


def frames_of(truth: mg.MapFrames, points: int) -> Frames:
    """Draw the lines of frames as rasters, and resample them to a number of points."""
    columns, rows = (SIZE / CELL).astype(int)
    count, most = len(truth.tokens), int(np.diff(truth.offsets).max())
    masks = np.zeros((count, len(CLASSES), rows, columns), np.uint8)
    lines = np.zeros((count, most, points, 2), np.float32)
    labels, closed = np.full((count, most), -1), np.zeros((count, most), bool)
    for frame, (start, stop) in enumerate(pairwise(truth.offsets)):
        for k, i in enumerate(range(start, stop)):
            line, label = truth.polylines[i], truth.label[i]
            ring = len(line) > 3 and bool(np.allclose(line[0], line[-1]))
            # A ring has as many different points as a line. Its closing point is left out.
            lines[frame, k] = mg.resample(line, count=points + ring)[:points]
            labels[frame, k], closed[frame, k] = label, ring
            column, row = ((mg.resample(line, spacing=CELL / 2) + SIZE / 2) / CELL).astype(int).T
            masks[frame, label, row.clip(0, rows - 1), column.clip(0, columns - 1)] = 1
    return Frames(masks, lines, labels, closed)


def demo_truth(counts: tuple[int, int, int]) -> dict[str, mg.MapFrames]:
    """Frames of the demo world by part. The parts have different seeds, so no scene is in two of them."""
    parts = enumerate(zip(PARTS, counts, strict=True))
    return {part: mg.demo.demo_world(count, seed=seed, predictions=0)[1] for seed, (part, count) in parts}


def road_truth(folder: Path, counts: tuple[int, int, int]) -> dict[str, mg.MapFrames]:
    """Frames of real roads by part, as ``cut_roads`` wrote them."""
    parts = zip(PARTS, counts, strict=True)
    return {part: mg.read(folder / f"{part}.geojson.gz").as_classes(CLASSES).between(slice(n)) for part, n in parts}


def cut_roads(source: Path, folder: Path, counts: tuple[int, int, int]) -> None:
    """Cut frames from two logs of Argoverse 2 at poses all over their maps, not only where the vehicle drove.

    The first log has the frames to validate (north) and to test (south). No point of the map is in frames of both. The
    second log has the frames to train.
    """
    folder.mkdir(parents=True, exist_ok=True)
    held_out, train = sorted(path for path in source.iterdir() if path.is_dir())[:2]
    rng = np.random.default_rng(0)
    for part, log, count in zip(PARTS, (train, held_out, held_out), counts, strict=True):
        poses = _lane_poses(log, rng)
        if log == held_out:
            south, north = poses[:, 1].min(), poses[:, 1].max()
            line = south + NORTH * (north - south)
            poses = poses[poses[:, 1] > line + FAR] if part == "validation" else poses[poses[:, 1] < line - FAR]
        chosen = poses[rng.integers(len(poses), size=count)]
        chosen += rng.normal(0, (1.5, 1.5, 0.2), chosen.shape) + rng.integers(0, 2, (count, 1)) * (0, 0, np.pi)
        with tempfile.TemporaryDirectory() as place:
            copy = Path(place) / log.name
            shutil.copytree(log, copy)
            _write_poses(copy / "city_SE3_egovehicle.feather", chosen)
            frames = mg.truth.argoverse2(place, rules="maptracker", scenes=[log.name])
        mg.write(frames.as_classes(CLASSES), folder / f"{part}.geojson.gz")


def _lane_poses(log: Path, rng: np.random.Generator) -> NDArray[np.float64]:
    """Places and directions along all lanes of a log that are not at the edge of its map: ``(poses, 3)``."""
    lanes = json.loads(next(log.rglob("log_map_archive_*.json")).read_text(encoding="utf-8"))["lane_segments"]
    poses = []
    for lane in lanes.values():
        sides = (np.array([[p["x"], p["y"]] for p in lane[f"{side}_lane_boundary"]]) for side in ("left", "right"))
        left, right = (mg.resample(side, count=12) for side in sides)
        steps = np.diff((left + right) / 2, axis=0)
        poses.append(np.column_stack([(left + right)[:-1] / 2, np.arctan2(steps[:, 1], steps[:, 0])]))
    every = np.concatenate(poses)
    low, high = every[:, :2].min(0) + EDGE, every[:, :2].max(0) - EDGE
    inside = ((every[:, :2] > low) & (every[:, :2] < high)).all(1)
    return rng.permutation(every[inside])


def _write_poses(path: Path, poses: Any) -> None:
    import pyarrow
    from pyarrow import feather

    turn = poses[:, 2] / 2
    zeros = np.zeros(len(poses))
    times = np.arange(len(poses), dtype=np.int64) * 100_000_000
    columns = {"qw": np.cos(turn), "qx": zeros, "qy": zeros, "qz": np.sin(turn)}
    table = {"timestamp_ns": times, **columns, "tx_m": poses[:, 0], "ty_m": poses[:, 1], "tz_m": zeros}
    feather.write_feather(pyarrow.table(table), path)
