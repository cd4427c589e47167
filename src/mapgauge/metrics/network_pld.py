"""Network PLD: a metric between two networks of lines. A line in several pieces costs a link for each break."""

import math

import numpy as np
from numpy.typing import ArrayLike

from mapgauge.arguments import check_closed, check_confidence, check_flag, check_switch_cost, check_tolerance
from mapgauge.distances.pack import check_sospa_arguments, pack_sets
from mapgauge.frames.groups import Groups
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.metrics.network_frame import (
    COLUMNS,
    COUNTS,
    ENTROPIES,
    MASS,
    MATCHED,
    PARTS,
    UNPROVEN,
    side_of,
    solve_network,
)
from mapgauge.metrics.network_result import NetworkPldResult, result_of
from mapgauge.metrics.pld import added, normalised_value, share_of
from mapgauge.protocols import BREAK_COST, Protocol
from mapgauge.typing import Closed, Floats, PolylinesLike


def network_pld(
    predictions: PolylinesLike,
    truth: PolylinesLike,
    *,
    confidence: ArrayLike | None = None,
    truth_confidence: ArrayLike | None = None,
    break_cost: float = BREAK_COST,
    cutoff: float = 1.5,
    closed: Closed = "auto",
    directed: bool = False,
    closed_tolerance: float = CLOSED_TOLERANCE,
    binary: bool = False,
) -> NetworkPldResult:
    """Network PLD between predicted and true polylines of one class in one frame.

    Network PLD assigns points, not polylines. An assigned pair costs its distance over the cutoff, weighted by the
    smaller confidence, plus half the difference of the confidences. An unassigned point costs half its confidence.
    Consecutive points are linked. A link that is missing or false costs ``break_cost``. A link to a point that is not
    assigned costs half of that. A line that is predicted in three pieces breaks two links.

    Args:
        predictions: An iterable of ``(n, dimension)`` arrays in metres or of shapely geometries, or a ``Polylines``.
        truth: The true polylines. Points are compared as they are, so resample both sides first.
        confidence: One number in [0, 1] per prediction. If None, 1 for all.
        truth_confidence: The same for the truth, to compare two estimates.
        break_cost: The cost of a link. A missed or false point of confidence 1 costs 1/2.
        cutoff: The distance in metres from which two points do not match.
        closed: True, False or "auto", as in ``sospa_matrix``. The ends of a closed polyline are linked.
        directed: Whether the direction of polylines matters.
        closed_tolerance: Largest gap of a closed polyline in metres, for "auto".
        binary: If true, a pair is assigned or not. If false, an assignment may be divided. The value can then be
            smaller, and takes less time. Both are metrics.

    Returns:
        The value, its five parts, the numbers of breaks and false joins, split and merge entropy, how many points of
        each prediction are assigned to each true line, and whether the value is proven to be the smallest.

    >>> line = [[0.5 * k, 0] for k in range(61)]
    >>> whole = network_pld([line], [line])
    >>> pieces = network_pld([line[:20], line[20:40], line[40:]], [line], break_cost=0.25)
    >>> whole.value, pieces.value, pieces.break_count
    (0.0, 0.5, 2)
    """
    cost = check_switch_cost("break_cost", break_cost)
    way, cut, _ = check_sospa_arguments(cutoff, 1.0, directed)
    binary = check_flag("binary", binary)
    polylines, split = pack_sets(predictions, truth, "predictions", "truth")
    weights = np.concatenate(
        [
            check_confidence("confidence", confidence, split, "prediction"),
            check_confidence("truth_confidence", truth_confidence, len(polylines) - split, "truth"),
        ]
    )
    flags = polylines.closed(check_closed(closed), check_tolerance(closed_tolerance))
    x, y = (
        side_of(polylines, start, stop, *flags, weights, way) for start, stop in ((0, split), (split, len(polylines)))
    )
    row, overlaps = solve_network(x, y, cut, cost, directed=way, binary=binary)
    return result_of(row, overlaps, (x, y), (cut, cost))


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    """Return the numbers of ``COLUMNS`` for each group."""
    cost, way = protocol.break_cost, protocol.directed
    assert cost is not None
    rows = np.zeros((len(groups.bounds), len(COLUMNS)))
    for g in np.flatnonzero(groups.bounds[:, 2] > groups.bounds[:, 0]).tolist():
        first, middle, end = groups.bounds[g].tolist()
        x, y = (
            side_of(groups.polylines, start, stop, groups.closed, groups.repeats, groups.confidence, way)
            for start, stop in ((first, middle), (middle, end))
        )
        rows[g], _ = solve_network(x, y, cutoff, cost, directed=way)
    return rows


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values from sums."""
    parts = np.moveaxis(sums[..., : len(PARTS)], -1, 0)
    value, mass, matched = added(parts), sums[..., MASS], sums[..., MATCHED]
    points = np.where(matched > 0, matched, np.nan)
    return {
        "network_pld": normalised_value(value, mass),
        **dict(zip(_ENTROPIES, np.moveaxis(sums[..., ENTROPIES], -1, 0) / points, strict=True)),
        **{f"network_{name}": share_of(part, value, mass) for name, part in zip(PARTS, parts, strict=True)},
        **dict(zip(_COUNTS, (*np.moveaxis(sums[..., COUNTS], -1, 0), sums[..., UNPROVEN]), strict=True)),
    }


_ENTROPIES = ("split_entropy", "merge_entropy")
_COUNTS = ("break_count", "false_join_count", "unproven_count")

NETWORK_PLD = Metric(
    name="network_pld",
    title="Network PLD",
    symbol="N-PLD",
    lower_is_better=True,
    values=(
        Value("network_pld", "", "Network PLD", "main"),
        *(Value(key, key, key.removesuffix("_entropy"), "headline", limits=(0.0, math.inf)) for key in _ENTROPIES),
        *(Value(f"network_{name}", name, name, "part") for name in PARTS),
        *(Value(key, key, key.replace("_", " "), limits=(0.0, math.inf)) for key in _COUNTS),
    ),
    rows=SumRows(columns=COLUMNS, score=_score, values=_values, mass=MASS),
    setting=Setting("cutoffs", "cutoff", option="--cutoff"),
    requires=("break_cost",),
    stated=lambda protocol: f"cutoff {protocol.cutoffs[0]:g} m, break cost {protocol.break_cost:g}",
    limits=(0.0, 1.0),
)
