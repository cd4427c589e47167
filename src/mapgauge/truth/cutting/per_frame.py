"""Cuts the elements of a map frame by frame, as the public converters do.

Each element near a frame is cut in map coordinates, also if it lies wholly inside. This fixes the first point of its
outline. The pieces are turned into the coordinates of the frame, and merged or united there. A spatial index finds the
elements near a frame, so the time for a frame does not depend on the size of the map.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from mapgauge.truth.cutting.layers import Layer
from mapgauge.truth.cutting.outlines import PlacedBoxes, cut_rings, cut_to_one_line, rings_in
from mapgauge.truth.cutting.pieces import Crossings, Fragment, FrameMerge, RingPlaces
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, polygons_in, query_index, shapely_module
from mapgauge.truth.rules import CutAgain
from mapgauge.typing import Indices


class Pieces(NamedTuple):
    """The pieces of elements in boxes, sorted by box and then by element."""

    box: Indices  # (pieces,)
    element: Indices  # (pieces,)
    in_map: Geometries  # (pieces,), map coordinates
    local: Geometries  # (pieces,), coordinates of the box


def cut_pieces(layer: Layer, boxes: PlacedBoxes) -> Pieces:
    """Cut the elements of a layer with all boxes that they meet."""
    shapely = shapely_module()
    placed = boxes.in_map()
    box, element = query_index(layer.tree, placed)
    pieces = shapely.intersection(layer.geometries[element], placed[box])
    kept = ~shapely.is_empty(pieces)
    box, element, pieces = box[kept], element[kept], pieces[kept]
    return Pieces(box, element, pieces, boxes.to_local(pieces, box))


def cut_lines_apart(layer: Layer, boxes: PlacedBoxes) -> list[list[Fragment]]:
    """Return the fragments of lines in each box. A line that crosses itself is split where it crosses."""
    shapely = shapely_module()
    fragments: list[list[Fragment]] = [[] for _ in range(len(boxes))]
    pieces = cut_pieces(layer, boxes)
    local, owner = shapely.get_parts(pieces.local, return_index=True)
    in_map = shapely.get_parts(pieces.in_map)
    kept = (shapely.get_type_id(local) == shapely.GeometryType.LINESTRING) & (shapely.length(local) > 0)
    local, owner, in_map = local[kept], owner[kept], in_map[kept]
    element = pieces.element[owner]
    middle = shapely.line_interpolate_point(in_map, 0.5, normalized=True)
    half = shapely.length(in_map) / 2
    at = shapely.line_locate_point(layer.geometries[element], middle)
    for k, (box, index) in enumerate(zip(pieces.box[owner].tolist(), element.tolist(), strict=True)):
        along = float(at[k] - half[k]), float(at[k] + half[k])
        points = boxes.ahead(shapely.get_coordinates(local[k]))
        fragments[box].append(Fragment(points, (layer.ids[index],), along))
    return fragments


def cut_crossings(
    layer: Layer, boxes: PlacedBoxes, merge: FrameMerge, *, clockwise: bool, holes: bool, again: CutAgain
) -> list[list[Fragment]]:
    """Return the outlines of crossings in each box.

    Args:
        layer: Polygons.
        boxes: Where to cut.
        merge: Merges the polygons of each box after cutting.
        clockwise: The direction of outlines, seen from above. Holes run the other way.
        holes: Whether holes become fragments as well.
        again: Whether outlines are cut again, as lines, at the edge of the box, and then closed.
    """
    pieces = cut_pieces(layer, boxes)
    polygons, owner = polygons_in(pieces.local)
    names = [(layer.ids[k],) for k in pieces.element[owner].tolist()]
    crossings = merge(Crossings(polygons, [*names], pieces.box[owner]))
    box = crossings.frame
    rings, of = rings_in(crossings.polygons, clockwise=clockwise, holes=holes)
    order = np.argsort(box[of], kind="stable")  # in each box: all outlines, then all holes
    rings, of = rings[order], of[order]
    if again == "no":
        lines = list(map(shapely_module().get_coordinates, rings))
    else:
        lines = cut_to_one_line(rings, boxes.box(), close=again == "closed")
    fragments: list[list[Fragment]] = [[] for _ in range(len(boxes))]
    for line, k in zip(lines, of.tolist(), strict=True):
        if line is not None:
            fragments[int(box[k])].append(Fragment(boxes.ahead(line), crossings.ids[k]))
    return fragments


def cut_boundaries(
    layers: tuple[Layer, ...], boxes: PlacedBoxes, places: RingPlaces, grow: float
) -> list[list[Fragment]]:
    """Return the edges of the union of all polygons in each box. The inside is on their right.

    Args:
        layers: Polygons. As in the converters, each layer is united first, and then the unions.
        boxes: Where to cut.
        places: Names the edges.
        grow: Metres by which each side of a box is moved outwards to cut the edges.
    """
    shapely = shapely_module()
    unions = []
    for layer in layers:
        pieces = cut_pieces(layer, boxes)
        starts = np.searchsorted(pieces.box, np.arange(len(boxes) + 1)).tolist()
        unions.append([shapely.union_all(pieces.local[start:stop]) for start, stop in pairwise(starts)])
    united = as_geometries([shapely.union_all(list(both)) for both in zip(*unions, strict=True)])
    polygons, box = polygons_in(united)
    rings, of = rings_in(polygons, clockwise=True, holes=True)
    lines, ring = cut_rings(rings, boxes.box(grow))
    box = box[of[ring]]
    order = np.argsort(box, kind="stable")  # in each box: all outlines, then all holes
    lines, box = lines[order], box[order]
    fragments: list[list[Fragment]] = [[] for _ in range(len(boxes))]
    placed = places.fragments([boxes.ahead(shapely.get_coordinates(line)) for line in lines], boxes.to_map(lines, box))
    for k, fragment in zip(box.tolist(), placed, strict=True):
        fragments[k].append(fragment)
    return fragments
