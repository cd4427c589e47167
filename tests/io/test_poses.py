"""Files of poses: their layouts, and how poses find their frames."""

import contextlib
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg
from mapgauge.cli.inputs import InputReader, input_file
from mapgauge.demo import demo_world
from mapgauge.truth.poses import read_poses

TURN = [np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]  # a quarter turn, w first
MATRIX = [[0.0, -1.0, 0.0, 10.0], [1.0, 0.0, 0.0, 20.0], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0]]
TIME = 1526915243047392123


def near(values: Any, expected: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(values, expected, atol=tolerance)


def saved(document: Any, path: Path) -> Path:
    path.write_bytes(pickle.dumps(document) if path.suffix == ".pkl" else json.dumps(document).encode())
    return path


def frames(token: str, forward: Any = "x") -> mg.MapFrames:
    lines = mg.MapFrames.of({token: {"divider": [[[1.0, 2.0], [9.0, 2.0]]]}}, confidence={token: {"divider": [0.5]}})
    return lines.with_forward(forward)


@pytest.mark.parametrize(
    "document",
    [
        {"poses": [{"token": "a", "translation": [10, 20, 0.5], "rotation": TURN}]},
        [{"token": "a", "translation": [10, 20, 0.5], "rotation": TURN}],
        {"roi": [60, 30], "frames": {"a": {"translation": [10, 20, 0.5], "rotation": TURN}}},
        {"a": {"ego2global_translation": [10, 20, 0.5], "ego2global_rotation": TURN}},
        {"a": {"translation": [10, 20, 0.5], "rotation": [row[:3] for row in MATRIX[:3]]}},
        [{"sample_token": "a", "ego2global": MATRIX}],
        {"a": {"pose": MATRIX}},
        {"a": MATRIX},
        {"a": [10, 20, 0.5, *TURN]},
    ],
)
def test_json_has_poses_in_several_forms(tmp_path: Path, document: Any) -> None:
    read = mg.with_poses(frames("a"), saved(document, tmp_path / "poses.json"))
    assert read.poses is not None
    near(read.poses, [MATRIX])


def test_a_pose_can_be_a_place_and_an_angle(tmp_path: Path) -> None:
    read = read_poses(saved({"a": [10, 20, 90]}, tmp_path / "poses.json"))
    assert read.poses is not None
    near(read.poses[0, :2], [MATRIX[0], MATRIX[1]])


def test_poses_without_tokens_are_named_by_their_times(tmp_path: Path) -> None:
    given = [{"timestamp": TIME, "translation": [10, 20, 0.5], "rotation": TURN}]
    assert read_poses(saved(given, tmp_path / "poses.json")).tokens == (str(TIME),)


def test_lines_of_tum_keep_nanoseconds_and_have_w_last(tmp_path: Path) -> None:
    path = tmp_path / "drive.tum"
    path.write_text(
        f"# t tx ty tz qx qy qz qw\n\n1526915243.047392123 10 20 0.5 0 0 {TURN[3]} {TURN[0]}\n", encoding="utf-8"
    )
    read = mg.read(path)
    assert (read.format, read.tokens, read.scenes) == ("poses", (str(TIME),), ("drive",))
    assert read.timestamps is not None
    assert read.timestamps.tolist() == [TIME]
    near(read.poses, [MATRIX])
    path.write_text(f"{TIME} 10 20 0.5 0 0 {TURN[3]} {TURN[0]}\n", encoding="utf-8")
    assert mg.read(path).tokens == (str(TIME),)


def test_poses_are_found_by_time(tmp_path: Path) -> None:
    path = tmp_path / "drive.tum"
    path.write_text(
        f"1526915243.0473921 10 20 0.5 0 0 {TURN[3]} {TURN[0]}\n1526915244 0 0 0 0 0 0 1\n", encoding="utf-8"
    )
    read = mg.with_poses(frames(f"log_{TIME}"), path)
    near(read.poses, [MATRIX])
    assert read.scenes == ("drive",)
    with pytest.raises(mg.UnreadableFile, match=r"no pose for 1 of 1 frames.*first: log_1526915243547392123"):
        mg.with_poses(frames("log_1526915243547392123"), path)


def test_infos_of_nuscenes_have_poses_of_the_vehicle_and_of_the_lidar(tmp_path: Path) -> None:
    info = {"token": "a", "timestamp": TIME // 1000, "scene_token": "s", "cams": {}}
    info |= {"ego2global_translation": [10, 20, 0.5], "ego2global_rotation": TURN}
    info |= {"lidar2ego_translation": np.array([0.9, 0.0, 1.8]), "lidar2ego_rotation": [TURN[0], 0, 0, -TURN[3]]}
    path = saved({"infos": [info], "metadata": {"version": "v1.0"}}, tmp_path / "infos.pkl")
    vehicle = mg.with_poses(frames("a"), path)
    near(vehicle.poses, [MATRIX])
    assert vehicle.scenes == ("s",)
    lidar = mg.with_poses(frames("a", "y"), path)
    assert lidar.poses is not None
    near(lidar.poses[0, :3], [[1, 0, 0, 10], [0, 1, 0, 20.9], [0, 0, 1, 2.3]])


@pytest.mark.parametrize("wrap", [lambda infos: infos, lambda infos: {"samples": infos, "id2map": {"l": "map.json"}}])
def test_infos_of_streammapnet_have_poses(tmp_path: Path, wrap: Any) -> None:
    turn = np.array(MATRIX)[:3, :3]
    info = {"token": "a", "timestamp": str(TIME), "log_id": "l", "cams": {}, "lidar_fpath": "x"}
    path = saved(wrap([info | {"e2g_translation": np.array([10, 20, 0.5]), "e2g_rotation": turn}]), tmp_path / "i.pkl")
    assert mg.read(path).format == "poses"
    posed = mg.with_poses(frames("a"), path)
    near(posed.poses, [MATRIX])
    assert (posed.scenes, posed.timestamps.tolist() if posed.timestamps is not None else 0) == (("l",), [TIME])


def test_maps_of_globalmapnet_have_the_poses_of_their_drives(tmp_path: Path) -> None:
    maps = {
        "m_s0": {"meta_info": {"scene_name": "s0"}, "poses": [[10, 20, 0.5, *TURN], [0, 0, 90]], "map_elements": []},
        "m_s1": {"meta_info": {"scene_name": "s1"}, "poses": [[0, 0, 90]], "map_elements": []},
    }
    read = read_poses(saved(maps, tmp_path / "m_maps.json"))
    assert (read.tokens, read.scenes) == (("s0_0", "s0_1", "s1_0"), ("s0", "s0", "s1"))
    assert read.poses is not None
    near(read.poses[0], MATRIX)


@pytest.mark.parametrize("suffix", ["parquet", "geojson"])
def test_poses_survive_a_round_trip(tmp_path: Path, suffix: str) -> None:
    _, truth = demo_world(20)
    posed = mg.with_poses(mg.MapFrames.of({token: {} for token in truth.tokens}).with_forward("x"), truth)
    mg.write(posed, tmp_path / f"posed.{suffix}")
    again = mg.read(tmp_path / f"posed.{suffix}")
    np.testing.assert_array_equal(again.poses, truth.poses)
    np.testing.assert_array_equal(again.timestamps, truth.timestamps)
    assert again.scenes == truth.scenes


def test_world_coordinates_ignore_roll_and_pitch_of_flat_frames() -> None:
    pitch = np.radians(10)
    tilted = np.array([[np.cos(pitch), 0, np.sin(pitch), 5], [0, 1, 0, 6], [-np.sin(pitch), 0, np.cos(pitch), 7]])
    pose = np.vstack([tilted, [0, 0, 0, 1]])[None]
    flat = replace(frames("a"), poses=pose).to_world()
    near(flat["a"][0].points, [[6, 8], [14, 8]])
    near(flat.poses, [np.eye(4)])
    assert flat.forward is None
    solid = mg.MapFrames.of({"a": {"divider": [[[1.0, 2.0, 0.0], [9.0, 2.0, 0.0]]]}})
    near(replace(solid, poses=pose).to_world()["a"][0].points[0], tilted @ [1, 2, 0, 1])
    with pytest.raises(mg.InvalidInput, match="no poses, which move points to the world"):
        frames("a").to_world()


def test_poses_of_the_vehicle_are_turned_to_frames_with_y_forward(tmp_path: Path) -> None:
    path = saved({"a": MATRIX}, tmp_path / "poses.json")
    world = [mg.with_poses(side, path) for side in (frames("a"), frames("a", "x").rotate(90))]
    assert world[1].forward == "y"
    moved = [side.to_world()["a"][0].points for side in world]
    near(moved[0], moved[1])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"poses": [{"token": "a", "translation": [1, 2, 3], "rotation": [2, 0, 0, 0]}]}, r'\$\["a"\] is not a pose'),
        ({"poses": [{"translation": [1, 2, 3], "rotation": TURN}]}, r"\$\[0\] has no 'token'"),
        ({"a": {"translation": [1, 2, 3], "rotation": TURN, "timestamp": 0.5}}, "expected a whole number"),
        ({"a": {"translation": [1, 2, 3], "rotation": TURN, "timestamp": 10**30}}, "timestamp"),
        ({"a": {"translation": [1, 2, 3], "rotation": TURN, "timestamp": "9" * 5000}}, "expected a whole number"),
        ({"a": [[1, 2], [3, 4]]}, r"is not a pose, expected a translation and a rotation"),
        ({"a": [[2.0, 0, 0, 0], *MATRIX[1:]]}, "is not a pose"),
        ({"a": [float("nan"), 0, 0]}, "is not a pose"),
        ({"a": [1, 2, float("inf")]}, "is not a pose"),
        ([{"token": "a", "pose": MATRIX}] * 2, "the token a has several poses"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(mg.UnreadableFile, match=message):
        read_poses(saved(document, tmp_path / "poses.json"))


@pytest.mark.parametrize(
    "line",
    ["1e400 0 0 0 0 0 0 1", "1e999999999 0 0 0 0 0 0 1", "nan 0 0 0 0 0 0 1", "1 0 0 0 0 0 0", "t 0 0 0 0 0 0 1"],
)
def test_a_time_must_be_a_number_of_nanoseconds(tmp_path: Path, line: str) -> None:
    (tmp_path / "drive.tum").write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="line 1: expected t"):
        read_poses(tmp_path / "drive.tum")


