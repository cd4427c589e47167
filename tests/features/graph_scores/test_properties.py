"""What must hold for every pair of graphs, by the corrected rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.graph_scores.drawn import by_position, graphs, moved, shuffled, street

import mapgauge as mg
from mapgauge.features.graph_scores.graph import without_repeats

SYMMETRIC = ("geo", "topo", "sda", "landmark", "reach")


@given(graphs(), st.integers(0, 9))
def test_a_graph_agrees_with_itself_in_any_order(graph: mg.Graph, seed: int) -> None:
    found = mg.graph_scores(shuffled(graph, seed), graph).to_dict()
    assert all(value == pytest.approx(1, abs=1e-9) for value in found.values() if value is not None), found


@given(graphs(3))
def test_so_it_does_in_three_dimensions(graph: mg.Graph) -> None:
    found = mg.graph_scores(graph, graph).to_dict()
    assert all(value == pytest.approx(1, abs=1e-9) for value in found.values() if value is not None), found


@given(graphs(), graphs(), st.integers(0, 9))
def test_scores_do_not_depend_on_the_order_of_nodes_and_edges(x: mg.Graph, y: mg.Graph, seed: int) -> None:
    assert mg.graph_scores(x, y) == mg.graph_scores(shuffled(x, seed), shuffled(y, seed + 1))


@given(graphs(), graphs())
def test_exchanging_the_sides_exchanges_precision_and_recall(x: mg.Graph, y: mg.Graph) -> None:
    one, two = mg.graph_scores(x, y), mg.graph_scores(y, x)
    for name in SYMMETRIC:
        first, second = getattr(one, name), getattr(two, name)
        assert (first is None) == (second is None)
        if first is not None:
            assert first == pytest.approx((second.recall, second.precision, second.f1), abs=1e-12), name
    for name in ("apls", "apls_directed"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), abs=1e-12)
    for value in one.to_dict().values():
        assert value is None or -1e-12 <= value <= 1 + 1e-12


@given(graphs(largest=9))
def test_lanes_give_back_the_graph(graph: mg.Graph) -> None:
    expected = without_repeats(graph)
    found = mg.graphs_from_frames(mg.frames_from_graphs({"a": graph}))["a"]
    assert by_position(found) == by_position(expected)
    degrees = [
        sorted(
            zip(
                np.bincount(side.edges[:, 0], minlength=len(side.nodes)),
                np.bincount(side.edges[:, 1], minlength=len(side.nodes)),
                (side.nodes + 0.0).tolist(),
                strict=True,
            )
        )
        for side in (found, expected)
    ]
    assert degrees[0] == degrees[1]  # also where nodes coincide


@pytest.mark.parametrize("seed", range(5))
def test_a_point_in_the_middle_of_an_edge_changes_little(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = street(rng)
    found = moved(rng, truth)
    start, end = found["edges"][0]
    middle = (np.array(found["nodes"][start]) + found["nodes"][end]) / 2
    more = {
        "nodes": [*found["nodes"], middle.tolist()],
        "edges": [[start, len(found["nodes"])], [len(found["nodes"]), end], *found["edges"][1:]],
    }
    one, two = mg.graph_scores(found, truth), mg.graph_scores(more, truth)
    assert one.sda == two.sda
    assert one.landmark == two.landmark
    assert one.geo is not None
    assert two.geo is not None
    assert one.geo.f1 == pytest.approx(two.geo.f1, abs=0.05)
