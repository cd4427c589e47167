"""The work folder of a streamed evaluation, loaded with the data it was computed from."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Run
from tests.streaming.worlds import same

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.io import parquet

Sides = tuple[mg.MapFrames, mg.MapFrames]


@pytest.fixture
def sides() -> Sides:
    return demo_world(20, predictions=20)


@pytest.fixture
def folder(sides: Sides, tmp_path: Path) -> Path:
    """A folder with ``x.parquet``, ``y.parquet``, and the work folder of their evaluation."""
    for side, name in zip(sides, "xy", strict=True):
        mg.write(side, tmp_path / f"{name}.parquet")
    mg.evaluate(tmp_path / "x.parquet", tmp_path / "y.parquet", work=tmp_path / "work")
    return tmp_path


def page(path: Path) -> dict[str, Any]:
    """What a report says about its frames."""
    text = path.read_text(encoding="utf-8")
    meta: dict[str, Any] = json.loads(re.findall(r'id="meta"[^>]*>(.*?)</script>', text, re.DOTALL)[0])
    return meta


def check_loaded(found: mg.Results, sides: Sides) -> None:
    """Compare values and assignments with an evaluation in memory."""
    expected = mg.evaluate(*sides)
    assert same(found, expected)
    for token in expected.tokens[::6]:
        ours, theirs = found.assignment(token), expected.assignment(token)
        assert [(m.class_name, m.prediction, m.truth, m.distance) for m in ours.matches] == [
            (m.class_name, m.prediction, m.truth, m.distance) for m in theirs.matches
        ]
        assert len(ours.matches) > 0
        for one, other in zip(ours.predictions, theirs.predictions, strict=True):
            assert np.array_equal(one.points, other.points)


def test_a_work_folder_loads_with_its_files(folder: Path, sides: Sides) -> None:
    check_loaded(mg.load_results(folder / "work", folder / "x.parquet", folder / "y.parquet"), sides)


def test_a_work_folder_loads_with_frames_in_memory(folder: Path, sides: Sides) -> None:
    check_loaded(mg.load_results(folder / "work", *sides), sides)


def test_a_work_folder_loads_with_the_same_content_in_another_format(folder: Path, sides: Sides) -> None:
    mg.write(sides[0], folder / "x.json", "streammapnet")
    mg.write(sides[1], folder / "y.geojson")
    check_loaded(mg.load_results(folder / "work", folder / "x.json", folder / "y.geojson"), sides)


def test_a_work_folder_refuses_other_data(folder: Path, sides: Sides) -> None:
    predictions, truth = sides
    with pytest.raises(mg.InvalidInput, match=r"work: .*not the predictions"):
        mg.load_results(folder / "work", predictions.with_confidence(0.5), truth)
    with pytest.raises(mg.InvalidInput, match=r"work: .*not the truth"):
        mg.load_results(folder / "work", predictions, truth.rotate(90))
    with pytest.raises(mg.InvalidInput, match="not the predictions"):
        mg.load_results(folder / "work", folder / "y.parquet", folder / "x.parquet")


def test_a_side_that_is_not_given_is_read_from_its_recorded_file(folder: Path, sides: Sides) -> None:
    check_loaded(mg.load_results(folder / "work", sides[0]), sides)


def test_data_with_dropped_instances_loads(sides: Sides, tmp_path: Path) -> None:
    """The recorded hash is that of the instances that were evaluated. Dropping the others again gives the same."""
    predictions, truth = sides
    offsets = predictions.polylines.offsets.copy()
    offsets[1] = 1  # the first polyline has one point
    damaged = replace(predictions, polylines=mg.Polylines(predictions.polylines.coords, offsets))
    (tmp_path / "x.parquet").write_bytes(parquet.write(damaged))  # mg.write refuses it
    mg.write(truth, tmp_path / "y.parquet")
    files = tmp_path / "x.parquet", tmp_path / "y.parquet"
    results = mg.evaluate(*files, degenerate="drop", work=tmp_path / "work")
    results.save(tmp_path / "results.mg")
    for path in (tmp_path / "work", tmp_path / "results.mg"):
        loaded = mg.load_results(path, *files)
        assert same(loaded, results)
        assert loaded.data is not None


def test_a_report_of_a_work_folder_draws_frames(folder: Path, call: Run) -> None:
    done = call("report", "work", "-o", "page.html", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "mapgauge: report in page.html\n"
    assert page(folder / "page.html")["drawn"] == list(range(20))


def test_a_report_of_a_work_folder_takes_files_that_moved(folder: Path, call: Run) -> None:
    for name in "xy":
        (folder / f"{name}.parquet").rename(folder / f"{name}2.parquet")
    without = call("report", "work", "-o", "page.html", cwd=folder)
    assert without.returncode == 0
    assert "frames are not drawn" in without.stderr
    assert page(folder / "page.html")["drawn"] == []
    moved = ",predictions=x2.parquet,truth=y2.parquet"
    done = call("report", f"work{moved}", "-o", "page.html", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "mapgauge: report in page.html\n")
    assert page(folder / "page.html")["drawn"] == list(range(20))
