"""Measures OpenLane-V2's scores against a plain implementation of the same definitions, on the same frames.

Run it with ``make bench-lanes``. It prints tables in GitHub markdown, with processor time. The frames have the size of
those of OpenLane-V2: some 30 true lanes of 11 points and 40 predicted ones, each with a score for every other.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from benchmarks import plain_lanes as plain
from benchmarks.tables import at_least, heading, machine, race, row

import mapgauge as mg
from mapgauge.frames.lane_classes import LANE, TRAFFIC_ELEMENTS
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR, Links
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.table import chosen_metrics
from mapgauge.results.values import mean_of, values_of_classes
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import prepare
from mapgauge.scoring.score import score_frames
from mapgauge.scoring.scores import Totals

FRAMES, TRUE, FALSE, BOXES = 64, 30, 10, 4
GOAL = 40.0  # times as fast. TOP is also scored at each threshold, which the baseline leaves out
ROUNDS = 5
Frame = dict[str, Any]


def frame(rng: np.random.Generator) -> tuple[Frame, Frame]:
    """Return predictions and truth of one frame, in the form of OpenLane-V2's files."""
    start = rng.uniform(-50, 50, (TRUE + FALSE, 3)) * (1, 0.5, 0.02)
    turn = rng.choice([0.0, np.pi / 2, np.pi], TRUE + FALSE) + rng.normal(0, 0.1, TRUE + FALSE)
    along = np.linspace(0, 1, 11) * rng.uniform(10, 40, (TRUE + FALSE, 1))
    step = np.stack([along * np.cos(turn)[:, None], along * np.sin(turn)[:, None], 0 * along], axis=2)
    lanes = start[:, None] + step
    noisy = lanes + rng.normal(0, 0.6, (TRUE + FALSE, 1, 3)) * (1, 1, 0.1) + rng.normal(0, 0.15, lanes.shape)
    low = rng.uniform(0, 1500, (BOXES, 2))
    boxes = np.stack([low, low + rng.uniform(30, 90, (BOXES, 2))], axis=1)
    links = [rng.random((TRUE, n)) < 2 / n for n in (TRUE, BOXES)]
    sides = []
    for k, (points, corners) in enumerate(((noisy, boxes + rng.normal(0, 4, (BOXES, 1, 2))), (lanes[:TRUE], boxes))):
        scores = [0.2 + 0.6 * rng.random((len(points), n)) for n in (len(points), BOXES)]
        for weights, link in zip(scores, links, strict=True):
            weights[: link.shape[0], : link.shape[1]] += np.where(link, 0.2, -0.2)
        found = {
            "lane_centerline": [{"points": one, "confidence": float(rng.random())} for one in points],
            "traffic_element": [
                {"points": one, "attribute": int(i % 3), "confidence": float(rng.random())}
                for i, one in enumerate(corners)
            ],
        }
        matrices = links if k else scores
        sides.append(found | dict(zip(("topology_lclc", "topology_lcte"), matrices, strict=True)))
    return sides[0], sides[1]


def frames_of(documents: Sequence[Frame], *, predicted: bool) -> mg.MapFrames:
    """Return one side as ``MapFrames``."""
    classes = (LANE, *TRAFFIC_ELEMENTS)
    rows: list[tuple[int, int, Any, float]] = []
    links: list[tuple[int, int, float, str]] = []
    for f, one in enumerate(documents):
        first = len(rows)
        rows += [(f, 0, lane["points"], lane["confidence"]) for lane in one["lane_centerline"]]
        second = len(rows)
        for box in one["traffic_element"]:
            rows.append((f, 1 + box["attribute"], np.c_[box["points"], [0.0, 0.0]], box["confidence"]))
        for name, kind, start in (("topology_lclc", SUCCESSOR, first), ("topology_lcte", CONTROLLED_BY, second)):
            matrix = np.asarray(one[name], float)
            links += [(first + i, start + j, float(matrix[i, j]), kind) for i, j in np.argwhere(matrix).tolist()]
    source, target, weight, kinds = zip(*links, strict=True)
    return mg.MapFrames(
        tokens=tuple(str(f) for f in range(len(documents))),
        classes=classes,
        frame=np.array([one[0] for one in rows]),
        label=np.array([one[1] for one in rows]),
        polylines=Polylines.of([one[2] for one in rows]),
        confidence=np.array([one[3] for one in rows]) if predicted else None,
        links=Links.of(source, target, weight=weight, kind=kinds),
        boxes=TRAFFIC_ELEMENTS,
    )


