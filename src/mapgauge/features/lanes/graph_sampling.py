"""The settings of the graph scores, the samples of a graph at equal steps, and the matching of two sets of points."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_length, check_whole
from mapgauge.errors import InvalidInput
from mapgauge.features.lanes.graph import Edges, Graph
from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Flags, Floats, Indices, Pairs, Points

Csr: TypeAlias = tuple[Indices, Indices, Floats]  # first edge of each node, targets, lengths
Ways: TypeAlias = NDArray[np.bool_]  # (edges, 2): whether an edge leads forward, and backward


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """The distances of the graph scores, in metres. The defaults are those of CGNet and RoadNet.

    >>> GraphSettings(radius=1.0).radius
    1.0
    """

    spacing: float = 0.25  # GEO and TOPO: distance between points on edges
    radius: float = 0.5  # GEO and TOPO: matched points are closer than this
    walk: float = 8.0  # TOPO and JTOPO: points up to this distance along the edges are compared
    control_spacing: float = 1.0  # APLS and reachability: distance between points on edges
    snap: float = 0.5  # APLS: control points farther from the other graph are lost
    shortest: float = 5.0  # APLS: shorter paths are left out
    split_radius: float = 1.0  # split points: matched ones are closer than this
    landmark_radii: tuple[float, ...] = (0.5, 1.5, 2.5, 4.0, 5.0)  # landmarks: the score is a mean over these
    path_radii: tuple[float, ...] = (0.5, 1.0, 1.5, 2.0, 2.5)  # reachability: the score is a mean over these
    hops: int = 5  # reachability: paths over at most this number of lanes

    def __post_init__(self) -> None:
        """Refuse settings that are not positive."""
        for name in ("spacing", "radius", "walk", "control_spacing", "snap", "shortest", "split_radius"):
            object.__setattr__(self, name, check_length(name, getattr(self, name)))
        for name in ("landmark_radii", "path_radii"):
            radii = getattr(self, name)
            if not isinstance(radii, tuple | list) or not radii:
                raise InvalidInput(f"{name} must be a tuple of lengths in metres, got {radii!r}")
            object.__setattr__(self, name, tuple(check_length(name, radius) for radius in radii))
        object.__setattr__(self, "hops", check_whole("hops", self.hops, 1))


class GraphScore(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def score(precision: float, recall: float) -> GraphScore:
    """Return precision, recall and F1, which is 0 if both are 0."""
    precision, recall = float(precision), float(recall)
    both = precision + recall
    return GraphScore(precision, recall, 2 * (precision * recall) / both if both > 0 else 0.0)


def share(matches: float, predicted: int, true: int) -> GraphScore:
    """Return the score of a number of matches. A side without anything to match has the share 0."""
    return score(matches / predicted if predicted else 0.0, matches / true if true else 0.0)


def mean_score(scores: list[GraphScore]) -> GraphScore:
    """Return the means of precision, recall and F1."""
    return GraphScore(*np.array(scores).mean(axis=0).tolist())


@dataclass(frozen=True, eq=False)
class Roads:
    """A tidy graph without isolated nodes, with one edge for both directions between two nodes."""

    nodes: Points
    edges: Edges  # from the lower to the higher node
    ways: Ways

    @classmethod
    def of(cls, graph: Graph) -> "Roads":
        """Join the edges of opposite directions of a tidy graph."""
        pairs, at = np.unique(np.sort(graph.edges, axis=1), axis=0, return_inverse=True)
        ways = np.zeros((len(pairs), 2), np.bool_)
        ways[at.reshape(-1), (graph.edges[:, 0] > graph.edges[:, 1]).astype(np.int64)] = True
        used, joined = np.unique(pairs, return_inverse=True)
        return cls(graph.nodes[used], joined.reshape(-1, 2), ways)

    @cached_property
    def lengths(self) -> Floats:
        """The length of each edge."""
        return Graph(self.nodes, self.edges).lengths


@dataclass(frozen=True, eq=False)
class Samples:
    """The nodes of a graph and points on its edges, joined by short edges.

    Edges of opposite directions between the same nodes share their points.
    """

    points: Points
    own: Indices  # the edge that a point lies inside, -1 for a node
    edges: Edges
    lengths: Floats
    ways: Ways

    @classmethod
    def of(cls, roads: Roads, spacing: float) -> "Samples":
        """Place points on all edges, at least ``spacing`` apart and less than twice that."""
        pieces = pieces_of(roads.lengths, spacing)
        edge = np.repeat(np.arange(len(pieces)), pieces - 1)
        part = ranges(np.ones_like(pieces), pieces - 1) / pieces[edge]
        return cls.at(roads, edge, part)

    @classmethod
    def at(cls, roads: Roads, edge: Indices, part: Floats) -> "Samples":
        """Place points on edges, given the edge of each and its share of the edge, in the order along each edge."""
        start, end = roads.nodes[roads.edges[edge, 0]], roads.nodes[roads.edges[edge, 1]]
        points = start * (1 - part[:, None]) + end * part[:, None]
        count, inside = len(roads.nodes), np.bincount(edge, minlength=len(roads.edges))
        number = count + np.arange(len(edge))
        first = np.insert(number, inside.cumsum() - inside, roads.edges[:, 0])  # the start of each short edge
        last = np.insert(number, inside.cumsum(), roads.edges[:, 1])
        of = np.repeat(np.arange(len(roads.edges)), inside + 1)
        before = np.insert(part, inside.cumsum() - inside, 0.0)
        after = np.insert(part, inside.cumsum(), 1.0)
        return cls(
            np.concatenate([roads.nodes, points]),
            np.concatenate([np.full(count, -1), edge]),
            np.stack([first, last], axis=1),
            (after - before) * roads.lengths[of],
            roads.ways[of],
        )

    def csr(self, *, directed: bool) -> Csr:
        """Return the graph in the form of kernels, with edges in their directions or in both."""
        ways = self.ways if directed else np.ones_like(self.ways)
        return csr(len(self.points), self.edges, self.lengths, ways)

    @cached_property
    def splits(self) -> Flags:
        """Which points have more than one way on, not counting the way back."""
        forward, back = self.edges[self.ways[:, 0]], self.edges[self.ways[:, 1]][:, ::-1]
        return ways_on(len(self.points), np.concatenate([forward, back]))


def pieces_of(lengths: Floats, spacing: float) -> Indices:
    """Return the number of pieces of edges. A length that is a multiple of the spacing may be rounded to less."""
    pieces: Indices = np.maximum(1, np.floor(lengths / spacing + 1e-9)).astype(np.int64)
    return pieces


def csr(count: int, edges: Edges, lengths: Floats, ways: Ways) -> Csr:
    """Return a graph of ``count`` nodes in the form of kernels."""
    source = np.concatenate([edges[ways[:, 0], 0], edges[ways[:, 1], 1]])
    target = np.concatenate([edges[ways[:, 0], 1], edges[ways[:, 1], 0]])
    length = np.concatenate([lengths[ways[:, 0]], lengths[ways[:, 1]]])
    order = np.lexsort((target, source))
    first = np.searchsorted(source[order], np.arange(count + 1))
    return first, np.ascontiguousarray(target[order]), np.ascontiguousarray(length[order])


def ways_on(count: int, edges: Edges) -> Flags:
    """Return which nodes split: traffic that arrives there can go on in two ways, besides back.

    A node inside a road that is open in both directions has two edges from it and is no split.
    """
    out = np.bincount(edges[:, 0], minlength=count)
    arrivals = np.bincount(edges[:, 1], minlength=count)
    key = edges[:, 0] * count + edges[:, 1]
    back = np.isin(edges[:, 1] * count + edges[:, 0], key)  # edges whose opposite exists
    only_back = (np.bincount(edges[back, 1], minlength=count) == arrivals) & (arrivals > 0)
    splits: Flags = (out >= 3) | ((out == 2) & ~only_back)
    return splits


@dataclass(frozen=True, eq=False)
class Near:
    """All pairs of near points, in the order in which they are matched, and the pairs that were accepted."""

    first: Indices
    second: Indices
    distance: Floats
    accepted: Indices  # positions in the columns above

    @property
    def pairs(self) -> Pairs:
        """The matched pairs."""
        return np.stack([self.first[self.accepted], self.second[self.accepted]], axis=1)


def match(x: Points, y: Points, radius: float) -> Near:
    """Match points that are closer than a radius, one to one, the nearest first.

    Pairs that are equally near are taken in the order of their midpoints.
    """
    from mapgauge.features.lanes.graph_kernels import accept_pairs, close_points

    if not len(x) or not len(y):  # they may have different dimensions
        none = np.empty(0, np.int64)
        return Near(none, none, np.empty(0), none)
    i, j, squared = close_points(x, y, radius)
    middle = x[i] + y[j]
    order = np.lexsort((*middle.T[::-1], squared))
    first, second = i[order], j[order]
    accepted = accept_pairs(first, second, len(x), len(y))
    return Near(first, second, np.sqrt(squared[order]), accepted)
