"""OpenLane-V2's submissions and truth."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mapgauge as mg

LINE = np.array([[0, 0, 0.5], [10, 0, 0.5], [20, 1, 0.75]], np.float32)
KEYS = (("val", "00492", "315970000"), ("val", "00492", "315970500"))
TOKENS = ("val/00492/315970000", "val/00492/315970500")


def lanes(**more: Any) -> dict[str, Any]:
    """The lists of a file with centrelines."""
    return {
        "lane_centerline": [{"id": 11, "points": LINE, **more}, {"id": 12, "points": LINE + 1, **more}],
        "traffic_element": [{"id": 3, "category": 1, "attribute": 2, "points": LINE[:2, :2], **more}],
        "topology_lclc": np.zeros((2, 2), np.int8),
        "topology_lcte": np.zeros((2, 1), np.int8),
    }


def segments(**more: Any) -> dict[str, Any]:
    """The lists of a file with lane segments."""
    sides = {"centerline": LINE, "left_laneline": LINE + 2, "right_laneline": LINE - 2, "left_laneline_type": 1}
    return {
        "lane_segment": [{"id": 21, **sides, **more}],
        "area": [
            {"id": 31, "category": 1, "points": LINE + 5, **more},
            {"id": 32, "category": 2, "points": LINE + 6, **more},
        ],
        "traffic_element": [],
        "topology_lsls": np.zeros((1, 1), np.int8),
    }


def results(*frames: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": "m",
        "authors": ["a"],
        "e-mail": "e",
        "results": {key: {"predictions": frame} for key, frame in zip(KEYS, frames, strict=False)},
    }


def truth(*frames: dict[str, Any]) -> dict[Any, Any]:
    return {
        key: {
            "version": "OpenLane-V2_v1.0",
            "segment_id": key[1],
            "timestamp": key[2],
            "sensor": {},
            "pose": {"rotation": np.eye(3), "translation": np.array([10.0 * i, 0, 0])},
            "annotation": frame,
        }
        for i, (key, frame) in enumerate(zip(KEYS, frames, strict=False))
    }


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., mg.MapFrames]:
    def read(document: Any, format: str | None = None, **options: Any) -> mg.MapFrames:
        path = tmp_path / "file.pkl"
        path.write_bytes(pickle.dumps(document))
        return mg.read(path, format, **options)

    return read


Read = Callable[..., mg.MapFrames]


def test_a_submission_of_centrelines_is_read(read: Read) -> None:
    frames = read(results(lanes(confidence=0.75), lanes(confidence=np.float32(0.5))))
    assert frames.format == "openlanev2"
    assert frames.tokens == TOKENS
    assert frames.counts == {"centerline": 4, "green": 2}
    assert frames.scenes == ("00492", "00492")
    assert frames.timestamps is not None
    assert frames.timestamps.tolist() == [315970000, 315970500]
    assert frames.track is None  # ids of predictions name nothing in other frames
    assert frames.findings == ()
    instance = frames[TOKENS[1]][1]
    assert instance.confidence == 0.5
    np.testing.assert_array_equal(instance.points, LINE + 1)


def test_a_submission_of_lane_segments_has_three_lines_for_each(read: Read) -> None:
    frames = read(results(segments(confidence=0.75)))
    classes = ["centerline", "left_laneline", "right_laneline", "ped_crossing", "boundary"]
    assert [instance.class_name for instance in frames[TOKENS[0]]] == classes
    assert frames.classes == tuple(classes)
    assert {instance.confidence for instance in frames[TOKENS[0]]} == {0.75}
    for instance, shift in zip(frames[TOKENS[0]], (0, 2, -2, 5, 6), strict=True):
        np.testing.assert_array_equal(instance.points, LINE + shift)


def test_truth_keeps_ids_as_tracks_and_poses(read: Read) -> None:
    frames = read(truth(segments(), segments()))
    assert frames.format == "openlanev2-truth"
    assert frames.confidence is None
    assert frames.dimension == 3
    assert [instance.track for instance in frames[TOKENS[1]]] == [
        "00492/centerline/21",
        "00492/left_laneline/21",
        "00492/right_laneline/21",
        "00492/ped_crossing/31",
        "00492/boundary/32",
    ]
    assert frames.poses is not None
    moved = frames.transform(frames.poses)
    np.testing.assert_allclose(moved[TOKENS[1]][0].points, LINE + np.array([10, 0, 0]))


def test_ids_may_be_text_or_missing(read: Read) -> None:
    frame = {"lane_centerline": [{"id": "a1", "points": LINE}, {"points": LINE}]}
    assert [instance.track for instance in read(truth(frame))[TOKENS[0]]] == ["00492/centerline/a1", None]


def test_truth_of_centrelines_has_one_class(read: Read) -> None:
    frames = read(truth(lanes()))
    assert set(frames.classes) - set(frames.boxes) == {"centerline"}
    assert frames.counts["centerline"] == 2


def test_classes_without_instances_are_there_if_their_list_is(read: Read) -> None:
    assert read(truth({"lane_segment": [], "area": []})).counts == dict.fromkeys(
        ("centerline", "left_laneline", "right_laneline", "ped_crossing", "boundary"), 0
    )
    assert read(truth(lanes() | {"lane_segment": []})).counts == {"centerline": 2, "green": 1}


def test_frames_without_instances_stay(read: Read) -> None:
    frames = read(truth(lanes(), {"lane_centerline": []}))
    assert (frames.tokens, len(frames[TOKENS[1]])) == (TOKENS, 0)


def test_other_categories_can_be_named(read: Read) -> None:
    frame = {"area": [{"id": 1, "category": 3, "points": LINE}], "lane_centerline": [{"id": 2, "points": LINE}]}
    assert read(truth(frame), classes={3: "stop_line"}).counts == {"stop_line": 1, "centerline": 1}


def test_keys_may_be_numbers_or_one_text(read: Read) -> None:
    document = truth(lanes())
    assert read({("val", "00492", 315970000): document[KEYS[0]]}).tokens == TOKENS[:1]
    assert read({TOKENS[0]: document[KEYS[0]]}, "openlanev2-truth").tokens == TOKENS[:1]


def test_timestamps_that_are_no_numbers_stay_in_the_token(read: Read) -> None:
    frames = read({("val", "1", "first"): truth(lanes())[KEYS[0]]})
    assert (frames.tokens, frames.timestamps) == (("val/1/first",), None)


def test_poses_of_some_frames_are_left_out_and_counted(read: Read) -> None:
    document = truth(lanes(), lanes())
    del document[KEYS[1]]["pose"]
    frames = read(document)
    assert frames.poses is None
    assert [(finding.code, finding.count, finding.examples) for finding in frames.findings] == [
        ("poses-left-out", 1, (TOKENS[1],))
    ]


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The document with another value at a path; ``...`` removes it."""
    copied = pickle.loads(pickle.dumps(document))
    inner = copied
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copied


