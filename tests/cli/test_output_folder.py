"""``evaluate -o``: what is a folder, and what is a file."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg


def test_a_slash_at_the_end_makes_a_folder_also_for_one_method(call: Run, tmp_path: Path) -> None:
    done = call("evaluate", "good.json", "truth.geojson", "-o", f"{tmp_path}/results/")
    assert done.returncode == 0, done.stderr
    assert [file.name for file in (tmp_path / "results").iterdir()] == ["good.mg"]
    assert mg.load_results(tmp_path / "results" / "good.mg").tokens


@pytest.mark.parametrize("slash", ["", "/"])
def test_results_of_one_method_go_into_an_existing_folder(call: Run, tmp_path: Path, slash: str) -> None:
    (tmp_path / "results").mkdir()
    done = call("evaluate", "good.json", "truth.geojson", "-o", f"{tmp_path}/results{slash}")
    assert done.returncode == 0, done.stderr
    assert [file.name for file in (tmp_path / "results").iterdir()] == ["good.mg"]


def test_several_methods_go_into_a_folder_of_any_name_with_a_slash(call: Run, tmp_path: Path) -> None:
    done = call("evaluate", "good.json", "poor.json", "truth.geojson", "-o", f"{tmp_path}/both.mg/")
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in (tmp_path / "both.mg").glob("*.mg")) == ["good.mg", "poor.mg"]
