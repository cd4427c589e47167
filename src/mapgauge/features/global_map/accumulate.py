"""Rules that make one map of the frames of a drive, in the coordinates of the world.

``stack`` keeps every instance. ``last`` and ``longest`` keep one observation of each track. ``median`` fuses the
observations of a track: the longest one is the axis, others extend it beyond its ends, and every half metre the axis is
moved by the median offset of all observations, weighted by confidence. ``maptracker`` follows the
figures of MapTracker. ``globalmapnet`` is in ``map_builder``.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.features.global_map.map_builder import INTERVAL, BuiltElement, build
from mapgauge.features.global_map.region import distances_along, level_poses, public_poses, shapely_module
from mapgauge.frames.map_frames import MapFrames
from mapgauge.frames.tracks import check_tracks
from mapgauge.geometry.polylines import CLOSED_TOLERANCE
from mapgauge.typing import Bounds, Flags, Floats, Points

STEP = 0.5  # metres between the points of a fused line
REACH = 2.0  # metres; observations of a track that are farther from its axis do not move it
BORDER = 2.0  # metres at the border of the box of a frame, where lines are cut and uncertain
# Of ``maptracker``.
HULL = 0.5  # metres
SMALLEST = 2.0  # square metres
BUFFER = 1.0  # metres
_PART = re.compile(r"#\d+$")


class MapLine(NamedTuple):
    """A line of an accumulated map."""

    points: Points
    label: int
    confidence: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Observation:
    """An instance of a frame, in the coordinates of the world."""

    points: Points
    label: int
    confidence: float
    track: str
    frame: int  # its place in time
    closed: bool
    dense: Points  # the points every ``STEP`` metres
    inner: Flags  # which of these lie away from the border of the box of the frame

    @property
    def length(self) -> float:
        """The length in metres, to a micrometre: of lines of the same length, the first is the longest."""
        return round(float(distances_along(self.points)[-1]), 6)


def observations(frames: MapFrames, poses: NDArray[np.float64], box: Bounds) -> list[Observation]:
    """Return the instances of frames in the order of time, moved to the world by level poses."""
    low = np.array(box[:2]) + BORDER
    high = np.array(box[2:]) - BORDER
    closed, _ = frames.polylines.closed("auto", CLOSED_TOLERANCE)
    made = []
    for k, points in enumerate(frames.polylines):
        frame = int(frames.frame[k])
        dense = sampled(points[:, :2])
        inner = np.asarray(((dense >= low) & (dense <= high)).all(axis=1))
        turn = poses[frame, :2, :2].T
        place = poses[frame, :2, 3]
        sure = 1.0
        if frames.confidence is not None:
            sure = float(frames.confidence[k])
        track = ""
        if frames.track is not None:
            track = str(frames.track[k])
        made.append(
            Observation(
                points=points[:, :2] @ turn + place,
                label=int(frames.label[k]),
                confidence=sure,
                track=track,
                frame=frame,
                closed=bool(closed[k]),
                dense=dense @ turn + place,
                inner=inner,
            )
        )
    return made


def _by_track(seen: list[Observation]) -> Iterator[list[Observation]]:
    """Yield the observations of each track of each class."""
    tracks: dict[tuple[int, str], list[Observation]] = {}
    for each in seen:
        tracks.setdefault((each.label, each.track), []).append(each)
    yield from tracks.values()


def _stack(seen: list[Observation]) -> Iterator[MapLine]:
    yield from (MapLine(each.points, each.label, each.confidence) for each in seen)


def _last(seen: list[Observation]) -> Iterator[MapLine]:
    for track in _by_track(seen):
        newest = max(each.frame for each in track)
        yield from _stack([each for each in track if each.frame == newest])


def _longest(seen: list[Observation]) -> Iterator[MapLine]:
    for track in _by_track(seen):
        yield from _stack([max(track, key=lambda each: each.length)])


def _median(seen: list[Observation]) -> Iterator[MapLine]:
    for track in _by_track(seen):
        lengths = np.array([each.length for each in track])
        sure = 0.0
        if lengths.any():
            sure = float(np.average([each.confidence for each in track], weights=lengths))
        for axis in _axes(track):
            yield MapLine(_moved_by_median(axis, track), track[0].label, sure)


def _maptracker(seen: list[Observation]) -> Iterator[MapLine]:
    """Yield the lines that MapTracker draws of each track: hulls of crossings, and means of lines that overlap."""
    shapely = shapely_module()
    for track in _by_track(seen):
        sure = float(np.mean([each.confidence for each in track]))
        if any(each.closed for each in track):
            points = np.concatenate([each.points for each in track])
            hull = shapely.simplify(shapely.convex_hull(shapely.multipoints(points)), HULL)
            if hull.geom_type == "Polygon" and hull.area >= SMALLEST:
                yield MapLine(shapely.get_coordinates(hull), track[0].label, sure)
            continue
        lines: list[Points] = []
        for each in track:
            _merge(lines, each.dense)
        yield from (MapLine(points, track[0].label, sure) for points in lines)


def _merge(lines: list[Points], new: Points) -> None:
    """Merge a line with the one whose buffer overlaps most with its own, or add it."""
    shapely = shapely_module()
    own = shapely.linestrings(new)
    area = shapely.buffer(own, BUFFER)
    overlaps = [shapely.buffer(shapely.linestrings(line), BUFFER).intersection(area).area for line in lines]
    if overlaps:
        best = int(np.argmax(overlaps))
    else:
        best = -1
    if best < 0 or overlaps[best] <= 0:
        lines.append(new)
        return
    old = lines[best]
    place = shapely.line_locate_point(shapely.linestrings(old), shapely.points(new[[0, -1]]))
    if place[0] > place[1]:
        new = new[::-1]
    near = [
        np.flatnonzero(shapely.distance(shapely.points(a), shapely.linestrings(b)) <= BUFFER)
        for a, b in ((old, new), (new, old))
    ]
    if not (len(near[0]) and len(near[1])):  # only the ends of the buffers meet
        lines.append(new)
        return
    (first, last), (start, stop) = ((int(at[0]), int(at[-1]) + 1) for at in near)
    count = max(last - first, stop - start, 2)
    middle = [_spread(line, count) for line in (old[first:last], new[start:stop])]
    head, tail = (max(pair, key=len) for pair in ((old[:first], new[:start]), (old[last:], new[stop:])))
    lines[best] = np.concatenate([head, 0.5 * (middle[0] + middle[1]), tail])


def _spread(points: Points, count: int) -> Points:
    """Return so many points at equal distances along a line."""
    along = distances_along(points)
    at = np.linspace(0.0, along[-1], count)
    return np.stack([np.interp(at, along, column) for column in points.T], axis=1)


def _union(seen: list[Observation]) -> Iterator[MapLine]:
    """Yield the lines of true tracks, whose observations lie on each other.

    The parts of an element in a frame have tracks such as ``7``, ``7#1``, ``7#2``, and they are numbered in each frame.
    """
    shapely = shapely_module()
    for track in _by_track([replace(each, track=_PART.sub("", each.track)) for each in seen]):
        rings = [shapely.make_valid(shapely.polygons(each.points)) for each in track if each.closed]
        parts = [part for part in shapely.get_parts(shapely.union_all(rings)) if part.geom_type == "Polygon"]
        if parts:
            lines = [shapely.get_coordinates(part.exterior) for part in parts]
        else:
            lines = _axes(track)
        yield from (MapLine(points, track[0].label, confidence=1.0) for points in lines)


def _axes(track: list[Observation]) -> list[Points]:
    """Return the lines of a track: its longest observation, extended by others, and lines that lie apart.

    If an observation is closed, the longest such one is the only line.
    """
    shapely = shapely_module()
    axes = list[Points]()
    for each in sorted(track, key=lambda each: (not each.closed, -each.length)):
        points = each.dense
        if each.closed:
            return [points]
        if not axes:
            axes.append(points)
            continue
        distance = shapely.distance(_lines(axes), shapely.points(points))
        for start, stop in _runs(distance > REACH):
            _extend(axes, points, start, stop=stop)
        if len(axes) > 1 and not (distance > REACH).any():
            _bridge(axes, points)
    return axes


def _runs(flags: Flags) -> list[tuple[int, int]]:
    """Return the first index and the end of each run of flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _extend(axes: list[Points], points: Points, start: int, stop: int) -> None:
    """Extend an axis by a stretch of a line that lies apart, or join two by it, or add it as an axis."""
    before = None
    if start != 0:
        before = _end_near(axes, points[start - 1])
    after = None
    if stop != len(points):
        after = _end_near(axes, points[stop])
    stretch = points[start:stop]
    if before is not None and after is not None:
        k, head = before
        m, tail = after
        if k != m:
            axes[k] = np.concatenate([_turned(axes[k], not head), stretch, _turned(axes[m], tail)])
            del axes[m]
    elif before is not None:
        k, head = before
        axes[k] = np.concatenate([_turned(axes[k], not head), stretch])
    elif after is not None:
        k, head = after
        axes[k] = np.concatenate([stretch, _turned(axes[k], head)])
    elif start == 0 and stop == len(points) and len(stretch) > 1:
        axes.append(stretch)


