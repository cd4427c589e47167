"""The graph scores as metrics: GEO, TOPO, JTOPO, APLS, split points and reachability of lanes.

The lanes of a frame and their successor links form a graph. A score is computed for each frame, and the value of many
frames is the mean over those that have one. Frames without anything to score are left out and counted.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from mapgauge.frames.graph import Graph
from mapgauge.frames.graph_lanes import graph_of_lanes
from mapgauge.frames.groups import Groups
from mapgauge.frames.links import Links
from mapgauge.geometry.polylines import Polylines
from mapgauge.graphs import cgnet, cgnet_apls
from mapgauge.graphs.apls import apls
from mapgauge.graphs.reach import Ways, landmark_score, reach_score, split_score
from mapgauge.graphs.sampling import Roads
from mapgauge.graphs.scores import check_pair, neighbourhoods
from mapgauge.graphs.settings import GraphSettings, Score
from mapgauge.graphs.topo import Neighbourhoods
from mapgauge.metrics.metric import Metric, SumRows, Value
from mapgauge.protocols import LANE, Protocol
from mapgauge.typing import Floats, Indices

# From a predicted and a true graph, and whether CGNet's rules apply, to one score or None for each part of a metric.
Rule: TypeAlias = Callable[[Graph, Graph, bool], Sequence[Score | float | None]]
_SETTINGS = GraphSettings()
_MANY = (0.0, math.inf)


def _pairs(groups: Groups, protocol: Protocol) -> Iterator[tuple[int, Graph, Graph]]:
    """Yield the groups of lanes with their two graphs."""
    for g in _of_lanes(groups, protocol).tolist():
        start, middle, end = groups.bounds[g].tolist()
        yield g, _graph(groups, protocol, start, middle), _graph(groups, protocol, middle, end)


def _of_lanes(groups: Groups, protocol: Protocol) -> Indices:
    every = np.arange(len(groups.bounds))
    if protocol.classes is None:
        return every
    return every[groups.label == protocol.classes.index(LANE)] if LANE in protocol.classes else every[:0]


def _graph(groups: Groups, protocol: Protocol, first: int, last: int) -> Graph:
    """Return the graph of some instances. CGNet's region has y forward."""
    lines = groups.polylines.pick(np.arange(first, last))
    if protocol.graph_rules == "cgnet" and groups.forward == "x":
        lines = Polylines(np.stack([-lines.coords[:, 1], lines.coords[:, 0]], axis=1), lines.offsets)
    return graph_of_lanes(lines, None if groups.links is None else _links(groups.links, first, last))


def _links(links: Links, first: int, last: int) -> Links:
    """Return the links among some instances."""
    there = slice(*np.searchsorted(links.source, [first, last]).tolist())
    among = (links.target[there] >= first) & (links.target[there] < last)
    source, target = links.source[there][among] - first, links.target[there][among] - first
    return Links.of(source, target, weight=links.weight[there][among], kind=links.kind_of(there)[among])


def _score(rule: Rule, groups: Groups, protocol: Protocol, setting: Any, *, widths: Sequence[int]) -> Floats:
    """Return for each part of a metric whether a frame has a score, whether it is left out, and the score."""
    sums = np.zeros((len(groups.bounds), sum(2 + width for width in widths)))
    for g, predicted, true in _pairs(groups, protocol):
        check_pair(predicted, true)
        at = 0
        for width, value in zip(widths, rule(predicted, true, protocol.graph_rules == "cgnet"), strict=True):
            sums[g, at + (value is None)] = 1
            if value is not None:
                sums[g, at + 2 : at + 2 + width] = value
            at += 2 + width
    return sums


