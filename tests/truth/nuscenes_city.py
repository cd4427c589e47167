"""Synthetic cities in the schema of nuScenes: small tables and a small map expansion.

::

                        |  |            the town of ``town()``, 300 m long: a road from west to east, 14 m wide, with
        --------========|  |-----       an island, a street that crosses it at x = 150, and crossings
        --------========|  |-----.
                        |  |      \\     a curve to the south at its end
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

MINI = "v1.0-mini"
PLACE = "singapore-onenorth"
LIDAR_AT = (0.94, 0.0, 1.84)  # on the vehicle: forward of its origin
QUARTER_RIGHT = (math.sqrt(0.5), 0.0, 0.0, -math.sqrt(0.5))  # the LiDAR's x axis points to the vehicle's right

Point = tuple[float, float]


def rectangle(x_min: float, y_min: float, x_max: float, y_max: float) -> list[Point]:
    return [(x_min, y_min), (x_max, y_min), (x_max, y_max), (x_min, y_max)]


def arc(centre: Point, radius: float, start: float, stop: float, count: int = 31) -> list[Point]:
    """Points on a circle, from an angle in degrees to another."""
    angles = np.radians(np.linspace(start, stop, count))
    return [(centre[0] + radius * math.cos(a), centre[1] + radius * math.sin(a)) for a in angles]


def quaternion(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> list[float]:
    """``w, x, y, z`` of a rotation in degrees: roll first, then pitch, then yaw."""
    (cy, sy), (cp, sp), (cr, sr) = (
        (math.cos(math.radians(angle) / 2), math.sin(math.radians(angle) / 2)) for angle in (yaw, pitch, roll)
    )
    return [
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    ]


class City:
    """A map and drives through it."""

    def __init__(self, place: str = PLACE, expansion: str | None = "1.3") -> None:
        self.place = place
        self.map: dict[str, Any] = {"node": [], "line": [], "polygon": []}
        self.map |= {layer: [] for layer in ("ped_crossing", "lane_divider", "road_divider", "road_segment", "lane")}
        if expansion is not None:
            self.map["version"] = expansion
        self.tables: dict[str, list[dict[str, Any]]] = {
            "scene": [],
            "sample": [],
            "sample_data": [],
            "ego_pose": [],
            "log": [{"token": "log", "location": place, "logfile": "n001", "vehicle": "n001", "date_captured": ""}],
            "sensor": [
                {"token": "lidar", "channel": "LIDAR_TOP", "modality": "lidar"},
                {"token": "camera", "channel": "CAM_FRONT", "modality": "camera"},
            ],
            "calibrated_sensor": [
                {
                    "token": "lidar-mount",
                    "sensor_token": "lidar",
                    "translation": list(LIDAR_AT),
                    "rotation": list(QUARTER_RIGHT),
                    "camera_intrinsic": [],
                },
                {
                    "token": "camera-mount",
                    "sensor_token": "camera",
                    "translation": [1.7, 0.0, 1.5],
                    "rotation": [0.5, -0.5, 0.5, -0.5],
                    "camera_intrinsic": [[1266.4, 0.0, 816.3], [0.0, 1266.4, 491.5], [0.0, 0.0, 1.0]],
                },
            ],
        }

    def _nodes(self, points: Sequence[Point]) -> list[str]:
        first = len(self.map["node"])
        self.map["node"] += [
            {"token": f"node-{first + k}", "x": float(x), "y": float(y)} for k, (x, y) in enumerate(points)
        ]
        return [f"node-{first + k}" for k in range(len(points))]

    def line(self, layer: str, points: Sequence[Point], token: str) -> None:
        self.map["line"].append({"token": f"line-{token}", "node_tokens": self._nodes(points)})
        self.map[layer].append({"token": token, "line_token": f"line-{token}"})

    def polygon(self, layer: str, points: Sequence[Point], token: str, holes: Sequence[Sequence[Point]] = ()) -> None:
        inside = [{"node_tokens": self._nodes(hole)} for hole in holes]
        outline = self._nodes(points)
        self.map["polygon"].append({"token": f"polygon-{token}", "exterior_node_tokens": outline, "holes": inside})
        self.map[layer].append({"token": token, "polygon_token": f"polygon-{token}"})

    def scene(self, name: str, poses: Sequence[tuple[float, ...]]) -> None:
        """Add a drive through poses: x, y, yaw and, optionally, pitch and roll in degrees."""
        self.tables["scene"].append(
            {"token": f"token-{name}", "name": name, "log_token": "log", "nbr_samples": len(poses), "description": ""}
        )
        for k, (x, y, *angles) in enumerate(poses):
            token, time = f"{name}-{k}", 1_500_000_000_000_000 + 500_000 * k
            self.tables["sample"].append({"token": token, "timestamp": time, "scene_token": f"token-{name}"})
            for sensor, key in (("lidar", True), ("camera", True), ("lidar", False)):
                self._seen(token, time, sensor, key, [x, y, 0.0], quaternion(*angles))

    def _seen(self, sample: str, time: int, sensor: str, key: bool, at: list[float], turn: list[float]) -> None:
        folder = "samples" if key else "sweeps"
        channel = {"lidar": "LIDAR_TOP", "camera": "CAM_FRONT"}[sensor]
        name = f"{sample}-{sensor}-{folder}"
        off = 0.0 if (sensor, key) == ("lidar", True) else 5.0  # the others saw it from elsewhere
        self.tables["ego_pose"].append(
            {"token": name, "timestamp": time, "rotation": turn, "translation": [at[0] + off, *at[1:]]}
        )
        self.tables["sample_data"].append(
            {
                "token": name,
                "sample_token": sample,
                "ego_pose_token": name,
                "calibrated_sensor_token": f"{sensor}-mount",
                "timestamp": time,
                "fileformat": "pcd",
                "is_key_frame": key,
                "height": 0,
                "width": 0,
                "filename": f"{folder}/{channel}/{name}.pcd.bin",
                "prev": "",
                "next": "",
            }
        )

    def write(self, root: Path, version: str = MINI) -> Path:
        """Write the folder of the data set, as it is downloaded."""
        (root / version).mkdir(parents=True, exist_ok=True)
        (root / "maps" / "expansion").mkdir(parents=True, exist_ok=True)
        for table, records in self.tables.items():
            (root / version / f"{table}.json").write_text(json.dumps(records, indent=0), encoding="utf-8")
        (root / "maps" / "expansion" / f"{self.place}.json").write_text(json.dumps(self.map), encoding="utf-8")
        return root


def town() -> City:
    """The town drawn above, with two scenes."""
    city = City()
    island = rectangle(78, -1.5, 96, 1.5)
    city.polygon("road_segment", rectangle(0, -7, 157, 7), "west", holes=[island])
    city.polygon("road_segment", rectangle(143, -60, 157, 60), "street")
    city.polygon("lane", rectangle(157, 0, 220, 7), "east-north")
    city.polygon("lane", rectangle(157, -7, 220, 0), "east-south")
    bend = (220.0, -30.0)
    city.polygon("road_segment", [*arc(bend, 37, 90, 0), *arc(bend, 23, 0, 90)], "bend")
    city.line("road_divider", [(0, 0), (78, 0)], "middle-west")
    city.line("road_divider", [(96, 0), (143, 0)], "middle-centre")
    city.line("road_divider", [(157, 0), (220, 0), *arc(bend, 30, 90, 0)[1:]], "middle-east")
    city.line("lane_divider", [(0, 3.5), (143, 3.5)], "left-lane")
    city.line("lane_divider", [(0, -3.5), (143, -3.5)], "right-lane")
    city.polygon("ped_crossing", rectangle(40, -7, 44, 0), "zebra-b")
    city.polygon("ped_crossing", rectangle(40, 0, 44, 7), "zebra-a")
    city.polygon("ped_crossing", rectangle(138, -7, 142, 7), "stop-west")
    city.polygon("ped_crossing", rectangle(142, 7, 158, 11), "stop-north")
    city.scene("scene-0103", [(10.0 * k, -2.0, 0.0) for k in range(1, 22)])
    city.scene("scene-0916", [(150.0, 55.0 - 10 * k, -90.0) for k in range(11)])
    return city