def _bridge(axes: list[Points], points: Points) -> None:
    """Join two axes if a line runs from the end of one to the end of another."""
    shapely = shapely_module()
    near = shapely.linestrings(points)
    for k in range(len(axes)):
        for m in range(k + 1, len(axes)):
            ends = np.stack([axes[k][[0, -1]], axes[m][[0, -1]]])
            gap = np.sqrt(np.square(ends[0][:, None] - ends[1][None]).sum(axis=-1))
            a, b = divmod(int(gap.argmin()), 2)
            both = shapely.points(np.stack([ends[0, a], ends[1, b]]))
            if gap.min() <= 2 * REACH and (shapely.distance(near, both) <= STEP).all():
                axes[k] = np.concatenate([_turned(axes[k], a == 1), _turned(axes[m], b == 0)])
                del axes[m]
                return


def _turned(axis: Points, kept: bool) -> Points:
    if kept:
        return axis
    return axis[::-1]


def _end_near(axes: list[Points], point: Points) -> tuple[int, bool] | None:
    """Return the axis with an end near a point, and whether this is its first point; None if there is none."""
    ends = np.array([axis[[0, -1]] for axis in axes])
    away = np.sqrt(np.square(ends - point).sum(axis=-1))
    if away.min() > 2 * REACH:
        return None
    k, end = divmod(int(away.argmin()), 2)
    return k, end == 0


