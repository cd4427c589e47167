"""``mapgauge errors``, the files it writes, and its figure."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Annotation
from tests.cli.conftest import Run, caller
from tests.features.error_map import planted

import mapgauge as mg
from mapgauge.features.error_map.around import around_ego
from mapgauge.features.error_map.figure import _BADGE, _free


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return caller(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two files of results. No test writes beside them."""
    folder = tmp_path_factory.mktemp("results")
    mg.write(planted.truth(), folder / "truth.parquet")
    for name, x in (("good", planted.perfect()), ("poor", planted.predictions())):
        mg.write(x, folder / f"{name}.parquet")
        mg.evaluate(folder / f"{name}.parquet", folder / "truth.parquet").save(folder / f"{name}.mg")
    return str(folder / "good.mg"), str(folder / "poor.mg")


def test_the_command_prints_the_worst_places_and_a_sentence(call: Run, results: tuple[str, str]) -> None:
    text = call("errors", results[1]).stdout
    assert "Pieces of the map over 90 frames\n" in text
    assert "found: matched within 1.5 m, with a confidence of at least 0\n" in text
    assert "poor misses most at x" in text
    assert "m of divider, 59 % [" in text
    assert "poor has the largest area beside the truth at x" in text
    said = " ".join(text.split())
    assert "flips: how often a piece changes between found and not found in two consecutive frames" in said
    assert all(len(line) <= 80 for line in text.splitlines() if " at x " in line)
    assert "of 6 scenes that saw it" in text


def test_two_methods_have_the_places_of_both_signs_or_it_is_said_that_there_are_none(
    call: Run, results: tuple[str, str]
) -> None:
    good, poor = results
    text = call("errors", good, poor).stdout
    assert "Not found by poor, but by good" in text
    assert "No place is found much more often by poor than by good" in text
    assert "poor loses most at x" in text
    text = call("errors", poor, good).stdout
    assert "Found by good, but not by poor" in text
    assert "No place is found much less often by good than by poor" in text
    assert "good gains most at x" in text
    assert "m of divider, 59 % [" in text
    assert "No place" not in call("errors", poor, good, "--worst", "0").stdout


def test_json_and_csv_have_the_places(call: Run, results: tuple[str, str]) -> None:
    document = json.loads(call("errors", *results, "--json", "--confidence", "0.5").stdout)
    assert document["confidence"] == 0.5
    good, poor = document["methods"]
    assert good["not_found"] == 0
    assert good["missed"] == []
    assert poor["missed"][0]["not_found"] == pytest.approx(planted.SHARE, abs=0.05)
    assert poor["difference"][0]["class_name"] == "divider"
    header, first, *_ = call("errors", results[1], "--csv", "--worst", "2").stdout.splitlines()
    assert header.startswith("name,kind,rank,class_name,x,y,length")
    assert first.startswith("poor,missed,1,divider")


def test_a_confidence_that_no_prediction_has_finds_nothing(call: Run, results: tuple[str, str]) -> None:
    assert "100.0 %" in call("errors", results[0], "--confidence", "0.9", "--worst", "0").stdout


def test_geojson_has_a_line_for_each_piece_and_method(call: Run, results: tuple[str, str], tmp_path: Path) -> None:
    call("errors", *results, "-o", str(tmp_path / "errors.geojson"))
    document = json.loads((tmp_path / "errors.geojson").read_text(encoding="utf-8"))
    made = mg.error_map([mg.load_results(file).with_data() for file in results])
    features = document["features"]
    assert len(features) == 2 * len(made.pieces.x)
    last = features[-1]
    assert last["type"] == "Feature"
    assert last["properties"]["method"] == "poor"
    (x0, y0), (x1, y1) = last["geometry"]["coordinates"]
    assert (x0 + x1) / 2 == pytest.approx(made.pieces.x[-1], abs=1e-3)
    assert (y0 + y1) / 2 == pytest.approx(made.pieces.y[-1], abs=1e-3)
    assert last["properties"]["seen"] == made.seen[-1]
    assert all(feature["geometry"]["type"] == "LineString" for feature in features)


def test_geographic_programs_open_the_geojson(call: Run, results: tuple[str, str], tmp_path: Path) -> None:
    pyogrio = pytest.importorskip("pyogrio")
    call("errors", results[1], "-o", str(tmp_path / "errors.geojson"))
    about = pyogrio.read_info(tmp_path / "errors.geojson")
    assert about["geometry_type"] == "LineString"
    assert {"class", "seen", "found", "not_found", "offset", "flips"} <= set(about["fields"])


