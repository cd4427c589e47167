"""Reads the scenes and frames of Argoverse 2: a log is a scene, and a LiDAR sweep is a frame."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput, Remedy, UnreadableFile
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.frames.poses import nearest_times
from mapgauge.io.poses import FEATHER as POSES
from mapgauge.io.poses import TimedPoses, read_feather
from mapgauge.truth.datasets import Cutter, Frame, Scene
from mapgauge.truth.from_argoverse2.maps import read_map
from mapgauge.truth.from_argoverse2.vector_map import find_map, read_lane_graph
from mapgauge.truth.lane_graphs import LaneGraph
from mapgauge.truth.rules import TruthRules
from mapgauge.truth.selection import FAILED_LOGS, FrameSelection, check_scenes, choose_split, split_named
from mapgauge.words import counted

SENSOR = "sensor"  # the folder of this data set, beside the folders of the other data sets of Argoverse 2
FOLDERS = ("train", "val", "test")  # of the data set: its official splits
SWEEPS = Path("sensors", "lidar")
INTERVAL = 100_000_000  # ns from one sweep to the next
TOLERANCE = 50_000_000  # ns, at most, from a sweep to the nearest pose

Times: TypeAlias = NDArray[np.int64]  # ns


class Argoverse2:
    """The selected logs of Argoverse 2, and their maps."""

    name = "argoverse2"

    def __init__(self, root: Path, selection: FrameSelection, rules: TruthRules) -> None:
        """Find the folders of all logs. Nothing is read yet."""
        if (root / SENSOR).is_dir() and not any((root / name).is_dir() for name in FOLDERS):
            root = root / SENSOR
        self.root = root
        self.selection = selection
        self.rules = rules
        self.about: dict[str, str] = {"root": str(root.absolute())}
        self.findings: tuple[Finding, ...] = ()
        if not root.is_dir():
            raise UnreadableFile(
                f"{root}: no such folder, expected the folder of Argoverse 2, with {', '.join(FOLDERS)}"
            )
        if (root / POSES).is_file():
            raise UnreadableFile(
                f"{root}: expected a folder of logs, found a single log", remedy="Pass the folder that contains the log"
            )
        self.folders: dict[str, Path] = {name: root / name for name in FOLDERS if (root / name).is_dir()}
        self.logs: dict[str, Path] = {}
        for log in (log for folder in self.folders.values() or (root,) for log in _logs(folder, bool(self.folders))):
            first = self.logs.setdefault(log.name, log)
            if first != log:
                raise UnreadableFile(
                    f"{root}: log {log.name} is in {first.parent.name} and in {log.parent.name}, expected it once",
                    remedy="Remove the folder of the wrong split",
                )
        if not self.logs:
            raise UnreadableFile(
                f"{root}: no logs found. Expected folders {', '.join(FOLDERS)} with logs, or logs. A log is a folder "
                f"with {POSES} and a folder map"
            )
        tokens = selection.tokens
        if tokens is None:
            self.log_in_token: bool = rules.log_in_token
        else:
            self.log_in_token = any("_" in token for token in tokens)

    def scenes(self) -> Sequence[Scene]:
        """Return the selected logs, with the poses of their sweeps."""
        scenes: list[Scene] = []
        tokens: list[str] = []
        without: list[str] = []  # names of logs without sweeps
        for name in self._wanted():
            frames, on_disk = self._frames(name)
            chosen = self.selection.frames(frames, len(tokens))
            tokens += [frame.token for frame in frames]
            if not on_disk:
                without += [name]
            if frames or self.selection.tokens is None:
                scenes.append(Scene(name, chosen, name))
        self.selection.check_tokens(tokens, str(self.root))
        if self.selection.tokens is None:
            text = (
                f"{len(without)} of {len(scenes)} logs have no LiDAR sweeps ({SWEEPS.as_posix()}), whose times define "
                "the frames. Poses at ten per second are used instead, so the tokens are not those of the data set"
            )
            remedy = Remedy(
                "Download the sweeps, or pass the tokens of the predictions as tokens=",
                "Download the sweeps, or pass the tokens of the predictions with --tokens",
            )
            self.findings += tuple(findings_about(without, "warning", "sweeps-missing", text=text, remedy=remedy))
        return scenes

    def cutter(self, scene: Scene, rules: TruthRules) -> Cutter:
        """Return the map of a log. Every log has a map of its own."""
        return read_map(self.logs[scene.map], rules)

    def lane_graph(self, scene: str) -> LaneGraph:
        """Return the lane graph of a log."""
        return read_lane_graph(self.logs[scene])

    def _frames(self, name: str) -> tuple[list[Frame], bool]:
        """Return the frames of a log with a selected token, or all, and whether its sweeps are on disk."""
        log = self.logs[name]
        wanted = self.selection.tokens
        poses = read_poses(log)
        times = sweeps = sweep_times(log)
        if times is None:  # there is a pose at the time of every sweep, so a token selects a pose
            if wanted is None:
                times = regular_times(poses)
            else:
                times = poses.times
        named = [(f"{name}_{time}" if self.log_in_token else f"{time}", time) for time in times.tolist()]
        if wanted is not None:
            named = [(token, time) for token, time in named if token in wanted]
        motions = poses_at(poses, np.array([time for _, time in named], np.int64), log)
        frames = [Frame(token, time, pose) for (token, time), pose in zip(named, motions, strict=True)]
        return frames, sweeps is not None

    def _wanted(self) -> list[str]:
        """Return the ids of the selected logs, in order."""
        if self.selection.tokens is not None:
            named = {token.partition("_")[0] for token in self.selection.tokens}
            return sorted(name for name in self.logs if name in named or not self.log_in_token)
        if self.selection.scenes is not None:
            check_scenes(self.selection.scenes, self.logs, "the selection", where=str(self.root))
            return list(self.selection.scenes)
        split = self.selection.split
        if split in FOLDERS:
            names = self._official(split)
        else:
            names = list(split_named(self.name, split, FOLDERS))
        skipped = [name for name in names if name in FAILED_LOGS]
        names = [name for name in names if name not in FAILED_LOGS]
        text = f"{counted(len(skipped), 'log')} of the split {split} left out because of wrong poses"
        self.findings += tuple(findings_about(skipped, "note", "scenes-left-out", text=text))
        remedy = f"Download all of {', '.join(FOLDERS)}. The scenes of a split may be in any of these folders"
        check_scenes(names, self.logs, f"the split {split}", where=str(self.root), remedy=remedy)
        return names

    def _official(self, split: str) -> list[str]:
        if split in self.folders:
            return sorted(name for name, log in self.logs.items() if log.parent.name == split)
        if self.folders or (self.root.name in FOLDERS and self.root.name != split):
            splits = list(self.folders) or [self.root.name]
            raise InvalidInput(
                f"{self.root}: no folder for the split {split}, found {', '.join(splits)}",
                remedy=choose_split(splits[0]),
            )
        if self.root.name != split:
            text = f"{self.root} has no folder {split}; all of its {len(self.logs)} logs are used as that split"
            self.findings += tuple(findings_about(sorted(self.logs), "note", "split-not-checked", text=text))
        return sorted(self.logs)


def _logs(folder: Path, is_split: bool) -> list[Path]:
    """Return the folders of logs. Every folder in a split is a log; elsewhere, a log must have poses or a map."""
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    return [path for path in folders if is_split or (path / POSES).is_file() or find_map(path) is not None]


def read_poses(log: Path) -> TimedPoses:
    """Read all poses of a log."""
    return read_feather(log / POSES)


def sweep_times(log: Path) -> Times | None:
    """Return the times of the LiDAR sweeps, ascending, or None if no sweeps are on disk."""
    files = sorted((log / SWEEPS).glob("*.feather"))
    unnamed = next((path for path in files if not re.fullmatch("[0-9]{1,18}", path.stem)), None)
    if unnamed is not None:
        raise UnreadableFile(f"{unnamed}: expected a LiDAR sweep, named after its time in nanoseconds")
    if not files:
        return None
    return np.sort(np.array([int(path.stem) for path in files], np.int64))


def regular_times(poses: TimedPoses) -> Times:
    """Return the times of the poses nearest to every tenth of a second. They stand in for missing sweeps."""
    grid = np.arange(poses.times[0], poses.times[-1] + 1, INTERVAL)
    return np.unique(poses.times[nearest_times(poses.times, grid)])


def poses_at(poses: TimedPoses, times: Times, log: Path) -> NDArray[np.float64]:
    """Return the pose nearest to each time, ``(n, 4, 4)``. One more than 50 ms away is an error."""
    nearest = nearest_times(poses.times, times)
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
