"""Lane-graph PLD of one frame: its lanes, traffic elements and links, their assignment, and the links that are wrong.

Elements are in an order that depends on their content and links only, so that the solver finds the same assignment.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mapgauge import kernels
from mapgauge.errors import InvalidInput, MissingDependency
from mapgauge.features.lane_graph.linked_graphs import Broken, Linked, LinkGraph, assign_with_links, broken
from mapgauge.frames.content import distinguished
from mapgauge.frames.lane_classes import LANE
from mapgauge.frames.links import CONTROLLED_BY, LINK_STATES, SUCCESSOR, FrameLink, Links, LinkState, links_between
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.groups import Groups, group
from mapgauge.metrics.pld import Parts, added, score_groups
from mapgauge.protocols import Protocol
from mapgauge.results.drawn_links import DrawnLinks
from mapgauge.typing import Floats, Indices

KINDS = (SUCCESSOR, CONTROLLED_BY)  # the links that count: from lane to lane, and from lane to traffic element
LINK_PARTS = ("false_links", "missing_links", "half_links")
PARTS = (*Parts._fields, "traffic_elements", *LINK_PARTS)
# The parts, the mass, the value without link costs, and the numbers of wrong links.
COLUMNS = (*PARTS, "mass", "plain", *(f"{name[:-1]}_count" for name in LINK_PARTS))
TRAFFIC_ELEMENTS = 5
LINKS = slice(6, 9)
MASS = 9
PLAIN = 10
COUNTS = slice(11, 14)
WRONG = 0.5  # a link counts as wrong if at least this much of it is false, missing or half


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """The lanes of one side of a frame, then its traffic elements."""

    instance: Indices  # indices of instances of the groups
    lanes: int  # number of lanes
    confidence: Floats
    graph: LinkGraph
    kind: Indices  # index into KINDS of each link of the graph
    score: Floats  # the weight of each link before the floor


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrameGraphs:
    """Both sides of a frame and the distances between their elements."""

    x: Elements
    y: Elements
    saving: Floats  # (elements of x, elements of y): what a pair saves; 0 for a lane and a traffic element
    matched: Floats  # of the same shape: the distance of matched points, weighted by the smaller confidence
    unmatched: Floats  # the same for unmatched points, and for traffic elements their whole distance
    plain: Floats  # (6,): the five parts of PLD of the lanes, and its mass
    truth_of: Indices  # (lanes of x,): the lane of y that PLD assigns, or -1


def frame_graphs(groups: Groups, directed: bool, cutoff: float, floor: float) -> Iterator[tuple[int, FrameGraphs]]:
    """Yield the graphs of each frame, and the group of its lanes. There is no link up to the score ``floor``."""
    own = groups.of_classes([LANE])
    lanes = groups.pick(own)
    rows = groups.rows(own)
    plain, truth_of = score_groups(lanes, directed, cutoff, order=1.0)
    pairs = kernels.pld.near_pairs(lanes.lines, lanes.confidence, lanes.bounds, cutoff=cutoff)
    long = kernels.sospa.is_long(lanes.lines, lanes.closed)
    numbers = kernels.pld.savings_of_pairs(
        lanes.lines, lanes.closed, lanes.confidence, pairs=pairs, directed=directed, cutoff=cutoff, long=long
    )
    truth_of = np.where(truth_of >= 0, rows[truth_of], -1)  # instances of all groups
    begin = np.searchsorted(pairs[:, 0], lanes.bounds[:, [0, 1]])
    boxes = np.isin(groups.label, groups.boxes)
    contents = _contents(groups)
    at = np.empty(len(groups.confidence), np.int64)  # the place of an instance among the elements of its frame
    for k, g in enumerate(own.tolist()):
        first = g - g % groups.classes
        traffic = first + np.flatnonzero(boxes[first : first + groups.classes])
        bounds = groups.bounds[[g, *traffic.tolist()]]
        whole = int(groups.bounds[first, 0]), int(groups.bounds[first + groups.classes - 1, 2])
        links = links_between(groups.links, *whole)
        x, y = (
            _elements(
                groups, contents, bounds[:, side], stop=bounds[:, side + 1], links=links, whole=whole, floor=floor
            )
            for side in (0, 1)
        )
        near = slice(*begin[k].tolist())
        tables = np.zeros((3, len(x.instance), len(y.instance)))
        at[x.instance] = np.arange(len(x.instance))
        at[y.instance] = np.arange(len(y.instance))
        i, j = at[rows[pairs[near]]].T
        tables[:, i, j] = numbers[near].T
        tables[::2, x.lanes :, y.lanes :] = _traffic(groups, x, y)
        partner = truth_of[np.searchsorted(rows, x.instance[: x.lanes])]
        yield (
            g,
            FrameGraphs(
                x=x,
                y=y,
                saving=tables[0],
                matched=tables[1],
                unmatched=tables[2],
                plain=plain[k],
                truth_of=np.where(partner >= 0, at[partner], -1),
            ),
        )


def _elements(
    groups: Groups,
    contents: list[bytes],
    start: Indices,
    stop: Indices,
    links: Links | None,
    whole: tuple[int, int],
    floor: float,
) -> Elements:
    """Return the elements of one side of a frame: the lanes, then the boxes of each class.

    ``links`` are those of the frame, which has the instances from ``whole[0]`` to ``whole[1]``.
    """
    instance = ranges(start, stop - start)
    lanes = int(stop[0] - start[0])
    place = np.full(whole[1] - whole[0], -1)
    place[instance - whole[0]] = np.arange(len(instance))
    if links is None:
        source = target = kind = np.empty(0, np.int64)
        score = np.empty(0)
    else:
        source = place[links.source]
        target = place[links.target]
        score = links.weight
        is_kind = np.where(target < lanes, links.is_kind(SUCCESSOR), links.is_kind(CONTROLLED_BY))
        counts = (source >= 0) & (source < lanes) & (target >= 0) & is_kind
        source = source[counts]
        target = target[counts]
        score = score[counts]
        kind = (target >= lanes).astype(np.int64)
        if score.max(initial=0.0) > 1:
            raise InvalidInput(f"links: a link has weight {score.max():g}, expected a number in [0, 1]")
    if floor:
        weight = np.maximum(score - floor, 0.0) / (1.0 - floor)
    else:
        weight = score
    order = _by_content([contents[i] for i in instance.tolist()], lanes, source, target=target, weight=weight)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    sort = np.lexsort((rank[target], rank[source]))
    sort = sort[weight[sort] > 0]
    graph = LinkGraph(len(instance), rank[source][sort], rank[target][sort], weight=weight[sort])
    return Elements(
        instance[order], lanes, groups.confidence[instance[order]], graph=graph, kind=kind[sort], score=score[sort]
    )


def _contents(groups: Groups) -> list[bytes]:
    """Return the class, the confidence and the points of each instance as bytes."""
    names = [name.encode() for name in groups.names]
    confidences = groups.confidence.tobytes()
    points = np.ascontiguousarray(groups.polylines.coords).tobytes()
    label = groups.label[groups.side // 2].tolist()
    ends = (groups.polylines.offsets * (8 * groups.polylines.coords.shape[1])).tolist()
    return [
        names[c] + confidences[8 * i : 8 * i + 8] + points[start:end]
        for i, (c, (start, end)) in enumerate(zip(label, pairwise(ends), strict=True))
    ]


def _by_content(contents: list[bytes], lanes: int, source: Indices, target: Indices, weight: Floats) -> Indices:
    """Return the order of the elements by content, lanes first. Links tell equal elements apart."""
    shares = np.ascontiguousarray(weight).view("V8").tolist()
    keys = distinguished(contents, source.tolist(), target.tolist(), labels=shares)
    return np.array(sorted(range(len(keys)), key=lambda k: (k >= lanes, keys[k])), np.int64)


def _traffic(groups: Groups, x: Elements, y: Elements) -> Floats:
    """Return what pairs of traffic elements save, and their weighted distances: 1 - IoU, or 1 if attributes differ."""
    own = x.instance[x.lanes :]
    other = y.instance[y.lanes :]
    if not len(own) or not len(other):
        return np.zeros((2, len(own), len(other)))
    label = groups.label[groups.side // 2]
    corners = (
        groups.polylines.coords[groups.polylines.offsets[boxes] + k, :2] for boxes in (own, other) for k in (0, 1)
    )
    low, high, other_low, other_high = corners
    inside = np.minimum(high[:, None], other_high) - np.maximum(low[:, None], other_low)
    shared = np.maximum(inside, 0.0).prod(axis=2)
    whole = (high - low).prod(axis=1)[:, None] + (other_high - other_low).prod(axis=1) - shared
    distance = np.where(whole > 0, 1.0 - shared / np.where(whole > 0, whole, 1.0), 1.0)
    equal = (low[:, None] == other_low).all(axis=2) & (high[:, None] == other_high).all(axis=2)
    distance = np.where(equal, 0.0, np.maximum(distance, 0.0))
    distance[label[own, None] != label[None, other]] = 1.0
    weight = np.minimum(x.confidence[x.lanes :, None], y.confidence[None, y.lanes :])
    return np.stack([weight * (1.0 - distance), weight * distance])


@dataclass(frozen=True, slots=True, eq=False)
class GraphAssignment:
    """Who is assigned to whom in a frame, and what that does to links. Elements are those of ``FrameGraphs``."""

    first: Indices  # (pairs,)
    second: Indices
    weight: Floats  # (pairs,), in (0, 1]
    links: Broken
    gap: float | None  # value less the value of the linear programme; None if that has no 0/1 solution


def solve_frame(frame: FrameGraphs, link_cost: float, *, binary: bool = False) -> tuple[Floats, GraphAssignment]:
    """Return the numbers of ``COLUMNS`` of a frame, and the assignment: of 0 or 1, or that of the linear programme."""
    row = np.zeros(len(COLUMNS))
    without = _without_links(frame)
    row[:5] = frame.plain[:5]
    row[TRAFFIC_ELEMENTS] = _traffic_cost(frame, *without)
    row[PLAIN] = added(row[:6])
    traffic = [*frame.x.confidence[frame.x.lanes :].tolist(), *frame.y.confidence[frame.y.lanes :].tolist()]
    row[MASS] = frame.plain[5] + 0.5 * math.fsum(traffic)
    gap: float | None = 0.0
    first, second, weight = without
    if link_cost > 0 and (len(frame.x.graph.weight) or len(frame.y.graph.weight)):
        kind_x, kind_y = ((np.arange(len(e.instance)) >= e.lanes).astype(np.int64) for e in (frame.x, frame.y))
        problem = Linked(frame.x.graph, frame.y.graph, kind_x, kind_y=kind_y, saving=frame.saving)
        best = assign_with_links(problem, link_cost, binary=binary)
        first = best.first
        second = best.second
        weight = best.weight
        row[:5] = _lane_parts(frame, first, second, weight=weight)
        row[TRAFFIC_ELEMENTS] = _traffic_cost(frame, first, second, weight=weight)
        gap = None
        if (weight == 1.0).all():
            gap = max(best.linear - best.total, 0.0)
    links = broken(frame.x.graph, frame.y.graph, first, second=second, weight=weight)
    halves = np.concatenate([links.false_half, links.missing_half])
    for k, shares in enumerate((links.false, links.missing, halves)):
        row[LINKS][k] = link_cost * math.fsum(shares.tolist())
        row[COUNTS][k] = np.count_nonzero(shares >= WRONG / (1 + (k == 2)))
    return row, GraphAssignment(first, second, weight, links=links, gap=gap)


def _without_links(frame: FrameGraphs) -> tuple[Indices, Indices, Floats]:
    """Return the assignment of PLD of lanes and of PLD of traffic elements."""
    m = frame.x.lanes
    n = frame.y.lanes
    traffic, _ = kernels.assignment.assign(np.ascontiguousarray(frame.saving[m:, n:]))
    partner = np.concatenate([frame.truth_of, np.where(traffic >= 0, traffic + n, -1)])
    first = np.flatnonzero(partner >= 0)
    return first, partner[first], np.ones(len(first))


def _lane_parts(frame: FrameGraphs, first: Indices, second: Indices, weight: Floats) -> Floats:
    """Return the five parts of an assignment of lanes. A pair that saves nothing is not a match."""
    saves = (frame.saving[first, second] > 0) & (first < frame.x.lanes)
    i = first[saves]
    j = second[saves]
    w = weight[saves]
    r = frame.x.confidence
    s = frame.y.confidence
    free = [np.maximum(1.0 - np.bincount(at, w, minlength=len(c)), 0.0) for at, c in ((i, r), (j, s))]
    costs = (
        w * frame.matched[i, j],
        w * frame.unmatched[i, j],
        w * (0.5 * np.abs(r[i] - s[j])),
        (0.5 * s * free[1])[: frame.y.lanes],
        (0.5 * r * free[0])[: frame.x.lanes],
    )
    return np.array([math.fsum(cost.tolist()) for cost in costs])


def _traffic_cost(frame: FrameGraphs, first: Indices, second: Indices, weight: Floats) -> float:
    """Return the cost of the assignment of traffic elements."""
    of = first >= frame.x.lanes
    i = first[of]
    j = second[of]
    w = weight[of]
    r = frame.x.confidence
    s = frame.y.confidence
    pairs = w * (frame.unmatched[i, j] + 0.5 * np.abs(r[i] - s[j]))
    free = [
        (0.5 * c * np.maximum(1.0 - np.bincount(at, w, minlength=len(c)), 0.0))[lanes:]
        for at, c, lanes in ((i, r, frame.x.lanes), (j, s, frame.y.lanes))
    ]
    return math.fsum([*pairs.tolist(), *free[0].tolist(), *free[1].tolist()])


def links_of_frame(
    predictions: MapFrames,
    truth: MapFrames,
    protocol: Protocol,
    *,
    cutoff: float,
    index: tuple[Indices, Indices],
) -> list[FrameLink]:
    """Return the true links that are right, and the links of which at least one half is wrong.

    There are none if the protocol has no link cost, a side has no links, or the solver is not installed.
    """
    own = protocol.settings.get("lane_graph_pld")
    if own is None or LANE not in truth.classes or not (predictions.links and truth.links):
        return []
    groups = group(predictions, truth, protocol, links=True)
    _, frame = next(frame_graphs(groups, protocol.directed, cutoff, floor=own.link_floor))
    try:
        _, solved = solve_frame(frame, own.link_cost)
    except MissingDependency:
        return []
    assigned = np.bincount(solved.second, solved.weight, minlength=frame.y.graph.size) > WRONG
    links = []
    for predicted, side, of_side, full, half in (
        (True, frame.x, index[0], solved.links.false, solved.links.false_half),
        (False, frame.y, index[1], solved.links.missing, solved.links.missing_half),
    ):
        rows = of_side[groups.row[side.instance]]
        for k in np.flatnonzero(side.kind == KINDS.index(SUCCESSOR)).tolist():
            i = int(side.graph.source[k])
            j = int(side.graph.target[k])
            if half[k] >= WRONG / 2:
                state: LinkState = "half"
            elif full[k] >= WRONG:
                state = "missing"
                if predicted:
                    state = "false"
            elif not predicted and assigned[i] and assigned[j]:
                state = "right"
            else:
                continue
            links.append(FrameLink(state, predicted, int(rows[i]), target=int(rows[j]), score=float(side.score[k])))
    return sorted(links, key=lambda link: (LINK_STATES.index(link.state), link[1:]))


def compares_links(protocol: Protocol) -> bool:
    """Whether a protocol has lane-graph PLD, and so a link cost."""
    return "lane_graph_pld" in protocol.settings


DRAWN = DrawnLinks(of_frame=links_of_frame, are_compared=compares_links)
