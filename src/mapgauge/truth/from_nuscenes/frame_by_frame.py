"""Cuts the elements of a map of nuScenes frame by frame, as the public converters do.

Each element near a frame is cut in map coordinates, also if it lies wholly inside. The pieces are merged in the frame.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapgauge.frames.findings import Finding
from mapgauge.truth.cutting import shapes
from mapgauge.truth.cutting.crossings import MERGES, Crossings
from mapgauge.truth.cutting.fragments import Fragment, by_frame, name_boundaries, simplify_fragments
from mapgauge.truth.cutting.shapes import Geometries
from mapgauge.truth.datasets import Classes, Frame
from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Forward, Indices, Points


@dataclass(frozen=True, eq=False)
class PlacedBoxes:
    """The same box at many places of a map, one for each frame."""

    centres: Points  # (frames, 2), map coordinates
    degrees: NDArray[np.float64]  # (frames,), from the x axis of the map to the x axis of the box
    sides: tuple[float, float]  # along the x axis and the y axis of the box, metres
    forward: Forward  # if it is y, the x axis of the box points to the right

    @classmethod
    def of(
        cls, centres: Points, degrees: Sequence[float], region: tuple[float, float], forward: Forward
    ) -> "PlacedBoxes":
        """Place a region ``(length, width)``, whose length is along the axis ``forward`` of the box."""
        if forward == "x":
            sides = region
        else:
            sides = region[::-1]
        return cls(np.array(centres).reshape(-1, 2), np.array(degrees, np.float64), sides, forward=forward)

    def __len__(self) -> int:
        """Number of boxes."""
        return len(self.centres)

    def box(self, grow: float = 0.0) -> object:
        """Return the box in its own coordinates, with each side moved outwards by ``grow`` metres."""
        x = self.sides[0] / 2 + grow
        y = self.sides[1] / 2 + grow
        return shapely.box(-x, -y, x, y)

    def in_map(self) -> Geometries:
        """Return the boxes as polygons in map coordinates."""
        half = np.array(self.sides) / 2.0
        low = self.centres - half
        high = self.centres + half
        boxes = shapely.box(*low.T, *high.T)
        return _moved(boxes, np.arange(len(boxes)), lambda at, box: self._turned(at, box, self.degrees))

    def to_local(self, geometries: Geometries, owner: Indices) -> Geometries:
        """Return geometries in the coordinates of the box that each belongs to."""
        return _moved(geometries, owner, lambda at, box: self._turned(at, box, -self.degrees) - self.centres[box])

    def to_map(self, geometries: Geometries, owner: Indices) -> Geometries:
        """Return geometries in map coordinates, from the coordinates of the box that each belongs to."""
        return _moved(geometries, owner, lambda at, box: self._turned(at + self.centres[box], box, self.degrees))

    def facing_x(self, points: Points) -> Points:
        """Return points in the coordinates of a box with x forward and y to the left. This is exact."""
        if self.forward == "x":
            return points
        return np.column_stack([points[:, 1], -points[:, 0]])

    def _turned(self, coords: Points, owner: Indices, degrees: NDArray[np.float64]) -> Points:
        """Return points turned about the centre of their box."""
        angle = degrees * np.pi / 180.0
        cos = np.cos(angle)
        sin = np.sin(angle)
        cos[np.abs(cos) < 2.5e-16] = 0.0  # quarter turns are exact
        sin[np.abs(sin) < 2.5e-16] = 0.0
        x_0, y_0 = self.centres.T
        x_shift = x_0 - x_0 * cos + y_0 * sin
        y_shift = y_0 - x_0 * sin - y_0 * cos
        x, y = coords.T
        cos, sin, x_shift, y_shift = (column[owner] for column in (cos, sin, x_shift, y_shift))
        return np.column_stack([cos * x - sin * y + x_shift, sin * x + cos * y + y_shift])


def _moved(geometries: Geometries, owner: Indices, move: Callable[[Points, Indices], Points]) -> Geometries:
    """Return geometries with their points moved. ``move`` gets points and the owner of each."""
    box = np.repeat(owner, shapely.get_num_coordinates(geometries))
    moved: Geometries = shapely.transform(geometries, lambda coords: move(coords, box))
    return moved


class Pieces(NamedTuple):
    """The pieces of elements in boxes, sorted by box and then by element."""

    box: Indices  # (pieces,)
    element: Indices  # (pieces,)
    in_map: Geometries  # (pieces,), map coordinates
    local: Geometries  # (pieces,), coordinates of the box


def cut_pieces(layer: shapes.Layer, boxes: PlacedBoxes) -> Pieces:
    """Cut the elements of a layer with all boxes that they meet."""
    placed = boxes.in_map()
    box, element = shapes.query_index(layer.tree, placed)
    pieces = shapely.intersection(layer.geometries[element], placed[box])
    kept = ~shapely.is_empty(pieces)
    box = box[kept]
    element = element[kept]
    pieces = pieces[kept]
    return Pieces(box, element, pieces, local=boxes.to_local(pieces, box))


@dataclass(frozen=True, eq=False)
class NuScenesFrameByFrame:
    """The elements of a map that the rules need, as they are in the file. They are cut and merged in each frame."""

    crossings: shapes.Layer  # polygons
    dividers: shapes.Layer  # lines
    areas: tuple[shapes.Layer, ...]  # polygons; the edge of their union is the boundary
    edges: shapes.Layer  # closed lines around the union of all areas of the map, which name boundaries
    findings: tuple[Finding, ...] = ()  # about this map; the same map always has the same findings

    def __post_init__(self) -> None:
        """Build the spatial indices before several threads use them."""
        for layer in (self.crossings, self.dividers, *self.areas, self.edges):
            _ = layer.tree

    def cut(self, frames: Sequence[Frame], rules: TruthRules, region: tuple[float, float]) -> Classes:
        """Return the fragments of each class, in the order of ``CLASSES``, in each frame, with x forward."""
        centres = np.array([frame.pose[:2, 3] for frame in frames])
        headings = [frame.heading for frame in frames]
        # The converters cut in the axes of the centre, and turn the result last. The x axis of the LiDAR points right.
        if rules.centre == "ego":
            forward: Forward = "x"
        else:
            forward = "y"
        boxes = PlacedBoxes.of(centres, headings, region, forward=forward)
        boundaries = self._cut_boundaries(boxes, rules.boundary_grow)
        classes = (self._cut_crossings(boxes, rules), self._cut_dividers(boxes), boundaries)
        return [simplify_fragments(fragments, rules.simplify) for fragments in classes]

    def _cut_crossings(self, boxes: PlacedBoxes, rules: TruthRules) -> list[list[Fragment]]:
        """Return the outlines of crossings in each box, merged by the rules."""
        pieces = cut_pieces(self.crossings, boxes)
        polygons, owner = shapes.polygons_in(pieces.local)
        ids: list[tuple[str, ...]] = [(self.crossings.ids[k],) for k in pieces.element[owner].tolist()]
        merged = MERGES[rules.crossing_merge](Crossings(polygons, ids, pieces.box[owner]))
        rings, polygon = shapes.rings_in(
            merged.polygons, clockwise=rules.crossing_clockwise, holes=rules.crossing_holes
        )
        order = np.argsort(merged.frame[polygon], kind="stable")  # in each box: all outlines, then all holes
        rings = rings[order]
        polygon = polygon[order]
        if rules.crossing_again == "no":
            lines = list(map(shapely.get_coordinates, rings))
        else:
            lines = shapes.cut_to_one_line(rings, boxes.box(), close=rules.crossing_again == "closed")
        fragments = (
            (int(merged.frame[k]), Fragment(boxes.facing_x(line), merged.ids[k]))
            for line, k in zip(lines, polygon.tolist(), strict=True)
            if line is not None
        )
        return by_frame(len(boxes), fragments)

    def _cut_dividers(self, boxes: PlacedBoxes) -> list[list[Fragment]]:
        """Return the fragments of dividers in each box. A line that crosses itself is split where it crosses."""
        pieces = cut_pieces(self.dividers, boxes)
        local, owner = shapely.get_parts(pieces.local, return_index=True)
        in_map = shapely.get_parts(pieces.in_map)
        kept = (shapely.get_type_id(local) == shapely.GeometryType.LINESTRING) & (shapely.length(local) > 0)
        local = local[kept]
        owner = owner[kept]
        in_map = in_map[kept]
        element = pieces.element[owner]
        middle = shapely.line_interpolate_point(in_map, 0.5, normalized=True)
        half = shapely.length(in_map) / 2
        at = shapely.line_locate_point(self.dividers.geometries[element], middle)
        rows = (column.tolist() for column in (pieces.box[owner], element, at - half, at + half))
        fragments = (
            (box, Fragment(boxes.facing_x(shapely.get_coordinates(line)), (self.dividers.ids[index],), (start, stop)))
            for line, box, index, start, stop in zip(local, *rows, strict=True)
        )
        return by_frame(len(boxes), fragments)

    def _cut_boundaries(self, boxes: PlacedBoxes, grow: float) -> list[list[Fragment]]:
        """Return the edges of the union of all areas in each box. Each layer is united first, and then the unions."""
        unions = []
        for layer in self.areas:
            pieces = cut_pieces(layer, boxes)
            unions.append(
                [shapely.union_all(pieces.local[rows]) for rows in shapes.frame_slices(pieces.box, len(boxes))]
            )
        united = shapes.as_geometries([shapely.union_all(list(layers)) for layers in zip(*unions, strict=True)])
        lines, box = shapes.cut_edges(united, boxes.box(grow))
        points = [boxes.facing_x(shapely.get_coordinates(line)) for line in lines]
        fragments = name_boundaries(self.edges, points, boxes.to_map(lines, box))
        return by_frame(len(boxes), zip(box.tolist(), fragments, strict=True))
