"""The soak for a short time. ``make soak`` runs it for an hour."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEED = 2021  # whose first steps are one of each kind; other seeds are for `make soak`
STEPS = "9"
ROOT = Path(__file__).parents[2]


def soak(*options: str) -> str:
    path = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.soak", *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork, POSIX signals and /proc")
def test_files_are_old_or_new_and_never_half() -> None:
    assert " 0 failures" in soak("--steps", STEPS, "--seed", str(SEED))


@pytest.mark.fuzz
@pytest.mark.skipif(sys.platform != "linux", reason="needs fork, POSIX signals and /proc")
def test_files_are_old_or_new_for_as_long_as_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    said = soak("--seconds", os.environ.get("MAPGAUGE_SOAK_SECONDS", "300"))
    with capsys.disabled():
        print(f"\n{said}")  # noqa: T201
