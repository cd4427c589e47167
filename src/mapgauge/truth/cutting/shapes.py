"""Arrays of shapely geometries: making, simplifying and indexing them.

shapely is an optional dependency. It is imported when truth is cut, not when this module is imported.
"""

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.typing import Indices

Geometries: TypeAlias = NDArray[Any]  # (n,), shapely objects


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
    parts, owner = shapely.get_parts(geometries, return_index=True)
    while (shapely.get_type_id(parts) > shapely.GeometryType.POLYGON).any():  # collections in a collection
        parts, inner = shapely.get_parts(parts, return_index=True)
        owner = owner[inner]
    kept = (shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & ~shapely.is_empty(parts)
    return parts[kept], owner[kept]


def simplify(geometries: Geometries, tolerance: float) -> Geometries:
    """Simplify lines with the algorithm of Douglas and Peucker. A tolerance of 0 metres leaves them as they are."""
    return shapely_module().simplify(geometries, tolerance) if tolerance else geometries


def spatial_index(geometries: Geometries) -> Any:
    """Return a spatial index that is already built.

    shapely builds an index on its first query. Several threads query the same index, so it is built here.
    """
    shapely = shapely_module()
    tree = shapely.STRtree(geometries)
    tree.query(shapely.Point(0, 0))
    return tree


def query_index(tree: Any, rectangles: Geometries) -> tuple[Indices, Indices]:
    """Return the pairs of a rectangle and an index entry that intersect, sorted.

    They are sorted because shapely returns them in the order of its tree.
    """
    rectangle, entry = tree.query(rectangles, predicate="intersects").astype(np.int64)
    order = np.lexsort((entry, rectangle))
    return rectangle[order], entry[order]
