"""``Results.with_data``: results from a file read the evaluated files again, as they were read the first time."""

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.results.test_results_file import rewritten

import mapgauge as mg
from mapgauge.demo import demo_world

FRAMES = 4
PLD: dict[str, Any] = {"metrics": ["pld"]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of both sides: the predictions have other axes and other names than the truth."""
    predictions, truth = demo_world(FRAMES)
    turned = predictions.rotate(90).rename({"divider": "lane_divider"})
    mg.write(turned, tmp_path / "x.geojson")
    mg.write(truth, tmp_path / "y.json", "maptr-truth")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def evaluated() -> mg.Results:
    predictions = mg.read("x.geojson").rotate(-90).rename({"lane_divider": "divider"}).filter(0.1)
    return mg.evaluate(predictions, mg.read(Path("y.json"), degenerate="drop").crop((50, 25)), **PLD)


def assert_same_frames(found: mg.Results, expected: mg.Results) -> None:
    """Compare the assignments of every frame to the last bit."""
    for token in expected.tokens:
        one, other = found.assignment(token), expected.assignment(token)
        assert len(one.matches) == len(other.matches)
        for match, twin in zip(one.matches, other.matches, strict=True):
            assert (match.prediction, match.truth, match.distance) == (twin.prediction, twin.truth, twin.distance)
            assert np.array_equal(match.pairs, twin.pairs)
        assert_instances(one.predictions + one.truth, other.predictions + other.truth)


def assert_instances(found: list[mg.Instance], expected: list[mg.Instance]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.class_name, one.confidence) == (other.class_name, other.confidence)
        assert np.array_equal(one.points, other.points)


def test_files_are_read_again_as_they_were_the_first_time(folder: Path) -> None:
    results = evaluated()
    results.save("run.mg")
    loaded = mg.load_results("run.mg")
    assert loaded.data is None
    assert loaded.inputs == results.inputs
    history = loaded.inputs[0].history
    assert history is not None
    assert [step.name for step in history] == ["read", "rotate", "rename", "filter"]
    assert_same_frames(loaded.with_data(), results)
    assert json.dumps(loaded.to_dict()["inputs"]["truth"]["history"][1]) == (
        '{"name": "crop", "arguments": {"region": [50, 25]}}'
    )


def test_no_path_of_the_machine_is_recorded(folder: Path) -> None:
    evaluated().save("run.mg")
    with np.load("run.mg") as archive:
        assert str(folder) not in archive["header"].tobytes().decode()


def test_relative_files_are_also_found_beside_the_results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = evaluated()
    results.save("run.mg")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (elsewhere / "y.json").write_text("{}", encoding="utf-8")  # another file of this name is not taken for it
    assert_same_frames(mg.load_results("../run.mg").with_data(), results)


def test_relative_files_are_found_from_elsewhere_if_the_results_are_in_a_folder_of_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = evaluated()
    (folder / "runs" / "first").mkdir(parents=True)
    results.save("runs/first/run.mg")
    elsewhere = folder.parent / "quite" / "elsewhere"
    elsewhere.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(elsewhere)
    assert_same_frames(mg.load_results(folder / "runs" / "first" / "run.mg").with_data(), results)
    monkeypatch.chdir(folder / "runs")  # the path of the results is relative here
    assert_same_frames(mg.load_results("first/run.mg").with_data(), results)


def test_files_in_the_folder_of_the_results_are_found_from_that_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    paths = [Path(folder.name) / name for name in ("x.geojson", "y.json")]
    truth = mg.read(paths[1])
    results = mg.evaluate(mg.read(paths[0]).rotate(-90).rename({"lane_divider": "divider"}), truth, **PLD)
    results.save(folder / "run.mg")
    monkeypatch.chdir(folder)
    assert_same_frames(mg.load_results("run.mg").with_data(), results)


def test_a_file_that_changed_is_refused(folder: Path) -> None:
    evaluated().save("run.mg")
    mg.write(mg.read("x.geojson").rotate(0.001), "x.geojson")
    with pytest.raises(mg.InvalidInput, match=r"x\.geojson: not the content"):
        mg.load_results("run.mg").with_data()


def test_a_file_that_moved_is_asked_for_and_can_be_given(folder: Path) -> None:
    results = evaluated()
    results.save("run.mg")
    Path("x.geojson").rename("moved.geojson")
    with pytest.raises(mg.UnreadableFile, match=r"x\.geojson: no such file.* Pass predictions and truth"):
        mg.load_results("run.mg").with_data()
    assert_same_frames(mg.load_results("run.mg").with_data("moved.geojson"), results)
    assert_same_frames(mg.load_results("run.mg", Path("moved.geojson")), results)


def test_a_moved_file_may_have_been_converted(folder: Path) -> None:
    results = evaluated()
    results.save("run.mg")
    mg.write(mg.read("x.geojson").rotate(-90).rename({"lane_divider": "divider"}).filter(0.1), "new.json", "maptr")
    assert_same_frames(mg.load_results("run.mg").with_data("new.json"), results)


def test_frames_from_memory_must_be_given(folder: Path) -> None:
    _, truth = demo_world(FRAMES)
    made = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    mg.evaluate(made.with_confidence(1), made, **PLD).save("memory.mg")
    with pytest.raises(mg.InvalidInput, match="memory.mg: the predictions came from memory"):
        mg.load_results("memory.mg").with_data()
    some = mg.read("x.geojson").at([0, 1])
    mg.evaluate(some, truth.at([0, 1]), **PLD).save("some.mg")
    with pytest.raises(mg.InvalidInput, match="the results did not record"):
        mg.load_results("some.mg").with_data(truth=truth.at([0, 1]))


def test_streamed_results_are_read_again_from_their_file(folder: Path) -> None:
    predictions, truth = demo_world(FRAMES)
    for frames, name in ((predictions, "x.parquet"), (truth, "y.parquet")):
        mg.write(frames, name)
    results = mg.evaluate("x.parquet", "y.parquet", **PLD)
    results.save("streamed.mg")
    assert_same_frames(mg.load_results("streamed.mg").with_data(), results)


def change_first_history(change: Callable[[list[Any]], None]) -> Callable[[dict[str, Any]], None]:
    def apply(arrays: dict[str, Any]) -> None:
        change(arrays["header"]["inputs"][0][5])

    return apply


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda steps: steps.append(["__reduce__", {}]), "the step '__reduce__' is unknown"),
        (lambda steps: steps.append(["rotate", {"degrees": 12.5}]), "not the content"),
        (lambda steps: steps.append(["resample", {"spacing": 1e-12, "count": None}]), "other arguments"),
        (lambda steps: steps.extend([["planar", {}]] * 10_000), "a history of 10003 steps"),
        (lambda steps: steps.pop(0), "begins with the step rotate"),
        (lambda steps: steps[0][1].pop("path"), "other arguments"),
        (lambda steps: steps[0][1].update(format="exe"), "unknown format 'exe'"),
        (lambda steps: steps[0][1].update(classes={"one": "divider"}), "classes without numbers"),
        (lambda steps: steps[0][1].update(options={"path": "/etc/passwd"}), "has an option twice"),
        (lambda steps: steps[0][1].update(options={"unheard": 1}), "no option unheard"),
        (lambda steps: steps[0][1].update(path="a\0b"), "no such file"),
        (lambda steps: steps[0][1].update(path="a" * 5000), "no such file"),
        (lambda steps: steps[0][1].update(path=os.devnull), "no such file"),
        (lambda steps: steps[0][1].update(path="../../../../../../etc/passwd"), "passwd"),
        (lambda steps: steps[0][1].update(path="http://example.invalid/x"), "A URL is only read if it is given"),
    ],
)
def test_hostile_histories_do_no_harm(change: Callable[[list[Any]], None], message: str, folder: Path) -> None:
    results = evaluated()
    results.save("run.mg")
    rewritten(Path("run.mg"), change_first_history(change))
    loaded = mg.load_results("run.mg")  # the values can be read, and no file is touched
    assert loaded.mean == results.mean
    with pytest.raises(mg.MapgaugeError, match=message):
        loaded.with_data()


@pytest.mark.parametrize("history", ["text", 5, [["rotate"]], [["rotate", 5]], [[5, {}]], [{"name": "rotate"}]])
def test_a_history_of_another_form_is_refused_with_the_file(history: object, folder: Path) -> None:
    evaluated().save("run.mg")

    def change(arrays: dict[str, Any]) -> None:
        arrays["header"]["inputs"][0][5] = history

    rewritten(Path("run.mg"), change)
    with pytest.raises(mg.UnreadableFile, match=r"run\.mg: not a file of results"):
        mg.load_results("run.mg")


def test_a_key_or_an_array_that_occurs_twice_is_refused(folder: Path) -> None:
    evaluated().save("run.mg")
    with np.load("run.mg") as archive:
        arrays = {name: archive[name] for name in archive.files}
    text = arrays["header"].tobytes().replace(b'"degrees":', b'"degrees":1.0,"degrees":')
    buffer = io.BytesIO()
    np.savez(buffer, **(arrays | {"header": np.frombuffer(text, np.uint8)}))
    Path("doubled.mg").write_bytes(buffer.getvalue())
    with pytest.raises(mg.UnreadableFile, match=r'doubled\.mg: .*the key "degrees" occurs twice'):
        mg.load_results("doubled.mg")
    with zipfile.ZipFile("run.mg", "a") as archive_again, pytest.warns(UserWarning, match="Duplicate name"):
        archive_again.writestr("true.npy", b"")
    with pytest.raises(mg.UnreadableFile, match=r"run\.mg: .*an array occurs twice"):
        mg.load_results("run.mg")
