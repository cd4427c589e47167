from pathlib import Path

import pytest
from tests.cli.conftest import Run, caller
from tests.streaming.worlds import world

import mapgauge as mg
from mapgauge.demo import demo_world

__all__ = ["world"]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``mapgauge`` in this process, in a folder with two files of predictions and the truth."""
    for quality in ("good", "poor"):
        predictions, truth = demo_world(20, quality=quality)
        mg.write(predictions, tmp_path / f"{quality}.json", "streammapnet")
        mg.write(truth, tmp_path / "truth.geojson")
    return caller(tmp_path, monkeypatch, capsys)
