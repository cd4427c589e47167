"""Files that are odd or damaged are named in one line, with status 1, and never called a bug."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.cli import targets
from mapgauge.io.files import writing
from mapgauge.io.poses import feather_columns

LINES = {"divider": [[[0, 0], [9, 0]], [[0, 5], [9, 5]]]}


def saved_results(folder: Path) -> Path:
    truth = mg.MapFrames.of({"a": LINES, "b": LINES})
    mg.write(truth, folder / "truth.geojson")
    mg.write(truth.with_confidence(0.5), folder / "predictions.geojson")
    mg.evaluate(folder / "predictions.geojson", folder / "truth.geojson").save(folder / "r.mg")
    return folder / "r.mg"


def test_a_format_that_is_not_here_is_only_named(call: Run, tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    mg.write(mg.MapFrames.of({"a": LINES}), path)
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[b"mapgauge"]) | {"format": "of-a-plug-in"}
    pq.write_table(table.replace_schema_metadata({b"mapgauge": json.dumps(about)}), path)
    done = call("inspect", path)
    assert done.returncode == 0
    assert "f.parquet (of-a-plug-in)" in done.stdout


@pytest.mark.parametrize("command", [["why"], ["report", "-o", "x.html"], ["show", "-o", "x.svg"]])
def test_results_of_other_frames_are_refused(call: Run, tmp_path: Path, command: list[str]) -> None:
    path = saved_results(tmp_path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(arrays["header"].tobytes()) | {"tokens": ["x", "b"]}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with path.open("wb") as stream:
        np.savez_compressed(stream, **arrays)
    out = [str(tmp_path / word) if word.startswith("x.") else word for word in command[1:]]
    done = call(command[0], path, *out)
    assert done.returncode == 1
    assert "1 of the 2 frames of the results are not in the evaluated files (first: x)" in done.stderr


@pytest.mark.parametrize("command", ["inspect", "compare", "why"])
def test_damaged_results_are_named_as_results(call: Run, tmp_path: Path, command: str) -> None:
    path = saved_results(tmp_path)
    data = bytearray(path.read_bytes())
    data[32] ^= 8  # in the name of the first array, by which results are known
    path.write_bytes(data)
    done = call(command, path)
    assert done.returncode == 1
    assert "r.mg: not a file of results" in done.stderr


def not_utf8(data: bytes, name: bytes) -> bytes:
    """The file with a name that is not UTF-8, wherever it stands."""
    assert name in data
    return data.replace(name, b"\xff\xfe" + name[2:])


def test_tags_whose_columns_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tags.parquet"
    pq.write_table(pa.table({"token": ["a"], "weather": ["rain"]}), path, store_schema=False)
    path.write_bytes(not_utf8(path.read_bytes(), b"weather"))
    with pytest.raises(mg.UnreadableFile, match=r"tags\.parquet: expected a table.*utf-8"):
        mg.read_tags(path)


def test_feather_files_whose_columns_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "poses.feather"
    feather.write_feather(pa.table({"timestamp_ns": [1], "qw": [1.0]}), path, compression="uncompressed")
    path.write_bytes(not_utf8(path.read_bytes(), b"timestamp_ns"))
    with pytest.raises(mg.UnreadableFile, match=r"poses\.feather: not a feather file: .*utf-8"):
        feather_columns(path, {"qw": "numbers"}, "poses")


def test_poses_are_called_poses(call: Run, tmp_path: Path) -> None:
    pose = {"translation": [0, 0, 0], "rotation": [1, 0, 0, 0], "scene": "s", "timestamp": 1}
    path = tmp_path / "frames.json"
    path.write_text(json.dumps({"a": pose, "b": pose | {"timestamp": 2}}), encoding="utf-8")
    lines = call("inspect", path).stdout.splitlines()
    assert lines[1] == "  2 poses, 1 scene, time stamps"
    assert len(lines) == 2


def test_a_read_only_disk_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "is_read_only", lambda folder: True)
    with pytest.raises(mg.MapgaugeError, match=r"r\.mg: .*read-only"):
        targets.check_target(tmp_path / "r.mg")
    monkeypatch.setattr("os.access", lambda *_: False)
    (tmp_path / "f.geojson").touch()
    with pytest.raises(mg.MapgaugeError, match="cannot be written: the disk is read-only"):
        mg.write(mg.MapFrames.of({"a": LINES}), tmp_path / "f.geojson")


def test_whether_a_disk_is_read_only_is_asked_from_the_system(tmp_path: Path) -> None:
    assert not writing.is_read_only(tmp_path)
    assert not writing.is_read_only(tmp_path / "missing")
