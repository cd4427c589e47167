"""Plants one kind of error at a time in exact predictions, and prints which causes the added costs have.

Run it with ``python -m benchmarks.planted_errors [FRAMES]``. It prints a table in GitHub markdown, which
``docs/explanation/causes.md`` sums up. The base is the truth of the demo world with a noise of 0.1 m and confidences
from 0.6 to 0.95. A share of all instances then gets an error.
"""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

import mapgauge as mg
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.causes import CAUSES, label_of
from mapgauge.typing import Floats, Points

SHARE = 0.2  # of instances that get an error
Pieces = list[tuple[Points, float, int]]  # points, confidence and class of the predictions of an instance
Error: TypeAlias = "Callable[[Instance], Pieces]"


@dataclass(frozen=True)
class Instance:
    """A true instance, and its exact prediction."""

    points: Points
    confidence: float
    label: int
    rng: np.random.Generator

    def moved(self, distance: float) -> Points:
        """Return the points, moved across the line to a random side."""
        along = self.points[-1] - self.points[0] if not self.closed else self.rng.normal(size=2)
        across = np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-9)
        moved: Points = self.points + distance * self.rng.choice([-1, 1]) * across
        return moved

    @property
    def closed(self) -> bool:
        """Whether the points are a ring."""
        return bool(np.allclose(self.points[0], self.points[-1]))

    @property
    def length(self) -> float:
        """The length in metres."""
        return float(np.hypot(*np.diff(self.points, axis=0).T).sum())

    def part(self, start: float, stop: float) -> Points:
        """Return a part of the line, from one share of its length to another; it may be longer than the line."""
        steps = np.hypot(*np.diff(self.points, axis=0).T)
        length = np.append(0.0, np.cumsum(steps))
        at = np.linspace(start, stop, 60) * length[-1]
        inside = np.stack([np.interp(at, length, column) for column in self.points.T], axis=1)
        last = (self.points[-1] - self.points[-2]) / max(float(steps[-1]), 1e-9)
        part: Points = inside + np.maximum(at - length[-1], 0.0)[:, None] * last
        return part

    def as_is(self, points: Points, confidence: float | None = None) -> Pieces:
        """Return one prediction with other points or another confidence."""
        return [(points, self.confidence if confidence is None else confidence, self.label)]


def _pieces(count: int, overlap: float = -0.02) -> Error:
    """Return a function that cuts a line into pieces that overlap by a share of the line. Below 0, it is a gap."""

    def cut(line: Instance) -> Pieces:
        sure = line.confidence * line.rng.uniform(0.7, 1.0, count)
        ends = ((max(k / count - overlap / 2, 0.0), min((k + 1) / count + overlap / 2, 1.0)) for k in range(count))
        return [(line.part(*end), float(sure[k]), line.label) for k, end in enumerate(ends)]

    return cut


def _moved(distance: float, confidence: float | None = None) -> Error:
    return lambda line: line.as_is(line.moved(distance), confidence)


def _part(start: float, stop: float) -> Error:
    return lambda line: line.as_is(line.part(start, stop))


def _sure(confidence: float) -> Error:
    return lambda line: line.as_is(line.points, confidence)


def _and(points: Callable[[Instance], Points], other_class: bool = False) -> Error:
    """Return a function that adds a line with half of the confidence."""
    return lambda line: [
        *line.as_is(line.points),
        (points(line), 0.5 * line.confidence, 3 - line.label if other_class else line.label),
    ]


def _false(confidence: float) -> Error:
    """Return a function that adds a line far from all truth."""
    return lambda line: [*line.as_is(line.points), (np.add(line.points, [0.0, 200.0]), confidence, line.label)]


def _turned(line: Instance) -> Pieces:
    """Turn a line about its middle by 2 degrees."""
    middle, angle = line.points.mean(axis=0), np.deg2rad(2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return line.as_is(middle + (line.points - middle) @ turn.T)


def _bowed(line: Instance) -> Pieces:
    """Bend a line by 0.6 m in its middle."""
    inside = line.part(0.0, 1.0)
    along = line.points[-1] - line.points[0]
    across = np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-9)
    return line.as_is(inside + 0.6 * np.sin(np.linspace(0, np.pi, len(inside)))[:, None] * across)


def _larger(line: Instance) -> Pieces:
    middle = line.points.mean(axis=0)
    return line.as_is(middle + 1.1 * (line.points - middle))


