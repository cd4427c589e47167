"""Student's t distribution for whole degrees of freedom. Its sums are finite, so no table and no library is needed."""

import math
from functools import lru_cache

import numpy as np


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
