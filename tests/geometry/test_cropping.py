"""Tests cropping to a region, by hand and against shapely."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from shapely import line_merge
from shapely.geometry import LineString, MultiLineString, Point, box
from tests.arrays import Points
from tests.strategies import polylines

import mapgauge as mg


def crop(*lines: object, region: object = (4, 2)) -> list[list[list[float]]]:
    frames = mg.MapFrames.of({"a": {"divider": list(lines)}})
    return [piece.tolist() for piece in frames.crop(region).polylines]  # type: ignore[arg-type]


def test_a_line_inside_is_untouched() -> None:
    assert crop([[-2, -1], [0.1, 0.2], [2, 1]]) == [[[-2, -1], [0.1, 0.2], [2, 1]]]


def test_a_line_outside_is_gone() -> None:
    assert crop([[3, 0], [9, 0]], [[-3, -3], [-3, 3]]) == []


def test_a_line_is_cut_where_it_crosses_the_edge() -> None:
    assert crop([[0, 0], [4, 2]]) == [[[0, 0], [2, 1]]]
    assert crop([[-9, 0.5], [9, 0.5]]) == [[[-2, 0.5], [2, 0.5]]]


def test_a_line_that_leaves_and_comes_back_gives_two_pieces() -> None:
    line = [[0, 0], [0, 3], [1, 3], [1, 0]]
    assert crop(line) == [[[0, 0], [0, 1]], [[1, 1], [1, 0]]]
    frames = mg.MapFrames.of({"a": {"boundary": [[[0, 0], [1, 0]]], "divider": [line]}})
    assert [piece.class_name for piece in frames.crop((4, 2))["a"]] == ["boundary", "divider", "divider"]


def test_touching_the_edge_in_a_point_is_not_being_inside() -> None:
    assert crop([[3, 0], [2, 0], [3, 1]]) == []
    assert crop([[1, 2], [3, 0]]) == []  # through the corner


def test_running_along_the_edge_is_being_inside() -> None:
    assert crop([[-1, 1], [1, 1]]) == [[[-1, 1], [1, 1]]]
    assert crop([[-5, 1], [5, 1]]) == [[[-2, 1], [2, 1]]]


def test_a_polygon_that_starts_inside_is_cut_into_one_piece() -> None:
    ring = [[0, 0], [4, 0], [4, 0.5], [0, 0.5], [0, 0]]
    assert crop(ring) == [[[2, 0.5], [0, 0.5], [0, 0], [2, 0]]]


def test_height_is_interpolated_along_the_cut() -> None:
    assert crop([[0, 0, 0], [4, 0, 8]]) == [[[0, 0, 0], [2, 0, 4]]]


def test_a_region_may_have_any_place() -> None:
    assert crop([[0, 0], [9, 0]], region=(2, -1, 5, 1)) == [[[2, 0], [5, 0]]]


@pytest.mark.parametrize("region", [(4,), (0, 2), (-4, 2), (1, 2, 0, 3), (4, np.nan), "60x30", None, (4, 2, 1)])
def test_a_region_that_is_none_is_refused(region: object) -> None:
    with pytest.raises(mg.InvalidInput, match="region must be"):
        crop([[0, 0], [1, 1]], region=region)


def test_a_repeated_point_that_touches_the_edge_is_not_a_piece() -> None:
    assert crop([[3, 0], [2, 0], [2, 0], [3, 1]]) == []
    assert crop([[1, 2], [1, 1], [1, 1], [1, 1], [3, 3], [0, 3], [0, 0]]) == [[[0, 1], [0, 0]]]


def test_a_line_that_leaves_and_comes_back_at_one_point_gives_two_pieces() -> None:
    assert crop([[0, 0], [2, 0], [3, 0], [2, 0], [1, 1]]) == [[[0, 0], [2, 0]], [[2, 0], [1, 1]]]
    assert crop([[0, 0], [2, 0], [2, 0], [1, 1], [0, 9]])[0] == [[0, 0], [2, 0], [2, 0], [1, 1]]  # it never left


def test_a_polygon_that_starts_outside_is_not_joined_at_the_edge() -> None:
    ring = [[3, 0], [2, 0], [1, 1], [0, 9], [0, 0], [2, 0], [3, 0]]
    assert crop(ring) == [[[2, 0], [1, 1]], [[0, 1], [0, 0], [2, 0]]]


def by_segments(points: Points) -> list[list[list[float]]]:
    """Pieces within the square of side 4, where shapely cuts one segment at a time."""
    square = box(-2, -2, 2, 2)
    pieces: list[list[list[float]]] = []
    together = False  # whether the segment before was inside up to its end
    for start, end in pairwise(points.tolist()):
        if start == end:
            if together:
                pieces[-1].append(end)
            elif square.covers(Point(start)):
                pieces.append([start, end])
                together = True
            continue
        inside = LineString([start, end]).intersection(square)
        if inside.geom_type != "LineString" or inside.is_empty:
            together = False
            continue
        first, last = sorted(map(list, inside.coords), key=lambda point: math.dist(point, start))
        if together and first == start:
            pieces[-1].append(last)
        else:
            pieces.append([first, last])
        together = last == end
    return [piece for piece in pieces if any(point != piece[0] for point in piece)]


def test_pieces_of_lattice_lines_are_those_of_shapely(rng: np.random.Generator) -> None:
    lines = [rng.integers(-3, 4, (int(rng.integers(2, 9)), 2)).astype(np.float64) for _ in range(1000)]
    compared = 0
    for line in lines:
        if (line[0] == line[-1]).all():
            continue  # polygons are joined at their first point
        found, expected = crop(line, region=(4, 4)), by_segments(line)
        if (np.abs(line) > 2).any():
            assert len(found) == len(expected)
            for mine, theirs in zip(found, expected, strict=True):
                assert np.allclose(mine, theirs, rtol=0, atol=1e-12)
        shape = LineString(line)
        if shape.is_simple and (np.abs(line) > 2).any():  # shapely splits other lines where they cross themselves
            inside = shape.intersection(box(-2, -2, 2, 2))
            parts = [part for part in getattr(inside, "geoms", [inside]) if part.length > 0]
            merged = line_merge(MultiLineString(parts))  # shapely also splits a line where it touches the edge
            lengths = sorted(part.length for part in getattr(merged, "geoms", [merged]))
            assert np.allclose(sorted(LineString(piece).length for piece in found), lengths, rtol=0, atol=1e-12)
            compared += 1
    assert compared > 125


@given(polylines(8).filter(lambda points: len(points) > 1))
def test_pieces_are_what_shapely_finds_inside(points: Points) -> None:
    pieces = crop(points, region=(6, 4))
    inside = LineString(points).intersection(box(-3, -2, 3, 2))
    # shapely's overlay counts a stretch that is walked twice only once, so lengths are compared segment by segment.
    expected = sum(LineString(points[i : i + 2]).intersection(box(-3, -2, 3, 2)).length for i in range(len(points) - 1))
    assert sum(LineString(piece).length for piece in pieces) == pytest.approx(expected, abs=1e-9)
    for piece in pieces:
        assert (np.abs(piece) <= (3, 2)).all()
        assert inside.buffer(1e-6).contains(LineString(piece)) or LineString(piece).length < 1e-6
