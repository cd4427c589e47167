"""Average precision by Chamfer, Fréchet and SOSPA distance: the matching of predictions, and the three rows.

A prediction can only match its nearest true instance. Distances beyond the largest threshold are not needed, so kernels
return infinity for them. A new distance is one function and one row.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from mapgauge import kernels
from mapgauge.frames.groups import Groups
from mapgauge.geometry.buffering import buffers_meet
from mapgauge.metrics.metric import Bits, HitRows, Metric, Setting, Value
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Floats, Indices

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines

# ``distance(groups, protocol, limit)``: distances of all pairs of each group, prediction by prediction; infinity beyond
# the limit.
PairDistance = Callable[[Groups, Protocol, float], Floats]


def hits_by(distance: PairDistance, field: str, groups: Groups, protocol: Protocol) -> Bits:
    """Return which predictions are true positives, as bits. The arguments are those of ``matches_by``."""
    return matches_by(distance, field, groups, protocol)[0]


def _chamfer_hits(groups: Groups, protocol: Protocol) -> Bits:
    if protocol.buffers is not None:
        return hits_by(chamfer_distances, "chamfer", groups, protocol)
    return _hits(groups.whole, None, protocol.chamfer, groups, protocol)


def _frechet_hits(groups: Groups, protocol: Protocol) -> Bits:
    if protocol.prefilter is not None:
        return hits_by(_frechet, "frechet", groups, protocol)
    return _hits(groups.lines, groups.closed, protocol.frechet, groups, protocol)


def _hits(
    lines: "Lines", closed: Flags | None, thresholds: Sequence[float], groups: Groups, protocol: Protocol
) -> Bits:
    """Return what ``hits_by`` does, without the distances of all pairs: Chamfer distances if ``closed`` is None."""
    hits = np.zeros(len(groups.confidence), np.uint16)
    kernels.interpreting.call(
        *(kernels.hits.hits_of_lines, kernels.interpreting.Pairs(lines, max(thresholds), bounds=groups.bounds).visits),
        *(lines, closed, groups.bounds, groups.by_confidence, range_factor(groups, protocol), protocol.directed),
        *(np.array(thresholds), protocol.strict, hits),
    )
    return hits


def matches_by(distance: PairDistance, field: str, groups: Groups, protocol: Protocol) -> tuple[Bits, Indices]:
    """Return which predictions are true positives, and the nearest true instance of each prediction.

    Args:
        distance: The function that computes the distances of pairs.
        field: The field of the protocol that holds the thresholds.
        groups: Predictions and truth.
        protocol: All settings.

    Returns:
        Bits, one per threshold, and indices of instances; -1 beyond the largest threshold. A true positive is matched
        with its nearest true instance.
    """
    count = len(groups.confidence)
    thresholds = getattr(protocol, field)
    hits, nearest = np.zeros(count, np.uint16), np.full(count, -1)
    kernels.hits.hits_of_groups(
        *(groups.bounds, groups.by_confidence, distance(groups, protocol, max(thresholds))),
        *(np.array(thresholds), protocol.strict),
        *(nearest, np.empty(count), np.empty(count, np.bool_), hits),
    )
    return hits, nearest


def chamfer_distances(groups: Groups, protocol: Protocol, limit: float) -> Floats:
    """Return the Chamfer distances of all pairs of each group, prediction by prediction; infinity beyond the limit."""
    distance = np.empty(groups.pairs)
    factor, no_filter = range_factor(groups, protocol), protocol.buffers is None
    kernels.chamfer.chamfer_pairs(groups.whole, groups.bounds, factor, limit, no_filter, distance)
    if protocol.buffers is not None:
        near = np.flatnonzero(distance <= limit)
        pairs = kernels.band.pairs_of_groups(groups.bounds)[near]
        distance[near[~buffers_meet(groups.polylines, pairs, protocol.buffers)]] = np.inf
    return distance


def _frechet(groups: Groups, protocol: Protocol, limit: float) -> Floats:
    factor = range_factor(groups, protocol)
    distance = prefiltered(lambda: groups.whole, groups, factor, protocol)
    kernels.frechet.frechet_pairs(
        groups.lines, groups.closed, groups.bounds, factor, protocol.directed, limit, distance
    )
    return distance


def prefiltered(lines: "Callable[[], Lines]", groups: Groups, factor: Floats, protocol: Protocol) -> Floats:
    """Return infinity for pairs that the protocol leaves out by their Chamfer distance, and a finite number for others.

    Args:
        lines: Returns the lines of all instances for the Chamfer distance. It is called only if they are needed.
        groups: Predictions and truth.
        factor: The factor of distances to each line.
        protocol: All settings.
    """
    distance = np.zeros(groups.pairs)
    if protocol.prefilter is not None:
        kernels.chamfer.chamfer_pairs(lines(), groups.bounds, factor, protocol.prefilter, False, distance)
        distance[distance >= protocol.prefilter] = np.inf
    return distance


def sospa_distances(groups: Groups, protocol: Protocol, limit: float) -> Floats:
    """Return normalised SOSPA of all pairs of each group at the first cutoff. The limit is not used."""
    distance = np.empty(groups.pairs)
    pairs = kernels.interpreting.call(kernels.band.pairs_of_groups, distance.__len__, groups.bounds)
    cutoff = protocol.cutoffs[0]
    near = kernels.interpreting.Pairs(groups.lines, cutoff, protocol.order, groups.bounds)
    kernels.interpreting.call(
        *(kernels.sospa.normalised_pairs, near.visits),
        *(groups.lines, groups.closed, pairs, protocol.directed, cutoff, protocol.order),
        *(kernels.sospa.is_long(groups.lines, groups.closed), distance),
    )
    return distance


def range_factor(groups: Groups, protocol: Protocol) -> Floats:
    """Return the factor of distances to each line. OpenLane-V2 reduces distances to far truth, to half at 100 m."""
    factor = np.ones(len(groups.confidence))
    if protocol.relaxed and len(factor):
        radius = np.sqrt(np.square(groups.polylines.coords).sum(axis=1))
        nearest = np.minimum.reduceat(np.append(radius, np.inf), groups.polylines.offsets[:-1])
        factor = np.maximum(0.5, 1 - 0.005 * nearest)
    return factor


def _row(field: str, title: str, hits: Callable[[Groups, Protocol], Bits], unit: str, stated: str) -> Metric:
    name = f"ap_{field}"
    return Metric(
        name=name,
        title=title,
        symbol="AP",
        lower_is_better=False,
        values=(Value(name, "", title, "main"),),
        rows=HitRows(hits),
        setting=Setting(field, "threshold", unit, f"--{field}"),
        stated=lambda _: stated,
        limits=(0.0, 1.0),
    )


AP_CHAMFER = _row("chamfer", "Chamfer-AP", _chamfer_hits, "m", "mean over thresholds in metres")
AP_FRECHET = _row("frechet", "Fréchet-AP", _frechet_hits, "m", "mean over thresholds in metres")
AP_SOSPA = replace(
    _row("sospa", "SOSPA-AP", partial(hits_by, sospa_distances, "sospa"), "", ""),
    stated=lambda protocol: f"mean over thresholds at the cutoff {protocol.cutoffs[0]:g} m",
)
