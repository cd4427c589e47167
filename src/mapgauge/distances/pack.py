"""From public arguments to what a kernel takes."""

from typing import TYPE_CHECKING

import numpy as np

from mapgauge import kernels
from mapgauge.arguments import check_closed, check_flag, check_length, check_order, check_tolerance
from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import Polylines, as_points
from mapgauge.typing import Flags, PolylineLike, PolylinesLike

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines


def pack_pair(x: PolylineLike, y: PolylineLike) -> Polylines:
    """Two polylines of one dimension."""
    first, second = as_points(x, "x"), as_points(y, "y")
    if len(first) and len(second) and first.shape[1] != second.shape[1]:
        raise InvalidInput(f"x has points of {first.shape[1]} coordinates and y of {second.shape[1]}; they must agree")
    return Polylines.pack([first, second], ["x", "y"], (first if len(first) else second).shape[1])


def pack_sets(xs: PolylinesLike, ys: PolylinesLike, x_name: str, y_name: str) -> tuple[Polylines, int]:
    """All polylines of both sets, and how many are in the first."""
    first = Polylines.of(xs, x_name)
    second = Polylines.of(ys, y_name, first.dimension if len(first.coords) else None)
    return first.and_then(second), len(first)


def index(polylines: Polylines, closed: object, closed_tolerance: object) -> tuple["Lines", Flags]:
    """Polylines in the kernels' form, closing points left out, and which of them are closed."""
    flags, repeats = polylines.closed(check_closed(closed), check_tolerance(closed_tolerance))
    start, stop = polylines.offsets[:-1], polylines.offsets[1:] - repeats
    points = np.ascontiguousarray(polylines.coords.T)
    return kernels.lines.index_lines(points, start.astype(np.uint64), stop.astype(np.uint64)), flags


def settings(cutoff: object, order: object, directed: object) -> tuple[bool, float, float]:
    """Checked ``directed, cutoff, order``, in the kernels' order."""
    return check_flag("directed", directed), check_length("cutoff", cutoff), check_order(order)
