"""Graph files: JSON by token with nodes and edges."""

import json
import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import mapgauge as mg

FORK = {"nodes": [[0, 0], [5, 0], [9, 3], [9, -3]], "edges": [[0, 1], [1, 2], [1, 3]]}


def save(document: Any, path: Path) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_a_file_is_recognised_and_read(tmp_path: Path) -> None:
    frames = mg.read(save({"t0": FORK, "t1": {"nodes": [], "edges": []}}, tmp_path / "graphs.json"))
    assert (frames.format, frames.tokens, frames.counts) == ("graph-json", ("t0", "t1"), {"centerline": 3})
    assert frames.confidence is not None
    assert frames.confidence.tolist() == [1, 1, 1]
    assert frames.links is not None
    assert list(frames.links) == [(0, 1, 1.0, "successor"), (0, 2, 1.0, "successor")]
    back = mg.graphs_from_frames(frames)
    assert back["t0"].to_dict() == FORK
    assert len(back["t1"].nodes) == 0


def test_a_file_whose_first_frames_are_empty_is_recognised(tmp_path: Path) -> None:
    document: Any = {f"t{k}": {"nodes": [], "edges": []} for k in range(9)}
    assert mg.read(save(document, tmp_path / "graphs.json")).counts == {"centerline": 0}


def test_a_pickle_of_plain_dictionaries_is_read(tmp_path: Path) -> None:
    path = tmp_path / "graphs.pkl"
    path.write_bytes(pickle.dumps({"t0": {"nodes": np.array(FORK["nodes"]), "edges": np.array(FORK["edges"])}}))
    assert mg.read(path).counts == {"centerline": 3}


def test_a_pickle_of_networkx_graphs_is_refused_with_the_way_out(tmp_path: Path) -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    for k, place in enumerate(FORK["nodes"]):
        graph.add_node(f"n{k}", pos=place)
    graph.add_edges_from([(f"n{start}", f"n{end}") for start, end in FORK["edges"]])
    path = tmp_path / "nuscgraph_results.pkl"
    path.write_bytes(pickle.dumps([graph]))
    with pytest.raises(mg.UnreadableFile, match=r"networkx\.\S*DiGraph: a pickle may hold") as caught:
        mg.read(path)
    assert caught.value.remedy is not None
    advice = caught.value.remedy.python.partition(": ")[2]
    # The advice is code that works.
    target = tmp_path / "graphs.json"
    with target.open("w", encoding="utf-8") as file:
        code = advice.replace('open("graphs.json", "w")', "file")
        exec(code, {"graphs": {"t0": graph}, "json": json, "mapgauge": mg, "file": file})
    assert mg.graphs_from_frames(mg.read(target))["t0"].to_dict() == FORK


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"edges": [[0, 4]]}, r'\$\["t0"\].edges\[0\] is \[0, 4\], and there is no node 4: the graph has 4 nodes'),
        ({"edges": [[0, 1, 2]]}, r"edges\[0\] has 3 numbers, expected the indices of two nodes"),
        ({"edges": [[0, 1.5]]}, r"edges\[0\]\[1\] is 1.5, expected a whole number"),
        ({"edges": [3]}, r"edges\[0\] is 3, expected a list"),
        (
            {"nodes": [[0, 0], [1, float("nan")]], "edges": []},
            r"nodes\[1\] has a coordinate that is not a finite number",
        ),
        ({"nodes": [[0, 0], [1, None]], "edges": []}, r"nodes\[1\] has a coordinate that is not a finite number"),
        ({"nodes": [[0, 0], "a"], "edges": []}, r"nodes\[1\] is 'a', expected a point"),
        ({"nodes": [[0], [1]], "edges": []}, "points have 1 coordinates, expected 2 or 3"),
        ({"nodes": [[0, 0, 0], [1, 0, 0]], "edges": []}, r"\.nodes have 3 coordinates, those before have 2"),
    ],
)
def test_faults_are_found_with_their_place(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    document = {"first": FORK, "t0": FORK | change}
    with pytest.raises(mg.UnreadableFile, match=message):
        mg.read(save(document, tmp_path / "graphs.json"))


def test_nodes_that_are_not_finite_can_be_dropped_with_their_edges(tmp_path: Path) -> None:
    broken = FORK | {"nodes": [[0, 0], [5, 0], [9, None], [9, -3]]}
    path = save({"t0": broken}, tmp_path / "graphs.json")
    frames = mg.read(path, degenerate="drop")
    assert mg.graphs_from_frames(frames)["t0"].to_dict() == {
        "nodes": [[0, 0], [5, 0], [9, -3]],
        "edges": [[0, 1], [1, 2]],
    }
    assert [(finding.code, finding.count) for finding in frames.findings] == [("dropped-not-finite", 1)]


def test_other_documents_are_refused(tmp_path: Path) -> None:
    path = save({"t0": {"nodes": [[0, 0]]}}, tmp_path / "graphs.json")
    with pytest.raises(mg.UnreadableFile, match=r"""\$\["t0"\] has no 'edges'"""):
        mg.read(path, "graph-json")
    with pytest.raises(mg.UnreadableFile, match="expected a graph by token"):
        mg.read(save([FORK], path), "graph-json")
    with pytest.raises(mg.InvalidInput, match="classes= is for formats with numeric ids"):
        mg.read(save({"t0": FORK}, path), classes=["lane"])


def test_three_dimensions_are_kept(tmp_path: Path) -> None:
    high = {"nodes": [[0, 0, 1], [5, 0, 2]], "edges": [[0, 1]]}
    frames = mg.read(save({"t0": high}, tmp_path / "graphs.json"))
    assert frames.dimension == 3
    assert mg.graphs_from_frames(frames)["t0"].to_dict() == high
