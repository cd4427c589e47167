"""Outlines of polygons as lines, cut in the coordinates of a frame as the public converters cut them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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
