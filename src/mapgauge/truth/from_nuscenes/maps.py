"""The map expansion of nuScenes: lines and polygons of nodes, and layers that refer to them."""

from pathlib import Path

import msgspec
import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.frames.findings import Finding
from mapgauge.truth.build import MapLayers, mended
from mapgauge.truth.cutting.cut import Layer, borders_of, shapely_module, valid_polygons
from mapgauge.truth.json_tables import decode_json
from mapgauge.truth.rules import Rules
from mapgauge.typing import Points

VERSION = "1.3"  # of the maps that the public repositories use
FOLDER = Path("maps", "expansion")


class _Node(msgspec.Struct, gc=False):
    token: str
    x: float
    y: float


class _Line(msgspec.Struct):
    token: str
    node_tokens: list[str]


class _Hole(msgspec.Struct):
    node_tokens: list[str]


class _Polygon(msgspec.Struct):
    token: str
    exterior_node_tokens: list[str]
    holes: list[_Hole] = []


class _Element(msgspec.Struct):
    token: str
    line_token: str | None = None
    polygon_token: str | None = None


class _Map(msgspec.Struct):
    node: list[_Node]
    line: list[_Line]
    polygon: list[_Polygon]
    version: str | float | None = None
    ped_crossing: list[_Element] | None = None
    lane_divider: list[_Element] | None = None
    road_divider: list[_Element] | None = None
    road_segment: list[_Element] | None = None
    lane: list[_Element] | None = None


def read_map(root: Path, location: str, rules: Rules) -> MapLayers:
    """The layers of one place that the rules need."""
    path = root / FOLDER / f"{location}.json"
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        old = " There is one in maps/: move the maps into maps/expansion." if _misplaced(root, location) else ""
        raise UnreadableFile(
            f"{path}: no such file. It is part of the map expansion (v1.3) of nuScenes, a download of its own.{old}"
        ) from error
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read: {error.strerror or error}") from error
    content = decode_json(data, _Map, path, "a map expansion of nuScenes")
    del data
    return _Reader(path, location, content).layers(rules)


def _misplaced(root: Path, location: str) -> bool:
    return (root / "maps" / f"{location}.json").is_file()


class _Reader:
    """Geometries of one map."""

    def __init__(self, path: Path, location: str, content: _Map) -> None:
        self.path, self.location, self.content = path, location, content
        self.nodes = {node.token: (node.x, node.y) for node in content.node}
        self.lines = {line.token: line for line in content.line}
        self.polygons = {polygon.token: polygon for polygon in content.polygon}
        self.left_out: list[str] = []
        self.repaired: list[str] = []

    def layers(self, rules: Rules) -> MapLayers:
        """What the rules ask for."""
        needed = (*rules.crossings, *rules.dividers, *rules.boundaries)
        lacking = [name for name in needed if getattr(self.content, name) is None]
        if lacking:
            raise self.error(
                f"no layer {', '.join(lacking)}; it is a map of version {self.content.version or 'unknown'}. "
                f"Get version {VERSION} of the map expansion"
            )
        crossings = self.areas(rules.crossings)
        dividers = self.ways(rules.dividers)
        boundaries = borders_of(self.areas(rules.boundaries).geometries, f"{self.location}-boundary")
        return MapLayers(crossings, dividers, boundaries, tuple(self.findings()))

    def ways(self, layers: tuple[str, ...]) -> Layer:
        """Lines of some layers, one after the other."""
        shapely = shapely_module()
        lines, ids = [], []
        for layer in layers:
            for element in getattr(self.content, layer):
                line = self.lines.get(element.line_token)
                if line is None:
                    raise self.error(f"{layer} {element.token} refers to a line {element.line_token} that is not there")
                points = self.points(line.node_tokens, f"line {line.token}")
                if len(np.unique(points, axis=0)) < 2:
                    self.left_out.append(element.token)
                    continue
                lines.append(shapely.linestrings(points))
                ids.append(element.token)
        return Layer.of(lines, ids)

    def areas(self, layers: tuple[str, ...]) -> Layer:
        """Polygons of some layers, one after the other, repaired where need be."""
        shapely = shapely_module()
        polygons, ids = [], []
        for layer in layers:
            for element in getattr(self.content, layer):
                polygon = self.polygons.get(element.polygon_token)
                if polygon is None:
                    raise self.error(
                        f"{layer} {element.token} refers to a polygon {element.polygon_token} that is not there"
                    )
                where = f"polygon {polygon.token}"
                outline = self.points(polygon.exterior_node_tokens, where)
                if len(np.unique(outline, axis=0)) < 3:
                    self.left_out.append(element.token)
                    continue
                holes = [self.points(hole.node_tokens, where) for hole in polygon.holes]
                rings = [hole for hole in holes if len(np.unique(hole, axis=0)) > 2]
                polygons.append(shapely.Polygon(outline, rings))
                ids.append(element.token)
        array = np.empty(len(polygons), object)
        array[:] = polygons
        valid, repaired = valid_polygons(array, ids)
        self.repaired += repaired
        return valid

    def points(self, tokens: list[str], where: str) -> Points:
        """Where nodes are."""
        try:
            points = np.array([self.nodes[token] for token in tokens], np.float64).reshape(-1, 2)
        except KeyError as error:
            raise self.error(f"{where} refers to a node {error.args[0]} that is not there") from None
        if not np.isfinite(points).all():
            raise self.error(f"{where} has a coordinate that is not finite")
        return points

    def findings(self) -> list[Finding]:
        """What was noticed."""
        found = []
        version = self.content.version
        if str(version) != VERSION:
            text = (
                f"{self.location}: a map of version {version or 'unknown'}; the public repositories cut truth from "
                f"version {VERSION}, which differs"
            )
            found.append(Finding("warning", "map-version", text))
        return found + mended(self.location, self.repaired, self.left_out)

    def error(self, text: str) -> UnreadableFile:
        """An error about this file."""
        return UnreadableFile(f"{self.path}: {text}")
