"""The matches of PLD and their matched points. Metrics of the same groups compute them once.

The matches of an earlier evaluation of the same frames are used again, if they are known.
"""

from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.frames.groups import Groups
from mapgauge.metrics.pld_of_groups import assign_groups, shared_key
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Floats, Indices


class Assigned(NamedTuple):
    """The assignment of groups: true lines of predictions, and matched points."""

    truth_of: Indices  # (instances,): the true instance of each matched prediction; -1 for others
    partner: Indices  # (points,): the matched point of each point; -1 for others
    matched: Indices  # (instances,): the number of matched points of each prediction
    cost: Floats  # (instances,): the sum of their distances, to the power of the order


class Matches(NamedTuple):
    """The matches of predictions, in the order of rows: by frame, class and position in the file."""

    truth: Indices  # (predictions,): the index among the truth of the same frame and class; -1 for none
    distance: Floats  # (predictions,): normalised SOSPA; NaN for none

    def at(self, rows: Indices | Flags | slice) -> "Matches":
        """Return the matches of some predictions."""
        return Matches(self.truth[rows], self.distance[rows])


def matches_of(groups: Groups, protocol: Protocol, predictions: Flags, kept: Indices | None) -> Matches | None:
    """Return the matches of groups that were scored; None if PLD was not computed.

    Args:
        groups: The groups.
        protocol: All settings.
        predictions: Which of all instances are predictions.
        kept: The instances that are in the groups. If None, all.
    """
    scored = groups.shared.get(shared_key(protocol.cutoffs[0])) if protocol.cutoffs else None
    if scored is None:
        return None
    truth = np.where(scored.truth_of >= 0, scored.truth_of - groups.bounds[groups.side // 2, 1], -1)
    found = Matches(truth, scored.distance)
    if kept is not None:
        found = Matches(np.full(len(predictions), -1), np.full(len(predictions), np.nan))
        found.truth[kept], found.distance[kept] = truth, scored.distance
    return found.at(predictions)


def truth_of_matches(groups: Groups, matches: Matches, predictions: Flags, kept: Indices | None) -> Indices:
    """Return the true instance of each instance of groups, or -1. The arguments are those of ``matches_of``."""
    truth = np.full(len(predictions), -1)
    truth[predictions] = matches.truth
    truth = truth if kept is None else truth[kept]
    return np.where(truth >= 0, truth + groups.bounds[groups.side // 2, 1], -1)


def know_matches(
    groups: Groups, protocol: Protocol, matches: Matches, predictions: Flags, kept: Indices | None
) -> None:
    """Let metrics use known matches. The arguments are those of ``matches_of``, and what it returned."""
    groups.shared[_key(protocol.cutoffs[0])] = truth_of_matches(groups, matches, predictions, kept)


def _key(cutoff: float) -> str:
    return f"matches@{cutoff}"


def assigned(groups: Groups, protocol: Protocol, cutoff: float) -> Assigned:
    """Return the optimal assignment of instances and points at a cutoff."""
    key = f"points@{cutoff}"
    if key not in groups.shared:
        truth_of = groups.shared.get(_key(cutoff))
        if truth_of is None:
            truth_of = assign_groups(groups, protocol, cutoff).truth_of
        count = len(groups.confidence)
        found = Assigned(truth_of, np.full(groups.points.shape[1], -1), np.zeros(count, np.int64), np.zeros(count))
        pairs = kernels.interpreting.Pairs(groups.lines, cutoff, protocol.order, groups.bounds)
        kernels.interpreting.call(
            *(kernels.nearest.match_points, pairs.visits),
            *(groups.lines, groups.closed, truth_of, protocol.directed, cutoff, protocol.order),
            *(kernels.sospa.is_long(groups.lines, groups.closed), *found[1:]),
        )
        groups.shared[key] = found
    shared: Assigned = groups.shared[key]
    return shared
