"""Plants wrong labels in the truth of the demo world, and prints which of them ``mg.suspicious_truth`` finds.

Run it with ``python -m benchmarks.planted_label_errors [SCENES] [SEEDS] [FIRST]``. It prints tables in GitHub
markdown, which are in ``docs/explanation/suspicious-places.md``. In each scene, a share of the elements is dropped from
the truth, a share is shifted by one metre, and as many are invented: copies at a place where there is none. Each is
wrong in all frames of its scene, as a wrong map is.

The two methods are the detectors of the demo world. In the second world, they share weaknesses: both miss most of what
is more than 15 m away, both see all lines 3 % too near, and both have the same false alarms in single frames. Each
world is looked at with the poses of its frames, and without them.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np

import mapgauge as mg
from mapgauge.frames.alignment import add_instances
from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Floats, Points

SHARE = 0.02  # of the elements of the world, for each kind of error
SHIFT = 1.0  # metres
NEAR = 2.0  # metres: most of an invented line is farther from all true lines of its class
FAR = 15.0  # metres, from which most lines are missed by both methods of the second world
SHORTEST = 2.0  # metres, of a visible part
KINDS = {"dropped": "not_in_truth", "invented": "not_found", "shifted": "shifted"}


class Planted(NamedTuple):
    """A wrong label."""

    kind: str
    class_name: str
    scene: str
    frames: int  # number of frames that show it
    line: Points  # in the world


@dataclass(frozen=True)
class World:
    """Exact truth and two methods."""

    truth: mg.MapFrames
    methods: tuple[mg.MapFrames, ...]


def world(scenes: int, seed: int) -> World:
    """Return the demo world and its two detectors."""
    good, truth = mg.demo.demo_world(10 * scenes, seed=seed, quality="good")
    poor, _ = mg.demo.demo_world(10 * scenes, seed=seed, quality="poor")
    return World(truth, (good, poor))


def weak_world(scenes: int, seed: int) -> World:
    """Return the same with weaknesses that both methods share."""
    plain = world(scenes, seed)
    rng = np.random.default_rng([seed, 1])
    count = len(plain.truth)
    chosen = np.flatnonzero(rng.random(count) < 0.3)  # frames with a common false alarm
    lines = {}
    for frame in chosen.tolist():
        rows = np.flatnonzero(plain.truth.frame == frame)
        if len(rows):
            row = int(rng.choice(rows))
            lines[frame] = (plain.truth.polylines[row] + rng.uniform(3, 6, 2) * rng.choice([-1, 1], 2), row)
    methods = []
    for k, x in enumerate(plain.methods):
        own = np.random.default_rng([seed, 2, k])
        distance = np.sqrt(np.square(x.polylines.coords).sum(axis=1))
        nearest = np.minimum.reduceat(distance, x.polylines.offsets[:-1])
        kept = (nearest < FAR) | (own.random(len(nearest)) < 0.2)
        x = replace(x, polylines=Polylines(0.97 * x.polylines.coords, x.polylines.offsets)).keep(kept)
        frames = sorted(lines)
        false = [np.clip(lines[f][0] + own.normal(0, 0.2, 2), [-30, -15], [30, 15]) for f in frames]
        others = _instances(x, frames, [int(plain.truth.label[lines[f][1]]) for f in frames], false)
        sure = np.full(len(frames), 0.7)
        methods.append(add_instances(replace(x, track=None), replace(others, confidence=sure)))
    return World(plain.truth, tuple(methods))


def _instances(like: mg.MapFrames, frames: list[int], labels: list[int], lines: list[Points]) -> mg.MapFrames:
    """Return frames with these lines only."""
    return replace(
        like,
        frame=np.array(frames, np.int64),
        label=np.array(labels, np.int64),
        polylines=Polylines.pack(lines, [""] * len(lines), 2),
        confidence=None,
        track=None,
    )


def _turn(poses: Floats, frame: int) -> tuple[Floats, Points]:
    return poses[frame, :2, :2], poses[frame, :2, 3]


def plant(truth: mg.MapFrames, seed: int) -> tuple[mg.MapFrames, list[Planted]]:
    """Return truth with wrong labels, and what is wrong."""
    rng = np.random.default_rng([seed, 3])
    assert truth.track is not None
    assert truth.poses is not None
    assert truth.scenes is not None
    names, element = np.unique(truth.track, return_inverse=True)
    lengths = np.array([np.hypot(*np.diff(truth.polylines[i], axis=0).T).sum() for i in range(len(element))])
    kinds = rng.choice(["", "dropped", "shifted", "invented"], len(names), p=[1 - 3 * SHARE, SHARE, SHARE, SHARE])
    planted = []
    lines = [truth.polylines[i].copy() for i in range(len(element))]
    kept = np.ones(len(element), np.bool_)
    new: tuple[list[int], list[int], list[Points]] = ([], [], [])
    for k in np.flatnonzero(kinds != "").tolist():
        rows = np.flatnonzero(element == k)
        longest = int(rows[np.argmax(lengths[rows])])
        turn, place = _turn(truth.poses, int(truth.frame[longest]))
        line = truth.polylines[longest] @ turn.T + place
        class_name = truth.classes[int(truth.label[longest])]
        scene = truth.scenes[int(truth.frame[longest])]
        frames = len(set(truth.frame[rows].tolist()))
        if kinds[k] == "dropped":
            kept[rows] = False
        elif kinds[k] == "shifted":
            by = _across(line, rng) * SHIFT * rng.choice([-1, 1])
            for row in rows.tolist():
                lines[row] += by @ _turn(truth.poses, int(truth.frame[row]))[0]
        else:
            invented = _invented(truth, line, int(truth.label[longest]), scene, rng)
            if invented is None:
                continue
            line = invented
            shown = _shown(truth, line, scene)
            frames = len({frame for frame, _ in shown})
            for frame, part in shown:
                new[0].append(frame)
                new[1].append(int(truth.label[longest]))
                new[2].append(part)
            if not frames:
                continue
        planted.append(Planted(str(kinds[k]), class_name, scene, frames, line))
    changed = replace(truth, polylines=Polylines.pack(lines, [""] * len(lines), 2), track=None).keep(kept)
    order = np.argsort(new[0], kind="stable").tolist()
    others = _instances(truth, *([column[i] for i in order] for column in new))
    return add_instances(changed, others), planted


def _across(line: Points, rng: np.random.Generator) -> Floats:
    """Return the direction across a line; any direction for a ring."""
    along = line[-1] - line[0]
    if np.hypot(*along) < 0.5:
        along = rng.normal(size=2)
    direction: Floats = np.array([-along[1], along[0]]) / np.hypot(*along)
    return direction


def _invented(truth: mg.MapFrames, line: Points, label: int, scene: str, rng: np.random.Generator) -> Points | None:
    """Return a copy of a line in the world where the scene has none of its class; None if no place is found."""
    assert truth.scenes is not None
    assert truth.poses is not None
    frames = [k for k, other in enumerate(truth.scenes) if other == scene]
    true = []
    for row in np.flatnonzero(np.isin(truth.frame, frames) & (truth.label == label)).tolist():
        turn, place = _turn(truth.poses, int(truth.frame[row]))
        true.append(_dense(truth.polylines[row] @ turn.T + place))
    points = np.concatenate(true)
    for _ in range(50):
        angle = rng.uniform(0, 2 * np.pi)
        moved: Points = line + rng.uniform(2.5, 9) * np.array([np.cos(angle), np.sin(angle)])
        at = _dense(moved)
        gap = np.sqrt(np.square(at[:, None] - points[None]).sum(axis=2).min(axis=1))
        if (gap < NEAR).mean() < 0.2:
            return moved
    return None


def _dense(line: Points) -> Points:
    """Return points half a metre apart."""
    along = np.append(0.0, np.hypot(*np.diff(line, axis=0).T).cumsum())
    at = np.arange(0.0, along[-1] + 0.5, 0.5)
    return np.stack([np.interp(at, along, column) for column in line.T], axis=1)


def _shown(truth: mg.MapFrames, line: Points, scene: str) -> list[tuple[int, Points]]:
    """Return the visible part of a line of the world in the frames of a scene. The longest part counts."""
    assert truth.scenes is not None
    assert truth.poses is not None
    shown = []
    for frame in (k for k, other in enumerate(truth.scenes) if other == scene):
        turn, place = _turn(truth.poses, frame)
        cut, _ = crop_polylines(Polylines.of([(line - place) @ turn]), (60.0, 30.0))
        parts = [cut[i] for i in range(len(cut))]
        lengths = [float(np.hypot(*np.diff(part, axis=0).T).sum()) for part in parts]
        if parts and max(lengths) >= SHORTEST:
            shown.append((frame, parts[int(np.argmax(lengths))]))
    return shown


def is_at(place: mg.SuspiciousPlace, wrong: Planted) -> bool:
    """Whether a place shows a planted error: one of both lies along the other."""
    if place.class_name != wrong.class_name or wrong.scene not in place.scenes:
        return False
    line = _dense(wrong.line)
    gap = np.sqrt(np.square(place.line[:, None] - line[None]).sum(axis=2))
    reach = NEAR
    return bool((gap.min(axis=1) < reach).mean() >= 0.5 or (gap.min(axis=0) < reach).mean() >= 0.5)


@dataclass
class Counts:
    """What was planted and found."""

    planted: int = 0
    long_enough: int = 0  # planted, and shown by three frames
    found: int = 0  # planted, and a place of the right kind is there
    found_long: int = 0
    places: int = 0
    right: int = 0  # places where an error of this kind was planted
    wrong_kind: int = 0  # places where an error of another kind was planted


def places_of(methods: Sequence[mg.MapFrames], truth: mg.MapFrames, *, has_poses: bool) -> list[mg.SuspiciousPlace]:
    """Return the suspicious places. Without poses, each is a line of one frame, which is placed in the world here."""
    if has_poses:
        results = [mg.evaluate(x, truth, metrics=["pld"]) for x in methods]
        return list(mg.suspicious_truth(results, names=["A", "B"]).places)
    bare = replace(truth, poses=None)
    results = [mg.evaluate(replace(x, poses=None), bare, metrics=["pld"]) for x in methods]
    assert truth.poses is not None
    assert truth.scenes is not None
    frame_of = {token: frame for frame, token in enumerate(truth.tokens)}
    placed = []
    for place in mg.suspicious_truth(results, names=["A", "B"]).places:
        frame = frame_of[place.tokens[0]]
        turn, at = _turn(truth.poses, frame)
        placed.append(place._replace(line=place.line @ turn.T + at, scenes=(truth.scenes[frame],)))
    return placed


def trial(
    make: Callable[[int, int], World], scenes: int, seed: int, into: dict[str, Counts], *, has_poses: bool = True
) -> None:
    """Plant errors in one world, and count what is found."""
    made = make(scenes, seed)
    truth, planted = plant(made.truth, seed)
    places = places_of(made.methods, truth, has_poses=has_poses)
    for wrong in planted:
        counts = into[wrong.kind]
        is_found = any(place.kind == KINDS[wrong.kind] and is_at(place, wrong) for place in places)
        counts.planted += 1
        counts.found += is_found
        counts.long_enough += wrong.frames >= 3
        counts.found_long += is_found and wrong.frames >= 3
    for place in places:
        kinds = {wrong.kind for wrong in planted if is_at(place, wrong)}
        name = next(name for name, kind in KINDS.items() if kind == place.kind)
        into[name].places += 1
        into[name].right += name in kinds
        into[name].wrong_kind += bool(kinds) and name not in kinds


def main(scenes: int, seeds: int, first: int) -> None:
    """Print a table for each world, with poses and without them."""
    worlds = (("The methods err independently", world), ("They share weaknesses", weak_world))
    for has_poses, (title, make) in product((True, False), worlds):
        into = {kind: Counts() for kind in KINDS}
        exact = 0
        for seed in range(first, first + seeds):
            trial(make, scenes, seed, into, has_poses=has_poses)
            made = make(scenes, seed)
            exact += len(places_of(made.methods, made.truth, has_poses=has_poses))
        poses = "with poses" if has_poses else "without poses"
        print(f"\n{title}, {poses}; with exact truth, {exact} places in {10 * scenes * seeds} frames\n")
        print("| planted | errors | found | of those that 3 frames show | places | right | another planted error |")
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        every = Counts()
        for kind, counts in into.items():
            for key, value in vars(counts).items():
                setattr(every, key, getattr(every, key) + value)
            print(_row(kind, counts))
        print(_row("all", every))


def _row(kind: str, counts: Counts) -> str:
    recall = counts.found / max(counts.planted, 1)
    long = counts.found_long / max(counts.long_enough, 1)
    right = counts.right / max(counts.places, 1)
    other = counts.wrong_kind / max(counts.places, 1)
    return f"| {kind} | {counts.planted} | {recall:.0%} | {long:.0%} | {counts.places} | {right:.0%} | {other:.0%} |"


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    usual = [40, 5, 0]
    number_of_scenes, number_of_seeds, first_seed = [*given, *usual[len(given) :]]
    main(number_of_scenes, number_of_seeds, first_seed)
