"""Places the region of each frame in the map, and turns what it cuts out into the coordinates of the frame.

The public converters cut in map coordinates with a turned rectangle, and turn the pieces afterwards. Rounding depends
on the order of these steps. Where polygons touch exactly, rounding decides whether their union has a slit. So the steps
here are the same as in the converters: degrees, a turn about the centre of the rectangle, then a shift.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mapgauge.truth.cutting.shapes import Geometries, shapely_module
from mapgauge.typing import Indices, Points

Forward = Literal["x", "y"]


@dataclass(frozen=True, eq=False)
class PlacedBoxes:
    """The same box at many places of a map, one for each frame."""

    centres: Points  # (frames, 2), map coordinates
    degrees: NDArray[np.float64]  # (frames,), from the x axis of the map to the x axis of the box
    sides: tuple[float, float]  # along the x axis and the y axis of the box, metres
    forward: Forward

    @classmethod
    def of(
        cls, centres: Points, degrees: Sequence[float], region: tuple[float, float], forward: Forward
    ) -> "PlacedBoxes":
        """Place a region ``(length, width)``.

        Args:
            centres: ``(frames, 2)``, map coordinates.
            degrees: From the x axis of the map to the x axis of each box.
            region: The length is along the forward axis.
            forward: The forward axis of the box. If it is y, the x axis of the box points to the right.
        """
        sides = region if forward == "x" else region[::-1]
        headings = np.array(degrees, np.float64)
        return cls(np.array(centres).reshape(-1, 2), headings, (float(sides[0]), float(sides[1])), forward)

    def __len__(self) -> int:
        """Number of boxes."""
        return len(self.centres)

    def box(self, grow: float = 0.0) -> object:
        """Return the box in its own coordinates, with each side moved outwards by ``grow`` metres."""
        x, y = self.sides[0] / 2 + grow, self.sides[1] / 2 + grow
        return shapely_module().box(-x, -y, x, y)

    def in_map(self) -> Geometries:
        """Return the boxes as polygons in map coordinates."""
        shapely = shapely_module()
        half = np.array(self.sides) / 2.0
        low, high = self.centres - half, self.centres + half
        boxes = shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1])
        owner = np.repeat(np.arange(len(boxes)), 5)
        turned: Geometries = shapely.transform(boxes, lambda coords: self._turned(coords, owner, self.degrees))
        return turned

    def to_local(self, geometries: Geometries, owner: Indices) -> Geometries:
        """Return geometries in the coordinates of the box that each belongs to."""
        shapely = shapely_module()
        each = np.repeat(owner, shapely.get_num_coordinates(geometries))
        local: Geometries = shapely.transform(
            geometries, lambda coords: self._turned(coords, each, -self.degrees) - self.centres[each]
        )
        return local

    def to_map(self, geometries: Geometries, owner: Indices) -> Geometries:
        """Return geometries in map coordinates, from the coordinates of the box that each belongs to."""
        shapely = shapely_module()
        each = np.repeat(owner, shapely.get_num_coordinates(geometries))
        placed: Geometries = shapely.transform(
            geometries, lambda coords: self._turned(coords + self.centres[each], each, self.degrees)
        )
        return placed

    def ahead(self, points: Points) -> Points:
        """Return points in the coordinates of a box with x forward and y to the left. This is exact."""
        return points if self.forward == "x" else np.column_stack([points[:, 1], -points[:, 0]])

    def _turned(self, coords: Points, owner: Indices, degrees: NDArray[np.float64]) -> Points:
        """Return points turned about the centre of their box."""
        angle = degrees * np.pi / 180.0
        cos, sin = np.cos(angle), np.sin(angle)
        cos[np.abs(cos) < 2.5e-16] = 0.0  # quarter turns are exact
        sin[np.abs(sin) < 2.5e-16] = 0.0
        x_0, y_0 = self.centres.T
        x_shift, y_shift = x_0 - x_0 * cos + y_0 * sin, y_0 - x_0 * sin - y_0 * cos
        x, y = coords.T
        return np.column_stack(
            [
                cos[owner] * x - sin[owner] * y + x_shift[owner],
                sin[owner] * x + cos[owner] * y + y_shift[owner],
            ]
        )