PREDICTED = ("results", KEYS[0], "predictions")
ANNOTATED = (KEYS[0], "annotation")
LANE = (*PREDICTED, "lane_centerline", 1)
SEGMENT = (*ANNOTATED, "lane_segment", 0)
AREA = (*ANNOTATED, "area", 1)
NAN = LINE * np.array([1, np.nan, 1])


@pytest.mark.parametrize(
    ("document", "path", "value", "message"),
    [
        (results(lanes(confidence=0.5)), ("results",), [], r"results is a list, expected a dictionary by frame"),
        (results(lanes(confidence=0.5)), ("results",), ..., r"has no 'results'"),
        (results(lanes(confidence=0.5)), PREDICTED, ..., r'results\["val/00492/315970000"\] has no \'predictions\''),
        (results(lanes(confidence=0.5)), PREDICTED, [], r'\["val/00492/315970000"\]\.predictions is a list'),
        (results(lanes(confidence=0.5)), (*PREDICTED, "lane_centerline"), ..., r"predictions has none of lane_cent"),
        (
            results(lanes(confidence=0.5)),
            (*PREDICTED, "lane_centerline"),
            {},
            r"\.lane_centerline is a dict, expected a",
        ),
        (results(lanes(confidence=0.5)), LANE, [1], r"lane_centerline\[1\] is a list, expected a dictionary"),
        (results(lanes(confidence=0.5)), (*LANE, "points"), ..., r"lane_centerline\[1\] has no 'points'"),
        (results(lanes(confidence=0.5)), (*LANE, "confidence"), ..., r"lane_centerline\[1\] has no 'confidence'"),
        (results(lanes(confidence=0.5)), (*LANE, "confidence"), "0.5", r"\[1\]\.points: confidence is '0.5', expected"),
        (results(lanes(confidence=0.5)), (*LANE, "confidence"), np.nan, r"\[1\]\.points has a confidence that is not"),
        (results(lanes(confidence=0.5)), (*LANE, "points"), LINE[:1], r"lane_centerline\[1\]\.points has fewer than 2"),
        (
            results(lanes(confidence=0.5)),
            (*LANE, "points"),
            LINE[:, :2],
            r"\[1\]\.points: points have 2 coordinates, those",
        ),
        (results(lanes(confidence=0.5)), (*LANE, "points"), NAN, r"lane_centerline\[1\]\.points has a coordinate"),
        (
            results(lanes(confidence=0.5)),
            (*LANE, "points"),
            LINE.ravel(),
            r"lane_centerline\[1\]\.points is a flat list",
        ),
        (truth(segments()), (KEYS[0], "annotation"), ..., r'\["val/00492/315970000"\] has no \'annotation\''),
        (truth(segments()), (KEYS[0], "annotation"), {}, r"\.annotation has none of .* test split is not public"),
        (truth(segments()), (*SEGMENT, "left_laneline"), ..., r"lane_segment\[0\] has no 'left_laneline'"),
        (truth(segments()), (*SEGMENT, "left_laneline"), NAN, r"lane_segment\[0\]\.left_laneline has a coordinate"),
        (
            truth(segments()),
            (*SEGMENT, "id"),
            1.5,
            r"lane_segment\[0\]\.id is a float, expected a whole number or a text",
        ),
        (truth(segments()), (*AREA, "category"), 3, r"area\[1\]\.category: unknown label 3\. Known: 1 ped_crossing, 2"),
        (truth(segments()), (*AREA, "category"), "1", r"area\[1\]\.category: label is '1', expected a whole number"),
        (truth(segments()), (*AREA, "category"), ..., r"area\[1\] has no 'category'"),
        (truth(segments()), (*AREA, "points"), LINE[:1], r"annotation\.area\[1\]\.points has fewer than 2 points"),
        (
            truth(segments(), lanes()),
            (KEYS[0], "version"),
            "",
            r'315970500"\]\.annotation\.lane_centerline and in \["val/00492/315970000"\]\.annotation\.lane_segment',
        ),
    ],
)
def test_a_bad_file_is_refused_with_the_place(
    document: Any, path: tuple[Any, ...], value: Any, message: str, read: Read
) -> None:
    name = "openlanev2" if "results" in document else "openlanev2-truth"
    with pytest.raises(mg.UnreadableFile, match=r"file\.pkl: .*" + message):
        read(changed(document, path, value), name)


@pytest.mark.parametrize(
    ("key", "shown"),
    [(("val", 1), "val/1"), ("", ""), (7, "a int"), ((1, None, 2), "a tuple")],
)
def test_a_key_that_names_no_frame_is_refused(key: Any, shown: str, read: Read) -> None:
    with pytest.raises(
        mg.UnreadableFile, match=rf"the pickle has the key {shown}, expected \(split, segment_id, timest"
    ):
        read({key: truth(lanes())[KEYS[0]]}, "openlanev2-truth")


def test_degenerate_lines_can_be_dropped(read: Read) -> None:
    frames = read(changed(truth(segments()), (*AREA, "points"), NAN), degenerate="drop")
    assert frames.counts["boundary"] == 0
    assert [(finding.code, finding.count) for finding in frames.findings] == [("dropped-not-finite", 1)]


@pytest.mark.parametrize("document", [{}, {"results": {}}, {"results": 1}, {("a", "b", "c"): 1}, {1: {}}, [], None, 3])
def test_other_pickles_are_not_taken_for_these(document: Any, read: Read) -> None:
    try:
        taken = read(document).format
    except mg.UnreadableFile:
        return
    assert not taken.startswith("openlanev2")
