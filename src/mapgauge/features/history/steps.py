"""Steps and slow changes of a curve: the nights at which its level jumped, and the stretches in which it drifted.

A curve is cut into stretches, each of which is constant or a straight line. The cut minimises the squared distance of
the curve from its stretches, in units of the noise, plus a cost for each jump and for each line. This is optimal
partitioning (B. Jackson and others, "An algorithm for optimal partitioning of data on an interval", IEEE Signal
Processing Letters 12, 2005), which the PELT method computes as well (R. Killick, P. Fearnhead and I. A. Eckley,
"Optimal detection of changepoints with a linear computational cost", Journal of the American Statistical Association
107, 2012). Here the whole dynamic programme is computed: a year of nights takes milliseconds.

The noise is that of the curve itself, not the interval of a night. The interval says how much a value would change if
other scenes were drawn. Nights are evaluated on the same scenes, so this error is nearly the same in all of them and
cancels in a difference of nights. What is left is how much a value varies from night to night, and only the differences
of successive nights show it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.typing import Floats

Kind: TypeAlias = Literal["step", "night", "slow"]

FEWEST = 10  # nights; the noise of fewer cannot be told from steps
SHORTEST = 10  # nights of a slow change; in fewer, it cannot be told from a step
SMALLEST = 0.001  # change that is reported: the last printed digit of a value
_FLOOR = SMALLEST / 5  # of the noise: nights of one model and one map have equal values
# The cost of a jump or a line in units of the variance grows with the logarithm of the number of nights, as that of
# Schwarz' criterion does (Y.-C. Yao, "Estimating the number of change-points via Schwarz' criterion", Statistics &
# Probability Letters 6, 1988). The last factor covers that few nights know their noise badly. The numbers were chosen
# by simulation: about 1 in 1,000 curves of constant normal noise has a change. docs/explanation/history-steps.md has
# the table.
_COST = 10.0
_COST_BY_LOGARITHM = 1.4
_COST_OF_FEW = 18.0
_ERRORS = 2.0  # standard errors of the autocorrelation from which noise is not independent
_FEWEST_FREE = 8  # degrees of freedom of the deviations, below which their autocorrelation is not known
# Makes the quartile of differences of pairs an estimate of a standard deviation, for normal noise.
_QUARTILE = 2.21914
_MOST_DIFFERENCES = 2000  # that are compared with each other; of more nights, the last ones


@dataclass(frozen=True)
class HistoryChange:
    """A step, one deviating night, or a slow change of a curve."""

    kind: Kind
    night: int  # index of the first night with the new level, or of the first night of the slow change
    last: int  # index of the last night of a slow change or of a deviation; equal to ``night`` for a step
    before: float  # level before the step, or at the first night of the slow change
    after: float  # level from the step on, or at the last night of the slow change
    error: float  # standard error of the change, from the noise from night to night

    @property
    def size(self) -> float:
        """How much the value changed."""
        return self.after - self.before

    def to_dict(self) -> dict[str, Any]:
        """Return the change as plain values."""
        return {
            "kind": self.kind,
            "night": self.night,
            "last": self.last,
            "before": self.before,
            "after": self.after,
            "change": self.size,
            "error": self.error,
        }


@dataclass(frozen=True)
class FittedLevel:
    """Successive nights in which a curve is constant or a line."""

    begin: int
    end: int  # the first night that is not in it
    first: float  # fitted value of the first night
    last: float  # fitted value of the last night

    @property
    def nights(self) -> int:
        """Number of nights."""
        return self.end - self.begin

    @property
    def is_line(self) -> bool:
        """Whether it is not constant."""
        return self.first != self.last


class Autocorrelation(NamedTuple):
    """How much the deviation of a night from its level stays in the next night: 0 for independent noise."""

    value: float  # at lag 1
    error: float  # its standard error for independent noise

    @property
    def is_positive(self) -> bool:
        """Whether it is above what independent noise gives. About 1 of 50 curves with such noise is."""
        return self.value > _ERRORS * self.error


@dataclass(frozen=True)
class FittedCurve:
    """The stretches of a curve, and what changed between and in them."""

    stretches: tuple[FittedLevel, ...]
    changes: tuple[HistoryChange, ...]
    noise: float  # standard deviation from night to night
    points: int  # nights that differ from the night before, or all nights
    autocorrelation: Autocorrelation | None  # None if it is not known

    @property
    def detectable(self) -> float:
        """The smallest jump in the last night that would be found, if that night has no noise."""
        return max(SMALLEST, self.noise * math.sqrt(cost_of(self.points) * self.points / (self.points - 1)))


def cost_of(nights: int) -> float:
    """Return the cost of a jump in units of the variance.

    >>> round(cost_of(40), 1), round(cost_of(365), 1)
    (22.0, 19.2)
    """
    return (_COST + _COST_BY_LOGARITHM * math.log(nights)) * (1 + _COST_OF_FEW / nights)


def noise_of(values: Floats) -> float:
    """Return the standard deviation of the noise from night to night, which steps and slow changes hardly move.

    It is the estimator Qn of the differences of successive nights, divided by the square root of 2 (P. J. Rousseeuw and
    C. Croux, "Alternatives to the median absolute deviation", Journal of the American Statistical Association 88,
    1993). It has a lower bound, because the values of one model on one map do not differ at all.

    >>> noise_of(np.array([0.5] * 20 + [0.7] * 20))
    0.0002
    """
    apart = np.diff(values)[-_MOST_DIFFERENCES:]
    count = len(apart)
    pairs = np.abs(apart[:, None] - apart)[np.triu_indices(count, 1)]
    half = count // 2 + 1
    place = half * (half - 1) // 2 - 1
    return max(_QUARTILE * float(np.partition(pairs, place)[place]) / math.sqrt(2), _FLOOR)


def fit(values: Sequence[float]) -> FittedCurve | None:
    """Return the stretches and the changes of a curve; None with fewer than 10 nights.

    One model on one map gives the same value, to the last bit, every night. Such nights count once: they say nothing of
    the noise, which is that of different models. With fewer than 10 different values in a row, the noise of models is
    not known; then all nights count, and each change is a step.

    >>> found = fit([0.5] * 20 + [0.6] * 10)
    >>> [(change.night, round(change.size, 3)) for change in found.changes]
    [(20, 0.1)]
    >>> [change.kind for change in fit([0.5 + 0.002 * night for night in range(40)]).changes]
    ['slow']
    """
    if len(values) < FEWEST:
        return None
    nights = np.asarray(values, np.float64)
    begins = np.flatnonzero(np.append(True, np.diff(nights) != 0))
    is_known = len(begins) >= FEWEST
    if not is_known:
        begins = np.arange(len(nights))
    curve = nights[begins]
    noise = noise_of(curve)
    stretches = _stretches(curve, noise)
    changes = _changes(stretches, noise)
    ends = [*begins[1:].tolist(), len(nights)]
    autocorrelation = None
    if is_known and noise > _FLOOR:
        autocorrelation = _autocorrelation(curve, stretches)
    return FittedCurve(
        tuple(replace(part, begin=int(begins[part.begin]), end=ends[part.end - 1]) for part in stretches),
        tuple(_with_nights(change, begins.tolist(), ends) for change in changes),
        noise,
        points=len(curve),
        autocorrelation=autocorrelation,
    )


def _autocorrelation(curve: Floats, stretches: Sequence[FittedLevel]) -> Autocorrelation | None:
    """Return the autocorrelation at lag 1 of the deviations from the stretches; None with few of them.

    Only pairs of nights of one stretch count. A stretch is fitted to its nights, which makes the products of their
    deviations negative in the mean. ``expected`` is this mean in units of the variance: the sum of the elements of the
    hat matrix beside its diagonal, with the sign changed. It is subtracted.
    """
    products = 0.0
    expected = 0.0
    squares = 0.0
    pairs = 0
    free = 0
    for stretch in stretches:
        count = stretch.nights
        if count < 2:
            continue
        deviation = curve[stretch.begin : stretch.end] - np.linspace(stretch.first, stretch.last, count)
        products += float((deviation[1:] * deviation[:-1]).sum())
        squares += float((deviation**2).sum())
        pairs += count - 1
        free += count - 1
        expected -= (count - 1) / count
        if stretch.is_line:
            places = np.arange(count) - (count - 1) / 2
            expected -= float((places[1:] * places[:-1]).sum() / (places**2).sum())
            free -= 1
    if free < _FEWEST_FREE or squares == 0:
        return None
    return Autocorrelation((products / (squares / free) - expected) / pairs, 1 / math.sqrt(pairs))


def _with_nights(change: HistoryChange, begins: Sequence[int], ends: Sequence[int]) -> HistoryChange:
    """Return a change of points as one of nights. A step has one night, its first."""
    night = begins[change.night]
    if change.kind == "step":
        return replace(change, night=night, last=night)
    return replace(change, night=night, last=ends[change.last] - 1)


def _stretches(curve: Floats, noise: float) -> list[FittedLevel]:
    """Return the stretches with the smallest cost.

    ``best[k]`` is the smallest cost of the first k nights. The last stretch of these begins at one of the earlier
    nights, and is constant or a line, so it follows from the costs of fewer nights.
    """
    nights = len(curve)
    cost = cost_of(nights)
    scaled = (curve - curve.mean()) / noise
    sums = _RunningSums(scaled)
    best = np.zeros(nights + 1)
    best[0] = -cost  # the first stretch is no jump
    begin_of = np.zeros(nights + 1, np.int64)
    line_of = np.zeros(nights + 1, np.bool_)
    for end in range(1, nights + 1):
        constant, line = sums.residuals(end)
        as_constant = best[:end] + cost + constant
        as_line = best[:end] + 2 * cost + line
        first = int(np.argmin(as_constant))
        other = int(np.argmin(as_line))
        line_of[end] = as_line[other] < as_constant[first]
        begin_of[end] = other if line_of[end] else first
        best[end] = min(as_constant[first], as_line[other])
    found = []
    end = nights
    while end > 0:
        begin = int(begin_of[end])
        found.append(_stretch(curve, begin, end, is_line=bool(line_of[end])))
        end = begin
    return found[::-1]


class _RunningSums:
    """Sums of the first nights of a curve, from which the residuals of any stretch follow."""

    def __init__(self, curve: Floats) -> None:
        places = np.arange(len(curve), dtype=np.float64)
        self.values = _running(curve)
        self.squares = _running(curve**2)
        self.products = _running(curve * places)

    def residuals(self, end: int) -> tuple[Floats, Floats]:
        """Return the squared residuals of the stretches that end before a night and begin at 0, 1, ... ``end - 1``.

        The second are those of lines, infinite where the stretch is too short for one.
        """
        begin = np.arange(end, dtype=np.float64)
        count = end - begin
        total = self.values[end] - self.values[:end]
        constant = np.maximum(self.squares[end] - self.squares[:end] - total**2 / count, 0.0)
        middle = (begin + end - 1) / 2
        product = self.products[end] - self.products[:end] - total * middle
        spread = count * (count**2 - 1) / 12
        line = np.full(end, np.inf)
        long = count >= SHORTEST
        line[long] = np.maximum(constant[long] - product[long] ** 2 / spread[long], 0.0)
        return constant, line


def _running(values: Floats) -> Floats:
    sums: Floats = np.concatenate([[0.0], np.cumsum(values)])
    return sums


def _stretch(curve: Floats, begin: int, end: int, *, is_line: bool) -> FittedLevel:
    part = curve[begin:end]
    level = float(part.mean())
    if not is_line:
        return FittedLevel(begin, end, level, last=level)
    places = np.arange(len(part)) - (len(part) - 1) / 2
    slope = float((places * part).sum() / (places**2).sum())
    away = slope * float(places[-1])
    return FittedLevel(begin, end, level - away, last=level + away)


def _changes(stretches: Sequence[FittedLevel], noise: float) -> list[HistoryChange]:
    """Return the jumps between stretches that are no noise, and the lines, in the order of nights."""
    nights = stretches[-1].end
    found = []
    deviates = False  # whether the stretch before is one night, after which the curve returns
    for k, stretch in enumerate(stretches):
        returned = deviates
        deviates = not returned and _is_one_night(stretches, k, noise)
        if k > 0 and not returned:
            found.append(_jump(stretches[k - 1], stretch, noise, kind="night" if deviates else "step"))
        if stretch.is_line:
            error = noise * math.sqrt(12 / stretch.nights)  # of the slope, over the whole stretch
            found.append(
                HistoryChange(
                    "slow", stretch.begin, stretch.end - 1, before=stretch.first, after=stretch.last, error=error
                )
            )
    return [change for change in found if _is_change(change, nights)]


def _is_one_night(stretches: Sequence[FittedLevel], k: int, noise: float) -> bool:
    """Whether a stretch is one night, and the curve has the same level before and after it."""
    if not 0 < k < len(stretches) - 1 or stretches[k].nights > 1:
        return False
    around = _jump(stretches[k - 1], stretches[k + 1], noise)
    return not _is_change(around, stretches[-1].end)


def _jump(before: FittedLevel, after: FittedLevel, noise: float, kind: Kind = "step") -> HistoryChange:
    error = noise * math.sqrt(_variance_of_end(before) + _variance_of_end(after))
    return HistoryChange(kind, after.begin, after.begin, before=before.last, after=after.first, error=error)


def _variance_of_end(stretch: FittedLevel) -> float:
    """Return the variance of the fitted value at an end of a stretch, in units of the noise."""
    if stretch.is_line:
        return 4 / stretch.nights
    return 1 / stretch.nights


def _is_change(change: HistoryChange, nights: int) -> bool:
    """Whether a change is no noise, and large enough to be seen in a printed value."""
    return abs(change.size) >= SMALLEST and change.size**2 > cost_of(nights) * change.error**2
