"""Prepares the map of an Argoverse 2 log for cutting: once for all frames, or frame by frame."""

from pathlib import Path

import numpy as np

from mapgauge.truth.cutting.layers import Layer, repair_polygons, union_boundaries
from mapgauge.truth.cutting.shapes import as_geometries, shapely_module, simplify
from mapgauge.truth.datasets import Cutter, MapLayers, map_findings
from mapgauge.truth.from_argoverse2.dividers import LaneSide, make_dividers
from mapgauge.truth.from_argoverse2.per_frame import FrameByFrame
from mapgauge.truth.from_argoverse2.vector_map import Outline, VectorMap, read_vector_map
from mapgauge.truth.rules import Rules


def read_map(log: Path, rules: Rules) -> Cutter:
    """Return what cuts the map of a log."""
    content = read_vector_map(log)
    return FrameByFrame(content, rules) if rules.per_frame else _MapReader(content).layers(rules)


class _MapReader:
    """Makes layers of one map, and collects what was repaired or left out."""

    def __init__(self, content: VectorMap) -> None:
        self.content = content
        self.repaired: list[str] = []
        self.left_out: list[str] = []

    def layers(self, rules: Rules) -> MapLayers:
        """Return the layers by the rules. Dividers and boundaries are made once, so they are the same in all frames."""
        log = self.content.log
        edges = union_boundaries(self.polygons(self.content.areas).geometries, f"{log}-boundary")
        lines, ids = make_dividers(self.lane_sides(), rules, edges.geometries)
        dividers = Layer.of(simplify(lines, rules.simplify_dividers), [f"{lane}-{side}" for lane, side in ids])
        boundaries = Layer.of(simplify(edges.geometries, rules.simplify_boundaries), edges.ids)
        crossings = self.polygons(self.content.crossings)
        findings = map_findings(log, self.repaired, self.left_out)
        return MapLayers(crossings, dividers, boundaries, tuple(findings))

    def lane_sides(self) -> list[LaneSide]:
        """Return the lines on both sides of all lane segments."""
        found = []
        for lane in sorted(self.content.lanes, key=lambda one: one.id):
            for name, side in (("left", lane.left), ("right", lane.right)):
                points = side.line[:, :2]
                points = points[np.append(True, (points[1:] != points[:-1]).any(axis=1))[: len(points)]]
                if len(points) < 2:
                    self.left_out.append(f"{lane.id}-{name}")
                    continue
                inner = side.neighbour is not None
                found.append(LaneSide(lane.id, name, points, side.painted, inner, lane.intersection))
        return found

    def polygons(self, outlines: tuple[Outline, ...]) -> Layer:
        """Return a layer of polygons, sorted by id. Invalid polygons are repaired."""
        enough = []
        for one in sorted(outlines, key=lambda one: one.id):
            if len(np.unique(one.points[:, :2], axis=0)) > 2:
                enough.append(one)
            else:
                self.left_out.append(f"{one.id}")
        polygons = as_geometries([shapely_module().Polygon(one.points[:, :2]) for one in enough])
        layer, repaired = repair_polygons(polygons, [f"{one.id}" for one in enough])
        self.repaired += repaired
        return layer
