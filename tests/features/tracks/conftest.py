"""The command line in a folder with the files of a made-up world."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run, caller

import mapgauge as mg
from mapgauge.demo import demo_world


@pytest.fixture(scope="session")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with predictions without poses, and the truth with poses."""
    folder = tmp_path_factory.mktemp("drive")
    predictions, truth = demo_world(20, predictions=20)
    mg.write(predictions, folder / "bare.json", "streammapnet")
    mg.write(predictions, folder / "maptr.json", "maptr")
    mg.write(truth, folder / "truth.geojson")
    return folder


@pytest.fixture
def call(drive: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``mapgauge`` in this process, in that folder."""
    return caller(drive, monkeypatch, capsys)
