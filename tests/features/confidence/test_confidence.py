"""Tests of ``confidence``: thresholds, the price of confidence, recalibration, and unusual input."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lane_worlds import write_pickles

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.confidence.operating import Units, recalibrate
from mapgauge.features.confidence.solved import solve


def measured(predictions: mg.MapFrames, truth: mg.MapFrames, **options: Any) -> mg.Confidence:
    return mg.confidence(mg.evaluate(predictions, truth, metrics=["pld"]), **{"samples": 50} | options)


@pytest.fixture(scope="module")
def world() -> tuple[mg.MapFrames, mg.MapFrames]:
    return demo_world(60, predictions=30)


@pytest.fixture(scope="module")
def found(world: tuple[mg.MapFrames, mg.MapFrames]) -> mg.Confidence:
    return measured(*world)


def test_the_price_of_confidence_is_what_rounding_saves(
    found: mg.Confidence, world: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    predictions, truth = world
    as_is = mg.evaluate(predictions, truth, metrics=["pld"])
    for name, one in found.classes.items():
        assert one.pld.value == pytest.approx(as_is.classes[name]["pld"], rel=1e-12)
        assert one.best is not None
        assert one.price is not None
        assert one.held_out is not None
        best = one.thresholds["best_pld"]
        rounded = mg.evaluate(predictions.filter(best).with_confidence(1), truth, metrics=["pld"])
        assert one.best.value == pytest.approx(rounded.classes[name]["pld"], rel=1e-12)
        assert one.price.value == pytest.approx(one.pld.value - one.best.value)
        assert one.best.value == one.levels.pld("rounded").min()
        assert one.best.low < one.best.value < one.best.high
    assert not found.findings


def test_the_held_out_value_is_that_of_both_halves(
    found: mg.Confidence, world: tuple[mg.MapFrames, mg.MapFrames]
) -> None:
    predictions, truth = world
    results = mg.evaluate(predictions, truth, metrics=["pld"])
    halves = Units.of(results, 50, 0).halves
    assert halves is not None
    assert predictions.confidence is not None
    in_first = dict(zip(sorted(truth.tokens), halves[0].tolist(), strict=True))
    scenes = dict(zip(truth.tokens, truth.scenes or (), strict=True))
    assert not {scenes[t] for t in scenes if in_first[t]} & {scenes[t] for t in scenes if not in_first[t]}
    first = np.array([in_first[token] for token in predictions.tokens])[predictions.frame]
    for name, one in found.classes.items():
        assert one.held_out is not None
        threshold = np.where(first, one.held_out.thresholds[1], one.held_out.thresholds[0])
        kept = predictions.keep(predictions.confidence >= threshold).with_confidence(1)
        judged = measured(kept, truth).classes[name].pld  # of the same draws
        assert one.held_out.pld == pytest.approx(judged, rel=1e-12)
        assert one.held_out.price.low < one.held_out.price.value < one.held_out.price.high
        assert one.held_out.price.value == pytest.approx(one.pld.value - one.held_out.pld.value)


def test_thresholds_meet_their_criteria(found: mg.Confidence, tmp_path: Path) -> None:
    for one in found.classes.values():
        levels, chosen = one.levels, one.thresholds
        assert levels.f1[levels.place(chosen["best_f1"])] == np.nanmax(levels.f1)
        kept = int(levels.kept[levels.place(chosen["equal_counts"])])
        assert abs(kept - one.truth) == np.abs(levels.kept - one.truth).min()
    found.save_thresholds(tmp_path / "thresholds.json")
    written = json.loads((tmp_path / "thresholds.json").read_text(encoding="utf-8"))
    assert written["classes"]["divider"] == found.classes["divider"].thresholds
    assert written["common"]["best_pld"] == found.common.threshold if found.common else False


def test_one_threshold_for_all_classes(found: mg.Confidence, world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    predictions, truth = world
    assert found.common is not None
    at = found.common.threshold
    rounded = mg.evaluate(predictions.filter(at).with_confidence(1), truth, metrics=["pld"])
    assert found.common.rounded == pytest.approx(rounded.mean["pld"], rel=1e-12)
    grid = [np.mean([found.rows(name, [t])[0]["rounded"] for name in found.classes]) for t in np.linspace(0, 1, 21)]
    assert found.common.rounded <= min(grid) + 1e-12


def test_recalibration_repairs_spoiled_confidences(world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    predictions, truth = world
    assert predictions.confidence is not None
    spoiled = measured(predictions.with_confidence(predictions.confidence**4), truth)
    for one in spoiled.classes.values():
        assert one.recalibrated is not None
        assert one.recalibrated.brier_change.high < 0
        assert one.recalibrated.pld_before == one.pld


def test_pld_after_recalibration_is_that_of_the_new_confidences(world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    predictions, truth = world
    results = mg.evaluate(predictions, truth, mg.protocol("paper-60x30", ties="file"), metrics=["pld"])
    solved, units = solve(results, 1.5, 0.5), Units.of(results, 1, 0)
    new = recalibrate(solved, units)
    assert new is not None
    assert results.data is not None
    x, y = results.data
    order = [x.index[token] for token in solved.tokens]
    in_file = np.empty_like(new)
    in_file[solved.place] = new
    again = measured(x.at(order).with_confidence(in_file), y.at(order))
    as_is = measured(predictions, truth)
    for name, one in as_is.classes.items():
        after = one.recalibrated
        assert after is not None
        assert after.pld_after == pytest.approx(again.classes[name].pld, rel=1e-12)
        assert after.brier_before == pytest.approx(as_is.calibration[name]["hit"].brier, rel=1e-9)
        assert after.pld_change.value == pytest.approx(after.pld_after.value - one.pld.value, rel=1e-12)
        assert after.pld_change.low < after.pld_change.value < after.pld_change.high


def codes(found: mg.Confidence) -> set[str]:
    return {finding.code for finding in found.findings}


def test_without_scenes_frames_are_split(world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    bare = measured(*(replace(side, scenes=None) for side in world))
    assert (bare.unit, bare.units, codes(bare)) == ("frame", 60, {"scenes-unknown"})
    assert bare.classes["divider"].held_out is not None


def test_one_frame_has_neither_halves_nor_intervals(world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    one = measured(*(side.at([0]) for side in world))
    assert codes(one) >= {"halves-none"}
    divider = one.classes["divider"]
    assert (divider.held_out, divider.recalibrated) == (None, None)
    assert divider.best is not None
    assert np.isnan(divider.best.low)
    assert "[" not in one.table()
    json.dumps(one.to_dict(), allow_nan=False)


def test_equal_confidences(world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    predictions, truth = world
    equal = measured(predictions.with_confidence(0.5), truth)
    assert codes(equal) == {"confidence-equal"}
    assert all(set(one.thresholds.values()) == {0.5} for one in equal.classes.values())


def test_nothing_matches(world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    predictions, truth = world
    away = replace(
        predictions, polylines=mg.Polylines(predictions.polylines.coords + 500, predictions.polylines.offsets)
    )
    lost = mg.confidence(mg.evaluate(away, truth, metrics=["pld"], unknown="ignore"), samples=20)
    assert codes(lost) == {"hits-none"}
    assert lost.classes["divider"].pld.value == 1.0
    assert lost.calibration["all"]["hit"].uncertainty == 0
    json.dumps(lost.to_dict(), allow_nan=False)


def test_classes_without_truth_or_predictions() -> None:
    line = [[0, 0], [9, 0]]
    truth = mg.MapFrames.of({"a": {"divider": [line]}, "b": {"divider": [line]}})
    given = {"a": {"boundary": [line]}, "b": {"boundary": [line]}}
    predictions = mg.MapFrames.of(given, confidence={token: {"boundary": [0.5]} for token in given})
    none = mg.confidence(mg.evaluate(predictions, truth, metrics=["pld"]), samples=20)
    assert set(none.classes) == {"divider", "boundary"}
    assert all(one.thresholds == {} and one.best is None for one in none.classes.values())
    assert "threshold-none" in codes(none)
    assert none.thresholds()["classes"] == {}
    assert "divider" in none.table()
    json.dumps(none.to_dict(), allow_nan=False)


def test_one_class_and_no_predictions() -> None:
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    empty = mg.MapFrames.of({"a": {"divider": []}}, confidence={"a": {"divider": []}})
    none = mg.confidence(mg.evaluate(empty, truth, mg.protocol("paper-60x30", classes=["divider"])), samples=5)
    assert (none.common, none.calibration) == (None, {})
    assert none.rows("divider", [0.5])[0]["rounded"] == 1.0
    json.dumps(none.to_dict(), allow_nan=False)


def test_invalid_input(world: tuple[mg.MapFrames, mg.MapFrames], tmp_path: Path) -> None:
    predictions, truth = (side.at([0, 1]) for side in world)
    results = mg.evaluate(predictions, truth, metrics=["pld"])
    with pytest.raises(mg.InvalidInput, match="does not hold the geometry") as error:
        mg.confidence(results.without_data())
    assert error.value.remedy is not None
    assert "--with-geometry" in error.value.remedy.shell
    for wrong in (
        {"hit": 1.0},
        {"hit": "near"},
        {"bins": 0},
        {"samples": 0},
        {"level": 1},
        {"seed": -1},
        {"cutoff": 0},
    ):
        with pytest.raises(mg.InvalidInput):
            mg.confidence(results, **wrong)
    with pytest.raises(mg.InvalidInput, match=r"bins must be .*got 0"):
        mg.confidence(results, bins=0)
    assert len(mg.confidence(results, bins=1, samples=2).calibration["all"]["hit"].number) == 1
    with pytest.raises(mg.InvalidInput, match="got list"):
        mg.confidence([results])  # type: ignore[arg-type]
    found = mg.confidence(results, samples=2)
    for given in (0.5, ["a"], [float("nan")]):
        with pytest.raises(mg.InvalidInput, match="thresholds must be a list of numbers"):
            found.rows("divider", given)  # type: ignore[arg-type]
    with pytest.raises(mg.InvalidInput, match="no class 'road'"):
        found.rows("road")
    results.save(tmp_path / "r.mg", geometry="original")
    loaded = mg.confidence(mg.load_results(tmp_path / "r.mg"), samples=2)
    assert loaded.to_dict()["classes"] == mg.confidence(results, samples=2).to_dict()["classes"]


def test_another_cutoff_is_that_of_another_evaluation(world: tuple[mg.MapFrames, mg.MapFrames]) -> None:
    predictions, truth = (side.at(range(10)) for side in world)
    results = mg.evaluate(predictions, truth, metrics=["pld"])
    other = mg.evaluate(predictions, truth, mg.protocol("paper-60x30", cutoffs=(0.5,)), metrics=["pld"])
    found = mg.confidence(results, cutoff=0.5, samples=2)
    assert found.classes["divider"].pld.value == pytest.approx(other.classes["divider"]["pld"], rel=1e-12)


@pytest.mark.needs_feature("openlane")
def test_boxes_are_left_out(tmp_path: Path) -> None:
    folder = write_pickles(tmp_path, "good.pkl", "poor.pkl", "truth.pkl")
    protocol = mg.protocol("openlanev2-v1.1", cutoffs=(1.5,))
    results = mg.evaluate(folder / "good.pkl", folder / "truth.pkl", protocol, metrics=["pld", "det_l", "det_t"])
    found = mg.confidence(results, samples=5)
    assert set(found.classes) == {"centerline"}
    lanes = found.rows("centerline", [0.0])[0]
    expected = results.classes["centerline"]
    assert (lanes["dropped"], lanes["det_l"]) == pytest.approx((expected["pld"], expected["det_l"]), rel=1e-12)
    assert "det_t" not in lanes
