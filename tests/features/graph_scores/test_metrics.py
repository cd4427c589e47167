"""Graph scores as metrics: evaluations in memory and streamed, comparisons, and what the command line writes."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import caller
from tests.features.graph_scores.drawn import moved, street
from tests.results.notebooks import Reader
from tests.streaming.worlds import same, write_folder

import mapgauge as mg
from mapgauge.evaluation.evaluate import evaluate_frames

TOKENS = [f"scene-{k // 3}-{k}" for k in range(9)]
NAMES = ("geo", "topo", "jtopo", "apls", "sda", "reach")
LINE = {"nodes": [[0.0, 0.0], [20.0, 0.0]], "edges": [[0, 1]]}
EMPTY: dict[str, Any] = {"nodes": [], "edges": []}


def graphs(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Predicted and true graphs. One frame has no junctions, one no predictions, and one neither side."""
    rng = np.random.default_rng(seed)
    truth = {token: street(np.random.default_rng(k)) for k, token in enumerate(TOKENS)}
    truth |= {TOKENS[3]: LINE, TOKENS[5]: EMPTY}
    found = {token: moved(rng, graph) for token, graph in truth.items() if graph["nodes"]}
    del found[TOKENS[4]]
    return {token: found.get(token, EMPTY) for token in TOKENS}, truth


def world(seed: int = 1) -> tuple[mg.MapFrames, mg.MapFrames]:
    found, truth = (mg.frames_from_graphs(side) for side in graphs(seed))
    return found, truth.with_confidence(None)


@pytest.mark.parametrize(("protocol", "parity"), [("graph", None), ("cgnet-graph", "cgnet")])
def test_values_are_means_over_the_frames_that_have_a_score(protocol: str, parity: Any) -> None:
    found, truth = graphs(1)
    results = mg.evaluate(*world(), mg.protocol(protocol))
    assert results.metrics == NAMES
    each = [mg.graph_scores(found[token], truth[token], parity=parity) for token in TOKENS]
    keys = {"geo": "geo", "topo": "topo", "jtopo": "jtopo", "sda": "sda"} | ({} if parity else {"reach": "reach"})
    for key, name in keys.items():
        values = [getattr(score, name) for score in each]
        there = np.array([value for value in values if value is not None])
        expected = there.mean(axis=0)
        assert results.mean[f"{key}_left_out"] == len(TOKENS) - len(there)
        names = (f"{key}_precision", f"{key}_recall", key)
        assert [results.mean[part] for part in names] == pytest.approx(expected.tolist(), abs=1e-12)
    directed = [score.apls_directed for score in each if score.apls_directed is not None]
    assert results.mean["apls_directed"] == (None if parity else pytest.approx(np.mean(directed), abs=1e-12))
    assert (results.mean["reach"] is None) == (parity is not None)


