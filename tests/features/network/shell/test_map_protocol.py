"""Two maps without an ego: one frame, all classes, certain predictions, a picture without a car."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

import mapgauge as mg


def drawn(path: Path, shift: float = 0.0, classes: tuple[str, ...] = ("kerb", "fence"), **more: Any) -> Path:
    features = [
        {
            "type": "Feature",
            "properties": {"class": name, "drawn_by": "A"} | more,
            "geometry": {"type": "LineString", "coordinates": [[0, 10 * k + shift], [40, 10 * k + shift]]},
        }
        for k, name in enumerate(classes)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
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
    assert results.metrics == ("network_pld", "network_completeness", "pld")
    assert results.mean["network_completeness"] == 1
    assert results.mean["network_median_across"] == pytest.approx(0.5, abs=0.01)
    assignment = results.assignment("map")
    assert not assignment.ego
    (axes,) = mg.plot.frame(assignment).axes
    assert (*axes.get_xlim(), *axes.get_ylim()) == pytest.approx((-2, 42, -2, 12.5), abs=1)
    assert "ego" not in [text.get_text() for legend in axes.figure.legends for text in legend.get_texts()]


def test_one_command_gives_a_number_and_a_picture(tmp_path: Path, call: Run) -> None:
    drawn(tmp_path / "mine.geojson", 0.5)
    drawn(tmp_path / "truth.geojson")
    done = call(
        "evaluate", "mine.geojson", "truth.geojson", "-p", "map", "--report", "page.html", "-o", "r.mg", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "fence" in done.stdout
    assert "completeness" in done.stdout
    assert "drawn around its centre, without an ego" in (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = call("show", "mine.geojson", "truth.geojson", "-p", "map", "-o", "frame.svg", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    picture = (tmp_path / "frame.svg").read_text(encoding="utf-8")
    assert "ego" not in picture
    assert ">1.00<" not in picture  # no confidences


def test_all_means_every_class(tmp_path: Path, call: Run) -> None:
    mg.write(mg.read(drawn(tmp_path / "a.geojson")).with_confidence(0.5), tmp_path / "a.geojson")
    done = call("evaluate", "a.geojson", "a.geojson", "--classes", "all", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {"kerb", "fence"} <= set(json.loads(done.stdout)["classes"])


def in_pieces(path: Path, step: float = 25.0) -> Path:
    """Write a kerb of 500 m and a fence of 100 m in pieces that share their ends."""
    features = [
        {
            "type": "Feature",
            "properties": {"class": name},
            "geometry": {"type": "LineString", "coordinates": [[step * k, y], [step * (k + 1), y]]},
        }
        for name, y, length in (("kerb", 0.0, 500.0), ("fence", 9.0, 100.0))
        for k in range(int(length / step))
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def test_an_exact_map_in_pieces_is_complete(tmp_path: Path, call: Run) -> None:
    pieces = in_pieces(tmp_path / "pieces.geojson")
    truth = in_pieces(tmp_path / "truth.geojson", 100.0)
    mean = mg.evaluate(pieces, truth, "map").mean
    assert mean["network_completeness"] == pytest.approx(1)
    assert mean["network_correctness"] == pytest.approx(0.99, abs=0.01)
    assert mean["network_pld"] is not None
    assert mean["network_pld"] < 0.05
    done = call("evaluate", str(pieces), str(truth), "-p", "map")
    # 24 pieces of 25 m for 6 lines of 100 m
    assert "100 % of the true length found, in pieces (600 of 600 m, with 18 breaks)" in " ".join(done.stdout.split())
    joined = call("evaluate", str(truth), str(pieces), "-p", "map")
    assert "predicted lines go on from one true line to another at 18 places" in " ".join(joined.stdout.split())


def test_tables_json_and_comparisons_of_two_maps_begin_with_network_pld(tmp_path: Path, call: Run) -> None:
    pieces = in_pieces(tmp_path / "pieces.geojson")
    truth = in_pieces(tmp_path / "truth.geojson", 100.0)
    for name, file in (("a", pieces), ("b", truth)):
        done = call("evaluate", str(file), str(truth), "-p", "map", "--tables", "-o", f"{name}.mg", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        order = [done.stdout.index(word) for word in ("\nNetwork PLD, lower", "network completeness ↑", "\nPLD, lower")]
        assert order == sorted(order)
    compared = call("compare", "a.mg", "b.mg", "--json", cwd=tmp_path)
    assert compared.returncode == 0, compared.stderr
    assert call("report", "a.mg", "b.mg", "-o", "page.html", cwd=tmp_path).returncode == 0
    document = json.loads(call("evaluate", str(pieces), str(truth), "-p", "map", "--json").stdout)
    assert next(key for key in document["mean"] if key not in ("predictions", "truth")) == "network_pld"
    again = mg.load_results(tmp_path / "a.mg")
    assert again.protocol == mg.protocol("map")
    assert again.metrics[0] == "network_pld"


def test_without_the_solver_one_line_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    truth = in_pieces(tmp_path / "truth.geojson", 100.0)
    with pytest.raises(mg.MissingDependency, match=r"pip install 'mapgauge\[links\]'"):
        mg.evaluate(truth, truth, "map")
    assert mg.evaluate(truth, truth, "map", metrics=("pld", "completeness")).mean["pld"] == 0
    free = mg.protocol("map", settings={"network_pld": {"break_cost": 0}})
    assert mg.evaluate(truth, truth, free).mean["network_pld"] == 0
