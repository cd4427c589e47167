"""The baseline for truth of nuScenes: shapely tests and cuts every element of the map for every frame.

The public converters work like this. The rules and the result are the same as mapgauge's. There is no spatial index,
and elements are handled one at a time. The converters also make every shape from its nodes in every frame; ``keep``
makes the shapes only once.
"""

from typing import Any, NamedTuple

import numpy as np
import shapely
from shapely.affinity import rotate, translate

from mapgauge.truth.cutting.crossings import MERGES, Crossings
from mapgauge.truth.cutting.shapes import as_geometries
from mapgauge.truth.datasets import Frame
from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Points


class Elements(NamedTuple):
    """A map as its JSON file stores it: shapes are lists of node tokens."""

    nodes: dict[str, tuple[float, float]]
    crossings: list[dict[str, Any]]
    dividers: list[dict[str, Any]]
    areas: list[list[dict[str, Any]]]  # one list for each map layer
    kept: dict[str, Any] | None  # shapes that were made before, if they are kept

    def shape(self, record: dict[str, Any]) -> Any:
        """The line or polygon of a record."""
        if self.kept is None:
            return self.made(record)
        if record["token"] not in self.kept:
            self.kept[record["token"]] = self.made(record)
        return self.kept[record["token"]]

    def made(self, record: dict[str, Any]) -> Any:
        """The line or polygon of a record, made from its nodes."""
        if "node_tokens" in record:
            return shapely.LineString([self.nodes[token] for token in record["node_tokens"]])
        holes = [[self.nodes[token] for token in hole["node_tokens"]] for hole in record["holes"]]
        return shapely.Polygon([self.nodes[token] for token in record["exterior_node_tokens"]], holes)


def elements_of(content: dict[str, Any], rules: TruthRules, keep: bool) -> Elements:
    """The elements of a map, from its JSON file. ``keep``: whether shapes are made once, instead of in every frame."""
    lines, polygons = ({one["token"]: one for one in content[kind]} for kind in ("line", "polygon"))
    return Elements(
        {node["token"]: (node["x"], node["y"]) for node in content["node"]},
        [polygons[one["polygon_token"]] for name in rules.crossings for one in content[name]],
        [lines[one["line_token"]] for name in rules.dividers for one in content[name]],
        [[polygons[one["polygon_token"]] for one in content[name]] for name in rules.boundaries],
        {} if keep else None,
    )


def cut(elements: Elements, frame: Frame, region: tuple[float, float], rules: TruthRules) -> list[list[Points]]:
    """The truth of one frame: crossings, dividers, boundaries, with x forward."""
    pose, angle, ahead = frame.pose, frame.heading, rules.centre == "ego"
    width, height = region if ahead else region[::-1]
    x, y = float(pose[0, 3]), float(pose[1, 3])
    patch = rotate(shapely.box(x - width / 2, y - height / 2, x + width / 2, y + height / 2), angle, origin=(x, y))

    def pieces(records: list[dict[str, Any]]) -> list[Any]:
        shapes = [elements.shape(record) for record in records]
        found = [shape.intersection(patch) for shape in shapes if shape.is_valid]
        return [translate(rotate(one, -angle, origin=(x, y)), -x, -y) for one in found if not one.is_empty]

    def box(grow: float) -> Any:
        return shapely.box(-width / 2 - grow, -height / 2 - grow, width / 2 + grow, height / 2 + grow)

    dividers = [points for line in pieces(elements.dividers) for points in _lines(line)]
    road = shapely.union_all([shapely.union_all(pieces(layer)) for layer in elements.areas])
    boundaries = [
        points
        for polygon in _polygons([road])
        for ring in (polygon.exterior, *polygon.interiors)
        for points in _lines(ring.intersection(box(rules.boundary_grow)), joined=True)
    ]
    crossings = _crossings(_polygons(pieces(elements.crossings)), box(0.0), rules)
    found = [crossings, dividers, boundaries]
    if rules.simplify:
        found = [[_points(shapely.LineString(one).simplify(rules.simplify)) for one in group] for group in found]
    return [[one if ahead else one[:, ::-1] * (1, -1) for one in group] for group in found]


def _crossings(polygons: list[Any], box: Any, rules: TruthRules) -> list[Points]:
    found: list[Points] = []
    if not polygons:
        return found
    one_frame = np.zeros(len(polygons), np.int64)
    merged = MERGES[rules.crossing_merge](Crossings(as_geometries(polygons), [()] * len(polygons), one_frame))
    for polygon in merged.polygons:
        outline = shapely.reverse(polygon.exterior) if not polygon.exterior.is_ccw else polygon.exterior
        if rules.crossing_again == "no":
            found += [_points(ring) for ring in (outline, *(polygon.interiors if rules.crossing_holes else ()))]
            continue
        line = outline.intersection(box)
        apart = len(shapely.get_parts(line)) > 1
        parts = _lines(line, joined=apart)
        if parts:
            points = np.concatenate(parts)
            is_open = not np.allclose(points[0], points[-1], atol=1e-3)
            close = is_open and (apart or rules.crossing_again == "closed")
            found.append(np.concatenate([points, points[:1]]) if close else points)
    return found


def _points(line: Any) -> Points:
    return np.array(line.coords)


def _polygons(shapes: list[Any]) -> list[Any]:
    return [part for shape in shapes for part in shapely.get_parts(shape) if part.geom_type == "Polygon"]


def _lines(geometry: Any, joined: bool = False) -> list[Points]:
    """The lines in the result of an intersection; optionally, lines that meet are joined."""
    parts = [part for part in shapely.get_parts(geometry) if part.length > 0]
    if joined and len(parts) > 1:
        parts = list(shapely.get_parts(shapely.line_merge(shapely.MultiLineString(parts))))
    return [_points(part) for part in parts]
