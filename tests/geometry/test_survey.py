"""The survey of polylines: the kernel for many points against numpy for few, and against a loop."""

from itertools import pairwise

import numpy as np
import pytest

import mapgauge as mg
from mapgauge.geometry.polylines import survey


def lines(dimension: int, count: int = 200) -> mg.Polylines:
    """Lines of 0 to 6 points on a coarse grid, so that points repeat."""
    rng = np.random.default_rng(dimension)
    made = [rng.integers(-2, 3, (rng.integers(0, 7), dimension)) for _ in range(count)]
    return mg.Polylines.of(made, dimension=dimension)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("many", [0, 10**9])  # by the kernel, by numpy
def test_boxes_and_repeated_points(dimension: int, many: int) -> None:
    given = lines(dimension)
    found = survey(given, many=many)
    for i, points in enumerate(given):
        if len(points):
            assert found.low[i].tolist() == points.min(axis=0).tolist()
            assert found.high[i].tolist() == points.max(axis=0).tolist()
            assert found.reach[i].tolist() == np.abs(points).max(axis=0).tolist()
        else:
            assert np.isposinf(found.low[i]).all()
            assert np.isneginf(found.high[i]).all()
        assert found.repeats[i] == sum((a == b).all() for a, b in pairwise(points))
    assert found.repeats.sum() > 0


def test_it_is_computed_once() -> None:
    given = lines(2, 3)
    assert survey(given) is survey(given)


def test_no_polylines_have_an_empty_survey() -> None:
    assert [part.shape for part in survey(mg.Polylines.of([]))] == [(0, 2), (0, 2), (0,)]
