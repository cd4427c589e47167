"""Network PLD in evaluations: the same bits on every way, on the command line and in the report."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.streaming.worlds import in_chunks, same, write_folder

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.report import write_report

World = tuple[mg.MapFrames, mg.MapFrames]
PROTOCOL = mg.protocol("paper-60x30", settings={"network_pld": {"break_cost": 0.5}})
ONLY = ["network_pld"]


@pytest.fixture(scope="module")
def some_frames() -> World:
    return demo_world(12, seed=3, predictions=4)


def test_its_values_are_those_of_the_frames(some_frames: World) -> None:
    results = mg.evaluate(*some_frames, PROTOCOL)
    assert results.metrics == ("pld", "network_pld", "ap_chamfer", "ap_frechet")
    x, y = (side.resample(spacing=0.5) for side in some_frames)
    for name in results.class_names:
        frames = []
        for token in y.tokens:
            sides = [side.at([side.tokens.index(token)]).select([name]) for side in (x, y)]
            frames.append(
                mg.network_pld(
                    sides[0].polylines,
                    sides[1].polylines,
                    confidence=sides[0].confidence,
                    break_cost=0.5,
                    closed="auto",
                    directed=False,
                )
            )
        pooled = sum(frames)
        assert isinstance(pooled, mg.NetworkPldResult)
        values = results.classes[name]
        assert values["network_pld"] == pytest.approx(pooled.normalised, rel=1e-12)
        assert values["split_entropy"] == pytest.approx(pooled.split_entropy, rel=1e-12)
        assert values["merge_entropy"] == pytest.approx(pooled.merge_entropy, rel=1e-12)
        assert (values["break_count"], values["false_join_count"]) == (pooled.break_count, pooled.false_join_count)
        parts = [values[f"network_{part}"] or 0.0 for part in mg.NetworkParts._fields]
        assert sum(parts) == pytest.approx(values["network_pld"])


def test_every_way_gives_the_same_bits(some_frames: World, tmp_path: Path) -> None:
    expected = mg.evaluate(*some_frames, PROTOCOL, metrics=ONLY, workers=1)
    assert same(mg.evaluate(*some_frames, PROTOCOL, metrics=ONLY, workers=2), expected)
    predictions, truth = some_frames
    frames = np.random.default_rng(0).permutation(len(truth)).tolist()
    turned = [i for k in range(len(truth)) for i in reversed(range(*predictions.offsets[k : k + 2].tolist()))]
    mixed = mg.evaluate(predictions.keep(np.array(turned)), truth.at(frames), PROTOCOL, metrics=ONLY)
    assert mixed.mean == expected.mean
    x, y = (write_folder(side, tmp_path / name) for side, name in zip(some_frames, "xy", strict=True))
    assert same(in_chunks(x, y, PROTOCOL, metrics=ONLY, work=tmp_path / "work"), expected)
    expected.save(tmp_path / "results.mg")
    assert mg.load_results(tmp_path / "results.mg").mean == expected.mean
    estimate = mg.compare([expected]).estimates[0]["mean"]["network_pld"]
    assert estimate.low < estimate.value < estimate.high <= 1


def test_it_is_computed_only_if_asked_for(some_frames: World) -> None:
    assert "network_pld" not in mg.evaluate(*some_frames, metrics=["pld"]).metrics
    with pytest.raises(mg.InvalidInput, match="has no break_cost for network_pld"):
        mg.evaluate(*some_frames, metrics=ONLY)
    for wrong in (-1, float("nan"), "a", True):
        with pytest.raises(mg.InvalidInput, match="break_cost must be a number from 0"):
            mg.protocol("paper-60x30", settings={"network_pld": {"break_cost": wrong}})
    with pytest.raises(mg.InvalidInput, match="break_cost needs order 1 and a cutoff"):
        mg.protocol("maptr", settings={"network_pld": {"break_cost": 0.5}})


def test_frames_without_predictions_or_truth(some_frames: World) -> None:
    predictions, truth = some_frames
    nothing = predictions.keep(np.empty(0, np.int64))
    results = mg.evaluate(nothing, truth, PROTOCOL, metrics=ONLY)
    assert results.mean["network_pld"] == 1
    assert results.mean["split_entropy"] is None
    sure = replace(predictions, confidence=np.zeros_like(predictions.confidence))
    assert mg.evaluate(sure, truth, PROTOCOL, metrics=ONLY).mean["network_pld"] == 1


def test_the_command_line_and_the_report_show_it(call: Run, tmp_path: Path) -> None:
    done = call(
        "evaluate",
        "good.json",
        "truth.geojson",
        "--set",
        "network_pld.break_cost=0.5",
        "--metrics",
        "network_pld",
        "-o",
        tmp_path / "x.mg",
        "--tables",
    )
    assert done.returncode == 0, done.stderr
    assert "Network PLD, lower is better (paper-60x30, break cost 0.5; cutoff 1.5 m, break cost 0.5, a " in done.stdout
    expected = mg.load_results(tmp_path / "x.mg")
    again = call(
        "evaluate",
        "good.json",
        "truth.geojson",
        "--set",
        "network_pld.break_cost=0.5",
        "--metrics",
        "network_pld",
        "--json",
    )
    assert json.loads(again.stdout)["mean"]["network_pld"] == expected.mean["network_pld"]
    assert (
        "--set network_pld.break_cost=0.5"
        in call("evaluate", "good.json", "truth.geojson", "--metrics", "network_pld").stderr
    )
    assert call("compare", tmp_path / "x.mg", "--fail-if", "network_pld > 0.01").returncode == 3
    write_report(expected, tmp_path / "report.html", frames=2)
    assert "Network PLD (lower is better)" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_protocol_of_maps_has_no_ego_by_any_name() -> None:
    own = mg.protocol("map")
    renamed = mg.protocol("map", name="ours")
    assert not own.has_ego
    assert not renamed.has_ego
    assert mg.protocol("paper-60x30", name="ours").has_ego
    for protocol in (own, renamed, own.replace(has_ego=True)):
        assert mg.Protocol.from_dict(json.loads(json.dumps(protocol.to_dict()))) == protocol


def test_json_has_the_ego_only_where_the_name_does_not_say_it() -> None:
    assert "has_ego" not in mg.protocol("map").to_dict()
    assert "has_ego" not in mg.protocol("paper-60x30").to_dict()
    assert mg.protocol("map", name="ours").to_dict()["has_ego"] is False
    assert mg.protocol("map", has_ego=True).to_dict()["has_ego"] is True
