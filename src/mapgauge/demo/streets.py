"""Generates the map of a scene, and the part of it that a car sees in each frame.

A map is drawn along a straight road, in metres along the road and to its left. Then the road is bent.
"""

from typing import NamedTuple, TypeAlias

import numpy as np

from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Floats, Indices, Points

Line: TypeAlias = list[tuple[float, float]]  # metres along the road, and to its left

CROSSING, DIVIDER, BOUNDARY = range(3)  # indices in mapgauge.protocols.CLASSES

REGION = (60.0, 30.0)  # length and width around the ego vehicle, metres
SCENE = 10  # number of frames
INTERVAL = 500_000  # microseconds from frame to frame
SHORTEST = 2.0  # metres; an instance with a shorter visible part is left out

_LENGTH = 150.0  # metres of road
_START = 40.0  # metres along the road, where the drive begins; the fastest drive ends 40 m before its end
_SIDE = 32.0  # metres from the middle of the road to the end of a side road
_LANE = 3.5  # metres
_MARGIN = 0.3  # metres from a crossing to the edges of the road
_STEP = 4.0  # metres between the vertices of a bent line, at most


class Road(NamedTuple):
    """The middle of a winding road."""

    along: Floats  # (n,): metres from its start
    middle: Points  # (n, 2): in the world
    heading: Floats  # (n,): radians

    def place(self, s: Floats, t: Floats) -> tuple[Points, Floats]:
        """Return the points ``s`` metres along the road and ``t`` to its left, and the heading there."""
        heading = np.interp(s, self.along, self.heading)
        middle = np.stack([np.interp(s, self.along, column) for column in self.middle.T], axis=1)
        return middle + t[:, None] * np.stack([-np.sin(heading), np.cos(heading)], axis=1), heading


class Streets(NamedTuple):
    """The map of a scene, in world coordinates."""

    road: Road
    lanes: int  # number of lanes on the right
    label: Indices  # of each element
    polylines: Polylines
    after: Indices  # for each element, the element that continues it behind a junction, or -1


class _Junction(NamedTuple):
    at: float  # metres along the road
    half: float  # metres, half the width of the side road
    radius: float  # metres, of the corners
    depth: float  # metres, of crossings
    free: float  # metres from the edge of the other road to the start of the dividers
    arms: tuple[bool, bool]  # whether there is a side road on the left, on the right


def draw_streets(rng: np.random.Generator) -> Streets:
    """Draw a road with junctions."""
    left, right = np.minimum(rng.integers(1, 4, 2), 2).tolist()  # number of lanes, more often two than one
    junctions = []
    at = rng.uniform(20, 55)
    while at < _LENGTH - 20:
        arms = ((True, True), (True, True), (True, False), (False, True))[rng.integers(4)]
        half = _LANE * (2 if rng.random() < 0.3 else 1)
        radius = rng.uniform(2.5, 5)
        depth = rng.uniform(3, 4.5)
        junctions.append(_Junction(at, half, radius, depth=depth, free=radius + depth + 1, arms=arms))
        at += rng.uniform(42, 65)
    lines: list[tuple[int, Line]] = []
    after: list[int] = []

    def draw(label: int, *parts: Line) -> None:
        """Add lines, each of which continues the one before."""
        after.extend([*range(len(lines) + 1, len(lines) + len(parts)), -1])
        lines.extend((label, part) for part in parts)

    ends = [end for j in junctions for end in (j.at - j.half - j.free, j.at + j.half + j.free)]
    spans = list(zip([0.0, *ends[1::2]], [*ends[::2], _LENGTH], strict=True))
    for lane in range(1 - right, left):
        draw(DIVIDER, *([(begin, lane * _LANE), (end, lane * _LANE)] for begin, end in spans))
    for side, sign, edge in ((0, 1, left * _LANE), (1, -1, right * _LANE)):
        turns = [j for j in junctions if j.arms[side]]
        for line in _kerbs(turns, edge):
            draw(BOUNDARY, [(s, sign * t) for s, t in line])
        for j in turns:
            lanes = round(j.half / _LANE)
            for s in (j.at + lane * _LANE for lane in range(1 - lanes, lanes)):
                draw(DIVIDER, [(s, sign * (edge + j.free)), (s, sign * _SIDE)])
    for j in junctions:
        for line in _crossings(rng, j, left * _LANE, right=right * _LANE):
            draw(CROSSING, line)
    along = np.arange(0, _LENGTH + 0.5, 0.5)
    heading = np.full(len(along), rng.uniform(0, 2 * np.pi))
    for period, bend in ((180, 0.4), (90, 0.1)):
        heading += bend * rng.random() * np.sin(2 * np.pi * (along / (period * rng.uniform(1, 2)) + rng.random()))
    direction = np.stack([np.cos(heading), np.sin(heading)], axis=1)
    road = Road(along, rng.uniform(-2000, 2000, 2) + 0.5 * direction.cumsum(axis=0), heading)
    dense = [np.array(line) if label == CROSSING else _dense(line) for label, line in lines]
    points, _ = road.place(*np.concatenate(dense).T)
    label = np.array([label for label, _ in lines], np.int64)
    return Streets(
        road,
        right,
        label,
        polylines=Polylines(points, np.cumsum([0, *map(len, dense)])),
        after=np.array(after, np.int64),
    )


