"""CGNet's numbers, frame by frame: its public evaluator was run on these graphs."""

import json
import math
from functools import cache
from typing import Any

import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg

FOLDER = "lanes_reference/graphs"
MODELS = ("model_a", "model_b")
pytestmark = needs_data(FOLDER)

# From the names of CGNet to ours. APLS is asked for within 0.001 in the mean; it agrees in every frame.
EXACT = {
    "GEO Precision": "geo_precision",
    "GEO Recall": "geo_recall",
    "GEO F1": "geo",
    "TOPO Precision": "topo_precision",
    "TOPO Recall": "topo_recall",
    "TOPO F1": "topo",
    "JTOPO F1": "jtopo",
    "SDA": "sda",
    "APLS": "apls",
}


@cache
def file(name: str) -> Any:
    return json.loads((DATA / FOLDER / name).read_text(encoding="utf-8"))


@cache
def scores(model: str) -> dict[str, dict[str, float | None]]:
    predictions, truth = file(f"graphs_{model}.json"), file("graphs_truth.json")
    return {token: mg.graph_scores(predictions[token], truth[token], parity="cgnet").to_dict() for token in truth}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("theirs", EXACT)
def test_every_frame_agrees_with_cgnet(model: str, theirs: str) -> None:
    reference = file("reference.json")[model]["ascending_candidates"]
    assert len(reference["per_frame"]) == 32
    for token, expected in reference["per_frame"].items():
        found = scores(model)[token][EXACT[theirs]]
        if expected[theirs] is None:
            assert found is None, token
        else:
            assert found == pytest.approx(expected[theirs], abs=1e-12), token
    there = [value for frame in scores(model).values() if (value := frame[EXACT[theirs]]) is not None]
    assert len(there) == file("reference.json")[model]["frames_counted"][theirs]
    assert math.fsum(there) / len(there) == pytest.approx(reference["mean"][theirs], abs=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_an_evaluation_of_files_has_the_means_of_cgnet(model: str) -> None:
    folder = DATA / FOLDER
    results = mg.evaluate(folder / f"graphs_{model}.json", folder / "graphs_truth.json", mg.protocol("cgnet-graph"))
    reference = file("reference.json")[model]["ascending_candidates"]["mean"]
    for theirs, ours in EXACT.items():
        assert results.mean[ours] == pytest.approx(reference[theirs], abs=1e-12), theirs
    assert results.mean["jtopo_left_out"] == 32 - file("reference.json")[model]["frames_counted"]["JTOPO F1"]


@pytest.mark.parametrize("model", MODELS)
def test_an_evaluation_of_files_has_the_topo_of_cgnet_in_every_frame(model: str) -> None:
    folder = DATA / FOLDER
    results = mg.evaluate(
        folder / f"graphs_{model}.json", folder / "graphs_truth.json", mg.protocol("cgnet-graph"), metrics=["topo"]
    )
    reference = file("reference.json")[model]["ascending_candidates"]["per_frame"]
    topo = {row["token"]: row["topo"] for row in results.frames(sort="topo")}
    assert topo == pytest.approx({token: frame["TOPO F1"] for token, frame in reference.items()}, abs=1e-12)


@pytest.mark.parametrize("model", [*MODELS, "truth"])
def test_lanes_give_back_the_graphs_of_the_file(model: str) -> None:
    graphs = mg.graphs_from_frames(mg.read(DATA / FOLDER / f"graphs_{model}.json"))
    for token, given in file(f"graphs_{model}.json").items():
        places = [tuple(place) for place in given["nodes"]]
        assert sorted(map(tuple, graphs[token].nodes.tolist())) == sorted(places)
        edges = sorted((places[start], places[end]) for start, end in given["edges"])
        found = graphs[token].nodes[graphs[token].edges].tolist()
        assert sorted((tuple(start), tuple(end)) for start, end in found) == edges
