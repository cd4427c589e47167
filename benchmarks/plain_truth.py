"""The baseline for the rules of mapgauge on Argoverse 2: shapely cuts every element of the map for every frame.

The rules and the result are the same as mapgauge's (``plain_public.py`` is for the rules of public converters). There
is no spatial index, nothing is prepared in advance, and all pairs of lines are compared. The map is used as the JSON
file stores it.
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.affinity import affine_transform

from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Points

UNPAINTED = ("NONE", "UNKNOWN")
PARALLEL = 0.01  # of 1 - |cos|


class Elements(NamedTuple):
    """A map as shapely geometries."""

    areas: list[Any]
    crossings: list[Any]
    lines: list[Any]  # lines that the rules treat as dividers
    names: list[tuple[int, str]]  # one per line, to order copies of equal length


def elements_of(content: dict[str, Any], rules: TruthRules) -> Elements:
    """The elements of a map."""
    lines, names = [], []
    for lane in sorted(content["lane_segments"].values(), key=lambda lane: lane["id"]):
        for side in ("left", "right"):
            painted = lane[f"{side}_lane_mark_type"] not in UNPAINTED
            inner = lane[f"{side}_neighbor_id"] is not None and not lane["is_intersection"]
            if painted if rules.divider_source == "lane-marks" else inner:
                lines.append(shapely.LineString(_points(lane[f"{side}_lane_boundary"])))
                names.append((lane["id"], side))
    crossings = sorted(content["pedestrian_crossings"].values(), key=lambda crossing: crossing["id"])
    return Elements(
        [shapely.Polygon(_points(area["area_boundary"])) for area in content["drivable_areas"].values()],
        [shapely.Polygon([*_points(one["edge1"]), *_points(one["edge2"])[::-1]]) for one in crossings],
        lines,
        names,
    )


def cut(
    elements: Elements, pose: NDArray[np.float64], region: tuple[float, float], rules: TruthRules
) -> list[list[Points]]:
    """The truth of one frame: crossings, dividers, boundaries."""
    yaw = np.arctan2(pose[1, 0], pose[0, 0])
    c, s = float(np.cos(yaw)), float(np.sin(yaw))
    x, y = float(pose[0, 3]), float(pose[1, 3])
    box = shapely.box(-region[0] / 2, -region[1] / 2, region[0] / 2, region[1] / 2)
    patch = affine_transform(box, [c, -s, s, c, x, y])

    def local(geometry: Any) -> Any:
        return affine_transform(geometry, [c, s, -s, c, -(c * x + s * y), s * x - c * y])

    crossings = [local(one.intersection(patch)) for one in elements.crossings]
    visible = [(line, name) for line, name in zip(elements.lines, elements.names, strict=True) if _meets(line, patch)]
    road = shapely.union_all([area.intersection(patch) for area in elements.areas])
    dividers = _dividers(visible, elements.areas, rules)
    return [
        _crossings([one for one in crossings if one.area > 0], region, rules),
        [points for line in dividers for points in _lines(local(line.intersection(patch)))],
        [
            points
            for polygon in shapely.get_parts(local(road))
            for ring in (polygon.exterior, *polygon.interiors)
            for points in _lines(ring.intersection(_grown(region, rules.boundary_grow)))
        ],
    ]


def _meets(line: Any, patch: Any) -> bool:
    return bool(line.intersection(patch).length > 0)


def _crossings(polygons: list[Any], region: tuple[float, float], rules: TruthRules) -> list[Points]:
    free = list(range(len(polygons)))
    found: list[Points] = []
    while free:
        i = free.pop(0)
        one = polygons[i]
        for j in list(free):
            low, high, other = polygons[i].bounds[:2], polygons[i].bounds[2:], polygons[j].bounds
            meets = all(low[k] <= other[k + 2] and other[k] <= high[k] for k in range(2))
            if meets and 1 - abs(long_side(polygons[i]) @ long_side(polygons[j])) < PARALLEL:
                one = one.union(polygons[j])
                free.remove(j)
        for polygon in shapely.get_parts(one):
            ring = polygon.exterior
            if rules.crossing_cut is None:
                found.append(np.array(ring.coords))
            else:
                found += _lines(ring.intersection(_grown(region, rules.crossing_cut)))
    return found


def long_side(polygon: Any) -> Points:
    """The direction of the long side of the smallest rectangle around a polygon. One side is on the convex hull."""
    hull = np.array(polygon.convex_hull.exterior.coords)
    best: tuple[float, Points] = (np.inf, np.zeros(2))
    for step in np.diff(hull, axis=0)[:, :2]:
        x, y = step / np.sqrt(step[0] ** 2 + step[1] ** 2)
        along, across = x * hull[:, 0] + y * hull[:, 1], -y * hull[:, 0] + x * hull[:, 1]
        area = float(shapely.box(along.min(), across.min(), along.max(), across.max()).area)
        if area < best[0]:
            longer = np.ptp(across) > np.ptp(along)
            best = (area, np.array([-y, x]) if longer else np.array([x, y]))
    return best[1]


def _grown(region: tuple[float, float], grow: float) -> Any:
    x, y = region[0] / 2 + grow, region[1] / 2 + grow
    return shapely.box(-x, -y, x, y)


def _lines(geometry: Any) -> list[Points]:
    """The lines in the result of an intersection; lines that are separated by a ring's first point are joined."""
    parts = [part for part in shapely.get_parts(geometry) if part.geom_type == "LineString" and part.length > 0]
    merged = shapely.line_merge(shapely.MultiLineString(parts)) if parts else None
    return [np.array(part.coords) for part in shapely.get_parts(merged)] if merged is not None else []


