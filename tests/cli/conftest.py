"""A made-up data set in files, and the command line: as a process of its own, or in this one, which is much faster."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import UNWANTED

import mapgauge as mg
from mapgauge.cli import main
from mapgauge.demo import demo_world
from mapgauge.scoring.data import STOPPED

FRAMES = 20

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def environment() -> dict[str, str]:
    """That of the tests, without what a terminal or a person may have set."""
    return {key: value for key, value in os.environ.items() if key not in UNWANTED} | {"PYTHONIOENCODING": "utf-8"}


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two files of predictions, the truth, and results. No test writes there."""
    folder = tmp_path_factory.mktemp("world")
    for quality in ("good", "poor"):
        predictions, truth = demo_world(FRAMES, quality=quality)
        mg.write(predictions, folder / f"{quality}.json", "streammapnet")
        mg.write(truth, folder / "truth.geojson")
        results = mg.evaluate(folder / f"{quality}.json", folder / "truth.geojson")
        results.save(folder / f"{quality}.mg")
    return folder


def ended(command: list[str], cwd: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a program in a process of its own, without a terminal, until it ends."""
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment() | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture(scope="session")
def run(world: Path) -> Run:
    """Run ``mapgauge`` with some arguments in the folder of the data set, without a terminal."""

    def call(*arguments: object, cwd: Path = world, **variables: str) -> "subprocess.CompletedProcess[str]":
        return ended([sys.executable, "-m", "mapgauge", *map(str, arguments)], cwd, **variables)

    return call


@pytest.fixture
def call(world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Do the same in this process."""

    return caller(world, monkeypatch, capsys)


def caller(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs ``mapgauge`` in this process, in a folder unless it is given another."""

    def run_here(*arguments: object, cwd: Path = folder) -> "subprocess.CompletedProcess[str]":
        monkeypatch.chdir(cwd)
        monkeypatch.setattr("sys.argv", ["mapgauge", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        STOPPED.clear()  # a process that was interrupted ends; this one goes on with other tests
        captured = capsys.readouterr()
        return subprocess.CompletedProcess([], int(ended.value.code or 0), captured.out, captured.err)

    return run_here
