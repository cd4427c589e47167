"""Prepares the map of an Argoverse 2 log for cutting.

The rules of the public converters cut frame by frame. Other rules prepare layers once for all frames. Dividers are made
from lane segments, which describe the line on their left and on their right. So a line between two lanes occurs twice,
in parts as long as a segment. There are two public rules to make dividers from these lines:

- ``lane-marks`` uses every painted line, except those along the edge of the road. Lines are widened to strips. If two
  strips overlap by more than 0.2 m, averaged over the length of the shorter line, the shorter line is dropped.
- ``lane-graph`` uses every line between two lanes outside intersections, painted or not. If the overlap of two strips
  is at least 0.9 of their union, the shorter line is dropped.

The remaining lines are joined where their ends meet. The public code does most of this for each frame, after cutting.
Here it is done once for a map, so a divider is the same in all frames.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import shapely

from mapgauge.truth.cutting import shapes
from mapgauge.truth.cutting.shapes import Geometries
from mapgauge.truth.datasets import Cutter, MapLayers, map_findings
from mapgauge.truth.from_argoverse2.frame_by_frame import Argoverse2FrameByFrame
from mapgauge.truth.from_argoverse2.frame_dividers import firsts
from mapgauge.truth.from_argoverse2.vector_map import Outline, VectorMap, distinct, read_vector_map
from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Points

SideId: TypeAlias = tuple[int, str]  # id of a lane segment, and "left" or "right"
Lines: TypeAlias = tuple[Geometries, list[SideId]]


class LaneSide(NamedTuple):
    """The line on one side of a lane segment."""

    lane: int  # id of the lane segment
    side: str  # "left" or "right"
    points: Points  # (n, 2), in the map; at least two, and none equals the one before
    painted: bool
    neighbour: bool  # whether there is a lane on the other side of the line
    intersection: bool  # whether the lane segment is inside an intersection


def read_map(log: Path, rules: TruthRules) -> Cutter:
    """Return what cuts the map of a log."""
    content = read_vector_map(log)
    if rules.per_frame:
        return Argoverse2FrameByFrame(content, rules)
    return make_layers(content, rules)


def make_layers(content: VectorMap, rules: TruthRules) -> MapLayers:
    """Return the layers by the rules. Dividers and boundaries are made once, so they are the same in all frames."""
    repaired: list[str] = []
    left_out: list[str] = []

    def polygons(outlines: Sequence[Outline]) -> shapes.Layer:
        """Return a layer of polygons, sorted by id. Invalid polygons are repaired."""
        ordered = sorted(outlines, key=lambda outline: outline.id)
        left_out.extend(f"{outline.id}" for outline in ordered if not outline.is_polygon())
        chosen = [outline for outline in ordered if outline.is_polygon()]
        areas = shapes.as_geometries([shapely.Polygon(outline.points[:, :2]) for outline in chosen])
        layer, invalid = shapes.valid_polygons(areas, [f"{outline.id}" for outline in chosen])
        repaired.extend(invalid)
        return layer

    edges = shapes.union_boundaries(polygons(content.areas).geometries, f"{content.log}-boundary")
    sides = []
    for lane in sorted(content.lanes, key=lambda lane: lane.id):
        for name, side in (("left", lane.left), ("right", lane.right)):
            points = distinct(side.line[:, :2])
            if len(points) < 2:
                left_out.append(f"{lane.id}-{name}")
                continue
            inner = side.neighbour is not None
            sides.append(
                LaneSide(lane.id, name, points, painted=side.painted, neighbour=inner, intersection=lane.intersection)
            )
    lines, ids = make_dividers(sides, rules, edges.geometries)
    dividers = shapes.Layer.of(
        shapes.simplify(lines, rules.simplify_dividers), [f"{lane}-{side}" for lane, side in ids]
    )
    boundaries = shapes.Layer.of(shapes.simplify(edges.geometries, rules.simplify_boundaries), edges.ids)
    crossings = polygons(content.crossings)
    return MapLayers(
        crossings, dividers, boundaries, findings=map_findings(content.log, repaired=repaired, left_out=left_out)
    )


def make_dividers(sides: Iterable[LaneSide], rules: TruthRules, road_edges: Geometries) -> Lines:
    """Return the dividers of a map, each with the smallest id of the lines that it was made from."""
    if rules.divider_source == "lane-marks":
        lines = _drop_duplicates(_lines(side for side in sides if side.painted), rules)
        if rules.drop_on_boundary:
            lines = _drop_along_edges(lines, road_edges, rules)
        return join_ends(lines, rules.join_distance)
    lines = _lines(side for side in sides if side.neighbour and not side.intersection)
    lines = join_ends(_drop_duplicates(lines, rules), rules.join_distance)
    return _drop_duplicates(lines, rules)  # again: the lanes on the two sides of a line may end at different places


def join_ends(lines: Lines, distance: float) -> Lines:
    """Join lines whose ends meet, the straightest pair first. The part with the smallest id gives id and direction."""
    geometries, ids = lines
    points = [shapely.get_coordinates(line) for line in geometries]
    partner = _partners(points, ids, distance)
    joined: list[tuple[SideId, Points]] = []
    done = [False] * len(points)
    # Start at free ends. The lines that are left after that have no free ends; they form closed loops.
    for start in sorted(range(2 * len(points)), key=lambda end: (partner[end] >= 0, ids[end // 2], end)):
        parts = []
        end = start
        while end >= 0 and not done[end // 2]:
            done[end // 2] = True
            parts.append(end)
            end = partner[end ^ 1]
        if parts:
            runs = []
            for end in parts:
                run = points[end // 2]
                if end % 2:  # it was met at its last point
                    run = run[::-1]
                runs.append(run)
            whole = np.concatenate([runs[0], *(run[1:] for run in runs[1:])])
            first = min(parts, key=lambda end: ids[end // 2])
            if first % 2:
                whole = whole[::-1]
            joined.append((ids[first // 2], whole))
    joined.sort(key=lambda line: line[0])
    return shapes.linestrings([line for _, line in joined]), [side_id for side_id, _ in joined]


def _partners(points: Sequence[Points], ids: Sequence[SideId], distance: float) -> list[int]:
    """Return the end that each end is joined to, or -1. Line ``i`` has the ends ``2 i`` (first) and ``2 i + 1``."""
    partner = [-1] * (2 * len(points))
    if not points:
        return partner
    outward = np.array([step for line in points for step in (line[0] - line[1], line[-1] - line[-2])])
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    ends = shapely.points(np.array([point for line in points for point in (line[0], line[-1])]))
    a, b = shapely.STRtree(ends).query(ends, predicate="dwithin", distance=distance)
    straight = -(outward[a] * outward[b]).sum(axis=1)  # cosine of the turn from one line into the other
    meeting = (a // 2 < b // 2) & (straight > 0)
    pairs = zip(np.round(-straight[meeting], 9).tolist(), a[meeting].tolist(), b[meeting].tolist(), strict=True)
    for _, i, j in sorted(pairs, key=lambda pair: (pair[0], ids[pair[1] // 2], ids[pair[2] // 2], pair[1:])):
        if partner[i] < 0 and partner[j] < 0:
            partner[i] = j
            partner[j] = i
    return partner


def _drop_duplicates(lines: Lines, rules: TruthRules) -> Lines:
    """Drop duplicates of longer lines. If two are equally long, to the millimetre, the smaller id is kept."""
    geometries, ids = lines
    if not ids:
        return lines
    strips = _strips(geometries, rules.duplicate_buffer)
    area = shapely.area(strips)
    length = shapely.length(geometries)
    a, b = shapely.STRtree(strips).query(strips, predicate="intersects")
    each_once = a < b
    a = a[each_once]
    b = b[each_once]
    overlap = shapely.area(shapely.intersection(strips[a], strips[b]))
    if rules.divider_source == "lane-marks":
        same = overlap > rules.duplicate_overlap * np.minimum(length[a], length[b])
    else:
        same = overlap >= rules.duplicate_overlap * (area[a] + area[b] - overlap)
    order = sorted(range(len(ids)), key=lambda i: (-round(float(length[i]), 3), ids[i]))
    return _pick(lines, firsts(order, (a[same], b[same])))


def _drop_along_edges(lines: Lines, road_edges: Geometries, rules: TruthRules) -> Lines:
    """Drop lines along the edge of the road. The test is the same as for duplicates."""
    geometries, ids = lines
    coords, owner = shapely.get_coordinates(road_edges, return_index=True)
    inner = np.flatnonzero(owner[1:] == owner[:-1])
    edges = shapely.linestrings(np.stack([coords[inner], coords[inner + 1]], axis=1))
    width = rules.duplicate_buffer
    line, edge = shapely.STRtree(edges).query(geometries, predicate="dwithin", distance=2 * width)
    near = shapely.buffer(edges[edge], width)  # round caps leave no gaps where the edge turns
    along = np.array([shapely.union_all(near[line == i]) for i in range(len(ids))], object)
    overlap = shapely.area(shapely.intersection(_strips(geometries, width), along))
    return _pick(lines, np.flatnonzero(overlap <= rules.duplicate_overlap * shapely.length(geometries)).tolist())


def _strips(geometries: Geometries, width: float) -> Geometries:
    """Widen lines by ``width`` to each side, without making them longer."""
    strips: Geometries = shapely.buffer(geometries, width, cap_style="flat", join_style="mitre")
    return strips


def _pick(lines: Lines, rows: list[int]) -> Lines:
    geometries, ids = lines
    return geometries[rows], [ids[i] for i in rows]


def _lines(sides: Iterable[LaneSide]) -> Lines:
    chosen = sorted(sides, key=lambda side: (side.lane, side.side))
    return shapes.linestrings([side.points for side in chosen]), [(side.lane, side.side) for side in chosen]
