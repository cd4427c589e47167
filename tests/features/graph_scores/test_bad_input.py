"""Graphs that cannot be scored, empty graphs, and networkx objects."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from tests.features.graph_scores.drawn import three

import mapgauge as mg

LINE = {"nodes": [[0, 0], [20, 0]], "edges": [[0, 1]]}
EMPTY: dict[str, Any] = {"nodes": [], "edges": []}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            {"nodes": [[0, 0]], "edges": [[0, 1]]},
            r"predictions: edge 0 is \[0, 1\], and there is no node 1: the graph",
        ),
        ({"nodes": [[0, 0]], "edges": [[0, -1]]}, "there is no node -1"),
        ({"nodes": [[0, np.nan]], "edges": []}, "predictions: coordinate 1 of node 0 is nan, expected a finite number"),
        ({"nodes": [[0, 0], [1]], "edges": []}, "predictions: nodes must be positions"),
        ({"nodes": [[0, 0, 0, 0]], "edges": []}, r"nodes must be numbers \(nodes, 2 or 3\)"),
        ({"nodes": [[0, 0], [1, 1]], "edges": [[0, 0.5]]}, r"edges must be whole numbers \(edges, 2\)"),
        ({"nodes": [[0, 0], [1, 1]], "edges": [[0, 1, 0]]}, r"edges must be whole numbers \(edges, 2\)"),
        ({"nodes": [[0, 0]]}, "predictions has no edges. It has: nodes"),
        ([[0, 0]], "predictions must be a Graph, a dict with nodes and edges, or a networkx graph, got a list"),
        (
            {"nodes": [[0, 0, 0], [9, 0, 0]], "edges": [[0, 1]]},
            "nodes have 3 coordinates in predictions and 2 in",
        ),
    ],
)
def test_bad_graphs_are_refused(graph: Any, message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        mg.graph_scores(graph, LINE)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(mg.InvalidInput, match="parity must be 'cgnet' or None, got 'sat2graph'"):
        mg.graph_scores(LINE, LINE, parity="sat2graph")  # type: ignore[arg-type]
    with pytest.raises(mg.InvalidInput, match="settings cannot be changed with parity='cgnet'"):
        mg.graph_scores(LINE, LINE, parity="cgnet", settings=mg.GraphSettings())
    with pytest.raises(mg.InvalidInput, match="radius must be a positive length"):
        mg.GraphSettings(radius=0)
    with pytest.raises(mg.InvalidInput, match="landmark_radii must be a tuple of lengths"):
        mg.GraphSettings(landmark_radii=())
    high = {"nodes": [[0, 0, 0], [9, 0, 0]], "edges": [[0, 1]]}
    with pytest.raises(mg.InvalidInput, match="needs nodes with 2 coordinates, got 3"):
        mg.graph_scores(high, high, parity="cgnet")


def test_settings_change_the_scores() -> None:
    shifted = {"nodes": [[0, 0.8], [20, 0.8]], "edges": [[0, 1]]}
    assert mg.graph_scores(shifted, LINE).geo == three(0, 0, 0)
    assert mg.graph_scores(shifted, LINE, settings=mg.GraphSettings(radius=1)).geo == three(1, 1, 1)


def test_an_empty_side_scores_nothing_and_two_empty_sides_are_left_out() -> None:
    fork = {"nodes": [[0, 0], [10, 0], [20, 4], [20, -4]], "edges": [[0, 1], [1, 2], [1, 3]]}
    for scores in (mg.graph_scores(EMPTY, fork), mg.graph_scores(EMPTY, fork, parity="cgnet")):
        assert scores.geo == scores.topo == scores.jtopo == scores.sda == three(0, 0, 0)
        assert scores.apls == 0
    other = mg.graph_scores(fork, EMPTY)
    assert other.geo == other.topo == other.sda == other.landmark == other.reach == three(0, 0, 0)
    assert other.jtopo is None  # no true junctions
    assert other.apls == other.apls_directed == 0
    assert set(mg.graph_scores(EMPTY, EMPTY).to_dict().values()) == {None}
    assert mg.graph_scores(EMPTY, {"nodes": [[0, 0, 0], [9, 0, 0]], "edges": [[0, 1]]}).geo == three(0, 0, 0)


def test_isolated_nodes_count_as_landmarks_only() -> None:
    lonely = {"nodes": [*LINE["nodes"], [5, 5]], "edges": LINE["edges"]}
    scores = mg.graph_scores(lonely, LINE)
    assert scores.geo == scores.topo == three(1, 1, 1)
    assert scores.landmark is not None
    assert scores.landmark.precision == pytest.approx(2 / 3)
    alone = mg.graph_scores({"nodes": [[5, 5]], "edges": []}, LINE)
    assert alone.geo == three(0, 0, 0)


def test_networkx_graphs_are_read_by_their_positions() -> None:
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_node("a", pos=(0, 0))
    graph.add_node("b", pos=np.array([20.0, 0.0]))
    graph.add_edge("a", "b")
    assert mg.graph_scores(graph, LINE).topo == three(1, 1, 1)
    both = mg.Graph.of(graph.to_undirected())
    assert both.edges.tolist() == [[0, 1], [1, 0]]
    assert mg.frames_from_graphs({"t": graph}).counts == {"centerline": 1}
    graph.add_node("c")
    with pytest.raises(mg.InvalidInput, match="node 'c' has no attribute pos"):
        mg.graph_scores(LINE, graph)
