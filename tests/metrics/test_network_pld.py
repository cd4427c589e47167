"""Network PLD: values by hand, slow twins, what it does not depend on, and bad input."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from examples.network_pld import cases
from tests.metrics.network_cases import (
    Map,
    by_trying_all,
    distance,
    disturbed,
    random_map,
    shuffled,
    slow,
    straight,
    whole,
)

import mapgauge as mg
from mapgauge.features.network import growth as points_growth
from mapgauge.features.network import points
from mapgauge.features.network.network_pld import NetworkParts

LINE = straight()
CLOSE = 1e-9


def test_the_table_of_fragments() -> None:
    """A fragment more costs the break cost, and not an instance."""
    made = cases(0.3)
    metres = {name: 1.5 * mg.network_pld(*both, break_cost=1 / 3, directed=False).value for name, both in made.items()}
    for name, expected in (("whole", 18.3), ("in 2 pieces", 18.8), ("in 3 pieces", 19.3), ("in 6 pieces", 20.8)):
        assert metres[name] == pytest.approx(expected, abs=CLOSE)
    assert metres["predicted twice"] == pytest.approx(18.3 + 61 * 0.75, abs=CLOSE)
    assert metres["10 m away"] == pytest.approx(91.5, abs=CLOSE)
    assert 60 < metres["points shuffled"] < 91.5
    made = cases(0.1)
    results = {name: mg.network_pld(*both, break_cost=0.25, directed=False) for name, both in made.items()}
    for name, expected in (
        *(("whole", 0.125), ("in 2 pieces", 0.132), ("in 6 pieces", 0.160), ("half missing", 0.544)),
        *(("two boundaries, two predictions", 0.125), ("two boundaries joined", 0.129)),
    ):
        assert results[name].normalised == pytest.approx(expected, abs=5e-4), name
    assert [results[name].break_count for name in ("whole", "in 2 pieces", "in 6 pieces", "half missing")] == [
        0,
        1,
        5,
        0,
    ]
    assert results["two boundaries joined"].false_join_count == 1
    assert results["two boundaries joined"].merge_entropy == pytest.approx(1.0)
    assert results["in 2 pieces"].split_entropy == pytest.approx(1.0, abs=1e-3)
    assert results["whole"].split_entropy == results["whole"].merge_entropy == 0
    assert results["10 m away"].split_entropy is None


def test_what_a_link_costs() -> None:
    truth = whole(LINE)
    assert distance(truth, truth, break_cost=0.5).value == 0
    half = distance(whole(LINE[:31]), truth, break_cost=0.5)
    assert half.parts == NetworkParts(0.0, 0.0, 15.0, 0.0, 0.25)  # half a link, and 30 points
    # A cut between two points costs the break cost. A cut at a shared point is one point too many, with its link.
    cut = distance(whole(LINE[:30], LINE[30:]), truth, break_cost=0.5)
    assert cut.parts == NetworkParts(0.0, 0.0, 0.0, 0.0, 0.5)
    shared = distance(whole(LINE[:31], LINE[30:]), truth, break_cost=0.5)
    assert shared.value == pytest.approx(0.5 + 1.5 * 0.5)
    # A ring that is predicted as an open line lacks one link.
    angle = np.arange(20) / 20 * 2 * np.pi
    ring = 3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert distance(whole(ring), whole(ring, rings=[True]), break_cost=0.5).value == pytest.approx(0.5)
    assert distance(whole(ring, rings=[True]), whole(ring, rings=[True]), break_cost=0.5).value == 0
    pieces = distance(whole(ring[:7], ring[7:]), whole(ring, rings=[True]), break_cost=0.5)
    assert pieces.value == pytest.approx(1.0)
    assert pieces.break_count == 2


def test_confidence_and_distance_cost_what_they_cost_in_pld() -> None:
    result = distance(whole(LINE + np.array([0, 0.3]), confidence=[0.8]), whole(LINE), break_cost=0.5)
    assert result.parts.matched == pytest.approx(61 * 0.8 * 0.2)
    assert result.parts.confidence == pytest.approx(61 * 0.1)
    assert result.mass == pytest.approx(61 * 0.9)
    assert result.overlaps == ((0, 0, 61.0),)
    assert sum(result.normalised_parts) == pytest.approx(result.normalised)


@pytest.mark.parametrize("confidence", [1e-3, 1e-7, 1e-12, 1e-60])
def test_small_confidences_are_not_ignored(confidence: float) -> None:
    line = whole(LINE, LINE[:4] + 20, confidence=[confidence, confidence / 2])
    assert distance(line, line, break_cost=0.5).normalised == 0


@pytest.mark.parametrize("binary", [False, True])
def test_small_confidences_beside_large_ones_are_not_ignored(binary: bool) -> None:
    point = np.zeros((1, 2))
    both = whole(np.zeros((2, 2)), point, confidence=[6e-8, 0.5])
    assert distance(both, both, break_cost=0.25, binary=binary).value == 0


def test_direction_counts_only_if_asked_for() -> None:
    back = whole(LINE[::-1])
    assert distance(back, whole(LINE), break_cost=0.5).value == 0
    assert distance(back, whole(LINE), break_cost=0.5, directed=True).value > 5


def best_pair(way: Any) -> np.ndarray:
    """The first columns of a programme: the pair that saves most."""
    near = way.component.near
    return points_growth.single_cells(way.component, near[[np.argmax(way.component.saving[near[:, 0]])]])


@pytest.mark.parametrize("directed", [False, True])
def test_it_equals_one_programme_of_all_pairs(rng: np.random.Generator, directed: bool) -> None:
    for k in range(30):
        if k % 2:
            x, y = (random_map(rng, int(rng.integers(0, 4)), 7) for _ in range(2))
        else:
            y = random_map(rng, 2, 12, 6.0)
            x = disturbed(y, rng)
        cost = float(rng.choice([0.0, 0.1, 0.25, 0.5, 2.0]))
        result = distance(x, y, break_cost=cost, directed=directed)
        assert result.value == pytest.approx(slow(x, y, cost, directed=directed), abs=1e-7)


def test_0_1_assignments_equal_trying_all(rng: np.random.Generator) -> None:
    for _ in range(12):
        x, y = random_map(rng, 2, 2, 1.0), random_map(rng, 2, 2, 1.0)
        cost = float(rng.choice([0.1, 0.5, 2.0]))
        result = distance(x, y, break_cost=cost, binary=True)
        assert result.value == pytest.approx(by_trying_all(x, y, cost), abs=1e-7)
        assert result.value == pytest.approx(slow(x, y, cost, binary=True), abs=1e-6)


def test_candidates_of_large_maps_grow_far_enough(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lines that cross: the best assignment goes on beyond the cutoff, to the ends of both."""
    one = np.stack([np.linspace(-15, 15, 61), np.zeros(61)], axis=1)
    other = np.stack([np.linspace(-15, 15, 61) * 0.6, np.linspace(-15, 15, 61) * 0.8], axis=1)
    x, y = whole(one), whole(other)
    grown = distance(x, y, break_cost=0.5)
    assert grown.parts.links == pytest.approx(0, abs=CLOSE)
    assert grown.unproven_count == 0
    for way in ("_Runs", "_Cells"):
        with monkeypatch.context() as patch:  # begin with one pair
            patch.setattr(points_growth, "_Runs", type("Way", (getattr(points_growth, way),), {"first": best_pair}))
            assert distance(x, y, break_cost=0.5).parts == grown.parts
            patch.setattr(points_growth, "ROUNDS", 0)
            assert distance(x, y, break_cost=0.5).value > grown.value + 0.1
    monkeypatch.setattr(points, "SMALL", 0)
    for _ in range(5):
        y = whole(straight(8.0), straight(8.0, 1.0))
        x = disturbed(y, rng)
        found, best = distance(x, y, break_cost=0.25), slow(x, y, 0.25)
        assert found.value == pytest.approx(best, rel=1e-7 if found.unproven_count == 0 else 5e-3)


