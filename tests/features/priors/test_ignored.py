"""Ignored truth: neither found nor missed, and what is matched with it is neither right nor false."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.features.priors.test_changes import FOLDER, NEEDED, as_frames, at, dividers, random_map, read, shaken

import mapgauge as mg
from mapgauge.evaluation.evaluate import with_metrics
from mapgauge.frames.alignment import join_frames
from mapgauge.metrics.table import METRICS as TABLE

METRICS = ["pld", "completeness", "causes", "ap_chamfer", "ap_frechet", "ap_sospa"]
PROTOCOL = mg.protocol(
    "paper-60x30", classes=["divider", "boundary"], settings={"ap_sospa": {"thresholds": (0.25, 0.5)}}
)


def world(rng: np.random.Generator, frames: int = 6) -> tuple[mg.MapFrames, mg.MapFrames]:
    """Predictions with confidences, and truth of which about a third is ignored."""
    lines = random_map(rng, frames)
    truth, found = as_frames(lines), as_frames(shaken(lines, rng))
    flags = rng.random(len(truth.polylines)) < 0.35
    return found.with_confidence(rng.random(len(found.polylines))), truth.with_ignore(flags)


def pld_of(predictions: mg.MapFrames, truth: mg.MapFrames) -> float | None:
    protocol = mg.protocol("paper-60x30", classes=["divider"])
    return mg.evaluate(predictions, truth, protocol, metrics=["pld"]).mean["pld"]


def test_ignored_lines_and_their_matches_cost_nothing_and_have_no_mass(rng: np.random.Generator) -> None:
    """The costs and the mass are those of the assignment of all lines, without ignored lines and their matches."""
    for _ in range(10):
        predictions, truth = world(rng)
        assert truth.ignore is not None
        whole = mg.evaluate(predictions, truth.with_ignore(None), PROTOCOL, metrics=["pld"])
        expected = np.zeros((len(truth), 2, 2))  # cost and mass by frame and class
        for k, token in enumerate(truth.tokens):
            frame = whole.assignment(token)
            ignored = truth.ignore[truth.offsets[k] : truth.offsets[k + 1]]
            partner = {match.prediction: match for match in frame.matches}
            found = {match.truth for match in frame.matches}
            for i, line in enumerate(frame.predictions):
                match, sure = partner.get(i), line.confidence or 0.0
                if match is None:
                    expected[k, truth.classes.index(line.class_name)] += sure / 2
                elif not ignored[match.truth]:
                    cost = sure * match.distance + (1 - sure) / 2
                    expected[k, truth.classes.index(line.class_name)] += cost, (1 + sure) / 2
            for j, line in enumerate(frame.truth):
                if j not in found and not ignored[j]:
                    expected[k, truth.classes.index(line.class_name)] += 0.5
        sums = mg.evaluate(predictions, truth, PROTOCOL, metrics=["pld"]).scores.sums["pld"][0]
        costs = np.stack([sums[..., :-1].sum(axis=-1), sums[..., -1]], axis=-1)
        assert costs == pytest.approx(expected, abs=1e-12)


def test_flags_that_are_all_false_change_no_bit(rng: np.random.Generator) -> None:
    predictions, truth = world(rng)
    none = truth.with_ignore(np.zeros(len(truth.polylines), np.bool_))
    results = [mg.evaluate(predictions, y, PROTOCOL, metrics=METRICS) for y in (none, truth.with_ignore(None))]
    assert results[0].to_dict() == results[1].to_dict()


@pytest.mark.needs_feature("network")
def test_flags_that_are_all_false_do_not_stop_metrics_that_refuse_ignored_lines(rng: np.random.Generator) -> None:
    predictions, truth = world(rng)
    none = truth.with_ignore(np.zeros(len(truth.polylines), np.bool_))
    settings = mg.protocol(PROTOCOL, settings={"network_pld": {"break_cost": 0.5}})
    assert mg.evaluate(predictions, none, settings).mean["network_pld"] is not None


def test_a_perfect_method_is_perfect_whatever_is_ignored(rng: np.random.Generator) -> None:
    _, truth = world(rng)
    mean = mg.evaluate(truth.with_ignore(None).with_confidence(1), truth, PROTOCOL, metrics=METRICS).mean
    assert (mean["pld"], mean["ap_chamfer"], mean["ap_frechet"], mean["completeness"]) == (0, 1, 1, 1)


def test_each_case_of_one_line() -> None:
    truth = dividers(0, 10).with_ignore([False, True])
    assert pld_of(dividers(0).with_confidence(1), truth) == 0  # an ignored line is not missed
    assert pld_of(dividers(0, 10.7).with_confidence(1), truth) == 0  # nor is what is matched with it false
    twice = dividers(0, 10.1, 10.2).with_confidence(1)  # a second prediction of it is
    assert pld_of(twice, truth) == pld_of(dividers(0, 30).with_confidence(1), dividers(0))
    assert pld_of(dividers(0, 30).with_confidence(1), truth) != 0
    nothing = mg.evaluate(dividers(10).with_confidence(1), dividers(10).with_ignore([True]), "paper-60x30")
    assert nothing.mean["pld"] is None


def test_of_equal_lines_the_one_that_counts_is_found() -> None:
    """The order in the file does not matter."""
    for flags in ([False, True], [True, False]):
        assert pld_of(dividers(0).with_confidence(1), dividers(0, 0).with_ignore(flags)) == 0


def test_all_engines_agree(rng: np.random.Generator, tmp_path: Path) -> None:
    predictions, truth = world(rng, 60)
    truth = replace(truth, scenes=tuple(f"{k // 10}" for k in range(60)))
    whole = mg.evaluate(predictions, truth, PROTOCOL, metrics=METRICS, workers=1)
    accumulator = mg.Accumulator(PROTOCOL, metrics=METRICS)
    dicts = mg.Accumulator(PROTOCOL, metrics=METRICS)
    for start in range(0, 60, 7):
        x, y = (side.between(slice(start, start + 7)) for side in (predictions, truth))
        accumulator.update(x, y)
        dicts.update([batch(x, token) for token in x], [batch(y, token) for token in y])
    x_file, y_file = tmp_path / "x.parquet", tmp_path / "y.parquet"
    mg.write(predictions, x_file)
    mg.write(truth, y_file)
    streamed = mg.evaluate(x_file, y_file, PROTOCOL, metrics=METRICS, work=tmp_path / "work")
    found = {
        "streamed": streamed,
        "loaded": mg.load_results(tmp_path / "work"),
        "batches": accumulator.results(),
        "dictionaries": dicts.results(),
        "turned": mg.evaluate(predictions.at(range(59, -1, -1)), truth, PROTOCOL, metrics=METRICS, workers=2),
    }
    assert {name: results.mean == whole.mean for name, results in found.items()} == dict.fromkeys(found, True)
    assert len(streamed.need_data().sides[0].polylines) == len(whole.need_data().sides[0].polylines)
    assert len(whole.need_data().sides[0].polylines) < len(predictions.polylines)


def batch(frames: mg.MapFrames, token: str) -> dict[str, Any]:
    lines = frames[token]
    made: dict[str, Any] = {"polylines": [line.points for line in lines], "labels": [line.class_name for line in lines]}
    if frames.confidence is None:
        return made | {"ignore": np.array([line.ignore for line in lines], np.bool_)}
    return made | {"confidence": [line.confidence for line in lines]}


def test_a_finding_counts_ignored_lines() -> None:
    truth = dividers(0, 10).with_ignore([False, True])
    codes = [finding.code for finding in mg.evaluate(dividers(0).with_confidence(1), truth).findings]
    assert "truth-ignored" in codes


@pytest.mark.needs_feature("network")
def test_metrics_without_a_meaning_are_refused(tmp_path: Path) -> None:
    truth, predictions = dividers(0, 10).with_ignore([False, True]), dividers(0).with_confidence(1)
    network = mg.protocol("paper-60x30", classes=["divider"], settings={"network_pld": {"break_cost": 0.5}})
    with pytest.raises(mg.InvalidInput, match="some lines are ignored, and network_pld"):
        mg.evaluate(predictions, truth, network)
    results = mg.evaluate(predictions, truth, network, metrics=["pld"])
    with pytest.raises(mg.InvalidInput, match="network_pld"):
        with_metrics(results, ["network_pld"])
    results.save(tmp_path / "results.mg", geometry="original")
    with pytest.raises(mg.InvalidInput, match="network_pld"):
        with_metrics(mg.load_results(tmp_path / "results.mg"), ["network_pld"])


def test_only_these_metrics_know_what_to_do_with_ignored_lines() -> None:
    assert [name for name, metric in TABLE.items() if metric.ignores] == METRICS


def test_changes_of_ignored_lines_are_refused() -> None:
    truth, predictions = dividers(0, 10).with_ignore([False, True]), dividers(0).with_confidence(1)
    protocol = mg.protocol("paper-60x30", classes=["divider"])
    with pytest.raises(mg.InvalidInput, match="neither kept nor deleted"):
        mg.changes(mg.evaluate(predictions, truth, protocol, metrics=["pld"]), dividers(0))


@pytest.mark.needs_feature("global_map")
def test_global_maps_of_ignored_lines_are_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="global maps"):
        mg.global_map(dividers(0).with_confidence(1), dividers(0, 10).with_ignore([False, True]))


@pytest.mark.needs_feature("raster")
def test_masks_of_ignored_lines_are_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="pixels"):
        mg.mask_iou({}, dividers(0, 10).with_ignore([False, True]), "maptracker-iou-60x30")


@pytest.mark.parametrize(("flags", "word"), [([True], "1 rows, expected 2"), ([0, 1], "type int")])
def test_flags_that_are_no_column_of_flags_are_refused(flags: list[Any], word: str) -> None:
    with pytest.raises(mg.InvalidInput, match=word):
        dividers(0, 10).with_ignore(flags)


def test_predictions_cannot_be_ignored() -> None:
    truth = dividers(0, 10)
    with pytest.raises(mg.InvalidInput, match="only truth can"):
        mg.evaluate(truth.with_ignore([False, True]).with_confidence(1), truth)


def test_a_format_without_flags_refuses_them(tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="maptr-truth cannot say"):
        mg.write(dividers(0, 10).with_ignore([False, True]), tmp_path / "truth.json", "maptr-truth")


def test_a_wrong_flag_in_a_file_is_named(tmp_path: Path) -> None:
    mg.write(dividers(0, 10).with_ignore([False, True]), tmp_path / "truth.geojson")
    text = (tmp_path / "truth.geojson").read_text(encoding="utf-8")
    (tmp_path / "wrong.geojson").write_text(text.replace('"ignore":true', '"ignore":1'), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"\$.features\[1\].properties.ignore"):
        mg.read(tmp_path / "wrong.geojson")


def test_a_wrong_flag_in_a_batch_is_named() -> None:
    truth = dividers(0, 10)
    accumulator = mg.Accumulator(PROTOCOL)
    with pytest.raises(mg.InvalidInput, match=r"truth\[0\]\['ignore'\]"):
        accumulator.update([batch(truth.with_confidence(1), "a")], [batch(truth, "a") | {"ignore": [0, 1]}])


@pytest.mark.needs_feature("lane_graph")
def test_boxes_cannot_be_ignored() -> None:
    boxes = mg.MapFrames.of({"a": {"red": [[[0, 0], [9, 9]]]}})
    lights = replace(boxes, boxes=("red",)).with_ignore([True])
    with pytest.raises(mg.InvalidInput, match="expected lines only"):
        mg.evaluate(lights.with_ignore(None).with_confidence(1), lights, "lane-graph", metrics=["pld"])


def test_flags_survive_joining_and_cropping() -> None:
    flagged, plain = dividers(0, 10).with_ignore([False, True]), mg.MapFrames.of({"b": {"divider": [at(0)]}})
    joined = join_frames([plain, flagged])
    assert joined.ignore is not None
    assert joined.ignore.tolist() == [False, False, True]
    cropped = joined.crop((2, 30))
    assert cropped.ignore is not None
    assert cropped.ignore.tolist() == [False, False, True]


def test_only_inserted_lines_count() -> None:
    truth, prior = dividers(0, 3, 6), dividers(0, 3.9, 9)
    assert mg.mark_ignored(truth, prior).ignore.tolist() == [True, True, False]  # type: ignore[union-attr]
    moved = mg.mark_ignored(truth, prior, ["kept", "moved"])
    assert moved.ignore.tolist() == [False, False, True]  # type: ignore[union-attr]
    both = mg.mark_ignored(truth.with_ignore([False, False, True]), prior)
    assert both.ignore.tolist() == [True, True, True]  # type: ignore[union-attr]
    marked = mg.mark_ignored(truth, prior)
    assert pld_of(truth.with_confidence(1), marked) == 0
    assert pld_of(prior.with_confidence(1), marked) == 1  # the copy has only a line that is gone
    with pytest.raises(mg.InvalidInput, match=r"only must be .*got 'deleted'"):
        mg.mark_ignored(truth, prior, "deleted")
    with pytest.raises(mg.InvalidInput, match="2 lines are ignored"):
        mg.mark_ignored(truth, marked)


@NEEDED
@pytest.mark.parametrize("protocol", ["maptr", "paper-60x30"])
def test_completion_of_the_behaviours(protocol: str) -> None:
    """Without ignored lines, the perfect method has an AP of 0.10 on inserted lines: the rest counts as false."""
    truth = mg.mark_ignored(read("truth.geojson"), read("prior.geojson"), protocol=protocol)
    means = {
        name: mg.evaluate(read(f"submission_vector_{name}.json"), truth, protocol).mean
        for name in ("perfect", "copier", "model", "mixed")
    }
    found = {name: round(mean["ap_chamfer"] or 0.0, 2) for name, mean in means.items()}
    assert found == {"perfect": 1.0, "copier": 0.0, "model": 0.31, "mixed": 0.16}
    assert FOLDER in truth.name
