"""What a writer writes, the reader gives back: exactly, or with the losses said here."""

import os
import pickle
import pickletools
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.listed import written
from tests.strategies import map_frames

import mapgauge as mg

WRITABLE = written()
PREDICTIONS = {"streammapnet", "maptr", "hdmapnet", "openlanev2"}  # the others hold truth, or either
TRUTH = {"streammapnet-truth", "maptr-truth", "openlanev2-truth"}


@pytest.mark.parametrize("suffix", [".parquet", ".geojson"])
def test_lines_that_read_refuses_are_not_written(tmp_path: Path, suffix: str) -> None:
    few = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]], [[1, 1]], np.empty((0, 2))]}})
    path = tmp_path / f"out{suffix}"
    with pytest.raises(mg.InvalidInput, match=r"2 of 3 instances .*frame a"):
        mg.write(few, path)
    assert not path.is_file()
    mg.write(few.keep(np.diff(few.polylines.offsets) > 1), tmp_path / "kept.parquet")  # as the remedy says


def fitting(frames: mg.MapFrames, name: str) -> mg.MapFrames:
    """The frames with classes that the format has."""
    return frames.rename({"divider": "centerline"}) if name.startswith("openlanev2") else frames


def instances(frames: mg.MapFrames) -> list[list[tuple[str, list[str], float | None]]]:
    """Frame by frame: class, points to the last bit, confidence; in the order of the file."""
    return [
        [
            (instance.class_name, [x.hex() for x in instance.points.ravel().tolist()], instance.confidence)
            for instance in frames[token]
        ]
        for token in frames.tokens
    ]


def test_every_json_format_of_the_public_evaluators_can_be_written() -> None:
    assert set(WRITABLE) >= {
        "streammapnet",
        "streammapnet-truth",
        "maptr",
        "maptr-truth",
        "hdmapnet",
        "geojson",
        "parquet",
    }


@pytest.mark.parametrize("name", WRITABLE)
@given(data=st.data())
def test_a_round_trip_is_exact(tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject) -> None:
    confidence = True if name in PREDICTIONS else False if name in TRUTH else None
    frames = fitting(data.draw(map_frames(confidence=confidence)), name)
    path = tmp_path_factory.mktemp("trip") / "file"
    mg.write(frames, path, name)
    again = mg.read(path, name)
    assert again.tokens == frames.tokens
    before, after = instances(frames), instances(again)
    if name in ("streammapnet-truth", "openlanev2", "openlanev2-truth"):  # grouped by class
        before = [sorted(frame, key=lambda row: row[0]) for frame in before]
        after = [sorted(frame, key=lambda row: row[0]) for frame in after]
    assert after == before


@pytest.mark.parametrize("name", WRITABLE)
def test_what_is_written_is_recognised(tmp_path: Path, name: str) -> None:
    frames = fitting(mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0.5]]]}, "t1": {}}), name)
    if name in PREDICTIONS:
        frames = frames.with_confidence(0.25)
    mg.write(frames, tmp_path / "file", name)
    again = mg.read(tmp_path / "file")
    assert again.format == name
    assert instances(again) == instances(frames)


@pytest.mark.parametrize("name", [name for name in WRITABLE if name != "parquet"])
@pytest.mark.parametrize("frames", [mg.MapFrames.of({}), mg.MapFrames.of({"t0": {}, "t1": {}})])
def test_nothing_comes_back_as_nothing(tmp_path: Path, name: str, frames: mg.MapFrames) -> None:
    mg.write(frames.with_confidence(0) if name in PREDICTIONS else frames, tmp_path / "file", name)
    again = mg.read(tmp_path / "file", name)
    assert again.tokens == frames.tokens
    assert len(again.polylines) == 0


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_the_name_says_how_to_compress(tmp_path: Path, suffix: str) -> None:
    frames = mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0.5]]] * 50}})
    mg.write(frames, tmp_path / "plain.json", "maptr-truth")
    mg.write(frames, tmp_path / f"small.json{suffix}", "maptr-truth")
    assert (tmp_path / f"small.json{suffix}").stat().st_size < (tmp_path / "plain.json").stat().st_size / 5
    assert instances(mg.read(tmp_path / f"small.json{suffix}")) == instances(frames)


