"""Two maps without an ego: one frame, all classes, certain predictions, a picture without a car."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.views.figures.birdseye import view_of


def drawn(path: Path, shift: float = 0.0, classes: tuple[str, ...] = ("kerb", "fence"), **more: Any) -> Path:
    features = [
        {
            "type": "Feature",
            "properties": {"class": name, "drawn_by": "A"} | more,
            "geometry": {"type": "LineString", "coordinates": [[0, 10 * k + shift], [40, 10 * k + shift]]},
        }
        for k, name in enumerate(classes)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_a_file_without_frames_is_one_frame(tmp_path: Path) -> None:
    frames = mg.read(drawn(tmp_path / "a.geojson"))
    assert (frames.tokens, frames.counts) == (("map",), {"kerb": 1, "fence": 1})
    with pytest.raises(mg.UnreadableFile, match="properties.frame is missing"):
        mg.read(drawn(tmp_path / "b.geojson", sample_token="t"))


def test_all_classes_are_compared_and_predictions_without_confidences_are_certain(tmp_path: Path) -> None:
    truth = mg.read(drawn(tmp_path / "truth.geojson"))
    assert mg.evaluate(truth, truth, "map").mean["pld"] == 0
    results = mg.evaluate(drawn(tmp_path / "mine.geojson", 0.5), drawn(tmp_path / "truth.geojson"), "map")
    assert results.class_names == ("kerb", "fence")
    assert results.metrics == ("pld", "completeness")
    assert results.mean["completeness"] == 1
    assert results.mean["median_across"] == pytest.approx(0.5, abs=0.01)
    assignment = results.assignment("map")
    assert not assignment.ego
    view = view_of([assignment], 0.0, None, None)
    assert not view.ego
    assert view.region == pytest.approx((-2, -2, 42, 12.5))


def test_one_command_gives_a_number_and_a_picture(tmp_path: Path, run: Run) -> None:
    drawn(tmp_path / "mine.geojson", 0.5)
    drawn(tmp_path / "truth.geojson")
    done = run(
        "evaluate", "mine.geojson", "truth.geojson", "-p", "map", "--report", "page.html", "-o", "r.mg", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "fence" in done.stdout
    assert "completeness" in done.stdout
    assert "drawn around its centre, without an ego" in (tmp_path / "page.html").read_text()
    shown = run("show", "mine.geojson", "truth.geojson", "-p", "map", "-o", "frame.svg", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    picture = (tmp_path / "frame.svg").read_text()
    assert "ego" not in picture
    assert ">1.00<" not in picture  # no confidences


def test_all_means_every_class(tmp_path: Path, run: Run) -> None:
    mg.write(mg.read(drawn(tmp_path / "a.geojson")).with_confidence(0.5), tmp_path / "a.geojson")
    done = run("evaluate", "a.geojson", "a.geojson", "--classes", "all", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"kerb", "fence"} <= set(json.loads(done.stdout)["classes"])
