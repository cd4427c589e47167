"""Patches: the region of a frame, placed in the map."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mapgauge.geometry.poses import level
from mapgauge.truth.cutting.shapes import Geometries, shapely_module
from mapgauge.typing import Bounds, Flags, Indices, Points


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
