"""``graph_scores`` and the metrics GEO, TOPO, JTOPO, APLS, split points and reachability of lanes.

Two graphs are compared by the corrected rules or by those of CGNet's evaluator. The value of many frames is the mean
over those that have a score. Frames without anything to score are left out and counted.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.features.lanes import graph_sampling as sampling
from mapgauge.features.lanes.cgnet import CgnetPair
from mapgauge.features.lanes.graph import Graph, GraphLike, graph_of_lanes
from mapgauge.features.lanes.graph_sampling import Csr, GraphScore, GraphSettings, Near, Roads, Samples, score
from mapgauge.frames.links import Links
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, SumRows, Value
from mapgauge.metrics.settings import Settings, setting
from mapgauge.protocols import LANE, Protocol
from mapgauge.typing import Floats, Indices, Pairs

_ROUNDING = 1e-9  # metres: a point at the end of a walk belongs to it


class GraphPair:
    """Two graphs, compared by the corrected rules. Scores are None if there is nothing to score."""

    def __init__(self, predicted: Graph, true: Graph, settings: GraphSettings) -> None:
        """Keep both graphs in a form that does not depend on the order of nodes and edges."""
        self._sides, self._settings = (predicted.tidy(), true.tidy()), settings

    @cached_property
    def _roads(self) -> tuple[Roads, Roads]:
        return Roads.of(self._sides[0]), Roads.of(self._sides[1])

    @cached_property
    def _samples(self) -> tuple[Samples, Samples]:
        predicted, true = (Samples.of(roads, self._settings.spacing) for roads in self._roads)
        return predicted, true

    @cached_property
    def _near(self) -> Near:
        predicted, true = self._samples
        return sampling.match(predicted.points, true.points, self._settings.radius)

    @cached_property
    def _directed(self) -> tuple[Csr, Csr]:
        predicted, true = (side.csr(directed=True) for side in self._samples)
        return predicted, true

    @cached_property
    def _controls(self) -> list[tuple[Samples, Indices, Samples]]:
        """The control points of each side, their places in the other side, and that side with a point at each."""
        controls = []
        for own, other in (self._roads, self._roads[::-1]):
            samples = Samples.of(own, self._settings.control_spacing)
            controls.append((samples, *_snapped(samples, own, other, self._settings.snap)))
        return controls

    @cached_property
    def _ways(self) -> tuple[sampling.Ways, sampling.Ways]:
        spacing, hops = self._settings.control_spacing, self._settings.hops
        return sampling.Ways(self._sides[0], spacing, hops), sampling.Ways(self._sides[1], spacing, hops)

    def geo(self) -> GraphScore | None:
        """Return the share of points on edges that are matched."""
        predicted, true = (len(side.points) for side in self._samples)
        return sampling.share(len(self._near.accepted), predicted, true) if predicted or true else None

    def topo(self) -> GraphScore | None:
        """Return the share of points that are matched around all matched points."""
        return self._around(self._near.pairs)

    def jtopo(self) -> GraphScore | None:
        """Return the same around true splits and the predicted points nearest to them; None without true splits."""
        splits = self._samples[1].splits
        if not splits.any():
            return None
        first, second = self._near.first, self._near.second
        _, nearest = np.unique(np.where(splits[second], second, -1), return_index=True)
        nearest = nearest[splits[second[nearest]]]
        return self._around(np.stack([first[nearest], second[nearest]], axis=1))

    def _around(self, pairs: Pairs) -> GraphScore | None:
        """Return GEO times the mean shares of points that are matched around some pairs."""
        from mapgauge.features.lanes.graph_kernels import matches_within

        geo, near = self.geo(), self._near
        if geo is None or not len(pairs):
            return None if geo is None else score(0.0, 0.0)
        ranks = np.argsort(near.first, kind="stable")
        counts = matches_within(
            *self._directed,
            np.ascontiguousarray(pairs),
            self._settings.walk + _ROUNDING,
            near.first,
            near.second,
            np.searchsorted(near.first[ranks], np.arange(len(self._samples[0].points) + 1)),
            ranks,
        )
        shares: Floats = counts[:, 2:] / counts[:, :2]
        precision, recall = shares.mean(axis=0).tolist()
        return score(geo.precision * precision, geo.recall * recall)

    def apls(self) -> float | None:
        """Compare the lengths of paths, with edges in both directions."""
        return self._apls(directed=False)

    def apls_directed(self) -> float | None:
        """Compare the lengths of paths along the edges."""
        return self._apls(directed=True)

    def _apls(self, *, directed: bool) -> float | None:
        """Return the harmonic mean of the similarities of paths; None without a path that is long enough."""
        from mapgauge.features.lanes.graph_kernels import SAME, path_cost

        sides = []
        for samples, place, host in self._controls:
            graphs = samples.csr(directed=directed), host.csr(directed=directed)
            own = np.arange(len(samples.points))
            total, count = path_cost(*graphs, own, place, self._settings.shortest - SAME, False)
            sides.append(1 - total / count if count else None)
        if sides[0] is None and sides[1] is None:
            return None
        forth, back = (side or 0.0 for side in sides)
        return 2 * (forth * back) / (forth + back) if forth + back > 0 else 0.0

    def sda(self) -> GraphScore | None:
        """Compare the split points."""
        return sampling.split_score(*self._sides, self._settings)

    def landmark(self) -> GraphScore | None:
        """Compare the nodes where lanes begin and end."""
        return sampling.landmark_score(*self._ways, self._settings)

    def reach(self) -> GraphScore | None:
        """Compare the ways between landmarks."""
        return sampling.reach_score(*self._ways, self._settings)


def _snapped(samples: Samples, own: Roads, other: Roads, radius: float) -> tuple[Indices, Samples]:
    """Return the place of each control point in the other graph, and that graph with a point at each place."""
    from mapgauge.features.lanes.graph_kernels import SAME, snap

    if not len(other.edges):
        return np.full(len(samples.points), -1), Samples.of(other, 1.0)
    edge, part = snap(samples.points, samples.own, own.nodes[own.edges], other.nodes, other.edges, radius)
    snapped = np.flatnonzero(edge >= 0)
    length = other.lengths[edge[snapped]]
    along, same = part[snapped] * length, SAME
    at_start, at_end = along <= same, along >= length - same
    place = np.full(len(samples.points), -1)
    place[snapped[at_end]] = other.edges[edge[snapped[at_end]], 1]
    place[snapped[at_start]] = other.edges[edge[snapped[at_start]], 0]
    inside = snapped[~at_start & ~at_end]
    inside = inside[np.lexsort((part[inside], edge[inside]))]
    place[inside] = len(other.nodes) + np.arange(len(inside))
    return place, Samples.at(other, edge[inside], part[inside])


def pair_of(
    predicted: Graph, true: Graph, *, cgnet_rules: bool, settings: GraphSettings | None = None
) -> GraphPair | CgnetPair:
    """Return a pair of graphs, and refuse graphs of different dimensions."""
    if predicted.dimension != true.dimension and len(predicted.nodes) and len(true.nodes):
        raise InvalidInput(
            f"nodes have {predicted.dimension} coordinates in predictions and {true.dimension} in truth",
            remedy="Leave out the height: nodes[:, :2], or frames.planar()",
        )
    return CgnetPair(predicted, true) if cgnet_rules else GraphPair(predicted, true, settings or GraphSettings())


Parity: TypeAlias = Literal["cgnet"]


@dataclass(frozen=True, slots=True)
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
    predicted, true = Graph.of(predictions, "predictions"), Graph.of(truth, "truth")
    if parity == "cgnet":
        if settings is not None:
            raise InvalidInput("settings cannot be changed with parity='cgnet'", remedy="Leave out one of the two")
    elif parity is not None:
        raise InvalidInput(f"parity must be 'cgnet' or None, got {parity!r}")
    pair = pair_of(predicted, true, cgnet_rules=parity == "cgnet", settings=settings)
    return GraphScores(**{field.name: getattr(pair, field.name)() for field in fields(GraphScores)})


def _pairs(groups: Groups, rules: str, *, in_order: bool) -> Iterable[tuple[int, GraphPair | CgnetPair]]:
    """Return the groups of lanes with their two graphs, which all scores share. A frame takes half a megabyte."""
    key = f"graphs {rules}"
    if key not in groups.shared:
        pairs = groups.shared[key] = []
        for g in groups.of_classes((LANE,)).tolist():
            predicted, true = (
                _graph(groups, rules, *ends, in_order=in_order) for ends in pairwise(groups.bounds[g].tolist())
            )
            pairs.append((g, pair_of(predicted, true, cgnet_rules=rules == "cgnet")))
    graphs: list[tuple[int, GraphPair | CgnetPair]] = groups.shared[key]
    return graphs


def _graph(groups: Groups, rules: str, first: int, last: int, *, in_order: bool) -> Graph:
    """Return the graph of some instances. CGNet's graphs have no heights, and its region has y forward.

    With ``in_order``, the nodes of CGNet's graphs are in the order of the file, which decides ties.
    """
    order = None
    lines = groups.polylines.pick(np.arange(first, last))
    if rules == "cgnet":
        x, y = lines.coords[:, 0], lines.coords[:, 1]
        lines = Polylines(np.stack([-y, x] if groups.forward == "x" else [x, y], axis=1), lines.offsets)
        order = _order(groups, first, last) if in_order else None
    return graph_of_lanes(lines, None if groups.links is None else _links(groups.links, first, last), order)


def _order(groups: Groups, first: int, last: int) -> Indices | None:
    """Return the node of each point in the file; None if lanes are not from a graph or have other points than it."""
    lanes = [()] * (last - first) if groups.nodes is None else [lane or () for lane in groups.nodes[first:last]]
    if [len(lane) for lane in lanes] != np.diff(groups.offsets[first : last + 1]).tolist():
        return None
    return np.array([node for lane in lanes for node in lane], np.int64)


def _links(links: Links, first: int, last: int) -> Links:
    """Return the links among some instances."""
    rows = slice(*np.searchsorted(links.source, [first, last]).tolist())
    among = (links.target[rows] >= first) & (links.target[rows] < last)
    source, target = links.source[rows][among] - first, links.target[rows][among] - first
    return Links.of(source, target, weight=links.weight[rows][among], kind=links.kind_of(rows)[among])


def _score(name: str, parts: Sequence[tuple[str, int]], groups: Groups, protocol: Protocol, setting: object) -> Floats:
    """Return for each part of a metric whether a frame has a score, whether it is left out, and the score."""
    sums = np.zeros((len(groups.bounds), sum(2 + width for _, width in parts)))
    for g, pair in _pairs(groups, protocol.settings[name].rules, in_order=protocol.ties == "file"):
        at = 0
        for part, width in parts:
            value = getattr(pair, part)()
            sums[g, at + (value is None)] = 1
            if value is not None:
                sums[g, at + 2 : at + 2 + width] = value
            at += 2 + width
    return sums


def _values(keys: Sequence[Sequence[str]], sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the means over the frames that have a score, and the number of frames that have none."""
    values, at = {}, 0
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
    return "CGNet's rules" if protocol.settings[name].rules == "cgnet" else "corrected rules"


