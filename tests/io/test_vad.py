"""VAD's results: the map in a file with boxes and plans, as JSON and as a pickle with tensors."""

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared_data import DATA, needs_data

import mapgauge as mg

Document = dict[str, Any]
LINE = [[0.5, 1.0], [2.0, 3.25], [4.0, 25.0]]


def vector(name: str = "divider", number: int = 0, confidence: float = 0.5) -> Document:
    return {"pts": LINE, "pts_num": 3, "cls_name": name, "type": number, "confidence_level": confidence}


def results() -> Document:
    boxes = {"t0": [{"sample_token": "t0", "translation": [1.0, 2.0, 3.0], "detection_name": "car"}], "t1": []}
    frames = {
        "t0": {"sample_token": "t0", "vectors": [vector(), vector("boundary", 2, 0.25)]},
        "t1": {"sample_token": "t1", "vectors": []},
    }
    plans = {"t0": [[[[0.0, 1.0]] * 6] * 3, [[[[0, 0, 1]]]]]}
    return {"meta": {"use_lidar": False}, "results": boxes, "map_results": frames, "plan_results": plans}


def saved(document: Document, folder: Path) -> Path:
    path = folder / "results_nusc.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def pickled(document: Document, folder: Path) -> Path:
    """Write a pickle in which every text ``<tensor>`` is a call of torch."""

    data = pickle.dumps(document, 2)
    text = b"X\x08\0\0\0<tensor>"
    data = re.sub(re.escape(text) + rb"q.", b"ctorch._utils\n_rebuild_tensor_v2\n(K\x01tR", data, flags=re.DOTALL)
    path = folder / "results_nusc.pkl"
    path.write_bytes(data)
    return path


def test_the_map_is_read_and_boxes_and_plans_are_stepped_over(tmp_path: Path) -> None:
    document = results()
    as_json = mg.read(saved(document, tmp_path))
    document["plan_results"] = {"t0": ["<tensor>"]}
    for frame in document["map_results"].values():
        for each in frame["vectors"]:
            each["pts"] = np.array(LINE, np.float32)
            each["confidence_level"] = np.float32(each["confidence_level"])
    for frames in (as_json, mg.read(pickled(document, tmp_path))):
        assert (frames.format, frames.tokens, frames.forward) == ("vad", ("t0", "t1"), "y")
        assert frames.counts == {"divider": 1, "ped_crossing": 0, "boundary": 1}
        assert [each.points.tolist() for each in frames["t0"]] == [LINE, LINE]
        assert frames.confidence is not None
        assert frames.confidence.tolist() == [0.5, 0.25]


def test_boxes_may_fill_the_beginning_of_a_file(tmp_path: Path) -> None:
    document = results()
    document["results"]["t0"] *= 2000
    assert mg.read(saved(document, tmp_path)).format == "vad"


def test_a_file_may_have_the_map_alone_and_the_classes_of_bench2drive(tmp_path: Path) -> None:
    vectors = [vector("Broken"), vector("Solid", 1)]
    frames = mg.read(saved({"meta": {}, "map_results": {"town_00012": {"vectors": vectors}}}, tmp_path))
    assert (frames.format, frames.counts) == ("vad", {"Broken": 1, "Solid": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frames: frames["t0"]["vectors"][0].pop("pts"), r'\$.map_results\["t0"\].vectors\[0\] is not'),
        (lambda frames: frames["t0"].update(sample_token="t9"), r"sample_token is 't9', expected 't0'"),
        (lambda frames: frames.update(t1=[]), r'\$.map_results\["t1"\] is not an object with vectors'),
        (lambda frames: frames["t0"]["vectors"][1].pop("confidence_level"), r"vectors\[1\] has no confidence_level"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path: Path, change: Any, message: str) -> None:
    document = results()
    change(document["map_results"])
    with pytest.raises(mg.UnreadableFile, match=message):
        mg.read(saved(document, tmp_path))


def test_a_map_of_tensors_is_refused(tmp_path: Path) -> None:
    document = results()
    document["map_results"]["t0"]["vectors"][0]["pts"] = "<tensor>"
    with pytest.raises(mg.UnreadableFile, match=r"vectors\[0\] holds torch tensors.*\.cpu\(\)\.numpy\(\)"):
        mg.read(pickled(document, tmp_path))


def test_a_pickle_of_tensors_in_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="torch tensors, which need torch"):
        mg.read(pickled({"results": {"t0": {"vectors": "<tensor>", "scores": [], "labels": []}}}, tmp_path))


@needs_data("vad_reference")
@pytest.mark.parametrize("name", ["results_nusc.pkl", "results_nusc.json.gz"])
def test_scores_are_those_of_the_public_code(name: str) -> None:
    folder = DATA / "vad_reference"
    truth = mg.read(folder / "nuscenes_map_anns_val.json")
    frames = mg.read(folder / name)
    assert (len(frames), len(frames.polylines)) == (16, 729)
    reference = json.loads((folder / "reference.json").read_text(encoding="utf-8"))["chamfer"]
    results = mg.evaluate(frames, truth, "maptr")
    for class_name in ("divider", "ped_crossing", "boundary"):
        for threshold in ("0.5", "1.0", "1.5"):
            value = results.classes[class_name][f"ap_chamfer@{threshold}"]
            assert value == pytest.approx(reference[class_name][f"AP@{threshold}"], abs=1e-7)
