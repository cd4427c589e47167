"""Joins what is suspicious in single frames to places, and leaves out places that most frames contradict."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.features.suspects.evidence import SHIFTED, Evidence, LoneLines, most
from mapgauge.features.suspects.joining import picked, same_lines
from mapgauge.features.suspects.observing import ThinnedLines
from mapgauge.geometry.connected import components
from mapgauge.typing import Floats, Forward, Indices, Points

Kind: TypeAlias = Literal["not_found", "not_in_truth", "shifted"]
# The numbers were chosen with ``benchmarks/planted_label_errors.py``.
TRUE_REACH = 0.75  # metres between points of one true line in two frames, whose points are a metre apart
TRUE_ALONG = 0.7  # share of one of two lines that must be so close to the other
PREDICTED_REACH = 1.5  # metres between points of predictions of one line in two frames
PREDICTED_ALONG = 0.5  # share of one of them that must be so close
FRAMES = 3  # a place must be suspicious in as many, if frames have poses
FOUND = 0.34  # share of the frames: a line that a method finds more often is not suspicious
EMPTY = 0.6  # share of the frames in which no method finds a suspicious line, at least
AGREED = 0.3  # share of the frames that could show a line in which each method must see it
ALIKE = 0.5  # of the mean shift: each method sees at least this share of it, in its direction
STEADY = 0.7  # share of all measured shifts that have at least half of the mean shift
UNUSUAL = 1.2  # times the usual shift at this distance: a smaller mean over frames is not suspicious
UNUSUAL_ONCE = 2.5  # the same of a single frame, without poses


@dataclass(frozen=True)
class World:
    """Where frames are in the world. Roll and pitch are left out."""

    cosine: Floats  # (frames,)
    sine: Floats
    place: Points  # (frames, 2)
    scenes: tuple[str, ...] | None

    @classmethod
    def of(cls, poses: NDArray[np.float64], scenes: tuple[str, ...] | None) -> "World":
        """Return the places of frames from their poses, ``(frames, 4, 4)``."""
        size = np.hypot(poses[:, 0, 0], poses[:, 1, 0])
        upright = size > 0
        divisor = np.where(upright, size, 1.0)
        return cls(
            cosine=np.where(upright, poses[:, 0, 0] / divisor, 1.0),
            sine=np.where(upright, poses[:, 1, 0] / divisor, 0.0),
            place=poses[:, :2, 3],
            scenes=scenes,
        )

    def turned(self, vectors: Points, frame: Indices) -> Points:
        """Return vectors of frames, ``(n, 2)``, in the directions of the world."""
        x = self.cosine[frame] * vectors[:, 0] - self.sine[frame] * vectors[:, 1]
        y = self.sine[frame] * vectors[:, 0] + self.cosine[frame] * vectors[:, 1]
        return np.stack([x, y], axis=1)

    def turned_back(self, vectors: Points, frame: Indices) -> Points:
        """Return vectors of the world in the directions of frames."""
        x = self.cosine[frame] * vectors[:, 0] + self.sine[frame] * vectors[:, 1]
        y = self.cosine[frame] * vectors[:, 1] - self.sine[frame] * vectors[:, 0]
        return np.stack([x, y], axis=1)

    def moved(self, points: Points, frame: Indices) -> Points:
        """Return points of frames in the world."""
        return self.turned(points, frame) + self.place[frame]

    def moved_back(self, points: Points, frame: Indices) -> Points:
        """Return points of the world in frames."""
        return self.turned_back(points - self.place[frame], frame)


@dataclass(frozen=True)
class Draft:
    """A place before it is known what correcting it would save."""

    kind: Kind
    label: int
    rows: Indices  # of the truth, or of the added lines, in which it is suspicious
    frame: Indices  # of each row
    seen: int  # number of frames that could show it
    shifts: Floats = field(default_factory=lambda: np.zeros((0, 2)))  # of each row, in its frame


def unfound_places(lines: ThinnedLines, evidence: Evidence, world: World | None) -> list[Draft]:
    """Return the places of true lines that no method finds.

    Frames that show such a line where methods usually find none say nothing.
    """
    unfound = ~evidence.found.any(axis=0) & evidence.is_usual
    drafts = []
    for members, all_of_it in _joined_truth(lines, np.flatnonzero(unfound), world):
        shown = all_of_it[evidence.is_usual[all_of_it]]
        frames = np.unique(lines.frame[shown])
        found = [len(np.unique(lines.frame[shown[flags[shown]]])) for flags in evidence.found]
        with_find = lines.frame[shown[~unfound[shown]]]
        rows = members[~np.isin(lines.frame[members], with_find)]
        empty = len(np.unique(lines.frame[rows]))
        is_rare = max(found) <= FOUND * len(frames) and empty >= EMPTY * len(frames)
        if is_rare and _is_often(empty, world):
            drafts.append(_draft("not_found", lines, rows, seen=len(frames)))
    return drafts


def shifted_places(lines: ThinnedLines, evidence: Evidence, world: World | None) -> list[Draft]:
    """Return the places of true lines that methods see shifted the same way.

    The shift of a place is the mean over methods of their means over frames.
    """
    shift = evidence.shift
    measured = ~np.isnan(shift[..., 0])
    count = measured.sum(axis=0)
    mean = np.where(measured[..., None], shift, 0.0).sum(axis=0) / np.maximum(count, 1)[:, None]
    chosen = np.flatnonzero((count > 0) & (np.hypot(*mean.T) >= SHIFTED))
    if world is None:
        factor = UNUSUAL_ONCE
    else:
        factor = UNUSUAL
    drafts = []
    for _, all_of_it in _joined_truth(lines, chosen, world):
        rows = all_of_it[count[all_of_it] > 0]
        one = _common_shift(shift[:, rows], lines.frame[rows], world)
        if one is None or np.hypot(*one) < max(SHIFTED, factor * float(np.median(evidence.usual_shift[rows]))):
            continue
        by = np.tile(one, (len(rows), 1))
        if world is not None:
            by = world.turned_back(by, lines.frame[rows])
        frames = np.unique(lines.frame[all_of_it])
        drafts.append(_draft("shifted", lines, rows, seen=len(frames), shifts=by))
    return drafts


def _common_shift(shift: Floats, frame: Indices, world: World | None) -> Floats | None:
    """Return the shift of a place, ``(2,)``, from those of ``(methods, rows, 2)``; None if methods do not agree."""
    means = []
    every = []
    for of_method in shift:
        rows = np.flatnonzero(~np.isnan(of_method[:, 0]))
        if not _is_often(len(np.unique(frame[rows])), world):
            continue
        values = of_method[rows]
        if world is not None:
            values = world.turned(values, frame[rows])
        means.append(values.mean(axis=0))
        every.append(values)
    if len(means) < most(len(shift)):
        return None
    mean: Floats = np.mean(means, axis=0)
    size = float(np.hypot(*mean))
    if size < SHIFTED or min(float(one @ mean) for one in means) < ALIKE * size * size:
        return None
    if (np.concatenate(every) @ mean >= ALIKE * size * size).mean() < STEADY:
        return None
    return mean


def added_places(
    lone: LoneLines, methods: int, world: World | None, region: Sequence[float] | None, forward: Forward | None
) -> list[Draft]:
    """Return the places of lines that methods agree on where no truth is.

    In each frame, the most confident of the predictions stands for the line.
    """
    lines = lone.lines
    count = len(lines.frame)
    owner = np.repeat(np.arange(count), np.diff(lines.offsets))
    every = np.arange(count)
    if world is None:
        points = lines.points
        frames = int(lines.frame.max(initial=0)) + 1
        some = picked(points, lines.offsets, lines.label * frames + lines.frame, rows=every)
    else:
        points = world.moved(lines.points, lines.frame[owner])
        some = picked(points, lines.offsets, lines.label, rows=every)
    number = components(count, *same_lines(some, some, PREDICTED_REACH, share=PREDICTED_ALONG))
    drafts = []
    for rows in _sets(number):
        if len(np.unique(lone.method[rows])) < most(methods):
            continue
        frames_of = [np.unique(lines.frame[rows[lone.method[rows] == k]]) for k in range(methods)]
        # The longest line stands for the place.
        longest = rows[np.argmax(np.diff(lines.offsets)[rows])]
        line = points[lines.offsets[longest] : lines.offsets[longest + 1]]
        shown = np.unique(lines.frame[rows])
        if world is not None:
            shown = np.union1d(shown, _frames_around(world, line, shown, region=region, forward=forward))
        agreeing = sum(_is_often(len(frames), world) and len(frames) >= AGREED * len(shown) for frames in frames_of)
        if agreeing >= most(methods):
            chosen = _most_confident(lone, rows, points)
            label = int(lines.label[rows[0]])
            drafts.append(Draft("not_in_truth", label, chosen, frame=lines.frame[chosen], seen=len(shown)))
    return drafts


def _most_confident(lone: LoneLines, rows: Indices, points: Points) -> Indices:
    """Return the most confident of some lines in each frame. Equal ones are ordered by their points, not by method."""
    offsets = lone.lines.offsets

    def rank(row: int) -> tuple[int, float, list[list[float]]]:
        line: list[list[float]] = points[offsets[row] : offsets[row + 1]].tolist()
        return (int(lone.lines.frame[row]), -float(lone.confidence[row]), line)

    ordered = np.array(sorted(rows.tolist(), key=rank), np.int64)
    first = np.unique(lone.lines.frame[ordered], return_index=True)[1]
    chosen: Indices = ordered[first]
    return chosen


def _is_often(frames: int, world: World | None) -> bool:
    """Whether a place is suspicious in enough frames. Without poses, each frame is a place of its own."""
    return frames >= (1 if world is None else FRAMES)


def _draft(kind: Kind, lines: ThinnedLines, rows: Indices, seen: int, shifts: Floats | None = None) -> Draft:
    more = {} if shifts is None else {"shifts": shifts}
    return Draft(kind, int(lines.label[rows[0]]), rows, frame=lines.frame[rows], seen=seen, **more)


def _joined_truth(lines: ThinnedLines, chosen: Indices, world: World | None) -> list[tuple[Indices, Indices]]:
    """Return sets of some true lines that show the same thing, and all true lines that show it."""
    if world is None:
        return [(row, row) for row in chosen[:, None]]
    owner = np.repeat(np.arange(len(lines.label)), np.diff(lines.offsets))
    points = world.moved(lines.points, lines.frame[owner])
    some = picked(points, lines.offsets, lines.label, rows=chosen)
    every = picked(points, lines.offsets, lines.label, rows=np.arange(len(lines.label)))
    first, second = same_lines(some, every, TRUE_REACH, share=TRUE_ALONG)
    place = np.full(len(lines.label), -1)
    place[chosen] = np.arange(len(chosen))
    among = place[second] >= 0
    number = components(len(chosen), first[among], place[second[among]])
    sets = _sets(number)
    of_set = number[first]
    order = np.argsort(of_set, kind="stable")
    ends = np.searchsorted(of_set[order], np.arange(len(sets) + 1))
    return [(chosen[rows], np.unique(second[order[ends[k] : ends[k + 1]]])) for k, rows in enumerate(sets)]


def _sets(number: Indices) -> list[Indices]:
    """Return the members of each set."""
    order = np.argsort(number, kind="stable")
    return np.split(order, np.cumsum(np.bincount(number))[:-1]) if len(number) else []


def _frames_around(
    world: World, line: Points, frames: Indices, region: Sequence[float] | None, forward: Forward | None
) -> Indices:
    """Return the frames of the scenes of some frames whose region has at least half of a line."""
    if region is None or world.scenes is None:
        return frames
    half = np.array(region[:2]) / 2
    if forward == "y":
        half = half[::-1]
    scenes = {world.scenes[frame] for frame in frames.tolist()}
    others = np.array([k for k, scene in enumerate(world.scenes) if scene in scenes], np.int64)
    at = np.repeat(others, len(line))
    local = world.moved_back(np.tile(line, (len(others), 1)), at)
    inside = (np.abs(local) <= half).all(axis=1).reshape(len(others), -1)
    around: Indices = others[inside.mean(axis=1) >= 0.5]
    return around