def test_a_broken_line_of_tum_is_named(tmp_path: Path) -> None:
    path = tmp_path / "drive.tum"
    path.write_text("1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0\n", encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"line 2: expected t .*got '2 0 0"):
        mg.read(path)


def test_a_file_on_the_command_line_takes_poses(tmp_path: Path) -> None:
    mg.write(frames("a"), tmp_path / "predictions.geojson")
    saved({"a": MATRIX}, tmp_path / "poses.json")
    read = InputReader().predictions(input_file(f"{tmp_path}/predictions.geojson,poses=poses.json"))
    near(read.poses, [MATRIX])


def test_damaged_files_are_read_or_refused(tmp_path: Path) -> None:
    """Each file has a byte changed or is cut. Any error but UnreadableFile fails the test."""
    document = {"infos": [{"token": "a", "ego2global_translation": [1.0, 2, 3], "ego2global_rotation": TURN}]}
    rng = np.random.default_rng(7)
    for name, data in (
        ("infos.pkl", pickle.dumps(document)),
        ("poses.json", json.dumps(document).encode()),
        ("drive.tum", b"1526915243.047392123 10 20 0.5 0 0 0 1\n1526915244 0 0 0 0 0 0 1\n"),
    ):
        for _ in range(100):
            place = int(rng.integers(0, len(data)))
            damaged = bytes([rng.integers(0, 256)]) + data[place + 1 :] if rng.random() < 0.7 else b""
            (tmp_path / name).write_bytes(data[:place] + damaged or b" ")
            with contextlib.suppress(mg.UnreadableFile):
                read_poses(tmp_path / name)


