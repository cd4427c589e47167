"""Reads the map expansion of nuScenes: nodes, lines and polygons of nodes, and layers of lines or polygons."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import shapely

from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.findings import Finding
from mapgauge.truth.cutting.shapes import Layer, as_geometries, union_boundaries, valid_polygons
from mapgauge.truth.datasets import Cutter, MapLayers, map_findings
from mapgauge.truth.from_nuscenes.frame_by_frame import NuScenesFrameByFrame
from mapgauge.truth.from_nuscenes.tables import records_by_token, repeated_records
from mapgauge.truth.json_files import read_json
from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Points

VERSION = "1.3"  # of the map expansion that the public repositories use
NEWER = f"Download version {VERSION} of the map expansion"
FOLDER = Path("maps", "expansion")


class _Node(msgspec.Struct, gc=False):
    token: str
    x: float
    y: float


class _NuScenesLine(msgspec.Struct):
    token: str
    node_tokens: list[str]


class _Hole(msgspec.Struct):
    node_tokens: list[str]


class _Polygon(msgspec.Struct):
    token: str
    exterior_node_tokens: list[str]
    holes: list[_Hole] | None = None


class _NuScenesElement(msgspec.Struct):
    token: str
    line_token: str | None = None
    polygon_token: str | None = None


class _NuScenesMap(msgspec.Struct):
    node: list[_Node]
    line: list[_NuScenesLine]
    polygon: list[_Polygon]
    version: str | float | None = None
    ped_crossing: list[_NuScenesElement] | None = None
    lane_divider: list[_NuScenesElement] | None = None
    road_divider: list[_NuScenesElement] | None = None
    road_segment: list[_NuScenesElement] | None = None
    lane: list[_NuScenesElement] | None = None


Shape = TypeVar("Shape", _NuScenesLine, _Polygon)
T = TypeVar("T")


def read_map(root: Path, location: str, rules: TruthRules) -> Cutter:
    """Read the layers of one location that the rules need, and return what cuts them."""
    remedy = f"Download the map expansion, version {VERSION}, which is separate from the other data"
    if (root / "maps" / f"{location}.json").is_file():
        remedy = f"Move the JSON files in maps/ to {FOLDER.as_posix()}/"
    path, content = read_expansion(root, location, _NuScenesMap, remedy=remedy)
    return _MapReader(path, location, content).cutter(rules)


def read_expansion(root: Path, location: str, schema: type[T], remedy: str) -> tuple[Path, T]:
    """Read the map expansion of one location. The remedy is for a missing file."""
    path = root / FOLDER / f"{location}.json"
    try:
        return path, read_json(path, schema, "a map expansion of nuScenes")
    except FileNotFoundError as error:
        text = f"{path}: no such file. It is part of the map expansion of nuScenes"
        raise UnreadableFile(text, remedy=remedy) from error


class _MapReader:
    """Makes layers of one map, and collects what was repaired, skipped or left out."""

    def __init__(self, path: Path, location: str, content: _NuScenesMap) -> None:
        self.path = path
        self.location = location
        self.content = content
        self.repeated: list[str] = []
        self.nodes = records_by_token(content.node, path, "node", repeated=self.repeated)
        self.lines = records_by_token(content.line, path, "line", repeated=self.repeated)
        self.polygons = records_by_token(content.polygon, path, "polygon", repeated=self.repeated)
        self.left_out: list[str] = []
        self.repaired: list[str] = []
        self.skipped: list[str] = []

    def cutter(self, rules: TruthRules) -> Cutter:
        """Return the layers that the rules need, prepared in the way that the rules need."""
        needed = (*rules.crossings, *rules.dividers, *rules.boundaries)
        lacking = [name for name in needed if getattr(self.content, name) is None]
        if lacking:
            raise UnreadableFile(
                f"{self.path}: layer {', '.join(lacking)} not found in a map of version "
                f"{self.content.version or 'unknown'}",
                remedy=NEWER,
            )
        skip = rules.invalid_polygons == "skip"
        crossings = self.polygon_layer(rules.crossings, skip)
        dividers = self.line_layer(rules.dividers)
        areas = tuple(self.polygon_layer((name,), skip) for name in rules.boundaries)
        polygons = np.concatenate([layer.geometries for layer in areas])
        edges = union_boundaries(polygons, f"{self.location}-boundary")
        if rules.per_frame:
            return NuScenesFrameByFrame(crossings, dividers, areas, edges=edges, findings=self.findings())
        return MapLayers(crossings, dividers, edges, findings=self.findings())

    def line_layer(self, names: tuple[str, ...]) -> Layer:
        """Return the lines of some map layers, one layer after the other."""
        lines = []
        ids = []
        for token, line in self.shapes(names, "line", self.lines):
            points = self.points(line.node_tokens, f"line {line.token}")
            if len(np.unique(points, axis=0)) < 2:
                self.left_out.append(token)
                continue
            lines.append(shapely.linestrings(points))
            ids.append(token)
        return Layer.of(lines, ids)

    def polygon_layer(self, names: tuple[str, ...], skip: bool) -> Layer:
        """Return the polygons of some map layers, one layer after the other. Invalid ones are skipped or repaired."""
        polygons = []
        ids = []
        for token, polygon in self.shapes(names, "polygon", self.polygons):
            where = f"polygon {polygon.token}"
            outline = self.points(polygon.exterior_node_tokens, where)
            if len(np.unique(outline, axis=0)) < 3:
                self.left_out.append(token)
                continue
            if polygon.holes is None:
                raise self.error(
                    f"{where} has no field holes, expected a list, which is empty if there are none",
                    remedy=NEWER,
                )
            holes = [self.points(hole.node_tokens, where) for hole in polygon.holes]
            rings = [hole for hole in holes if len(np.unique(hole, axis=0)) > 2]
            polygons.append(shapely.Polygon(outline, rings))
            ids.append(token)
        layer, invalid = valid_polygons(as_geometries(polygons), ids, skip=skip)
        (self.skipped if skip else self.repaired).extend(invalid)
        return layer

    def shapes(self, names: tuple[str, ...], kind: str, known: Mapping[str, Shape]) -> Iterator[tuple[str, Shape]]:
        """Yield the token of each element of some map layers, and the line or polygon that it refers to."""
        for name in names:
            for element in records_by_token(
                getattr(self.content, name), self.path, name, repeated=self.repeated
            ).values():
                token = getattr(element, f"{kind}_token")
                if token not in known:
                    raise self.error(f"{name} {element.token} refers to a missing {kind}, {token}")
                yield element.token, known[token]

    def points(self, tokens: list[str], where: str) -> Points:
        """Return the coordinates of nodes."""
        try:
            points = np.array([(node.x, node.y) for node in map(self.nodes.__getitem__, tokens)]).reshape(-1, 2)
        except KeyError as error:
            raise self.error(f"{where} refers to a missing node, {error.args[0]}") from None
        if not np.isfinite(points).all():
            raise self.error(f"{where}: expected finite coordinates, found NaN or infinity")
        return points

    def findings(self) -> tuple[Finding, ...]:
        """Return the findings about this map."""
        version = self.content.version
        text = (
            f"{self.location}: the version of the map is {version or 'unknown'}. The public repositories cut truth "
            f"from version {VERSION}, whose geometry differs"
        )
        about_version = Finding("warning", "map-version", text, remedy=Remedy.of(NEWER))
        return (
            *([] if str(version) == VERSION else [about_version]),
            *repeated_records(self.location, self.repeated),
            *map_findings(self.location, skipped=self.skipped, repaired=self.repaired, left_out=self.left_out),
        )

    def error(self, text: str, *, remedy: str | None = None) -> UnreadableFile:
        """Return an error about this file."""
        return UnreadableFile(f"{self.path}: {text}", remedy=remedy)
