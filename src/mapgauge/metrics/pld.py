"""PLD, the metric between two sets of polylines with confidences, and its five parts (paper, section 4)."""

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mapgauge import kernels
from mapgauge.arguments import check_confidence
from mapgauge.distances.pack import as_lines, check_sospa_arguments, pack_sets
from mapgauge.errors import InvalidInput
from mapgauge.frames.groups import Groups
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.metrics.metric import Floats, FrameMean, Metric, Setting, SumRows, Value
from mapgauge.protocols import Protocol
from mapgauge.typing import Closed, Pairs, PolylinesLike


class Parts(NamedTuple):
    """The five kinds of error; they add up to the whole.

    Localisation and detection group them. By points, only the distances of matched points are localisation; by
    instances, all that is wrong inside a matched pair of polylines is.
    """

    matched_points: float  # distances of matched points, inside matched polylines
    unmatched_points: float  # points without partner, inside matched polylines
    confidence: float  # confidence that matched polylines lack or have too much
    missed: float  # true polylines without prediction
    false: float  # predicted polylines without truth


def added(terms: Any) -> Any:
    """The sum from left to right. ``sum`` rounds differently from Python 3.12 on, and numpy by the size of an array."""
    total, *rest = terms
    for term in rest:
        total = total + term
    return total


def pld_value(sums: Floats, order: float) -> Floats:
    """PLD (eq. 9) from its five parts, p-th powers: the p-th root of their sum.

    Args:
        sums: ``(..., 6)``: the five parts, and the mass, which is not part of the value.
        order: ``p``.
    """
    return _root(added(np.moveaxis(sums[..., :5], -1, 0)), order)


def normalised_pld(sums: Floats, order: float) -> Floats:
    """Normalised PLD (eq. 12); 0 where there is no confidence on either side.

    The parts never exceed the mass, but rounding may lift the value above 1 by a last bit.

    Args:
        sums: ``(..., 6)``: the five parts and the mass, p-th powers.
        order: ``p``.
    """
    value, bound = pld_value(sums, order), _root(sums[..., 5], order)
    return np.divide(2 * value, bound + value, out=np.zeros_like(bound), where=bound > 0)


def normalised_parts(sums: Floats) -> Floats:
    """The five parts of the normalised value of order 1 (eq. 13), ``(..., 5)``; they add up to it.

    Args:
        sums: ``(..., 6)``: the five parts and the mass.
    """
    total = (sums[..., 5] + pld_value(sums, 1.0))[..., None]
    parts = sums[..., :5]
    return np.divide(2 * parts, total, out=np.zeros_like(parts), where=total > 0)


def _root(values: Floats, order: float) -> Floats:
    """The p-th root. Python's power is that of the C library; numpy's differs in the last bit between processors."""
    if order == 1:
        return values
    roots = [math.pow(value, 1 / order) for value in np.ravel(values).tolist()]
    return np.array(roots, np.float64).reshape(np.shape(values))


