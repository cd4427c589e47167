"""Lane-graph PLD of one frame, and its links, right and wrong."""

import math
from dataclasses import dataclass

import numpy as np

from mapgauge import kernels
from mapgauge.errors import MissingDependency
from mapgauge.features.lanes.lane_graph_sides import KINDS, FrameGraphs, frame_graphs
from mapgauge.features.lanes.linked_graphs import Broken, Linked, assign_with_links, broken
from mapgauge.frames.links import LINK_STATES, SUCCESSOR, FrameLink, LinkState
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.groups import group
from mapgauge.metrics.pld import Parts, added
from mapgauge.protocols import LANE, Protocol
from mapgauge.typing import Floats, Indices

LINK_PARTS = ("false_links", "missing_links", "half_links")
PARTS = (*Parts._fields, "traffic_elements", *LINK_PARTS)
# The parts, the mass, the value without link costs, and the numbers of wrong links.
COLUMNS = (*PARTS, "mass", "plain", *(f"{name[:-1]}_count" for name in LINK_PARTS))
TRAFFIC_ELEMENTS, LINKS, MASS, PLAIN = 5, slice(6, 9), 9, 10
COUNTS = slice(11, 14)
WRONG = 0.5  # a link counts as wrong if at least this much of it is false, missing or half


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
    row[:5], row[TRAFFIC_ELEMENTS] = frame.plain[:5], _traffic_cost(frame, *without)
    row[PLAIN] = added(row[:6])
    row[MASS] = frame.plain[5] + _half(frame.x.confidence[frame.x.lanes :], frame.y.confidence[frame.y.lanes :])
    gap: float | None = 0.0
    first, second, weight = without
    if link_cost > 0 and frame.linked:
        problem = Linked(frame.x.graph, frame.y.graph, frame.x.kinds, frame.y.kinds, frame.saving)
        assignment = assign_with_links(problem, link_cost, binary=binary)
        first, second, weight = assignment.first, assignment.second, assignment.weight
        row[:5] = _lane_parts(frame, first, second, weight)
        row[TRAFFIC_ELEMENTS] = _traffic_cost(frame, first, second, weight)
        gap = max(assignment.linear - assignment.total, 0.0) if (weight == 1.0).all() else None
    links = broken(frame.x.graph, frame.y.graph, first, second, weight)
    halves = np.concatenate([links.false_half, links.missing_half])
    for k, shares in enumerate((links.false, links.missing, halves)):
        row[LINKS][k] = link_cost * math.fsum(shares.tolist())
        row[COUNTS][k] = np.count_nonzero(shares >= WRONG / (1 + (k == 2)))
    return row, GraphAssignment(first, second, weight, links, gap)


def _without_links(frame: FrameGraphs) -> tuple[Indices, Indices, Floats]:
    """Return the assignment of PLD of lanes and of PLD of traffic elements."""
    m, n = frame.x.lanes, frame.y.lanes
    traffic, _ = kernels.assignment.assign(np.ascontiguousarray(frame.saving[m:, n:]))
    partner = np.concatenate([frame.truth_of, np.where(traffic >= 0, traffic + n, -1)])
    first = np.flatnonzero(partner >= 0)
    return first, partner[first], np.ones(len(first))


def _lane_parts(frame: FrameGraphs, first: Indices, second: Indices, weight: Floats) -> Floats:
    """Return the five parts of an assignment of lanes.

    A pair that saves nothing may carry links. It is not a match: its lanes are missed and false, at the same cost.
    """
    saves = (frame.saving[first, second] > 0) & (first < frame.x.lanes)
    i, j, w = first[saves], second[saves], weight[saves]
    r, s = frame.x.confidence, frame.y.confidence
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
    i, j, w = first[of], second[of], weight[of]
    r, s = frame.x.confidence, frame.y.confidence
    pairs = w * (frame.unmatched[i, j] + 0.5 * np.abs(r[i] - s[j]))
    free = [
        (0.5 * c * np.maximum(1.0 - np.bincount(at, w, minlength=len(c)), 0.0))[lanes:]
        for at, c, lanes in ((i, r, frame.x.lanes), (j, s, frame.y.lanes))
    ]
    return math.fsum([*pairs.tolist(), *free[0].tolist(), *free[1].tolist()])


def _half(*confidences: Floats) -> float:
    return 0.5 * math.fsum(value for values in confidences for value in values.tolist())


def links_of_frame(
    predictions: MapFrames, truth: MapFrames, protocol: Protocol, cutoff: float, index: tuple[Indices, Indices]
) -> list[FrameLink]:
    """Return the true links that are right, and the links of which at least one half is wrong.

    There are none if the protocol has no link cost, a side has no links, or the solver is not installed. ``index`` has
    the index of each prediction and each true instance in the lists of its side.
    """
    own = protocol.settings.get("lane_graph_pld")
    if own is None or LANE not in truth.classes or not (predictions.links and truth.links):
        return []
    groups = group(predictions, truth, protocol, links=True)
    _, frame = next(frame_graphs(groups, protocol.directed, cutoff, own.link_floor))
    try:
        _, assignment = solve_frame(frame, own.link_cost)
    except MissingDependency:
        return []
    assigned = np.bincount(assignment.second, assignment.weight, minlength=frame.y.graph.size) > WRONG
    links = []
    for predicted, side, of_side, full, half in (
        (True, frame.x, index[0], assignment.links.false, assignment.links.false_half),
        (False, frame.y, index[1], assignment.links.missing, assignment.links.missing_half),
    ):
        graph, rows = side.graph, of_side[groups.row[side.instance]]
        states: list[LinkState | None] = [
            "half" if h >= WRONG / 2 else ("false" if predicted else "missing") if f >= WRONG else None
            for f, h in zip(full.tolist(), half.tolist(), strict=True)
        ]
        for k, state in enumerate(states):
            i, j = int(graph.source[k]), int(graph.target[k])
            if state is None and not predicted and assigned[i] and assigned[j]:
                state = "right"
            if state is not None and KINDS[side.kind[k]] == SUCCESSOR:
                links.append(FrameLink(state, predicted, int(rows[i]), int(rows[j]), float(side.score[k])))
    return sorted(links, key=lambda link: (LINK_STATES.index(link.state), link[1:]))