def sampled(points: Points) -> Points:
    """Return points at equal distances of about ``STEP`` along a line."""
    return _spread(points, max(int(np.ceil(distances_along(points)[-1] / STEP)), 1) + 1)


def _moved_by_median(axis: Points, track: list[Observation]) -> Points:
    """Return an axis that is moved by the median offset of all observations, at right angles to it."""
    shapely = shapely_module()
    axis = sampled(axis)
    is_ring = len(axis) > 3 and bool(np.sqrt(np.square(axis[0] - axis[-1]).sum()) <= CLOSED_TOLERANCE)
    normal = _normals(axis, is_ring)
    offset, weight = np.full((2, len(track), len(axis)), np.nan)
    at = shapely.points(axis)
    for k, each in enumerate(track):
        inner = _inner_line(each)
        if inner is None:
            continue
        place = shapely.line_locate_point(inner, at)
        nearest = shapely.get_coordinates(shapely.line_interpolate_point(inner, place)) - axis
        away = np.sqrt(np.square(nearest).sum(axis=1))
        beside = (nearest * normal).sum(axis=1)
        # The end of an observation is the nearest point for all of the axis beyond it, but not beside it.
        kept = (away <= REACH) & (np.abs(beside) >= away - STEP)
        offset[k, kept] = beside[kept]
        weight[k, kept] = max(each.confidence, 1e-9)
    moved = axis + weighted_median(offset, weight)[:, None] * normal
    if is_ring:
        moved[-1] = moved[0]
    return moved


