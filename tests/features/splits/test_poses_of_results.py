"""Overlap of splits with the poses that results keep."""

from pathlib import Path

from tests.commands import said

import mapgauge as mg
from mapgauge.demo import demo_world


def test_splits_take_the_poses_of_validation_from_results(tmp_path: Path) -> None:
    predictions, truth = demo_world(20)
    mg.write(predictions, tmp_path / "x.json", "maptr")
    mg.write(truth, tmp_path / "y.json", "maptr-truth")
    mg.write(truth, tmp_path / "poses.geojson")
    said("evaluate x.json y.json,poses=poses.geojson --metrics pld -o run.mg", tmp_path)
    command = "splits poses.geojson y.json"
    assert "place (m)" not in said(command, tmp_path)
    assert "place (m)" in said(f"{command} run.mg", tmp_path)
