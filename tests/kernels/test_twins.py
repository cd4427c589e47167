"""Compiled kernels agree with the definitions in plain Python."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from tests.arrays import Points
from tests.kernels import reference
from tests.strategies import coordinates, cutoffs, instances, orders, polylines, rings

import mapgauge as mg
from mapgauge import kernels
from mapgauge.metrics.average_precision import RECALLS

# Values are summed from the matching, so they are as exact as a sum of as many terms as there are points.
RELATIVE = 1e-12


def close(value: float, expected: float) -> bool:
    return math.isclose(value, expected, rel_tol=RELATIVE, abs_tol=1e-300)


@given(polylines(5), polylines(5), cutoffs, orders)
def test_wagner_fischer_equals_enumeration(x: Points, y: Points, cutoff: float, order: float) -> None:
    distance = reference.distances(x, y)
    assert close(
        reference.wagner_fischer(distance, cutoff, order), reference.sospa_by_enumeration(distance, cutoff, order)
    )


@given(polylines(12), polylines(12), cutoffs, orders, st.booleans())
def test_open_sospa_equals_wagner_fischer(x: Points, y: Points, cutoff: float, order: float, directed: bool) -> None:
    expected = reference.sospa(x, y, cutoff, order, directed=directed)
    assert close(mg.sospa(x, y, cutoff=cutoff, order=order, directed=directed), expected)


@pytest.mark.parametrize("dimension", [1, 3, 4])
@given(data=st.data(), cutoff=cutoffs, order=orders)
def test_open_sospa_equals_wagner_fischer_in_any_dimension(
    data: st.DataObject, cutoff: float, order: float, dimension: int
) -> None:
    x, y = data.draw(polylines(7, dimension)), data.draw(polylines(7, dimension))
    assert close(mg.sospa(x, y, cutoff=cutoff, order=order), reference.sospa(x, y, cutoff, order))


@given(rings(5), rings(5), cutoffs, orders)
def test_shifting_one_side_is_enough_and_maes_agrees(x: Points, y: Points, cutoff: float, order: float) -> None:
    distance = reference.distances(x, y)
    expected = reference.cyclic_by_rotation(distance, cutoff, order)
    assert close(reference.cyclic_one_side(distance, cutoff, order), expected)
    assert close(reference.maes(distance, cutoff, order), expected)


@given(rings(9), rings(9), cutoffs, orders, st.booleans())
def test_closed_sospa_equals_all_rotations(x: Points, y: Points, cutoff: float, order: float, directed: bool) -> None:
    expected = reference.sospa(x, y, cutoff, order, closed=True, directed=directed)
    assert close(mg.sospa(x, y, cutoff=cutoff, order=order, closed=True, directed=directed), expected)


def test_closed_sospa_equals_maes_on_crossings(rng: np.random.Generator) -> None:
    for _ in range(20):
        n, m = rng.integers(20, 45, 2)
        turn = np.linspace(0, 2 * np.pi, n, endpoint=False)
        x = np.c_[4 * np.cos(turn), 1.5 * np.sin(turn)] + rng.normal(0, 0.2, (n, 2))
        turn = np.linspace(0, 2 * np.pi, m, endpoint=False) + rng.uniform(0, 6)
        y = np.c_[4 * np.cos(turn), 1.5 * np.sin(turn)] + rng.normal(0, 0.2, (m, 2))
        expected = reference.maes(reference.distances(x, y), 1.5, 1.0)
        assert close(mg.sospa(x, y, closed=True), expected)


@given(
    st.integers(0, 9).flatmap(
        lambda n: st.integers(0, 9).flatmap(
            lambda m: st.lists(
                st.lists(st.integers(0, 40).map(lambda v: v / 8) | st.floats(0, 4), min_size=m, max_size=m),
                min_size=n,
                max_size=n,
            ).map(lambda rows: np.array(rows, dtype=float).reshape(n, m))
        )
    ),
    cutoffs,
    orders,
    st.booleans(),
    st.booleans(),
)
def test_sospa_from_distances_takes_any_matrix(
    distance: Points, cutoff: float, order: float, closed: bool, directed: bool
) -> None:
    cost = reference.cyclic_one_side if closed else reference.wagner_fischer
    ways = [distance] if directed else [distance, distance[:, ::-1]]
    expected = min(cost(way, cutoff, order) for way in ways) ** (1 / order)
    value = mg.sospa_from_distances(distance, cutoff=cutoff, order=order, closed=closed, directed=directed)
    assert close(value, expected)


@given(polylines(10), polylines(10), cutoffs, orders, st.booleans(), st.booleans())
def test_an_alignment_is_an_ordered_assignment_of_the_stated_cost(
    x: Points, y: Points, cutoff: float, order: float, closed: bool, directed: bool
) -> None:
    a = mg.sospa_align(x, y, cutoff=cutoff, order=order, closed=closed, directed=directed)
    n, m = (len(z) - (closed and len(z) > 2 and bool((z[0] == z[-1]).all())) for z in (x, y))
    walk = np.roll(np.arange(m)[::-1] if a.reversed else np.arange(m), -a.shift)
    position = np.argsort(walk)
    distance = reference.distances(x, y)
    assert np.all(np.diff(a.pairs[:, 0]) > 0)
    assert np.all(np.diff(position[a.pairs[:, 1]]) > 0)
    assert all(distance[i, j] < cutoff for i, j in a.pairs)
    matched = sum(distance[i, j] ** order for i, j in a.pairs)
    gaps = cutoff**order / 2 * (n + m - 2 * len(a.pairs))
    assert math.isclose(a.matched_points, matched, rel_tol=1e-9, abs_tol=1e-300)
    assert math.isclose(a.value**order, matched + gaps, rel_tol=1e-9, abs_tol=1e-300)
    assert sorted([*a.unmatched_x, *a.pairs[:, 0]]) == list(range(n))
    assert sorted([*a.unmatched_y, *a.pairs[:, 1]]) == list(range(m))
    assert not (directed and a.reversed)
    assert closed or a.shift == 0


@given(polylines(5), polylines(5), cutoffs)
def test_among_equal_costs_the_most_points_are_matched(x: Points, y: Points, cutoff: float) -> None:
    distance = reference.distances(x, y)
    costs = {
        tuple(p): reference.assignment_cost(p, distance, cutoff, 1)
        for p in reference.assignments(*distance.shape, ordered=True)
    }
    least = min(costs.values())
    matched = sum(1 for i, j in mg.sospa_align(x, y, cutoff=cutoff).pairs if distance[i, j] < cutoff * (1 - 1e-9))
    optimal = [p for p, cost in costs.items() if cost <= least * (1 + 1e-15)]
    assert matched >= max(sum(distance[i, j] < cutoff * (1 - 1e-9) for i, j in p) for p in optimal)


def test_two_matches_win_over_one_of_the_same_cost() -> None:
    # One pair at 0.5 saves as much as two pairs at 1.0, also in units that are not exact in binary.
    for unit in (0.5, 0.1, 0.3):
        x = np.array([[0.0, 0], [0, unit * 10]])
        y = np.array([[2 * unit, 0], [unit, 0], [2 * unit, unit * 10]])
        wide = mg.sospa_align(x[:1], y[:2], cutoff=3 * unit)
        assert wide.pairs.tolist() == [[0, 1]]
        # The middle two match at 1, or each point matches its own at 1.25. Both cost 2.5.
        line, other = unit * np.array([[0.0], [2.25]]), unit * np.array([[1.25], [3.5]])
        assert mg.sospa_align(line, other, cutoff=1.5 * unit).pairs.tolist() == [[0, 0], [1, 1]]
        assert mg.sospa_align(other, line, cutoff=1.5 * unit).pairs.tolist() == [[0, 0], [1, 1]]
        crossed = mg.sospa_from_distances(unit * np.array([[2, 1], [9, 2]]), cutoff=3 * unit)
        assert math.isclose(crossed, 4 * unit, rel_tol=1e-12)
        assert (
            len(mg.sospa_align(unit * np.array([[0.0], [2]]), unit * np.array([[2.0], [4]]), cutoff=2 * unit).pairs)
            == 1
        )


@given(polylines(7), polylines(7), cutoffs, st.booleans())
def test_swapping_or_reversing_both_keeps_the_split(x: Points, y: Points, cutoff: float, directed: bool) -> None:
    def split(a: mg.Alignment) -> tuple[int, float]:
        return len(a.pairs), round(a.matched_points, 9)

    expected = split(mg.sospa_align(x, y, cutoff=cutoff, directed=directed))
    assert split(mg.sospa_align(y, x, cutoff=cutoff, directed=directed)) == expected
    assert split(mg.sospa_align(x[::-1], y[::-1], cutoff=cutoff, directed=directed)) == expected


@given(st.lists(polylines(6), max_size=4), st.lists(polylines(6), max_size=4), cutoffs, orders, st.booleans())
def test_the_matrix_holds_the_single_distances(
    xs: list[Points], ys: list[Points], cutoff: float, order: float, directed: bool
) -> None:
    matrix = mg.sospa_matrix(xs, ys, cutoff=cutoff, order=order, closed="auto", directed=directed, normalised=True)
    assert matrix.shape == (len(xs), len(ys))
    for (i, x), (j, y) in itertools.product(enumerate(xs), enumerate(ys)):
        single = mg.sospa(x, y, cutoff=cutoff, order=order, closed="auto", directed=directed, normalised=True)
        assert matrix[i, j] == single


@given(instances(), instances(), cutoffs, orders)
def test_pld_equals_enumeration_of_assignments(
    predictions: tuple[list[Points], list[float]],
    truth: tuple[list[Points], list[float]],
    cutoff: float,
    order: float,
) -> None:
    (xs, r), (ys, s) = predictions, truth
    how: dict[str, Any] = {"cutoff": cutoff, "order": order, "closed": "auto", "directed": False}
    distance = mg.sospa_matrix(xs, ys, normalised=True, **how)
    expected = reference.pld_by_enumeration(distance, r, s, order)
    result = mg.pld(xs, ys, confidence=r, truth_confidence=s, **how)
    mass = (sum(r) + sum(s)) / 2
    # PLD is a difference of sums of the size of the mass, so its error is relative to the mass.
    assert math.isclose(sum(result.parts), expected, rel_tol=RELATIVE, abs_tol=RELATIVE * mass)
    assert math.isclose(result.mass, mass, rel_tol=RELATIVE, abs_tol=0)


@given(st.integers(0, 8), st.integers(0, 8), st.sampled_from([0.0, 0.5, 0.9]), st.integers(0, 2**32 - 1), st.booleans())
def test_assignments_save_as_much_as_scipys(rows: int, columns: int, empty: float, seed: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    saving = rng.random((rows, columns)) * (rng.random((rows, columns)) >= empty)
    if coarse:
        saving = np.round(saving * 4) / 4
    partner, _ = kernels.assignment.assign(saving)
    i = np.flatnonzero(partner >= 0)
    assert len(set(partner[i])) == len(i)
    assert np.all(saving[i, partner[i]] > 0)
    expected = saving[linear_sum_assignment(saving, maximize=True)].sum()
    assert math.isclose(saving[i, partner[i]].sum(), expected, rel_tol=RELATIVE, abs_tol=0)


@given(polylines(8).filter(len), polylines(8).filter(len))
def test_chamfer_equals_its_definition(x: Points, y: Points) -> None:
    assert close(mg.chamfer(x, y), reference.chamfer(x, y))


@given(polylines(8).filter(len), polylines(8).filter(len), st.booleans())
def test_frechet_equals_its_recursion(x: Points, y: Points, directed: bool) -> None:
    ways = [y] if directed else [y, y[::-1]]
    expected = min(reference.frechet(reference.distances(x, way)) for way in ways)
    assert close(mg.frechet(x, y, directed=directed), expected)


@given(rings(6).filter(len), rings(6).filter(len), st.booleans())
def test_closed_frechet_equals_all_shifts_of_both(x: Points, y: Points, directed: bool) -> None:
    ways = [y] if directed else [y, y[::-1]]
    expected = min(reference.frechet_both_shifted(reference.distances(x, way)) for way in ways)
    assert close(mg.frechet(x, y, closed=True, directed=directed), expected)


def lines_of(*arrays: Points) -> kernels.lines.Lines:
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.uint64)
    lines: kernels.lines.Lines = kernels.lines.index_lines(
        np.ascontiguousarray(np.concatenate(arrays).T), offsets[:-1], offsets[1:]
    )
    return lines


@given(polylines(6).filter(len), polylines(6).filter(len), st.booleans(), st.booleans(), st.floats(0.1, 8))
def test_frechet_of_average_precision_shifts_the_prediction_only(
    x: Points, y: Points, closed: bool, directed: bool, limit: float
) -> None:
    distance = reference.frechet_prediction_shifted if closed else reference.frechet
    expected = min(distance(reference.distances(x, way)) for way in ([y] if directed else [y, y[::-1]]))
    bounds = np.array([[0, 1, 2]])
    for reach in (limit, np.inf):
        out = np.zeros(1)
        kernels.frechet.frechet_pairs(
            lines_of(x, y), np.array([closed, False]), bounds, np.ones(2), directed, reach, out
        )
        assert close(out[0], expected) or (out[0] == np.inf and expected > reach)


@given(polylines(6).filter(len), polylines(6).filter(len), st.floats(0.1, 8))
def test_chamfer_within_a_limit_equals_its_definition(x: Points, y: Points, limit: float) -> None:
    out = np.zeros(1)
    kernels.chamfer.chamfer_pairs(lines_of(x, y), np.array([[0, 1, 2]]), np.ones(2), limit, True, out)
    expected = reference.chamfer(x, y)
    assert close(out[0], expected) or (out[0] == np.inf and expected > limit)


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[float], list[bool], list[int], list[int], list[int]]:
    """Predictions from high confidence to low, whether they hit, their units; true instances and draws of each unit."""
    units = draw(st.integers(1, 4))
    confidence = sorted(draw(st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.9]) | st.floats(0, 1), max_size=20)))[::-1]
    hit = [draw(st.booleans()) for _ in confidence]
    owner = [draw(st.integers(0, units - 1)) for _ in confidence]
    found = [sum(h for h, u in zip(hit, owner, strict=True) if u == unit) for unit in range(units)]
    truth = [count + draw(st.integers(0, 5)) for count in found]
    return confidence, hit, owner, truth, [draw(st.integers(0, 3)) for _ in range(units)]


def weighted(
    confidence: list[float], hit: list[bool], owner: list[int], truth: list[int], weights: list[int], eleven: bool
) -> float:
    """The kernel for one sample, which fills a block. The second setting has the other predictions as hits."""
    lanes, drawn = kernels.average_precision.LANES, np.array(weights, np.float64)
    flags = np.stack([np.array(hit, np.bool_), ~np.array(hit, np.bool_)], axis=1)
    first = [i for i, c in enumerate(confidence) if i == 0 or c != confidence[i - 1]]
    some = [bool(flags[begin:end].any()) for begin, end in itertools.pairwise([*first, len(hit)])]
    often = drawn[np.array(owner, np.int64)]
    total, number = np.full(lanes, drawn @ truth), np.full(lanes, often.sum())
    recalls = RECALLS["11-point"] if eleven else np.empty(0)
    state = np.zeros((2, 3, lanes))
    state[:, 0] = (often @ flags)[:, None]
    kernels.average_precision.weighted_precisions(
        *(np.array(owner, np.int64), flags, np.array(some, np.bool_), np.array([*first, len(hit)], np.int64)),
        np.repeat(drawn.astype(np.float32)[:, None], lanes, axis=1),
        *(total.copy(), number.copy(), state.reshape(-1)),
        *(np.full((2, lanes), len(recalls) - 1), np.empty(lanes), recalls),
    )
    (value,) = set(state[0, 2].tolist())
    if not total[0]:
        return 0.0 if number[0] else math.nan
    return float(value if eleven else value / total[0])


@given(samples(), st.booleans())
def test_weighted_average_precision_equals_its_definition(
    sample: tuple[list[float], list[bool], list[int], list[int], list[int]], eleven: bool
) -> None:
    confidence, hit, owner, truth, weights = sample
    total = sum(w * t for w, t in zip(weights, truth, strict=True))
    expected = reference.average_precision(confidence, hit, [weights[u] for u in owner], total, eleven=eleven)
    assert weighted(*sample, eleven) == pytest.approx(expected, abs=RELATIVE, nan_ok=True)


@given(samples(), st.booleans())
def test_weights_count_how_often_predictions_are_repeated(
    sample: tuple[list[float], list[bool], list[int], list[int], list[int]], eleven: bool
) -> None:
    confidence, hit, owner, truth, weights = sample
    repeated = [i for i, u in enumerate(owner) for _ in range(weights[u])]
    total = sum(w * t for w, t in zip(weights, truth, strict=True))
    if total or repeated:
        levels, hits = [confidence[i] for i in repeated], [hit[i] for i in repeated]
        expected = mg.average_precision(levels, hits, total, interpolation="11-point" if eleven else "area")
        assert math.isclose(weighted(*sample, eleven), expected, abs_tol=RELATIVE)


@pytest.mark.parametrize("eleven", [False, True])
def test_with_weights_of_1_average_precision_is_the_usual_one(eleven: bool, rng: np.random.Generator) -> None:
    for truth in (0, 1, 10, 30, 49, 70):
        confidence = np.sort(np.round(rng.random(80), 2))[::-1]
        hit = rng.permutation(np.arange(80) < truth) & (rng.random(80) < 0.8)
        expected = mg.average_precision(confidence, hit, truth, interpolation="11-point" if eleven else "area")
        found = weighted(confidence.tolist(), hit.tolist(), [0] * 80, [truth], [1], eleven)
        assert math.isclose(found, expected, abs_tol=RELATIVE)


def test_a_recall_that_misses_a_level_by_rounding_reaches_it() -> None:
    """3 of 10 true instances are found: 3 / 10 is less than 0.1 + 0.2 in binary."""
    assert weighted([0.9, 0.8, 0.7], [True] * 3, [0] * 3, [10], [1], True) == pytest.approx(4 / 11, abs=RELATIVE)


@given(st.integers(1, 8), st.floats(0.05, 3), st.data())
def test_resampling_equals_walking(n: int, spacing: float, data: st.DataObject) -> None:
    points = np.array(data.draw(st.lists(st.tuples(coordinates(), coordinates()), min_size=n, max_size=n)))
    length = sum(math.dist(a, b) for a, b in itertools.pairwise(points))
    if length == 0:
        expected = np.array([points[0], points[0]])
    else:
        whole = max(math.ceil(length / spacing - 1e-9), 1)
        expected = reference.resample(points, [*(k * spacing for k in range(whole)), length])
    got = mg.resample(points, spacing=spacing)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, atol=1e-9)
    assert np.array_equal(got[-1], points[-1])
    got = mg.resample(points, count=7)
    np.testing.assert_allclose(got, reference.resample(points, np.linspace(0, length, 7)), atol=1e-9)