def test_a_value_is_proven_or_says_that_it_is_not(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the programme of all pairs, a value that counts as proven is the smallest one, and others are close."""
    assert distance(whole(LINE), whole(LINE + 0.3), break_cost=0.5).unproven_count == 0
    monkeypatch.setattr(points, "SMALL", 0)
    proven = 0
    for k in range(12):
        y = random_map(rng, 2, 12, 5.0)
        x = disturbed(y, rng) if k % 2 else random_map(rng, 2, 12, 5.0)
        found, best = distance(x, y, break_cost=0.5), slow(x, y, 0.5)
        proven += found.unproven_count == 0
        assert best - 1e-7 <= found.value <= best * (1 + (1e-6 if found.unproven_count == 0 else 0.05)) + 1e-7
    assert proven >= 4
    pooled = sum([found, found])
    assert isinstance(pooled, mg.NetworkPldResult)
    assert pooled.unproven_count == 2 * found.unproven_count
    monkeypatch.setattr(points_growth, "ROUNDS", 0)  # nothing is priced
    assert distance(whole(LINE), whole(LINE + 0.3), break_cost=0.5).unproven_count == 1


def test_break_cost_0_is_an_assignment_of_points(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = [random_map(rng, 3, 8) for _ in range(8)]
    monkeypatch.setattr(points_growth, "PointsSolver", None)  # no solver is called
    for x, y in pairwise(maps):
        assert distance(x, y, break_cost=0).value == pytest.approx(slow(x, y, 0.0), abs=1e-9)
    with pytest.raises(TypeError):
        distance(maps[0], maps[0], break_cost=0.5)


def test_order_direction_and_start_do_not_matter(rng: np.random.Generator) -> None:
    for _ in range(10):
        y = random_map(rng, 3, 15, 4.0)
        x = disturbed(y, rng)
        expected = distance(x, y, break_cost=0.5)
        assert distance(shuffled(x, rng), shuffled(y, rng), break_cost=0.5) == expected  # to the last bit


def test_lines_far_away_only_add_their_cost(rng: np.random.Generator) -> None:
    y = random_map(rng, 2, 10)
    x = disturbed(y, rng)
    more = Map((*x.lines, LINE + 1000), (*x.confidence, 0.5), (*x.rings, False))
    one, two = distance(x, y, break_cost=0.5), distance(more, y, break_cost=0.5)
    assert two.value == pytest.approx(one.value + 61 * 0.25, abs=CLOSE)
    assert two.parts._replace(false=0) == one.parts._replace(false=0)


def test_empty_sides_single_points_and_duplicates() -> None:
    nothing = mg.network_pld([], [])
    assert (nothing.value, nothing.normalised, nothing.split_entropy) == (0, 0, None)
    assert mg.network_pld([], [LINE]).normalised == mg.network_pld([LINE], []).normalised == 1
    assert mg.network_pld([LINE], [LINE], confidence=[0]).value == 30.5
    assert mg.network_pld([np.zeros((0, 2))], [np.zeros((0, 2))]).value == 0
    point = [[0.0, 0.0]]
    assert mg.network_pld([point], [point]).value == 0
    assert mg.network_pld([point], [[[0.75, 0.0]]]).value == pytest.approx(0.5)
    same = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert mg.network_pld([same], [same]).value == 0
    assert mg.network_pld([LINE, LINE], [LINE, LINE]).value == 0
    three = [[0, 0, 0], [1, 0, 0]]
    assert mg.network_pld([three], [[[0, 0, 0.3], [1, 0, 0.3]]]).value == pytest.approx(0.4)


def test_results_pool() -> None:
    one, two = (mg.network_pld([LINE[:k], LINE[k:]], [LINE], break_cost=0.5, directed=False) for k in (20, 30))
    pooled = sum([one, two])
    assert isinstance(pooled, mg.NetworkPldResult)
    assert (pooled.value, pooled.break_count, pooled.overlaps) == (1.0, 2, ())
    assert pooled.split_entropy == pytest.approx((one.split + two.split) / 122)
    with pytest.raises(mg.InvalidInput, match="cannot pool network PLD of cutoff 1.5, break cost 0.5 with that of"):
        one + mg.network_pld([LINE], [LINE], break_cost=1.0)
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"break_cost": -1}, "break_cost must be a number from 0"),
        ({"break_cost": math.nan}, "break_cost must be a number from 0"),
        ({"cutoff": 0}, "cutoff must be"),
        ({"confidence": [2.0]}, "confidence"),
        ({"closed": "maybe"}, "closed must be"),
        ({"binary": 3}, "binary must be"),
    ],
)
def test_bad_arguments(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.network_pld([LINE], [LINE], **settings)


def test_a_map_is_its_own_twin_only_if_its_links_agree(rng: np.random.Generator) -> None:
    """With 0/1 assignments, only equal maps have distance 0."""
    x = random_map(rng, 3, 6)
    x = replace(x, confidence=(1.0, 0.5, 0.25))
    assert distance(x, x, break_cost=0.5, binary=True).value <= CLOSE
    lines = list(x.lines)
    lines[0] = lines[0] + 0.1
    assert distance(x, replace(x, lines=tuple(lines)), break_cost=0.5, binary=True).value > 0.01
