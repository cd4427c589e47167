"""Finds pairs of polylines whose buffers intersect: the pre-filter of MapTR's evaluator."""

from typing import Any

import numpy as np

from mapgauge.dependencies import require
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Flags, Pairs


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
