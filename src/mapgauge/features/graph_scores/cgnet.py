"""Graph scores by the rules of CGNet's evaluator."""

from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.errors import InvalidInput
from mapgauge.features.graph_scores.graph import Edges, Graph
from mapgauge.features.graph_scores.graph_sampling import (
    Graphs,
    GraphScore,
    NearPoints,
    bounds_of,
    match,
    score,
    similarity,
    starts_of,
)
from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Flags, Floats, Indices, Pairs, Points

# The numbers of the public evaluator (datasets/topo_eval/geotopo.py and its APLS).
_UNITS = 10  # per metre
_SPACING = 2.5  # units between points along lanes
_RADIUS = 5.0  # units: points that are closer match
_WALK = 80.0  # units: how far TOPO walks from a matched pair
_HALF_WIDTH = 150  # units, of the region
_HALF_LENGTH = 300
_EVERY = 10  # TOPO begins at every tenth matched pair
_SPLIT_RADIUS = 1.0  # metres between split points that match
_SNAP = 0.5  # metres between a control point of APLS and its place in the other graph
_SHORTEST = 5.0  # metres of a path of APLS
_BOX = 0.05  # metres


def _distinct(rows: NDArray[np.int64]) -> tuple[Indices, Indices]:
    """Return the first place of each distinct row, as in a dictionary, and the number of each row among them."""
    from mapgauge.features.graph_scores.cgnet_kernels import first_seen

    places: tuple[Indices, Indices] = first_seen(np.ascontiguousarray(rows))
    return places


def _in_order(edges: Edges) -> Edges:
    """Return edges in the order in which networkx lists them: by their first node, then as in the file."""
    edges = edges[_distinct(edges)[0]]
    return edges[np.argsort(edges[:, 0], kind="stable")]


class _Points:
    """Points on the edges of graphs, in the order in which they occur, and the points after each."""

    def __init__(self, graphs: Graphs) -> None:
        graph, places = self._joined(graphs)
        kept, number = _distinct(np.column_stack([graph, places.view(np.int64)]))
        self.points = places[kept]
        self.graph = graph[kept]
        joins = number.reshape(-1, 2)
        joins = joins[_distinct(joins)[0]]
        joins = joins[np.argsort(joins[:, 0], kind="stable")]
        self.first = starts_of(joins[:, 0], len(kept))
        self.after = np.ascontiguousarray(joins[:, 1])

    @staticmethod
    def _joined(graphs: Graphs) -> tuple[Indices, Points]:
        """Return the graph and the position of the start and the end of all short edges, one after the other."""
        units = np.trunc(graphs.nodes[:, :2] * _UNITS) + 0.0  # + 0.0 turns -0.0 into 0.0
        node, place = _distinct(np.column_stack([graphs.graph, units.view(np.int64)]))  # equal nodes are one
        edges = place[_in_order(graphs.edges)]
        edges = edges[_distinct(edges)[0]]
        edges = edges[np.argsort(_distinct(edges[:, :1])[1], kind="stable")]  # by the first edge from each node
        edges = edges[_distinct(np.sort(edges, axis=1))[0]]  # of two opposite edges, the first counts
        start = units[node[edges[:, 0]]]
        end = units[node[edges[:, 1]]]
        gaps = np.maximum(1, (np.sqrt(np.square(start - end).sum(axis=1)) / _SPACING).astype(np.int64))
        edge = np.repeat(np.arange(len(gaps)), gaps)
        step = ranges(np.ones_like(gaps), gaps)
        share = (1.0 - step / gaps[edge])[:, None]
        after = start[edge] * share + end[edge] * (1 - share)
        before = np.where((step == 1)[:, None], start[edge], np.roll(after, 1, axis=0))
        inside = _inside(before) & _inside(after)
        places = np.stack([before[inside], after[inside]], axis=1).reshape(-1, 2) + 0.0
        return np.repeat(graphs.graph[node[edges[edge[inside], 0]]], 2), places

    def walks(self, starts: Indices) -> tuple[Indices, Indices]:
        """Return the points that walks meet, in the order in which they meet them, and their offsets."""
        from mapgauge.features.graph_scores.cgnet_kernels import depth_first

        walks: tuple[Indices, Indices] = depth_first(self.first, self.after, self.points, starts=starts, limit=_WALK)
        return walks

    def as_sets(self, walks: tuple[Indices, Indices], chosen: Flags) -> tuple[Indices, Indices]:
        """Return some walks, with the points of each in the order of a set of positions."""
        points, offsets = walks
        sizes = np.diff(offsets)[chosen]
        points = points[ranges(offsets[:-1][chosen], sizes)]
        places = list(map(tuple, self.points[points].tolist()))
        ends = np.append(0, sizes.cumsum())
        order: list[int] = []
        for start, end in pairwise(ends.tolist()):
            at = dict(zip(places[start:end], range(start, end), strict=True))
            order += map(at.__getitem__, set(places[start:end]))
        return points[order], ends


