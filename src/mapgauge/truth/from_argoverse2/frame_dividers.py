"""Makes the dividers of one frame from the lane segments of Argoverse 2, as the public converters do.

The converters cut first, and drop copies and join lines in each frame. The first of several copies stays, and a line is
joined with the first line that meets one of its ends. So the result depends on the order of the lines.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import shapely

from mapgauge.geometry.polylines import Polylines
from mapgauge.truth.cutting.fragments import Fragment
from mapgauge.truth.cutting.shapes import Geometries, as_geometries, frame_slices, lines_in, linestrings
from mapgauge.truth.from_argoverse2.vector_map import Argoverse2Lane, SegmentSide
from mapgauge.truth.from_argoverse2.views import Views
from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Flags, Indices, Points

DECIMALS = 3  # of the points of the graph, in metres
SAME_LINE = 0.01  # metres to each side: lines of one set that are copies, for MapTracker
COPIES = 0.9  # smallest intersection over union of copies
ALONG_EDGE = (0.3, 0.2)  # width of strips and least overlap of a divider along a boundary, as for painted copies

Point: TypeAlias = tuple[float, float, float]
SideName: TypeAlias = Literal["left", "right"]


class Border(NamedTuple):
    """A lane with the line on one of its sides, as part of a set."""

    lane: Argoverse2Lane
    side: SideName
    points: tuple[Point, ...]  # rounded; at least two


Borders: TypeAlias = dict[int, Border]  # by lane id, in the order of the file
SameLines: TypeAlias = Mapping[int, set[int]]  # by lane id: ids of the lanes with the same line
Links: TypeAlias = Mapping[int, tuple[Sequence[int], Sequence[int]]]  # predecessors and successors of each lane


class PaintedDividers:
    """The painted lines of a map, for StreamMapNet's rules."""

    def __init__(self, lanes: Sequence[Argoverse2Lane]) -> None:
        """Collect the painted lines: of each lane, its right and then its left side."""
        sides = [
            (f"{lane.id}-{name}", side.line)
            for lane in lanes
            for name, side in (("right", lane.right), ("left", lane.left))
            if side.painted and len(side.line) > 1
        ]
        self.names: list[str] = [name for name, _ in sides]
        self.lines: Polylines = Polylines.of([line for _, line in sides], dimension=3)
        self.in_map: Geometries = linestrings(line for _, line in sides)
        self.simple: Flags = shapely.is_simple(self.in_map)
        self._copies: dict[tuple[int, int], bool] = {}  # of whole lines

    def cut(self, views: Views, rules: TruthRules, edges: Sequence[Geometries]) -> list[list[Fragment]]:
        """Return the dividers of each frame, in the coordinates of the vehicle. ``edges`` are its boundaries."""
        near = views.near(self.lines, "vehicle")
        whole = near.inside & self.simple[near.row]
        lines = near.lines()
        lines[~whole] = shapely.intersection(lines[~whole], views.box())
        lines, owner = lines_in(lines)
        row = near.row[owner]
        whole = whole[owner]
        dividers = []
        for rows, frame_edges in zip(frame_slices(near.frame[owner], len(views)), edges, strict=True):
            kept = rows.start + np.array(
                self._without_copies(lines[rows], row[rows], whole[rows], rules=rules), np.int64
            )
            if rules.drop_on_boundary:
                kept = kept[drop_beside(lines[kept], frame_edges)]
            named = [Fragment(line_points(lines[k]), (self.names[row[k]],)) for k in kept.tolist()]
            dividers.append(join_in_order(named, rules.join_distance))
        return dividers

    def _without_copies(self, lines: Geometries, row: Indices, whole: Flags, rules: TruthRules) -> list[int]:
        """Return the indices of the lines that are not copies. Pairs of whole lines are compared once, in the map."""
        if not len(lines):
            return []
        width = rules.duplicate_buffer
        least = rules.duplicate_overlap
        a, b = near_pairs(lines, lines, 2 * width)
        each_once = a < b
        a = a[each_once]
        b = b[each_once]
        known = whole[a] & whole[b]
        alike = np.zeros(len(a), np.bool_)
        alike[~known] = strips_overlap(lines[a[~known]], lines[b[~known]], width, least=least)
        pairs = list(zip(row[a[known]].tolist(), row[b[known]].tolist(), strict=True))
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._copies]
        if new:
            first, second = (self.in_map[list(side)] for side in zip(*new, strict=True))
            self._copies.update(zip(new, strips_overlap(first, second, width, least=least).tolist(), strict=True))
        alike[known] = [self._copies[pair] for pair in pairs]
        return firsts(range(len(lines)), (a[alike], b[alike]))


