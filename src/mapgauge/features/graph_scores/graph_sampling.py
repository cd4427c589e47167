"""What the graph scores compare: samples of graphs at equal steps, split points, landmarks and the ways between them.

The graphs of many frames are one graph with parts that are not connected. Graph 2 k is the predicted graph of frame k,
and graph 2 k + 1 the true one. All nodes and points are sorted by graph.

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
from mapgauge.features.graph_scores.graph import Edges, Graph, tidy_edges, unique_rows
from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Flags, Floats, Indices, Pairs, Points

Csr: TypeAlias = tuple[Indices, Indices, Floats]  # first edge of each node, targets, lengths
Directions: TypeAlias = NDArray[np.bool_]  # (edges, 2): whether an edge leads forward, and backward


@dataclass(frozen=True, slots=True, kw_only=True)
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
        object.__setattr__(self, "hops", check_whole("hops", self.hops, least=1))


class GraphScore(NamedTuple):
    """Precision, recall and their harmonic mean."""

    precision: float
    recall: float
    f1: float


def score(precision: float, recall: float) -> GraphScore:
    """Return precision, recall and F1, which is 0 if both are 0."""
    precision = float(precision)
    recall = float(recall)
    both = precision + recall
    return GraphScore(precision, recall, 2 * (precision * recall) / both if both > 0 else 0.0)


def similarity(cost: float, paths: float) -> float:
    """Return 1 minus the mean cost of some paths; 0 without paths."""
    if not paths:
        return 0.0
    return 1 - cost / paths


def share(matches: float, predicted: int, true: int) -> GraphScore:
    """Return the score of a number of matches. A side without anything to match has the share 0."""
    return score(matches / predicted if predicted else 0.0, matches / true if true else 0.0)


def mean_score(scores: list[GraphScore]) -> GraphScore:
    """Return the means of precision, recall and F1."""
    return GraphScore(*np.array(scores).mean(axis=0).tolist())


def starts_of(graph: Indices, count: int) -> Indices:
    """Return the first row of each of ``count`` graphs, and the number of rows. ``graph`` has the graph of each row."""
    return np.searchsorted(graph, np.arange(count + 1))


def bounds_of(graph: Indices, frames: int) -> Indices:
    """Return where the predicted rows and the true rows of each frame begin, and where they end."""
    start = starts_of(graph, 2 * frames)
    return np.stack([start[:-1:2], start[1::2], start[2::2]], axis=1)


@dataclass(frozen=True, eq=False)
class Graphs:
    """The graphs of some frames."""

    nodes: Points
    edges: Edges
    graph: Indices  # of each node
    frames: int

    @classmethod
    def of(cls, predicted: Graph, true: Graph) -> "Graphs":
        """Return the graphs of one frame. An empty graph may have any dimension."""
        sizes = len(predicted.nodes), len(true.nodes)
        filled = [side.nodes for side in (predicted, true) if len(side.nodes)] or [true.nodes]
        edges = np.concatenate([predicted.edges, true.edges + sizes[0]])
        return cls(np.concatenate(filled), edges, np.repeat([0, 1], sizes), frames=1)

    def tidy(self) -> "Graphs":
        """Return the graphs in the form of ``Graph.tidy``."""
        first, at = unique_rows(np.column_stack([self.graph, self.nodes]))
        return Graphs(self.nodes[first] + 0.0, tidy_edges(at[self.edges]), self.graph[first], frames=self.frames)


@dataclass(frozen=True, eq=False)
class Roads:
    """Tidy graphs without isolated nodes, with one edge for both directions between two nodes."""

    nodes: Points
    edges: Edges  # from the lower to the higher node
    ways: Directions
    graph: Indices  # of each node
    frames: int

    @classmethod
    def of(cls, graphs: Graphs) -> "Roads":
        """Join the edges of opposite directions of tidy graphs."""
        ends = np.sort(graphs.edges, axis=1)
        first, at = unique_rows(ends)
        pairs = ends[first]
        ways = np.zeros((len(pairs), 2), np.bool_)
        ways[at, (graphs.edges[:, 0] > graphs.edges[:, 1]).astype(np.int64)] = True
        used, joined = np.unique(pairs, return_inverse=True)
        return cls(graphs.nodes[used], joined.reshape(-1, 2), ways, graph=graphs.graph[used], frames=graphs.frames)

    @cached_property
    def lengths(self) -> Floats:
        """The length of each edge."""
        return Graph(self.nodes, self.edges).lengths

    @cached_property
    def splits(self) -> Flags:
        """Which nodes split: traffic that arrives there can go on in two ways, besides back."""
        return self._ways_on(self.ways)

    @cached_property
    def splits_and_merges(self) -> Flags:
        """Which nodes split or merge."""
        flags: Flags = self.splits | self._ways_on(self.ways[:, ::-1])
        return flags

    def _ways_on(self, ways: Directions) -> Flags:
        def ends(forward: Flags, backward: Flags) -> Indices:
            at = np.concatenate([self.edges[forward, 0], self.edges[backward, 1]])
            return np.bincount(at, minlength=len(self.nodes))

        forward, backward = ways.T
        out = ends(forward, backward)
        arrivals = ends(backward, forward)
        both = forward & backward
        only_back = (ends(both, both) == arrivals) & (arrivals > 0)
        splits: Flags = (out >= 3) | ((out == 2) & ~only_back)
        return splits


@dataclass(frozen=True, eq=False, kw_only=True)
class Samples:
    """The nodes of graphs and points on their edges, joined by short edges. Opposite edges share their points."""

    points: Points
    own: Indices  # the edge that a point lies inside, -1 for a node
    edges: Edges
    lengths: Floats
    ways: Directions
    graph: Indices  # of each point
    place: Indices  # of the nodes, then of the points on edges, among all points

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
        start = roads.nodes[roads.edges[edge, 0]]
        end = roads.nodes[roads.edges[edge, 1]]
        points = start * (1 - part[:, None]) + end * part[:, None]
        count = len(roads.nodes)
        inside = np.bincount(edge, minlength=len(roads.edges))
        number = count + np.arange(len(edge))
        first = np.insert(number, inside.cumsum() - inside, roads.edges[:, 0])  # the start of each short edge
        last = np.insert(number, inside.cumsum(), roads.edges[:, 1])
        of = np.repeat(np.arange(len(roads.edges)), inside + 1)
        before = np.insert(part, inside.cumsum() - inside, 0.0)
        after = np.insert(part, inside.cumsum(), 1.0)
        graph = np.concatenate([roads.graph, roads.graph[roads.edges[edge, 0]]])
        order = np.argsort(graph, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return cls(
            points=np.concatenate([roads.nodes, points])[order],
            own=np.concatenate([np.full(count, -1), edge])[order],
            edges=place[np.stack([first, last], axis=1)],
            lengths=(after - before) * roads.lengths[of],
            ways=roads.ways[of],
            graph=graph[order],
            place=place,
        )

    def csr(self, *, directed: bool) -> Csr:
        """Return the graph in the form of kernels, with edges in their directions or in both."""
        from mapgauge.features.graph_scores.graph_kernels import csr

        if directed:
            ways = self.ways
        else:
            ways = np.ones_like(self.ways)
        edges: Csr = csr(len(self.points), self.edges, self.lengths, ways=ways)
        return edges


def pieces_of(lengths: Floats, spacing: float) -> Indices:
    """Return the number of pieces of edges. A length that is a multiple of the spacing may be rounded to less."""
    pieces: Indices = np.maximum(1, np.floor(lengths / spacing + 1e-9)).astype(np.int64)
    return pieces


@dataclass(frozen=True, eq=False)
class NearPoints:
    """All pairs of near points, in the order in which they are matched, and the pairs that were accepted."""

    first: Indices
    second: Indices
    squared: Floats  # distances
    frame: Indices
    accepted: Indices  # positions in the columns above

    @property
    def pairs(self) -> Pairs:
        """The matched pairs."""
        return np.stack([self.first[self.accepted], self.second[self.accepted]], axis=1)


def match(points: Points, bounds: Indices, radius: float, *, in_order: bool = False) -> NearPoints:
    """Match points of each frame that are closer than a radius, one to one, the nearest first.

    Ties are decided by the midpoints, or ``in_order`` of the points. ``bounds`` are those of ``bounds_of``.
    """
    from mapgauge.features.graph_scores.graph_kernels import accept_pairs, close_points

    i, j, squared, offsets = close_points(points, bounds, radius)
    order = np.concatenate([[0], *(start + np.argsort(squared[start:end]) for start, end in pairwise(offsets))])[1:]
    squared = squared[order]
    frame = np.repeat(np.arange(len(bounds)), np.diff(offsets))
    same = (squared[1:] == squared[:-1]) & (frame[1:] == frame[:-1])
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same)[: len(order)])
    if len(tied):
        among = order[tied]
        if in_order:
            keys = (j[among], i[among])
        else:
            keys = (points[i[among]] + points[j[among]]).T[::-1]
        order[tied] = among[np.lexsort((among, *keys, squared[tied], frame[tied]))]
    first = i[order]
    second = j[order]
    return NearPoints(first, second, squared, frame=frame, accepted=accept_pairs(first, second, len(points)))


def split_scores(roads: Roads, settings: GraphSettings) -> list[GraphScore | None]:
    """Return the scores of split points; None if neither graph has any."""
    chosen = roads.splits_and_merges
    bounds = bounds_of(roads.graph[chosen], roads.frames)
    near = match(roads.nodes[chosen], bounds, settings.split_radius)
    return shares(np.bincount(near.frame[near.accepted], minlength=roads.frames), bounds)


def shares(matches: Indices, bounds: Indices) -> list[GraphScore | None]:
    """Return the scores of numbers of matches; None if neither side has anything to match."""
    counts = np.diff(bounds, axis=1).tolist()
    return [share(hits, *sides) if any(sides) else None for hits, sides in zip(matches.tolist(), counts, strict=True)]


class Ways:
    """The landmarks of tidy graphs and the shortest ways between them."""

    def __init__(self, graphs: Graphs, hops: int) -> None:
        """Find the lanes, the paths between junctions, and the shortest ways."""
        from mapgauge.features.graph_scores.graph_kernels import paths_between_junctions, ways_between

        nodes, offsets = paths_between_junctions(len(graphs.nodes), graphs.edges, True)
        # The nodes where lanes begin and end, and nodes without edges.
        landmarks = np.unique(nodes[np.concatenate([offsets[:-1], offsets[1:] - 1])])
        sizes = np.diff(offsets)
        lanes = sizes > 1
        self.frames: int = graphs.frames
        self.positions: Points = graphs.nodes[landmarks]
        self.graph: Indices = graphs.graph[landmarks]
        self._line = graphs.nodes[nodes[np.repeat(lanes, sizes)]]
        self._sizes = sizes[lanes]
        first, last = (np.searchsorted(landmarks, nodes[at[lanes]]) for at in (offsets[:-1], offsets[1:] - 1))
        starts = np.concatenate([[0], self._sizes.cumsum()])
        self._steps = np.delete(np.arange(len(self._line)), starts[1:] - 1)  # points with another point after them
        gaps = self._line[self._steps + 1] - self._line[self._steps]
        self._gaps: Floats = np.sqrt(np.square(gaps).sum(axis=1))
        if len(first):
            lengths = np.add.reduceat(self._gaps, starts[:-1] - np.arange(len(starts) - 1))
        else:
            lengths = np.empty(0)
        self.ends: Indices
        self.lanes: Indices
        self.ends, self.lanes = ways_between(len(landmarks), first, last, length=lengths, hops=hops)

    def samples(self, spacing: float) -> tuple[Points, Indices]:
        """Return points along all lanes, and the first point of each lane."""
        pieces = pieces_of(self._gaps, spacing)
        step = np.repeat(np.arange(len(pieces)), pieces)
        share_of = (ranges(np.ones_like(pieces), pieces) / pieces[step])[:, None]
        at = self._steps[step]
        points = self._line[at] * (1 - share_of) + self._line[at + 1] * share_of
        first = self._sizes.cumsum() - self._sizes  # of each lane in the line
        before = np.concatenate([[0], pieces.cumsum()])[first - np.arange(len(first))]
        offsets = np.append(before + np.arange(len(first)), len(points) + len(first))
        return np.insert(points, before, self._line[first], axis=0), offsets


def landmark_scores(ways: Ways, settings: GraphSettings) -> list[GraphScore | None]:
    """Return the scores of landmarks, as means over radii; None if neither graph has any."""
    bounds = bounds_of(ways.graph, ways.frames)
    near = match(ways.positions, bounds, max(settings.landmark_radii))
    # Pairs are accepted by rising distance, so those of a smaller radius come first.
    distance = np.sqrt(near.squared[near.accepted])
    return _over_radii(distance, near.frame[near.accepted], bounds, radii=settings.landmark_radii)


def reach_scores(ways: Ways, settings: GraphSettings) -> list[GraphScore | None]:
    """Return the scores of ways between landmarks, as means over radii; None if neither graph has any."""
    near = match(ways.positions, bounds_of(ways.graph, ways.frames), max(settings.path_radii))
    graph = ways.graph[ways.ends[:, 0]]
    count = len(ways.positions)
    partner = np.full(count, -1)
    gap = np.empty(count)
    partner[near.second[near.accepted]] = near.first[near.accepted]
    gap[near.second[near.accepted]] = np.sqrt(near.squared[near.accepted])
    # True ways whose landmarks are matched and connected, and the predicted ways between the matched landmarks.
    key = ways.ends @ [count, 1]
    by_key = np.argsort(key)
    true = np.flatnonzero((partner[ways.ends] >= 0).all(axis=1))
    at = np.searchsorted(key[by_key], partner[ways.ends[true]] @ [count, 1])
    if len(true):
        predicted = by_key[np.minimum(at, len(key) - 1)]
    else:
        predicted = true
    same = (ways.ends[predicted] == partner[ways.ends[true]]).all(axis=1)
    true = true[same]
    predicted = predicted[same]
    apart = _apart(ways, settings.control_spacing, predicted, y=true)
    needed = np.maximum(gap[ways.ends[true]].max(axis=1, initial=0.0), apart)  # the radius
    return _over_radii(needed, graph[true] // 2, bounds_of(graph, ways.frames), radii=settings.path_radii)


def _over_radii(distance: Floats, frame: Indices, bounds: Indices, radii: tuple[float, ...]) -> list[GraphScore | None]:
    """Return the means over radii of the scores of the matches that are closer."""
    scores = [shares(np.bincount(frame[distance < radius], minlength=len(bounds)), bounds) for radius in radii]
    frames: list[list[GraphScore]] = [[one for one in column if one] for column in zip(*scores, strict=True)]
    return [mean_score(column) if column else None for column in frames]


def _apart(ways: Ways, spacing: float, x: Indices, y: Indices) -> Floats:
    """Return the Chamfer distances of ways, multiplied by a penalty of 1 to 4.1 for different directions."""
    from mapgauge.features.graph_scores.graph_kernels import mean_gaps

    points, offsets = ways.samples(spacing)
    gaps: Floats = mean_gaps(points, offsets, x=ways.lanes[x], y=ways.lanes[y])
    steps = ways.positions[ways.ends[:, 1]] - ways.positions[ways.ends[:, 0]]
    for k, (first, two) in enumerate(zip(steps[x], steps[y], strict=True)):
        size = math.hypot(*first) * math.hypot(*two)
        cosine = 1.0
        if size > 0:
            cosine = min(1.0, max(-1.0, float(first @ two) / size))
        gaps[k] *= math.tan(-cosine) + math.tan(1) + 1
    return gaps
