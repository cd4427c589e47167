"""Lane-graph PLD has the values of its definition, and its list of links says which are wrong."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.features.lane_graph.lane_graph_cases import (
    Map,
    as_frames,
    by_trying_all,
    chain,
    distance,
    line,
    random_map,
    shuffled,
    slow,
)

import mapgauge as mg

FAR = [0.0, 9.0, 18.0, 27.0]  # lanes that are not near each other


def test_what_a_wrong_link_costs() -> None:
    truth = chain(FAR)
    same = distance(truth, truth, link_cost=0.25)
    assert same.value == 0
    assert same.wrong_links == ()
    # A missing link costs the link cost, a false one too, and one that points elsewhere both.
    missing = distance(chain(FAR, [(0, 1), (1, 2)]), truth, link_cost=0.25)
    assert missing.parts == (*[0] * 7, 0.25, 0)
    assert missing.wrong_links == (mg.WrongLink("missing", False, "successor", 2, 3, 1.0, 0.25),)
    false = distance(chain(FAR, [(0, 1), (1, 2), (2, 3), (3, 0)]), truth, link_cost=0.25)
    assert false.parts == (*[0] * 6, 0.25, 0, 0)
    assert false.wrong_links == (mg.WrongLink("false", True, "successor", 3, 0, 1.0, 0.25),)
    elsewhere = distance(chain(FAR, [(0, 1), (1, 2), (2, 0)]), truth, link_cost=0.25)
    assert elsewhere.link_counts == mg.LinkCounts(1, 1, 0)
    assert elsewhere.value == 0.5
    # A link is directed.
    back = distance(chain(FAR, [(0, 1), (1, 2), (3, 2)]), truth, link_cost=0.25)
    assert back.value == 0.5
    # The score of a link is its weight.
    weak = chain(FAR)
    weak.links[2, 3] = 0.75
    assert distance(weak, truth, link_cost=0.25).value == pytest.approx(0.0625, abs=1e-12)
    assert distance(weak, truth, link_cost=0.25).link_counts == mg.LinkCounts(0, 0, 0)
    # A link to an unassigned lane costs half, and a link between unassigned lanes nothing.
    missed = distance(chain(FAR[:3]), truth, link_cost=0.25)
    assert list(missed.parts) == [0, 0, 0, 0.5, 0, 0, 0, 0, 0.125]
    assert missed.wrong_links == (mg.WrongLink("half", False, "successor", 2, 3, 1.0, 0.125),)
    assert missed.link_counts == mg.LinkCounts(0, 0, 1)
    two = distance(chain(FAR[:2]), truth, link_cost=0.25)
    assert list(two.parts) == [0, 0, 0, 1.0, 0, 0, 0, 0, 0.125]
    assert distance(chain(FAR[:1]), chain([50.0, 60.0]), link_cost=0.25).value == 1.5


def test_links_to_traffic_elements() -> None:
    lights = [("red", 0.0), ("green", 5.0)]
    truth = replace(chain(FAR[:2]), lights=lights, light_confidence=[1.0, 1.0], light_links=np.eye(2))
    assert distance(truth, truth).value == 0
    one = distance(replace(truth, light_links=np.array([[1.0, 0], [0, 0]])), truth, link_cost=0.25)
    assert one.parts == (*[0] * 7, 0.25, 0)
    assert one.wrong_links == (mg.WrongLink("missing", False, "controlled_by", 1, 3, 1.0, 0.25),)
    # A light of another attribute is not a match, but may carry the link.
    other = replace(truth, lights=[("green", 0.0), ("green", 5.0)])
    result = distance(other, truth, link_cost=0.25)
    assert result.parts.traffic_elements == result.value == 1
    assert [match[:2] for match in result.matches if not match.near] == [(2, 2)]
    # A light that occurs twice is a false light, with a half link.
    twice = replace(truth, lights=[*lights, lights[0]], light_confidence=[1.0] * 3, light_links=np.eye(2, 3))
    assert distance(twice, truth).value == distance(twice, truth).parts.traffic_elements == 0.5
    # Boxes that overlap by a third.
    moved = replace(truth, lights=[("red", 0.5), ("green", 5.0)])
    assert distance(moved, truth).value == pytest.approx(1 - 1 / 3)
    assert distance(moved, truth, link_cost=0).value == pytest.approx(1 - 1 / 3)


def test_boxes_without_an_area() -> None:
    frames = [mg.MapFrames.of({"a": {"red": [[[u, 0], [u, 1]]]}}, confidence={"a": {"red": [1]}}) for u in (0, 0, 3)]
    a, b, c = (replace(one, boxes=("red",)) for one in frames)
    assert mg.lane_graph_pld(a, b).value == 0
    assert mg.lane_graph_pld(a, c).value == 1


def test_far_pairs_carry_links() -> None:
    """If only near pairs could be assigned, the triangle inequality would not hold: 1.25 > 0.5 + 0.5 + rounding."""
    x, z, y = (chain([0.0, 9.0 + place]) for place in (0.0, 0.75, 1.5))
    direct, first, second = (distance(a, b, link_cost=0.5) for a, b in ((x, y), (x, z), (z, y)))
    assert direct.value == 1
    assert direct.parts.missed == direct.parts.false == 0.5
    assert [match.near for match in direct.matches] == [True, False]
    assert direct.value <= first.value + second.value


def test_the_reduced_problem_has_the_value_of_the_whole_one(rng: np.random.Generator) -> None:
    for _ in range(15):
        x, y = (random_map(rng, int(rng.integers(0, 4)), int(rng.integers(0, 3))) for _ in range(2))
        cost = float(rng.choice([0.1, 0.25, 0.5, 1.0, 3.0]))
        for binary in (False, True):
            result = distance(x, y, link_cost=cost, binary=binary)
            assert result.value == pytest.approx(slow(x, y, cost, binary=binary), abs=1e-8)
            assert sum(result.normalised_parts) == pytest.approx(result.normalised, abs=1e-12)
            assert sum(link.cost for link in result.wrong_links) == pytest.approx(sum(result.parts[-3:]), abs=1e-12)
        assert result.value == pytest.approx(by_trying_all(x, y, cost), abs=1e-8)


def test_the_gap_is_stated() -> None:
    """Three lanes in a ring and three lanes at the same places without an order: no 0/1 assignment keeps all links."""
    ring = Map([0.0] * 6, [1.0] * 6, np.roll(np.eye(6), 1, axis=1))
    triangles = Map([0.0] * 6, [1.0] * 6, np.kron(np.eye(2), np.roll(np.eye(3), 1, axis=1)).astype(np.float64))
    linear, whole = (distance(ring, triangles, link_cost=0.25, binary=binary) for binary in (False, True))
    assert linear.value == pytest.approx(0, abs=1e-9)
    assert linear.gap is None
    assert whole.value == pytest.approx(1.0)
    assert whole.gap == pytest.approx(1.0)
    assert {match.weight for match in whole.matches} == {1.0}
    assert distance(ring, ring, binary=True).gap == 0


def test_link_cost_0_is_pld_to_the_last_bit(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    for _ in range(5):
        x, y = random_map(rng, 5), random_map(rng, 4)
        plain = mg.pld(
            *([line(place) for place in one.place] for one in (x, y)),
            confidence=x.confidence,
            truth_confidence=y.confidence,
            closed=False,
            directed=True,
        )
        result = distance(x, y, link_cost=0)
        assert list(result.parts) == [*plain.parts, 0, 0, 0, 0]
        assert (result.mass, result.value, result.plain) == (plain.mass, plain.value, plain.value)
        assert plain.assignment is not None
        assert [list(match[:2]) for match in result.matches] == plain.assignment.tolist()
        assert result.topology == 0
    # Without links on either side, no solver is needed either.
    bare = [replace(one, links=np.zeros_like(one.links)) for one in (x, y)]
    assert distance(*bare, link_cost=0.5) == replace(distance(*bare, link_cost=0), link_cost=0.5)
    with pytest.raises(mg.MissingDependency, match=r"needs highspy. Install it with: pip install 'mapgauge\[links\]'"):
        distance(x, y, link_cost=0.5)


def test_neither_the_order_of_instances_nor_of_sides_changes_a_bit(rng: np.random.Generator) -> None:
    for _ in range(10):
        x, y = random_map(rng, 5, 2), random_map(rng, 5, 2)
        # Equal lanes, which only their links tell apart.
        x.place[0] = x.place[1]
        x.confidence[0] = x.confidence[1]
        expected = distance(x, y, link_cost=0.4)
        assert distance(shuffled(x, rng), shuffled(y, rng), link_cost=0.4) == expected


def test_lists_and_frames_give_the_same(rng: np.random.Generator) -> None:
    x, y = random_map(rng, 5), random_map(rng, 4)
    lists = mg.lane_graph_pld(
        *([line(place) for place in one.place] for one in (x, y)),
        links=x.links,
        truth_links=y.links,
        confidence=x.confidence,
        truth_confidence=y.confidence,
        link_floor=0,
    )
    frames = distance(x, y)
    assert lists == frames
    assert lists.matches == frames.matches
    assert lists.wrong_links == frames.wrong_links
    # Instances of other classes do not count, and indices are those of the frames.
    more = as_frames(x)
    other = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}}, confidence={"a": {"divider": [1]}})
    mixed = mg.MapFrames(
        tokens=("a",),
        classes=("divider", *more.classes),
        frame=np.zeros(6, np.int64),
        label=np.concatenate([[0], more.label + 1]),
        polylines=other.polylines.and_then(more.polylines),
        confidence=np.concatenate([[1.0], np.asarray(more.confidence)]),
        links=more.links and mg.Links.of(more.links.source + 1, more.links.target + 1, weight=more.links.weight),
        boxes=more.boxes,
    )
    moved = mg.lane_graph_pld(mixed, as_frames(y), link_floor=0)
    assert moved == frames
    assert [match.prediction - 1 for match in moved.matches] == [match.prediction for match in frames.matches]


def test_the_floor_stretches_scores() -> None:
    truth = chain(FAR)
    for score, cost in ((1.0, 0), (0.55, 0.125), (0.1, 0.25), (0.05, 0.25)):
        weak = chain(FAR)
        weak.links[2, 3] = score
        assert distance(weak, truth, link_cost=0.25, link_floor=0.1).value == pytest.approx(cost)
    noise = replace(truth, links=np.maximum(truth.links, 0.1))
    assert distance(noise, truth, link_floor=0.1).value == 0
    assert distance(noise, truth, link_floor=0.0).value > 0


def test_tiny_scores_do_not_overflow() -> None:
    tiny = chain(FAR)
    tiny.links[2, 3] = 5e-324
    assert distance(tiny, tiny).value == 0
    assert distance(tiny, chain(FAR, []), link_cost=0.25).value == 0.5


def test_frames_pool_with_sum() -> None:
    truth = chain(FAR)
    one, two = distance(truth, truth), distance(chain(FAR[:2]), truth)
    both = sum([one, two])
    assert isinstance(both, mg.LaneGraphPldResult)
    assert both.value == one.value + two.value
    assert both.link_counts == mg.LinkCounts(0, 0, 1)
    assert both.matches == ()
    assert both.wrong_links == ()
    assert both.topology > 0
    with pytest.raises(mg.InvalidInput, match=r"cannot pool .*link cost 0\.1"):
        one + distance(truth, truth, link_cost=1.0)


def test_empty_sides_and_no_links() -> None:
    nothing = chain([])
    assert distance(nothing, nothing).normalised == 0
    assert distance(nothing, chain(FAR)).normalised == 1
    assert distance(nothing, chain(FAR)).value == 2
    assert mg.lane_graph_pld([], []).value == 0
    bare = distance(chain(FAR, []), chain(FAR), link_cost=0.25)
    assert bare.value == 0.75
    assert [finding.code for finding in bare.findings] == ["links-one-side"]
    assert "no links between lanes, and truth has 3" in str(bare.findings[0])


def test_bad_input_is_refused() -> None:
    lanes = [line(place) for place in FAR[:2]]
    with pytest.raises(mg.InvalidInput, match=r"^links must be .*shape \(2, 2\)"):
        mg.lane_graph_pld(lanes, lanes, links=np.zeros((3, 3)))
    for wrong in (math.nan, -0.1, 1.5, math.inf):
        with pytest.raises(mg.InvalidInput, match=r"truth_links\[0, 1\] is"):
            mg.lane_graph_pld(lanes, lanes, truth_links=[[0, wrong], [0, 0]])
        with pytest.raises(mg.InvalidInput, match="confidence 1 is .*, expected a number in"):
            mg.lane_graph_pld(lanes, lanes, confidence=[1, wrong])
    with pytest.raises(mg.InvalidInput, match=r"links must be an array .*could not convert"):
        mg.lane_graph_pld(lanes, lanes, links=[["a", "b"], ["c", "d"]])
    with pytest.raises(mg.InvalidInput, match="a link has weight 2"):
        mg.lane_graph_pld(lanes, lanes, links=mg.Links.of([0], [1], weight=2.0, kind="successor"))
    with pytest.raises(mg.InvalidInput, match="must both be MapFrames, or both be lists"):
        mg.lane_graph_pld(lanes, as_frames(chain(FAR)))
    with pytest.raises(mg.InvalidInput, match="have 0 frames, expected one"):
        mg.lane_graph_pld(as_frames(chain(FAR)).at([]), as_frames(chain(FAR)))
    with pytest.raises(mg.InvalidInput, match="have their own links"):
        mg.lane_graph_pld(as_frames(chain(FAR)), as_frames(chain(FAR)), links=np.zeros((4, 4)))
    for wrong in (-1, math.nan, 1e9, True):
        with pytest.raises(mg.InvalidInput, match="link_cost must be a number from 0"):
            mg.lane_graph_pld(lanes, lanes, link_cost=wrong)
    with pytest.raises(mg.InvalidInput, match=r"link_floor must be .*got 1"):
        mg.lane_graph_pld(lanes, lanes, link_floor=1)
