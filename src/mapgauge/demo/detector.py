"""Predictions like those of a detector that has seen a scene: mostly right, and wrong in all the ways there are.

Every prediction is a part of some line of the truth, with noise: a detection, a half of one, two in one, the same
again, or a false alarm, which is a part of another frame in the wrong place.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mapgauge.demo.streets import CROSSING, REGION, SCENE, Floats, Indices
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Points

POINTS = 20  # of a prediction

# How noise runs along a line: as a whole and in slow waves, so that neighbouring points err alike.
_WAVES = np.array([[0.8], [0.5], [0.35], [0.25]]) * np.cos(np.outer(np.arange(4), np.linspace(0, np.pi, POINTS)))
_ROUGH = 0.02  # metres of noise that neighbours do not share
_LONG = 15.0  # metres; shorter lines waver less
_AGAIN = 3.2  # times that an instance is found again, with little confidence; every other time as another class


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a detector does; shares are of true instances."""

    noise: float  # metres, 10 m from the ego; it grows with range
    missed: float
    split: float  # found in two pieces
    merged: float  # dividers found as one with the next, across a junction
    confused: float  # found as another class
    sureness: float  # log odds of the confidence in a prediction without error


QUALITIES = {
    "good": Quality(0.30, missed=0.12, split=0.06, merged=0.05, confused=0.03, sureness=1.8),
    "poor": Quality(0.40, missed=0.20, split=0.10, merged=0.10, confused=0.06, sureness=1.6),
}


class _Things(NamedTuple):
    """What is found: true instances, and then pairs of dividers that are taken for one."""

    polylines: Polylines
    frame: Indices
    label: Indices
    hardness: Floats  # times the usual noise
    pairs: Indices  # (pairs, 2): the two true instances


class _Drafts(NamedTuple):
    """Predictions before they have points."""

    thing: Indices
    frame: Indices
    label: Indices
    begin: Floats  # of the part that is found, as a share of the length
    end: Floats
    noise: Floats  # times the usual
    away: Floats  # metres, about how far the whole is out of place
    odds: Floats  # log odds of the confidence, besides what noise takes away

    @classmethod
    def of(cls, things: _Things, thing: Indices, **others: Any) -> "_Drafts":
        """Plain detections of these things, but for the columns given."""
        plain = {"begin": 0.0, "end": 1.0, "noise": 1.0, "away": 0.0, "odds": 0.0}
        columns = {"frame": things.frame[thing], "label": things.label[thing]} | plain | others
        return cls(thing, **{name: np.broadcast_to(value, len(thing)) for name, value in columns.items()})


class _Walk:
    """Lines laid end to end, to take points from any part of any of them at once."""

    def __init__(self, polylines: Polylines) -> None:
        self.coords, offsets = polylines.coords, polylines.offsets
        step = np.hypot(*np.diff(self.coords, axis=0).T)
        step[offsets[1:-1] - 1] = 1.0  # from line to line
        self.along = np.concatenate([[0.0], step.cumsum()])
        self.start = self.along[offsets[:-1]]
        self.length = self.along[offsets[1:] - 1] - self.start
        self.closed = polylines.closed("auto")[0]

    def points(self, thing: Indices, begin: Floats, end: Floats) -> Points:
        """Points at equal distances between two shares of the length; closed lines go round and round."""
        share = begin[:, None] + (end - begin)[:, None] * np.linspace(0, 1, POINTS)
        share = np.where(self.closed[thing, None], share % 1, share)
        at = self.start[thing, None] + share * self.length[thing, None]
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
    """``count`` predictions in each frame of a scene, the most confident first.

    ``element`` says which element of the map each true instance is, ``after`` which element goes on with another, and
    ``hardness`` how hard each is to see.
    """
    things = _things(truth, element, after, hardness)
    walk = _Walk(things.polylines)
    drafts = _drafts(rng, quality, things, walk.length, count)
    points, error = _noisy(rng, quality, things, walk, drafts)
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


def _things(truth: MapFrames, element: Indices, after: Indices, hardness: Floats) -> _Things:
    frames = truth.frame.tolist()
    where = {key: i for i, key in enumerate(zip(frames, element.tolist(), strict=True))}
    followers = enumerate(zip(frames, after[element].tolist(), strict=True))
    pairs = np.array([(i, where[key]) for i, key in followers if key in where], np.int64).reshape(-1, 2)
    joined = [np.concatenate([truth.polylines[i], truth.polylines[j]]) for i, j in pairs.tolist()]
    rows = np.append(np.arange(len(element)), pairs[:, 0])
    return _Things(
        truth.polylines.and_then(Polylines.pack(joined, [""] * len(joined), 2)),
        truth.frame[rows],
        truth.label[rows],
        hardness[element[rows]],
        pairs,
    )


