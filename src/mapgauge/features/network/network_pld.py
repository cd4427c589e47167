"""``network_pld``: PLD that assigns points, so that a broken line costs a break and not an instance."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mapgauge.arguments import check_closed, check_confidence, check_switch_cost, check_tolerance
from mapgauge.distances.sospa import check_sospa_arguments, pack_sets
from mapgauge.errors import MissingDependency, Remedy
from mapgauge.features.network.effort import USUAL, Effort
from mapgauge.features.network.points import PointAssignment, assign_points
from mapgauge.features.network.sides import NetworkSide, side_of
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.metrics.pld import PooledPld, added, normalised_value, share_of
from mapgauge.metrics.settings import PldSettings, setting
from mapgauge.protocols import Protocol
from mapgauge.typing import Closed, Floats, Indices, PolylinesLike

BREAK_COST = 0.5  # the recommended cost of a break of a line; docs/explanation/fragments.md gives the reason
PARTS = ("matched", "confidence", "missed", "false", "links")
# The parts, the mass, the numbers of breaks and false joins, the entropies times the matched points, these points, and
# by how much the value may exceed the smallest one.
COLUMNS = (*PARTS, "mass", "breaks", "false_joins", "split", "merge", "matched_points", "gap")
MASS = 5
COUNTS = slice(6, 8)
ENTROPIES = slice(8, 10)
MATCHED = 10
GAP = 11
PROVEN = 1e-6  # the share of a proven value that its gap may be


def solve_network(
    x: NetworkSide,
    y: NetworkSide,
    cutoff: float,
    break_cost: float,
    *,
    directed: bool = False,
    effort: Effort = USUAL,
) -> tuple[Floats, Indices]:
    """Return the numbers of ``COLUMNS`` of one frame and class, and pairs of lines with their numbers of pairs."""
    assignment = assign_points(x.network, y.network, cutoff, break_cost=break_cost, directed=directed, effort=effort)
    return row_of(x, y, assignment, break_cost=break_cost)


def row_of(x: NetworkSide, y: NetworkSide, assignment: PointAssignment, break_cost: float) -> tuple[Floats, Indices]:
    """Return the numbers of ``COLUMNS`` of an assignment, and pairs of lines with their numbers of pairs."""
    row = np.zeros(len(COLUMNS))
    row[: len(PARTS)] = _parts(x, y, assignment, break_cost=break_cost)
    row[MASS] = 0.5 * math.fsum([*x.confidence.tolist(), *y.confidence.tolist()])
    near = assignment.saving > 0
    first = assignment.first[near]
    second = assignment.second[near]
    row[COUNTS] = _changes(y, second, x.line[first]), _changes(x, first, y.line[second])
    lines, points = np.unique(np.stack([x.line[first], y.line[second]], axis=1), axis=0, return_counts=True)
    row[ENTROPIES] = _entropy(lines[:, 1], points), _entropy(lines[:, 0], points)
    row[MATCHED] = len(first)
    row[GAP] = assignment.gap
    return row, np.column_stack([lines, points])


def _parts(x: NetworkSide, y: NetworkSide, assignment: PointAssignment, break_cost: float) -> list[float]:
    """Return the five parts of an assignment.

    A pair that saves nothing may keep a run together. It is not a match: its points are missed and false, at the same
    cost.
    """
    near = assignment.saving > 0
    i = assignment.first[near]
    j = assignment.second[near]
    saving = assignment.saving[near]
    r = x.confidence
    s = y.confidence
    free = [np.bincount(at, minlength=len(c)) == 0 for at, c in ((i, r), (j, s))]
    costs = (np.minimum(r[i], s[j]) - saving, 0.5 * np.abs(r[i] - s[j]), 0.5 * s[free[1]], 0.5 * r[free[0]])
    return [*(math.fsum(cost.tolist()) for cost in costs), 0.5 * break_cost * assignment.ends]


def _changes(side: NetworkSide, point: Indices, other: Indices) -> int:
    """Return how often the line of the other side changes along the lines of a side. Free points are passed over."""
    if not len(point):
        return 0
    order = np.argsort(point)
    partner = other[order]
    own = side.line[point[order]]
    same = own[1:] == own[:-1]
    total = int(np.count_nonzero(same & (partner[1:] != partner[:-1])))
    starts = np.flatnonzero(np.append(True, ~same))
    ends = np.append(starts[1:], len(own)) - 1
    closing = side.network.ring[own[starts]] & (partner[starts] != partner[ends])
    return total + int(np.count_nonzero(closing))


def _entropy(of: Indices, points: Indices) -> float:
    """Return the conditional entropy of the other line, given the line ``of``, in bits, times the number of points."""
    totals = np.bincount(of, points)
    return math.fsum(p * math.log2(t / p) for p, t in zip(points.tolist(), totals[of].tolist(), strict=True))


class NetworkParts(NamedTuple):
    """The five parts of network PLD. They add up to its value."""

    matched: float  # distances of matched points
    confidence: float  # differences of confidence of matched points
    missed: float  # true points without a match
    false: float  # predicted points without a match
    links: float  # ends of runs: breaks, false joins, and lines that go on where their match ends


class Overlap(NamedTuple):
    """How many points of a predicted line are assigned to a true line."""

    prediction: int
    truth: int
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPldResult(PooledPld[NetworkParts]):
    """Network PLD of one class in one frame, or in many frames pooled with ``+`` or ``sum``.

    Points are assigned, and not polylines. ``assignment`` has the pairs of polylines that share assigned points.
    """

    TITLE: ClassVar[str] = "network PLD"
    SETTINGS: ClassVar[tuple[str, ...]] = ("cutoff", "break_cost")

    break_cost: float
    break_count: int  # how often the predicted line changes along true lines
    false_join_count: int  # how often the true line changes along predicted lines
    split: float  # split entropy times the matched points
    merge: float
    matched_points: float
    gap: float = 0.0  # by how much the value may exceed the smallest one; 0 if it is the smallest
    overlaps: tuple[Overlap, ...] = field(compare=False, default=())  # empty once frames are pooled

    @property
    def is_proven(self) -> bool:
        """Whether the value is proven to be the smallest one, within one part in a million."""
        return self.gap <= PROVEN * self.value

    @property
    def split_entropy(self) -> float | None:
        """How much true lines are split, in bits: 1 for two halves. None if no point is matched."""
        if self.matched_points > 0:
            return self.split / self.matched_points
        return None

    @property
    def merge_entropy(self) -> float | None:
        """How much predicted lines join several true lines, in bits. None if no point is matched."""
        if self.matched_points > 0:
            return self.merge / self.matched_points
        return None


def network_pld(
    predictions: PolylinesLike,
    truth: PolylinesLike,
    *,
    confidence: ArrayLike | None = None,
    truth_confidence: ArrayLike | None = None,
    break_cost: float = BREAK_COST,
    cutoff: float = 1.5,
    closed: Closed = False,
    directed: bool = True,
    closed_tolerance: float = CLOSED_TOLERANCE,
) -> NetworkPldResult:
    """Network PLD between predicted and true polylines of one class in one frame.

    Network PLD assigns points, not polylines. An assigned pair costs its distance over the cutoff, weighted by the
    smaller confidence, plus half the difference of the confidences. An unassigned point costs half its confidence. The
    assigned pairs form runs: stretches of consecutive points of one line that are assigned in order to consecutive
    points of another. Each end of a run costs half of ``break_cost`` for each of the two lines that goes on there. So
    a line that is predicted in three pieces has two breaks.

    Args:
        predictions: An iterable of ``(n, dimension)`` arrays in metres or of shapely geometries, or a ``Polylines``.
        truth: The true polylines. Points are compared as they are, so resample both sides first.
        confidence: One number in [0, 1] per prediction. If None, 1 for all.
        truth_confidence: The same for the truth, to compare two estimates.
        break_cost: The cost of a break. A missed or false point of confidence 1 costs 1/2.
        cutoff: The distance in metres from which two points do not match.
        closed: True, False or "auto", as in ``sospa_matrix``. A closed polyline goes on from its last point to the
            first.
        directed: Whether the direction of polylines matters. If true, runs follow both lines in their direction. If
            false, they may also follow one of them against it.
        closed_tolerance: Largest gap of a closed polyline in metres, for "auto".

    Returns:
        The value, its five parts, the numbers of breaks and false joins, split and merge entropy, how many points of
        each prediction are assigned to each true line, and by how much the value may exceed the smallest one.

    >>> line = [[0.5 * k, 0] for k in range(61)]
    >>> whole = network_pld([line], [line])
    >>> pieces = network_pld([line[:20], line[20:40], line[40:]], [line], break_cost=0.25, directed=False)
    >>> whole.value, pieces.value, pieces.break_count
    (0.0, 0.5, 2)
    """
    cost = check_switch_cost("break_cost", break_cost)
    way, cut, _ = check_sospa_arguments(cutoff, order=1.0, directed=directed)
    polylines, split = pack_sets(predictions, truth, "predictions", y_name="truth")
    weights = np.concatenate(
        [
            check_confidence("confidence", confidence, split, of="prediction"),
            check_confidence("truth_confidence", truth_confidence, len(polylines) - split, of="truth"),
        ]
    )
    flags = polylines.closed(check_closed(closed), check_tolerance(closed_tolerance))
    x, y = (
        side_of(polylines, start, stop, closed=flags[0], repeats=flags[1], confidence=weights, directed=way)
        for start, stop in ((0, split), (split, len(polylines)))
    )
    row, overlaps = solve_network(x, y, cut, break_cost=cost, directed=way)
    numbers = row.tolist()
    pairs = sorted(Overlap(int(x.index[a]), int(y.index[b]), float(points)) for a, b, points in overlaps.tolist())
    return NetworkPldResult(
        parts=NetworkParts._make(numbers[: len(PARTS)]),
        mass=numbers[MASS],
        cutoff=cut,
        break_cost=cost,
        break_count=round(numbers[COUNTS][0]),
        false_join_count=round(numbers[COUNTS][1]),
        split=numbers[ENTROPIES][0],
        merge=numbers[ENTROPIES][1],
        matched_points=numbers[MATCHED],
        gap=numbers[GAP],
        assignment=np.array([pair[:2] for pair in pairs], np.int64).reshape(-1, 2),
        overlaps=tuple(pairs),
    )


def sides_of(groups: Groups, directed: bool) -> Iterator[tuple[int, NetworkSide, NetworkSide]]:
    """Yield the number and both sides of each group that has instances."""
    for g in np.flatnonzero(groups.bounds[:, 2] > groups.bounds[:, 0]).tolist():
        first, middle, end = groups.bounds[g].tolist()
        x, y = (
            side_of(
                groups.polylines,
                start,
                stop,
                closed=groups.closed,
                repeats=groups.repeats,
                confidence=groups.confidence,
                directed=directed,
            )
            for start, stop in ((first, middle), (middle, end))
        )
        yield g, x, y


class AssignedGroup(NamedTuple):
    """A group that has instances, and the assignment of its points."""

    number: int
    x: NetworkSide
    y: NetworkSide
    assignment: PointAssignment


def assigned_groups(groups: Groups, protocol: Protocol, cutoff: float, break_cost: float) -> list[AssignedGroup]:
    """Return the assignments of all groups. Network PLD and network completeness share them."""
    if break_cost > 0:
        _check_solver()
    key = f"network@{cutoff}"
    if key not in groups.shared:
        way = protocol.directed
        groups.shared[key] = [
            AssignedGroup(
                g, x, y, assignment=assign_points(x.network, y.network, cutoff, break_cost=break_cost, directed=way)
            )
            for g, x, y in sides_of(groups, way)
        ]
    known: list[AssignedGroup] = groups.shared[key]
    return known


def _check_solver() -> None:
    """Refuse to start without the solver. Simple maps would not need it, and the error should not depend on them."""
    if find_spec("highspy") is None:
        raise MissingDependency(
            "network PLD and network completeness need highspy",
            remedy=Remedy(
                "Install it with: pip install 'mapgauge[links]'. Without it, pass metrics=, such as (\"pld\", "
                '"completeness")',
                "Install it with: pip install 'mapgauge[links]'. Without it, name other metrics, such as --metrics "
                "pld,completeness",
            ),
        )


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    """Return the numbers of ``COLUMNS`` for each group."""
    cost = protocol.settings["network_pld"].break_cost
    rows = np.zeros((len(groups.bounds), len(COLUMNS)))
    for group in assigned_groups(groups, protocol, cutoff, break_cost=cost):
        rows[group.number], _ = row_of(group.x, group.y, group.assignment, break_cost=cost)
    return rows


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values from sums."""
    parts = np.moveaxis(sums[..., : len(PARTS)], -1, 0)
    value = added(parts)
    mass = sums[..., MASS]
    matched = sums[..., MATCHED]
    points = np.where(matched > 0, matched, np.nan)
    return {
        "network_pld": normalised_value(value, mass),
        **dict(zip(_ENTROPIES, np.moveaxis(sums[..., ENTROPIES], -1, 0) / points, strict=True)),
        **{f"network_{name}": share_of(part, value, mass) for name, part in zip(PARTS, parts, strict=True)},
        **dict(zip(_COUNTS, np.moveaxis(sums[..., COUNTS], -1, 0), strict=True)),
        "network_gap": sums[..., GAP],
    }


