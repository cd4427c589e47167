"""Reads the scenes and frames of nuScenes from its tables."""

import math
import threading
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.geometry.poses import level, motions
from mapgauge.truth.datasets import Cutter, Frame, Scene
from mapgauge.truth.from_nuscenes.lane_graph import read_lane_graph
from mapgauge.truth.from_nuscenes.maps import read_map
from mapgauge.truth.from_nuscenes.tables import ROOT, R, find_records, read_table, records_by_token, repeated_records
from mapgauge.truth.lane_graphs import LaneGraph
from mapgauge.truth.rules import TruthRules
from mapgauge.truth.selection import MISLOCATED, FrameSelection, check_scenes, choose_split, split_named
from mapgauge.typing import Points
from mapgauge.words import counted

LIDAR = "LIDAR_TOP"
_UNIT = 1e-14  # quaternions whose squared norm is this close to 1 are not normalised
_LEFT = np.array([(0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0)])  # which component of a quaternion
_LEFT_SIGN = np.array([(1, -1, -1, -1), (1, 1, -1, 1), (1, 1, 1, -1), (1, -1, 1, 1)])
_RIGHT_SIGN = np.array([(1, -1, -1, -1), (1, 1, 1, -1), (1, -1, 1, 1), (1, 1, -1, 1)])


class _NuScenesScene(msgspec.Struct):
    token: str
    name: str
    log_token: str


class _NuScenesLog(msgspec.Struct):
    token: str
    location: str


class _NuScenesSample(msgspec.Struct):
    token: str
    timestamp: int
    scene_token: str


class _NuScenesSensor(msgspec.Struct):
    token: str
    channel: str


class _NuScenesSweep(msgspec.Struct):
    sample_token: str
    ego_pose_token: str
    calibrated_sensor_token: str
    is_key_frame: bool


class _NuScenesPose(msgspec.Struct):
    token: str
    translation: tuple[float, float, float]
    rotation: tuple[float, float, float, float]


class _Calibration(_NuScenesPose, kw_only=True):
    sensor_token: str


