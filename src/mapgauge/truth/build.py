"""Builds truth from the scenes and maps of any data set, on several threads. Finished scenes can be kept."""

import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.findings import findings_about, summed
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.io import read
from mapgauge.io.files.source import Content
from mapgauge.io.files.writing import save
from mapgauge.io.parquet import write
from mapgauge.truth.cutting.fragments import Tracker
from mapgauge.truth.cutting.shapes import Patches
from mapgauge.truth.datasets import Cutter, Dataset, Frame, Scene
from mapgauge.truth.rules import CLASSES, TruthRules

_SETTINGS = "settings.json"
_MOST = 1 << 28  # bytes of the settings
_AROUND = 20.0  # metres around the boxes of a drive that its whole map has


def build(
    dataset: Dataset,
    rules: TruthRules,
    region: tuple[float, float],
    *,
    whole: bool = False,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    store: "SceneStore | None" = None,
) -> MapFrames:
    """Return the truth of all frames, or one map for each scene. Scenes in the store are not cut again."""
    scenes = list(dataset.scenes())
    sizes = dict[str, tuple[float, float]]()
    if whole:
        placed = [_as_one_frame(scene, rules, region) for scene in scenes if scene.frames]
        scenes = [scene for scene, _ in placed]
        sizes = {scene.name: size for scene, size in placed}
    total = sum(len(scene.frames) for scene in scenes)
    finished: dict[int, MapFrames] = {}
    for k, scene in enumerate(scenes):
        kept = None
        if store:
            kept = store.load(scene.name, [frame.token for frame in scene.frames])
        if kept is not None:
            finished[k] = kept

    def report() -> None:
        if progress:
            progress(sum(map(len, finished.values())), total)

    def work(scene: Scene) -> MapFrames:
        frames = cut_scene(scene, dataset.cutter(scene, rules), rules, region=sizes.get(scene.name, region))
        if whole:
            frames = _in_world(frames)
        if store:
            store.save(scene.name, frames)
        return frames

    report()
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        jobs = {pool.submit(work, scene): k for k, scene in enumerate(scenes) if k not in finished}
        try:
            for job in as_completed(jobs):
                finished[jobs[job]] = job.result()
                report()
        except BaseException:  # also after Ctrl-C: scenes that were begun are finished and kept
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    if not scenes:
        raise InvalidInput(f"{dataset.name}: no scenes were selected, expected at least one")
    frames = join_frames([finished[k] for k in range(len(scenes))])
    empty = [frames.tokens[k] for k in np.flatnonzero(np.diff(frames.offsets) == 0).tolist()]
    text = f"{len(empty)} of {len(frames)} frames have no map elements in their region; they are kept without instances"
    about_empty = findings_about(empty, "note", "empty-frames", text=text)
    findings = (*dataset.findings, *summed(frames.findings, "maps"), *about_empty)
    if rules.forward == "y" and not whole:
        frames = frames.rotate(90)
    return replace(frames, name=f"{dataset.name} ({rules.name})", format="", findings=findings)


def _as_one_frame(scene: Scene, rules: TruthRules, region: tuple[float, float]) -> tuple[Scene, tuple[float, float]]:
    """Return a scene with one frame in the axes of the map that shows what all its frames show, and its size."""
    places = np.array([frame.pose[:2, 3] for frame in scene.frames])
    low = places.min(axis=0)
    high = places.max(axis=0)
    pose = np.eye(4)
    pose[:2, 3] = 0.5 * (low + high)
    length, width = (high - low + np.hypot(*region) + 2 * _AROUND).tolist()
    right = -90.0  # where the x axis of the LiDAR points
    if rules.centre == "ego":
        heading = 0.0
    else:
        heading = right
    frame = Frame(scene.name, timestamp=0, pose=pose, heading=heading)
    return scene._replace(frames=(frame,)), (length, width)


def _in_world(frames: MapFrames) -> MapFrames:
    """Return a map in the coordinates of the world, from one frame in the axes of the map."""
    assert frames.poses is not None
    coords = frames.polylines.coords + frames.poses[0, :2, 3]
    return replace(
        frames, polylines=replace(frames.polylines, coords=coords), poses=None, timestamps=None, forward=None
    )