def _values(keys: Sequence[Sequence[str]], sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the means over the frames that have a score, and the number of frames that have none.

    ``keys`` are those of each part, as they are stored, the main one last.
    """
    values, at = {}, 0
    for part in keys:
        frames = sums[..., at]
        none = frames == 0
        values[f"{part[-1]}_left_out"] = sums[..., at + 1]
        for k, key in enumerate(part):
            values[key] = np.where(none, np.nan, sums[..., at + 2 + k] / np.where(none, 1, frames))
        at += 2 + len(part)
    return values


def _near(predicted: Graph, true: Graph, parity: bool) -> Neighbourhoods | cgnet.Neighbourhoods:
    return cgnet.Neighbourhoods(predicted, true) if parity else neighbourhoods(predicted, true, _SETTINGS)


def _geo(predicted: Graph, true: Graph, parity: bool) -> Sequence[Score | None]:
    return [_near(predicted, true, parity).geo()]


def _topo(predicted: Graph, true: Graph, parity: bool) -> Sequence[Score | None]:
    return [_near(predicted, true, parity).topo()]


def _jtopo(predicted: Graph, true: Graph, parity: bool) -> Sequence[Score | None]:
    return [_near(predicted, true, parity).jtopo()]


def _apls(predicted: Graph, true: Graph, parity: bool) -> Sequence[float | None]:
    if parity:
        return [cgnet_apls.apls(predicted, true), None]
    roads = Roads.of(predicted.tidy()), Roads.of(true.tidy())
    return [apls(*roads, _SETTINGS, directed=directed) for directed in (False, True)]


def _splits(predicted: Graph, true: Graph, parity: bool) -> Sequence[Score | None]:
    if parity:
        return [cgnet.split_score(predicted, true)]
    return [split_score(predicted.tidy(), true.tidy(), _SETTINGS)]


def _reach(predicted: Graph, true: Graph, parity: bool) -> Sequence[Score | None]:
    if parity:  # CGNet does not compute it
        return [None, None]
    x, y = (Ways(side.tidy(), _SETTINGS.control_spacing, _SETTINGS.hops) for side in (predicted, true))
    return [reach_score(x, y, _SETTINGS), landmark_score(x, y, _SETTINGS)]


def _stated(protocol: Protocol) -> str:
    return "CGNet's rules" if protocol.graph_rules == "cgnet" else "corrected rules"


def _row(name: str, title: str, rule: Rule, parts: Sequence[Sequence[Value]]) -> Metric:
    """Return the row of a metric. Each part has its own frames, and its F1 or only value comes first."""
    keys = [[value.key for value in part] for part in parts]
    widths = [len(part) for part in parts]
    # A score is precision, recall, F1; the values of a part begin with F1.
    stored = [[*part[1:], part[0]] if len(part) == 3 else list(part) for part in keys]
    left_out = [
        Value(
            f"{part[0].key}_left_out", f"{part[0].part}_left_out".strip("_"), f"{part[0].title} left out", limits=_MANY
        )
        for part in parts
    ]
    return Metric(
        name=name,
        title=title,
        symbol=title,
        lower_is_better=False,
        values=(*(value for part in parts for value in part), *left_out),
        rows=SumRows(
            columns=tuple(column for part in stored for column in (f"{part[-1]}_frames", f"{part[-1]}_none", *part)),
            score=partial(_score, rule, widths=widths),
            values=partial(_values, stored),
        ),
        requires=("graph_rules",),
        needs=frozenset({"links"}),
        stated=_stated,
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


GEO = _row("geo", "GEO", _geo, [_three("geo", "", "GEO")])
TOPO = _row("topo", "TOPO", _topo, [_three("topo", "", "TOPO")])
JTOPO = _row("jtopo", "JTOPO", _jtopo, [_three("jtopo", "", "JTOPO")])
APLS = _row(
    "apls",
    "APLS",
    _apls,
    [[Value("apls", "", "APLS", "main")], [Value("apls_directed", "directed", "APLS directed", "headline")]],
)
SDA = _row("sda", "SDA", _splits, [_three("sda", "", "SDA")])
REACH = _row("reach", "Reach", _reach, [_three("reach", "", "Reach"), _three("landmark", "landmark", "Landmark")])
GRAPH_SCORES = (GEO, TOPO, JTOPO, APLS, SDA, REACH)
