"""StreamMapNet's results and truth: what is read, what is refused and where the message points."""

import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.io.faults import change

import mapgauge as mg

Document = dict[str, Any]


def results() -> Document:
    frame = {
        "vectors": [[[0.5, 1], [2, 3.25], [4, 5]], [[-1, -2], [-3, -4]]],
        "scores": [0.9, 1],
        "labels": [1, 0],
    }
    return {"meta": {"output_format": "vector"}, "results": {"t0": frame, "t1": {k: [] for k in frame}}}


def save(document: object, path: Path) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.fixture(params=["json", "pickle"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[object], Path]:
    def write(document: object) -> Path:
        if request.param == "json":
            return save(document, tmp_path / "results.json")
        (tmp_path / "results.pkl").write_bytes(pickle.dumps(document))
        return tmp_path / "results.pkl"

    return write


def test_results_become_frames(store: Callable[[object], Path]) -> None:
    frames = mg.read(store(results()))
    assert frames.format == "streammapnet"
    assert frames.tokens == ("t0", "t1")
    assert frames.classes == ("ped_crossing", "divider", "boundary")
    first, second = frames["t0"]
    assert (first.class_name, first.confidence) == ("divider", 0.9)
    assert first.points.tolist() == [[0.5, 1], [2, 3.25], [4, 5]]
    assert (second.class_name, second.confidence) == ("ped_crossing", 1.0)
    assert frames["t1"] == []


def test_the_fast_and_the_thorough_way_agree(tmp_path: Path, rng: np.random.Generator) -> None:
    document = results()
    document["results"]["t2"] = {
        "vectors": rng.normal(0, 30, (40, 20, 2)).tolist(),
        "scores": rng.random(40).tolist(),
        "labels": rng.integers(0, 3, 40).tolist(),
    }
    fast = mg.read(save(document, tmp_path / "fast.json"))
    document["results"]["t1"]["labels"], document["results"]["t1"]["scores"] = (
        [0.0],
        [0.5],
    )  # a label as a float: thorough
    document["results"]["t1"]["vectors"] = [[[0, 0], [1, 1]]]
    thorough = mg.read(save(document, tmp_path / "thorough.json")).at([0, 2])
    fast = fast.at([0, 2])
    assert np.array_equal(fast.polylines.coords, thorough.polylines.coords)
    assert np.array_equal(fast.polylines.offsets, thorough.polylines.offsets)
    assert np.array_equal(fast.label, thorough.label)
    assert fast.confidence is not None
    assert thorough.confidence is not None
    assert np.array_equal(fast.confidence, thorough.confidence)


def test_other_keys_are_skipped(store: Callable[[object], Path]) -> None:
    document = results()
    document["results"]["t0"] |= {"prop": [True, False], "track_vectors": [[[1]]], "semantic_mask": [[0, 1]]}
    assert len(mg.read(store(document))["t0"]) == 2


def test_points_may_have_height(store: Callable[[object], Path]) -> None:
    document = results()
    document["results"]["t0"]["vectors"] = [[[0, 0, 1], [1, 1, 1]], [[2, 2, 2], [3, 3, 3]]]
    assert mg.read(store(document)).dimension == 3


@pytest.mark.parametrize("table", [["a", "b", "c"], {0: "a", 1: "b"}, {"a": 0, "b": 1}])
def test_ids_can_be_given_other_names(store: Callable[[object], Path], table: Any) -> None:
    assert [instance.class_name for instance in mg.read(store(results()), classes=table)["t0"]] == ["b", "a"]


@pytest.mark.parametrize("table", ["abc", 3, {0: 1}, {"a": "b"}, {0: "a", "b": True}, ["a", 2]])
def test_a_table_of_classes_must_be_one(store: Callable[[object], Path], table: Any) -> None:
    with pytest.raises(mg.InvalidInput, match="classes must be a list of names"):
        mg.read(store(results()), classes=table)


def test_numpy_values_inside_a_pickle_are_read(tmp_path: Path) -> None:
    document = results()
    frame = document["results"]["t0"]
    frame["vectors"] = [np.array(points, np.float32) for points in frame["vectors"]]
    frame["scores"], frame["labels"] = np.array([0.9, 1.0]), np.array([1, 0])
    (tmp_path / "r.pkl").write_bytes(pickle.dumps(document))
    assert mg.read(tmp_path / "r.pkl")["t0"][0].points.tolist() == [[0.5, 1], [2, 3.25], [4, 5]]


T0 = ["results", "t0"]
FAULTS = {
    "no results": (change(["results"], ...), "none of the known formats|no key .results."),
    "results a number": (change(["results"], 5), "known formats|results is not an object"),
    "frame a list": (change(["results", "t1"], [1]), r'results\["t1"\] is a list, expected a dictionary'),
    "no scores": (change([*T0, "scores"], ...), r'results\["t0"\] has no .scores.\. Give each polyline a score'),
    "scores a number": (change([*T0, "scores"], 1), r'results\["t0"\].scores is 1, expected a list'),
    "fewer scores": (change([*T0, "scores"], [0.5]), r'results\["t0"\] has 2 vectors, 1 scores, 2 labels'),
    "fewer labels": (change([*T0, "labels"], [0]), r'results\["t0"\] has 2 vectors, 2 scores, 1 labels'),
    "text label": (change([*T0, "labels", 1], "0"), r'results\["t0"\].labels\[1\] is the text .0.'),
    "unknown label": (change([*T0, "labels", 1], 7), r"vectors\[1\]: unknown label 7. Known: 0 ped_crossing"),
    "label in between": (change([*T0, "labels", 1], 0.5), r"vectors\[1\]: unknown label 0.5"),
    "null label": (change([*T0, "labels", 1], None), r"vectors\[1\]: label is None, expected a whole number"),
    "text score": (change([*T0, "scores", 0], "0.5"), r"vectors\[0\]: confidence is '0.5', expected a number"),
    "true score": (change([*T0, "scores", 0], True), r"vectors\[0\]: confidence is True, expected a number"),
    "text coordinate": (change([*T0, "vectors", 0, 2, 1], "5"), r"vectors\[0\]\[2\]\[1\] is '5', expected a number"),
    "true coordinate": (change([*T0, "vectors", 0, 2], [True, 1]), r"vectors\[0\]\[2\]\[0\] is True"),
    "flat vectors": (change([*T0, "vectors", 1], [1, 2, 3, 4]), r"vectors\[1\] is a flat list of numbers"),
    "point a number": (change([*T0, "vectors", 0, 1], 7), r"vectors\[0\]"),
    "one coordinate": (change([*T0, "vectors", 1], [[1], [2]]), r"vectors\[1\]: points have 1 coordinates"),
    "four coordinates": (change([*T0, "vectors", 1], [[1, 2, 3, 4]] * 2), r"vectors\[1\]: points have 4 coordinates"),
    "mixed within": (change([*T0, "vectors", 0, 1], [1, 2, 3]), r"vectors\[0\]\[1\] has 3 coordinates"),
    "mixed between": (
        change([*T0, "vectors", 1], [[1, 2, 3]] * 2),
        r"vectors\[1\]: points have 3 coordinates, those before have 2",
    ),
    "vector a text": (change([*T0, "vectors", 1], "line"), r"vectors\[1\] is 'line', expected a list of points"),
    "vector an object": (change([*T0, "vectors", 1], {"x": 1}), r"vectors\[1\] is a (Pairs|dict), expected a list"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused_with_its_place(store: Callable[[object], Path], fault: str) -> None:
    apply, message = FAULTS[fault]
    document = results()
    apply(document)
    with pytest.raises(mg.UnreadableFile, match=message):
        mg.read(store(document), "streammapnet" if fault in ("no results", "results a number") else None)


DEGENERATE = {
    "one point": (change([*T0, "vectors", 1], [[1, 2]]), "fewer than 2 points", "dropped-few-points"),
    "no points": (change([*T0, "vectors", 1], []), "fewer than 2 points", "dropped-few-points"),
    "null": (change([*T0, "vectors", 1, 0, 0], None), "not a finite number", "dropped-not-finite"),
    "NaN": (change([*T0, "vectors", 1, 0, 0], math.nan), "not a finite number", "dropped-not-finite"),
    "infinity": (change([*T0, "vectors", 1, 1, 1], -math.inf), "not a finite number", "dropped-not-finite"),
    "NaN score": (change([*T0, "scores", 1], math.nan), "confidence that is not", "dropped-confidence-not-finite"),
    "null score": (change([*T0, "scores", 1], None), "confidence that is not", "dropped-confidence-not-finite"),
    "infinite score": (change([*T0, "scores", 1], math.inf), "confidence that is not", "dropped-confidence-not-finite"),
}


@pytest.mark.parametrize("what", DEGENERATE)
def test_a_degenerate_instance_is_refused(store: Callable[[object], Path], what: str) -> None:
    apply, message, _ = DEGENERATE[what]
    document = results()
    apply(document)
    with pytest.raises(mg.UnreadableFile, match=rf'results\["t0"\].vectors\[1\] has .*{message}.*degenerate="drop"'):
        mg.read(store(document))


@pytest.mark.parametrize("what", DEGENERATE)
def test_a_degenerate_instance_can_be_dropped_and_is_counted(store: Callable[[object], Path], what: str) -> None:
    apply, _, code = DEGENERATE[what]
    document = results()
    apply(document)
    frames = mg.read(store(document), degenerate="drop")
    assert [instance.class_name for instance in frames["t0"]] == ["divider"]
    assert [(finding.code, finding.level, finding.count) for finding in frames.findings] == [(code, "warning", 1)]


def test_a_number_too_large_for_a_double_is_infinite(tmp_path: Path) -> None:
    text = json.dumps(results()).replace("3.25", "1e999")
    (tmp_path / "r.json").write_text(text, encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r"vectors\[0\] .*not a finite number"):
        mg.read(tmp_path / "r.json")


def test_a_token_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps(results()).replace('"t1"', '"t0"'), encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match=r'\$\.results: the key "t0" occurs twice'):
        mg.read(tmp_path / "r.json")


def test_a_policy_for_degenerate_instances_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match="degenerate must be 'strict' or 'drop'"):
        mg.read(save(results(), tmp_path / "r.json"), degenerate="repair")  # type: ignore[arg-type]


def truth() -> dict[str, dict[Any, Any]]:
    ring = np.array([[0, 0], [1, 0], [1, 1], [0, 0]], np.float64)
    line = np.array([[0, 0], [9, 0.5]])
    return {"t0": {0: [ring], 1: [line, line + 1], 2: []}, "t1": {0: [], 1: [], 2: []}}


def save_truth(document: object, path: Path) -> Path:
    path.write_bytes(pickle.dumps(document))
    return path


def test_truth_becomes_frames(tmp_path: Path) -> None:
    frames = mg.read(save_truth(truth(), tmp_path / "tmp_gts.pkl"))
    assert frames.format == "streammapnet-truth"
    assert frames.confidence is None
    assert frames.counts == {"ped_crossing": 1, "divider": 2, "boundary": 0}
    assert frames["t0"][2].points.tolist() == [[1, 1], [10, 1.5]]
    assert frames["t1"] == []


def test_truth_as_json_has_text_for_labels(tmp_path: Path) -> None:
    plain = {t: {str(k): [line.tolist() for line in v] for k, v in groups.items()} for t, groups in truth().items()}
    frames = mg.read(save(plain, tmp_path / "gts.json"))
    assert frames.format == "streammapnet-truth"
    assert frames.counts == {"ped_crossing": 1, "divider": 2, "boundary": 0}


def test_a_class_that_a_frame_lacks_has_no_instances_there(tmp_path: Path) -> None:
    document = truth()
    del document["t0"][0], document["t1"][2]
    assert mg.read(save_truth(document, tmp_path / "gts.pkl")).counts["ped_crossing"] == 0


def test_truth_without_frames_is_read(tmp_path: Path) -> None:
    assert len(mg.read(save_truth({}, tmp_path / "gts.pkl"))) == 0


TRUTH_FAULTS = {
    "unknown label": (change(["t0", 7], [np.zeros((2, 2))]), r'\["t0"\]\[7\]: unknown label 7'),
    "named label": (change(["t0", "divider"], []), "the label is 'divider', expected a whole number"),
    "not a list": (change(["t0", 1], 5), r'\["t0"\]\[1\] is 5, expected a list'),
    "flat": (change(["t0", 1, 0], np.arange(4.0)), r'\["t0"\]\[1\]\[0\] is a flat list'),
    "text": (change(["t0", 1, 0], np.array([["a", "b"]])), r'\["t0"\]\[1\]\[0\]\[0\]\[0\] is .*a.*, expected a number'),
    "one point": (change(["t0", 1, 0], np.zeros((1, 2))), r'\["t0"\], instance 1 .* has fewer than 2 points'),
    "NaN": (change(["t0", 1, 1, 0, 0], np.nan), r'\["t0"\], instance 2 .* has a coordinate that is not'),
    "mixed": (
        change(["t0", 1, 1], np.zeros((3, 3))),
        r'\["t0"\]\[1\]\[1\]: points have 3 coordinates, those before have 2',
    ),
    "frame a number": (change(["t1"], 5), r'\["t1"\] is not an object by label'),
    "token a number": (change([5], {}), "token 5 is 5, expected a text"),
}


@pytest.mark.parametrize("fault", TRUTH_FAULTS)
def test_a_fault_in_the_truth_is_refused_with_its_place(tmp_path: Path, fault: str) -> None:
    apply, message = TRUTH_FAULTS[fault]
    document: Any = {token: {k: [a.copy() for a in v] for k, v in groups.items()} for token, groups in truth().items()}
    apply(document)
    with pytest.raises(mg.UnreadableFile, match=message):
        mg.read(save_truth(document, tmp_path / "gts.pkl"), "streammapnet-truth")