def test_geoparquet_has_valid_geometry(call: Run, results: tuple[str, str], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    shapely = pytest.importorskip("shapely")
    call("errors", *results, "-o", str(tmp_path / "errors.parquet"))
    table = parquet.read_table(tmp_path / "errors.parquet")
    about = json.loads(table.schema.metadata[b"geo"])
    assert about["version"] == "1.0.0"
    assert about["columns"][about["primary_column"]]["encoding"] == "WKB"
    assert about["columns"]["geometry"]["crs"] is None
    lines = shapely.from_wkb(table["geometry"].to_numpy(zero_copy_only=False))
    assert shapely.is_valid(lines).all()
    assert set(shapely.get_type_id(lines).tolist()) == {1}
    made = mg.error_map([mg.load_results(file).with_data() for file in results])
    np.testing.assert_allclose(shapely.length(lines[: len(made.pieces.x)]), made.pieces.length, atol=2e-3)
    # The share that was not found is null nowhere, and an offset is null where nothing was found.
    assert table["not_found"].null_count == 0
    assert table["offset"].null_count == int(sum((made.counts(k).found == 0).sum() for k in (0, 1)))


def test_another_suffix_is_refused(call: Run, results: tuple[str, str]) -> None:
    done = call("errors", results[0], "-o", "errors.shp")
    assert done.returncode == 2
    assert "errors.shp: the suffix .shp is no format of error maps" in done.stderr
    with pytest.raises(mg.InvalidInput, match="no format of error maps"):
        mg.error_map(mg.load_results(results[0]).with_data()).save("errors.shp")


def test_without_poses_the_message_says_how_to_give_them(call: Run, tmp_path: Path) -> None:
    bare = replace(planted.truth(), poses=None)
    planted.evaluated(planted.predictions(), bare).save(tmp_path / "bare.mg", geometry="original")
    done = call("errors", str(tmp_path / "bare.mg"))
    assert done.returncode == 1
    assert "no poses, so the true lines have no place in the world" in done.stderr
    assert "TRUTH,poses=FILE" in done.stderr
    mg.write(planted.truth(), tmp_path / "poses.parquet")
    text = call("errors", str(tmp_path / "bare.mg"), "--poses", str(tmp_path / "poses.parquet")).stdout
    assert "m of divider, 59 % [" in text


def test_results_without_geometry_say_what_to_do(call: Run, tmp_path: Path) -> None:
    planted.evaluated().save(tmp_path / "gone.mg")
    done = call("errors", str(tmp_path / "gone.mg"))
    assert done.returncode == 1
    assert "--with-geometry" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_figure_has_a_panel_for_each_method_and_one_for_the_difference(
    call: Run, results: tuple[str, str], tmp_path: Path
) -> None:
    call("errors", *results, "--figure", str(tmp_path / "errors.svg"))
    text = (tmp_path / "errors.svg").read_text(encoding="utf-8")
    assert "poor minus good" in text
    assert "difference of the shares (red: finds less than good, blue: finds more)" in text
    call("plot", "errors", *results, "-o", str(tmp_path / "plot.svg"))
    assert "poor minus good" in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def test_the_figure_numbers_the_places_of_the_table_where_they_are_in_the_world() -> None:
    made = mg.error_map([planted.evaluated(planted.perfect()), planted.evaluated()], names=("good", "poor"))
    for count in (0, 2, 5):
        figure = mg.plot.errors(made, worst=count)
        missed, difference = figure.axes[1:3]
        lost = made.worst("poor", count=count)
        less = made.worst("poor", kind="difference", count=count)
        for axes, places in ((missed, lost), (difference, less)):
            numbers = [text for text in axes.texts if isinstance(text, Annotation) and text.get_gid()]
            assert [text.get_text() for text in numbers] == [str(k) for k in range(1, len(places) + 1)]
            # All areas are moved by the same distance as their coordinates.
            moved = {
                text.get_text(): text.get_position()[0] - float(text.get_text())
                for text in axes.texts
                if not text.get_gid() and text.get_text().isdigit() and not text.get_rotation()
            }
            assert moved
            for text, place in zip(numbers, places, strict=True):
                assert any(text.xy[0] - place.x == pytest.approx(by) for by in moved.values())
    with pytest.raises(mg.InvalidInput, match="worst must be"):
        mg.plot.errors(made, worst=-1)


def test_numbers_of_places_do_not_cover_each_other() -> None:
    taken: list[np.ndarray] = []
    for _ in range(10):
        taken.append(_free(np.zeros(2), taken))
    apart = [np.hypot(*(one - other)) for k, one in enumerate(taken) for other in taken[:k]]
    assert min(apart) >= _BADGE - 1e-9


def test_the_figure_of_results_without_poses_is_the_area_around_the_vehicle() -> None:
    bare = replace(planted.truth(), poses=None)
    results = planted.evaluated(planted.predictions(), bare)
    figure = mg.plot.errors(results)
    assert figure.axes[0].get_xlabel() == "ahead (m)"
    made = around_ego(results)
    pieces = mg.error_map(results, poses=planted.truth())
    seen = float((pieces.pieces.length * pieces.seen).sum())
    assert made.seen.sum() / 1000 == pytest.approx(seen, rel=0.03)
    assert set(made.sides()) == {"ahead", "beside", "behind"}
    assert (made.found[0] >= made.found[5]).all()
    assert np.nanmax(made.share()) <= 1
