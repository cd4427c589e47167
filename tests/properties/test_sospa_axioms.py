"""SOSPA has the properties that the theory states. It is a metric in every form that is documented as one."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.arrays import Points
from tests.strategies import cutoffs, orders, polylines, rings

import mapgauge as mg

SLACK = 1 + 1e-12


@given(polylines(), cutoffs, orders, st.booleans(), st.booleans())
def test_equal_polylines_have_distance_exactly_0(
    x: Points, cutoff: float, order: float, closed: bool, directed: bool
) -> None:
    assert mg.sospa(x, x.copy(), cutoff=cutoff, order=order, closed=closed, directed=directed) == 0


@given(polylines(), cutoffs)
def test_undirected_distance_to_the_reverse_is_0(x: Points, cutoff: float) -> None:
    # The search for the better direction does not distinguish points closer than 2^-44 cutoffs; the value does.
    assert mg.sospa(x, x[::-1], cutoff=cutoff, directed=False) <= 1e-12 * cutoff


@given(rings(), st.integers(0, 9), cutoffs, st.booleans())
def test_closed_distance_to_a_shift_is_0(x: Points, shift: int, cutoff: float, turn: bool) -> None:
    y = np.roll(x, shift, axis=0)
    y = y[::-1] if turn else y
    # The search for the shift does not distinguish points closer than 2^-44 cutoffs; the value does.
    assert mg.sospa(x, y, cutoff=cutoff, closed=True, directed=not turn) <= 1e-12 * cutoff


@given(polylines(), polylines(), cutoffs)
def test_different_polylines_have_a_distance_above_0(x: Points, y: Points, cutoff: float) -> None:
    value = mg.sospa(x, y, cutoff=cutoff)
    assert (value == 0) == (x.shape == y.shape and bool((x == y).all()))


@given(polylines(), polylines(), cutoffs, orders, st.booleans(), st.booleans(), st.booleans())
def test_sospa_is_symmetric(
    x: Points, y: Points, cutoff: float, order: float, closed: bool, directed: bool, normalised: bool
) -> None:
    keywords = {"cutoff": cutoff, "order": order, "closed": closed, "directed": directed, "normalised": normalised}
    forth, back = mg.sospa(x, y, **keywords), mg.sospa(y, x, **keywords)  # type: ignore[arg-type]
    assert math.isclose(forth, back, rel_tol=1e-12)


@given(polylines(), polylines(), polylines(), cutoffs, orders, st.booleans())
def test_open_sospa_obeys_the_triangle_inequality(
    x: Points, y: Points, z: Points, cutoff: float, order: float, directed: bool
) -> None:
    direct = mg.sospa(x, z, cutoff=cutoff, order=order, directed=directed)
    first, second = (mg.sospa(a, b, cutoff=cutoff, order=order, directed=directed) for a, b in ((x, y), (y, z)))
    assert direct <= (first + second) * SLACK


@given(rings(), rings(), rings(), cutoffs, orders, st.booleans())
def test_cyclic_sospa_obeys_the_triangle_inequality(
    x: Points, y: Points, z: Points, cutoff: float, order: float, directed: bool
) -> None:
    """The theorem of docs/explanation/cyclic-sospa.md."""
    direct = mg.sospa(x, z, cutoff=cutoff, order=order, closed=True, directed=directed)
    detour = sum(
        mg.sospa(a, b, cutoff=cutoff, order=order, closed=True, directed=directed) for a, b in ((x, y), (y, z))
    )
    assert direct <= detour * SLACK + 1e-12 * cutoff


@given(rings(), rings(), rings(), cutoffs, orders, st.booleans(), st.booleans())
def test_normalised_sospa_of_every_order_obeys_the_triangle_inequality(
    x: Points, y: Points, z: Points, cutoff: float, order: float, closed: bool, directed: bool
) -> None:
    """The paper claims it for order 1; docs/explanation/cyclic-sospa.md proves it for all orders."""

    def distance(a: Points, b: Points) -> float:
        return mg.sospa(a, b, cutoff=cutoff, order=order, closed=closed, directed=directed, normalised=True)

    assert distance(x, z) <= (distance(x, y) + distance(y, z)) * SLACK + 1e-12


def test_mixing_open_and_closed_shapes_is_not_a_metric() -> None:
    """Two open copies of a square, cut at different corners, are at 0 from the square but not from each other."""
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    first, second = square[:4], square[[1, 2, 3, 0]]
    assert mg.sospa(first, square, closed="auto") == 0
    assert mg.sospa(second, square, closed="auto") == 0
    assert mg.sospa(first, second, closed="auto", directed=False) > 0.5


@given(polylines(), polylines(), cutoffs, orders, st.booleans(), st.booleans())
def test_sospa_is_bounded(x: Points, y: Points, cutoff: float, order: float, closed: bool, directed: bool) -> None:
    value, normalised = (
        mg.sospa(x, y, cutoff=cutoff, order=order, closed=closed, directed=directed, normalised=flag)
        for flag in (False, True)
    )
    most = (cutoff**order / 2 * (len(x) + len(y))) ** (1 / order)
    assert 0 <= value <= most * SLACK
    assert 0 <= normalised <= 1
    if (len(x) == 0) != (len(y) == 0):
        assert normalised == 1
    if len(x) == len(y) == 0:
        assert value == normalised == 0


angles = st.floats(-4, 4)
moves = st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000))


def closes(line: Points) -> bool:
    """Whether the last point repeats the first."""
    return len(line) > 0 and bool((line[0] == line[-1]).all())


@given(polylines(), polylines(), angles, moves, cutoffs, st.booleans())
def test_a_rigid_motion_changes_nothing(
    x: Points, y: Points, angle: float, move: tuple[int, int], cutoff: float, closed: bool
) -> None:
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    moved_x, moved_y = x @ turn.T + move, y @ turn.T + move
    # Moving by a kilometre rounds every coordinate by about 1e-13 m. A repeated closing point stays one, by the same
    # arithmetic. Ends that are closer than that become equal, and then the line has another number of points.
    assume(not closed or all(closes(a) == closes(b) for a, b in ((x, moved_x), (y, moved_y))))
    before = mg.sospa(x, y, cutoff=cutoff, closed=closed)
    after = mg.sospa(moved_x, moved_y, cutoff=cutoff, closed=closed)
    assert math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-9)


@given(polylines(), polylines(), cutoffs, orders)
def test_reversing_both_changes_nothing(x: Points, y: Points, cutoff: float, order: float) -> None:
    before, after = (mg.sospa(a, b, cutoff=cutoff, order=order) for a, b in ((x, y), (x[::-1], y[::-1])))
    assert math.isclose(before, after, rel_tol=1e-12)


@given(rings(), rings(), st.integers(0, 9), st.integers(0, 9), cutoffs, orders)
def test_shifting_closed_lines_changes_nothing(
    x: Points, y: Points, a: int, b: int, cutoff: float, order: float
) -> None:
    before = mg.sospa(x, y, cutoff=cutoff, order=order, closed=True)
    after = mg.sospa(np.roll(x, a, axis=0), np.roll(y, b, axis=0), cutoff=cutoff, order=order, closed=True)
    assert math.isclose(before, after, rel_tol=1e-12, abs_tol=1e-12 * cutoff)


@given(rings().filter(len), rings().filter(len), st.integers(0, 9), st.integers(0, 9))
def test_shifting_closed_lines_changes_no_frechet_distance(x: Points, y: Points, a: int, b: int) -> None:
    before = mg.frechet(x, y, closed=True)
    assert mg.frechet(np.roll(x, a, axis=0), np.roll(y, b, axis=0), closed=True) == before
    assert mg.frechet(y, x, closed=True) == before


@pytest.mark.parametrize("closed", [False, True])
def test_points_at_the_cutoff_are_not_matched(closed: bool) -> None:
    for cutoff in (1.5, 0.1, 0.3, 1 / 3):
        a = mg.sospa_align([[0.0, 0]], [[cutoff, 0.0]], cutoff=cutoff, closed=closed)
        assert a.pairs.shape == (0, 2)
        assert a.normalised == 1
        assert mg.sospa_align([[0.0, 0]], [[cutoff * (1 - 1e-9), 0.0]], cutoff=cutoff).pairs.tolist() == [[0, 0]]
