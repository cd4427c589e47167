"""Which pairs of polylines meet when both are widened: the pre-filter of MapTR's evaluator."""

from typing import Any

import numpy as np

from mapgauge.dependencies import require
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Flags, Pairs


def buffers_meet(polylines: Polylines, pairs: Pairs, width: float) -> Flags:
    """Whether both lines of each pair, widened by ``width`` metres to each side, meet.

    Caps are flat and joins mitred, so a line does not grow at its ends: short lines one behind the other do not meet
    although they are near, and a line without length has no area and meets nothing. Seen from above, whatever the
    dimension.
    """
    shapely = require("shapely", "the pre-filter by buffers", "shapely")
    used, index = np.unique(pairs, return_inverse=True)
    picked = polylines.pick(used)
    sizes = np.diff(picked.offsets)
    doubled = np.where(sizes == 1, 2, 1)  # shapely has no line of one point
    owner = np.repeat(np.arange(len(picked)), sizes * doubled)
    points = np.repeat(picked.coords[:, :2], np.repeat(doubled, sizes), axis=0)
    lines: Any = shapely.linestrings(points, indices=owner) if len(used) else np.empty(0, object)
    areas = shapely.buffer(lines, width, cap_style="flat", join_style="mitre")
    at = index.reshape(pairs.shape)
    return np.asarray(shapely.intersects(areas[at[:, 0]], areas[at[:, 1]]), np.bool_)
