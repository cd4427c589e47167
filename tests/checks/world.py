"""A small world of 60 x 30 m with roads, dividers and crossings, and plausible predictions of it."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from tests.arrays import Points

import mapgauge as mg

CLASSES = ("ped_crossing", "divider", "boundary")
CORNER = np.array([30.0, 15.0])
FRAMES = 8


def codes(predictions: mg.MapFrames, truth: mg.MapFrames, **settings: object) -> set[str]:
    """Return the codes of the errors and warnings."""
    return {f.code for f in mg.check(predictions, truth, **settings) if f.level != "note"}  # type: ignore[arg-type]


def one(code: str, predictions: mg.MapFrames, truth: mg.MapFrames, **settings: object) -> mg.Finding:
    """Return the only finding with this code."""
    (finding,) = (f for f in mg.check(predictions, truth, **settings) if f.code == code)  # type: ignore[arg-type]
    return finding


def none(code: str, predictions: mg.MapFrames, truth: mg.MapFrames, **settings: object) -> bool:
    """Return whether there is no finding with this code."""
    return all(f.code != code for f in mg.check(predictions, truth, **settings))  # type: ignore[arg-type]


def placed(frames: mg.MapFrames, factor: ArrayLike = 1.0, shift: ArrayLike = 0.0) -> mg.MapFrames:
    """Return the frames with all points scaled and then shifted."""
    coords = np.ascontiguousarray(frames.polylines.coords * np.asarray(factor) + np.asarray(shift))
    return replace(frames, polylines=mg.Polylines(coords, frames.polylines.offsets))


def best(frames: mg.MapFrames, count: int) -> mg.MapFrames:
    """Return the most confident predictions of each frame."""
    assert frames.confidence is not None
    rows = []
    for first, end in zip(frames.offsets, frames.offsets[1:], strict=False):
        rows += sorted(first + np.argsort(-frames.confidence[first:end], kind="stable")[:count])
    return frames.keep(np.array(rows, np.int64))


def truth_of(rng: np.random.Generator, frames: int = FRAMES) -> mg.MapFrames:
    """Return slightly curved roads along x, a street to the left, a lane to the right, and crossings."""
    return mg.MapFrames.of({f"{i:032x}": _frame(rng) for i in range(frames)}, classes=CLASSES)


def predictions_of(rng: np.random.Generator, truth: mg.MapFrames, alarms: int = 6) -> mg.MapFrames:
    """Return each instance, slightly displaced and with 20 points, and some false alarms of low confidence."""
    frames: dict[str, dict[str, list[Points]]] = {}
    confidence: dict[str, dict[str, list[float]]] = {}
    for token in truth.tokens:
        lines: dict[str, list[Points]] = {name: [] for name in CLASSES}
        values: dict[str, list[float]] = {name: [] for name in CLASSES}
        for instance in truth[token]:
            points = mg.resample(instance.points, count=20) + rng.normal(0, 0.3, 2) + rng.normal(0, 0.1, (20, 2))
            lines[instance.class_name].append(np.clip(points, -CORNER, CORNER))
            values[instance.class_name].append(rng.uniform(0.4, 0.95))
        for _ in range(alarms):
            name = CLASSES[rng.integers(len(CLASSES))]
            start, end = rng.uniform(-1, 1, (2, 2)) * CORNER
            lines[name].append(np.linspace(start, end, 20))
            values[name].append(rng.uniform(0.01, 0.1))
        frames[token], confidence[token] = lines, values
    return mg.MapFrames.of(frames, confidence=confidence, classes=CLASSES)


def _frame(rng: np.random.Generator) -> dict[str, list[Points]]:
    x = np.linspace(-30, 30, 7)
    bend, aside = rng.normal(0, 1e-3), rng.uniform(-2, 1)
    road = [np.stack([x, bend * x**2 + aside + y], axis=1) for y in (-8, -3, 2, 7)]
    left, right = rng.uniform(0, 15), rng.uniform(-28, -20)
    side = [np.array([[left + dx, aside + 9.0], [left + dx + 1, 15.0]]) for dx in (0, 5, 10)]
    lane = [np.array([[right + dx, aside - 9.0], [right + dx - 1, -15.0]]) for dx in (0, 6)]
    corners = np.array([[0, 0], [0, 10], [3, 10], [3, 0], [0, 0]])
    crossings = [corners + np.array([at, aside - 6]) for at in (rng.uniform(-18, -8), rng.uniform(14, 26))]
    return {
        "ped_crossing": crossings,
        "divider": [*road[1:3], side[1]],
        "boundary": [road[0], road[3], side[0], side[2], *lane],
    }
