"""The smallest rectangles around polygons."""

import numpy as np
from numpy.typing import NDArray

from mapgauge.geometry.polylines import ranges
from mapgauge.truth.cutting.shapes import Geometries, shapely_module


def rectangle_sides(polygons: Geometries) -> NDArray[np.float64]:
    """Return the directions of the long and the short side of the smallest rectangle around each polygon.

    The shape is ``(n, 2, 2)``. A polygon as thin as a line has no such rectangle; its directions are 0.

    One side of the smallest rectangle lies on an edge of the convex hull. A right triangle has two smallest rectangles,
    and regions cut right triangles out of crossings. As in the public converters, the first edge of the smallest area
    counts, and rounding decides. shapely's ``oriented_envelope`` differs here between versions.
    """
    if not len(polygons):
        return np.zeros((0, 2, 2))
    shapely = shapely_module()
    hulls = shapely.convex_hull(polygons)
    hulls[shapely.get_type_id(hulls) != shapely.GeometryType.POLYGON] = shapely.Polygon()
    coords, owner = shapely.get_coordinates(hulls, return_index=True)
    sizes = np.bincount(owner, minlength=len(hulls))
    place = ranges(np.zeros_like(sizes), sizes)
    corners = np.zeros((len(hulls), max(2, sizes.max()), 2))
    corners[owner[place == 0]] = coords[place == 0, None]  # hulls with fewer points repeat their first point
    corners[owner, place] = coords
    steps = np.diff(corners, axis=1)
    lengths = np.sqrt(steps[..., 0] ** 2 + steps[..., 1] ** 2)
    x, y = np.moveaxis(steps / np.where(lengths > 0, lengths, 1.0)[..., None], -1, 0)
    along = x[..., None] * corners[:, None, :, 0] + y[..., None] * corners[:, None, :, 1]
    across = -y[..., None] * corners[:, None, :, 0] + x[..., None] * corners[:, None, :, 1]
    low, high = (np.stack([f(along, axis=2), f(across, axis=2)]) for f in (np.min, np.max))
    area = np.where(lengths > 0, shapely.area(shapely.box(*low, *high)), np.inf)
    best = np.arange(len(hulls)), area.argmin(axis=1)
    length, width = (high - low)[:, *best]
    sides = np.stack([np.stack([x, y], axis=-1)[best], np.stack([-y, x], axis=-1)[best]], axis=1)
    return np.where((width > length)[:, None, None], sides[:, ::-1], sides)
