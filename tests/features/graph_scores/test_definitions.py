"""The scores against the definitions in plain networkx, against scipy, and on cases that can be checked by hand."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import plain_graphs
from benchmarks.extra_graph_kernels import all_distances
from examples.graph_scores import table
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from tests.features.graph_scores.drawn import moved, street, three

import mapgauge as mg
from mapgauge.features.graph_scores.graph_sampling import Graphs, Roads, Samples

LINE = {"nodes": [[0, 0], [20, 0]], "edges": [[0, 1]]}
FORK = {"nodes": [[0, 0], [10, 0], [20, 4], [20, -4]], "edges": [[0, 1], [1, 2], [1, 3]]}


@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = street(rng, 3)
    found = moved(rng, truth)
    x, y = (plain_graphs.graph_of(side["nodes"], side["edges"]) for side in (found, truth))
    expected = plain_graphs.topo_scores(x, y) | {
        "apls": plain_graphs.apls(x, y, directed=False),
        "apls_directed": plain_graphs.apls(x, y, directed=True),
        "sda": plain_graphs.split_score(x, y),
    }
    scores = mg.graph_scores(found, truth).to_dict()
    for name, value in expected.items():
        assert (scores[name] or 0.0) == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("directed", [False, True])
def test_shortest_paths_equal_those_of_scipy(directed: bool) -> None:
    rng = np.random.default_rng(5)
    graph = mg.Graph(rng.uniform(-9, 9, (40, 2)), rng.integers(0, 40, (90, 2)))
    empty = mg.Graph(np.empty((0, 2)), np.empty((0, 2), np.int64))
    first, target, length = Samples.of(Roads.of(Graphs.of(graph, empty).tidy()), 3.0).csr(directed=directed)
    count = len(first) - 1
    expected = dijkstra(csr_array((length, target, first), shape=(count, count)))
    found = all_distances(first, target, length, np.arange(count))
    np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert np.isinf(found).any() == directed


def test_close_points_are_those_of_all_pairs() -> None:
    from mapgauge.features.graph_scores.graph_kernels import close_points

    rng = np.random.default_rng(3)
    points, bounds = rng.uniform(-5, 5, (200, 3)), np.array([[0, 60, 110], [110, 110, 120], [120, 150, 200]])
    i, j, squared, offsets = close_points(points, bounds, 1.5)
    for (first, middle, end), low, high in zip(bounds.tolist(), offsets[:-1], offsets[1:], strict=True):
        gaps = np.square(points[first:middle, None] - points[None, middle:end]).sum(axis=-1)
        order = low + np.lexsort((j[low:high], i[low:high]))
        pairs = np.stack([i - first, j - middle], axis=1)[order]
        np.testing.assert_array_equal(pairs, np.argwhere(gaps < 1.5**2))
        np.testing.assert_allclose(squared[order], gaps[gaps < 1.5**2], rtol=1e-12)
    assert offsets[1] == offsets[2] < offsets[3]


def test_walks_match_like_a_sorted_list_of_pairs() -> None:
    """Each node asks for its pairs in turn. The matching is that of all pairs in their order."""
    from mapgauge.features.graph_scores.graph_kernels import csr, matches_within

    rng = np.random.default_rng(8)
    edges = np.concatenate([rng.integers(0, 20, (40, 2)), rng.integers(20, 40, (40, 2))])
    graph = csr(40, edges, rng.uniform(0.5, 1.5, len(edges)), np.ones_like(edges, np.bool_))
    pairs = np.unique(np.column_stack([rng.integers(0, 20, 90), rng.integers(20, 40, 90)]), axis=0)
    pairs = rng.permutation(pairs)
    starts = np.column_stack([np.arange(20), np.arange(20, 40)])
    first, target, length = graph
    near = all_distances(first, target, length, np.arange(40)) <= 2.0
    counts = matches_within(graph, starts, 2.0, *map(np.ascontiguousarray, pairs.T))
    for (i, j), row in zip(starts.tolist(), counts.tolist(), strict=True):
        taken: set[int] = set()
        for a, b in pairs.tolist():
            if near[i, a] and near[j, b] and not taken & {a, b}:
                taken |= {a, b}
        assert row == [near[i].sum(), near[j].sum(), len(taken) // 2]
    assert len({row[2] for row in counts.tolist()}) > 3


def test_a_shifted_line_is_matched_up_to_the_radius() -> None:
    for shift, expected in ((0.49, 1.0), (0.5, 0.0)):
        scores = mg.graph_scores({"nodes": [[0, shift], [20, shift]], "edges": [[0, 1]]}, LINE)
        assert scores.geo == three(expected, expected, expected)
        assert scores.topo == three(expected, expected, expected)


def test_half_of_a_line_has_half_the_recall() -> None:
    scores = mg.graph_scores({"nodes": [[0, 0], [10, 0]], "edges": [[0, 1]]}, LINE)
    assert scores.geo is not None
    assert scores.geo.precision == 1
    assert scores.geo.recall == pytest.approx(41 / 81)
    # All 20 true control points, 1 m apart, that lie beyond 10.5 m are lost.
    assert scores.apls is not None
    assert 0.2 < scores.apls < 0.6


def test_a_missing_branch_halves_what_lies_around_the_junction() -> None:
    straight = {"nodes": [[0, 0], [10, 0], [20, 4]], "edges": [[0, 1], [1, 2]]}
    scores = mg.graph_scores(straight, FORK)
    assert scores.geo is not None
    assert scores.jtopo is not None
    assert scores.jtopo.precision / scores.geo.precision == 1
    ends = int(8 / (np.hypot(10, 4) / 43)) + 1  # points within 8 m of the junction, with it
    assert scores.jtopo.recall / scores.geo.recall == pytest.approx(ends / (2 * ends - 1))
    assert scores.sda == three(0.0, 0.0, 0.0)
    # Of five true ways, only the one along both lanes begins and ends at landmarks of a graph without a branch.
    assert scores.reach == three(1, 0.2, pytest.approx(1 / 3))


def test_direction_matters_to_topo_and_directed_paths_only() -> None:
    backward = {"nodes": LINE["nodes"], "edges": [[1, 0]]}
    scores = mg.graph_scores(backward, LINE)
    assert scores.geo == three(1, 1, 1)
    assert scores.topo is not None
    assert scores.topo.f1 < 0.2
    assert [scores.apls, scores.apls_directed] == [1, 0]
    assert scores.landmark == three(1, 1, 1)
    assert scores.reach == three(0, 0, 0)


def test_both_directions_of_a_road_are_kept() -> None:
    both = {"nodes": LINE["nodes"], "edges": [[0, 1], [1, 0]]}
    one_way = mg.graph_scores(LINE, both)
    assert one_way.geo == three(1, 1, 1)
    assert one_way.topo is not None
    assert one_way.topo.precision == pytest.approx(1)
    assert one_way.topo.recall < 0.7
    assert mg.graph_scores(both, both).sda is None  # a road of two ways has no splits
    assert one_way.apls_directed is not None
    assert one_way.apls_directed < 1


def test_lanes_that_cross_without_a_node_are_not_connected() -> None:
    cross = {"nodes": [[-10, 0], [10, 0], [0, -10], [0, 10]], "edges": [[0, 1], [2, 3]]}
    joined = {
        "nodes": [[-10, 0], [10, 0], [0, -10], [0, 10], [0, 0]],
        "edges": [[0, 4], [4, 1], [2, 4], [4, 3]],
    }
    scores = mg.graph_scores(cross, joined)
    assert scores.geo is not None
    assert scores.geo.f1 > 0.98
    assert scores.topo is not None
    assert scores.topo.recall < 0.95
    assert scores.apls is not None
    assert scores.apls < 0.8


def test_faults_of_cgnet_are_copied_only_on_request() -> None:
    near_zero = {"nodes": [[-0.09, -9], [-0.09, 9]], "edges": [[0, 1]]}
    other = {"nodes": [[0.09, -9], [0.09, 9]], "edges": [[0, 1]]}
    gone = {"nodes": [[0, -9], [0, 9], [0.05, 9], [0.05, -9]], "edges": [[0, 1], [2, 3]]}
    copied = mg.graph_scores(near_zero, other, parity="cgnet")
    assert copied.geo == three(1, 1, 1)  # both are cut off to 0
    assert copied.apls == pytest.approx(1)
    both = mg.graph_scores(gone, other, parity="cgnet")
    assert both.geo == three(1, 1, 1)  # one direction is dropped
    corrected = mg.graph_scores(gone, other)
    assert corrected.geo is not None
    assert corrected.geo.precision == pytest.approx(0.5)


def test_cgnet_loses_a_point_whose_place_another_takes() -> None:
    close = {"nodes": [[0, 0], [0.3, 0], [8, 0], [8.3, 0]], "edges": [[0, 1], [1, 2], [2, 3]]}
    line = {"nodes": [[0.3, 0], [8, 0]], "edges": [[0, 1]]}
    assert mg.graph_scores(close, close).apls == pytest.approx(1)
    one, two = (mg.graph_scores(close, line, parity=rule).apls for rule in (None, "cgnet"))
    assert one is not None
    assert two is not None
    assert one > 0.9 > two


def test_split_points_take_the_nearest_first() -> None:
    """By plain distances, a far split point may push two near ones apart."""
    fork = np.array([[-2, 0], [0, 0], [2, 1], [2, -1]], np.float64)
    edges = [[0, 1], [1, 2], [1, 3]]

    def at(*x: float) -> mg.Graph:
        return mg.Graph(
            np.concatenate([fork + np.array([10 * k, place]) for k, place in enumerate(x)]),
            np.concatenate([np.array(edges) + 4 * k for k in range(len(x))]),
        )

    assert mg.graph_scores(at(0.0), at(0.9)).sda == three(1, 1, 1)
    assert mg.graph_scores(at(0.0), at(1.1)).sda == three(0, 0, 0)
    assert mg.graph_scores(at(0.0, 0.0), at(0.9)).sda == three(0.5, 1, pytest.approx(2 / 3))


def test_the_page_shows_the_table_of_the_example() -> None:
    page = Path(__file__).parents[3] / "docs" / "explanation" / "graph-scores.md"
    assert "\n".join(table()) in page.read_text(encoding="utf-8")


def test_scores_can_be_written_as_json() -> None:
    flat = mg.graph_scores(FORK, FORK).to_dict()
    assert json.loads(json.dumps(flat)) == flat
    assert list(flat)[:4] == ["geo", "geo_precision", "geo_recall", "topo"]
