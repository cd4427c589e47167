"""Makes the dividers of one frame from the lane segments of Argoverse 2, as the public converters do.

The converters cut first, and drop copies and join lines in each frame. So a divider may be one line in a frame and two
in the next. ``dividers.py`` makes dividers once for a whole map.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.geometry.polylines import Polylines
from mapgauge.truth.cutting.line_sets import (
    NamedLine,
    copies,
    drop_beside,
    firsts,
    join_in_order,
    near_pairs,
    strips_overlap,
)
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, shapely_module
from mapgauge.truth.cutting.views import Views, lines_in
from mapgauge.truth.from_argoverse2.vector_map import Lane, Side
from mapgauge.truth.rules import Rules
from mapgauge.typing import Flags, Indices, Points

DECIMALS = 3  # of the points of the graph, in metres
SAME_LINE = 0.01  # metres to each side: lines of one set that are copies, for MapTracker
COPIES = 0.9  # smallest intersection over union of copies

Point: TypeAlias = tuple[float, float, float]
SideName: TypeAlias = Literal["left", "right"]


class Border(NamedTuple):
    """A lane with the line on one of its sides, as part of a set."""

    lane: Lane
    side: SideName
    points: tuple[Point, ...]  # rounded; at least two

    @property
    def name(self) -> str:
        """Name of the line, as dividers are named."""
        return f"{self.lane.id}-{self.side}"


Borders: TypeAlias = dict[int, Border]  # by lane id, in the order of the file
SameLines: TypeAlias = Mapping[int, set[int]]  # by lane id: ids of the lanes with the same line
Links: TypeAlias = Mapping[int, tuple[Sequence[int], Sequence[int]]]  # predecessors and successors of each lane


def border(lane: Lane, side: SideName) -> Border | None:
    """Return one side of a lane, or None if there is no lane beside it or if it is not a line."""
    line: Side = getattr(lane, side)
    if line.neighbour is None or len(line.line) < 2:
        return None
    return Border(lane, side, tuple(map(tuple, line.line.round(DECIMALS).tolist())))


def two_sets(left: Borders, right: Borders) -> tuple[Borders, Borders]:
    """Return the sets without lines that the other set has as well.

    A lane that is the left neighbour of a lane in the left set leaves the right set. Then a lane that is the right
    neighbour of a lane that is still in the right set leaves the left set.
    """
    gone = {one.lane.left.neighbour for one in left.values()}
    right = {key: one for key, one in right.items() if key not in gone}
    gone = {one.lane.right.neighbour for one in right.values()}
    return {key: one for key, one in left.items() if key not in gone}, right


def same_lines(borders: Iterable[Border]) -> SameLines:
    """Return the other lanes whose line on this side is the same, for each lane that has any."""
    shapely = shapely_module()
    members = list(borders)
    lines = as_geometries([shapely.LineString(getattr(one.lane, one.side).line) for one in members])
    found: dict[int, set[int]] = {}
    for i, j in zip(*copies(shapely.buffer(lines, SAME_LINE, quad_segs=16), COPIES), strict=True):
        one, other = members[i].lane.id, members[j].lane.id
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return found


def one_way(borders: Borders, same: SameLines) -> tuple[Borders, Links]:
    """Return a set without copies of earlier lines, and links that join each lane with at most one other.

    MapTracker drops lines of opposite lanes like this. If the first predecessor or successor of a lane is not in the
    set, the lane keeps none. Otherwise the two lanes are linked to each other only.
    """
    kept: Borders = {}
    for key, one in borders.items():
        if kept.keys().isdisjoint(same.get(key, ())):
            kept[key] = one
    borders = kept
    before = {key: one.lane.predecessors for key, one in borders.items()}
    after = {key: one.lane.successors for key, one in borders.items()}
    for mine, theirs in ((before, after), (after, before)):
        for key in borders:
            if mine[key] and (mine[key][0] not in borders or mine[key][0] == key):
                mine[key] = ()
            elif mine[key]:
                theirs[mine[key][0]] = (key,)
    return borders, {key: (before[key], after[key]) for key in borders}


def all_links(borders: Borders) -> Links:
    """Return the links of the map."""
    return {key: (one.lane.predecessors, one.lane.successors) for key, one in borders.items()}


def follow(borders: Borders, links: Links, *, by_end: bool) -> list[NamedLine]:
    """Return a line for every path through the graph of a set.

    Args:
        borders: The set.
        links: Links between lanes. Those to lanes outside the set do not count.
        by_end: Whether the paths from one start are sorted by their ends, in the order in which the graph was made.
            Otherwise they are in the order of a depth-first search.
    """
    after: dict[Point, dict[Point, None]] = {}  # dictionaries keep the order in which the graph was made
    entered: set[Point] = set()
    owner: dict[tuple[Point, Point], str] = {}

    def add(start: Point, stop: Point) -> None:
        after.setdefault(start, {})
        after.setdefault(stop, {})
        after[start][stop] = None
        entered.add(stop)

    for key, one in borders.items():
        for start, stop in pairwise(one.points):
            add(start, stop)
            owner.setdefault((start, stop), one.name)
        before, behind = links[key]
        steps = [(borders[other].points[-1], one.points[0]) for other in before if other in borders]
        steps += [(one.points[-1], borders[other].points[0]) for other in behind if other in borders]
        for start, stop in steps:
            if start != stop:
                add(start, stop)
    order = {point: k for k, point in enumerate(after)}
    found: list[NamedLine] = []
    for start in after:
        if start in entered or not after[start]:
            continue
        paths = list(_paths(after, start))
        for path in sorted(paths, key=lambda path: order[path[-1]]) if by_end else paths:
            names = (owner[step] for step in pairwise(path) if step in owner)
            found.append(NamedLine(np.array(path), tuple(dict.fromkeys(names))))
    return found


def _paths(after: Mapping[Point, Mapping[Point, None]], start: Point) -> Iterable[list[Point]]:
    """Yield all paths from a point to points without successor. A path does not visit a point twice."""
    path, visited, stack = [start], {start}, [iter(after[start])]
    while stack:
        point = next(stack[-1], None)
        if point is None:
            stack.pop()
            visited.discard(path.pop())
        elif point not in visited:
            if after[point]:
                path.append(point)
                visited.add(point)
                stack.append(iter(after[point]))
            else:
                yield [*path, point]


ALONG_EDGE = (0.3, 0.2)  # width of strips and least overlap of a divider along a boundary, as for painted copies


class PaintedDividers:
    """The painted lines of a map, for StreamMapNet's rules."""

    def __init__(self, lanes: Sequence[Lane]) -> None:
        """Collect the painted lines: of each lane, its right and then its left side."""
        sides = [
            (f"{lane.id}-{name}", side.line)
            for lane in lanes
            for name, side in (("right", lane.right), ("left", lane.left))
            if side.painted and len(side.line) > 1
        ]
        shapely = shapely_module()
        self.names = [name for name, _ in sides]
        self.lines = Polylines.of([line for _, line in sides], dimension=3)
        self.in_map = as_geometries([shapely.LineString(line) for _, line in sides])
        self.simple: Flags = shapely.is_simple(self.in_map)
        self._copies: dict[tuple[int, int], bool] = {}  # of whole lines

    def cut(self, views: Views, rules: Rules, edges: Sequence[Geometries]) -> list[list[NamedLine]]:
        """Return the dividers of each frame, in the coordinates of the vehicle. ``edges`` are its boundaries."""
        shapely = shapely_module()
        near = views.near(self.lines, "vehicle")
        whole = near.inside & self.simple[near.row]
        lines = near.lines()
        lines[~whole] = shapely.intersection(lines[~whole], views.box())
        lines, owner = lines_in(lines)
        row, whole = near.row[owner], whole[owner]
        starts = np.searchsorted(near.frame[owner], np.arange(len(views) + 1)).tolist()
        found = []
        for (a, b), beside in zip(pairwise(starts), edges, strict=True):
            kept = a + np.array(self._without_copies(lines[a:b], row[a:b], whole[a:b], rules), np.int64)
            if rules.drop_on_boundary:
                kept = kept[drop_beside(lines[kept], beside, *ALONG_EDGE)]
            named = [NamedLine(points_of(lines[k]), (self.names[row[k]],)) for k in kept.tolist()]
            found.append(join_in_order(named, rules.join_distance))
        return found

    def _without_copies(self, lines: Geometries, row: Indices, whole: Flags, rules: Rules) -> list[int]:
        """Return the indices of the lines that are not copies of earlier ones.

        Whether two whole lines are copies does not depend on the frame. It is computed once, in map coordinates.
        """
        if not len(lines):
            return []
        width, least = rules.duplicate_buffer, rules.duplicate_overlap
        a, b = near_pairs(lines, lines, 2 * width)
        a, b = a[a < b], b[a < b]
        known = whole[a] & whole[b]
        alike = np.zeros(len(a), np.bool_)
        alike[~known] = strips_overlap(lines[a[~known]], lines[b[~known]], width, least)
        pairs = list(zip(row[a[known]].tolist(), row[b[known]].tolist(), strict=True))
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._copies]
        if new:
            one, other = (self.in_map[list(side)] for side in zip(*new, strict=True))
            self._copies.update(zip(new, strips_overlap(one, other, width, least).tolist(), strict=True))
        alike[known] = [self._copies[pair] for pair in pairs]
        return firsts(len(lines), (a[alike], b[alike]))


