"""PLD, a metric between two sets of polylines with confidences, and its five parts (section 4 of the paper)."""

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from mapgauge import kernels
from mapgauge.arguments import check_confidence
from mapgauge.distances.sospa import as_lines, check_sospa_arguments, pack_sets
from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.markup import facts
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import FrameMean, Metric, Setting, SumRows, Value
from mapgauge.protocols import PROTOCOLS, Protocol
from mapgauge.typing import Closed, Flags, Floats, Indices, Pairs, PolylinesLike

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines


class Scored(NamedTuple):
    """PLD of groups, and the optimal assignment."""

    sums: Floats  # (groups, 6): the five parts and the mass
    truth_of: Indices  # (instances,): the true instance of each matched prediction; -1 for others


def score_groups(groups: Groups, directed: bool, cutoff: float, order: float) -> Scored:
    """Return PLD of groups, and the optimal assignment."""
    return score_lines(
        groups.lines,
        groups.closed,
        groups.confidence,
        bounds=groups.bounds,
        directed=directed,
        cutoff=cutoff,
        order=order,
    )


def score_lines(
    lines: "Lines", closed: Flags, confidence: Floats, bounds: Indices, directed: bool, cutoff: float, order: float
) -> Scored:
    """Return what ``score_groups`` does, for lines whose groups have these bounds."""
    count = len(confidence)
    long = kernels.sospa.is_long(lines, closed)
    scored = Scored(np.zeros((len(bounds), kernels.pld.MASS + 1)), np.full(count, -1))
    kernels.pld.pld_of_groups(
        lines,
        closed,
        confidence,
        bounds=bounds,
        directed=directed,
        cutoff=cutoff,
        order=order,
        long=long,
        out=scored.sums,
        truth_of=scored.truth_of,
    )
    return scored


def assign_groups(groups: Groups, protocol: Protocol, cutoff: float) -> Scored:
    """Return what ``score_groups`` does. Metrics of the same groups share it."""
    key = shared_key(cutoff)
    if key not in groups.shared:
        groups.shared[key] = score_groups(groups, protocol.directed, cutoff, order=protocol.order)
    scored: Scored = groups.shared[key]
    return scored


def with_pld(protocol: Protocol, order: float | None = None) -> Protocol:
    """Return a protocol by which lines can be compared: with the sampling and the cutoff of the paper if it has none.

    If an order is given, protocols of other orders are replaced, too.
    """
    if protocol.cutoffs and order in (None, protocol.order):
        return protocol
    paper = PROTOCOLS["paper-60x30"]
    if order is None:
        order = protocol.order
    return protocol.replace(spacing=paper.spacing, cutoffs=paper.cutoffs, order=order, truth_count=None)


def shared_key(cutoff: float) -> str:
    """Return the key of ``Scored`` in ``Groups.shared``."""
    return f"pld@{cutoff}"


class Parts(NamedTuple):
    """The five parts of PLD. They add up to its value.

    Localisation and detection are groups of parts. By points, localisation is the part of matched points only. By
    instances, localisation contains all errors inside matched pairs of polylines.
    """

    matched_points: float  # distances of matched points in matched polylines
    unmatched_points: float  # unmatched points in matched polylines
    confidence: float  # differences of confidence in matched polylines
    missed: float  # true polylines without a match
    false: float  # predicted polylines without a match


def added(terms: Any) -> Any:
    """Add from left to right. ``sum`` rounds differently since Python 3.12, and numpy depending on the array size."""
    total, *rest = terms
    for term in rest:
        total = total + term
    return total


def pld_value(sums: Floats, order: float) -> Floats:
    """Return PLD (eq. 9): the p-th root of the sum of its five parts, the first of ``(..., 6)`` p-th powers."""
    return _root(added(np.moveaxis(sums[..., :5], -1, 0)), order)


def normalised_pld(sums: Floats, order: float) -> Floats:
    """Return normalised PLD (eq. 12) of ``(..., 6)``; 0 if there is no confidence on either side.

    The sum of the parts never exceeds the mass, but rounding may raise the value above 1 by one bit.
    """
    value = pld_value(sums, order)
    bound = _root(sums[..., 5], order)
    return np.divide(2 * value, bound + value, out=np.zeros_like(bound), where=bound > 0)


def normalised_parts(sums: Floats) -> Floats:
    """Return the five parts of the normalised value of order 1 (eq. 13), ``(..., 5)``. They add up to it."""
    total = (sums[..., 5] + pld_value(sums, 1.0))[..., None]
    parts = sums[..., :5]
    return np.divide(2 * parts, total, out=np.zeros_like(parts), where=total > 0)


def share_of(part: Any, value: Any, mass: Any) -> Any:
    """Return the share of a part in a normalised value of order 1; 0 if there is no confidence on either side."""
    total = mass + value
    return 2 * part / np.where(total > 0, total, 1.0)


