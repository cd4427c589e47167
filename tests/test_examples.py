"""The examples run unchanged, and pages show their output."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SHOWN_ON = {  # the page that shows the output of an example
    **dict.fromkeys(("table_1.py", "figure_1.py", "trends.py"), "reproduce.md"),
    **dict.fromkeys(("over_time.py", "track_study.py"), "explanation/time.md"),
    "lane_graphs.py": "explanation/lane-graphs.md",
    "network_pld.py": "explanation/fragments.md",
}


LONG = ("track_study.py",)  # `make fuzz` runs it
OPTIONS = {"train_polylines.py": ("--steps", "4")}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(path.name, marks=[pytest.mark.fuzz] if path.name in LONG else [])
        for path in sorted(EXAMPLES.glob("*.py"))
    ],
)
def test_an_example_runs_and_prints(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process, because each process of its own would load everything again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [name, *OPTIONS.get(name, ())])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed, complaints = capfd.readouterr()
    assert "PLD" in printed or "pld" in printed or "APLS" in printed
    assert complaints == ""
    if name in SHOWN_ON:
        assert f"```text\n{printed}```" in (ROOT / "docs" / SHOWN_ON[name]).read_text(encoding="utf-8")


def test_the_page_on_training_shows_the_results_of_the_study() -> None:
    """The results were computed on a GPU. The table is the one that the example prints for them."""
    table = runpy.run_path(str(EXAMPLES / "train_polylines.py"))["table"]
    page = (ROOT / "docs" / "explanation" / "training-study.md").read_text(encoding="utf-8")
    results = json.loads((ROOT / "docs" / "pictures" / "training.json").read_text(encoding="utf-8"))
    assert list(results) == ["search", "demo", "roads"]
    for part in results.values():
        assert f"```text\n{table(part)}\n```" in page
        assert part["seeds"] == [100, 101, 102, 103, 104]


def test_the_scores_over_time_are_those_of_the_definitions() -> None:
    """One switch costs the same whenever it happens, and C-mAP depends on when it happens."""
    lines = (ROOT / "docs" / SHOWN_ON["over_time.py"]).read_text(encoding="utf-8").splitlines()
    rows = [(line[:35].strip(), line[35:].split()) for line in lines]
    scores = {name: (row[0], row[1], row[3]) for name, row in rows if len(row) == 5}
    assert scores["perfect ids"] == ("0.257", "0.257", "1.000")
    for frame, c_map in ((1, "0.033"), (15, "0.500"), (29, "0.967")):
        assert scores[f"ids switch at frame {frame}"] == ("0.257", "0.283", c_map)
    assert scores["new ids in every frame"][1] == "0.792"
