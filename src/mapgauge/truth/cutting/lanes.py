"""Dividers of a map that has lane segments and no layer of dividers, made once for a map and not once for a frame.

A lane segment of Argoverse 2 describes the line on its left and the line on its right. So a line between two lanes is
there twice, in pieces as long as a segment. Two rules of the field make dividers of that:

- ``lane-marks`` takes every line with paint on it, but not those along the edge of the road. Two lines are widened to
  strips; where the strips overlap by more than 0.2 m, on average over the length of the shorter one, that one goes.
- ``lane-graph`` takes every line between two lanes outside intersections, painted or not. Of two lines one goes if the
  overlap of their strips is at least 0.9 of their union.

What is left is joined where ends meet. The public code decides most of this for each frame, after cutting: a divider
may come and go, or be one line in a frame and two in the next. Here it is decided on the whole map, so a divider is the
same in all frames, and a frame costs no more than a cut. Where several ends meet, the public code joins those that come
first in a list, or repeats the common part in each branch; here the straightest pair is joined, and no line turns back.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from mapgauge.truth.cutting.cut import Geometries, shapely_module
from mapgauge.truth.rules import Rules
from mapgauge.typing import Points

Name: TypeAlias = tuple[int, str]  # id of a lane segment, and which side of it
Lines: TypeAlias = tuple[Geometries, list[Name]]


class Side(NamedTuple):
    """The line on one side of a lane segment."""

    lane: int  # id of the lane segment
    side: str  # left or right
    points: Points  # (n, 2), of the map; at least two, and none repeats the one before
    painted: bool
    neighbour: bool  # is there a lane on the other side of it?
    intersection: bool  # is the lane segment inside an intersection?


def dividers_of(sides: Iterable[Side], rules: Rules, borders: Geometries) -> Lines:
    """The dividers of a map, and for each the name of the line in it that comes first.

    Args:
        sides: Lines of all lane segments.
        rules: Which lines are dividers, and which of them are the same.
        borders: The edges of the road, as lines of shapely.
    """
    if rules.divider_source == "lane-marks":
        lines = _without_copies(_lines(side for side in sides if side.painted), rules)
        if rules.drop_on_boundary:
            lines = _without_borders(lines, borders, rules)
        return join(lines, rules.join_distance)
    lines = _lines(side for side in sides if side.neighbour and not side.intersection)
    lines = join(_without_copies(lines, rules), rules.join_distance)
    return _without_copies(lines, rules)  # lanes on its two sides may have cut a line at different places


def join(lines: Lines, distance: float) -> Lines:
    """Lines joined where their ends are at most ``distance`` apart, the straightest pair first.

    No line turns by a right angle or more where it is joined. It gets the name and the direction of that part whose
    name comes first.
    """
    geometries, names = lines
    points = [shapely_module().get_coordinates(line) for line in geometries]
    partner = _partners(points, names, distance)
    joined: list[tuple[Name, Points]] = []
    done = [False] * len(points)
    # From free ends on first: what is left then has none, and goes round in a circle.
    for start in sorted(range(2 * len(points)), key=lambda end: (partner[end] >= 0, names[end // 2], end)):
        parts, end = [], start
        while end >= 0 and not done[end // 2]:
            done[end // 2] = True
            parts.append(end)
            end = partner[end ^ 1]
        if parts:
            runs = [points[end // 2][:: -1 if end % 2 else 1] for end in parts]
            whole = np.concatenate([runs[0], *(run[1:] for run in runs[1:])])
            first = min(parts, key=lambda end: names[end // 2])
            joined.append((names[first // 2], whole[::-1] if first % 2 else whole))
    joined.sort(key=lambda one: one[0])
    return _linestrings([line for _, line in joined]), [name for name, _ in joined]


def _partners(points: Sequence[Points], names: Sequence[Name], distance: float) -> list[int]:
    """For each end the end that it is joined to, or -1. Line ``i`` begins at end ``2 i`` and ends at ``2 i + 1``."""
    partner = [-1] * (2 * len(points))
    if not points:
        return partner
    shapely = shapely_module()
    outward = np.array([step for line in points for step in (line[0] - line[1], line[-1] - line[-2])])
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    ends = shapely.points(np.array([point for line in points for point in (line[0], line[-1])]))
    a, b = shapely.STRtree(ends).query(ends, predicate="dwithin", distance=distance)
    straight = -(outward[a] * outward[b]).sum(axis=1)  # the cosine of the turn from one line into the other
    meeting = (a // 2 < b // 2) & (straight > 0)
    pairs = zip(np.round(-straight[meeting], 9).tolist(), a[meeting].tolist(), b[meeting].tolist(), strict=True)
    for _, i, j in sorted(pairs, key=lambda pair: (pair[0], names[pair[1] // 2], names[pair[2] // 2], pair[1:])):
        if partner[i] < 0 and partner[j] < 0:
            partner[i], partner[j] = j, i
    return partner


def _without_copies(lines: Lines, rules: Rules) -> Lines:
    """Lines without copies of longer ones. Of two that are equally long to the millimetre the first by name stays."""
    geometries, names = lines
    if not names:
        return lines
    shapely = shapely_module()
    strips = _strips(geometries, rules.duplicate_buffer)
    area, length = shapely.area(strips), shapely.length(geometries)
    a, b = shapely.STRtree(strips).query(strips, predicate="intersects")
    a, b = a[a < b], b[a < b]
    overlap = shapely.area(shapely.intersection(strips[a], strips[b]))
    if rules.divider_source == "lane-marks":
        copies = overlap > rules.duplicate_overlap * np.minimum(length[a], length[b])
    else:
        copies = overlap >= rules.duplicate_overlap * (area[a] + area[b] - overlap)
    others: list[list[int]] = [[] for _ in names]
    for i, j in zip(a[copies].tolist(), b[copies].tolist(), strict=True):
        others[i].append(j)
        others[j].append(i)
    kept: set[int] = set()
    for i in sorted(range(len(names)), key=lambda i: (-round(float(length[i]), 3), names[i])):
        if kept.isdisjoint(others[i]):
            kept.add(i)
    return _pick(lines, sorted(kept))


def _without_borders(lines: Lines, borders: Geometries, rules: Rules) -> Lines:
    """Lines without those that run along the edge of the road, by the test for copies."""
    geometries, names = lines
    shapely = shapely_module()
    coords, owner = shapely.get_coordinates(borders, return_index=True)
    inner = np.flatnonzero(owner[1:] == owner[:-1])
    edges = shapely.linestrings(np.stack([coords[inner], coords[inner + 1]], axis=1))
    width = rules.duplicate_buffer
    line, edge = shapely.STRtree(edges).query(geometries, predicate="dwithin", distance=2 * width)
    near = shapely.buffer(edges[edge], width)  # round, so that there are no gaps where the border turns
    along = np.array([shapely.union_all(near[line == i]) for i in range(len(names))], object)
    strips = _strips(geometries, width)
    overlap = shapely.area(shapely.intersection(strips, along))
    return _pick(lines, np.flatnonzero(overlap <= rules.duplicate_overlap * shapely.length(geometries)).tolist())


def _strips(geometries: Geometries, width: float) -> Geometries:
    """Lines widened by ``width`` to each side, and no longer than they are."""
    strips: Geometries = shapely_module().buffer(geometries, width, cap_style="flat", join_style="mitre")
    return strips


def _pick(lines: Lines, rows: list[int]) -> Lines:
    geometries, names = lines
    return geometries[rows], [names[i] for i in rows]


def _lines(sides: Iterable[Side]) -> Lines:
    chosen = sorted(sides, key=lambda side: (side.lane, side.side))
    return _linestrings([side.points for side in chosen]), [(side.lane, side.side) for side in chosen]


def _linestrings(lines: Sequence[Points]) -> Geometries:
    made: Geometries = np.empty(len(lines), object)
    made[:] = [shapely_module().LineString(line) for line in lines]
    return made
