"""Confidence intervals and p-values from standard errors, with Student's distribution."""

import math

from mapgauge.results.intervals import FEWEST, Difference, Estimate
from mapgauge.results.standard_errors import Draws, standard_error
from mapgauge.results.student import quantile, share_within

_ROUNDING = 1e-12  # differences up to this size are rounding, because values are of the order of 1
_UNBOUNDED = (-math.inf, math.inf)


def estimate(value: float, draws: Draws, level: float, limits: tuple[float, float] = _UNBOUNDED) -> Estimate:
    """Return a value with its interval within limits. It covers the true value with the probability ``level``.

    The interval of a share, strictly between two limits, is computed on the scale of its logit. All others are
    symmetric, and end at the limits.
    """
    error, freedom = standard_error(draws)
    if math.isnan(error) or math.isnan(value):
        return Estimate(value, math.nan, math.nan)
    half = quantile(level, freedom) * error
    smallest, largest = limits
    if math.isfinite(largest - smallest) and smallest < value < largest:
        low, high = _on_logit_scale(value, half, limits)
    else:
        low = max(value - half, smallest)
        high = min(value + half, largest)
    # Rounding must not leave the value outside its own interval.
    return Estimate(value, min(low, value), max(high, value))


def _on_logit_scale(value: float, half: float, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the interval around a share whose standard error was multiplied by a quantile to ``half``.

    The logit of a share ``v`` is ``log(v / (1 - v))``. Its standard error is that of ``v`` divided by ``v (1 - v)``, by
    the delta method. An interval on this scale stays within the limits, and is longer on the side of the limit that is
    farther away. K. Boyd, K. H. Eng and C. D. Page recommend it for average precision ("Area under the
    precision-recall curve: point estimates and confidence intervals", ECML PKDD 2013).

    >>> [round(end, 3) for end in _on_logit_scale(0.8, 0.1, (0.0, 1.0))]
    [0.682, 0.882]
    """
    smallest, largest = limits
    share = (value - smallest) / (largest - smallest)
    rest = (largest - value) / (largest - smallest)
    away = half / (largest - smallest) / (share * rest)
    # With the odds v / (1 - v) times exp(away) or exp(-away), written so that nothing overflows.
    shrunk = math.exp(-away)
    low = share * shrunk / (share * shrunk + rest)
    high = share / (share + rest * shrunk)
    return smallest + low * (largest - smallest), smallest + high * (largest - smallest)


def difference(value: float, draws: Draws, level: float, limits: tuple[float, float] = _UNBOUNDED) -> Difference:
    """Return a difference with its interval within limits, its p-value and the verdict.

    Both methods are drawn together, so this is the paired test: Student's t of the differences of units.
    """
    error, freedom = standard_error(draws)
    return judged(value, error, freedom, enough=is_enough(draws), level=level, limits=limits)


def unpaired_difference(
    value: float, first: Draws, second: Draws, level: float, limits: tuple[float, float] = _UNBOUNDED
) -> Difference:
    """Return a difference between values of different units, which were drawn independently.

    The variances add up. The degrees of freedom follow from B. L. Welch's equation ("The generalization of Student's
    problem when several different population variances are involved", Biometrika 34, 1947).
    """
    one, of_one = standard_error(first)
    other, of_other = standard_error(second)
    variance = one**2 + other**2
    spread = 0.0
    if not math.isnan(variance):
        spread = one**4 / of_one + other**4 / of_other
    if spread > 0:
        freedom = max(int(variance**2 / spread), 1)
    else:
        freedom = max(of_one + of_other, 1)
    enough = is_enough(first) and is_enough(second)
    return judged(value, math.sqrt(variance), freedom, enough=enough, level=level, limits=limits)


def is_enough(draws: Draws) -> bool:
    """Whether there are enough units. A class that occurs in one unit tells nothing about its spread."""
    return draws.units >= FEWEST and all(part.units > 1 for part in draws.classes)


def judged(
    value: float, error: float, freedom: int, *, enough: bool, level: float, limits: tuple[float, float]
) -> Difference:
    """Return a difference with its interval, its p-value and the verdict, from its standard error.

    The p-value is the probability that Student's t is at least as far from 0, on both sides. The interval is
    symmetric, unlike that of a value: both limits of a difference are far from the differences of methods that are
    worth a comparison. It ends at the limits.
    """
    if math.isnan(error) or math.isnan(value):
        return Difference(value, math.nan, math.nan, decided=None, p=math.nan)
    half = quantile(level, freedom) * error
    if abs(value) <= _ROUNDING:
        p = 1.0
    elif error > 0:
        p = 1 - share_within(abs(value) / error, freedom)
    else:
        p = 0.0
    smallest, largest = limits
    low = min(max(value - half, smallest), value)
    high = max(min(value + half, largest), value)
    decided = None
    if enough:
        decided = p < 1 - level
    return Difference(value, low, high, decided=decided, p=p, error=error, freedom=freedom)
