"""A synthetic world: curved roads seen from a driving car, and what a detector might say of them.

Nothing of it is measured. It is there to try things out without a data set: in examples, tests and benchmarks.
Everything comes from one seed. Coordinates are whole millimetres and confidences float32 numbers, so that machines
whose sines differ in the last bit make the same world.
"""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.crop import crop_polylines
from mapgauge.errors import InvalidInput
from mapgauge.frames import MapFrames
from mapgauge.polylines import Polylines
from mapgauge.protocols import CLASSES
from mapgauge.typing import Points

Indices: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Line: TypeAlias = list[tuple[float, float]]  # metres along a road, and to its left

CROSSING, DIVIDER, BOUNDARY = range(3)  # in CLASSES

REGION = (60.0, 30.0)  # metres around the ego
SCENE = 10  # frames of a scene
INTERVAL = 0.5  # seconds from frame to frame
EPOCH = 1_700_000_000_000_000  # microseconds, when the first scene begins
POINTS = 20  # of a prediction

LANE = 3.5  # metres
ROAD = 150.0  # metres of road in a scene
START = 40.0  # metres along it where the drive begins
SIDE = 32.0  # metres from the middle of the road to the end of a side road
SPACING = 4.0  # metres between the vertices of a line, at most
SHORTEST = 2.0  # metres; what shows less of itself is not there

# How noise runs along a line: as a whole and in slow waves, so that neighbouring points err alike.
_WAVES = np.array([[0.8], [0.5], [0.35], [0.25]]) * np.cos(np.outer(np.arange(4), np.linspace(0, np.pi, POINTS)))
_WHITE = 0.03  # metres of noise that neighbours do not share


@dataclass(frozen=True, slots=True)
class Quality:
    """How well a detector does; shares are of true instances."""

    noise: float  # metres, 10 m from the ego
    missed: float
    split: float  # found in two pieces
    merged: float  # dividers found as one with the next, across a junction
    confused: float  # found as another class
    sureness: float  # log odds of the confidence in a prediction without error


