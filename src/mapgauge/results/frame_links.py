"""The links between the lanes of one frame, right and wrong. Figures and the report draw them."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.errors import MissingDependency
from mapgauge.frames.groups import group
from mapgauge.frames.links import SUCCESSOR
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.lane_graph_frame import WRONG, solve_frame
from mapgauge.metrics.lane_graph_sides import KINDS, frame_graphs
from mapgauge.protocols import LANE, Protocol
from mapgauge.typing import Indices

LinkState: TypeAlias = Literal["right", "false", "missing", "half"]
STATES: tuple[LinkState, ...] = ("right", "half", "missing", "false")  # in the order of drawing


class FrameLink(NamedTuple):
    """A link from a lane to another lane of the same side."""

    state: LinkState
    predicted: bool  # whether it is a predicted link; otherwise it is a true one
    source: int  # index into the predictions or the truth of the frame
    target: int
    score: float


def links_of_frame(
    predictions: MapFrames, truth: MapFrames, protocol: Protocol, cutoff: float, index: tuple[Indices, Indices]
) -> list[FrameLink]:
    """Return the true links that are right, and the links of which at least one half is wrong.

    There are none if the protocol has no link cost, a side has no links, or the solver is not installed.

    Args:
        predictions: One frame.
        truth: The same frame.
        protocol: All settings.
        cutoff: Cutoff of SOSPA, metres.
        index: For each prediction and each true instance, its index in the lists of its side.
    """
    if protocol.link_cost is None or LANE not in truth.classes or not (predictions.links and truth.links):
        return []
    groups = group(predictions, truth, protocol, links=True)
    _, frame = next(frame_graphs(groups, protocol.directed, cutoff, protocol.link_floor))
    try:
        _, found = solve_frame(frame, protocol.link_cost)
    except MissingDependency:
        return []
    assigned = np.bincount(found.second, found.weight, minlength=frame.y.graph.size) > WRONG
    links = []
    for predicted, side, of_side, full, half in (
        (True, frame.x, index[0], found.links.false, found.links.false_half),
        (False, frame.y, index[1], found.links.missing, found.links.missing_half),
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
    return sorted(links, key=lambda link: (STATES.index(link.state), link[1:]))
