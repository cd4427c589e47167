"""Small lane graphs, and the slow twins of lane-graph PLD: dense Kronecker matrices, and all 0/1 assignments."""

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, kron, vstack
from tests.arrays import Floats

import mapgauge as mg
from mapgauge.frames.alignment import join_frames
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR

CUTOFF = 1.5
LIGHTS = ("green", "red")


@dataclass
class Map:
    """A lane graph: lanes at heights ``place``, and lights at places in an image."""

    place: list[float]
    confidence: list[float]
    links: Floats  # (lanes, lanes)
    lights: list[tuple[str, float]] = field(default_factory=list)  # attribute and place
    light_confidence: list[float] = field(default_factory=list)
    light_links: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # (lanes, lights)


def line(place: float, x: float = 0.0) -> Floats:
    return np.array([[x + k, place] for k in range(5)], np.float64)


def box(place: float) -> Floats:
    return np.array([[place, 0.0], [place + 1.0, 2.0]])


def random_map(rng: np.random.Generator, lanes: int, lights: int = 0, share: float = 0.4) -> Map:
    """Lanes near few places, so that they compete, with links of any weight."""

    def scores(m: int, n: int) -> Floats:
        some = rng.choice([1.0, 0.5, rng.random()], (m, n))
        return np.where(rng.random((m, n)) < share, some, 0.0).reshape(m, n)

    return Map(
        (rng.integers(0, 3, lanes) * 0.7 + rng.normal(0, 0.3, lanes)).tolist(),
        rng.choice([0.25, 1.0, rng.random()], lanes).tolist(),
        scores(lanes, lanes),
        [(str(rng.choice(LIGHTS)), float(rng.random())) for _ in range(lights)],
        rng.choice([0.5, 1.0, rng.random()], lights).tolist(),
        scores(lanes, lights),
    )


def as_frames(one: Map, token: str = "a") -> mg.MapFrames:
    """The lane graph as ``MapFrames``."""
    lines = [line(place) for place in one.place] + [box(place) for _, place in one.lights]
    source, target = np.nonzero(one.links)
    lane, light = np.nonzero(one.light_links) if one.light_links.size else (np.empty(0, int), np.empty(0, int))
    links = mg.Links.of(
        np.concatenate([source, lane]),
        np.concatenate([target, light + len(one.place)]),
        weight=np.concatenate([one.links[source, target], one.light_links[lane, light]]),
        kind=[*[SUCCESSOR] * len(source), *[CONTROLLED_BY] * len(lane)],
    )
    return mg.MapFrames(
        tokens=(token,),
        classes=("centerline", *LIGHTS),
        frame=np.zeros(len(lines), np.int64),
        label=np.array([0] * len(one.place) + [1 + LIGHTS.index(name) for name, _ in one.lights], np.int64),
        polylines=mg.Polylines.of(lines),
        confidence=np.array([*one.confidence, *one.light_confidence], np.float64),
        links=links,
        boxes=LIGHTS,
    )


def distance(x: Map, y: Map, **keywords: Any) -> mg.LaneGraphPldResult:
    keywords = {"link_floor": 0.0} | keywords
    return mg.lane_graph_pld(as_frames(x), as_frames(y), **keywords)


def chain(places: list[float], links: list[tuple[int, int]] | None = None, sure: float = 1.0) -> Map:
    """Lanes that lead into each other, one after the other or as given."""
    matrix = np.zeros((len(places), len(places)))
    for i, j in [(k, k + 1) for k in range(len(places) - 1)] if links is None else links:
        matrix[i, j] = 1.0
    return Map(places, [sure] * len(places), matrix)


def dense(x: Map, y: Map) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
    """Return the costs of pairs, of unassigned elements of both sides, both link matrices, and which pairs may be."""
    m, n = len(x.place), len(y.place)
    base = np.ones((m + len(x.lights), n + len(y.lights)))
    may = np.zeros(base.shape)
    for i, j in product(range(m), range(n)):
        base[i, j] = mg.sospa(line(x.place[i]), line(y.place[j]), cutoff=CUTOFF, normalised=True)
        may[i, j] = 1
    for i, j in product(range(len(x.lights)), range(len(y.lights))):
        shared = 2 * max(0.0, 1 - abs(x.lights[i][1] - y.lights[j][1]))
        base[m + i, n + j] = 1 - shared / (4 - shared) if x.lights[i][0] == y.lights[j][0] else 1.0
        may[m + i, n + j] = 1
    r, s = (np.array([*one.confidence, *one.light_confidence]) for one in (x, y))
    pair = np.minimum(r[:, None], s) * base + np.abs(r[:, None] - s) / 2
    return pair, r / 2, s / 2, _links(x), _links(y), may


