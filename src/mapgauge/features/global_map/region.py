"""The region of a drive, and lines cut by it.

The region is the union of the boxes of all poses. Boxes at different angles leave teeth along its edge, and a boundary
that runs along them would fall into many pieces. So the region is closed: it grows by ``CLOSING`` and shrinks again,
which fills notches and holes that are narrower than twice this length.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.geometry.polylines import CLOSED_TOLERANCE, Polylines
from mapgauge.geometry.poses import level
from mapgauge.typing import Bounds, Flags, Floats, Indices, Points

CLOSING = 7.5  # metres
LARGEST_GAP = 10.0  # metres of a line outside the region that do not break it
SHORTEST = 0.05  # metres; shorter pieces are dropped
_TOUCHING = 1e-6  # metres


def shapely_module() -> Any:
    """Return shapely."""
    return require("shapely", "the region of a global map", "shapely")


def boxes_of(poses: NDArray[np.float64], box: Bounds) -> Points:
    """Return the corners of a box at each pose, ``(poses, 5, 2)``, in the plane of the pose."""
    x_min, y_min, x_max, y_max = box
    corners = np.array([[x_min, y_min], [x_max, y_min], [x_max, y_max], [x_min, y_max], [x_min, y_min]])
    boxes: Points = np.einsum("pij,cj->pci", poses[:, :2, :2], corners) + poses[:, None, :2, 3]
    return boxes


def level_poses(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return poses without roll and pitch."""
    return np.array([level(pose) for pose in poses]).reshape(-1, 4, 4)


