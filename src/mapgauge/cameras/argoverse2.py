"""Reads the images of sweeps from the logs of Argoverse 2."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from mapgauge.cameras.rig import CameraImage, RigFrame
from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.frames.poses import nearest_times
from mapgauge.geometry.poses import motions
from mapgauge.io.poses import FEATHER as POSES
from mapgauge.io.poses import TimedPoses, feather_columns, read_feather
from mapgauge.typing import Floats, Indices

IMAGES = Path("sensors", "cameras")
MOUNTS = Path("calibration", "egovehicle_SE3_sensor.feather")
INTRINSICS = Path("calibration", "intrinsics.feather")
TOLERANCE = 50_000_000  # ns from a sweep to its image, at most; cameras take 20 images a second

_MOUNT = ("qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m")
_PINHOLE = ("fx_px", "fy_px", "cx_px", "cy_px")
_SIZE = ("width_px", "height_px")
_TIME = re.compile(r"(?:.*_)?(\d{1,18})")


@dataclass(frozen=True, eq=False)
class Camera:
    """One camera of a log, and the times of its images."""

    name: str
    size: tuple[int, int]
    intrinsics: Floats
    mount: Floats
    times: Indices  # ns, ascending, at least one


@dataclass(frozen=True, eq=False)
class Log:
    """The cameras and poses of a log. They are read when they are first used."""

    root: Path
    folder: Path

    @cached_property
    def poses(self) -> TimedPoses:
        """All poses of the vehicle."""
        return read_feather(self.folder / POSES)

    @cached_property
    def cameras(self) -> tuple[Camera, ...]:
        """The cameras with a calibration and with images, by name."""
        path = self.folder / MOUNTS
        text = {"sensor_name": "text"}
        names, *columns = feather_columns(path, text | dict.fromkeys(_MOUNT, "numbers"), "calibration")
        table = np.column_stack(columns).astype(np.float64)
        mounts = dict(zip(names, motions(table[:, :4], table[:, 4:], f"{path}: sensor"), strict=True))
        kinds = dict.fromkeys(_PINHOLE, "numbers") | dict.fromkeys(_SIZE, "whole numbers")
        names, *columns = feather_columns(self.folder / INTRINSICS, text | kinds, "intrinsics")
        cameras = []
        for name, fx, fy, cx, cy, width, height in sorted(
            zip(names, *(each.tolist() for each in columns), strict=True)
        ):
            times = self._times(name)
            if name not in mounts or not len(times):
                continue
            matrix = np.array([(fx, 0.0, cx), (0.0, fy, cy), (0.0, 0.0, 1.0)])
            if not np.isfinite(matrix).all() or min(fx, fy, width, height) <= 0:
                raise UnreadableFile(
                    f"{self.folder / INTRINSICS}: {name}: expected positive focal lengths and sizes, found "
                    f"{fx}, {fy}, {width} and {height}"
                )
            cameras.append(Camera(name, (width, height), matrix, mount=mounts[name], times=times))
        return tuple(cameras)

    def _times(self, camera: str) -> Indices:
        """Return the times of the images of a camera. They are the names of the files."""
        stems = (path.stem for path in (self.folder / IMAGES / camera).glob("*.jpg"))
        return np.array(sorted(int(stem) for stem in stems if _TIME.fullmatch(stem) and stem.isdigit()), np.int64)

    def at(self, time: int) -> RigFrame:
        """Return the nearest image of each camera, with the pose nearest to its own time."""
        nearest = [int(camera.times[nearest_times(camera.times, np.array([time]))[0]]) for camera in self.cameras]
        pairs = zip(self.cameras, nearest, strict=True)
        taken = [(camera, when) for camera, when in pairs if abs(when - time) <= TOLERANCE]
        place = nearest_times(self.poses.times, np.array([time, *(when for _, when in taken)], np.int64))
        pose, *poses = self.poses.motions[place]
        folder = (self.folder / IMAGES).relative_to(self.root).as_posix()
        images = (
            CameraImage(
                camera.name,
                f"{folder}/{camera.name}/{when}.jpg",
                when,
                size=camera.size,
                intrinsics=camera.intrinsics,
                mount=camera.mount,
                pose=seen_from,
            )
            for (camera, when), seen_from in zip(taken, poses, strict=True)
        )
        return RigFrame(pose, lidar=None, images=tuple(images), scene=self.folder.absolute().name, time=time)


@dataclass(frozen=True, eq=False)
class Logs:
    """The frames of some logs."""

    logs: dict[str, Log]
    times: dict[str, tuple[str, int]]  # by token: the log and the time of the frame

    @classmethod
    def of(cls, root: Path, tokens: Sequence[str], scenes: Sequence[str] | None) -> "Logs":
        """Find the logs of frames. Nothing is read, unless no scenes are known."""
        by_depth = (sorted(root.glob(f"{depth}{POSES}")) for depth in ("", "*/", "*/*/", "*/*/*/"))
        logs = {path.absolute().parent.name: Log(root, path.parent) for path in next(filter(None, by_depth), [])}
        if not logs:
            raise UnreadableFile(
                f"{root}: expected tables of nuScenes (v1.0-*/sample_data.json) or logs of Argoverse 2 (*/{POSES}), "
                "found neither",
                remedy="Give the folder of the data set",
            )
        if scenes is None:
            at = {time: name for name, log in logs.items() for time in log.poses.times.tolist()}
            scenes = [at.get(_time(token), "") for token in tokens]
        named = zip(tokens, scenes, strict=True)
        return cls(logs, {token: (scene, _time(token)) for token, scene in named if scene in logs})

    def frame(self, token: str) -> RigFrame | None:
        """Return the images of a frame."""
        if token not in self.times:
            return None
        log, time = self.times[token]
        return self.logs[log].at(time)


def _time(token: str) -> int:
    """Return the time at the end of a token, in nanoseconds."""
    match = _TIME.fullmatch(token)
    if match is None:
        raise InvalidInput(
            f"frame {token}: expected a token of Argoverse 2: a log id, _ and a time in nanoseconds, or only the time",
            remedy="Give the folder of the data set that the frames are from",
        )
    return int(match[1])
