"""Cuts the elements of a map of Argoverse 2 frame by frame, as the public converters do."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import shapely

from mapgauge.geometry.polylines import Polylines
from mapgauge.truth.cutting import shapes
from mapgauge.truth.cutting.crossings import MERGES, Crossings
from mapgauge.truth.cutting.fragments import Fragment, by_frame, name_boundaries, simplify_fragments
from mapgauge.truth.cutting.shapes import Geometries, Layer
from mapgauge.truth.datasets import Classes, Frame, map_findings
from mapgauge.truth.from_argoverse2.frame_dividers import LanePathDividers, PaintedDividers, line_points
from mapgauge.truth.from_argoverse2.vector_map import Outline, VectorMap
from mapgauge.truth.from_argoverse2.views import Views
from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Flags, Indices

if TYPE_CHECKING:
    from mapgauge.frames.findings import Finding


class Outlines:
    """Outlines of crossings or of drivable areas, in the order of the file."""

    def __init__(self, outlines: Sequence[Outline], rules: TruthRules) -> None:
        """Choose the outlines that are polygons, and that are valid if the rules skip others."""
        chosen = [outline for outline in outlines if outline.is_polygon()]
        self.left_out: list[str] = [f"{outline.id}" for outline in outlines if not outline.is_polygon()]
        self.in_map: Geometries = shapes.as_geometries([shapely.Polygon(outline.points) for outline in chosen])
        self.valid: Flags = shapely.is_valid(self.in_map)
        invalid = [f"{chosen[k].id}" for k in np.flatnonzero(~self.valid).tolist()]
        if rules.invalid_polygons == "skip":
            self.skipped: list[str] = invalid
            self.repaired: list[str] = []
        else:
            self.skipped = []
            self.repaired = invalid
        if self.skipped:
            chosen = [chosen[k] for k in np.flatnonzero(self.valid).tolist()]
            self.in_map = self.in_map[self.valid]
            self.valid = self.valid[self.valid]
        self.ids: list[str] = [f"{outline.id}" for outline in chosen]
        self.points: Polylines = Polylines.of([outline.points for outline in chosen], dimension=3)


class Argoverse2FrameByFrame:
    """The elements of a map, which are cut, merged and joined in each frame."""

    def __init__(self, content: VectorMap, rules: TruthRules) -> None:
        """Prepare the elements that the rules need."""
        self.crossings: Outlines = Outlines(content.crossings, rules)
        self.areas: Outlines = Outlines(content.areas, rules)
        self.dividers: PaintedDividers | LanePathDividers
        if rules.divider_source == "lane-marks":
            self.dividers = PaintedDividers(content.lanes)
        else:
            self.dividers = LanePathDividers(content.lanes, rules)
        areas, _ = shapes.valid_polygons(self.areas.in_map, self.areas.ids)
        self.edges: Layer = shapes.union_boundaries(areas.geometries, f"{content.log}-boundary")
        short = [
            f"{lane.id}-{name}"
            for lane in content.lanes
            for name, side in (("left", lane.left), ("right", lane.right))
            if len(np.unique(side.line[:, :2], axis=0)) < 2
        ]
        self.findings: tuple[Finding, ...] = map_findings(
            content.log,
            skipped=self.areas.skipped + self.crossings.skipped,
            repaired=self.areas.repaired,  # the outlines of crossings are cut as lines, so they need no repair
            left_out=self.areas.left_out + short + self.crossings.left_out,
        )

    def cut(self, frames: Sequence[Frame], rules: TruthRules, region: tuple[float, float]) -> Classes:
        """Return the fragments of each class, in the order of ``CLASSES``, in each frame, with x forward."""
        views = Views(np.array([frame.pose for frame in frames]).reshape(-1, 4, 4), region)
        edges, frame = self._boundaries(views, rules)
        rows = shapes.frame_slices(frame, len(views))
        dividers = self.dividers.cut(views, rules, [edges[some] for some in rows])
        in_map = views.moved(edges, frame, views.to_map)
        named = name_boundaries(self.edges, [line_points(line) for line in edges], in_map)
        boundaries = [named[some] for some in rows]
        if rules.crossing_again == "no":
            cut_crossings = self._merged_crossings
        else:
            cut_crossings = self._single_crossings
        crossings = by_frame(len(views), cut_crossings(views, rules))
        shown = [simplify_fragments(fragments, rules.simplify) for fragments in (crossings, dividers, boundaries)]
        if rules.height:
            return shown
        return [
            [[fragment._replace(points=fragment.points[:, :2]) for fragment in group] for group in groups]
            for groups in shown
        ]

    def _boundaries(self, views: Views, rules: TruthRules) -> tuple[Geometries, Indices]:
        """Return the edges of the union of drivable areas, in the coordinates of the vehicle, and their frames."""
        near = views.near(self.areas.points, rules.cut_in)
        areas = near.polygons()
        invalid = ~self.areas.valid[near.row]
        areas[invalid] = shapely.make_valid(areas[invalid])
        if rules.cut_in == "vehicle":
            regions = views.box()
        else:
            regions = views.rectangles[near.frame]
        pieces, area = shapes.polygons_in(shapely.intersection(areas, regions))
        frame = near.frame[area]
        pieces = views.pieces_to_vehicle(pieces, frame, rules.cut_in)
        unions = shapes.as_geometries(
            [shapely.union_all(pieces[rows]) for rows in shapes.frame_slices(frame, len(views))]
        )
        return shapes.cut_edges(unions, views.box(rules.boundary_grow))

    def _single_crossings(self, views: Views, rules: TruthRules) -> Iterator[tuple[int, Fragment]]:
        """Yield the outline of each crossing, cut as a line, with its frame."""
        near = views.near(self.crossings.points, "vehicle")
        rings, _ = shapes.rings_in(near.polygons(), clockwise=rules.crossing_clockwise, holes=False)
        lines = shapes.cut_to_one_line(rings, views.box(), close=rules.crossing_again == "closed")
        for points, frame, row in zip(lines, near.frame.tolist(), near.row.tolist(), strict=True):
            if points is None:
                continue
            area = 0.0
            if rules.crossing_least and len(points) > 3:
                area = shapely.Polygon(points).area
            if area >= rules.crossing_least:
                yield frame, Fragment(points, (self.crossings.ids[row],))

    def _merged_crossings(self, views: Views, rules: TruthRules) -> Iterator[tuple[int, Fragment]]:
        """Yield the outlines of crossings that were cut and merged. The parts of an outline are one line."""
        near = views.near(self.crossings.points, "map")
        pieces, crossing = shapes.polygons_in(shapely.intersection(near.polygons(), views.rectangles[near.frame]))
        frame = near.frame[crossing]
        ids: list[tuple[str, ...]] = [(self.crossings.ids[k],) for k in near.row[crossing].tolist()]
        merged = MERGES[rules.crossing_merge](Crossings(views.pieces_to_vehicle(pieces, frame, "map"), ids, frame))
        rings, _ = shapes.rings_in(merged.polygons, clockwise=rules.crossing_clockwise, holes=False)
        arcs, ring = shapes.cut_rings(rings, views.box(rules.crossing_cut or 0.0))
        for i, group in groupby(range(len(arcs)), key=lambda k: int(ring[k])):
            points = np.concatenate([line_points(arcs[k]) for k in group])
            yield int(merged.frame[i]), Fragment(points, merged.ids[i])
