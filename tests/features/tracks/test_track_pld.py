"""T-PLD has the values of its definition, and its table of tracks says what happened."""

import math
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.features.tracks.track_cases import (
    Frames,
    Side,
    as_frames,
    distance,
    line,
    one_assignment,
    one_prediction,
    one_truth,
    random_side,
    slow,
)

import mapgauge as mg
from mapgauge.features.tracks.track_scene import number_tracks
from mapgauge.metrics.groups import group


def sure(frames: Frames) -> Side:
    return frames, [dict.fromkeys(frame, 1.0) for frame in frames]


def swapped(frames: int, at: int) -> Side:
    """Two true tracks, whose predicted tracks are exchanged from one frame on."""
    rows = [{"1": line(0.0), "2": line(9.0)} if k < at else {"2": line(0.0), "1": line(9.0)} for k in range(frames)]
    return sure(rows)


@pytest.mark.parametrize("at", [1, 15, 29])
def test_a_switch_costs_the_same_whenever_it_happens(at: int) -> None:
    truth = sure(one_truth())
    kept = distance(one_prediction(lambda k: "1"), truth, switch_cost=0.5)
    switched = distance(one_prediction(lambda k: "1" if k < at else "2"), truth, switch_cost=0.5)
    assert round(kept.normalised, 3) == 0.257
    assert round(switched.normalised, 3) == 0.283
    assert switched.value == pytest.approx(kept.value + 0.5, abs=1e-12)
    assert switched.switch_count == 1
    assert switched.changes == (mg.Change(at, "a", "1", "2"),)
    assert switched.pld == kept.pld == kept.normalised
    assert switched.inconsistency == switched.normalised - kept.normalised


def test_new_tracks_in_every_frame() -> None:
    result = distance(one_prediction(str), sure(one_truth()), switch_cost=0.5)
    assert round(result.normalised, 3) == 0.792
    assert result.switch_count == 29
    assert result.parts.switches == 14.5


def test_one_track_for_everything_is_not_perfect() -> None:
    """C-mAP calls this perfect. A track can be in one place only, so the second truth is a switch away or missed."""
    truth = sure([{"a": line(0.0)} if k % 2 else {"b": line(9.0)} for k in range(10)])
    same = sure([{"1": frame[next(iter(frame))]} for frame in truth[0]])
    result = distance(same, truth, switch_cost=0.25)
    assert result.parts.switches == 9 * 0.25
    assert result.value == result.parts.switches


def test_gaps_late_starts_and_early_ends_cost_what_is_missed() -> None:
    truth = sure([{"a": line(0.0)} for _ in range(10)])
    for present in (range(3, 10), range(7), (0, 1, 2, 6, 7, 8, 9)):
        predictions = sure([{"1": line(0.0)} if k in present else {} for k in range(10)])
        result = distance(predictions, truth, switch_cost=5.0)
        assert result.value == result.parts.missed == 0.5 * (10 - len(list(present)))
        assert result.switch_count == 0
    assert result.fragmentations == 1
    assert result.tracks[0].stretches == (mg.Stretch("1", 0, 2), mg.Stretch(None, 3, 5), mg.Stretch("1", 6, 9))
    assert result.changes == (mg.Change(3, "a", "1", None), mg.Change(6, "a", None, "1"))
    # A gap in the truth is free as well, and is not a fragmentation.
    back = distance(truth, predictions, switch_cost=5.0)
    assert back.value == back.parts.false == 1.5
    assert back.fragmentations == 0


def test_two_exchanged_tracks_are_two_switches() -> None:
    truth = sure([{"a": line(0.0), "b": line(9.0)} for _ in range(6)])
    result = distance(swapped(6, 4), truth, switch_cost=0.3)
    assert result.value == pytest.approx(0.6, abs=1e-15)
    assert result.switch_count == 2
    assert result.changes == (mg.Change(4, "a", "1", "2"), mg.Change(4, "b", "2", "1"))
    assert result.matches[4] == (mg.TrackMatch("2", "a", 1.0), mg.TrackMatch("1", "b", 1.0))
    # It is cheaper to miss a short exchange than to switch twice.
    brief = sure([*swapped(6, 6)[0][:5], swapped(6, 0)[0][0]])
    missed = distance(brief, truth, switch_cost=3.0)
    assert missed.parts == (0, 0, 0, 1.0, 1.0, 0)


