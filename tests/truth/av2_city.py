"""A synthetic town in the schema of Argoverse 2: a vector map and drives through it, written as a log.

::

    y                                |      |
                                     |      |
    7  ------------------------------'      '-----.        two lanes each way. The line between the lanes to the
    0  ======== [island] ==================  ======  \\      west (y = 3.5) has no paint; the edges of the road do
   -7  ------------------------------.      .---.   \\  \\
                                     |      |    \\   \\  \\   a curve to the south about (120, -50), radius 50
      -20     40      50            100    120

Metres from a corner of the town (``ORIGIN``), which is far from the origin of the city.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import feather
from tests.arrays import Points

ORIGIN = np.array([1000.0, 2000.0, 20.0])
START = 315_966_000_000_000_000  # ns
LOG = "00000000-1111-3222-8333-444444444444"
OTHER_LOG = "99999999-1111-3222-8333-444444444444"

CENTRE = (120.0, -50.0)  # of the curve
PATHS = {"edge": -7.0, "right": -3.5, "middle": 0.0, "left": 3.5, "other edge": 7.0}  # y, or distance from the curve

Line = Sequence[tuple[float, float]]
Line3 = Sequence[tuple[float, float, float]]  # with the height above the vehicle


class At(NamedTuple):
    """A pose of the car; angles in degrees."""

    x: float
    y: float
    yaw: float = 0.0
    pitch: float = 0.0
    roll: float = 0.0


def arc(radius: float, start: float, stop: float) -> Line:
    """Points every degree about the centre of the curve."""
    angles = np.radians(np.linspace(start, stop, round(abs(stop - start)) + 1))
    return [(CENTRE[0] + radius * math.cos(a), CENTRE[1] + radius * math.sin(a)) for a in angles]


class Town:
    """A vector map that can be written."""

    def __init__(self) -> None:
        self.map: dict[str, dict[str, Any]] = {"lane_segments": {}, "pedestrian_crossings": {}, "drivable_areas": {}}

    def lane(
        self,
        number: int,
        left: Line | Line3,
        right: Line | Line3,
        marks: tuple[str, str] = ("NONE", "NONE"),
        neighbours: tuple[int | None, int | None] = (None, None),
        intersection: bool = False,
        predecessors: Sequence[int] = (),
        successors: Sequence[int] = (),
    ) -> None:
        self.map["lane_segments"][str(number)] = {
            "id": number,
            "is_intersection": intersection,
            "lane_type": "VEHICLE",
            "left_lane_boundary": points(left),
            "left_lane_mark_type": marks[0],
            "right_lane_boundary": points(right),
            "right_lane_mark_type": marks[1],
            "successors": [*successors],
            "predecessors": [*predecessors],
            "left_neighbor_id": neighbours[0],
            "right_neighbor_id": neighbours[1],
        }

    def crossing(self, number: int, edge1: Line, edge2: Line) -> None:
        edges = {"edge1": points(edge1), "edge2": points(edge2)}
        self.map["pedestrian_crossings"][str(number)] = {"id": number, **edges}

    def area(self, number: int, outline: Line) -> None:
        self.map["drivable_areas"][str(number)] = {"id": number, "area_boundary": points(outline)}

    def write(
        self, folder: Path, poses: Sequence[At], *, log: str = LOG, sweeps: bool = True, map_folder: str = "map"
    ) -> Path:
        """Write a log with ten poses per second. Half-way to the next time, the car is still at the same pose."""
        at = folder / log
        (at / map_folder).mkdir(parents=True, exist_ok=True)
        (at / map_folder / f"log_map_archive_{log}____TWN_city_1.json").write_text(
            json.dumps(self.map), encoding="utf-8"
        )
        times = [START + 100_000_000 * i for i in range(len(poses))]
        write_poses(
            at, {time + half: pose for time, pose in zip(times, poses, strict=True) for half in (0, 50_000_000)}
        )
        if sweeps:
            (at / "sensors" / "lidar").mkdir(parents=True)
            for time in times:
                (at / "sensors" / "lidar" / f"{time}.feather").touch()
        return at


def points(line: Line | Line3) -> list[dict[str, float]]:
    return [{"x": x + ORIGIN[0], "y": y + ORIGIN[1], "z": ORIGIN[2] + sum(height)} for x, y, *height in line]


def write_poses(log: Path, poses: dict[int, At]) -> None:
    rows = [quaternion(pose) for pose in poses.values()]
    columns = dict(zip(("qw", "qx", "qy", "qz"), np.array(rows).T, strict=True))
    columns["tx_m"] = np.array([ORIGIN[0] + pose.x for pose in poses.values()])
    columns["ty_m"] = np.array([ORIGIN[1] + pose.y for pose in poses.values()])
    columns["tz_m"] = np.full(len(rows), ORIGIN[2])
    table = pa.table({"timestamp_ns": pa.array(list(poses), pa.int64()), **columns})
    feather.write_feather(table, log / "city_SE3_egovehicle.feather")


def quaternion(pose: At) -> tuple[float, float, float, float]:
    """``w, x, y, z``: roll first, then pitch, then yaw."""
    (cy, sy), (cp, sp), (cr, sr) = (
        (math.cos(math.radians(angle) / 2), math.sin(math.radians(angle) / 2))
        for angle in (pose.yaw, pose.pitch, pose.roll)
    )
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def rectangle(x_min: float, y_min: float, x_max: float, y_max: float) -> Line:
    return [(x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)]


def town() -> Town:
    """The town drawn above."""
    made = Town()
    _roads(made)
    # To the east, segments end at x = 40, 50, 100; to the west also at 15, where the lanes beside them have no end.
    for k, (start, stop) in enumerate(((-20, 40), (40, 50), (50, 100), (100, 120), (120, None))):
        _eastward(made, k, start, stop)
    for k, (start, stop) in enumerate(((-20, 15), (15, 40), (40, 50), (50, 100), (100, 120), (120, None))):
        _westward(made, k, start, stop)
    # Two halves that are one crossing, one apart from it, and two that meet at a right angle.
    made.crossing(1, [(60, -7), (60, 0)], [(64, -7), (64, 0)])
    made.crossing(2, [(60, 0), (60, 7)], [(64, 0), (64, 7)])
    made.crossing(3, [(70, -7), (70, 7)], [(74, -7), (74, 7)])
    made.crossing(4, [(96, -7), (96, 7)], [(99, -7), (99, 7)])
    made.crossing(5, [(98, -6), (117, -6)], [(98, -9), (117, -9)])
    return made


def _roads(made: Town) -> None:
    island = (40, -1, 50, 1)
    made.area(11, rectangle(-20, -7, island[0], 7))
    made.area(12, rectangle(island[0], -7, island[2], island[1]))
    made.area(13, rectangle(island[0], island[3], island[2], 7))
    made.area(14, rectangle(island[2], -7, 120, 7))
    made.area(15, rectangle(103, -60, 117, 60))
    made.area(16, [*arc(57, 90, 0), *arc(43, 0, 90)])


def _path(name: str, start: float, stop: float | None) -> Line:
    offset = PATHS[name]
    return [(start, offset), (stop, offset)] if stop is not None else arc(50 + offset, 90, 0)


def _around(start: float, side: float) -> Line:
    return [(start, 0), (start + 1, side), (start + 9, side), (start + 10, 0)]


def _eastward(made: Town, k: int, start: float, stop: float | None) -> None:
    """Lanes 100, 101, ... on the right, 200, 201, ... beside them on the left."""
    junction, island = start == 100, start == 40
    inner = _around(start, -1.2) if island else _path("middle", start, stop)
    across = None if island else 300 + k
    lane = "DASHED_WHITE"  # also across the junction, as a guiding line
    yellow = "NONE" if island or junction else "DOUBLE_SOLID_YELLOW"
    edge = "NONE" if junction else "SOLID_WHITE"
    right, outer = _path("right", start, stop), _path("edge", start, stop)
    made.lane(100 + k, right, outer, (lane, edge), (200 + k, None), junction)
    made.lane(200 + k, inner, right, (yellow, lane), (across, 100 + k), junction)


def _westward(made: Town, k: int, start: float, stop: float | None) -> None:
    """Lanes 300, 301, ... beside the middle of the road, 400, 401, ... on the right of them."""
    junction, island = start == 100, start == 40
    inner = _around(start, 1.2) if island else _path("middle", start, stop)
    across = None if island else 200 + k
    yellow = "NONE" if island or junction else "DOUBLE_SOLID_YELLOW"
    edge = "NONE" if junction else "SOLID_WHITE"
    right, outer = _path("left", start, stop)[::-1], _path("other edge", start, stop)[::-1]
    made.lane(300 + k, inner[::-1], right, (yellow, "NONE"), (across, 400 + k), junction)
    made.lane(400 + k, right, outer, ("UNKNOWN", edge), (300 + k, None), junction)


def seen_from(pose: At, line: Line) -> Points:
    """Points of the town as the car sees them: x forward, y to the left."""
    yaw = math.radians(pose.yaw)
    moved = np.array(line, np.float64) - (pose.x, pose.y)
    turn = np.array([(math.cos(yaw), -math.sin(yaw)), (math.sin(yaw), math.cos(yaw))])
    seen: Points = moved @ turn
    return seen
