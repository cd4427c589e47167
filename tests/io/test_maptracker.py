"""MapTracker's predictions with tracks, and the ids of truth tracks."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared_data import PARITY

import mapgauge as mg

LINE = np.arange(40.0).reshape(20, 2)
QUARTER = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]  # a quarter turn to the left
Read = Callable[..., mg.MapFrames]


def frame(number: int = 0, scene: str = "scene-0003", **other: Any) -> dict[str, Any]:
    """A frame as MapTracker writes it; ``...`` leaves a key out."""
    values = {
        "vectors": np.array([LINE.ravel(), LINE.ravel() + 1]),
        "labels": np.array([1, 0]),
        "scores": np.array([0.75, 0.5], np.float32),
        "scene_name": scene,
        "local_idx": number,
        "global_ids": [4, 7],
        "meta": {
            "token": f"{scene}-token-{number}",
            "ego2global_translation": [100.0, 200.0, 0.0],
            "ego2global_rotation": QUARTER,
        },
    } | other
    return {key: value for key, value in values.items() if value is not ...}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(document: Any, format: str | None = None, **options: Any) -> mg.MapFrames:
        path = tmp_path / "file.pkl"
        path.write_bytes(pickle.dumps(document, 5))
        return mg.read(path, format, **options)

    return read


def test_predictions_are_read_with_their_tracks(read: Read) -> None:
    frames = read([frame(0), frame(1), frame(0, "scene-0012")])
    assert frames.format == "maptracker-tracks"
    assert frames.tokens == ("scene-0003-token-0", "scene-0003-token-1", "scene-0012-token-0")
    assert frames.scenes == ("scene-0003", "scene-0003", "scene-0012")
    assert frames.counts == {"ped_crossing": 3, "divider": 3, "boundary": 0}
    assert frames.findings == ()
    first, second = frames["scene-0003-token-1"]
    assert (first.class_name, first.confidence, first.track) == ("divider", 0.75, "scene-0003/divider/4")
    assert second.track == "scene-0003/ped_crossing/7"
    np.testing.assert_array_equal(first.points, LINE)
    assert frames["scene-0012-token-0"][0].track == "scene-0012/divider/4"  # ids are counted for each scene


def test_points_may_be_lists(read: Read) -> None:
    frames = read([frame(vectors=[LINE.tolist(), LINE[:7]], labels=[2, 2], scores=[0.5, 0.6], global_ids=[0, 1])])
    assert [len(one.points) for one in frames["scene-0003-token-0"]] == [20, 7]


@pytest.mark.parametrize("nothing", [[], np.empty(0), np.empty((0, 40))])
def test_a_frame_may_have_no_instances(nothing: Any, read: Read) -> None:
    frames = read([frame(vectors=nothing, labels=[], scores=np.empty(0), global_ids=[]), frame(1)])
    assert [len(frames[token]) for token in frames.tokens] == [0, 2]


def test_frames_without_a_token_are_named_by_scene_and_number(read: Read) -> None:
    frames = read([frame(3, meta=...), frame(4, local_idx=np.int64(4), meta={})])
    assert frames.tokens == ("scene-0003_3", "scene-0003_4")
    (finding,) = frames.findings
    assert (finding.level, finding.code, finding.count) == ("note", "tokens-made-up", 2)
    assert "do not match the tokens of a truth file" in finding.message


@pytest.mark.parametrize("rotation", [QUARTER, np.array(QUARTER, np.float32), [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]])
def test_poses_take_points_into_the_world(rotation: Any, read: Read) -> None:
    meta = {"token": "a", "ego2global_translation": np.array([100.0, 200.0, 1.0]), "ego2global_rotation": rotation}
    frames = read([frame(meta=meta)])
    assert frames.poses is not None
    moved = frames.transform(frames.poses)["a"][0].points
    np.testing.assert_allclose(moved, np.column_stack([100 - LINE[:, 1], 200 + LINE[:, 0]]), atol=1e-5)


def test_a_quaternion_turns_about_its_axis(read: Read) -> None:
    axis, angle = np.array([1.0, 2, 3]) / np.sqrt(14), 0.7
    rotation = [np.cos(angle / 2), *(axis * np.sin(angle / 2))]
    frames = read([frame(meta={"token": "a", "ego2global_translation": [0, 0, 0], "ego2global_rotation": rotation})])
    assert frames.poses is not None
    turn = frames.poses[0, :3, :3]
    np.testing.assert_allclose(turn @ axis, axis)
    assert np.trace(turn) == pytest.approx(1 + 2 * np.cos(angle))
    across = np.cross(axis, [1.0, 0, 0])
    assert np.cross(across, turn @ across) @ axis > 0  # counter-clockwise seen from the axis' end


@pytest.mark.parametrize(
    ("translation", "rotation"),
    [
        (None, None),
        ([1, 2], QUARTER),
        (5.0, QUARTER),
        ([1, 2, np.nan], QUARTER),
        ([1, 2, 3], [1, 2, 3, 4]),
        ([1, 2, 3], [1, 0, 0]),
        ([1, 2, 3], np.diag([1, 1, -1])),
        ([1, 2, 3], "text"),
        ([1, 2, 3], [[1, 2], 3]),
        ("abc", QUARTER),
    ],
)
def test_poses_are_left_out_and_counted_if_one_is_unusable(translation: Any, rotation: Any, read: Read) -> None:
    meta = {"token": "b", "ego2global_translation": translation, "ego2global_rotation": rotation}
    frames = read([frame(0), frame(1, meta=meta)])
    assert frames.poses is None
    assert [(finding.code, finding.count, finding.examples) for finding in frames.findings] == [
        ("poses-left-out", 1, ("b",))
    ]


def test_files_without_poses_are_fine(read: Read) -> None:
    frames = read([frame(meta={"token": "a"})])
    assert (frames.poses, frames.findings) == (None, ())


def test_classes_can_be_named_otherwise(read: Read) -> None:
    frames = read([frame()], classes={"divider": 0, "ped_crossing": 1})
    assert frames["scene-0003-token-0"][0].track == "scene-0003/ped_crossing/4"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, r"a dict, expected a list of frames"),
        ([1], r"\[0\] is 1, expected a dictionary with 'vectors'"),
        ([frame(), frame(vectors=...)], r"\[1\] has no 'vectors'"),
        ([frame(), frame(labels=...)], r"\[1\] has no 'labels'"),
        ([frame(), frame(scores=...)], r"\[1\] has no 'scores'"),
        ([frame(), frame(global_ids=...)], r"\[1\] has no 'global_ids'"),
        ([frame(), frame(scene_name=...)], r"\[1\] has no 'scene_name'"),
        ([frame(), frame(meta=..., local_idx=...)], r"\[1\] has no 'local_idx'"),
        ([frame(scene_name=3)], r"\[0\]\.scene_name is 3, expected a text"),
        ([frame(meta={"token": 3})], r"\[0\]\.meta\.token is 3, expected a text"),
        ([frame(meta={}, local_idx="3")], r"\[0\]\.local_idx is '3', expected a whole number"),
        ([frame(scores=0.5)], r"\[0\]\.scores is 0.5, expected a list"),
        ([frame(scores=np.array(0.5))], r"\[0\]\.scores is a ndarray, expected a list"),
        ([frame(scores=[0.5])], r"\[0\] has 2 vectors, 2 labels, 1 scores, 2 global_ids; expected the same number"),
        ([frame(global_ids=[4])], r"\[0\] has 2 vectors, 2 labels, 2 scores, 1 global_ids"),
        ([frame(global_ids=[4, None])], r"\[0\]\.global_ids\[1\] is null, expected a whole number"),
        ([frame(labels=[1, 5])], r"\[0\]\.labels\[1\]: unknown label 5\. Known: 0 ped_crossing, 1 divider, 2 boundary"),
        ([frame(labels=["1", "0"])], r"\[0\]\.labels\[0\]: label is '1', expected a whole number"),
        ([frame(scores=[0.5, "a"])], r"\[0\]\.vectors\[1\]: confidence is 'a', expected a number"),
        ([frame(scores=[0.5, np.inf])], r"\[0\]\.vectors\[1\] has a confidence that is not a finite number"),
        ([frame(vectors=np.zeros((2, 39)))], r"\[0\]\.vectors\[0\] has 39 numbers, expected x, y, x, y"),
        ([frame(vectors=np.zeros((2, 2)))], r"\[0\]\.vectors\[0\] has fewer than 2 points"),
        (
            [frame(vectors=np.full((2, 40), np.nan))],
            r"\[0\]\.vectors\[0\] has a coordinate that is not a finite number",
        ),
        ([frame(vectors=[LINE, np.zeros((3, 3))])], r"\[0\]\.vectors\[1\]: points have 3 coordinates, those before"),
        ([frame(vectors=[LINE, None])], r"\[0\]\.vectors\[1\] is null, expected a list of points"),
        ([frame(vectors=[LINE, ["1", "2"]])], r"\[0\]\.vectors\[1\]\[0\] is '1', expected a point"),
    ],
)
def test_a_bad_file_is_refused_with_the_place(wrong: Any, message: str, read: Read) -> None:
    with pytest.raises(mg.UnreadableFile, match=r"file\.pkl: .*" + message):
        read(wrong, "maptracker-tracks")


def test_degenerate_lines_can_be_dropped(read: Read) -> None:
    frames = read([frame(vectors=[LINE, LINE[:1]])], degenerate="drop")
    assert [one.track for one in frames["scene-0003-token-0"]] == ["scene-0003/divider/4"]
    assert [finding.code for finding in frames.findings] == ["dropped-few-points"]


@pytest.mark.parametrize("document", [[], [1], [{}], [frame(global_ids=...)], {"a": frame()}, None])
def test_other_pickles_are_not_taken_for_tracks(document: Any, read: Read) -> None:
    try:
        taken = read(document).format
    except mg.UnreadableFile:
        return
    assert not taken.startswith("maptracker")


# Truth.

CLASSES = ["ped_crossing", "divider", "boundary"]
IDS: dict[str, Any] = {
    "scene-0012": {"sample_ids": [2], "instance_ids": [{0: {}, 1: {0: 0}, 2: {}}]},
    "scene-0003": {
        "sample_ids": [0, 1],
        "instance_ids": [{0: {0: 0}, 1: {0: 0, 1: 1}, 2: {}}, {0: {}, 1: {0: 1, 1: np.int64(2)}, 2: {}}],
    },
}


def truth_in(folder: Path, divider: int = 1) -> Path:
    """Write truth without tracks, whose dividers have this label."""
    frames = {
        "t0": {divider: [LINE, LINE + 1], 0: [LINE]},
        "t1": {divider: [LINE, LINE + 1], 0: []},
        "t2": {divider: [LINE], 0: []},
    }
    path = folder / "tmp_gts.pkl"
    path.write_bytes(pickle.dumps(frames))
    return path


@pytest.fixture
def attach(tmp_path: Path) -> Read:
    def attach(ids: Any, divider: int = 1, **options: Any) -> mg.MapFrames:
        path = tmp_path / "val_gt_tracks.pkl"
        path.write_bytes(pickle.dumps(ids))
        return mg.read(truth_in(tmp_path, divider), tracks=path, **options)

    return attach


def test_truth_gets_its_tracks_and_scenes(attach: Read) -> None:
    frames = attach(IDS)
    assert frames.scenes == ("scene-0003", "scene-0003", "scene-0012")
    assert frames.track is not None
    assert frames.track.tolist() == [
        "scene-0003/divider/0",
        "scene-0003/divider/1",
        "scene-0003/ped_crossing/0",
        "scene-0003/divider/1",
        "scene-0003/divider/2",
        "scene-0012/divider/0",
    ]
    assert frames.findings == ()


def test_tracks_are_read_together_with_the_truth(tmp_path: Path) -> None:
    lines: dict[str, Any] = {"t0": {0: [LINE], 1: [LINE, LINE + 1]}, "t1": {1: [LINE, LINE + 1]}, "t2": {1: [LINE]}}
    (tmp_path / "tmp_gts.pkl").write_bytes(pickle.dumps(lines))
    (tmp_path / "tracks.pkl").write_bytes(pickle.dumps(IDS))
    frames = mg.read(tmp_path / "tmp_gts.pkl", tracks=tmp_path / "tracks.pkl")
    assert [one.track for one in frames["t1"]] == ["scene-0003/divider/1", "scene-0003/divider/2"]
    assert frames.scenes == ("scene-0003", "scene-0003", "scene-0012")


def test_the_ids_alone_are_refused_with_what_to_do(read: Read) -> None:
    with pytest.raises(
        mg.UnreadableFile, match=r'ids of tracks and no geometry.*read\("tmp_gts_.*", tracks=".*file\.pkl"'
    ):
        read(IDS)


def test_frames_that_no_scene_has_keep_no_tracks_and_are_counted(attach: Read) -> None:
    frames = attach({"scene-0003": IDS["scene-0003"]})
    assert frames.scenes is None
    assert frames["t2"][0].track is None
    assert frames["t1"][0].track == "scene-0003/divider/1"
    (finding,) = frames.findings
    assert (finding.level, finding.code, finding.examples) == ("warning", "frames-without-tracks", ("t2",))


def test_labels_may_have_other_names(attach: Read) -> None:
    ids = {"s": {"sample_ids": [2], "instance_ids": [{7: {0: 5}}]}}
    assert attach(ids, divider=7, classes={0: "ped_crossing", 7: "divider"})["t2"][0].track == "s/divider/5"


def scene(samples: Any = (2,), instances: Any = ({1: {0: 0}},)) -> dict[str, Any]:
    return {"s": {"sample_ids": samples, "instance_ids": instances}}


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1], r"not a file of truth tracks, expected \{scene: \{sample_ids, instance_ids\}\}"),
        ({"s": {"sample_ids": []}}, r"not a file of truth tracks"),
        ({**scene(), "r": {"sample_ids": []}}, r'\["r"\] has no \'instance_ids\''),
        ({**scene(), "r": 1}, r'\["r"\] is 1, expected a dictionary with \'sample_ids\''),
        ({3: scene()["s"]}, r"the name of a scene is 3, expected a text"),
        (scene(3), r'\["s"\]\.sample_ids is 3, expected a list'),
        (scene([2, 0]), r'\["s"\] has 2 sample_ids, 1 instance_ids; expected the same number'),
        (scene([9]), r'\["s"\]\.sample_ids\[0\] is 9, but the last frame of .* is 2\. Check that the tracks were'),
        (scene([-1]), r'\["s"\]\.sample_ids\[0\] is -1'),
        (scene(["2"]), r'\["s"\]\.sample_ids\[0\] is .2., expected a whole number'),
        ({**scene(), "r": scene()["s"]}, r'\["r"\]\.sample_ids\[0\] is 2, which also belongs to scene s'),
        (scene(instances=[[]]), r'\["s"\]\.instance_ids\[0\] is a list, expected \{label: \{instance: id\}\}'),
        (scene(instances=[{"1": {}}]), r'\["s"\]\.instance_ids\[0\]: a label is .1., expected a whole number'),
        (scene(instances=[{5: {}}]), r'\["s"\]\.instance_ids\[0\]: unknown label 5\. Known: 0 ped_crossing, 1 div'),
        (scene(instances=[{1: [0]}]), r'\["s"\]\.instance_ids\[0\]\[1\] is a list, expected \{instance: id\}'),
        (scene(instances=[{1: {0: "a"}}]), r'\["s"\]\.instance_ids\[0\]\[1\]: an id is .a., expected a whole'),
        (
            scene(instances=[{1: {0: 0, 1: 1}}]),
            r"has ids of 2 instances of divider, but .* has 1 in its frame t2\. Check",
        ),
        (scene(instances=[{1: {}}]), r"has ids of 0 instances of divider, but .* has 1 in its frame t2"),
        (scene(instances=[{1: {1: 0}}]), r"has ids of 1 instances of divider, but .* has 1"),
        (scene(instances=[{}]), r"has ids of 0 instances of divider, but .* has 1 in its frame t2"),
        (
            scene(instances=[{1: {0: 0}, 2: {0: 0}}]),
            r"has ids of 1 instances of boundary, but .* has 0 in its frame t2",
        ),
    ],
)
def test_tracks_that_do_not_fit_the_truth_are_refused(ids: Any, message: str, attach: Read) -> None:
    with pytest.raises(mg.UnreadableFile, match=r"val_gt_tracks\.pkl: .*" + message):
        attach(ids)


def test_a_file_that_is_no_pickle_is_no_file_of_tracks(tmp_path: Path) -> None:
    (tmp_path / "tracks.json").write_text("{}", encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match="not a file of truth tracks"):
        mg.read(truth_in(tmp_path), tracks=tmp_path / "tracks.json")


def test_frames_of_maptracker_are_in_the_order_of_their_scene(read: Read) -> None:
    found = read([frame(2), frame(0), frame(1)])
    assert found.timestamps is not None
    assert found.timestamps.tolist() == [2, 0, 1]
    truth = mg.read(PARITY / "tmp_gts_demo_60x30.pkl", tracks=PARITY / "demo_gt_tracks.pkl")
    assert truth.timestamps is not None
    assert truth.timestamps.tolist() == list(range(6)) * 4