class LanePathDividers:
    """The lines between neighbouring lanes of a map, for the rules of MapTRv2 and MapTracker."""

    def __init__(self, lanes: Sequence[Lane], rules: Rules) -> None:
        """Collect the lanes with a valid outline that are not in an intersection."""
        shapely = shapely_module()
        left = {lane.id: border(lane, "left") for lane in lanes}
        right = {lane.id: border(lane, "right") for lane in lanes}
        chosen = [
            lane
            for lane in lanes
            if not lane.intersection
            and (left[lane.id] or right[lane.id])
            and len(lane.left.line)
            and len(lane.right.line)
        ]
        outlines = [np.concatenate([lane.right.line, lane.left.line[::-1]]) for lane in chosen]
        polygons = as_geometries([shapely.Polygon(line) if len(line) > 2 else shapely.Polygon() for line in outlines])
        valid = np.flatnonzero(shapely.is_valid(polygons) & ~shapely.is_empty(polygons)).tolist()
        self.ids = [chosen[k].id for k in valid]
        self.outlines = Polylines.of([outlines[k] for k in valid], dimension=3)
        self.polygons = polygons[valid]
        self.left = {key: left[key] for key in self.ids}
        self.right = {key: right[key] for key in self.ids}
        both = [[one for one in sides.values() if one is not None] for sides in (self.left, self.right)]
        self.same = [same_lines(borders) if rules.divider_source == "one-way-paths" else {} for borders in both]

    def cut(self, views: Views, rules: Rules, edges: Sequence[Geometries]) -> list[list[NamedLine]]:
        """Return the dividers of each frame, in the coordinates of the vehicle. ``edges`` are its boundaries."""
        shapely = shapely_module()
        found: list[NamedLine] = []
        frame: list[int] = []
        opposite = rules.divider_source == "one-way-paths"
        for k, near in enumerate(self._near(views)):
            for borders, same in zip(two_sets(*near), self.same, strict=True):
                kept, links = one_way(borders, same) if opposite else (borders, all_links(borders))
                found += follow(kept, links, by_end=opposite)
            frame += [k] * (len(found) - len(frame))
        paths = as_geometries([shapely.LineString(line.points) for line in found])
        paths = shapely.simplify(paths, rules.simplify_dividers)
        of = np.array(frame, np.int64)
        lines, owner = lines_in(shapely.intersection(paths, views.rectangles[of]))
        lines = views.pieces_to_vehicle(lines, of[owner], "map")
        strips = shapely.buffer(lines, rules.duplicate_buffer, cap_style="flat", join_style="mitre", mitre_limit=5.0)
        starts = np.searchsorted(of[owner], np.arange(len(views) + 1)).tolist()
        dividers = []
        for (a, b), beside in zip(pairwise(starts), edges, strict=True):
            rows = [a + k for k in firsts(b - a, copies(strips[a:b], rules.duplicate_overlap))]
            named = [NamedLine(points_of(lines[k]), found[owner[k]].elements) for k in rows]
            if rules.join_distance:
                named = join_in_order(named, rules.join_distance)
            if rules.drop_on_boundary:
                joined = as_geometries([shapely.LineString(line.points) for line in named])
                named = [named[k] for k in drop_beside(joined, beside, *ALONG_EDGE)]
            dividers.append(named)
        return dividers

    def _near(self, views: Views) -> Iterator[tuple[Borders, Borders]]:
        """Yield the left and the right sides of the lanes that meet each region, in the order of the file."""
        near = views.near(self.outlines, "map")
        meets = shapely_module().intersects(self.polygons[near.row], views.rectangles[near.frame])
        rows, frames = near.row[meets], near.frame[meets]
        for a, b in pairwise(np.searchsorted(frames, np.arange(len(views) + 1)).tolist()):
            ids = [self.ids[k] for k in rows[a:b].tolist()]
            left, right = (
                {key: one for key in ids if (one := sides[key]) is not None} for sides in (self.left, self.right)
            )
            yield left, right


def points_of(line: object) -> Points:
    """Return the points of a line, with their height."""
    points: Points = shapely_module().get_coordinates(line, include_z=True)
    return points
