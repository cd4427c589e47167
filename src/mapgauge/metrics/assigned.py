"""The matched points of the assignment of PLD. Metrics of the same groups compute them once."""

from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.frames.groups import Groups
from mapgauge.metrics.pld import assign_groups
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices


class Assigned(NamedTuple):
    """The assignment of groups: true lines of predictions, and matched points."""

    truth_of: Indices  # (instances,): the true instance of each matched prediction; -1 for others
    partner: Indices  # (points,): the matched point of each point; -1 for others
    matched: Indices  # (instances,): the number of matched points of each prediction
    cost: Floats  # (instances,): the sum of their distances, to the power of the order


def assigned(groups: Groups, protocol: Protocol, cutoff: float) -> Assigned:
    """Return the optimal assignment of instances and points at a cutoff."""
    key = f"points@{cutoff}"
    if key not in groups.shared:
        count, truth_of = len(groups.confidence), assign_groups(groups, protocol, cutoff)[1]
        found = Assigned(
            truth_of,
            np.full(len(groups.polylines.coords), -1),
            np.zeros(count, np.int64),
            np.zeros(count),
        )
        pairs = kernels.interpreting.Pairs(groups.lines, cutoff, protocol.order, groups.bounds)
        kernels.interpreting.call(
            *(kernels.nearest.match_points, pairs.visits),
            *(groups.lines, groups.closed, truth_of, protocol.directed, cutoff, protocol.order),
            *(kernels.sospa.is_long(groups.lines, groups.closed), *found[1:]),
        )
        groups.shared[key] = found
    shared: Assigned = groups.shared[key]
    return shared
