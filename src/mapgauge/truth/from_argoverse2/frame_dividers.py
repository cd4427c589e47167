"""Makes the dividers of one frame from the lane segments of Argoverse 2, as the public converters do.

The converters cut first, and drop copies and join lines in each frame. So a divider may be one line in a frame and two
in the next. The first of several copies stays, and a line is joined with the first line that meets one of its ends. So
the result depends on the order of the lines. ``maps.py`` makes dividers once for a whole map.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.geometry.polylines import Polylines
from mapgauge.truth.cutting.fragments import Fragment
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, frame_slices, lines_in, linestrings, shapely_module
from mapgauge.truth.from_argoverse2.vector_map import Lane, Side
from mapgauge.truth.from_argoverse2.views import Views
from mapgauge.truth.rules import Rules
from mapgauge.typing import Flags, Indices, Points

DECIMALS = 3  # of the points of the graph, in metres
SAME_LINE = 0.01  # metres to each side: lines of one set that are copies, for MapTracker
COPIES = 0.9  # smallest intersection over union of copies
ALONG_EDGE = (0.3, 0.2)  # width of strips and least overlap of a divider along a boundary, as for painted copies

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
        self.in_map = linestrings(line for _, line in sides)
        self.simple: Flags = shapely.is_simple(self.in_map)
        self._copies: dict[tuple[int, int], bool] = {}  # of whole lines

    def cut(self, views: Views, rules: Rules, edges: Sequence[Geometries]) -> list[list[Fragment]]:
        """Return the dividers of each frame, in the coordinates of the vehicle. ``edges`` are its boundaries."""
        shapely = shapely_module()
        near = views.near(self.lines, "vehicle")
        whole = near.inside & self.simple[near.row]
        lines = near.lines()
        lines[~whole] = shapely.intersection(lines[~whole], views.box())
        lines, owner = lines_in(lines)
        row, whole = near.row[owner], whole[owner]
        dividers = []
        for rows, frame_edges in zip(frame_slices(near.frame[owner], len(views)), edges, strict=True):
            kept = rows.start + np.array(self._without_copies(lines[rows], row[rows], whole[rows], rules), np.int64)
            if rules.drop_on_boundary:
                kept = kept[drop_beside(lines[kept], frame_edges, *ALONG_EDGE)]
            named = [Fragment(line_points(lines[k]), (self.names[row[k]],)) for k in kept.tolist()]
            dividers.append(join_in_order(named, rules.join_distance))
        return dividers

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
            first, second = (self.in_map[list(side)] for side in zip(*new, strict=True))
            self._copies.update(zip(new, strips_overlap(first, second, width, least).tolist(), strict=True))
        alike[known] = [self._copies[pair] for pair in pairs]
        return firsts(len(lines), (a[alike], b[alike]))


class LanePathDividers:
    """The lines between neighbouring lanes of a map, for the rules of MapTRv2 and MapTracker."""

    def __init__(self, lanes: Sequence[Lane], rules: Rules) -> None:
        """Collect the lanes with a valid outline that are not in an intersection."""
        shapely = shapely_module()
        left = {lane.id: border_of(lane, "left") for lane in lanes}
        right = {lane.id: border_of(lane, "right") for lane in lanes}
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
        self.same: list[SameLines] = [{}, {}]
        if rules.divider_source == "one-way-paths":
            self.same = [same_lines(filter(None, sides.values())) for sides in (self.left, self.right)]

    def cut(self, views: Views, rules: Rules, edges: Sequence[Geometries]) -> list[list[Fragment]]:
        """Return the dividers of each frame, in the coordinates of the vehicle. ``edges`` are its boundaries."""
        shapely = shapely_module()
        named: list[Fragment] = []
        frames: list[int] = []
        opposite = rules.divider_source == "one-way-paths"
        for k, near in enumerate(self._near(views)):
            for borders, same in zip(two_sets(*near), self.same, strict=True):
                if opposite:
                    named += follow(*one_way(borders, same), by_end=True)
                else:
                    lanes = {key: border.lane for key, border in borders.items()}
                    links = {key: (lane.predecessors, lane.successors) for key, lane in lanes.items()}
                    named += follow(borders, links, by_end=False)
            frames += [k] * (len(named) - len(frames))
        paths = shapely.simplify(linestrings(line.points for line in named), rules.simplify_dividers)
        path_frame = np.array(frames, np.int64)
        lines, path = lines_in(shapely.intersection(paths, views.rectangles[path_frame]))
        frame = path_frame[path]
        lines = views.pieces_to_vehicle(lines, frame, "map")
        strips = shapely.buffer(lines, rules.duplicate_buffer, cap_style="flat", join_style="mitre", mitre_limit=5.0)
        dividers = []
        for rows, frame_edges in zip(frame_slices(frame, len(views)), edges, strict=True):
            kept_rows = firsts(rows.stop - rows.start, copies(strips[rows], rules.duplicate_overlap))
            cut = [Fragment(line_points(lines[rows][k]), named[path[rows][k]].elements) for k in kept_rows]
            if rules.join_distance:
                cut = join_in_order(cut, rules.join_distance)
            if rules.drop_on_boundary:
                cut = [cut[k] for k in drop_beside(linestrings(line.points for line in cut), frame_edges, *ALONG_EDGE)]
            dividers.append(cut)
        return dividers

    def _near(self, views: Views) -> Iterator[tuple[Borders, Borders]]:
        """Yield the left and the right sides of the lanes that meet each region, in the order of the file."""
        near = views.near(self.outlines, "map")
        meets = shapely_module().intersects(self.polygons[near.row], views.rectangles[near.frame])
        for rows in frame_slices(near.frame[meets], len(views)):
            ids = [self.ids[k] for k in near.row[meets][rows].tolist()]
            left = {key: border for key in ids if (border := self.left[key]) is not None}
            right = {key: border for key in ids if (border := self.right[key]) is not None}
            yield left, right


def border_of(lane: Lane, side: SideName) -> Border | None:
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
    gone = {border.lane.left.neighbour for border in left.values()}
    right = {key: border for key, border in right.items() if key not in gone}
    gone = {border.lane.right.neighbour for border in right.values()}
    return {key: border for key, border in left.items() if key not in gone}, right


def same_lines(borders: Iterable[Border]) -> SameLines:
    """Return the other lanes whose line on this side is the same, for each lane that has any."""
    shapely = shapely_module()
    members = list(borders)
    lines = linestrings(getattr(member.lane, member.side).line for member in members)
    same: dict[int, set[int]] = {}
    for i, j in zip(*copies(shapely.buffer(lines, SAME_LINE, quad_segs=16), COPIES), strict=True):
        a, b = members[i].lane.id, members[j].lane.id
        same.setdefault(a, set()).add(b)
        same.setdefault(b, set()).add(a)
    return same


def one_way(borders: Borders, same: SameLines) -> tuple[Borders, Links]:
    """Return a set without copies of earlier lines, and links that join each lane with at most one other.

    MapTracker drops lines of opposite lanes like this. If the first predecessor or successor of a lane is not in the
    set, the lane keeps none. Otherwise the two lanes are linked to each other only.
    """
    kept: Borders = {}
    for key, border in borders.items():
        if kept.keys().isdisjoint(same.get(key, ())):
            kept[key] = border
    before = {key: border.lane.predecessors for key, border in kept.items()}
    after = {key: border.lane.successors for key, border in kept.items()}
    for links, back_links in ((before, after), (after, before)):
        for key in kept:
            if links[key] and (links[key][0] not in kept or links[key][0] == key):
                links[key] = ()
            elif links[key]:
                back_links[links[key][0]] = (key,)
    return kept, {key: (before[key], after[key]) for key in kept}


def follow(borders: Borders, links: Links, *, by_end: bool) -> list[Fragment]:
    """Return a line for every path through the graph of a set. Links to lanes outside the set do not count.

    The paths from one start are in the order of a depth-first search, or sorted ``by_end``, in the order in which the
    graph was made.
    """
    after: dict[Point, dict[Point, None]] = {}  # dictionaries keep the order in which the graph was made
    entered: set[Point] = set()
    owner: dict[tuple[Point, Point], str] = {}

    def add(start: Point, stop: Point) -> None:
        after.setdefault(start, {})
        after.setdefault(stop, {})
        after[start][stop] = None
        entered.add(stop)

    for key, border in borders.items():
        for start, stop in pairwise(border.points):
            add(start, stop)
            owner.setdefault((start, stop), border.name)
        before, behind = links[key]
        steps = [(borders[other].points[-1], border.points[0]) for other in before if other in borders]
        steps += [(border.points[-1], borders[other].points[0]) for other in behind if other in borders]
        for start, stop in steps:
            if start != stop:
                add(start, stop)
    order = {point: k for k, point in enumerate(after)}
    lines: list[Fragment] = []
    for start in after:
        if start in entered or not after[start]:
            continue
        paths = list(_paths(after, start))
        for path in sorted(paths, key=lambda path: order[path[-1]]) if by_end else paths:
            names = (owner[step] for step in pairwise(path) if step in owner)
            lines.append(Fragment(np.array(path), tuple(dict.fromkeys(names))))
    return lines


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


def near_pairs(lines: Geometries, others: Geometries, distance: float) -> tuple[Indices, Indices]:
    """Return the pairs of a line and another line that are at most ``distance`` apart."""
    shapely = shapely_module()
    low, high = shapely.bounds(lines)[:, None, :2], shapely.bounds(lines)[:, None, 2:]
    box = shapely.bounds(others)[None]
    a, b = ((low <= box[..., 2:] + distance) & (box[..., :2] - distance <= high)).all(axis=2).nonzero()
    close = shapely.dwithin(lines[a], others[b], distance)
    return a[close], b[close]


def firsts(count: int, pairs: tuple[Indices, Indices]) -> list[int]:
    """Return the indices that stay. An index goes if it is a copy of an earlier one that stays."""
    earlier: list[list[int]] = [[] for _ in range(count)]
    for i, j in zip(*(side.tolist() for side in pairs), strict=True):
        earlier[max(i, j)].append(min(i, j))
    kept: set[int] = set()
    for k in range(count):
        if kept.isdisjoint(earlier[k]):
            kept.add(k)
    return sorted(kept)


def strips_overlap(lines: Geometries, others: Geometries, width: float, least: float) -> Flags:
    """Return which pairs of lines run beside each other.

    Both are widened by ``width`` to each side, with round ends. The common area must be more than ``least`` square
    metres per metre of the shorter line.
    """
    shapely = shapely_module()
    strips = (shapely.buffer(side, width, quad_segs=16) for side in (lines, others))
    shorter = np.minimum(shapely.length(lines), shapely.length(others))
    overlap: Flags = shapely.area(shapely.intersection(*strips)) > least * shorter
    return overlap


def drop_beside(lines: Geometries, edges: Geometries, width: float, least: float) -> list[int]:
    """Return the indices of the lines that do not run beside an edge."""
    if not len(lines) or not len(edges):
        return list(range(len(lines)))
    line, edge = near_pairs(lines, edges, 2 * width)
    beside = strips_overlap(lines[line], edges[edge], width, least)
    gone = set(line[beside].tolist())
    return [k for k in range(len(lines)) if k not in gone]


def copies(strips: Geometries, least: float) -> tuple[Indices, Indices]:
    """Return the pairs of widened lines whose intersection is at least the share ``least`` of their union."""
    shapely = shapely_module()
    area = shapely.area(strips)
    low, high = shapely.bounds(strips)[:, :2], shapely.bounds(strips)[:, 2:]
    meets = ((low[:, None] <= high[None]) & (low[None] <= high[:, None])).all(axis=2)
    # The intersection is at most the smaller area, and the union at least the larger.
    meets &= np.minimum(area[:, None], area[None]) >= least * np.maximum(area[:, None], area[None])
    a, b = np.triu(meets, 1).nonzero()
    both = shapely.area(shapely.intersection(strips[a], strips[b]))
    alike = both >= least * (area[a] + area[b] - both)
    return a[alike], b[alike]


def join_in_order(lines: Sequence[Fragment], distance: float) -> list[Fragment]:
    """Join lines whose ends are less than ``distance`` apart.

    The first line is joined with the first of the others that meets one of its ends, and so on until none does. Then it
    is finished, and the next line is the first. Both ends that met stay in the joined line.
    """
    left = list(lines)
    ends = [line.points[[0, -1]] for line in left]
    finished: list[Fragment] = []
    while left:
        line, end = left.pop(0), ends.pop(0)
        while left:
            gaps = np.linalg.norm(end[None, :, None] - np.array(ends)[:, None], axis=3)
            meets = gaps.reshape(-1, 4) < distance  # start-start, start-end, end-start, end-end
            which = np.flatnonzero(meets.any(axis=1))
            if not len(which):
                break
            k = int(which[0])
            other, _ = left.pop(k), ends.pop(k)
            how = int(meets[k].argmax())
            points = other.points[::-1] if how in (0, 3) else other.points
            pair = [points, line.points] if how < 2 else [line.points, points]
            line = Fragment(np.concatenate(pair), tuple(dict.fromkeys(line.elements + other.elements)))
            end = line.points[[0, -1]]
        finished.append(line)
    return finished


def line_points(line: object) -> Points:
    """Return the points of a line, with their height."""
    points: Points = shapely_module().get_coordinates(line, include_z=True)
    return points
