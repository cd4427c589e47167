"""A straight road with wrong labels, and two methods that see what is there."""

from dataclasses import replace

import numpy as np
from tests.arrays import Points

import mapgauge as mg
from mapgauge.geometry.cropping import crop_polylines

FRAMES = 8  # of a scene
STEP = 6.0  # metres from frame to frame
APART = 500.0  # metres from scene to scene
CLASSES = ("ped_crossing", "divider", "boundary")

Lines = dict[str, list[Points]]  # of one scene, by class


def elements() -> Lines:
    """Return what is there: dashes of two dividers, two boundaries and crossings."""
    lines: Lines = {name: [] for name in CLASSES}
    for start in range(-40, 100, 20):
        for y in (0.0, 3.5):
            lines["divider"].append(np.array([[start, y], [start + 12.0, y]]))
        for y in (-7.0, 10.5):
            lines["boundary"].append(np.array([[start, y], [start + 19.0, y]]))
    for x in (-15.0, 25.0, 65.0):
        box = [[x, -3.0], [x + 3.5, -3.0], [x + 3.5, 6.5], [x, 6.5], [x, -3.0]]
        lines["ped_crossing"].append(np.array(box))
    return lines


def frames_of(scenes: list[Lines]) -> mg.MapFrames:
    """Return what frames of drives along the road show."""
    shown = {}
    poses = []
    names = []
    for s, lines in enumerate(scenes):
        for k in range(FRAMES):
            ego = np.array([STEP * k, 1.75])
            pose = np.eye(4)
            pose[:2, 3] = ego + np.array([0.0, APART * s])
            poses.append(pose)
            names.append(f"scene-{s}")
            groups = {}
            for name in CLASSES:
                cut, _ = crop_polylines(mg.Polylines.of([line - ego for line in lines[name]]), (60.0, 30.0))
                groups[name] = [
                    cut[i] for i in range(len(cut)) if np.hypot(*(cut[i][-1] - cut[i][0])) > 2 or len(cut[i]) > 3
                ]
            shown[f"scene-{s}-{k}"] = groups
    frames = mg.MapFrames.of(shown, classes=CLASSES)
    return replace(frames, poses=np.array(poses), scenes=tuple(names), forward="x", name="truth")


def wrong_truth() -> mg.MapFrames:
    """Return truth of four scenes. One divider is dropped, one shifted by a metre, and one boundary invented."""
    scenes = [elements() for _ in range(4)]
    del scenes[0]["divider"][6]  # from x = 20 to 32 at y = 0
    scenes[1]["divider"][7] = scenes[1]["divider"][7] + [0.0, 1.0]  # from x = 20 to 32 at y = 3.5
    scenes[2]["boundary"].append(np.array([[10.0, -11.0], [30.0, -11.0]]))
    return frames_of(scenes)


def method(rng: np.random.Generator, noise: float = 0.1, missed: float = 0.1) -> mg.MapFrames:
    """Return the predictions of a method: what is there, with noise. Some lines are missed."""
    there = frames_of([elements() for _ in range(4)])
    kept = rng.random(len(there.polylines)) > missed
    coords = there.polylines.coords + np.repeat(
        rng.normal(0, noise, (len(kept), 2)), np.diff(there.polylines.offsets), axis=0
    )
    seen = replace(there, polylines=mg.Polylines(coords, there.polylines.offsets), poses=None, name="")
    return seen.with_confidence(rng.uniform(0.5, 0.9, len(kept))).keep(kept)


def methods(rng: np.random.Generator, truth: mg.MapFrames, count: int = 2) -> list[mg.Results]:
    """Return the results of some methods."""
    return [mg.evaluate(method(rng), truth, metrics=["pld"]) for _ in range(count)]
