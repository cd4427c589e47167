"""A metric is one module and one row. A toy metric appears in every place where PLD appears."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.metrics.toy_metrics import FLICKER, LENGTH_ERROR
from tests.streaming.worlds import in_chunks, same, write_folder

import mapgauge as mg
from mapgauge.metrics.table import METRICS
from mapgauge.report import write_report

World = tuple[mg.MapFrames, mg.MapFrames]
PROTOCOL = mg.protocol("paper-60x30")


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the toy metric to the table."""
    monkeypatch.setitem(METRICS, "length_error", LENGTH_ERROR)


def lengths(frames: mg.MapFrames, name: str) -> float:
    """Return the total length of a class, weighted by confidence."""
    total = 0.0
    for token in frames.tokens:
        for instance in frames[token]:
            if instance.class_name == name:
                points = mg.resample(instance.points, spacing=0.5)
                steps = np.sqrt(np.square(np.diff(points, axis=0)).sum(axis=1))
                total += float(steps.sum()) * (1.0 if instance.confidence is None else instance.confidence)
    return total


def test_its_values_are_those_of_its_definition(world: World) -> None:
    results = mg.evaluate(*world)
    assert results.metrics == ("pld", "ap_chamfer", "ap_frechet", "length_error")
    for name in results.class_names:
        predicted, true = (lengths(side, name) for side in world)
        expected = abs(predicted - true) / max(predicted, true)
        assert results.classes[name]["length_error"] == pytest.approx(expected, rel=1e-9)
        assert results.classes[name]["length_predicted"] == pytest.approx(predicted, rel=1e-9)
    assert results.mean["length_error"] == math.fsum(
        float(results.classes[name]["length_error"] or 0) for name in results.class_names
    ) / len(results.class_names)
    by_scene = results.by("scene")
    assert {float(part.mean["length_error"] or 0) for part in by_scene.values()} != {results.mean["length_error"]}


def test_rows_of_frames_and_files_have_it(world: World, tmp_path: Path) -> None:
    results = mg.evaluate(*world)
    worst = results.frames(sort="length_error", count=1)[0]
    assert worst["length_error"] == max(row["length_error"] for row in results.frames())
    results.save(tmp_path / "results.mg")
    loaded = mg.load_results(tmp_path / "results.mg", *world)
    assert loaded.mean == results.mean
    assert loaded.frames() == results.frames()


def test_it_can_be_chosen_alone_and_works_without_settings_of_the_protocol(world: World) -> None:
    results = mg.evaluate(*world, "maptr", metrics=["length_error"])
    assert results.metrics == ("length_error",)
    assert set(results.mean) == {"length_error", "length_predicted"}
    assert "length_error" in results.table()


def test_the_command_line_prints_it(call: Run, tmp_path: Path) -> None:
    done = call("evaluate", "good.json", "poor.json", "truth.geojson", "-o", tmp_path / "runs", "--tables")
    assert done.returncode == 0, done.stderr
    assert "Length error, lower is better (paper-60x30; a point every 0.5 m)" in done.stdout
    assert re.search(r"name +class +predictions +truth +error ↓ +predicted length", done.stdout)
    document = json.loads(call("evaluate", "good.json", "truth.geojson", "--json").stdout)
    assert 0 < document["mean"]["length_error"] < 1
    table = list(csv.DictReader(io.StringIO(call("evaluate", "good.json", "truth.geojson", "--csv").stdout)))
    assert float(table[-1]["length_error"]) == document["mean"]["length_error"]
    latex = call("evaluate", "good.json", "poor.json", "truth.geojson", "--latex", "--metrics", "length_error").stdout
    assert r"error $\downarrow$" in latex
    files = [tmp_path / "runs" / f"{name}.mg" for name in ("good", "poor")]
    compared = call("compare", *files, "--fail-if", "length_error > +0.9")
    assert re.search(r"Length error ↓", compared.stdout)
    assert "gate passed" in compared.stderr
    refused = call("compare", *files, "--fail-if", "length_error < 0.5")
    assert "lower length_error is better" in refused.stderr
    rows = json.loads(call("sweep", "good.json", "truth.geojson", "--cutoff", "0.5,1.5", "--json").stdout)
    assert [row["length_error"] for row in rows] == [document["mean"]["length_error"]] * 2


def test_compare_has_an_interval_for_it(world: World) -> None:
    results = mg.evaluate(*world)
    found = mg.compare([results, mg.evaluate(world[0].filter(0.5), world[1])], names=["all", "sure"])
    estimate = found.estimates[0]["mean"]["length_error"]
    assert estimate.low < estimate.value < estimate.high
    assert estimate.value == results.mean["length_error"]
    assert "length_error" in found.differences["all", "sure"]["divider"]


