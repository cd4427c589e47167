"""Predictions on nuScenes in both layouts of the field. The files are not part of the repository."""

import json

import numpy as np
from tests.shared_data import DATA, needs_data

import mapgauge as mg

FOLDER = DATA / "nuscenes_mini_predictions"
pytestmark = needs_data("nuscenes_mini_predictions")


def test_predictions_on_nuscenes_mini_load_in_both_schemas() -> None:
    streammapnet, maptr = mg.read(FOLDER / "submission_vector.json"), mg.read(FOLDER / "nuscmap_results.json")
    assert (streammapnet.format, maptr.format) == ("streammapnet", "maptr")
    assert streammapnet.tokens == maptr.tokens
    assert len(maptr) == 81
    assert np.diff(maptr.offsets).tolist() == [50] * 81
    names = [frames.classes for frames in (streammapnet, maptr)]
    assert [names[0][k] for k in streammapnet.label] == [names[1][k] for k in maptr.label]
    assert streammapnet.confidence is not None
    assert maptr.confidence is not None
    assert np.array_equal(streammapnet.confidence, maptr.confidence)


def test_poses_take_the_maptr_axes_of_nuscenes_into_those_of_streammapnet() -> None:
    streammapnet, maptr = mg.read(FOLDER / "submission_vector.json"), mg.read(FOLDER / "nuscmap_results.json")
    infos = json.loads((FOLDER / "mini_val_poses.json").read_text(encoding="utf-8"))["infos"]
    by_token = {info["token"]: info for info in infos}
    poses = [lidar_to_ego(by_token[token]) for token in maptr.tokens]
    moved = maptr.transform(np.array(poses)).polylines.coords
    # The file was made by that motion, with points taken at the height of the LiDAR's origin.
    assert np.abs(moved - streammapnet.polylines.coords).max() < 0.05


def lidar_to_ego(info: dict[str, list[float]]) -> np.ndarray:
    w, x, y, z = info["lidar2ego_rotation_wxyz"]
    pose = np.eye(4)
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    pose[:3, 3] = info["lidar2ego_translation"]
    return pose