def _row(name: str, title: str, *parts: Sequence[Value]) -> Metric:
    """Return the row of a metric. Each part has its own frames, and its F1 or only value comes first."""
    keys = [[value.key for value in part] for part in parts]
    # A score is precision, recall, F1; the values of a part begin with F1.
    stored = [[*part[1:], part[0]] if len(part) == 3 else list(part) for part in keys]
    left_out = []
    for main, *_ in parts:
        part, title_of = f"{main.part}_left_out".strip("_"), f"{main.title} left out"
        left_out.append(Value(f"{main.key}_left_out", part, title_of, limits=(0.0, math.inf)))
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
        of="lanes",
    )


def _three(key: str, part: str, title: str) -> list[Value]:
    """Return F1, precision and recall of a score."""
    end = f"{part}_" if part else ""
    return [
        Value(key, part, f"{title} F1", "headline" if part else "main"),
        Value(f"{key}_precision", f"{end}precision", f"{title} P", "other" if part else "headline"),
        Value(f"{key}_recall", f"{end}recall", f"{title} R", "other" if part else "headline"),
    ]


GEO = _row("geo", "GEO", _three("geo", "", "GEO"))
TOPO = _row("topo", "TOPO", _three("topo", "", "TOPO"))
JTOPO = _row("jtopo", "JTOPO", _three("jtopo", "", "JTOPO"))
APLS = _row(
    "apls",
    "APLS",
    [Value("apls", "", "APLS", "main")],
    [Value("apls_directed", "directed", "APLS directed", "headline")],
)
SDA = _row("sda", "SDA", _three("sda", "", "SDA"))
REACH = _row("reach", "Reach", _three("reach", "", "Reach"), _three("landmark", "landmark", "Landmark"))
