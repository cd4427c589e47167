"""The vector map of an Argoverse 2 log, ``log_map_archive_*.json``, as the layers that truth is cut from."""

from pathlib import Path

import msgspec
import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.frames.findings import Finding
from mapgauge.truth.build import MapLayers, mended
from mapgauge.truth.cutting.cut import Geometries, Layer, borders_of, shapely_module, valid_polygons
from mapgauge.truth.cutting.lanes import Side, dividers_of
from mapgauge.truth.json_tables import decode_json
from mapgauge.truth.rules import Rules
from mapgauge.typing import Points

ARCHIVE = "log_map_archive_*.json"
UNPAINTED = ("NONE", "UNKNOWN")


class _Point(msgspec.Struct, gc=False):
    x: float
    y: float


class _LaneSegment(msgspec.Struct):
    id: int
    is_intersection: bool
    left_lane_boundary: list[_Point]
    left_lane_mark_type: str
    left_neighbor_id: int | None
    right_lane_boundary: list[_Point]
    right_lane_mark_type: str
    right_neighbor_id: int | None


class _Crossing(msgspec.Struct):
    id: int
    edge1: list[_Point]  # from one side of the road to the other
    edge2: list[_Point]  # likewise, in the same direction


class _Area(msgspec.Struct):
    id: int
    area_boundary: list[_Point]


class _Map(msgspec.Struct):
    lane_segments: dict[str, _LaneSegment]
    pedestrian_crossings: dict[str, _Crossing]
    drivable_areas: dict[str, _Area]


def find_map(log: Path) -> Path | None:
    """The map of a log, in its folder ``map`` or in its own; None if there is none."""
    found = sorted((log / "map").glob(ARCHIVE)) or sorted(log.glob(ARCHIVE))
    if len(found) > 1:
        raise UnreadableFile(f"{log}: expected one map, found {len(found)}: {', '.join(path.name for path in found)}")
    return found[0] if found else None


def read_map(log: Path, rules: Rules) -> MapLayers:
    """The layers of the map of a log."""
    path = find_map(log)
    if path is None:
        raise UnreadableFile(
            f"{log / 'map' / ARCHIVE}: no such file. It is the map of this log, and part of the sensor data set"
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read: {error.strerror or error}") from error
    return _Reader(path, log.name, decode_json(data, _Map, path, "a vector map of Argoverse 2")).layers(rules)


class _Reader:
    """Geometries of one map."""

    def __init__(self, path: Path, log: str, content: _Map) -> None:
        self.path, self.log, self.content = path, log, content
        self.repaired: list[str] = []
        self.left_out: list[str] = []

    def layers(self, rules: Rules) -> MapLayers:
        """What the rules make of it. Dividers and boundaries are made here, for all frames alike."""
        areas = [(f"{one.id}", self.points(one.area_boundary, f"drivable area {one.id}")) for one in self.areas()]
        borders = borders_of(self.polygons(areas).geometries, f"{self.log}-boundary")
        lines, names = dividers_of(self.sides(), rules, borders.geometries)
        dividers = Layer.of(_simplified(lines, rules.simplify_dividers), [f"{lane}-{side}" for lane, side in names])
        boundaries = Layer.of(_simplified(borders.geometries, rules.simplify_boundaries), borders.ids)
        return MapLayers(self.polygons(self.crossings()), dividers, boundaries, tuple(self.findings()))

    def areas(self) -> list[_Area]:
        """Drivable areas in the order of their ids."""
        return sorted(self.content.drivable_areas.values(), key=lambda one: one.id)

    def crossings(self) -> list[tuple[str, Points]]:
        """Ids and outlines of crossings: along one edge, and back along the other."""
        found = []
        for one in sorted(self.content.pedestrian_crossings.values(), key=lambda one: one.id):
            where = f"pedestrian crossing {one.id}"
            edge1, edge2 = self.points(one.edge1, where), self.points(one.edge2, where)
            found.append((f"{one.id}", np.concatenate([edge1, edge2[::-1]])))
        return found

    def sides(self) -> list[Side]:
        """The lines on both sides of all lane segments."""
        found = []
        for one in sorted(self.content.lane_segments.values(), key=lambda one: one.id):
            for side, line, mark, neighbour in (
                ("left", one.left_lane_boundary, one.left_lane_mark_type, one.left_neighbor_id),
                ("right", one.right_lane_boundary, one.right_lane_mark_type, one.right_neighbor_id),
            ):
                points = self.points(line, f"{side} boundary of lane segment {one.id}")
                points = points[np.append(True, (points[1:] != points[:-1]).any(axis=1))[: len(points)]]
                if len(points) < 2:
                    self.left_out.append(f"{one.id}-{side}")
                    continue
                painted, inner = mark not in UNPAINTED, neighbour is not None
                found.append(Side(one.id, side, points, painted, inner, one.is_intersection))
        return found

    def polygons(self, outlines: list[tuple[str, Points]]) -> Layer:
        """Polygons by their outlines, repaired where need be."""
        enough = [(name, points) for name, points in outlines if len(np.unique(points, axis=0)) > 2]
        self.left_out += [name for name, points in outlines if len(np.unique(points, axis=0)) <= 2]
        made = np.empty(len(enough), object)
        made[:] = [shapely_module().Polygon(points) for _, points in enough]
        layer, repaired = valid_polygons(made, [name for name, _ in enough])
        self.repaired += repaired
        return layer

    def points(self, line: list[_Point], where: str) -> Points:
        """Seen from above."""
        points = np.array([(point.x, point.y) for point in line], np.float64).reshape(-1, 2)
        if not np.isfinite(points).all():
            raise UnreadableFile(f"{self.path}: {where} has a coordinate that is not finite")
        return points

    def findings(self) -> list[Finding]:
        """What was noticed."""
        return mended(self.log, self.repaired, self.left_out)


def _simplified(lines: Geometries, tolerance: float) -> Geometries:
    return shapely_module().simplify(lines, tolerance) if tolerance else lines
