"""What the public converters of nuScenes do that a map does not say, in small cities, each by hand."""

import math
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import shapely
from numpy.typing import NDArray
from shapely.affinity import rotate, translate
from tests.arrays import Points
from tests.truth.nuscenes_city import LIDAR_AT, MINI, City, rectangle

import mapgauge as mg
from mapgauge import truth
from mapgauge.geometry.poses import rotations
from mapgauge.truth.cutting.crossings import rectangle_sides
from mapgauge.truth.cutting.shapes import cut_to_one_line
from mapgauge.truth.datasets import Frame
from mapgauge.truth.from_nuscenes.frame_by_frame import PlacedBoxes
from mapgauge.truth.from_nuscenes.scenes import NuScenes, matrices_of, quaternion_of
from mapgauge.truth.rules import rules_named
from mapgauge.truth.selection import FrameSelection

PUBLIC = ("streammapnet", "maptr", "maptracker")
SCENE = "scene-0103"


def cut(city: City, root: Path, rules: str, *poses: tuple[float, ...]) -> mg.MapFrames:
    for table in ("scene", "sample", "sample_data", "ego_pose"):
        city.tables[table].clear()
    city.scene(SCENE, poses or [(0, 0, 0)])
    return truth.nuscenes(city.write(root), version=MINI, scenes=[SCENE], rules=rules)


def of_class(frames: mg.MapFrames, class_name: str, frame: int = 0) -> list[Points]:
    return [one.points for one in frames[f"{SCENE}-{frame}"] if one.class_name == class_name]


@pytest.mark.parametrize("first", range(4))
def test_the_first_point_of_a_ring_is_that_of_the_cut_polygon_also_inside(tmp_path: Path, first: int) -> None:
    corners = [(4.0, -3.0), (9.0, -3.5), (9.5, 3.0), (4.5, 3.5)]
    outline = corners[first:] + corners[:first]
    city = City()
    city.polygon("ped_crossing", outline, "crossing")
    (ring,) = of_class(cut(city, tmp_path, "streammapnet"), "ped_crossing")
    expected = shapely.Polygon(outline).intersection(shapely.box(-30, -15, 30, 15)).exterior
    expected = expected if expected.is_ccw else shapely.reverse(expected)
    np.testing.assert_allclose(ring, shapely.get_coordinates(expected), atol=1e-9)
    (kept,) = of_class(cut(city, tmp_path, "mapgauge"), "ped_crossing")
    np.testing.assert_allclose(kept[0], outline[0], atol=1e-9)


@pytest.mark.parametrize("rules", PUBLIC)
def test_invalid_polygons_are_skipped_and_counted(tmp_path: Path, rules: str) -> None:
    city = City()
    city.polygon("ped_crossing", [(0, 0), (8, 6), (8, 0), (0, 6)], "bow-tie")
    city.polygon("lane", [(0, -10), (20, -4), (20, -10), (0, -4)], "twisted")
    city.polygon("lane", rectangle(-200, -14, 200, -12), "lane")
    frames = cut(city, tmp_path, rules)
    assert of_class(frames, "ped_crossing") == []
    assert len(of_class(frames, "boundary")) == 2
    (finding,) = frames.findings
    assert (finding.code, finding.count, set(finding.examples)) == ("polygons-skipped", 2, {"bow-tie", "twisted"})
    assert 'rules="mapgauge"' in str(finding)
    assert "--rules mapgauge" in finding.for_shell()
    repaired = cut(city, tmp_path, "mapgauge")
    assert len(of_class(repaired, "ped_crossing")) == 2
    assert [finding.code for finding in repaired.findings] == ["polygons-repaired"]


def test_a_line_that_crosses_itself_falls_apart_there(tmp_path: Path) -> None:
    city = City()
    city.line("road_divider", [(-20, 0), (10, 0), (10, 8), (2, 8), (2, -8)], "loop")
    for rules in PUBLIC:
        parts = of_class(cut(city, tmp_path, rules), "divider")
        assert sorted(round(shapely.LineString(part).length, 6) for part in parts) == [8, 22, 32]
    (whole,) = of_class(cut(city, tmp_path, "mapgauge"), "divider")
    assert shapely.LineString(whole).length == pytest.approx(62)


def test_parts_of_a_line_that_crosses_itself_keep_their_names(tmp_path: Path) -> None:
    city = City()
    city.line("road_divider", [(-20, 0), (10, 0), (10, 8), (2, 8), (2, -8)], "loop")
    frames = cut(city, tmp_path, "maptr", (0, 0, 0), (1, 0, 0))
    tracks = [[instance.track for instance in frames[token]] for token in frames.tokens]
    assert tracks[0] == tracks[1]
    assert sorted(map(str, tracks[0])) == ["loop", "loop#1", "loop#2"]


