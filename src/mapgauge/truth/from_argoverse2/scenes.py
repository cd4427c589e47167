"""Argoverse 2: its logs as scenes, the sweeps of a log as frames, the map of a log as layers. No development kit."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.frames.findings import Finding, Level
from mapgauge.truth.build import EXAMPLES, Frame, MapLayers, Scene
from mapgauge.truth.from_argoverse2.logs import POSES, SWEEPS, poses_at, read_poses, regular_times, sweep_times
from mapgauge.truth.from_argoverse2.maps import find_map, read_map
from mapgauge.truth.rules import Rules
from mapgauge.truth.selection import Selection, check_scenes
from mapgauge.truth.splits import split_named

FOLDERS = ("train", "val", "test")  # of the data set, which are its official splits

# StreamMapNet leaves them out of every split.
LEFT_OUT = (
    "01bb304d-7bd8-35f8-bbef-7086b688e35e",
    "453e5558-6363-38e3-bf9b-42b5ba0a6f1d",
    "54bc6dbc-ebfb-3fba-b5b3-57f88b4b79ca",
    "6e106cf8-f6dd-38f6-89c8-9be7a71e7275",
    "75e8adad-50a6-3245-8726-5e612db3d165",
    "af170aac-8465-3d7b-82c5-64147e94af7d",
)


class Argoverse2:
    """The logs of Argoverse 2 that are wanted, and their maps."""

    name = "argoverse2"

    def __init__(self, root: Path, selection: Selection, rules: Rules) -> None:
        """Find the logs; nothing is read yet."""
        self.root, self.selection, self.rules = root, selection, rules
        self.about = {"root": str(root.absolute())}
        self.findings: tuple[Finding, ...] = ()
        if not root.is_dir():
            raise UnreadableFile(f"{root}: no such folder, expected the one of Argoverse 2, with {', '.join(FOLDERS)}")
        if (root / POSES).is_file():
            raise UnreadableFile(f"{root}: this is a log, expected a folder of logs. Give the folder that it is in")
        self.folders = {name: root / name for name in FOLDERS if (root / name).is_dir()}
        self.logs: Mapping[str, Path] = {
            log.name: log for folder in self.folders.values() or (root,) for log in _logs(folder, bool(self.folders))
        }
        if not self.logs:
            raise UnreadableFile(
                f"{root}: no logs here. Expected folders {', '.join(FOLDERS)} with logs in them, or logs, each a "
                f"folder with {POSES} and a folder map"
            )
        tokens = selection.tokens
        self.log_in_token = rules.log_in_token if tokens is None else any("_" in token for token in tokens)

    def scenes(self) -> Sequence[Scene]:
        """The logs to cut, with the poses of their sweeps."""
        scenes, found, without = [], [], []
        for name in self._wanted():
            frames, on_disk = self._frames(name)
            found += [frame.token for frame in frames]
            without += [] if on_disk else [name]
            if frames or self.selection.tokens is None:
                scenes.append(Scene(name, self.selection.frames(frames), name))
        self.selection.check_tokens(found, str(self.root))
        if without and self.selection.tokens is None:
            text = (
                f"{len(without)} of {len(scenes)} logs have no LiDAR sweeps ({SWEEPS.as_posix()}), whose times are the "
                "frames. Their frames are poses, ten a second: the tokens are not those of the data set"
            )
            self._noticed("warning", "sweeps-missing", text, without)
        return scenes

    def layers(self, scene: Scene, rules: Rules) -> MapLayers:
        """The map of a log, which no other log shares."""
        return read_map(self.logs[scene.map], rules)

    def _frames(self, name: str) -> tuple[list[Frame], bool]:
        """The frames of a log, those of the wanted tokens if there are any; and whether its sweeps are on disk."""
        log, wanted = self.logs[name], self.selection.tokens
        poses = read_poses(log)
        times = sweeps = sweep_times(log)
        if times is None:  # among the poses are those at the times of the sweeps, whichever they are
            times = regular_times(poses) if wanted is None else poses.times
        named = [(f"{name}_{time}" if self.log_in_token else f"{time}", time) for time in times.tolist()]
        if wanted is not None:
            named = [(token, time) for token, time in named if token in wanted]
        motions = poses_at(poses, np.array([time for _, time in named], np.int64), log)
        frames = [Frame(token, time, pose) for (token, time), pose in zip(named, motions, strict=True)]
        return frames, sweeps is not None

    def _wanted(self) -> list[str]:
        """Ids of the logs that are wanted, in order."""
        if self.selection.tokens is not None:
            named = {token.partition("_")[0] for token in self.selection.tokens}
            return sorted(name for name in self.logs if name in named or not self.log_in_token)
        if self.selection.scenes is not None:
            check_scenes(self.selection.scenes, self.logs, "those asked for", str(self.root))
            return list(self.selection.scenes)
        split = self.selection.split
        names = self._official(split) if split in FOLDERS else list(split_named(self.name, split, FOLDERS))
        if split not in FOLDERS or self.rules.name == "streammapnet":
            skipped = [name for name in names if name in LEFT_OUT]
            names = [name for name in names if name not in LEFT_OUT]
            if skipped:
                text = f"{len(skipped)} logs of the split {split} are left out, as StreamMapNet does"
                self._noticed("note", "scenes-left-out", text, skipped)
        check_scenes(names, self.logs, f"the split {split}", str(self.root), " They may be in train, val or test.")
        return names

    def _official(self, split: str) -> list[str]:
        if split in self.folders:
            return sorted(name for name, log in self.logs.items() if log.parent.name == split)
        if self.folders or (self.root.name in FOLDERS and self.root.name != split):
            there = ", ".join(self.folders) or self.root.name
            raise InvalidInput(
                f"{self.root}: no folder {split} of Argoverse 2 here, there is {there}. Choose that split"
            )
        if self.root.name != split:
            text = f"{self.root} has no folder {split}; its {len(self.logs)} logs are taken for that split"
            self._noticed("note", "split-not-checked", text, sorted(self.logs))
        return sorted(self.logs)

    def _noticed(self, level: Level, code: str, text: str, logs: Sequence[str]) -> None:
        self.findings += (Finding(level, code, text, len(logs), tuple(logs[:EXAMPLES])),)


def _logs(folder: Path, surely: bool) -> list[Path]:
    """The folders of logs. Elsewhere than in a folder of the data set, they must look like logs."""
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    return [path for path in folders if surely or (path / POSES).is_file() or find_map(path) is not None]