def _dividers(visible: list[tuple[Any, tuple[int, str]]], areas: list[Any], rules: TruthRules) -> list[Any]:
    lines = _without_copies(visible, rules)
    if rules.drop_on_boundary:
        edge = shapely.union_all(areas).boundary.buffer(rules.duplicate_buffer)
        strips = [_strip(line, rules) for line, _ in lines]
        overlaps = [strip.intersection(edge).area for strip in strips]
        lines = [
            one
            for one, overlap in zip(lines, overlaps, strict=True)
            if overlap <= rules.duplicate_overlap * one[0].length
        ]
    joined = _join([line for line, _ in lines], rules.join_distance)
    if rules.divider_source == "lane-marks":
        return joined
    return [line for line, _ in _without_copies([(line, (k, "")) for k, line in enumerate(joined)], rules)]


def _without_copies(lines: list[tuple[Any, tuple[int, str]]], rules: TruthRules) -> list[tuple[Any, tuple[int, str]]]:
    ordered = sorted(lines, key=lambda line: (-round(line[0].length, 3), line[1]))
    kept: list[tuple[Any, tuple[int, str]]] = []
    for line, name in ordered:
        strip = _strip(line, rules)
        copy = False
        for other, _ in kept:
            wide = _strip(other, rules)
            overlap = strip.intersection(wide).area
            if rules.divider_source == "lane-marks":
                copy |= overlap > rules.duplicate_overlap * min(line.length, other.length)
            else:
                copy |= overlap >= rules.duplicate_overlap * (strip.area + wide.area - overlap)
        if not copy:
            kept.append((line, name))
    return kept


def _strip(line: Any, rules: TruthRules) -> Any:
    return line.buffer(rules.duplicate_buffer, cap_style="flat", join_style="mitre")


def _join(lines: list[Any], distance: float) -> list[Any]:
    """Join the straightest pair of lines whose ends meet until no ends meet."""
    points = [np.array(line.coords) for line in lines]
    while True:
        pairs = [
            (straight, i, j, flips)
            for (i, one), (j, other) in combinations(enumerate(points), 2)
            for flips in ((False, False), (False, True), (True, False), (True, True))
            if (straight := _straightness(one[:: -1 if flips[0] else 1], other[:: -1 if flips[1] else 1], distance)) > 0
        ]
        if not pairs:
            return [shapely.LineString(line) for line in points]
        _, i, j, flips = max(pairs)
        one, other = points[i][:: -1 if flips[0] else 1], points[j][:: -1 if flips[1] else 1]
        points = [line for k, line in enumerate(points) if k not in (i, j)] + [np.concatenate([one, other[1:]])]


def _straightness(one: Points, other: Points, distance: float) -> float:
    """Cosine of the turn from the end of one line to the beginning of the other; 0 if they do not meet."""
    if np.linalg.norm(one[-1] - other[0]) > distance:
        return 0.0
    a, b = one[-1] - one[-2], other[1] - other[0]
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def _points(line: list[dict[str, float]]) -> list[tuple[float, float]]:
    return [(point["x"], point["y"]) for point in line]
