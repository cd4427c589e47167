"""Poses, scenes and the order of frames: what is missing or wrong is an error or a finding."""

from dataclasses import replace

import numpy as np
import pytest
from tests.features.tracks.worlds import perfect, shuffled

import mapgauge as mg
from mapgauge.features.tracks.drives import common_areas, drives_of, inverse_of, motions_between


def codes(frames: mg.MapFrames) -> list[str]:
    return [finding.code for finding in drives_of(frames).findings]


def broken(poses: np.ndarray, at: int, how: str) -> np.ndarray:
    changed = poses.copy()
    if how == "nan":
        changed[at, 0, 3] = np.nan
    elif how == "stretched":
        changed[at, :3, :3] *= 1.1
    else:
        changed[at, 0, :3] *= -1
    return changed


@pytest.mark.parametrize("how", ["nan", "stretched", "mirrored"])
@pytest.mark.parametrize("measure", [mg.consistency, mg.track])
def test_a_pose_that_is_no_rotation_is_named(how: str, measure: object) -> None:
    frames = perfect(20)
    assert frames.poses is not None
    wrong = replace(frames, poses=broken(frames.poses, 13, how))
    with pytest.raises(mg.InvalidInput, match=f"the pose of frame {frames.tokens[13]} is not a rigid motion"):
        measure(wrong)  # type: ignore[operator]


def test_missing_poses_and_scenes_are_errors_that_say_what_to_do() -> None:
    frames = perfect(10)
    bare = replace(frames, poses=None)
    with pytest.raises(mg.InvalidInput, match=r"no poses.*Pass poses="):
        drives_of(bare)
    with pytest.raises(mg.InvalidInput, match="no poses, and demo-truth has none either"):
        drives_of(bare, bare)
    with pytest.raises(mg.InvalidInput, match=r"no scenes.*scenes="):
        drives_of(replace(frames, scenes=None))
    with pytest.raises(mg.InvalidInput, match="1 tokens have no scene"):
        drives_of(frames, scenes=dict.fromkeys(frames.tokens[1:], "s"))
    with pytest.raises(mg.InvalidInput, match="10 of 10 frames of demo-truth"):
        drives_of(frames, perfect(30).between(slice(10, 30)))
    with pytest.raises(mg.InvalidInput, match="no frames"):
        drives_of(frames.at([]))
    with pytest.raises(mg.InvalidInput, match="1 tokens occur more than once"):
        drives_of(frames.at([0, 1, 1]))


def test_the_truth_may_have_scenes_only() -> None:
    frames = perfect(20)
    found = drives_of(replace(frames, scenes=None), replace(frames, poses=None).at(list(range(20))[::-1]))
    assert found.frames.scenes == frames.scenes[::-1] if frames.scenes else False
    assert {scene: len(own) for scene, own in found.scenes.items()} == {"scene-0000": 10, "scene-0001": 10}


def test_scenes_of_argoverse_2_come_from_the_tokens() -> None:
    frames = perfect(10)
    log = "3b3570b4-7b0b-3268-a571-b0889dbf40b6"
    named = replace(frames, scenes=None, tokens=tuple(f"{log}_{315971916927482490 + k}" for k in range(10)))
    assert list(drives_of(named).scenes) == [log]


def test_frames_are_sorted_by_time() -> None:
    frames = perfect(20)
    mixed = shuffled(frames, np.random.default_rng(0))
    found = drives_of(mixed)
    for scene, own in found.scenes.items():
        assert [mixed.tokens[i] for i in own] == [f"{scene}-{k}" for k in range(10)]
    assert codes(frames) == []
    assert codes(mixed) == ["scenes-in-pieces", "scenes-order"]
    assert codes(replace(frames, timestamps=None)) == ["timestamps-missing"]
    assert codes(replace(mixed, timestamps=None)) == ["scenes-in-pieces"]
    assert frames.timestamps is not None
    assert codes(replace(frames, timestamps=frames.timestamps // 1_000_000)) == ["timestamps-equal"]
    single = frames.at([*range(10), 12])
    assert codes(single) == ["scenes-one-frame"]


def test_one_frame_only() -> None:
    single = replace(perfect(10), track=None).at([3])
    with pytest.raises(mg.InvalidInput, match="no two frames of a scene"):
        mg.consistency(single)
    tracked = mg.track(single)
    assert tracked.track is not None
    assert len(set(tracked.track)) == len(tracked.track)
    assert [finding.code for finding in tracked.findings] == ["scenes-one-frame"]


def test_motions_and_common_areas() -> None:
    poses = perfect(20).poses
    assert poses is not None
    there = motions_between(poses, np.array([0, 3]), np.array([1, 7]))
    assert np.allclose(there, np.linalg.inv(poses[[1, 7]]) @ poses[[0, 3]], atol=1e-9)
    assert np.allclose(inverse_of(there) @ there, np.eye(4), atol=1e-12)
    shift = np.eye(4)[None].repeat(3, axis=0)
    shift[:, 0, 3] = 0, 20, 61
    assert common_areas(shift, (-30.0, -15.0, 30.0, 15.0)).tolist() == [1800.0, 1200.0, 0.0]
    turned = np.eye(4)
    turned[:2, :2] = [[0, -1], [1, 0]]
    assert common_areas(turned[None], (-30.0, -15.0, 30.0, 15.0)).tolist() == [900.0]


def test_a_tilted_vehicle_does_not_move_a_flat_map() -> None:
    frames = perfect(10)
    assert frames.poses is not None
    tilt = np.eye(4)
    tilt[1:3, 1:3] = [[np.cos(0.05), -np.sin(0.05)], [np.sin(0.05), np.cos(0.05)]]
    tilted = replace(frames, poses=frames.poses @ tilt)
    plain, found = (mg.consistency(side, lags=[1]).flicker for side in (frames, tilted))
    assert found == pytest.approx(plain, abs=1e-6)