def test_switch_cost_0_is_pooled_pld_to_the_last_bit(rng: np.random.Generator) -> None:
    for _ in range(5):
        x, y = random_side(rng, 4, 4, "p"), random_side(rng, 4, 3, "t")
        result = distance(x, y, switch_cost=0)
        pooled = [
            mg.pld(
                list(x[0][k].values()),
                list(y[0][k].values()),
                confidence=list(x[1][k].values()),
                truth_confidence=list(y[1][k].values()),
                closed=False,
            )
            for k in range(4)
        ]
        parts = tuple(math.fsum(column) for column in zip(*(one.parts for one in pooled), strict=True))
        assert result.parts == (*parts, 0.0)
        assert result.mass == math.fsum(one.mass for one in pooled)
        for frame, one, names in zip(result.matches, pooled, zip(x[0], y[0], strict=True), strict=True):
            assert one.assignment is not None
            own, other = (list(side) for side in names)
            assert {match[:2] for match in frame} == {(own[i], other[j]) for i, j in one.assignment.tolist()}
        assert result.inconsistency == 0


def test_the_reduced_problem_has_the_value_of_the_whole_one(rng: np.random.Generator) -> None:
    for _ in range(30):
        frames, tracks, others = (int(n) for n in rng.integers(1, 5, 3))
        x, y = random_side(rng, frames, tracks, "p"), random_side(rng, frames, others, "t")
        cost = float(rng.choice([0.1, 0.25, 0.5, 1.0, 3.0]))
        for binary in (False, True):
            result = distance(x, y, switch_cost=cost, binary=binary)
            assert result.value == pytest.approx(slow(x, y, cost, binary=binary), abs=1e-9)
            assert sum(result.normalised_parts) == pytest.approx(result.normalised, abs=1e-12)


def test_a_scene_whose_linear_programme_has_no_0_or_1_solution() -> None:
    """Such scenes are rare. This one was found by random search."""
    predicted = ((0.25, -0.25), (1.0, 0.5), (0.0, -0.75))
    true = ((-0.5, 1.0, -0.75), (-0.75, 0.75, -0.25), (0.75, -0.75))
    x, y = (sure([{str(i): line(y) for i, y in enumerate(ys)} for ys in side]) for side in (predicted, true))
    linear, whole = (distance(x, y, switch_cost=0.25, binary=binary) for binary in (False, True))
    assert (linear.value, whole.value) == pytest.approx((709 / 168, 30 / 7), abs=1e-12)
    assert [slow(x, y, 0.25, binary=binary) for binary in (False, True)] == pytest.approx([709 / 168, 30 / 7])
    weights = [{match.weight for frame in found.matches for match in frame} for found in (linear, whole)]
    assert weights == [{0.5, 1.0}, {1.0}]


def test_a_large_cost_gives_one_assignment_of_tracks(rng: np.random.Generator) -> None:
    for _ in range(10):
        x, y = random_side(rng, 3, 3, "p"), random_side(rng, 3, 3, "t")
        result = distance(x, y, switch_cost=1000.0, binary=True)
        assert result.value == pytest.approx(one_assignment(x, y), abs=1e-9)
        assert result.parts.switches == 0