def cut_scene(scene: Scene, cutter: Cutter, rules: TruthRules, region: tuple[float, float]) -> MapFrames:
    """Return the frames of one scene, with x forward."""
    tilted = np.array([frame.pose for frame in scene.frames]).reshape(-1, 4, 4)
    trackers = [Tracker() for _ in CLASSES]
    points = []
    track = []
    places = []
    for index, by_class in enumerate(zip(*cutter.cut(scene.frames, rules, region), strict=True)):
        for k, fragments in enumerate(by_class):
            points += [fragment.points for fragment in fragments]
            track += trackers[k].names(fragments)
            places += [(index, k)] * len(fragments)
    frame, label = np.array(places, np.int64).reshape(-1, 2).T
    sizes = [len(line) for line in points]
    dimension = 2
    if rules.height:
        dimension = 3
    if rules.tilt:
        poses = tilted
    else:
        poses = Patches.of(list(tilted), region).poses
    return MapFrames(
        tokens=tuple(step.token for step in scene.frames),
        classes=CLASSES,
        frame=np.ascontiguousarray(frame),
        label=np.ascontiguousarray(label),
        polylines=Polylines(
            np.concatenate([np.empty((0, dimension)), *points]), np.array([0, *sizes], np.int64).cumsum()
        ),
        track=np.array(track, np.str_),
        scenes=(scene.name,) * len(scene.frames),
        timestamps=np.array([step.timestamp for step in scene.frames], np.int64),
        poses=poses,
        name=scene.name,
        forward="x",
        findings=cutter.findings,
    )


class SceneStore:
    """A folder with one Parquet file for each finished scene, and the settings that the scenes were cut with."""

    def __init__(self, folder: str | os.PathLike[str], settings: Mapping[str, Any], *, restart: bool = False) -> None:
        """Open a folder, which need not exist. One with other settings is refused, unless ``restart`` deletes it."""
        self.folder: Path = Path(folder)
        self._making = threading.Lock()
        self._settings = msgspec.json.encode(settings, order="deterministic")
        if not self.folder.exists():
            return
        try:
            foreign = not (self.folder / _SETTINGS).is_file() and any(self.folder.iterdir())
        except OSError as error:
            raise self._error(error) from error
        if foreign:
            raise MapgaugeError(
                f"{self.folder}: expected an empty folder or one with finished scenes, found other files",
                remedy=Remedy("Pass another folder as parts=", "Move this folder, or write to another file with -o"),
            )
        if restart:
            shutil.rmtree(self.folder, ignore_errors=True)
        elif (self.folder / _SETTINGS).is_file():
            self._compare(msgspec.json.decode(self._settings), self.folder / _SETTINGS)

    def _compare(self, wanted: Mapping[str, Any], path: Path) -> None:
        try:
            stored = decode_json(Content(path, _MOST).data, dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnreadableFile(
                f"{path}: not the settings of finished scenes: {error}",
                remedy=Remedy("Pass restart=True to cut all scenes again", "Pass --restart to cut all scenes again"),
            ) from error
        other = [name for name in {**wanted, **stored} if stored.get(name) != wanted.get(name)]
        if other:
            differs = [f"{name} was {_short(stored.get(name))}, is {_short(wanted.get(name))}" for name in other]
            raise InvalidInput(
                f"{self.folder}: the finished scenes were cut with other settings ({'; '.join(differs)})",
                remedy=Remedy(
                    "Use the same settings as before, or pass restart=True to cut all scenes again",
                    "Use the same options as before, or pass --restart to cut all scenes again",
                ),
            )

    def _path(self, scene: str) -> Path:
        return self.folder / f"{quote(scene, safe='')}.parquet"

    def save(self, scene: str, frames: MapFrames) -> None:
        """Save a finished scene."""
        with self._making:
            try:
                self.folder.mkdir(exist_ok=True)
            except OSError as error:
                raise self._error(error) from error
            if not (self.folder / _SETTINGS).is_file():
                save(self.folder / _SETTINGS, self._settings)
        save(self._path(scene), write(frames))

    def load(self, scene: str, tokens: Sequence[str]) -> MapFrames | None:
        """Return a finished scene, or None if it is not there with exactly these frames."""
        path = self._path(scene)
        if not path.is_file():
            return None
        try:
            frames = read(path, "parquet")
        except UnreadableFile:
            return None  # a damaged scene is cut again
        if list(frames.tokens) == list(tokens):
            return frames
        return None

    def _error(self, error: OSError) -> MapgaugeError:
        return MapgaugeError(f"{self.folder}: finished scenes cannot be kept here: {error.strerror or error}")


def _short(value: object) -> str:
    text = "nothing"
    if value is not None:
        text = str(value)
    if len(text) <= 40:
        return text
    return f"{text[:37]}..."
