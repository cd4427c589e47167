"""Geometry of truth: what of a map lies in the region around a pose, in the coordinates of that pose.

A map is cut thousands of times, and a frame sees a few hundred square metres of many square kilometres. So a map is
prepared once (``Layer``: flat arrays and a spatial index over short runs of points), and a frame costs a query of the
index and the clipping of what is near.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.frames.map_frames import Indices
from mapgauge.geometry.cropping import crop_polylines
from mapgauge.geometry.polylines import Polylines, ranges
from mapgauge.typing import Flags, Points

Geometries: TypeAlias = NDArray[Any]  # (n,), objects of shapely
Members: TypeAlias = list[tuple[str, ...]]  # (n,): the ids of the elements that each of n polygons is made of, sorted
Merge: TypeAlias = Callable[[Geometries, Members], tuple[Geometries, Members]]
Box: TypeAlias = tuple[float, float, float, float]
_RUN = 32  # points of a polyline that share a box in the index


def shapely_module() -> Any:
    """The package shapely, on which cutting of polygons relies."""
    return require("shapely", "cutting truth from maps", "truth")


class Piece(NamedTuple):
    """What a region shows of an element of the map, or of several that were merged."""

    points: Points  # (n, 2), metres, x forward, y to the left; a polygon repeats its first point as its last
    members: tuple[str, ...]  # ids of the elements, sorted
    along: tuple[float, float] = (0.0, 1.0)  # from where to where along the element, metres; the whole of a polygon
    period: float = 0.0  # length of an element that is closed, where ``along`` may go on past its start; 0 if open


@dataclass(frozen=True, eq=False)
class Patches:
    """A region at each of many poses: the pose at its centre, its length along the x axis of the pose."""

    poses: NDArray[np.float64]  # (patches, 4, 4), level: from the coordinates of a patch to those of the map
    length: float
    width: float

    @classmethod
    def of(cls, poses: Sequence[NDArray[np.float64]], region: tuple[float, float]) -> "Patches":
        """The region ``(length, width)`` at poses, of which only position and yaw count (see ``level``)."""
        flat = np.array([level(pose) for pose in poses], np.float64).reshape(-1, 4, 4)
        return cls(flat, float(region[0]), float(region[1]))

    def __len__(self) -> int:
        """Number of patches."""
        return len(self.poses)

    def bounds(self, grow: float = 0.0) -> Box:
        """``(x_min, y_min, x_max, y_max)`` in coordinates of a patch, each side moved outwards by ``grow`` metres."""
        x, y = self.length / 2 + grow, self.width / 2 + grow
        return -x, -y, x, y

    def boxes(self, grow: float = 0.0) -> Geometries:
        """The rectangles as polygons of shapely in the map, each side moved outwards by ``grow`` metres."""
        x_min, y_min, x_max, y_max = self.bounds(grow)
        corners = np.array([(x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)])
        placed = corners @ self.poses[:, :2, :2].transpose(0, 2, 1) + self.poses[:, None, :2, 3]
        boxes: Geometries = shapely_module().polygons(placed)
        return boxes

    def to_local(self, coords: Points, patch: Indices) -> Points:
        """Points of the map, ``(n, 2)``, each in coordinates of a patch: x forward, y to the left, metres."""
        x, y = (coords - self.poses[patch, :2, 3]).T
        cos, sin = self.poses[patch, 0, 0], self.poses[patch, 1, 0]
        return np.column_stack([cos * x + sin * y, cos * y - sin * x])


def level(pose: NDArray[np.float64], quarter_turns: int = 0) -> NDArray[np.float64]:
    """A pose without roll and pitch: its position, and the direction of its x axis seen from above.

    Maps of roads are flat; tilting them with the vehicle would shorten them. ``quarter_turns`` turn the axes of the
    result counter-clockwise: one of them makes x forward of a LiDAR whose y axis points forward.
    """
    c, s = pose[0, 0], pose[1, 0]
    norm = np.hypot(c, s)
    c, s = (c / norm, s / norm) if norm > 0 else (1.0, 0.0)
    for _ in range(quarter_turns % 4):
        c, s = -s, c
    flat = np.eye(4)
    flat[:2, :2] = (c, -s), (s, c)
    flat[:3, 3] = pose[:3, 3]
    return flat


@dataclass(frozen=True, eq=False)
class Layer:
    """Elements of one kind in the coordinates of the map: lines, or polygons."""

    geometries: Geometries
    ids: tuple[str, ...]

    @classmethod
    def of(cls, geometries: Sequence[Any] | Geometries, ids: Sequence[str]) -> "Layer":
        """From geometries of shapely and as many ids."""
        array = np.empty(len(geometries), object)
        array[:] = geometries
        if len(array) != len(ids):
            raise ValueError(f"{len(array)} geometries, but {len(ids)} ids")
        return cls(array, tuple(ids))

    def __len__(self) -> int:
        """Number of elements."""
        return len(self.ids)

    @cached_property
    def tree(self) -> Any:
        """The spatial index of the geometries."""
        return _index(self.geometries)

    def near(self, patches: Patches) -> tuple[Indices, Indices]:
        """Which elements meet which patches: pairs of a patch and an element, sorted."""
        return _query(self.tree, patches.boxes())

    @cached_property
    def runs(self) -> "Runs":
        """The elements, which must be lines, as flat arrays with an index."""
        return Runs.of(self.geometries)


@dataclass(frozen=True, eq=False)
class Runs:
    """Lines as flat arrays, and a spatial index over runs of their points.

    A boundary of a town may have ten thousand points, of which a frame sees fifty. A closed line is stored twice in a
    row, so that a part of it that contains its first point is a range of points as well.
    """

    coords: Points  # (points, 2)
    along: NDArray[np.float64]  # (points,): metres from the first point of the line
    first: Indices  # (lines,): the first point of each
    steps: Indices  # (lines,): segments of each, of one round if closed
    closed: Flags  # (lines,)
    length: NDArray[np.float64]  # (lines,)
    line: Indices  # (runs,): of which line each run is a part
    begin: Indices  # (runs,): its first point
    end: Indices  # (runs,): its last point, which the next run shares
    tree: Any

    @classmethod
    def of(cls, geometries: Geometries) -> "Runs":
        """From linestrings or rings of shapely, at least one."""
        shapely = shapely_module()
        coords, owner = shapely.get_coordinates(geometries, return_index=True)
        sizes = np.bincount(owner, minlength=len(geometries))
        start = sizes.cumsum() - sizes
        closed = shapely.is_closed(geometries) & (sizes > 3)
        steps = sizes - 1
        # Round once more, without repeating the point where the rounds meet.
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
        low, high = np.minimum.reduceat(inside, heads), np.maximum.reduceat(inside, heads)
        tree = _index(shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1]))
        return cls(coords, along, first, steps, closed, along[first + steps], line, begin, end, tree)

    def near(self, patches: Patches, grow: float) -> tuple[Indices, Indices, Indices, Indices]:
        """Ranges of points that may lie in a patch: patch, line, first and last point. Closed lines are not broken."""
        patch, runs = _query(self.tree, patches.boxes(grow))
        line = self.line[runs]
        new = np.ones(len(runs), np.bool_)
        new[1:] = (np.diff(runs) != 1) | (np.diff(line) != 0) | (np.diff(patch) != 0)
        head = np.flatnonzero(new)
        tail = np.append(head[1:], len(runs))[: len(head)] - 1
        patch, line, begin, end = patch[head], line[head], self.begin[runs[head]], self.end[runs[tail]]
        # A range at the end of a closed line goes on with the one at its beginning.
        same = patch * len(self.first) + line
        last = np.searchsorted(same, same, side="right") - 1
        once = self.first[line] + self.steps[line]
        wraps = self.closed[line] & (begin == self.first[line]) & (end[last] == once) & (last > np.arange(len(line)))
        end[last[wraps]] = end[wraps] + self.steps[line[wraps]]
        return patch[~wraps], line[~wraps], begin[~wraps], end[~wraps]


def _index(geometries: Geometries) -> Any:
    """A spatial index that is ready: it would otherwise be built by the first query, and several threads may ask."""
    shapely = shapely_module()
    tree = shapely.STRtree(geometries)
    tree.query(shapely.Point(0, 0))
    return tree


def _query(tree: Any, boxes: Geometries) -> tuple[Indices, Indices]:
    """Pairs of a box and an entry of an index that meet, sorted: shapely's order is that of its tree."""
    box, entry = tree.query(boxes, predicate="intersects").astype(np.int64)
    order = np.lexsort((entry, box))
    return box[order], entry[order]


