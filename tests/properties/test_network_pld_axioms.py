"""Network PLD is a metric, with divided assignments and with 0/1 assignments, normalised and not."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metrics.network_cases import Map, distance, disturbed, random_map

from mapgauge.typing import Floats

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


@given(maps(), maps(), maps(), costs, st.booleans(), st.booleans())
@settings(deadline=None, max_examples=60)
def test_axioms(x: Map, y: Map, z: Map, cost: float, binary: bool, directed: bool) -> None:
    how = {"break_cost": cost, "binary": binary, "directed": directed}
    xz, xy, yz, zx = (distance(a, b, **how) for a, b in ((x, z), (x, y), (y, z), (z, x)))
    assert math.isclose(xz.value, zx.value, abs_tol=EPS)
    assert xz.value <= xy.value + yz.value + EPS
    assert xz.normalised <= xy.normalised + yz.normalised + EPS
    assert 0 <= xz.normalised <= 1
    assert min(xz.parts) >= 0
    assert distance(x, x, **how).value <= EPS
    if not binary:
        assert xz.value <= distance(x, z, **(how | {"binary": True})).value + EPS
        assert xz.value >= distance(x, z, **(how | {"break_cost": 0.0})).value - EPS


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
    rng = np.random.default_rng(0)
    for cost in (0.0, 0.1, 0.25, 0.5, 1.0) * 10:
        x, y, z = (many(rng, 20_000) for _ in range(3))
        xz, xy, yz, zx = (by_trying_all(a, b, cost) for a, b in ((x, z), (x, y), (y, z), (z, x)))
        for k in (0, 1):  # the value, and the normalised value
            assert (xz[k] <= xy[k] + yz[k] + EPS).all()
            assert np.allclose(xz[k], zx[k], rtol=0, atol=EPS)
        assert (np.abs(by_trying_all(x, x, cost)[0]) <= EPS).all()


@pytest.mark.fuzz
def test_many_triples_of_divided_assignments_obey_the_triangle_inequality() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1000):
        y = random_map(rng, int(rng.integers(1, 4)), 10, 4.0)
        x, z = disturbed(y, rng), random_map(rng, 2, 10, 4.0)
        cost = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
        xz, xy, yz = (distance(a, b, break_cost=cost).value for a, b in ((x, z), (x, y), (y, z)))
        assert xz <= xy + yz + EPS
