"""Views: the region of one frame at its full pose, for cutting frame by frame as the public converters do.

A vehicle tilts on a sloping road. The converters bring points into the coordinates of the vehicle by its full pose,
with roll and pitch, and then look at them from above. Some cut there, with an upright box. Others cut in the map, with
a rectangle that is turned by the yaw only, and bring the pieces into the coordinates of the vehicle.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.frames.map_frames import Indices
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.geometry.poses import level
from mapgauge.truth.cutting.shapes import Geometries, shapely_module
from mapgauge.truth.rules import CutIn
from mapgauge.typing import Flags, Points


class Near(NamedTuple):
    """The elements near a view, in the coordinates in which they are cut."""

    rows: Indices  # (n,): indices of the elements, ascending
    coords: Points  # (points, 3): their points
    owner: Indices  # (points,): from 0 to n - 1
    inside: Flags  # (n,): whether the element lies wholly inside the region

    def lines(self) -> Geometries:
        """Return the elements as lines."""
        lines: Geometries = shapely_module().linestrings(self.coords, indices=self.owner)
        return lines

    def polygons(self) -> Geometries:
        """Return the elements as polygons."""
        shapely = shapely_module()
        polygons: Geometries = shapely.polygons(shapely.linearrings(self.coords, indices=self.owner))
        return polygons


@dataclass(frozen=True, eq=False)
class View:
    """A region ``(length, width)`` around a vehicle."""

    pose: NDArray[np.float64]  # (4, 4), from the coordinates of the vehicle to those of the map
    region: tuple[float, float]

    def to_vehicle(self, points: Points) -> Points:
        """Return map points ``(n, 3)`` in the coordinates of the vehicle."""
        turn, shift = self.pose[:3, :3], self.pose[:3, 3]
        return points @ turn + turn.T @ -shift

    def to_map(self, points: Points) -> Points:
        """Return points ``(n, 3)`` of the vehicle in map coordinates."""
        return points @ self.pose[:3, :3].T + self.pose[:3, 3]

    def box(self, grow: float = 0.0) -> Any:
        """Return the region in the coordinates of the vehicle, with each side moved outwards by ``grow`` metres."""
        x, y = self.region[0] / 2 + grow, self.region[1] / 2 + grow
        return shapely_module().box(-x, -y, x, y)

    def edge(self, cut_in: CutIn) -> Any:
        """Return the region in the coordinates in which elements are cut."""
        return self.box() if cut_in == "vehicle" else self.rectangle

    @cached_property
    def rectangle(self) -> Any:
        """The region in map coordinates, turned by the yaw of the vehicle.

        The steps are those of the converters: degrees, and a turn about the centre. Rounding decides which side of a
        triangle is its long side, and regions cut triangles out of crossings.
        """
        shapely = shapely_module()
        angle = np.arctan2(self.pose[1, 0], self.pose[0, 0]) / np.pi * 180 * np.pi / 180.0
        cos, sin = np.cos(angle), np.sin(angle)
        (x_0, y_0), (length, width) = self.pose[:2, 3], self.region
        box = shapely.box(x_0 - length / 2.0, y_0 - width / 2.0, x_0 + length / 2.0, y_0 + width / 2.0)
        x, y = shapely.get_coordinates(box).T
        x_shift, y_shift = x_0 - x_0 * cos + y_0 * sin, y_0 - x_0 * sin - y_0 * cos
        return shapely.Polygon(np.column_stack([cos * x - sin * y + x_shift, sin * x + cos * y + y_shift]))

    def near(self, elements: Polylines, cut_in: CutIn) -> Near:
        """Return the elements whose bounding boxes meet the region. All must have points."""
        if not len(elements):
            return Near(np.empty(0, np.int64), np.empty((0, 3)), np.empty(0, np.int64), np.empty(0, np.bool_))
        if cut_in == "vehicle":
            local = moved = self.to_vehicle(elements.coords)
        else:
            flat, moved = level(self.pose), elements.coords
            local = (moved[:, :2] - flat[:2, 3]) @ flat[:2, :2]
        starts, half = elements.offsets[:-1], np.array(self.region) / 2
        low, high = (f.reduceat(local[:, :2], starts) for f in (np.minimum, np.maximum))
        rows = np.flatnonzero(((low <= half) & (high >= -half)).all(axis=1))
        sizes = np.diff(elements.offsets)[rows]
        inside: Flags = np.all((low[rows] >= -half) & (high[rows] <= half), axis=1)
        return Near(rows, moved[ranges(starts[rows], sizes)], np.repeat(np.arange(len(rows)), sizes), inside)

    def pieces_to_vehicle(self, geometries: Geometries, cut_in: CutIn) -> Geometries:
        """Return pieces in the coordinates of the vehicle."""
        if cut_in == "vehicle":
            return geometries
        moved: Geometries = shapely_module().transform(geometries, self._filled, include_z=True)
        return moved

    def _filled(self, points: Points) -> Points:
        """Return map points in the coordinates of the vehicle.

        A corner of the region inside a polygon has no height of its own. Where shapely does not supply one, it gets the
        mean height.
        """
        unknown = np.isnan(points[:, 2])
        if unknown.any():
            points = points.copy()
            points[unknown, 2] = 0.0 if unknown.all() else points[~unknown, 2].mean()
        return self.to_vehicle(points)


def lines_in(geometries: Geometries) -> tuple[Geometries, Indices]:
    """Return the single lines in geometries, and the index of the geometry that each comes from."""
    shapely = shapely_module()
    parts, owner = shapely.get_parts(geometries, return_index=True)
    while (shapely.get_type_id(parts) > shapely.GeometryType.POLYGON).any():  # collections in a collection
        parts, inner = shapely.get_parts(parts, return_index=True)
        owner = owner[inner]
    kept = (shapely.get_type_id(parts) == shapely.GeometryType.LINESTRING) & (shapely.length(parts) > 0)
    return parts[kept], owner[kept]