QUALITIES = {
    "good": Quality(0.25, missed=0.05, split=0.05, merged=0.05, confused=0.02, sureness=2.2),
    "poor": Quality(0.40, missed=0.10, split=0.10, merged=0.10, confused=0.05, sureness=1.4),
}
_AGAIN = 3.4  # times that a true instance is found again, with less confidence; half of them as another class


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
        raise InvalidInput(f"quality must be one of {', '.join(QUALITIES)}, got {quality!r}")
    scenes = [_scene(seed, number, predictions, quality) for number in range(-(-frames // SCENE))]
    x, y = (_joined(list(side)).between(slice(0, frames)) for side in zip(*scenes, strict=True))
    return replace(x, name=f"demo-{quality}"), replace(y, name="demo-truth")


def _scene(seed: int, number: int, predictions: int, quality: str) -> tuple[MapFrames, MapFrames]:
    """One scene, from random numbers of its own."""
    rng = np.random.default_rng([seed, number, 0])
    streets = _streets(rng)
    poses = _drive(rng, streets)
    name = f"scene-{number:04d}"
    names = [f"{name}/{CLASSES[label]}-{k}" for k, label in enumerate(streets.label.tolist())]
    frame, element, polylines = _view(streets, poses)
    truth = MapFrames(
        tuple(f"{name}-{k}" for k in range(SCENE)),
        CLASSES,
        frame,
        streets.label[element],
        polylines,
        track=np.array(names)[element],
        scenes=(name,) * SCENE,
        timestamps=EPOCH + round(1e6) * 600 * number + np.rint(1e6 * INTERVAL * np.arange(SCENE)).astype(np.int64),
        poses=poses,
    )
    things = _things(truth, element, streets.after, np.exp(rng.normal(0, 0.4, len(names))))
    rng = np.random.default_rng([seed, number, 1 + list(QUALITIES).index(quality)])
    return _predictions(rng, QUALITIES[quality], truth, things, predictions), truth


def _joined(parts: list[MapFrames]) -> MapFrames:
    """Scenes one after the other."""
    first = parts[0]
    before = SCENE * np.repeat(np.arange(len(parts)), [len(part.frame) for part in parts])
    ends = np.concatenate([[0], *(np.diff(part.polylines.offsets) for part in parts)]).cumsum()
    return replace(
        first,
        tokens=tuple(token for part in parts for token in part.tokens),
        frame=np.concatenate([part.frame for part in parts]) + before,
        label=np.concatenate([part.label for part in parts]),
        polylines=Polylines(np.concatenate([part.polylines.coords for part in parts]), ends),
        confidence=None if first.confidence is None else np.concatenate([part.confidence for part in parts]),
        track=None if first.track is None else np.concatenate([part.track for part in parts]),
        scenes=tuple(scene for part in parts for scene in part.scenes or ()),
        timestamps=np.concatenate([part.timestamps for part in parts]),
        poses=np.concatenate([part.poses for part in parts]),
    )


# The map of a scene. It is drawn along a straight road, and bent.


class _Streets(NamedTuple):
    """The map of a scene in world coordinates."""

    label: Indices
    polylines: Polylines
    after: Indices  # for each line, the one that goes on with it behind a junction, or -1
    lanes: int  # on the right
    along: Floats  # the middle of the road: metres from its begin,
    middle: Points  # where that is,
    heading: Floats  # and where it heads, radians


class _Junction(NamedTuple):
    at: float  # metres along the road
    half: float  # metres, half the width of the side road
    radius: float  # metres, of its corners
    depth: float  # metres, of crossings
    arms: tuple[bool, bool]  # whether the side road goes left, right

    @property
    def free(self) -> float:
        """Metres from the middle to where dividers end."""
        return self.half + self.radius + self.depth + 1


def _streets(rng: np.random.Generator) -> _Streets:
    left, right = (int(lanes) for lanes in rng.integers(1, 3, 2))
    junctions = _junctions(rng)
    lines: list[tuple[int, Line]] = []
    after: list[int] = []

    def draw(label: int, *parts: Line) -> None:
        """Lines that go on with each other."""
        after.extend([*range(len(lines) + 1, len(lines) + len(parts)), -1])
        lines.extend((label, part) for part in parts)

    ends = [0.0, *(at for j in junctions for at in (j.at - j.free, j.at + j.free)), ROAD]
    for lane in range(1 - right, left):
        spans = zip(ends[::2], ends[1::2], strict=True)
        draw(DIVIDER, *([(begin, lane * LANE), (end, lane * LANE)] for begin, end in spans))
    for side, edge in ((0, left * LANE), (1, right * LANE)):
        sign = 1 - 2 * side
        turning = [j for j in junctions if j.arms[side]]
        for line in _kerbs(turning, edge):
            draw(BOUNDARY, [(s, sign * t) for s, t in line])
        for j in turning:
            lanes = round(j.half / LANE)
            for lane in range(1 - lanes, lanes):
                s = j.at + lane * LANE
                draw(DIVIDER, [(s, sign * (edge + j.free - j.half)), (s, sign * SIDE)])
    for j in junctions:
        for line in _crossings(rng, j, left * LANE, right * LANE):
            draw(CROSSING, line)
    along, middle, heading = _road(rng)
    dense = [np.array(line) if label == CROSSING else _dense(line) for label, line in lines]
    s, t = np.concatenate(dense).T
    angle = np.interp(s, along, heading)
    world = np.stack([np.interp(s, along, column) for column in middle.T], axis=1)
    world += t[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    offsets = np.cumsum([0, *map(len, dense)])
    label = np.array([label for label, _ in lines], np.int64)
    return _Streets(label, Polylines(world, offsets), np.array(after, np.int64), right, along, middle, heading)


def _road(rng: np.random.Generator) -> tuple[Floats, Points, Floats]:
    """The middle of a road that winds: metres along it, points, headings."""
    along = np.arange(0, ROAD + 1, 0.5)
    heading = np.full(len(along), rng.uniform(0, 2 * np.pi))
    for least, bend in ((180, 0.4), (90, 0.1)):
        heading += bend * rng.random() * np.sin(2 * np.pi * (along / (least * rng.uniform(1, 2)) + rng.random()))
    steps = 0.5 * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    return along, rng.uniform(-2000, 2000, 2) + steps.cumsum(axis=0), heading


def _junctions(rng: np.random.Generator) -> list[_Junction]:
    found = []
    at = rng.uniform(20, 60)
    while at < ROAD - 20:
        arms = ((True, True), (True, True), (True, False), (False, True))[rng.integers(4)]
        half = LANE * (1 + int(rng.random() < 0.3))
        found.append(_Junction(at, half, rng.uniform(2.5, 5), rng.uniform(3, 4.5), arms))
        at += rng.uniform(45, 75)
    return found


def _kerbs(junctions: list[_Junction], edge: float) -> list[Line]:
    """The edge of the road, and around the corners of side roads."""
    line: Line = [(0.0, edge)]
    lines = [line]
    quarter = [(float(np.sin(a)), 1 - float(np.cos(a))) for a in np.linspace(0, np.pi / 2, 5)]
    for j in junctions:
        r = j.radius
        line += [(j.at - j.half - r + r * u, edge + r * v) for u, v in quarter] + [(j.at - j.half, SIDE)]
        line = [(j.at + j.half, SIDE)] + [(j.at + j.half + r - r * u, edge + r * v) for u, v in reversed(quarter)]
        lines.append(line)
    line.append((ROAD, edge))
    return lines


def _crossings(rng: np.random.Generator, j: _Junction, left: float, right: float) -> list[Line]:
    """Two to four rectangles with their first point repeated."""
    near, far = j.half + j.radius, j.half + j.radius + j.depth
    boxes = [(j.at + near, -right + 0.3, j.at + far, left - 0.3), (j.at - far, -right + 0.3, j.at - near, left - 0.3)]
    beside = j.at - j.half + 0.3, j.at + j.half - 0.3
    low, high = j.radius, j.radius + j.depth
    if j.arms[0]:
        boxes.append((beside[0], left + low, beside[1], left + high))
    if j.arms[1]:
        boxes.append((beside[0], -right - high, beside[1], -right - low))
    chosen = np.argsort(rng.random(len(boxes)))[: rng.integers(2, len(boxes) + 1)].tolist()
    return [[(a, b), (c, b), (c, d), (a, d), (a, b)] for a, b, c, d in (boxes[i] for i in chosen)]


def _dense(line: Line) -> Points:
    """A line with enough vertices to be bent."""
    points = np.array(line)
    steps = np.ceil(np.hypot(*np.diff(points, axis=0).T) / SPACING).astype(np.int64)
    at = np.concatenate([k + np.arange(n) / n for k, n in enumerate(steps.tolist())] + [[len(steps)]])
    return np.stack([np.interp(at, np.arange(len(points)), column) for column in points.T], axis=1)


def _drive(rng: np.random.Generator, streets: _Streets) -> Floats:
    """The poses of a car that keeps to a lane, not quite."""
    seconds = INTERVAL * np.arange(SCENE)
    s = START + rng.uniform(1, 12) * seconds + rng.uniform(0, 0.25) * seconds**2
    t = 0.3 * np.sin(0.4 * seconds + rng.uniform(0, 2 * np.pi)) - LANE * (rng.integers(streets.lanes) + 0.5)
    angle = np.interp(s, streets.along, streets.heading)
    place = np.stack([np.interp(s, streets.along, column) for column in streets.middle.T], axis=1)
    place += t[:, None] * np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    yaw = angle + rng.normal(0, 0.02, SCENE)
    poses = np.tile(np.eye(4), (SCENE, 1, 1))
    poses[:, :2, 0] = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    poses[:, :2, 1] = np.stack([-np.sin(yaw), np.cos(yaw)], axis=1)
    poses[:, :2, 3] = place
    return np.round(poses, 9)


def _view(streets: _Streets, poses: Floats) -> tuple[Indices, Indices, Polylines]:
    """What lies in the region of each frame: the frame, which line of the map it is, and its points."""
    world, offsets = streets.polylines.coords, streets.polylines.offsets
    local = np.einsum("fpk,fkj->fpj", world - poses[:, None, :2, 3], poses[:, :2, :2])
    near = (np.abs(local) < np.array(REGION) / 2 + 2 * SPACING).all(axis=2)
    frame, element = np.nonzero(np.logical_or.reduceat(near, offsets[:-1], axis=1))
    starts = offsets[:-1] + len(world) * np.arange(SCENE)[:, None]
    copies = Polylines(local.reshape(-1, 2), np.append(starts, SCENE * len(world)))
    cut, sources = crop_polylines(copies.pick(len(streets.label) * frame + element), REGION)
    pieces: dict[tuple[int, int], Points] = {}
    for k, (piece, row) in enumerate(zip(cut, sources.tolist(), strict=True)):
        if streets.label[element[row]] != CROSSING:
            pieces[row, k] = piece
        else:  # what is left of a polygon is a polygon
            pieces[row, -1] = np.concatenate([pieces.get((row, -1), piece[:0]), piece])
    for (row, k), piece in pieces.items():
        if k < 0 and not np.array_equal(piece[0], piece[-1]):
            pieces[row, k] = np.concatenate([piece, piece[:1]])
    kept = {key: np.round(piece, 3) for key, piece in pieces.items()}
    kept = {key: piece for key, piece in kept.items() if np.hypot(*np.diff(piece, axis=0).T).sum() >= SHORTEST}
    rows = np.array([row for row, _ in kept], np.int64)
    return frame[rows], element[rows], Polylines.join(list(kept.values()), [""] * len(kept), 2)


# What a detector says of a scene.


class _Things(NamedTuple):
    """What it may take for an instance: those of the truth, and then pairs of dividers that it takes for one."""

    polylines: Polylines
    frame: Indices
    label: Indices
    hardness: Floats  # times the usual noise
    pairs: Indices  # (pairs, 2): the true instances that each is made of


class _Drafts(NamedTuple):
    """Predictions before they have points."""

    frame: Indices
    thing: Indices
    begin: Floats  # of the part that is found, as a share of the length
    end: Floats
    label: Indices
    noise: Floats  # times the usual
    away: Floats  # metres, about how far it is misplaced as a whole
    odds: Floats  # log odds of the confidence, besides what the noise takes away

    @classmethod
    def of(cls, things: _Things, thing: Indices, **columns: NDArray[np.generic] | float) -> "_Drafts":
        """Of these things, as a whole and as usual but for the columns given."""
        usual = {"frame": things.frame[thing], "begin": 0.0, "end": 1.0, "label": things.label[thing]}
        usual |= {"noise": 1.0, "away": 0.0, "odds": 0.0}
        values = {name: np.broadcast_to(value, len(thing)) for name, value in (usual | columns).items()}
        return cls(thing=thing, **values)


def _things(truth: MapFrames, element: Indices, after: Indices, hardness: Floats) -> _Things:
    where = {key: i for i, key in enumerate(zip(truth.frame.tolist(), element.tolist(), strict=True))}
    keys = zip(truth.frame.tolist(), after[element].tolist(), strict=True)
    pairs = np.array([(i, where[key]) for i, key in enumerate(keys) if key in where], np.int64).reshape(-1, 2)
    joined = [np.concatenate([truth.polylines[i], truth.polylines[j]]) for i, j in pairs.tolist()]
    first = pairs[:, 0]
    return _Things(
        truth.polylines.and_then(Polylines.join(joined, [""] * len(joined), 2)),
        np.append(truth.frame, truth.frame[first]),
        np.append(truth.label, truth.label[first]),
        np.append(hardness[element], hardness[element[first]]),
        pairs,
    )


def _predictions(
    rng: np.random.Generator, quality: Quality, truth: MapFrames, things: _Things, predictions: int
) -> MapFrames:
    """What a detector says of a scene."""
    walk = _Walk(things.polylines)
    drafts = _drafts(rng, quality, things, walk.length, predictions)
    thing, count = drafts.thing, len(drafts.thing)
    # A third of the lines run the other way. Polygons begin anywhere, and do not quite close.
    closed = walk.closed[thing]
    gap = np.maximum(rng.normal(0.1, 0.3, count), 0) / walk.length[thing]
    begin, end = drafts.begin + closed * rng.random(count), drafts.end
    end = np.where(closed, begin + drafts.end - drafts.begin - gap, drafts.end)
    back = rng.random(count) < 1 / 3
    points = walk.points(thing, np.where(back, end, begin), np.where(back, begin, end))
    usual = quality.noise * (0.4 + 0.06 * np.sqrt(np.square(points).sum(axis=2, keepdims=True)))
    waves = rng.normal(0, 1, (count, 2, len(_WAVES))) @ _WAVES
    noise = usual * (drafts.noise * things.hardness[thing])[:, None, None] * waves.transpose(0, 2, 1)
    noise += rng.normal(0, _WHITE, points.shape)
    error = np.sqrt(np.square(noise).sum(axis=2).mean(axis=1))
    odds = quality.sureness + drafts.odds - 2.0 * error + rng.normal(0, 0.8, count)
    confidence = (1 / (1 + np.exp(-odds))).astype(np.float32).astype(np.float64)
    points += noise + drafts.away[:, None, None] * rng.normal(0, 1, (count, 1, 2))
    points = np.round(np.clip(points, -np.array(REGION) / 2, np.array(REGION) / 2), 3)
    order = np.lexsort((-confidence, drafts.frame))
    place = np.arange(count) - np.searchsorted(drafts.frame[order], drafts.frame[order])
    order = order[place < predictions]
    lines = Polylines(points[order].reshape(-1, 2), POINTS * np.arange(len(order) + 1))
    return replace(
        truth,
        frame=drafts.frame[order],
        label=drafts.label[order],
        polylines=lines,
        confidence=confidence[order],
        track=None,
    )


def _drafts(rng: np.random.Generator, quality: Quality, things: _Things, length: Floats, predictions: int) -> _Drafts:
    """What is found of the true instances, and filled up with false alarms."""
    true = len(things.frame) - len(things.pairs)
    left = rng.random(true) > quality.missed * things.hardness[:true]
    merged = np.flatnonzero(rng.random(len(things.pairs)) < quality.merged)
    left[things.pairs[merged]] = False
    split = left & (things.label[:true] != CROSSING) & (length[:true] > 10) & (rng.random(true) < quality.split)
    whole, halves = np.flatnonzero(left & ~split), np.flatnonzero(split)
    again = np.repeat(np.arange(true), rng.poisson(_AGAIN, true))
    cut = rng.uniform(0.3, 0.7, len(halves))
    other = (things.label[whole] + rng.integers(1, 3, len(whole))) % 3
    trim = np.abs(rng.normal(0, 0.02, (2, len(whole))))
    part = rng.uniform(0, 0.4, (2, len(again))) * (rng.random(len(again)) < 0.3)
    drafts = [
        _Drafts.of(
            things,
            whole,
            label=np.where(rng.random(len(whole)) < quality.confused, other, things.label[whole]),
            begin=trim[0],
            end=1 - trim[1],
        ),
        _Drafts.of(things, halves, end=cut - 0.02, odds=-1.0),
        _Drafts.of(things, halves, begin=cut + 0.02, odds=-1.0),
        _Drafts.of(things, true + merged, noise=1.5, odds=-1.0),
        _Drafts.of(
            things,
            again,
            label=(things.label[again] + rng.integers(0, 2, len(again)) * rng.integers(1, 3, len(again))) % 3,
            begin=part[0],
            end=1 - part[1],
            noise=1.8,
            odds=-4.0,
        ),
    ]
    found = np.bincount(np.concatenate([draft.frame for draft in drafts]), minlength=SCENE)
    frame = np.repeat(np.arange(SCENE), np.maximum(predictions - found, 0))
    source = rng.integers(0, true, len(frame))  # of any frame: as if remembered, and in the wrong place
    part = rng.uniform(0, 0.5, (2, len(frame)))
    drafts.append(_Drafts.of(things, source, frame=frame, begin=part[0], end=1 - part[1], away=3.0, odds=-5.5))
    return _Drafts(*(np.concatenate(columns) for columns in zip(*drafts, strict=True)))


class _Walk:
    """All lines of a scene as one, to take points from any part of any of them at once."""

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
