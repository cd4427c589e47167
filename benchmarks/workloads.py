"""Seeded lines that resemble a road map, as an evaluation compares them after reading and resampling.

A workload has the structure of an evaluation. A group (one class in one frame) has a few predictions and a few true
lines, and each prediction is compared with each true line of its group. Points are half a metre apart, as after
resampling.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SPACING = 0.5  # metres
GROUPS = 8
PER_SIDE = 8  # predictions in a group, and as many true lines
SHIFT = 0.3  # metres; standard deviation of each coordinate of a prediction relative to a true line

Points = NDArray[np.float64]  # (n, 2)


class Workload(NamedTuple):
    """Many lines in two flat arrays, and the pairs of them to compare."""

    coords: Points  # (points, 2)
    offsets: NDArray[np.int64]  # (lines + 1,)
    pairs: NDArray[np.int64]  # (pairs, 2): prediction, truth

    def line(self, i: int) -> Points:
        """The points of one line."""
        return self.coords[self.offsets[i] : self.offsets[i + 1]]


class Frame(NamedTuple):
    """One class in one frame, as a detector returns it."""

    predictions: list[Points]
    confidence: NDArray[np.float64]
    truth: list[Points]


def open_lines(n: int, *, noise: float, apart: float = 0.0) -> Workload:
    """Groups of road-like lines, with ``apart`` metres between the predictions and the true lines of a group."""
    rng = np.random.default_rng(n)
    lines: list[Points] = []
    for _ in range(GROUPS):
        road = _road(rng, n)
        predictions = [_moved(rng, road) + rng.normal(0, noise, (n, 2)) for _ in range(PER_SIDE)]
        truth = [_moved(rng, road) + apart * _sideways(road) for _ in range(PER_SIDE)]
        lines += predictions + truth
    return _workload(lines)


def closed_lines(n: int, *, noise: float) -> Workload:
    """Groups of rectangles that resemble crossings. Each starts at a random point, in a random direction."""
    rng = np.random.default_rng(n)
    lines: list[Points] = []
    for _ in range(GROUPS):
        width, heading = rng.uniform(2.5, 5.0), rng.uniform(0, 2 * np.pi)
        outlines = [_moved(rng, _rectangle(rng, n, width, heading)) for _ in range(2 * PER_SIDE)]
        lines += [line + rng.normal(0, noise, (n, 2)) for line in outlines[:PER_SIDE]] + outlines[PER_SIDE:]
    return _workload(lines)


def frame(predictions: int, truths: int) -> Frame:
    """Parallel lane dividers. Each has one good prediction; the others are shortened duplicates of low confidence."""
    rng = np.random.default_rng(predictions)
    road = _road(rng, 72)
    lanes = [road + 3.5 * k * _sideways(road) for k in range(truths)]
    truth = [lane[rng.integers(0, 10) : len(lane) - rng.integers(0, 10)] for lane in lanes]
    found, confidence = [], []
    for i in range(predictions):
        good = i < truths
        line = truth[i % truths]
        if not good:
            line = line[rng.integers(0, 6) : len(line) - rng.integers(0, 6)]
        if rng.random() < 0.5:
            line = line[::-1]
        moved = line + rng.normal(0, SHIFT if good else 1.0, 2) + rng.normal(0, 0.1 if good else 0.3, line.shape)
        found.append(moved)
        confidence.append(rng.uniform(0.5, 0.95) if good else rng.uniform(0.01, 0.4))
    return Frame(found, np.array(confidence), truth)


def heap(lines: int, n: int) -> list[Points]:
    """Lines of ``n`` points that all lie on one another: every pair is near, and bounds rule out nothing."""
    rng = np.random.default_rng(lines * n)
    road = np.stack([np.linspace(0, 4, n), np.zeros(n)], axis=1)
    return [_moved(rng, road) + rng.normal(0, 0.1, (n, 2)) for _ in range(lines)]


def savings(rows: int, columns: int, count: int) -> NDArray[np.float64]:
    """``(count, rows, columns)`` savings. Most pairs of a frame are far apart and save nothing."""
    rng = np.random.default_rng(rows)
    values = rng.random((count, rows, columns))
    return np.where(rng.random(values.shape) < 0.1, values, 0.0)


def _road(rng: np.random.Generator, n: int) -> Points:
    """A smoothly curving line in any direction."""
    along = SPACING * np.arange(n)
    heading = np.full(n, rng.uniform(0, 2 * np.pi))
    for _ in range(2):
        heading += rng.uniform(0, 0.4) * np.sin(2 * np.pi * (along / rng.uniform(60, 200) + rng.random()))
    return SPACING * np.cumsum(np.stack([np.cos(heading), np.sin(heading)], axis=1), axis=0)


def _rectangle(rng: np.random.Generator, n: int, width: float, heading: float) -> Points:
    """``n`` points around a rectangle, from a random point on it, in a random direction."""
    perimeter = SPACING * n
    length = perimeter / 2 - width
    at = (rng.uniform(0, perimeter) + rng.choice([-1, 1]) * SPACING * np.arange(n)) % perimeter
    corners = [0.0, length, length + width, 2 * length + width, perimeter]
    u = np.interp(at, corners, [0, length, length, 0, 0])
    v = np.interp(at, corners, [0, 0, width, width, 0])
    turn = np.array([[np.cos(heading), np.sin(heading)], [-np.sin(heading), np.cos(heading)]])
    outline: Points = np.stack([u, v], axis=1) @ turn
    return outline


def _moved(rng: np.random.Generator, line: Points) -> Points:
    """The line after a random translation. Two lines moved like this are ``SHIFT`` apart."""
    return line + rng.normal(0, SHIFT / np.sqrt(2), 2)


def _sideways(line: Points) -> Points:
    """The unit vector perpendicular to a line."""
    chord = line[-1] - line[0]
    across: Points = np.array([-chord[1], chord[0]]) / np.hypot(chord[0], chord[1])
    return across


def _workload(lines: list[Points]) -> Workload:
    offsets = np.zeros(len(lines) + 1, np.int64)
    np.cumsum([len(line) for line in lines], out=offsets[1:])
    first = 2 * PER_SIDE * np.arange(GROUPS)
    i, j = np.divmod(np.arange(PER_SIDE**2), PER_SIDE)
    pairs = first[:, None, None] + np.stack([i, PER_SIDE + j], axis=1)
    return Workload(np.concatenate(lines), offsets, pairs.reshape(-1, 2))
