"""Tests the methods of MapFrames: what they change and what they keep."""

import numpy as np
import pytest

import mapgauge as mg

LINE = [[0.0, 0.0], [4.0, 0.0]]


def world() -> mg.MapFrames:
    lines: dict[str, dict[str, list[object]]] = {
        "a": {"divider": [LINE, [[0, 1], [4, 1]]], "boundary": [[[20, -20], [20, 20]]]},
        "b": {},
        "c": {"ped_crossing": [[[1, 1], [2, 1], [2, 2], [1, 1]]]},
    }
    confidence = {"a": {"divider": [0.9, 0.2], "boundary": [0.5]}, "c": {"ped_crossing": [0.7]}}
    return mg.MapFrames.of(lines, confidence=confidence, classes=["ped_crossing", "divider", "boundary"])


def test_columns_hold_what_was_given() -> None:
    frames = world()
    assert frames.tokens == ("a", "b", "c")
    assert frames.frame.tolist() == [0, 0, 0, 2]
    assert [frames.classes[label] for label in frames.label] == ["divider", "divider", "boundary", "ped_crossing"]
    assert frames.confidence is not None
    assert frames.confidence.tolist() == [0.9, 0.2, 0.5, 0.7]
    assert frames.counts == {"ped_crossing": 1, "divider": 2, "boundary": 1}
    assert frames.offsets.tolist() == [0, 3, 3, 4]


def test_a_token_gives_the_instances_of_its_frame() -> None:
    assert [instance.class_name for instance in world()["a"]] == ["divider", "divider", "boundary"]
    assert world()["b"] == []
    assert world()["c"][0].points.tolist() == [[1, 1], [2, 1], [2, 2], [1, 1]]


def test_an_unknown_token_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="no frame 'z'"):
        world()["z"]


def test_select_keeps_classes_in_the_order_asked_for_and_all_frames() -> None:
    chosen = world().select(["boundary", "divider"])
    assert chosen.counts == {"boundary": 1, "divider": 2}
    assert chosen.tokens == ("a", "b", "c")
    assert [instance.class_name for instance in chosen["a"]] == ["divider", "divider", "boundary"]
    assert chosen["c"] == []


def test_select_refuses_a_class_that_is_not_there() -> None:
    with pytest.raises(mg.InvalidInput, match="no class lane; available: ped_crossing, divider, boundary"):
        world().select(["lane"])
    with pytest.raises(mg.InvalidInput, match="Put it in a list"):
        world().select("divider")


def test_rename_refuses_a_class_that_is_not_there() -> None:
    with pytest.raises(mg.InvalidInput, match="no class contours"):
        world().rename({"contours": "boundary"})


def test_renaming_to_one_name_joins_classes() -> None:
    assert world().rename({"boundary": "divider"}).counts == {"ped_crossing": 1, "divider": 3}


def test_filter_keeps_instances_from_the_confidence_up() -> None:
    kept = world().filter(0.5)
    assert kept.counts == {"ped_crossing": 1, "divider": 1, "boundary": 1}
    assert kept.confidence is not None
    assert kept.confidence.tolist() == [0.9, 0.5, 0.7]


def test_truth_cannot_be_filtered_by_confidence() -> None:
    with pytest.raises(mg.InvalidInput, match="truth has no confidence"):
        world().with_confidence(None).filter(0.5)


def test_frames_can_be_picked_in_any_order() -> None:
    picked = world().at([2, 0])
    assert picked.tokens == ("c", "a")
    assert picked.frame.tolist() == [0, 1, 1, 1]
    assert picked["c"][0].confidence == 0.7


def test_crop_cuts_lines_and_keeps_their_columns() -> None:
    cropped = world().crop((30, 10))
    assert cropped.counts == {"ped_crossing": 1, "divider": 2, "boundary": 0}
    narrow = world().crop((0, 0.5, 3, 10))
    assert narrow["a"][0].points.tolist() == [[0, 1], [3, 1]]
    assert narrow["a"][0].confidence == 0.2


def test_resampling_keeps_instances() -> None:
    resampled = world().resample(spacing=1.0)
    assert resampled["a"][0].points.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]
    assert resampled.counts == world().counts


