"""Lane-graph PLD is a metric, with divided assignments and with 0/1 assignments, normalised and not."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.arrays import Floats
from tests.features.lane_graph.lane_graph_cases import LIGHTS, Map, distance, random_map
from tests.triples import obey_the_axioms

from mapgauge.features.lane_graph.linked_graphs import Linked, LinkGraph, assign_with_links

costs = st.sampled_from([0.0, 0.1, 0.5, 1.0, 4.0]) | st.floats(1e-4, 5)  # HiGHS ignores costs below 1e-7
weights = st.sampled_from([0.0, 0.0, 0.5, 1.0]) | st.floats(0, 1)
confidences = st.sampled_from([0.25, 1.0]) | st.floats(0, 1)
floors = st.sampled_from([0.0, 0.0, 0.1, 0.6])
EPS = 1e-8


@st.composite
def maps(draw: st.DrawFn, most: int = 3) -> Map:
    """A few lanes near each other and a few lights, with links of any direction and weight."""

    def matrix(m: int, n: int) -> Floats:
        return np.array([[draw(weights) for _ in range(n)] for _ in range(m)]).reshape(m, n)

    lanes, lights = draw(st.integers(0, most)), draw(st.integers(0, 2))
    place = st.sampled_from([0.0, 0.5, 1.0, 1.5]) | st.floats(0, 3)
    return Map(
        [draw(place) for _ in range(lanes)],
        [draw(confidences) for _ in range(lanes)],
        matrix(lanes, lanes),
        [(draw(st.sampled_from(LIGHTS)), draw(st.floats(0, 2))) for _ in range(lights)],
        [draw(confidences) for _ in range(lights)],
        matrix(lanes, lights),
    )


@given(maps(), maps(), maps(), costs, floors, st.booleans())
@settings(deadline=None)
def test_axioms(x: Map, y: Map, z: Map, cost: float, floor: float, binary: bool) -> None:
    how = {"link_cost": cost, "link_floor": floor, "binary": binary}
    xz, xy, yz, zx = (distance(a, b, **how) for a, b in ((x, z), (x, y), (y, z), (z, x)))
    assert math.isclose(xz.value, zx.value, abs_tol=EPS)
    assert xz.value <= xy.value + yz.value + EPS
    assert xz.normalised <= xy.normalised + yz.normalised + EPS
    assert 0 <= xz.normalised <= 1
    assert xz.value >= xz.plain - EPS
    assert distance(x, x, **how).value <= EPS
    assert math.isclose(sum(xz.parts), xz.value, abs_tol=EPS)
    if binary:  # a divided assignment is never worse than a whole one
        linear = distance(x, z, **(how | {"binary": False}))
        assert xz.gap == pytest.approx(xz.value - linear.value, abs=EPS)
        assert linear.value <= xz.value + EPS


def test_different_maps_are_apart(rng: np.random.Generator) -> None:
    """With 0/1 assignments, only equal maps have distance 0: a lane, a score or a link less makes a difference."""
    for _ in range(20):
        x = random_map(rng, 3)
        x = replace(x, place=[0.0, 0.9, 1.8], links=np.maximum(x.links, 0.25))
        for k in range(3):
            links = x.links.copy()
            links[k, (k + 1) % 3] *= 0.5
            other = replace(x, links=links)
            moved = replace(x, place=[place + 0.1 * (i == k) for i, place in enumerate(x.place)])
            less = replace(x, confidence=[c * (1 - 0.5 * (i == k)) for i, c in enumerate(x.confidence)])
            for one in (other, moved, less):
                assert distance(x, one, link_cost=0.5, binary=True).value > 1e-3


Graphs = tuple[Floats, Floats, Floats]  # confidence and place, (maps, elements); links, (maps, elements, elements)


def many(rng: np.random.Generator, maps: int, elements: int = 2) -> Graphs:
    """Elements at places on a line with links of any weight, in many maps."""
    links = rng.random((maps, elements, elements)) * (rng.random((maps, elements, elements)) < 0.6)
    sure = rng.random((maps, elements)) * (rng.random((maps, elements)) < 0.9)
    return sure, rng.random((maps, elements)) * 2, links


def savings(x: Graphs, y: Graphs) -> Floats:
    base = np.minimum(np.abs(x[1][..., :, None] - y[1][..., None, :]), 1.0)
    saved: Floats = np.minimum(x[0][..., :, None], y[0][..., None, :]) * (1 - base)
    return saved


def by_trying_all(x: Graphs, y: Graphs, cost: float) -> tuple[Floats, Floats]:
    """Lane-graph PLD of many maps with two elements on each side, 0/1, over the 7 assignments."""
    states = [np.reshape(w, (2, 2)).astype(np.float64) for w in product((0, 1), repeat=4)]
    mass = (x[0].sum(axis=1) + y[0].sum(axis=1)) / 2
    saved, best = savings(x, y), np.full(len(mass), -np.inf)
    for w in states:
        if w.sum(0).max() <= 1 and w.sum(1).max() <= 1:
            broken = np.abs(x[2] @ w - w @ y[2]) + np.abs(x[2].swapaxes(1, 2) @ w - w @ y[2].swapaxes(1, 2))
            best = np.maximum(best, (saved * w).sum(axis=(1, 2)) - cost / 2 * broken.sum(axis=(1, 2)))
    value = mass - best
    return value, 2 * value / np.maximum(mass + value, 1e-300)


def by_solver(x: Graphs, y: Graphs, cost: float, k: int, *, binary: bool) -> float:
    def graph(links: Floats) -> LinkGraph:
        source, target = np.nonzero(links)
        return LinkGraph(len(links), source, target, links[source, target])

    m, n = (np.zeros(side[0].shape[1], np.int64) for side in (x, y))
    one = Linked(
        graph(x[2][k]), graph(y[2][k]), m, n, savings((x[0][k], x[1][k], x[2][k]), (y[0][k], y[1][k], y[2][k]))
    )
    return float((x[0][k].sum() + y[0][k].sum()) / 2 - assign_with_links(one, cost, binary=binary).total)


def test_the_solver_agrees_with_trying_all(rng: np.random.Generator) -> None:
    x, y = many(rng, 40), many(rng, 40)
    for cost in (0.1, 0.5):
        values, _ = by_trying_all(x, y, cost)
        for k in range(40):
            assert by_solver(x, y, cost, k, binary=True) == pytest.approx(values[k], abs=EPS)


@pytest.mark.fuzz
def test_a_million_triples_obey_the_axioms() -> None:
    obey_the_axioms(many, by_trying_all, EPS)


@pytest.mark.fuzz
def test_many_triples_of_divided_assignments_obey_the_triangle_inequality() -> None:
    rng = np.random.default_rng(0)
    for elements in (2, 4, 6):
        x, y, z = (many(rng, 1000, size) for size in (elements, 3, elements))
        for k in range(1000):
            cost = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
            xz, xy, yz = (by_solver(a, b, cost, k, binary=False) for a, b in ((x, z), (x, y), (y, z)))
            assert xz <= xy + yz + EPS
