"""The matches of PLD and their matched points. Metrics of the same groups compute them once.

The matches of an earlier evaluation of the same frames are used again, if they are known. Those of a file may be wrong,
so they are used only if they have the parts of PLD that the file has.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.pld import assign_groups, parts_of_matches, shared_key
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Floats, Indices

_SAME = 1e-9  # parts of PLD that differ by more than this share of the mass are not those of the same assignment


class Assigned(NamedTuple):
    """The assignment of groups: true lines of predictions, and matched points."""

    truth_of: Indices  # (instances,): the true instance of each matched prediction; -1 for others
    partner: Indices  # (points,): the matched point of each point; -1 for others
    matched: Indices  # (instances,): the number of matched points of each prediction
    cost: Floats  # (instances,): the sum of their distances, to the power of the order


class Matches(NamedTuple):
    """The matches of predictions, in the order of rows: by frame, class and position in the file."""

    truth: Indices  # (predictions,): the index among the truth of the same frame and class; -1 for none
    distance: Floats | None  # (predictions,): normalised SOSPA; NaN for none. None if they come from a file

    def at(self, rows: Indices | Flags | slice) -> "Matches":
        """Return the matches of some predictions."""
        return Matches(self.truth[rows], None if self.distance is None else self.distance[rows])

    @classmethod
    def concatenate(cls, parts: Sequence["Matches"]) -> "Matches":
        """Concatenate the matches of consecutive ranges of predictions."""
        distances = [part.distance for part in parts if part.distance is not None]
        truth = np.concatenate([part.truth for part in parts])
        return cls(truth, np.concatenate(distances) if len(distances) == len(parts) else None)


class Known(NamedTuple):
    """What an earlier evaluation of the same groups found."""

    matches: Matches
    sums: Floats | None  # (groups, 6): the parts of PLD and the mass; None if they are not known


def matches_of(groups: Groups, protocol: Protocol, every: Groups, kept: Indices | None) -> Matches | None:
    """Return the matches of groups that were scored; None if PLD was not computed.

    Args:
        groups: The groups.
        protocol: All settings.
        every: The groups with boxes.
        kept: The instances of these that are in the groups. If None, all.
    """
    scored = groups.shared.get(shared_key(protocol.cutoffs[0])) if protocol.cutoffs else None
    if scored is None:
        return None
    truth, distance = scored.truth_of, scored.distance
    place = np.empty_like(truth)
    place[groups.by_row] = np.arange(len(place))
    truth = np.where(truth >= 0, place[truth] - groups.bounds[groups.side // 2, 1], -1)
    if kept is not None:
        of_lines, count = (truth, distance), len(every.row)
        truth, distance = np.full(count, -1), np.full(count, np.nan)
        truth[kept], distance[kept] = of_lines
    return Matches(truth, distance).at(every.predictions)


def truth_of_matches(groups: Groups, matches: Matches, every: Groups, kept: Indices | None) -> Indices | None:
    """Return the true instance of each instance of groups, or -1. The arguments are those of ``matches_of``.

    Returns:
        None if the matches cannot be those of the groups.
    """
    if len(matches.truth) != len(every.predictions):
        return None
    truth = np.full(len(every.row), -1)
    truth[every.predictions] = matches.truth
    truth = truth if kept is None else truth[kept]
    _, first, end = groups.bounds[groups.side // 2].T
    if (first + truth >= end).any():
        return None
    return np.where(truth >= 0, groups.by_row[first + truth], -1)


def know_matches(groups: Groups, protocol: Protocol, known: Known, every: Groups, kept: Indices | None) -> None:
    """Let metrics use known matches. The arguments are those of ``matches_of``, and what is known.

    Matches that cannot be those of the groups are left out.
    """
    truth_of = truth_of_matches(groups, known.matches, every, kept)
    if truth_of is not None:
        groups.shared[_key(protocol.cutoffs[0])] = truth_of, known.sums


def _key(cutoff: float) -> str:
    return f"matches@{cutoff}"


def assigned(groups: Groups, protocol: Protocol, cutoff: float) -> Assigned:
    """Return the optimal assignment of instances and points at a cutoff."""
    key = f"points@{cutoff}"
    if key not in groups.shared:
        truth_of, sums = groups.shared.get(_key(cutoff), (None, None))
        found = None if truth_of is None else _with_points(groups, protocol, cutoff, truth_of)
        if found is None or not _has_parts(found, groups, protocol, cutoff, sums):
            found = _with_points(groups, protocol, cutoff, assign_groups(groups, protocol, cutoff).truth_of)
        groups.shared[key] = found
    shared: Assigned = groups.shared[key]
    return shared


def _with_points(groups: Groups, protocol: Protocol, cutoff: float, truth_of: Indices) -> Assigned:
    """Return an assignment of instances with the matched points."""
    count = len(groups.confidence)
    found = Assigned(truth_of, np.full(groups.points.shape[1], -1), np.zeros(count, np.int64), np.zeros(count))
    pairs = kernels.interpreting.Pairs(groups.lines, cutoff, protocol.order, groups.bounds)
    kernels.interpreting.call(
        *(kernels.nearest.match_points, pairs.visits),
        *(groups.lines, groups.closed, truth_of, protocol.directed, cutoff, protocol.order),
        *(kernels.sospa.is_long(groups.lines, groups.closed), *found[1:]),
    )
    return found


def _has_parts(found: Assigned, groups: Groups, protocol: Protocol, cutoff: float, sums: Floats | None) -> bool:
    """Whether an assignment has the parts of PLD that are known. It then is the optimal one, or as good."""
    if sums is None:
        return True
    if sums.shape != (len(groups.bounds), kernels.pld.MASS + 1):
        return False
    parts = parts_of_matches(groups, found.truth_of, found.matched, found.cost, cutoff, protocol.order)
    return bool((np.abs(parts - sums) <= _SAME * sums[:, -1:]).all())  # False for NaN
