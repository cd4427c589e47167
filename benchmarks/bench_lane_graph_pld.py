"""Measures lane-graph PLD: frames of several sizes, with few and with many links. Part of ``make bench-lanes``.

It runs in one thread, because the goal is stated for one core. It prints tables in GitHub markdown.
"""

import time
from dataclasses import replace

import numpy as np
from benchmarks.tables import at_least, heading, machine, race, row

import mapgauge as mg
from mapgauge.features.lane_graph.lane_graph_frame import frame_graphs, solve_frame
from mapgauge.frames.lane_classes import TRAFFIC_ELEMENTS
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR, Links
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.groups import group

FRAMES = 20
GOAL = 100.0  # frames a second, 50 predicted and 25 true lanes
PROTOCOL = mg.protocol("lane-graph")
LIGHTS = 4


def network(rng: np.random.Generator, true: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return lanes that begin at the ends of other lanes, and the matrix of their links."""
    lanes: list[np.ndarray] = []
    links = np.zeros((true, true))
    share = np.linspace(0, 1, 11)[:, None]
    for k in range(true):
        before = int(rng.integers(0, k)) if k and rng.random() < 0.85 else -1
        start = lanes[before][-1] if before >= 0 else rng.uniform(-40, 40, 2)
        ahead = lanes[before][-1] - lanes[before][-2] if before >= 0 else rng.normal(0, 1, 2)
        angle = np.arctan2(ahead[1], ahead[0]) + rng.choice([0.0, 0.0, 0.6, -0.6]) * rng.random()
        step = rng.uniform(8, 25) * np.array([np.cos(angle), np.sin(angle)])
        lanes.append(start + share * step)
        if before >= 0:
            links[before, k] = 1
    return lanes, links


def frames(rng: np.random.Generator, true: int, predicted: int, noise: float) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Return predictions and truth. A prediction follows a true lane; several of them may follow the same.

    Args:
        rng: Random numbers.
        true: Number of true lanes in each frame.
        predicted: Number of predicted lanes in each frame.
        noise: The scores of pairs without a link are up to this.
    """
    sides: list[list[tuple[int, int, np.ndarray, float]]] = [[], []]
    links: list[list[tuple[int, int, float, str]]] = [[], []]
    for k in range(FRAMES):
        lanes, truth = network(rng, true)
        of = np.concatenate([rng.permutation(true), rng.integers(0, true, predicted)])[:predicted]
        score = np.where(truth[np.ix_(of, of)] > 0, rng.beta(3, 2, (predicted, predicted)), 0.0)
        score = np.maximum(score, noise * rng.random((predicted, predicted)))
        boxes = [np.array([u, [u[0] + 40, u[1] + 60]]) for u in rng.uniform(0, 1000, (LIGHTS, 2))]
        label = rng.integers(1, 1 + len(TRAFFIC_ELEMENTS), LIGHTS)
        for side, chosen, matrix in ((0, of, score), (1, np.arange(true), truth)):
            first = len(sides[side])
            for i in chosen.tolist():
                moved = lanes[i] + (rng.normal(0, 0.4, 2) + rng.normal(0, 0.1, lanes[i].shape) if side == 0 else 0.0)
                sides[side].append((k, 0, moved, float(rng.beta(3, 2)) if side == 0 else 1.0))
            for j in range(LIGHTS):
                sides[side].append((k, int(label[j]), boxes[j], 1.0))
                links[side].append((first + j, first + len(chosen) + j, 1.0, CONTROLLED_BY))
            for i, j in np.argwhere(matrix > 0).tolist():
                links[side].append((first + i, first + j, float(matrix[i, j]), SUCCESSOR))
    made = []
    for instances, linked in zip(sides, links, strict=True):
        source, target, weight, kind = zip(*linked, strict=True)
        made.append(
            mg.MapFrames(
                tokens=tuple(f"{k:03}" for k in range(FRAMES)),
                classes=("centerline", *TRAFFIC_ELEMENTS),
                frame=np.array([one[0] for one in instances], np.int64),
                label=np.array([one[1] for one in instances], np.int64),
                polylines=Polylines.of([one[2] for one in instances]),
                confidence=np.array([one[3] for one in instances]),
                links=Links.of(source, target, weight=weight, kind=kind),
                boxes=TRAFFIC_ELEMENTS,
            )
        )
    return made[0], replace(made[1], confidence=None)


def measure(true: int, predicted: int, noise: float, *, goal: bool = False) -> None:
    """Print one row of the table."""
    x, y = frames(np.random.default_rng(0), true, predicted, noise)
    groups = group(x, y, PROTOCOL, links=True)
    own = PROTOCOL.settings["lane_graph_pld"]
    cost, floor = own.link_cost, own.link_floor
    assert cost is not None
    found = [solve_frame(one, cost) for _, one in frame_graphs(groups, True, 1.5, floor)]
    with_links, without = race(
        *(lambda c=c: [solve_frame(one, c) for _, one in frame_graphs(groups, True, 1.5, floor)] for c in (cost, 0.0)),
        rounds=3,
        clock=time.process_time,
    )
    divided = sum(assignment.gap is None for _, assignment in found)
    links = sum(len(one.x.graph.weight) for _, one in frame_graphs(groups, True, 1.5, floor))
    speed = FRAMES / with_links
    text = f"{speed:.0f}"
    row(
        *(f"{predicted} x {true}", f"{noise:g}", f"{links / FRAMES:.0f}", f"{1e3 / speed:.1f}"),
        *(f"{divided} of {FRAMES}", at_least(speed, GOAL, text) if goal else text, f"{with_links / without:.1f}"),
    )


def main() -> None:
    """Print all tables."""
    machine("mapgauge", "highspy", "numpy")
    heading(
        f"Lane-graph PLD, {LIGHTS} traffic elements, one core",
        *("predicted x true lanes", "scores of false links up to", "predicted links above the floor"),
        *("ms per frame", "divided assignments", "frames a second", "time relative to PLD without links"),
    )
    measure(25, 50, 0.0, goal=True)
    measure(25, 50, 0.1, goal=True)
    for true, predicted, noise in ((20, 20, 0.1), (50, 50, 0.1), (30, 100, 0.1), (30, 200, 0.1), (25, 50, 0.2)):
        measure(true, predicted, noise)


if __name__ == "__main__":
    main()
