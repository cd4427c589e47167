"""T-PLD is a metric, with divided assignments and with 0/1 assignments, normalised and not."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.metrics.track_cases import Side, distance, line, random_side

from mapgauge.linked.over_time import Candidates, assign_over_time

costs = st.sampled_from([0.0, 0.1, 0.5, 1.0, 4.0]) | st.floats(0, 5)
EPS = 1e-9


@st.composite
def tracks(draw: st.DrawFn, frames: int, most: int = 3) -> Side:
    """A few tracks near each other, absent in some frames."""
    sides: Side = [{} for _ in range(frames)], [{} for _ in range(frames)]
    place = st.sampled_from([0.0, 0.5, 1.0, 1.5]) | st.floats(0, 3)
    for t in range(draw(st.integers(0, most))):
        for k in range(frames):
            if draw(st.booleans()):
                sides[0][k][str(t)] = line(draw(place))
                sides[1][k][str(t)] = draw(st.sampled_from([0.25, 1.0]) | st.floats(0, 1))
    return sides


def triples() -> st.SearchStrategy[tuple[Side, Side, Side]]:
    return st.integers(1, 4).flatmap(lambda n: st.tuples(tracks(n), tracks(n), tracks(n)))


@given(triples(), costs, st.booleans())
@settings(deadline=None)
def test_axioms(three: tuple[Side, Side, Side], cost: float, binary: bool) -> None:
    x, y, z = three
    xz, xy, yz, zx = (distance(a, b, switch_cost=cost, binary=binary) for a, b in ((x, z), (x, y), (y, z), (z, x)))
    assert math.isclose(xz.value, zx.value, abs_tol=EPS)
    assert xz.value <= xy.value + yz.value + EPS
    assert xz.normalised <= xy.normalised + yz.normalised + EPS
    assert 0 <= xz.normalised <= 1
    assert xz.value >= sum(xz.pld_parts) - EPS
    assert distance(x, x, switch_cost=cost, binary=binary).value <= EPS
    assert math.isclose(sum(xz.parts), xz.value, abs_tol=EPS)


@given(triples(), costs)
@settings(deadline=None)
def test_a_divided_assignment_is_never_worse_than_a_whole_one(three: tuple[Side, Side, Side], cost: float) -> None:
    x, y, _ = three
    linear, binary = (distance(x, y, switch_cost=cost, binary=which) for which in (False, True))
    assert linear.value <= binary.value + EPS


@pytest.mark.fuzz
def test_many_triples_of_savings_obey_the_triangle_inequality() -> None:
    """The same axioms on tables of base distances, without geometry: base distances of points on a line."""
    rng = np.random.default_rng(0)

    def value(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray], cost: float) -> tuple[float, float]:
        (r, p), (s, q) = a, b
        base = np.minimum(np.abs(p[:, :, None] - q[:, None, :]), 1.0)
        saving = np.minimum(r[:, :, None], s[:, None, :]) * (1 - base)
        k, i, j = np.nonzero(saving > 0)
        candidates, _ = Candidates.of(i, j, k, saving[k, i, j])
        weight, changes = assign_over_time(candidates, len(p), cost)
        mass = (r.sum() + s.sum()) / 2
        found = mass - (weight * candidates.saving).sum() + cost / 2 * changes.sum()
        return found, 2 * found / (mass + found) if mass > 0 else 0.0

    for _ in range(5_000):
        frames = int(rng.integers(1, 7))
        cost = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
        sides = []
        for _ in range(3):
            count = int(rng.integers(1, 5))
            there = rng.random((frames, count)) < 0.8
            sides.append((rng.random((frames, count)) * there, rng.random((frames, count)) * 2))
        xz, xy, yz = (value(sides[a], sides[b], cost) for a, b in ((0, 2), (0, 1), (1, 2)))
        assert xz[0] <= xy[0] + yz[0] + EPS
        assert xz[1] <= xy[1] + yz[1] + EPS


@pytest.mark.fuzz
def test_many_scenes_do_not_depend_on_order(rng: np.random.Generator) -> None:
    for _ in range(300):
        x, y = random_side(rng, 6, 6, "p"), random_side(rng, 6, 4, "t")
        turned: Side = tuple([dict(reversed(frame.items())) for frame in part] for part in x)  # type: ignore[assignment]
        assert distance(x, y) == distance(turned, y)