class NuScenes:
    """The selected scenes of one version of nuScenes, and their maps."""

    name = "nuscenes"

    def __init__(self, root: Path, version: str, selection: FrameSelection, rules: TruthRules) -> None:
        """Check that the folder of the tables exists. ``scenes`` reads the tables."""
        self.root = root
        self.version = version
        self.selection = selection
        self.rules = rules
        self.tables: Path = root / version
        self.about: dict[str, str] = {"root": str(root.absolute()), "version": version}
        self.findings: tuple[Finding, ...] = ()
        self._repeated: list[str] = []  # names of records that occur more than once
        self._scenes: dict[str, Scene] = {}
        self._maps: dict[str, Cutter] = {}
        self._lane_graphs = cache(partial(read_lane_graph, root))
        self._reading = threading.Lock()
        if not self.tables.is_dir():
            versions = sorted(path.parent.name for path in root.glob("*/scene.json"))
            raise UnreadableFile(
                f"{self.tables}: no such folder, expected the tables of nuScenes {version}, "
                f"found {', '.join(versions) or 'no tables'}",
                remedy=Remedy(f'Pass version="{versions[0]}"', f"Pass --release {versions[0]}") if versions else ROOT,
            )

    def scenes(self) -> Sequence[Scene]:
        """Return the selected scenes, with the poses of their keyframes."""
        records = self._table("scene", _NuScenesScene)
        by_name = {record.name: record for record in records}
        for record in records:
            if by_name[record.name] is not record:
                tokens = f"{record.token} and {by_name[record.name].token}"
                raise UnreadableFile(f"{self._path('scene')}: {record.name} is the name of two scenes, {tokens}")
        names = self._wanted(list(by_name))
        location = {log.token: log.location for log in self._table("log", _NuScenesLog)}
        by_token = {record.token: record for record in records if record.name in names}
        samples: dict[str, list[_NuScenesSample]] = {token: [] for token in by_token}
        for sample in sorted(self._table("sample", _NuScenesSample), key=lambda sample: sample.timestamp):
            if sample.scene_token in samples:
                samples[sample.scene_token].append(sample)
        known = (sample.token for group in samples.values() for sample in group)
        self.selection.check_tokens(known, str(self.tables))
        chosen = {token: self.selection.frames(group) for token, group in samples.items()}
        poses = self._poses([sample.token for group in chosen.values() for sample in group])
        for token, record in by_token.items():
            if record.log_token not in location:
                raise UnreadableFile(f"{self._path('log')}: log {record.log_token} of {record.name} not found")
            frames = tuple(Frame(sample.token, sample.timestamp, *poses[sample.token]) for sample in chosen[token])
            self._scenes[record.name] = Scene(record.name, frames, location[record.log_token])
        self.findings += tuple(repeated_records(str(self.tables), self._repeated))
        scenes = [self._scenes[name] for name in names]
        if self.selection.tokens is not None:
            return [scene for scene in scenes if scene.frames]
        empty = [scene.name for scene in scenes if not scene.frames]
        text = f"{self._path('sample')}: {len(empty)} of {len(scenes)} selected scenes have no samples"
        remedy = Remedy.of("Check that the file was copied completely and belongs to this version")
        self.findings += tuple(findings_about(empty, "warning", "scenes-empty", text=text, remedy=remedy))
        return scenes

    def cutter(self, scene: Scene, rules: TruthRules) -> Cutter:
        """Return the map of a scene. Each map is read once."""
        with self._reading:
            if scene.map not in self._maps:
                self._maps[scene.map] = read_map(self.root, scene.map, rules)
            return self._maps[scene.map]

    def lane_graph(self, scene: str) -> LaneGraph:
        """Return the lane graph of the map of a scene. ``scenes`` must have been called."""
        return self._lane_graphs(self._scenes[scene].map)

    def _wanted(self, known: Sequence[str]) -> list[str]:
        """Return the names of the selected scenes, in order."""
        if self.selection.tokens is not None:
            return sorted(known)
        if self.selection.scenes is not None:
            check_scenes(self.selection.scenes, known, "the selection", where=str(self._path("scene")))
            return list(self.selection.scenes)
        split = self.selection.split
        names = split_named(self.name, split)
        mini = self.version.endswith("mini") and not split.startswith("mini")
        remedy = Remedy("Pass another version= or split=", "Pass another --release or --split")
        if mini:
            remedy = choose_split(f"mini-{split.removeprefix('new-')}")
        check_scenes(names, known, f"the split {split}", where=str(self._path("scene")), remedy=remedy)
        skipped = tuple(name for name in names if name in MISLOCATED)
        if skipped:  # there are at most four, and all are named
            text = f"{counted(len(skipped), 'scene')} of the split {split} left out because of wrong localisation"
            self.findings += (Finding("note", "scenes-left-out", text, count=len(skipped), examples=skipped),)
        return [name for name in names if name not in MISLOCATED]

    def _poses(self, samples: Sequence[str]) -> dict[str, tuple[NDArray[np.float64], float]]:
        """Return the pose of the vehicle or LiDAR at each sample, with x forward, and the heading of its own x axis."""
        sensors = {sensor.token for sensor in self._table("sensor", _NuScenesSensor) if sensor.channel == LIDAR}
        calibrations = self._table("calibrated_sensor", _Calibration)
        mounted = {record.token: record for record in calibrations if record.sensor_token in sensors}
        if not mounted:
            raise UnreadableFile(
                f"{self._path('calibrated_sensor')}: sensor {LIDAR} not found; its keyframes are the frames"
            )
        wanted = set(samples)
        path = self._path("sample_data")

        def keyframes(sweeps: Iterable[_NuScenesSweep]) -> dict[str, _NuScenesSweep]:
            by_sample: dict[str, _NuScenesSweep] = {}
            for sweep in sweeps:
                if sweep.is_key_frame and sweep.calibrated_sensor_token in mounted and sweep.sample_token in wanted:
                    first = by_sample.setdefault(sweep.sample_token, sweep)
                    if first != sweep:
                        poses = f"{first.ego_pose_token} and {sweep.ego_pose_token}"
                        raise UnreadableFile(
                            f"{path}: sample {sweep.sample_token} has two keyframes of {LIDAR}, with the poses {poses}"
                        )
            return by_sample

        # The files of keyframes are in a folder of their own, so the search need not decode other records.
        pattern = rb'"filename"\s*:\s*"samples/' + LIDAR.encode() + b"/"
        sweeps = keyframes(
            find_records(
                path, _NuScenesSweep, pattern, wanted=None, complete=lambda some: len(keyframes(some)) == len(wanted)
            )
        )
        lacking = sorted(wanted - sweeps.keys())
        if lacking:
            raise UnreadableFile(
                f"{path}: no keyframe of {LIDAR} for {counted(len(lacking), 'sample')} ({lacking[0]}, ...)"
            )
        at = self._ego_poses({sweep.ego_pose_token for sweep in sweeps.values()})
        vehicles = [at[sweeps[token].ego_pose_token] for token in samples]
        egos = _motions(vehicles, f"{self._path('ego_pose')}: pose")
        if self.rules.centre == "ego":
            return {token: (pose, heading(pose)) for token, pose in zip(samples, egos, strict=True)}
        mounts = [mounted[sweeps[token].calibrated_sensor_token] for token in samples]
        lidars = _motions(mounts, f"{self._path('calibrated_sensor')}: sensor")
        poses = np.array([ego @ lidar for ego, lidar in zip(egos, lidars, strict=True)]).reshape(-1, 4, 4)
        poses[:, :3, :3] = matrices_of(np.array([quaternion_of(pose[:3, :3]) for pose in poses]).reshape(-1, 4))
        # The x axis of the LiDAR points to the right. A quarter turn makes it point forward.
        forward = (level(pose, quarter_turns=1) for pose in poses)
        return dict(zip(samples, zip(forward, map(heading, poses), strict=True), strict=True))

    def _ego_poses(self, tokens: set[str]) -> dict[str, _NuScenesPose]:
        """Return ego poses by token."""
        path = self._path("ego_pose")
        names = {token.encode() for token in tokens}
        poses = find_records(
            path,
            _NuScenesPose,
            rb'"token"\s*:\s*"([^"]*)"',
            wanted=names,
            complete=lambda some: len(some) >= len(tokens),
        )
        at = records_by_token(poses, path, "ego_pose", repeated=self._repeated)
        lacking = sorted(tokens - at.keys())
        if lacking:
            raise UnreadableFile(f"{path}: {counted(len(lacking), 'pose')} of frames not found ({lacking[0]}, ...)")
        return at

    def _path(self, table: str) -> Path:
        return self.tables / f"{table}.json"

    def _table(self, table: str, record: type[R]) -> list[R]:
        path = self._path(table)
        return list(records_by_token(read_table(path, record), path, table, repeated=self._repeated).values())


