"""Arrays of shapely geometries: the polygons, lines and outlines in them.

shapely is an optional dependency. It is imported when truth is cut, not when this module is imported.
"""

import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.typing import Bounds, Flags, Indices, Points

Geometries: TypeAlias = NDArray[Any]  # (n,), shapely objects

CLOSED = 1e-3  # metres: ends this close to each other need no closing
_RELATIVE = 1e-5  # plus this share of a coordinate, as numpy's ``allclose`` adds it in the converters


def shapely_module() -> Any:
    """Return the shapely package. This is called often, and asking the import system takes longer than most calls."""
    return sys.modules.get("shapely") or require("shapely", "cutting truth from maps", "truth")


def as_geometries(shapes: Sequence[Any] | Geometries) -> Geometries:
    """Return shapely objects as a one-dimensional object array, which is empty if there are none."""
    array: Geometries = np.empty(len(shapes), object)
    array[:] = shapes
    return array


def polygons_in(geometries: Geometries) -> tuple[Geometries, Indices]:
    """Return the single polygons in geometries, and the index of the geometry that each comes from.

    Points and lines are dropped. Cutting leaves them where a polygon only touches an edge.
    """
    shapely = shapely_module()
    parts, owner = _parts(geometries, shapely.GeometryType.POLYGON)
    kept = ~shapely.is_empty(parts)
    return parts[kept], owner[kept]


def lines_in(geometries: Geometries) -> tuple[Geometries, Indices]:
    """Return the single lines in geometries, and the index of the geometry that each comes from."""
    shapely = shapely_module()
    parts, owner = _parts(geometries, shapely.GeometryType.LINESTRING)
    kept = shapely.length(parts) > 0
    return parts[kept], owner[kept]


def _parts(geometries: Geometries, kind: int) -> tuple[Geometries, Indices]:
    """Return the parts of one type in geometries, and the index of the geometry that each comes from."""
    shapely = shapely_module()
    parts, owner = shapely.get_parts(geometries, return_index=True)
    while (shapely.get_type_id(parts) > shapely.GeometryType.POLYGON).any():  # collections in a collection
        parts, inner = shapely.get_parts(parts, return_index=True)
        owner = owner[inner]
    kept = shapely.get_type_id(parts) == kind
    return parts[kept], owner[kept]


def linestrings(lines: Iterable[Points]) -> Geometries:
    """Return lines as shapely objects."""
    return as_geometries([shapely_module().LineString(line) for line in lines])


def simplify(geometries: Geometries, tolerance: float) -> Geometries:
    """Simplify lines with the algorithm of Douglas and Peucker. A tolerance of 0 metres leaves them as they are."""
    return shapely_module().simplify(geometries, tolerance) if tolerance else geometries


def frame_slices(frame: Indices, count: int) -> list[slice]:
    """Return the rows of each of ``count`` frames. ``frame`` is the frame of each row, ascending."""
    return [slice(start, stop) for start, stop in pairwise(np.searchsorted(frame, np.arange(count + 1)).tolist())]


def rings_in(polygons: Geometries, *, clockwise: bool, holes: bool) -> tuple[Geometries, Indices]:
    """Return the rings of single polygons, and the index of the polygon of each: all outlines, then all holes.

    ``clockwise`` is the direction of outlines, seen from above. Holes run the other way.
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
    return lines_in(_cut(rings, box)[0])


def cut_edges(unions: Geometries, box: Any) -> tuple[Geometries, Indices]:
    """Return the edges of unions of polygons in a box, and the index of the union of each, ascending.

    The inside is on the right of an edge. All outlines of a union come before all its holes.
    """
    polygons, union = polygons_in(unions)
    rings, polygon = rings_in(polygons, clockwise=True, holes=True)
    lines, ring = cut_rings(rings, box)
    union = union[polygon[ring]]
    order = np.argsort(union, kind="stable")
    return lines[order], union[order]


def cut_to_one_line(rings: Geometries, box: Any, *, close: bool) -> list[Points | None]:
    """Return the part of each ring in a box as one line, or None if nothing is left.

    A ring that falls apart gives one line of all its parts, closed from its last point to its first. A ring that stays
    one line stays open where the box opened it, unless ``close`` closes it. Rounding decides whether an edge of the
    ring that follows the edge of the box is inside.
    """
    shapely = shapely_module()
    lines: list[Points | None] = []
    for line, fell_apart in zip(*_cut(rings, box), strict=True):
        points: Points = shapely.get_coordinates(line, include_z=bool(shapely.has_z(line)))
        if len(points) < 2:
            lines.append(None)
            continue
        start, end = points[0], points[-1]
        is_open = bool((np.abs(start - end) > CLOSED + _RELATIVE * np.abs(end)).any())
        lines.append(np.concatenate([points, points[:1]]) if is_open and (close or fell_apart) else points)
    return lines


def _cut(rings: Geometries, box: Any) -> tuple[Geometries, Flags]:
    """Return the part of each ring in a box, and whether the ring fell apart."""
    shapely = shapely_module()
    lines = shapely.intersection(rings, box)
    apart: Flags = shapely.get_num_geometries(lines) > 1
    if apart.any():
        parts, owner = shapely.get_parts(lines[apart], return_index=True)
        kept = shapely.get_type_id(parts) == shapely.GeometryType.LINESTRING  # the others are points
        merged = as_geometries([shapely.MultiLineString()] * int(apart.sum()))
        if kept.any():
            shapely.multilinestrings(parts[kept], indices=owner[kept], out=merged)
        lines[apart] = shapely.line_merge(merged)
    return lines, apart


def _directed(rings: Geometries, clockwise: bool) -> Geometries:
    shapely = shapely_module()
    wrong = shapely.is_ccw(rings) == clockwise
    turned = rings.copy()
    turned[wrong] = shapely.reverse(rings[wrong])
    return turned


def outside(points: Points, bounds: Bounds) -> Flags:
    """Return which points lie outside the bounds. The edge counts as inside."""
    x_min, y_min, x_max, y_max = bounds
    x, y = points[:, 0], points[:, 1]
    is_outside: Flags = (x < x_min) | (x > x_max) | (y < y_min) | (y > y_max)
    return is_outside