@needs_data("own_map", "vad_reference", "av2")
def test_poses_of_the_reference_files_agree() -> None:
    drive, tum = (mg.read(DATA / "own_map" / name) for name in ("poses.json", "poses.tum"))
    np.testing.assert_array_equal(drive.timestamps, tum.timestamps)
    near(drive.poses, tum.poses, 1e-9)
    assert tum.tokens[0] == "315971916927482496"
    truth = mg.read(DATA / "vad_reference" / "nuscenes_map_anns_val.json")
    by_token = mg.with_poses(truth, DATA / "vad_reference" / "frames.json")
    by_log = mg.with_poses(truth, DATA / "av2")
    assert by_token.poses is not None
    assert by_log.poses is not None
    near(by_token.poses[:, :2, 3], by_log.poses[:, :2, 3], 1e-3)


def drive(heading: float = 30.0, *, step: float = 2.0, count: int = 20, bend: float = 2.0) -> list[dict[str, Any]]:
    """Poses of a drive that turns a little, as objects with quaternions w, x, y, z."""
    poses, place = [], np.zeros(2)
    for k in range(count):
        angle = np.radians(heading + bend * k)
        poses.append(
            {
                "token": f"t{k:02d}",
                "scene": "s",
                "timestamp": TIME + k * 500_000_000,
                "translation": [*place.tolist(), 0.0],
                "rotation": [np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)],
            }
        )
        place = place + step * np.array([np.cos(angle), np.sin(angle)])
    return poses


