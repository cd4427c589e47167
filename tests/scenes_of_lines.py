"""Small scenes of straight lines with tracks, for metrics over time."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from tests.arrays import Floats

import mapgauge as mg

Line = tuple[str, float, float]  # track, position across the road, confidence


def pose(x: float = 0.0, y: float = 0.0, degrees: float = 0.0) -> Floats:
    """Return the pose of an ego vehicle."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    found = np.eye(4)
    found[:2, :2], found[:2, 3] = [[c, -s], [s, c]], [x, y]
    return found


def scene(
    frames: Sequence[Sequence[Line]],
    *,
    truth: bool = False,
    name: str = "s",
    classes: Sequence[str] = ("divider",),
    points: Any = ((-10.0, 0.0), (10.0, 0.0)),
    **columns: Any,
) -> mg.MapFrames:
    """Return a scene with lines along x, one list of lines per frame."""
    lines = [[np.add(points, (0.0, y)) for _, y, _ in frame] for frame in frames]
    tokens = [f"{name}-{k}" for k in range(len(frames))]
    nested = {token: {classes[0]: of} for token, of in zip(tokens, lines, strict=True)}
    sure: Mapping[str, Any] = {
        token: {classes[0]: [c for *_, c in of]} for token, of in zip(tokens, frames, strict=True)
    }
    made = mg.MapFrames.of(nested, confidence=None if truth else sure, classes=classes)
    tracks = np.array([track for frame in frames for track, *_ in frame], np.str_)
    return replace(made, track=tracks, **({"scenes": (name,) * len(frames)} | columns))
