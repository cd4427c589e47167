"""Exact sums of floats. They do not depend on the order of values and are rounded once at the end.

A float64 is a whole number times a power of two, so a sum of many is a whole number over one fixed power of two. Such
sums can be computed on many machines and added in any order. The result has the same bits as ``math.fsum`` over all
values.
"""

import numpy as np
from numpy.typing import NDArray

_SHIFT = 1127  # every float64, as numpy splits it, is a multiple of 2**-1127
_LOW = 27  # low bits of a mantissa, which are added separately
_ROWS = 1 << 26  # values that are added at once


def exact_sums(values: NDArray[np.float64]) -> list[int]:
    """Return the sum of each column, in units of ``2**-1127``.

    >>> exact_sums(np.array([[0.1], [0.2], [-0.3]]))[0] == sum(exact_sums(np.array([[v]]))[0] for v in (-0.3, 0.1, 0.2))
    True
    """
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    places = exponent.astype(np.int64) - 53 + _SHIFT
    sums = []
    for column in range(values.shape[1]):
        total = 0
        for start in range(0, len(values), _ROWS):
            part = slice(start, start + _ROWS)
            place, index = np.unique(places[part, column], return_inverse=True)
            # These sums of whole numbers stay below 2**53, so float64 holds them exactly.
            high = np.bincount(index, whole[part, column] >> _LOW).astype(np.int64)
            low = np.bincount(index, whole[part, column] & ((1 << _LOW) - 1)).astype(np.int64)
            parts = zip(place.tolist(), high.tolist(), low.tolist(), strict=True)
            total += sum(((upper << _LOW) + lower) << where for where, upper, lower in parts)
        sums.append(total)
    return sums


def rounded(total: int) -> float:
    """Return an exact sum as the nearest float64."""
    return total / (1 << _SHIFT)
