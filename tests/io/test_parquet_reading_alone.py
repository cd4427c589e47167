"""What reading Parquet loads."""

import subprocess
import sys
from pathlib import Path

import pytest

import mapgauge as mg
from mapgauge.demo import demo_world

SCRIPT = """
import sys
import mapgauge
frames = mapgauge.read(sys.argv[1])
assert frames.poses is not None
assert "pandas" not in sys.modules
"""


def test_reading_does_not_import_pandas_which_takes_half_a_second(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    _, truth = demo_world(20)  # with poses, times and scenes
    mg.write(truth, tmp_path / "truth.parquet")
    subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path / "truth.parquet")], check=True)