def test_streammapnet_truth_is_what_its_evaluator_reads(tmp_path: Path) -> None:
    frames = mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0.5]]]}})
    mg.write(frames, tmp_path / "tmp_gts.pkl", "streammapnet-truth")
    document = pickle.loads((tmp_path / "tmp_gts.pkl").read_bytes())
    assert list(document["t0"]) == [0, 1, 2]
    assert [line.tolist() for line in document["t0"][1]] == [[[0, 0], [9, 0.5]]]
    assert document["t0"][1][0].dtype == np.float64


@pytest.mark.parametrize("name", ["streammapnet-truth", "openlanev2", "openlanev2-truth"])
def test_pickles_name_modules_that_numpy_1_and_numpy_2_have(tmp_path: Path, name: str) -> None:
    frames = fitting(mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0.5]]] * 3}}), name).with_confidence(0.5)
    mg.write(frames, tmp_path / "file.pkl", name)
    data = (tmp_path / "file.pkl").read_bytes()
    texts = [str(argument) for _, argument, _ in pickletools.genops(data)]
    assert not [text for text in texts if "_core" in text]
    assert "numpy.core.multiarray _reconstruct" in texts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pickle.loads(data)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda frames, path: mg.write(frames, path / "file.json"), "which format. Pass format= with one of"),
        (lambda frames, path: mg.write(frames, path / "file", "nosuch"), "unknown format 'nosuch'"),
        (lambda frames, path: mg.write(frames, path / "file", "vectormapnet"), "vectormapnet can only be read. Writ"),
        (
            lambda frames, path: mg.write(frames, path / "f", "maptr", x=1),
            "maptr has no option x; it takes none",
        ),
        (lambda frames, path: mg.write(frames, path / "file", "maptr"), "maptr holds predictions.*with_confidence"),
        (
            lambda frames, path: mg.write(frames.rename({"divider": "lane"}), path / "f", "maptr-truth"),
            "no id for the class lane",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, call: Callable[[mg.MapFrames, Path], None], message: str
) -> None:
    with pytest.raises(mg.InvalidInput, match=message):
        call(mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0.5]]]}}), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_ids_can_be_written(tmp_path: Path) -> None:
    frames = mg.MapFrames.of({"t0": {"lane": [[[0, 0], [9, 0.5]]]}})
    mg.write(frames, tmp_path / "f.pkl", "streammapnet-truth", classes={"lane": 4})
    assert instances(mg.read(tmp_path / "f.pkl", classes={4: "lane"})) == instances(frames)


@pytest.mark.parametrize("name", ["streammapnet", "streammapnet-truth"])
def test_a_token_that_occurs_twice_has_no_place_in_a_dictionary(tmp_path: Path, name: str) -> None:
    twice = mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0.5]]]}}).at([0, 0]).with_confidence(1)
    with pytest.raises(mg.InvalidInput, match="some tokens occur more than once"):
        mg.write(twice, tmp_path / "f", name)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    frames = mg.MapFrames.of({"t0": {"divider": [[[0, 0], [9, 0.5]]]}})
    with pytest.raises(mg.MapgaugeError, match="cannot be written: No such file or directory"):
        mg.write(frames, tmp_path / "no" / "file", "maptr-truth")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "truth.json"
    path.write_text("precious", encoding="utf-8")

    def full(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(mg.MapgaugeError, match="No space left on device"):
        mg.write(mg.MapFrames.of({"t0": {}}), path, "maptr-truth")
    assert path.read_text(encoding="utf-8") == "precious"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", WRITABLE)
def test_a_name_that_utf_8_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    frames = fitting(mg.MapFrames.of({"\ud800": {"divider": [[[0, 0], [9, 0.5]]]}}).with_confidence(1), name)
    with pytest.raises(mg.InvalidInput, match=r"cannot be written as UTF-8. Rename it"):
        mg.write(frames, tmp_path / "file", name)
