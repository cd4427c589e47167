"""Strips say the same as ``track_pld``: who matched a true track in each frame, and when it was taken over."""

from dataclasses import replace

import numpy as np
import pytest
from tests.tracked import tracked_results, tracked_world

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.tracks.strips import ABSENT, ALONE, Switch, scene_values, strips_of
from mapgauge.results.scene_order import scene_frames, seconds_of


def test_a_strip_has_the_matches_of_every_frame() -> None:
    (strip,) = strips_of(tracked_results(*tracked_world()), "s1")
    assert strip.names == ("p0", "p1", "early", "late")
    assert [row.track for row in strip.truth] == ["lane-0", "lane-1", "lane-2"]
    assert [row.cells.tolist() for row in strip.truth] == [[0, ALONE, 0, 0, 0, 0], [1] * 6, [2, 2, 2, 3, 3, 3]]
    assert strip.truth[2].switches == [Switch(3, 2, 3)]
    assert strip.truth[0].switches == []
    assert strip.frames == (6, 7, 8, 9, 10, 11)
    assert list(strip.seconds or ()) == [0, 10, 20, 30, 40, 50]
    (ghost,) = strip.false
    assert (ghost.track, ghost.cells.tolist(), strip.false_count) == ("ghost", [ALONE] * 6, 1)
    assert ghost.confidence == pytest.approx(0.9)


def test_strips_agree_with_track_pld_on_a_drive() -> None:
    predictions, truth = demo_world(10, predictions=30)
    tracked = mg.track(predictions, poses=truth, confidence=None)
    results = mg.evaluate(
        tracked, truth, mg.protocol("paper-60x30", settings={"track_pld": {"switch_cost": 0.5}}), metrics=["track_pld"]
    )
    switches = 0
    for strip in strips_of(results, "scene-0000", false=1000):
        sides = (side.select([strip.class_name]).resample(spacing=0.5) for side in (tracked, truth))
        expected = mg.track_pld(*sides, switch_cost=0.5, closed="auto", directed=False)
        assert strip.value == pytest.approx(expected.normalised)
        assert sum(len(row.switches) for row in strip.truth) == expected.switch_count
        switches += expected.switch_count
        for k, matches in enumerate(expected.matches):
            found = {(row.track, strip.names[row.cells[k]]) for row in strip.truth if row.cells[k] >= 0}
            assert found == {(match.truth, match.prediction) for match in matches if match.weight > 0.5}
        there = {row.track: int((row.cells > ABSENT).sum()) for row in strip.truth}
        assert there == {track.track: track.frames for track in expected.tracks}
        for row in strip.false:
            alone, matched = (row.cells == ALONE).sum(), (row.cells >= 0).sum()
            assert alone > matched
        assert strip.false_count == len(strip.false)
    assert switches > 0


def test_frames_are_in_the_order_of_time() -> None:
    predictions, truth = tracked_world(scenes=1)
    order = [3, 0, 5, 1, 4, 2]
    (strip,) = strips_of(tracked_results(predictions.at(order), truth.at(order)), "s0")
    assert [order[frame] for frame in strip.frames] == [0, 1, 2, 3, 4, 5]
    assert strip.truth[2].switches == [Switch(3, 2, 3)]


def test_neighbours_have_different_colours() -> None:
    (strip,) = strips_of(tracked_results(*tracked_world(lines=9)), "s0")
    assert len(set(strip.colours)) == 10
    (many,) = strips_of(tracked_results(*tracked_world(lines=40, scenes=1)), "s0")
    for above, below in zip(many.truth, many.truth[1:], strict=False):
        first, second = ({many.colours[k] for k in row.cells.tolist() if k >= 0} for row in (above, below))
        assert first.isdisjoint(second)


def test_a_track_that_occurs_twice_in_a_frame_has_two_rows() -> None:
    (strip,) = strips_of(tracked_results(*tracked_world(name=lambda k: "same", scenes=1)), "s0")
    assert [row.track for row in strip.truth] == ["same", "same (2)", "same (3)"]


def test_scenes_are_ranked_by_their_value() -> None:
    results = tracked_results(*tracked_world(scenes=3))
    assert list(scene_values(results)) == ["s2", "s1", "s0"]
    alone = results.by("scene")["s1"].mean["track_pld"]
    assert scene_values(results)["s1"] == pytest.approx(alone)


def test_the_unit_of_time_is_told_from_its_size() -> None:
    for unit in (1, 10**3, 10**6, 10**9):
        assert seconds_of(1_700_000_000 * unit + np.array([0, 2 * unit])) == [0, 2]
    assert seconds_of(np.array([0, 1, 2])) is None
    assert seconds_of(None) is None


def test_what_has_no_strips_is_refused() -> None:
    predictions, truth = tracked_world()
    results = tracked_results(predictions, truth)
    with pytest.raises(mg.InvalidInput, match=r"no scene 's0-'; did you mean s0\?"):
        strips_of(results, "s0-")
    with pytest.raises(mg.InvalidInput, match="no scene 'Boston'; there are s0, s1"):
        strips_of(results, "Boston")
    with pytest.raises(mg.InvalidInput, match="does not hold the geometry"):
        strips_of(results.without_data(), "s0")
    plain = mg.evaluate(predictions, truth, mg.protocol("paper-60x30", classes=["divider"]), metrics=["pld"])
    with pytest.raises(mg.InvalidInput, match=r"track_pld not found .* settings=\{\"track_pld\": \{\}\}"):
        strips_of(plain, "s0")
    with pytest.raises(mg.InvalidInput, match="truth: the frames have no scenes"):
        scene_frames(replace(truth, scenes=None), "s0")
