"""A file that cannot be written after the work: what was computed is printed, and the other files are written."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Run

from mapgauge.io.files import writing

FULL = "cannot be written: No space left on device"


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Suffixes of the files that find the disk full."""
    suffixes: list[str] = []
    write = writing._write

    def fail(part: Path, data: bytes, mode: int | None) -> None:
        if any(suffix in part.name for suffix in suffixes):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(part))
        write(part, data, mode)

    monkeypatch.setattr(writing, "_write", fail)
    return suffixes


def test_an_evaluation_prints_its_tables_and_writes_its_other_files(call: Run, tmp_path: Path, full: list[str]) -> None:
    sides = ("evaluate", "good.json", "truth.geojson")
    tables = call(*sides).stdout
    full += [".mg"]
    outputs = ("-o", tmp_path / "r.mg", "--report", tmp_path / "page.html")
    done = call(*sides, *outputs)
    assert (done.returncode, done.stdout) == (1, tables)
    assert done.stderr.splitlines() == [
        f"mapgauge: {tmp_path}/r.mg: {FULL}",
        f"mapgauge: report in {tmp_path}/page.html",
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    full[:] = [".html"]
    done = call(*sides, *outputs)
    assert done.returncode == 1
    assert f"{tmp_path}/r.mg" in done.stdout  # the results are there
    assert done.stderr.splitlines() == [
        f"mapgauge: results in {tmp_path}/r.mg",
        f"mapgauge: {tmp_path}/page.html: {FULL}",
    ]


def test_results_of_other_methods_are_written(
    call: Run, tmp_path: Path, full: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full += ["good.mg"]
    command = ("evaluate", "good.json", "poor.json", "truth.geojson", "--metrics", "pld", "-o", tmp_path / "runs")
    done = call(*command)
    assert done.returncode == 1
    assert "poor" in done.stdout
    assert f"good.mg: {FULL}" in done.stderr
    assert [file.name for file in (tmp_path / "runs").iterdir()] == ["poor.mg"]
    full.clear()
    monkeypatch.setattr(writing, "_mode_of", lambda target, _: shutil.rmtree(target.parent, ignore_errors=True))
    done = call(*command)  # the folder vanishes
    assert (done.returncode, done.stderr.count("cannot be written: No such file or directory")) == (1, 2)
    assert "poor" in done.stdout


@pytest.mark.whole
@pytest.mark.parametrize(
    ("command", "told", "suffix"),
    [
        ("confidence good.mg --thresholds {0}/t.json --figure {0}/kept.svg", "0.5", "t.json"),
        ("sweep good.json truth.geojson --metrics pld --cutoff 0.5,1.5 --figure {0}/f.svg", "1.5 m", "f.svg"),
        ("show good.mg -o {0}/f.svg", "pld 0.", "f.svg"),
        ("convert good.json {0}/c.geojson", "20 frames", "c.geojson"),
        ("track good.json --poses truth.geojson -o {0}/t.geojson", "20 frames", "t.geojson"),
        ("paper good.mg -o {0}", "", "table.csv"),
    ],
)
def test_every_command_says_what_it_found_before_it_fails(
    call: Run, tmp_path: Path, full: list[str], command: str, told: str, suffix: str
) -> None:
    full += [suffix]
    done = call(*command.format(tmp_path).split())
    assert done.returncode == 1
    assert told in done.stdout, done.stderr
    assert f"{suffix}: {FULL}" in done.stderr
    assert not list(tmp_path.glob(f"*{suffix}"))
    if command.startswith(("confidence", "paper")):
        assert list(tmp_path.glob("*.svg")) + list(tmp_path.glob("*.pdf"))
