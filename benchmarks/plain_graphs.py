"""The graph scores from their definitions, with networkx and loops. They are compared with and raced against."""

import itertools
import math
from collections.abc import Hashable
from typing import Any, TypeAlias

import networkx as nx

Place: TypeAlias = tuple[float, ...]
Matched: TypeAlias = list[tuple[Any, Any]]
SPACING, RADIUS, WALK, CONTROL, SNAP, SHORTEST, SPLIT, SAME = 0.25, 0.5, 8.0, 1.0, 0.5, 5.0, 1.0, 1e-9


def graph_of(positions: list[list[float]], edges: list[list[int]]) -> "nx.DiGraph[Place]":
    """A graph whose nodes are their positions."""
    graph: nx.DiGraph[Place] = nx.DiGraph()
    graph.add_nodes_from(tuple(map(float, place)) for place in positions)
    for start, end in edges:
        one, two = tuple(map(float, positions[start])), tuple(map(float, positions[end]))
        if one != two:
            graph.add_edge(one, two)
    return graph


def sampled(graph: "nx.DiGraph[Place]", spacing: float) -> tuple["nx.DiGraph[Hashable]", dict[Hashable, Place]]:
    """The graph with points on its edges. Opposite edges share their points."""
    fine: nx.DiGraph[Hashable] = nx.DiGraph()
    places: dict[Hashable, Place] = {}
    for one, two in {tuple(sorted(edge)) for edge in graph.edges}:
        pieces = max(1, math.floor(math.dist(one, two) / spacing + SAME))
        chain: list[Hashable] = [one, *((one, two, k) for k in range(1, pieces)), two]
        for k, node in enumerate(chain):
            share = k / pieces
            places[node] = tuple(a * (1 - share) + b * share for a, b in zip(one, two, strict=True))
        places[one], places[two] = one, two
        for way in (chain, chain[::-1]):
            if graph.has_edge(way[0], way[-1]):
                for a, b in itertools.pairwise(way):
                    fine.add_edge(a, b, length=math.dist(one, two) / pieces)
    return fine, places


def match(x: dict[Any, Place], y: dict[Any, Place], radius: float) -> Matched:
    """Match places one to one, the nearest first, ties by the midpoint."""
    near = []
    for (i, a), (j, b) in itertools.product(x.items(), y.items()):
        squared = sum((p - q) * (p - q) for p, q in zip(a, b, strict=True))
        if squared < radius * radius:
            near.append((squared, tuple(p + q for p, q in zip(a, b, strict=True)), i, j))
    pairs, used, taken = [], set(), set()
    for _, _, i, j in sorted(near, key=lambda pair: pair[:2]):
        if i not in used and j not in taken:
            used.add(i)
            taken.add(j)
            pairs.append((i, j))
    return pairs


