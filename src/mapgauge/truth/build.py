"""Builds truth from the scenes and maps of any data set.

Scenes are cut on several threads. Finished scenes can be kept in a folder, so that an interrupted run can continue.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.findings import Finding, summed
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.truth.cutting.pieces import Fragment
from mapgauge.truth.cutting.shapes import Patches, shapely_module
from mapgauge.truth.datasets import EXAMPLES, Cutter, Dataset, Scene
from mapgauge.truth.rules import CLASSES, Rules
from mapgauge.truth.scene_store import SceneStore


class Tracker:
    """Names the fragments of one class, one frame of a scene after the other."""

    def __init__(self) -> None:
        """Start a scene."""
        self._seen: dict[str, dict[str, tuple[float, float]]] = {}  # element -> name -> where it was last seen
        self._names: set[str] = set()

    def names(self, fragments: Sequence[Fragment]) -> list[str]:
        """Return a name for each fragment of the next frame."""
        claims: dict[tuple[int, str], float] = {}  # over all elements that a fragment and a name have in common
        for k, fragment in enumerate(fragments):
            for element in fragment.elements:
                for name, along in self._seen.get(element, {}).items():
                    claims[k, name] = claims.get((k, name), 0.0) + _overlap(fragment, along)
        found: dict[int, str] = {}
        for (k, name), overlap in sorted(claims.items(), key=lambda claim: (-claim[1], claim[0])):
            if overlap > 0 and k not in found and name not in found.values():
                found[k] = name
        names = [found[k] if k in found else self._new(one.elements[0]) for k, one in enumerate(fragments)]
        for name, fragment in zip(names, fragments, strict=True):
            for element in fragment.elements:
                self._seen.setdefault(element, {})[name] = fragment.along
        return names

    def _new(self, element: str) -> str:
        name, number = element, 0
        while name in self._names:
            number += 1
            name = f"{element}#{number}"
        self._names.add(name)
        return name


def _overlap(fragment: Fragment, along: tuple[float, float]) -> float:
    """Metres that a fragment and an interval have in common, also across the start of a closed element."""
    start, stop = fragment.along
    if not fragment.period:
        return max(0.0, min(stop, along[1]) - max(start, along[0]))
    laps = (-fragment.period, 0.0, fragment.period)
    return sum(max(0.0, min(stop + lap, along[1]) - max(start + lap, along[0])) for lap in laps)


def build(
    dataset: Dataset,
    rules: Rules,
    region: tuple[float, float],
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    store: SceneStore | None = None,
) -> MapFrames:
    """Return the truth of all frames of all scenes.

    Args:
        dataset: Scenes and maps.
        rules: How to make truth from a map.
        region: Length and width in metres.
        workers: Number of threads; one per processor if None. It does not change the result.
        progress: Called with the number of finished frames and of all frames.
        store: Keeps finished scenes. Scenes that are already in it are not cut again.
    """
    shapely_module()
    scenes = list(dataset.scenes())
    total = sum(len(scene.frames) for scene in scenes)
    done = 0
    finished: dict[int, MapFrames] = {}
    for k, scene in enumerate(scenes):
        kept = store.load(scene.name, [frame.token for frame in scene.frames]) if store else None
        if kept is not None:
            finished[k] = kept
            done += len(kept)
    if progress:
        progress(done, total)

    def work(scene: Scene) -> MapFrames:
        frames = cut_scene(scene, dataset.cutter(scene, rules), rules, region)
        if store:
            store.save(scene.name, frames)
        return frames

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        jobs = {pool.submit(work, scene): k for k, scene in enumerate(scenes) if k not in finished}
        try:
            for job in as_completed(jobs):
                frames = job.result()
                finished[jobs[job]] = frames
                done += len(frames)
                if progress:
                    progress(done, total)
        except BaseException:  # also after Ctrl-C: scenes that were begun are finished and kept
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    if not scenes:
        raise InvalidInput(f"{dataset.name}: no scenes were selected, expected at least one")
    frames = join_frames([finished[k] for k in range(len(scenes))])
    findings = (*dataset.findings, *summed(frames.findings, "maps"), *_empty_frames(frames))
    if rules.forward == "y":
        frames = frames.rotate(90)
    return replace(frames, name=f"{dataset.name} ({rules.name})", format="", findings=findings)


def cut_scene(scene: Scene, cutter: Cutter, rules: Rules, region: tuple[float, float]) -> MapFrames:
    """Return the frames of one scene, with x forward."""
    patches = Patches.of([frame.pose for frame in scene.frames], region)
    trackers = [Tracker() for _ in CLASSES]
    shown = []
    track: list[str] = []
    label: list[int] = []
    frame: list[int] = []
    for index, by_class in enumerate(zip(*cutter.cut(scene.frames, rules, region), strict=True)):
        for k, fragments in enumerate(by_class):
            shown += fragments
            track += trackers[k].names(fragments)
            label += [k] * len(fragments)
            frame += [index] * len(fragments)
    points = [fragment.points for fragment in shown]
    sizes = [len(line) for line in points]
    dimension = 3 if rules.height else 2
    return MapFrames(
        tuple(one.token for one in scene.frames),
        CLASSES,
        np.array(frame, np.int64),
        np.array(label, np.int64),
        Polylines(np.concatenate([np.empty((0, dimension)), *points]), np.array([0, *sizes], np.int64).cumsum()),
        track=np.array(track, np.str_),
        scenes=(scene.name,) * len(scene.frames),
        timestamps=np.array([one.timestamp for one in scene.frames], np.int64),
        poses=np.array([one.pose for one in scene.frames]).reshape(-1, 4, 4) if rules.tilt else patches.poses,
        name=scene.name,
        forward="x",
        findings=cutter.findings,
    )


def _empty_frames(frames: MapFrames) -> list[Finding]:
    empty = np.flatnonzero(np.diff(frames.offsets) == 0).tolist()
    if not empty:
        return []
    text = f"{len(empty)} of {len(frames)} frames have no map elements in their region; they are kept without instances"
    return [Finding("note", "empty-frames", text, len(empty), tuple(frames.tokens[i] for i in empty[:EXAMPLES]))]
