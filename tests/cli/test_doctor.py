"""``mapgauge doctor``: everything that a report of a problem needs, and nothing private."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.cli import doctor


def test_it_says_what_a_report_needs(call: Run) -> None:
    lines = dict(line.split(maxsplit=1) for line in call("doctor").stdout.splitlines() if len(line.split()) > 1)
    assert lines["mapgauge"].startswith(mg.__version__)
    assert "numba" in lines["packages"]
    assert "compiled" in lines["kernels"]
    assert "thread" in lines["processors"]
    assert {"Python", "system", "processors", "fonts", "ffmpeg", "Chromium", "settings", "plug-ins"} <= set(lines)


def test_the_document_says_the_same(call: Run) -> None:
    document = json.loads(call("doctor", "--json").stdout)
    assert document["version"] == mg.__version__
    assert document["packages"]["numpy"]
    assert document["extras"]["links"] in ([], ["highspy"])
    assert document["extras"]["tracks"] == document["extras"]["links"]
    assert document["kernels"]["compiled"] <= document["kernels"]["known"]


def test_the_home_folder_is_not_named(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    home = str(Path.home())
    monkeypatch.setenv("MAPGAUGE_EXAMPLE", f"{home}/secret")
    for words in (("doctor",), ("doctor", "--json")):
        text = call(*words).stdout
        assert "~/secret" in text
        assert f"{home}/" not in text


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    version_of = doctor._version_of
    monkeypatch.setattr(doctor, "_version_of", lambda name: None if name == "matplotlib" else version_of(name))
    found = doctor.diagnose()
    assert "matplotlib" in found.extras["plot"]
    rows = dict(row for piece in found.text() for row in getattr(piece, "rows", ()))
    assert "plot (matplotlib)" in rows["not installed"]


def test_a_program_that_fails_has_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor._program(("ffmpeg",), "-version") is None
    program.write_text("#!/bin/sh\necho ffmpeg version 7.1 Copyright of people\n", encoding="utf-8")
    assert doctor._program(("ffmpeg",), "-version") == "ffmpeg version 7.1"
    assert doctor._program(("nowhere",), "-version") is None
