"""A synthetic data set: roads seen from a driving car, and the predictions of a simulated detector.

Examples, tests and benchmarks use it instead of a real data set. Everything is generated from one seed. Coordinates
are rounded to millimetres and confidences to float32. So the data are the same on machines whose sine functions differ
in the last bit.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from mapgauge.arguments import check_whole
from mapgauge.demo.detector import QUALITIES, predict
from mapgauge.demo.streets import INTERVAL, SCENE, draw_streets, drive, see
from mapgauge.errors import InvalidInput
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.map_frames import MapFrames
from mapgauge.protocols import CLASSES

_EPOCH = 1_700_000_000_000_000  # start of the first scene, microseconds
_APART = 600_000_000  # from the start of a scene to the start of the next, microseconds


def demo_world(
    frames: int = 40, *, seed: int = 0, predictions: int = 75, quality: Literal["good", "poor"] = "good"
) -> tuple[MapFrames, MapFrames]:
    """Generate predictions and truth in a region of 60 x 30 m around the ego vehicle.

    Args:
        frames: Number of frames. A scene has ten frames, which are five seconds of a drive. Every scene has its own
            road.
        seed: Seed of the random numbers. With the same seed, the first frames do not depend on the number of frames.
        predictions: Number of predictions in each frame.
        quality: Quality of the detector. Both detectors see the same truth, and the same instances are hard to detect.

    Returns:
        Predictions and truth with scenes, timestamps in microseconds and poses. The truth has tracks: instances with
        the same name are the same element of the world.

    >>> predictions, truth = demo_world(20)
    >>> len(truth), len(set(truth.scenes)), len(predictions.polylines) / len(predictions)
    (20, 2, 75.0)
    """
    frames = check_whole("frames", frames, least=1)
    seed = check_whole("seed", seed, least=0)
    predictions = check_whole("predictions", predictions, least=0)
    if quality not in QUALITIES:
        raise InvalidInput(f"quality must be {' or '.join(map(repr, QUALITIES))}, got {quality!r}")
    scenes = [_scene(seed, number, predictions, quality=quality) for number in range(-(-frames // SCENE))]
    x, y = (join_frames(side).between(slice(0, frames)) for side in zip(*scenes, strict=True))
    return replace(x, name=f"demo-{quality}"), replace(y, name="demo-truth")


def _scene(seed: int, number: int, predictions: int, quality: str) -> tuple[MapFrames, MapFrames]:
    """Generate one scene. Each scene has its own random numbers, and so has each quality of the detector."""
    rng = np.random.default_rng([seed, number, 0])
    streets = draw_streets(rng)
    poses = drive(rng, streets)
    hardness = np.exp(rng.normal(0, 0.4, len(streets.label)))
    frame, element, polylines = see(streets, poses)
    name = f"scene-{number:04d}"
    tracks = np.array([f"{name}/{CLASSES[label]}-{k}" for k, label in enumerate(streets.label.tolist())])
    truth = MapFrames(
        tokens=tuple(f"{name}-{k}" for k in range(SCENE)),
        classes=CLASSES,
        frame=frame,
        label=streets.label[element],
        polylines=polylines,
        track=tracks[element],
        scenes=(name,) * SCENE,
        timestamps=_EPOCH + _APART * number + INTERVAL * np.arange(SCENE),
        poses=poses,
        forward="x",
    )
    rng = np.random.default_rng([seed, number, 1 + list(QUALITIES).index(quality)])
    return predict(
        rng, QUALITIES[quality], truth, element=element, after=streets.after, hardness=hardness, count=predictions
    ), truth


__all__ = ["QUALITIES", "demo_world"]
