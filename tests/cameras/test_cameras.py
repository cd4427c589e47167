"""Tests of cameras: rigs of both data sets, and the projection of polylines into their images."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.arrays import Floats, Points
from tests.cameras.rigs import (
    AHEAD,
    CAMERAS,
    FOCAL,
    HEIGHT,
    LATER,
    LIDAR_AT,
    RING,
    SHIFT,
    SIZE,
    ahead,
    argoverse2_rig,
    nuscenes_rig,
)

import mapgauge as mg
from mapgauge.cameras.opening import open_rig
from mapgauge.cameras.projection import ImageLines, ground_lines, project, vehicle_from_frame
from mapgauge.cameras.rig import CameraImage, Rig, RigFrame
from mapgauge.demo import demo_world
from mapgauge.geometry.poses import rotation_about_z

LOG = "00000000-1111-3222-8333-444444444444"
START = 315_966_000_000_000_000


@pytest.fixture(scope="module")
def truth() -> mg.MapFrames:
    return demo_world(12)[1]


@pytest.fixture(scope="module")
def rig(truth: mg.MapFrames, tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return open_rig(nuscenes_rig(tmp_path_factory.mktemp("nuscenes"), truth), truth.tokens)


def frame_of(rig: Rig, token: str) -> RigFrame:
    frame = rig.frame(token)
    assert frame is not None
    return frame


def front(frame: RigFrame) -> CameraImage:
    return next(image for image in frame.images if image.camera in ("CAM_FRONT", "ring_front_center"))


def seen(points: Points | list[list[float]], frame: RigFrame, image: CameraImage) -> ImageLines:
    return project(ground_lines(mg.Polylines.of([points]), np.eye(4)), frame, image)


def pixel(x: float, y: float, z: float = 0.0) -> list[float]:
    """Where the front camera sees a point of the vehicle at the time of the frame, by similar triangles."""
    depth = x - SHIFT - AHEAD
    return [SIZE[0] / 2 - FOCAL * y / depth, SIZE[1] / 2 + FOCAL * (HEIGHT - z) / depth]


def test_frames_of_nuscenes_have_an_image_of_each_camera(rig: Rig, truth: mg.MapFrames) -> None:
    assert rig.dataset == "nuscenes"
    assert truth.poses is not None
    assert truth.timestamps is not None
    for k in (0, 11):
        frame = frame_of(rig, truth.tokens[k])
        assert [image.camera for image in frame.images] == sorted(CAMERAS)
        assert {image.time for image in frame.images} == {truth.timestamps[k] + LATER}
        np.testing.assert_allclose(frame.pose, truth.poses[k], atol=1e-9)
        np.testing.assert_allclose(front(frame).pose, ahead(truth.poses[k]), atol=1e-9)
        assert rig.path(front(frame)).read_bytes().startswith(b"\xff\xd8")
        assert front(frame).size == SIZE
    assert rig.frame("another token") is None


def test_points_are_projected_by_similar_triangles(rig: Rig, truth: mg.MapFrames) -> None:
    frame = frame_of(rig, truth.tokens[3])
    lines = seen([[10.0, -2.0], [12.0, 3.0]], frame, front(frame))
    assert lines.polyline.tolist() == [0]
    assert lines.offsets.tolist() == [0, len(lines.points)]
    assert len(lines.points) == 12  # 5.39 m at 0.5 m, and the end
    np.testing.assert_allclose(lines.points[[0, -1]], [pixel(10, -2), pixel(12, 3)], atol=1e-9)


def test_lines_with_height_are_projected_with_it(rig: Rig, truth: mg.MapFrames) -> None:
    frame = frame_of(rig, truth.tokens[0])
    lines = seen([[10.0, -2.0, 1.0], [12.0, 3.0, 2.0]], frame, front(frame))
    np.testing.assert_allclose(lines.points[[0, -1]], [pixel(10, -2, 1), pixel(12, 3, 2)], atol=1e-9)


def test_every_camera_looks_into_its_own_direction(rig: Rig, truth: mg.MapFrames) -> None:
    frame = frame_of(rig, truth.tokens[0])
    for image in frame.images:
        angle = np.radians(CAMERAS[image.camera])
        at = np.array([AHEAD + SHIFT, 0.0]) + 9.0 * np.array([np.cos(angle), np.sin(angle)])
        lines = seen(np.stack([at, at + 0.01]), frame, image)
        np.testing.assert_allclose(lines.points[0], [SIZE[0] / 2, SIZE[1] / 2 + FOCAL * HEIGHT / 9.0], atol=1e-6)


def test_lines_behind_the_camera_are_invisible(rig: Rig, truth: mg.MapFrames) -> None:
    frame = frame_of(rig, truth.tokens[0])
    lines = seen([[-30.0, 1.0], [AHEAD + SHIFT, 1.0]], frame, front(frame))
    assert (lines.points.shape, lines.offsets.tolist(), len(lines.polyline)) == ((0, 2), [0], 0)


def test_a_line_through_the_camera_plane_is_cut_at_the_near_plane(rig: Rig, truth: mg.MapFrames) -> None:
    """Without the cut, the part behind the camera would appear upside down above the horizon."""
    frame = frame_of(rig, truth.tokens[0])
    image = front(frame)._replace(size=(100_000, 100_000))  # so that only the near plane cuts
    lines = project(ground_lines(mg.Polylines.of([[[-30.0, 0.0], [30.0, 0.0]]]), np.eye(4)), frame, image, near=2.0)
    np.testing.assert_allclose(lines.points[0], pixel(AHEAD + SHIFT + 2.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(lines.points[-1], pixel(30.0, 0.0), atol=1e-9)
    assert (lines.points[:, 1] > SIZE[1] / 2).all()


def test_lines_are_cut_at_the_edges_of_the_image(rig: Rig, truth: mg.MapFrames) -> None:
    frame = frame_of(rig, truth.tokens[0])
    lines = seen([[10.0, -40.0], [10.0, 40.0]], frame, front(frame))
    depth = 10.0 - SHIFT - AHEAD
    row = SIZE[1] / 2 + FOCAL * HEIGHT / depth
    assert lines.offsets.tolist() == [0, len(lines.points)]
    np.testing.assert_allclose(lines.points[[0, -1]], [[SIZE[0], row], [0, row]], atol=1e-9)


def test_a_line_that_leaves_the_image_and_comes_back_has_two_pieces(rig: Rig, truth: mg.MapFrames) -> None:
    frame = frame_of(rig, truth.tokens[0])
    bend = [[10.0, -2.0], [10.0, 40.0], [20.0, 40.0], [20.0, 0.0]]
    other = [[15.0, 0.0], [16.0, 0.0]]
    lines = project(ground_lines(mg.Polylines.of([bend, [[-9, 0], [-8, 0]], other]), np.eye(4)), frame, front(frame))
    assert lines.polyline.tolist() == [0, 0, 2]
    ends = lines.points[lines.offsets[1:] - 1]
    starts = lines.points[lines.offsets[:-1]]
    np.testing.assert_allclose(starts[[0, 2]], [pixel(10, -2), pixel(15, 0)], atol=1e-9)
    np.testing.assert_allclose(ends[1:], [pixel(20, 0), pixel(16, 0)], atol=1e-9)
    assert ends[0][0] == pytest.approx(0.0, abs=1e-9)
    assert starts[1][0] == pytest.approx(0.0, abs=1e-9)


def test_pieces_agree_with_a_dense_projection_of_points(rig: Rig, truth: mg.MapFrames) -> None:
    """A point is visible if and only if it is in front of the camera and its pixel is in the image."""
    frame = frame_of(rig, truth.tokens[5])
    lines = ground_lines(truth.keep(truth.frame == 5).polylines, np.eye(4), spacing=0.01)
    for image in frame.images:
        motion = np.linalg.inv(image.pose @ image.mount) @ frame.pose
        x, y, depth = (image.intrinsics @ (motion[:3, :3] @ lines.coords.T + motion[:3, 3:])).astype(float)
        with np.errstate(divide="ignore", invalid="ignore"):
            u, v = x / depth, y / depth
        visible = (depth > 0.1) & (u > 0) & (u < SIZE[0]) & (v > 0) & (v < SIZE[1])
        found = project(lines, frame, image)
        corners = np.array([0.0, 0.0]) - 1e-9, np.array(SIZE) + 1e-9
        assert ((found.points >= corners[0]) & (found.points <= corners[1])).all()
        inner = len(found.points) - 2 * len(found.polyline)  # each piece has its two ends besides
        assert abs(int(visible.sum()) - inner) <= 2 * len(found.polyline)
        owner = np.repeat(np.arange(len(lines)), np.diff(lines.offsets))
        assert set(owner[visible]) <= set(found.polyline)


def test_projected_lines_lie_on_the_paint_of_images(rig: Rig, truth: mg.MapFrames) -> None:
    for k in (2, 9):
        frame = frame_of(rig, truth.tokens[k])
        lines = ground_lines(truth.keep(truth.frame == k).polylines, np.eye(4))
        for image in frame.images:
            pixels = np.asarray(Image.open(rig.path(image)).convert("L"))
            points = np.floor(project(lines, frame, image).points).astype(int)
            inside = points[(points >= 2).all(axis=1) & (points < np.array(SIZE) - 2).all(axis=1)]
            near = inside[inside[:, 1] > SIZE[1] / 2 + 20]  # far lines are thinner than the paint
            assert len(near) > 20
            assert np.mean(pixels[near[:, 1], near[:, 0]] > 170) > 0.95


def test_no_lines_give_no_pieces(rig: Rig, truth: mg.MapFrames) -> None:
    frame = frame_of(rig, truth.tokens[0])
    lines = project(ground_lines(mg.Polylines.of([]), np.eye(4)), frame, front(frame))
    assert (lines.points.shape, lines.offsets.tolist(), len(lines.polyline)) == ((0, 2), [0], 0)


def moved(motion: Floats, point: list[float]) -> list[float]:
    return ground_lines(mg.Polylines.of([[point, [0.0, 0.0]]]), motion).coords[0].tolist()  # type: ignore[no-any-return]


def test_lines_of_the_lidar_move_to_the_vehicle(rig: Rig, truth: mg.MapFrames) -> None:
    """MapTR's files have the LiDAR's coordinates: x to the right, y forward, and the ground below it."""
    frame = frame_of(rig, truth.tokens[0])
    np.testing.assert_allclose(moved(vehicle_from_frame(frame), [20.0, 3.0]), [20, 3, 0])
    np.testing.assert_allclose(moved(vehicle_from_frame(frame, forward="x"), [20.0, 3.0]), [20, 3, 0])
    by_lidar = moved(vehicle_from_frame(frame, forward="y"), [-3.0, 20.0])
    np.testing.assert_allclose(by_lidar, [20 + LIDAR_AT[0], 3, 0], atol=1e-9)


def test_poses_say_where_lines_are(rig: Rig, truth: mg.MapFrames) -> None:
    frame = frame_of(rig, truth.tokens[0])
    turned = frame.pose @ rotation_about_z(-90)
    turned[2, 3] += 1.84  # the height of a LiDAR does not move lines without height
    np.testing.assert_allclose(moved(vehicle_from_frame(frame, turned), [-3.0, 20.0]), [20, 3, 0], atol=1e-9)
    elsewhere = rotation_about_z(50)  # of another world: the forward axis tells
    np.testing.assert_allclose(moved(vehicle_from_frame(frame, elsewhere, "x"), [20.0, 3.0]), [20, 3, 0])


def test_tables_with_most_of_the_samples_are_read(truth: mg.MapFrames, tmp_path: Path) -> None:
    nuscenes_rig(tmp_path, truth.at([0]), "v1.0-mini")
    nuscenes_rig(tmp_path, truth.at([0, 1, 2]), "v1.0-trainval")
    rig = open_rig(tmp_path, truth.tokens)
    assert [rig.frame(token) is not None for token in truth.tokens[:4]] == [True, True, True, False]


@pytest.fixture
def log_rig(truth: mg.MapFrames, tmp_path: Path) -> tuple[Path, list[int]]:
    assert truth.poses is not None
    times = [START + 500_000_000 * k for k in range(10)]
    return argoverse2_rig(tmp_path / "sensor" / "val", LOG, times, truth.poses[:10]).parents[1], times


def test_frames_of_argoverse_2_have_the_nearest_image_and_its_own_pose(
    log_rig: tuple[Path, list[int]], truth: mg.MapFrames
) -> None:
    root, times = log_rig
    assert truth.poses is not None
    for tokens, scenes in (
        ([f"{LOG}_{time}" for time in times], None),
        (list(map(str, times)), (LOG,) * len(times)),
        (list(map(str, times)), None),
    ):
        rig = open_rig(root, tokens, scenes)
        frame = frame_of(rig, tokens[4])
        assert rig.dataset == "argoverse2"
        assert [image.camera for image in frame.images] == sorted(RING)  # the LiDAR is no camera
        assert {image.time for image in frame.images} == {times[4] + 1000 * LATER}
        np.testing.assert_allclose(frame.pose, truth.poses[4], atol=1e-9)
        np.testing.assert_allclose(front(frame).pose, ahead(truth.poses[4]), atol=1e-9)
        assert front(frame).file == f"sensor/val/{LOG}/sensors/cameras/ring_front_center/{front(frame).time}.jpg"
        assert rig.path(front(frame)).is_file()
        lines = seen([[10.0, -2.0], [12.0, 3.0]], frame, front(frame))
        np.testing.assert_allclose(lines.points[[0, -1]], [pixel(10, -2), pixel(12, 3)], atol=1e-9)
        np.testing.assert_allclose(moved(vehicle_from_frame(frame, forward="y"), [-3.0, 20.0]), [20, 3, 0], atol=1e-9)


def test_an_image_far_from_the_frame_is_not_its_image(log_rig: tuple[Path, list[int]]) -> None:
    root, times = log_rig
    folder = root / "sensor" / "val" / LOG / "sensors" / "cameras" / "ring_side_left"
    (folder / f"{times[4] + 1000 * LATER}.jpg").unlink()
    (folder / "thumbnail.jpg").touch()
    frame = frame_of(open_rig(root, [f"{LOG}_{time}" for time in times]), f"{LOG}_{times[4]}")
    assert [image.camera for image in frame.images] == ["ring_front_center"]


def test_a_single_log_and_a_folder_of_logs_are_roots(log_rig: tuple[Path, list[int]]) -> None:
    root, times = log_rig
    for folder in (root / "sensor" / "val" / LOG, root / "sensor" / "val", root / "sensor"):
        rig = open_rig(folder, [f"{LOG}_{times[0]}"])
        assert rig.path(front(frame_of(rig, f"{LOG}_{times[0]}"))).is_file()


def test_images_outside_the_root_are_refused(rig: Rig, truth: mg.MapFrames, tmp_path: Path) -> None:
    image = front(frame_of(rig, truth.tokens[0]))
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    inside = replace(rig, root=tmp_path / "root")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    for file in ("../secret.jpg", str(tmp_path / "secret.jpg"), "link.jpg"):
        with pytest.raises(mg.InvalidInput, match="expected an image inside"):
            inside.path(image._replace(file=file))
    with pytest.raises(mg.UnreadableFile, match="no such image of CAM_FRONT"):
        inside.path(image._replace(file="samples/none.jpg"))


def test_wrong_folders_are_refused(rig: Rig, tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="no such folder"):
        open_rig(tmp_path / "none", ["a"])
    with pytest.raises(mg.UnreadableFile, match="found neither"):
        open_rig(tmp_path, ["a"])
    with pytest.raises(mg.UnreadableFile, match="found none of these 1 tokens"):
        open_rig(rig.root, ["a"])


def test_tokens_of_another_data_set_are_refused(log_rig: tuple[Path, list[int]]) -> None:
    with pytest.raises(mg.InvalidInput, match="frame abc: expected a token of Argoverse 2"):
        open_rig(log_rig[0], ["abc"])
    with pytest.raises(mg.UnreadableFile, match="found none of these 1 tokens"):
        open_rig(log_rig[0], ["123456789"])


@pytest.mark.parametrize(
    ("table", "field", "value", "message"),
    [
        ("calibrated_sensor", "camera_intrinsic", [[1, 0], [0, 1]], "is not a matrix of 3 x 3 numbers"),
        ("calibrated_sensor", "rotation", [9, 0, 0, 0], "is not a rotation and a translation"),
        ("sample_data", "width", 0, "expected at least 1 x 1 pixels"),
        ("sample_data", "ego_pose_token", "none", "1 pose of images not found"),
    ],
)
def test_damaged_tables_are_refused(
    truth: mg.MapFrames, tmp_path: Path, table: str, field: str, value: object, message: str
) -> None:
    nuscenes_rig(tmp_path, truth.at([0]))
    path = tmp_path / "v1.0-mini" / f"{table}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    rows[-1][field] = value
    path.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=message):
        open_rig(tmp_path, truth.tokens)


def test_a_sample_without_a_sweep_is_refused(truth: mg.MapFrames, tmp_path: Path) -> None:
    nuscenes_rig(tmp_path, truth.at([0]))
    path = tmp_path / "v1.0-mini" / "sample_data.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))[1:]), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="no keyframe of LIDAR_TOP for 1 sample"):
        open_rig(tmp_path, truth.tokens)
