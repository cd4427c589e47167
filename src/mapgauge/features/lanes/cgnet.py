"""Graph scores by the rules of CGNet's evaluator."""

import math
from functools import cached_property

import numpy as np

from mapgauge import kernels
from mapgauge.errors import InvalidInput
from mapgauge.features.lanes.graph import Edges, Graph
from mapgauge.features.lanes.graph_sampling import GraphScore, csr, score
from mapgauge.typing import Floats, Indices, Points

_UNITS = 10  # per metre
_SPACING, _RADIUS, _WALK = 2.5, 5.0, 80.0  # units
_HALF_WIDTH, _HALF_LENGTH = 150, 300
_EVERY = 10
_SPLIT_RADIUS = 1.0  # metres
_SNAP, _SHORTEST, _BOX = 0.5, 5.0, 0.05  # metres


class _Points:
    """Points on the edges of a graph, in the order in which they occur."""

    def __init__(self, graph: Graph) -> None:
        self.at: dict[tuple[float, float], int] = {}
        self.after: list[dict[int, None]] = []
        self._interpolate(_cut_off(graph))
        self.places = list(self.at)
        self.points = np.array(self.places, np.float64).reshape(-1, 2)

    def _interpolate(self, neighbours: dict[tuple[int, int], dict[tuple[int, int], None]]) -> None:
        done = set()
        for start, ends in neighbours.items():
            for end in ends:
                if (end, start) in done:
                    continue
                done.add((start, end))
                gaps = max(1, int(math.sqrt((start[0] - end[0]) ** 2 + (start[1] - end[1]) ** 2) / _SPACING))
                last: tuple[float, float] = start
                for k in range(1, gaps + 1):
                    a = 1.0 - k / gaps
                    place = (start[0] * a + end[0] * (1 - a), start[1] * a + end[1] * (1 - a))
                    if _inside(last) and _inside(place):
                        self._join(last, place)
                    last = place

    def _join(self, first: tuple[float, float], second: tuple[float, float]) -> None:
        for place in (first, second):
            if place not in self.at:
                self.at[place] = len(self.after)
                self.after.append({})
        self.after[self.at[first]][self.at[second]] = None

    def within_walk(self, start: int) -> list[tuple[float, float]]:
        """The points that a walk meets, in the order of a set."""
        visited: set[tuple[float, float]] = set()
        stack = [(start, 0.0)]
        while stack:
            node, depth = stack.pop()
            here = self.places[node]
            visited.add(here)
            if depth < _WALK:
                for other in self.after[node]:
                    place = self.places[other]
                    if place not in visited:
                        step = math.sqrt((here[0] - place[0]) ** 2 + (here[1] - place[1]) ** 2)
                        stack.append((other, depth + step))
        return list(visited)


def _inside(place: tuple[float, float]) -> bool:
    return -_HALF_WIDTH <= place[0] < _HALF_WIDTH and -_HALF_LENGTH <= place[1] < _HALF_LENGTH


def _cut_off(graph: Graph) -> dict[tuple[int, int], dict[tuple[int, int], None]]:
    """Return the nodes after each node, by positions in whole units."""
    keys = [(int(x * _UNITS), int(y * _UNITS)) for x, y in graph.nodes.tolist()]
    neighbours: dict[tuple[int, int], dict[tuple[int, int], None]] = {}
    for start, end in _in_order(graph):
        neighbours.setdefault(keys[start], {})[keys[end]] = None
    return neighbours


def _in_order(graph: Graph) -> list[tuple[int, int]]:
    """Return the edges in the order in which networkx lists them: by their first node, then as in the file."""
    after: list[dict[int, None]] = [{} for _ in graph.nodes]
    for start, end in graph.edges.tolist():
        after[start][end] = None
    return [(start, end) for start, ends in enumerate(after) for end in ends]


def _match(first: Points, second: Points) -> tuple[Indices, Indices]:
    """Match points one to one by rising distance; ties by the order of the first, then of the second."""
    from mapgauge.features.lanes.graph_kernels import accept_pairs, close_points

    i, j, squared = close_points(first, second, _RADIUS)
    order = np.lexsort((j, i, squared))
    accepted = order[accept_pairs(i[order], j[order], len(first), len(second))]
    return i[accepted], j[accepted]


