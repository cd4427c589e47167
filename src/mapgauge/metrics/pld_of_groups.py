"""PLD of groups, and its assignment. Metrics of the same groups compute it once."""

from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.frames.groups import Groups
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices


class Scored(NamedTuple):
    """PLD of groups, and the optimal assignment."""

    sums: Floats  # (groups, 6): the five parts and the mass
    truth_of: Indices  # (instances,): the true instance of each matched prediction; -1 for others
    distance: Floats  # (instances,): normalised SOSPA of each matched prediction; NaN for others


def score_groups(groups: Groups, directed: bool, cutoff: float, order: float) -> Scored:
    """Return PLD of groups, and the optimal assignment."""
    count = len(groups.confidence)
    found = Scored(np.zeros((len(groups.bounds), kernels.pld.MASS + 1)), np.full(count, -1), np.full(count, np.nan))
    kernels.interpreting.call(
        *(kernels.pld.pld_of_groups, kernels.interpreting.Pairs(groups.lines, cutoff, order, groups.bounds).visits),
        *(groups.lines, groups.closed, groups.confidence, groups.bounds),
        *(directed, cutoff, order, kernels.sospa.is_long(groups.lines, groups.closed), *found),
    )
    return found


def assign_groups(groups: Groups, protocol: Protocol, cutoff: float) -> Scored:
    """Return what ``score_groups`` does. Metrics of the same groups share it."""
    key = shared_key(cutoff)
    if key not in groups.shared:
        groups.shared[key] = score_groups(groups, protocol.directed, cutoff, protocol.order)
    found: Scored = groups.shared[key]
    return found


def shared_key(cutoff: float) -> str:
    """Return the key of ``Scored`` in ``Groups.shared``."""
    return f"pld@{cutoff}"
