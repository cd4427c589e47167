"""A synthetic world: roads seen from a driving car, and what a detector might say of them.

Nothing of it is measured. It is there to try things out without a data set: in examples, tests and benchmarks.
Everything comes from one seed. Coordinates are whole millimetres and confidences float32 numbers, so that machines
whose sines differ in the last bit make the same world.
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from mapgauge.demo.detector import QUALITIES, predict
from mapgauge.demo.streets import INTERVAL, SCENE, draw_streets, drive, see
from mapgauge.errors import InvalidInput
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.protocols import CLASSES

_EPOCH = 1_700_000_000_000_000  # microseconds, when the first scene begins
_APART = 600_000_000  # microseconds from scene to scene


def demo_world(
    frames: int = 40, *, seed: int = 0, predictions: int = 75, quality: Literal["good", "poor"] = "good"
) -> tuple[MapFrames, MapFrames]:
    """Make up predictions and truth of some frames, 60 x 30 m around the ego.

    Args:
        frames: How many. Ten are a scene: five seconds of a drive along a road of its own.
        seed: Of the world. A longer world of the same seed begins with the shorter one.
        predictions: How many in each frame.
        quality: Of the detector. Both see the same truth, and what is hard to see is so for both.

    Returns:
        Predictions and truth with scenes, timestamps in microseconds and poses. The truth has tracks: what has the
        same name is the same thing in the world.

    >>> predictions, truth = demo_world(20)
    >>> len(truth), len(set(truth.scenes)), len(predictions.polylines) / len(predictions)
    (20, 2, 75.0)
    """
    for name, value, least in (("frames", frames, 1), ("seed", seed, 0), ("predictions", predictions, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}")
    if quality not in QUALITIES:
        raise InvalidInput(f"quality must be {' or '.join(map(repr, QUALITIES))}, got {quality!r}")
    scenes = [_scene(seed, number, predictions, quality) for number in range(-(-frames // SCENE))]
    x, y = (_joined(side).between(slice(0, frames)) for side in zip(*scenes, strict=True))
    return replace(x, name=f"demo-{quality}"), replace(y, name="demo-truth")


def _scene(seed: int, number: int, predictions: int, quality: str) -> tuple[MapFrames, MapFrames]:
    """One scene, from random numbers of its own; those of the detector are different for each quality."""
    rng = np.random.default_rng([seed, number, 0])
    streets = draw_streets(rng)
    poses = drive(rng, streets)
    hardness = np.exp(rng.normal(0, 0.4, len(streets.label)))
    frame, element, polylines = see(streets, poses)
    name = f"scene-{number:04d}"
    tracks = np.array([f"{name}/{CLASSES[label]}-{k}" for k, label in enumerate(streets.label.tolist())])
    truth = MapFrames(
        tuple(f"{name}-{k}" for k in range(SCENE)),
        CLASSES,
        frame,
        streets.label[element],
        polylines,
        track=tracks[element],
        scenes=(name,) * SCENE,
        timestamps=_EPOCH + _APART * number + INTERVAL * np.arange(SCENE),
        poses=poses,
    )
    rng = np.random.default_rng([seed, number, 1 + list(QUALITIES).index(quality)])
    found = predict(rng, QUALITIES[quality], truth, element, streets.after, hardness, predictions)
    return found, truth


def _joined(scenes: tuple[MapFrames, ...]) -> MapFrames:
    """Scenes one after the other."""

    def column(name: str) -> Any:
        values = [getattr(scene, name) for scene in scenes]
        return None if values[0] is None else np.concatenate(values)

    before = np.repeat(SCENE * np.arange(len(scenes)), [len(scene.frame) for scene in scenes])
    sizes = [np.diff(scene.polylines.offsets) for scene in scenes]
    coords = np.concatenate([scene.polylines.coords for scene in scenes])
    return MapFrames(
        tuple(token for scene in scenes for token in scene.tokens),
        CLASSES,
        column("frame") + before,
        column("label"),
        Polylines(coords, np.concatenate([[0], *sizes]).cumsum()),
        column("confidence"),
        column("track"),
        tuple(name for scene in scenes for name in scene.scenes or ()),
        column("timestamps"),
        column("poses"),
    )


__all__ = ["QUALITIES", "demo_world"]
