"""Merging of pedestrian crossings."""

import numpy as np
import pytest
import shapely
from shapely.geometry import Polygon

from mapgauge.truth.cutting.crossings import MERGES, Crossings
from mapgauge.truth.rules import MergeName

ALL: tuple[MergeName, ...] = ("parallel", "union", "parallel-compact")


def in_one_frame(rule: MergeName, polygons: list[Polygon], ids: list[tuple[str, ...]]) -> Crossings:
    """Return the merged polygons of one frame."""
    return MERGES[rule](Crossings(np.array(polygons, object), ids, np.zeros(len(polygons), np.int64)))


def merged(rule: MergeName, **polygons: Polygon) -> dict[str, float]:
    """Return the areas of merged polygons by the names of their parts."""
    parts, members, _ = in_one_frame(rule, list(polygons.values()), [(name,) for name in polygons])
    return {"+".join(ids): round(float(part.area), 6) for part, ids in zip(parts, members, strict=True)}


def turned(polygon: Polygon, degrees: float) -> Polygon:
    return shapely.affinity.rotate(polygon, degrees, origin=(0, 0))


@pytest.mark.parametrize("rule", ALL)
def test_two_halves_of_a_crossing_become_one(rule: MergeName) -> None:
    halves = {"b": shapely.box(0, -7, 4, 0), "a": shapely.box(0, 0, 4, 7)}
    assert merged(rule, **halves) == {"a+b": 56}


@pytest.mark.parametrize("rule", ALL)
def test_crossings_far_from_each_other_stay_two(rule: MergeName) -> None:
    assert merged(rule, a=shapely.box(0, -7, 4, 7), b=shapely.box(20, -7, 24, 7)) == {"a": 56, "b": 56}


def test_crossings_at_a_right_angle_become_one_only_by_union() -> None:
    corner = {"a": shapely.box(0, 0, 4, 14), "b": shapely.box(4, 0, 18, 4)}
    assert merged("union", **corner) == {"a+b": 112}
    assert merged("parallel", **corner) == {"a": 56, "b": 56}
    assert merged("parallel-compact", **corner) == {"a": 56, "b": 56}


def test_crossings_one_beside_and_beyond_the_other_become_one_unless_the_result_must_be_compact() -> None:
    stairs = {"a": shapely.box(0, 0, 4, 10), "b": shapely.box(4, 9, 8, 19)}  # 80 of the 116 square metres of its hull
    assert merged("parallel", **stairs) == {"a+b": 80}
    assert merged("union", **stairs) == {"a+b": 80}
    assert merged("parallel-compact", **stairs) == {"a": 40, "b": 40}


@pytest.mark.parametrize(("degrees", "joined"), [(0, True), (7, True), (9, False), (90, False), (176, True)])
def test_parallel_is_up_to_eight_degrees(degrees: float, joined: bool) -> None:
    found = merged("parallel", a=shapely.box(-1, -10, 1, 10), b=turned(shapely.box(-1, -10, 1, 10), degrees))
    assert (len(found) == 1) == joined


def test_boxes_that_meet_are_not_enough_to_be_one_instance() -> None:
    bars = {"a": turned(shapely.box(0, 0, 20, 2), 45), "b": turned(shapely.box(0, -6, 20, -4), 45)}
    parts, members, _ = in_one_frame("parallel", list(bars.values()), [("a",), ("b",)])
    assert [part.area for part in parts] == pytest.approx([40, 40])
    assert members == [("a", "b"), ("a", "b")]


def test_a_crossing_is_joined_with_what_meets_its_own_box_not_that_of_the_whole() -> None:
    row = {"a": shapely.box(0, 0, 4, 10), "b": shapely.box(4, 0, 8, 10), "c": shapely.box(8, 0, 12, 10)}
    assert merged("parallel", **row) == {"a+b": 80, "c": 40}
    assert merged("union", **row) == {"a+b+c": 120}


def test_compact_joins_small_rests_along_their_short_side_and_leaves_out_tiny_ones() -> None:
    crossing = shapely.box(0, 0, 4, 10)
    assert merged("parallel-compact", a=crossing, b=shapely.box(0, 10, 4, 10.5)) == {"a+b": 42}
    assert merged("parallel", a=crossing, b=shapely.box(0, 10, 4, 10.5)) == {"a": 40, "b": 2}
    assert merged("parallel-compact", a=crossing, b=shapely.box(20, 0, 21, 0.9)) == {"a": 40}
    assert merged("parallel-compact", b=shapely.box(20, 0, 21, 0.9)) == {}


