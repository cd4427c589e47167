"""Truth of small synthetic cities by all rules, checked by hand.

Expected points are in the coordinates of the frame. For MapTR and MapTracker the centre is the LiDAR, 0.94 m forward of
the vehicle's origin; MapTR's x axis points to the right and its y axis forward.
"""

from pathlib import Path

import numpy as np
import pytest
import shapely
from tests.truth.nuscenes_city import LIDAR_AT, MINI, City, arc, rectangle

import mapgauge as mg
from mapgauge import truth

ALL = ("streammapnet", "maptr", "maptracker", "mapgauge")
IN_EGO = ("streammapnet", "mapgauge")  # rules whose region is centred on the vehicle's origin
SCENE = "scene-0103"
Lines = list[list[list[float]]]


@pytest.fixture
def city() -> City:
    """A road from west to east, 14 m wide, in the form of two lanes."""
    city = City()
    city.polygon("lane", rectangle(-200, 0, 200, 7), "north")
    city.polygon("lane", rectangle(-200, -7, 200, 0), "south")
    city.line("road_divider", [(-200, 0), (200, 0)], "middle")
    return city


def cut(
    city: City, root: Path, rules: str, *poses: tuple[float, ...], region: tuple[float, float] = (60, 30)
) -> mg.MapFrames:
    city.tables["scene"].clear()
    for table in ("sample", "sample_data", "ego_pose"):
        city.tables[table].clear()
    city.scene(SCENE, poses or [(0, 0, 0)])
    return truth.nuscenes(city.write(root), version=MINI, scenes=[SCENE], rules=rules, region=region)


def lines(frames: mg.MapFrames, class_name: str, frame: int = 0) -> Lines:
    """Return the instances of a class relative to the vehicle's origin, with x forward, for any rules."""
    forward = frames.name.endswith("(maptr)")
    shift = 0.0 if any(f"({name})" in frames.name for name in IN_EGO) else LIDAR_AT[0]
    found = []
    for instance in frames[f"{SCENE}-{frame}"]:
        if instance.class_name == class_name:
            points = (
                instance.points if not forward else np.column_stack([instance.points[:, 1], -instance.points[:, 0]])
            )
            found.append(np.add(points, (shift, 0)).round(6).tolist())
    return found


def ahead(rules: str) -> tuple[float, float]:
    """Where the region ends behind and ahead of the vehicle's origin."""
    shift = 0.0 if rules in IN_EGO else LIDAR_AT[0]
    return round(shift - 30, 6), round(shift + 30, 6)


@pytest.mark.parametrize("rules", ALL)
def test_a_straight_road(city: City, tmp_path: Path, rules: str) -> None:
    frames = cut(city, tmp_path, rules)
    back, front = ahead(rules)
    assert lines(frames, "divider") == [[[back, 0], [front, 0]]]
    back, front = round(back + 0.2, 6), round(front - 0.2, 6)
    assert sorted(lines(frames, "boundary")) == [[[back, 7], [front, 7]], [[front, -7], [back, -7]]]
    assert lines(frames, "ped_crossing") == []


@pytest.mark.parametrize(
    ("rules", "left"), [("streammapnet", (0, 3.5)), ("maptr", (-3.5, 0)), ("maptracker", (0, 3.5))]
)
def test_the_axes_of_the_result(city: City, tmp_path: Path, rules: str, left: tuple[float, float]) -> None:
    city.line("lane_divider", [(-5, 3.5), (5, 3.5)], "left")
    frames = cut(city, tmp_path, rules)
    (points,) = (instance.points for instance in frames[f"{SCENE}-0"] if instance.track == "left")
    shift = {"streammapnet": (0, 0), "maptr": (0, -LIDAR_AT[0]), "maptracker": (-LIDAR_AT[0], 0)}[rules]
    np.testing.assert_allclose(points.mean(axis=0), np.array(left) + shift, atol=1e-12)


@pytest.mark.parametrize("rules", ALL)
def test_poses_lead_back_to_the_map(city: City, tmp_path: Path, rules: str) -> None:
    city.line("lane_divider", [(-5, 3.5), (5, 3.5)], "left")
    frames = cut(city, tmp_path, rules, (3, -2, 25), (1, 2, 200, 4, -3))
    assert frames.poses is not None
    in_map = frames.transform(frames.poses)
    for token in frames.tokens:
        (points,) = (instance.points for instance in in_map[token] if instance.track == "left")
        np.testing.assert_allclose(points, [(-5, 3.5), (5, 3.5)], atol=1e-9)


