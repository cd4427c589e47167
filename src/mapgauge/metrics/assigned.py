"""The matches of PLD and their matched points. Metrics of the same groups compute them once.

The matches of an earlier evaluation of the same frames are used again, if they are known. Matches in a file may be
wrong, so they are used only if they have the parts of PLD that the file has.
"""

import math
from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.metrics.groups import Block, Groups
from mapgauge.metrics.pld import assign_groups, shared_key
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices

_SAME = 1e-9  # parts of PLD that differ by more than this share of the mass have another assignment


class Assigned(NamedTuple):
    """The assignment of groups: true lines of predictions, matched points, and SOSPA."""

    truth_of: Indices  # (instances,): the true instance of each matched prediction; -1 for others
    partner: Indices  # (points,): the matched point of each point; -1 for others
    matched: Indices  # (instances,): the number of matched points of each prediction
    cost: Floats  # (instances,): the sum of their distances, to the power of the order
    total: Floats  # (instances,): SOSPA to the power of the order of each matched prediction; 0 for others
    distance: Floats  # (instances,): normalised SOSPA of each matched prediction; NaN for others

    @property
    def pairs(self) -> tuple[Indices, Indices]:
        """The matched predictions, and the true instance of each."""
        matched = np.flatnonzero(self.truth_of >= 0)
        return matched, self.truth_of[matched]


class ScoredMatches(NamedTuple):
    """The matches of some frames, and the parts of PLD that belong to them."""

    matches: Indices  # (predictions,): as ``matches_of`` returns them
    sums: Floats | None  # (groups, 6): the parts of PLD and the mass; None if they are not known


def matches_of(block: Block, protocol: Protocol) -> Indices | None:
    """Return the matches of a block that was scored; None if PLD was not computed.

    They are the index of each prediction's true instance among the truth of its frame and class, or -1. Predictions are
    in the order of rows: by frame, class and position in the file.
    """
    lines = block.lines
    if protocol.cutoffs:
        scored = lines.shared.get(shared_key(protocol.cutoffs[0]))
    else:
        scored = None
    if scored is None:
        return None
    place = np.empty_like(scored.truth_of)
    place[lines.by_row] = np.arange(len(place))
    truth = np.where(scored.truth_of >= 0, place[scored.truth_of] - lines.bounds[lines.side // 2, 1], -1)
    return block.for_all(truth, of_boxes=-1)[block.groups.predictions]


def _truth_of(block: Block, matches: Indices) -> Indices | None:
    """Return the true instance of each line of a block, or -1; None if the matches cannot belong to the block."""
    lines = block.lines
    predictions = block.groups.predictions
    if len(matches) != len(predictions):
        return None
    truth = np.full(len(block.groups.row), -1)
    truth[predictions] = matches
    if block.of_lines is not None:
        truth = truth[block.of_lines]
    _, first, end = lines.bounds[lines.side // 2].T
    if (first + truth >= end).any():
        return None
    return np.where(truth >= 0, lines.by_row[first + truth], -1)


def use_matches(block: Block, protocol: Protocol, scored: ScoredMatches) -> None:
    """Let metrics use the matches of an earlier evaluation. Matches that cannot belong to the block are left out."""
    truth_of = _truth_of(block, scored.matches)
    if truth_of is not None:
        block.lines.shared[f"matches@{protocol.cutoffs[0]}"] = truth_of, scored.sums


def assigned(groups: Groups, protocol: Protocol, cutoff: float) -> Assigned:
    """Return the optimal assignment of instances and points at a cutoff."""
    key = f"points@{cutoff}"
    if key not in groups.shared:
        truth_of, sums = groups.shared.get(f"matches@{cutoff}", (None, None))
        if truth_of is None:
            assignment = None
        else:
            assignment = _with_points(groups, protocol, cutoff, truth_of=truth_of)
        if assignment is None or not _has_parts(assignment, groups, protocol.order, sums=sums):
            assignment = _with_points(
                groups, protocol, cutoff, truth_of=assign_groups(groups, protocol, cutoff).truth_of
            )
        groups.shared[key] = assignment
    shared: Assigned = groups.shared[key]
    return shared


def _with_points(groups: Groups, protocol: Protocol, cutoff: float, truth_of: Indices) -> Assigned:
    """Return an assignment of instances with the matched points and SOSPA, as kernels compute it."""
    count = len(groups.confidence)
    partner = np.full(groups.points.shape[1], -1)
    matched = np.zeros(count, np.int64)
    cost = np.zeros(count)
    kernels.matched_points.match_points(
        groups.lines,
        groups.closed,
        truth_of,
        directed=protocol.directed,
        cutoff=cutoff,
        order=protocol.order,
        long=kernels.sospa.is_long(groups.lines, groups.closed),
        partner=partner,
        matched=matched,
        cost=cost,
    )
    x = np.flatnonzero(truth_of >= 0)
    total = np.zeros(count)
    distance = np.full(count, np.nan)
    span = groups.lines.span.astype(np.int64)
    points = span[:, 1] - span[:, 0]
    order = protocol.order
    both = points[x] + points[truth_of[x]]
    if order == 1:
        unit = 0.5 * cutoff
    else:
        unit = 0.5  # the kernels of other orders have costs in cutoffs
    total[x] = cost[x] + unit * (both - 2 * matched[x])
    share = np.minimum(total[x] / np.where(both > 0, unit * both, 1.0), 1.0)
    if order != 1:  # the last bit of numpy's power differs between processors
        share = np.array([math.pow(value, 1 / order) for value in share.tolist()])
    distance[x] = 2 * share / (1 + share)
    return Assigned(truth_of, partner, matched, cost=cost, total=total, distance=distance)


def parts_of(assignment: Assigned, groups: Groups, order: float) -> Floats:
    """Return the parts of PLD of groups and the mass for an assignment, up to rounding."""
    truth_of = assignment.truth_of
    x, y = assignment.pairs
    half = 0.5 * groups.confidence
    is_false = groups.is_prediction & (truth_of < 0)
    is_missed = ~groups.is_prediction
    is_missed[y] = False
    cost = assignment.cost[x]
    total = assignment.total[x]
    weighted = np.minimum(*groups.confidence[[x, y]]) * assignment.distance[x] ** order
    of_points = np.divide(cost, total, out=np.zeros(len(x)), where=total > 0)
    columns = (
        (x, weighted * of_points),
        (x, weighted * (1 - of_points)),
        (x, np.abs(half[x] - half[y])),
        *((rows := np.flatnonzero(flags), half[rows]) for flags in (is_missed, is_false, np.ones_like(is_false))),
    )
    of_row = groups.side // 2
    return np.stack([np.bincount(of_row[rows], part, len(groups.bounds)) for rows, part in columns], axis=1)


def _has_parts(assignment: Assigned, groups: Groups, order: float, sums: Floats | None) -> bool:
    """Whether an assignment has the parts of PLD that are known, and so the smallest cost."""
    if sums is None:
        return True
    if sums.shape != (len(groups.bounds), kernels.pld.MASS + 1):
        return False
    return bool((np.abs(parts_of(assignment, groups, order) - sums) <= _SAME * sums[:, -1:]).all())  # False for NaN
