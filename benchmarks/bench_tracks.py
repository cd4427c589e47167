"""Measures T-PLD: one large scene against ``scipy.optimize.linprog`` on the same model, and a validation set.

mAS is measured against its slow twin, which compares one pair of lines after the other, as mAS did at first. C-mAP and
mAS are measured on 2,000 frames of the demo, with all checks.

Run it with ``make bench-tracks``. It prints tables in GitHub markdown.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from benchmarks.tables import at_most, heading, machine, race, row
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack
from tests.features.tracks.stability_twin import slow_sums

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.tracks import track_scene as over_time
from mapgauge.features.tracks.consistent_ap import MAS
from mapgauge.features.tracks.track_pld import SWITCH_COST
from mapgauge.features.tracks.track_scene import solve_scene
from mapgauge.frames.alignment import join_frames
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.groups import group
from mapgauge.metrics.metric import SumRows
from mapgauge.solver import Problem, Sparse, solve

FRAMES = 40
CLASSES = ("ped_crossing", "divider", "boundary")
PROTOCOL = mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": SWITCH_COST}})
LIMIT, WHOLE, FIELD = 0.3, 60.0, 10.0  # seconds: a scene, a validation set, 2,000 frames by C-mAP or mAS
RATIO = 0.2  # of the time of the twin of mAS


def scene(
    rng: np.random.Generator, true: int, predicted: int, classes: tuple[str, ...], name: str
) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Lines along the road that pass the vehicle, and predicted tracks near them.

    Half of the predicted tracks follow a true track for some frames. The others are weak and live for a few frames.
    """
    lateral = rng.uniform(-15, 15, true)
    along = rng.uniform(-60, 260, true)
    length = rng.uniform(10, 40, true)
    of = rng.integers(0, true, predicted)
    strong = np.arange(predicted) < predicted // 2
    start = rng.integers(0, FRAMES - 5, predicted)
    life = np.where(strong, rng.integers(5, FRAMES, predicted), rng.integers(1, 8, predicted))
    sure = np.where(strong, rng.beta(4, 2, predicted), rng.beta(1, 8, predicted))
    label = rng.integers(0, len(classes), true)
    sides: list[list[tuple[int, int, np.ndarray, float, str]]] = [[], []]
    share = np.linspace(0, 1, 20)
    for k in range(FRAMES):
        begin = np.clip(along - 5 * k, -30, 30)
        end = np.clip(along - 5 * k + length, -30, 30)
        seen = np.flatnonzero(end - begin > 2)
        for j in seen.tolist():
            points = np.stack([begin[j] + share * (end[j] - begin[j]), np.full(20, lateral[j])], axis=1)
            sides[1].append((k, int(label[j]), points, 1.0, f"t{j}"))
        for i in np.flatnonzero((start <= k) & (k < start + life) & np.isin(of, seen)).tolist():
            j = int(of[i])
            x = begin[j] + share * (end[j] - begin[j])
            y = lateral[j] + rng.normal(0, 0.3) + 0.3 * np.cos(3 * share + i)
            sides[0].append((k, int(label[j]), np.stack([x, y], axis=1), float(sure[i]), f"p{i}"))
    frames = []
    for side in sides:
        frames.append(
            mg.MapFrames(
                tokens=tuple(f"{name}-{k:03}" for k in range(FRAMES)),
                classes=classes,
                frame=np.array([one[0] for one in side], np.int64),
                label=np.array([one[1] for one in side], np.int64),
                polylines=Polylines.of([one[2] for one in side]),
                confidence=np.array([one[3] for one in side]),
                track=np.array([one[4] for one in side], np.str_),
                scenes=(name,) * FRAMES,
                timestamps=np.arange(FRAMES),
            )
        )
    return frames[0], replace(frames[1], confidence=None)


def plain(problem: Problem) -> float:
    """Solve a problem as most people would: ``|z| <= t`` as two rows each, with scipy."""

    def matrix(sparse: Sparse) -> csr_array:
        return csr_array((sparse.value, sparse.column, sparse.start), shape=(len(sparse), len(problem.saving)))

    rows, terms = matrix(problem.rows), matrix(problem.terms)
    slack = eye_array(len(problem.terms))
    none = csr_array((len(problem.rows), len(problem.terms)))
    left: Any = vstack([hstack([rows, none]), hstack([terms, -slack]), hstack([-terms, -slack])])
    limit = np.concatenate([problem.limit, np.zeros(2 * len(problem.terms))])
    found = linprog(
        np.concatenate([-problem.saving, problem.weight]),
        A_ub=left.tocsr(),
        b_ub=limit,
        bounds=(0, None),
        method="highs",
    )
    if found.fun is None:
        raise SystemExit(f"scipy: {found.message}")
    return -found.fun