def test_roll_and_pitch_of_a_pose_do_not_tilt_the_map(city: City, tmp_path: Path) -> None:
    frames = cut(city, tmp_path, "streammapnet", (3, -2, 25), (3, -2, 25, 6, -4))
    for class_name in frames.classes:
        np.testing.assert_allclose(lines(frames, class_name, 0), lines(frames, class_name, 1), atol=1e-6)


def test_the_region_may_have_any_size(city: City, tmp_path: Path) -> None:
    frames = cut(city, tmp_path, "streammapnet", (0, 0, 0), (0, 0, 90), region=(100, 50))
    assert lines(frames, "divider") == [[[-50, 0], [50, 0]]]
    assert lines(frames, "divider", 1) == [[[0, 25], [0, -25]]]


@pytest.mark.parametrize("rules", ALL)
def test_a_junction_has_four_corners(city: City, tmp_path: Path, rules: str) -> None:
    city.polygon("road_segment", rectangle(-5, -50, 5, 50), "street")
    frames = cut(city, tmp_path, rules)
    back, front = ahead(rules)
    back, front = round(back + 0.2, 6), round(front - 0.2, 6)
    corners = [
        [[-5, -14.8], [-5, -7], [back, -7]],
        [[back, 7], [-5, 7], [-5, 14.8]],
        [[5, 14.8], [5, 7], [front, 7]],
        [[front, -7], [5, -7], [5, -14.8]],
    ]
    assert sorted(lines(frames, "boundary")) == sorted(corners)


@pytest.mark.parametrize("rules", ALL)
def test_an_island_is_a_closed_boundary_with_the_road_on_its_right(tmp_path: Path, rules: str) -> None:
    city = City()
    city.polygon("road_segment", rectangle(-200, -7, 200, 7), "road", holes=[rectangle(8, -1, 14, 1)])
    closed = [line for line in lines(cut(city, tmp_path, rules), "boundary") if line[0] == line[-1]]
    (ring,) = closed
    assert shapely.LinearRing(ring).is_ccw
    assert sorted(map(tuple, ring[:-1])) == [(8, -1), (8, 1), (14, -1), (14, 1)]


def test_an_island_at_the_edge_of_the_region_is_open(tmp_path: Path) -> None:
    city = City()
    city.polygon("road_segment", rectangle(-200, -7, 200, 7), "road", holes=[rectangle(25, -1, 35, 1)])
    found = lines(cut(city, tmp_path, "streammapnet"), "boundary")
    assert [[29.8, 1], [25, 1], [25, -1], [29.8, -1]] in found


@pytest.mark.parametrize(("rules", "off", "fewest", "most"), [("streammapnet", 0.2, 8, 20), ("maptr", 0, 121, 123)])
def test_a_curve_is_simplified_or_not(tmp_path: Path, rules: str, off: float, fewest: int, most: int) -> None:
    city = City()
    middle = arc((0, -30), 30, 180, 0, 181)
    city.line("road_divider", middle, "middle")
    (line,) = lines(cut(city, tmp_path, rules), "divider")
    # Points every degree; the region ends at y = -15, where the angle is 30 degrees on either side.
    assert fewest <= len(line) <= most
    seen = [shapely.Point(point) for point in middle if point[1] > -14.9]
    assert len(seen) == 119
    assert shapely.distance(shapely.LineString(line), seen).max() <= off + 1e-6


@pytest.mark.parametrize("rules", ALL)
def test_the_boundaries_of_a_curve_follow_it(tmp_path: Path, rules: str) -> None:
    city = City()
    city.polygon("road_segment", [*arc((0, -30), 37, 180, 0, 181), *arc((0, -30), 23, 0, 180, 181)], "bend")
    found = lines(cut(city, tmp_path, rules), "boundary")
    radii = [np.hypot(*(np.array(line) - (0, -30)).T) for line in found]
    assert sorted(round(float(radius.mean())) for radius in radii) == [23, 37]
    assert max(np.ptp(radius) for radius in radii) < 0.01
    outer, inner = (np.array(line) for line in sorted(found, key=lambda line: -len(line)))
    assert {outer[0, 0] < outer[-1, 0], inner[0, 0] < inner[-1, 0]} == {True, False}  # the road is between them