class LanePathDividers:
    """The lines between neighbouring lanes of a map, for the rules of MapTRv2 and MapTracker."""

    def __init__(self, lanes: Sequence[Argoverse2Lane], rules: TruthRules) -> None:
        """Collect the lanes with a valid outline that are not in an intersection."""
        left = {lane.id: border_of(lane, "left") for lane in lanes}
        right = {lane.id: border_of(lane, "right") for lane in lanes}
        whole = (lane for lane in lanes if not lane.intersection and len(lane.left.line) and len(lane.right.line))
        chosen = [lane for lane in whole if left[lane.id] or right[lane.id]]
        outlines = [np.concatenate([lane.right.line, lane.left.line[::-1]]) for lane in chosen]
        polygons = as_geometries([shapely.Polygon(line) if len(line) > 2 else shapely.Polygon() for line in outlines])
        valid = np.flatnonzero(shapely.is_valid(polygons) & ~shapely.is_empty(polygons)).tolist()
        self.ids: list[int] = [chosen[k].id for k in valid]
        self.outlines: Polylines = Polylines.of([outlines[k] for k in valid], dimension=3)
        self.polygons: Geometries = polygons[valid]
        self.sides: list[Borders] = [{key: side for key in self.ids if (side := sides[key])} for sides in (left, right)]
        self.same: list[SameLines] = [{}, {}]
        if rules.divider_source == "one-way-paths":
            self.same = [same_lines(list(sides.values())) for sides in self.sides]

    def cut(self, views: Views, rules: TruthRules, edges: Sequence[Geometries]) -> list[list[Fragment]]:
        """Return the dividers of each frame, in the coordinates of the vehicle. ``edges`` are its boundaries."""
        named: list[Fragment] = []
        frames: list[int] = []
        opposite = rules.divider_source == "one-way-paths"
        for k, near in enumerate(self._near(views)):
            for borders, same in zip(two_sets(*near), self.same, strict=True):
                if opposite:
                    named += follow(*one_way(borders, same), by_end=True)
                else:
                    links = {key: (it.lane.predecessors, it.lane.successors) for key, it in borders.items()}
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
            kept = firsts(range(rows.stop - rows.start), copies(strips[rows], rules.duplicate_overlap))
            cut = [Fragment(line_points(lines[rows][k]), named[path[rows][k]].elements) for k in kept]
            if rules.join_distance:
                cut = join_in_order(cut, rules.join_distance)
            if rules.drop_on_boundary:
                cut = [cut[k] for k in drop_beside(linestrings(line.points for line in cut), frame_edges)]
            dividers.append(cut)
        return dividers

    def _near(self, views: Views) -> Iterator[tuple[Borders, Borders]]:
        """Yield the left and the right sides of the lanes that meet each region, in the order of the file."""
        near = views.near(self.outlines, "map")
        meets = shapely.intersects(self.polygons[near.row], views.rectangles[near.frame])
        for rows in frame_slices(near.frame[meets], len(views)):
            ids = [self.ids[k] for k in near.row[meets][rows].tolist()]
            left, right = ({key: sides[key] for key in ids if key in sides} for sides in self.sides)
            yield left, right


def border_of(lane: Argoverse2Lane, side: SideName) -> Border | None:
    """Return one side of a lane, or None if there is no lane beside it or if it is not a line."""
    line: SegmentSide = getattr(lane, side)
    if line.neighbour is None or len(line.line) < 2:
        return None
    return Border(lane, side, tuple(map(tuple, line.line.round(DECIMALS).tolist())))


def two_sets(left: Borders, right: Borders) -> tuple[Borders, Borders]:
    """Return the sets without lines that the other set has as well: the left neighbours leave the right set first."""
    gone = {border.lane.left.neighbour for border in left.values()}
    right = {key: border for key, border in right.items() if key not in gone}
    gone = {border.lane.right.neighbour for border in right.values()}
    return {key: border for key, border in left.items() if key not in gone}, right


def same_lines(borders: Sequence[Border]) -> SameLines:
    """Return the other lanes whose line on this side is the same, for each lane that has any."""
    lines = linestrings(getattr(border.lane, border.side).line for border in borders)
    same: dict[int, set[int]] = {}
    for i, j in zip(*copies(shapely.buffer(lines, SAME_LINE, quad_segs=16), COPIES), strict=True):
        a = borders[i].lane.id
        b = borders[j].lane.id
        same.setdefault(a, set()).add(b)
        same.setdefault(b, set()).add(a)
    return same


