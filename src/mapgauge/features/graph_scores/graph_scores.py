"""``graph_scores`` and the metrics GEO, TOPO, JTOPO, APLS, split points and reachability of lanes.

Two graphs are compared by the corrected rules or by those of CGNet's evaluator. The value of many frames is the mean
over those that have a score. Frames without anything to score are left out and counted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, Literal, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.features.graph_scores import graph_sampling as sampling
from mapgauge.features.graph_scores.cgnet import CgnetPairs
from mapgauge.features.graph_scores.graph import Graph, GraphLike, joined_lanes, unique_rows
from mapgauge.features.graph_scores.graph_sampling import (
    Graphs,
    GraphScore,
    GraphSettings,
    NearPoints,
    Roads,
    Samples,
    score,
)
from mapgauge.frames.lane_classes import LANE
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, SumRows, Value
from mapgauge.metrics.settings import Settings, setting
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices, Pairs

_ROUNDING = 1e-9  # metres: a point at the end of a walk belongs to it


class GraphPairs:
    """The graphs of some frames, compared by the corrected rules. A score is None if there is nothing to score."""

    def __init__(self, graphs: Graphs, settings: GraphSettings) -> None:
        """Keep the graphs in a form that does not depend on the order of nodes and edges."""
        self._graphs = graphs.tidy()
        self._settings = settings

    @cached_property
    def _roads(self) -> Roads:
        return Roads.of(self._graphs)

    @cached_property
    def _samples(self) -> Samples:
        return Samples.of(self._roads, self._settings.spacing)

    @cached_property
    def _bounds(self) -> Indices:
        return sampling.bounds_of(self._samples.graph, self._graphs.frames)

    @cached_property
    def _near(self) -> NearPoints:
        return sampling.match(self._samples.points, self._bounds, self._settings.radius)

    @cached_property
    def _controls(self) -> tuple[Samples, Indices, Samples]:
        """The control points, their places in the other graphs of their frames, and these with a point at each."""
        samples = Samples.of(self._roads, self._settings.control_spacing)
        return samples, *_snapped(samples, self._roads, self._settings.snap)

    @cached_property
    def _ways(self) -> sampling.Ways:
        return sampling.Ways(self._graphs, self._settings.hops)

    def geo(self) -> list[GraphScore | None]:
        """Return the share of points on edges that are matched."""
        matches = np.bincount(self._near.frame[self._near.accepted], minlength=self._graphs.frames)
        return sampling.shares(matches, self._bounds)

    def topo(self) -> list[GraphScore | None]:
        """Return the share of points that are matched around all matched points."""
        return self._around(self._near.pairs)

    def jtopo(self) -> list[GraphScore | None]:
        """Return the same around true splits and the predicted points nearest to them; None without true splits."""
        roads = self._roads
        samples = self._samples
        nodes = np.flatnonzero(roads.splits & (roads.graph % 2 == 1))
        splits = np.zeros(len(samples.points), np.bool_)
        splits[samples.place[nodes]] = True
        first = self._near.first
        second = self._near.second
        _, nearest = np.unique(np.where(splits[second], second, -1), return_index=True)
        nearest = nearest[splits[second[nearest]]]
        scores = self._around(np.stack([first[nearest], second[nearest]], axis=1))
        has_splits = np.bincount(roads.graph[nodes] // 2, minlength=len(scores)) > 0
        return [one if some else None for one, some in zip(scores, has_splits.tolist(), strict=True)]

    def _around(self, pairs: Pairs) -> list[GraphScore | None]:
        """Return GEO times the mean shares of points that are matched around some pairs."""
        from mapgauge.features.graph_scores.graph_kernels import matches_within

        samples = self._samples
        near = self._near
        limit = self._settings.walk + _ROUNDING
        counts = matches_within(samples.csr(directed=True), pairs, limit, pair_a=near.first, pair_b=near.second)
        shares: Floats = counts[:, 2:] / counts[:, :2]
        frame = samples.graph[pairs[:, 0]] // 2
        sizes = np.bincount(frame, minlength=self._graphs.frames)
        precision, recall = (
            (np.bincount(frame, share, minlength=len(sizes)) / np.maximum(sizes, 1)).tolist() for share in shares.T
        )
        return [
            geo and score(geo.precision * own, geo.recall * other)
            for geo, own, other in zip(self.geo(), precision, recall, strict=True)
        ]

    def apls(self) -> list[float | None]:
        """Compare the lengths of paths, with edges in both directions."""
        return self._apls(directed=False)

    def apls_directed(self) -> list[float | None]:
        """Compare the lengths of paths along the edges."""
        return self._apls(directed=True)

    def _apls(self, *, directed: bool) -> list[float | None]:
        """Return the harmonic means of the similarities of paths; None without a path that is long enough."""
        from mapgauge.features.graph_scores.graph_kernels import SAME, path_costs

        samples, place, host = self._controls
        points_of = sampling.starts_of(samples.graph, 2 * self._graphs.frames)
        costs = path_costs(
            samples.csr(directed=directed),
            host.csr(directed=directed),
            points_of,
            other=place,
            shortest=self._settings.shortest - SAME,
            lost_costs_all=False,
        ).tolist()
        return [_harmonic_mean(forth, back) for forth, back in zip(costs[::2], costs[1::2], strict=True)]

    def sda(self) -> list[GraphScore | None]:
        """Compare the split points."""
        return sampling.split_scores(self._roads, self._settings)

    def landmark(self) -> list[GraphScore | None]:
        """Compare the nodes where lanes begin and end."""
        return sampling.landmark_scores(self._ways, self._settings)

    def reach(self) -> list[GraphScore | None]:
        """Compare the ways between landmarks."""
        return sampling.reach_scores(self._ways, self._settings)


def _harmonic_mean(forth: list[float], back: list[float]) -> float | None:
    """Return the harmonic mean of two similarities; None if neither direction has paths.

    Each direction is the sum of the costs of its paths, and their number.
    """
    if not forth[1] and not back[1]:
        return None
    there = sampling.similarity(*forth)
    again = sampling.similarity(*back)
    if there + again <= 0:
        return 0.0
    return 2 * (there * again) / (there + again)


def _snapped(samples: Samples, roads: Roads, radius: float) -> tuple[Indices, Samples]:
    """Return the place of each control point in the other graph of its frame, and graphs with points at the places."""
    from mapgauge.features.graph_scores.graph_kernels import SAME, snap

    points_of = sampling.starts_of(samples.graph, 2 * roads.frames)
    edges_of = sampling.starts_of(roads.graph[roads.edges[:, 0]], 2 * roads.frames)
    edge, part = snap(
        samples.points, samples.own, points_of, nodes=roads.nodes, edges=roads.edges, edges_of=edges_of, radius=radius
    )
    snapped = np.flatnonzero(edge >= 0)
    length = roads.lengths[edge[snapped]]
    along = part[snapped] * length
    same = SAME
    at_start = along <= same
    at_end = along >= length - same
    inside = snapped[~at_start & ~at_end]
    inside = inside[np.lexsort((part[inside], edge[inside]))]
    host = Samples.at(roads, edge[inside], part[inside])
    place = np.full(len(samples.points), -1)
    place[snapped[at_end]] = host.place[roads.edges[edge[snapped[at_end]], 1]]
    place[snapped[at_start]] = host.place[roads.edges[edge[snapped[at_start]], 0]]
    place[inside] = host.place[len(roads.nodes) :]
    return place, host


Parity: TypeAlias = Literal["cgnet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphScores:
    """The graph scores of one frame. A score is None if there is nothing to score, and is then left out of means."""

    geo: GraphScore | None  # points on edges
    topo: GraphScore | None  # points around matched points
    jtopo: GraphScore | None  # the same around true splits
    apls: float | None  # lengths of paths, edges in both directions
    apls_directed: float | None  # lengths of paths along the edges
    sda: GraphScore | None  # split points
    landmark: GraphScore | None  # nodes where lanes begin and end
    reach: GraphScore | None  # ways between landmarks

    def to_dict(self) -> dict[str, Any]:
        """Return all values with the keys of ``evaluate``: ``geo`` (F1), ``geo_precision``, ``geo_recall``, ..."""
        flat: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.startswith("apls"):
                flat[field.name] = value
            else:
                precision, recall, f1 = value or (None, None, None)
                flat |= {field.name: f1, f"{field.name}_precision": precision, f"{field.name}_recall": recall}
        return flat


def graph_scores(
    predictions: GraphLike,
    truth: GraphLike,
    *,
    parity: Parity | None = None,
    settings: GraphSettings | None = None,
) -> GraphScores:
    """Compute the graph scores of one predicted and one true graph of centrelines.

    Args:
        predictions: A networkx graph whose nodes have the attribute ``pos``, a dictionary with ``nodes`` and
            ``edges``, or a ``Graph``. Positions are in metres.
        truth: The true graph.
        parity: ``"cgnet"`` copies CGNet's evaluator with its faults. By default these are corrected.
        settings: The distances. With ``parity``, those of CGNet apply.

    >>> import mapgauge as mg
    >>> fork = {"nodes": [[0, 0], [10, 0], [20, 5], [20, -5]], "edges": [[0, 1], [1, 2], [1, 3]]}
    >>> straight = {"nodes": [[0, 0.2], [10, 0.2], [20, 5.2]], "edges": [[0, 1], [1, 2]]}
    >>> scores = mg.graph_scores(straight, fork)
    >>> round(scores.geo.precision, 3), round(scores.geo.recall, 3), scores.sda.recall
    (1.0, 0.659, 0.0)
    """
    predicted = Graph.of(predictions, "predictions")
    true = Graph.of(truth, "truth")
    if parity == "cgnet":
        if settings is not None:
            raise InvalidInput("settings cannot be changed with parity='cgnet'", remedy="Leave out one of the two")
    elif parity is not None:
        raise InvalidInput(f"parity must be 'cgnet' or None, got {parity!r}")
    if predicted.dimension != true.dimension and len(predicted.nodes) and len(true.nodes):
        raise InvalidInput(
            f"nodes have {predicted.dimension} coordinates in predictions and {true.dimension} in truth",
            remedy="Leave out the height: nodes[:, :2], or frames.planar()",
        )
    graphs = Graphs.of(predicted, true)
    pairs: CgnetPairs | GraphPairs
    if parity == "cgnet":
        pairs = CgnetPairs(graphs)
    else:
        pairs = GraphPairs(graphs, settings or GraphSettings())
    return GraphScores(**{field.name: getattr(pairs, field.name)()[0] for field in fields(GraphScores)})


def _pairs(groups: Groups, rules: str, *, in_order: bool) -> GraphPairs | CgnetPairs:
    """Return the graphs of the lanes of all frames, which all scores share. A frame takes half a megabyte.

    CGNet's graphs have no heights, and its region has y forward. With ``in_order``, their nodes are in the order of the
    file, which decides ties.
    """
    key = f"graphs {rules}"
    if key not in groups.shared:
        lanes = groups.pick(groups.of_classes((LANE,)))
        lines = lanes.polylines
        order = None
        graph = np.repeat(np.arange(2 * len(lanes.bounds)), np.diff(lanes.bounds, axis=1).ravel())  # of each lane
        of_point = np.repeat(graph, np.diff(lines.offsets))
        if rules == "cgnet":
            x = lines.coords[:, 0]
            y = lines.coords[:, 1]
            lines = Polylines(np.stack([-y, x] if groups.forward == "x" else [x, y], axis=1), lines.offsets)
            order = None
            if in_order:
                order = _order(lanes, graph)
        joined, point = joined_lanes(lines, lanes.links, order)
        graphs = Graphs(joined.nodes, joined.edges, of_point[point], frames=len(lanes.bounds))
        if rules == "cgnet":
            groups.shared[key] = CgnetPairs(graphs)
        else:
            groups.shared[key] = GraphPairs(graphs, GraphSettings())
    pairs: GraphPairs | CgnetPairs = groups.shared[key]
    return pairs


def _order(lanes: Groups, graph: Indices) -> Indices:
    """Return the rank of the node of each point: by graph, then by its number in the file.

    The nodes of a graph are in the order of the points if its lanes are not from a graph or have other points than it.
    """
    sizes = np.diff(lanes.offsets)
    nodes = [lane or () for lane in lanes.column("nodes")]
    same = np.array([len(lane) for lane in nodes], np.int64) == sizes
    known = ~np.isin(graph, graph[~same])
    rank = np.arange(sizes.sum())
    given = (node for lane, is_known in zip(nodes, known.tolist(), strict=True) if is_known for node in lane)
    rank[np.repeat(known, sizes)] = np.fromiter(given, np.int64)
    return unique_rows(np.stack([np.repeat(graph, sizes), rank], axis=1))[1]


def _score(name: str, parts: Sequence[tuple[str, int]], groups: Groups, protocol: Protocol, setting: object) -> Floats:
    """Return for each part of a metric whether a frame has a score, whether it is left out, and the score."""
    sums = np.zeros((len(groups.bounds), sum(2 + width for _, width in parts)))
    pairs = _pairs(groups, protocol.settings[name].rules, in_order=protocol.ties == "file")
    at = 0
    for part, width in parts:
        for g, value in zip(groups.of_classes((LANE,)).tolist(), getattr(pairs, part)(), strict=True):
            sums[g, at + (value is None)] = 1
            if value is not None:
                sums[g, at + 2 : at + 2 + width] = value
        at += 2 + width
    return sums


def _values(keys: Sequence[Sequence[str]], sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the means over the frames that have a score, and the number of frames that have none."""
    values = {}
    at = 0
    for part in keys:
        frames = sums[..., at]
        none = frames == 0
        values[f"{part[-1]}_left_out"] = sums[..., at + 1]
        for k, key in enumerate(part):
            values[key] = np.where(none, np.nan, sums[..., at + 2 + k] / np.where(none, 1, frames))
        at += 2 + len(part)
    return values


