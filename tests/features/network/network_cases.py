"""Slow twins of network PLD and random networks of lines."""

from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import block_diag, csr_matrix, eye, hstack, kron, vstack

import mapgauge as mg

CUTOFF = 1.5


@dataclass(frozen=True)
class Map:
    """Lines, their confidences, and which of them are closed (given without closing point)."""

    lines: tuple[np.ndarray, ...]
    confidence: tuple[float, ...]
    rings: tuple[bool, ...]

    @property
    def given(self) -> list[np.ndarray]:
        """The lines as a caller passes them: rings with their closing point."""
        return [
            np.concatenate([line, line[:1]]) if ring else line
            for line, ring in zip(self.lines, self.rings, strict=True)
        ]

    @property
    def points(self) -> np.ndarray:
        return np.concatenate([np.zeros((0, 2)), *self.lines])

    @property
    def weight(self) -> np.ndarray:
        return np.repeat(np.array(self.confidence, float), [len(line) for line in self.lines])

    def links(self, directed: bool) -> np.ndarray:
        """The matrix of links."""
        matrix = np.zeros((len(self.points), len(self.points)))
        at = 0
        for line, ring in zip(self.lines, self.rings, strict=True):
            steps = [(at + k, at + k + 1) for k in range(len(line) - 1)]
            steps += [(at + len(line) - 1, at)] if ring and len(line) > 2 else []
            for a, b in steps:
                matrix[a, b] = 1
                if not directed:
                    matrix[b, a] = 1
            at += len(line)
        return matrix


def distance(x: Map, y: Map, **settings: Any) -> mg.NetworkPldResult:
    """Network PLD by the package."""
    return mg.network_pld(
        x.given,
        y.given,
        confidence=x.confidence,
        truth_confidence=y.confidence,
        cutoff=CUTOFF,
        closed="auto",
        closed_tolerance=0,
        **{"directed": False, **settings},
    )


def whole(*lines: Any, confidence: Any = None, rings: Any = None) -> Map:
    """A map of lines with confidence 1."""
    arrays = tuple(np.array(line, float).reshape(-1, 2) for line in lines)
    return Map(
        arrays,
        tuple(confidence if confidence is not None else [1.0] * len(arrays)),
        tuple(rings if rings is not None else [False] * len(arrays)),
    )


