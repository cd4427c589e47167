"""Graphs as lanes, and lanes as graphs.

A lane is a path of a graph from one junction to the next. It becomes an instance of the class ``centerline``, and a
successor link joins it to each lane that begins at its last node. The way back gives the same nodes and edges: a point
is a node, points at the same position are one node, and a link between lanes whose ends are apart is an edge.

A node without edges becomes a lane of two equal points.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.frames.findings import Finding
from mapgauge.frames.graph import Graph, GraphLike
from mapgauge.frames.links import SUCCESSOR, Links, joined_links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Points

LANE = "centerline"
LINK_SCORE = 0.5  # a link with at most this weight is not an edge
_EXAMPLES = 10


def paths_of(graph: Graph) -> list[list[int]]:
    """Return the paths between junctions as lists of nodes, in the order of their first nodes.

    A junction is a node that has not exactly one edge to it and one from it. A cycle without a junction begins and ends
    at its first node. A node without edges is a path of one node. The graph must be free of repeated edges.
    """
    count = len(graph.nodes)
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in graph.edges.tolist():
        after[start].append(end)
    before = np.bincount(graph.edges[:, 1], minlength=count)
    plain = [before[node] == 1 and len(after[node]) == 1 for node in range(count)]
    passed = [False] * count

    def walk(start: int, step: int) -> list[int]:
        path = [start, step]
        while plain[path[-1]] and path[-1] != start:
            passed[path[-1]] = True
            path.append(after[path[-1]][0])
        return path

    paths = []
    for node in range(count):
        if not plain[node]:
            paths += [walk(node, step) for step in after[node]] or ([[node]] if before[node] == 0 else [])
    for node in range(count):
        if plain[node] and not passed[node]:
            passed[node] = True
            paths.append(walk(node, after[node][0]))
    return sorted(paths, key=lambda path: path[0])


def lanes_of(graph: Graph) -> tuple[list[Points], Links]:
    """Return the lanes of a graph and their successor links."""
    paths = paths_of(graph)
    begin: dict[int, list[int]] = {}
    for lane, path in enumerate(paths):
        if len(path) > 1:
            begin.setdefault(path[0], []).append(lane)
    pairs = [(lane, then) for lane, path in enumerate(paths) if len(path) > 1 for then in begin.get(path[-1], ())]
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    return [graph.nodes[path if len(path) > 1 else path * 2] for path in paths], Links.of(source, target)


def graph_of_lanes(polylines: Polylines, links: Links | None) -> Graph:
    """Return the graph of some lanes.

    Args:
        polylines: The lanes.
        links: Links between them. Only successor links count, and only those with a weight above 0.5.
    """
    coords, offsets = polylines.coords, polylines.offsets
    filled = np.diff(offsets) > 0
    last = offsets[1:][filled] - 1
    point = np.arange(len(coords))
    inner = np.delete(point, last)  # points with another point after them
    edges = np.stack([inner, inner + 1], axis=1)
    if links is not None and len(links):
        strong = (links.kind == SUCCESSOR) & (links.weight > LINK_SCORE) & filled[links.source] & filled[links.target]
        joints = [offsets[links.source[strong] + 1] - 1, offsets[links.target[strong]]]
        edges = np.concatenate([edges, np.stack(joints, axis=1)])
    return simplified(Graph(coords, edges))


def frames_from_graphs(graphs: Mapping[str, GraphLike] | Iterable[tuple[str, GraphLike]], name: str = "") -> MapFrames:
    """Return the frames of some graphs, with one lane for each path between junctions.

    Graphs have no confidences, so every lane has the confidence 1. Nodes at the same position become one node, edges
    from a node to itself are left out, and findings count both. Use ``with_confidence(None)`` for truth.

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
    items = list(graphs.items() if isinstance(graphs, Mapping) else graphs)
    lanes: list[Points] = []
    links: list[Links | None] = []
    counts: list[int] = []
    merged, loops, isolated = _Tally(), _Tally(), _Tally()
    dimension: int | None = None
    for token, value in items:
        graph = Graph.of(value, f"{name or 'graphs'}[{token!r}]")
        if len(graph.nodes):
            if graph.dimension != (dimension or graph.dimension):
                raise InvalidInput(
                    f"{name or 'graphs'}[{token!r}] has {graph.dimension} coordinates per node, and graphs before it "
                    f"have {dimension}",
                    remedy="Leave the height out in all graphs or in none",
                )
            dimension = graph.dimension
        simple = simplified(graph)
        merged.add(token, len(graph.nodes) - len(simple.nodes))
        loops.add(token, int(np.count_nonzero(graph.edges[:, 0] == graph.edges[:, 1])))
        isolated.add(token, simple.isolated)
        points, joints = lanes_of(simple)
        lanes += points
        links.append(joints)
        counts.append(len(points))
    return MapFrames(
        tuple(token for token, _ in items),
        (LANE,),
        np.repeat(np.arange(len(items)), counts).astype(np.int64),
        np.zeros(sum(counts), np.int64),
        Polylines.of(lanes, dimension=dimension),
        np.ones(sum(counts)),
        name=name,
        links=joined_links(links, counts) or Links.of([], []),
        findings=tuple(
            Finding("note", code, f"{name or 'graphs'}: {tally.total} {text}", tally.total, tally.examples)
            for tally, code, text in (
                (merged, "nodes-merged", "nodes have the position of another node of their graph and became one"),
                (loops, "self-loops", "edges lead from a node to itself and were left out"),
                (isolated, "isolated-nodes", "nodes have no edges; only the landmark score counts them"),
            )
            if tally.total
        ),
    )


def simplified(graph: Graph) -> Graph:
    """Return a graph without repeated nodes, repeated edges and edges from a node to itself, in order of appearance."""
    if not len(graph.nodes):
        return graph
    nodes = graph.nodes + 0.0  # turns -0.0 into 0.0
    _, first, at = np.unique(nodes, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    edges = rank[at.reshape(-1)][graph.edges]
    edges = edges[edges[:, 0] != edges[:, 1]]
    _, kept = np.unique(edges, axis=0, return_index=True)
    return Graph(np.ascontiguousarray(nodes[first[order]]), edges[np.sort(kept)])


class _Tally:
    """A count over frames, with the tokens of the first."""

    def __init__(self) -> None:
        self.total = 0
        self.examples: tuple[str, ...] = ()

    def add(self, token: str, count: int) -> None:
        if count:
            self.total += count
            self.examples = (*self.examples, token)[:_EXAMPLES]
