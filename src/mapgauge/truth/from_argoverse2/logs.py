"""Reads the poses of an Argoverse 2 log and the times of its LiDAR sweeps, in nanoseconds.

``city_SE3_egovehicle.feather`` has the pose of the vehicle at the time of every sensor reading. A frame is a LiDAR
sweep. ``sensors/lidar`` has a file for each sweep, named after its time. The content of the sweeps is not needed, so
poses can stand in for sweeps that were not downloaded.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.errors import UnreadableFile
from mapgauge.files.places import open_file
from mapgauge.geometry.poses import motions

POSES = "city_SE3_egovehicle.feather"
SWEEPS = Path("sensors", "lidar")
COLUMNS = ("timestamp_ns", "qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m")
INTERVAL = 100_000_000  # ns from one sweep to the next
TOLERANCE = 50_000_000  # ns, at most, from a sweep to the nearest pose

Times: TypeAlias = NDArray[np.int64]  # ns


class Poses(NamedTuple):
    """The poses of the vehicle in a log."""

    times: Times  # (n,), ascending
    motions: NDArray[np.float64]  # (n, 4, 4), from vehicle to city coordinates


def read_poses(log: Path) -> Poses:
    """Read all poses of a log."""
    path = log / POSES
    feather = require("pyarrow.feather", "reading the poses of Argoverse 2", "truth")
    if not path.is_file():
        raise UnreadableFile(
            f"{path}: no such file. It contains the poses of the log", remedy="Download it with the sensor data set"
        )
    try:
        with open_file(str(path)) as stream:
            table = feather.read_table(stream)
    except (require("pyarrow", "", "truth").ArrowException, OSError) as error:
        raise UnreadableFile(f"{path}: not a feather file: {error}") from error
    return _poses(table, path)


def _poses(table: Any, path: Path) -> Poses:
    lacking = [name for name in COLUMNS if name not in table.column_names]
    if lacking:
        raise UnreadableFile(
            f"{path}: column {', '.join(lacking)} not found. Expected the columns {', '.join(COLUMNS)}, "
            f"found {', '.join(table.column_names) or 'none'}"
        )
    if not len(table):
        raise UnreadableFile(f"{path}: expected at least one pose, found none")
    columns = []
    for name in COLUMNS:
        values = table[name].to_numpy()
        if table[name].null_count or values.dtype.kind not in ("iu" if name == COLUMNS[0] else "iuf"):
            expected = "whole numbers" if name == COLUMNS[0] else "numbers"
            raise UnreadableFile(
                f"{path}: expected {expected} in column {name}, found {table[name].type} "
                f"with {table[name].null_count} missing values"
            )
        columns.append(values)
    times, first, place = np.unique(columns[0].astype(np.int64), return_index=True, return_inverse=True)
    numbers = np.column_stack([column.astype(np.float64) for column in columns[1:]])
    again = np.flatnonzero(first[place] != np.arange(len(place)))
    differ = again[(numbers[again] != numbers[first[place[again]]]).any(axis=1)]
    if len(differ):
        raise UnreadableFile(f"{path}: two different poses at the time {columns[0][differ[0]]}, expected one")
    numbers = numbers[first]
    made = motions(numbers[:, :4], numbers[:, 4:], f"{path}: pose")
    made[:, :3, :3] = _rotations(numbers[:, :4])
    return Poses(times, made)


def _rotations(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ``(n, 3, 3)`` rotation matrices of quaternions ``w, x, y, z``.

    The steps are those of SciPy, which the development kit of Argoverse 2 uses. A region cuts triangles out of
    crossings, and rounding decides which of their sides is the long side. So the bits must be the same.
    """
    w, x, y, z = (quaternions / np.sqrt((quaternions[:, [1, 2, 3, 0]] ** 2).sum(axis=1))[:, None]).T
    rows = (
        (x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w),
    )
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)


def sweep_times(log: Path) -> Times | None:
    """Return the times of the LiDAR sweeps, ascending, or None if no sweeps are on disk."""
    files = sorted((log / SWEEPS).glob("*.feather"))
    unnamed = next((path for path in files if not re.fullmatch("[0-9]{1,18}", path.stem)), None)
    if unnamed is not None:
        raise UnreadableFile(f"{unnamed}: expected a LiDAR sweep, named after its time in nanoseconds")
    return np.sort(np.array([int(path.stem) for path in files], np.int64)) if files else None


def regular_times(poses: Poses) -> Times:
    """Return the times of the poses nearest to every tenth of a second. They stand in for missing sweeps."""
    grid = np.arange(poses.times[0], poses.times[-1] + 1, INTERVAL)
    return np.unique(poses.times[_nearest(poses.times, grid)])


def poses_at(poses: Poses, times: Times, log: Path) -> NDArray[np.float64]:
    """Return the pose nearest to each time, ``(n, 4, 4)``. One more than 50 ms away is an error."""
    nearest = _nearest(poses.times, times)
    off = np.abs(poses.times[nearest] - times)
    far = np.flatnonzero(off > TOLERANCE)
    if len(far):
        k = int(far[0])
        raise UnreadableFile(
            f"{log / POSES}: the pose nearest to the sweep {times[k]} is {off[k] / 1e6:,.0f} ms away, expected at most "
            f"{TOLERANCE / 1e6:.0f} ms ({len(far)} of {len(off)} sweeps are too far)",
            remedy="Check that the file belongs to this log",
        )
    return poses.motions[nearest]


def _nearest(times: Times, wanted: Times) -> Times:
    """Return the index of the nearest of ``times`` for each wanted time."""
    after = np.searchsorted(times, wanted).clip(max=len(times) - 1)
    before = (after - 1).clip(min=0)
    nearest: Times = np.where(wanted - times[before] <= np.abs(times[after] - wanted), before, after)
    return nearest
