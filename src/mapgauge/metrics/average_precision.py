"""Average precision by Chamfer, Fréchet and SOSPA: hits of predictions, and the area under the curve."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge import kernels
from mapgauge.arguments import check_length, check_whole
from mapgauge.errors import InvalidInput, Remedy
from mapgauge.geometry.polylines import buffers_meet
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Bits, HitRows, Metric, Setting, Value
from mapgauge.metrics.settings import DistanceSettings, setting, thresholds_of
from mapgauge.protocols import Protocol
from mapgauge.typing import Flags, Floats, Indices

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines

Counts: TypeAlias = NDArray[np.int64]
Interpolation: TypeAlias = Literal["area", "11-point", "101-point"]

RELAXED = "Whether distances are reduced with the range of the truth (OpenLane-V2)."
PREFILTER = "Pairs with at least this (relaxed) Chamfer distance are left out."
# The recalls at which precision is averaged. With eleven, a recall that misses one by less than 1e-9 reaches it. COCO's
# evaluator, whose recalls are the other ones, compares without a tolerance.
RECALLS = {"11-point": np.linspace(0, 1, 11) - 1e-9, "101-point": np.linspace(0, 1, 101)}


def average_precision(
    confidence: ArrayLike,
    hits: ArrayLike,
    truth: int,
    *,
    interpolation: Interpolation = "area",
) -> float:
    """Average precision of predictions pooled over frames.

    Predictions of equal confidence are one step of the curve, because no threshold on the confidence separates them.
    The public evaluators add them one by one in the order of an unstable sort, so their result depends on the order of
    frames and on the machine.

    Args:
        confidence: One number per prediction.
        hits: Whether each prediction is a true positive.
        truth: Number of true instances, at least the number of hits.
        interpolation: ``"area"`` is the area under the monotone curve. ``"11-point"`` is the mean of the highest
            precision at recalls of at least 0, 0.1, ..., 1, and ``"101-point"`` at 0, 0.01, ..., 1 (COCO).

    Returns:
        A number in [0, 1]; 0 if there is no truth or no prediction.

    >>> average_precision([0.9, 0.8, 0.7], [True, False, True], 2)
    0.8333333333333333
    """
    try:
        values = np.asarray(confidence, np.float64)
        given = np.asarray(hits)
        flags = given.astype(np.bool_)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"confidence and hits must be one number and one flag per prediction: {error}") from error
    if values.shape != flags.shape or values.ndim != 1:
        raise InvalidInput(f"confidence and hits must have the same length, got {values.shape} and {flags.shape}")
    if interpolation != "area" and interpolation not in RECALLS:
        raise InvalidInput(f"interpolation must be 'area', '11-point' or '101-point', got {interpolation!r}")
    if np.isnan(values).any():
        raise InvalidInput(f"confidence {int(np.flatnonzero(np.isnan(values))[0])} is NaN, expected numbers")
    if not np.array_equal(given, flags):
        raise InvalidInput("hits must be True or False, or 1 or 0, one per prediction")
    truth = check_whole("truth", truth, least=0)
    hit_count = int(np.count_nonzero(flags))
    if hit_count > truth:
        raise InvalidInput(f"hits must be at most truth, got {hit_count} hits and {truth} true instances")
    every = np.ones((hit_count, 1), np.bool_)
    (value,) = average_precisions(values, values[flags], every, truth=truth, interpolation=[interpolation])
    return value


def average_precisions(
    confidence: Floats,
    hitting: Floats,
    hits: NDArray[np.bool_],
    truth: int,
    interpolation: Sequence[Interpolation],
) -> list[float]:
    """Return the average precision of the same predictions at several thresholds.

    At confidences without hits, recall stays and precision falls, so they change neither the area nor the highest
    precision. Only hits are sorted, with the number of all predictions that are at least as confident. ``hitting`` are
    the confidences of predictions that hit at some threshold; ``hits`` has a row for each and a column per threshold.
    """
    if truth == 0:
        return [0.0] * hits.shape[1]
    order = np.argsort(-hitting)
    levels = hitting[order]
    number = len(confidence) - np.searchsorted(np.sort(confidence), levels)
    values = []
    for column, how in zip(hits[order].T, interpolation, strict=True):
        recall, precision = curve(levels[column], number[column], truth)
        if how != "area":
            values.append(float(np.mean(at_recalls(recall, precision, how))))
        else:
            # The sum is rounded once, so a curve that is computed in parts gives the same bits.
            values.append(math.fsum((np.diff(recall, prepend=0.0) * envelope(precision)).tolist()))
    return values


def curve(levels: Floats, number: Counts, truth: int) -> tuple[Floats, Floats]:
    """Return recall and precision after each level of confidence that has hits.

    ``levels`` are the confidences of the hits, from high to low. ``number`` counts predictions at least as confident.
    """
    last = np.append(levels[1:] != levels[:-1], True)[: len(levels)]
    return recall_and_precision(np.flatnonzero(last) + 1, number[last], truth)


def recall_and_precision(hit_count: Any, number: Any, truth: int) -> tuple[Floats, Floats]:
    """Return recall and precision of the ``number`` most confident predictions, ``hit_count`` of which hit."""
    return hit_count / max(truth, 1), hit_count / number


def envelope(precision: Floats) -> Floats:
    """Return the highest precision at each step or any later one."""
    return np.maximum.accumulate(precision[::-1])[::-1]


def at_recalls(recall: Floats, precision: Floats, how: Interpolation) -> Floats:
    """Return the highest precision from each of ``RECALLS`` on, along the first axis; 0 if it is not reached."""
    reached = [np.where(recall >= level, precision, 0.0).max(axis=0, initial=0.0) for level in RECALLS[how]]
    return np.array(reached)


# ``distance(groups, protocol, own, limit)``: distances of all pairs of each group, prediction by prediction; infinity
# beyond the limit. ``own`` are the settings of the metric.
PairDistance = Callable[[Groups, Protocol, Any, float], Floats]


@dataclass(frozen=True, kw_only=True)
class ChamferSettings(DistanceSettings):
    """Settings of Chamfer-AP."""

    thresholds: tuple[float, ...] = thresholds_of((0.5, 1.0, 1.5), word="chamfer")
    buffers: float | None = setting(
        default=None,
        unit="m",
        check=check_length,
        help="Pairs whose flat-capped buffers of this size do not intersect are left out (MapTR).",
    )
    relaxed: bool = setting(default=False, help=RELAXED)


@dataclass(frozen=True, kw_only=True)
class FrechetSettings(DistanceSettings):
    """Settings of Fréchet-AP."""

    thresholds: tuple[float, ...] = thresholds_of((1.0, 2.0, 3.0), word="frechet")
    prefilter: float | None = setting(default=None, unit="m", check=check_length, help=PREFILTER)
    relaxed: bool = setting(default=False, help=RELAXED)


@dataclass(frozen=True, kw_only=True)
class SospaSettings(DistanceSettings):
    """Settings of SOSPA-AP, whose thresholds are on normalised SOSPA at the first cutoff."""

    thresholds: tuple[float, ...] = thresholds_of(unit="", word="sospa")

    def check(self, protocol: Protocol) -> None:
        """Refuse a protocol without a cutoff."""
        if not protocol.cutoffs:
            raise InvalidInput("sospa thresholds need a cutoff", remedy=Remedy("Set cutoffs=", "Pass --cutoff"))


def _chamfer_hits(groups: Groups, protocol: Protocol) -> Bits:
    own = protocol.settings["ap_chamfer"]
    if own.buffers is not None:
        return matches_by(chamfer_distances, groups, protocol, own=own)[0]
    return _hits(groups.whole, closed=None, groups=groups, protocol=protocol, own=own)


def _frechet_hits(groups: Groups, protocol: Protocol) -> Bits:
    own = protocol.settings["ap_frechet"]
    if own.prefilter is not None:
        return matches_by(_frechet, groups, protocol, own=own)[0]
    return _hits(groups.lines, groups.closed, groups, protocol=protocol, own=own)


def _sospa_hits(groups: Groups, protocol: Protocol) -> Bits:
    return matches_by(sospa_distances, groups, protocol, own=protocol.settings["ap_sospa"])[0]


def _hits(lines: "Lines", closed: Flags | None, groups: Groups, protocol: Protocol, own: Any) -> Bits:
    """Return the hits without the distances of all pairs: by Chamfer distances if ``closed`` is None."""
    hits = np.zeros(len(groups.confidence), np.uint16)
    thresholds = np.array(own.thresholds)
    factor = range_factor(groups, own.relaxed)
    directed = protocol.directed
    kernels.average_precision.hits_of_lines(
        lines,
        closed,
        groups.bounds,
        order=groups.by_confidence,
        factor=factor,
        directed=directed,
        thresholds=thresholds,
        strict=own.strict,
        hits=hits,
    )
    return hits


def matches_by(distance: PairDistance, groups: Groups, protocol: Protocol, own: Any) -> tuple[Bits, Indices]:
    """Return which predictions are true positives, one bit per threshold, and the nearest true instance of each.

    The nearest instance is -1 beyond the largest threshold. A true positive is matched with its nearest true instance.
    ``own`` are the settings of the metric, with ``thresholds`` and ``strict``.
    """
    count = len(groups.confidence)
    hits = np.zeros(count, np.uint16)
    nearest = np.full(count, -1)
    kernels.average_precision.hits_of_groups(
        groups.bounds,
        groups.by_confidence,
        distance(groups, protocol, own, max(own.thresholds)),
        thresholds=np.array(own.thresholds),
        strict=own.strict,
        nearest=nearest,
        least=np.empty(count),
        taken=np.empty(count, np.bool_),
        hits=hits,
    )
    return hits, nearest


def chamfer_distances(
    groups: Groups, protocol: Protocol, own: Any, limit: float, *, nearest_only: bool = True
) -> Floats:
    """Return the Chamfer distances of all pairs of each group, prediction by prediction; infinity beyond the limit.

    With ``nearest_only``, distances to lines that are not the nearest may be infinity, too. A caller that leaves out
    pairs needs the distances of the others, as the filter by buffers does.
    """
    distance = np.empty(groups.pairs)
    factor = range_factor(groups, own.relaxed)
    only = nearest_only and own.buffers is None
    kernels.chamfer.chamfer_pairs(groups.whole, groups.bounds, factor, limit=limit, nearest_only=only, out=distance)
    if own.buffers is not None:
        near = np.flatnonzero(distance <= limit)
        pairs = kernels.gains.pairs_of_groups(groups.bounds)[near]
        distance[near[~buffers_meet(groups.polylines, pairs, own.buffers)]] = np.inf
    return distance


def _frechet(groups: Groups, protocol: Protocol, own: Any, limit: float) -> Floats:
    factor = range_factor(groups, own.relaxed)
    distance = prefiltered(lambda: groups.whole, groups, factor, prefilter=own.prefilter)
    kernels.frechet.frechet_pairs(
        groups.lines, groups.closed, groups.bounds, factor=factor, directed=protocol.directed, limit=limit, out=distance
    )
    return distance


def prefiltered(lines: "Callable[[], Lines]", groups: Groups, factor: Floats, prefilter: float | None) -> Floats:
    """Return infinity for pairs that are left out by their Chamfer distance, and a finite number for others.

    ``lines`` returns the lines for the Chamfer distance, if a prefilter needs them. ``factor`` scales the distances.
    """
    distance = np.zeros(groups.pairs)
    if prefilter is not None:
        kernels.chamfer.chamfer_pairs(lines(), groups.bounds, factor, limit=prefilter, nearest_only=False, out=distance)
        distance[distance >= prefilter] = np.inf
    return distance


def sospa_distances(groups: Groups, protocol: Protocol, own: Any, limit: float) -> Floats:
    """Return normalised SOSPA of all pairs of each group at the first cutoff. The limit is not used."""
    pairs = kernels.gains.pairs_of_groups(groups.bounds)
    cutoff = protocol.cutoffs[0]
    long = kernels.sospa.is_long(groups.lines, groups.closed)
    distance: Floats = kernels.sospa.values_of_pairs(
        groups.lines, groups.closed, pairs, directed=protocol.directed, cutoff=cutoff, order=protocol.order, long=long
    )[1]
    return distance


def range_factor(groups: Groups, relaxed: bool) -> Floats:
    """Return the factor of distances to each line. OpenLane-V2 reduces distances to far truth, to half at 100 m."""
    factor = np.ones(len(groups.confidence))
    if relaxed and len(factor):
        radius = np.sqrt(np.square(groups.polylines.coords).sum(axis=1))
        nearest = np.minimum.reduceat(np.append(radius, np.inf), groups.polylines.offsets[:-1])
        factor = np.maximum(0.5, 1 - 0.005 * nearest)
    return factor


def _row(
    name: str, title: str, hits: Callable[[Groups, Protocol], Bits], settings: type[DistanceSettings], unit: str = "m"
) -> Metric:
    return Metric(
        name=name,
        title=title,
        symbol="AP",
        lower_is_better=False,
        values=(Value(key=name, part="", title=title, role="main"),),
        rows=HitRows(hits),
        setting=Setting("thresholds", "threshold", unit),
        settings_type=settings,
        stated=lambda _: "mean over thresholds in metres",
        ignores=True,
        limits=(0.0, 1.0),
        order=40,
    )


AP_CHAMFER = _row("ap_chamfer", "Chamfer-AP", _chamfer_hits, settings=ChamferSettings)
AP_FRECHET = _row("ap_frechet", "Fréchet-AP", _frechet_hits, settings=FrechetSettings)
AP_SOSPA = replace(
    _row("ap_sospa", "SOSPA-AP", _sospa_hits, settings=SospaSettings, unit=""),
    at_first_cutoff=True,
    stated=lambda protocol: f"mean over thresholds at the cutoff {protocol.cutoffs[0]:g} m",
)
