"""The plain definitions, by hand. Kernels are compared with them, so they need values that come from elsewhere."""

import math

import numpy as np
import pytest
from tests.arrays import Floats
from tests.kernels import reference


def matrix(*rows: list[float]) -> Floats:
    return np.array(rows, np.float64)


# The second point of y is the first of x, and so on: open lines leave out two points, closed ones none.
SHIFTED = matrix([9, 0, 9], [9, 9, 0], [0, 9, 9])
# Both points of x are 1 from a point of y, in the other order.
CROSSED = matrix([5, 1, 5], [1, 5, 5])
CYCLIC = [reference.cyclic_by_rotation, reference.cyclic_one_side, reference.maes]
OPEN = [reference.wagner_fischer, reference.sospa_by_enumeration]


def test_distances() -> None:
    assert reference.distances([[0, 0], [3, 4]], [[0, 0], [3, 0], [6, 8]]).tolist() == [[0, 3, 10], [5, 4, 5]]
    assert reference.distances([[1, 2, 3]], [[2, 4, 5]]).tolist() == [[3]]
    assert reference.distances([], [[0, 0]]).shape == (0, 1)


def test_assignments() -> None:
    single = [[(0, 0)], [(0, 1)], [(1, 0)], [(1, 1)]]
    assert list(reference.assignments(2, 2, ordered=True)) == [[], *single, [(0, 0), (1, 1)]]
    assert list(reference.assignments(2, 2, ordered=False)) == [[], *single, [(0, 0), (1, 1)], [(0, 1), (1, 0)]]
    assert list(reference.assignments(1, 2, ordered=True)) == [[], [(0, 0)], [(0, 1)]]
    assert list(reference.assignments(0, 2, ordered=False)) == [[]]


def test_the_cost_of_an_assignment() -> None:
    """One pair at 2, and one point left over that costs half of 4 squared."""
    assert reference.assignment_cost([(0, 1)], matrix([1, 2]), 4, 2) == 4 + 8
    assert reference.assignment_cost([], matrix([1, 2]), 4, 2) == 3 * 8


@pytest.mark.parametrize("cost", OPEN)
@pytest.mark.parametrize(
    ("distance", "cutoff", "order", "expected"),
    [
        (matrix([3, 1]), 4, 2, 1 + 8),
        (matrix([3], [1]), 4, 2, 1 + 8),
        (matrix([1, 9], [9, 2]), 4, 1, 3),
        (matrix([1, 9], [9, 2]), 4, 3, 9),
        (matrix([4.5]), 4, 1, 4),  # a gap on either side is cheaper
        (SHIFTED, 4, 1, 2 * 2),
        (CROSSED, 4, 1, 1 + 3 * 2),
        (np.empty((0, 3)), 4, 2, 3 * 8),
        (np.empty((2, 0)), 4, 2, 2 * 8),
    ],
)
def test_open_lines(cost: object, distance: Floats, cutoff: float, order: float, expected: float) -> None:
    assert callable(cost)
    assert cost(distance, cutoff, order) == expected


@pytest.mark.parametrize("cost", CYCLIC)
@pytest.mark.parametrize(
    ("distance", "cutoff", "order", "expected"),
    [
        (SHIFTED, 4, 1, 0),
        (CROSSED, 4, 1, 2 * 1 + 2),
        (3 * CROSSED, 5, 2, 2 * 9 + 12.5),
        (CROSSED.T, 4, 1, 2 * 1 + 2),
        (matrix([4.5]), 4, 1, 4),
        (matrix([0.5]), 4, 1, 0.5),
        (np.empty((0, 3)), 4, 2, 3 * 8),
        (np.empty((2, 0)), 4, 2, 2 * 8),
    ],
)
def test_closed_lines(cost: object, distance: Floats, cutoff: float, order: float, expected: float) -> None:
    assert callable(cost)
    assert cost(distance, cutoff, order) == expected


def test_a_shift_brings_a_later_row_and_column_to_the_front() -> None:
    rolled = reference._rolled(matrix([1, 2, 3], [4, 5, 6], [7, 8, 9]), 1, 2)
    assert rolled.tolist() == [[6, 4, 5], [9, 7, 8], [3, 1, 2]]


@pytest.mark.parametrize("start", range(6))
def test_maes_finds_every_shift(start: int) -> None:
    distance = np.roll(9 * (1 - np.eye(6)), start, axis=1)
    assert reference.maes(distance, 4, 1) == 0
    assert reference.maes(np.delete(distance, 2, axis=0), 4, 1) == 2


def test_sospa_of_points() -> None:
    x, y = np.array([[0.0, 0], [1, 0], [1, 1]]), np.array([[1.0, 1], [1, 0], [0, 0]])
    assert reference.sospa(x, y, 1.0, 1.0) == 2  # one pair at 0, and four points left over
    assert reference.sospa(x, y, 1.0, 1.0, directed=False) == 0
    assert reference.sospa(x, y, 1.0, 1.0, closed=True) == 1  # two pairs at 0, and two points left over
    assert reference.sospa(x, y, 1.0, 1.0, closed=True, directed=False) == 0
    assert reference.sospa(x, np.roll(x, 1, axis=0), 1.0, 1.0, closed=True) == 0
    assert reference.sospa(x[:1], np.array([[3.0, 4]]), 9.0, 2.0) == 5


