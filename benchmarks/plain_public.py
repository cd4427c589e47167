"""The baseline for the rules of public converters on Argoverse 2: shapely cuts every element for every frame.

The converters work like this. The lines are the same as mapgauge's. There is no spatial index, nothing is prepared in
advance, and all pairs of lines are compared. The map is used as the JSON file stores it.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from benchmarks.plain_truth import PARALLEL, UNPAINTED, long_side
from numpy.typing import NDArray
from shapely.affinity import rotate

from mapgauge.truth.rules import TruthRules
from mapgauge.typing import Points

Pose = NDArray[np.float64]
Region = tuple[float, float]


def cut(content: dict[str, Any], pose: Pose, region: Region, rules: TruthRules) -> list[list[Points]]:
    """The truth of one frame: crossings, dividers, boundaries."""
    edges = _boundaries(content, pose, region, rules)
    if rules.divider_source == "lane-marks":
        dividers = _painted(content, pose, region, rules, edges)
    else:
        dividers = _paths(content, pose, region, rules, edges)
    classes = (_crossings(content, pose, region, rules), dividers, edges)
    return [[np.array(line.simplify(rules.simplify).coords)[:, :2] for line in lines] for lines in classes]


def _points(line: list[dict[str, float]]) -> Points:
    return np.array([(point["x"], point["y"], point["z"]) for point in line])


def _to_vehicle(points: Points, pose: Pose) -> Points:
    return points @ pose[:3, :3] + pose[:3, :3].T @ -pose[:3, 3]


def _moved(geometry: Any, pose: Pose) -> Any:
    return shapely.transform(geometry, lambda points: _to_vehicle(points, pose), include_z=True)


def _box(region: Region, grow: float = 0.0) -> Any:
    x, y = region[0] / 2 + grow, region[1] / 2 + grow
    return shapely.box(-x, -y, x, y)


def _patch(pose: Pose, region: Region) -> Any:
    (x, y), (length, width) = pose[:2, 3].tolist(), region
    box = shapely.box(x - length / 2, y - width / 2, x + length / 2, y + width / 2)
    return rotate(box, np.arctan2(pose[1, 0], pose[0, 0]) / np.pi * 180, origin=(x, y))


def _parts(geometry: Any, kind: str) -> list[Any]:
    if geometry.geom_type == kind:
        return [] if geometry.is_empty else [geometry]
    return [one for part in getattr(geometry, "geoms", ()) for one in _parts(part, kind)]


def _ring(ring: Any, ccw: bool) -> Any:
    return ring if ring.is_ccw == ccw else shapely.LinearRing(list(ring.coords)[::-1])


def _merged(lines: list[Any]) -> list[Any]:
    return _parts(shapely.line_merge(shapely.MultiLineString(lines)), "LineString") if len(lines) > 1 else lines


def _boundaries(content: dict[str, Any], pose: Pose, region: Region, rules: TruthRules) -> list[Any]:
    pieces = []
    for area in content["drivable_areas"].values():
        polygon = shapely.Polygon(_points(area["area_boundary"]))
        if rules.cut_in == "vehicle":
            pieces += _parts(_moved(polygon, pose).intersection(_box(region)), "Polygon")
        elif polygon.is_valid:
            pieces += _parts(_moved(polygon.intersection(_patch(pose, region)), pose), "Polygon")
    union = _parts(shapely.union_all(pieces), "Polygon")
    rings = [_ring(polygon.exterior, False) for polygon in union]
    rings += [_ring(ring, True) for polygon in union for ring in polygon.interiors]
    inner = _box(region, rules.boundary_grow)
    return [line for ring in rings for line in _merged(_parts(ring.intersection(inner), "LineString"))]


def _crossings(content: dict[str, Any], pose: Pose, region: Region, rules: TruthRules) -> list[Any]:
    outlines = [
        np.concatenate([_points(one["edge1"]), _points(one["edge2"])[::-1]])
        for one in content["pedestrian_crossings"].values()
    ]
    polygons = [shapely.Polygon(outline) for outline in outlines]
    if rules.crossing_again == "no":
        patch = _patch(pose, region)
        cut = [polygon.intersection(patch) for polygon in polygons if polygon.is_valid]
        polygons = _merge_parallel([part for one in cut for part in _parts(_moved(one, pose), "Polygon")])
        inner = _box(region, rules.crossing_cut or 0.0)
    else:
        polygons, inner = [_moved(polygon, pose) for polygon in polygons], _box(region)
    found = []
    for polygon in polygons:
        lines = _parts(_ring(polygon.exterior, True).intersection(inner), "LineString")
        if not lines:
            continue
        points = np.concatenate([np.array(line.coords) for line in _merged(lines)])
        close = rules.crossing_again == "closed" or (rules.crossing_again == "open" and len(lines) > 1)
        if close and not np.allclose(points[0], points[-1], atol=1e-3):
            points = np.concatenate([points, points[:1]])
        if not rules.crossing_least or shapely.Polygon(points).area >= rules.crossing_least:
            found.append(shapely.LineString(points))
    return found


def _merge_parallel(polygons: list[Any]) -> list[Any]:
    found = []
    while polygons:
        one, *others = polygons
        union, polygons = one, []
        for other in others:
            meets = shapely.box(*one.bounds).intersects(shapely.box(*other.bounds))
            if meets and 1 - abs(long_side(one) @ long_side(other)) < PARALLEL:
                union = union.union(other)
            else:
                polygons.append(other)
        found += _parts(union, "Polygon")
    return found


def _painted(content: dict[str, Any], pose: Pose, region: Region, rules: TruthRules, edges: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for lane in content["lane_segments"].values():
        for side in ("right", "left"):
            line = shapely.LineString(_to_vehicle(_points(lane[f"{side}_lane_boundary"]), pose))
            parts = _parts(line.intersection(_box(region)), "LineString")
            for part in [] if lane[f"{side}_lane_mark_type"] in UNPAINTED else parts:
                if not any(_beside(part, other, rules.duplicate_overlap) for other in kept):
                    kept.append(part)
    kept = [line for line in kept if not any(_beside(line, edge, rules.duplicate_overlap) for edge in edges)]
    return _join(kept, rules.join_distance)


def _beside(one: Any, other: Any, least: float) -> bool:
    strips = one.buffer(0.3, quad_segs=16), other.buffer(0.3, quad_segs=16)
    return bool(strips[0].intersection(strips[1]).area > least * min(one.length, other.length))


def _alike(one: Any, other: Any, least: float) -> bool:
    return bool(one.intersection(other).area >= least * one.union(other).area)


def _join(lines: list[Any], distance: float) -> list[Any]:
    left, found = [np.array(line.coords) for line in lines], []
    while left:
        one = left.pop(0)
        k = 0
        while k < len(left):
            other = left[k]
            ends = [(a, b) for a in (0, -1) for b in (0, -1) if np.linalg.norm(one[a] - other[b]) < distance]
            if not ends:
                k += 1
                continue
            a, b = ends[0]
            turned = other[::-1] if a == b else other
            one = np.concatenate([turned, one] if a == 0 else [one, turned])
            left.pop(k)
            k = 0
        found.append(shapely.LineString(one))
    return found


def _paths(content: dict[str, Any], pose: Pose, region: Region, rules: TruthRules, edges: list[Any]) -> list[Any]:
    patch = _patch(pose, region)
    sets: dict[str, dict[int, dict[str, Any]]] = {"left": {}, "right": {}}
    for lane in content["lane_segments"].values():
        left, right = _points(lane["left_lane_boundary"]), _points(lane["right_lane_boundary"])
        polygon = shapely.Polygon(np.concatenate([right, left[::-1]]))
        if polygon.is_valid and not polygon.intersection(patch).is_empty and not lane["is_intersection"]:
            for side, line in (("left", left), ("right", right)):
                if lane[f"{side}_neighbor_id"] is not None:
                    sets[side][lane["id"]] = {**lane, "line": line}
    for side, other in (("left", "right"), ("right", "left")):
        for lane in sets[side].values():
            sets[other].pop(lane[f"{side}_neighbor_id"], None)
    paths = [path for side in ("left", "right") for path in _follow(sets[side], rules)]
    lines = [shapely.LineString(path).simplify(rules.simplify_dividers) for path in paths]
    cut = [part for line in lines for part in _parts(_moved(line.intersection(patch), pose), "LineString")]
    kept: list[tuple[Any, Any]] = []
    for line in cut:
        strip = line.buffer(rules.duplicate_buffer, cap_style="flat", join_style="mitre")
        if not any(_alike(strip, other, rules.duplicate_overlap) for _, other in kept):
            kept.append((line, strip))
    found = [line for line, _ in kept]
    if rules.join_distance:
        found = _join(found, rules.join_distance)
    return [line for line in found if not (rules.drop_on_boundary and any(_beside(line, e, 0.2) for e in edges))]


def _follow(lanes: dict[int, dict[str, Any]], rules: TruthRules) -> list[Any]:
    if rules.divider_source == "one-way-paths":
        lanes = _one_way(lanes)
    after: dict[Any, dict[Any, None]] = {}
    for lane in lanes.values():
        points = [tuple(point) for point in lane["line"].round(3).tolist()]
        before = [lanes[key]["line"].round(3)[-1].tolist() for key in lane["predecessors"] if key in lanes]
        behind = [lanes[key]["line"].round(3)[0].tolist() for key in lane["successors"] if key in lanes]
        steps = list(pairwise(points))
        steps += [(tuple(point), points[0]) for point in before] + [(points[-1], tuple(point)) for point in behind]
        for start, stop in steps:
            after.setdefault(start, {})
            after.setdefault(stop, {})
            if start != stop:
                after[start][stop] = None
    entered = {stop for stops in after.values() for stop in stops}
    order = {point: k for k, point in enumerate(after)}
    found = []
    for start in after:
        if start not in entered:
            paths = _from(after, [start])
            found += sorted(paths, key=lambda path: order[path[-1]]) if rules.drop_on_boundary else paths
    return found


def _from(after: dict[Any, dict[Any, None]], path: list[Any]) -> list[list[Any]]:
    if not after[path[-1]]:
        return [path]
    return [longer for point in after[path[-1]] if point not in path for longer in _from(after, [*path, point])]


def _one_way(lanes: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    kept: dict[int, dict[str, Any]] = {}
    for key, lane in lanes.items():
        strip = shapely.LineString(lane["line"]).buffer(0.01, quad_segs=16)
        strips = [shapely.LineString(other["line"]).buffer(0.01, quad_segs=16) for other in kept.values()]
        if not any(_alike(strip, other, 0.9) for other in strips):
            kept[key] = dict(lane)
    for mine, theirs in (("predecessors", "successors"), ("successors", "predecessors")):
        for key, lane in kept.items():
            if lane[mine] and (lane[mine][0] not in kept or lane[mine][0] == key):
                lane[mine] = []
            elif lane[mine]:
                kept[lane[mine][0]][theirs] = [key]
    return kept