@dataclass(frozen=True, slots=True)
class PldResult:
    """PLD of one class in one frame, or in many frames pooled with ``+`` or ``sum``.

    The five parts are unnormalised: p-th powers of instances, as eq. 9 sums them. ``normalised_parts``,
    ``localisation`` and ``detection`` are shares of the normalised value; only order 1 has them.
    """

    matched_points: float
    unmatched_points: float
    confidence: float
    missed: float
    false: float
    mass: float  # half the total confidence of both sides
    cutoff: float  # metres
    order: float
    assignment: Pairs | None = field(compare=False)  # (k, 2): prediction, truth; None once frames are pooled

    @property
    def parts(self) -> Parts:
        """The five parts, unnormalised."""
        return Parts(self.matched_points, self.unmatched_points, self.confidence, self.missed, self.false)

    @property
    def sums(self) -> Floats:
        """The five parts and the mass."""
        return np.array([*self.parts, self.mass])

    @property
    def value(self) -> float:
        """PLD (eq. 9)."""
        return float(pld_value(self.sums, self.order))

    @property
    def normalised(self) -> float:
        """Normalised PLD in [0, 1] (eq. 12); 0 if there is no confidence on either side."""
        return min(float(normalised_pld(self.sums, self.order)), 1.0)

    @property
    def normalised_parts(self) -> Parts:
        """The five parts of the normalised value (eq. 13); they add up to it."""
        if self.order != 1:
            raise InvalidInput(
                "normalised parts, localisation and detection exist for order 1 only, "
                f"this result has order {self.order:g}. Use parts, which add up to value**order."
            )
        return Parts._make(normalised_parts(self.sums).tolist())

    @property
    def localisation(self) -> float:
        """Loc, normalised, by points: the part of matched points."""
        return self.normalised_parts.matched_points

    @property
    def detection(self) -> float:
        """Det, normalised, by points: the other four parts."""
        return float(added(self.normalised_parts[1:]))

    @property
    def localisation_by_instances(self) -> float:
        """Loc as the paper's eq. 10 has it: all that is wrong inside matched polylines."""
        return float(added(self.normalised_parts[:2]))

    @property
    def detection_by_instances(self) -> float:
        """Det as the paper's eq. 11 has it: confidence, missed and false."""
        return float(added(self.normalised_parts[2:]))

    def __add__(self, other: object) -> "PldResult":
        """Pool two frames: parts and masses add up."""
        if not isinstance(other, PldResult):
            return NotImplemented
        if (self.order, self.cutoff) != (other.order, other.cutoff):
            raise InvalidInput(
                f"cannot pool PLD of cutoff {self.cutoff:g}, order {self.order:g} "
                f"with PLD of cutoff {other.cutoff:g}, order {other.order:g}"
            )
        parts = Parts._make(a + b for a, b in zip(self.parts, other.parts, strict=True))
        return PldResult(*parts, self.mass + other.mass, self.cutoff, self.order, None)

    def __radd__(self, other: object) -> "PldResult":
        """Let ``sum`` start from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented


def pld(
    predictions: PolylinesLike,
    truth: PolylinesLike,
    *,
    confidence: ArrayLike | None = None,
    truth_confidence: ArrayLike | None = None,
    cutoff: float = 1.5,
    order: float = 1.0,
    closed: Closed = "auto",
    directed: bool = False,
    closed_tolerance: float = CLOSED_TOLERANCE,
) -> PldResult:
    """PLD between predicted and true polylines of one class in one frame (eq. 9).

    The cheapest one-to-one assignment of predictions to truth: an assigned pair costs its normalised SOSPA, weighted by
    the smaller confidence, and half the difference of the confidences; an instance left over costs half its confidence.

    Args:
        predictions: An iterable of ``(n, dimension)`` arrays in metres or of shapely geometries, or a ``Polylines``.
        truth: The true polylines. Both are compared point by point: resample them first.
        confidence: One number in [0, 1] per prediction; 1 for all if not given.
        truth_confidence: The same for truth, when two estimates are compared.
        cutoff: SOSPA's cutoff, metres.
        order: ``p``, from 1 to 32. Only for order 1 the normalised value splits into parts.
        closed: True, False or "auto", as in ``sospa_matrix``.
        directed: Whether the direction of polylines matters.
        closed_tolerance: Metres; only for "auto".

    Returns:
        The value, its five parts and the assignment. A pair that is no better than none is not assigned. Between empty
        sets all is 0.

    >>> line = [[0, 0], [0.5, 0], [1, 0]]
    >>> result = pld([line, [[7, 7], [8, 8]]], [line], confidence=[0.8, 0.2])
    >>> round(result.value, 3), result.assignment.tolist()
    (0.2, [[0, 0]])
    >>> result.parts
    Parts(matched_points=0.0, unmatched_points=0.0, confidence=0.09999999999999998, missed=0.0, false=0.1)
    """
    way, cut, power = check_sospa_arguments(cutoff, order, directed)
    polylines, split = pack_sets(predictions, truth, "predictions", "truth")
    weights = np.concatenate(
        [
            check_confidence("confidence", confidence, split, "prediction"),
            check_confidence("truth_confidence", truth_confidence, len(polylines) - split, "truth"),
        ]
    )
    lines, flags = as_lines(polylines, closed, closed_tolerance)
    long = kernels.sospa.is_long(lines, flags)
    sums, truth_of = kernels.pld.pld_of_lines(lines, flags, weights, split, way, cut, power, long)
    matched = np.flatnonzero(truth_of >= 0)
    parts, mass = Parts._make(float(part) for part in sums[:5]), float(sums[5])
    return PldResult(*parts, mass, cut, power, np.stack([matched, truth_of[matched]], axis=1))


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    """The five parts and the mass of each group."""
    sums = np.zeros((len(groups.bounds), len(Parts._fields) + 1))
    kernels.pld.pld_of_groups(
        *(groups.lines, groups.closed, groups.confidence, groups.bounds),
        *(protocol.directed, cutoff, protocol.order, kernels.sospa.is_long(groups.lines, groups.closed), sums),
    )
    return sums


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """All values from sums. The normalised value of a higher order does not split into parts."""
    values = {"pld": np.minimum(normalised_pld(sums, protocol.order), 1.0)}
    if protocol.order != 1:
        return values
    parts = dict(zip(Parts._fields, np.moveaxis(normalised_parts(sums), -1, 0), strict=True))
    terms = list(parts.values())
    return {
        **values,
        "localisation": terms[0],
        "detection": added(terms[1:]),
        **parts,
        "localisation_by_instances": added(terms[:2]),
        "detection_by_instances": added(terms[2:]),
    }


PLD = Metric(
    name="pld",
    title="PLD",
    symbol="PLD",
    lower_is_better=True,
    values=(
        Value("pld", "", "PLD", "main"),
        Value("localisation", "localisation", "Loc", "headline"),
        Value("detection", "detection", "Det", "headline"),
        Value("matched_points", "matched_points", "matched", "part"),
        Value("unmatched_points", "unmatched_points", "unmatched", "part"),
        Value("confidence", "confidence", "confidence", "part"),
        Value("missed", "missed", "missed", "part"),
        Value("false", "false", "false", "part"),
        Value("localisation_by_instances", "localisation_by_instances", "Loc by instances"),
        Value("detection_by_instances", "detection_by_instances", "Det by instances"),
    ),
    rows=SumRows(
        columns=(*Parts._fields, "mass"),
        score=_score,
        values=_values,
        mass=len(Parts._fields),
        rings=True,
        frame_mean=FrameMean(
            Value("pld_frame_mean", "frame_mean", "PLD frame mean"),
            lambda sums, protocol: normalised_pld(sums, protocol.order),
        ),
    ),
    setting=Setting("cutoffs", "cutoff"),
    stated=lambda protocol: f"cutoff {protocol.cutoffs[0]:g} m, order {protocol.order:g}",
)