def codes(read: mg.MapFrames) -> list[str]:
    return [finding.code for finding in read.findings]


def test_good_drives_have_no_findings(tmp_path: Path) -> None:
    for heading in range(0, 360, 15):
        assert codes(mg.read(saved({"poses": drive(heading)}, tmp_path / "poses.json"))) == []


def test_quaternions_in_the_other_order_are_refused_by_name(tmp_path: Path) -> None:
    poses = drive(80)
    for pose in poses:
        w, *axis = pose["rotation"]
        pose["rotation"] = [*axis, w]
    with pytest.raises(mg.UnreadableFile, match=r"20 of 20 vehicles .*are x, y, z, w"):
        mg.read(saved({"poses": poses}, tmp_path / "poses.json"))


def test_lines_of_tum_with_w_first_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "drive.tum"
    rows = [[pose["timestamp"], *pose["translation"], *pose["rotation"]] for pose in drive(80)]
    path.write_text("\n".join(" ".join(map(str, row)) for row in rows), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="Write quaternions as x, y, z, w"):
        mg.read(path)


def test_a_drive_along_x_in_the_other_order_is_noted_although_it_hardly_tilts(tmp_path: Path) -> None:
    poses = drive(0, bend=0.1)
    for pose in poses:
        w, *axis = pose["rotation"]
        pose["rotation"] = [*axis, w]
    (finding,) = mg.read(saved({"poses": poses}, tmp_path / "poses.json")).findings
    assert (finding.level, finding.code) == ("note", "poses-backwards")
    assert "or the quaternions are x, y, z, w" in finding.message


def test_a_vehicle_that_tilts_is_a_warning(tmp_path: Path) -> None:
    poses = drive(20, bend=0.1)
    for pose in poses:
        w, *axis = pose["rotation"]
        pose["rotation"] = [*axis, w]
    read = mg.read(saved({"poses": poses}, tmp_path / "poses.json"))
    tilted = next(finding for finding in read.findings if finding.code == "poses-tilted")
    assert (tilted.level, tilted.count) == ("warning", 20)
    assert "None would if the quaternions are x, y, z, w" in tilted.message
    assert tilted.remedy is not None
    assert tilted.remedy.shell == "Write quaternions as w, x, y, z"


