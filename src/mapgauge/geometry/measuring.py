"""Measures of many polylines at once: extents, lengths, and buffers that meet."""

from typing import Any, NamedTuple

import numpy as np

from mapgauge import kernels
from mapgauge.dependencies import require
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Flags, Floats, Indices, Pairs

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
    measured: Survey = polylines.measured
    return measured


def _surveyed(polylines: Polylines) -> Survey:
    coords, offsets = polylines.coords, polylines.offsets
    if len(coords) > _MANY:
        # The kernel would be compiled again for other arrays.
        return Survey(*kernels.lines.survey_lines(np.require(coords, requirements=["C", "W"]), offsets))
    shape = len(polylines), polylines.dimension
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    rows = np.flatnonzero(np.diff(offsets))
    if len(rows):
        low[rows], high[rows] = boxes_of(coords, offsets[rows])
    same = np.flatnonzero((coords[1:] == coords[:-1]).all(axis=1))
    owner = np.searchsorted(offsets, same, side="right") - 1
    inside = same + 1 < offsets[owner + 1]
    return Survey(low, high, np.bincount(owner[inside], minlength=len(polylines)))


def boxes_of(points: Floats, starts: Indices, axis: int = 0) -> tuple[Floats, Floats]:
    """Return the lowest and the highest coordinates of runs of points, given their starts. No run may be empty."""
    return np.minimum.reduceat(points, starts, axis=axis), np.maximum.reduceat(points, starts, axis=axis)


def buffers_meet(polylines: Polylines, pairs: Pairs, width: float) -> Flags:
    """Return for each pair whether the buffers of its two lines, ``width`` metres to each side, intersect.

    Caps are flat and joins are mitred, so a buffer does not extend beyond the ends of its line. Short lines one behind
    the other therefore do not meet although they are near. A line of length 0 has an empty buffer and meets nothing.
    Height is ignored.
    """
    shapely = require("shapely", "the pre-filter by buffers", "shapely")
    used, index = np.unique(pairs, return_inverse=True)
    picked = polylines.pick(used)
    sizes = np.diff(picked.offsets)
    doubled = np.where(sizes == 1, 2, 1)  # shapely does not accept a line of one point
    owner = np.repeat(np.arange(len(picked)), sizes * doubled)
    points = np.repeat(picked.coords[:, :2], np.repeat(doubled, sizes), axis=0)
    lines: Any = shapely.linestrings(points, indices=owner) if len(used) else np.empty(0, object)
    areas = shapely.buffer(lines, width, cap_style="flat", join_style="mitre")
    at = index.reshape(pairs.shape)
    return np.asarray(shapely.intersects(areas[at[:, 0]], areas[at[:, 1]]), np.bool_)
