"""The short form of ``tools/without_features.py``: the core alone, and a feature alone, in copies of the repository."""

import shutil
from pathlib import Path

import pytest
from tools import without_features

COMMANDS = (
    "demo --size 2 -o demo",
    "evaluate demo/good.json demo/truth.geojson -o good.mg",
    "evaluate demo/poor.json demo/truth.geojson -o poor.mg",
    "compare good.mg poor.mg",
    "report good.mg -o page.html",
    "show good.mg -o frame.svg",
)
QUICK = (
    "tests/metrics/test_pld_values.py",
    "tests/results/test_intervals.py",
    "tests/checks/test_tracks.py",
    "tests/checks/test_classes.py",
    "src/mapgauge/answers",
    "src/mapgauge/protocols",
)


def copied(kept: set[str], folder: Path) -> Path:
    if shutil.which("git") is None or not (without_features.ROOT / ".git").exists():
        pytest.skip("not a working copy of the repository")
    return without_features.copy_with(kept, folder)


def test_the_core_alone_evaluates_compares_reports_and_shows(tmp_path: Path) -> None:
    assert without_features.fault_of_commands(copied(set(), tmp_path), COMMANDS) == ""


def test_the_core_alone_passes_its_quick_tests(tmp_path: Path) -> None:
    passed, outcome = without_features.outcome_of_tests(copied(set(), tmp_path), QUICK)
    assert passed, outcome


def test_a_feature_alone_passes_its_tests(tmp_path: Path) -> None:
    copy = copied(without_features.needed_by("splits"), tmp_path)
    passed, outcome = without_features.outcome_of_tests(copy, ["tests/features/splits/test_axes.py"])
    assert passed, outcome


def test_deleting_a_needed_feature_is_noticed(tmp_path: Path) -> None:
    """Global maps import tracks, which they need."""
    passed, outcome = without_features.outcome_of_tests(
        copied({"global_map"}, tmp_path), ["tests/features/global_map/test_rules.py"]
    )
    assert not passed
    assert "test_rules_of_tracks_make_the_tracks_that_frames_lack" in outcome


def test_a_file_of_tests_that_is_not_there_is_named(tmp_path: Path) -> None:
    passed, outcome = without_features.outcome_of_tests(copied(set(), tmp_path), ["tests/test_nothing.py"])
    assert not passed
    assert "file or directory not found: tests/test_nothing.py" in outcome
