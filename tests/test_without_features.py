"""The short form of ``tools/without_features.py``: the core alone, and a feature alone, in copies of the repository."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where all copies lie, one after the other. Each place compiles kernels anew, here few and into slow code."""
    if shutil.which("git") is None or not (without_features.ROOT / ".git").exists():
        pytest.skip("not a working copy of the repository")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_OPT", "0")
        patch.setenv("MAPGAUGE_COMPILERS", "0")  # no kernels ahead of what a command calls
        yield tmp_path_factory.mktemp("copy") / "copy"


@pytest.fixture(scope="module")
def core(place: Path) -> Path:
    """A copy without any feature, for the tests that come first."""
    return without_features.copy_with(set(), place)


def test_the_core_alone_evaluates_compares_reports_and_shows(core: Path) -> None:
    assert without_features.fault_of_commands(core, COMMANDS) == ""


def test_the_core_alone_passes_its_quick_tests(core: Path) -> None:
    passed, outcome = without_features.outcome_of_tests(core, QUICK)
    assert passed, outcome


def test_a_file_of_tests_that_is_not_there_is_named(core: Path) -> None:
    passed, outcome = without_features.outcome_of_tests(core, ["tests/test_nothing.py"])
    assert not passed
    assert "file or directory not found: tests/test_nothing.py" in outcome


def test_a_feature_alone_passes_its_tests(place: Path) -> None:
    copy = without_features.copy_with(without_features.needed_by("confidence"), place)
    passed, outcome = without_features.outcome_of_tests(copy, ["tests/features/confidence/test_radius.py"])
    assert passed, outcome


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every case is a fork")
def test_every_feature_can_be_imported_alone() -> None:
    """The core, and each feature with those that it needs: all modules, tables, commands and public names."""
    cases = [set(), *map(without_features.needed_by, without_features.features())]
    without_needed = {"global_map", "network"}
    names = [",".join(sorted(case)) for case in [*cases, without_needed]]
    program = str(Path(__file__).with_name("some_features.py"))
    done = subprocess.run(
        [sys.executable, program, *names], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    *faults, of_needed = json.loads(done.stdout)
    assert [f"{name}: {fault}" for name, fault in zip(names, faults, strict=False) if fault] == []
    assert "the feature tracks was deleted" in of_needed


def test_deleting_a_needed_feature_is_noticed(place: Path) -> None:
    """Global maps import tracks, which they need."""
    copy = without_features.copy_with({"global_map"}, place)
    needing = "tests/features/global_map/test_rules.py::test_rules_of_tracks_make_the_tracks_that_frames_lack"
    passed, outcome = without_features.outcome_of_tests(copy, [needing])
    assert not passed
    assert f"FAILED {needing}" in outcome
