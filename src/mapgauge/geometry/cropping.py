"""Crops polylines to a region."""

from typing import TypeAlias

import numpy as np

from mapgauge.errors import InvalidInput
from mapgauge.geometry.polylines import Polylines, survey
from mapgauge.typing import Bounds, Flags, Forward, Indices, Points

Region: TypeAlias = tuple[float, float] | Bounds


def check_region(region: object, forward: Forward | None = None) -> Bounds:
    """Return four bounds, or ``(length, width)`` around the ego, as ``(x_min, y_min, x_max, y_max)``.

    The length lies along ``forward``, by default x.

    >>> check_region((60, 30), "y")
    (-15.0, -30.0, 15.0, 30.0)
    """
    expected = "region must be (length, width) or (x_min, y_min, x_max, y_max) in metres"
    try:
        values = np.asarray(region, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{expected}, got {region!r}") from error
    if values.shape == (2,):
        if forward == "y":
            values = values[::-1]
        values = np.concatenate([-values / 2, values / 2])
    if values.shape != (4,) or not np.isfinite(values).all() or not (values[:2] < values[2:]).all():
        raise InvalidInput(f"{expected}, got {region!r}")
    x_min, y_min, x_max, y_max = (float(v) for v in values)
    return x_min, y_min, x_max, y_max


# The sides of a region: for each axis that points forward, the axis and the sign of the half-plane.
_SIDES = {
    "ahead": {"x": (0, 1), "y": (1, 1)},
    "rear": {"x": (0, -1), "y": (1, -1)},
    "left": {"x": (1, 1), "y": (0, -1)},
    "right": {"x": (1, -1), "y": (0, 1)},
}
_CORRIDOR = "corridor:"
_FAR = 1e7  # metres; no line around an ego is as long


def check_window(name: str, value: object) -> str:
    """Return a part of the region as text: a side, four bounds in metres, or a corridor with its distance in metres.

    >>> check_window("window", "-10, 0, 30, 15.5"), check_window("window", "corridor:5.0")
    ('-10,0,30,15.5', 'corridor:5')
    """
    if isinstance(value, str):
        text = "".join(value.split())
    else:
        text = ""
    if text in _SIDES:
        return text
    is_corridor = text.startswith(_CORRIDOR)
    try:
        numbers = [float(part) for part in text.removeprefix(_CORRIDOR).split(",")]
        if is_corridor and len(numbers) == 1 and 0 < numbers[0] < _FAR:
            return f"{_CORRIDOR}{numbers[0]:.15g}"
        if not is_corridor and len(numbers) == 4:
            return ",".join(f"{bound:.15g}" for bound in check_region(numbers))
    except ValueError:
        pass
    raise InvalidInput(
        f"{name} must be {', '.join(_SIDES)}, corridor:METRES or four bounds X_MIN,Y_MIN,X_MAX,Y_MAX in metres, "
        f"got {value!r}"
    )


def corridor_radius(window: str | None) -> float | None:
    """Return the distance of a corridor in metres; None for another part of the region."""
    if window is not None and window.startswith(_CORRIDOR):
        return float(window.removeprefix(_CORRIDOR))
    return None


def window_bounds(window: str, forward: Forward | None) -> Bounds:
    """Return the bounds of a part of the region. By default, x points forward and y to the left.

    >>> window_bounds("left", "y")[2]
    0.0
    """
    if window not in _SIDES:
        return check_region([float(part) for part in window.split(",")])
    axis, sign = _SIDES[window][forward or "x"]
    low = [-_FAR, -_FAR]
    high = [_FAR, _FAR]
    (low if sign > 0 else high)[axis] = 0.0
    return low[0], low[1], high[0], high[1]


def crop_polylines(polylines: Polylines, region: Region, whole: Flags | None = None) -> tuple[Polylines, Indices]:
    """Cut polylines at the edge of a region.

    The edge belongs to the region. A polyline that leaves the region and comes back gives several pieces, even if it
    leaves and comes back at the same point. A polyline that only touches the edge in a point gives none. If a polygon
    (a polyline that repeats its first point as its last) is cut, the pieces before and after that point are joined.
    Height is interpolated. Polylines that are ``whole`` stay as they are. Returns the pieces inside the region, and for
    each piece the index of its polyline.
    """
    bounds = check_region(region)
    low = np.array(bounds[:2])
    high = np.array(bounds[2:])
    coords = polylines.coords
    offsets = polylines.offsets
    outside = np.flatnonzero(((coords[:, :2] < low) | (coords[:, :2] > high)).any(axis=1))
    crossing = np.unique(np.searchsorted(offsets, outside, side="right") - 1)
    if whole is not None:
        crossing = crossing[~whole[crossing]]
    if not len(crossing):
        return polylines, np.arange(len(polylines))
    inside = np.delete(np.arange(len(polylines)), crossing)
    pieces, owner = _cut(polylines.pick(crossing), low, high)
    sources = np.concatenate([inside, crossing[owner]])
    order = np.argsort(sources, kind="stable")
    return polylines.pick(inside).and_then(pieces).pick(order), sources[order]


def _cut(polylines: Polylines, low: Points, high: Points) -> tuple[Polylines, Indices]:
    """Return the pieces of polylines, and the polyline of each. All segments are clipped (Liang and Barsky)."""
    coords = polylines.coords
    offsets = polylines.offsets
    owner = np.repeat(np.arange(len(polylines)), np.diff(offsets))
    first = np.flatnonzero(owner[1:] == owner[:-1])  # points that begin a segment
    start = coords[first]
    step = coords[first + 1] - coords[first]
    enter = np.zeros(len(first))
    leave = np.ones(len(first))
    for k in range(2):
        with np.errstate(divide="ignore", invalid="ignore"):
            at_low = (low[k] - start[:, k]) / step[:, k]
            at_high = (high[k] - start[:, k]) / step[:, k]
        flat = step[:, k] == 0
        enter = np.where(flat, enter, np.maximum(enter, np.minimum(at_low, at_high)))
        leave = np.where(flat, leave, np.minimum(leave, np.maximum(at_low, at_high)))
        leave[flat & ((start[:, k] < low[k]) | (start[:, k] > high[k]))] = -1
    kept = np.flatnonzero(enter < leave)
    first = first[kept]
    start = start[kept]
    step = step[kept]
    enter = enter[kept, None]
    leave = leave[kept, None]
    # A computed crossing is moved onto the edge where rounding left it outside.
    a = start + enter * step
    b = start + leave * step
    for points in (a, b):
        points[:, :2] = np.clip(points[:, :2], low, high)
    a = np.where(enter == 0, start, a)
    b = np.where(leave == 1, coords[first + 1], b)
    return pieces_of(polylines, first, enter, leave=leave, a=a, b=b)


def pieces_of(
    polylines: Polylines, first: Indices, enter: Points, leave: Points, a: Points, b: Points
) -> tuple[Polylines, Indices]:
    """Join the parts of segments that are inside a region to pieces, and return the polyline of each.

    ``first`` has the first point of each segment, ascending, ``enter`` and ``leave`` the shares of the segment
    ``(parts, 1)`` between which it is inside, and ``a`` and ``b`` the points there. A segment can have several parts.
    """
    coords = polylines.coords
    offsets = polylines.offsets
    line = np.searchsorted(offsets, first, side="right") - 1
    kept = first
    new = np.ones(len(kept), np.bool_)  # segments that begin a new piece
    new[1:] = (np.diff(first) != 1) | (enter[1:, 0] > 0) | (leave[:-1, 0] < 1)
    number = new.cumsum() - 1  # the piece of each segment
    at = np.arange(len(kept)) + number + 1  # the index of a segment's end in the list of all points
    points = np.empty((len(kept) + np.count_nonzero(new), coords.shape[1]))
    points[at] = b
    points[at[new] - 1] = a[new]
    piece = np.sort(np.concatenate([number, number[new]]))  # of each point
    ends = np.append(new[1:], True)[: len(new)]  # segments that end a piece
    owners = line[new]  # the polyline of each piece
    whole_start = (first[new] == offsets[owners]) & (enter[new, 0] == 0)
    whole_end = (first[ends] + 2 == offsets[owners + 1]) & (leave[ends, 0] == 1)
    # Join the first and the last piece of a polygon if they meet at its first point.
    lead = np.flatnonzero(np.diff(owners, prepend=-1))  # the first piece of each line
    last = np.append(lead[1:], len(owners))[: len(lead)] - 1
    closed = (coords[offsets[owners[lead]]] == coords[offsets[owners[lead] + 1] - 1]).all(axis=1)
    meets = (lead < last) & closed & whole_start[lead] & whole_end[last]
    lead = lead[meets]
    last = last[meets]
    target = np.arange(len(owners))
    target[last] = lead
    keep = np.ones(len(points), np.bool_)
    keep[np.searchsorted(piece, lead)] = False
    order = np.lexsort((~np.isin(piece, last), target[piece]))
    order = order[keep[order]]
    sizes = np.bincount(target[piece[order]], minlength=len(owners))
    joined = Polylines(points[order], np.concatenate([[0], sizes[sizes > 0]]).cumsum())
    # A repeated point on the edge of the region is not a piece.
    long = np.flatnonzero(survey(joined).repeats < np.diff(joined.offsets) - 1)
    return joined.pick(long), owners[sizes > 0][long]
