"""Cuts polylines at the edge of a corridor: what lies within some metres of a path."""

from collections.abc import Sequence

import numpy as np

from mapgauge.geometry.cropping import pieces_of
from mapgauge.geometry.polylines import Polylines
from mapgauge.typing import Floats, Indices, Points

_ROUNDING = 1e-12  # shares of a segment


def cut_to_corridors(
    polylines: Polylines, frame: Indices, paths: Sequence[Points], radius: float
) -> tuple[Polylines, Indices]:
    """Return the pieces of polylines within a distance of the path of their frame, and the polyline of each piece.

    ``frame`` has the frame of each polyline, ascending, and ``paths`` the points of each path, at least one.
    ``crop_polylines`` says what a piece is.
    """
    coords = polylines.coords
    offsets = polylines.offsets
    owner = np.repeat(np.arange(len(polylines)), np.diff(offsets))
    first = np.flatnonzero(owner[1:] == owner[:-1])  # points that begin a segment
    ends = np.searchsorted(frame[owner[first]], np.arange(len(paths) + 1))
    parts: list[tuple[Indices, Floats, Floats]] = []
    for k, path in enumerate(paths):
        of_frame = first[ends[k] : ends[k + 1]]
        around = coords[of_frame, :2], coords[of_frame + 1, :2]
        near = (np.minimum(*around) <= path.max(axis=0) + radius) & (np.maximum(*around) >= path.min(axis=0) - radius)
        of_frame = of_frame[near.all(axis=1)]
        start = coords[of_frame, :2]
        step = coords[of_frame + 1, :2] - coords[of_frame, :2]
        rows, enter, leave = _joined(*_inside(start, step, path, radius=radius))
        parts.append((of_frame[rows], enter, leave))
    first = np.concatenate([np.empty(0, np.int64), *(rows for rows, _, _ in parts)])
    enter, leave = (np.concatenate([np.empty(0), *(part[j] for part in parts)])[:, None] for j in (1, 2))
    start = coords[first]
    step = coords[first + 1] - coords[first]
    a = np.where(enter == 0, start, start + enter * step)
    b = np.where(leave == 1, coords[first + 1], start + leave * step)
    return pieces_of(polylines, first, enter, leave=leave, a=a, b=b)


def _inside(start: Points, step: Points, path: Points, radius: float) -> tuple[Floats, Floats]:
    """Return where segments enter and leave the surroundings of each part of a path, ``(segments, parts)``.

    They are shares of the segment. A segment that stays outside enters after it leaves. The surroundings of a part are
    two discs and a rectangle, which together are convex.
    """
    away = start[:, None] - path
    square = (step**2).sum(axis=1)[:, None]
    across = (away * step[:, None]).sum(axis=2)
    reach = across**2 - square * ((away**2).sum(axis=2) - radius**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(reach, 0.0))
        low = (-across - root) / square
        high = (-across + root) / square
    still = (square == 0) & ((away**2).sum(axis=2) <= radius**2)
    low = np.where(square > 0, low, np.where(still, 0.0, 2.0))
    high = np.where(square > 0, high, np.where(still, 1.0, -1.0))
    low = np.where(reach >= 0, low, 2.0)
    high = np.where(reach >= 0, high, -1.0)
    if len(path) > 1:
        along = np.diff(path, axis=0)
        length = np.hypot(*along.T)
        parts = np.flatnonzero(length > 0)
        axis = along[parts] / length[parts, None]
        beside = np.stack([-axis[:, 1], axis[:, 0]], axis=1)
        enter = np.zeros((len(start), len(parts)))
        leave = np.ones((len(start), len(parts)))
        for direction, least, most in ((axis, 0.0 * length[parts], length[parts]), (beside, -radius, radius)):
            at = (away[:, parts] * direction).sum(axis=2)
            move = step @ direction.T
            with np.errstate(divide="ignore", invalid="ignore"):
                one = (least - at) / move
                other = (most - at) / move
            flat = move == 0
            enter = np.where(flat, enter, np.maximum(enter, np.minimum(one, other)))
            leave = np.where(flat, leave, np.minimum(leave, np.maximum(one, other)))
            leave = np.where(flat & ((at < least) | (at > most)), -1.0, leave)
        low = np.hstack([low, np.where(enter < leave, enter, 2.0)])
        high = np.hstack([high, np.where(enter < leave, leave, -1.0)])
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _joined(enter: Floats, leave: Floats) -> tuple[Indices, Floats, Floats]:
    """Return the segment, the beginning and the end of each stretch inside, from where each part of a path has it."""
    enter = np.where(enter < leave, enter, 2.0)
    order = np.argsort(enter, axis=1, kind="stable")
    enter = np.take_along_axis(enter, order, axis=1)
    until = np.maximum.accumulate(np.where(enter < 2, np.take_along_axis(leave, order, axis=1), -1.0), axis=1)
    inside = enter < 2
    begins = inside.copy()
    begins[:, 1:] &= enter[:, 1:] > until[:, :-1] + _ROUNDING
    ends = inside.copy()
    ends[:, :-1] &= begins[:, 1:] | ~inside[:, 1:]
    return np.nonzero(begins)[0], enter[begins], until[ends]