def public_poses(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return poses with the yaw of the public code, which differs from the heading if a pose rolls and pitches."""
    yaw = np.arctan2(-poses[:, 0, 1], poses[:, 0, 0])
    flat = np.tile(np.eye(4), (len(poses), 1, 1))
    flat[:, 0, 0] = flat[:, 1, 1] = np.cos(yaw)
    flat[:, 1, 0] = np.sin(yaw)
    flat[:, 0, 1] = -flat[:, 1, 0]
    flat[:, :3, 3] = poses[:, :3, 3]
    return flat


def region_of(poses: NDArray[np.float64], box: Bounds, closing: float = CLOSING) -> Any:
    """Return the union of the boxes of level poses as a shapely polygon, closed unless ``closing`` is 0."""
    shapely = shapely_module()
    union = shapely.union_all(shapely.polygons(boxes_of(poses, box)))
    if closing > 0:  # arcs are approximated from inside, so shrinking may lose a sliver of the union
        union = shapely.union(shapely.buffer(shapely.buffer(union, closing), -closing), union)
    shapely.prepare(union)
    return union


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """Lines cut by a region."""

    polylines: Polylines
    source: Indices  # (pieces,): the line of each piece
    outside: float  # metres of the lines that lie outside
    lines_outside: int  # lines without a piece


def cut(polylines: Polylines, region: Any) -> Cut:
    """Cut lines by a region.

    The parts of a line stay one piece if less than ``LARGEST_GAP`` metres of the line lie outside between them: the
    region made the gap, not the map. A ring has no beginning: the parts before and after its first point are joined.
    """
    points = []
    source = []
    outside = 0.0
    spans = _inside(polylines, region)
    closed, _ = polylines.closed("auto", CLOSED_TOLERANCE)
    for line in range(len(polylines)):
        along = distances_along(polylines[line])
        pieces, dropped = _joined(spans.get(line, []), float(along[-1]) if len(along) else 0.0, bool(closed[line]))
        outside += dropped
        points += [_stretch(polylines[line], along, start, stop=stop) for start, stop in pieces]
        source += [line] * len(pieces)
    if points:
        made = Polylines.of(points, dimension=polylines.dimension)
    else:
        made = Polylines.of([])
    rows = np.array(source, np.int64)
    return Cut(made, rows, outside, lines_outside=len(polylines) - len(np.unique(rows)))


def distances_along(points: Points) -> Floats:
    """Return the length of a line up to each of its points."""
    steps = np.sqrt(np.square(np.diff(points[:, :2], axis=0)).sum(axis=1))
    return np.concatenate([[0.0], steps.cumsum()])[: len(points)]


def _inside(polylines: Polylines, region: Any) -> dict[int, list[tuple[float, float]]]:
    """Return the stretches of each line inside a region, as lengths along the line, segment by segment."""
    shapely = shapely_module()
    coords = polylines.coords[:, :2]
    offsets = polylines.offsets
    owner = np.repeat(np.arange(len(polylines)), np.diff(offsets))
    first = np.flatnonzero(owner[1:] == owner[:-1])
    a = coords[first]
    b = coords[first + 1]
    size = np.sqrt(np.square(b - a).sum(axis=1))
    first = first[size > 0]
    a = a[size > 0]
    b = b[size > 0]
    size = size[size > 0]
    if len(a):
        segments = shapely.linestrings(np.stack([a, b], axis=1))
    else:
        segments = np.empty(0, object)
    whole: Flags = shapely.contains_properly(region, segments)
    partly = np.flatnonzero(shapely.intersects(region, segments) & ~whole)
    parts, index = shapely.get_parts(shapely.intersection(segments[partly], region), return_index=True)
    is_line = shapely.get_type_id(parts) == 1
    parts = parts[is_line]
    rows = partly[index[is_line]]
    ends = np.stack([shapely.get_coordinates(shapely.get_point(parts, k)) for k in (0, -1)]).reshape(2, -1, 2)
    direction = (b - a)[rows] / size[rows, None]
    place = np.sort(((ends - a[rows]) * direction).sum(axis=-1), axis=0)
    # Lengths along the lines, to which the beginning of each segment is added.
    begin = np.zeros(len(coords))
    begin[first + 1] = size
    begin = begin.cumsum()
    if len(coords):
        begin -= np.repeat(begin[offsets[:-1]], np.diff(offsets))
    row = np.concatenate([np.flatnonzero(whole), rows])
    low = begin[first[row]] + np.concatenate([np.zeros(np.count_nonzero(whole)), place[0]])
    high = begin[first[row]] + np.concatenate([size[whole], place[1]])
    spans: dict[int, list[tuple[float, float]]] = {}
    for k in np.lexsort((low, owner[first[row]])).tolist():
        spans.setdefault(int(owner[first[row[k]]]), []).append((float(low[k]), float(high[k])))
    return spans


def _joined(spans: list[tuple[float, float]], length: float, closed: bool) -> tuple[list[tuple[float, float]], float]:
    """Return the stretches of a line that are kept, and the length that is dropped.

    A stretch of a ring may end beyond its length: it goes on from the beginning.
    """
    joined: list[tuple[float, float]] = []
    for start, stop in spans:
        if joined and start - joined[-1][1] < LARGEST_GAP:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    if closed and joined and joined[0][0] + length - joined[-1][1] < LARGEST_GAP:
        around = (joined[-1][0], length + joined[0][1])
        if len(joined) > 1:
            joined = [*joined[1:-1], around]
        else:
            joined = [(0.0, length)]
    kept = [(start, stop) for start, stop in joined if stop - start >= SHORTEST]
    dropped = length - sum(stop - start for start, stop in kept)
    return kept, dropped if dropped > _TOUCHING else 0.0


def _stretch(points: Points, along: Floats, start: float, stop: float) -> Points:
    """Return a stretch of a line, given by lengths along it. Beyond its end, a ring goes on from the beginning."""
    length = float(along[-1])
    if stop > length + _TOUCHING:
        rest = _stretch(points, along, start=0.0, stop=stop - length)
        return np.concatenate([_stretch(points, along, start, stop=length), rest[1:]])
    if start <= _TOUCHING and stop >= length - _TOUCHING:
        return points
    ends = np.stack([np.interp([start, stop], along, column) for column in points.T], axis=1)
    inner = points[(along > start + _TOUCHING) & (along < stop - _TOUCHING)]
    return np.concatenate([ends[:1], inner, ends[1:]])
