"""Poses of whole data sets: the tables of nuScenes and the logs of Argoverse 2."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.arrays import Floats
from tests.truth import av2_city

import mapgauge as mg


def seen_from_above(poses: Floats) -> Floats:
    """Return the place of each pose and the direction of its x axis, without roll and pitch."""
    return np.column_stack([poses[:, :3, 3], np.arctan2(poses[:, 1, 0], poses[:, 0, 0])])


@pytest.mark.parametrize("rules", ["streammapnet", "maptr"])
def test_tables_of_nuscenes_have_poses_of_the_vehicle_and_of_the_lidar(town_root: Path, rules: str) -> None:
    truth = mg.truth.nuscenes(town_root, rules=rules, version="v1.0-mini", split="mini-val")
    bare = replace(truth, poses=None, scenes=None, timestamps=None)
    for folder in (town_root, town_root / "v1.0-mini"):
        posed = mg.with_poses(bare, folder)
        assert posed.poses is not None
        assert truth.poses is not None
        np.testing.assert_allclose(seen_from_above(posed.poses), seen_from_above(truth.poses), atol=1e-9)
        assert posed.scenes == truth.scenes
        np.testing.assert_array_equal(posed.timestamps, truth.timestamps)


def test_tables_of_nuscenes_without_a_frame_are_refused(town_root: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="1 of 1 tokens not found"):
        mg.with_poses(mg.MapFrames.of({"elsewhere": {}}), town_root)
    with pytest.raises(mg.InvalidInput, match="no frames are given"):
        mg.truth.own_map("map.geojson", town_root)


def test_logs_of_argoverse2_are_found_in_a_folder(tmp_path: Path) -> None:
    av2_city.town().write(tmp_path / "val", [av2_city.At(20 + 2 * i, -2) for i in range(9)])
    truth = mg.truth.argoverse2(tmp_path, rules="maptrv2", every=4)
    posed = mg.with_poses(replace(truth, poses=None, scenes=None), tmp_path)
    assert posed.poses is not None
    assert truth.poses is not None
    np.testing.assert_allclose(posed.poses, truth.poses, atol=1e-9)
    assert posed.scenes == truth.scenes
    with pytest.raises(mg.UnreadableFile, match="no city_SE3_egovehicle.feather of Argoverse 2 and no ego_pose.json"):
        mg.with_poses(truth, Path(__file__).parent)
