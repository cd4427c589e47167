"""Poses that were given to an evaluation are kept with the results, and come back with the evaluated files."""

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.commands import said

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.results.results import drive_of

FRAMES = 20
PLD: dict[str, Any] = {"metrics": ["pld"]}


@pytest.fixture
def truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mg.MapFrames:
    """The truth with poses, in a folder with files that have none: ``x.json`` and ``y.json``."""
    predictions, truth = demo_world(FRAMES)
    mg.write(predictions, tmp_path / "x.json", "maptr")
    mg.write(truth, tmp_path / "y.json", "maptr-truth")
    mg.write(truth, tmp_path / "poses.geojson")
    monkeypatch.chdir(tmp_path)
    return truth


def evaluated() -> mg.Results:
    return mg.evaluate(mg.read("x.json"), mg.with_poses(mg.read("y.json"), "poses.geojson"), **PLD)


def saved(results: mg.Results, **options: Any) -> mg.Results:
    results.save("run.mg", **options)
    return mg.load_results("run.mg")


def poses_of(truth: mg.MapFrames, results: mg.Results) -> NDArray[np.float64]:
    assert truth.poses is not None
    return truth.poses[[truth.index[token] for token in results.tokens]]


def equal(found: NDArray[np.float64] | None, expected: NDArray[np.float64] | None) -> bool:
    assert found is not None
    assert expected is not None
    return np.array_equal(found, expected)


def test_results_know_the_poses_of_their_frames(truth: mg.MapFrames) -> None:
    results = evaluated()
    assert equal(results.poses, poses_of(truth, results))


def test_poses_are_saved_with_results(truth: mg.MapFrames) -> None:
    loaded = saved(evaluated())
    assert equal(loaded.poses, poses_of(truth, loaded))
    assert loaded.scenes == tuple(truth.scenes[truth.index[token]] for token in loaded.tokens)  # type: ignore[index]


def test_poses_return_with_the_evaluated_files(truth: mg.MapFrames) -> None:
    again = saved(evaluated()).with_data()
    assert again.data is not None
    assert equal(again.data[1].poses, poses_of(truth, again))
    assert again.data[1].timestamps is not None
    assert again.data[1].scenes == again.scenes


def test_poses_return_with_the_files_of_some_frames(truth: mg.MapFrames) -> None:
    some = evaluated().of_frames([7, 3])
    assert equal(some.poses, poses_of(truth, some))
    again = saved(some).with_data()
    assert again.data is not None
    assert again.data[1].tokens == some.tokens
    assert equal(again.data[1].poses, poses_of(truth, some))


def test_a_file_with_geometry_has_poses(truth: mg.MapFrames) -> None:
    pytest.importorskip("pyarrow")
    loaded = saved(evaluated(), geometry="original")
    assert loaded.data is not None
    assert equal(loaded.data[1].poses, poses_of(truth, loaded))


def test_given_poses_replace_those_of_a_file(truth: mg.MapFrames) -> None:
    poses = truth.poses
    assert poses is not None
    moved = poses.copy()
    moved[:, 0, 3] += 1000
    given = mg.with_poses(mg.read("poses.geojson"), replace(truth, poses=moved))
    again = saved(mg.evaluate(mg.read("x.json"), given, **PLD)).with_data()
    assert again.data is not None
    assert equal(again.data[1].poses, again.poses)
    assert again.poses is not None
    assert np.allclose(again.poses[:, 0, 3] - poses_of(truth, again)[:, 0, 3], 1000)


def test_poses_of_predictions_are_kept_on_the_axes_of_the_frames(truth: mg.MapFrames) -> None:
    predictions = mg.with_poses(mg.read("x.json"), truth)
    results = mg.evaluate(predictions, mg.read("y.json"), **PLD)
    again = saved(results).with_data()
    assert again.data is not None
    drive = drive_of(again)
    assert drive is not None
    assert drive.forward == again.data[1].forward
    assert equal(again.data[1].poses, again.poses)