@dataclass(frozen=True, kw_only=True)
class GraphRules(Settings):
    """Settings of a graph score."""

    rules: Literal["corrected", "cgnet"] = setting(
        "corrected", word="graph rules", help="Whether the rules are corrected or those of CGNet's evaluator."
    )


def _stated(name: str, protocol: Protocol) -> str:
    if protocol.settings[name].rules == "cgnet":
        return "CGNet's rules"
    return "corrected rules"


def _row(name: str, title: str, *parts: Sequence[Value]) -> Metric:
    """Return the row of a metric. Each part has its own frames, and its F1 or only value comes first."""
    keys = [[value.key for value in part] for part in parts]
    # A score is precision, recall, F1; the values of a part begin with F1.
    stored = [[*part[1:], part[0]] if len(part) == 3 else list(part) for part in keys]
    left_out = []
    for main, *_ in parts:
        part = f"{main.part}_left_out".strip("_")
        title_of = f"{main.title} left out"
        left_out.append(Value(key=f"{main.key}_left_out", part=part, title=title_of, limits=(0.0, math.inf)))
    return Metric(
        name=name,
        title=title,
        symbol=title,
        lower_is_better=False,
        values=(*(value for part in parts for value in part), *left_out),
        rows=SumRows(
            columns=tuple(column for part in stored for column in (f"{part[-1]}_frames", f"{part[-1]}_none", *part)),
            score=partial(_score, name, [(part[0], len(part)) for part in keys]),
            values=partial(_values, stored),
        ),
        settings_type=GraphRules,
        needs=frozenset({"links"}),
        stated=partial(_stated, name),
        limits=(0.0, 1.0),
        of=(LANE,),
        order=80,
    )


