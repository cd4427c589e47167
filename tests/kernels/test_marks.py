"""Levels of pieces, which drawings show, against the definition written with numpy."""

import numpy as np
import pytest
from tests.arrays import Floats, Points

import mapgauge as mg
from mapgauge import kernels

STEPS = 6


def segments(points: Points, *, closed: bool) -> tuple[Points, Points]:
    """The pieces of a line, by where they begin and end. A single point is a piece without length."""
    if closed:
        return points, np.roll(points, -1, axis=0)
    if len(points) == 1:
        return points, points
    return points[:-1], points[1:]


def distance(place: Floats, begin: Points, end: Points) -> float:
    """The distance of a place from the nearest of some segments; infinity if there are none."""
    nearest = np.inf
    for a, b in zip(begin, end, strict=True):
        step = b - a
        square = float(step @ step)
        share = 0.0
        if square > 0:
            share = float(np.clip((place - a) @ step / square, 0, 1))
        nearest = min(nearest, float(np.linalg.norm(place - a - share * step)))
    return nearest


def levels(points: Points, truth: list[Points], truth_closed: list[bool], cutoff: float, *, closed: bool) -> list[int]:
    """The level of each point of one line, straight from the definition."""
    found = []
    for a, b in zip(*segments(points, closed=closed), strict=True):
        away = [
            distance((a + b) / 2, *segments(line, closed=flag)) for line, flag in zip(truth, truth_closed, strict=True)
        ]
        found.append(int(min(min(away, default=np.inf) * STEPS / cutoff, STEPS)))
    return found + found[-1:] * (len(points) - len(found))


@pytest.mark.parametrize("seed", range(20))
def test_levels_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lines = [np.cumsum(rng.normal(0, 0.5, (int(rng.integers(1, 8)), 2)), axis=0) for _ in range(9)]
    closed = (rng.random(9) < 0.5).tolist()
    predictions = lines[:4]
    truth = lines[4:]
    first = rng.integers(0, 5, 4)
    stop = np.minimum(first + rng.integers(0, 3, 4), 5)
    made = mg.Polylines.pack(predictions, list("abcd"), 2)
    true = mg.Polylines.pack(truth, list("abcde"), 2)
    flags = np.array(closed, np.bool_)
    found = kernels.marks.piece_levels(
        made.coords, made.offsets, flags[:4], true.coords, true.offsets, flags[4:], first, stop, 1.5, STEPS
    )
    expected = [
        level
        for i, line in enumerate(predictions)
        for level in levels(line, truth[first[i] : stop[i]], closed[4:][first[i] : stop[i]], 1.5, closed=closed[i])
    ]
    assert found.tolist() == expected


def test_without_truth_every_level_is_the_last() -> None:
    line = np.array([[0.0, 0], [1, 0]])
    none = np.zeros(1, np.int64)
    found = kernels.marks.piece_levels(
        line, np.array([0, 2]), np.zeros(1, np.bool_), line[:0], none, np.zeros(0, np.bool_), none, none, 1.5, STEPS
    )
    assert found.tolist() == [STEPS, STEPS]