_ENTROPIES = ("split_entropy", "merge_entropy")
_COUNTS = ("break_count", "false_join_count")


@dataclass(frozen=True, kw_only=True)
class NetworkPldSettings(PldSettings):
    """Settings of network PLD."""

    break_cost: float = setting(BREAK_COST, check=check_switch_cost, help="Cost of a break of a line.")


NETWORK_PLD = Metric(
    name="network_pld",
    title="Network PLD",
    symbol="N-PLD",
    lower_is_better=True,
    values=(
        Value(key="network_pld", part="", title="Network PLD", role="main"),
        *(
            Value(key=key, part=key, title=key.removesuffix("_entropy"), role="headline", limits=(0.0, math.inf))
            for key in _ENTROPIES
        ),
        *(Value(key=f"network_{name}", part=name, title=name, role="part") for name in PARTS),
        *(
            Value(key=key, part=key, title=key.replace("_", " "), limits=(0.0, math.inf))
            for key in (*_COUNTS, "network_gap")
        ),
    ),
    rows=SumRows(columns=COLUMNS, score=_score, values=_values, mass=MASS),
    setting=Setting("cutoffs", "cutoff"),
    settings_type=NetworkPldSettings,
    stated=lambda protocol: (
        f"cutoff {protocol.cutoffs[0]:g} m, break cost {protocol.settings['network_pld'].break_cost:g}"
    ),
    limits=(0.0, 1.0),
    order=31,
)
