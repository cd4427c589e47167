"""Consistency: a still world has no flicker, and each kind of change raises its own part."""

from dataclasses import replace

import numpy as np
import pytest
from tests.features.tracks.worlds import Worse, dropping, jittering, perfect, reversing, shuffled, unsure
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.tracks.drives import inverse_of
from mapgauge.geometry.poses import rotation_about_z

PARTS = mg.Parts._fields


def parts_of(found: mg.Consistency, lag: int = 1) -> dict[str, float]:
    return {key: value.value for key, value in found.estimates[lag]["mean"].items()}


@pytest.fixture(scope="module")
def still() -> mg.Consistency:
    return mg.consistency(perfect())


def test_a_still_world_has_next_to_no_flicker(still: mg.Consistency) -> None:
    for lag in (1, 2, 5):
        assert still.estimates[lag]["divider"]["flicker"].value < 0.002
        assert still.estimates[lag]["boundary"]["flicker"].value < 0.003
        assert still.estimates[lag]["ped_crossing"]["flicker"].value < 0.02


def test_the_margin_removes_what_happens_at_the_edge(still: mg.Consistency) -> None:
    without = mg.consistency(perfect(), lags=[1], margin=0)
    assert without.flicker is not None
    assert still.flicker is not None
    assert without.flicker > 10 * still.flicker


@pytest.mark.parametrize(
    ("worse", "raised"),
    [(jittering, ["matched_points"]), (dropping, ["missed", "false"]), (unsure, ["confidence"])],
    ids=["jitter", "drop-outs", "confidence"],
)
def test_each_change_raises_its_own_part(still: mg.Consistency, worse: Worse, raised: list[str]) -> None:
    found = parts_of(mg.consistency(worse(perfect(), np.random.default_rng(1)), lags=[1]))
    before = parts_of(still)
    for key in PARTS:
        change = found[key] - before[key]
        assert change > 0.05 if key in raised else change < 0.05
    assert sum(found[key] for key in raised) > 0.85 * found["flicker"]


def test_reversed_lines_and_rolled_polygons_are_no_flicker(still: mg.Consistency) -> None:
    found = mg.consistency(reversing(perfect(), np.random.default_rng(2)), lags=[1])
    assert found.flicker == pytest.approx(still.flicker, abs=1e-3)


def test_parts_add_up_and_rows_have_all_values(still: mg.Consistency) -> None:
    for row in still.rows:
        if row["flicker"] is not None:
            assert sum(row[key] for key in PARTS) == pytest.approx(row["flicker"])
            assert 0 <= row["low"] <= row["flicker"] <= row["high"] <= 1
    assert [row["flicker"] for row in still.rows if row["lag"] == 10] == [None] * 4
    assert {finding.code for finding in still.findings} == {"lags-without-transitions", "scenes-few"}
    (few,) = (finding for finding in still.findings if finding.code == "scenes-few")
    assert str(few) == "warning: 4 scenes are too few to decide which method is better. Evaluate at least 5 scenes"


def test_two_lines_by_hand() -> None:
    """A line that moves by 0.5 m and loses half its confidence, seen from a car that drives 2 m and turns."""
    line, near = [[-10.0, 1.0], [10.0, 1.0]], [[-10.0, 1.5], [10.0, 1.5]]
    frames = mg.MapFrames.of(
        {"a": {"divider": [line]}, "b": {"divider": [near]}},
        confidence={"a": {"divider": [0.8]}, "b": {"divider": [0.4]}},
    )
    away = rotation_about_z(90)
    away[:3, 3] = 1000, 2000, 3
    step = np.eye(4)
    step[0, 3] = 2
    turned = rotation_about_z(30)
    poses = np.stack([away, away @ step @ turned])
    moved = frames.transform(np.stack([np.eye(4), np.linalg.inv(step @ turned)]))
    found = mg.consistency(
        replace(moved, scenes=("s", "s"), poses=poses), lags=[1], region=(60, 60), margin=1.0, cutoff=1.5
    )
    result = mg.pld(
        [mg.resample(near, spacing=0.5)], [mg.resample(line, spacing=0.5)], confidence=[0.4], truth_confidence=[0.8]
    )
    assert found.flicker == pytest.approx(result.normalised)
    assert found.worst(1)[0]["matched_points"] == pytest.approx(result.normalised_parts.matched_points)


