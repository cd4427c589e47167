"""SOSPA and PLD are exact for all orders and cutoffs that are accepted, also where powers of distances are tiny."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arrays import Points
from tests.kernels import reference
from tests.strategies import instances, polylines, rings

import mapgauge as mg

ORDERS = [1.0, 1.5, 2.0, 3.0, 8.0, 16.0, 32.0]
CUTOFFS = [1e-3, 0.1, 1.5, 30.0, 1e3, 1e6]
SLACK = 1 + 1e-11  # of sums of at most twelve powers, each rounded to some last bits

orders = st.sampled_from(ORDERS) | st.floats(1, 32)
cutoffs = st.sampled_from(CUTOFFS) | st.floats(-3, 6).map(lambda exponent: 10.0**exponent)


def resolution(cutoff: float, order: float) -> float:
    """The distance in metres below which p-th powers, in units of ``cutoff^p``, lose digits or become 0."""
    return 0.0 if order == 1 else 10 * cutoff * 10 ** (-290 / order)


def circle(n: int, radius: float = 5.0) -> Points:
    turn = np.linspace(0, 2 * np.pi, n, endpoint=False)
    points: Points = radius * np.c_[np.cos(turn), np.sin(turn)]
    return points


@pytest.mark.parametrize("cutoff", [*CUTOFFS, 1e9, 1e-9])
@pytest.mark.parametrize("order", ORDERS)
def test_equal_lines_have_distance_exactly_0_in_every_reading(order: float, cutoff: float) -> None:
    ring = circle(40) + np.array([0.3, 0.1])
    for shift in (0, 1, 7, 39):
        turned = np.roll(ring, shift, axis=0)
        assert mg.sospa(ring, turned, order=order, cutoff=cutoff, closed=True) == 0
        assert mg.sospa(ring, turned[::-1], order=order, cutoff=cutoff, closed=True, directed=False) == 0
        matrix = mg.sospa_matrix([ring], [turned[::-1]], order=order, cutoff=cutoff, closed=True, directed=False)
        assert matrix[0, 0] == 0
        distance = reference.distances(ring, turned)
        assert mg.sospa_from_distances(distance, order=order, cutoff=cutoff, closed=True) == 0
        assert mg.sospa_from_distances(distance[:, ::-1], order=order, cutoff=cutoff, closed=True, directed=False) == 0
    line = ring[:13]
    assert mg.sospa(line, line[::-1], order=order, cutoff=cutoff, directed=False) == 0
    assert mg.sospa_from_distances(reference.distances(line, line)[:, ::-1], order=order, directed=False) == 0


@given(rings(12), st.integers(0, 11), cutoffs, orders, st.booleans())
def test_a_shifted_ring_has_distance_exactly_0(x: Points, shift: int, cutoff: float, order: float, turn: bool) -> None:
    y = np.roll(x, shift, axis=0)
    y = y[::-1] if turn else y
    assert mg.sospa(x, y, cutoff=cutoff, order=order, closed=True, directed=not turn) == 0


@given(polylines(12), polylines(12), cutoffs, orders, st.booleans(), st.booleans())
def test_sospa_agrees_with_its_definition(
    x: Points, y: Points, cutoff: float, order: float, closed: bool, directed: bool
) -> None:
    if closed:
        x, y = (z[:-1] if len(z) > 2 and (z[0] == z[-1]).all() else z for z in (x, y))
        if any(len(z) > 2 and (z[0] == z[-1]).all() for z in (x, y)):
            return
    expected = reference.sospa(x, y, cutoff, order, closed=closed, directed=directed)
    value = mg.sospa(x, y, cutoff=cutoff, order=order, closed=closed, directed=directed)
    assert math.isclose(value, expected, rel_tol=1e-12, abs_tol=resolution(cutoff, order))


@pytest.mark.parametrize("cutoff", CUTOFFS)
@pytest.mark.parametrize("order", ORDERS)
def test_noisy_copies_agree_with_the_definition(order: float, cutoff: float, rng: np.random.Generator) -> None:
    for closed in (False, True):
        for directed in (False, True):
            x = circle(14)
            y = np.roll(x, int(rng.integers(14)) if closed else 0, axis=0)[:: 1 if directed else -1]
            y = y + rng.normal(0, rng.choice([1e-6, 1e-3, 0.3]), y.shape)
            expected = reference.sospa(x, y, cutoff, order, closed=closed, directed=directed)
            value = mg.sospa(x, y, cutoff=cutoff, order=order, closed=closed, directed=directed)
            assert math.isclose(value, expected, rel_tol=1e-12, abs_tol=resolution(cutoff, order))


@given(polylines(), polylines(), cutoffs, orders, st.booleans(), st.booleans(), st.booleans())
def test_sospa_is_symmetric(
    x: Points, y: Points, cutoff: float, order: float, closed: bool, directed: bool, normalised: bool
) -> None:
    keywords = {"cutoff": cutoff, "order": order, "closed": closed, "directed": directed, "normalised": normalised}
    forth, back = mg.sospa(x, y, **keywords), mg.sospa(y, x, **keywords)  # type: ignore[arg-type]
    slack = resolution(1.0 if normalised else cutoff, order)
    assert math.isclose(forth, back, rel_tol=1e-11, abs_tol=slack)


@given(rings(6), rings(6), rings(6), cutoffs, orders, st.booleans(), st.booleans(), st.booleans())
def test_sospa_obeys_the_triangle_inequality(
    x: Points, y: Points, z: Points, cutoff: float, order: float, closed: bool, directed: bool, normalised: bool
) -> None:
    def distance(a: Points, b: Points) -> float:
        return mg.sospa(a, b, cutoff=cutoff, order=order, closed=closed, directed=directed, normalised=normalised)

    slack = resolution(1.0 if normalised else cutoff, order)
    assert distance(x, z) <= (distance(x, y) + distance(y, z)) * SLACK + slack


def test_the_triangle_inequality_holds_for_noisy_rings_of_high_order(rng: np.random.Generator) -> None:
    for _ in range(30):
        n, noise = int(rng.integers(3, 40)), rng.choice([0.001, 0.05, 0.5])
        order, cutoff = float(rng.choice([2, 3, 8, 16, 32])), float(rng.choice([1.5, 10, 1e3, 1e6]))
        x, y, z = (np.roll(circle(n), rng.integers(n), axis=0) + rng.normal(0, noise, (n, 2)) for _ in range(3))
        xz, xy, yz = (
            mg.sospa(a, b, order=order, cutoff=cutoff, closed=True, directed=False) for a, b in ((x, z), (x, y), (y, z))
        )
        assert xz <= (xy + yz) * SLACK


@pytest.mark.parametrize("order", ORDERS)
def test_pld_of_equal_sets_is_0_for_every_order(order: float, rng: np.random.Generator) -> None:
    """Two lines that are close to each other are told apart, although the p-th power of their distance is tiny."""
    line = np.c_[np.linspace(0, 10, 21), np.zeros(21)]
    lines = [line + np.array([0, offset]) for offset in (0, 0.05, 0.1, 0.15)]
    # The truths are sorted in the opposite order of the predictions, so that the first choice among ties is wrong.
    moved = [other + np.array([-1e-3 * (k + 1), 0]) for k, other in enumerate(lines)]
    for _ in range(5):
        places = rng.permutation(len(lines))
        assert mg.pld(lines, [lines[i] for i in places], order=order).value == 0
        result = mg.pld(lines, [moved[i] for i in places], order=order)
        each = [mg.sospa(x, y, order=order, normalised=True) for x, y in zip(lines, moved, strict=True)]
        assert math.isclose(result.value, sum(d**order for d in each) ** (1 / order), rel_tol=1e-9)


@given(instances(3), instances(3), instances(3), st.sampled_from([1.5, 30.0, 1e3]), orders)
def test_pld_obeys_the_triangle_inequality(
    x: tuple[list[Points], list[float]],
    y: tuple[list[Points], list[float]],
    z: tuple[list[Points], list[float]],
    cutoff: float,
    order: float,
) -> None:
    xz, xy, yz = (
        mg.pld(a[0], b[0], confidence=a[1], truth_confidence=b[1], cutoff=cutoff, order=order, closed=False).value
        for a, b in ((x, z), (x, y), (y, z))
    )
    assert xz <= (xy + yz) * (1 + 1e-9) + resolution(1.0, order) + 1e-12


def test_cutoffs_whose_powers_overflow_are_refused() -> None:
    line = [[0.0, 0], [1, 0]]
    for cutoff in (1e-10, 1e10, 1e100):
        with pytest.raises(mg.InvalidInput, match="cutoff must be a length"):
            mg.sospa(line, line, cutoff=cutoff, order=32)
