"""Layers: the elements of a map, prepared once and cut for many frames.

A frame sees a few hundred square metres of a map of many square kilometres, and a map is cut thousands of times. So a
layer keeps its elements with a spatial index, and a frame only clips the elements near it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mapgauge.truth.cutting.line_index import LineIndex
from mapgauge.truth.cutting.patches import Patches
from mapgauge.truth.cutting.shapes import (
    Geometries,
    as_geometries,
    polygons_in,
    query_index,
    shapely_module,
    spatial_index,
)
from mapgauge.typing import Indices


@dataclass(frozen=True, eq=False)
class Layer:
    """Map elements of one kind, in map coordinates: lines or polygons."""

    geometries: Geometries
    ids: tuple[str, ...]

    @classmethod
    def of(cls, geometries: Sequence[Any] | Geometries, ids: Sequence[str]) -> "Layer":
        """Make a layer from shapely geometries and one id for each."""
        if len(geometries) != len(ids):
            raise ValueError(f"{len(geometries)} geometries, but {len(ids)} ids")
        return cls(as_geometries(geometries), tuple(ids))

    def __len__(self) -> int:
        """Number of elements."""
        return len(self.ids)

    @cached_property
    def tree(self) -> Any:
        """The spatial index of the geometries."""
        return spatial_index(self.geometries)

    def near(self, patches: Patches) -> tuple[Indices, Indices]:
        """Return the pairs of a patch and an element that intersect, sorted."""
        return query_index(self.tree, patches.rectangles())

    @cached_property
    def lines(self) -> LineIndex:
        """The elements as flat arrays with a spatial index. They must be lines, and at least one."""
        return LineIndex.of(self.geometries)


def repair_polygons(geometries: Geometries, ids: Sequence[str]) -> tuple[Layer, tuple[str, ...]]:
    """Return a layer of valid polygons, and the ids of the polygons that had to be repaired.

    A repaired polygon may become several polygons. Each of them keeps the id.
    """
    shapely = shapely_module()
    invalid = ~shapely.is_valid(geometries)
    repaired = tuple(ids[i] for i in np.flatnonzero(invalid).tolist())
    if repaired:
        geometries = geometries.copy()
        geometries[invalid] = shapely.make_valid(geometries[invalid])
    polygons, owner = polygons_in(geometries)
    return Layer.of(polygons, [ids[i] for i in owner.tolist()]), repaired


def skip_invalid(geometries: Geometries, ids: Sequence[str]) -> tuple[Layer, tuple[str, ...]]:
    """Return a layer of the valid polygons, and the ids of the invalid ones."""
    valid = shapely_module().is_valid(geometries)
    kept = [ids[i] for i in np.flatnonzero(valid).tolist()]
    return Layer.of(geometries[valid], kept), tuple(ids[i] for i in np.flatnonzero(~valid).tolist())


def union_boundaries(polygons: Geometries, name: str = "boundary") -> Layer:
    """Return the edges of the union of all polygons, as closed lines with the inside on their right.

    Outer edges run clockwise and holes counter-clockwise. The union is computed once for a map, and ``cut_lines`` cuts
    it for each frame. The result is the same as a union for each frame: cutting and uniting may be exchanged, and the
    inside is on the same side of an edge whether the edge is an outline or a hole.
    """
    shapely = shapely_module()
    union, _ = polygons_in(np.array([shapely.union_all(polygons)], object))
    rings = [
        ring if shapely.is_ccw(ring) == hole else shapely.reverse(ring)
        for polygon in union
        for hole, group in ((False, [polygon.exterior]), (True, polygon.interiors))
        for ring in group
    ]
    corners = shapely.bounds(np.array(rings, object)) if rings else np.empty((0, 4))
    order = np.lexsort(corners.T[::-1])  # so that names do not depend on the order of the union
    return Layer.of([rings[i] for i in order.tolist()], [f"{name}-{k}" for k in range(len(rings))])
