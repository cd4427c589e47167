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


class VectorMap(NamedTuple):
    """The map of a log. Its elements are in the order of the file."""

    log: str
    lanes: tuple[Lane, ...]
    crossings: tuple[Outline, ...]
    areas: tuple[Outline, ...]


def find_map(log: Path) -> Path | None:
    """Return the map file of a log, or None if it is missing. It is in the folder ``map`` or in that of the log."""
    found = sorted((log / "map").glob(ARCHIVE)) or sorted(log.glob(ARCHIVE))
    if len(found) > 1:
        raise UnreadableFile(f"{log}: expected one map, found {len(found)}: {', '.join(path.name for path in found)}")
    return found[0] if found else None


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
    ids = Counter(one.id for one in layer.values())
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        keys = " and ".join(key for key, one in layer.items() if one.id == twice[0])
        raise UnreadableFile(f"{path}: {kind} {twice[0]} occurs twice, under the keys {keys}")
    return list(layer.values())


def read_vector_map(log: Path) -> VectorMap:
    """Read the map of a log."""
    path = map_of(log)
    content = read_json(path, _Map, "a vector map of Argoverse 2")
    return VectorMap(
        log.name,
        tuple(_lane(one, path) for one in elements_of(content.lane_segments, path, "lane segment")),
        tuple(_crossing(one, path) for one in elements_of(content.pedestrian_crossings, path, "pedestrian crossing")),
        tuple(
            Outline(one.id, points_of(one.area_boundary, path, f"drivable area {one.id}"))
            for one in elements_of(content.drivable_areas, path, "drivable area")
        ),
    )


def _lane(one: _LaneSegment, path: Path) -> Lane:
    def side(name: str, line: list[Point], mark: str, neighbour: int | None) -> Side:
        points = points_of(line, path, f"{name} boundary of lane segment {one.id}")
        return Side(points, mark not in UNPAINTED, neighbour)

    return Lane(
        one.id,
        side("left", one.left_lane_boundary, one.left_lane_mark_type, one.left_neighbor_id),
        side("right", one.right_lane_boundary, one.right_lane_mark_type, one.right_neighbor_id),
        one.is_intersection,
        tuple(one.predecessors),
        tuple(one.successors),
    )


def _crossing(one: _Crossing, path: Path) -> Outline:
    """Return the outline of a crossing. It follows one edge, and the other edge back."""
    edges = [points_of(edge, path, f"pedestrian crossing {one.id}") for edge in (one.edge1, one.edge2)]
    return Outline(one.id, np.concatenate([edges[0], edges[1][::-1]]))


def points_of(line: list[Point], path: Path, where: str) -> Points:
    """Return points as an array ``(n, 3)``. An error names the file and the element."""
    points = np.array([(point.x, point.y, point.z) for point in line], np.float64).reshape(-1, 3)
    if not np.isfinite(points).all():
        raise UnreadableFile(f"{path}: {where}: expected finite coordinates, found NaN or infinity")
    return points
