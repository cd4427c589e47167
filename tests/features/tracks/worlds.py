"""Small worlds for tests of frames over time: the truth of the demo as the output of a perfect detector, made worse."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import mapgauge as mg
from mapgauge.demo import demo_world

Worse = Callable[[mg.MapFrames, np.random.Generator], mg.MapFrames]


def perfect(frames: int = 40) -> mg.MapFrames:
    """The truth as the output of a detector that is rather sure."""
    return demo_world(frames)[1].with_confidence(0.8)


def jittering(frames: mg.MapFrames, rng: np.random.Generator) -> mg.MapFrames:
    """Every line is off by some 10 cm, by another offset in every frame."""
    sizes = np.diff(frames.polylines.offsets)
    offsets = np.repeat(rng.normal(0, 0.1, (len(sizes), 2)), sizes, axis=0)
    return replace(frames, polylines=mg.Polylines(frames.polylines.coords + offsets, frames.polylines.offsets))


def dropping(frames: mg.MapFrames, rng: np.random.Generator) -> mg.MapFrames:
    """A tenth of the lines is missing, others in every frame."""
    return frames.keep(rng.random(len(frames.polylines)) > 0.1)


def unsure(frames: mg.MapFrames, rng: np.random.Generator) -> mg.MapFrames:
    """The confidence of every line changes."""
    return frames.with_confidence(rng.uniform(0.6, 1.0, len(frames.polylines)))


def reversing(frames: mg.MapFrames, rng: np.random.Generator) -> mg.MapFrames:
    """A half of the lines is reversed, and polygons begin elsewhere."""

    def changed(line: np.ndarray) -> np.ndarray:
        if (line[0] == line[-1]).all():
            line = np.roll(line[:-1], rng.integers(len(line)), axis=0)
            line = np.concatenate([line, line[:1]])
        return np.ascontiguousarray(line[::-1] if rng.random() < 0.5 else line)

    return replace(frames, polylines=mg.Polylines.of([changed(line) for line in frames.polylines]))


def shuffled(frames: mg.MapFrames, rng: np.random.Generator, *, whole_frames: bool = True) -> mg.MapFrames:
    """The same frames with their instances in another order, and the frames in another order."""
    order = np.lexsort((rng.random(len(frames.frame)), frames.frame))
    mixed = replace(frames.keep(order), history=None)
    return mixed.at(rng.permutation(len(frames)).tolist()) if whole_frames else mixed