def one_way(borders: Borders, same: SameLines) -> tuple[Borders, Links]:
    """Return a set without copies of earlier lines, and links that join each lane with at most one other."""
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
    """Return a line for every path through the graph of a set, by depth-first search or sorted by their ends."""
    after: dict[Point, dict[Point, None]] = {}  # dictionaries keep the order in which the graph was made
    owner: dict[tuple[Point, Point], str] = {}
    for key, border in borders.items():
        inner = list(pairwise(border.points))
        for step in inner:
            owner.setdefault(step, f"{border.lane.id}-{border.side}")
        before, behind = links[key]
        steps = [(borders[other].points[-1], border.points[0]) for other in before if other in borders]
        steps += [(border.points[-1], borders[other].points[0]) for other in behind if other in borders]
        for start, stop in [*inner, *(step for step in steps if step[0] != step[1])]:
            after.setdefault(start, {})[stop] = None
            after.setdefault(stop, {})
    order = {point: k for k, point in enumerate(after)}
    entered = {stop for stops in after.values() for stop in stops}
    lines: list[Fragment] = []
    for start in after:
        if start in entered or not after[start]:
            continue
        paths = list(_paths(after, start))
        if by_end:
            paths.sort(key=lambda path: order[path[-1]])
        for path in paths:
            names = (owner[step] for step in pairwise(path) if step in owner)
            lines.append(Fragment(np.array(path), tuple(dict.fromkeys(names))))
    return lines


def _paths(after: Mapping[Point, Mapping[Point, None]], start: Point) -> Iterator[list[Point]]:
    """Yield all paths from a point to points without successor. A path does not visit a point twice."""
    path = [start]
    visited = {start}
    stack = [iter(after[start])]
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
    low = shapely.bounds(lines)[:, None, :2]
    high = shapely.bounds(lines)[:, None, 2:]
    box = shapely.bounds(others)[None]
    a, b = ((low <= box[..., 2:] + distance) & (box[..., :2] - distance <= high)).all(axis=2).nonzero()
    close = shapely.dwithin(lines[a], others[b], distance)
    return a[close], b[close]


def firsts(order: Sequence[int], pairs: tuple[Indices, Indices]) -> list[int]:
    """Return the indices that stay, sorted. An index goes if it is a copy of one earlier in the order that stays."""
    copies_of: dict[int, list[int]] = {}
    for i, j in zip(*(side.tolist() for side in pairs), strict=True):
        copies_of.setdefault(i, []).append(j)
        copies_of.setdefault(j, []).append(i)
    kept: set[int] = set()
    for k in order:
        if kept.isdisjoint(copies_of.get(k, ())):
            kept.add(k)
    return sorted(kept)


def strips_overlap(lines: Geometries, others: Geometries, width: float, least: float) -> Flags:
    """Return which pairs of lines, widened by ``width`` to each side, share more than ``least`` m² per metre."""
    strips = (shapely.buffer(side, width, quad_segs=16) for side in (lines, others))
    shorter = np.minimum(shapely.length(lines), shapely.length(others))
    overlap: Flags = shapely.area(shapely.intersection(*strips)) > least * shorter
    return overlap


def drop_beside(lines: Geometries, edges: Geometries) -> list[int]:
    """Return the indices of the lines that do not run beside an edge."""
    if not len(lines) or not len(edges):
        return list(range(len(lines)))
    line, edge = near_pairs(lines, edges, 2 * ALONG_EDGE[0])
    beside = strips_overlap(lines[line], edges[edge], *ALONG_EDGE)
    return list(np.setdiff1d(np.arange(len(lines)), line[beside]))


def copies(strips: Geometries, least: float) -> tuple[Indices, Indices]:
    """Return the pairs of widened lines whose intersection is at least the share ``least`` of their union."""
    area = shapely.area(strips)
    low = shapely.bounds(strips)[:, :2]
    high = shapely.bounds(strips)[:, 2:]
    meets = ((low[:, None] <= high[None]) & (low[None] <= high[:, None])).all(axis=2)
    # The intersection is at most the smaller area, and the union at least the larger.
    meets &= np.minimum(area[:, None], area[None]) >= least * np.maximum(area[:, None], area[None])
    a, b = np.triu(meets, 1).nonzero()
    both = shapely.area(shapely.intersection(strips[a], strips[b]))
    alike = both >= least * (area[a] + area[b] - both)
    return a[alike], b[alike]


def join_in_order(lines: Sequence[Fragment], distance: float) -> list[Fragment]:
    """Join lines whose ends are less than ``distance`` apart: the first with the first other that meets it."""
    left = list(lines)
    finished: list[Fragment] = []
    while left:
        line = left.pop(0)
        while left:
            ends = np.array([other.points[[0, -1]] for other in left])
            gaps = np.linalg.norm(line.points[None, [0, -1], None] - ends[:, None], axis=3)
            meets = gaps.reshape(-1, 4) < distance  # start-start, start-end, end-start, end-end
            which = np.flatnonzero(meets.any(axis=1))
            if not len(which):
                break
            how = int(meets[which[0]].argmax())
            other = left.pop(which[0])
            if how in (0, 3):
                points = other.points[::-1]
            else:
                points = other.points
            if how < 2:
                pair = [points, line.points]
            else:
                pair = [line.points, points]
            line = Fragment(np.concatenate(pair), tuple(dict.fromkeys(line.elements + other.elements)))
        finished.append(line)
    return finished


def line_points(line: object) -> Points:
    """Return the points of a line, with their height."""
    points: Points = shapely.get_coordinates(line, include_z=True)
    return points