def lines_of(layer: Layer, patches: Patches, *, grow: float = 0.0) -> list[list[Piece]]:
    """What each patch shows of lines; a line that leaves a patch and comes back gives several pieces.

    Args:
        layer: Open or closed lines. A closed one that is cut does not break at its first point.
        patches: Where.
        grow: How far each side of a patch is moved outwards before cutting, metres.
    """
    pieces: list[list[Piece]] = [[] for _ in range(len(patches))]
    if not len(layer):
        return pieces
    runs = layer.runs
    patch, line, begin, end = runs.near(patches, grow)
    bounds = patches.bounds(grow)
    sizes = end - begin + 1
    for k in np.flatnonzero(runs.closed[line] & (sizes == runs.steps[line] + 1)).tolist():
        # All of a closed line: it begins where it is outside, so that no piece contains its beginning.
        local = patches.to_local(runs.coords[begin[k] : end[k] + 1], np.repeat(patch[k], sizes[k]))
        begin[k] += int(_outside(local, bounds).argmax())
    points = ranges(begin, sizes)
    local = patches.to_local(runs.coords[points], np.repeat(patch, sizes))
    with_length = Polylines(np.column_stack([local, runs.along[points]]), np.concatenate([[0], sizes]).cumsum())
    cut, sources = crop_polylines(with_length, bounds)
    periods = np.where(runs.closed, runs.length, 0.0)[line].tolist()
    of_patch, of_line = patch.tolist(), line.tolist()
    for piece, k in zip(cut, sources.tolist(), strict=True):
        along = float(piece[0, -1]), float(piece[-1, -1])
        pieces[of_patch[k]].append(Piece(piece[:, :-1], (layer.ids[of_line[k]],), along, periods[k]))
    return pieces


