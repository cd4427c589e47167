"""The graph scores as metrics: GEO, TOPO, JTOPO, APLS, split points and reachability of lanes.

The lanes of a frame and their successor links form a graph. A score is computed for each frame, and the value of many
frames is the mean over those that have one. Frames without anything to score are left out and counted.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np

from mapgauge.features.lanes.cgnet import CgnetPair
from mapgauge.features.lanes.graph import Graph, graph_of_lanes
from mapgauge.features.lanes.graph_scores import GraphPair, pair_of
from mapgauge.frames.links import Links
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, SumRows, Value
from mapgauge.metrics.settings import Settings, setting
from mapgauge.protocols import LANE, Protocol
from mapgauge.typing import Floats

_MANY = (0.0, math.inf)


def _pairs(groups: Groups, rules: str) -> Iterator[tuple[int, GraphPair | CgnetPair]]:
    """Yield the groups of lanes with their two graphs.

    All scores share the graphs, which are small. Their points take half a megabyte per frame, so they are not kept.
    """
    key = f"graphs {rules}"
    if key not in groups.shared:
        groups.shared[key] = [
            (g, *(_graph(groups, rules, first, last) for first, last in pairwise(groups.bounds[g].tolist())))
            for g in groups.of_classes((LANE,)).tolist()
        ]
    for g, predicted, true in groups.shared[key]:
        yield g, pair_of(predicted, true, cgnet_rules=rules == "cgnet")


def _graph(groups: Groups, rules: str, first: int, last: int) -> Graph:
    """Return the graph of some instances. CGNet's graphs have no heights, and its region has y forward."""
    lines = groups.polylines.pick(np.arange(first, last))
    if rules == "cgnet":
        x, y = lines.coords[:, 0], lines.coords[:, 1]
        lines = Polylines(np.stack([-y, x] if groups.forward == "x" else [x, y], axis=1), lines.offsets)
    return graph_of_lanes(lines, None if groups.links is None else _links(groups.links, first, last))


def _links(links: Links, first: int, last: int) -> Links:
    """Return the links among some instances."""
    rows = slice(*np.searchsorted(links.source, [first, last]).tolist())
    among = (links.target[rows] >= first) & (links.target[rows] < last)
    source, target = links.source[rows][among] - first, links.target[rows][among] - first
    return Links.of(source, target, weight=links.weight[rows][among], kind=links.kind_of(rows)[among])


def _score(name: str, parts: Sequence[tuple[str, int]], groups: Groups, protocol: Protocol, setting: object) -> Floats:
    """Return for each part of a metric whether a frame has a score, whether it is left out, and the score.

    A part is the name of a score and its number of values.
    """
    sums = np.zeros((len(groups.bounds), sum(2 + width for _, width in parts)))
    for g, pair in _pairs(groups, protocol.settings[name].rules):
        at = 0
        for part, width in parts:
            value = getattr(pair, part)()
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