def _drafts(rng: np.random.Generator, quality: Quality, things: _Things, length: Floats, count: int) -> _Drafts:
    """What is found, and as many false alarms as lack in each frame."""
    true = len(things.frame) - len(things.pairs)
    label = things.label[:true]
    found = rng.random(true) > quality.missed * things.hardness[:true]
    merged = np.flatnonzero(rng.random(len(things.pairs)) < quality.merged)
    found[things.pairs[merged]] = False
    split = found & (label != CROSSING) & (length[:true] > 10) & (rng.random(true) < quality.split)
    whole, halves = np.flatnonzero(found & ~split), np.flatnonzero(split)
    again = np.repeat(np.arange(true), rng.poisson(_AGAIN, true))
    trim = np.abs(rng.normal(0, 0.03, (2, len(whole)))) * (label[whole] != CROSSING)
    cut = rng.uniform(0.3, 0.7, len(halves))
    lost = rng.uniform(0, 0.4, (2, len(again))) * (rng.random(len(again)) < 0.3)
    drafts = [
        _Drafts.of(
            things,
            whole,
            label=_other(rng, label[whole], quality.confused),
            begin=trim[0],
            end=1 - trim[1],
        ),
        _Drafts.of(things, halves, end=cut - 0.02, odds=-1.0),
        _Drafts.of(things, halves, begin=cut + 0.02, odds=-1.0),
        _Drafts.of(things, true + merged, noise=1.5, odds=-1.0),
        _Drafts.of(
            things,
            again,
            label=_other(rng, label[again], 0.5),
            begin=lost[0],
            end=1 - lost[1],
            noise=1.8,
            odds=-3.5,
        ),
    ]
    so_far = np.bincount(np.concatenate([draft.frame for draft in drafts]), minlength=SCENE)
    frame = np.repeat(np.arange(SCENE), np.maximum(count - so_far, 0))
    lost = rng.uniform(0, 0.5, (2, len(frame)))
    anything = rng.integers(0, true, len(frame))
    drafts.append(_Drafts.of(things, anything, frame=frame, begin=lost[0], end=1 - lost[1], away=3.0, odds=-5.0))
    return _Drafts(*(np.concatenate(columns) for columns in zip(*drafts, strict=True)))


def _other(rng: np.random.Generator, label: Indices, share: float) -> Indices:
    """Labels, a share of them exchanged for others."""
    exchanged = rng.random(len(label)) < share
    return (label + exchanged * rng.integers(1, 3, len(label))) % 3


def _noisy(
    rng: np.random.Generator, quality: Quality, things: _Things, walk: _Walk, drafts: _Drafts
) -> tuple[Points, Floats]:
    """The points of predictions, and how much noise there is in each.

    A third of the lines run backwards. Polygons begin anywhere, and only some of them end where they begin.
    """
    count, closed, length = len(drafts.thing), walk.closed[drafts.thing], walk.length[drafts.thing]
    turned = closed * rng.random(count)
    gap = closed * np.maximum(rng.normal(0.2, 0.3, count), 0) / length
    begin, end = drafts.begin + turned, drafts.end + turned - gap
    back = rng.random(count) < 1 / 3
    points = walk.points(drafts.thing, np.where(back, end, begin), np.where(back, begin, end))
    strength = rng.normal(0, 1, (2, count, len(_WAVES)))
    strength[:, :, 1:] *= np.minimum(length * (drafts.end - drafts.begin) / _LONG, 1)[:, None]
    waves = np.stack(list(strength @ _WAVES), axis=2)
    with_range = 0.4 + 0.06 * np.sqrt(np.square(points).sum(axis=2, keepdims=True))
    noise = quality.noise * (drafts.noise * things.hardness[drafts.thing])[:, None, None] * with_range * waves
    noise += rng.normal(0, _ROUGH, points.shape)
    points += noise + drafts.away[:, None, None] * rng.normal(0, 1, (count, 1, 2))
    shut = closed & (end - begin > 0.9) & (rng.random(count) < 0.4)
    points[shut, -1] = points[shut, 0]
    half = np.array(REGION) / 2
    error: Floats = np.sqrt(np.square(noise).sum(axis=2).mean(axis=1))
    return np.clip(points, -half, half).round(3), error
