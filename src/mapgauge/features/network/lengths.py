"""``network_completeness``: found, right and repeated length, and offsets, from the assignment of network PLD.

A point of a resampled line stands for half of the two pieces of the line beside it. Points are matched, not lines. So a
true line that is predicted in pieces is found in all of them. An offset, the distance of two matched points, is divided
at right angles: across is the distance to the true line, along what remains.

A predicted point without a match is a *ghost* if a true point that is matched already is nearer than the cutoff. It is
*far* if no true point is. Predicted lengths are weighted by confidence: those that are right, ghosts and far.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from mapgauge.features.network.network_pld import COUNTS, NETWORK_PLD, NetworkPldSettings, assigned_groups, row_of
from mapgauge.features.network.points import PointAssignment
from mapgauge.features.network.sides import Network, NetworkSide
from mapgauge.metrics.completeness import lengths_in_words, quantile_in_bins
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.protocols import Protocol
from mapgauge.results.statement import Statement
from mapgauge.typing import Flags, Floats, Indices

if TYPE_CHECKING:
    from mapgauge.results.results import Results

BINS = 100  # of the histogram of distances across, from 0 to the cutoff
COLUMNS = (
    "true",  # metres of true length, as the next
    "found",
    "predicted",  # metres of predicted length times confidence, as the next three
    "right",
    "ghost",
    "far",
    "fragments",  # pairs of a predicted and a true line that share matched points
    "weight",  # of matched points
    "cutoff",  # weight times cutoff
    "across",  # sums of distances of matched points, times weight
    "along",
    *(f"across_{k}" for k in range(BINS)),
)
_HISTOGRAM = slice(COLUMNS.index("across_0"), None)


def _break_cost(protocol: Protocol) -> float:
    """Return the break cost of network PLD, the recommended one if the protocol has none."""
    return float(protocol.settings.get("network_pld", NetworkPldSettings()).break_cost)


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    """Return the numbers of ``COLUMNS`` for each group. Network PLD uses the same assignment."""
    cost = _break_cost(protocol)
    rows = np.zeros((len(groups.bounds), len(COLUMNS)))
    for number, x, y, assignment in assigned_groups(groups, protocol, cutoff, break_cost=cost):
        _, overlaps = row_of(x, y, assignment, break_cost=cost)
        rows[number] = _row(x, y, assignment, cutoff=cutoff, fragments=len(overlaps))
    return rows


def _row(x: NetworkSide, y: NetworkSide, assignment: PointAssignment, cutoff: float, fragments: int) -> Floats:
    """Return the numbers of ``COLUMNS`` of one group."""
    near = assignment.saving > 0
    i = assignment.first[near]
    j = assignment.second[near]
    of_x = lengths_of_points(x.network) * x.confidence
    of_y = lengths_of_points(y.network)
    is_right, is_found = (_marked(at, len(of)) for at, of in ((i, of_x), (j, of_y)))
    is_near, is_beside_found = _neighbours(x.network, y.network, is_found, cutoff=cutoff)
    weight = np.minimum(x.confidence[i], y.confidence[j])
    across, along = offsets(x.network, y.network, i, j=j)
    row = np.empty(len(COLUMNS))
    row[: _HISTOGRAM.start] = (
        of_y.sum(),
        of_y[is_found].sum(),
        of_x.sum(),
        of_x[is_right].sum(),
        of_x[~is_right & is_beside_found].sum(),
        of_x[~is_right & ~is_near].sum(),
        fragments,
        weight.sum(),
        weight.sum() * cutoff,
        (weight * across).sum(),
        (weight * along).sum(),
    )
    bins = np.minimum((across / cutoff * BINS).astype(np.int64), BINS - 1)
    row[_HISTOGRAM] = np.bincount(bins, weight, BINS)
    return row


def _marked(at: Indices, count: int) -> Flags:
    marked = np.zeros(count, np.bool_)
    marked[at] = True
    return marked


def lengths_of_points(side: Network) -> Floats:
    """Return the length in metres for which each point stands."""
    start = np.flatnonzero(side.after >= 0)
    stop = side.after[start]
    points = side.points
    half = 0.5 * np.sqrt(np.square(points[:, stop] - points[:, start]).sum(axis=0))
    lengths = np.zeros(points.shape[1])
    for end in (start, stop):
        np.add.at(lengths, end, half)
    return lengths


def offsets(x: Network, y: Network, i: Indices, j: Indices) -> tuple[Floats, Floats]:
    """Return the distances of matched points across and along the line of the second side."""
    own = np.arange(y.points.shape[1])  # the first and the last point of an open line are their own neighbours
    before = own.copy()
    after = np.where(y.after >= 0, y.after, own)
    before[y.after[y.after >= 0]] = own[y.after >= 0]
    apart = x.points[:, i] - y.points[:, j]
    square = np.square(apart).sum(axis=0)
    across = square.copy()
    for other in (before[j], after[j]):
        step = y.points[:, other] - y.points[:, j]
        size = np.square(step).sum(axis=0)
        share = np.clip((apart * step).sum(axis=0) / np.where(size > 0, size, 1.0), 0.0, 1.0)
        across = np.minimum(across, np.square(apart - share * step).sum(axis=0))
    return np.sqrt(across), np.sqrt(np.maximum(square - across, 0.0))


def _neighbours(x: Network, y: Network, is_found: Flags, cutoff: float) -> tuple[Flags, Flags]:
    """Return which points of ``x`` have a point of ``y``, or one that is found, nearer than the cutoff."""
    from mapgauge.features.network.kernels import find_pairs

    is_near, is_beside_found = np.zeros((2, x.points.shape[1]), np.bool_)
    if x.points.size and y.points.size:
        start, pairs, _ = find_pairs(
            x.points,
            y.points,
            x.lines,
            y_lines=y.lines,
            x_weight=np.ones(len(x.count)),
            y_weight=np.ones(len(y.count)),
            cutoff=cutoff,
            directed=True,
        )
        is_near[pairs[:, 0]] = True
        is_beside_found[pairs[np.repeat(is_found, np.diff(start)), 0]] = True
    return is_near, is_beside_found


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values; NaN where there is no length or no match."""
    column = dict(zip(COLUMNS, np.moveaxis(sums, -1, 0), strict=True))

    def share(part: str, whole: str, factor: float = 1.0) -> Floats:
        total = column[whole]
        return np.where(total > 0, factor * column[part] / np.where(total > 0, total, 1.0), np.nan)

    return {
        "network_completeness": share("found", "true"),
        "network_correctness": share("right", "predicted"),
        "ghost": share("ghost", "predicted"),
        "network_far": share("far", "predicted"),
        # 0 if all distances are exactly 0
        "network_median_across": np.where(
            column["across"] == 0, 0.0, quantile_in_bins(sums[..., _HISTOGRAM], share=0.5) / BINS
        )
        * share("cutoff", "weight"),
        "network_mean_across": share("across", "weight"),
        "network_mean_along": share("along", "weight"),
        "fragments_per_km": share("fragments", "found", factor=1000.0),
        "ghost_length": column["ghost"],
        "network_true_length": column["true"],
        "network_found_length": column["found"],
        "network_predicted_length": column["predicted"],
    }