def shuffled(graph: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return a graph with one more node, without edges, and with nodes and edges in another order."""
    nodes = np.array([*graph["nodes"], [1.0, 1.0]])
    order = rng.permutation(len(nodes))
    edges = np.argsort(order)[np.array(graph["edges"], np.int64).reshape(-1, 2)]
    return {"nodes": nodes[order].tolist(), "edges": rng.permutation(edges).tolist()}


def test_the_rules_of_cgnet_follow_the_order_of_nodes_in_the_file() -> None:
    rng = np.random.default_rng(7)
    sides = [{token: shuffled(graph, rng) for token, graph in side.items()} for side in graphs(1)]
    frames = [mg.frames_from_graphs(side) for side in sides]
    results = mg.evaluate(frames[0], frames[1].with_confidence(None), mg.protocol("cgnet-graph"))
    rows = {row["token"]: row for row in results.frames(sort="topo")}
    for token in TOKENS:
        scores = mg.graph_scores(sides[0][token], sides[1][token], parity="cgnet")
        assert rows[token]["topo"] == (None if scores.topo is None else pytest.approx(scores.topo.f1, abs=1e-12))
        assert rows[token]["apls"] == pytest.approx(scores.apls, abs=1e-12)
    by_content = mg.protocol("cgnet-graph", ties="content")
    truth = frames[1].with_confidence(None)
    alone = mg.evaluate(replace(frames[0], nodes=None), replace(truth, nodes=None), by_content)
    assert alone.mean == mg.evaluate(frames[0], truth, by_content).mean


def test_frames_without_junctions_are_left_out_and_counted() -> None:
    results = mg.evaluate(*world(), mg.protocol("graph"), metrics=["jtopo"])
    rows = {row["token"]: row["jtopo"] for row in results.frames(sort="jtopo")}
    assert rows[TOKENS[4]] == 0  # no predictions
    left_out = {token for token, value in rows.items() if value is None}
    assert {TOKENS[3], TOKENS[5]} <= left_out < set(TOKENS)
    assert results.mean["jtopo_left_out"] == len(left_out)


def test_streaming_and_accumulating_give_the_same_numbers(tmp_path: Path) -> None:
    found, truth = world()
    protocol = mg.protocol("graph")
    whole = mg.evaluate(found, truth, protocol)
    files = write_folder(found, tmp_path / "predictions"), write_folder(truth, tmp_path / "truth")
    assert same(mg.evaluate(*files, protocol), whole)
    accumulator = mg.Accumulator(protocol)
    for batch in ([8, 2, 5], [0, 1], [3, 4, 6, 7]):
        accumulator.update(found.at(batch), truth.at(batch))
    assert accumulator.results().mean == whole.mean


def test_two_methods_are_compared_with_intervals() -> None:
    scenes = {token: token[:7] for token in TOKENS}
    results = [mg.evaluate(*world(seed), mg.protocol("graph"), scenes=scenes) for seed in (1, 2)]
    found = mg.compare(results, names=["one", "two"])
    for key in ("geo", "topo_recall", "apls_directed", "landmark"):
        estimate = found.estimates[0]["mean"][key]
        assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
        assert estimate.value == results[0].mean[key]
    assert "jtopo" in found.differences["one", "two"]["centerline"]


def test_the_command_line_prints_and_writes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = caller(tmp_path, monkeypatch, capsys)
    for name, side in zip(("found", "truth"), graphs(1), strict=True):
        (tmp_path / f"{name}.json").write_text(json.dumps(side), encoding="utf-8")
    files = (str(tmp_path / "found.json"), str(tmp_path / "truth.json"), "--protocol", "graph")
    expected = mg.evaluate(*world(), mg.protocol("graph")).mean
    printed = run("evaluate", *files)
    assert "JTOPO" in printed.stdout
    assert "confidences are 1" not in printed.stderr + printed.stdout
    document = json.loads(run("evaluate", *files, "--json").stdout)
    assert document["mean"]["geo"] == expected["geo"]
    rows = list(csv.DictReader(io.StringIO(run("evaluate", *files, "--csv").stdout)))
    assert float(next(row for row in rows if row["class"] == "centerline")["topo"]) == expected["topo"]
    assert "APLS" in run("evaluate", *files, "--latex").stdout


def test_frames_without_links_are_refused() -> None:
    lanes = mg.MapFrames.of({"a": {"centerline": [[[0, 0], [9, 0]]]}}, confidence={"a": {"centerline": [1]}})
    with pytest.raises(mg.InvalidInput, match="geo needs links"):
        mg.evaluate(lanes, lanes, mg.protocol("graph"))


def test_a_token_on_one_side_only() -> None:
    found, truth = graphs(1)
    del found[TOKENS[0]]
    sides = mg.frames_from_graphs(found), mg.frames_from_graphs(truth)
    results = mg.evaluate(*sides, mg.protocol("graph"), metrics=["geo"])
    assert {row["token"]: row["geo"] for row in results.frames(sort="geo")}[TOKENS[0]] == 0  # counted as empty
    with pytest.raises(mg.InvalidInput, match="unknown"):
        mg.evaluate(*sides[::-1], mg.protocol("graph"))


def test_a_protocol_without_rules_cannot_compute_them() -> None:
    with pytest.raises(mg.InvalidInput, match="the protocol paper-60x30 has no rules for geo"):
        mg.evaluate(*world(), mg.protocol("paper-60x30"), metrics=["geo"])
    with pytest.raises(mg.InvalidInput, match=r"geo: rules must be .*got 'public'"):
        mg.protocol("graph", settings={"geo": {"rules": "public"}})


def test_the_axes_of_the_region_of_cgnet_are_turned_with_the_frames() -> None:
    rng = np.random.default_rng(3)
    truth = {"a": {"nodes": [[0.0, -28.0], [0.0, 28.0]], "edges": [[0, 1]]}}
    found = {"a": moved(rng, truth["a"])}
    sides = mg.frames_from_graphs(found).with_forward("y"), mg.frames_from_graphs(truth).with_forward("y")
    turned = sides[0].rotate(-90), sides[1].rotate(-90)
    assert turned[0].forward == "x"
    protocol = mg.protocol("cgnet-graph")
    flat = mg.evaluate(*sides, protocol).mean
    assert mg.evaluate(*turned, protocol).mean == flat
    high = [
        replace(side, polylines=mg.Polylines(np.pad(side.polylines.coords, ((0, 0), (0, 1))), side.polylines.offsets))
        for side in sides
    ]
    assert mg.evaluate(high[0], high[1], protocol).mean == flat  # heights are left out


@pytest.mark.parametrize("protocol", ["graph", "cgnet-graph"])
def test_numbers_do_not_depend_on_the_frames_that_are_scored_together(protocol: str) -> None:
    rules = mg.protocol(protocol)
    whole = mg.evaluate(*world(), rules)
    together = whole.scores
    in_blocks = evaluate_frames(*world(), rules, metrics=whole.metrics, workers=2, block_size=2).scores
    for name in NAMES:
        np.testing.assert_array_equal(in_blocks.sums[name], together.sums[name])


def test_the_protocol_has_html_for_notebooks() -> None:
    assert "graph" in Reader(mg.protocol("graph")._repr_html_()).text
