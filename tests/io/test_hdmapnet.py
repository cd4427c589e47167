"""HDMapNet's results: what is read, what is refused and where the message points."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import map_frames

import mapgauge as mg
from mapgauge.io import FORMATS
from mapgauge.plugin import Content

Document = dict[str, Any]
LINE = [[0.5, 1], [2, 3.25], [4, 5]]


def instance(points: Any = LINE, number: int = 0, confidence: float = 0.5) -> Document:
    return {"pts": points, "pts_num": len(points), "type": number, "confidence_level": confidence}


def results() -> Document:
    frames = {"t0": [instance(), instance(LINE[1:], 1, 0.25), instance(number=2)], "t1": []}
    return {"meta": {"use_camera": True, "vector": True}, "results": frames}


def save(document: object, path: Path) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def refused(path: Path, message: str, **options: Any) -> None:
    with pytest.raises(mg.UnreadableFile, match=message) as error:
        mg.read(path, "hdmapnet", **options)
    assert str(error.value).startswith(f"{path}: ")


def test_results_become_frames(tmp_path: Path) -> None:
    frames = mg.read(save(results(), tmp_path / "output.json"))
    assert (frames.format, frames.tokens, frames.findings) == ("hdmapnet", ("t0", "t1"), ())
    assert frames.counts == {"divider": 1, "ped_crossing": 1, "boundary": 1}
    first, second, _ = frames["t0"]
    assert (first.class_name, first.points.tolist(), first.confidence) == ("divider", LINE, 0.5)
    assert (second.class_name, second.points.tolist(), second.confidence) == ("ped_crossing", LINE[1:], 0.25)


def test_frames_without_instances_are_recognised(tmp_path: Path) -> None:
    frames = mg.read(save({"meta": {}, "results": {"t0": [], "t1": []}}, tmp_path / "file"))
    assert (frames.format, frames.tokens) == ("hdmapnet", ("t0", "t1"))
    assert frames.confidence is not None


@pytest.mark.parametrize(
    "document",
    [
        {"meta": {}, "results": {"t0": {"vectors": [LINE], "scores": [0.5], "labels": [0]}}},
        {"meta": {}, "results": [{"sample_token": "t0", "vectors": []}]},
    ],
)
def test_files_of_others_are_not_taken_for_its_own(tmp_path: Path, document: Document) -> None:
    assert not FORMATS["hdmapnet"].recognise(Content(save(document, tmp_path / "file")))


def test_other_ids_can_be_given(tmp_path: Path) -> None:
    path = save(results(), tmp_path / "file")
    frames = mg.read(path, classes=["lane", "crossing", "lane"])
    assert frames.counts == {"lane": 2, "crossing": 1}


def test_a_token_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    frame = json.dumps([instance()])
    (tmp_path / "file").write_text(
        '{"results": {"t0": ' + frame + ', "t1": [], "t0": ' + frame + "}}", encoding="utf-8"
    )
    with pytest.raises(mg.UnreadableFile, match=r'\$\.results: the key "t0" occurs twice'):
        mg.read(tmp_path / "file")


def test_a_wrong_number_of_points_is_noted(tmp_path: Path) -> None:
    document = results()
    document["results"]["t0"][1]["pts_num"] = 20
    (finding,) = mg.read(save(document, tmp_path / "file")).findings
    assert (finding.code, finding.count, finding.examples) == ("points-number", 1, ('$.results["t0"][1]',))


def test_the_number_of_points_may_be_missing(tmp_path: Path) -> None:
    document = results()
    del document["results"]["t0"][1]["pts_num"]
    assert mg.read(save(document, tmp_path / "file")).findings == ()


PLACE = r'\$\.results\["t0"\]\[1\]'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda i: i.pop("pts"), f"{PLACE} has no pts"),
        (lambda i: [i.pop("type"), i.pop("confidence_level")], f"{PLACE} has no type, confidence_level"),
        (lambda i: i.update(pts=3), rf"{PLACE}\.pts is 3, expected a list of points"),
        (lambda i: i.update(pts=[0, 1, 2, 3], pts_num=4), rf"{PLACE}\.pts is a flat list of numbers"),
        (lambda i: i.update(pts=[[0, 1], [2, "3"]], pts_num=2), rf"{PLACE}\.pts\[1\]\[1\] is '3', expected a number"),
        (lambda i: i.update(pts=[[0, 1], [2]], pts_num=2), rf"{PLACE}\.pts\[1\] has 1 coordinates"),
        (lambda i: i.update(pts=[[0, 1, 2], [3, 4, 5]], pts_num=2), "points have 3 coordinates, those before have 2"),
        (lambda i: i.update(type=3), rf"{PLACE}\.type: unknown label 3\. Known: 0 divider, 1 ped_crossing, 2 boundary"),
        (lambda i: i.update(type="1"), rf"{PLACE}\.type: label is '1', expected a whole number"),
        (lambda i: i.update(confidence_level="1"), rf"{PLACE}\.confidence_level is '1', expected a number"),
    ],
)
def test_a_wrong_instance_is_refused_with_its_place(
    tmp_path: Path, change: Callable[[Document], object], message: str
) -> None:
    document = results()
    change(document["results"]["t0"][1])
    refused(save(document, tmp_path / "file"), message)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], 'no object "results" at the top'),
        ({"meta": {}}, 'no object "results" at the top'),
        ({"results": []}, 'no object "results" at the top'),
        ({"results": {"t0": 3}}, r'\$\.results\["t0"\] is not a list of instances'),
        ({"results": {"t0": [3]}}, r'\$\.results\["t0"\]\[0\] is not an object with pts, type, confidence_level'),
        ({"results": {"": []}}, r'\$\.results\[""\]: the token is \'\', expected a text'),
        ({"results": {"t0": {"map": [[0]], "confidence_level": [1]}}}, r'\$\.results\["t0"\] is a raster'),
    ],
)
def test_a_wrong_document_is_refused(tmp_path: Path, document: object, message: str) -> None:
    refused(save(document, tmp_path / "file"), message)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"pts": [[0, 1]], "pts_num": 1}, "fewer than 2 points"),
        ({"pts": [], "pts_num": 0}, "fewer than 2 points"),
        ({"pts": [[0, None], [1, 2]], "pts_num": 2}, "a coordinate that is not a finite number"),
        ({"pts": [[0, float("nan")], [1, 2]], "pts_num": 2}, "a coordinate that is not a finite number"),
        ({"confidence_level": None}, "a confidence that is not a finite number"),
    ],
)
def test_degenerate_instances_are_refused_or_dropped(tmp_path: Path, change: Document, what: str) -> None:
    document = results()
    document["results"]["t0"][1] |= change
    path = save(document, tmp_path / "file")
    refused(path, rf"{PLACE}\.pts has {what}")
    frames = mg.read(path, degenerate="drop")
    assert frames.counts == {"divider": 1, "ped_crossing": 0, "boundary": 1}
    assert [finding.count for finding in frames.findings] == [1]


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x80\x04}.")
    refused(tmp_path / "file", "a pickle, expected JSON")


@given(frames=map_frames(confidence=True), suffix=st.sampled_from(["", ".gz", ".zst"]))
def test_points_classes_and_confidences_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, frames: mg.MapFrames, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("trip") / f"file.json{suffix}"
    mg.write(frames, path, "hdmapnet")
    again = mg.read(path, "hdmapnet").as_classes(frames.classes)
    assert again.tokens == frames.tokens
    assert again.label.tolist() == frames.label.tolist()
    assert again.frame.tolist() == frames.frame.tolist()
    assert again.polylines.offsets.tolist() == frames.polylines.offsets.tolist()
    assert again.polylines.coords.tobytes() == frames.polylines.coords.tobytes()
    assert again.confidence is not None
    assert frames.confidence is not None
    assert again.confidence.tobytes() == frames.confidence.tobytes()


def test_what_is_written_is_what_its_evaluator_reads(tmp_path: Path) -> None:
    frames = mg.MapFrames.of({"t0": {"boundary": [LINE]}, "t1": {}}).with_confidence(0.25)
    mg.write(frames, tmp_path / "file", "hdmapnet")
    document = json.loads((tmp_path / "file").read_text(encoding="utf-8"))
    assert document == {"meta": {"vector": True}, "results": {"t0": [instance(LINE, 2, 0.25)], "t1": []}}


def test_truth_and_repeated_tokens_cannot_be_written(tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"t0": {"divider": [LINE]}})
    with pytest.raises(mg.InvalidInput, match="hdmapnet holds predictions"):
        mg.write(truth, tmp_path / "file", "hdmapnet")
    with pytest.raises(mg.InvalidInput, match="tokens occur more than once"):
        mg.write(truth.with_confidence(1).at([0, 0]), tmp_path / "file", "hdmapnet")


def sound_file() -> bytes:
    write = FORMATS["hdmapnet"].write
    assert write is not None
    lines = {"t0": {"divider": [LINE, LINE[1:]]}, "t1": {}, "t2": {"boundary": [LINE]}}
    return write(mg.MapFrames.of(lines).with_confidence(0.5), None)


def test_a_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    data = sound_file()
    for end in range(1, len(data)):
        (tmp_path / "file").write_bytes(data[:end])
        refused(tmp_path / "file", "not JSON")


def test_flipped_bytes_end_in_an_error_or_in_frames(tmp_path: Path, rng: np.random.Generator) -> None:
    sound, likely = sound_file(), b'0123456789-.e[]{},":'
    outcomes: set[type] = set()
    for _ in range(600):
        data = bytearray(sound)
        for place in rng.integers(0, len(data), rng.integers(1, 4)).tolist():
            data[place] = int(rng.integers(0, 256)) if rng.random() < 0.3 else likely[rng.integers(0, len(likely))]
        (tmp_path / "file").write_bytes(data)
        try:
            outcomes.add(type(mg.read(tmp_path / "file", "hdmapnet", degenerate="drop")))
        except mg.UnreadableFile as error:
            outcomes.add(type(error))
    assert outcomes == {mg.MapFrames, mg.UnreadableFile}
