"""Network PLD: values by hand, slow twins, what it does not depend on, and bad input."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from examples.network_pld import cases
from tests.features.network.network_cases import (
    CUTOFF,
    Map,
    by_runs,
    by_trying_all,
    distance,
    disturbed,
    oriented,
    random_map,
    random_rings,
    shuffled,
    straight,
    whole,
)

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.network import runs
from mapgauge.features.network.effort import Effort
from mapgauge.features.network.network_pld import GAP, PARTS, solve_network
from mapgauge.features.network.points import PointAssignment, assign_points
from mapgauge.features.network.sides import Network, side_of

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
    assert half.parts == mg.NetworkParts(0.0, 0.0, 15.0, 0.0, 0.25)  # half a link, and 30 points
    # A cut between two points costs the break cost. A cut at a shared point is one point too many, with its link.
    cut = distance(whole(LINE[:30], LINE[30:]), truth, break_cost=0.5)
    assert cut.parts == mg.NetworkParts(0.0, 0.0, 0.0, 0.0, 0.5)
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


def test_small_confidences_beside_large_ones_are_not_ignored() -> None:
    point = np.zeros((1, 2))
    both = whole(np.zeros((2, 2)), point, confidence=[6e-8, 0.5])
    assert distance(both, both, break_cost=0.25).value == 0


def test_direction_counts_only_if_asked_for() -> None:
    back = whole(LINE[::-1])
    assert distance(back, whole(LINE), break_cost=0.5).value == 0
    assert distance(back, whole(LINE), break_cost=0.5, directed=True).value > 5


def test_a_break_costs_the_same_in_both_protocols() -> None:
    truth, cut = whole(LINE), whole(LINE[:30], LINE[30:])
    for directed in (False, True):
        assert distance(cut, truth, break_cost=0.5, directed=directed).parts.links == 0.5
        assert distance(whole(LINE[:31]), truth, break_cost=0.5, directed=directed).parts.links == 0.25


def small_maps(rng: np.random.Generator, k: int) -> tuple[Map, Map]:
    """Random lines, lines near others, or rings."""
    if k % 3 == 0:
        return random_map(rng, int(rng.integers(0, 4)), 7), random_map(rng, int(rng.integers(0, 4)), 7)
    if k % 3 == 1:
        y = random_map(rng, 2, 8, 4.0)
        return disturbed(y, rng), y
    return random_rings(rng, 2), random_rings(rng, 2)


@pytest.mark.parametrize("directed", [False, True])
def test_it_equals_one_programme_of_all_pairs(rng: np.random.Generator, directed: bool) -> None:
    for k in range(24):
        x, y = small_maps(rng, k)
        cost = float(rng.choice([0.0, 0.1, 0.25, 0.5, 2.0]))
        result = distance(x, y, break_cost=cost, directed=directed)
        assert result.value == pytest.approx(oriented(x, y, cost, directed=directed), abs=2e-6)
        assert result.gap == 0
        assert result.is_proven


@pytest.mark.fuzz
def test_it_equals_many_programmes_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    for k in range(600):
        x, y = small_maps(rng, k)
        cost, directed = float(rng.choice([0.05, 0.1, 0.25, 0.5, 1.0, 2.0])), bool(rng.random() < 0.3)
        result = distance(x, y, break_cost=cost, directed=directed)
        assert result.value == pytest.approx(oriented(x, y, cost, directed=directed), abs=2e-6)


@pytest.mark.parametrize("directed", [False, True])
def test_it_equals_trying_all(rng: np.random.Generator, directed: bool) -> None:
    for _ in range(12):
        x, y = random_map(rng, 2, 2, 1.0), random_map(rng, 2, 2, 1.0)
        cost = float(rng.choice([0.1, 0.5, 2.0]))
        best = by_trying_all(x, y, cost, directed=directed)
        assert distance(x, y, break_cost=cost, directed=directed).value == pytest.approx(best, abs=1e-9)


def circle(count: int, radius: float, start: int, step: int) -> np.ndarray:
    """The points of a circle, from one of them on, in one of two directions."""
    angle = (start + step * np.arange(count)) / count * 2 * np.pi
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (4, 6), (6, 4)])
@pytest.mark.parametrize("kinds", [(True, True), (False, True), (True, False)])
def test_rings_from_every_start_in_both_directions(n: int, m: int, kinds: tuple[bool, bool]) -> None:
    """The first point and the direction of a ring do not matter, nor which of the two has more points."""
    for directed in (False, True):
        for step in (1, -1):
            values = []
            for start in range(n):
                x = whole(circle(n, 1.0, start if kinds[0] else 0, step), rings=[kinds[0]])
                y = whole(circle(m, 1.1, start if kinds[1] else 0, 1), rings=[kinds[1]])
                values.append(distance(x, y, break_cost=0.3, directed=directed).value)
            assert values == pytest.approx([values[0]] * n, abs=1e-12)
            assert values[0] == pytest.approx(oriented(x, y, 0.3, directed=directed), abs=2e-6)


def network(side: Map) -> Network:
    count = np.array([len(line) for line in side.lines], np.int64)
    flat = np.ascontiguousarray(side.points.T)
    return Network(flat, count.cumsum() - count, count, np.array(side.rings, bool), np.array(side.confidence, float))


@pytest.mark.parametrize("directed", [False, True])
def test_the_cost_of_a_solution_is_that_of_its_runs(rng: np.random.Generator, directed: bool) -> None:
    for k in range(30):
        x, y = small_maps(rng, k)
        result = assign_points(network(x), network(y), CUTOFF, 0.5, directed=directed)
        pairs = list(zip(result.first.tolist(), result.second.tolist(), strict=True))
        value = distance(x, y, break_cost=0.5, directed=directed).value
        assert by_runs(x, y, pairs, 0.5, directed=directed) == pytest.approx(value, abs=1e-9)


def test_runs_go_on_beyond_the_cutoff() -> None:
    """Two lines that cross: the best run goes to the ends of both."""
    one = np.stack([np.linspace(-15, 15, 61), np.zeros(61)], axis=1)
    other = np.stack([np.linspace(-15, 15, 61) * 0.6, np.linspace(-15, 15, 61) * 0.8], axis=1)
    assert distance(whole(one), whole(other), break_cost=0.5).parts.links == 0


# What the earlier solver, a relaxed assignment, found with its 0/1 assignments. It did not look at all pairs.
BEFORE = (
    *(102.56664179539729, 82.9324795665996, 108.69783245797953, 104.38718223855714, 84.56700015013301),
    *(134.86943648200656, 79.83751269497988, 107.99381104777137, 123.80540298871088),
)


def demo_groups() -> list[tuple[Any, ...]]:
    """The instances of each class of some frames of the demo, resampled."""
    x, y = (side.resample(spacing=0.5) for side in demo_world(12, seed=0))
    groups = []
    for token in y.tokens[:3]:
        for name in ("ped_crossing", "divider", "boundary"):
            sides = [side.at([side.tokens.index(token)]).select([name]) for side in (x, y)]
            groups.append((sides[0].polylines, sides[1].polylines, sides[0].confidence))
    return groups


def test_frames_are_proven_symmetric_and_never_above_earlier_values() -> None:
    for (x, y, confidence), before in zip(demo_groups(), BEFORE, strict=True):
        settings: dict[str, Any] = {"break_cost": 0.5, "closed": "auto", "directed": False}
        result = mg.network_pld(x, y, confidence=confidence, **settings)
        assert result.is_proven
        assert before * (1 - 0.02) < result.value <= before * (1 + 1e-9)
        assert mg.network_pld(y, x, truth_confidence=confidence, **settings).value == pytest.approx(
            result.value, rel=1e-12
        )


def networks(rng: np.random.Generator, lines: int) -> tuple[Network, Network]:
    """Two networks of random lines that cross each other."""
    sides = []
    for _ in range(2):
        drawn = [rng.uniform(0, 30, 2) + np.cumsum(rng.normal(0, 0.6, (12, 2)), axis=0) for _ in range(lines)]
        sides.append(network(whole(*drawn, confidence=rng.uniform(0.2, 1, lines))))
    return sides[0], sides[1]


def total_of(assignment: PointAssignment, break_cost: float) -> float:
    """What an assignment saves, after the cost of the ends of its runs."""
    return float(assignment.saving.sum()) - 0.5 * break_cost * assignment.ends


def test_an_assignment_that_is_not_proven_has_a_gap() -> None:
    x, y, confidence = demo_groups()[0]
    sides = []
    for lines, given in ((x, confidence), (y, np.ones(len(y)))):
        closed, repeats = lines.closed("auto", 0.05)
        sides.append(side_of(lines, 0, len(lines), closed=closed, repeats=repeats, confidence=given, directed=False))
    rows = []
    for effort in (Effort(), Effort(solutions=1, some_runs=1, all_runs=1)):
        row, _ = solve_network(sides[0], sides[1], CUTOFF, 0.5, effort=effort)
        rows.append((math.fsum(row[: len(PARTS)]), float(row[GAP])))
    (best, proven), (value, gap) = rows
    assert proven == 0
    assert gap > 0
    assert value - gap <= best * (1 + 1e-9)
    assert best <= value * (1 + 1e-9)


def test_results_add_their_gaps() -> None:
    x, y, confidence = demo_groups()[0]
    best = mg.network_pld(x, y, confidence=confidence, break_cost=0.5, closed="auto", directed=False)
    unproven = replace(best, gap=0.1 * best.value)
    assert best.is_proven
    assert not unproven.is_proven
    assert (unproven + best).gap == unproven.gap
    assert not (unproven + best).is_proven


def test_a_network_that_is_solved_by_parts_has_the_same_value(rng: np.random.Generator) -> None:
    for lines in (6, 6, 6, 6, 6, 6, 6, 6, 60):
        x, y = networks(rng, lines)
        whole_network = assign_points(x, y, CUTOFF, 0.5, directed=False)
        parts = assign_points(x, y, CUTOFF, 0.5, directed=False, effort=Effort(large=0))
        assert total_of(parts, 0.5) == pytest.approx(total_of(whole_network, 0.5), rel=1e-12)
        assert parts.ends == whole_network.ends


def test_break_cost_0_is_an_assignment_of_points(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    maps = [random_map(rng, 3, 8) for _ in range(8)]
    monkeypatch.setattr(runs, "best_runs", None)  # no solver is called
    for x, y in pairwise(maps):
        assert distance(x, y, break_cost=0).value == pytest.approx(oriented(x, y, 0.0), abs=1e-6)
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
    with pytest.raises(mg.InvalidInput, match=r"cannot pool .*break cost 0.5"):
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
    ],
)
def test_bad_arguments(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.network_pld([LINE], [LINE], **settings)


def test_only_equal_maps_have_distance_0(rng: np.random.Generator) -> None:
    x = random_map(rng, 3, 6)
    x = replace(x, confidence=(1.0, 0.5, 0.25))
    assert distance(x, x, break_cost=0.5).value <= CLOSE
    lines = list(x.lines)
    lines[0] = lines[0] + 0.1
    assert distance(x, replace(x, lines=tuple(lines)), break_cost=0.5).value > 0.01
    # Coinciding points do not help: two triangles at one place are not a ring of six points.
    triangle = circle(3, 1.0, 0, 1)
    two, six = whole(triangle, triangle, rings=[True, True]), whole(np.tile(triangle, (2, 1)), rings=[True])
    assert distance(two, six, break_cost=0.5).value == pytest.approx(oriented(two, six, 0.5), abs=1e-6)
    assert distance(two, six, break_cost=0.5).value > 0.5
