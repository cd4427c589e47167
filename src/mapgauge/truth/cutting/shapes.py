"""Shapely geometries as arrays: the polygons, lines and outlines in them, layers of map elements, and patches.

Layers are the elements of a map, prepared once for many frames, with a spatial index. Patches are regions of frames.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray

from mapgauge.geometry.polylines import boxes_of, ranges
from mapgauge.geometry.poses import level
from mapgauge.typing import Bounds, Flags, Floats, Indices, Points

Geometries: TypeAlias = NDArray[Any]  # (n,), shapely objects

_RUN = 32  # segments of a line that share one entry of the index
CLOSED = 1e-3  # metres: ends this close to each other need no closing
_RELATIVE = 1e-5  # plus this share of a coordinate, as numpy's ``allclose`` adds it in the converters


def as_geometries(shapes: Sequence[Any] | Geometries) -> Geometries:
    """Return shapely objects as a one-dimensional object array, which is empty if there are none."""
    array: Geometries = np.empty(len(shapes), object)
    array[:] = shapes
    return array


def polygons_in(geometries: Geometries) -> tuple[Geometries, Indices]:
    """Return the single polygons in geometries, and the index of the geometry that each comes from."""
    parts, owner = _parts(geometries, shapely.GeometryType.POLYGON)
    kept = ~shapely.is_empty(parts)
    return parts[kept], owner[kept]


def lines_in(geometries: Geometries) -> tuple[Geometries, Indices]:
    """Return the single lines in geometries, and the index of the geometry that each comes from."""
    parts, owner = _parts(geometries, shapely.GeometryType.LINESTRING)
    kept = shapely.length(parts) > 0
    return parts[kept], owner[kept]


def _parts(geometries: Geometries, kind: int) -> tuple[Geometries, Indices]:
    """Return the parts of one type in geometries, and the index of the geometry that each comes from."""
    parts, owner = shapely.get_parts(geometries, return_index=True)
    while (shapely.get_type_id(parts) > shapely.GeometryType.POLYGON).any():  # collections in a collection
        parts, inner = shapely.get_parts(parts, return_index=True)
        owner = owner[inner]
    kept = shapely.get_type_id(parts) == kind
    return parts[kept], owner[kept]


def linestrings(lines: Iterable[Points]) -> Geometries:
    """Return lines as shapely objects."""
    return as_geometries([shapely.LineString(line) for line in lines])


def simplify(geometries: Geometries, tolerance: float) -> Geometries:
    """Simplify lines with the algorithm of Douglas and Peucker. A tolerance of 0 metres leaves them as they are."""
    if not tolerance:
        return geometries
    simplified: Geometries = shapely.simplify(geometries, tolerance)
    return simplified


def frame_slices(frame: Indices, count: int) -> list[slice]:
    """Return the rows of each of ``count`` frames. ``frame`` is the frame of each row, ascending."""
    return [slice(start, stop) for start, stop in pairwise(np.searchsorted(frame, np.arange(count + 1)).tolist())]


def rings_in(polygons: Geometries, *, clockwise: bool, holes: bool) -> tuple[Geometries, Indices]:
    """Return the rings of single polygons and the polygon of each: all outlines, then all holes, the other way."""
    rings = shapely.get_exterior_ring(polygons)
    owner = np.arange(len(polygons))
    if holes:
        inside = [(ring, k) for k, polygon in enumerate(polygons) for ring in polygon.interiors]
        rings = np.concatenate([rings, as_geometries([ring for ring, _ in inside])])
        owner = np.concatenate([owner, np.array([k for _, k in inside], np.int64)])
    wrong = shapely.is_ccw(rings) == (clockwise ^ (np.arange(len(rings)) >= len(polygons)))
    rings[wrong] = shapely.reverse(rings[wrong])
    return rings, owner


def cut_rings(rings: Geometries, box: Any) -> tuple[Geometries, Indices]:
    """Return the parts of rings in a box as single lines, and the ring of each. Parts that meet are joined."""
    return lines_in(_cut(rings, box)[0])


def cut_edges(unions: Geometries, box: Any) -> tuple[Geometries, Indices]:
    """Return the edges of unions of polygons in a box, the inside on their right, and the union of each, ascending."""
    polygons, union = polygons_in(unions)
    rings, polygon = rings_in(polygons, clockwise=True, holes=True)
    lines, ring = cut_rings(rings, box)
    union = union[polygon[ring]]
    order = np.argsort(union, kind="stable")
    return lines[order], union[order]


def cut_to_one_line(rings: Geometries, box: Any, *, close: bool) -> list[Points | None]:
    """Return the part of each ring in a box as one line, or None if nothing is left.

    A ring that falls apart gives one line of all its parts, closed from its last point to its first. A ring that stays
    one line stays open where the box opened it, unless ``close`` closes it.
    """
    lines: list[Points | None] = []
    for line, fell_apart in zip(*_cut(rings, box), strict=True):
        points: Points = shapely.get_coordinates(line, include_z=bool(shapely.has_z(line)))
        if len(points) < 2:
            lines.append(None)
            continue
        start = points[0]
        end = points[-1]
        is_open = bool((np.abs(start - end) > CLOSED + _RELATIVE * np.abs(end)).any())
        lines.append(np.concatenate([points, points[:1]]) if is_open and (close or fell_apart) else points)
    return lines


def _cut(rings: Geometries, box: Any) -> tuple[Geometries, Flags]:
    """Return the part of each ring in a box, and whether the ring fell apart."""
    lines = shapely.intersection(rings, box)
    apart: Flags = shapely.get_num_geometries(lines) > 1
    if apart.any():
        parts, owner = shapely.get_parts(lines[apart], return_index=True)
        kept = shapely.get_type_id(parts) == shapely.GeometryType.LINESTRING  # the others are points
        merged = as_geometries([shapely.MultiLineString()] * int(apart.sum()))
        if kept.any():
            shapely.multilinestrings(parts[kept], indices=owner[kept], out=merged)
        lines[apart] = shapely.line_merge(merged)
    return lines, apart


def outside(points: Points, bounds: Bounds) -> Flags:
    """Return which points lie outside the bounds. The edge counts as inside."""
    x, y = ((points[:, :2] < bounds[:2]) | (points[:, :2] > bounds[2:])).T
    is_outside: Flags = x | y
    return is_outside


def spatial_index(geometries: Geometries) -> Any:
    """Return a spatial index that is already built: shapely builds it on its first query, and several threads query."""
    tree = shapely.STRtree(geometries)
    tree.query(shapely.Point(0, 0))
    return tree


def query_index(tree: Any, rectangles: Geometries) -> tuple[Indices, Indices]:
    """Return the pairs of a rectangle and an index entry that intersect, sorted. shapely has the order of its tree."""
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
        x = self.length / 2 + grow
        y = self.width / 2 + grow
        return -x, -y, x, y

    def rectangles(self, grow: float = 0.0) -> Geometries:
        """Return the patches as polygons in the map, with each side moved outwards by ``grow`` metres."""
        x_min, y_min, x_max, y_max = self.bounds(grow)
        corners = np.array([(x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)])
        placed = corners @ self.poses[:, :2, :2].transpose(0, 2, 1) + self.poses[:, None, :2, 3]
        rectangles: Geometries = shapely.polygons(placed)
        return rectangles

    def to_local(self, coords: Points, patch: Indices) -> Points:
        """Transform map points ``(n, 2)`` to the coordinates of their patches: x forward, y to the left, in metres."""
        x, y = (coords - self.poses[patch, :2, 3]).T
        cos = self.poses[patch, 0, 0]
        sin = self.poses[patch, 1, 0]
        return np.column_stack([cos * x + sin * y, cos * y - sin * x])


def lengths_along(coords: Points, offsets: Indices) -> Floats:
    """Return the distance of each point from the start of its line, in metres, seen from above."""
    step = np.zeros(len(coords))
    step[1:] = np.hypot(*np.diff(coords[:, :2], axis=0).T)
    sums = step.cumsum()
    along: Floats = sums - np.repeat(sums[offsets[:-1]], np.diff(offsets))
    return along


@dataclass(frozen=True, eq=False, kw_only=True)
class LineIndex:
    """Lines as flat arrays, with a spatial index over runs of their points.

    A closed line is stored twice in a row, so a part that contains its first point is a contiguous range of points.
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
        along = lengths_along(coords, np.append(first, len(coords)))
        counts = -(-steps // _RUN)
        line = np.repeat(np.arange(len(sizes)), counts)
        begin = first[line] + _RUN * ranges(np.zeros_like(counts), counts)
        end = np.minimum(begin + _RUN, (first + steps)[line])
        counts = end - begin + 1
        low, high = boxes_of(coords[ranges(begin, counts)], counts.cumsum() - counts)
        tree = spatial_index(shapely.box(*low.T, *high.T))
        return cls(
            coords=coords,
            along=along,
            first=first,
            steps=steps,
            closed=closed,
            length=along[first + steps],
            line=line,
            begin=begin,
            end=end,
            tree=tree,
        )

    def near(self, patches: Patches, grow: float) -> tuple[Indices, Indices, Indices, Indices]:
        """Return the ranges of points that may lie in a patch, as columns: patch, line, first point, last point."""
        patch, runs = query_index(self.tree, patches.rectangles(grow))
        line = self.line[runs]
        new = np.ones(len(runs), np.bool_)
        new[1:] = (np.diff(runs) != 1) | (np.diff(line) != 0) | (np.diff(patch) != 0)
        head = np.flatnonzero(new)
        tail = np.append(head[1:], len(runs))[: len(head)] - 1
        patch = patch[head]
        line = line[head]
        begin = self.begin[runs[head]]
        end = self.end[runs[tail]]
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


def valid_polygons(geometries: Geometries, ids: Sequence[str], *, skip: bool = False) -> tuple[Layer, list[str]]:
    """Return a layer of valid polygons, and the ids of the invalid ones, which are skipped or repaired."""
    valid = shapely.is_valid(geometries)
    invalid = [ids[i] for i in np.flatnonzero(~valid).tolist()]
    polygons = geometries[valid]
    owner = np.flatnonzero(valid)
    if not skip:
        repaired = geometries.copy()
        repaired[~valid] = shapely.make_valid(geometries[~valid])
        polygons, owner = polygons_in(repaired)
    return Layer.of(polygons, [ids[i] for i in owner.tolist()]), invalid


def union_boundaries(polygons: Geometries, name: str = "boundary") -> Layer:
    """Return the edges of the union of all polygons, as closed lines with the inside on their right."""
    union, _ = polygons_in(np.array([shapely.union_all(polygons)], object))
    rings, polygon = rings_in(union, clockwise=True, holes=True)
    # Sorted by their corners, so that names do not depend on the order of the union.
    rings = rings[np.lexsort((polygon, *shapely.bounds(rings).T[::-1]))]
    return Layer.of(rings, [f"{name}-{k}" for k in range(len(rings))])