@pytest.mark.parametrize(
    ("reading", "remedy"),
    [
        ("radians", "Write angles in degrees"),
        ("inverse rotations", "Write the inverse rotations"),
        ("y forward", "Turn the poses by 90 degrees, so that x points forward"),
    ],
)
def test_the_remedy_of_a_wrong_heading_is_the_reading_that_mends_it(tmp_path: Path, reading: str, remedy: str) -> None:
    document: dict[str, Any] = {}
    for k, pose in enumerate(drive(70)):
        angle = 70.0 + 2 * k
        angle = {"radians": float(np.radians(angle)), "inverse rotations": -angle, "y forward": angle - 90}[reading]
        document[pose["token"]] = [*pose["translation"][:2], angle]
    (finding,) = read_poses(saved(document, tmp_path / "poses.json")).findings
    assert (finding.level, finding.code) == ("warning", "poses-heading")
    assert finding.remedy is not None
    assert finding.remedy.shell == remedy


def test_reversing_is_a_note_and_standing_is_nothing(tmp_path: Path, rng: np.random.Generator) -> None:
    for heading in range(0, 360, 15):
        (finding,) = mg.read(saved({"poses": drive(heading, step=-2.0)}, tmp_path / "poses.json")).findings
        assert (finding.level, finding.code) == ("note", "poses-backwards")
    standing = drive(40, step=0.0, count=200, bend=0.0)
    for k, pose in enumerate(standing):
        pose["token"] = str(k)
        pose["translation"] = [*rng.normal(0, 0.5, 2).tolist(), 0.0]
    assert codes(mg.read(saved({"poses": standing}, tmp_path / "poses.json"))) == []


def test_poses_in_any_order_without_times_are_not_judged_by_their_motion(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    poses = drive(40, count=60, bend=0.0)
    for k, pose in enumerate(poses):
        pose["token"] = str(k)
        del pose["timestamp"]
    shuffled = [poses[k] for k in rng.permutation(60).tolist()]
    assert codes(mg.read(saved({"poses": shuffled}, tmp_path / "poses.json"))) == []


def test_equal_times_are_a_warning_that_goes_with_the_poses(tmp_path: Path) -> None:
    path = saved({"poses": [pose | {"timestamp": TIME} for pose in drive()]}, tmp_path / "poses.json")
    posed = mg.with_poses(frames("t03"), path)
    assert codes(posed) == ["poses-times-equal"]
    assert posed.findings[0].count == 19


def test_the_scene_of_a_file_with_a_general_name_is_its_folder(tmp_path: Path) -> None:
    line = f"{TIME} 10 20 0.5 0 0 {TURN[3]} {TURN[0]}\n"
    for place, scene in (
        ("day_1/poses.txt", "day_1"),
        ("day_2/poses.txt", "day_2"),
        ("day_3/ego/gt_poses.tum", "day_3"),
        ("day_4/poses_07.txt", "poses_07"),
        ("day_5/0007.txt", "0007"),
    ):
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line, encoding="utf-8")
        assert mg.read(path).scenes == (scene,)


@needs_data("own_map", "nuscenes_mini_predictions", "global_reference", "av2")
@pytest.mark.parametrize(
    "place",
    [
        "own_map/poses.json",
        "own_map/poses.tum",
        "nuscenes_mini_predictions/mini_val_poses.json",
        "global_reference/good_60x30_maps.json",
        "global_reference/fragments_60x30_maps.json",
        "av2/3b3570b4-7b0b-3268-a571-b0889dbf40b6/city_SE3_egovehicle.feather",
        "av2/7fab2350-7eaf-3b7e-a39d-6937a4c1bede/city_SE3_egovehicle.feather",
    ],
)
def test_good_files_of_poses_have_no_findings(place: str) -> None:
    assert codes(read_poses(DATA / place)) == []


def test_poses_from_the_world_to_the_vehicle_are_named(tmp_path: Path) -> None:
    document = {}
    for pose in drive(70, bend=4.0):
        matrix = np.eye(4)
        w, _, _, z = pose["rotation"]
        matrix[:2, :2] = [[w * w - z * z, -2 * w * z], [2 * w * z, w * w - z * z]]
        matrix[:2, 3] = np.add(pose["translation"][:2], (300.0, 100.0))
        document[pose["token"]] = np.linalg.inv(matrix).tolist()
    (finding,) = read_poses(saved(document, tmp_path / "poses.json")).findings
    assert finding.code == "poses-heading"
    assert "the poses are from the world to the vehicle" in finding.message