def test_the_result_depends_neither_on_workers_nor_on_the_order() -> None:
    predictions, _ = demo_world(30, predictions=30)
    one = mg.consistency(predictions, workers=1, lags=[1, 2])
    mixed = shuffled(predictions, np.random.default_rng(3))
    for other in (mg.consistency(predictions, workers=3, lags=[2, 1]), mg.consistency(mixed, lags=[1, 2])):
        assert other.rows == one.rows
        assert other.worst(40, lag=2) == one.worst(40, lag=2)


def test_poses_of_the_truth_serve_as_well_as_own_poses() -> None:
    predictions, truth = demo_world(20, predictions=20)
    bare = replace(predictions, poses=None, scenes=None, timestamps=None)
    expected = mg.consistency(predictions, lags=[1]).rows
    assert mg.consistency(bare, poses=truth, lags=[1]).rows == expected
    turned = bare.rotate(90)
    assert turned.forward == "y"
    found = mg.consistency(turned, poses=truth, lags=[1]).rows
    assert [row["flicker"] for row in found] == pytest.approx([row["flicker"] for row in expected], abs=1e-9)


def test_a_missing_frame_counts_as_one_without_output() -> None:
    predictions, truth = demo_world(20, predictions=20)
    lacking = predictions.at([k for k in range(20) if k != 4])
    found = mg.consistency(lacking, poses=truth, lags=[1])
    assert [finding.code for finding in found.findings if finding.level == "warning"] == [
        "frames-without-output",
        "scenes-few",
    ]
    worst = found.worst(2)
    assert {row["flicker"] for row in worst} == {1.0}
    assert {(row["earlier"], row["missed"], row["false"]) for row in worst} == {
        (predictions.tokens[3], 1.0, 0.0),
        (predictions.tokens[4], 0.0, 1.0),
    }


def test_a_wrong_region_is_found() -> None:
    found = mg.consistency(perfect(20), lags=[1], region=(100, 50))
    assert "region-not-filled" in {finding.code for finding in found.findings}
    small = mg.consistency(perfect(20), lags=[1], region=(30, 20))
    assert "region-exceeded" in {finding.code for finding in small.findings}
    assert small.flicker is not None
    assert small.flicker < 0.02


@pytest.mark.parametrize("wrong", ["other sensor", "inverse"])
def test_poses_that_do_not_fit_are_found(wrong: str) -> None:
    frames = perfect(20)
    assert frames.poses is not None
    poses = frames.poses @ rotation_about_z(90) if wrong == "other sensor" else inverse_of(frames.poses)
    found = mg.consistency(replace(frames, poses=poses), lags=[1])
    assert "poses-do-not-fit" in {finding.code for finding in found.findings}


def test_a_class_without_output_has_no_value() -> None:
    frames = perfect(20)
    some = frames.keep(frames.label != frames.classes.index("divider"))
    found = mg.consistency(some, lags=[1])
    assert "divider" not in found.estimates[1]
    assert found.flicker is not None
    nothing = mg.consistency(frames.keep(np.empty(0, np.int64)), lags=[1])
    assert nothing.flicker is None
    assert "without value" in repr(nothing)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lags": []}, "lags must be one or more"),
        ({"lags": [0]}, "lags must be a whole number of at least 1"),
        ({"lags": [1, 1]}, "lags must differ"),
        ({"lags": [400]}, "no two frames of a scene are 400 frames apart"),
        ({"margin": 15}, "margin must be smaller than half the region"),
        ({"margin": -1}, "margin must be a positive length"),
        ({"level": 1.0}, "level must be between 0 and 1"),
        ({"classes": ["lane"]}, "no class lane"),
        ({"cutoff": 0}, "cutoff must be"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.consistency(perfect(10), **settings)  # type: ignore[arg-type]


@needs_data("lanes_reference", "tracks_reference")
def test_files_with_poses() -> None:
    lanes = mg.consistency(DATA / "lanes_reference/centerline/data_dict_ref_val.pkl", region=(100, 50))
    assert lanes.estimates[10]["centerline"]["matched_points"].value < 0.01
    empty = lanes.worst(2)  # frame 5 of the first log has no truth on purpose
    assert [row["flicker"] for row in empty] == [1.0, 1.0]
    assert lanes.worst(3)[2]["flicker"] < 0.1
    a, b = (mg.consistency(DATA / f"tracks_reference/model_{k}/pos_predictions.pkl") for k in "ab")
    assert parts_of(a)["flicker"] < parts_of(b)["flicker"]
    assert parts_of(a)["flicker"] < parts_of(a, 10)["flicker"]
