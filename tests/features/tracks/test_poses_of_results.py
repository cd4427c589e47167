"""Consistency with the poses that results keep."""

from pathlib import Path

from tests.commands import said

import mapgauge as mg
from mapgauge.demo import demo_world


def test_consistency_takes_the_poses_that_results_keep(tmp_path: Path) -> None:
    predictions, truth = demo_world(20)
    mg.write(predictions, tmp_path / "x.json", "maptr")
    mg.write(truth, tmp_path / "y.json", "maptr-truth")
    mg.write(truth, tmp_path / "poses.geojson")
    said("evaluate x.json y.json,poses=poses.geojson --metrics pld -o run.mg", tmp_path)
    by_results = said("consistency x.json --poses run.mg", tmp_path)
    assert "Flicker" in by_results
    assert by_results == said("consistency x.json --poses poses.geojson", tmp_path)
