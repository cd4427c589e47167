"""Clipping of polylines at the edge of a region."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.polylines import Polylines
from mapgauge.typing import Points

Region: TypeAlias = tuple[float, float] | tuple[float, float, float, float]


def check_region(region: object) -> tuple[float, float, float, float]:
    """A region as ``(x_min, y_min, x_max, y_max)``; ``(length, width)`` has the ego at its centre."""
    expected = "region must be (length, width) or (x_min, y_min, x_max, y_max) in metres"
    try:
        values = np.asarray(region, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{expected}, got {region!r}") from error
    if values.shape == (2,):
        values = np.concatenate([-values / 2, values / 2])
    if values.shape != (4,) or not np.isfinite(values).all() or not (values[:2] < values[2:]).all():
        raise InvalidInput(f"{expected}, got {region!r}")
    x_min, y_min, x_max, y_max = (float(v) for v in values)
    return x_min, y_min, x_max, y_max


def crop_polylines(polylines: Polylines, region: Region) -> tuple[Polylines, NDArray[np.int64]]:
    """Cut polylines at the edge of a region; returns the pieces inside, and of which polyline each is a piece.

    The edge belongs to the region. A polyline that leaves the region and comes back gives several pieces; what only
    touches the edge in a point gives none. If a polyline that repeats its first point as its last (a polygon) is cut,
    the pieces before and after that point are one. Height is interpolated.
    """
    x_min, y_min, x_max, y_max = check_region(region)
    coords, offsets = polylines.coords, polylines.offsets
    outside = ((coords[:, :2] < (x_min, y_min)) | (coords[:, :2] > (x_max, y_max))).any(axis=1)
    owner = np.repeat(np.arange(len(polylines)), np.diff(offsets))
    # Most polylines lie inside as a whole and are copied in runs. The others are few, and cut one by one.
    blocks: list[Points] = []
    sizes: list[NDArray[np.int64]] = []
    sources: list[NDArray[np.int64]] = []
    done = 0
    for i in [*np.unique(owner[outside]).tolist(), len(polylines)]:
        blocks.append(coords[offsets[done] : offsets[i]])
        sizes.append(np.diff(offsets[done : i + 1]))
        sources.append(np.arange(done, i))
        done = i + 1
        if i < len(polylines):
            pieces = _cut(polylines[i], (x_min, y_min), (x_max, y_max))
            blocks += pieces
            sizes.append(np.array([len(piece) for piece in pieces], np.int64))
            sources.append(np.full(len(pieces), i))
    ends = np.concatenate([[0], *sizes]).cumsum()
    return Polylines(np.concatenate(blocks), ends), np.concatenate(sources)


def _cut(points: Points, low: tuple[float, float], high: tuple[float, float]) -> list[Points]:
    """The pieces of one polyline inside a box (Liang and Barsky's clipping, all segments at once)."""
    start, end = points[:-1], points[1:]
    step = end - start
    enter, leave = np.zeros(len(step)), np.ones(len(step))
    for k in range(2):
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (low[k] - start[:, k]) / step[:, k], (high[k] - start[:, k]) / step[:, k]
        flat = step[:, k] == 0
        outside = flat & ((start[:, k] < low[k]) | (start[:, k] > high[k]))
        enter = np.where(flat, enter, np.maximum(enter, np.minimum(first, second)))
        leave = np.where(flat, leave, np.minimum(leave, np.maximum(first, second)))
        leave[outside] = -1
    pieces: list[list[Points]] = []
    for i in np.flatnonzero(enter < leave).tolist():
        a = start[i] if enter[i] == 0 else _on_edge(start[i] + enter[i] * step[i], low, high)
        b = end[i] if leave[i] == 1 else _on_edge(start[i] + leave[i] * step[i], low, high)
        if pieces and enter[i] == 0 and np.array_equal(pieces[-1][-1], a):
            pieces[-1].append(b)
        else:
            pieces.append([a, b])
    if len(pieces) > 1 and np.array_equal(points[0], points[-1]) and np.array_equal(pieces[0][0], pieces[-1][-1]):
        pieces[0] = pieces.pop() + pieces[0][1:]
    return [np.array(piece) for piece in pieces]


def _on_edge(point: Points, low: tuple[float, float], high: tuple[float, float]) -> Points:
    """A computed crossing, moved onto the edge where rounding left it outside."""
    point[:2] = np.clip(point[:2], low, high)
    return point