def test_tracks_are_numbered_by_their_lines_and_not_by_their_names() -> None:
    found = []
    for names in ("ab", "ba"):
        frames: Frames = [{names[0]: line(0.0), names[1]: line(1.0)} for _ in range(3)]
        side = frames, [dict.fromkeys(frame, 0.9) for frame in frames]
        groups = group(as_frames(side), as_frames(side, truth=True), mg.protocol("paper-60x30", spacing=None))
        rows = np.flatnonzero(groups.is_prediction)
        found.append(number_tracks(groups, rows, groups.side[rows] // 2).tolist())
    assert found[0] == found[1]
    assert sorted(set(found[0])) == [0, 1]
    assert found[0][:2] == found[0][2:4] == found[0][4:]


def test_switches_are_counted_even_if_they_cost_nothing() -> None:
    x, y = one_prediction(str, 6), one_truth(6)
    result = mg.track_pld(x[0], y, confidence=x[1], switch_cost=0)
    assert (result.switch_count, result.fragmentations, result.parts.switches) == (5, 0, 0.0)


def test_more_switch_cost_never_lowers_the_value(rng: np.random.Generator) -> None:
    x, y = random_side(rng, 6, 6, "p"), random_side(rng, 6, 4, "t")
    values = [distance(x, y, switch_cost=cost).value for cost in (0, 0.1, 0.25, 0.5, 1, 10)]
    assert values == sorted(values)


def test_map_frames_and_lists_give_the_same(rng: np.random.Generator) -> None:
    x, y = random_side(rng, 5, 4, "p"), random_side(rng, 5, 3, "t")
    ones = (y[0], [dict.fromkeys(frame, 1.0) for frame in y[0]])
    packed = as_frames(x), as_frames(y, truth=True)
    expected = distance(x, ones, switch_cost=0.5)
    assert mg.track_pld(*packed, switch_cost=0.5, directed=False) == expected
    # Frames are matched by token, and timestamps give their order.
    places = [3, 0, 4, 2, 1]
    timed = replace(packed[1], timestamps=np.arange(5))
    result = mg.track_pld(packed[0].at(places), timed.at(places), switch_cost=0.5, directed=False)
    assert result == expected
    assert [finding.code for finding in result.findings] == ["scenes-order"]


def test_neither_the_order_of_instances_nor_the_names_of_tracks_change_a_bit(rng: np.random.Generator) -> None:
    for _ in range(10):
        x, y = random_side(rng, 4, 5, "p"), random_side(rng, 4, 4, "t")
        names = {f"p{k}": f"{rng.integers(10**6)}-{k}" for k in range(5)}

        def renamed(frame: dict[str, object], names: dict[str, str] = names) -> dict[str, object]:
            return {names[name]: frame[name] for name in rng.permutation(list(frame)).tolist()}

        other = [renamed(frame) for frame in x[0]], [renamed(dict(frame)) for frame in x[1]]
        one, two = distance(x, y, switch_cost=0.4), distance(other, y, switch_cost=0.4)  # type: ignore[arg-type]
        assert one == two


def test_scenes_pool_with_sum() -> None:
    truth = sure([{"a": line(0.0), "b": line(9.0)} for _ in range(6)])
    one, two = distance(swapped(6, 4), truth), distance(swapped(6, 6), truth)
    both = sum([one, two])
    assert isinstance(both, mg.TrackPldResult)
    assert both.value == one.value + two.value
    assert both.switch_count == 2
    with pytest.raises(mg.InvalidInput, match=r"cannot pool .*switch cost 0\.5"):
        one + distance(swapped(6, 4), truth, switch_cost=1.0)


def test_the_solver_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = sure([{"a": line(0.0), "b": line(0.5)} for _ in range(3)])
    monkeypatch.setitem(sys.modules, "highspy", None)
    assert distance(truth, truth, switch_cost=0).value == 0
    with pytest.raises(mg.MissingDependency, match=r"needs highspy. Install it with: pip install 'mapgauge\[links\]'"):
        distance(truth, truth, switch_cost=0.5)


def test_one_frame_has_the_pld_of_the_same_settings() -> None:
    ring = np.array([[0, 0], [6, 0], [6, 4], [0, 4], [0, 0.3]])
    lines: list[Any] = [[[0, 0.7], [9, 0.7]], np.roll(ring[:4], 1, axis=0)]
    truth: list[Any] = [[[9, 0], [0, 0]], ring]
    sides = [[{str(k): points for k, points in enumerate(side)}] for side in (lines, truth)]
    values = set()
    chosen: list[dict[str, Any]] = [
        {},
        {"cutoff": 0.8},
        {"directed": False},
        {"closed": True},
        {"closed": "auto", "closed_tolerance": 0.5},
    ]
    for settings in chosen:
        expected = mg.pld(lines, truth, **settings).value
        assert mg.track_pld(*sides, **settings).value == pytest.approx(expected, rel=1e-12)
        values.add(round(expected, 9))
    assert len(values) == 5


def test_empty_sides() -> None:
    nothing: Side = ([{}, {}], [{}, {}])
    assert distance(nothing, nothing).normalised == 0
    assert distance(nothing, sure(one_truth(2))).normalised == 1
    assert distance(([], []), ([], [])).value == 0


def test_the_assignment_of_tracks_has_the_rows_of_the_input(rng: np.random.Generator) -> None:
    x, y = as_frames(random_side(rng, 5, 4, "p")), as_frames(random_side(rng, 5, 3, "t"), truth=True)
    places = [3, 0, 4, 2, 1]
    timed = replace(y, timestamps=np.arange(5))
    for predictions, truth in ((x, timed), (x.at(places), timed.at([1, 4, 0, 3, 2]))):
        result = mg.track_pld(predictions, truth)
        assert result.assignment is not None
        assert predictions.track is not None
        assert truth.track is not None
        pairs = {
            (predictions.tokens[predictions.frame[i]], str(predictions.track[i]), str(truth.track[j]))
            for i, j in result.assignment.tolist()
        }
        named = {
            (timed.tokens[k], match.prediction, match.truth)
            for k, matches in enumerate(result.matches)
            for match in matches
        }
        assert pairs == named
        assert len(pairs) == len(result.assignment) > 5
