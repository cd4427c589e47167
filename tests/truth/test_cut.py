"""Cutting, checked by hand and against the intersections of shapely that the public repositories use."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray
from shapely.geometry import LineString, MultiPolygon, Polygon
from shapely.ops import linemerge
from tests.arrays import Points

from mapgauge.geometry.poses import level
from mapgauge.truth.cutting.fragments import cut_lines, cut_polygons
from mapgauge.truth.cutting.shapes import Layer, Patches, union_boundaries, valid_polygons
from mapgauge.truth.rules import RULES

REGION = (60.0, 30.0)
PLAIN = RULES["nuscenes", "mapgauge"]


def pose(x: float, y: float, yaw: float, pitch: float = 0.0, roll: float = 0.0) -> NDArray[np.float64]:
    """Angles in degrees: roll first, then pitch, then yaw."""
    made = np.eye(4)
    for angle, (a, b) in ((yaw, (0, 1)), (pitch, (2, 0)), (roll, (1, 2))):
        turn = np.eye(4)
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        turn[a, a], turn[a, b], turn[b, a], turn[b, b] = c, -s, s, c
        made = made @ turn
    made[:3, 3] = x, y, 0.5
    return made


def somewhere(rng: np.random.Generator) -> NDArray[np.float64]:
    x, y = rng.normal(0, 15, 2)
    return pose(x, y, rng.uniform(0, 360))


def at(*poses: NDArray[np.float64], region: tuple[float, float] = REGION) -> Patches:
    return Patches.of(poses, region)


def line_layer(*lines: list[tuple[float, float]]) -> Layer:
    return Layer.of([LineString(line) for line in lines], [f"line-{k}" for k in range(len(lines))])


def points_of(layer: Layer, where: NDArray[np.float64], grow: float = 0.0) -> list[list[list[float]]]:
    return [fragment.points.round(9).tolist() for fragment in cut_lines(layer, at(where), grow=grow)[0]]


def test_x_is_forward_and_y_to_the_left() -> None:
    north = pose(100, 200, 90)
    assert points_of(line_layer([(99, 203), (99, 210)]), north) == [[[3, 1], [10, 1]]]


def test_a_line_is_cut_at_the_edge_of_the_region() -> None:
    assert points_of(line_layer([(-100, 2), (100, 2)]), pose(0, 0, 0)) == [[[-30, 2], [30, 2]]]
    assert points_of(line_layer([(-100, 2), (100, 2)]), pose(0, 0, 0), grow=-0.2) == [[[-29.8, 2], [29.8, 2]]]


def test_a_line_that_comes_back_gives_two_pieces() -> None:
    pieces = cut_lines(line_layer([(-10, 0), (-10, 20), (10, 20), (10, 0)]), at(pose(0, 0, 0)))[0]
    assert [fragment.points.tolist() for fragment in pieces] == [[[-10, 0], [-10, 15]], [[10, 15], [10, 0]]]
    assert [fragment.along for fragment in pieces] == [(0, 15), (45, 60)]
    assert {fragment.elements for fragment in pieces} == {("line-0",)}


def test_a_line_that_only_touches_the_edge_gives_nothing() -> None:
    assert points_of(line_layer([(-40, 5), (-30, 0), (-40, -5)]), pose(0, 0, 0)) == []


def test_a_closed_line_does_not_break_at_its_first_point() -> None:
    square = line_layer([(0, -5), (0, 20), (40, 20), (40, -5), (0, -5)])  # begins inside
    assert points_of(square, pose(0, 0, 0)) == [[[30, -5], [0, -5], [0, 15]]]


def test_a_closed_line_inside_stays_closed() -> None:
    assert points_of(line_layer([(0, 0), (4, 0), (4, 2), (0, 0)]), pose(0, 0, 0)) == [[[0, 0], [4, 0], [4, 2], [0, 0]]]


def test_roll_and_pitch_do_not_tilt_the_map() -> None:
    line = line_layer([(-100, 2), (100, 2)], [(3, -40), (5, 40)])
    assert points_of(line, pose(1, 2, 30, pitch=8, roll=-5)) == points_of(line, pose(1, 2, 30))


def test_a_level_pose_has_position_and_yaw_only() -> None:
    flat = level(pose(1, 2, 30, pitch=8, roll=-5))
    np.testing.assert_allclose(flat, pose(1, 2, 30), atol=1e-15)


def test_a_quarter_turn_makes_the_y_axis_the_x_axis() -> None:
    np.testing.assert_array_equal(level(pose(1, 2, 30), 1)[:2, 0], level(pose(1, 2, 30))[:2, 1])


def test_many_patches_give_what_one_gives(rng: np.random.Generator) -> None:
    layer = line_layer(*(list(map(tuple, rng.normal(0, 30, (50, 2)))) for _ in range(8)))
    poses = [somewhere(rng) for _ in range(5)]
    together = cut_lines(layer, at(*poses))
    for k, one in enumerate(poses):
        for a, b in zip(cut_lines(layer, at(one))[0], together[k], strict=True):
            np.testing.assert_array_equal(a.points, b.points)


def from_its_least_point(points: Points) -> Points:
    """Return a closed line that starts at its least point."""
    if (points[0] != points[-1]).any():
        return points
    start = int(np.lexsort(points[:-1].round(6).T)[0])
    return np.concatenate([points[start:-1], points[: start + 1]])


def sorted_lines(lines: list[Points]) -> list[Points]:
    return sorted(map(from_its_least_point, lines), key=lambda points: tuple(points.round(6).ravel().tolist()))


def assert_same_lines(ours: list[Points], theirs: list[Points], atol: float = 1e-9) -> None:
    assert len(ours) == len(theirs)
    for a, b in zip(sorted_lines(ours), sorted_lines(theirs), strict=True):
        np.testing.assert_allclose(a, b, atol=atol)


def naive_lines(geometries: list[LineString], where: NDArray[np.float64], grow: float = 0.0) -> list[Points]:
    """Return the intersections of lines with the rectangle, joined where they meet."""
    patches = at(where)
    box = patches.rectangles(grow)[0]
    found = []
    for line in geometries:
        cut = line.intersection(box)
        cut = linemerge(cut) if cut.geom_type == "MultiLineString" else cut
        for part in getattr(cut, "geoms", [cut]):
            if part.geom_type == "LineString" and not part.is_empty:
                coords = np.array(part.coords)
                found.append(patches.to_local(coords, np.zeros(len(coords), np.int64)))
    return found


@pytest.mark.parametrize("closed", [False, True])
def test_lines_are_cut_as_by_intersection(rng: np.random.Generator, closed: bool) -> None:
    for _ in range(30):
        count = int(rng.integers(5, 150))  # more than a run of points in the index
        angles = np.linspace(0, 2 * np.pi, count, endpoint=False) + rng.uniform(0, 6)
        radius = 25 + 15 * np.sin(3 * angles) + rng.normal(0, 0.5, count)
        points = np.column_stack([radius * np.cos(angles), radius * np.sin(angles)])
        points = np.vstack([points, points[:1]]) if closed else points
        where = somewhere(rng)
        layer = Layer.of([LineString(points)], ["line"])
        ours = [fragment.points for fragment in cut_lines(layer, at(where))[0]]
        assert_same_lines(ours, naive_lines([LineString(points)], where))


def naive_borders(polygons: list[Polygon], where: NDArray[np.float64]) -> list[Points]:
    """Return boundaries as the public repositories make them: cut all polygons, unite them, and cut the edges."""
    box = at(where).rectangles()[0]
    union = shapely.union_all([polygon.intersection(box) for polygon in polygons])
    parts = union.geoms if isinstance(union, MultiPolygon) else [union] if isinstance(union, Polygon) else []
    edges = []
    for part in parts:
        for hole, rings in ((False, [part.exterior]), (True, part.interiors)):
            edges += [LineString(ring if ring.is_ccw == hole else ring.reverse()) for ring in rings]
    return naive_lines(edges, where, grow=-0.2)


def crossing_roads(rng: np.random.Generator) -> list[Polygon]:
    roads = []
    for _ in range(6):
        x, y, angle = *rng.uniform(-40, 40, 2), rng.uniform(0, 180)
        road = shapely.affinity.rotate(shapely.box(x - 60, y - 5, x + 60, y + 5), angle)
        roads.append(road)
    return roads


def test_borders_of_the_whole_map_are_those_of_each_frame(rng: np.random.Generator) -> None:
    pieces = 0
    for _ in range(20):
        roads = crossing_roads(rng)
        where = somewhere(rng)
        ours = [fragment.points for fragment in cut_lines(union_boundaries(np.array(roads)), at(where), grow=-0.2)[0]]
        theirs = naive_borders(roads, where)
        pieces += len(ours)
        # Their pieces may be a cut later and have a point more where an edge of a polygon ends on a straight line.
        assert len(ours) == len(theirs)
        simple = [np.array(LineString(points).simplify(1e-9).coords) for points in ours]
        assert_same_lines(simple, [np.array(LineString(points).simplify(1e-9).coords) for points in theirs], 1e-6)
    assert pieces > 60


def test_the_road_is_on_the_right_of_a_border() -> None:
    island = [(-3, -1), (3, -1), (3, 1), (-3, 1)]
    road = Polygon([(-100, -7), (100, -7), (100, 7), (-100, 7)], [island])
    pieces = [
        fragment.points.tolist() for fragment in cut_lines(union_boundaries(np.array([road])), at(pose(0, 0, 0)))[0]
    ]
    assert [[-30, 7], [30, 7]] in pieces
    assert [[30, -7], [-30, -7]] in pieces
    (ring,) = (np.array(line) for line in pieces if len(line) == 5)
    assert Polygon(ring).exterior.is_ccw


def test_polygons_next_to_each_other_have_no_border_between_them() -> None:
    lanes = np.array([shapely.box(-50, 0, 50, 4), shapely.box(-50, -4, 50, 0)])
    assert [len(pieces) for pieces in cut_lines(union_boundaries(lanes), at(pose(0, 0, 0)))] == [2]


def rings(polygon: Polygon, where: NDArray[np.float64], **how: object) -> list[list[list[float]]]:
    found = cut_polygons(Layer.of([polygon], ["a"]), at(where), replace(PLAIN, **how))[0]  # type: ignore[arg-type]
    return [fragment.points.round(9).tolist() for fragment in found]


def test_a_polygon_that_is_cut_is_closed_along_the_edge() -> None:
    (ring,) = rings(shapely.box(28, -2, 40, 2), pose(0, 0, 0))
    assert ring[0] == ring[-1]
    assert sorted(map(tuple, ring[:-1])) == [(28, -2), (28, 2), (30, -2), (30, 2)]


@pytest.mark.parametrize("clockwise", [False, True])
def test_outlines_and_holes_go_opposite_ways(clockwise: bool) -> None:
    polygon = Polygon(shapely.box(-5, -5, 5, 5).exterior, [shapely.box(-1, -1, 1, 1).exterior])
    outline, hole = rings(polygon, pose(0, 0, 20), crossing_clockwise=clockwise, crossing_holes=True)
    assert Polygon(outline).exterior.is_ccw != clockwise
    assert Polygon(hole).exterior.is_ccw == clockwise
    assert len(rings(polygon, pose(0, 0, 20))) == 1


def test_an_outline_may_end_at_the_edge() -> None:
    assert rings(shapely.box(28, -2, 40, 2), pose(0, 0, 0), crossing_cut=-0.2) == [
        [[29.8, 2], [28, 2], [28, -2], [29.8, -2]]
    ]
    inside = rings(shapely.box(20, -2, 24, 2), pose(0, 0, 0), crossing_cut=-0.2)
    assert len(inside[0]) == 5


def test_a_polygon_that_only_touches_the_edge_gives_nothing() -> None:
    assert rings(shapely.box(30, -2, 40, 2), pose(0, 0, 0)) == []


def test_a_polygon_that_crosses_itself_is_repaired_and_named() -> None:
    bow = Polygon([(0, 0), (4, 4), (4, 0), (0, 4)])
    layer, repaired = valid_polygons(np.array([shapely.box(9, 9, 10, 10), bow]), ["sound", "bow"])
    assert repaired == ["bow"]
    assert layer.ids == ("sound", "bow", "bow")
    assert shapely.is_valid(layer.geometries).all()


def test_a_patch_far_from_everything_shows_nothing() -> None:
    where = at(pose(1000, 0, 0), pose(0, 1000, 0))
    assert cut_lines(line_layer([(-9, 2), (9, 2)], [(0, 0), (4, 0), (4, 2), (0, 0)]), where) == [[], []]
    assert cut_polygons(Layer.of([shapely.box(0, 0, 2, 2)], ["a"]), where, PLAIN) == [[], []]


def test_no_patches_show_nothing() -> None:
    assert cut_lines(line_layer([(-9, 2), (9, 2)]), at()) == []
    assert cut_polygons(Layer.of([shapely.box(0, 0, 2, 2)], ["a"]), at(), PLAIN) == []


def test_an_empty_layer_gives_nothing() -> None:
    nothing = Layer.of([], [])
    assert cut_lines(nothing, at(pose(0, 0, 0))) == [[]]
    assert cut_polygons(nothing, at(pose(0, 0, 0)), PLAIN) == [[]]
    assert len(union_boundaries(np.array([], object))) == 0
