"""Which axis points forward, for each format, and for files that contradict their format."""

from pathlib import Path

import pytest
from tests.shared_data import DATA, PARITY, needs_data

import mapgauge as mg
from mapgauge.demo import demo_world


@pytest.mark.parametrize(
    ("name", "forward"),
    [
        ("nuscmap_results_good.json.gz", "y"),
        ("demo_map_anns.json", "y"),
        ("submission_vector_good.json.gz", "x"),
        ("tmp_gts_demo_60x30.pkl", "x"),
        ("pos_predictions_good.pkl", "x"),
    ],
)
def test_files_of_the_field(name: str, forward: str) -> None:
    assert mg.read(PARITY / name).forward == forward


@needs_data("sample_60x30", "nuscenes_mini_predictions")
def test_files_of_real_maps() -> None:
    names = {
        "sample_60x30/nuscmap_results.json": "y",
        "sample_60x30/nuscenes_map_anns_val.json": "y",
        "sample_60x30/submission_vector.json": "x",
        "sample_60x30/tmp_gts_av2_60x30.pkl": "x",
        "nuscenes_mini_predictions/nuscmap_results.json": "y",
    }
    assert {name: mg.read(DATA / name).forward for name in names} == names


@pytest.mark.parametrize(
    ("format", "degrees", "forward"),
    [("maptr", 0, "x"), ("maptr", 90, "y"), ("streammapnet", 0, "x"), ("streammapnet", 90, None)],
)
def test_the_extent_decides_for_maptr_and_can_contradict_others(
    format: str, degrees: float, forward: str | None, tmp_path: Path
) -> None:
    """MapTR's files of Argoverse 2 have x forward. A file that was turned and written as StreamMapNet's is unknown."""
    predictions, _ = demo_world(4)
    mg.write(predictions.rotate(degrees), tmp_path / "file.json", format)
    assert mg.read(tmp_path / "file.json").forward == forward


def test_a_few_instances_do_not_contradict_a_format(tmp_path: Path) -> None:
    few = mg.MapFrames.of({"a": {"divider": [[[0, -30], [0, 30]]]}}, confidence={"a": {"divider": [1]}})
    for format, forward in (("streammapnet", "x"), ("maptr", None)):
        mg.write(few, tmp_path / "few.json", format)
        assert mg.read(tmp_path / "few.json").forward == forward


def test_a_data_set_has_the_axis_that_its_files_agree_on(tmp_path: Path) -> None:
    predictions, _ = demo_world(4)
    for name, forwards in (("same", ("y", None)), ("mixed", ("x", "y"))):
        (tmp_path / name).mkdir()
        for k, forward in enumerate(forwards):
            part = predictions.between(slice(2 * k, 2 * k + 2)).with_forward(forward)  # type: ignore[arg-type]
            mg.write(part, tmp_path / name / f"part-{k}.parquet")
    assert mg.read(tmp_path / "same").forward == "y"
    assert mg.read(tmp_path / "mixed").forward is None


def test_geojson_says_which_axis_points_forward(tmp_path: Path) -> None:
    path = tmp_path / "own.geojson"
    path.write_text('{"type": "FeatureCollection", "features": [], "forward": "y"}', encoding="utf-8")
    assert mg.read(path).forward == "y"
    path.write_text('{"type": "FeatureCollection", "features": [], "forward": "z"}', encoding="utf-8")
    with pytest.raises(mg.UnreadableFile, match='\\$.forward is \'z\', expected "x" or "y"'):
        mg.read(path)