def _inner_line(each: Observation) -> Any:
    """Return the part of an observation away from the border of its box; None if there is none."""
    runs = [(start, stop) for start, stop in _runs(each.inner) if stop - start > 1]
    if not runs:
        return None
    return _lines([each.dense[start:stop] for start, stop in runs])


def _lines(lines: list[Points]) -> Any:
    """Return lines as one geometry."""
    shapely = shapely_module()
    return shapely.multilinestrings([shapely.linestrings(line) for line in lines])


def _normals(points: Points, is_ring: bool) -> Points:
    """Return unit vectors to the left of a line at each of its points."""
    step = np.gradient(points, axis=0)
    if is_ring:
        step[[0, -1]] = points[1] - points[-2]
    left = np.stack([-step[:, 1], step[:, 0]], axis=1)
    size = np.sqrt(np.square(left).sum(axis=1))
    unit: Points = left / np.where(size > 0, size, 1.0)[:, None]
    return unit


def weighted_median(values: Floats, weights: Floats) -> Floats:
    """Return the weighted median of each column. NaN does not count; a column without values has 0.

    >>> weighted_median(np.array([[0.0], [1.0], [np.nan], [5.0]]), np.array([[1.0], [1.0], [9.0], [1.0]]))
    array([1.])
    """
    order = np.argsort(values, axis=0)  # NaN comes last
    ranked = np.take_along_axis(values, order, 0)
    weight = np.where(np.isnan(ranked), 0.0, np.take_along_axis(np.nan_to_num(weights), order, 0))
    below = weight.cumsum(axis=0)
    half = 0.5 * below[-1:]
    low, high = (np.minimum((test).sum(axis=0), len(values) - 1) for test in (below < half - 1e-12, below <= half))
    middle = [np.take_along_axis(ranked, at[None], 0)[0] for at in (low, high)]
    high_value = np.where(np.isnan(middle[1]), middle[0], middle[1])
    median: Floats = np.nan_to_num(0.5 * (middle[0] + high_value))
    return median


Rule: TypeAlias = Callable[[list[Observation]], Iterator[MapLine]]
_OF_TRACKS: dict[str, Rule] = {
    "stack": _stack,
    "last": _last,
    "longest": _longest,
    "median": _median,
    "maptracker": _maptracker,
}
_BUILDER = "globalmapnet"
RULES = (*_OF_TRACKS, _BUILDER)
_WITHOUT_TRACKS = ("stack", _BUILDER)


def accumulate(rule: str, frames: MapFrames, poses: NDArray[np.float64], box: Bounds) -> list[MapLine]:
    """Return the map of the frames of one scene, in the order of time, by a rule."""
    if rule != _BUILDER:
        return list(_OF_TRACKS[rule](observations(frames, level_poses(poses), box)))
    flat = public_poses(poses)
    seen = observations(frames, flat, box)
    by_frame: list[list[BuiltElement]] = [[] for _ in range(len(frames))]
    for each in seen:
        by_frame[each.frame].append(BuiltElement(each.points, each.label, each.confidence))
    return [MapLine(each.points, each.label, each.score) for each in build(by_frame, flat, box, classes=frames.classes)]


def interval_of(rule: str) -> int:
    """Return the number of frames from one that a rule uses to the next."""
    if rule == _BUILDER:
        return INTERVAL
    return 1


def united(frames: MapFrames, poses: NDArray[np.float64], box: Bounds) -> list[MapLine]:
    """Return the map of true frames of one scene."""
    return list(_union(observations(frames, level_poses(poses), box)))


def lacks_tracks(rule: str, frames: MapFrames) -> bool:
    """Whether a rule needs tracks that the frames do not have. Maps of scenes have no poses, and need none."""
    return rule not in _WITHOUT_TRACKS and frames.track is None and frames.poses is not None


def check_rule(rule: str, frames: MapFrames, called: str) -> None:
    """Refuse frames without tracks for a rule that needs them."""
    if rule not in _WITHOUT_TRACKS:
        check_tracks(frames, called, f"the rule {rule}")
