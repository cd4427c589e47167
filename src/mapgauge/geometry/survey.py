"""A survey of polylines, computed once: the box around each, and its repeated points.

Readers, checks and commands ask for extents. With the boxes, none of them needs another pass over all points.
"""

from typing import NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Floats, Indices

_MANY = 200_000  # points; for fewer, numpy is fast enough and no kernel is compiled


class Survey(NamedTuple):
    """Values of each polyline."""

    low: Floats  # (polylines, dimension): lowest coordinates; infinity without points
    high: Floats  # (polylines, dimension): highest coordinates; minus infinity without points
    repeats: Indices  # (polylines,): number of points that equal the previous one

    @property
    def reach(self) -> Floats:
        """The largest absolute coordinates of each polyline; minus infinity without points."""
        return np.maximum(-self.low, self.high)


def survey(polylines: Polylines) -> Survey:
    """Return the survey of polylines. It is computed once for each of them.

    >>> survey(Polylines.of([[[0, 5], [2, 1], [2, 1]], [[7, 7]]])).repeats
    array([1, 0])
    """
    if polylines.measured is None:
        object.__setattr__(polylines, "measured", _surveyed(polylines))
    found: Survey = polylines.measured
    return found


def _surveyed(polylines: Polylines) -> Survey:
    coords, offsets = polylines.coords, polylines.offsets
    if len(coords) > _MANY:
        # The kernel would be compiled again for other arrays.
        return Survey(*kernels.survey.survey_lines(np.require(coords, requirements=["C", "W"]), offsets))
    shape = len(polylines), polylines.dimension
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    rows = np.flatnonzero(np.diff(offsets))
    if len(rows):
        low[rows] = np.minimum.reduceat(coords, offsets[rows], axis=0)
        high[rows] = np.maximum.reduceat(coords, offsets[rows], axis=0)
    same = np.flatnonzero((coords[1:] == coords[:-1]).all(axis=1))
    owner = np.searchsorted(offsets, same, side="right") - 1
    inside = same + 1 < offsets[owner + 1]
    return Survey(low, high, np.bincount(owner[inside], minlength=len(polylines)))