def _motions(records: Sequence[_NuScenesPose], where: str) -> NDArray[np.float64]:
    """Return the poses of records as matrices ``(n, 4, 4)``."""
    rotations = np.array([record.rotation for record in records]).reshape(-1, 4)
    translations = np.array([record.translation for record in records]).reshape(-1, 3)
    made = motions(rotations, translations, where)
    made[:, :3, :3] = matrices_of(rotations)
    return made


def matrices_of(quaternions: Points) -> NDArray[np.float64]:
    """Return the ``(n, 3, 3)`` rotation matrices of quaternions ``w, x, y, z``, by two products of quaternions."""
    square = np.array([quaternion @ quaternion for quaternion in quaternions]).reshape(-1, 1)
    unit = np.where(np.abs(1.0 - square) < _UNIT, quaternions, quaternions / np.sqrt(square))
    left = unit[:, _LEFT] * _LEFT_SIGN
    right = unit[:, _LEFT] * _RIGHT_SIGN
    # One product at a time: numpy rounds a product of stacks in another order.
    products = np.array([a @ b.T for a, b in zip(left, right, strict=True)]).reshape(-1, 4, 4)
    return np.ascontiguousarray(products[:, 1:, 1:])


def quaternion_of(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quaternion ``w, x, y, z`` of a rotation matrix ``(3, 3)``. Its largest component is positive."""
    (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    if i < 0 and a > e:
        square = 1 + a - e - i
        rest = (h - f, None, b + d, c + g)
    elif i < 0:
        square = 1 - a + e - i
        rest = (c - g, b + d, None, f + h)
    elif a < -e:
        square = 1 - a - e + i
        rest = (d - b, c + g, f + h, None)
    else:
        square = 1 + a + e + i
        rest = (None, h - f, c - g, d - b)
    parts = np.array([square if part is None else part for part in rest], np.float64)
    parts *= 0.5
    parts /= math.sqrt(square)
    return parts


def heading(pose: NDArray[np.float64]) -> float:
    """Return the direction of the x axis of a pose, seen from above, in degrees from the x axis of the map."""
    return float(np.arctan2(pose[1, 0], pose[0, 0]) / np.pi * 180)
