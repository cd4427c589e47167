"""Files of results with the geometry: assignments and reports need no other file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.results.test_results_file import assert_equal, rewritten
from tests.results.test_with_data import assert_same_frames

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.report import write_report

FRAMES = 6
CROPPED = mg.protocol("paper-60x30", region=(40.0, 20.0), crop=True)


@pytest.fixture(scope="module")
def results() -> mg.Results:
    predictions, truth = demo_world(FRAMES, predictions=12)
    return mg.evaluate(predictions.at(range(1, FRAMES)), truth, CROPPED, metrics=["pld"])


def test_the_geometry_comes_back_to_the_last_bit(results: mg.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "run.mg", geometry="original")
    loaded = mg.load_results(tmp_path / "run.mg")
    assert_equal(loaded, results)
    assert_same_frames(loaded, results)
    assert loaded.with_data() is loaded
    write_report(loaded, tmp_path / "loaded.html")
    write_report(results, tmp_path / "results.html")
    assert (tmp_path / "loaded.html").read_bytes() == (tmp_path / "results.html").read_bytes()


def test_three_dimensions_and_odd_frames_come_back(tmp_path: Path) -> None:
    truth = mg.MapFrames.of({"a\n": {}, "“b”": {"divider": [[[0, 0, 1], [9, 0, 2]]]}, "c": {"stop": []}})
    results = mg.evaluate(truth.with_confidence(1), truth, mg.protocol("paper-60x30", classes=None), metrics=["pld"])
    results.save(tmp_path / "run.mg", geometry="original")
    assert_same_frames(mg.load_results(tmp_path / "run.mg"), results)


def test_rounded_coordinates_take_less_space_and_move_by_micrometres(results: mg.Results, tmp_path: Path) -> None:
    sizes = {}
    for geometry in ("original", "rounded", None):
        results.save(tmp_path / f"{geometry}.mg", geometry=geometry)
        sizes[geometry] = (tmp_path / f"{geometry}.mg").stat().st_size
    assert sizes[None] < sizes["rounded"] < sizes["original"]
    loaded = mg.load_results(tmp_path / "rounded.mg")
    assert loaded.mean == results.mean
    assert loaded.data is not None
    assert results.data is not None
    for one, other in zip(loaded.data, results.data, strict=True):
        assert 0 < np.abs(one.polylines.coords - other.polylines.coords).max() < 4e-6


def test_some_frames_are_saved_with_their_own_geometry(results: mg.Results, tmp_path: Path) -> None:
    some = results.of_frames([4, 1])
    some.save(tmp_path / "some.mg", geometry="original")
    loaded = mg.load_results(tmp_path / "some.mg")
    assert loaded.data is not None
    assert loaded.data[1].tokens == some.tokens
    assert_same_frames(loaded, some)


def test_streamed_results_have_the_geometry_too(tmp_path: Path) -> None:
    predictions, truth = demo_world(FRAMES)
    files = tmp_path / "x.parquet", tmp_path / "y.parquet"
    for frames, file in zip((predictions, truth), files, strict=True):
        mg.write(frames, file)
    results = mg.evaluate(*files, metrics=["pld"])
    results.save(tmp_path / "run.mg", geometry="original")
    for file in files:
        file.unlink()
    assert_same_frames(mg.load_results(tmp_path / "run.mg"), mg.evaluate(predictions, truth, metrics=["pld"]))


def test_geometry_that_cannot_be_saved_is_refused(results: mg.Results, tmp_path: Path) -> None:
    with pytest.raises(mg.InvalidInput, match=r"geometry must be .*got 'all'"):
        results.save(tmp_path / "run.mg", geometry="all")  # type: ignore[arg-type]
    with pytest.raises(mg.InvalidInput, match=r"does not hold the geometry.*with_data\(\)"):
        results.without_data().save(tmp_path / "run.mg", geometry="original")
    points = mg.MapFrames.of({"a": {"divider": [[[0, 0]]]}})
    with pytest.raises(mg.InvalidInput, match="fewer than 2 points"):
        mg.evaluate(points.with_confidence(1), points).save(tmp_path / "run.mg", geometry="original")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["cut", "other frames", "other kind", "one side", "no confidences"])
def test_hostile_geometry_is_refused_and_the_values_are_read(damage: str, results: mg.Results, tmp_path: Path) -> None:
    path = tmp_path / "run.mg"
    results.save(path, geometry="original")

    def change(arrays: dict[str, Any]) -> None:
        x, y = "geometry/predictions", "geometry/truth"
        if damage == "cut":
            arrays[x] = arrays[x][:-100]
        elif damage == "other frames":
            arrays["header"]["tokens"][0] = "another"
        elif damage == "other kind":
            arrays[x] = arrays[x].astype(np.float64)
        elif damage == "one side":
            del arrays[y]
        else:
            arrays[x] = arrays[y]

    rewritten(path, change)
    if damage in ("other kind", "one side"):
        with pytest.raises(mg.UnreadableFile, match=r"run\.mg: .*its geometry is not complete"):
            mg.load_results(path)
        return
    loaded = mg.load_results(path)
    assert loaded.mean == results.mean
    with pytest.raises(mg.MapgaugeError):
        loaded.assignment(results.tokens[1])
