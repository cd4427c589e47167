"""The examples run unchanged, and the page about the paper shows their output."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
OF_THE_PAPER = ("table_1.py", "figure_1.py", "trends.py")


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs_and_prints(name: str) -> None:
    run = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, encoding="utf-8", check=True)
    assert "PLD" in run.stdout or "pld" in run.stdout
    assert run.stderr == ""
    if name in OF_THE_PAPER:
        assert f"```text\n{run.stdout}```" in (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
