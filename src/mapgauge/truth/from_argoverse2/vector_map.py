"""Reads the vector map of an Argoverse 2 log, ``log_map_archive_*.json``, and makes its lane graph.

If the map has no centreline of a lane segment, it is the mean of the lines on its left and right, resampled.
"""

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.geometry.polylines import Polylines
from mapgauge.geometry.resampling import resample_polylines
from mapgauge.truth import lane_graphs
from mapgauge.truth.json_files import read_json
from mapgauge.typing import Points

ARCHIVE = "log_map_archive_*.json"


class _Point(msgspec.Struct, gc=False):
    """A point in the coordinates of the city, metres."""

    x: float
    y: float
    z: float = 0.0


class _LaneSegment(msgspec.Struct):
    id: int
    is_intersection: bool
    left_lane_boundary: list[_Point]
    left_lane_mark_type: str
    left_neighbor_id: int | None
    right_lane_boundary: list[_Point]
    right_lane_mark_type: str
    right_neighbor_id: int | None
    predecessors: list[int] = []
    successors: list[int] = []
    centerline: list[_Point] | None = None
    lane_type: str = ""


class _Crossing(msgspec.Struct):
    id: int
    edge1: list[_Point]  # from one side of the road to the other
    edge2: list[_Point]  # also, in the same direction


class _Area(msgspec.Struct):
    id: int
    area_boundary: list[_Point]


class _Argoverse2Map(msgspec.Struct):
    lane_segments: dict[str, _LaneSegment]
    pedestrian_crossings: dict[str, _Crossing]
    drivable_areas: dict[str, _Area]


E = TypeVar("E", _LaneSegment, _Crossing, _Area)


class SegmentSide(NamedTuple):
    """One side of a lane segment."""

    line: Points  # (n, 3), in the direction of travel
    painted: bool
    neighbour: int | None  # id of the lane segment on the other side of the line


class Argoverse2Lane(NamedTuple):
    """A lane segment."""

    id: int
    left: SegmentSide
    right: SegmentSide
    intersection: bool
    predecessors: tuple[int, ...]
    successors: tuple[int, ...]
    centreline: Points | None  # (n, 3), if the map has one
    lane_type: str


class Outline(NamedTuple):
    """The outline of a crossing or of a drivable area."""

    id: int
    points: Points  # (n, 3)

    def is_polygon(self) -> bool:
        """Whether the outline has three different points, seen from above."""
        return len(np.unique(self.points[:, :2], axis=0)) > 2


class VectorMap(NamedTuple):
    """The map of a log. Its elements are in the order of the file."""

    log: str
    lanes: tuple[Argoverse2Lane, ...]
    crossings: tuple[Outline, ...]
    areas: tuple[Outline, ...]


def find_map(log: Path) -> Path | None:
    """Return the map file of a log, or None if it is missing. It is in the log or in its folder ``map``."""
    maps = sorted((log / "map").glob(ARCHIVE)) or sorted(log.glob(ARCHIVE))
    if len(maps) > 1:
        raise UnreadableFile(f"{log}: expected one map, found {len(maps)}: {', '.join(path.name for path in maps)}")
    if maps:
        return maps[0]
    return None