def _kerbs(junctions: list[_Junction], edge: float) -> list[Line]:
    """Return the left edge of the road, around the corners into the side roads."""
    quarter = [(float(np.sin(angle)), 1 - float(np.cos(angle))) for angle in np.linspace(0, np.pi / 2, 5)]
    line: Line = [(0.0, edge)]
    lines = [line]
    for j in junctions:
        before = j.at - j.half
        behind = j.at + j.half
        line += [(before - j.radius * (1 - u), edge + j.radius * v) for u, v in quarter]
        line.append((before, _SIDE))
        line = [(behind, _SIDE)]
        line += [(behind + j.radius * (1 - u), edge + j.radius * v) for u, v in reversed(quarter)]
        lines.append(line)
    line.append((_LENGTH, edge))
    return lines


def _crossings(rng: np.random.Generator, j: _Junction, left: float, right: float) -> list[Line]:
    """Return two to four rectangles. Each repeats its first point as its last."""
    near = j.half + j.radius
    far = j.half + j.radius + j.depth
    across = -right + _MARGIN, left - _MARGIN
    along_main = j.at - j.half + _MARGIN, j.at + j.half - _MARGIN
    boxes = [((j.at + near, j.at + far), across), ((j.at - far, j.at - near), across)]
    sides = (left + j.radius, left + j.radius + j.depth), (-right - j.radius - j.depth, -right - j.radius)
    boxes += [(along_main, side) for side, arm in zip(sides, j.arms, strict=True) if arm]
    chosen = np.argsort(rng.random(len(boxes)))[: rng.integers(2, len(boxes) + 1)]
    return [[(a, c), (b, c), (b, d), (a, d), (a, c)] for (a, b), (c, d) in (boxes[i] for i in chosen.tolist())]


def _dense(line: Line) -> Points:
    """Return a line with enough vertices to be bent."""
    corners = np.array(line)
    counts = np.ceil(np.hypot(*np.diff(corners, axis=0).T) / _STEP).astype(np.int64).tolist()
    at = np.concatenate([*(k + np.arange(count) / count for k, count in enumerate(counts)), [len(counts)]])
    return np.stack([np.interp(at, np.arange(len(corners)), column) for column in corners.T], axis=1)


def drive(rng: np.random.Generator, streets: Streets) -> Floats:
    """Return the poses ``(frames, 4, 4)`` of a car that roughly keeps to its lane."""
    seconds = 1e-6 * INTERVAL * np.arange(SCENE)
    s = _START + rng.uniform(1, 12) * seconds + rng.uniform(0, 0.5) * seconds**2 / 2
    t = 0.3 * np.sin(0.4 * seconds + rng.uniform(0, 2 * np.pi)) - _LANE * (rng.integers(streets.lanes) + 0.5)
    place, heading = streets.road.place(s, t)
    yaw = heading + rng.normal(0, 0.02, SCENE)
    poses = np.tile(np.eye(4), (SCENE, 1, 1))
    poses[:, :2, 0] = np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    poses[:, :2, 1] = np.stack([-np.sin(yaw), np.cos(yaw)], axis=1)
    poses[:, :2, 3] = place
    return np.round(poses, 9)


def see(streets: Streets, poses: Floats) -> tuple[Indices, Indices, Polylines]:
    """Return the instances in the region of each frame: their frame, their element, and their points.

    Points are relative to the ego vehicle. A crossing at the edge of the region is cut to a polygon, as in the truth of
    public data sets.
    """
    world = streets.polylines.coords
    offsets = streets.polylines.offsets
    local = np.einsum("fpk,fkj->fpj", world - poses[:, None, :2, 3], poses[:, :2, :2])
    near = (np.abs(local) < np.array(REGION) / 2 + 2 * _STEP).all(axis=2)  # cutting all elements would be slow
    frame, element = np.nonzero(np.logical_or.reduceat(near, offsets[:-1], axis=1))
    starts = offsets[:-1] + len(world) * np.arange(SCENE)[:, None]
    everywhere = Polylines(local.reshape(-1, 2), np.append(starts, SCENE * len(world)))
    cut, sources = crop_polylines(everywhere.pick(len(streets.label) * frame + element), REGION)
    crossing = streets.label[element] == CROSSING
    # Join the parts of a crossing to one polygon, which ends where it starts.
    new = np.append(True, (sources[1:] != sources[:-1]) | ~crossing[sources[1:]])
    rows = sources[new]
    bounds = np.append(cut.offsets[:-1][new], len(cut.coords))
    begins = cut.coords[bounds[:-1]]
    ajar = crossing[rows] & (begins != cut.coords[bounds[1:] - 1]).any(axis=1)
    points = np.insert(cut.coords, bounds[1:][ajar], begins[ajar], axis=0).round(3)
    bounds += np.append(0, ajar.cumsum())
    along = np.append(0, np.hypot(*np.diff(points, axis=0).T).cumsum())
    kept = along[bounds[1:] - 1] - along[bounds[:-1]] >= SHORTEST
    kept &= np.diff(bounds) >= np.where(crossing[rows], 4, 2)  # a polygon has at least three different points
    rows = rows[kept]
    return frame[rows], element[rows], Polylines(points, bounds).pick(np.flatnonzero(kept))
