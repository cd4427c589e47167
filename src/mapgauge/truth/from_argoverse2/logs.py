"""When and where: the poses of an Argoverse 2 log and the times of its LiDAR sweeps, in nanoseconds.

``city_SE3_egovehicle.feather`` has the pose of the car at every time at which one of its sensors saw something. A frame
is a LiDAR sweep, and ``sensors/lidar`` has a file for each, named after its time. Nothing else of the sweeps is needed,
so those who did not download them can do with the poses.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.errors import UnreadableFile
from mapgauge.geometry.poses import motions

POSES = "city_SE3_egovehicle.feather"
SWEEPS = Path("sensors", "lidar")
COLUMNS = ("timestamp_ns", "qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m")
SWEEP = 100_000_000  # ns from one sweep to the next
FARTHEST = 50_000_000  # ns from a sweep to the pose nearest to it

Times: TypeAlias = NDArray[np.int64]  # ns


class Poses(NamedTuple):
    """Where the car was."""

    times: Times  # (n,), rising
    motions: NDArray[np.float64]  # (n, 4, 4), from the coordinates of the car to those of the city


def read_poses(log: Path) -> Poses:
    """All poses of a log."""
    path = log / POSES
    feather = require("pyarrow.feather", "reading the poses of Argoverse 2", "truth")
    if not path.is_file():
        raise UnreadableFile(f"{path}: no such file. It has the poses of this log, and is part of the sensor data set")
    try:
        table = feather.read_table(path)
    except (require("pyarrow", "", "truth").ArrowException, OSError) as error:
        raise UnreadableFile(f"{path}: not a feather file: {error}") from error
    return _poses(table, path)


def _poses(table: Any, path: Path) -> Poses:
    lacking = [name for name in COLUMNS if name not in table.column_names]
    if lacking:
        raise UnreadableFile(
            f"{path}: no column {', '.join(lacking)}. Expected {', '.join(COLUMNS)}; "
            f"there are {', '.join(table.column_names) or 'none'}"
        )
    if not len(table):
        raise UnreadableFile(f"{path}: no poses in it")
    columns = []
    for name in COLUMNS:
        values = table[name].to_numpy()
        if table[name].null_count or values.dtype.kind not in ("iu" if name == COLUMNS[0] else "iuf"):
            expected = "whole numbers" if name == COLUMNS[0] else "numbers"
            raise UnreadableFile(
                f"{path}: expected {expected} in column {name}, got {table[name].type} "
                f"with {table[name].null_count} values missing"
            )
        columns.append(values)
    times, first = np.unique(columns[0].astype(np.int64), return_index=True)
    numbers = np.column_stack([column.astype(np.float64) for column in columns[1:]])[first]
    return Poses(times, motions(numbers[:, :4], numbers[:, 4:], f"{path}: pose"))


def sweep_times(log: Path) -> Times | None:
    """Times of the LiDAR sweeps, rising; None if there are none on disk."""
    files = sorted((log / SWEEPS).glob("*.feather"))
    strange = next((path for path in files if not re.fullmatch("[0-9]{1,18}", path.stem)), None)
    if strange is not None:
        raise UnreadableFile(f"{strange}: expected a sweep with its time in nanoseconds as its name")
    return np.sort(np.array([int(path.stem) for path in files], np.int64)) if files else None


def regular_times(poses: Poses) -> Times:
    """Times of the poses nearest to every tenth of a second, from the first pose on: in place of the sweeps."""
    grid = np.arange(poses.times[0], poses.times[-1] + 1, SWEEP)
    return np.unique(poses.times[_nearest(poses.times, grid)])


def poses_at(poses: Poses, times: Times, log: Path) -> NDArray[np.float64]:
    """The pose nearest to each time, ``(n, 4, 4)``; refused if it is more than 50 ms away."""
    nearest = _nearest(poses.times, times)
    off = np.abs(poses.times[nearest] - times)
    far = np.flatnonzero(off > FARTHEST)
    if len(far):
        k = int(far[0])
        raise UnreadableFile(
            f"{log / POSES}: the pose nearest to the sweep {times[k]} is {off[k] / 1e6:,.0f} ms away, expected at most "
            f"{FARTHEST / 1e6:.0f} ms ({len(far)} of {len(off)} sweeps). Is it the file of another log?"
        )
    return poses.motions[nearest]


def _nearest(times: Times, wanted: Times) -> Times:
    """For each wanted time, where the nearest of ``times`` is."""
    after = np.searchsorted(times, wanted).clip(max=len(times) - 1)
    before = (after - 1).clip(min=0)
    nearest: Times = np.where(wanted - times[before] <= np.abs(times[after] - wanted), before, after)
    return nearest
