"""Follows the lines between neighbouring lanes from lane to lane, as MapTRv2 and MapTracker do.

The lines beside lanes become a directed graph of points. Every path from a point without predecessor to a point without
successor is a line. Two lanes in opposite directions carry the same points in opposite order. In the graph of MapTRv2,
such points have predecessors and successors on both sides, so no path begins there, and the line between opposite lanes
is lost. MapTracker drops one of the two lanes first.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from mapgauge.truth.cutting.line_sets import NamedLine, copies
from mapgauge.truth.cutting.shapes import as_geometries, shapely_module
from mapgauge.truth.from_argoverse2.vector_map import Lane, Side

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
