"""The oddities of the public converters of Argoverse 2, each in a small map, checked by hand."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.truth.av2_city import LOG, OTHER_LOG, START, At, Line, Town, rectangle

import mapgauge as mg
from mapgauge.truth import argoverse2

FAILED_LOG = "01bb304d-7bd8-35f8-bbef-7086b688e35e"  # its poses are wrong

PUBLIC = ["streammapnet", "maptrv2", "maptracker"]
ORIGIN = At(0, 0)
PAINT = "SOLID_WHITE"


def cut(made: Town, folder: Path, rules: str, pose: At = ORIGIN, **how: Any) -> mg.MapFrames:
    """Return the truth of one frame."""
    made.write(folder / rules / "val", [pose])
    return argoverse2(folder / rules, rules=rules, **how)


def lines(frames: mg.MapFrames, name: str) -> list[list[tuple[float, ...]]]:
    """Return the lines of a class in their order, rounded to centimetres."""
    return [
        [tuple(round(value, 2) + 0.0 for value in point) for point in one.points.tolist()]
        for one in frames[frames.tokens[0]]
        if one.class_name == name
    ]


def painted(*sides: tuple[int, Line]) -> Town:
    """A map of painted lines on the left of lanes. The right of a lane is far away and has no paint."""
    made = Town()
    for number, line in sides:
        made.lane(number, line, [(x, y - 100) for x, y in line], (PAINT, "NONE"))
    return made


def beside(made: Town, number: int, left: Line, neighbour: int | None, **links: Sequence[int]) -> None:
    """Add a lane that is 3 m wide, with a neighbour on its left."""
    step = np.subtract(left[-1], left[0])
    across = 3 * np.array([step[1], -step[0]]) / np.hypot(*step)
    right = [(x + across[0], y + across[1]) for x, y in left]
    before, after = links.get("predecessors", ()), links.get("successors", ())
    made.lane(number, left, right, neighbours=(neighbour, None), predecessors=before, successors=after)


def test_the_first_of_two_copies_in_the_file_stays_also_if_it_is_shorter(tmp_path: Path) -> None:
    made = painted((9, [(0, 0), (10, 0)]), (1, [(5, 0.1), (25, 0.1)]))
    assert lines(cut(made, tmp_path, "streammapnet"), "divider") == [[(0, 0), (10, 0)]]
    assert lines(cut(made, tmp_path, "mapgauge"), "divider") == [[(5, 0.1), (25, 0.1)]]


def test_copies_are_found_after_cutting(tmp_path: Path) -> None:
    """The second line leaves the first beyond the edge of the region, so it is a copy in this frame only."""
    made = painted((1, [(0, 0), (80, 0)]), (2, [(20, 0), (31, 0), (60, 10)]))
    assert len(lines(cut(made, tmp_path, "streammapnet"), "divider")) == 1
    assert len(lines(cut(made, tmp_path / "wide", "streammapnet", region=(120, 30)), "divider")) == 2


def test_painted_lines_are_joined_in_the_order_of_the_file(tmp_path: Path) -> None:
    """The turn comes first in the file, so the stem goes on there. Straight on is left alone."""
    made = painted((1, [(0, 0), (10, 0)]), (2, [(10, 0), (15, 8)]), (3, [(20, 0), (10.05, 0)]))
    found = lines(cut(made, tmp_path, "streammapnet"), "divider")
    assert found == [[(0, 0), (10, 0), (15, 8)], [(20, 0), (10.05, 0)]]
    assert len(lines(cut(made, tmp_path, "mapgauge"), "divider")) == 2


def test_lines_whose_starts_meet_are_joined_with_the_other_line_first(tmp_path: Path) -> None:
    made = painted((1, [(0, 0), (10, 0)]), (2, [(0, 0), (-10, 1)]))
    assert lines(cut(made, tmp_path, "streammapnet"), "divider") == [[(-10, 1), (0, 0), (10, 0)]]


def test_painted_lines_along_a_boundary_of_the_frame_are_left_out(tmp_path: Path) -> None:
    made = painted((1, [(-10, 4.8), (10, 4.8)]), (2, [(-10, 0), (10, 0)]))
    made.area(1, rectangle(-50, -5, 50, 5))
    assert lines(cut(made, tmp_path, "streammapnet"), "divider") == [[(-10, 0), (10, 0)]]


def two_lanes(opposite: bool, **links: Sequence[int]) -> Town:
    """Two lanes with the line y = 0 between them: in opposite directions, or side by side."""
    made = Town()
    beside(made, 1, [(-10, 0), (10, 0)], 2, **links)
    if opposite:
        beside(made, 2, [(10, 0), (-10, 0)], 1)
    else:
        made.lane(2, [(-10, 3), (10, 3)], [(-10, 0), (10, 0)], neighbours=(None, 1))
    return made


@pytest.mark.parametrize("rules", ["maptrv2", "maptracker"])
def test_the_line_between_lanes_of_one_direction_is_a_divider(tmp_path: Path, rules: str) -> None:
    assert lines(cut(two_lanes(opposite=False), tmp_path, rules), "divider") == [[(-10, 0), (10, 0)]]


def test_the_line_between_opposite_lanes_is_lost_by_maptrv2_and_kept_by_maptracker(tmp_path: Path) -> None:
    made = two_lanes(opposite=True)
    assert lines(cut(made, tmp_path, "maptrv2"), "divider") == []
    assert lines(cut(made, tmp_path, "maptracker"), "divider") == [[(-10, 0), (10, 0)]]
    assert lines(cut(made, tmp_path, "mapgauge-lanes"), "divider") == [[(-10, 0), (10, 0)]]


def fork() -> Town:
    """A lane that is followed by two lanes. Each has a neighbour on its left that is not in the map."""
    made = Town()
    beside(made, 1, [(-10, 0), (0, 0)], 91, successors=[2, 3])
    beside(made, 2, [(0, 0), (10, 0)], 92, predecessors=[1])
    beside(made, 3, [(0, 0), (10, 5)], 93, predecessors=[1])
    return made


def test_maptrv2_repeats_the_stem_of_a_fork_in_each_branch(tmp_path: Path) -> None:
    found = lines(cut(fork(), tmp_path, "maptrv2"), "divider")
    assert found == [[(-10, 0), (10, 0)], [(-10, 0), (0, 0), (10, 5)]]


def test_maptracker_joins_the_branches_of_a_fork_at_their_common_start(tmp_path: Path) -> None:
    (found,) = lines(cut(fork(), tmp_path, "maptracker"), "divider")
    assert [point for point in found if point[0] == 10] == [found[0], found[-1]]
    assert (-10, 0) in found


def test_lanes_in_an_intersection_and_outside_the_region_have_no_dividers(tmp_path: Path) -> None:
    made = Town()
    made.lane(1, [(0, 0), (10, 0)], [(0, -3), (10, -3)], neighbours=(2, None), intersection=True)
    beside(made, 3, [(40, 0), (50, 0)], 4)
    for rules in ("maptrv2", "maptracker"):
        assert lines(cut(made, tmp_path, rules), "divider") == []


def test_maptrv2_does_not_join_lines_without_links_and_maptracker_does(tmp_path: Path) -> None:
    made = Town()
    beside(made, 1, [(-10, 0), (0, 0)], 91)
    beside(made, 2, [(0.05, 0), (10, 0)], 92)
    assert len(lines(cut(made, tmp_path, "maptrv2"), "divider")) == 2
    assert lines(cut(made, tmp_path, "maptracker"), "divider") == [[(-10, 0), (10, 0)]]


def crossing_at_the_edge(first_inside: bool) -> Town:
    """A crossing half outside the region. Its outline begins inside or outside."""
    made = Town()
    inner, outer = [(28, -2), (28, 2)], [(32, -2), (32, 2)]
    made.crossing(1, *((inner, outer) if first_inside else (outer, inner)))
    return made


def test_streammapnet_closes_a_crossing_only_if_its_outline_falls_apart(tmp_path: Path) -> None:
    found = lines(cut(crossing_at_the_edge(True), tmp_path / "a", "streammapnet"), "ped_crossing")
    assert found == [[(30, 2), (28, 2), (28, -2), (30, -2), (30, 2)]]
    found = lines(cut(crossing_at_the_edge(False), tmp_path / "b", "streammapnet"), "ped_crossing")
    assert found == [[(30, 2), (28, 2), (28, -2), (30, -2)]]


@pytest.mark.parametrize("first_inside", [True, False])
def test_maptracker_closes_every_crossing_and_maptrv2_none_that_is_cut(tmp_path: Path, first_inside: bool) -> None:
    made = crossing_at_the_edge(first_inside)
    (closed,) = lines(cut(made, tmp_path, "maptracker"), "ped_crossing")
    assert closed[0] == closed[-1]
    (opened,) = lines(cut(made, tmp_path, "maptrv2"), "ped_crossing")
    assert opened == [(29.8, 2), (28, 2), (28, -2), (29.8, -2)]


def test_only_maptrv2_merges_crossings(tmp_path: Path) -> None:
    made = Town()
    made.crossing(1, [(0, -8), (0, 0)], [(4, -8), (4, 0)])
    made.crossing(2, [(0, 0), (0, 8)], [(4, 0), (4, 8)])
    counts = [len(lines(cut(made, tmp_path, rules), "ped_crossing")) for rules in PUBLIC]
    assert counts == [2, 1, 2]


def test_the_arcs_of_one_crossing_are_one_line(tmp_path: Path) -> None:
    made = Town()
    made.crossing(1, [(0, -20), (0, 20)], [(4, -20), (4, 20)])
    (found,) = lines(cut(made, tmp_path, "maptrv2"), "ped_crossing")
    assert sorted(found) == [(0, -14.8), (0, 14.8), (4, -14.8), (4, 14.8)]
    (found,) = lines(cut(made, tmp_path, "streammapnet"), "ped_crossing")
    assert found[0] == found[-1]
    assert sorted(set(found)) == [(0, -15), (0, 15), (4, -15), (4, 15)]


def test_maptracker_leaves_out_crossings_below_a_square_metre(tmp_path: Path) -> None:
    made = Town()
    made.crossing(1, [(0, 0), (0, 2)], [(0.4, 0), (0.4, 2)])
    assert len(lines(cut(made, tmp_path, "maptracker"), "ped_crossing")) == 0
    assert len(lines(cut(made, tmp_path, "streammapnet"), "ped_crossing")) == 1


def test_boundaries_are_simplified_after_cutting_or_not_at_all(tmp_path: Path) -> None:
    """The bend at x = 28 is 0.15 m off the line from the edge of the region, and 3 m off the line to x = 100."""
    made = Town()
    made.area(1, [(-50, -5), (100, -5), (100, 3.1), (28, 0.15), (-50, 0)])
    north = [max(lines(cut(made, tmp_path, rules), "boundary"), key=lambda line: line[-1][1]) for rules in PUBLIC]
    assert [len(line) for line in north] == [2, 3, 2]


def test_invalid_areas_are_skipped_or_repaired_and_it_is_said(tmp_path: Path) -> None:
    made = Town()
    made.area(1, [(0, 0), (10, 10), (10, 0), (0, 10)])
    repaired, skipped = (cut(made, tmp_path, rules) for rules in ("streammapnet", "maptrv2"))
    assert [finding.code for finding in repaired.findings] == ["polygons-repaired"]
    assert repaired.counts["boundary"] > 0
    assert [finding.code for finding in skipped.findings] == ["polygons-skipped", "empty-frames"]


@pytest.mark.parametrize("rules", PUBLIC)
def test_roll_and_pitch_tilt_the_map(tmp_path: Path, rules: str) -> None:
    made = Town()
    made.crossing(1, [(20, -4), (20, 4)], [(23, -4), (23, 4)])
    pose = At(0, 0, pitch=10)
    frames = cut(made, tmp_path, rules, pose, height=True)
    (crossing,) = lines(frames, "ped_crossing")
    cos, sin = math.cos(math.radians(10)), math.sin(math.radians(10))
    corners = {(round(x * cos, 2), y, round(x * sin, 2)) for x in (20, 23) for y in (-4, 4)}
    assert set(crossing) == corners
    assert frames.poses is not None
    world = frames.transform(frames.poses).polylines.coords - (1000, 2000, 20)
    np.testing.assert_allclose(sorted({x for x, _, _ in world.round(9).tolist()}), [20, 23])
    np.testing.assert_allclose(world[:, 2], 0, atol=1e-9)


@pytest.mark.parametrize("rules", PUBLIC)
def test_height_is_interpolated_where_a_line_is_cut(tmp_path: Path, rules: str) -> None:
    made = Town()
    made.lane(1, [(0, 0, 0), (100, 0, 10)], [(0, -3, 0), (100, -3, 10)], (PAINT, "NONE"), neighbours=(91, None))
    assert lines(cut(made, tmp_path, rules, height=True), "divider") == [[(0, 0, 0), (30, 0, 3)]]
    assert argoverse2(tmp_path / rules, rules=rules).dimension == 2


@pytest.mark.parametrize("rules", PUBLIC)
def test_truth_with_height_is_finite_and_has_the_same_lines(tmp_path: Path, rules: str) -> None:
    made = Town()
    made.area(1, rectangle(-50, -50, 50, 50))  # the corners of the region lie inside
    made.area(2, rectangle(0, 0, 100, 100))
    made.crossing(1, [(20, -40), (20, 40)], [(70, -40), (70, 40)])
    flat, high = cut(made, tmp_path, rules), argoverse2(tmp_path / rules, rules=rules, height=True)
    np.testing.assert_array_equal(flat.polylines.coords, high.polylines.coords[:, :2])
    np.testing.assert_allclose(high.polylines.coords[:, 2], 0, atol=1e-9)


def test_rules_of_mapgauge_have_no_height(tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="mapgauge make flat truth.*Pass rules= one of streammapnet") as caught:
        cut(Town(), tmp_path, "mapgauge", height=True)
    assert "--rules" in caught.value.for_shell()


@pytest.mark.parametrize("rules", PUBLIC)
def test_names_follow_a_line_through_the_frames(tmp_path: Path, rules: str) -> None:
    made = fork()
    for lane in made.map["lane_segments"].values():
        lane["left_lane_mark_type"] = PAINT
    made.area(1, rectangle(-100, -5, 100, 8))
    made.write(tmp_path / "val", [At(2 * i - 10, 0) for i in range(10)])
    frames = argoverse2(tmp_path, rules=rules)
    for name in ("divider", "boundary"):
        tracks = [{one.track for one in frames[token] if one.class_name == name} for token in frames.tokens]
        count = 1 if (name, rules) == ("divider", "maptracker") else 2
        assert len(set().union(*tracks)) == count
        assert all(len(seen) == count for seen in tracks)


@pytest.mark.parametrize("rules", PUBLIC)
def test_an_empty_map_gives_empty_frames(tmp_path: Path, rules: str) -> None:
    assert cut(Town(), tmp_path, rules).counts == {"ped_crossing": 0, "divider": 0, "boundary": 0}


def test_every_nth_frame_of_each_log_or_of_all(tmp_path: Path) -> None:
    for log in (LOG, OTHER_LOG):
        Town().write(tmp_path / "val", [ORIGIN] * 5, log=log)

    def frames(**how: Any) -> list[tuple[str, int]]:
        found = argoverse2(tmp_path, every=3, **how)
        assert found.scenes is not None
        assert found.timestamps is not None
        times = ((found.timestamps - START) // 100_000_000).tolist()
        return [(log[:1], time) for log, time in zip(found.scenes, times, strict=True)]

    assert frames() == [("0", 0), ("0", 3), ("9", 0), ("9", 3)]
    assert frames(every_counts="all") == [("0", 0), ("0", 3), ("9", 1), ("9", 4)]
    with pytest.raises(mg.InvalidInput, match=r"every_counts must be .*got 'split'"):
        frames(every_counts="split")


def test_the_folder_that_holds_sensor_is_accepted(tmp_path: Path) -> None:
    Town().write(tmp_path / "sensor" / "val", [ORIGIN])
    (tmp_path / "lidar").mkdir()
    assert argoverse2(tmp_path).tokens == argoverse2(tmp_path / "sensor").tokens == (f"{START}",)


@pytest.mark.parametrize("rules", [*PUBLIC, "mapgauge"])
def test_logs_with_wrong_poses_are_left_out_by_all_rules(tmp_path: Path, rules: str) -> None:
    for log in (LOG, FAILED_LOG):
        Town().write(tmp_path / "val", [ORIGIN], log=log)
    frames = argoverse2(tmp_path, rules=rules)
    assert frames.scenes == (LOG,)
    assert ("scenes-left-out", 1) in [(finding.code, finding.count) for finding in frames.findings]
    assert argoverse2(tmp_path, rules=rules, scenes=[FAILED_LOG]).scenes == (FAILED_LOG,)