def _along(line: Instance) -> Pieces:
    """Move a line by 3 m along itself."""
    share = 3.0 / line.length
    return line.as_is(line.part(share, 1.0 + share))


def _shuffled(line: Instance) -> Pieces:
    return line.as_is(line.rng.permutation(line.part(0.0, 1.0)))


def _there_and_back(line: Instance) -> Pieces:
    return line.as_is(np.concatenate([line.points, line.points[::-1]]))


def _closed(line: Instance) -> Pieces:
    return line.as_is(np.concatenate([line.points, line.points[:1]]))


MERGED = {"one line over two": 2, "one line over three": 3}  # the truth is cut
# By cause and error: whether rings, open lines or all get it, and the predictions.
ERRORS: dict[str, dict[str, tuple[str, Error]]] = {
    "localisation": {
        "moved by 0.2 m": ("all", _moved(0.2)),
        "moved by 0.5 m": ("all", _moved(0.5)),
        "moved by 1 m": ("all", _moved(1.0)),
        "moved by 1.2 m, confidence of 0.3": ("open", _moved(1.2, 0.3)),
        "noise of 0.3 m": (
            "all",
            lambda line: line.as_is(line.points + line.rng.normal(0, 0.3, line.points.shape)),
        ),
        "turned by 2 degrees": ("open", _turned),
        "bent by 0.6 m": ("open", _bowed),
        "ring a tenth too large": ("closed", _larger),
        "drawn from the other end": ("open", lambda line: line.as_is(line.points[::-1])),
    },
    "extent": {
        "30 % of the line": ("open", _part(0.0, 0.3)),
        "60 % of the line": ("open", _part(0.0, 0.6)),
        "60 % in the middle": ("open", _part(0.2, 0.8)),
        "a third too long": ("open", _part(0.0, 1.33)),
        "moved along itself by 3 m": ("open", _along),
    },
    "wrong_shape": {
        "ring with a side lacking": ("closed", lambda line: line.as_is(line.points[:-1])),
        "open line closed": ("open", _closed),
        "line there and back": ("open", _there_and_back),
        "points in random order": ("open", _shuffled),
    },
    "displaced": {
        "moved by 2 m": ("open", _moved(2.0)),
        "moved by 2.5 m": ("open", _moved(2.5)),
        "ring moved by 2.5 m": ("closed", _moved(2.5)),
    },
    "fragment": {
        "halves": ("open", _pieces(2)),
        "thirds": ("open", _pieces(3)),
        "six pieces": ("open", _pieces(6)),
        "halves that overlap by a fifth": ("open", _pieces(2, 0.2)),
    },
    "merge": {kind: ("open", lambda line: line.as_is(line.points)) for kind in MERGED},
    "duplicate": {
        "exact copy": ("all", _and(lambda line: line.points)),
        "copy at 0.2 m": ("all", _and(lambda line: line.moved(0.2))),
        "copy at 0.6 m": ("all", _and(lambda line: line.moved(0.6))),
        "copy of a half": ("open", _and(lambda line: line.part(0.0, 0.5))),
    },
    "wrong_class": {
        "another class": ("open", lambda line: [(line.points, line.confidence, 3 - line.label)]),
        "copy in another class": ("open", _and(lambda line: line.points, other_class=True)),
    },
    "background": {"false alarm of 0.3": ("all", _false(0.3))},
    "over_confident": {"false alarm of 0.8": ("all", _false(0.8))},
    "missed": {"dropped": ("all", lambda line: [])},
    "faint": {
        "dropped, with junk of 0.05": ("all", _moved(0.8, 0.05)),
        "confidence of 0.05": ("all", _sure(0.05)),
    },
    "under_confident": {"confidence of 0.3": ("all", _sure(0.3)), "confidence of 0.5": ("all", _sure(0.5))},
}


def _exact(truth: mg.MapFrames, rng: np.random.Generator) -> tuple[list[Points], Floats]:
    """Return the lines of all instances with a little noise, and their confidences."""
    lines = []
    for i in range(len(truth.polylines)):
        points = np.asarray(truth.polylines[i], float)
        noisy = points + rng.normal(0, 0.1, points.shape)
        noisy[-1] = noisy[0] if np.allclose(points[0], points[-1]) else noisy[-1]
        lines.append(noisy)
    return lines, rng.uniform(0.6, 0.95, len(lines))