def normalised_value(value: Any, mass: Any) -> Any:
    """Return the normalised value of order 1, in [0, 1]. Numbers or arrays, as for ``share_of``."""
    return np.minimum(share_of(value, value, mass), 1.0)


def _root(values: Floats, order: float) -> Floats:
    """Return the p-th root. Python uses the C library. The last bit of numpy's power differs between processors."""
    if order == 1:
        return values
    roots = [math.pow(value, 1 / order) for value in np.ravel(values).tolist()]
    return np.array(roots, np.float64).reshape(np.shape(values))


AnyParts = TypeVar("AnyParts", bound=tuple[float, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledPld(Generic[AnyParts]):
    """What the results of all kinds of PLD share. Results are pooled with ``+`` or ``sum``.

    Pooling adds parts, masses and counts. Fields of a single frame or scene are empty afterwards.
    """

    TITLE: ClassVar[str]
    SETTINGS: ClassVar[tuple[str, ...]]  # fields that must be equal in results that are pooled

    parts: AnyParts  # not normalised; they add up to the value
    mass: float  # half the total confidence of both sides
    cutoff: float  # metres
    # (k, 2): indices of predictions and of truth as given; None once results are pooled. If the linear programme
    # divides an assignment, all its pairs are here.
    assignment: Pairs | None = field(compare=False, default=None)

    @property
    def value(self) -> float:
        """The distance."""
        return float(added(self.parts))

    @property
    def normalised(self) -> float:
        """The normalised distance in [0, 1]; 0 if there is no confidence on either side."""
        return float(normalised_value(self.value, self.mass))

    @property
    def normalised_parts(self) -> AnyParts:
        """The parts of the normalised distance. They add up to it."""
        return _made(self.parts, (float(share_of(part, self.value, self.mass)) for part in self.parts))

    @property
    def settings(self) -> str:
        """The settings in words."""
        return ", ".join(f"{name.replace('_', ' ')} {getattr(self, name):g}" for name in self.SETTINGS)

    def _repr_html_(self) -> str:
        if getattr(self, "order", 1) != 1:
            shown = self.parts
        else:
            shown = self.normalised_parts
        if self.assignment is None:
            matches = {}
        else:
            matches = {"assigned pairs": len(self.assignment)}
        title = f"{self.TITLE} {self.normalised:.3f} ({self.settings})"
        parts = dict(zip(self.parts._fields, shown, strict=True))  # type: ignore[attr-defined]
        return facts(title, {**parts, f"{self.TITLE}, not normalised": self.value, "mass": self.mass, **matches})

    def __add__(self, other: object) -> Self:
        """Pool two results."""
        if not isinstance(other, type(self)):
            return NotImplemented
        if self.settings != other.settings:
            raise InvalidInput(f"cannot pool {self.TITLE} of {self.settings} with {self.TITLE} of {other.settings}")
        pooled: dict[str, Any] = {}
        for member in fields(self):
            if member.name == "findings":
                pooled[member.name] = (*getattr(self, member.name), *getattr(other, member.name))
            elif not member.compare:
                pooled[member.name] = member.default
            elif member.name not in self.SETTINGS:
                first = getattr(self, member.name)
                second = getattr(other, member.name)
                is_tuple = isinstance(first, tuple)  # of numbers, with names
                if is_tuple:
                    pooled[member.name] = _made(first, map(operator.add, first, second))
                else:
                    pooled[member.name] = first + second
        return replace(self, **pooled)

    def __radd__(self, other: object) -> Self:
        """Return the result itself for 0, so that ``sum`` works."""
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented


def _made(like: AnyParts, values: Iterable[float]) -> AnyParts:
    """Return a named tuple of the same type."""
    return type(like)._make(values)  # type: ignore[attr-defined, no-any-return]


@dataclass(frozen=True, slots=True, kw_only=True)
class PldResult(PooledPld[Parts]):
    """PLD of one class in one frame, or in many frames pooled with ``+`` or ``sum``.

    The five parts are not normalised. They are sums of p-th powers, as in eq. 9. ``normalised_parts``, ``localisation``
    and ``detection`` are shares of the normalised value and exist for order 1 only.
    """

    TITLE: ClassVar[str] = "PLD"
    SETTINGS: ClassVar[tuple[str, ...]] = ("cutoff", "order")

    order: float = 1.0

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
        """The five parts of the normalised value (eq. 13). They add up to it."""
        if self.order != 1:
            raise InvalidInput(
                "normalised parts, localisation and detection exist for order 1 only, "
                f"this result has order {self.order:g}",
                remedy="Use parts, which add up to value**order",
            )
        return Parts._make(normalised_parts(self.sums).tolist())

    @property
    def sums(self) -> Floats:
        """The five parts and the mass."""
        return np.array([*self.parts, self.mass])

    @property
    def localisation(self) -> float:
        """Localisation by points, normalised: the part of matched points."""
        return self.normalised_parts.matched_points

    @property
    def detection(self) -> float:
        """Detection by points, normalised: the other four parts."""
        return float(added(self.normalised_parts[1:]))

    @property
    def localisation_by_instances(self) -> float:
        """Localisation by instances, as in eq. 10 of the paper: all errors inside matched polylines."""
        return float(added(self.normalised_parts[:2]))

    @property
    def detection_by_instances(self) -> float:
        """Detection by instances, as in eq. 11 of the paper: confidence, missed and false."""
        return float(added(self.normalised_parts[2:]))


def pld(
    predictions: PolylinesLike,
    truth: PolylinesLike,
    *,
    confidence: ArrayLike | None = None,
    truth_confidence: ArrayLike | None = None,
    cutoff: float = 1.5,
    order: float = 1.0,
    closed: Closed = False,
    directed: bool = True,
    closed_tolerance: float = CLOSED_TOLERANCE,
) -> PldResult:
    """PLD between predicted and true polylines of one class in one frame (eq. 9).

    PLD is the cost of the cheapest one-to-one assignment of predictions to truth. An assigned pair costs its normalised
    SOSPA, weighted by the smaller confidence, plus half the difference of the confidences. An unassigned instance costs
    half its confidence.

    Args:
        predictions: An iterable of ``(n, dimension)`` arrays in metres or of shapely geometries, or a ``Polylines``.
        truth: The true polylines. Both sides are compared point by point, so resample them first.
        confidence: One number in [0, 1] per prediction. If None, 1 for all.
        truth_confidence: The same for the truth, to compare two estimates.
        cutoff: Cutoff of SOSPA in metres.
        order: ``p``, from 1 to 32. The normalised value has parts for order 1 only.
        closed: True, False or "auto", as in ``sospa_matrix``.
        directed: Whether the direction of polylines matters.
        closed_tolerance: Largest gap of a closed polyline in metres, for "auto".

    Returns:
        The value, its five parts and the assignment. A pair is not assigned if leaving both unassigned costs no more.
        Between empty sets, everything is 0.

    >>> line = [[0, 0], [0.5, 0], [1, 0]]
    >>> result = pld([line, [[7, 7], [8, 8]]], [line], confidence=[0.8, 0.2])
    >>> round(result.value, 3), result.assignment.tolist()
    (0.2, [[0, 0]])
    >>> result.parts
    Parts(matched_points=0.0, unmatched_points=0.0, confidence=0.09999999999999998, missed=0.0, false=0.1)
    """
    way, cut, power = check_sospa_arguments(cutoff, order, directed)
    polylines, split = pack_sets(predictions, truth, "predictions", y_name="truth")
    weights = np.concatenate(
        [
            check_confidence("confidence", confidence, split, of="prediction"),
            check_confidence("truth_confidence", truth_confidence, len(polylines) - split, of="truth"),
        ]
    )
    lines, flags = as_lines(polylines, closed, closed_tolerance)
    scored = score_lines(
        lines, flags, weights, bounds=np.array([[0, split, len(polylines)]]), directed=way, cutoff=cut, order=power
    )
    matched = np.flatnonzero(scored.truth_of >= 0)
    return PldResult(
        parts=Parts._make(float(part) for part in scored.sums[0, :5]),
        mass=float(scored.sums[0, 5]),
        cutoff=cut,
        order=power,
        assignment=np.stack([matched, scored.truth_of[matched] - split], axis=1),
    )


def _values(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values from sums. The normalised value of a higher order has no parts."""
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
        Value(key="pld", part="", title="PLD", role="main"),
        Value(key="localisation", part="localisation", title="Loc", role="headline"),
        Value(key="detection", part="detection", title="Det", role="headline"),
        Value(key="matched_points", part="matched_points", title="matched", role="part"),
        Value(key="unmatched_points", part="unmatched_points", title="unmatched", role="part"),
        Value(key="confidence", part="confidence", title="confidence", role="part"),
        Value(key="missed", part="missed", title="missed", role="part"),
        Value(key="false", part="false", title="false", role="part"),
        Value(key="localisation_by_instances", part="localisation_by_instances", title="Loc by instances"),
        Value(key="detection_by_instances", part="detection_by_instances", title="Det by instances"),
    ),
    rows=SumRows(
        columns=(*Parts._fields, "mass"),
        score=lambda groups, protocol, cutoff: assign_groups(groups, protocol, cutoff).sums,
        values=_values,
        mass=len(Parts._fields),
        rings=True,
        frame_mean=FrameMean(
            Value(key="pld_frame_mean", part="frame_mean", title="PLD frame mean"),
            lambda sums, protocol: normalised_pld(sums, protocol.order),
        ),
    ),
    setting=Setting("cutoffs", "cutoff"),
    stated=lambda protocol: f"cutoff {protocol.cutoffs[0]:g} m, order {protocol.order:g}",
    ignores=True,
    limits=(0.0, 1.0),
    order=0,
)
