"""OpenLane-V2's TOP: average precision of the neighbours of each true vertex.

``TOP_ll`` compares the successors and predecessors of lanes, ``TOP_lt`` the traffic elements of lanes and the lanes of
traffic elements. Lanes are centrelines or lane segments. For lane segments the scores are also called TOP_lsls and
TOP_lste.

For each threshold, predictions are matched with truth, and the predicted scores are placed at the pairs of true
vertices. A pair with a vertex that is missed gets a false link, unless the pair is truly linked: then it gets none. The
score is the mean over all true vertices of all frames and thresholds. Frames without a true pair are left out. Version
1.0 repeats this in ten rounds, in which more and more of the predictions of each frame count.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from mapgauge.arguments import check_length
from mapgauge.features.lanes.openlane import (
    DROP_CLOSING,
    BoxSettings,
    Matches,
    at_lanes,
    element_matches,
    lane_matches,
)
from mapgauge.frames.links import CONTROLLED_BY, SUCCESSOR
from mapgauge.metrics.average_precision import PREFILTER, RELAXED
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, SumRows, Value
from mapgauge.metrics.settings import Settings, setting, thresholds_of
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices

FILLER = {"v1.0": 1.0, "v1.1": 0.5 + 2.0**-23}  # score of a false link that stands for a missed vertex
_RELEASES = {"v1.0": "v1.0 and v2.0", "v1.1": "v1.1 and v2.1"}
_COLUMNS = ("precision", "vertices")


def _score(kind: str, groups: Groups, protocol: Protocol, setting: object) -> Floats:
    """Return the sum of the precisions of all vertices and their number, at the group of the lanes of each frame."""
    from mapgauge.features.lanes.kernels import topology_sums

    own = protocol.settings["top_ll" if kind == SUCCESSOR else "top_lt"]
    lanes = lane_matches(groups, protocol, own, segments=own.lanes == "segments")
    columns = lanes
    if kind == CONTROLLED_BY:
        columns = element_matches(groups, protocol, BoxSettings(thresholds=own.overlaps, strict=own.strict))
    same = columns is lanes
    parts = [lanes] if same else [lanes, columns]
    shift = 0 if same else len(lanes.rows)
    confidence = np.concatenate([part.groups.confidence for part in parts])
    order = np.concatenate([part.groups.by_confidence + k * shift for k, part in enumerate(parts)])
    nearest = np.concatenate([part.nearest + k * shift for k, part in enumerate(parts)])
    predicted = np.concatenate([part.groups.is_prediction for part in parts])
    source, target, weight = _links(groups, kind, parts)
    true = ~predicted[source]
    from_truth = np.stack([source[true], target[true]])
    scored = source[~true], target[~true], weight[~true]
    sums = np.zeros((len(lanes.groups.bounds), 2))
    for t in range(len(own.thresholds)):
        # Traffic elements have one threshold. The kit has no more, and lanes are combined with the first one.
        hit = np.concatenate([(part.hits >> (t if k == 0 else 0)) & 1 == 1 for k, part in enumerate(parts)])
        bounds, filler = (lanes.groups.bounds, columns.groups.bounds + shift), FILLER[own.rules]
        instances = confidence, order, nearest, hit
        topology_sums(*bounds, same, own.rules == "v1.0", *instances, from_truth, scored, filler, sums)
    return at_lanes(groups, sums)


def _links(groups: Groups, kind: str, parts: list[Matches]) -> tuple[Indices, Indices, Floats]:
    """Return sources, targets and weights of the links of one kind, sorted by source. Parts number the instances."""
    if groups.links is None:
        none = np.empty(0, np.int64)
        return none, none, np.empty(0)
    rows = np.concatenate([part.rows for part in parts])
    place = np.full(len(groups.confidence), -1)
    place[rows] = np.arange(len(rows))
    of_kind = np.flatnonzero(groups.links.is_kind(kind))
    source, target = place[groups.links.source[of_kind]], place[groups.links.target[of_kind]]
    kept = (source >= 0) & (target >= 0)
    return source[kept], target[kept], groups.links.weight[of_kind[kept]]


def _values(name: str, sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return the mean over vertices; NaN without any."""
    with np.errstate(invalid="ignore"):
        return {name: sums[..., 0] / sums[..., 1]}


@dataclass(frozen=True, kw_only=True)
class TopSettings(Settings):
    """Settings of TOP_ll: its rules, and those by which lanes are matched."""

    rules: Literal["v1.0", "v1.1"] = setting(
        "v1.1", word="topology", help="Version of the rules: v1.0 for versions 1.0 and 2.0, v1.1 for 1.1 and 2.1."
    )
    lanes: Literal["centrelines", "segments"] = setting(
        "centrelines", word="top lanes", help="Whether lanes are compared as centrelines or as lane segments."
    )
    thresholds: tuple[float, ...] = thresholds_of((1.0, 2.0, 3.0), word="top thresholds")
    strict: bool = setting(True, help="Whether a match needs a distance below the threshold, not equal to it.")
    relaxed: bool = setting(True, help=RELAXED)
    prefilter: float | None = setting(3.0, unit="m", check=check_length, help=PREFILTER)
    drop_closing: bool = setting(True, help=DROP_CLOSING)


@dataclass(frozen=True, kw_only=True)
class TopTrafficSettings(TopSettings):
    """Settings of TOP_lt, which also matches traffic elements."""

    overlaps: tuple[float, ...] = thresholds_of((0.75,), unit="", word="overlaps")


def _stated(name: str, protocol: Protocol) -> str:
    return f"rules of {_RELEASES[protocol.settings[name].rules]}, mean over vertices and thresholds"


def _row(name: str, title: str, kind: str, settings: type[TopSettings]) -> Metric:
    return Metric(
        name=name,
        title=title,
        symbol=title,
        lower_is_better=False,
        values=(Value(name, "", title, "main"),),
        rows=SumRows(_COLUMNS, partial(_score, kind), partial(_values, name)),
        settings_type=settings,
        needs=frozenset({"confidences", "links"}),
        stated=partial(_stated, name),
        limits=(0.0, 1.0),
        percent=True,
        of="lanes",
    )


TOP_LL = _row("top_ll", "TOP_ll", SUCCESSOR, TopSettings)
TOP_LT = _row("top_lt", "TOP_lt", CONTROLLED_BY, TopTrafficSettings)
