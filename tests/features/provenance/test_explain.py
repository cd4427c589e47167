"""Differences between two evaluations, and the walk from one to the other."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.provenance import explain

FRAMES = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of predictions, two of truth; the second truth lacks frames and has moved lines."""
    folder = tmp_path_factory.mktemp("walk")
    for quality in ("good", "poor"):
        predictions, truth = demo_world(FRAMES, quality=quality)
        mg.write(predictions, folder / f"{quality}.json", "streammapnet")
    mg.write(truth, folder / "truth.geojson")
    moved = replace(truth, polylines=replace(truth.polylines, coords=truth.polylines.coords + 0.2))
    mg.write(moved.at(range(2, FRAMES)), folder / "moved.geojson")
    return folder


def walked(folder: Path, first: mg.Results, second: mg.Results) -> mg.Explanation:
    """Walk between results that were saved and loaded. The walk must begin and end with the recorded values."""
    for name, results in (("first", first), ("second", second)):
        results.save(folder / f"{name}.mg")
    walk = mg.explain(mg.load_results(folder / "first.mg"), mg.load_results(folder / "second.mg"))
    for key in walk.begin:
        assert walk.begin[key] == first.mean[key]
        assert walk.end[key] == second.mean[key]
        values = [first.mean[key], second.mean[key]]
        one, other = (Decimal(value).quantize(Decimal("0.0001")) for value in values if value is not None)
        assert sum(walk.added(key), Decimal()) == other - one
    return walk


def test_the_steps_add_up_exactly_over_all_kinds_of_differences(folder: Path) -> None:
    first = mg.evaluate(folder / "good.json", folder / "truth.geojson", "streammapnet-60x30")
    settings = mg.protocol(
        "maptr", ties="file", settings={"ap_chamfer": {"thresholds": (0.2, 0.5, 1.0)}}, classes=["divider", "boundary"]
    )
    second = mg.evaluate(folder / "poor.json", folder / "moved.geojson", settings, unknown="ignore")
    walk = walked(folder, first, second)
    assert [step.what for step in walk.steps] == [
        *("sampling", "region", "classes", "ties", "ap_chamfer.thresholds", "ap_chamfer.buffers"),
        *("frames in the first only", "the truth", "the predictions"),
    ]
    assert walk.steps[0][:3] == ("sampling", "count 200", "count 100")
    assert walk.steps[6][:3] == ("frames in the first only", "8 frames", "6 frames")


@st.composite
def evaluations(draw: st.DrawFn) -> tuple[mg.MapFrames, mg.MapFrames, mg.Protocol]:
    """Predictions, truth and settings of an evaluation of some frames."""
    predictions, truth = demo_world(4, predictions=10, quality=draw(st.sampled_from(["good", "poor"])))
    shift = draw(st.sampled_from([0.0, 0.3]))
    truth = replace(truth, polylines=replace(truth.polylines, coords=truth.polylines.coords + shift))
    frames = sorted(draw(st.sets(st.integers(0, 3), min_size=1)))
    cuts: list[dict[str, Any]] = [{}, {"crop": True}, {"region": (20, 10), "crop": True}, {"window": "ahead"}]
    samplings: list[dict[str, Any]] = [{"spacing": 0.5}, {"spacing": 1.0, "sampling": "even"}, {"count": 20}]
    settings = mg.protocol(
        "paper-60x30",
        **draw(st.sampled_from(samplings)),
        **draw(st.sampled_from(cuts)),
        classes=draw(st.sampled_from([["divider", "boundary"], ["divider"]])),
        cutoffs=draw(st.sampled_from([[1.5], [0.5, 1.5]])),
        order=draw(st.sampled_from([1.0, 2.0])),
        ties=draw(st.sampled_from(["file", "content"])),
        settings={"ap_chamfer": {"thresholds": draw(st.sampled_from([(0.5, 1.0), (1.0,)]))}, "ap_frechet": None},
    )
    return predictions.at(frames), truth.at(frames), settings


