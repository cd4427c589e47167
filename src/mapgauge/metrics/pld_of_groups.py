"""PLD of groups, and its assignment. Metrics of the same groups compute it once."""

import math
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


def sospa_of_matches(
    groups: Groups, x: Indices, y: Indices, matched: Indices, cost: Floats, cutoff: float, order: float
) -> tuple[Floats, Floats]:
    """Return ``sospa^p`` and normalised SOSPA of matched instances, as kernels compute them.

    Args:
        groups: The groups.
        x: The matched predictions.
        y: Their true instances.
        matched: Their numbers of matched points.
        cost: The sums of the distances of these points, to the power of the order.
        cutoff: Cutoff of SOSPA in metres.
        order: Order of PLD.
    """
    span = groups.lines.span.astype(np.int64)
    points = span[:, 1] - span[:, 0]
    both, unit = points[x] + points[y], 0.5 * (cutoff if order == 1 else 1.0)  # other orders have costs in cutoffs
    total = cost + unit * (both - 2 * matched)
    share = np.minimum(total / np.where(both > 0, unit * both, 1.0), 1.0)
    if order != 1:  # the last bit of numpy's power differs between processors
        share = np.array([math.pow(value, 1 / order) for value in share.tolist()])
    return total, 2 * share / (1 + share)


def parts_of_matches(
    groups: Groups, truth_of: Indices, matched: Indices, cost: Floats, cutoff: float, order: float
) -> Floats:
    """Return the parts of PLD of groups and the mass for an assignment, up to rounding.

    Args:
        groups: The groups.
        truth_of: The true instance of each matched prediction; -1 for others.
        matched: The number of matched points of each prediction.
        cost: The sum of their distances, to the power of the order.
        cutoff: Cutoff of SOSPA in metres.
        order: Order of PLD.
    """
    mine, alone = truth_of >= 0, groups.is_prediction & (truth_of < 0)
    missed = ~groups.is_prediction
    missed[truth_of[mine]] = False
    x, y, half = np.flatnonzero(mine), truth_of[mine], 0.5 * groups.confidence
    total, distance = sospa_of_matches(groups, x, y, matched[x], cost[x], cutoff, order)
    weighted = np.minimum(*groups.confidence[[x, y]]) * distance**order
    of_points = np.divide(cost[x], total, out=np.zeros(len(x)), where=total > 0)
    columns = (
        *((x, weighted * of_points), (x, weighted * (1 - of_points)), (x, np.abs(half[x] - half[y]))),
        *((rows := np.flatnonzero(flags), half[rows]) for flags in (missed, alone, np.ones_like(mine))),
    )
    of_row = groups.side // 2
    return np.stack([np.bincount(of_row[rows], part, len(groups.bounds)) for rows, part in columns], axis=1)


def shared_key(cutoff: float) -> str:
    """Return the key of ``Scored`` in ``Groups.shared``."""
    return f"pld@{cutoff}"
