"""Values and differences with their confidence intervals, and how they are written."""

import math
from typing import NamedTuple

LEVEL = 0.95  # the probability with which an interval covers the true value, unless it is chosen
FEWEST = 5  # scenes or frames; with fewer, no difference is decided


class Estimate(NamedTuple):
    """A value and its confidence interval. The bounds are NaN if there is no interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As ``0.790 [0.771, 0.812]``, ``0.790`` without an interval, or ``-`` without a value."""
        return _with_interval(self.value, self.low, self.high, form=".3f")


class Difference(NamedTuple):
    """The difference of a value between two methods, on the same draws."""

    value: float
    low: float
    high: float
    decided: bool | None  # whether it is decided: p is below 1 - level; None if there are too few scenes or frames
    p: float  # the p-value of equal methods, corrected if a correction was chosen; NaN if there is no interval
    error: float = math.nan  # the standard error; NaN if there is no interval
    freedom: int = 0  # its degrees of freedom

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if math.isnan(self.value):
            return "no value to compare"
        if self.decided is None:
            return "too few scenes to decide"
        if self.decided:
            return "decided"
        return "cannot be decided"

    @property
    def numbers(self) -> str:
        """The difference and its interval, as ``+0.012 [+0.004, +0.021]``; a dash if there is no difference."""
        return _with_interval(self.value, self.low, self.high, form="+.3f")

    def __str__(self) -> str:
        """As ``+0.012 [+0.004, +0.021]``, with the verdict if it is not decided."""
        if self.decided:
            return self.numbers
        return f"{self.numbers} ({self.verdict})"


def _with_interval(value: float, low: float, high: float, form: str) -> str:
    """Return a value as text, with its interval if it has one; a dash if there is no value."""
    if math.isnan(value):
        return "-"
    if not math.isfinite(low) or not math.isfinite(high):
        return f"{value:{form}}"
    return f"{value:{form}} {bracket(low, high, form)}"


def bracket(low: float, high: float, form: str = ".3f") -> str:
    """Return an interval in brackets, or a dash in brackets if there is none."""
    if math.isfinite(low) and math.isfinite(high):
        return f"[{low:{form}}, {high:{form}}]"
    return "[-]"


def too_few(units: int, drawn: str) -> str:
    """Return that there are too few scenes or frames, in words; "" if there are enough.

    >>> too_few(3, "scene"), too_few(5, "scene")
    ('3 scenes are too few to decide which method is better', '')
    """
    if units == 1:
        return f"there is only one {drawn}, so there are no intervals and no verdicts"
    if units < FEWEST:
        return f"{units} {drawn}s are too few to decide which method is better"
    return ""