def test_normalised_sospa() -> None:
    assert reference.normalise(0.6, 2, 2, 1.5, 1) == pytest.approx(1 / 3)
    assert reference.normalise(2.0, 1, 1, 2.0, 2) == 1  # the largest value: the root of 2 * 4 / 2
    assert reference.normalise(math.sqrt(13.5), 2, 1, 3.0, 2) == pytest.approx(1)  # the root of 3 * 9 / 2
    assert reference.normalise(0.0, 0, 0, 1.5, 1) == 0
    assert reference.normalise(1.0, 1, 0, 2.0, 1) == 1


def test_pld_of_sets() -> None:
    assert reference.pld_by_enumeration(matrix([0.5]), [0.5], [1.0], 1) == 0.5 * 0.5 + 0.25
    assert reference.pld_by_enumeration(matrix([0.5]), [0.5], [1.0], 2) == 0.5 * 0.25 + 0.25
    assert reference.pld_by_enumeration(matrix([1.0, 0.1], [0.2, 1.0]), [1, 1], [1, 1], 1) == pytest.approx(0.3)
    assert reference.pld_by_enumeration(matrix([1.0, 0.25]), [0.5], [0.25, 0.5], 1) == 0.5 * 0.25 + 0.25 / 2
    assert reference.pld_by_enumeration(matrix([1.0], [0.25]), [0.25, 0.5], [0.5], 1) == 0.5 * 0.25 + 0.25 / 2
    assert reference.pld_by_enumeration(np.empty((1, 0)), [0.5], [], 1) == 0.25
    assert reference.pld_by_enumeration(np.empty((0, 1)), [], [0.5], 1) == 0.25


def test_chamfer_is_the_mean_of_both_directions() -> None:
    assert reference.chamfer([[0, 0], [4, 0]], [[0, 3]]) == ((3 + 5) / 2 + 3) / 2
    assert reference.chamfer([[0, 3]], [[0, 0], [4, 0]]) == ((3 + 5) / 2 + 3) / 2


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (matrix([1, 5], [5, 2]), 2),  # both step at once
        (matrix([1, 2, 3]), 3),
        (matrix([3, 2, 1]), 3),
        (matrix([3, 1, 1], [4, 4, 1]), 3),
        (matrix([3], [2], [1]), 3),
        (matrix([0, 9], [1, 9], [9, 0]), 1),  # x steps first
        (matrix([0, 1, 9], [9, 9, 0]), 1),  # y steps first
        (matrix([0, 1], [2, 0]), 0),
        (matrix([1, 1, 1], [9, 9, 1], [1, 1, 9], [9, 9, 1]), 9),  # y cannot go back
        (matrix([0, 9, 9], [9, 9, 9], [9, 9, 0]), 9),
    ],
)
def test_frechet_of_open_lines(distance: Floats, expected: float) -> None:
    assert reference.frechet(distance) == expected


def test_frechet_of_closed_lines() -> None:
    assert reference.frechet(SHIFTED) == 9
    assert reference.frechet_both_shifted(SHIFTED) == reference.frechet_prediction_shifted(SHIFTED) == 0
    # Only a shift of y brings its second point to the front, and x has one point: the last of y stays the farthest.
    assert reference.frechet_both_shifted(matrix([1, 2])) == reference.frechet_prediction_shifted(matrix([1, 2])) == 2
    # With y as it is, x walks along. With another first point of y, x would have to go back.
    walk, back = matrix([0, 0, 9], [9, 9, 0]), matrix([0, 9, 0], [9, 0, 9])
    assert reference.frechet_prediction_shifted(walk) == reference.frechet_both_shifted(walk) == 0
    assert reference.frechet_prediction_shifted(back) == 9
    assert reference.frechet_both_shifted(back) == 0


def test_average_precision() -> None:
    """Hits at ranks 1, 3 and 4 of 5, and 4 true instances: precision 1, 2/3, 3/4 at recalls 1/4, 2/4, 3/4."""
    confidence, hit = [0.9, 0.8, 0.7, 0.6, 0.5], [True, False, True, True, False]
    once = [1] * 5
    assert reference.average_precision(confidence, hit, once, 4, eleven=False) == (1 + 0.75 + 0.75) / 4
    assert reference.average_precision(confidence, hit, once, 4, eleven=True) == pytest.approx((3 + 5 * 0.75) / 11)
    # The first counts twice, the others once, the last three not at all: two hits, then a false one.
    assert reference.average_precision(confidence, hit, [2, 1, 0, 0, 0], 2, eleven=False) == 1
    assert reference.average_precision(confidence, hit, [0, 1, 1, 0, 0], 1, eleven=False) == 0.5
    assert reference.average_precision([0.5] * 3, [True, False, True], [1] * 3, 2, eleven=False) == 2 / 3
    assert reference.average_precision([0.5], [True], [1], 1, eleven=True) == 1
    assert reference.average_precision([0.5], [False], [1], 0, eleven=False) == 0
    assert math.isnan(reference.average_precision([0.5], [False], [0], 0, eleven=False))
    assert reference.average_precision([0.9, 0.8, 0.7], [True] * 3, [1] * 3, 10, eleven=True) == pytest.approx(4 / 11)


def test_resampling_walks_along_the_line() -> None:
    corner = [[0.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 4.0]]
    expected = [[0, 0], [1.5, 0], [3, 0], [3, 2], [3, 4], [3, 4]]
    assert reference.resample(corner, [0, 1.5, 3, 5, 7, 9]).tolist() == expected
    assert reference.resample([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]], [0.25, 0.75]).tolist() == [[0.25, 0], [0.75, 0]]
    assert reference.resample([[1.0, 2.0], [1.0, 2.0]], [0, 1]).tolist() == [[1, 2], [1, 2]]