@pytest.mark.parametrize("degrees", [-450, -90, 0, 90, 180, 270, 360, 720])
def test_quarter_turns_are_exact(degrees: int, rng: np.random.Generator) -> None:
    points = rng.normal(0, 30, (50, 2))
    turned = mg.MapFrames.of({"a": {"divider": [points]}}).rotate(degrees)["a"][0].points
    for _ in range(degrees // 90 % 4):
        points = np.column_stack([-points[:, 1], points[:, 0]])
    assert np.array_equal(turned, points)


def test_other_angles_turn_counter_clockwise() -> None:
    turned = mg.MapFrames.of({"a": {"divider": [[[1, 0], [2, 0]]]}}).rotate(30)["a"][0].points
    assert turned[0] == pytest.approx([np.sqrt(3) / 2, 0.5])


def pose(degrees: float, x: float, y: float, z: float = 0.0) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[c, -s, 0, x], [s, c, 0, y], [0, 0, 1, z], [0, 0, 0, 1]])


def test_each_frame_can_have_its_own_pose() -> None:
    poses = np.array([pose(0, 100, 0), pose(0, 0, 0), pose(90, 0, 50)])
    moved = world().transform(poses)
    assert moved["a"][0].points.tolist() == [[100, 0], [104, 0]]
    assert moved["c"][0].points[1] == pytest.approx([-1, 52])


def test_height_moves_too() -> None:
    frames = mg.MapFrames.of({"a": {"divider": [[[1, 2, 3], [4, 5, 6]]]}})
    assert frames.transform(pose(0, 1, 1, 10))["a"][0].points.tolist() == [[2, 3, 13], [5, 6, 16]]
    assert frames.planar()["a"][0].points.tolist() == [[1, 2], [4, 5]]


def test_poses_stay_true_when_points_move(rng: np.random.Generator) -> None:
    frames = mg.MapFrames.of({"a": {"divider": [rng.normal(0, 9, (5, 3))]}})
    posed = mg.MapFrames(
        tokens=frames.tokens,
        classes=frames.classes,
        frame=frames.frame,
        label=frames.label,
        polylines=frames.polylines,
        poses=pose(40, 900, 500, 3)[None],
    )
    assert posed.poses is not None
    world_before = posed.transform(posed.poses).polylines.coords
    turned = posed.rotate(-90)
    assert turned.poses is not None
    assert turned.transform(turned.poses).polylines.coords == pytest.approx(world_before)


@pytest.mark.parametrize(
    ("poses", "message"),
    [
        (np.eye(3), "poses must be one"),
        (np.zeros((2, 4, 4)), "got shape"),
        (np.diag([2.0, 2.0, 2.0, 1.0]), "pose 0 is not a rigid motion"),
        (np.diag([1.0, -1.0, 1.0, 1.0]), "pose 0 is not a rigid motion"),
        (np.full((4, 4), np.nan), "pose 0 is not a rigid motion"),
        ("east", "poses must be one"),
    ],
)
def test_a_pose_must_be_a_rigid_motion(poses: object, message: str) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        world().transform(poses)  # type: ignore[arg-type]


def test_one_confidence_can_be_set_for_all() -> None:
    frames = world().with_confidence(1)
    assert frames.confidence is not None
    assert frames.confidence.tolist() == [1, 1, 1, 1]
    assert world().with_confidence(None).confidence is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": np.zeros(1, np.int64)}, "label has 1 rows, expected 4, one per instance"),
        ({"scenes": ("s",)}, "scenes has 1 rows, expected 3, one per frame"),
        ({"frame": np.array([0, 2, 1, 2])}, "frame must be in ascending order"),
        ({"frame": np.array([0, 0, 0, 3])}, "frame must be in ascending order, from 0 to at most 2"),
        ({"label": np.array([0, 0, 0, 3])}, "label must be from 0 to 2"),
        ({"classes": ("a", "a", "b")}, "classes must have different names"),
    ],
)
def test_columns_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    frames = world()
    columns = {name: getattr(frames, name) for name in ("tokens", "classes", "frame", "label", "polylines")}
    with pytest.raises(mg.InvalidInput, match=message):
        mg.MapFrames(**(columns | change))


def test_of_refuses_confidences_that_do_not_fit() -> None:
    with pytest.raises(mg.InvalidInput, match="confidence of a, divider must be 1 numbers"):
        mg.MapFrames.of({"a": {"divider": [LINE]}}, confidence={"a": {"divider": [0.1, 0.2]}})
    with pytest.raises(mg.InvalidInput, match="unknown class 'lane'"):
        mg.MapFrames.of({"a": {"lane": [LINE]}}, classes=["divider"])


def test_frames_of_nothing_work() -> None:
    empty = mg.MapFrames.of({})
    assert len(empty) == 0
    assert empty.crop((60, 30)).resample(spacing=1).rotate(90).at([]).counts == {}
    assert "0 frames" in repr(empty)