def _inside(places: Points) -> Flags:
    x, y = places.T
    flags: Flags = (x >= -_HALF_WIDTH) & (x < _HALF_WIDTH) & (y >= -_HALF_LENGTH) & (y < _HALF_LENGTH)
    return flags


class CgnetPairs:
    """Graphs of some frames, compared as CGNet's evaluator does. A score is None where it has NaN or no number."""

    def __init__(self, graphs: Graphs) -> None:
        """Keep the graphs as they are, and refuse heights."""
        self._graphs = graphs
        if len(graphs.nodes) and graphs.nodes.shape[1] != 2:
            raise InvalidInput(
                "parity='cgnet' needs nodes with 2 coordinates, got 3",
                remedy="Leave out the height: nodes[:, :2], or frames.planar()",
            )

    @cached_property
    def _points(self) -> _Points:
        return _Points(self._graphs)

    @cached_property
    def _bounds(self) -> Indices:
        return bounds_of(self._points.graph, self._graphs.frames)

    @cached_property
    def _near(self) -> NearPoints:
        return match(self._points.points, self._bounds, _RADIUS, in_order=True)

    def geo(self) -> list[GraphScore | None]:
        """Return the share of points that are matched."""
        matches = np.bincount(self._near.frame[self._near.accepted], minlength=len(self._bounds)).tolist()
        scores: list[GraphScore | None] = []
        for hits, (predicted, true) in zip(matches, np.diff(self._bounds, axis=1).tolist(), strict=True):
            if predicted and true:
                shares = (hits / predicted, hits / true)
            else:
                shares = (0.0, 0.0)
            scores.append(None if predicted and not true else score(*shares))
        return scores

    def topo(self) -> list[GraphScore | None]:
        """Return the share of points that are matched around every tenth pair."""
        frame = self._near.frame[self._near.accepted]
        number = np.arange(len(frame)) - starts_of(frame, len(self._bounds))[frame]  # of the pair in its frame
        return self._around(self._near.pairs[number % _EVERY == 0])

    def jtopo(self) -> list[GraphScore | None]:
        """Return the same around pairs whose true point has more than one successor."""
        pairs = self._near.pairs
        return self._around(pairs[np.diff(self._points.first)[pairs[:, 1]] > 1])

    def _around(self, pairs: Pairs) -> list[GraphScore | None]:
        from mapgauge.features.graph_scores.cgnet_kernels import matches_of_walks

        near = self._near
        points = self._points
        own = points.walks(pairs[:, 0])
        other = points.walks(pairs[:, 1])
        columns = near.first, near.second, near.squared, len(points.points)
        matched, tied = matches_of_walks(*columns, *own, *other)
        in_sets = (points.as_sets(walks, tied) for walks in (own, other))
        matched[tied], _ = matches_of_walks(*columns, *next(in_sets), *next(in_sets))
        shares = [matched / np.diff(offsets) for _, offsets in (own, other)]
        start = starts_of(points.graph[pairs[:, 0]] // 2, len(self._bounds)).tolist()
        scores: list[GraphScore | None] = []
        for geo, (low, high), predicted in zip(self.geo(), pairwise(start), np.diff(self._bounds)[:, 0], strict=True):
            if geo is None or low == high:
                scores.append(None if predicted else geo)
                continue
            precision, recall = (np.mean(share[low:high]) for share in shares)
            scores.append(score(geo.precision * precision, geo.recall * recall))
        return scores

    def apls(self) -> list[float | None]:
        """Compare the lengths of paths; 0 if one of the graphs has no paths."""
        from mapgauge.features.graph_scores.cgnet_kernels import insert_one_by_one
        from mapgauge.features.graph_scores.graph_kernels import csr, path_costs

        graphs = self._graphs
        nodes = graphs.nodes
        count = 2 * graphs.frames
        native = _undirected(graphs.edges)
        nodes_of = starts_of(graphs.graph, count)
        edges_of = starts_of(graphs.graph[native[:, 0]], count)
        place = np.full(len(nodes), -1)
        ends = [np.empty((0, 2), np.int64)]
        lengths = [np.empty(0)]
        total = 0
        for g in range(count):
            own, other = (slice(nodes_of[k], nodes_of[k + 1]) for k in (g, g ^ 1))
            edges = native[edges_of[g ^ 1] : edges_of[(g ^ 1) + 1]] - other.start
            at, between, length, inserted = insert_one_by_one(nodes[own], nodes[other], edges, radius=_SNAP, box=_BOX)
            place[own] = np.where(at >= 0, at + total, -1)
            ends.append(between + total)
            lengths.append(length)
            total += inserted
        hosts = np.concatenate(ends)
        # Edges of both graphs may be walked in both directions.
        walked = csr(len(nodes), native, Graph(nodes, native).lengths, ways=np.ones_like(native, np.bool_))
        host = csr(total, hosts, np.concatenate(lengths), ways=np.ones_like(hosts, np.bool_))
        costs = path_costs(
            walked,
            host,
            nodes_of,
            other=place,
            shortest=_SHORTEST,
            lost_costs_all=True,
        )
        similar = [similarity(cost, paths) for cost, paths in costs.tolist()]
        has_edges = np.diff(edges_of).reshape(-1, 2).min(axis=1, initial=1)
        scores: list[float | None] = []
        for back, forth, filled in zip(similar[::2], similar[1::2], has_edges.tolist(), strict=True):
            if filled and forth > 0 and back > 0:
                scores.append(2 / (1 / forth + 1 / back))
            else:
                scores.append(0.0)
        return scores

    def sda(self) -> list[GraphScore | None]:
        """Compare the nodes with several edges to or from them; None without true ones."""
        graphs = self._graphs
        edges = graphs.edges[_distinct(graphs.edges)[0]]
        out, arrivals = (np.bincount(edges[:, end], minlength=len(graphs.nodes)) for end in (0, 1))
        splits = (out > 1) | (arrivals > 1)
        nodes = graphs.nodes[splits]
        scores: list[GraphScore | None] = []
        for first, middle, last in bounds_of(graphs.graph[splits], graphs.frames).tolist():
            x = nodes[first:middle]
            y = nodes[middle:last]
            if not len(x) or not len(y):
                scores.append(score(0.0, recall=0.0) if len(y) else None)
                continue
            gaps: Floats = np.sqrt(np.square(y[:, None] - x[None]).sum(axis=-1))
            hits = np.count_nonzero(gaps[kernels.assignment.cheapest_pairs(gaps)] < _SPLIT_RADIUS)
            scores.append(score(hits / len(x), hits / len(y)))
        return scores

    def apls_directed(self) -> list[None]:
        """Return None: the evaluator has no such score."""
        return [None] * self._graphs.frames

    def landmark(self) -> list[None]:
        """Return None: the evaluator has no such score."""
        return [None] * self._graphs.frames

    def reach(self) -> list[None]:
        """Return None: the evaluator has no such score."""
        return [None] * self._graphs.frames


def _undirected(edges: Edges) -> Edges:
    """Return the edges without direction, from the lower node, in the order in which networkx lists them."""
    pairs = np.sort(_in_order(edges), axis=1)
    pairs = pairs[_distinct(pairs)[0]]
    return pairs[np.argsort(pairs[:, 0], kind="stable")]
