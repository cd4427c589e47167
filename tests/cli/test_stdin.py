"""The standard input is a file if its format is named."""

import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Run, environment

import mapgauge as mg


def test_the_standard_input_is_read_where_the_format_is_named(world: Path, run: Run) -> None:
    command = [sys.executable, "-m", "mapgauge", "inspect", "-,format=geojson"]
    data = (world / "truth.geojson").read_bytes()
    done = subprocess.run(command, input=data, capture_output=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    assert b"20 frames" in done.stdout
    empty = subprocess.run(command, input=b"", capture_output=True, env=environment(), check=False)
    assert b"the standard input is empty. It can be read only once" in empty.stderr
    refused = run("inspect", "-")
    assert refused.returncode == 2
    assert "-,format=geojson" in refused.stderr


def test_a_map_can_come_from_the_standard_input(tmp_path: Path) -> None:
    (tmp_path / "poses.json").write_text('{"a": [0, 0, 90]}', encoding="utf-8")
    data = b'class,wkt\ndivider,"LINESTRING (0 -90, 0 90)"\n'
    command = [
        sys.executable,
        "-m",
        "mapgauge",
        "truth",
        "map",
        "-,format=csv",
        "--poses",
        "poses.json",
        "-o",
        "t.geojson",
    ]
    done = subprocess.run(command, input=data, capture_output=True, env=environment(), check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert mg.read(tmp_path / "t.geojson").counts["divider"] == 1
