"""Outlines of polygons as lines, cut in the coordinates of a frame as the public converters cut them."""

from typing import Any

import numpy as np

from mapgauge.truth.cutting.shapes import Geometries, as_geometries, shapely_module
from mapgauge.typing import Indices, Points

CLOSED = 1e-3  # metres: ends this close to each other need no closing
_RELATIVE = 1e-5  # plus this share of a coordinate, as numpy's ``allclose`` adds it in the converters


def rings_in(polygons: Geometries, *, clockwise: bool, holes: bool) -> tuple[Geometries, Indices]:
    """Return the rings of single polygons, and the index of the polygon of each: all outlines, then all holes.

    Args:
        polygons: Polygons.
        clockwise: The direction of outlines, seen from above. Holes run the other way.
        holes: Whether holes are returned at all.
    """
    shapely = shapely_module()
    outlines = shapely.get_exterior_ring(polygons)
    rings, owner = [_directed(outlines, clockwise)], [np.arange(len(polygons))]
    if holes:
        counts = shapely.get_num_interior_rings(polygons)
        inside = [ring for k in np.flatnonzero(counts).tolist() for ring in polygons[k].interiors]
        rings.append(_directed(as_geometries(inside), not clockwise))
        owner.append(np.repeat(np.arange(len(polygons)), counts))
    return np.concatenate(rings), np.concatenate(owner)


def cut_rings(rings: Geometries, box: Any) -> tuple[Geometries, Indices]:
    """Return the parts of rings in a box as single lines, and the index of the ring of each.

    Parts that meet at the first point of a ring are joined.
    """
    shapely = shapely_module()
    lines = shapely.intersection(rings, box)
    several = shapely.get_num_geometries(lines) > 1
    lines[several] = shapely.line_merge(_without_points(lines[several]))
    parts, owner = shapely.get_parts(lines, return_index=True)
    kept = (shapely.get_type_id(parts) == shapely.GeometryType.LINESTRING) & (shapely.length(parts) > 0)
    return parts[kept], owner[kept]


def cut_to_one_line(rings: Geometries, box: Any, *, close: bool) -> list[Points | None]:
    """Return the part of each ring in a box as one line, or None if nothing is left.

    A ring that falls apart gives one line of all its parts, closed from its last point to its first. A ring that stays
    one line stays open where the box opened it, unless ``close`` closes it. Rounding decides whether an edge of the
    ring that follows the edge of the box is inside.
    """
    shapely = shapely_module()
    lines = shapely.intersection(rings, box)
    apart = shapely.get_num_geometries(lines) > 1
    lines[apart] = shapely.line_merge(_without_points(lines[apart]))
    found: list[Points | None] = []
    for line, fell_apart in zip(lines, apart.tolist(), strict=True):
        points: Points = shapely.get_coordinates(line, include_z=bool(shapely.has_z(line)))
        if len(points) < 2:
            found.append(None)
            continue
        start, end = points[0], points[-1]
        is_open = bool((np.abs(start - end) > CLOSED + _RELATIVE * np.abs(end)).any())
        found.append(np.concatenate([points, points[:1]]) if is_open and (close or fell_apart) else points)
    return found


def _directed(rings: Geometries, clockwise: bool) -> Geometries:
    shapely = shapely_module()
    wrong = shapely.is_ccw(rings) == clockwise
    turned = rings.copy()
    turned[wrong] = shapely.reverse(rings[wrong])
    return turned


def _without_points(collections: Geometries) -> Geometries:
    """Return the lines of each collection as a multilinestring."""
    shapely = shapely_module()
    parts, owner = shapely.get_parts(collections, return_index=True)
    lines = shapely.get_type_id(parts) == shapely.GeometryType.LINESTRING
    found: Geometries = as_geometries([shapely.MultiLineString()] * len(collections))
    if lines.any():
        shapely.multilinestrings(parts[lines], indices=owner[lines], out=found)
    return found
