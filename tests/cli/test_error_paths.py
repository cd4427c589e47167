"""Errors of the command line that depend on the system. The answer of the system is replaced."""

import os
from pathlib import Path

import pytest

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