def _frames(truth: mg.MapFrames, rows: list[tuple[Points, float, int, int]]) -> mg.MapFrames:
    """Return predictions from points, confidences, classes and frames."""
    rows = sorted(rows, key=lambda row: row[3])
    return replace(
        truth,
        polylines=Polylines.pack([row[0] for row in rows], [""] * len(rows), 2),
        confidence=np.array([row[1] for row in rows]),
        label=np.array([row[2] for row in rows], np.int64),
        frame=np.array([row[3] for row in rows], np.int64),
        track=None,
    )


@dataclass(frozen=True)
class Outcome:
    """The added costs by cause, and the causes of the planted predictions that are not matched."""

    added: dict[str, float]
    of_predictions: dict[str, int]
    planted: int

    def share(self, cause: str) -> float:
        """Return the share of the added cost that has this cause."""
        return max(self.added[cause], 0.0) / sum(max(cost, 0.0) for cost in self.added.values())

    @property
    def others(self) -> str:
        """The two largest causes of the added cost, in words."""
        gains = sorted(self.added.items(), key=lambda item: -item[1])
        total = sum(max(cost, 0.0) for cost in self.added.values())
        return ", ".join(f"{label_of(cause)} {cost / total:.0%}" for cause, cost in gains[:3] if cost > 0.01 * total)


def plant(truth: mg.MapFrames, cause: str, kind: str, seed: int = 0, share: float = SHARE) -> Outcome:
    """Plant one kind of error, and return what it adds."""
    rng = np.random.default_rng(seed)
    where, errors = ERRORS[cause][kind]
    lines, sure = _exact(truth, rng)
    rings = np.array([bool(np.allclose(line[0], line[-1])) for line in lines])
    lengths = np.array([Instance(line, 1.0, 0, rng).length for line in lines])
    able = (lengths > 6.0) & {"all": np.ones(len(lines), bool), "open": ~rings, "closed": rings}[where]
    chosen = able & (rng.random(len(lines)) < share)
    frame, label = truth.frame.tolist(), truth.label.tolist()
    plain: list[Any] = [(line, sure[i], label[i], frame[i]) for i, line in enumerate(lines)]
    spoiled: list[Any] = []
    is_planted: list[bool] = []
    for i, row in enumerate(plain):
        pieces = errors(Instance(lines[i], float(sure[i]), label[i], rng)) if chosen[i] else [row[:3]]
        spoiled += [(*piece, frame[i]) for piece in pieces]
        is_planted += [bool(chosen[i])] * len(pieces)
    flags = np.array(is_planted, bool)[np.argsort([row[3] for row in spoiled], kind="stable")]
    after_truth = _cut(truth, chosen, MERGED[kind]) if kind in MERGED else truth
    before, after = (
        mg.causes(mg.evaluate(_frames(truth, rows), y, metrics=["pld"], unknown="ignore"))
        for rows, y in ((plain, truth), (spoiled, after_truth))
    )
    added = dict(zip(CAUSES, (after.per_frame - before.per_frame).sum(axis=(0, 1)).tolist(), strict=True))
    assert after.instances is not None
    frames = _frames(truth, spoiled)
    order = np.lexsort((np.arange(len(flags)), frames.label, frames.frame))
    unmatched = after.instances.cause[flags[order] & (after.instances.truth_of < 0)].tolist()
    of_predictions = Counter(list(CAUSES)[k] for k in unmatched)
    return Outcome(added, of_predictions, int(chosen.sum()))


def _cut(truth: mg.MapFrames, chosen: Any, count: int) -> mg.MapFrames:
    """Return the truth with some lines cut into pieces."""
    rows: list[Any] = []
    for i, (label, frame) in enumerate(zip(truth.label.tolist(), truth.frame.tolist(), strict=True)):
        line = Instance(np.asarray(truth.polylines[i], float), 1.0, label, np.random.default_rng(0))
        parts = _pieces(count)(line) if chosen[i] else line.as_is(line.points)
        rows += [(points, 1.0, label, frame) for points, *_ in parts]
    return replace(_frames(truth, rows), confidence=None)


def main(frames: int) -> None:
    """Print the table."""
    truth = mg.demo.demo_world(frames, predictions=0)[1]
    print("| planted | instances | expected | found | largest causes of the added cost |")
    print("| --- | ---: | --- | ---: | --- |")
    for cause, kinds in ERRORS.items():
        for kind in kinds:
            outcome = plant(truth, cause, kind)
            found = f"{outcome.share(cause):.0%} | {outcome.others}"
            print(f"| {kind} | {outcome.planted} | {label_of(cause)} | {found} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
