"""Simulates the predictions of a detector, with all common kinds of errors.

Every prediction is a part of a true line, with noise. It is a detection, one half of a split detection, two true lines
detected as one, a repeated detection, or a false alarm. A false alarm is a true line of any frame at a wrong place.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mapgauge.demo.streets import CROSSING, REGION, SCENE
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Floats, Indices, Points

POINTS = 20  # number of points of a prediction

# Noise along a line: a constant offset and slow waves, so that neighbouring points have similar errors.
_WAVES = np.array([[0.8], [0.5], [0.35], [0.25]]) * np.cos(np.outer(np.arange(4), np.linspace(0, np.pi, POINTS)))
_ROUGH = 0.02  # metres, independent noise of each point
_LONG = 15.0  # metres; shorter lines have weaker waves
_AGAIN = 3.2  # mean number of repeated detections of an instance, with low confidence; half have another class
_REPEATED = {"noise": 1.8, "odds": -3.5}  # of repeated detections


class Quality(NamedTuple):
    """The quality of a detector. Shares are shares of the true instances."""

    noise: float  # metres, at 10 m from the ego vehicle; it grows with the distance
    missed: float
    split: float  # detected as two lines
    merged: float  # dividers detected as one with the next, across a junction
    confused: float  # detected as another class
    sureness: float  # log odds of the confidence of a prediction without error


QUALITIES = {
    "good": Quality(0.30, missed=0.12, split=0.06, merged=0.05, confused=0.03, sureness=1.8),
    "poor": Quality(0.40, missed=0.20, split=0.10, merged=0.10, confused=0.06, sureness=1.6),
}


class _DetectedLines(NamedTuple):
    """The lines that are detected: true instances, followed by pairs of dividers that are detected as one."""

    polylines: Polylines
    frame: Indices
    label: Indices
    hardness: Floats  # factor of the noise
    pairs: Indices  # (pairs, 2): the two true instances of each pair

    @classmethod
    def of(cls, truth: MapFrames, element: Indices, after: Indices, hardness: Floats) -> "_DetectedLines":
        """Return the true instances, and the pairs that follow each other across a junction."""
        frames = truth.frame.tolist()
        where = {key: i for i, key in enumerate(zip(frames, element.tolist(), strict=True))}
        followers = enumerate(zip(frames, after[element].tolist(), strict=True))
        pairs = np.array([(i, where[key]) for i, key in followers if key in where], np.int64).reshape(-1, 2)
        joined = [np.concatenate([truth.polylines[i], truth.polylines[j]]) for i, j in pairs.tolist()]
        rows = np.append(np.arange(len(element)), pairs[:, 0])
        lines = truth.polylines.and_then(Polylines.of(joined))
        return cls(lines, truth.frame[rows], truth.label[rows], hardness=hardness[element[rows]], pairs=pairs)


class _Drafts(NamedTuple):
    """Predictions without their points."""

    target: Indices
    frame: Indices
    label: Indices
    begin: Floats  # of the detected part, as a share of the length
    end: Floats
    noise: Floats  # factor of the noise
    away: Floats  # metres, standard deviation of the offset of the whole line
    odds: Floats  # log odds that are added to the confidence, besides the effect of noise

    @classmethod
    def of(cls, targets: _DetectedLines, target: Indices, **others: Any) -> "_Drafts":
        """Make detections of targets with default values, except in the columns given."""
        plain = {"begin": 0.0, "end": 1.0, "noise": 1.0, "away": 0.0, "odds": 0.0}
        columns = {"frame": targets.frame[target], "label": targets.label[target]} | plain | others
        return cls(target, **{name: np.broadcast_to(value, len(target)) for name, value in columns.items()})


class _Walk:
    """Lines laid end to end, to interpolate points on any part of any line at once."""

    def __init__(self, polylines: Polylines) -> None:
        self.coords = polylines.coords
        offsets = polylines.offsets
        step = np.hypot(*np.diff(self.coords, axis=0).T)
        step[offsets[1:-1] - 1] = 1.0  # between the end of a line and the start of the next
        self.along = np.concatenate([[0.0], step.cumsum()])
        self.start = self.along[offsets[:-1]]
        self.length = self.along[offsets[1:] - 1] - self.start
        self.closed = polylines.closed("auto")[0]

    def points(self, target: Indices, begin: Floats, end: Floats) -> Points:
        """Return points at equal distances between two shares of the length. A closed line continues at its start."""
        share = begin[:, None] + (end - begin)[:, None] * np.linspace(0, 1, POINTS)
        share = np.where(self.closed[target, None], share % 1, share)
        at = self.start[target, None] + share * self.length[target, None]
        return np.stack([np.interp(at, self.along, column) for column in self.coords.T], axis=2)


def predict(
    rng: np.random.Generator,
    quality: Quality,
    truth: MapFrames,
    element: Indices,
    after: Indices,
    hardness: Floats,
    count: int,
) -> MapFrames:
    """Return ``count`` predictions in each frame of a scene, the most confident first.

    ``element`` is the element of the map of each true instance. ``after`` and ``hardness`` are of each element: the one
    that continues it behind a junction, or -1, and how hard it is to detect.
    """
    targets = _DetectedLines.of(truth, element, after, hardness=hardness)
    walk = _Walk(targets.polylines)
    drafts = _drafts(rng, quality, targets, length=walk.length, count=count)
    points, error = _noisy(rng, quality, targets, walk=walk, drafts=drafts)
    odds = quality.sureness + drafts.odds - 2 * error + rng.normal(0, 1, len(error))
    confidence = (1 / (1 + np.exp(-odds))).astype(np.float32).astype(np.float64)
    order = np.lexsort((-confidence, drafts.frame))
    rank = np.arange(len(order)) - np.searchsorted(drafts.frame[order], drafts.frame[order])
    order = order[rank < count]
    return replace(
        truth,
        frame=drafts.frame[order],
        label=drafts.label[order],
        polylines=Polylines(points[order].reshape(-1, 2), POINTS * np.arange(len(order) + 1)),
        confidence=confidence[order],
        track=None,
    )


def _drafts(rng: np.random.Generator, quality: Quality, targets: _DetectedLines, length: Floats, count: int) -> _Drafts:
    """Draw the detections, and fill each frame up to ``count`` predictions with false alarms."""
    true = len(targets.frame) - len(targets.pairs)
    label = targets.label[:true]
    detected = rng.random(true) > quality.missed * targets.hardness[:true]
    merged = np.flatnonzero(rng.random(len(targets.pairs)) < quality.merged)
    detected[targets.pairs[merged]] = False
    split = detected & (label != CROSSING) & (length[:true] > 10) & (rng.random(true) < quality.split)
    whole = np.flatnonzero(detected & ~split)
    halves = np.flatnonzero(split)
    again = np.repeat(np.arange(true), rng.poisson(_AGAIN, true))
    trim = np.abs(rng.normal(0, 0.03, (2, len(whole)))) * (label[whole] != CROSSING)
    cut = rng.uniform(0.3, 0.7, len(halves))
    lost = rng.uniform(0, 0.4, (2, len(again))) * (rng.random(len(again)) < 0.3)
    drafts = [
        _Drafts.of(targets, whole, label=_other(rng, label[whole], quality.confused), begin=trim[0], end=1 - trim[1]),
        _Drafts.of(targets, halves, end=cut - 0.02, odds=-1.0),
        _Drafts.of(targets, halves, begin=cut + 0.02, odds=-1.0),
        _Drafts.of(targets, true + merged, noise=1.5, odds=-1.0),
        _Drafts.of(
            targets, again, label=_other(rng, label[again], share=0.5), begin=lost[0], end=1 - lost[1], **_REPEATED
        ),
    ]
    so_far = np.bincount(np.concatenate([draft.frame for draft in drafts]), minlength=SCENE)
    frame = np.repeat(np.arange(SCENE), np.maximum(count - so_far, 0))
    lost = rng.uniform(0, 0.5, (2, len(frame)))
    anything = rng.integers(0, true, len(frame))
    drafts.append(_Drafts.of(targets, anything, frame=frame, begin=lost[0], end=1 - lost[1], away=3.0, odds=-5.0))
    return _Drafts(*(np.concatenate(columns) for columns in zip(*drafts, strict=True)))


def _other(rng: np.random.Generator, label: Indices, share: float) -> Indices:
    """Replace a share of the labels by other labels."""
    exchanged = rng.random(len(label)) < share
    return (label + exchanged * rng.integers(1, 3, len(label))) % 3


def _noisy(
    rng: np.random.Generator, quality: Quality, targets: _DetectedLines, walk: _Walk, drafts: _Drafts
) -> tuple[Points, Floats]:
    """Return the points of predictions, and the noise of each in metres.

    A third of the lines are reversed. Polygons start at any point, and only some of them end at their start.
    """
    count = len(drafts.target)
    closed = walk.closed[drafts.target]
    length = walk.length[drafts.target]
    turned = closed * rng.random(count)
    gap = closed * np.maximum(rng.normal(0.2, 0.3, count), 0) / length
    begin = drafts.begin + turned
    end = drafts.end + turned - gap
    back = rng.random(count) < 1 / 3
    points = walk.points(drafts.target, np.where(back, end, begin), np.where(back, begin, end))
    strength = rng.normal(0, 1, (2, count, len(_WAVES)))
    strength[:, :, 1:] *= np.minimum(length * (drafts.end - drafts.begin) / _LONG, 1)[:, None]
    waves = np.stack(list(strength @ _WAVES), axis=2)
    with_range = 0.4 + 0.06 * np.sqrt(np.square(points).sum(axis=2, keepdims=True))
    noise = quality.noise * (drafts.noise * targets.hardness[drafts.target])[:, None, None] * with_range * waves
    noise += rng.normal(0, _ROUGH, points.shape)
    points += noise + drafts.away[:, None, None] * rng.normal(0, 1, (count, 1, 2))
    shut = closed & (end - begin > 0.9) & (rng.random(count) < 0.4)
    points[shut, -1] = points[shut, 0]
    half = np.array(REGION) / 2
    error: Floats = np.sqrt(np.square(noise).sum(axis=2).mean(axis=1))
    return np.clip(points, -half, half).round(3), error
