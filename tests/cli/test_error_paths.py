"""Errors of the command line that depend on the system. The answer of the system is replaced."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.cli.targets import check_target, own_folder


def test_targets_without_permission_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.mg"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    with pytest.raises(mg.MapgaugeError) as caught:
        check_target(target)
    assert str(caught.value) == f"{target}: cannot be written: no permission to write in {tmp_path}"
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != target)
    with pytest.raises(mg.MapgaugeError, match="r.mg: cannot be written: the file is write-protected$"):
        check_target(target)


def test_a_folder_of_the_demo_with_a_damaged_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".mark").write_bytes(b"\xff\xfe")
    with pytest.raises(mg.MapgaugeError, match="cannot be read: 'utf-8' codec can't decode"):
        own_folder(tmp_path, ".mark", ["a.json"], "the demo")


@pytest.mark.parametrize(
    ("finished", "said"),
    [
        (("2 of 3 chunks are finished",), "interrupted: 2 of 3 chunks are finished"),
        ((), "interrupted while evaluating x.parquet; nothing was written"),
    ],
)
def test_an_interrupted_streamed_evaluation_says_what_is_finished(
    call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finished: tuple[str, ...], said: str
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt(*finished)

    frames = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    for name in ("x", "y"):
        mg.write(frames, tmp_path / f"{name}.parquet")
    monkeypatch.setattr("mapgauge.cli.runs.evaluate", interrupted)
    done = call("evaluate", "x.parquet", "y.parquet", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, f"mapgauge: {said}\n")


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_an_interrupted_evaluation_says_how_many_frames_were_done(
    call: Run, monkeypatch: pytest.MonkeyPatch, quiet: list[str]
) -> None:
    def interrupted(*_: Any, progress: Any, **__: Any) -> None:
        progress(1200, 6019)
        raise KeyboardInterrupt

    monkeypatch.setattr("mapgauge.cli.runs.evaluate_frames", interrupted)
    done = call("evaluate", "good.json", "truth.geojson", *quiet)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "mapgauge: interrupted after 1,200 of 6,019 frames; nothing was written\n"


def test_scenes_from_a_damaged_data_set_are_refused(call: Run, tmp_path: Path) -> None:
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes" / "a.parquet").write_bytes(b"PAR1")
    done = call("evaluate", "good.json", f"truth.geojson,scenes={tmp_path / 'scenes'}")
    assert done.returncode == 1
    assert "a.parquet: " in done.stderr
    assert "expected a JSON object" not in done.stderr