def _links(one: Map) -> Floats:
    m, k = len(one.place), len(one.lights)
    matrix = np.zeros((m + k, m + k))
    matrix[:m, :m] = one.links
    if k:
        matrix[:m, m:] = one.light_links
    return matrix


def slow(x: Map, y: Map, link_cost: float, *, binary: bool = False) -> float:
    """Lane-graph PLD by the definition: the whole linear programme, without any reduction."""
    pair, r, s, a, b, may = dense(x, y)
    m, n = pair.shape
    if not pair.size:
        return float(r.sum() + s.sum())
    broken = vstack([kron(a, eye_array(n)) - kron(eye_array(m), b.T), kron(a.T, eye_array(n)) - kron(eye_array(m), b)])
    once = vstack([kron(eye_array(m), np.ones((1, n))), kron(np.ones((1, m)), eye_array(n))])
    terms = broken.shape[0]
    matrix: Any = vstack(
        [
            hstack([once, csr_array((m + n, terms))]),
            hstack([broken, -eye_array(terms)]),
            hstack([-broken, -eye_array(terms)]),
        ]
    )
    matrix = csr_array(matrix)
    limit = np.concatenate([np.ones(m + n), np.zeros(2 * terms)])
    cost = np.concatenate([(pair - r[:, None] - s).ravel(), np.full(terms, link_cost / 2)])
    top = np.concatenate([may.ravel(), np.full(terms, np.inf)])
    if binary:
        whole = np.concatenate([np.ones(m * n), np.zeros(terms)])
        found: Any = milp(
            cost,
            constraints=LinearConstraint(matrix, ub=limit),
            bounds=(0, top),  # type: ignore[arg-type]
            integrality=whole,
            options={"mip_rel_gap": 0.0},
        )
    else:
        bounds: Any = np.stack([np.zeros(len(top)), top], axis=1)
        found = linprog(cost, A_ub=matrix, b_ub=limit, bounds=bounds)
    assert found.status == 0
    return float(r.sum() + s.sum() + found.fun)


def by_trying_all(x: Map, y: Map, link_cost: float) -> float:
    """The cheapest 0/1 assignment, by trying all of them."""
    pair, r, s, a, b, may = dense(x, y)
    m, n = pair.shape
    best = np.inf
    for chosen in product(range(-1, n), repeat=m):
        taken = [j for j in chosen if j >= 0]
        if len(set(taken)) < len(taken) or any(j >= 0 and not may[i, j] for i, j in enumerate(chosen)):
            continue
        w = np.zeros((m, n))
        for i, j in enumerate(chosen):
            if j >= 0:
                w[i, j] = 1
        cost = (pair * w).sum() + (r * (1 - w.sum(axis=1))).sum() + (s * (1 - w.sum(axis=0))).sum()
        links = np.abs(a @ w - w @ b).sum() + np.abs(a.T @ w - w @ b.T).sum()
        best = min(best, float(cost + link_cost / 2 * links))
    return best


def shuffled(one: Map, rng: np.random.Generator) -> Map:
    """The same map with its lanes and lights in another order."""
    p, q = rng.permutation(len(one.place)), rng.permutation(len(one.lights))
    return replace(
        one,
        place=[one.place[i] for i in p],
        confidence=[one.confidence[i] for i in p],
        links=one.links[np.ix_(p, p)],
        lights=[one.lights[i] for i in q],
        light_confidence=[one.light_confidence[i] for i in q],
        light_links=one.light_links[np.ix_(p, q)] if one.light_links.size else one.light_links,
    )


def lane_world(frames: int = 8, seed: int = 0) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Frames of two scenes: predicted and true lanes, lights and links. Some lanes and links are missed or false."""
    rng = np.random.default_rng(seed)
    sides: list[list[mg.MapFrames]] = [[], []]
    for k in range(frames):
        truth = chain([0.0, 3.0, 6.0, 9.0, 12.0], [(0, 1), (0, 2), (1, 3), (3, 4)])
        truth.lights, truth.light_confidence = [("red", 0.0), ("green", 4.0)], [1.0, 1.0]
        truth.light_links = np.eye(5, 2)
        score = np.clip(truth.links * 0.8 + rng.normal(0, 0.1, (5, 5)), 0, 1)
        guess = Map(
            [place + float(rng.normal(0, 0.3)) for place in truth.place],
            rng.beta(4, 2, 5).tolist(),
            score,
            [("red", 0.2), ("red", 4.0)],
            [0.9, 0.6],
            np.clip(truth.light_links - 0.2, 0, 1),
        )
        if k % 4 == 1:
            guess.links[:] = 0.0
        sides[0].append(as_frames(guess, f"{k:02}"))
        sides[1].append(replace(as_frames(truth, f"{k:02}"), confidence=None))
    joined = [join_frames(side) for side in sides]
    scenes = tuple(f"scene-{k % 2}" for k in range(frames))
    return joined[0], replace(joined[1], scenes=scenes)
