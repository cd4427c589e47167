"""Made-up rigs in the layouts of nuScenes and Argoverse 2: cameras on a vehicle that drives along the poses of frames.

Images are taken a little later than frames, from a place ``SHIFT`` metres ahead.
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw
from pyarrow import feather
from tests.arrays import Floats

import mapgauge as mg

SIZE = 640, 360  # pixels
FOCAL = 400.0
HEIGHT = 1.5  # of the cameras above the ground, metres
AHEAD = 1.7  # of the origin of the vehicle, metres
SHIFT = 0.25  # metres that the vehicle moves from the frame to its images
LATER = 20_000  # microseconds from a frame to its images
LIDAR_AT = (0.94, 0.0, 1.84)
CAMERAS = {"CAM_FRONT": 0.0, "CAM_FRONT_LEFT": 60.0, "CAM_BACK": 180.0}  # headings in degrees from the vehicle's x
PAINT = 232, 232, 226
RING = {"ring_front_center": 0.0, "ring_side_left": 90.0}
INTRINSICS = [[FOCAL, 0.0, SIZE[0] / 2], [0.0, FOCAL, SIZE[1] / 2], [0.0, 0.0, 1.0]]


def product(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, ...]:
    """Product of two quaternions ``w, x, y, z``."""
    (w, x, y, z), (i, j, k, m) = a, b
    return (
        w * i - x * j - y * k - z * m,
        w * j + x * i + y * m - z * k,
        w * k - x * m + y * i + z * j,
        w * m + x * k - y * j + z * i,
    )


def about_z(degrees: float) -> tuple[float, ...]:
    """Quaternion of a turn about z."""
    return math.cos(math.radians(degrees) / 2), 0.0, 0.0, math.sin(math.radians(degrees) / 2)


def facing(degrees: float) -> tuple[float, ...]:
    """Quaternion from a camera (x right, y down, z forward) to a vehicle (x forward), for a heading."""
    return product(about_z(degrees), (0.5, -0.5, 0.5, -0.5))


def ahead(pose: Floats) -> Floats:
    """Pose of the vehicle when images are taken."""
    moved: Floats = pose.copy()
    moved[:3, 3] += SHIFT * pose[:3, 0]
    return moved


def _place(pose: Floats) -> tuple[tuple[float, ...], list[float]]:
    """Quaternion and translation of a pose without roll and pitch."""
    return about_z(math.degrees(math.atan2(pose[1, 0], pose[0, 0]))), pose[:3, 3].tolist()


def draw_image(path: Path, text: str, heading: float, lines: Sequence[Floats] = ()) -> None:
    """Write an image of a sky and a ground with painted lines, which have the coordinates of the frame."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", SIZE, (176, 196, 214))
    drawing = ImageDraw.Draw(image)
    drawing.rectangle((0, SIZE[1] // 2, *SIZE), fill=(92, 94, 98))
    angle = math.radians(heading)
    for line in lines:
        points = mg.resample(line[:, :2], spacing=0.25) - (AHEAD + SHIFT, 0.0)
        depth = points @ (math.cos(angle), math.sin(angle))
        aside = points @ (math.sin(angle), -math.cos(angle))
        with np.errstate(divide="ignore"):
            seen = np.column_stack([aside, np.full(len(aside), HEIGHT)]) * FOCAL / depth[:, None] + np.array(SIZE) / 2
        for k in np.flatnonzero((depth[:-1] > 1) & (depth[1:] > 1)).tolist():
            drawing.line([tuple(seen[k]), tuple(seen[k + 1])], fill=PAINT, width=3)
    drawing.text((4, 4), text, fill=(20, 20, 20))
    image.save(path, quality=90)


def nuscenes_rig(root: Path, frames: mg.MapFrames, version: str = "v1.0-mini") -> Path:
    """Write the tables and images of the frames, whose poses are those of the vehicle, as nuScenes does.

    The lines of the frames are painted on the ground.
    """
    assert frames.poses is not None
    assert frames.timestamps is not None
    sensors: list[dict[str, Any]] = [{"token": "LIDAR_TOP", "channel": "LIDAR_TOP", "modality": "lidar"}]
    sensors += [{"token": name, "channel": name, "modality": "camera"} for name in CAMERAS]
    mounts: list[dict[str, Any]] = [_mount("LIDAR_TOP", list(LIDAR_AT), about_z(-90.0), [])]
    mounts += [_mount(name, [AHEAD, 0.0, HEIGHT], facing(turn), INTRINSICS) for name, turn in CAMERAS.items()]
    tables: dict[str, list[dict[str, Any]]] = {"sensor": sensors, "calibrated_sensor": mounts}
    tables |= {"sample": [], "sample_data": [], "ego_pose": []}
    scenes = frames.scenes or ("scene",) * len(frames)
    tables["scene"] = [{"token": f"token of {scene}", "name": scene} for scene in dict.fromkeys(scenes)]
    columns = zip(frames.tokens, frames.timestamps.tolist(), frames.poses, scenes, strict=True)
    for token, time, pose, scene in columns:
        lines = [instance.points for instance in frames[token]]
        tables["sample"].append({"token": token, "timestamp": time, "scene_token": f"token of {scene}"})
        for channel in ("LIDAR_TOP", *CAMERAS):
            later = 0 if channel == "LIDAR_TOP" else LATER
            turn, shift = _place(ahead(pose) if later else pose)
            row = {"token": f"{token}-{channel}", "timestamp": time + later}
            tables["ego_pose"].append(row | {"rotation": turn, "translation": shift})
            file = f"samples/{channel}/{token}__{time + later}." + ("jpg" if later else "pcd.bin")
            width, height = SIZE if later else (0, 0)
            about = {
                "ego_pose_token": row["token"],
                "sample_token": token,
                "calibrated_sensor_token": f"{channel}-mount",
            }
            kind = {"is_key_frame": True, "filename": file, "width": width, "height": height}
            tables["sample_data"].append(row | about | kind)
            if later:
                draw_image(root / file, f"{channel} {token}", CAMERAS[channel], lines)
    (root / version).mkdir(parents=True, exist_ok=True)
    for table, rows in tables.items():
        (root / version / f"{table}.json").write_text(json.dumps(rows, indent=0), encoding="utf-8")
    return root


def _mount(name: str, at: list[float], turn: tuple[float, ...], intrinsics: list[list[float]]) -> dict[str, Any]:
    about = {"token": f"{name}-mount", "sensor_token": name, "camera_intrinsic": intrinsics}
    return about | {"translation": at, "rotation": turn}


def argoverse2_rig(root: Path, log: str, times: list[int], poses: Floats) -> Path:
    """Write a log of Argoverse 2. Images are taken 20 ms after the frames, at ``times`` in nanoseconds."""
    folder = root / log
    (folder / "calibration").mkdir(parents=True)
    at = {time + later: shown for time, pose in zip(times, poses, strict=True) for later, shown in _twice(pose)}
    turns, shifts = zip(*map(_place, at.values()), strict=True)
    _write(folder / "city_SE3_egovehicle.feather", {"timestamp_ns": np.array(list(at))} | _columns(turns, shifts))
    names = pa.array([*RING, "up_lidar"])
    mounts = _columns([*map(facing, RING.values()), about_z(0)], [[AHEAD, 0.0, HEIGHT]] * (len(RING) + 1))
    _write(folder / "calibration" / "egovehicle_SE3_sensor.feather", {"sensor_name": names} | mounts)
    numbers = {"fx_px": FOCAL, "fy_px": FOCAL, "cx_px": SIZE[0] / 2, "cy_px": SIZE[1] / 2, "k1": -0.2}
    sizes = {"height_px": SIZE[1], "width_px": SIZE[0]}
    rows = {name: np.full(len(RING), value) for name, value in (numbers | sizes).items()}
    _write(folder / "calibration" / "intrinsics.feather", {"sensor_name": pa.array(list(RING))} | rows)
    for name, heading in RING.items():
        for time in times:
            draw_image(folder / "sensors" / "cameras" / name / f"{time + 1000 * LATER}.jpg", f"{name} {time}", heading)
    return root


def _twice(pose: Floats) -> tuple[tuple[int, Floats], tuple[int, Floats]]:
    return (0, pose), (1000 * LATER, ahead(pose))


def _columns(turns: Any, shifts: Any) -> dict[str, Floats]:
    table = np.column_stack([np.array(turns), np.array(shifts)])
    return dict(zip(("qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m"), table.T.copy(), strict=True))


def _write(path: Path, columns: dict[str, Any]) -> None:
    feather.write_feather(pa.table(columns), path)