def _three(key: str, part: str, title: str) -> list[Value]:
    """Return F1, precision and recall of a score, or of a part of one."""
    precision = f"{key}_precision"
    recall = f"{key}_recall"
    if part:
        return [
            Value(key=key, part=part, title=f"{title} F1", role="headline"),
            Value(key=precision, part=f"{part}_precision", title=f"{title} P", role="other"),
            Value(key=recall, part=f"{part}_recall", title=f"{title} R", role="other"),
        ]
    return [
        Value(key=key, part="", title=f"{title} F1", role="main"),
        Value(key=precision, part="precision", title=f"{title} P", role="headline"),
        Value(key=recall, part="recall", title=f"{title} R", role="headline"),
    ]


GEO = _row("geo", "GEO", _three("geo", "", "GEO"))
TOPO = _row("topo", "TOPO", _three("topo", "", "TOPO"))
JTOPO = _row("jtopo", "JTOPO", _three("jtopo", "", "JTOPO"))
APLS = _row(
    "apls",
    "APLS",
    [Value(key="apls", part="", title="APLS", role="main")],
    [Value(key="apls_directed", part="directed", title="APLS directed", role="headline")],
)
SDA = _row("sda", "SDA", _three("sda", "", "SDA"))
REACH = _row("reach", "Reach", _three("reach", "", "Reach"), _three("landmark", "landmark", "Landmark"))
