"""Small scenes of tracks, and the slow twin of T-PLD: dense matrices and ``scipy.optimize.linprog``."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, kron, vstack
from tests.arrays import Floats

import mapgauge as mg
from mapgauge.demo import demo_world

Frames = list[dict[str, Any]]
Confidence = list[dict[str, float]]
Side = tuple[Frames, Confidence]

CUTOFF = 1.5
OFFSET = CUTOFF / 19  # normalised SOSPA of two parallel lines at this distance is 0.1


def line(y: float, x: float = 0.0) -> Floats:
    return np.array([[x + k, y] for k in range(5)], np.float64)


def one_truth(frames: int = 30) -> Frames:
    return [{"a": line(0.0)} for _ in range(frames)]


def one_prediction(name: Callable[[int], str], frames: int = 30) -> Side:
    """A prediction at normalised distance 0.1 with confidence 0.9. ``name`` gives its track in each frame."""
    return [{name(k): line(OFFSET)} for k in range(frames)], [{name(k): 0.9} for k in range(frames)]


def random_side(rng: np.random.Generator, frames: int, tracks: int, prefix: str, ys: Floats | None = None) -> Side:
    """Tracks near few places, so that they compete. Some are absent in some frames."""
    places = rng.integers(0, 3, tracks) * 0.7
    lines: Frames = [{} for _ in range(frames)]
    confidence: Confidence = [{} for _ in range(frames)]
    for t in range(tracks):
        sure = rng.choice([0.25, 0.5, 1.0, rng.random()])
        for k in range(frames):
            if rng.random() < 0.75:
                lines[k][f"{prefix}{t}"] = line(places[t] + rng.choice([0.0, rng.normal(0, 0.5)]))
                confidence[k][f"{prefix}{t}"] = float(sure)
    return lines, confidence


def as_frames(side: Side, *, truth: bool = False) -> mg.MapFrames:
    """The same tracks as ``MapFrames`` of one scene."""
    lines = [points for frame in side[0] for points in frame.values()]
    return mg.MapFrames(
        tokens=tuple(f"t{k}" for k in range(len(side[0]))),
        classes=("divider",),
        frame=np.repeat(np.arange(len(side[0])), [len(frame) for frame in side[0]]),
        label=np.zeros(len(lines), np.int64),
        polylines=mg.Polylines.of(lines),
        confidence=None if truth else np.array([value for frame in side[1] for value in frame.values()]),
        track=np.array([name for frame in side[0] for name in frame], np.str_),
        scenes=("s",) * len(side[0]),
    )


def distance(x: Side, y: Side, **keywords: Any) -> mg.TrackPldResult:
    return mg.track_pld(x[0], y[0], confidence=x[1], truth_confidence=y[1], **{"directed": False, **keywords})


def dense(x: Side, y: Side, cutoff: float = CUTOFF) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the costs of pairs ``(frames, i, j)`` and of unassigned tracks. An absent track has confidence 0."""
    names = [sorted({name for frame in side[0] for name in frame}) for side in (x, y)]
    frames = len(x[0])
    r, s = (
        np.array([[side[1][k].get(name, 0.0) for name in own] for k in range(frames)]).reshape(frames, len(own))
        for side, own in zip((x, y), names, strict=True)
    )
    base = np.ones((frames, len(names[0]), len(names[1])))
    for k, (i, a), (j, b) in product(range(frames), enumerate(names[0]), enumerate(names[1])):
        if a in x[0][k] and b in y[0][k]:
            base[k, i, j] = mg.sospa(x[0][k][a], y[0][k][b], cutoff=cutoff, directed=False, normalised=True)
    low = np.minimum(r[:, :, None], s[:, None, :])
    return low * base + np.abs(r[:, :, None] - s[:, None, :]) / 2, r / 2, s / 2, base


def slow(x: Side, y: Side, switch_cost: float, *, binary: bool = False) -> float:
    """T-PLD by the definition: the whole linear programme, without any reduction."""
    pair, r, s, _ = dense(x, y)
    frames, m, n = pair.shape
    size, links = pair.size, (frames - 1) * m * n
    if not size:
        return float(r.sum() + s.sum())
    once = vstack(
        [
            kron(eye_array(frames), kron(eye_array(m), np.ones((1, n)))),
            kron(eye_array(frames), kron(np.ones((1, m)), eye_array(n))),
        ]
    )
    step = np.eye(frames)[1:] - np.eye(frames)[:-1]
    change = kron(csr_array(step), eye_array(m * n))  # (links, size)
    slack = eye_array(links)
    zero = csr_array((once.shape[0], links))
    rows = [csr_array(np.hstack([once.toarray(), zero.toarray()]))]
    if links:
        dense_change, dense_slack = change.toarray(), slack.toarray()
        rows += [csr_array(np.hstack([sign * dense_change, -dense_slack])) for sign in (1, -1)]
    matrix = vstack(rows).tocsr()
    limit = np.concatenate([np.ones(once.shape[0]), np.zeros(2 * links)])
    cost = np.concatenate([(pair - r[:, :, None] - s[:, None, :]).ravel(), np.full(links, switch_cost / 2)])
    if binary:
        whole = np.concatenate([np.ones(size), np.zeros(links)])
        whole_one = milp(
            cost, constraints=LinearConstraint(matrix, ub=limit), integrality=whole, options={"mip_rel_gap": 0.0}
        )
        assert whole_one.status == 0
        return float(r.sum() + s.sum() + whole_one.fun)
    found = linprog(cost, A_ub=matrix.toarray(), b_ub=limit, bounds=(0, None), method="highs")
    assert found.status == 0
    return float(r.sum() + s.sum() + found.fun)


def one_assignment(x: Side, y: Side) -> float:
    """The cheapest assignment of whole tracks that never changes, by trying all."""
    pair, r, s, _ = dense(x, y)
    _, m, n = pair.shape
    best = float("inf")
    for chosen in permutations([*range(n), *([-1] * m)], m):
        cost = r.sum() + s.sum()
        for i, j in enumerate(chosen):
            if j >= 0:
                cost += (pair[:, i, j] - r[:, i] - s[:, j]).sum()
        best = min(best, float(cost))
    return best


def tracked_world(frames: int = 40, seed: int = 5, predictions: int = 25) -> tuple[mg.MapFrames, mg.MapFrames]:
    """The demo with tracks: a matched prediction has the name of its truth, with a new name halfway for every third."""
    x, y = demo_world(frames, seed=seed, predictions=predictions)
    track = np.array([f"alone-{i}" for i in range(len(x.polylines))], object)
    assert y.track is not None
    for k in range(len(y)):
        for label in range(len(y.classes)):
            own, other = (np.flatnonzero((side.frame == k) & (side.label == label)).tolist() for side in (x, y))
            assert x.confidence is not None
            found = mg.pld(
                [x.polylines[i] for i in own],
                [y.polylines[j] for j in other],
                confidence=x.confidence[own],
                cutoff=4.0,
                closed="auto",
                directed=False,
            )
            assert found.assignment is not None
            for i, j in found.assignment.tolist():
                name = str(y.track[other[j]])
                track[own[i]] = f"{name}-{'new' if sum(map(ord, name)) % 3 == 0 and k % 10 >= 5 else 'old'}"
    return replace(x, track=track.astype(np.str_)), y