@settings(max_examples=12, deadline=None)
@given(evaluations(), evaluations())
def test_the_steps_add_up_exactly_from_any_evaluation_to_any_other(
    first: tuple[mg.MapFrames, mg.MapFrames, mg.Protocol], second: tuple[mg.MapFrames, mg.MapFrames, mg.Protocol]
) -> None:
    results = [mg.evaluate(*evaluation) for evaluation in (first, second)]
    walk = mg.explain(*results, inputs=[evaluation[:2] for evaluation in (first, second)])
    document = json.loads(json.dumps(walk.to_dict()), parse_float=Decimal, parse_int=Decimal)
    assert "computed again" not in [step.what for step in walk.steps]
    for key, begin in walk.begin.items():
        assert (begin, walk.end[key]) == (results[0].mean[key], results[1].mean[key])
        printed = [Decimal(f"{values[key]:.4f}") for values in (walk.begin, walk.end)]
        assert printed[0] + sum(walk.added(key), Decimal()) == printed[1]
        added = sum((step["adds"][key] for step in document["steps"]), Decimal())
        assert document["begin"][key] + added == document["end"][key]


def test_the_value_after_a_step_is_that_of_a_separate_evaluation(folder: Path) -> None:
    settings = mg.protocol("paper-60x30")
    first = mg.evaluate(folder / "good.json", folder / "truth.geojson", settings)
    changed = settings.replace(spacing=1.0)
    second = mg.evaluate(folder / "poor.json", folder / "truth.geojson", changed)
    between = mg.evaluate(folder / "good.json", folder / "truth.geojson", changed)
    sampling, predictions = walked(folder, first, second).steps
    assert sampling.what == "sampling"
    assert predictions.what == "the predictions"
    assert sampling.values == {key: between.mean[key] for key in ("pld", "ap_chamfer", "ap_frechet")}


def test_frames_that_only_the_second_has_are_added_last(folder: Path) -> None:
    first = mg.evaluate(folder / "good.json", folder / "moved.geojson", unknown="ignore")
    second = mg.evaluate(folder / "good.json", folder / "truth.geojson")
    assert [step.what for step in walked(folder, first, second).steps] == ["the truth", "frames in the second only"]


def test_results_without_a_common_frame_have_one_step(folder: Path) -> None:
    truth = mg.read(folder / "truth.geojson")
    paths = folder / "front.geojson", folder / "back.geojson"
    for path, frames in zip(paths, (range(4), range(4, FRAMES)), strict=True):
        mg.write(truth.at(frames), path)
    results = [mg.evaluate(folder / "good.json", path, unknown="ignore") for path in paths]
    (step,) = walked(folder, *results).steps
    assert step[:3] == ("all frames, the truth and the predictions", "4 frames", "4 frames")


def test_settings_that_need_each_other_are_one_step(folder: Path) -> None:
    first = mg.evaluate(folder / "good.json", folder / "truth.geojson", mg.protocol("maptr"))
    second = mg.evaluate(
        folder / "good.json", folder / "truth.geojson", mg.protocol("maptr", region=(40, 20), crop=True)
    )
    (step,) = walked(folder, first, second).steps
    assert step[:3] == ("region", "none, crop False", "(40.0, 20.0), crop True")


