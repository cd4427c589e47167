"""``lane_graph_pld``: PLD of lanes and traffic elements with a cost for every wrong link."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.arguments import check_confidence, check_flag, check_link_floor, check_switch_cost
from mapgauge.distances.sospa import check_sospa_arguments
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.features.lane_graph import lane_graph_frame as graphs
from mapgauge.features.lane_graph.linked_graphs import Broken
from mapgauge.frames.alignment import align
from mapgauge.frames.findings import Finding
from mapgauge.frames.lane_classes import LANE
from mapgauge.frames.links import Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import link_findings
from mapgauge.geometry.polylines import Polylines
from mapgauge.metrics.groups import Groups, group
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.metrics.pld import PooledPld, added, normalised_value, share_of
from mapgauge.metrics.settings import PldSettings, setting
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices

LINK_COST = 0.1  # the recommended cost of a wrong link; docs/explanation/lane-graphs.md gives the reason

LinkError: TypeAlias = Literal["false", "missing", "half"]


class LaneGraphParts(NamedTuple):
    """The nine parts of lane-graph PLD. They add up to its value."""

    matched_points: float  # distances of matched points in matched lanes
    unmatched_points: float  # unmatched points in matched lanes
    confidence: float  # differences of confidence in matched lanes
    missed: float  # true lanes without a match
    false: float  # predicted lanes without a match
    traffic_elements: float  # distances, confidences, missed and false traffic elements
    false_links: float  # predicted links between assigned elements that the truth lacks
    missing_links: float  # true links between assigned elements that the predictions lack
    half_links: float  # links of either side between an assigned and an unassigned element


class LinkCounts(NamedTuple):
    """The numbers of links of which at least one half is wrong."""

    false: int
    missing: int
    half: int


class ElementMatch(NamedTuple):
    """An assigned pair of lanes or traffic elements, by index."""

    prediction: int
    truth: int
    weight: float  # 1, or less if the linear programme divides the assignment
    near: bool  # False if the pair saves nothing and only carries links


class WrongLink(NamedTuple):
    """A link that costs something."""

    error: LinkError
    predicted: bool  # whether it is a predicted link; otherwise it is a true one
    kind: str  # "successor" or "controlled_by"
    source: int  # index of a lane of its side
    target: int  # index of a lane or traffic element of its side
    weight: float  # its score
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneGraphPldResult(PooledPld[LaneGraphParts]):
    """Lane-graph PLD of one frame, or of many frames pooled with ``+`` or ``sum``. Parts are not normalised."""

    TITLE: ClassVar[str] = "lane-graph PLD"
    SETTINGS: ClassVar[tuple[str, ...]] = ("cutoff", "link_cost", "link_floor")

    plain: float  # the value with link cost 0
    link_cost: float
    link_floor: float
    link_counts: LinkCounts
    # Value less the value of the linear programme, which is 0 if that has a 0/1 solution. None if the assignment is
    # divided, and once frames are pooled.
    gap: float | None = field(compare=False, default=None)
    matches: tuple[ElementMatch, ...] = field(compare=False, default=())  # () once frames are pooled
    wrong_links: tuple[WrongLink, ...] = field(compare=False, default=())  # the most expensive first; () once pooled
    findings: tuple[Finding, ...] = field(compare=False, default=())

    @property
    def topology(self) -> float:
        """The normalised value less that with link cost 0: the price of wrong links."""
        return max(self.normalised - float(normalised_value(self.plain, self.mass)), 0.0)


def lane_graph_pld(
    predictions: Any,
    truth: Any,
    *,
    links: Any = None,
    truth_links: Any = None,
    confidence: Any = None,
    truth_confidence: Any = None,
    link_cost: float = LINK_COST,
    link_floor: float = 0.0,
    cutoff: float = 1.5,
    directed: bool = True,
    binary: bool = False,
) -> LaneGraphPldResult:
    """Lane-graph PLD between the predicted and the true lane graph of one frame.

    Lane-graph PLD is PLD of the lanes and of the traffic elements plus a cost for every wrong link. A link that is
    missing or false costs ``link_cost`` times its score. A link to a lane or traffic element that is not assigned
    costs half of that. With ``link_cost=0`` it is PLD.

    Args:
        predictions: ``MapFrames`` of one frame, with lanes of the class "centerline", boxes of traffic elements and
            links; or a list of lanes, each an array ``(points, 2)`` or ``(points, 3)`` in metres.
        truth: The true lane graph. Both sides are compared point by point, so resample them first.
        links: For lists: an array ``(lanes, lanes)`` of scores in [0, 1] that the end of the first lane leads into the
            start of the second, or ``Links``. None means no links.
        truth_links: The same for the truth.
        confidence: For lists: one number in [0, 1] per lane. If None, 1 for all.
        truth_confidence: The same for the truth.
        link_cost: The cost of a wrong link. A missed or false lane of confidence 1 costs 1/2.
        link_floor: The score up to which there is no link. Higher scores are stretched: ``(score - floor) /
            (1 - floor)``, so that 1 stays 1. Networks give every pair of lanes a score above 0.
        cutoff: Cutoff of SOSPA in metres.
        directed: Whether the direction of lanes matters.
        binary: If true, a pair is assigned or not. If false, an assignment may be divided. The value can then be
            smaller, and takes less time. Both are metrics.

    Returns:
        The value, its nine parts, the matches, and a list of the wrong links.

    >>> lanes = [[[0, 0], [5, 0]], [[5, 0], [9, 0]], [[5, 0], [9, 4]]]
    >>> result = lane_graph_pld(lanes, lanes, links=[[0, 1, 0.4], [0] * 3, [0] * 3],
    ...                         truth_links=[[0, 1, 1], [0] * 3, [0] * 3], link_cost=0.25)
    >>> round(result.value, 3), result.link_counts
    (0.15, LinkCounts(false=0, missing=1, half=0))
    >>> result.wrong_links[0][:5]
    ('missing', False, 'successor', 0, 2)
    """
    cost = check_switch_cost("link_cost", link_cost)
    floor = check_link_floor("link_floor", link_floor)
    way, cut, _ = check_sospa_arguments(cutoff, order=1.0, directed=directed)
    binary = check_flag("binary", binary)
    if isinstance(predictions, MapFrames) != isinstance(truth, MapFrames):
        raise InvalidInput("predictions and truth must both be MapFrames, or both be lists of lanes")
    x, x_index = _side(predictions, links, confidence, name="predictions")
    y, y_index = _side(truth, truth_links, truth_confidence, name="truth")
    boxes = tuple(sorted({*x.boxes, *y.boxes}))
    sides = align(replace(x, boxes=boxes), replace(y, boxes=boxes), classes=(LANE, *boxes), unknown="ignore")
    protocol = Protocol(name="", classes=(LANE,), boxes=boxes, closed=False, directed=way, cutoffs=(cut,))
    groups = group(*sides, protocol, links=True)
    _, frame = next(graphs.frame_graphs(groups, way, cut, floor=floor))
    row, solved = graphs.solve_frame(frame, cost, binary=binary)
    index = np.concatenate([x_index, y_index])[groups.row + ~groups.is_prediction * len(x_index)]
    predicted = index[frame.x.instance]
    true = index[frame.y.instance]
    near = frame.saving[solved.first, solved.second] > 0
    columns = (predicted[solved.first], true[solved.second], solved.weight, near)
    matches = sorted(ElementMatch._make(match) for match in zip(*(column.tolist() for column in columns), strict=True))
    numbers = row.tolist()
    return LaneGraphPldResult(
        parts=LaneGraphParts._make(numbers[: len(graphs.PARTS)]),
        mass=numbers[graphs.MASS],
        plain=numbers[graphs.PLAIN],
        cutoff=cut,
        link_cost=cost,
        link_floor=floor,
        link_counts=LinkCounts._make(map(round, numbers[graphs.COUNTS])),
        gap=solved.gap,
        assignment=np.array([match[:2] for match in matches], np.int64).reshape(-1, 2),
        matches=tuple(matches),
        wrong_links=_wrong_links(frame, solved.links, (predicted, true), link_cost=cost),
        findings=link_findings(x, y, floor),
    )


def _wrong_links(
    frame: graphs.FrameGraphs, links: Broken, indices: tuple[Indices, Indices], link_cost: float
) -> tuple[WrongLink, ...]:
    """Return all links that cost something, the most expensive first. The indices are those of the input."""
    wrong = []
    for predicted, side, index, full, half in (
        (True, frame.x, indices[0], links.false, links.false_half),
        (False, frame.y, indices[1], links.missing, links.missing_half),
    ):
        whole: LinkError = "missing"
        if predicted:
            whole = "false"
        cost = link_cost * (full + half)
        for k in np.flatnonzero(cost > 0).tolist():
            if half[k] > full[k]:
                error: LinkError = "half"
            else:
                error = whole
            wrong.append(
                WrongLink(
                    error=error,
                    predicted=predicted,
                    kind=graphs.KINDS[side.kind[k]],
                    source=int(index[side.graph.source[k]]),
                    target=int(index[side.graph.target[k]]),
                    weight=float(side.score[k]),
                    cost=float(cost[k]),
                )
            )
    return tuple(sorted(wrong, key=lambda link: (-link.cost, link[:-1])))


def _side(given: Any, links: Any, confidence: Any, name: str) -> tuple[MapFrames, Indices]:
    """Return one side as ``MapFrames`` of lanes and boxes, and the index of each instance in the input."""
    if isinstance(given, MapFrames):
        if links is not None or confidence is not None:
            raise InvalidInput(
                f"{name} are MapFrames and have their own links and confidences",
                remedy="Use dataclasses.replace(frames, links=...) and .with_confidence(...)",
            )
        if len(given) != 1:
            raise InvalidInput(
                f"{name} have {len(given)} frames, expected one",
                remedy=Remedy(
                    'Pick one with .at([0]), or use mg.evaluate(predictions, truth, "lane-graph") for all',
                    "Use mapgauge evaluate --protocol lane-graph",
                ),
            )
        wanted = [k for k, known in enumerate(given.classes) if known == LANE or known in given.boxes]
        rows = np.flatnonzero(np.isin(given.label, wanted))
        boxes = tuple(known for known in given.boxes if known in given.classes)
        return replace(given.keep(rows), tokens=("frame",), boxes=boxes, history=None), rows
    lanes = Polylines.of(given, name)
    count = len(lanes)
    return MapFrames(
        tokens=("frame",),
        classes=(LANE,),
        frame=np.zeros(count, np.int64),
        label=np.zeros(count, np.int64),
        polylines=lanes,
        confidence=check_confidence(
            "confidence" if name == "predictions" else "truth_confidence", confidence, count, of="lane"
        ),
        name=name,
        links=_links(links, count, "links" if name == "predictions" else "truth_links"),
    ), np.arange(count)


def _links(given: Any, count: int, name: str) -> Links:
    """Return links from a matrix of scores."""
    if given is None:
        return Links.of([], [])
    if isinstance(given, Links):
        return given
    expected = f"{name} must be an array of shape ({count}, {count}) with scores in [0, 1]"
    try:
        scores = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{expected}: {error}") from error
    if scores.shape != (count, count) and not (count == 0 and scores.size == 0):
        raise InvalidInput(f"{expected}, got shape {scores.shape}")
    scores = scores.reshape(count, count)
    wrong = np.argwhere(~((scores >= 0) & (scores <= 1)))
    if len(wrong):
        i, j = (int(k) for k in wrong[0])
        raise InvalidInput(
            f"{name}[{i}, {j}] is {scores[i, j]}, expected a number in [0, 1]", remedy="Apply a sigmoid to logits"
        )
    source, target = np.nonzero(scores)
    return Links.of(source, target, weight=scores[source, target])


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    """Return the numbers of ``COLUMNS`` for each group. Those of a frame are at the group of its lanes."""
    own = protocol.settings["lane_graph_pld"]
    rows = np.zeros((len(groups.bounds), len(graphs.COLUMNS)))
    for g, frame in graphs.frame_graphs(groups, protocol.directed, cutoff, floor=own.link_floor):
        rows[g], _ = graphs.solve_frame(frame, own.link_cost)
    return rows


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values from sums."""
    parts = np.moveaxis(sums[..., : len(graphs.PARTS)], -1, 0)
    value = added(parts)
    mass = sums[..., graphs.MASS]
    whole = normalised_value(value, mass)
    without = normalised_value(sums[..., graphs.PLAIN], mass)
    return {
        "lane_graph_pld": whole,
        "topology": np.maximum(whole - without, 0.0),
        **{f"graph_{name}": share_of(part, value, mass) for name, part in zip(graphs.PARTS, parts, strict=True)},
        **dict(zip(_COUNT_KEYS, np.moveaxis(sums[..., graphs.COUNTS], -1, 0), strict=True)),
    }