class Plain:
    """The plain implementation. Distances are kept, because the scores share them."""

    def __init__(self, frames: Sequence[tuple[Frame, Frame]]) -> None:
        """Keep the frames."""
        self.frames = frames
        self.lanes: list[Any] = []
        self.boxes: list[Any] = []

    def distances(self) -> None:
        """Compute the distances of lanes and boxes."""
        self.lanes = [plain.lane_distances(y["lane_centerline"], x["lane_centerline"], True) for x, y in self.frames]
        self.boxes = [
            plain.distances(y["traffic_element"], x["traffic_element"], plain.overlap) for x, y in self.frames
        ]

    def det_l(self) -> float:
        """Return DET_l with the distances it needs."""
        self.distances()
        rows = [
            (apart, [lane["confidence"] for lane in x["lane_centerline"]])
            for apart, (x, _) in zip(self.lanes, self.frames, strict=True)
        ]
        return float(np.mean([plain.detection(rows, threshold) for threshold in plain.LANES]))

    def top(self, old: bool) -> tuple[float, float]:
        """Return TOP_ll and TOP_lt with the distances they need."""
        self.distances()
        return self.linked(old)

    def linked(self, old: bool) -> tuple[float, float]:
        """Return TOP_ll and TOP_lt from the distances."""
        return plain.topology_scores(self.frames, self.lanes, self.boxes, ("topology_lclc", "topology_lcte"), old)

    def every(self, old: bool) -> tuple[float, ...]:
        """Return DET_l, TOP_ll and TOP_lt."""
        return self.det_l(), *self.linked(old)


def main() -> None:
    """Print the tables."""
    rng = np.random.default_rng(0)
    frames = [frame(rng) for _ in range(FRAMES)]
    x, y = (frames_of([pair[k] for pair in frames], predicted=k == 0) for k in range(2))
    slow = Plain(frames)
    machine("mapgauge", "numba", "numpy")
    heading(
        f"OpenLane-V2's scores, {FRAMES} frames of {TRUE} lanes, on one core",
        *("scores", "baseline, per frame", "mapgauge, per frame", "times as fast"),
    )

    def measured(title: str, version: str, names: tuple[str, ...], theirs: Callable[[], Any]) -> None:
        protocol = mg.protocol(f"openlanev2-{version}")
        sides = prepare(x, y, protocol, "error")

        def ours() -> tuple[float | None, ...]:
            totals = Totals.of(score_frames(Data.of(*sides, protocol), names), protocol)
            found = mean_of(values_of_classes(totals, y.classes, names, protocol, ()).values())
            return tuple(found[name] for name in names)

        np.testing.assert_allclose(np.ravel(theirs()), np.array(ours(), float), atol=1e-12)
        slow_s, fast_s = race(theirs, ours, rounds=ROUNDS, clock=time.process_time)
        ratio = at_least(slow_s / fast_s, GOAL, f"{slow_s / fast_s:,.0f}")
        row(title, f"{1e3 * slow_s / FRAMES:,.1f} ms", f"{1e3 * fast_s / FRAMES:,.2f} ms", ratio)

    measured("DET_l", "v1.1", ("det_l",), slow.det_l)
    for version in ("v1.1", "v1.0"):
        old = version == "v1.0"
        measured(f"TOP_ll and TOP_lt, {version}", version, ("top_ll", "top_lt"), partial(slow.top, old))
        measured(f"all three, {version}", version, ("det_l", "top_ll", "top_lt"), partial(slow.every, old))
    protocol = mg.protocol("openlanev2-v1.1")
    sides = prepare(x, y, protocol, "error")
    every = chosen_metrics(protocol, None)
    (seconds,) = race(lambda: score_frames(Data.of(*sides, protocol), every), rounds=ROUNDS, clock=time.process_time)
    row("all scores, v1.1", "", f"{1e3 * seconds / FRAMES:,.2f} ms", "")


if __name__ == "__main__":
    main()