def test_a_crossing_in_two_halves_is_one_by_every_rule(city: City, tmp_path: Path) -> None:
    city.polygon("ped_crossing", rectangle(10, -7, 14, 0), "right")
    city.polygon("ped_crossing", rectangle(10, 0, 14, 7), "left")
    for rules in ALL:
        frames = cut(city, tmp_path, rules)
        (ring,) = lines(frames, "ped_crossing")
        assert ring[0] == ring[-1]
        assert shapely.LinearRing(ring).is_ccw == (rules != "maptr")
        assert {(10, -7), (10, 7), (14, -7), (14, 7)} <= set(map(tuple, ring))
        assert shapely.Polygon(ring).area == pytest.approx(56)
        assert [i.track for i in frames[f"{SCENE}-0"] if i.class_name == "ped_crossing"] == ["left"]


def test_crossings_around_a_corner_are_one_for_maptr_only(city: City, tmp_path: Path) -> None:
    city.polygon("ped_crossing", rectangle(10, -7, 14, 7), "across")
    city.polygon("ped_crossing", rectangle(14, 7, 28, 11), "along")
    counts = {rules: len(lines(cut(city, tmp_path, rules), "ped_crossing")) for rules in ALL}
    assert counts == dict.fromkeys(ALL, 2)  # they meet in a corner only
    city.polygon("ped_crossing", rectangle(10, 6, 15, 8), "between")
    counts = {rules: len(lines(cut(city, tmp_path, rules), "ped_crossing")) for rules in ALL}
    assert counts["maptr"] == 1
    assert counts["streammapnet"] > 1
    assert counts["maptracker"] > 1


def test_a_square_of_crossings_has_a_hole_for_maptr(city: City, tmp_path: Path) -> None:
    for name, sides in (
        ("below", (-6, -6, 6, -4)),
        ("above", (-6, 4, 6, 6)),
        ("west", (-6, -6, -4, 6)),
        ("east", (4, -6, 6, 6)),
    ):
        city.polygon("ped_crossing", rectangle(*sides), name)
    outline, hole = lines(cut(city, tmp_path, "maptr"), "ped_crossing")
    assert not shapely.LinearRing(outline).is_ccw
    assert shapely.LinearRing(hole).is_ccw
    assert set(map(tuple, hole)) == {(-4, -4), (-4, 4), (4, -4), (4, 4)}
    assert len(lines(cut(city, tmp_path, "streammapnet"), "ped_crossing")) == 4


def test_parallel_crossings_apart_from_each_other_stay_two(city: City, tmp_path: Path) -> None:
    city.polygon("ped_crossing", rectangle(-14, -7, -10, 7), "one")
    city.polygon("ped_crossing", rectangle(10, -7, 14, 7), "other")
    for rules in ALL:
        assert len(lines(cut(city, tmp_path, rules), "ped_crossing")) == 2


@pytest.mark.parametrize("rules", ALL)
def test_a_crossing_at_the_edge_of_the_region_is_closed_along_it(city: City, tmp_path: Path, rules: str) -> None:
    city.polygon("ped_crossing", rectangle(28, -7, 34, 7), "far")
    (ring,) = lines(cut(city, tmp_path, rules), "ped_crossing")
    front = ahead(rules)[1]
    assert ring[0] == ring[-1]
    assert set(map(tuple, ring)) == {(28, -7), (28, 7), (front, -7), (front, 7)}


def test_the_order_of_dividers(city: City, tmp_path: Path) -> None:
    city.line("lane_divider", [(-9, 3), (9, 3)], "lane")
    order = {
        rules: [i.track for i in cut(city, tmp_path, rules)[f"{SCENE}-0"] if i.class_name == "divider"] for rules in ALL
    }
    assert order == {
        "streammapnet": ["lane", "middle"],
        "maptr": ["middle", "lane"],
        "maptracker": ["middle", "lane"],
        "mapgauge": ["lane", "middle"],
    }


def test_consecutive_dividers_are_not_joined(city: City, tmp_path: Path) -> None:
    city.line("lane_divider", [(-9, 3), (0, 3)], "one")
    city.line("lane_divider", [(0, 3), (9, 3)], "two")
    assert len(lines(cut(city, tmp_path, "streammapnet"), "divider")) == 3


def test_classes_scenes_times_and_tracks_are_there(city: City, tmp_path: Path) -> None:
    frames = cut(city, tmp_path, "streammapnet", (0, 0, 0), (5, 0, 0))
    assert frames.classes == ("ped_crossing", "divider", "boundary")
    assert frames.confidence is None
    assert frames.scenes == (SCENE, SCENE)
    assert frames.timestamps is not None
    assert np.diff(frames.timestamps).tolist() == [500_000]
    tracks = [[instance.track for instance in frames[token]] for token in frames.tokens]
    assert tracks[0] == tracks[1]
    assert len(set(tracks[0])) == 3
