"""Views: the regions of frames at their full poses, for cutting frame by frame as the public converters do.

Some converters cut in the coordinates of the tilted vehicle, others in the map, where a rectangle has the yaw only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from mapgauge.geometry.polylines import Polylines, boxes_of, ranges
from mapgauge.geometry.poses import level
from mapgauge.truth.cutting.shapes import Geometries, frame_slices
from mapgauge.truth.rules import CutIn
from mapgauge.typing import Flags, Indices, Points


class NearElements(NamedTuple):
    """The elements near each of several frames, in the coordinates in which they are cut. Sorted by frame."""

    frame: Indices  # (n,)
    row: Indices  # (n,): index of the element, ascending in each frame
    coords: Points  # (points, 3)
    owner: Indices  # (points,): from 0 to n - 1
    inside: Flags  # (n,): whether the element lies wholly inside the region

    def lines(self) -> Geometries:
        """Return the elements as lines."""
        lines: Geometries = shapely.linestrings(self.coords, indices=self.owner)
        return lines

    def polygons(self) -> Geometries:
        """Return the elements as polygons."""
        polygons: Geometries = shapely.polygons(shapely.linearrings(self.coords, indices=self.owner))
        return polygons


@dataclass(frozen=True, eq=False)
class Views:
    """The same region ``(length, width)`` around a vehicle at many poses, one for each frame."""

    poses: NDArray[np.float64]  # (frames, 4, 4), from vehicle to map coordinates
    region: tuple[float, float]

    def __len__(self) -> int:
        """Number of frames."""
        return len(self.poses)

    def to_vehicle(self, points: Points, frame: int) -> Points:
        """Return map points ``(n, 3)`` in the coordinates of the vehicle."""
        turn = self.poses[frame, :3, :3]
        shift = self.poses[frame, :3, 3]
        return points @ turn + turn.T @ -shift

    def to_map(self, points: Points, frame: int) -> Points:
        """Return points ``(n, 3)`` of the vehicle in map coordinates."""
        return points @ self.poses[frame, :3, :3].T + self.poses[frame, :3, 3]

    def box(self, grow: float = 0.0) -> Any:
        """Return the region in the coordinates of the vehicle, with each side moved outwards by ``grow`` metres."""
        x = self.region[0] / 2 + grow
        y = self.region[1] / 2 + grow
        return shapely.box(-x, -y, x, y)

    @cached_property
    def rectangles(self) -> Geometries:
        """The region of each frame in map coordinates, turned by the yaw, in the steps of the converters.

        Rounding decides which side of a triangle is its long side, and regions cut triangles out of crossings.
        """
        angle = np.arctan2(self.poses[:, 1, 0], self.poses[:, 0, 0]) / np.pi * 180 * np.pi / 180.0
        cos = np.cos(angle)[:, None]
        sin = np.sin(angle)[:, None]
        x_0 = self.poses[:, 0, 3]
        y_0 = self.poses[:, 1, 3]
        length, width = self.region
        boxes = shapely.box(x_0 - length / 2.0, y_0 - width / 2.0, x_0 + length / 2.0, y_0 + width / 2.0)
        x, y = np.moveaxis(shapely.get_coordinates(boxes).reshape(-1, 5, 2), -1, 0)
        x_0 = x_0[:, None]
        y_0 = y_0[:, None]
        x_shift = x_0 - x_0 * cos + y_0 * sin
        y_shift = y_0 - x_0 * sin - y_0 * cos
        turned: Geometries = shapely.polygons(
            np.stack([cos * x - sin * y + x_shift, sin * x + cos * y + y_shift], axis=-1)
        )
        return turned

    def near(self, elements: Polylines, cut_in: CutIn) -> NearElements:
        """Return the elements whose bounding boxes meet the region of each frame. All must have points."""
        starts = elements.offsets[:-1]
        sizes = np.diff(elements.offsets)
        half = np.array(self.region) / 2
        frames = []
        rows = []
        coords = [np.empty((0, 3))]
        inside = [np.empty(0, np.bool_)]
        for k in range(len(self) if len(elements) else 0):
            if cut_in == "vehicle":
                local = moved = self.to_vehicle(elements.coords, k)
            else:
                flat = level(self.poses[k])
                moved = elements.coords
                local = (moved[:, :2] - flat[:2, 3]) @ flat[:2, :2]
            low, high = boxes_of(local[:, :2], starts)
            row = np.flatnonzero(((low <= half) & (high >= -half)).all(axis=1))
            frames.append(np.full(len(row), k))
            rows.append(row)
            coords.append(moved[ranges(starts[row], sizes[row])])
            inside.append(np.asarray(((low[row] >= -half) & (high[row] <= half)).all(axis=1)))
        frame, row = (np.concatenate([np.empty(0, np.int64), *parts]) for parts in (frames, rows))
        owner = np.repeat(np.arange(len(row)), sizes[row])
        return NearElements(frame, row, np.concatenate(coords), owner=owner, inside=np.concatenate(inside))

    def pieces_to_vehicle(self, geometries: Geometries, frame: Indices, cut_in: CutIn) -> Geometries:
        """Return pieces, sorted by frame, in the coordinates of the vehicle."""
        if cut_in == "vehicle":
            return geometries
        return self.moved(geometries, frame, self._filled)

    def moved(self, geometries: Geometries, frame: Indices, move: Callable[[Points, int], Points]) -> Geometries:
        """Return geometries, sorted by frame, with the points of each frame moved."""
        rows = frame_slices(np.repeat(frame, shapely.get_num_coordinates(geometries)), len(self))
        result: Geometries = shapely.transform(
            geometries,
            lambda points: np.concatenate([move(points[some], k) for k, some in enumerate(rows)]),
            include_z=True,
        )
        return result

    def _filled(self, points: Points, frame: int) -> Points:
        """Return map points in the coordinates of the vehicle. A corner of the region gets the mean height."""
        unknown = np.isnan(points[:, 2])
        if unknown.any():
            points = points.copy()
            if unknown.all():
                points[unknown, 2] = 0.0
            else:
                points[unknown, 2] = points[~unknown, 2].mean()
        return self.to_vehicle(points, frame)
