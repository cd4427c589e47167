"""Tests which input the public functions refuse, and their error messages."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray

import mapgauge as mg

api: Any = mg  # hides from the type checker the invalid arguments that are tested here

LINE = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]


class Unreadable:
    """Behaves like a tensor on another device."""

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[Any]:
        raise TypeError("can't convert a tensor on another device")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: api.sospa(LINE, [[0, math.nan]]),
            "y: coordinate 1 of point 0 is nan, expected a finite number (1 of 2",
        ),
        (lambda: api.sospa([[0, 0], [math.inf, 0]], LINE), "x: coordinate 0 of point 1 is inf"),
        (
            lambda: api.sospa([0, 0, 1, 1], LINE),
            "x is one flat list of 4 numbers, expected points of shape (n, dimension)",
        ),
        (lambda: api.sospa([[[0, 0]]], LINE), "x has shape (1, 1, 2), expected (n, dimension)"),
        (lambda: api.sospa([[0, 0], [1]], LINE), "x is not an array of points"),
        (lambda: api.sospa([["0", "1"]], LINE), "x must hold numbers, got values of type <U1 (for instance"),
        (lambda: api.sospa([[None, 1]], LINE), "x must hold numbers, got values of type object"),
        (lambda: api.sospa([[True, False]], LINE), "x must hold numbers, got values of type bool"),
        (
            lambda: api.sospa(Unreadable(), LINE),
            "x is not an array of points: can't convert a tensor on another device",
        ),
        (
            lambda: api.sospa(np.ma.masked_less([[0.0, -1]], 0), LINE),
            "x has 1 masked values. Fill or remove them first",
        ),
        (
            lambda: api.chamfer([[0, 0], [1e155, 0]], LINE),
            "x and y are too far apart: distances must be below 1e154 metres, and a coordinate is 1e+155",
        ),
        (
            lambda: api.frechet(LINE, [[0, 0], [0, -1.7e308]]),
            "x and y are too far apart: distances must be below 1e154 metres, and a coordinate is 1.7e+308",
        ),
        (
            lambda: api.sospa([[0, 0, 0]], LINE),
            "x and y must have the same number of coordinates, got 3 for x and 2 for y",
        ),
        (lambda: api.sospa(None, LINE), "x must hold numbers, got values of type object"),
        (
            lambda: api.sospa(shapely.Point(0, 0), LINE),
            "x is a Point, expected a LineString, a LinearRing or a Polygon",
        ),
        (lambda: api.sospa(LINE, LINE, cutoff=0), "cutoff must be a positive length in metres, got 0"),
        (lambda: api.sospa(LINE, LINE, cutoff=-1.5), "cutoff must be a positive length in metres, got -1.5"),
        (lambda: api.sospa(LINE, LINE, cutoff=math.nan), "cutoff must be a positive length in metres, got nan"),
        (lambda: api.sospa(LINE, LINE, cutoff=math.inf), "cutoff must be a positive length in metres, got inf"),
        (lambda: api.sospa(LINE, LINE, cutoff=1e-200), "cutoff must be a positive length in metres, got 1e-200"),
        (lambda: api.sospa(LINE, LINE, cutoff="1.5"), "cutoff must be a positive length in metres, got '1.5'"),
        (lambda: api.sospa(LINE, LINE, cutoff=[1, 2]), "cutoff must be a positive length in metres, got [1, 2]"),
        (lambda: api.sospa(LINE, LINE, cutoff=True), "cutoff must be a positive length in metres, got True"),
        (lambda: api.sospa(LINE, LINE, order=0.5), "order must be a number from 1 to 32, got 0.5"),
        (lambda: api.sospa(LINE, LINE, order=math.inf), "order must be a number from 1 to 32, got inf"),
        (lambda: api.sospa(LINE, LINE, order=math.nan), "order must be a number from 1 to 32, got nan"),
        (lambda: api.sospa(LINE, LINE, closed="yes"), "closed must be True, False or \"auto\", got 'yes'"),
        (lambda: api.sospa(LINE, LINE, closed=1), 'closed must be True, False or "auto", got 1'),
        (lambda: api.sospa(LINE, LINE, order=40), "order must be a number from 1 to 32, got 40"),
        (lambda: api.sospa(LINE, LINE, cutoff=10**400), "cutoff must be a positive length in metres, got 1000"),
        (
            lambda: api.sospa(LINE, LINE, cutoff=np.array([1.5])),
            "cutoff must be a positive length in metres, got array",
        ),
        (lambda: api.sospa(LINE, LINE, closed=np.array([True])), 'closed must be True, False or "auto", got array'),
        (lambda: api.sospa(np.empty((3, 0)), LINE), "x has shape (3, 0), expected (n, dimension)"),
        (lambda: api.sospa([[]], LINE), "x has shape (1, 0), expected (n, dimension)"),
        (lambda: api.sospa(LINE, LINE, closed=[True]), 'closed must be True, False or "auto", got [True]'),
        (lambda: api.sospa(LINE, LINE, directed="no"), "directed must be True or False, got 'no'"),
        (lambda: api.sospa(LINE, LINE, normalised=0), "normalised must be True or False, got 0"),
        (
            lambda: api.sospa(LINE, LINE, closed="auto", closed_tolerance=-1),
            "closed_tolerance must be a length of at least 0",
        ),
        (lambda: api.frechet(LINE, LINE, directed=None), "directed must be True or False, got None"),
        (lambda: api.sospa_from_distances([1, 2]), "matrix must have shape (n, m), got (2,)"),
        (lambda: api.sospa_from_distances([[1, -2]]), "matrix[0, 1] is -2.0, expected a finite distance of at least 0"),
        (lambda: api.sospa_from_distances([[math.inf]]), "matrix[0, 0] is inf"),
        (lambda: api.sospa_from_distances([[1], [1, 2]]), "matrix must be a (n, m) array of distances"),
        (lambda: api.sospa_from_distances([["a"]]), "matrix must hold distances, got values of type <U1"),
        (
            lambda: api.sospa_from_distances([[1]], closed="auto"),
            'closed must be True or False ("auto" needs the points)',
        ),
        (lambda: api.sospa_matrix(LINE, [LINE]), "xs[0] is one flat list of 2 numbers"),
        (lambda: api.sospa_matrix([LINE], [LINE, [[0, 0, 0]]]), "ys[1]: points have 3 coordinates, expected 2"),
        (lambda: api.sospa_matrix([LINE, [[0, 0, 0]]], [LINE]), "xs[1]: points have 3 coordinates, expected 2"),
        (lambda: api.sospa_matrix(7, [LINE]), "xs must be a sequence of polylines, got 7"),
        (lambda: api.sospa_matrix({"a": LINE}, [LINE]), "xs must be a sequence of polylines, got a dict"),
        (
            lambda: api.sospa_matrix(shapely.LineString(LINE), []),
            "xs must be a sequence of polylines, got one LineString",
        ),
        (lambda: api.pld([LINE], [LINE, [[0, math.nan]]]), "truth[1]: coordinate 1 of point 0 is nan"),
        (lambda: api.pld([LINE], [LINE], confidence=[0.5, 0.5]), "confidence must be 1 numbers, one per prediction"),
        (
            lambda: api.pld([LINE], [LINE], confidence=0.5),
            "confidence must be 1 numbers, one per prediction, got shape ()",
        ),
        (
            lambda: api.pld([LINE], [LINE], confidence=[4.2]),
            "confidence 0 is 4.2, expected a number in [0, 1]. Apply a sigmoid to logits",
        ),
        (
            lambda: api.pld([LINE] * 3, [LINE], confidence=[1, -1, 2]),
            "confidence 1 is -1.0, expected a number in [0, 1] (2 of 3",
        ),
        (lambda: api.pld([LINE], [LINE], confidence=[math.nan]), "confidence 0 is nan"),
        (
            lambda: api.pld([LINE], [LINE], confidence=["1"]),
            "confidence must be numbers in [0, 1], got values of type <U1",
        ),
        (lambda: api.pld([LINE], [LINE], truth_confidence=[1.5]), "truth_confidence 0 is 1.5"),
        (lambda: api.resample(LINE), "give either spacing (metres) or count (points), got neither"),
        (lambda: api.resample(LINE, spacing=1, count=3), "got spacing=1 and count=3"),
        (lambda: api.resample(LINE, spacing=0), "spacing must be a positive length in metres, got 0"),
        (lambda: api.resample(LINE, count=1), "count must be a whole number of at least 2, got 1"),
        (lambda: api.resample(LINE, count=2.5), "count must be a whole number of at least 2, got 2.5"),
        (lambda: api.resample([[0, 0], [1e300, 0]], spacing=1), "x is inf m long, too long to resample"),
        (
            lambda: api.resample([[0, 0], [1e12, 0]], spacing=0.5),
            "x is 1e+12 m long, too long to resample at a spacing",
        ),
        (lambda: api.Polylines.of("abc"), "polylines must be a sequence of polylines, got a str"),
    ],
)
def test_bad_input_is_refused_with_a_reason(call: Callable[[], object], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=re.escape(message)) as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, mg.MapgaugeError)


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        tuple(map(tuple, LINE)),
        np.array(LINE, np.float32),
        np.array(LINE, np.int8),
        np.array(LINE)[::-1][::-1],
        np.asfortranarray(LINE),
        shapely.LineString(LINE),
    ],
    ids=["list", "tuple", "float32", "int8", "view", "fortran", "shapely"],
)
def test_a_polyline_is_anything_array_like(line: object) -> None:
    assert mg.sospa(line, LINE) == 0
    assert mg.sospa_matrix([line], [LINE]).tolist() == [[0.0]]


def test_shapely_geometries_of_all_kinds() -> None:
    ring = [[0, 0], [2, 0], [2, 2], [0, 2]]
    turned = [[2, 2], [0, 2], [0, 0], [2, 0]]
    polygon = shapely.Polygon(ring)
    assert mg.sospa(polygon, shapely.LinearRing(turned), closed=True) == 0
    assert mg.sospa(polygon, turned, closed=True) == 0
    assert mg.sospa(polygon, shapely.LinearRing(turned), closed="auto") == 0
    assert mg.sospa(shapely.LineString(), LINE, normalised=True) == 1
    assert mg.sospa(shapely.LineString([[0, 0, 5], [1, 0, 5]]), [[0, 0, 5], [1, 0, 5]]) == 0
    assert mg.sospa_matrix(shapely.MultiLineString([LINE, ring]), [LINE]).shape == (2, 1)
    assert mg.pld([polygon], [turned], closed=True).value == 0
    holed = shapely.Polygon(ring, holes=[[[0.5, 0.5], [1, 0.5], [1, 1]]])
    with pytest.raises(mg.InvalidInput, match=r"a, area\[0\] .*with a hole"):
        mg.MapFrames.of({"a": {"area": [holed]}})
    with pytest.raises(mg.InvalidInput, match=r"x is a Polygon with a hole"):
        mg.sospa(holed, ring)


def test_empty_polylines_and_sets() -> None:
    empties: list[Any] = [[], np.empty((0, 2)), np.empty((0, 3)), np.empty((0, 0))]
    for empty in empties:
        assert mg.sospa(empty, empty) == 0
        assert mg.sospa(empty, LINE) == 0.75 * 3
        assert mg.sospa(LINE, empty, normalised=True, closed=True, directed=False) == 1
        assert mg.chamfer(empty, empty) == mg.frechet(empty, empty) == 0
        assert mg.chamfer(empty, LINE) == mg.frechet(LINE, empty) == math.inf
        assert mg.resample(empty, spacing=1).shape[0] == 0
    assert mg.sospa_from_distances(np.empty((0, 3))) == 0.75 * 3
    assert mg.sospa_from_distances(np.empty((0, 0)), normalised=True) == 0
    assert mg.sospa_matrix([], []).shape == (0, 0)
    assert mg.sospa_matrix([], [LINE]).shape == (0, 1)
    assert mg.sospa_matrix([[], LINE], [[], LINE], normalised=True).tolist() == [[0, 1], [1, 0]]


def test_pld_with_one_side_empty() -> None:
    nothing, everything = mg.pld([], []), mg.pld([], [LINE, LINE])
    assert (nothing.value, nothing.normalised, nothing.mass) == (0, 0, 0)
    assert nothing.normalised_parts == mg.Parts(0, 0, 0, 0, 0)
    assert (everything.value, everything.normalised, everything.parts.missed) == (1, 1, 1)
    false = mg.pld([LINE, LINE], [], confidence=[0.5, 0.1])
    assert (false.normalised, false.parts.false) == (1, 0.3)
    hardly = mg.pld([LINE], [], confidence=[2e-313])
    assert hardly.normalised_parts == mg.Parts(0, 0, 0, 0, 1)
    unsure = mg.pld([LINE], [LINE], confidence=[0])
    assert unsure.parts.missed == unsure.value == 0.5
    assert unsure.assignment is not None
    assert len(unsure.assignment) == 0


def test_the_closing_point() -> None:
    square = np.array([[0.0, 0], [4, 0], [4, 4], [0, 4], [0, 0]])
    other = np.array([[4.0, 4], [0, 4], [0, 0], [4, 0], [4, 4]])
    almost = square.copy()
    almost[-1] = 0.05, 0
    assert mg.sospa(square, other, closed=True) == 0
    assert mg.sospa(square, other, closed="auto") == 0
    assert mg.sospa(almost, other, closed="auto") == 0  # within 0.1 m: a closing point, dropped
    assert mg.sospa(almost, other, closed=True) == 0.75  # a point of its own
    assert mg.sospa(almost, other, closed="auto", closed_tolerance=0.01) == 0.75
    assert mg.sospa(almost, almost[::-1], closed="auto", closed_tolerance=0.01) > 0
    assert mg.sospa(square, square[:4], closed="auto") == 0  # compared as polygons if either is one
    assert mg.sospa([[0, 0], [0, 0]], [[0, 0]], closed=True) == 0.75  # two points are no ring


def test_frechet_and_chamfer_take_closing_points_as_documented() -> None:
    square = np.array([[0.0, 0], [4, 0], [4, 4], [0, 4], [0, 0]])
    turned = np.array([[4.0, 4], [0, 4], [0, 0], [4, 0]])
    assert mg.frechet(square, turned, closed="auto") == 0
    assert mg.frechet(square, turned) > 4
    assert mg.chamfer(square, turned) == 0


def test_far_and_huge_coordinates_give_finite_results() -> None:
    x, y = np.array([[0.0, 0], [1e200, 0]]), np.array([[0.0, 0.5], [-1e308, 1e308]])
    assert mg.sospa(x, y) == 2.0
    assert mg.sospa(x, y, order=3, closed=True, directed=False, normalised=True) < 1
    assert mg.pld([x], [y]).normalised < 1
    assert mg.sospa([[1e6, 5e6], [1e6 + 1, 5e6]], [[1e6, 5e6 + 0.5], [1e6 + 1, 5e6 + 0.5]]) == 1.0


def test_inputs_are_not_changed() -> None:
    x, y = np.array(LINE), np.array(LINE) + 0.25
    before = x.copy(), y.copy()
    mg.sospa_align(x, y, directed=False, closed=True)
    mg.pld([x], [y])
    mg.resample(x, spacing=0.3)
    assert np.array_equal(x, before[0])
    assert np.array_equal(y, before[1])