def pair_costs(x: Map, y: Map) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The costs of pairs, and of unassigned points of both sides."""
    base = np.minimum(np.sqrt(((x.points[:, None] - y.points[None]) ** 2).sum(-1)) / CUTOFF, 1.0)
    r, s = x.weight, y.weight
    return np.minimum(r[:, None], s) * base + np.abs(r[:, None] - s) / 2, r / 2, s / 2


def oriented(x: Map, y: Map, break_cost: float, *, directed: bool = False) -> float:
    """Network PLD by one 0/1 programme over all pairs, with link terms by Kronecker products.

    Pairs of runs along both lines and pairs of runs against one of them are variables of their own.
    """
    pair, r, s = pair_costs(x, y)
    m, n = pair.shape
    if not m or not n:
        return float(r.sum() + s.sum())
    a, b = x.links(True), y.links(True)
    ways = [b] if directed else [b, b.T]
    terms = block_diag(
        [vstack([kron(a, eye(n)) - kron(eye(m), c.T), kron(a.T, eye(n)) - kron(eye(m), c)]) for c in ways]
    )
    size, pairs = terms.shape
    once = hstack([vstack([kron(eye(m), np.ones((1, n))), kron(np.ones((1, m)), eye(n))])] * len(ways))
    rows = vstack(
        [
            hstack([once, csr_matrix((m + n, size))]),
            hstack([terms, -eye(size)]),
            hstack([-terms, -eye(size)]),
        ]
    ).tocsr()
    upper = np.concatenate([np.ones(m + n), np.zeros(2 * size)])
    cost = np.concatenate([np.tile((pair - r[:, None] - s).ravel(), len(ways)), np.full(size, break_cost / 2)])
    solution: Any = milp(
        cost,
        constraints=LinearConstraint(rows, -np.inf, upper),
        integrality=np.concatenate([np.ones(pairs), np.zeros(size)]),
        bounds=Bounds(0, np.inf),
        options={"mip_rel_gap": 0.0},
    )
    return float(solution.fun + r.sum() + s.sum())


def by_trying_all(x: Map, y: Map, break_cost: float, *, directed: bool = False) -> float:
    """Network PLD by trying all assignments."""
    pair, r, s = pair_costs(x, y)
    m, n = pair.shape
    a, b = x.links(directed), y.links(directed)
    best = np.inf
    for partner in product(range(-1, n), repeat=m):
        taken = [j for j in partner if j >= 0]
        if len(taken) != len(set(taken)):
            continue
        w = np.zeros((m, n))
        for i, j in enumerate(partner):
            if j >= 0:
                w[i, j] = 1
        cost = (pair * w).sum() + (r * (1 - w.sum(1))).sum() + (s * (1 - w.sum(0))).sum()
        norms = np.abs(a @ w - w @ b).sum() + (np.abs(a.T @ w - w @ b.T).sum() if directed else 0)
        best = min(best, cost + break_cost / 2 * norms)
    return float(best)


def by_runs(x: Map, y: Map, pairs: list[tuple[int, int]], break_cost: float, *, directed: bool = False) -> float:
    """The cost of an assignment by its runs: each end costs half of the break cost for each line that goes on."""
    pair, r, s = pair_costs(x, y)
    a, b = (side.links(True) for side in (x, y))
    joined: dict[tuple[int, int], list[tuple[int, int]]] = {pair_of: [] for pair_of in pairs}
    for first, other in permutations(pairs, 2):
        (i, j), (after, q) = first, other
        if a[i, after] and (b[j, q] or (b[q, j] and not directed)):
            joined[first].append(other)
            joined[other].append(first)
    halves = 0
    for (i, j), others in joined.items():
        halves += int(a[i].sum() + a[:, i].sum() + b[j].sum() + b[:, j].sum()) - 2 * len(others)
    matched = sum(pair[i, j] - r[i] - s[j] for i, j in pairs)
    return float(matched + r.sum() + s.sum() + break_cost / 2 * halves)


def random_map(rng: np.random.Generator, lines: int, most: int, extent: float = 3.0) -> Map:
    """Random walks, some of them closed, with random confidences."""
    counts = rng.integers(1, most + 1, lines)
    walks = tuple(
        rng.uniform(0, extent, 2) + np.cumsum(rng.normal(0, 0.4, (count, 2)) + rng.normal(0, 0.3, 2), axis=0)
        for count in counts
    )
    confidence = np.where(rng.random(lines) < 0.3, 1.0, rng.random(lines).round(2))
    return Map(walks, tuple(confidence.tolist()), tuple(bool(count > 2 and rng.random() < 0.25) for count in counts))


def random_rings(rng: np.random.Generator, lines: int, most: int = 8) -> Map:
    """Circles with different numbers of points, starts and directions, most of them closed."""
    circles = []
    for count in rng.integers(3, most, lines).tolist():
        angle = np.arange(count) / count * 2 * np.pi
        circle = rng.uniform(0.5, 1.2) * np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0, 0.3, 2)
        circles.append(np.roll(circle, int(rng.integers(count)), axis=0)[:: int(rng.choice([-1, 1]))])
    confidence = np.where(rng.random(lines) < 0.5, 1.0, rng.random(lines))
    return Map(tuple(circles), tuple(confidence.tolist()), tuple((rng.random(lines) < 0.75).tolist()))


def straight(length: float = 30.0, offset: float = 0.0, spacing: float = 0.5) -> np.ndarray:
    """The points of a straight line."""
    along = np.arange(0, length + spacing / 2, spacing)
    return np.stack([along, np.full_like(along, offset)], axis=1)


def disturbed(truth: Map, rng: np.random.Generator) -> Map:
    """Predictions near a map: shifted, cut, some twice."""
    lines: list[np.ndarray] = []
    confidence: list[float] = []
    for line in truth.lines:
        for _ in range(int(rng.integers(1, 3))):
            moved = line + rng.normal(0, 0.4, 2) + rng.normal(0, 0.1, line.shape)
            cut = int(rng.integers(0, len(moved)))
            lines += [piece for piece in (moved[:cut], moved[cut:]) if len(piece)]
            confidence += [round(float(rng.random()), 2)] * (len(lines) - len(confidence))
    return Map(tuple(lines), tuple(confidence), (False,) * len(lines))


def shuffled(given: Map, rng: np.random.Generator) -> Map:
    """The same map with its lines in another order, direction and start."""
    order = rng.permutation(len(given.lines)).tolist()
    lines = []
    for k in order:
        line = given.lines[k]
        line = np.roll(line, int(rng.integers(0, 9)), axis=0) if given.rings[k] else line
        lines.append(line[::-1] if rng.random() < 0.5 else line)
    return replace(
        given,
        lines=tuple(lines),
        confidence=tuple(given.confidence[k] for k in order),
        rings=tuple(given.rings[k] for k in order),
    )