def touching_city() -> City:
    """A straight road of four lanes. Corners of their polygons lie on the edges of the polygons beside them."""
    city = City()
    for lane in range(4):
        ends = [100, *range(117 + 11 * lane, 500, 37), 500]
        for start, stop in pairwise(ends):
            city.polygon("lane", rectangle(start, 300 + 4 * lane, stop, 304 + 4 * lane), f"lane-{lane}-{start}")
    return city


POSES = [(150.0 + 7.3 * k, 307.0 + 0.1 * k, 7.7 * k) for k in range(40)]


def boundary_of_the_union(city: City, frame: Frame, degrees: float, sides: tuple[float, float]) -> float:
    """Return the length of the boundary: every polygon is cut in the map, turned, then all are united."""
    x, y = frame.pose[:2, 3].tolist()
    nodes = {node["token"]: (node["x"], node["y"]) for node in city.map["node"]}
    box = shapely.box(x - sides[0] / 2, y - sides[1] / 2, x + sides[0] / 2, y + sides[1] / 2)
    box = rotate(box, degrees, origin=(x, y))
    shapes = [shapely.Polygon([nodes[token] for token in one["exterior_node_tokens"]]) for one in city.map["polygon"]]
    pieces = [shape.intersection(box) for shape in shapes]
    turned = [translate(rotate(one, -degrees, origin=(x, y)), -x, -y) for one in pieces if not one.is_empty]
    inner = shapely.box(0.2 - sides[0] / 2, 0.2 - sides[1] / 2, sides[0] / 2 - 0.2, sides[1] / 2 - 0.2)
    return float(shapely.length(shapely.union_all(turned).boundary.intersection(inner)))


def lengths(frames: mg.MapFrames) -> NDArray[np.float64]:
    """Return the length of the boundaries of each frame."""
    return np.array(
        [sum(shapely.LineString(one).length for one in of_class(frames, "boundary", k)) for k in range(len(frames))]
    )


@pytest.mark.parametrize("rules", PUBLIC)
def test_boundaries_are_of_a_union_in_each_frame_in_the_axes_of_the_converter(tmp_path: Path, rules: str) -> None:
    city = touching_city()
    frames, whole = cut(city, tmp_path, rules, *POSES), cut(city, tmp_path, "mapgauge", *POSES)
    chosen = rules_named("nuscenes", rules)
    (scene,) = NuScenes(tmp_path, MINI, FrameSelection.of("val", [SCENE], None, 1), chosen).scenes()
    region = (60.0, 30.0) if rules == "streammapnet" else (30.0, 60.0)
    expected = [boundary_of_the_union(city, frame, frame.heading, region) for frame in scene.frames]
    np.testing.assert_allclose(lengths(frames), expected, atol=0.5)  # lines are simplified to 0.2 m
    if rules == "streammapnet":
        assert np.sum(expected > lengths(whole) + 1) > 5  # slits, where the boundary runs across the road
    other = [boundary_of_the_union(city, frame, frame.heading + 90, region[::-1]) for frame in scene.frames]
    assert np.sum(np.abs(lengths(frames) - other) > 1) > 5  # the axes decide where slits are


@pytest.mark.parametrize("rules", PUBLIC)
def test_the_heading_is_that_of_the_x_axis_of_the_centre(tmp_path: Path, rules: str) -> None:
    cut(touching_city(), tmp_path, rules, (150, 307, 25), (150, 307, 25, 3, -2))
    chosen = rules_named("nuscenes", rules)
    (scene,) = NuScenes(tmp_path, MINI, FrameSelection.of("val", [SCENE], None, 1), chosen).scenes()
    for frame, off in zip(scene.frames, (1e-9, 0.2), strict=True):
        assert frame.heading == pytest.approx(25 if rules == "streammapnet" else -65, abs=off)
        ahead = math.degrees(math.atan2(frame.pose[1, 0], frame.pose[0, 0]))
        assert ahead == pytest.approx(frame.heading + (0 if rules == "streammapnet" else 90))


def test_maptracker_has_the_boundaries_of_maptr_turned_at_last(tmp_path: Path) -> None:
    city = touching_city()
    maptr, maptracker = (cut(city, tmp_path, rules, *POSES[:5]) for rules in ("maptr", "maptracker"))
    for k in range(5):
        one, other = (of_class(frames, "boundary", k) for frames in (maptr, maptracker))
        assert len(one) == len(other)
        for line, simplified in zip(one, other, strict=True):
            turned = np.column_stack([line[:, 1], -line[:, 0]])
            assert (simplified[0] == turned[0]).all()  # to the last bit
            assert (simplified[-1] == turned[-1]).all()


