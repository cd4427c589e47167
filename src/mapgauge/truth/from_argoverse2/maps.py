"""Prepares the map of an Argoverse 2 log for cutting: once for all frames, or frame by frame."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np

from mapgauge.geometry.polylines import Polylines
from mapgauge.truth.cutting.crossings import MERGES
from mapgauge.truth.cutting.layers import Layer, repair_polygons, union_boundaries
from mapgauge.truth.cutting.outlines import cut_rings, cut_to_one_line, rings_in
from mapgauge.truth.cutting.pieces import Fragment, RingPlaces, simplify_fragments
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, polygons_in, shapely_module, simplify
from mapgauge.truth.cutting.views import Views
from mapgauge.truth.datasets import Cutter, Frame, MapLayers, map_findings, skipped_polygons
from mapgauge.truth.from_argoverse2.dividers import LaneSide, make_dividers
from mapgauge.truth.from_argoverse2.frame_dividers import LanePathDividers, PaintedDividers, points_of
from mapgauge.truth.from_argoverse2.vector_map import Outline, VectorMap, read_vector_map
from mapgauge.truth.rules import Rules
from mapgauge.typing import Flags, Indices, Points


class Outlines:
    """Outlines of crossings or of drivable areas, in the order of the file."""

    def __init__(self, outlines: Sequence[Outline], rules: Rules) -> None:
        """Choose the outlines that are polygons, and that are valid if the rules skip others."""
        shapely = shapely_module()
        enough = [one for one in outlines if len(np.unique(one.points[:, :2], axis=0)) > 2]
        self.left_out = [f"{one.id}" for one in outlines if all(one is not other for other in enough)]
        polygons = as_geometries([shapely.Polygon(one.points) for one in enough])
        self.valid: Flags = shapely.is_valid(polygons)
        self.skipped: list[str] = []
        self.repaired = [f"{one.id}" for one, valid in zip(enough, self.valid.tolist(), strict=True) if not valid]
        if rules.invalid_polygons == "skip":
            self.skipped, self.repaired = self.repaired, []
            enough = [one for one, valid in zip(enough, self.valid.tolist(), strict=True) if valid]
            polygons, self.valid = polygons[self.valid], self.valid[self.valid]
        self.in_map = polygons
        self.ids = [f"{one.id}" for one in enough]
        self.points = Polylines.of([one.points for one in enough], dimension=3)


class FrameByFrame:
    """The elements of a map, which are cut, merged and joined in each frame."""

    def __init__(self, content: VectorMap, rules: Rules) -> None:
        """Prepare the elements that the rules need."""
        self.crossings = Outlines(content.crossings, rules)
        self.areas = Outlines(content.areas, rules)
        self.dividers: PaintedDividers | LanePathDividers = (
            PaintedDividers(content.lanes)
            if rules.divider_source == "lane-marks"
            else LanePathDividers(content.lanes, rules)
        )
        areas, _ = repair_polygons(self.areas.in_map, self.areas.ids)
        self.edges = RingPlaces(union_boundaries(areas.geometries, f"{content.log}-boundary"))
        short = [
            f"{lane.id}-{name}"
            for lane in content.lanes
            for name, side in (("left", lane.left), ("right", lane.right))
            if len(np.unique(side.line[:, :2], axis=0)) < 2
        ]
        repaired = self.areas.repaired  # the outlines of crossings are cut as lines, so they need no repair
        left_out = self.areas.left_out + short + self.crossings.left_out
        skipped = self.areas.skipped + self.crossings.skipped
        self.findings = (*skipped_polygons(content.log, skipped), *map_findings(content.log, repaired, left_out))

    def cut(
        self, frames: Sequence[Frame], rules: Rules, region: tuple[float, float]
    ) -> Sequence[Sequence[Sequence[Fragment]]]:
        """Return the fragments of each class, in the order of ``CLASSES``, in each frame, with x forward."""
        views = Views(np.array([frame.pose for frame in frames]).reshape(-1, 4, 4), region)
        edges, frame = self._boundaries(views, rules)
        starts = np.searchsorted(frame, np.arange(len(views) + 1)).tolist()
        in_frames = [edges[a:b] for a, b in pairwise(starts)]
        dividers = [[Fragment(*line) for line in lines] for lines in self.dividers.cut(views, rules, in_frames)]
        named = self.edges.fragments([points_of(line) for line in edges], views.lines_to_map(edges, frame))
        boundaries = [named[a:b] for a, b in pairwise(starts)]
        cut_crossings = self._merged_crossings if rules.crossing_again == "no" else self._single_crossings
        crossings: list[list[Fragment]] = [[] for _ in frames]
        for k, fragment in cut_crossings(views, rules):
            crossings[k].append(fragment)
        shown = [simplify_fragments(fragments, rules.simplify) for fragments in (crossings, dividers, boundaries)]
        if rules.height:
            return shown
        return [[[one._replace(points=one.points[:, :2]) for one in group] for group in each] for each in shown]

    def _boundaries(self, views: Views, rules: Rules) -> tuple[Geometries, Indices]:
        """Return the edges of the union of drivable areas, in the coordinates of the vehicle, and their frames."""
        shapely = shapely_module()
        near = views.near(self.areas.points, rules.cut_in)
        areas = near.polygons()
        invalid = ~self.areas.valid[near.row]
        areas[invalid] = shapely.make_valid(areas[invalid])
        pieces, of = polygons_in(shapely.intersection(areas, views.edges(near.frame, rules.cut_in)))
        frame = near.frame[of]
        pieces = views.pieces_to_vehicle(pieces, frame, rules.cut_in)
        starts = np.searchsorted(frame, np.arange(len(views) + 1)).tolist()
        unions, frame = polygons_in(as_geometries([shapely.union_all(pieces[a:b]) for a, b in pairwise(starts)]))
        rings, of = rings_in(unions, clockwise=True, holes=True)
        lines, ring = cut_rings(rings, views.box(rules.boundary_grow))
        frame = frame[of[ring]]
        order = np.argsort(frame, kind="stable")  # in each frame: all outlines, then all holes
        return lines[order], frame[order]

    def _single_crossings(self, views: Views, rules: Rules) -> Iterator[tuple[int, Fragment]]:
        """Yield the outline of each crossing, cut as a line, with its frame."""
        near = views.near(self.crossings.points, "vehicle")
        rings, _ = rings_in(near.polygons(), clockwise=rules.crossing_clockwise, holes=False)
        lines = cut_to_one_line(rings, views.box(), close=rules.crossing_again == "closed")
        for points, frame, row in zip(lines, near.frame.tolist(), near.row.tolist(), strict=True):
            if points is not None and not (rules.crossing_least and _area(points) < rules.crossing_least):
                yield frame, Fragment(points, (self.crossings.ids[row],))

    def _merged_crossings(self, views: Views, rules: Rules) -> Iterator[tuple[int, Fragment]]:
        """Yield the outlines of crossings that were cut and merged. The parts of an outline are one line."""
        shapely = shapely_module()
        near = views.near(self.crossings.points, "map")
        pieces, of = polygons_in(shapely.intersection(near.polygons(), views.rectangles[near.frame]))
        frame = near.frame[of]
        pieces = views.pieces_to_vehicle(pieces, frame, "map")
        elements: list[tuple[str, ...]] = [(self.crossings.ids[k],) for k in near.row[of].tolist()]
        merged, frames = [pieces[:0]], []
        ids: list[tuple[str, ...]] = []
        for k, (a, b) in enumerate(pairwise(np.searchsorted(frame, np.arange(len(views) + 1)).tolist())):
            if b > a:
                polygons, names = MERGES[rules.crossing_merge](pieces[a:b], elements[a:b])
                merged.append(polygons)
                ids += names
                frames += [k] * len(names)
        rings, _ = rings_in(np.concatenate(merged), clockwise=rules.crossing_clockwise, holes=False)
        arcs, ring = cut_rings(rings, views.box(rules.crossing_cut or 0.0))
        for i, group in groupby(range(len(arcs)), key=lambda k: int(ring[k])):
            yield frames[i], Fragment(np.concatenate([points_of(arcs[k]) for k in group]), ids[i])


def _area(points: Points) -> float:
    """Return the area inside a closed line."""
    return float(shapely_module().area(shapely_module().Polygon(points))) if len(points) > 3 else 0.0


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
