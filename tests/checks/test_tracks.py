"""Checks of tracks: one finding each, and none for a sound scene."""

from dataclasses import replace

import numpy as np
import pytest
from tests.scenes_of_lines import pose, scene

import mapgauge as mg
from mapgauge.checks.neighbours import chamfer, lines_last, near_chamfer

POSES = np.array([pose(2.0 * k) for k in range(4)])
TRUE = [[("g", 0.0, 1.0), ("h", 5.0, 1.0)]] * 4
FOUND = [[("a", 0.1, 0.9), ("b", 5.1, 0.8)]] * 4


def codes(predictions: mg.MapFrames, truth: mg.MapFrames) -> dict[str, mg.Finding]:
    """Return the findings about tracks and scenes by code."""
    found = {finding.code: finding for finding in mg.check(predictions, truth)}
    return {code: finding for code, finding in found.items() if code.startswith(("tracks", "scenes", "timestamps"))}


@pytest.fixture
def truth() -> mg.MapFrames:
    return scene(TRUE, truth=True, poses=POSES, timestamps=np.arange(4))


@pytest.fixture
def predictions() -> mg.MapFrames:
    return scene(FOUND)


def test_sound_tracks_have_no_findings(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    assert codes(predictions, truth) == {}


def test_tracks_on_one_side_only(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    (one,) = codes(replace(predictions, track=None), truth).values()
    assert (one.code, one.level) == ("tracks-one-side", "note")
    assert "the truth have tracks and the predictions have none" in one.message
    assert "tracks-one-side" in codes(predictions, replace(truth, track=None))


def test_ids_that_repeat_within_a_frame(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    twice = scene([[("a", 0.1, 0.9), ("a", 5.1, 0.8)], *FOUND[1:]])
    found = codes(twice, truth)
    assert (found["tracks-repeated"].level, found["tracks-repeated"].count) == ("warning", 1)
    assert found["tracks-repeated"].examples == ("s-0",)
    pieces = scene([[("g", 0.0, 1.0), ("g", 5.0, 1.0)], *TRUE[1:]], truth=True)
    assert codes(predictions, pieces)["tracks-repeated"].level == "note"


def test_ids_reused_across_scenes(truth: mg.MapFrames) -> None:
    names = ("s", "s", "t", "t")
    found = codes(scene(FOUND, scenes=names), replace(truth, scenes=names))["tracks-across-scenes"]
    assert (found.level, found.count) == ("note", 2)
    named = np.array([f"{names[k]}/{track}" for k in range(4) for track in "ab"])
    apart = codes(replace(scene(FOUND, scenes=names), track=named), truth)
    assert "tracks-across-scenes" not in apart


def test_tracks_that_jump_in_the_world(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    away = scene([*FOUND[:3], [("a", 12.0, 0.9), ("b", 5.1, 0.8)]])
    found = codes(away, truth)["tracks-jump"]
    assert (found.level, found.count, found.examples) == ("warning", 1, ("a",))
    assert "1 of 6 steps" in found.message
    # The ego vehicle moves by 30 m in each frame, so a line that stays in front of it jumps.
    driving = replace(truth, poses=np.array([pose(30.0 * k) for k in range(4)]))
    assert codes(predictions, driving)["tracks-jump"].count == 6
    assert "tracks-jump" not in codes(away, replace(truth, poses=None))
    # Poses of the predictions serve as well, in the order of time.
    order = [2, 0, 3, 1]
    mixed = replace(away, poses=POSES, timestamps=np.arange(4)).at(order)
    assert codes(mixed, replace(truth, poses=None))["tracks-jump"].count == 1


def test_instances_without_a_track(truth: mg.MapFrames) -> None:
    found = codes(scene([[("", 0.1, 0.9), ("b", 5.1, 0.8)], *FOUND[1:]]), truth)["tracks-incomplete"]
    assert (found.level, found.count, found.examples) == ("note", 1, ("s-0",))


def test_scenes_out_of_order_with_equal_times_or_of_one_frame(predictions: mg.MapFrames, truth: mg.MapFrames) -> None:
    found = codes(predictions, replace(truth, timestamps=np.array([0, 2, 1, 3])))
    assert (found["scenes-order"].level, found["scenes-order"].examples) == ("note", ("s",))
    found = codes(predictions, replace(truth, timestamps=np.array([0, 1, 1, 3])))
    assert found["timestamps-equal"].level == "warning"
    found = codes(predictions, replace(truth, scenes=("s", "s", "s", "t")))
    assert (found["scenes-one-frame"].level, found["scenes-one-frame"].examples) == ("note", ("t",))


def test_near_lines_have_their_chamfer_distance(rng: np.random.Generator) -> None:
    x, y = (rng.normal(0, 3, (n, 1, 2)) + rng.normal(0, 1, (n, 10, 2)) for n in (90, 80))
    rows, columns = np.indices((len(x), len(y)))
    whole = chamfer(lines_last(x[rows.ravel()]), lines_last(y[columns.ravel()])).reshape(len(x), len(y))
    near = near_chamfer(x, y, 1.5)
    assert np.count_nonzero(np.isinf(near)) > 1000
    assert np.isinf(near[whole > 4]).any()
    assert (near == whole)[whole <= 1.5].all()
    assert np.isin(near, [np.inf]).sum() + (near == whole).sum() == whole.size


def test_a_gap_of_exactly_the_limit_is_near() -> None:
    line = np.stack([np.arange(10.0), np.zeros(10)], axis=1)[None]
    for gap in (1.5, np.nextafter(1.5, 2)):  # a mean of the second may be rounded to 1.5
        other = line + np.array([0, gap])
        assert near_chamfer(line, other, 1.5)[0, 0] == chamfer(lines_last(line), lines_last(other))[0]