def test_the_report_shows_it(world: World, tmp_path: Path) -> None:
    results = mg.evaluate(*world)
    write_report(results, tmp_path / "report.html", frames=2)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Length error (lower is better)" in text
    assert f"{results.mean['length_error']:.3f}" in text
    meta: Any = json.loads(re.findall(r'id="meta"[^>]*>(.*?)</script>', text, re.DOTALL)[0])
    assert {"key": "length_error", "title": "Length error", "whole": False, "printed": True} in meta["columns"]
    assert "Length error" in [metric["title"] for metric in meta["metrics"]]


def test_batches_and_chunks_give_the_same_bits(world: World, tmp_path: Path) -> None:
    results = mg.evaluate(*world)
    accumulator = mg.Accumulator("paper-60x30")
    for start in range(0, len(world[1]), 7):
        truth = world[1].between(slice(start, start + 7))
        there = [world[0].index[token] for token in truth.tokens if token in world[0].index]
        accumulator.update(world[0].at(there), truth)
    assert accumulator.compute()["length_error/mean"] == results.mean["length_error"]
    assert accumulator.compute()["length_error/mean/predicted"] == results.mean["length_predicted"]
    x, y = (write_folder(side, tmp_path / name) for side, name in zip(world, "xy", strict=True))
    streamed = in_chunks(x, y, work=tmp_path / "work")
    assert same(streamed, results)
    assert same(mg.load_results(tmp_path / "work"), results)


def test_torchmetrics_carries_it(world: World) -> None:
    pytest.importorskip("torchmetrics")
    metrics = pytest.importorskip("mapgauge.training.torch.metrics")
    metric = metrics.PolylineMetric("paper-60x30", metrics=("length_error", "pld"))
    half = len(world[1]) // 2
    for part in (slice(0, half), slice(half, len(world[1]))):
        truth = world[1].between(part)
        there = [world[0].index[token] for token in truth.tokens if token in world[0].index]
        metric.update(world[0].at(there), truth)
    assert float(metric.compute()["length_error/mean"]) == mg.evaluate(*world).mean["length_error"]


@pytest.fixture
def per_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "flicker", FLICKER)


@pytest.mark.usefixtures("per_scene")
def test_a_metric_of_scenes_sees_all_frames_of_a_scene(world: World) -> None:
    predictions, truth = world
    results = mg.evaluate(predictions, truth)
    aligned, _ = mg.align(predictions, truth, classes=PROTOCOL.classes)
    for c, name in enumerate(results.class_names):
        changes = 0
        for scene in dict.fromkeys(truth.scenes or ()):
            frames = [i for i, one in enumerate(truth.scenes or ()) if one == scene]
            counts = [int(((aligned.frame == i) & (aligned.label == c)).sum()) for i in frames]
            changes += sum(abs(b - a) for a, b in pairwise(counts))
        assert results.classes[name]["flicker"] == changes / len(truth)


@pytest.mark.usefixtures("per_scene")
def test_frames_of_scenes_may_come_in_any_order_and_in_chunks(world: World, tmp_path: Path) -> None:
    predictions, truth = world
    expected = mg.evaluate(predictions, truth)
    interleaved = truth.at([i for k in range(10) for i in range(k, len(truth), 10)])
    mixed = mg.evaluate(predictions, interleaved, workers=2)
    assert mixed.classes == expected.classes
    assert mixed.tokens == interleaved.tokens
    x, y = (write_folder(side, tmp_path / name) for side, name in zip(world, "xy", strict=True))
    assert same(in_chunks(x, y), expected)
    assert same(in_chunks(x, y, engine="threads", workers=2), expected)
    estimate = mg.compare([expected]).estimates[0]["mean"]["flicker"]
    assert estimate.low < estimate.value < estimate.high


@pytest.mark.usefixtures("per_scene")
def test_a_metric_of_scenes_needs_scenes(world: World, tmp_path: Path) -> None:
    predictions, truth = world[0], replace(world[1], scenes=None)
    with pytest.raises(mg.InvalidInput, match=r"flicker .*the truth has no scenes"):
        mg.evaluate(predictions, truth)
    scenes = dict(zip(world[1].tokens, world[1].scenes or (), strict=True))
    assert mg.evaluate(predictions, truth, scenes=scenes).classes == mg.evaluate(*world).classes
    x, y = write_folder(predictions, tmp_path / "x"), write_folder(truth, tmp_path / "y")
    with pytest.raises(mg.InvalidInput, match="a metric is computed per scene"):
        mg.evaluate(x, y)
    accumulator = mg.Accumulator("paper-60x30")
    with pytest.raises(mg.InvalidInput, match=r"flicker .*these frames have no scenes"):
        accumulator.update(predictions, truth)
    accumulator.update(*world)
    assert accumulator.results().classes == mg.evaluate(*world).classes
