"""Dividers from lane segments: which lines are dividers, which are duplicates, and which are joined."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import shapely

from mapgauge.truth.from_argoverse2.maps import LaneSide, join_ends, make_dividers
from mapgauge.truth.rules import RULES, TruthRules

MARKS = RULES["argoverse2", "mapgauge"]
GRAPH = RULES["argoverse2", "mapgauge-lanes"]
both = pytest.mark.parametrize("rules", [MARKS, GRAPH], ids=["lane-marks", "lane-graph"])

Line = Sequence[tuple[float, float]]
Found = dict[tuple[int, str], list[tuple[float, float]]]


def side(
    lane: int,
    line: Line,
    name: str = "left",
    *,
    painted: bool = True,
    neighbour: bool = True,
    intersection: bool = False,
) -> LaneSide:
    """A painted line between two lanes outside an intersection, unless told otherwise."""
    return LaneSide(lane, name, np.array(line, np.float64), painted, neighbour, intersection)


def dividers(sides: Iterable[LaneSide], rules: TruthRules, borders: Sequence[Line] = ()) -> Found:
    edges = np.empty(len(borders), object)
    edges[:] = [shapely.LineString(border) for border in borders]
    lines, names = make_dividers(sides, rules, edges)
    return {name: list(line.coords) for name, line in zip(names, lines, strict=True)}


@both
def test_a_line_that_lanes_on_both_sides_describe_is_one(rules: TruthRules) -> None:
    found = dividers([side(2, [(0, 0), (30, 0)]), side(1, [(30, 0), (0, 0)], "left")], rules)
    assert found == {(1, "left"): [(30, 0), (0, 0)]}


@both
def test_lines_that_lanes_cut_at_different_places_are_one(rules: TruthRules) -> None:
    to_the_east = [side(1, [(0, 0), (20, 0)]), side(2, [(20, 0), (50, 0)])]
    to_the_west = [side(3, [(50, 0), (35, 0)]), side(4, [(35, 0), (0, 0)])]
    (line,) = dividers([*to_the_east, *to_the_west], rules).values()
    assert sorted(line)[0] == (0, 0)
    assert sorted(line)[-1] == (50, 0)


def test_without_paint_a_line_is_a_divider_only_by_the_lane_graph() -> None:
    sides = [side(1, [(0, 0), (30, 0)], painted=False)]
    assert not dividers(sides, MARKS)
    assert dividers(sides, GRAPH)


def test_without_a_neighbour_or_in_an_intersection_a_line_is_a_divider_only_by_its_paint() -> None:
    line = [(0, 0), (30, 0)]
    for sides in ([side(1, line, neighbour=False)], [side(1, line, intersection=True)]):
        assert dividers(sides, MARKS)
        assert not dividers(sides, GRAPH)


def test_paint_along_the_edge_of_the_road_is_no_divider() -> None:
    road = [[(-50, 0), (50, 0)]]
    assert not dividers([side(1, [(0, 0.3), (30, 0.3)])], MARKS, road)
    assert dividers([side(1, [(0, 0.5), (30, 0.5)])], MARKS, road)
    assert dividers([side(1, [(0, 0.3), (30, 0.3)])], GRAPH, road)


def test_paint_that_meets_the_edge_only_at_its_end_stays() -> None:
    assert dividers([side(1, [(0, 0), (0, 30)])], MARKS, [[(-50, 0), (50, 0)]])


def test_of_lines_that_overlap_in_part_the_longer_stays() -> None:
    sides = [side(1, [(0, 0), (10, 0)]), side(2, [(5, 0.1), (30, 0.1)])]
    assert list(dividers(sides, MARKS)) == [(2, "left")]
    assert list(dividers(sides, GRAPH)) == [(1, "left"), (2, "left")]


@pytest.mark.parametrize(("rules", "apart", "together"), [(MARKS, 0.45, 0.35), (GRAPH, 0.15, 0.09)])
def test_how_far_apart_two_lines_must_be(rules: TruthRules, apart: float, together: float) -> None:
    """Lane marks: strips of 0.6 m overlap by 0.2 m at 0.4 m. Lane graph: (2 - d) / (2 + d) is 0.9 at 0.105 m."""
    for distance, count in ((apart, 2), (together, 1)):
        sides = [side(1, [(0, 0), (30, 0)]), side(2, [(0, distance), (30, distance)])]
        assert len(dividers(sides, rules)) == count


@both
def test_pieces_are_joined_whatever_their_direction_and_named_after_the_first(rules: TruthRules) -> None:
    sides = [side(7, [(0, 0), (10, 0)]), side(3, [(20, 0), (10, 0)]), side(5, [(20.05, 0), (30, 1)])]
    assert dividers(sides, rules) == {(3, "left"): [(30, 1), (20.05, 0), (10, 0), (0, 0)]}


@both
def test_ends_farther_apart_are_not_joined(rules: TruthRules) -> None:
    sides = [side(1, [(0, 0), (10, 0)]), side(2, [(10.15, 0), (20, 0)])]
    assert len(dividers(sides, rules)) == 2


@both
def test_at_a_fork_the_straightest_goes_on(rules: TruthRules) -> None:
    stem, turn, onward = [(0, 0), (10, 0)], [(10, 0), (20, 6)], [(10, 0), (20, 1)]
    found = dividers([side(1, stem), side(2, turn), side(3, onward)], rules)
    assert found == {(1, "left"): [*stem, onward[1]], (2, "left"): turn}


@both
def test_a_line_does_not_turn_back(rules: TruthRules) -> None:
    """The tip of an island: ``>``."""
    sides = [side(1, [(0, 3), (20, 0)]), side(2, [(0, -3), (20, 0)])]
    assert len(dividers(sides, rules)) == 2


def test_a_circle_of_pieces_is_one_closed_line() -> None:
    angles = np.radians(np.arange(0, 361, 10))
    circle = 20 * np.column_stack([np.cos(angles), np.sin(angles)])
    quarters = [shapely.LineString(circle[k : k + 10]) for k in (0, 9, 18, 27)]
    (line,), names = join_ends((np.array(quarters, object), [(k, "left") for k in range(4)]), 0.1)
    assert names == [(0, "left")]
    np.testing.assert_allclose(line.coords, circle, atol=1e-9)


@both
def test_the_order_of_lanes_does_not_matter(rules: TruthRules, rng: np.random.Generator) -> None:
    sides = []
    for lane in range(60):  # a grid of pieces, many of them twice, with gaps and forks
        x, y = (int(v) for v in rng.integers(0, 5, 2))
        end = (10.0 * x + 10, 4.0 * y + float(rng.choice([0, 0, 1.5])))
        line = [(10.0 * x, 4.0 * y), end]
        sides.append(side(lane, line if rng.random() < 0.5 else line[::-1], str(rng.choice(["left", "right"]))))
    expected = dividers(sides, rules)
    assert 5 < len(expected) < 60
    for _ in range(5):
        shuffled = [sides[i] for i in rng.permutation(len(sides))]
        assert dividers(shuffled, rules) == expected


@both
def test_copies_are_those_that_comparing_all_pairs_finds(rules: TruthRules, rng: np.random.Generator) -> None:
    start = rng.uniform(0, 60, (80, 2)) * (1, 0.2)
    step = np.column_stack([rng.uniform(2, 15, 80), rng.normal(0, 0.3, 80)])
    sides = [side(k, [tuple(a), tuple(a + d)]) for k, (a, d) in enumerate(zip(start, step, strict=True))]
    found = dividers(sides, replace(rules, join_distance=0.0))
    lines = {one.lane: shapely.LineString(one.points) for one in sides}
    strips = {k: line.buffer(rules.duplicate_buffer, cap_style="flat", join_style="mitre") for k, line in lines.items()}
    kept: list[int] = []
    for k in sorted(lines, key=lambda k: -lines[k].length):
        overlaps = [strips[k].intersection(strips[other]).area for other in kept]
        if rules.divider_source == "lane-marks":
            copies = [overlap > rules.duplicate_overlap * lines[k].length for overlap in overlaps]
        else:
            unions = [strips[k].union(strips[other]).area for other in kept]
            copies = [o >= rules.duplicate_overlap * u for o, u in zip(overlaps, unions, strict=True)]
        if not any(copies):
            kept.append(k)
    assert sorted(name for name, _ in found) == sorted(kept)
    assert (len(kept) < 80) == (rules.divider_source == "lane-marks")


@both
def test_no_lanes_give_no_dividers(rules: TruthRules) -> None:
    assert dividers([], rules) == {}
    assert dividers([], rules, [[(0, 0), (1, 0)]]) == {}
