"""PLD has the properties that the theory states."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arrays import Points
from tests.strategies import cutoffs, instances, orders

import mapgauge as mg

Instances = tuple[list[Points], list[float]]


def pld(x: Instances, y: Instances, **keywords: float) -> mg.PldResult:
    return mg.pld(x[0], y[0], confidence=x[1], truth_confidence=y[1], closed=False, **keywords)  # type: ignore[arg-type]


@given(instances(), cutoffs, orders)
def test_equal_sets_have_distance_0(x: Instances, cutoff: float, order: float) -> None:
    result = pld(x, x, cutoff=cutoff, order=order)
    assert result.value == result.normalised == 0


@given(instances(), instances(), cutoffs, orders)
def test_pld_is_symmetric_and_swaps_missed_and_false(x: Instances, y: Instances, cutoff: float, order: float) -> None:
    forth, back = pld(x, y, cutoff=cutoff, order=order), pld(y, x, cutoff=cutoff, order=order)
    assert math.isclose(forth.value, back.value, rel_tol=1e-9, abs_tol=1e-9)
    assert math.isclose(forth.mass, back.mass, rel_tol=1e-12)
    assert math.isclose(sum(forth.parts), sum(back.parts), rel_tol=1e-9, abs_tol=1e-9)
    assert forth.assignment is not None
    assert back.assignment is not None
    # Either of two assignments of equal cost may be chosen, and they may leave different instances unmatched.
    if {(i, j) for i, j in forth.assignment.tolist()} == {(i, j) for j, i in back.assignment.tolist()}:
        np.testing.assert_allclose(
            (forth.parts.missed, forth.parts.false, *forth.parts[:3]),
            (back.parts.false, back.parts.missed, *back.parts[:3]),
            rtol=1e-9,
            atol=1e-9,
        )


@given(instances(3), instances(3), instances(3), cutoffs, orders)
def test_pld_obeys_the_triangle_inequality(
    x: Instances, y: Instances, z: Instances, cutoff: float, order: float
) -> None:
    """The paper claims it for order 1; docs/explanation/pld.md proves it for all orders."""
    xz, xy, yz = (pld(a, b, cutoff=cutoff, order=order) for a, b in ((x, z), (x, y), (y, z)))
    assert xz.value <= xy.value + yz.value + 1e-12
    assert xz.normalised <= xy.normalised + yz.normalised + 1e-12


@given(st.lists(st.tuples(instances(2), instances(2), instances(2)), min_size=2, max_size=3), cutoffs)
def test_pooled_pld_of_order_1_obeys_the_triangle_inequality(
    frames: list[tuple[Instances, Instances, Instances]], cutoff: float
) -> None:
    xz, xy, yz = (
        sum(
            (pld(frame[a], frame[b], cutoff=cutoff) for frame in frames[1:]),
            pld(frames[0][a], frames[0][b], cutoff=cutoff),
        )
        for a, b in ((0, 2), (0, 1), (1, 2))
    )
    assert xz.normalised <= xy.normalised + yz.normalised + 1e-12


@given(instances(), instances(), cutoffs, orders)
def test_parts_add_up_and_stay_within_the_mass(x: Instances, y: Instances, cutoff: float, order: float) -> None:
    result = pld(x, y, cutoff=cutoff, order=order)
    assert all(part >= 0 for part in result.parts)
    assert math.isclose(result.value**order, sum(result.parts), rel_tol=1e-12, abs_tol=1e-300)
    assert sum(result.parts) <= result.mass * (1 + 1e-12)
    assert 0 <= result.normalised <= 1
    assert result.assignment is not None
    assert len(set(result.assignment[:, 0])) == len(set(result.assignment[:, 1])) == len(result.assignment)


@given(instances(), instances(), cutoffs)
def test_normalised_parts_and_both_groupings_add_up(x: Instances, y: Instances, cutoff: float) -> None:
    result = pld(x, y, cutoff=cutoff)
    assert math.isclose(sum(result.normalised_parts), result.normalised, rel_tol=1e-12, abs_tol=1e-300)
    assert math.isclose(result.localisation + result.detection, result.normalised, rel_tol=1e-12, abs_tol=1e-300)
    by_instances = result.localisation_by_instances + result.detection_by_instances
    assert math.isclose(by_instances, result.normalised, rel_tol=1e-12, abs_tol=1e-300)
    assert result.localisation <= result.localisation_by_instances


@given(instances(), instances(), cutoffs, st.randoms(use_true_random=False))
def test_the_order_of_instances_does_not_change_a_bit(
    x: Instances, y: Instances, cutoff: float, random: object
) -> None:
    def shuffled(side: Instances) -> Instances:
        places = list(range(len(side[0])))
        random.shuffle(places)  # type: ignore[attr-defined]
        return [side[0][i] for i in places], [side[1][i] for i in places]

    before, after = pld(x, y, cutoff=cutoff), pld(shuffled(x), shuffled(y), cutoff=cutoff)
    assert before.parts == after.parts
    assert before.mass == after.mass


def test_an_exact_tie_between_assignments_does_not_depend_on_the_order_of_instances() -> None:
    """An exact line of lower confidence and an incomplete line of confidence 1 save the same."""
    truth = np.array([[0.0, 0], [1, 0], [2, 0]])
    sure = truth[:1]  # one of three points
    saved = 1 - mg.sospa(sure, truth, normalised=True)
    predictions, confidence = [sure, truth], [1.0, saved]
    one, other = (mg.pld(predictions[::s], [truth], confidence=confidence[::s]) for s in (1, -1))
    assert one.parts == other.parts


@given(instances(), instances(), instances(), instances(), instances(), instances(), cutoffs, orders)
def test_pooling_is_associative_and_commutative(
    a: Instances, b: Instances, c: Instances, d: Instances, e: Instances, f: Instances, cutoff: float, order: float
) -> None:
    p, q, r = (pld(x, y, cutoff=cutoff, order=order) for x, y in ((a, b), (c, d), (e, f)))
    left, right, turned = (p + q) + r, p + (q + r), r + q + p
    for other in (right, turned):
        np.testing.assert_allclose(left.parts, other.parts, rtol=1e-12)
        assert math.isclose(left.normalised, other.normalised, rel_tol=1e-12, abs_tol=1e-300)
    np.testing.assert_allclose(sum([p, q, r]).parts, left.parts, rtol=1e-12)  # type: ignore[union-attr]


def test_pooling_equals_one_assignment_in_which_frames_cannot_mix(rng: np.random.Generator) -> None:
    def frame(place: float) -> tuple[list[Points], list[Points]]:
        truth = [rng.normal(place, 3, (5, 2)) for _ in range(3)]
        return [t + rng.normal(0, 0.4, t.shape) for t in truth], truth

    frames = [frame(1000.0 * k) for k in range(4)]
    pooled = sum(mg.pld(x, y) for x, y in frames)
    at_once = mg.pld([x for xs, _ in frames for x in xs], [y for _, ys in frames for y in ys])
    assert isinstance(pooled, mg.PldResult)
    np.testing.assert_allclose(pooled.parts, at_once.parts, rtol=1e-12)
    assert pooled.assignment is None


def test_results_of_different_settings_do_not_pool() -> None:
    line = [[[0.0, 0], [1, 0]]]
    with pytest.raises(mg.InvalidInput, match=r"cannot pool .*cutoff 1\.5.*cutoff 2"):
        mg.pld(line, line) + mg.pld(line, line, cutoff=2)
    with pytest.raises(mg.InvalidInput, match="order 2"):
        mg.pld(line, line) + mg.pld(line, line, order=2)


def test_only_order_1_splits_when_normalised() -> None:
    line = [[[0.0, 0], [1, 0]]]
    with pytest.raises(mg.InvalidInput, match=r"order 1 only, .*order 2"):
        _ = mg.pld(line, line, order=2).localisation