def statement(results: "Results", workers: int | None = None) -> Statement | None:
    """Say how much of the truth is found, in how many pieces, and what the rest of the predictions is.

    Only of protocols whose headline is of networks; None for others.
    """
    needed = {NETWORK_COMPLETENESS.name, NETWORK_PLD.name}
    if not needed <= {*results.protocol.headline} & {*results.metrics}:
        return None
    of_lengths, of_pld = (
        results.scores.sums[metric.name][0].sum(axis=(0, 1)) for metric in (NETWORK_COMPLETENESS, NETWORK_PLD)
    )
    value = {key: float(number) for key, number in _values(of_lengths, results.protocol).items()}
    breaks, joins = (int(number) for number in of_pld[COUNTS])
    words = []
    if math.isfinite(value["network_median_across"]):
        words.append(f"{value['network_median_across']:.2f} m beside the true line (median)")
    if math.isfinite(value["network_completeness"]):
        lengths = lengths_in_words(value["network_found_length"], value["network_true_length"])
        if breaks:
            pieces = f", in pieces ({lengths}, with {_counted(breaks, 'break')})"
        else:
            pieces = f" ({lengths})"
        words.append(f"{100 * value['network_completeness']:.0f} % of the true length found{pieces}")
    if joins:
        words.append(f"predicted lines go on from one true line to another at {_counted(joins, 'place')}")
    if math.isfinite(value["network_correctness"]):
        cutoff = results.protocol.cutoffs[0]
        words.append(
            f"{100 * value['network_correctness']:.0f} % of the predicted length matched, {100 * value['ghost']:.0f} % "
            f"beside truth that is matched already, {100 * value['network_far']:.0f} % without truth of its class "
            f"within {cutoff:g} m"
        )
    text = ", ".join(words) or "nothing to compare"
    plain = {key: number if math.isfinite(number) else None for key, number in value.items()}
    return Statement("network", f"{text[0].upper()}{text[1:]}.", {**plain, "breaks": breaks, "joins": joins})


def _counted(count: int, noun: str) -> str:
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun}s"


_METRES = (0.0, math.inf)
NETWORK_COMPLETENESS = Metric(
    name="network_completeness",
    title="Completeness, correctness, ghosts and offsets by the assignment of network PLD",
    symbol="network completeness",
    lower_is_better=False,
    values=(
        Value(key="network_completeness", part="", title="network completeness", role="main"),
        Value(
            key="network_correctness",
            part="correctness",
            title="network correctness",
            role="headline",
            lower_is_better=False,
        ),
        Value(key="ghost", part="ghost", title="ghost", role="headline", lower_is_better=True),
        Value(key="network_far", part="far", title="network far", role="headline", lower_is_better=True),
        *(
            Value(
                key=key,
                part=key.removeprefix("network_"),
                title=f"{key.replace('_', ' ')} m",
                role="headline",
                limits=_METRES,
                lower_is_better=True,
            )
            for key in ("network_median_across", "network_mean_across", "network_mean_along")
        ),
        Value(
            key="fragments_per_km",
            part="fragments_per_km",
            title="fragments/km",
            role="headline",
            limits=_METRES,
            lower_is_better=True,
        ),
        Value(
            key="ghost_length",
            part="ghost_length",
            title="ghost m",
            role="headline",
            limits=_METRES,
            lower_is_better=True,
        ),
        *(
            Value(key=f"network_{key}", part=key, title=f"{key.replace('_', ' ')} m", role="other", limits=_METRES)
            for key in ("true_length", "found_length", "predicted_length")
        ),
    ),
    rows=SumRows(COLUMNS, _score, _values),
    setting=Setting("cutoffs", "cutoff"),
    stated=lambda protocol: f"matched within {protocol.cutoffs[0]:g} m, break cost {_break_cost(protocol):g}",
    default=False,
    limits=(0.0, 1.0),
    order=30,
)
