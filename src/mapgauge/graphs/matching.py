"""The one-to-one matching of points that all graph scores use: by rising distance, ties by position.

The result does not depend on the order of the points, nor on which side is called prediction.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge import kernels
from mapgauge.typing import Floats, Indices, Pairs, Points


@dataclass(frozen=True, eq=False)
class Near:
    """All pairs of near points, in the order in which they are matched, and the pairs that were accepted."""

    first: Indices
    second: Indices
    distance: Floats
    accepted: Indices  # positions in the columns above

    @property
    def pairs(self) -> Pairs:
        """The matched pairs."""
        return np.stack([self.first[self.accepted], self.second[self.accepted]], axis=1)


def match(x: Points, y: Points, radius: float) -> Near:
    """Match points that are closer than a radius, one to one, the nearest first.

    Pairs that are equally near are taken in the order of their midpoints.
    """
    if not len(x) or not len(y):  # they may have different dimensions
        none = np.empty(0, np.int64)
        return Near(none, none, np.empty(0), none)
    i, j, squared = kernels.nearby.close_points(x, y, radius)
    middle = x[i] + y[j]
    order = np.lexsort((*middle.T[::-1], squared))
    first, second = i[order], j[order]
    accepted = kernels.nearby.accept_pairs(first, second, len(x), len(y))
    return Near(first, second, np.sqrt(squared[order]), accepted)
