"""SOSPA, the order-aware distance between two polylines (sections 3.1 and 3.2 of the paper)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge import kernels
from mapgauge.arguments import check_closed, check_cutoff, check_flag, check_order, check_tolerance
from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import CLOSED_TOLERANCE, Polylines, as_points
from mapgauge.markup import facts
from mapgauge.typing import Closed, Flags, Pairs, PolylineLike, PolylinesLike

if TYPE_CHECKING:
    from mapgauge.kernels.lines import Lines


def pack_pair(x: PolylineLike, y: PolylineLike) -> Polylines:
    """Pack two polylines of the same dimension."""
    first = as_points(x, "x")
    second = as_points(y, "y")
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
    start = polylines.offsets[:-1]
    stop = polylines.offsets[1:] - repeats
    points = np.ascontiguousarray(polylines.coords.T)
    lines: Lines = kernels.lines.index_lines(points, start.astype(np.uint64), stop.astype(np.uint64))
    return lines, flags


def check_sospa_arguments(cutoff: object, order: object, directed: object) -> tuple[bool, float, float]:
    """Check the arguments of SOSPA and return ``directed, cutoff, order``, the order in which kernels take them."""
    return check_flag("directed", directed), check_cutoff("cutoff", cutoff), check_order(order)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Alignment:
    """The optimal matching of the points of two polylines x and y, and its cost.

    ``value**order == matched_points + cutoff**order / 2 * (len(unmatched_x) + len(unmatched_y))``.
    """

    value: float  # SOSPA, metres
    normalised: float  # in [0, 1]
    pairs: Pairs  # (k, 2) indices into x and y as given; the indices into x increase
    matched_points: float  # sum of d**order over the pairs
    unmatched_x: NDArray[np.int64]  # indices into x as given, without a dropped closing point
    unmatched_y: NDArray[np.int64]  # the same for y
    shift: int  # y is read from its shift-th point, counted in the direction of reading
    reversed: bool  # y is read from its end to its start

    def _repr_html_(self) -> str:
        counts = {name: len(getattr(self, name)) for name in ("pairs", "unmatched_x", "unmatched_y")}
        values = {name: getattr(self, name) for name in ("normalised", "matched_points", "shift", "reversed")}
        return facts("Alignment of two polylines", {"SOSPA (m)": self.value, **values, **counts})


def sospa(
    x: PolylineLike,
    y: PolylineLike,
    *,
    cutoff: float = 1.5,
    order: float = 1.0,
    closed: Closed = False,
    directed: bool = True,
    normalised: bool = False,
    closed_tolerance: float = CLOSED_TOLERANCE,
) -> float:
    """SOSPA between two polylines (eq. 1), or between two polygons (eq. 7).

    SOSPA is the cost of the cheapest way to match points of x with points of y in order. A matched pair costs its
    distance, and an unmatched point costs ``cutoff / 2``. Points at least ``cutoff`` apart are never matched.

    Args:
        x: ``(n, dimension)`` points in metres, in order along the line, or a shapely geometry.
        y: ``(m, dimension)`` points.
        cutoff: ``c``, metres.
        order: ``p``, from 1 to 32. Costs are p-th powers, and the result is the p-th root of their sum.
        closed: If true, treat x and y as polygons: the start point does not matter, and a repeated closing point is
            dropped. "auto" does so if either polyline has more than two points and ends within ``closed_tolerance`` of
            its start; that end is then its closing point.
        directed: If true, the direction of the lines matters. If false, the smaller distance of y and y reversed is
            taken.
        normalised: Return ``2 s / (M + s)`` in [0, 1] instead of ``s`` (eq. 4), where ``M`` is the cost of matching
            nothing.
        closed_tolerance: Metres; used by "auto" only.

    Returns:
        The distance. It is exactly 0 between equal polylines, and 0 between empty ones. The normalised distance is 1 if
        only one polyline is empty.

    >>> sospa([[0, 0], [1, 0]], [[0, 0.5], [1, 0.5]])
    1.0
    >>> sospa([[0, 0], [1, 0]], [[1, 0], [0, 0]]), sospa([[0, 0], [1, 0]], [[1, 0], [0, 0]], directed=False)
    (1.5, 0.0)
    >>> sospa([[0, 0], [1, 0]], [], normalised=True)
    1.0
    """
    normalised = check_flag("normalised", normalised)
    result = sospa_align(
        x, y, cutoff=cutoff, order=order, closed=closed, directed=directed, closed_tolerance=closed_tolerance
    )
    if normalised:
        return result.normalised
    return result.value


def sospa_align(
    x: PolylineLike,
    y: PolylineLike,
    *,
    cutoff: float = 1.5,
    order: float = 1.0,
    closed: Closed = False,
    directed: bool = True,
    closed_tolerance: float = CLOSED_TOLERANCE,
) -> Alignment:
    """The matching behind ``sospa``: the matched points, the unmatched points, and how y is read.

    Among matchings of equal cost (up to rounding), the result has the most pairs, and y is not reversed if possible.
    The arguments are as in ``sospa``.

    >>> a = sospa_align([[0, 0], [1, 0], [9, 0]], [[0, 0.5], [1, 0]])
    >>> a.value, a.pairs.tolist(), a.unmatched_x.tolist()
    (1.25, [[0, 0], [1, 1]], [2])
    """
    directed, cutoff, order = check_sospa_arguments(cutoff, order, directed)
    lines, flags = as_lines(pack_pair(x, y), closed, closed_tolerance)
    return align_two_lines(lines, bool(flags.any()), directed, cutoff=cutoff, order=order)


def align_two_lines(lines: "Lines", cyclic: bool, directed: bool, cutoff: float, order: float) -> Alignment:
    """``sospa_align`` for two lines without closing points."""
    n, m = (int(stop - start) for start, stop in lines.span[:, :2])
    closed = np.full(2, cyclic)
    long = kernels.sospa.is_long(lines, closed)
    aligned = kernels.sospa.align_two(lines, closed, directed, cutoff=cutoff, order=order, long=long)
    return _alignment(aligned, n, m, cutoff=cutoff, order=order, closed=cyclic)


def sospa_from_distances(
    matrix: ArrayLike,
    *,
    cutoff: float = 1.5,
    order: float = 1.0,
    closed: bool = False,
    directed: bool = True,
    normalised: bool = False,
) -> float:
    """SOSPA for any metric between points: ``matrix[i, j]`` is the distance from ``x_i`` to ``y_j``.

    Args:
        matrix: ``(n, m)`` finite distances of at least 0. Leave out the closing points of closed lines.
        cutoff: In the unit of the distances.
        order: ``p``, from 1 to 32.
        closed: If true, the minimum over all cyclic shifts of the columns.
        directed: If false, the minimum over both directions of the columns.
        normalised: As in ``sospa``.

    >>> sospa_from_distances([[0.5, 1.2], [1.0, 0.5]])
    1.0
    """
    directed, cutoff, order = check_sospa_arguments(cutoff, order, directed)
    cyclic = bool(check_closed(closed, auto=False))
    normalised = check_flag("normalised", normalised)
    try:
        distance = np.asarray(matrix)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"matrix must be a (n, m) array of distances: {error}") from error
    if distance.ndim != 2:
        raise InvalidInput(f"matrix must have shape (n, m), got {distance.shape}")
    if distance.size and distance.dtype.kind not in "iuf":
        raise InvalidInput(f"matrix must hold distances, got values of type {distance.dtype}")
    distance = np.ascontiguousarray(distance, dtype=np.float64)
    bad = np.argwhere(~((distance >= 0) & np.isfinite(distance)))
    if len(bad):
        i, j = (int(v) for v in bad[0])
        raise InvalidInput(f"matrix[{i}, {j}] is {distance[i, j]}, expected a finite distance of at least 0")
    n, m = distance.shape
    if cyclic and max(n, m) > kernels.sospa.LONG:
        long = True
    else:
        long = None
    aligned = kernels.sospa.align_matrix(distance, cyclic, directed, cutoff=cutoff, order=order, long=long)
    result = _alignment(aligned, n, m, cutoff=cutoff, order=order, closed=cyclic)
    if normalised:
        return result.normalised
    return result.value


def sospa_matrix(
    xs: PolylinesLike,
    ys: PolylinesLike,
    *,
    cutoff: float = 1.5,
    order: float = 1.0,
    closed: Closed = False,
    directed: bool = True,
    normalised: bool = False,
    closed_tolerance: float = CLOSED_TOLERANCE,
) -> NDArray[np.float64]:
    """SOSPA between every polyline of one set and every polyline of another.

    Args:
        xs: Polylines: an iterable of ``(n, dimension)`` arrays or shapely geometries, or a ``Polylines``.
        ys: The other set.
        cutoff: Metres.
        order: ``p``, from 1 to 32.
        closed: As in ``sospa``. "auto" decides for each polyline, and a pair is compared as polygons if either is
            closed.
        directed: As in ``sospa``.
        normalised: As in ``sospa``.
        closed_tolerance: Metres; used by "auto" only.

    Returns:
        ``(len(xs), len(ys))`` distances, the same as from ``sospa``.

    >>> sospa_matrix([[[0, 0], [1, 0]]], [[[0, 0.5], [1, 0.5]], [[50, 0], [51, 0]]])
    array([[1., 3.]])
    """
    normalised = check_flag("normalised", normalised)
    directed, cutoff, order = check_sospa_arguments(cutoff, order, directed)
    polylines, rows = pack_sets(xs, ys, "xs", y_name="ys")
    lines, flags = as_lines(polylines, closed, closed_tolerance)
    long = kernels.sospa.is_long(lines, flags)
    pairs = kernels.gains.pairs_of_groups(np.array([[0, rows, len(flags)]]))
    total, share = kernels.sospa.values_of_pairs(
        lines, flags, pairs, directed=directed, cutoff=cutoff, order=order, long=long
    )
    if normalised:
        matrix: NDArray[np.float64] = share
    else:
        matrix = _metres(total, cutoff, order)
    return matrix.reshape(rows, len(flags) - rows)


def _alignment(
    solved: tuple[Pairs, bool, float, float, float], n: int, m: int, cutoff: float, order: float, *, closed: bool
) -> Alignment:
    """Build an ``Alignment`` from the result of a kernel."""
    pairs, backward, cost, total, normalised = solved
    if backward:
        walked = m - 1 - pairs[:, 1]
    else:
        walked = pairs[:, 1]
    wraps = closed and bool(np.any(walked[1:] < walked[:-1]))
    if wraps:
        shift = int(walked[0])
    else:
        shift = 0
    return Alignment(
        value=float(_metres(np.array(total), cutoff, order)),
        normalised=float(normalised),
        pairs=pairs,
        matched_points=float(cost if order == 1 else cost * cutoff**order),
        unmatched_x=_others(pairs[:, 0], n),
        unmatched_y=_others(pairs[:, 1], m),
        shift=shift,
        reversed=bool(backward),
    )


def _metres(total: NDArray[np.float64], cutoff: float, order: float) -> NDArray[np.float64]:
    """Return SOSPA from the totals of kernels, in units of cutoff**order. Order 1 has metres, which keep all digits."""
    if order == 1:
        return total
    # Python uses the C library. The last bit of numpy's power differs between processors.
    roots = [cutoff * value ** (1 / order) for value in total.ravel().tolist()]
    return np.array(roots, np.float64).reshape(total.shape)


def _others(indices: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The indices below ``count`` that are not in ``indices``."""
    left = np.ones(count, np.bool_)
    left[indices] = False
    return np.flatnonzero(left)