def f1(precision: float, recall: float) -> float:
    """The harmonic mean of two shares."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def splits(graph: Any, node: Any) -> bool:
    """Whether a node has two ways on, besides back."""
    after, before = set(graph.successors(node)), set(graph.predecessors(node))
    return len(after) > 2 or (len(after) == 2 and (not before or not before <= after))


def topo_scores(predicted: "nx.DiGraph[Place]", true: "nx.DiGraph[Place]") -> dict[str, float]:
    """GEO, TOPO and JTOPO."""
    (x, at_x), (y, at_y) = sampled(predicted, SPACING), sampled(true, SPACING)
    pairs = match(at_x, at_y, RADIUS)
    geo = len(pairs) / len(at_x), len(pairs) / len(at_y)
    ahead = [(near[0], j) for j in at_y if splits(y, j) and (near := _nearest(at_x, at_y[j]))]
    shares: dict[tuple[Any, Any], tuple[float, float]] = {}
    for i, j in {*pairs, *ahead}:
        near_i, near_j = (
            nx.single_source_dijkstra_path_length(graph, start, cutoff=WALK + SAME, weight="length")
            for graph, start in ((x, i), (y, j))
        )
        found = len(match({n: at_x[n] for n in near_i}, {n: at_y[n] for n in near_j}, RADIUS))
        shares[i, j] = found / len(near_i), found / len(near_j)
    scores = {"geo": f1(*geo)}
    for name, chosen in (("topo", pairs), ("jtopo", ahead)):
        if chosen:
            means = [sum(shares[pair][k] for pair in chosen) / len(chosen) for k in (0, 1)]
            scores[name] = f1(geo[0] * means[0], geo[1] * means[1])
    return scores


def _nearest(places: dict[Any, Place], place: Place) -> list[Any]:
    """The place that is nearest to another within the radius, if there is one."""
    near = [(math.dist(other, place), other, node) for node, other in places.items()]
    distance, _, node = min(near, key=lambda one: one[:2], default=(math.inf, (), None))
    return [node] if distance < RADIUS else []


def split_score(predicted: "nx.DiGraph[Place]", true: "nx.DiGraph[Place]") -> float:
    """F1 of split points."""
    x, y = (
        {node: node for node in graph if splits(graph, node) or splits(graph.reverse(copy=False), node)}
        for graph in (predicted, true)
    )
    found = len(match(x, y, SPLIT))
    return f1(found / len(x) if x else 0.0, found / len(y) if y else 0.0)


def foot(place: Place, one: Place, two: Place) -> tuple[float, float]:
    """The share of a segment before the point that is nearest to a place, and its distance."""
    step = [b - a for a, b in zip(one, two, strict=True)]
    share = sum((p - a) * s for p, a, s in zip(place, one, step, strict=True)) / sum(s * s for s in step)
    share = min(1.0, max(0.0, share))
    return share, math.dist(place, [a + share * s for a, s in zip(one, step, strict=True)])


def similarity(own: "nx.DiGraph[Place]", other: "nx.DiGraph[Place]", *, directed: bool) -> float:
    """One direction of APLS."""
    control, places = sampled(own, CONTROL)
    host: nx.DiGraph[Hashable] = nx.DiGraph()
    on: dict[tuple[Place, Place], list[tuple[float, Hashable]]] = {}
    roads = sorted({tuple(sorted(edge)) for edge in other.edges})
    for node, place in places.items():
        feet = [(*foot(place, *road), road) for road in roads]
        nearest = min((distance for _, distance, _ in feet), default=math.inf)
        if nearest > SNAP:
            continue
        is_node = node in own
        ties = [
            (round(_apart(node, place, road, is_node), 8), road, share)
            for share, distance, road in feet
            if distance <= nearest + SAME
        ]
        _, road, share = min(ties)
        on.setdefault(road, []).append((share, node))
    at: dict[Hashable, Hashable] = {}
    for road in roads:
        length = math.dist(*road)
        inside = []
        for share, node in sorted(on.get(road, []), key=lambda one: one[0]):
            end = road[0] if share * length <= SAME else road[1] if share * length >= length - SAME else None
            at[node] = ("placed", node) if end is None else end
            inside += [(share, ("placed", node))] if end is None else []
        chain = [(0.0, road[0]), *inside, (1.0, road[1])]
        for (s, a), (t, b) in itertools.pairwise(chain):
            if other.has_edge(*road):
                host.add_edge(a, b, length=(t - s) * length)
            if other.has_edge(*road[::-1]):
                host.add_edge(b, a, length=(t - s) * length)
    sides: list[Any] = [control, host] if directed else [control.to_undirected(), host.to_undirected()]
    costs = []
    for start in places:
        lengths = nx.single_source_dijkstra_path_length(sides[0], start, weight="length")
        there = at.get(start)
        others = {} if there is None else nx.single_source_dijkstra_path_length(sides[1], there, weight="length")
        for end, length in lengths.items():
            if end != start and length >= SHORTEST - SAME:
                found = others.get(at[end]) if end in at else None
                costs.append(1.0 if found is None else min(1.0, abs(length - found) / length))
    return 1 - sum(costs) / len(costs) if costs else 0.0


def _apart(node: Any, place: Place, road: tuple[Place, Place], is_node: bool) -> float:
    if is_node:
        return min(math.dist(place, road[0]), math.dist(place, road[1]))
    one, two, _ = node
    straight = math.dist(one, road[0]) + math.dist(two, road[1])
    return min(straight, math.dist(one, road[1]) + math.dist(two, road[0]))


def apls(predicted: "nx.DiGraph[Place]", true: "nx.DiGraph[Place]", *, directed: bool) -> float:
    """APLS."""
    return f1(similarity(predicted, true, directed=directed), similarity(true, predicted, directed=directed))