def test_compact_leaves_out_a_small_crossing_that_any_other_covers() -> None:
    angle = Polygon([(0, 0), (20, 0), (20, 5), (5, 5), (5, 20), (0, 20)])  # not compact, so that it merges with none
    covered = turned(shapely.box(1.5, 1, 6, 3), 10)
    assert merged("parallel-compact", a=angle, b=covered) == {"a": 175}
    assert merged("parallel", a=angle, b=turned(covered, 45)) == {"a": 175, "b": 9}
    large = turned(shapely.box(0.5, 0.5, 8, 4), 2)
    assert merged("parallel-compact", a=angle, b=large)["b"] == 26.25  # 20 square metres or more are kept
    assert merged("parallel-compact", a=covered, b=covered) == {"a+b": 9}


def test_compact_merges_a_crossing_that_a_compact_one_covers() -> None:
    covered = turned(shapely.box(6, -1, 9, 1), 45)
    large = turned(shapely.box(0, -10, 30, 10), 20)
    assert merged("parallel-compact", a=large, b=covered) == {"a+b": 600}  # the union has the sides of the larger
    assert merged("parallel", a=large, b=covered) == {"a": 600, "b": 6}


def test_the_first_pass_compares_with_the_polygon_that_begins_a_group_not_with_the_group() -> None:
    # b and c each fill more than 0.8 of a hull with a. All three together fill less.
    parts = {"a": shapely.box(0, 0, 4, 12), "b": shapely.box(4, 6, 6, 15), "c": shapely.box(-2, -3, 0, 6)}
    for name in "bc":
        both = parts["a"].union(parts[name])
        assert both.area > 0.8 * both.convex_hull.area
    whole = shapely.union_all(list(parts.values()))
    assert whole.area < 0.8 * whole.convex_hull.area
    assert merged("parallel-compact", **parts) == {"a+b+c": round(whole.area, 6)}


def test_the_second_pass_has_no_limit_of_size() -> None:
    # The long sides are at a right angle, but the union has the sides of the larger one.
    long, across = shapely.box(0, 0, 30, 8), shapely.box(30, 0, 37, 8)
    assert across.area > 20
    assert merged("parallel", a=long, b=across) == {"a": 240, "b": 56}
    assert merged("parallel-compact", a=long, b=across) == {"a+b": 296}
    assert len(merged("parallel-compact", a=long, b=shapely.box(30, -20, 37, 8))) == 2  # this union is not compact


def test_the_second_pass_keeps_the_order_of_the_first_and_takes_the_largest_candidate_first() -> None:
    # After the first pass: a (60), then b+c (80, because the two halves were merged), then d (12).
    parts = {
        "a": shapely.box(0, 0, 6, 10),
        "b": shapely.box(20, 0, 24, 10),
        "c": shapely.box(20, 10, 24, 20),
        "d": shapely.box(6, 0, 7.2, 10),
    }
    assert merged("parallel-compact", **parts) == {"a+d": 72, "b+c": 80}
    assert list(merged("parallel-compact", **parts)) == ["a+d", "b+c"]  # not sorted again


def test_the_crossings_of_many_frames_are_merged_frame_by_frame() -> None:
    halves = [shapely.box(0, -7, 4, 0), shapely.box(0, 0, 4, 7)]
    for rule in ALL:
        crossings = Crossings(np.array(halves * 2, object), [("b",), ("a",)] * 2, np.array([3, 3, 5, 5]))
        merged_frames = MERGES[rule](crossings)
        assert merged_frames.frame.tolist() == [3, 5]
        assert merged_frames.ids == [("a", "b")] * 2
        none = MERGES[rule](crossings.take(np.array([], np.int64)))
        assert (len(none.polygons), none.ids) == (0, [])


def test_union_leaves_holes() -> None:
    frame = [shapely.box(0, 0, 10, 2), shapely.box(0, 8, 10, 10), shapely.box(0, 0, 2, 10), shapely.box(8, 0, 10, 10)]
    parts, members, _ = in_one_frame("union", frame, [("a",), ("b",), ("c",), ("d",)])
    assert [len(part.interiors) for part in parts] == [1]
    assert members == [("a", "b", "c", "d")]