def one_scene(true: int, predicted: int) -> None:
    """Compare the solvers on the problems of one scene and class, and time the whole scene."""
    x, y = scene(np.random.default_rng(0), true, predicted, ("divider",), "s")
    groups = group(*mg.align(x, y), PROTOCOL)
    problems: list[Problem] = []
    module: Any = over_time

    def noted(problem: Problem, *, binary: bool = False) -> np.ndarray:
        problems.append(problem)
        return solve(problem, binary=binary)

    def whole() -> object:
        return solve_scene(groups, directed=False, cutoff=1.5, switch_cost=SWITCH_COST)

    module.solve = noted
    whole()
    module.solve = solve

    def ours() -> list[float]:
        values = []
        for problem in problems:
            w = solve(problem)
            values.append(float(problem.saving @ w - problem.weight @ np.abs(problem.terms.times(w))))
        return values

    if not np.allclose(ours(), [plain(problem) for problem in problems], atol=1e-7):
        raise SystemExit("the two solvers differ")
    fast, slow, all_of_it = race(ours, lambda: [plain(problem) for problem in problems], whole, rounds=5)
    size = f"{true} / {predicted}"
    variables = sum(len(problem.saving) for problem in problems)
    row(
        *(size, str(variables), f"{1e3 * slow:.0f}", f"{1e3 * fast:.0f}", f"{fast / slow:.2f}"),
        at_most(all_of_it, LIMIT, f"{all_of_it:.3f}"),
    )


def validation_set(scenes: int = 150, predicted: int = 60) -> None:
    """Time a validation set of the size of nuScenes, with all classes."""
    rng = np.random.default_rng(1)
    parts = [scene(rng, 30, 3 * predicted, CLASSES, f"scene-{k:03}") for k in range(scenes)]
    x, y = (join_frames([part[side] for part in parts]) for side in (0, 1))
    seconds = {}
    for metric in ("pld", "track_pld"):
        begin = time.perf_counter()
        mg.evaluate(x, y, PROTOCOL, metrics=[metric])
        seconds[metric] = time.perf_counter() - begin
    row(
        *(f"{scenes} x {FRAMES}", str(len(x.polylines)), f"{seconds['pld']:.1f}"),
        at_most(seconds["track_pld"], WHOLE, f"{seconds['track_pld']:.1f}"),
    )


def stability(frames: int = 100) -> None:
    """Compare mAS with its slow twin, scene by scene."""
    protocol = mg.protocol("mas-60x30")
    x, y = mg.align(*demo_world(frames))
    scenes = [slice(k, k + 10) for k in range(0, frames, 10)]
    groups = [group(x.between(some), y.between(some), protocol) for some in scenes]
    assert isinstance(MAS.rows, SumRows)
    score = MAS.rows.score

    def fast() -> list[np.ndarray]:
        return [score(one, protocol, 2) for one in groups]

    def slow() -> list[np.ndarray]:
        return [slow_sums(one, protocol, 2) for one in groups]

    if not np.allclose(np.concatenate(fast()), np.concatenate(slow()), rtol=1e-12, atol=1e-12):
        raise SystemExit("mAS and its twin differ")
    now, before = race(fast, slow, rounds=3)
    row(str(frames), f"{1e3 * before:.0f}", f"{1e3 * now:.0f}", at_most(now / before, RATIO, f"{now / before:.3f}"))


def scores_of_the_field(frames: int = 2000) -> None:
    """Time C-mAP and mAS of the demo."""
    predictions, truth = demo_world(frames)
    tracked = replace(predictions, track=np.array([f"{i % 50}" for i in range(len(predictions.polylines))]))
    for metric, name in (("c_map", "maptracker-c-60x30"), ("mas", "mas-60x30")):
        begin = time.perf_counter()
        mg.evaluate(tracked, truth, name, metrics=[metric])
        seconds = time.perf_counter() - begin
        row(metric, str(frames), at_most(seconds, FIELD, f"{seconds:.1f}"))


def main() -> None:
    """Print all tables."""
    machine("mapgauge", "highspy", "numpy", "scipy")
    heading(
        f"One scene of {FRAMES} frames and one class",
        *("true / predicted tracks", "variables", "linprog, ms", "mapgauge, ms", "ratio", "whole scene, s"),
    )
    for true, predicted in ((12, 30), (40, 100), (40, 400)):
        one_scene(true, predicted)
    heading("A validation set, three classes", "scenes x frames", "predictions", "PLD, s", "T-PLD, s")
    validation_set()
    heading("mAS, three classes, pairs up to two frames apart", "frames", "twin, ms", "mapgauge, ms", "ratio")
    stability()
    heading("Scores of the field, with checks", "metric", "frames", "seconds")
    scores_of_the_field()


if __name__ == "__main__":
    main()
