"""The name of a file of results: it ends in .mg, and no file of another kind is overwritten by mistake."""

from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("mine.json", "Write to mine.mg, or print JSON with --json"),
        ("mine.csv", "Write to mine.mg, or print CSV with --csv"),
        ("mine.html", "Write to mine.mg, or a report with --report"),
        ("mine", "Write to mine.mg, or into a folder"),
    ],
)
def test_results_are_written_to_a_name_of_results_only(
    call: Run, world: Path, tmp_path: Path, name: str, advice: str
) -> None:
    path = tmp_path / name
    path.write_text("predictions of somebody", encoding="utf-8")
    done = call("evaluate", "good.json", "truth.geojson", "-o", path, cwd=world)
    assert done.returncode == 2
    assert advice in " ".join(done.stderr.split())
    assert path.read_text(encoding="utf-8") == "predictions of somebody"


def test_reading_results_as_predictions_says_how_to_load_them(world: Path) -> None:
    with pytest.raises(mg.UnreadableFile, match="load_results"):
        mg.read(world / "good.mg")


def test_a_document_without_frames_is_not_blamed_for_its_confidences(call: Run, world: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("{}", encoding="utf-8")
    done = call("evaluate", tmp_path / "empty.json", "truth.geojson", cwd=world)
    assert done.returncode == 1
    assert "no frames" in done.stderr
    assert "confidence" not in done.stderr
