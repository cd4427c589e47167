"""The examples run as they are."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs_and_prints(name: str) -> None:
    run = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True, check=True)
    assert "PLD" in run.stdout or "pld" in run.stdout
    assert run.stderr == ""