def test_settings_that_are_not_valid_alone_are_taken_together(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = mg.evaluate(folder / "good.json", folder / "truth.geojson", metrics=["pld"])
    settings = mg.protocol("paper-60x30", order=2, cutoffs=[1.0])
    second = mg.evaluate(folder / "good.json", folder / "truth.geojson", settings, metrics=["pld"])
    values = explain._values

    def strict(state: dict[str, Any], *how: Any) -> dict[str, float | None]:
        if state["order"] == 2 and state["cutoffs"] == (1.5,):
            raise mg.InvalidInput("not valid alone")
        return values(state, *how)

    monkeypatch.setattr(explain, "_values", strict)
    (step,) = walked(folder, first, second).steps
    assert step[:3] == ("order and cutoffs", "1.0 and 1.5", "2.0 and 1.0")


def test_the_same_results_have_no_steps_and_another_version_is_a_step(folder: Path) -> None:
    results = mg.evaluate(folder / "good.json", folder / "truth.geojson", metrics=["pld"])
    assert walked(folder, results, results).steps == ()
    old = replace(results, version="0.0.1", totals_from=lambda: replace(results.totals))
    assert mg.differences(old, results) == [mg.Mismatch("version", "mapgauge", "0.0.1", mg.__version__)]
    assert mg.explain(old, results).steps == ()  # the other version had the same values


def test_values_of_another_version_are_the_first_step(folder: Path) -> None:
    results = mg.evaluate(folder / "good.json", folder / "truth.geojson", metrics=["pld"])
    sums = {"pld": replace(results.totals.sums["pld"], sums=2 * results.totals.sums["pld"].sums + 1)}
    old = replace(results, version="0.0.1", totals_from=lambda: replace(results.totals, sums=sums))
    (step,) = mg.explain(old, results).steps
    assert step[:3] == (
        *("computed again", "recorded by mapgauge 0.0.1"),
        f"computed by mapgauge {mg.__version__}",
    )


def test_a_value_that_is_lost_on_the_way_is_named(folder: Path) -> None:
    first = mg.evaluate(folder / "good.json", folder / "truth.geojson", metrics=["pld"])
    truth = mg.read(folder / "truth.geojson").at([0])
    empty = truth.at([0]).filter(2.0) if truth.confidence is not None else truth.select([])
    mg.write(empty.as_classes(truth.classes), folder / "empty.parquet")
    nothing = mg.read(folder / "good.json").filter(1.0)
    second = mg.evaluate(nothing, folder / "empty.parquet", metrics=["pld"], unknown="ignore")
    assert second.mean["pld"] is None
    walk = mg.explain(first, second, inputs=[(None, None), (nothing, None)])
    assert walk.left_out == ("pld",)
    assert walk.begin == {}


def test_results_without_a_common_metric_are_refused(folder: Path) -> None:
    first = mg.evaluate(folder / "good.json", folder / "truth.geojson", metrics=["pld"])
    second = mg.evaluate(folder / "good.json", folder / "truth.geojson", metrics=["ap_chamfer"])
    with pytest.raises(mg.InvalidInput, match="no metric in common"):
        mg.explain(first, second)


def test_results_in_memory_are_walked_by_their_geometry() -> None:
    predictions, truth = demo_world(3, quality="good")
    first, second = (
        mg.evaluate(
            replace(predictions, name=""), replace(truth, name=""), mg.protocol("paper-60x30", cutoffs=[cutoff])
        )
        for cutoff in (1.5, 0.5)
    )
    assert [step.what for step in mg.explain(first, second).steps] == ["cutoffs"]
    cut = mg.evaluate(predictions, truth, mg.protocol("paper-60x30", classes=["divider"]))
    with pytest.raises(mg.InvalidInput, match="came from memory"):
        mg.explain(first, cut)


def test_geometry_is_used_only_if_both_were_cut_in_the_same_way() -> None:
    predictions, truth = demo_world(3, quality="good")
    sides = replace(predictions, name=""), replace(truth, name="")
    whole, ahead = (mg.evaluate(*sides, mg.protocol("paper-60x30", window=window)) for window in (None, "ahead"))
    with pytest.raises(mg.InvalidInput, match="came from memory"):
        mg.explain(whole, ahead)
    (step,) = mg.explain(whole, ahead, inputs=[sides, sides]).steps
    assert step[:3] == ("window", "none", "ahead")
    elsewhere = mg.evaluate(*sides, mg.protocol("paper-60x30", region=(40, 20)))  # the region is not cut
    assert [step.what for step in mg.explain(whole, elsewhere).steps] == ["region"]


@pytest.mark.needs_feature("network")
def test_a_map_without_confidences_can_be_walked_to(folder: Path) -> None:
    truth = mg.read(folder / "truth.geojson")
    mg.write(truth.at(range(3)), folder / "drawn.geojson")
    certain = mg.read(folder / "drawn.geojson").with_confidence(1)
    first = mg.evaluate(certain, folder / "truth.geojson", mg.protocol("paper-60x30", cutoffs=[0.5]), metrics=["pld"])
    second = mg.evaluate(folder / "drawn.geojson", folder / "truth.geojson", "map", metrics=["pld"])
    assert [step.what for step in walked(folder, first, second).steps] == ["sampling", "region", "classes", "cutoffs"]


def test_settings_of_a_metric_that_one_lacks_are_one_row(folder: Path) -> None:
    first, second = (
        mg.evaluate(folder / "good.json", folder / "truth.geojson", name)
        for name in ("paper-60x30", "streammapnet-60x30")
    )
    rows = {row.name: row[2:] for row in mg.differences(first, second)}
    assert rows["settings of ap_frechet"] == ("some", "none")
    assert not any(name.startswith("ap_frechet") for name in rows)


def test_differences_name_frames_content_counts_and_readings(folder: Path) -> None:
    first = mg.evaluate(folder / "good.json", folder / "truth.geojson")
    second = mg.evaluate(mg.read(folder / "good.json").rotate(180), folder / "moved.geojson", unknown="ignore")
    rows = {row.name: row for row in mg.differences(first, second)}
    tokens = first.tokens
    assert rows["frames in one only"].first == f"2 ({tokens[0]}, {tokens[1]})"
    assert rows["frames in one only"].second == "none"
    hashes = [results.inputs[1].hash[:12] for results in (first, second)]
    assert rows["content of the truth"] == mg.Mismatch("truth", "content of the truth", *hashes)
    counts = [results.inputs[1].counts["divider"] for results in (first, second)]
    assert rows["divider of the truth"][2:] == tuple(map(str, counts))
    assert rows["reading of the predictions"].second.endswith("rotate degrees 180")
    assert rows["frames that the truth lacks"][2:] == ("0", "2")
    assert np.unique([row.kind for row in rows.values()]).tolist() == ["frames", "predictions", "truth"]


def test_compare_refuses_with_the_first_rows_of_the_same_list(folder: Path) -> None:
    first = mg.evaluate(folder / "good.json", folder / "truth.geojson")
    second = mg.evaluate(
        folder / "good.json", folder / "moved.geojson", mg.protocol("paper-60x30", spacing=1), unknown="ignore"
    )
    with pytest.raises(mg.InvalidInput, match="come from different settings and cannot be compared") as refused:
        mg.compare([first, second])
    listed = [row for row in mg.differences(first, second) if row.kind != "predictions"]
    assert {"spacing", "frames in one only", "content of the truth"} <= {row.name for row in listed}
    places = [str(refused.value).index(f"{row.name}: ") for row in listed[:4]]
    assert places == sorted(places)
    assert f"{listed[0].name}: {listed[0].first} and {listed[0].second}" in str(refused.value)


def test_files_with_other_axes_are_one_step(folder: Path) -> None:
    sides = mg.read(folder / "good.json"), mg.read(folder / "truth.geojson").with_forward("x")
    turned = sides[0].rotate(90), sides[1].rotate(90)
    settings = mg.protocol("paper-60x30", ties="file")
    first, second = (mg.evaluate(*pair, settings, metrics=["pld"]) for pair in (sides, turned))
    walk = mg.explain(first, second, inputs=[sides, turned])
    (step,) = walk.steps
    assert step[:3] == ("the truth and the predictions", "x forward", "y forward")
    assert walk.added("pld") == [0]
    # If only one side was turned, the step is a mistake worth seeing.
    wrong = mg.evaluate(turned[0], sides[1], settings, metrics=["pld"])
    (step,) = mg.explain(first, wrong, inputs=[sides, (turned[0], sides[1])]).steps
    assert step.what == "the predictions"


def test_a_step_says_if_only_the_order_of_lines_or_the_confidences_differ(folder: Path) -> None:
    document = json.loads((folder / "good.json").read_text(encoding="utf-8"))
    frames = document["results"].values()
    for frame in frames:
        for column in ("vectors", "scores", "labels"):
            frame[column] = frame[column][::-1]
    (folder / "turned.json").write_text(json.dumps(document), encoding="utf-8")
    for frame in frames:
        frame["scores"] = [score / 2 for score in frame["scores"]]
    (folder / "unsure.json").write_text(json.dumps(document), encoding="utf-8")
    good, turned, unsure, poor = (
        mg.evaluate(folder / f"{name}.json", folder / "truth.geojson") for name in ("good", "turned", "unsure", "poor")
    )
    (step,) = walked(folder, good, turned).steps
    assert step.what == "the predictions: only the order of lines differs"
    (step,) = walked(folder, good, unsure).steps
    assert step.what == "the predictions: only confidences differ, the geometry is the same"
    (step,) = walked(folder, good, poor).steps
    assert step.what == "the predictions"


def test_the_error_about_results_that_cannot_be_compared_fits_a_few_lines() -> None:
    """It names the first differences, and frames by their number. `mapgauge diff` lists everything."""
    tokens = [f"7fab2350-7eaf-3b7e-a39d-6937a4c1bede_3159662587724129{k}" for k in range(10, 20)]
    truth = mg.MapFrames.of(
        {token: {"divider": [[[0, 0], [9, 0]]], "boundary": [[[0, 6], [9, 6]]]} for token in tokens}
    )
    other = truth.at([0, 1, 2]).keep(np.array([True, False] * 3))
    both = [mg.evaluate(frames.with_confidence(1), frames, metrics=["pld"]) for frames in (truth, other)]
    with pytest.raises(mg.InvalidInput, match="frames in one only: 7 and none; content of the truth") as refused:
        mg.compare(both)
    assert "; and 1 more" in str(refused.value)
    assert tokens[0] not in str(refused.value)
    assert len(str(refused.value)) < 400
