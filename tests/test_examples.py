"""The examples run unchanged, and pages show their output."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SHOWN_ON = {  # the page that shows the output of an example
    **dict.fromkeys(("table_1.py", "figure_1.py", "trends.py"), "reproduce.md"),
    **dict.fromkeys(("tracks.py", "track_study.py"), "explanation/time.md"),
    "lane_graphs.py": "explanation/lane-graphs.md",
    "temporal_scores.py": "explanation/temporal-scores.md",
}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs_and_prints(name: str) -> None:
    run = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, encoding="utf-8", check=True)
    assert "PLD" in run.stdout or "pld" in run.stdout
    assert run.stderr == ""
    if name in SHOWN_ON:
        assert f"```text\n{run.stdout}```" in (ROOT / "docs" / SHOWN_ON[name]).read_text(encoding="utf-8")
