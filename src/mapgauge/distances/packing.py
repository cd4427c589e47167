"""Turns the arguments of public functions into the arguments of a kernel."""

from typing import TYPE_CHECKING

import numpy as np

from mapgauge import kernels
from mapgauge.arguments import check_closed, check_cutoff, check_flag, check_order, check_tolerance
from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import Polylines, as_points
from mapgauge.typing import Flags, PolylineLike, PolylinesLike

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines


def pack_pair(x: PolylineLike, y: PolylineLike) -> Polylines:
    """Pack two polylines of the same dimension."""
    first, second = as_points(x, "x"), as_points(y, "y")
    if len(first) and len(second) and first.shape[1] != second.shape[1]:
        raise InvalidInput(
            f"x and y must have the same number of coordinates, got {first.shape[1]} for x and {second.shape[1]} for y"
        )
    return Polylines.pack([first, second], ["x", "y"], (first if len(first) else second).shape[1])


def pack_sets(xs: PolylinesLike, ys: PolylinesLike, x_name: str, y_name: str) -> tuple[Polylines, int]:
    """Pack two sets of polylines, one after the other; also returns the number of polylines in the first."""
    first = Polylines.of(xs, x_name)
    second = Polylines.of(ys, y_name, first.dimension if len(first.coords) else None)
    return first.and_then(second), len(first)


def as_lines(polylines: Polylines, closed: object, closed_tolerance: object) -> tuple["Lines", Flags]:
    """The ``Lines`` that kernels take, without closing points, and which of the polylines are closed."""
    flags, repeats = polylines.closed(check_closed(closed), check_tolerance(closed_tolerance))
    start, stop = polylines.offsets[:-1], polylines.offsets[1:] - repeats
    points = np.ascontiguousarray(polylines.coords.T)
    lines: Lines = kernels.lines.index_lines(points, start.astype(np.uint64), stop.astype(np.uint64))
    return lines, flags


def check_sospa_arguments(cutoff: object, order: object, directed: object) -> tuple[bool, float, float]:
    """Check the arguments of SOSPA and return ``directed, cutoff, order``, the order in which kernels take them."""
    return check_flag("directed", directed), check_cutoff("cutoff", cutoff), check_order(order)
