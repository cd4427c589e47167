"""The matches of PLD and their matched points. Metrics of the same groups compute them once.

The matches of an earlier evaluation of the same frames are used again, if they are known.
"""

from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.frames.groups import Groups
from mapgauge.metrics.pld import assign_groups
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Floats, Indices


class Assigned(NamedTuple):
    """The assignment of groups: true lines of predictions, and matched points."""

    truth_of: Indices  # (instances,): the true instance of each matched prediction; -1 for others
    partner: Indices  # (points,): the matched point of each point; -1 for others
    matched: Indices  # (instances,): the number of matched points of each prediction
    cost: Floats  # (instances,): the sum of their distances, to the power of the order


def matches_of(groups: Groups, protocol: Protocol, predictions: Flags, kept: Indices | None) -> Indices | None:
    """Return the match of each prediction among the truth of its group, -1 for none; None if PLD was not computed.

    Args:
        groups: Groups that were scored.
        protocol: All settings.
        predictions: Which of all instances are predictions.
        kept: The instances that are in the groups. If None, all.
    """
    key = f"pld@{protocol.cutoffs[0]}" if protocol.cutoffs else ""
    if key not in groups.shared:
        return None
    truth_of = groups.shared[key][1]
    local = np.where(truth_of >= 0, truth_of - groups.bounds[groups.side // 2, 1], -1)
    if kept is not None:
        local, of_lines = np.full(len(predictions), -1), local
        local[kept] = of_lines
    found: Indices = local[predictions]
    return found


def know_matches(
    groups: Groups, protocol: Protocol, matches: Indices, predictions: Flags, kept: Indices | None
) -> None:
    """Let metrics use known matches. The arguments are those of ``matches_of``, and what it returned."""
    local = np.full(len(predictions), -1)
    local[predictions] = matches
    if kept is not None:
        local = local[kept]
    groups.shared[_key(protocol.cutoffs[0])] = np.where(local >= 0, local + groups.bounds[groups.side // 2, 1], -1)


def _key(cutoff: float) -> str:
    return f"matches@{cutoff}"


def assigned(groups: Groups, protocol: Protocol, cutoff: float) -> Assigned:
    """Return the optimal assignment of instances and points at a cutoff."""
    key = f"points@{cutoff}"
    if key not in groups.shared:
        truth_of = groups.shared.get(_key(cutoff))
        if truth_of is None:
            truth_of = assign_groups(groups, protocol, cutoff)[1]
        count = len(groups.confidence)
        found = Assigned(truth_of, np.full(groups.points.shape[1], -1), np.zeros(count, np.int64), np.zeros(count))
        kernels.nearest.match_points(
            *(groups.lines, groups.closed, truth_of, protocol.directed, cutoff, protocol.order),
            *(kernels.sospa.is_long(groups.lines, groups.closed), *found[1:]),
        )
        groups.shared[key] = found
    shared: Assigned = groups.shared[key]
    return shared