def test_an_outline_is_cut_again_as_a_line() -> None:
    box = shapely.box(0, 0, 10, 10)
    beyond = 10 + 1e-9  # by rounding, an edge along the box may lie outside
    rings = np.array(
        [
            shapely.LinearRing([(4, 4), (6, 4), (6, 6), (4, 6)]),
            shapely.LinearRing([(beyond, 2), (beyond, 6), (7, 6), (7, 2)]),
            shapely.LinearRing([(7, 2), (beyond, 2), (beyond, 6), (7, 6)]),
            shapely.LinearRing([(-1, 3), (11, 3), (11, 5), (-1, 5)]),
            shapely.LinearRing([(20, 20), (30, 20), (30, 30)]),
        ],
        object,
    )
    inside, one_arc, two_arcs, across, away = cut_to_one_line(rings, box, close=False)
    assert inside is not None
    assert (inside[0] == inside[-1]).all()
    assert one_arc is not None
    np.testing.assert_allclose(one_arc, [(10, 6), (7, 6), (7, 2), (10, 2)])  # the outline stays open
    assert two_arcs is not None
    np.testing.assert_allclose(two_arcs, [(10, 6), (7, 6), (7, 2), (10, 2), (10, 6)])  # it fell apart at (7, 2)
    assert across is not None
    assert len(across) == 5  # both arcs are one line, which is closed
    assert away is None
    closed = cut_to_one_line(rings, box, close=True)[1]
    assert closed is not None
    np.testing.assert_allclose(closed, [(10, 6), (7, 6), (7, 2), (10, 2), (10, 6)])


@pytest.mark.parametrize(("forward", "degrees"), [("x", 90.0), ("y", 0.0)])
def test_boxes_are_placed_and_points_turned_about_their_centres(forward: Literal["x", "y"], degrees: float) -> None:
    boxes = PlacedBoxes.of(np.array([(100, 200)]), [degrees], (60, 30), forward)  # the vehicle looks north
    assert shapely.bounds(boxes.in_map()).round(9).tolist() == [[85, 170, 115, 230]]
    line, first = np.array([shapely.LineString([(90, 220), (95, 220)])], object), np.array([0])
    local = boxes.to_local(line, first)
    np.testing.assert_allclose(boxes.facing_x(shapely.get_coordinates(local)), [(20, 10), (20, 5)], atol=1e-9)
    back = shapely.get_coordinates(boxes.to_map(local, first))
    np.testing.assert_allclose(back, [(90, 220), (95, 220)], atol=1e-9)


def test_headings_are_rounded_as_the_converters_do_and_right() -> None:
    quaternions = np.random.default_rng(3).normal(size=(500, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1)[:, None]
    found = matrices_of(quaternions)
    np.testing.assert_allclose(found, rotations(quaternions), atol=1e-14)
    assert (found != rotations(quaternions)).any()
    back = np.array([quaternion_of(matrix) for matrix in found])
    np.testing.assert_allclose(np.abs((back * quaternions).sum(axis=1)), 1, atol=1e-14)
    assert matrices_of(np.zeros((0, 4))).shape == (0, 3, 3)


def test_sides_of_the_smallest_rectangle() -> None:
    generator = np.random.default_rng(4)
    polygons = shapely.convex_hull(shapely.multipoints(generator.normal(size=(200, 7, 2)) * (9, 2)))
    sides = rectangle_sides(polygons)
    around = shapely.get_coordinates(shapely.oriented_envelope(polygons)).reshape(-1, 5, 2)
    steps = np.diff(around[:, :3], axis=1)
    lengths = np.hypot(*np.moveaxis(steps, -1, 0))
    long = steps[np.arange(200), lengths.argmax(axis=1)] / lengths.max(axis=1)[:, None]
    same = np.abs((sides[:, 0] * long).sum(axis=1)) > 1 - 1e-9
    assert same.mean() > 0.9  # older versions of shapely take the narrowest rectangle, not the smallest
    np.testing.assert_allclose((sides[:, 0] * sides[:, 1]).sum(axis=1), 0, atol=1e-12)


def test_a_right_triangle_has_two_smallest_rectangles_and_the_first_edge_counts() -> None:
    triangle = shapely.Polygon([(0, 0), (0, 4), (8, 0)])
    hull = shapely.get_coordinates(shapely.convex_hull(triangle))
    long = rectangle_sides(np.array([triangle, shapely.Polygon()], object))[:, 0]
    first = (hull[1] - hull[0]) / np.linalg.norm(hull[1] - hull[0])
    assert max(abs(long[0] @ first), abs(long[0] @ (-first[1], first[0]))) == pytest.approx(1)
    assert long[1].tolist() == [0, 0]
    assert rectangle_sides(np.array([], object)).shape == (0, 2, 2)


def test_the_region_is_where_the_lidar_is(tmp_path: Path) -> None:
    city = City()
    city.line("road_divider", [(-200, 0), (200, 0)], "middle")
    for rules, shift in (("streammapnet", 0.0), ("maptracker", LIDAR_AT[0]), ("mapgauge", 0.0)):
        (line,) = of_class(cut(city, tmp_path, rules, (5, 0, 0)), "divider")
        np.testing.assert_allclose(line, [(-30, 0), (30, 0)], atol=1e-9)
        poses = cut(city, tmp_path, rules, (5, 0, 0)).poses
        assert poses is not None
        assert poses[0, 0, 3] == pytest.approx(5 + shift)
