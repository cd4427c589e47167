"""Plants one kind of error at a time in exact predictions, and prints which causes the added costs have.

Run it with ``python -m benchmarks.planted_errors [FRAMES]``. It prints a table in GitHub markdown, which is in
``docs/explanation/causes.md``. The base is the truth of the demo world with a noise of 0.1 m and confidences from 0.6
to 0.95. A share of all instances then gets an error.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import mapgauge as mg
from mapgauge.features.causes.metric import CAUSES, label_of
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Floats, Points

SHARE = 0.2  # of instances that get an error
Pieces = list[tuple[Points, float, int]]  # points, confidence and class of the predictions of an instance


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


def _pieces(count: int) -> Callable[[Instance], Pieces]:
    """Return a function that cuts a line into pieces with gaps of 2 % of the line, each with its own confidence."""

    def cut(line: Instance) -> Pieces:
        sure = line.confidence * line.rng.uniform(0.7, 1.0, count)
        return [(line.part(k / count + 0.01, (k + 1) / count - 0.01), float(sure[k]), line.label) for k in range(count)]

    return cut


def _false(confidence: float) -> Callable[[Instance], Pieces]:
    """Return a function that adds a line far from all truth."""
    return lambda line: [*line.as_is(line.points), (np.add(line.points, [0.0, 200.0]), confidence, line.label)]


# By error: the causes that its costs should have, whether rings or open lines get it, and the predictions.
KINDS: dict[str, tuple[tuple[str, ...], str, Callable[[Instance], Pieces]]] = {
    "moved by 0.5 m": (("localisation",), "all", lambda line: line.as_is(line.moved(0.5))),
    "noise of 0.3 m": (
        ("localisation",),
        "all",
        lambda line: line.as_is(line.points + line.rng.normal(0, 0.3, line.points.shape)),
    ),
    "60 % of the line": (("extent",), "open", lambda line: line.as_is(line.part(0.0, 0.6))),
    "a third too long": (("extent",), "open", lambda line: line.as_is(line.part(0.0, 1.33))),
    "ring with a side lacking": (("wrong_shape",), "closed", lambda line: line.as_is(line.points[:-1])),
    "moved by 2 m": (("displaced",), "open", lambda line: line.as_is(line.moved(2.0))),
    "moved by 2.5 m": (("displaced",), "open", lambda line: line.as_is(line.moved(2.5))),
    "halves": (("fragment",), "open", _pieces(2)),
    "thirds": (("fragment",), "open", _pieces(3)),
    "one line over two": (("merge",), "open", lambda line: line.as_is(line.points)),  # the truth is cut in two
    "copy at 0.2 m": (
        ("duplicate",),
        "all",
        lambda line: [*line.as_is(line.points), *line.as_is(line.moved(0.2), 0.5 * line.confidence)],
    ),
    "copy at 0.6 m": (
        ("duplicate",),
        "all",
        lambda line: [*line.as_is(line.points), *line.as_is(line.moved(0.6), 0.5 * line.confidence)],
    ),
    "another class": (
        ("wrong_class",),
        "open",
        lambda line: [(line.points, line.confidence, 3 - line.label)],
    ),
    "false alarm of 0.3": (("background",), "all", _false(0.3)),
    "false alarm of 0.8": (("over_confident",), "all", _false(0.8)),
    "dropped": (("missed",), "all", lambda line: []),
    "dropped, with junk of 0.05": (("missed", "faint"), "all", lambda line: line.as_is(line.moved(0.8), 0.05)),
    "confidence of 0.05": (("faint",), "all", lambda line: line.as_is(line.points, 0.05)),
    "confidence of 0.3": (("under_confident",), "all", lambda line: line.as_is(line.points, 0.3)),
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

    def share(self, causes: tuple[str, ...]) -> float:
        """Return the share of the added cost that has these causes."""
        gains = {cause: max(cost, 0.0) for cause, cost in self.added.items()}
        return sum(gains[cause] for cause in causes) / sum(gains.values())

    @property
    def others(self) -> str:
        """The two largest causes of the added cost, in words."""
        gains = sorted(self.added.items(), key=lambda item: -item[1])
        total = sum(max(cost, 0.0) for cost in self.added.values())
        return ", ".join(f"{label_of(cause)} {cost / total:.0%}" for cause, cost in gains[:3] if cost > 0.01 * total)


def plant(truth: mg.MapFrames, kind: str, seed: int = 0, share: float = SHARE) -> Outcome:
    """Plant one kind of error, and return what it adds."""
    rng = np.random.default_rng(seed)
    _, where, errors = KINDS[kind]
    lines, sure = _exact(truth, rng)
    rings = np.array([bool(np.allclose(line[0], line[-1])) for line in lines])
    lengths = np.array([np.hypot(*np.diff(line, axis=0).T).sum() for line in lines])
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
    after_truth = _cut(truth, chosen) if kind == "one line over two" else truth
    before, after = (
        mg.causes(mg.evaluate(_frames(truth, rows), y, metrics=["pld"], unknown="ignore"))
        for rows, y in ((plain, truth), (spoiled, after_truth))
    )
    added = dict(zip(CAUSES, (after.per_frame - before.per_frame).sum(axis=(0, 1)).tolist(), strict=True))
    of_predictions: dict[str, int] = {}
    assert after.instances is not None
    data = mg.evaluate(_frames(truth, spoiled), after_truth, metrics=["pld"]).data
    assert data is not None
    order = np.lexsort((np.arange(len(flags)), _frames(truth, spoiled).label, _frames(truth, spoiled).frame))
    for cause in after.instances.cause[flags[order] & (after.instances.truth_of < 0)].tolist():
        of_predictions[list(CAUSES)[cause]] = of_predictions.get(list(CAUSES)[cause], 0) + 1
    return Outcome(added, of_predictions, int(chosen.sum()))


def _cut(truth: mg.MapFrames, chosen: Any) -> mg.MapFrames:
    """Return the truth with some lines cut in the middle."""
    rows: list[Any] = []
    for i, (label, frame) in enumerate(zip(truth.label.tolist(), truth.frame.tolist(), strict=True)):
        line = Instance(np.asarray(truth.polylines[i], float), 1.0, label, np.random.default_rng(0))
        parts = [line.part(0.0, 0.49), line.part(0.51, 1.0)] if chosen[i] else [line.points]
        rows += [(points, 1.0, label, frame) for points in parts]
    return replace(_frames(truth, rows), confidence=None)


def main(frames: int) -> None:
    """Print the table."""
    truth = mg.demo.demo_world(frames, predictions=0)[1]
    print("| planted | instances | expected | found | largest causes of the added cost |")
    print("| --- | ---: | --- | ---: | --- |")
    for kind, (causes, _, _) in KINDS.items():
        outcome = plant(truth, kind)
        expected = " or ".join(map(label_of, causes))
        print(f"| {kind} | {outcome.planted} | {expected} | {outcome.share(causes):.0%} | {outcome.others} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
