"""Lane-graph PLD in evaluations: the same bits on every way, and a clear answer to data without links."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run, caller
from tests.features.lane_graph.lane_graph_cases import LIGHTS, lane_world
from tests.streaming.worlds import in_chunks, same, write_folder

import mapgauge as mg
from mapgauge.report import write_report

World = tuple[mg.MapFrames, mg.MapFrames]
PROTOCOL = mg.protocol("lane-graph", classes=("centerline", *LIGHTS), boxes=LIGHTS)


@pytest.fixture(scope="module")
def lanes() -> World:
    return lane_world()


def some(value: float | None) -> float:
    assert value is not None
    return value


def test_its_values_are_those_of_the_frames(lanes: World) -> None:
    results = mg.evaluate(*lanes, PROTOCOL)
    assert results.metrics == ("pld", "lane_graph_pld")
    x, y = (side.resample(spacing=0.5) for side in lanes)
    each = [mg.lane_graph_pld(x.at([k]), y.at([k]), link_floor=0.1) for k in range(len(y))]
    pooled = sum(each)
    assert isinstance(pooled, mg.LaneGraphPldResult)
    values = results.classes["centerline"]
    assert values["lane_graph_pld"] == pytest.approx(pooled.normalised, rel=1e-12)
    assert values["topology"] == pytest.approx(pooled.topology, rel=1e-9)
    assert [values[f"graph_{name}"] for name in mg.LaneGraphParts._fields] == pytest.approx(
        list(pooled.normalised_parts), rel=1e-9
    )
    counts = [values[f"{name}_link_count"] for name in ("false", "missing", "half")]
    assert counts == list(pooled.link_counts)
    assert pooled.link_counts.missing >= 8
    assert results.mean["lane_graph_pld"] == values["lane_graph_pld"]
    assert results.classes["red"]["lane_graph_pld"] is None
    frames = results.frames(sort="lane_graph_pld", count=99)
    assert [row["lane_graph_pld"] for row in frames] == pytest.approx(
        sorted((one.normalised for one in each), reverse=True), rel=1e-12
    )
    assert results.by("scene").keys() == {"scene-0", "scene-1"}


def test_link_cost_0_has_the_bits_of_pld(lanes: World) -> None:
    bare = [side.select(["centerline"]) for side in lanes]
    protocol = mg.protocol("lane-graph", classes=["centerline"], settings={"lane_graph_pld": {"link_cost": 0}})
    values = mg.evaluate(bare[0], bare[1], protocol).classes["centerline"]
    assert values["lane_graph_pld"] == values["pld"]
    assert values["topology"] == values["graph_missing_links"] == 0


def test_it_is_computed_only_if_asked_for(lanes: World) -> None:
    with pytest.raises(mg.InvalidInput, match="has no link_cost for lane_graph_pld"):
        mg.evaluate(*lanes, metrics=["lane_graph_pld"])
    with pytest.raises(mg.InvalidInput, match="link_cost must be a number from 0"):
        mg.protocol("lane-graph", settings={"lane_graph_pld": {"link_cost": -1}})
    with pytest.raises(mg.InvalidInput, match="link_floor must be"):
        mg.protocol("lane-graph", settings={"lane_graph_pld": {"link_floor": math.nan}})
    with pytest.raises(mg.InvalidInput, match="link_cost needs order 1"):
        mg.protocol("lane-graph", order=2)


def test_every_way_gives_the_same_bits(lanes: World, tmp_path: Path) -> None:
    expected = mg.evaluate(*lanes, PROTOCOL, workers=1)
    assert same(mg.evaluate(*lanes, PROTOCOL, workers=2), expected)
    predictions, truth = lanes
    frames = np.random.default_rng(0).permutation(len(truth)).tolist()
    turned = [i for k in range(len(truth)) for i in reversed(range(*predictions.offsets[k : k + 2].tolist()))]
    mixed = mg.evaluate(predictions.keep(np.array(turned)), truth.at(frames), PROTOCOL)
    assert mixed.mean == expected.mean
    collected = mg.Accumulator(PROTOCOL)
    for part in (slice(0, 3), slice(3, 8)):
        collected.update(predictions.between(part), truth.between(part))
    assert collected.results().mean == expected.mean
    expected.save(tmp_path / "results.mg")
    assert mg.load_results(tmp_path / "results.mg").mean == expected.mean
    estimate = mg.compare([expected]).estimates[0]["mean"]
    assert estimate["lane_graph_pld"].low < estimate["lane_graph_pld"].value < estimate["lane_graph_pld"].high <= 1


def test_streamed_graphs_have_the_same_bits(lanes: World, tmp_path: Path) -> None:
    expected = mg.evaluate(*lanes, PROTOCOL)
    x, y = (write_folder(side, tmp_path / name) for side, name in zip(lanes, "xy", strict=True))
    assert same(in_chunks(x, y, PROTOCOL, work=tmp_path / "work"), expected)
    assert same(in_chunks(x, y, PROTOCOL, engine="threads", workers=2), expected)


def test_the_command_line_and_the_report_show_it(
    lanes: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call: Run = caller(tmp_path, monkeypatch, capsys)
    bare = [side.select(["centerline"]) for side in lanes]
    for side, name in zip(bare, ("x.parquet", "y.parquet"), strict=True):
        mg.write(side, tmp_path / name)
    ask = ("evaluate", "x.parquet", "y.parquet", "--protocol", "lane-graph", "--classes", "centerline")
    done = call(*ask, "-o", "x.mg", "--tables")
    assert done.returncode == 0, done.stderr
    assert (
        "Lane-graph PLD, lower is better (lane-graph, classes centerline; cutoff 1.5 m, link cost 0.1, link "
        in done.stdout
    )
    assert re.search(r"LG-PLD ↓ +price of links", done.stdout)
    expected = mg.evaluate(
        bare[0],
        bare[1],
        mg.protocol("lane-graph", classes=["centerline"], settings={"lane_graph_pld": {"link_cost": 0.5}}),
    )
    document = json.loads(call(*ask, "--set", "lane_graph_pld.link_cost=0.5", "--json").stdout)
    assert document["mean"]["lane_graph_pld"] == expected.mean["lane_graph_pld"]
    table = list(csv.DictReader(io.StringIO(call(*ask, "--set", "lane_graph_pld.link_cost=0.5", "--csv").stdout)))
    assert float(table[0]["lane_graph_pld"]) == expected.mean["lane_graph_pld"]
    assert "of links" in call(*ask, "--latex").stdout
    assert call(*ask, "--set", "lane_graph_pld.link_cost=-1").returncode == 2
    assert (
        "--set lane_graph_pld.link_cost=0.1"
        in call("evaluate", "x.parquet", "y.parquet", "--metrics", "lane_graph_pld").stderr
    )
    gate = ("--fail-if", "lane_graph_pld > 0.01")
    assert call("compare", "x.mg,name=a", "x.mg,name=b", *gate).returncode == 3
    write_report(expected, tmp_path / "report.html", frames=2)
    assert "Lane-graph PLD (lower is better)" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_data_without_links(lanes: World) -> None:
    predictions, truth = lanes
    with pytest.raises(mg.InvalidInput, match="lane_graph_pld needs links"):
        mg.evaluate(replace(predictions, links=None), truth, PROTOCOL)
    empty = mg.evaluate(replace(predictions, links=mg.Links.of([], [])), truth, PROTOCOL)
    assert "links-one-side" in {finding.code for finding in empty.findings}
    assert some(empty.mean["lane_graph_pld"]) > some(mg.evaluate(*lanes, PROTOCOL).mean["lane_graph_pld"])
    wrong = replace(predictions, links=mg.Links.of([0], [1], weight=3.0))
    with pytest.raises(mg.InvalidInput, match="a link has weight 3"):
        mg.evaluate(wrong, truth, PROTOCOL)
