"""Reads the lane graphs of nuScenes: lanes and lane connectors of the map expansion, with their arcline paths."""

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.frames.findings import findings_about
from mapgauge.truth.from_nuscenes.maps import NEWER, read_expansion
from mapgauge.truth.from_nuscenes.tables import records_by_token, repeated_records
from mapgauge.truth.lane_graphs import RESOLUTION, Lane, LaneGraph, left_out_lanes
from mapgauge.typing import Points
from mapgauge.words import counted

_TURN = {"L": 1.0, "S": 0.0, "R": -1.0}
LARGEST_GAP = 0.1  # metres between the end of a path and its stated end


class ArclinePath(msgspec.Struct):
    """One path, as in ``arcline_path_3`` of the map expansion."""

    start_pose: tuple[float, float, float]  # x, y in metres, heading in radians
    end_pose: tuple[float, float, float]
    shape: str  # such as "LSR"
    radius: float  # metres, of all arcs
    segment_length: tuple[float, float, float]  # metres

    def fault(self) -> str:
        """Return what is wrong with the path, or an empty text."""
        numbers = (*self.start_pose, *self.end_pose, self.radius, *self.segment_length)
        if not all(map(math.isfinite, numbers)):
            return "expected finite numbers, found NaN or infinity"
        if len(self.shape) != len(self.segment_length) or not set(self.shape) <= set(_TURN):
            return f"expected a shape of three letters L, R or S, found {self.shape!r}"
        if self.radius <= 0:
            return f"expected a positive radius, found {self.radius}"
        if min(self.segment_length) < 0:
            return f"expected lengths of at least 0, found {list(self.segment_length)}"
        return ""

    @property
    def length(self) -> float:
        """Length in metres."""
        return sum(self.segment_length)

    @property
    def gap(self) -> float:
        """Metres from the end of the curve to the end pose, which should be the same."""
        end = self.points(math.inf)[-1]
        return math.hypot(end[0] - self.end_pose[0], end[1] - self.end_pose[1])

    def points(self, resolution: float) -> Points:
        """Return points of the curve at equal distances of at most ``resolution`` metres, both ends included."""
        steps = max(1, math.ceil(self.length / resolution - 1e-9))
        along = np.linspace(0.0, self.length, steps + 1)
        x, y, heading = self.start_pose
        points = np.empty((steps + 1, 2))
        begin = 0.0
        for letter, length in zip(self.shape, self.segment_length, strict=True):
            curvature = _TURN[letter] / self.radius
            # The last segment that begins before a point overwrites what earlier ones put there.
            later = along >= begin
            points[later] = _arc((x, y), heading, curvature, along=along[later] - begin)
            x, y = _arc((x, y), heading, curvature, along=np.array([length]))[0]
            heading = heading + curvature * length
            begin += length
        return points


def _arc(start: tuple[float, float], heading: float, curvature: float, along: Points) -> Points:
    """Return the points of an arc at distances from its start. A curvature of 0 gives a straight line."""
    half = curvature * along / 2
    chord = along * np.sinc(half / np.pi)  # sin(half) / half, also for half = 0
    return np.column_stack([start[0] + chord * np.cos(heading + half), start[1] + chord * np.sin(heading + half)])


def path_points(paths: Sequence[ArclinePath], resolution: float) -> Points:
    """Return the points of consecutive paths. The point where two paths meet is not repeated."""
    parts = [path.points(resolution) for path in paths if path.length > 0]
    return np.concatenate([np.empty((0, 2)), *parts[:1], *(part[1:] for part in parts[1:])])


class _Lane(msgspec.Struct):
    token: str
    lane_type: str = ""


class _Connections(msgspec.Struct):
    incoming: list[str] = []
    outgoing: list[str] = []


class _Map(msgspec.Struct):
    lane: list[_Lane] | None = None
    lane_connector: list[_Lane] | None = None
    arcline_path_3: dict[str, list[ArclinePath]] | None = None
    connectivity: dict[str, _Connections] | None = None


def read_lane_graph(root: Path, location: str) -> LaneGraph:
    """Read the lanes and lane connectors of one city."""
    path, content = read_expansion(root, location, _Map, remedy=NEWER)
    lacking = [name for name in _Map.__struct_fields__ if getattr(content, name) is None]
    if lacking:
        raise UnreadableFile(f"{path}: layer {', '.join(lacking)} not found; centrelines need it", remedy=NEWER)
    lanes = []
    left_out = []
    apart = []
    repeated: list[str] = []
    records = [
        (record, name == "lane_connector")
        for name, layer in (("lane", content.lane), ("lane_connector", content.lane_connector))
        for record in records_by_token(layer or [], path, name, repeated=repeated).values()
    ]
    for record, is_connector in records:
        paths = (content.arcline_path_3 or {}).get(record.token, [])
        for k, part in enumerate(paths):
            if part.fault():
                raise UnreadableFile(f"{path}: arcline_path_3 {record.token}, path {k}: {part.fault()}")
        points = path_points(paths, RESOLUTION)
        if len(points) < 2:
            left_out.append(record.token)
            continue
        if any(part.gap > LARGEST_GAP for part in paths):
            apart.append(record.token)
        joins = (content.connectivity or {}).get(record.token, _Connections())
        ways = joins.outgoing, joins.incoming
        lanes.append(Lane(record.token, points, *ways, intersection=is_connector, lane_type=record.lane_type))
    torn = counted(len(apart), "lane has", "lanes have")
    text = f"{location}: {torn} a path that ends more than {LARGEST_GAP} m from its stated end"
    findings = (
        *repeated_records(location, repeated),
        *left_out_lanes(location, left_out),
        *findings_about(apart, "warning", "lane-path-ends", text=text),
    )
    return LaneGraph.of(lanes, findings)
