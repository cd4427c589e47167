"""``Graph``: nodes with positions, and directed edges, as two arrays.

A graph of centrelines has a node wherever a line bends, begins, ends, splits or merges. Traffic moves along the edges.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.typing import Floats, Points

Edges: TypeAlias = NDArray[np.int64]  # (edges, 2): from node, to node

# A networkx graph is anything with nodes and edges. The package does not import networkx for its types.
GraphLike: TypeAlias = "Graph | Mapping[str, Any] | Any"


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A directed graph whose nodes have positions in metres.

    >>> graph = Graph.of({"nodes": [[0, 0], [5, 0], [9, 3], [9, -3]], "edges": [[0, 1], [1, 2], [1, 3]]})
    >>> graph
    <Graph: 4 nodes, 3 edges, 2-D>
    """

    nodes: Points  # (nodes, 2 or 3), metres, finite
    edges: Edges  # (edges, 2): indices of nodes

    def __post_init__(self) -> None:
        """Refuse edges to nodes that do not exist, and positions that are not finite."""
        _check("graph", self.nodes, self.edges)

    @classmethod
    def of(cls, graph: GraphLike, name: str = "graph") -> "Graph":
        """Make a graph from a dictionary or a networkx graph.

        Args:
            graph: A ``Graph``, ``{"nodes": positions, "edges": pairs of indices}``, or a networkx graph whose nodes
                have the attribute ``pos``. An edge of an undirected networkx graph counts in both directions.
            name: Its name in messages.
        """
        if isinstance(graph, Graph):
            return graph
        if isinstance(graph, Mapping) and not hasattr(graph, "adj"):
            return _from_mapping(graph, name)
        if hasattr(graph, "nodes") and hasattr(graph, "edges") and hasattr(graph, "is_directed"):
            return _from_networkx(graph, name)
        raise InvalidInput(
            f"{name} must be a Graph, a dict with nodes and edges, or a networkx graph, got a {type(graph).__name__}"
        )

    def __repr__(self) -> str:
        """Summary in one line."""
        return f"<Graph: {len(self.nodes)} nodes, {len(self.edges)} edges, {self.dimension}-D>"

    @property
    def dimension(self) -> int:
        """Number of coordinates of a node: 2 or 3."""
        return int(self.nodes.shape[1])

    @property
    def lengths(self) -> Floats:
        """The length of each edge in metres."""
        steps = self.nodes[self.edges[:, 1]] - self.nodes[self.edges[:, 0]]
        lengths: Floats = np.sqrt(np.square(steps).sum(axis=1))
        return lengths

    @property
    def isolated(self) -> int:
        """Number of nodes without edges."""
        return len(self.nodes) - len(np.unique(self.edges))

    def to_dict(self) -> dict[str, Any]:
        """Return positions and pairs of indices as lists, for JSON."""
        return {"nodes": self.nodes.tolist(), "edges": self.edges.tolist()}

    def tidy(self) -> "Graph":
        """Return the graph in a form that does not depend on the order of its nodes and edges.

        Nodes at the same position become one. Edges from a node to itself are removed, and so are repeated edges.
        Nodes are sorted by position, and edges by their nodes.

        >>> Graph.of({"nodes": [[5, 0], [0, 0], [5, 0]], "edges": [[1, 0], [0, 2], [1, 2]]}).tidy()
        <Graph: 2 nodes, 1 edges, 2-D>
        """
        nodes, at = np.unique(self.nodes + 0.0, axis=0, return_inverse=True)  # + 0.0 turns -0.0 into 0.0
        edges = at.reshape(-1)[self.edges]
        edges = edges[edges[:, 0] != edges[:, 1]]
        return Graph(np.ascontiguousarray(nodes), np.unique(edges, axis=0))


def _check(name: str, nodes: NDArray[Any], edges: NDArray[Any]) -> None:
    if nodes.ndim != 2 or nodes.shape[1] not in (2, 3) or nodes.dtype != np.float64:
        raise InvalidInput(f"{name}: nodes must be numbers (nodes, 2 or 3), got {nodes.dtype} {nodes.shape}")
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype != np.int64:
        raise InvalidInput(f"{name}: edges must be whole numbers (edges, 2), got {edges.dtype} {edges.shape}")
    if not np.isfinite(nodes).all():
        row, column = np.argwhere(~np.isfinite(nodes))[0].tolist()
        raise InvalidInput(
            f"{name}: coordinate {column} of node {row} is {nodes[row, column]}, expected a finite number",
            remedy="Remove the node and its edges",
        )
    wrong = np.flatnonzero((edges < 0) | (edges >= len(nodes)))
    if len(wrong):
        edge, end = divmod(int(wrong[0]), 2)
        raise InvalidInput(
            f"{name}: edge {edge} is {edges[edge].tolist()}, and there is no node {edges[edge, end]}: "
            f"the graph has {len(nodes)} nodes",
            remedy="Count nodes from 0, and remove the edges of removed nodes",
        )


def _from_mapping(graph: Mapping[str, Any], name: str) -> Graph:
    lacking = [key for key in ("nodes", "edges") if key not in graph]
    if lacking:
        has = ", ".join(map(str, list(graph)[:5])) or "nothing"
        raise InvalidInput(f"{name} has no {' and no '.join(lacking)}. It has: {has}")
    return _graph(graph["nodes"], graph["edges"], name)


def _graph(positions: Any, pairs: Any, name: str) -> Graph:
    try:
        nodes, edges = np.asarray(positions, np.float64), np.asarray(pairs)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name}: nodes must be positions with 2 or 3 numbers each: {error}") from error
    nodes = np.empty((0, 2)) if nodes.size == 0 else nodes
    edges = np.empty((0, 2), np.int64) if edges.size == 0 else edges
    if edges.dtype.kind == "f" and np.isfinite(edges).all() and (edges == np.floor(edges)).all():
        edges = edges.astype(np.int64)
    if edges.dtype.kind in "iu":
        edges = edges.astype(np.int64)
    _check(name, nodes, edges)
    return Graph(np.ascontiguousarray(nodes), np.ascontiguousarray(edges))


def _from_networkx(graph: Any, name: str) -> Graph:
    at = {node: i for i, node in enumerate(graph.nodes)}
    lacking = [node for node in at if "pos" not in graph.nodes[node]]
    if lacking:
        raise InvalidInput(
            f"{name}: node {lacking[0]!r} has no attribute pos ({len(lacking)} of {len(at)} nodes)",
            remedy="Set the position of each node: graph.nodes[node]['pos'] = (x, y)",
        )
    pairs = [(at[edge[0]], at[edge[1]]) for edge in graph.edges]
    if not graph.is_directed():
        pairs += [(end, start) for start, end in pairs]
    return _graph([tuple(graph.nodes[node]["pos"]) for node in at], pairs, name)