class CgnetPair:
    """Two graphs, compared as CGNet's evaluator compares them. Scores are None where it has NaN or no number at all."""

    def __init__(self, predicted: Graph, true: Graph) -> None:
        """Keep both graphs as they are, and refuse heights."""
        self._predicted, self._true = predicted, true
        for graph in (predicted, true):
            if len(graph.nodes) and graph.dimension != 2:
                raise InvalidInput(
                    "parity='cgnet' needs nodes with 2 coordinates, got 3",
                    remedy="Leave out the height: nodes[:, :2], or frames.planar()",
                )

    @cached_property
    def _points(self) -> tuple[_Points, _Points]:
        return _Points(self._predicted), _Points(self._true)

    @cached_property
    def _pairs(self) -> list[list[int]]:
        pairs: list[list[int]] = np.column_stack(_match(*(side.points for side in self._points))).tolist()
        return pairs

    def geo(self) -> GraphScore | None:
        """Return the share of points that are matched."""
        predicted, true = (len(side.points) for side in self._points)
        if not predicted:
            return score(0.0, 0.0)
        return score(len(self._pairs) / predicted, len(self._pairs) / true) if true else None

    def topo(self) -> GraphScore | None:
        """Return the share of points that are matched around every tenth pair."""
        return self._around(self._pairs[::_EVERY])

    def jtopo(self) -> GraphScore | None:
        """Return the same around pairs whose true point has more than one successor."""
        return self._around([pair for pair in self._pairs if len(self._points[1].after[pair[1]]) > 1])

    def _around(self, pairs: list[list[int]]) -> GraphScore | None:
        geo = self.geo()
        if geo is None or not pairs:
            return None if len(self._points[0].points) else geo
        shares = []
        for i, j in pairs:
            own, other = np.array(self._points[0].within_walk(i)), np.array(self._points[1].within_walk(j))
            matched = len(_match(other, own)[0])
            shares.append((matched / len(own), matched / len(other)))
        precision, recall = (np.mean(column) for column in zip(*shares, strict=True))
        return score(geo.precision * precision, geo.recall * recall)

    def apls(self) -> float:
        """Compare the lengths of paths; 0 if one of the graphs has no paths."""
        if not len(self._predicted.edges) or not len(self._true.edges):
            return 0.0
        forth, back = _similarity(self._true, self._predicted), _similarity(self._predicted, self._true)
        return 2 / (1 / forth + 1 / back) if forth > 0 and back > 0 else 0.0

    def sda(self) -> GraphScore | None:
        """Compare the nodes with several edges to or from them; None without true ones."""
        x, y = _splits(self._predicted), _splits(self._true)
        if not len(y):
            return None
        if not len(x):
            return score(0.0, 0.0)
        gaps: Floats = np.sqrt(np.square(y[:, None] - x[None]).sum(axis=-1))
        hits = np.count_nonzero(gaps[kernels.assignment.cheapest_pairs(gaps)] < _SPLIT_RADIUS)
        return score(hits / len(x), hits / len(y))

    def apls_directed(self) -> None:
        """Return None, as ``landmark`` and ``reach`` do: the evaluator has none of these scores."""

    landmark = reach = apls_directed


def _splits(graph: Graph) -> Points:
    """Return the nodes with several edges to or from them."""
    edges = np.unique(graph.edges, axis=0)
    out, arrivals = (np.bincount(edges[:, end], minlength=len(graph.nodes)) for end in (0, 1))
    return graph.nodes[(out > 1) | (arrivals > 1)]


def _similarity(own: Graph, other: Graph) -> float:
    from mapgauge.features.lanes.graph_kernels import insert_one_by_one, path_cost

    edges = _undirected(other)
    place, ends, lengths, count = insert_one_by_one(own.nodes, other.nodes, edges, _SNAP, _BOX)
    native = _undirected(own)
    total, paths = path_cost(
        csr(len(own.nodes), native, Graph(own.nodes, native).lengths, np.ones_like(native, np.bool_)),
        csr(count, ends, lengths, np.ones_like(ends, np.bool_)),
        np.arange(len(own.nodes)),
        place,
        _SHORTEST,
        True,
    )
    return 1 - total / paths if paths else 0.0


def _undirected(graph: Graph) -> Edges:
    """Return the edges without direction, from the lower node, in the order in which networkx lists them."""
    pairs = dict.fromkeys((min(edge), max(edge)) for edge in _in_order(graph))
    return np.array(sorted(pairs, key=lambda edge: edge[0]), np.int64).reshape(-1, 2)
