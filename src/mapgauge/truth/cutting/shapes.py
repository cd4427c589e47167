"""Arrays of shapely geometries: making, simplifying and indexing them.

shapely is an optional dependency. It is imported when truth is cut, not when this module is imported.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.geometry.poses import level
from mapgauge.typing import Bounds, Flags, Indices, Points

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


@dataclass(frozen=True, eq=False)
class Patches:
    """The same region at many poses. A pose is at the centre of its patch, and the length is along its x axis."""

    poses: NDArray[np.float64]  # (patches, 4, 4), level: from the coordinates of a patch to those of the map
    length: float
    width: float

    @classmethod
    def of(cls, poses: Sequence[NDArray[np.float64]], region: tuple[float, float]) -> "Patches":
        """Place a region ``(length, width)`` at poses. Only their position and yaw count (see ``level``)."""
        flat = np.array([level(pose) for pose in poses], np.float64).reshape(-1, 4, 4)
        return cls(flat, float(region[0]), float(region[1]))

    def __len__(self) -> int:
        """Number of patches."""
        return len(self.poses)

    def bounds(self, grow: float = 0.0) -> Bounds:
        """Return the bounds in the coordinates of a patch, with each side moved outwards by ``grow`` metres."""
        x, y = self.length / 2 + grow, self.width / 2 + grow
        return -x, -y, x, y

    def rectangles(self, grow: float = 0.0) -> Geometries:
        """Return the patches as polygons in the map, with each side moved outwards by ``grow`` metres."""
        x_min, y_min, x_max, y_max = self.bounds(grow)
        corners = np.array([(x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)])
        placed = corners @ self.poses[:, :2, :2].transpose(0, 2, 1) + self.poses[:, None, :2, 3]
        rectangles: Geometries = shapely_module().polygons(placed)
        return rectangles

    def to_local(self, coords: Points, patch: Indices) -> Points:
        """Transform map points ``(n, 2)`` to patch coordinates: x forward, y to the left, in metres.

        ``patch`` has the index of the patch for each point.
        """
        x, y = (coords - self.poses[patch, :2, 3]).T
        cos, sin = self.poses[patch, 0, 0], self.poses[patch, 1, 0]
        return np.column_stack([cos * x + sin * y, cos * y - sin * x])


def outside(points: Points, bounds: Bounds) -> Flags:
    """Return which points lie outside the bounds. The edge counts as inside."""
    x_min, y_min, x_max, y_max = bounds
    x, y = points[:, 0], points[:, 1]
    found: Flags = (x < x_min) | (x > x_max) | (y < y_min) | (y > y_max)
    return found
