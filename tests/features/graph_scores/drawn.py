"""Random graphs for tests."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

import mapgauge as mg

# A few places close together, so that nodes coincide, edges cross and lie on each other, and ties are common.
_NEAR = st.integers(-3, 3).map(float) | st.floats(-4, 4, width=16)


@st.composite
def graphs(draw: st.DrawFn, dimension: int = 2, largest: int = 7) -> mg.Graph:
    """A small graph with cycles, isolated nodes, equal nodes, opposite edges and edges from a node to itself."""
    count = draw(st.integers(0, largest))
    nodes = draw(st.lists(st.tuples(*[_NEAR] * dimension), min_size=count, max_size=count))
    node = st.integers(0, max(count - 1, 0))
    edges = draw(st.lists(st.tuples(node, node), max_size=2 * count)) if count else []
    return mg.Graph(np.array(nodes, np.float64).reshape(-1, dimension), np.array(edges, np.int64).reshape(-1, 2))


def shuffled(graph: mg.Graph, seed: int) -> mg.Graph:
    """The same graph with its nodes and edges in another order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(graph.nodes))
    place = np.argsort(order)
    edges = place[graph.edges] if len(graph.edges) else graph.edges
    return mg.Graph(np.ascontiguousarray(graph.nodes[order]), edges[rng.permutation(len(edges))])


def by_position(graph: mg.Graph) -> Any:
    """Nodes and edges in a form that can be compared if all positions differ."""
    places = [tuple(place) for place in (graph.nodes + 0.0).tolist()]
    return sorted(places), sorted((places[start], places[end]) for start, end in graph.edges.tolist())


def street(rng: np.random.Generator, lanes: int = 4) -> dict[str, Any]:
    """Lanes with bends that split and merge, a node every few metres."""
    nodes: list[list[float]] = []
    edges: list[list[int]] = []
    ends: list[int] = []
    for lane in range(lanes):
        heading = rng.uniform(-0.4, 0.4)
        place = np.array([-15.0, 4.0 * lane - 6.0])
        last = None
        if ends and rng.random() < 0.6:
            last = int(rng.choice(ends))
            place = np.array(nodes[last])
        for _ in range(int(rng.integers(4, 9))):
            if last is None:
                nodes.append(place.tolist())
                last = len(nodes) - 1
            heading += rng.normal(0, 0.1)
            place = place + rng.uniform(1.5, 3.0) * np.array([np.cos(heading), np.sin(heading)])
            nodes.append(place.tolist())
            edges.append([last, len(nodes) - 1])
            last = len(nodes) - 1
            ends.append(last)
    return {"nodes": nodes, "edges": edges}


def moved(rng: np.random.Generator, graph: dict[str, Any], noise: float = 0.15) -> dict[str, Any]:
    """The graph with moved nodes and without some edges."""
    nodes = np.array(graph["nodes"]) + rng.normal(0, noise, (len(graph["nodes"]), 2))
    return {"nodes": nodes.tolist(), "edges": [edge for edge in graph["edges"] if rng.random() > 0.08]}


def three(precision: Any, recall: Any, f1: Any) -> Any:
    """An expected score. Its type is not that of a score, so that mypy lets them be compared."""
    return precision, recall, f1
