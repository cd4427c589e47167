"""Isotonic regression: the monotone function that is nearest to given values."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mapgauge.typing import Floats

_PASSES = 3  # over all levels at once, which leave few blocks for the loop


class Isotonic(NamedTuple):
    """A function that never falls: straight lines between points, constant beyond them."""

    confidence: Floats  # rising
    value: Floats  # never falling

    def __call__(self, confidence: ArrayLike) -> Floats:
        """Return the recalibrated confidences."""
        return np.interp(np.asarray(confidence, np.float64), self.confidence, self.value)


def fit_isotonic(confidence: Floats, target: Floats) -> Isotonic:
    """Fit a monotone function by pooling adjacent violators.

    The values at the given confidences minimise the sum of squared differences to the targets: 1 for a hit, 0 for none,
    or anything between.

    >>> fit = fit_isotonic(np.array([0.1, 0.2, 0.6, 0.9]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> fit([0.1, 0.2, 0.4, 0.6, 1.0]).tolist()
    [0.0, 0.5, 0.5, 0.5, 1.0]
    """
    levels, place = np.unique(confidence, return_inverse=True)
    number = np.bincount(place).astype(np.float64)
    total = np.bincount(place, target)
    starts = np.arange(len(levels))
    for _ in range(_PASSES):  # adjacent violators may be pooled in any order: first those of all runs that fall
        falls = total[1:] * number[:-1] <= total[:-1] * number[1:]
        kept = np.flatnonzero(np.append(True, ~falls))
        starts = starts[kept]
        number = np.add.reduceat(number, kept)
        total = np.add.reduceat(total, kept)
    first: list[int] = []  # first level of each block, and the number and total of its targets
    counts: list[float] = []
    totals: list[float] = []
    for start, n, t in zip(starts.tolist(), number.tolist(), total.tolist(), strict=True):
        begin = start
        count = n
        added = t
        while first and totals[-1] * count >= added * counts[-1]:  # the mean before is not below this mean
            begin = first.pop()
            count += counts.pop()
            added += totals.pop()
        first.append(begin)
        counts.append(count)
        totals.append(added)
    ends = [*(begin - 1 for begin in first[1:]), len(levels) - 1]
    means = np.array(totals) / np.array(counts)
    # A block is two points, so that the function is constant inside.
    points = np.stack([levels[first], levels[ends]], axis=1).ravel()
    values = np.repeat(means, 2)
    double = np.append(points[1:] != points[:-1], True)
    return Isotonic(points[double], values[double])
