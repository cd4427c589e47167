"""What the graph scores compare: samples of a graph at equal steps, split points, landmarks and the ways between them.

Landmarks are the nodes where lanes begin and end, matched one to one. A true way between landmarks is found if the
matched ones are connected too, and the Chamfer distance of the ways, times a penalty for directions, is small.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.arguments import check_length, check_whole
from mapgauge.errors import InvalidInput
from mapgauge.features.lanes.graph import Edges, Graph, paths_of, unique_rows
from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Flags, Floats, Indices, Pairs, Points

Csr: TypeAlias = tuple[Indices, Indices, Floats]  # first edge of each node, targets, lengths
Directions: TypeAlias = NDArray[np.bool_]  # (edges, 2): whether an edge leads forward, and backward


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
    ways: Directions

    @classmethod
    def of(cls, graph: Graph) -> "Roads":
        """Join the edges of opposite directions of a tidy graph."""
        ends = np.sort(graph.edges, axis=1)
        first, at = unique_rows(ends)
        pairs = ends[first]
        ways = np.zeros((len(pairs), 2), np.bool_)
        ways[at, (graph.edges[:, 0] > graph.edges[:, 1]).astype(np.int64)] = True
        used, joined = np.unique(pairs, return_inverse=True)
        return cls(graph.nodes[used], joined.reshape(-1, 2), ways)

    @cached_property
    def lengths(self) -> Floats:
        """The length of each edge."""
        return Graph(self.nodes, self.edges).lengths


@dataclass(frozen=True, eq=False)
class Samples:
    """The nodes of a graph and points on its edges, joined by short edges. Opposite edges share their points."""

    points: Points
    own: Indices  # the edge that a point lies inside, -1 for a node
    edges: Edges
    lengths: Floats
    ways: Directions

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


def csr(count: int, edges: Edges, lengths: Floats, ways: Directions) -> Csr:
    """Return a graph of ``count`` nodes in the form of kernels."""
    source = np.concatenate([edges[ways[:, 0], 0], edges[ways[:, 1], 1]])
    target = np.concatenate([edges[ways[:, 0], 1], edges[ways[:, 1], 0]])
    length = np.concatenate([lengths[ways[:, 0]], lengths[ways[:, 1]]])
    order = np.lexsort((target, source))
    first = np.searchsorted(source[order], np.arange(count + 1))
    return first, np.ascontiguousarray(target[order]), np.ascontiguousarray(length[order])


def ways_on(count: int, edges: Edges) -> Flags:
    """Return which nodes split: traffic that arrives there can go on in two ways, besides back."""
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
    """Match points that are closer than a radius, one to one, the nearest first; ties by their midpoints."""
    from mapgauge.features.lanes.graph_kernels import accept_pairs, close_points

    if not len(x) or not len(y):  # they may have different dimensions
        none = np.empty(0, np.int64)
        return Near(none, none, np.empty(0), none)
    i, j, squared = close_points(x, y, radius)
    order = np.argsort(squared, kind="stable")
    same = np.diff(squared[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same)[: len(order)])
    if len(tied):
        among = order[tied]
        order[tied] = among[np.lexsort((*(x[i[among]] + y[j[among]]).T[::-1], squared[among]))]
    first, second = i[order], j[order]
    accepted = accept_pairs(first, second, len(x), len(y))
    return Near(first, second, np.sqrt(squared[order]), accepted)


def splits_and_merges(graph: Graph) -> Flags:
    """Return which nodes of a tidy graph are split points: splits or merges."""
    flags: Flags = ways_on(len(graph.nodes), graph.edges) | ways_on(len(graph.nodes), graph.edges[:, ::-1])
    return flags


def split_score(predicted: Graph, true: Graph, settings: GraphSettings) -> GraphScore | None:
    """Return the score of split points; None if neither graph has any."""
    x, y = (np.ascontiguousarray(side.nodes[splits_and_merges(side)]) for side in (predicted, true))
    if not len(x) and not len(y):
        return None
    return share(len(match(x, y, settings.split_radius).accepted), len(x), len(y))


@dataclass(frozen=True, eq=False)
class Ways:
    """The landmarks of a tidy graph and the shortest ways between them."""

    graph: Graph
    spacing: float
    hops: int

    @cached_property
    def lanes(self) -> list[list[int]]:
        """The paths between junctions."""
        return paths_of(self.graph, two_way=True)

    @cached_property
    def landmarks(self) -> Indices:
        """The nodes where lanes begin and end, and nodes without edges."""
        return np.unique(np.array([end for lane in self.lanes for end in (lane[0], lane[-1])], np.int64))

    @property
    def positions(self) -> Points:
        """The positions of the landmarks."""
        return np.ascontiguousarray(self.graph.nodes[self.landmarks])

    @cached_property
    def between(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """The lanes of the shortest way between two landmarks, by their numbers."""
        number = {node: k for k, node in enumerate(self.landmarks.tolist())}
        steps: dict[int, list[tuple[int, int, float]]] = {}
        for lane, path in enumerate(self.lanes):
            if len(path) > 1:
                gaps = np.diff(self.graph.nodes[path], axis=0)
                length = float(np.sqrt(np.square(gaps).sum(axis=1)).sum())
                steps.setdefault(number[path[0]], []).append((number[path[-1]], lane, length))
        ways: dict[tuple[int, int], tuple[int, ...]] = {}
        for start in steps:
            best: dict[int, tuple[float, tuple[int, ...]]] = {start: (0.0, ())}
            reached = best
            for _ in range(self.hops):
                following: dict[int, tuple[float, tuple[int, ...]]] = {}
                for node, (so_far, way) in reached.items():
                    for end, lane, length in steps.get(node, ()):
                        option = (so_far + length, (*way, lane))
                        if option < min(best.get(end, (math.inf, ())), following.get(end, (math.inf, ()))):
                            following[end] = option
                best = best | following
                reached = following
            ways |= {(start, end): way for end, (_, way) in best.items() if end != start}
        return ways

    def points(self, pair: tuple[int, int]) -> Points:
        """Return points along the way between two landmarks."""
        parts = [self._sampled[lane] for lane in self.between[pair]]
        return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])

    @cached_property
    def _sampled(self) -> list[Points]:
        return [_sampled(self.graph.nodes[lane], self.spacing) for lane in self.lanes]


def _sampled(line: Points, spacing: float) -> Points:
    pieces = pieces_of(np.array([math.dist(*step) for step in pairwise(line.tolist())]), spacing)
    step = np.repeat(np.arange(len(pieces)), pieces)
    share_of = (ranges(np.ones_like(pieces), pieces) / pieces[step])[:, None]
    return np.concatenate([line[:1], line[:-1][step] * (1 - share_of) + line[1:][step] * share_of])


def landmark_score(predicted: Ways, true: Ways, settings: GraphSettings) -> GraphScore | None:
    """Return the score of landmarks, as a mean over radii; None if neither graph has any."""
    counts = len(predicted.landmarks), len(true.landmarks)
    if not any(counts):
        return None
    near = match(predicted.positions, true.positions, max(settings.landmark_radii))
    distance = near.distance[near.accepted]
    # Pairs are accepted by rising distance, so those of a smaller radius come first.
    return mean_score([share(int((distance < radius).sum()), *counts) for radius in settings.landmark_radii])


def reach_score(predicted: Ways, true: Ways, settings: GraphSettings) -> GraphScore | None:
    """Return the score of ways between landmarks, as a mean over radii; None if neither graph has any."""
    counts = len(predicted.between), len(true.between)
    if not any(counts):
        return None
    near = match(predicted.positions, true.positions, max(settings.path_radii))
    at = dict(zip(near.second[near.accepted].tolist(), near.accepted.tolist(), strict=True))
    worst = []  # of each true way whose landmarks are matched and connected, the radius that it needs
    for start, end in true.between:
        if start in at and end in at:
            pair = int(near.first[at[start]]), int(near.first[at[end]])
            if pair in predicted.between:
                ends = max(near.distance[at[start]], near.distance[at[end]])
                worst.append(max(ends, _apart(predicted.points(pair), true.points((start, end)))))
    return mean_score([share(int((np.array(worst) < radius).sum()), *counts) for radius in settings.path_radii])


def _apart(x: Points, y: Points) -> float:
    """Return the Chamfer distance of two ways, multiplied by a penalty of 1 to 4.1 for different directions."""
    from mapgauge.features.lanes.graph_kernels import mean_gap

    first, two = x[-1] - x[0], y[-1] - y[0]
    size = math.hypot(*first) * math.hypot(*two)
    cosine = min(1.0, max(-1.0, float(first @ two) / size)) if size > 0 else 1.0
    penalty = math.tan(-cosine) + math.tan(1) + 1
    return float(mean_gap(x, y)) * penalty