def read_vector_map(log: Path) -> VectorMap:
    """Read the map of a log."""
    path = find_map(log)
    if path is None:
        raise UnreadableFile(
            f"{log / 'map' / ARCHIVE}: no such file. It is the map of the log",
            remedy="Download it with the sensor data set",
        )

    def elements(layer: Mapping[str, E], kind: str) -> list[E]:
        """Return the elements of a layer, whose ids must differ."""
        ids = Counter(element.id for element in layer.values())
        twice = [name for name, count in ids.items() if count > 1]
        if twice:
            keys = " and ".join(key for key, element in layer.items() if element.id == twice[0])
            raise UnreadableFile(f"{path}: {kind} {twice[0]} occurs twice, under the keys {keys}")
        return list(layer.values())

    def points(line: list[_Point], where: str) -> Points:
        """Return points as an array ``(n, 3)``."""
        array = np.array([(point.x, point.y, point.z) for point in line], np.float64).reshape(-1, 3)
        if not np.isfinite(array).all():
            raise UnreadableFile(f"{path}: {where}: expected finite coordinates, found NaN or infinity")
        return array

    def lane_of(segment: _LaneSegment) -> Argoverse2Lane:
        where = f"lane segment {segment.id}"
        left, right = (
            SegmentSide(points(line, f"{name} boundary of {where}"), mark not in ("NONE", "UNKNOWN"), neighbour)
            for name, line, mark, neighbour in (
                ("left", segment.left_lane_boundary, segment.left_lane_mark_type, segment.left_neighbor_id),
                ("right", segment.right_lane_boundary, segment.right_lane_mark_type, segment.right_neighbor_id),
            )
        )
        given = None
        if segment.centerline is not None:
            given = points(segment.centerline, f"centreline of {where}")
        return Argoverse2Lane(
            id=segment.id,
            left=left,
            right=right,
            intersection=segment.is_intersection,
            predecessors=tuple(segment.predecessors),
            successors=tuple(segment.successors),
            centreline=given,
            lane_type=segment.lane_type,
        )

    def crossing_of(crossing: _Crossing) -> Outline:
        """Return the outline of a crossing, which follows one edge, and the other edge back."""
        edges = [points(edge, f"pedestrian crossing {crossing.id}") for edge in (crossing.edge1, crossing.edge2)]
        return Outline(crossing.id, np.concatenate([edges[0], edges[1][::-1]]))

    content = read_json(path, _Argoverse2Map, "a vector map of Argoverse 2")
    lanes = elements(content.lane_segments, "lane segment")
    crossings = elements(content.pedestrian_crossings, "pedestrian crossing")
    areas = elements(content.drivable_areas, "drivable area")
    return VectorMap(
        log.name,
        tuple(map(lane_of, lanes)),
        tuple(map(crossing_of, crossings)),
        areas=tuple(Outline(area.id, points(area.area_boundary, f"drivable area {area.id}")) for area in areas),
    )


def read_lane_graph(log: Path) -> lane_graphs.LaneGraph:
    """Read the lanes of a log, with height."""
    lanes = []
    left_out = []
    for lane in read_vector_map(log).lanes:
        points = _centreline(lane)
        if len(points) < 2:
            left_out.append(f"{lane.id}")
            continue
        lanes.append(
            lane_graphs.Lane(
                id=f"{lane.id}",
                points=points,
                successors=[f"{k}" for k in lane.successors],
                predecessors=[f"{k}" for k in lane.predecessors],
                left=_neighbours(lane.left),
                right=_neighbours(lane.right),
                intersection=lane.intersection,
                lane_type=lane.lane_type,
            )
        )
    return lane_graphs.LaneGraph.of(lanes, lane_graphs.left_out_lanes(log.name, left_out))


def _neighbours(side: SegmentSide) -> list[str]:
    """Return the lane beside a side of another one, if there is one."""
    if side.neighbour is None:
        return []
    return [f"{side.neighbour}"]


def _centreline(lane: Argoverse2Lane) -> Points:
    """Return the centreline of a lane, or no points if it has no length."""
    if lane.centreline is not None:
        return distinct(lane.centreline)
    sides = lane.left.line, lane.right.line
    if not all(len(side) for side in sides):
        return np.empty((0, 3))
    longest = max(np.linalg.norm(np.diff(side, axis=0), axis=1).sum() for side in sides)
    count = max(2, math.ceil(longest / lane_graphs.RESOLUTION) + 1)
    left, right = (resample_polylines(Polylines.of([side]), count=count).coords for side in sides)
    return distinct((left + right) / 2)


def distinct(points: Points) -> Points:
    """Return the points without those that are at the place of the point before, seen from above."""
    moved = (np.diff(points[:, :2], axis=0) != 0).any(axis=1)
    kept: Points = points[np.append(True, moved)[: len(points)]]
    return kept
