"""Split points, landmarks and reachability: are the places where lanes meet found, and the ways between them?

Landmarks are the nodes where lanes begin and end. They are matched one to one. A true way from one landmark to another
is found if both landmarks are matched, the matched ones are connected too, and the two ways are near each other: their
Chamfer distance, multiplied by a penalty for different directions, is below the radius. Precision is the share of
predicted ways, recall the share of true ways.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mapgauge.features.lanes.graph import Graph, paths_of
from mapgauge.features.lanes.graph_sampling import (
    GraphScore,
    GraphSettings,
    match,
    mean_score,
    pieces_of,
    share,
    ways_on,
)
from mapgauge.typing import Flags, Indices, Points


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
        number = {int(node): k for k, node in enumerate(self.landmarks)}
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
    parts = [line[:1]]
    for start, end in pairwise(line):
        pieces = int(pieces_of(np.array(math.dist(start, end)), spacing))
        share_of = np.arange(1, pieces + 1)[:, None] / pieces
        parts.append(start * (1 - share_of) + end * share_of)
    return np.concatenate(parts)


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
