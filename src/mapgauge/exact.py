"""Sums that do not depend on any order: exact, mergeable, rounded once at the end.

A float64 is a whole number times a power of two, so a sum of many is a whole number over one fixed power of two. Such
sums can be made on many machines, added in any order, and give the bits that ``math.fsum`` gives over all values.
"""

import numpy as np
from numpy.typing import NDArray

_SHIFT = 1127  # 2**-1127 divides every float64, as numpy splits them
_LOW = 27  # bits of a mantissa that are added apart, so that 2**36 values fit into 64 bits


def exact_sums(values: NDArray[np.float64]) -> list[int]:
    """The sum of each column, in units of ``2**-1127``.

    >>> exact_sums(np.array([[0.1], [0.2], [-0.3]]))[0] == sum(exact_sums(np.array([[v]]))[0] for v in (-0.3, 0.1, 0.2))
    True
    """
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    places = exponent.astype(np.int64) - 53 + _SHIFT
    sums = []
    for column in range(values.shape[1]):
        place, index = np.unique(places[:, column], return_inverse=True)
        high, low = np.zeros(len(place), np.int64), np.zeros(len(place), np.int64)
        np.add.at(high, index, whole[:, column] >> _LOW)
        np.add.at(low, index, whole[:, column] & ((1 << _LOW) - 1))
        parts = zip(place.tolist(), high.tolist(), low.tolist(), strict=True)
        sums.append(sum(((upper << _LOW) + lower) << where for where, upper, lower in parts))
    return sums


def rounded(total: int) -> float:
    """An exact sum as the nearest float64."""
    return total / (1 << _SHIFT)
