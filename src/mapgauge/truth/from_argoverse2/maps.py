"""Reads the vector map of an Argoverse 2 log, ``log_map_archive_*.json``."""

from pathlib import Path

import msgspec
import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.truth.cutting.layers import Layer, repair_polygons, union_boundaries
from mapgauge.truth.cutting.shapes import as_geometries, shapely_module, simplify
from mapgauge.truth.datasets import MapLayers, map_findings
from mapgauge.truth.from_argoverse2.dividers import LaneSide, make_dividers
from mapgauge.truth.json_files import read_json
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
    edge2: list[_Point]  # also, in the same direction


class _Area(msgspec.Struct):
    id: int
    area_boundary: list[_Point]


class _Map(msgspec.Struct):
    lane_segments: dict[str, _LaneSegment]
    pedestrian_crossings: dict[str, _Crossing]
    drivable_areas: dict[str, _Area]


def find_map(log: Path) -> Path | None:
    """Return the map file of a log, or None if it is missing. It is in the folder ``map`` or in that of the log."""
    found = sorted((log / "map").glob(ARCHIVE)) or sorted(log.glob(ARCHIVE))
    if len(found) > 1:
        raise UnreadableFile(f"{log}: expected one map, found {len(found)}: {', '.join(path.name for path in found)}")
    return found[0] if found else None


def read_map(log: Path, rules: Rules) -> MapLayers:
    """Read the layers of the map of a log."""
    path = find_map(log)
    if path is None:
        raise UnreadableFile(
            f"{log / 'map' / ARCHIVE}: no such file. It is the map of the log",
            remedy="Download it with the sensor data set",
        )
    return _MapReader(path, log.name, read_json(path, _Map, "a vector map of Argoverse 2")).layers(rules)


class _MapReader:
    """Makes layers of one map, and collects what was repaired or left out."""

    def __init__(self, path: Path, log: str, content: _Map) -> None:
        self.path, self.log, self.content = path, log, content
        self.repaired: list[str] = []
        self.left_out: list[str] = []

    def layers(self, rules: Rules) -> MapLayers:
        """Return the layers by the rules. Dividers and boundaries are made once, so they are the same in all frames."""
        edges = union_boundaries(self.polygons(self.areas()).geometries, f"{self.log}-boundary")
        lines, ids = make_dividers(self.lane_sides(), rules, edges.geometries)
        dividers = Layer.of(simplify(lines, rules.simplify_dividers), [f"{lane}-{side}" for lane, side in ids])
        boundaries = Layer.of(simplify(edges.geometries, rules.simplify_boundaries), edges.ids)
        crossings = self.polygons(self.crossings())
        findings = map_findings(self.log, self.repaired, self.left_out)
        return MapLayers(crossings, dividers, boundaries, tuple(findings))

    def areas(self) -> list[tuple[str, Points]]:
        """Return the ids and outlines of drivable areas."""
        areas = sorted(self.content.drivable_areas.values(), key=lambda one: one.id)
        return [(f"{one.id}", self.points(one.area_boundary, f"drivable area {one.id}")) for one in areas]

    def crossings(self) -> list[tuple[str, Points]]:
        """Return the ids and outlines of crossings. An outline follows one edge, and the other edge back."""
        found = []
        for one in sorted(self.content.pedestrian_crossings.values(), key=lambda one: one.id):
            where = f"pedestrian crossing {one.id}"
            edge1, edge2 = self.points(one.edge1, where), self.points(one.edge2, where)
            found.append((f"{one.id}", np.concatenate([edge1, edge2[::-1]])))
        return found

    def lane_sides(self) -> list[LaneSide]:
        """Return the lines on both sides of all lane segments."""
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
                found.append(LaneSide(one.id, side, points, painted, inner, one.is_intersection))
        return found

    def polygons(self, outlines: list[tuple[str, Points]]) -> Layer:
        """Return a layer of polygons from ids and outlines. Invalid polygons are repaired."""
        enough = [(name, points) for name, points in outlines if len(np.unique(points, axis=0)) > 2]
        self.left_out += [name for name, points in outlines if len(np.unique(points, axis=0)) <= 2]
        polygons = as_geometries([shapely_module().Polygon(points) for _, points in enough])
        layer, repaired = repair_polygons(polygons, [name for name, _ in enough])
        self.repaired += repaired
        return layer

    def points(self, line: list[_Point], where: str) -> Points:
        """Return points as an array, without height."""
        points = np.array([(point.x, point.y) for point in line], np.float64).reshape(-1, 2)
        if not np.isfinite(points).all():
            raise UnreadableFile(f"{self.path}: {where}: expected finite coordinates, found NaN or infinity")
        return points
