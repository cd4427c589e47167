"""Reads the images of keyframes from the tables of nuScenes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from mapgauge.cameras.rig import CameraImage, RigFrame
from mapgauge.errors import UnreadableFile
from mapgauge.geometry.poses import motions
from mapgauge.io.files.source import is_plain_file
from mapgauge.truth.from_nuscenes.tables import find_records, read_table, records_by_token
from mapgauge.typing import Floats
from mapgauge.words import counted

LIDAR = "LIDAR_TOP"
# The files of keyframes are in a folder of their own, so the search need not decode other records.
_KEYFRAMES = rb'"filename"\s*:\s*"samples/(?:CAM_[A-Z_]+|' + LIDAR.encode() + b")/"


class _CameraSample(msgspec.Struct):
    token: str
    scene_token: str = ""


class _CameraScene(msgspec.Struct):
    token: str
    name: str


class _CameraSensor(msgspec.Struct):
    token: str
    channel: str


class _CameraData(msgspec.Struct):
    sample_token: str
    ego_pose_token: str
    calibrated_sensor_token: str
    timestamp: int
    is_key_frame: bool
    filename: str
    width: int = 0
    height: int = 0


class _CameraPose(msgspec.Struct):
    token: str
    translation: tuple[float, float, float]
    rotation: tuple[float, float, float, float]


class _Mount(_CameraPose, kw_only=True):
    sensor_token: str
    camera_intrinsic: list[list[float]]


P = TypeVar("P", bound=_CameraPose)


def read_frames(versions: Sequence[Path], tokens: set[str]) -> dict[str, RigFrame]:
    """Return the images of samples by token, from the folder of tables that has most of the samples."""
    samples = {
        folder: {row.token: row for row in read_table(folder / "sample.json", _CameraSample) if row.token in tokens}
        for folder in versions
    }
    tables = max(versions, key=lambda folder: len(samples[folder]))
    wanted = samples[tables]
    if not wanted:
        return {}
    channel = {row.token: row.channel for row in read_table(tables / "sensor.json", _CameraSensor)}
    mounts = _by_token(tables / "calibrated_sensor.json", read_table(tables / "calibrated_sensor.json", _Mount))
    cameras = {token: _matrix(tables, row) for token, row in mounts.items() if row.camera_intrinsic}
    name = {token: channel.get(row.sensor_token, row.sensor_token) for token, row in mounts.items()}
    lidars = {token for token, called in name.items() if called == LIDAR}

    def keyframes(rows: Iterable[_CameraData]) -> tuple[dict[str, _CameraData], dict[tuple[str, str], _CameraData]]:
        """Return the sweep of each sample, and the image of each sample and camera."""
        used = [row for row in rows if row.is_key_frame and row.sample_token in wanted]
        sweeps = {row.sample_token: row for row in used if row.calibrated_sensor_token in lidars}
        shots = [row for row in used if row.calibrated_sensor_token in cameras]
        return sweeps, {(row.sample_token, name[row.calibrated_sensor_token]): row for row in shots}

    def complete(rows: list[_CameraData]) -> bool:
        sweeps, images = keyframes(rows)
        return len(sweeps) == len(wanted) and bool(images)

    path = tables / "sample_data.json"
    sweeps, images = keyframes(find_records(path, _CameraData, _KEYFRAMES, wanted=None, complete=complete))
    if lacking := sorted(wanted.keys() - sweeps.keys()):
        raise UnreadableFile(
            f"{path}: no keyframe of {LIDAR} for {counted(len(lacking), 'sample')} ({lacking[0]}, ...)"
        )
    ego_poses = _ego_poses(tables, {row.ego_pose_token for row in (*sweeps.values(), *images.values())})
    mounted = _motions(mounts, tables / "calibrated_sensor.json")
    of_sample: dict[str, list[CameraImage]] = {token: [] for token in sweeps}
    for (sample, camera), row in sorted(images.items()):
        if min(row.width, row.height) < 1:
            size = f"{row.width} x {row.height}"
            raise UnreadableFile(f"{path}: {row.filename} has the size {size}, expected at least 1 x 1 pixels")
        mount = row.calibrated_sensor_token
        pose = ego_poses[row.ego_pose_token]
        of_sample[sample].append(
            CameraImage(
                camera,
                row.filename,
                row.timestamp,
                size=(row.width, row.height),
                intrinsics=cameras[mount],
                mount=mounted[mount],
                pose=pose,
            )
        )
    scenes = _scene_names(tables)
    frames = {}
    for token, row in sweeps.items():
        scene = wanted[token].scene_token
        frames[token] = RigFrame(
            ego_poses[row.ego_pose_token],
            mounted[row.calibrated_sensor_token],
            tuple(of_sample[token]),
            scene=scenes.get(scene, scene),
            time=row.timestamp,
        )
    return frames


def _scene_names(tables: Path) -> dict[str, str]:
    """Return the names of scenes by token; none if there is no such table, which cameras do not need."""
    path = tables / "scene.json"
    if not is_plain_file(path):
        return {}
    return {row.token: row.name for row in read_table(path, _CameraScene)}


def _matrix(tables: Path, row: _Mount) -> Floats:
    """Return the intrinsics of a camera as a matrix ``(3, 3)``."""
    matrix = np.array(row.camera_intrinsic if [*map(len, row.camera_intrinsic)] == [3, 3, 3] else np.nan)
    if not np.isfinite(matrix).all() or matrix[2].tolist() != [0, 0, 1]:
        raise UnreadableFile(
            f"{tables / 'calibrated_sensor.json'}: camera_intrinsic of {row.token} is not a matrix of 3 x 3 numbers "
            f"with the last row 0, 0, 1: {row.camera_intrinsic}"
        )
    return matrix


def _ego_poses(tables: Path, tokens: set[str]) -> dict[str, Floats]:
    """Return ego poses by token."""
    path = tables / "ego_pose.json"
    names = {token.encode() for token in tokens}
    complete: Callable[[list[_CameraPose]], bool] = lambda rows: len(rows) >= len(tokens)
    rows = _by_token(
        path, find_records(path, _CameraPose, rb'"token"\s*:\s*"([^"]*)"', wanted=names, complete=complete)
    )
    if lacking := sorted(tokens - rows.keys()):
        raise UnreadableFile(f"{path}: {counted(len(lacking), 'pose')} of images not found ({lacking[0]}, ...)")
    return _motions({token: rows[token] for token in tokens}, path)


def _by_token(path: Path, rows: Iterable[P]) -> dict[str, P]:
    return records_by_token(rows, path, path.stem, repeated=[])


def _motions(rows: Mapping[str, _CameraPose], path: Path) -> dict[str, Floats]:
    """Return the motions of records as matrices ``(4, 4)``, by token."""
    turns = np.array([row.rotation for row in rows.values()]).reshape(-1, 4)
    shifts = np.array([row.translation for row in rows.values()]).reshape(-1, 3)
    return dict(zip(rows, motions(turns, shifts, f"{path}: record"), strict=True))