_COUNT_KEYS = tuple(f"{name[:-1]}_count" for name in graphs.LINK_PARTS)
_TITLES = {"traffic_elements": "traffic", **{name: name.replace("_", " ") for name in graphs.LINK_PARTS}}


def _stated(protocol: Protocol) -> str:
    own = protocol.settings["lane_graph_pld"]
    return f"cutoff {protocol.cutoffs[0]:g} m, link cost {own.link_cost:g}, link floor {own.link_floor:g}"


@dataclass(frozen=True, kw_only=True)
class LaneGraphPldSettings(PldSettings):
    """Settings of lane-graph PLD."""

    link_cost: float = setting(LINK_COST, check=check_switch_cost, help="Cost of a wrong link of lanes.")
    link_floor: float = setting(
        0.0,
        check=check_link_floor,
        help="Score up to which there is no link. Higher scores are stretched to 0 to 1.",
    )


LANE_GRAPH_PLD = Metric(
    name="lane_graph_pld",
    title="Lane-graph PLD",
    symbol="LG-PLD",
    lower_is_better=True,
    values=(
        Value(key="lane_graph_pld", part="", title="Lane-graph PLD", role="main"),
        Value(key="topology", part="topology", title="price of links", role="headline"),
        *(
            Value(key=f"graph_{name}", part=name, title=_TITLES.get(name, name.removesuffix("_points")), role="part")
            for name in graphs.PARTS
        ),
        *(Value(key=key, part=key, title=key.replace("_", " "), limits=(0.0, math.inf)) for key in _COUNT_KEYS),
    ),
    rows=SumRows(columns=graphs.COLUMNS, score=_score, values=_values, mass=graphs.MASS),
    setting=Setting("cutoffs", "cutoff"),
    needs=frozenset({"confidences", "links"}),
    settings_type=LaneGraphPldSettings,
    stated=_stated,
    limits=(0.0, 1.0),
    of=(LANE,),
    order=20,
)
