"""``Graph``: nodes and edges of a lane graph, and its conversion from and to frames of lanes with links."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.frames.lane_classes import LANE
from mapgauge.frames.links import SUCCESSOR, Links, joined_links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Floats, Indices, Points

Edges: TypeAlias = NDArray[np.int64]  # (edges, 2): from node, to node

# A networkx graph is anything with nodes and edges. The package does not import networkx for its types.
GraphLike: TypeAlias = "Graph | Mapping[str, Any] | Any"

SAME_START = "same_start"  # the source and the target begin at the same node
SAME_END = "same_end"
LINK_SCORE = 0.5  # a link with at most this weight is not an edge
_EXAMPLES = 10


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
            lacking = [key for key in ("nodes", "edges") if key not in graph]
            if lacking:
                has = ", ".join(map(str, list(graph)[:5])) or "nothing"
                raise InvalidInput(f"{name} has no {' and no '.join(lacking)}. It has: {has}")
            return _graph(graph["nodes"], graph["edges"], name)
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
        first, at = unique_rows(self.nodes)
        return Graph(self.nodes[first] + 0.0, tidy_edges(at[self.edges]))  # + 0.0 turns -0.0 into 0.0


def tidy_edges(edges: Edges) -> Edges:
    """Return sorted edges, without repeated ones and without those from a node to itself."""
    edges = edges[edges[:, 0] != edges[:, 1]]
    return edges[unique_rows(edges)[0]]


def unique_rows(rows: NDArray[Any]) -> tuple[Indices, Indices]:
    """Return the first place of each distinct row, in the order of rows, and the number of each row among them."""
    order = np.lexsort(rows.T[::-1])
    new = np.append(True, (rows[order[1:]] != rows[order[:-1]]).any(axis=1))[: len(rows)]
    number = np.empty(len(rows), np.int64)
    number[order] = new.cumsum() - 1
    return order[new], number


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


def _graph(positions: Any, pairs: Any, name: str) -> Graph:
    try:
        nodes = np.asarray(positions, np.float64)
        edges = np.asarray(pairs)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name}: nodes must be positions with 2 or 3 numbers each: {error}") from error
    if nodes.size == 0:
        nodes = np.empty((0, 2))
    if edges.size == 0:
        edges = np.empty((0, 2), np.int64)
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


def paths_of(graph: Graph, *, two_way: bool = False) -> list[list[int]]:
    """Return the paths between junctions as lists of nodes, in the order of their first nodes.

    Every edge is part of one path. A path goes on at a node that has one edge to it and one from it, and does not turn
    back. With ``two_way``, it also goes on inside a road that is open in both directions. A cycle without a junction
    begins and ends at its first node. A node without edges is a path of one node. No edge may be repeated.
    """
    from mapgauge.features.graph_scores.graph_kernels import paths_between_junctions

    nodes, offsets = paths_between_junctions(len(graph.nodes), graph.edges, two_way)
    flat = nodes.tolist()
    return [flat[start:end] for start, end in pairwise(offsets.tolist())]


def lanes_of(graph: Graph) -> tuple[list[list[int]], Links]:
    """Return the nodes of each lane of a graph and the links. The graph must be free of repeated edges."""
    paths = paths_of(graph)
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for lane, path in enumerate(paths):
        starts.setdefault(path[0], []).append(lane)
        ends.setdefault(path[-1], []).append(lane)
    rows = []
    for node, lanes_to in ends.items():
        rows += [(lane, then, SUCCESSOR) for lane, then in product(lanes_to, starts.get(node, ()))]
    # Where no lane goes on, links say which lanes begin or end together.
    for kind, own, others in ((SAME_START, starts, ends), (SAME_END, ends, starts)):
        for node, lanes_at in own.items():
            if node not in others:
                rows += [(*pair, kind) for pair in pairwise(lanes_at)]
    lanes = []
    for path in paths:
        if len(path) == 1:
            path = path * 2  # a lane has at least two points
        lanes.append(path)
    if not rows:
        return lanes, Links.of((), (), kind=SUCCESSOR)
    source, target, kinds = zip(*rows, strict=True)
    return lanes, Links.of(source, target, kind=list(kinds))


def graph_of_lanes(polylines: Polylines, links: Links | None) -> Graph:
    """Return the graph of some lanes. Successor links count if their weight is above 0.5."""
    return joined_lanes(polylines, links)[0]


def joined_lanes(polylines: Polylines, links: Links | None, order: Indices | None = None) -> tuple[Graph, Indices]:
    """Return the graph of some lanes as ``graph_of_lanes``, and the first point of each node.

    ``order`` has the node of each point in a file. The nodes are then in the order of the file.
    """
    from mapgauge.features.graph_scores.graph_kernels import united

    coords = polylines.coords
    offsets = polylines.offsets
    filled = np.diff(offsets) > 0
    first = offsets[:-1]
    last = offsets[1:] - 1
    inner = np.delete(np.arange(len(coords)), last[filled])  # points with another point after them
    steps = [np.stack([inner, inner + 1], axis=1)]
    node = np.arange(len(coords))
    if links is not None and len(links):
        both_filled = filled[links.source] & filled[links.target]
        for kind, from_end, to_start in (
            (SUCCESSOR, last, first),
            (SAME_START, first, first),
            (SAME_END, last, last),
        ):
            chosen = links.is_kind(kind) & both_filled & ((links.weight > LINK_SCORE) | (kind != SUCCESSOR))
            pairs = np.stack([from_end[links.source[chosen]], to_start[links.target[chosen]]], axis=1)
            same = (coords[pairs[:, 0]] == coords[pairs[:, 1]]).all(axis=1)
            steps.append(pairs[~same & (kind == SUCCESSOR)])
            node = united(node, pairs[same])
    if order is not None:  # a node without edges is a lane of two points
        node = united(node, steps[0][order[inner] == order[inner + 1]])
    kept, number = np.unique(node, return_inverse=True)
    if order is not None:
        rank = np.argsort(order[kept], kind="stable")
        kept = kept[rank]
        number = np.argsort(rank)[number]
    return without_repeats(Graph(np.ascontiguousarray(coords[kept]), number[np.concatenate(steps)])), kept


def without_repeats(graph: Graph) -> Graph:
    """Return a graph without repeated edges and edges from a node to itself. The others keep their order."""
    edges = graph.edges[graph.edges[:, 0] != graph.edges[:, 1]]
    return Graph(graph.nodes, edges[np.sort(unique_rows(edges)[0])])


def graphs_from_frames(frames: MapFrames) -> dict[str, Graph]:
    """Return the graph of the lanes of each frame, by token. Lanes are instances of the class ``centerline``.

    A successor link joins the end of a lane to the start of another if its weight is above 0.5.

    Args:
        frames: The frames.

    >>> import mapgauge as mg
    >>> fork = {"nodes": [[0, 0], [5, 0], [9, 3], [9, -3]], "edges": [[0, 1], [1, 2], [1, 3]]}
    >>> mg.graphs_from_frames(mg.frames_from_graphs({"4b2f": fork}))["4b2f"]
    <Graph: 4 nodes, 3 edges, 2-D>
    """
    lanes = frames.as_classes([LANE])
    graphs = {}
    for i, token in enumerate(lanes.tokens):
        frame = lanes.between(slice(i, i + 1))
        graphs[token] = graph_of_lanes(frame.polylines, frame.links)
    return graphs


def frames_from_graphs(
    graphs: Mapping[str, GraphLike] | Iterable[tuple[str, GraphLike]], *, name: str = ""
) -> MapFrames:
    """Return the frames of some graphs, with one lane for each path between junctions.

    Graphs have no confidences, so every lane has the confidence 1. Edges from a node to itself are left out, and a
    finding counts them.

    Args:
        graphs: ``{token: graph}``. A graph is a networkx graph whose nodes have the attribute ``pos``, a dictionary
            with ``nodes`` and ``edges``, or a ``Graph``.
        name: The name of the frames in messages.

    >>> import mapgauge as mg
    >>> fork = {"nodes": [[0, 0], [5, 0], [9, 3], [9, -3]], "edges": [[0, 1], [1, 2], [1, 3]]}
    >>> frames = mg.frames_from_graphs({"4b2f": fork})
    >>> frames.counts, list(frames.links)
    ({'centerline': 3}, [(0, 1, 1.0, 'successor'), (0, 2, 1.0, 'successor')])
    """
    if isinstance(graphs, Mapping):
        items = list(graphs.items())
    else:
        items = list(graphs)
    called = name or "graphs"
    lanes: list[Points] = []
    links: list[Links | None] = []
    counts: list[int] = []
    together: dict[str, int] = {}
    loops: dict[str, int] = {}
    isolated: dict[str, int] = {}
    nodes: list[tuple[int, ...]] = []
    dimension: int | None = None
    for token, value in items:
        graph = Graph.of(value, f"{called}[{token!r}]")
        if len(graph.nodes):
            if dimension is not None and graph.dimension != dimension:
                raise InvalidInput(
                    f"{called}[{token!r}] has {graph.dimension} coordinates per node, and graphs before it "
                    f"have {dimension}",
                    remedy="Leave the height out in all graphs or in none",
                )
            dimension = graph.dimension
        simple = without_repeats(graph)
        together[token] = len(graph.nodes) - len(unique_rows(graph.nodes)[0])
        loops[token] = int(np.count_nonzero(graph.edges[:, 0] == graph.edges[:, 1]))
        isolated[token] = simple.isolated
        paths, joints = lanes_of(simple)
        lanes += [graph.nodes[path] for path in paths]
        nodes += map(tuple, paths)
        links.append(joints)
        counts.append(len(paths))
    return MapFrames(
        tokens=tuple(token for token, _ in items),
        classes=(LANE,),
        frame=np.repeat(np.arange(len(items)), counts).astype(np.int64),
        label=np.zeros(sum(counts), np.int64),
        polylines=Polylines.of(lanes, dimension=dimension),
        confidence=np.ones(sum(counts)),
        name=name,
        links=joined_links(links, counts) or Links.of([], []),
        nodes=np.fromiter(nodes, np.object_, len(nodes)),
        findings=tuple(
            Finding("note", code, f"{called}: {total} {text}", count=total, examples=tuple(examples[:_EXAMPLES]))
            for by_token, code, text in (
                (together, "nodes-coincide", "nodes have the position of another node; scores take them as one"),
                (loops, "self-loops", "edges lead from a node to itself and were left out"),
                (isolated, "isolated-nodes", "nodes have no edges; only the landmark score counts them"),
            )
            if (total := sum(by_token.values())) and (examples := [token for token, k in by_token.items() if k])
        ),
    )