def _outside(local: Points, bounds: Box) -> Flags:
    x_min, y_min, x_max, y_max = bounds
    x, y = local[:, 0], local[:, 1]
    found: Flags = (x < x_min) | (x > x_max) | (y < y_min) | (y > y_max)
    return found


def rings_of(
    layer: Layer,
    patches: Patches,
    *,
    merge: Merge | None = None,
    clockwise: bool = False,
    holes: bool = False,
    cut: float | None = None,
) -> list[list[Piece]]:
    """What each patch shows of polygons: the outlines of what is left of them when they are cut at its edge.

    Args:
        layer: Polygons.
        patches: Where.
        merge: Makes one of several polygons of a patch after cutting; takes and gives polygons and the ids they are
            made of.
        clockwise: The direction of outlines, seen from above. Holes go the other way.
        holes: Whether holes become pieces as well; otherwise they are forgotten.
        cut: None keeps outlines closed, along the edge of the patch where a polygon was cut. A number moves each side
            of the patch outwards by so many metres and cuts the outlines there: with a negative one, an outline is
            open where the patch ends.
    """
    pieces: list[list[Piece]] = [[] for _ in range(len(patches))]
    if not len(layer):
        return pieces
    shapely = shapely_module()
    patch, near = layer.near(patches)
    owner = np.repeat(patch, shapely.get_num_coordinates(layer.geometries[near]))
    polygons = shapely.transform(layer.geometries[near], lambda coords: patches.to_local(coords, owner))
    bounds = patches.bounds()
    corners = shapely.bounds(polygons)
    crossing = (corners[:, :2] < bounds[:2]).any(axis=1) | (corners[:, 2:] > bounds[2:]).any(axis=1)
    polygons[crossing] = shapely.intersection(polygons[crossing], shapely.box(*bounds))
    polygons, owners = only_polygons(polygons)
    patch = patch[owners]
    members: Members = [(layer.ids[i],) for i in near[owners].tolist()]
    starts = np.searchsorted(patch, np.arange(len(patches) + 1)).tolist()
    found: list[tuple[int, Piece]] = []
    for k, (start, stop) in enumerate(pairwise(starts)):
        some, names = polygons[start:stop], members[start:stop]
        if merge is not None and len(some):
            some, names = merge(some, names)
        for polygon, ids in zip(some, names, strict=True):
            found += [(k, Piece(points, ids)) for points in _outlines(polygon, clockwise, holes)]
    for k, piece in found if cut is None else _open(found, patches.bounds(cut)):
        pieces[k].append(piece)
    return pieces


