"""Intervals and tests over scenes, with Student's distribution."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mapgauge.typing import Floats


def share_within(t: float, freedom: int) -> float:
    """Return the probability that Student's t lies between ``-t`` and ``t``.

    Args:
        t: A number of at least 0.
        freedom: Degrees of freedom, a whole number of at least 1.

    >>> round(share_within(2.262157, 9), 6)
    0.95
    """
    angle = math.atan2(t, math.sqrt(freedom))
    if freedom == 1:
        return 2 * angle / math.pi
    odd = freedom % 2
    cosine = math.cos(angle)
    # The sum has the powers 0, 2, ... or 1, 3, ... of the cosine, up to freedom - 2.
    power = np.arange(2 + odd, freedom, 2)
    terms = cosine**odd * np.cumprod(np.append(1.0, (power - 1) / power * cosine**2))
    total = math.sin(angle) * math.fsum(terms.tolist())
    return min(2 / math.pi * (angle + total) if odd else total, 1.0)


@lru_cache(maxsize=256)
def quantile(level: float, freedom: int) -> float:
    """Return the number ``t`` for which Student's t lies between ``-t`` and ``t`` with probability ``level``.

    Args:
        level: A probability between 0 and 1.
        freedom: Degrees of freedom, a whole number of at least 1.

    >>> round(quantile(0.95, 9), 6)
    2.262157
    """
    low, high = 0.0, 1.0
    while share_within(high, freedom) < level:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if share_within(middle, freedom) < level else (low, middle)
    return high


FEWEST = 5  # scenes or frames; with fewer, methods are not told apart
_RARE = 3  # degrees of freedom of a class in fewer units than that, because it borrows from other classes
_ROUNDING = 1e-12  # differences up to this size are rounding, because values are of the order of 1
_UNBOUNDED = (-math.inf, math.inf)


class Estimate(NamedTuple):
    """A value and its confidence interval. The bounds are NaN if there is no interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As ``0.790 [0.771, 0.812]``, ``0.790 [-]`` without an interval, or ``-`` without a value."""
        return _with_interval(self.value, self.low, self.high, ".3f")


class Difference(NamedTuple):
    """The difference of a value between two methods, on the same draws."""

    value: float
    low: float
    high: float
    told_apart: bool | None  # whether p is below 1 - level; None if there are too few scenes or frames to tell
    p: float  # the p-value of equal methods, corrected if a correction was chosen; NaN if there is no interval

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if math.isnan(self.value):
            return "no value to compare"
        if self.told_apart is None:
            return "too few scenes to tell"
        return "told apart" if self.told_apart else "cannot be told apart"

    @property
    def numbers(self) -> str:
        """The difference and its interval, as ``+0.012 [+0.004, +0.021]``; a dash if there is none."""
        return _with_interval(self.value, self.low, self.high, "+.3f")

    def __str__(self) -> str:
        """As ``+0.012 [+0.004, +0.021]``, with the verdict if the methods are not told apart."""
        return self.numbers if self.told_apart else f"{self.numbers} ({self.verdict})"


def _with_interval(value: float, low: float, high: float, form: str) -> str:
    return "-" if math.isnan(value) else f"{value:{form}} {bracket(low, high, form)}"


def bracket(low: float, high: float, form: str = ".3f") -> str:
    """Return an interval in brackets, or a dash in brackets if there is none."""
    return f"[{low:{form}}, {high:{form}}]" if math.isfinite(low) and math.isfinite(high) else "[-]"


class Draws(NamedTuple):
    """The values of the bootstrap samples, and how many units they rest on."""

    samples: Floats  # samples without a value are NaN and do not count
    units: int  # number of scenes or frames that have a part in the value
    classes: "tuple[Draws, ...]" = ()  # the draws of each class, if this is the mean over classes


def estimate(value: float, draws: Draws, level: float, limits: tuple[float, float] = _UNBOUNDED) -> Estimate:
    """Return a value with its interval.

    Args:
        value: The value of all units.
        draws: The bootstrap samples.
        level: The probability with which the interval covers the true value.
        limits: The smallest and the largest possible value.
    """
    error, freedom = _error(draws)
    if math.isnan(error):
        return Estimate(value, math.nan, math.nan)
    half = quantile(level, freedom) * error
    return Estimate(value, max(value - half, min(limits[0], value)), min(value + half, max(limits[1], value)))


def difference(value: float, draws: Draws, level: float) -> Difference:
    """Return a difference with its interval, its p-value and the verdict. ``estimate`` has the same arguments."""
    error, freedom = _error(draws)
    if math.isnan(error) or math.isnan(value):
        return Difference(value, math.nan, math.nan, None, math.nan)
    half = quantile(level, freedom) * error
    p = 1 - share_within(abs(value) / error, freedom) if error > 0 else 0.0
    p = 1.0 if abs(value) <= _ROUNDING else p
    return Difference(value, value - half, value + half, p < 1 - level if _enough(draws) else None, p)


def too_few(units: int, drawn: str) -> str:
    """Return that there are too few scenes or frames, in words; "" if there are enough.

    >>> too_few(3, "scene"), too_few(5, "scene")
    ('3 scenes are too few to tell methods apart', '')
    """
    if units == 1:
        return f"there is only one {drawn}, so there are no intervals and no verdicts"
    return f"{units} {drawn}s are too few to tell methods apart" if units < FEWEST else ""


def _enough(draws: Draws) -> bool:
    """Whether there are enough units for a verdict. A class that occurs in one unit tells nothing about its spread."""
    return draws.units >= FEWEST and all(part.units > 1 for part in draws.classes)


def _error(draws: Draws) -> tuple[float, int]:
    """Return the standard error and its degrees of freedom; NaN if there are no two units or samples with values."""
    finite = draws.samples[np.isfinite(draws.samples)]
    count = min(draws.units, len(finite))
    if count < 2:
        return math.nan, 0
    if len(draws.classes) > 1 and any(part.units < draws.units for part in draws.classes):
        return _error_of_mean(draws.classes, count - 1)
    return float(np.std(finite, ddof=1)) * math.sqrt(draws.units / (draws.units - 1)), count - 1


def _error_of_mean(classes: Sequence[Draws], most: int) -> tuple[float, int]:
    """Return the standard error of a mean over classes that occur in different numbers of units.

    The variance of the mean is the sum of the shares of the classes. The share of a rare class has the degrees of
    freedom of its own units. The degrees of freedom of the sum follow from Welch and Satterthwaite's equation. Few
    units can be similar by chance, so a unit of a rare class varies at least as much as a unit of all classes on
    average.

    Args:
        classes: The draws of each class.
        most: Degrees of freedom of all units.
    """
    units = np.array([of_class.units for of_class in classes], np.float64)
    total = float((units - 1).sum())
    if total < 1:
        return math.nan, 0
    samples = np.stack([of_class.samples for of_class in classes])
    finite = np.isfinite(samples).astype(np.float64)
    filled = np.where(finite > 0, samples, 0.0)
    centre = filled.sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
    away = (filled - centre[:, None]) * finite
    pairs = np.maximum(np.einsum("is,js->ij", finite, finite) - 1, 1)
    wider = np.sqrt(units / np.maximum(units - 1, 1))
    covariance = np.einsum("is,js->ij", away, away) / pairs * wider[:, None] * wider
    own = np.diag(covariance)
    of_unit = (own * units * (units - 1)).sum() / total
    covariance += np.diag(np.where(units < FEWEST, np.maximum(of_unit / units - own, 0.0), 0.0))
    shares = covariance.sum(axis=1) / len(classes) ** 2
    variance = max(float(shares.sum()), 0.0)
    spread = float((shares**2 / np.maximum(units - 1, min(_RARE, total))).sum())
    return math.sqrt(variance), min(max(int(variance**2 / spread) if spread > 0 else most, 1), most)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method. NaN stays, and does not count.

    >>> [round(value, 6) for value in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    corrected = [math.nan] * len(p)
    order = sorted((k for k in range(len(p)) if not math.isnan(p[k])), key=lambda k: p[k])
    largest = 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min((len(order) - rank) * p[k], 1.0))
        corrected[k] = largest
    return corrected
