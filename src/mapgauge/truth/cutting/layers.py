"""Layers are the elements of a map, prepared once for many frames. Patches are the regions of frames in a map.

A frame sees a few hundred square metres of a map of many square kilometres, and a map is cut thousands of times. So a
layer keeps its elements with a spatial index, and a frame only clips the elements near it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.geometry.polylines import boxes_of, ranges
from mapgauge.geometry.poses import level
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, polygons_in, rings_in, shapely_module
from mapgauge.typing import Bounds, Flags, Indices, Points

_RUN = 32  # segments of a line that share one entry of the index


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

    poses: NDArray[np.float64]  # (patches, 4, 4), level: from patch to map coordinates
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


@dataclass(frozen=True, eq=False)
class LineIndex:
    """Lines as flat arrays, with a spatial index over runs of their points.

    The boundary of a town may have ten thousand points, and a frame sees fifty of them. A closed line is stored twice
    in a row. So a part that contains its first point is a contiguous range of points as well.
    """

    coords: Points  # (points, 2)
    along: NDArray[np.float64]  # (points,): metres from the first point of the line
    first: Indices  # (lines,): index of the first point
    steps: Indices  # (lines,): number of segments; of one round if the line is closed
    closed: Flags  # (lines,)
    length: NDArray[np.float64]  # (lines,): metres; of one round if the line is closed
    line: Indices  # (runs,): the line that a run is a part of
    begin: Indices  # (runs,): its first point
    end: Indices  # (runs,): its last point, which is also the first of the next run
    tree: Any

    @classmethod
    def of(cls, geometries: Geometries) -> "LineIndex":
        """Index shapely linestrings or rings, at least one."""
        shapely = shapely_module()
        coords, owner = shapely.get_coordinates(geometries, return_index=True)
        sizes = np.bincount(owner, minlength=len(geometries))
        start = sizes.cumsum() - sizes
        closed = shapely.is_closed(geometries) & (sizes > 3)
        steps = sizes - 1
        # A closed line gets a second round. The point where the rounds meet is not repeated.
        points = ranges(np.stack([start, start + 1], axis=1).ravel(), np.stack([sizes, closed * steps], axis=1).ravel())
        coords = np.ascontiguousarray(coords[points])
        total = sizes + closed * steps
        first = total.cumsum() - total
        gap = np.zeros(len(coords))
        gap[1:] = np.hypot(*np.diff(coords, axis=0).T)
        sums = gap.cumsum()
        along = sums - np.repeat(sums[first], total)
        counts = -(-steps // _RUN)
        line = np.repeat(np.arange(len(sizes)), counts)
        begin = first[line] + _RUN * ranges(np.zeros_like(counts), counts)
        end = np.minimum(begin + _RUN, (first + steps)[line])
        inside = coords[ranges(begin, end - begin + 1)]
        heads = (end - begin + 1).cumsum() - (end - begin + 1)
        low, high = boxes_of(inside, heads)
        tree = spatial_index(shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1]))
        return cls(coords, along, first, steps, closed, along[first + steps], line, begin, end, tree)

    def near(self, patches: Patches, grow: float) -> tuple[Indices, Indices, Indices, Indices]:
        """Return the ranges of points that may lie in a patch, as columns: patch, line, first point, last point.

        A range of a closed line may continue past its first point.
        """
        patch, runs = query_index(self.tree, patches.rectangles(grow))
        line = self.line[runs]
        new = np.ones(len(runs), np.bool_)
        new[1:] = (np.diff(runs) != 1) | (np.diff(line) != 0) | (np.diff(patch) != 0)
        head = np.flatnonzero(new)
        tail = np.append(head[1:], len(runs))[: len(head)] - 1
        patch, line, begin, end = patch[head], line[head], self.begin[runs[head]], self.end[runs[tail]]
        # A range at the end of a closed line continues with the range at its beginning.
        same = patch * len(self.first) + line
        last = np.searchsorted(same, same, side="right") - 1
        once = self.first[line] + self.steps[line]
        wraps = self.closed[line] & (begin == self.first[line]) & (end[last] == once) & (last > np.arange(len(line)))
        end[last[wraps]] = end[wraps] + self.steps[line[wraps]]
        return patch[~wraps], line[~wraps], begin[~wraps], end[~wraps]


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
    rings, polygon = rings_in(union, clockwise=True, holes=True)
    # Sorted by their corners, so that names do not depend on the order of the union.
    rings = rings[np.lexsort((polygon, *shapely.bounds(rings).T[::-1]))]
    return Layer.of(rings, [f"{name}-{k}" for k in range(len(rings))])
