"""Network PLD is a metric, normalised and not, and a cut moves it by at most the break cost."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.arrays import Floats
from tests.features.network.network_cases import Map, distance, disturbed, random_map, random_rings
from tests.shared_data import DATA, needs_data
from tests.triples import obey_the_axioms

import mapgauge as mg

EPS = 1e-7
costs = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(1e-4, 3)  # HiGHS ignores costs below 1e-7
places = st.sampled_from([0.0, 0.5, 1.0, 1.5]) | st.floats(0, 3)
confidences = st.sampled_from([0.0, 0.5, 1.0]) | st.floats(0, 1)


@st.composite
def maps(draw: st.DrawFn) -> Map:
    """A few short lines near each other, some of them closed."""
    counts = draw(st.lists(st.integers(1, 4), max_size=3))
    lines = tuple(np.array([[draw(places), draw(places) / 3] for _ in range(count)]) for count in counts)
    return Map(
        lines,
        tuple(draw(confidences) for _ in counts),
        tuple(count > 2 and draw(st.booleans()) for count in counts),
    )


@given(maps(), maps(), maps(), costs, st.booleans())
@settings(deadline=None, max_examples=60)
def test_axioms(x: Map, y: Map, z: Map, cost: float, directed: bool) -> None:
    how = {"break_cost": cost, "directed": directed}
    xz, xy, yz, zx = (distance(a, b, **how) for a, b in ((x, z), (x, y), (y, z), (z, x)))
    assert math.isclose(xz.value, zx.value, rel_tol=1e-9, abs_tol=1e-12)
    assert xz.value <= xy.value + yz.value + EPS
    assert xz.normalised <= xy.normalised + yz.normalised + EPS
    assert 0 <= xz.normalised <= 1
    assert min(xz.parts) >= 0
    assert xz.is_proven
    assert distance(x, x, **how).value <= EPS
    assert xz.value >= distance(x, z, **(how | {"break_cost": 0.0})).value - EPS


def obey_the_triangle_inequality(x: Map, y: Map, z: Map, cost: float, directed: bool) -> None:
    xz, xy, yz = (distance(a, b, break_cost=cost, directed=directed) for a, b in ((x, z), (x, y), (y, z)))
    assert xz.value <= xy.value + yz.value + EPS
    assert xz.normalised <= xy.normalised + yz.normalised + EPS


def test_rings_obey_the_triangle_inequality(rng: np.random.Generator) -> None:
    for k in range(30):
        x, y, z = (random_rings(rng, int(rng.integers(1, 4)), 12) for _ in range(3))
        obey_the_triangle_inequality(x, y, z, float(rng.choice([0.1, 0.5, 1.0])), bool(k % 2))


def test_a_cut_moves_the_value_by_at_most_the_break_cost(rng: np.random.Generator) -> None:
    for k in range(30):
        y = random_map(rng, 3, 12, 4.0) if k % 3 else random_rings(rng, 3, 12)
        x = disturbed(y, rng) if k % 2 else random_map(rng, 3, 12, 4.0)
        cost = float(rng.choice([0.1, 0.5, 1.0]))
        line = int(np.argmax([len(points) for points in x.lines]))
        at = int(rng.integers(1, len(x.lines[line]))) if len(x.lines[line]) > 1 else 0
        if not at:
            continue
        points = x.lines[line]
        pieces = [np.roll(points, -at, axis=0)] if x.rings[line] else [points[:at], points[at:]]  # a cut opens a ring
        cut = Map(
            (*x.lines[:line], *pieces, *x.lines[line + 1 :]),
            (*x.confidence[:line], *[x.confidence[line]] * len(pieces), *x.confidence[line + 1 :]),
            (*x.rings[:line], *[False] * len(pieces), *x.rings[line + 1 :]),
        )
        values = [distance(given, y, break_cost=cost).value for given in (x, cut)]
        assert abs(values[0] - values[1]) <= cost + EPS
        assert distance(x, cut, break_cost=cost).value <= cost + EPS


@needs_data("sample_60x30")
def test_frames_of_sample_data_obey_the_triangle_inequality() -> None:
    """Predictions, truth, and the predictions of another frame in between."""
    folder = DATA / "sample_60x30"
    x, y = (
        mg.read(folder / name).resample(spacing=0.5) for name in ("submission_vector.json", "tmp_gts_av2_60x30.pkl")
    )
    how: dict[str, Any] = {"break_cost": 0.5, "closed": "auto", "directed": False}
    for token, other in zip(y.tokens[:6:2], y.tokens[1:6:2], strict=True):
        for name in ("ped_crossing", "divider", "boundary"):
            a, b, c = (
                side.at([side.tokens.index(which)]).select([name])
                for side, which in ((x, token), (y, token), (x, other))
            )
            ab = mg.network_pld(a.polylines, b.polylines, confidence=a.confidence, **how)
            ba = mg.network_pld(b.polylines, a.polylines, truth_confidence=a.confidence, **how)
            cb = mg.network_pld(c.polylines, b.polylines, confidence=c.confidence, **how)
            ac = mg.network_pld(a.polylines, c.polylines, confidence=a.confidence, truth_confidence=c.confidence, **how)
            assert ab.value == pytest.approx(ba.value, rel=1e-9)
            longest = max(result.gap for result in (ab, cb, ac))
            assert ab.value <= ac.value + cb.value + longest + EPS
            assert ac.value <= ab.value + cb.value + longest + EPS


Chains = tuple[Floats, Floats, Floats]  # confidence and place, (maps, points); links, (maps, points, points)


def many(rng: np.random.Generator, count: int, points: int = 2) -> Chains:
    """Points on a line, each linked to the next or not, in many maps."""
    links = np.zeros((count, points, points))
    for k in range(points - 1):
        links[:, k, k + 1] = links[:, k + 1, k] = rng.random(count) < 0.6
    sure = rng.random((count, points)) * (rng.random((count, points)) < 0.9)
    return sure, rng.random((count, points)) * 2, links


def by_trying_all(x: Chains, y: Chains, cost: float) -> tuple[Floats, Floats]:
    """Network PLD of many maps with two points on each side, 0/1, over the 7 assignments."""
    base = np.minimum(np.abs(x[1][:, :, None] - y[1][:, None, :]), 1.0)
    saved = np.minimum(x[0][:, :, None], y[0][:, None, :]) * (1 - base)
    mass = (x[0].sum(axis=1) + y[0].sum(axis=1)) / 2
    best = np.full(len(mass), -np.inf)
    for cells in product((0.0, 1.0), repeat=4):
        w = np.reshape(cells, (2, 2))
        if w.sum(0).max() <= 1 and w.sum(1).max() <= 1:
            broken = np.abs(x[2] @ w - w @ y[2]).sum(axis=(1, 2))
            best = np.maximum(best, (saved * w).sum(axis=(1, 2)) - cost / 2 * broken)
    value = mass - best
    return value, 2 * value / np.maximum(mass + value, 1e-300)


@pytest.mark.fuzz
def test_a_million_triples_obey_the_axioms() -> None:
    obey_the_axioms(many, by_trying_all, EPS)


@pytest.mark.fuzz
def test_many_triples_obey_the_triangle_inequality() -> None:
    rng = np.random.default_rng(0)
    for k in range(1000):
        y = random_map(rng, int(rng.integers(1, 4)), 10, 4.0) if k % 2 else random_rings(rng, 2, 10)
        x, z = disturbed(y, rng), random_map(rng, 2, 10, 4.0) if k % 3 else random_rings(rng, 2, 10)
        obey_the_triangle_inequality(x, y, z, float(rng.choice([0.1, 0.5, 1.0, 3.0])), bool(k % 5 == 0))