def _outlines(polygon: Any, clockwise: bool, holes: bool) -> list[Points]:
    shapely = shapely_module()
    rings = [(shapely.get_exterior_ring(polygon), clockwise)]
    if holes:
        rings += [(ring, not clockwise) for ring in polygon.interiors]
    found = []
    for ring, turns_right in rings:
        points = shapely.get_coordinates(ring)
        found.append(points if shapely.is_ccw(ring) != turns_right else np.ascontiguousarray(points[::-1]))
    return found


def _open(found: list[tuple[int, Piece]], bounds: Box) -> list[tuple[int, Piece]]:
    """The arcs of closed lines in a box, all at once; a line that does not leave the box stays whole and closed."""
    if not found:
        return []
    turned = []
    for _, piece in found:
        start = int(_outside(piece.points, bounds).argmax())  # outside, so that no arc contains the beginning
        turned.append(np.concatenate([piece.points[start:-1], piece.points[: start + 1]]))
    lines = Polylines(np.concatenate(turned), np.cumsum([0, *map(len, turned)]))
    arcs, sources = crop_polylines(lines, bounds)
    return [(found[i][0], found[i][1]._replace(points=arc)) for arc, i in zip(arcs, sources.tolist(), strict=True)]


def only_polygons(geometries: Geometries) -> tuple[Geometries, Indices]:
    """The polygons in geometries, one by one, and in which geometry each is.

    Points and lines, which cutting leaves where an edge is met, go.
    """
    shapely = shapely_module()
    parts, owner = shapely.get_parts(geometries, return_index=True)
    while (shapely.get_type_id(parts) > shapely.GeometryType.POLYGON).any():  # collections in a collection
        parts, inner = shapely.get_parts(parts, return_index=True)
        owner = owner[inner]
    kept = (shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & ~shapely.is_empty(parts)
    return parts[kept], owner[kept]


def borders_of(polygons: Geometries, name: str = "border") -> Layer:
    """The edge of the union of all polygons, as closed lines that have the inside on their right.

    Outlines go clockwise, holes counter-clockwise. The union of what a region cuts out of polygons is what it cuts out
    of their union, and the inside is on the same side whichever of the two is an outline; so this is done once for a
    map, and ``lines_of`` cuts it for each frame.
    """
    shapely = shapely_module()
    union, _ = only_polygons(np.array([shapely.union_all(polygons)], object))
    rings = [
        ring if shapely.is_ccw(ring) == hole else shapely.reverse(ring)
        for polygon in union
        for hole, group in ((False, [polygon.exterior]), (True, polygon.interiors))
        for ring in group
    ]
    corners = shapely.bounds(np.array(rings, object)) if rings else np.empty((0, 4))
    order = np.lexsort(corners.T[::-1])  # names must not depend on the order in which the union comes
    return Layer.of([rings[i] for i in order.tolist()], [f"{name}-{k}" for k in range(len(rings))])


def valid_polygons(geometries: Geometries, ids: Sequence[str]) -> tuple[Layer, tuple[str, ...]]:
    """Polygons with those repaired that cross themselves, and the ids of the repaired.

    A repaired polygon may be several; each of them keeps the id.
    """
    shapely = shapely_module()
    wrong = ~shapely.is_valid(geometries)
    repaired = tuple(ids[i] for i in np.flatnonzero(wrong).tolist())
    if repaired:
        geometries = geometries.copy()
        geometries[wrong] = shapely.make_valid(geometries[wrong])
    polygons, owner = only_polygons(geometries)
    return Layer.of(polygons, [ids[i] for i in owner.tolist()]), repaired