def test_a_streamed_evaluation_has_the_poses_of_its_files(truth: mg.MapFrames) -> None:
    pytest.importorskip("pyarrow")
    mg.write(mg.read("x.json"), "x.parquet")
    mg.write(truth, "y.parquet")
    loaded = saved(mg.evaluate("x.parquet", "y.parquet", **PLD))
    assert loaded.poses is None
    assert equal(loaded.with_data().poses, poses_of(truth, loaded))


def test_results_without_poses_have_none(truth: mg.MapFrames) -> None:
    results = mg.evaluate("x.json", "y.json", **PLD)
    assert results.poses is None
    loaded = saved(results)
    assert loaded.poses is None
    assert loaded.with_data().poses is None


def test_the_same_results_are_the_same_bytes(truth: mg.MapFrames) -> None:
    evaluated().save("one.mg")
    evaluated().save("two.mg")
    assert Path("one.mg").read_bytes() == Path("two.mg").read_bytes()


def changed(path: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Change one array of a file of results."""
    with np.load(io.BytesIO(path.read_bytes())) as archive:
        arrays = {key: archive[key] for key in archive.files}
    arrays[name] = change(arrays[name])
    with path.open("wb") as file:
        np.savez(file, **arrays)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("poses", lambda poses: poses[1:]),
        ("poses", lambda poses: poses * 2),
        ("poses", lambda poses: poses.astype(np.float32)),
        ("poses", lambda poses: poses * np.nan),
        ("timestamps", lambda times: times[1:]),
        ("timestamps", lambda times: times.astype(float)),
    ],
)
def test_damaged_poses_are_refused(truth: mg.MapFrames, name: str, change: Callable[[Any], Any]) -> None:
    evaluated().save("run.mg")
    changed(Path("run.mg"), name, change)
    with pytest.raises(mg.MapgaugeError, match=r"run\.mg: not a file of results"):
        mg.load_results("run.mg")


def test_files_of_earlier_versions_have_no_poses(truth: mg.MapFrames) -> None:
    evaluated().save("run.mg")
    with np.load(io.BytesIO(Path("run.mg").read_bytes())) as archive:
        arrays = {key: archive[key] for key in archive.files if key not in ("poses", "timestamps")}
    header = json.loads(arrays["header"].tobytes())
    del header["forward"]
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with Path("old.mg").open("wb") as file:
        np.savez(file, **arrays)
    old = mg.load_results("old.mg")
    assert old.poses is None
    assert old.mean == mg.load_results("run.mg").mean


def test_poses_add_little_to_a_file(truth: mg.MapFrames) -> None:
    evaluated().save("run.mg")
    with zipfile.ZipFile("run.mg") as archive:
        assert archive.getinfo("poses.npy").compress_size < 130 * FRAMES


def test_the_command_line_needs_no_poses_again(truth: mg.MapFrames, tmp_path: Path) -> None:
    said("evaluate x.json y.json,poses=poses.geojson,planar --metrics pld -o run.mg", tmp_path)
    results = mg.load_results("run.mg").with_data()
    assert results.data is not None
    assert equal(results.data[1].poses, poses_of(truth, results))


def test_results_give_their_poses_to_other_files(truth: mg.MapFrames, tmp_path: Path) -> None:
    results = saved(evaluated())
    assert equal(mg.with_poses(mg.read("y.json"), "run.mg").poses, poses_of(truth, results))
    said("evaluate x.json y.json,poses=run.mg --metrics pld -o again.mg", tmp_path)
    assert equal(mg.load_results("again.mg").poses, results.poses)


def test_results_without_poses_give_none(truth: mg.MapFrames) -> None:
    saved(mg.evaluate("x.json", "y.json", **PLD))
    with pytest.raises(mg.MapgaugeError, match=r"run\.mg: these results keep no poses"):
        mg.with_poses(mg.read("y.json"), "run.mg")
