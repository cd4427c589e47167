"""T-PLD is a metric, with divided assignments and with 0/1 assignments, normalised and not."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.arrays import Floats
from tests.features.tracks.track_cases import Side, distance, line, random_side
from tests.triples import obey_the_axioms

from mapgauge.features.tracks.track_scene import Candidates, assign_over_time

costs = st.sampled_from([0.0, 0.1, 0.5, 1.0, 4.0]) | st.floats(1e-4, 5)  # HiGHS ignores costs below 1e-7
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


Tracks = tuple[Floats, Floats]  # confidence and place, (scenes, frames, tracks)


def many(rng: np.random.Generator, scenes: int, frames: int = 3, tracks: int = 2) -> Tracks:
    """Tracks at places on a line, in many scenes. Some are absent in some frames."""
    shape = (scenes, frames, tracks)
    return rng.random(shape) * (rng.random(shape) < 0.8), rng.random(shape) * 2


def savings(x: Tracks, y: Tracks) -> Floats:
    base = np.minimum(np.abs(x[1][..., :, None] - y[1][..., None, :]), 1.0)
    saved: Floats = np.minimum(x[0][..., :, None], y[0][..., None, :]) * (1 - base)
    return saved


def by_states(x: Tracks, y: Tracks, cost: float) -> tuple[Floats, Floats]:
    """T-PLD of many scenes with two tracks on each side, 0/1, by dynamic programming over the 7 assignments."""
    states = [np.reshape(w, (2, 2)) for w in product((0, 1), repeat=4)]
    states = [w for w in states if w.sum(0).max() <= 1 and w.sum(1).max() <= 1]
    flat = np.array(states).reshape(len(states), 4)
    change = cost / 2 * np.abs(flat[:, None] - flat[None]).sum(axis=2)
    saved = savings(x, y).reshape(*x[0].shape[:2], 4) @ flat.T
    best = saved[:, 0]
    for k in range(1, saved.shape[1]):
        best = (best[:, :, None] - change).max(axis=1) + saved[:, k]
    mass = (x[0].sum(axis=(1, 2)) + y[0].sum(axis=(1, 2))) / 2
    value = mass - best.max(axis=1)
    return value, 2 * value / np.maximum(mass + value, 1e-300)


def by_solver(x: Tracks, y: Tracks, cost: float, scene: int, *, binary: bool) -> float:
    saving = savings(x, y)[scene]
    k, i, j = np.nonzero(saving > 0)
    order = np.lexsort((k, j, i))
    i, j, k = i[order], j[order], k[order]
    candidates = Candidates(i, j, k, saving[k, i, j])
    weight, changes = assign_over_time(candidates, saving.shape[0], cost, binary=binary)
    mass = (x[0][scene].sum() + y[0][scene].sum()) / 2
    return float(mass - (weight * candidates.saving).sum() + cost / 2 * changes.sum())


def test_the_solver_agrees_with_dynamic_programming(rng: np.random.Generator) -> None:
    x, y = many(rng, 40, 4), many(rng, 40, 4)
    for cost in (0.1, 0.5):
        values, _ = by_states(x, y, cost)
        for scene in range(40):
            assert by_solver(x, y, cost, scene, binary=True) == pytest.approx(values[scene], abs=EPS)


@pytest.mark.fuzz
def test_a_million_triples_obey_the_axioms() -> None:
    obey_the_axioms(many, by_states, EPS)


@pytest.mark.fuzz
def test_many_triples_of_divided_assignments_obey_the_triangle_inequality() -> None:
    rng = np.random.default_rng(0)
    for frames in (2, 4, 6):
        x, y, z = (many(rng, 1000, frames, tracks) for tracks in (4, 3, 4))
        for scene in range(1000):
            cost = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
            xz, xy, yz = (by_solver(a, b, cost, scene, binary=False) for a, b in ((x, z), (x, y), (y, z)))
            assert xz <= xy + yz + EPS


@pytest.mark.fuzz
def test_many_scenes_do_not_depend_on_order(rng: np.random.Generator) -> None:
    for _ in range(300):
        x, y = random_side(rng, 6, 6, "p"), random_side(rng, 6, 4, "t")
        turned: Side = tuple([dict(reversed(frame.items())) for frame in part] for part in x)  # type: ignore[assignment]
        assert distance(x, y) == distance(turned, y)
