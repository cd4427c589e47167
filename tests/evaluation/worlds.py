"""Random frames with everything that a file can contain, small enough for the twin.

Coordinates are not on a grid. Two different pairs of lines never have the same distance, so the parts of PLD and the
nearest truth are unique. The only ties come from exact copies and from equal confidences.
"""

import numpy as np
from tests.arrays import Points
from tests.evaluation.twin import Frames, Line

import mapgauge as mg

CLASSES = ("ped_crossing", "divider", "boundary")
LEVELS = (0.0, 0.25, 0.5, 0.5, 1.0)  # confidences that many predictions share

World = dict[str, dict[str, list[Line]]]


def packed(frames: Frames, *, truth: bool) -> mg.MapFrames:
    """Return the frames as ``MapFrames``."""
    lines = {
        token: {name: [line.points for line in group] for name, group in groups.items()}
        for token, groups in frames.items()
    }
    confidence = {
        token: {name: [line.confidence for line in group] for name, group in groups.items()}
        for token, groups in frames.items()
    }
    return mg.MapFrames.of(lines, confidence=None if truth else confidence)


def wander(rng: np.random.Generator, dimension: int) -> Points:
    """Return a line of some metres."""
    n = int(rng.integers(2, 7))
    heading = rng.uniform(0, 2 * np.pi) + np.cumsum(rng.normal(0, 0.4, n))
    steps = (
        rng.uniform(0.3, 2.5, (n, 1)) * np.c_[np.cos(heading), np.sin(heading), rng.normal(0, 0.1, n)][:, :dimension]
    )
    points: Points = rng.uniform(-7, 7, dimension) + np.cumsum(steps, axis=0)
    return points


def polygon(rng: np.random.Generator, dimension: int) -> Points:
    """Return a crossing. Its last point equals the first point, nearly equals it, or is some distance away."""
    turn = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 7))))
    corners = np.c_[rng.uniform(1, 3) * np.cos(turn), rng.uniform(0.5, 2) * np.sin(turn), rng.normal(0, 0.1, len(turn))]
    points: Points = corners[:, :dimension] + rng.uniform(-6, 6, dimension)
    away = rng.choice([0.0, 0.04, 0.5], p=[0.6, 0.2, 0.2])
    return np.concatenate([points, points[:1] + away / np.sqrt(dimension)])


def drawn(rng: np.random.Generator, name: str, dimension: int) -> Points:
    """Return a line of a class, sometimes an unusual one."""
    kind = rng.random()
    if kind < 0.04:
        return wander(rng, dimension)[:1]  # one point
    if kind < 0.08:
        return np.repeat(wander(rng, dimension)[:1], 3, axis=0)  # no length
    if kind < 0.11 and dimension == 2:
        return np.empty((0, 2))
    if kind < 0.2 or (name == "ped_crossing" and kind < 0.9):
        return polygon(rng, dimension)
    return wander(rng, dimension)


def confidence_of(rng: np.random.Generator) -> float:
    return float(rng.choice(LEVELS)) if rng.random() < 0.5 else float(rng.random())


def predicted(rng: np.random.Generator, points: Points) -> Points:
    """Return a line as a model might predict it: moved, noisy, reversed, or with another first point."""
    if not len(points):
        return points
    guess = points + rng.normal(0, 0.4, points.shape[1]) + rng.normal(0, rng.choice([0, 0.15]), points.shape)
    if rng.random() < 0.3:
        guess = guess[::-1].copy()
    if len(guess) > 2 and rng.random() < 0.3:
        guess = np.roll(guess, int(rng.integers(len(guess))), axis=0)
    return guess


def worlds(
    rng: np.random.Generator,
    *,
    frames: int = 5,
    dimension: int = 2,
    classes: tuple[str, ...] = CLASSES,
    sure: bool = True,
) -> tuple[World, World]:
    """Return predictions and truth of some frames. The truth has confidences unless it is ``sure``."""
    truth: World = {}
    predictions: World = {}
    # A class may have no predictions, no truth, or neither, in all frames.
    without = {
        name: rng.choice(["neither", "predictions", "truth", "both"], p=[0.8, 0.07, 0.07, 0.06]) for name in classes
    }
    for k in range(frames):
        token = f"frame {k}"
        truth[token] = {}
        predictions[token] = {}
        for name in classes:
            lines = [drawn(rng, name, dimension) for _ in range(rng.choice([0, 0, 1, 2, 3]))]
            lines += [line.copy() for line in lines if rng.random() < 0.1]  # exact copies
            guesses = [predicted(rng, line) for line in lines if rng.random() < 0.85]
            guesses += [predicted(rng, line) for line in lines if rng.random() < 0.3]
            guesses += [drawn(rng, name, dimension) for _ in range(rng.choice([0, 1, 2]))]
            guesses += [guess.copy() for guess in guesses if rng.random() < 0.15]
            if rng.random() < 0.15:
                lines = []
            if rng.random() < 0.15:
                guesses = []
            if without[name] not in ("truth", "both"):
                truth[token][name] = [Line(line, 1.0 if sure else confidence_of(rng)) for line in lines]
            if without[name] not in ("predictions", "both"):
                predictions[token][name] = [Line(guess, confidence_of(rng)) for guess in guesses]
        if rng.random() < 0.15:
            del predictions[token]
    return predictions, truth
