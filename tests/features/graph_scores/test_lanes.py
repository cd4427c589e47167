"""Graphs as lanes with links, and lanes as graphs."""

import numpy as np
import pytest
from tests.features.graph_scores.drawn import three

import mapgauge as mg
from mapgauge.features.graph_scores.graph import graph_of_lanes, paths_of


def graph(nodes: list[list[float]], edges: list[list[int]]) -> mg.Graph:
    return mg.Graph.of({"nodes": nodes, "edges": edges})


def test_paths_end_at_junctions() -> None:
    found = paths_of(graph([[0, 0], [1, 0], [2, 0], [3, 1], [3, -1], [9, 9]], [[0, 1], [1, 2], [2, 3], [2, 4]]))
    assert found == [[0, 1, 2], [2, 3], [2, 4], [5]]


def test_a_road_of_two_ways_has_a_path_for_each() -> None:
    road = graph([[0, 0], [1, 0], [2, 0]], [[0, 1], [1, 0], [1, 2], [2, 1]])
    assert paths_of(road, two_way=True) == [[0, 1, 2], [2, 1, 0]]
    assert paths_of(road) == [[0, 1], [1, 0], [1, 2], [2, 1]]  # lanes share no inner points


def test_a_cycle_is_one_lane_that_follows_itself() -> None:
    frames = mg.frames_from_graphs({"a": graph([[0, 0], [1, 0], [1, 1]], [[0, 1], [1, 2], [2, 0]])})
    assert frames["a"][0].points.tolist() == [[0, 0], [1, 0], [1, 1], [0, 0]]
    assert frames.links is not None
    assert list(frames.links) == [(0, 0, 1.0, "successor")]


def test_lanes_from_one_node_without_a_lane_before_it_share_their_start() -> None:
    frames = mg.frames_from_graphs({"a": graph([[0, 0], [5, 1], [5, -1]], [[0, 1], [0, 2]])})
    assert frames.links is not None
    assert list(frames.links) == [(0, 1, 1.0, "same_start")]
    assert len(mg.graphs_from_frames(frames)["a"].nodes) == 3


def test_nodes_that_coincide_stay_apart_in_lanes() -> None:
    given = graph([[0, 0], [5, 0], [0, 1], [5, 0]], [[0, 1], [2, 3]])
    frames = mg.frames_from_graphs({"a": given})
    assert len(mg.graphs_from_frames(frames)["a"].nodes) == 4
    assert [(finding.code, finding.count) for finding in frames.findings] == [("nodes-coincide", 1)]
    merge = graph([[0, 0], [5, 0], [0, 1]], [[0, 1], [2, 1]])
    assert mg.graph_scores(given, merge).sda == three(1, 1, 1)  # scores take them as one


def test_findings_count_what_a_graph_cannot_use() -> None:
    frames = mg.frames_from_graphs({"a": graph([[0, 0], [5, 0], [9, 9]], [[0, 1], [0, 0]])}, name="mine")
    assert {finding.code: finding.count for finding in frames.findings} == {"self-loops": 1, "isolated-nodes": 1}
    assert str(frames.findings[0]) == "note: mine: 1 edges lead from a node to itself and were left out (a)"


def test_links_join_lanes_whose_ends_are_apart_if_they_are_strong() -> None:
    lanes = mg.Polylines.of([[[0, 0], [5, 0]], [[6, 0], [9, 0]], [[5, 0], [9, 5]]])
    joined = graph_of_lanes(lanes, mg.Links.of([0, 0], [1, 2], weight=[0.6, 0.5]))
    assert joined.edges.tolist() == [[0, 1], [2, 3], [4, 5], [1, 2]]
    assert len(joined.nodes) == 6  # the end and the start at (5, 0) are not linked
    assert graph_of_lanes(lanes, None).edges.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert graph_of_lanes(lanes, mg.Links.of([0], [1], kind="left")).edges.tolist() == [[0, 1], [2, 3], [4, 5]]


def test_graphs_of_different_dimensions_are_refused() -> None:
    flat, high = graph([[0, 0], [1, 0]], [[0, 1]]), graph([[0, 0, 0], [1, 0, 0]], [[0, 1]])
    with pytest.raises(mg.InvalidInput, match=r"graphs\['b'\] has 3 coordinates"):
        mg.frames_from_graphs({"a": flat, "b": high})
    assert mg.frames_from_graphs({"a": graph([], []), "b": high}).dimension == 3


def test_other_classes_are_no_lanes() -> None:
    frames = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]], "centerline": [[[0, 1], [9, 1]]]}})
    assert np.array_equal(mg.graphs_from_frames(frames)["a"].nodes, [[0, 1], [9, 1]])
