"""VectorMapNet's pickle of predictions and truth."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mapgauge as mg

LINE = np.array([[-30.0, -15], [0, 0], [28.0, 13]])
Read = Callable[..., mg.MapFrames]


def instance(label: Any = 1, confidence: Any = 0.75, points: Any = LINE, number: Any = 3) -> dict[str, Any]:
    return {"pts": points, "pts_num": number, "type": label, "confidence_level": confidence}


def document(**results: Any) -> dict[str, Any]:
    """Three frames of truth, and the frames given as results, ``b`` left out if not."""
    truth = {"a": [instance(0, 1.0), instance(2, 1.0)], "b": [instance(1, 1.0)], "c": []}
    predictions = results or {"a": [instance(1), instance(2, np.float32(0.5))], "c": [instance(0)]}
    return {
        "meta": {"use_lidar": False},
        "results": {token: {"vectors": vectors} for token, vectors in predictions.items()},
        "groundTruth": {token: {"vectors": vectors} for token, vectors in truth.items()},
    }


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(document: Any, **options: Any) -> mg.MapFrames:
        path = tmp_path / "file.pkl"
        path.write_bytes(pickle.dumps(document, 2))
        return mg.read(path, "vectormapnet", **options)

    return read


def test_predictions_are_read(read: Read) -> None:
    frames = read(document())
    assert frames.tokens == ("a", "b", "c")
    assert frames.counts == {"ped_crossing": 1, "divider": 1, "boundary": 1}
    assert [(one.class_name, one.confidence) for one in frames["a"]] == [("divider", 0.75), ("boundary", 0.5)]
    np.testing.assert_array_equal(frames["a"][0].points, LINE)


def test_a_frame_that_is_only_in_the_truth_has_no_predictions_and_is_counted(read: Read) -> None:
    frames = read(document())
    assert frames["b"] == []
    found = {finding.code: finding for finding in frames.findings}
    assert (found["frames-left-out"].level, found["frames-left-out"].count) == ("note", 1)
    assert found["frames-left-out"].examples == ("b",)


def test_nothing_is_counted_if_all_frames_are_there(read: Read) -> None:
    frames = read(document(a=[], b=[], c=[]))
    assert [finding.code for finding in frames.findings] == ["shrunk"]


def test_frames_that_are_only_in_the_results_come_last(read: Read) -> None:
    assert read(document(z=[instance()], a=[instance()])).tokens == ("a", "b", "c", "z")


def test_truth_is_read_when_asked_for(read: Read) -> None:
    frames = read(document(), part="truth")
    assert frames.confidence is None
    assert frames.tokens == ("a", "b", "c")
    assert frames.counts == {"ped_crossing": 1, "divider": 1, "boundary": 1}
    assert [finding.code for finding in frames.findings] == ["shrunk"]


def test_unshrinking_undoes_the_shrinking(read: Read, rng: np.random.Generator) -> None:
    true = rng.uniform((-30, -15), (30, 15), (50, 2))
    x = (true[:, 0] + 30) / 62 * 60 - 30  # as the network's input and output are scaled
    y = (true[:, 1] + 15) / 32 * 30 - 15
    shrunk = document(a=[instance(points=np.column_stack([x, y]), number=50)])
    np.testing.assert_array_equal(read(shrunk)["a"][0].points[:, 0], x)
    frames = read(shrunk, unshrink=True)
    np.testing.assert_allclose(frames["a"][0].points, true, atol=1e-12)
    assert [finding.code for finding in frames.findings] == ["frames-left-out"]


def test_unshrinking_keeps_one_corner_and_moves_the_other_by_two_metres(read: Read) -> None:
    corners = np.array([[-30.0, -15], [30, 15]])
    frames = read(document(a=[instance(points=corners, number=2)]), unshrink=True)
    np.testing.assert_allclose(frames["a"][0].points, [[-30, -15], [32, 17]])


def test_truth_is_unshrunk_too(read: Read) -> None:
    frames = read(document(), part="truth", unshrink=True)
    np.testing.assert_allclose(frames["a"][0].points[2], [58 * 62 / 60 - 30, 28 * 32 / 30 - 15])


def test_a_stated_number_of_points_that_is_wrong_is_counted(read: Read) -> None:
    frames = read(document(a=[instance(number=5), instance(number=3)]))
    found = {finding.code: finding for finding in frames.findings}
    assert (found["points-number"].count, found["points-number"].level) == (1, "warning")
    assert found["points-number"].examples == ('results["a"].vectors[0]',)


def test_classes_can_be_named_otherwise(read: Read) -> None:
    assert read(document(), classes=["divider", "ped_crossing", "boundary"])["a"][0].class_name == "ped_crossing"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"part": "results"}, "part must be 'predictions' or 'truth', got 'results'"),
        ({"part": ["truth"]}, "part must be 'predictions' or 'truth'"),
        ({"unshrink": 1}, "unshrink must be True or False, got 1"),
        ({"shrink": True}, "the format vectormapnet has no option shrink; it takes part, unshrink"),
    ],
)
def test_other_options_are_refused(options: dict[str, Any], message: str, read: Read) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        read(document(), **options)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], r"the pickle is a list, expected a dictionary with 'results'"),
        ({"results": {}}, r"the pickle has no 'groundTruth'"),
        (document() | {"results": []}, r"results and groundTruth must be dictionaries"),
        (document() | {"results": {3: {"vectors": []}}}, r'results\["3"\]: token is 3, expected a text'),
        (document() | {"results": {"a": []}}, r'results\["a"\] is a list, expected a dictionary with \'vectors\''),
        (document() | {"results": {"a": {}}}, r'results\["a"\] has no \'vectors\''),
        (document(a={}), r'results\["a"\]\.vectors is a dict, expected a list'),
        (document(a=[LINE]), r'results\["a"\]\.vectors\[0\] is a ndarray, expected a dictionary'),
        (document(a=[{"type": 1, "confidence_level": 1}]), r'\["a"\]\.vectors\[0\] has no \'pts\''),
        (document(a=[{"pts": LINE, "confidence_level": 1}]), r'\["a"\]\.vectors\[0\] has no \'type\''),
        (document(a=[{"pts": LINE, "type": 1}]), r'\["a"\]\.vectors\[0\] has no \'confidence_level\''),
        (document(a=[instance(), instance(7)]), r'\["a"\]\.vectors\[1\]: unknown label 7\. Known: 0 ped_crossing, 1'),
        (document(a=[instance("1")]), r'\["a"\]\.vectors\[0\]: label is \'1\', expected a whole number'),
        (
            document(a=[instance(confidence="1")]),
            r'\["a"\]\.vectors\[0\]\.confidence_level is \'1\', expected a number',
        ),
        (
            document(a=[instance(confidence=np.nan)]),
            r'\["a"\]\.vectors\[0\]\.pts has a confidence that is not a finite',
        ),
        (document(a=[instance(number="3")]), r'\["a"\]\.vectors\[0\]\.pts_num is \'3\', expected a number'),
        (document(a=[instance(points=LINE[:1])]), r'\["a"\]\.vectors\[0\]\.pts has fewer than 2 points'),
        (document(a=[instance(points=LINE * np.nan)]), r'\["a"\]\.vectors\[0\]\.pts has a coordinate that is not'),
        (document(a=[instance(points=LINE.ravel())]), r'\["a"\]\.vectors\[0\]\.pts is a flat list of numbers'),
        (document(a=[instance(points=[["1", "2"]])]), r'\["a"\]\.vectors\[0\]\.pts\[0\]\[0\] is \'1\', expected a num'),
        (document(a=[instance(points="text")]), r'\["a"\]\.vectors\[0\]\.pts is \'text\', expected a list of points'),
        (
            document(a=[instance()], c=[instance(points=np.zeros((3, 3)))]),
            r'\["c"\]\.vectors\[0\]\.pts: points have 3 coordinates, those before have 2',
        ),
    ],
)
def test_a_bad_file_is_refused_with_the_place(wrong: Any, message: str, read: Read) -> None:
    with pytest.raises(mg.UnreadableFile, match=r"file\.pkl: .*" + message):
        read(wrong)


def test_degenerate_lines_can_be_dropped(read: Read) -> None:
    frames = read(document(a=[instance(points=LINE[:1], number=1), instance()]), degenerate="drop")
    assert len(frames["a"]) == 1
    assert "dropped-few-points" in [finding.code for finding in frames.findings]


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        (document(), True),
        ({"results": {}, "groundTruth": {}}, True),
        ({"results": {}}, False),
        ({"groundTruth": {}}, False),
        ({"results": [], "groundTruth": []}, False),
        ({}, False),
        ([], False),
        (None, False),
        ({("a", 1): LINE}, False),
    ],
)
def test_it_is_recognised_by_its_two_parts(value: Any, taken: bool, tmp_path: Path) -> None:
    (tmp_path / "file.pkl").write_bytes(pickle.dumps(value))
    try:
        found = mg.read(tmp_path / "file.pkl").format
    except mg.UnreadableFile:
        found = ""
    assert (found == "vectormapnet") is taken
