"""Reads the vector map of an Argoverse 2 log, ``log_map_archive_*.json``."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.truth.datasets import read_json
from mapgauge.typing import Points

ARCHIVE = "log_map_archive_*.json"
UNPAINTED = ("NONE", "UNKNOWN")


class HasId(Protocol):
    """An element of a map."""

    id: int


E = TypeVar("E", bound=HasId)


class Point(msgspec.Struct, gc=False):
    """A point in the coordinates of the city, metres."""

    x: float
    y: float
    z: float = 0.0


class _LaneSegment(msgspec.Struct):
    id: int
    is_intersection: bool
    left_lane_boundary: list[Point]
    left_lane_mark_type: str
    left_neighbor_id: int | None
    right_lane_boundary: list[Point]
    right_lane_mark_type: str
    right_neighbor_id: int | None
    predecessors: list[int] = []
    successors: list[int] = []


class _Crossing(msgspec.Struct):
    id: int
    edge1: list[Point]  # from one side of the road to the other
    edge2: list[Point]  # also, in the same direction


class _Area(msgspec.Struct):
    id: int
    area_boundary: list[Point]


class _Map(msgspec.Struct):
    lane_segments: dict[str, _LaneSegment]
    pedestrian_crossings: dict[str, _Crossing]
    drivable_areas: dict[str, _Area]


class Side(NamedTuple):
    """One side of a lane segment."""

    line: Points  # (n, 3), in the direction of travel
    painted: bool
    neighbour: int | None  # id of the lane segment on the other side of the line


class Lane(NamedTuple):
    """A lane segment."""

    id: int
    left: Side
    right: Side
    intersection: bool
    predecessors: tuple[int, ...]
    successors: tuple[int, ...]


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
    lanes: tuple[Lane, ...]
    crossings: tuple[Outline, ...]
    areas: tuple[Outline, ...]


def find_map(log: Path) -> Path | None:
    """Return the map file of a log, or None if it is missing. It is in the log or in its folder ``map``."""
    maps = sorted((log / "map").glob(ARCHIVE)) or sorted(log.glob(ARCHIVE))
    if len(maps) > 1:
        raise UnreadableFile(f"{log}: expected one map, found {len(maps)}: {', '.join(path.name for path in maps)}")
    return maps[0] if maps else None


def map_of(log: Path) -> Path:
    """Return the map file of a log, which must exist."""
    path = find_map(log)
    if path is None:
        raise UnreadableFile(
            f"{log / 'map' / ARCHIVE}: no such file. It is the map of the log",
            remedy="Download it with the sensor data set",
        )
    return path


def elements_of(layer: Mapping[str, E], path: Path, kind: str) -> list[E]:
    """Return the elements of a layer of a map, whose ids must differ."""
    ids = Counter(element.id for element in layer.values())
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        keys = " and ".join(key for key, element in layer.items() if element.id == twice[0])
        raise UnreadableFile(f"{path}: {kind} {twice[0]} occurs twice, under the keys {keys}")
    return list(layer.values())


def read_vector_map(log: Path) -> VectorMap:
    """Read the map of a log."""
    path = map_of(log)
    content = read_json(path, _Map, "a vector map of Argoverse 2")
    lanes = elements_of(content.lane_segments, path, "lane segment")
    crossings = elements_of(content.pedestrian_crossings, path, "pedestrian crossing")
    areas = elements_of(content.drivable_areas, path, "drivable area")
    return VectorMap(
        log.name,
        tuple(_lane(lane, path) for lane in lanes),
        tuple(_crossing(crossing, path) for crossing in crossings),
        tuple(Outline(area.id, points_of(area.area_boundary, path, f"drivable area {area.id}")) for area in areas),
    )


def _lane(segment: _LaneSegment, path: Path) -> Lane:
    def side(name: str, line: list[Point], mark: str, neighbour: int | None) -> Side:
        points = points_of(line, path, f"{name} boundary of lane segment {segment.id}")
        return Side(points, mark not in UNPAINTED, neighbour)

    return Lane(
        segment.id,
        side("left", segment.left_lane_boundary, segment.left_lane_mark_type, segment.left_neighbor_id),
        side("right", segment.right_lane_boundary, segment.right_lane_mark_type, segment.right_neighbor_id),
        segment.is_intersection,
        tuple(segment.predecessors),
        tuple(segment.successors),
    )


def _crossing(crossing: _Crossing, path: Path) -> Outline:
    """Return the outline of a crossing. It follows one edge, and the other edge back."""
    where = f"pedestrian crossing {crossing.id}"
    first, second = points_of(crossing.edge1, path, where), points_of(crossing.edge2, path, where)
    return Outline(crossing.id, np.concatenate([first, second[::-1]]))


def points_of(line: list[Point], path: Path, where: str) -> Points:
    """Return points as an array ``(n, 3)``. An error names the file and the element."""
    points = np.array([(point.x, point.y, point.z) for point in line], np.float64).reshape(-1, 3)
    if not np.isfinite(points).all():
        raise UnreadableFile(f"{path}: {where}: expected finite coordinates, found NaN or infinity")
    return points


def distinct(points: Points) -> Points:
    """Return the points without those that are at the place of the point before, seen from above."""
    moved = (np.diff(points[:, :2], axis=0) != 0).any(axis=1)
    kept: Points = points[np.append(True, moved)[: len(points)]]
    return kept
