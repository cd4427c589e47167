"""One is not several: what is printed about a single frame, scene or line."""

import re
from dataclasses import replace
from pathlib import Path

from tests.cli.conftest import Run

import mapgauge as mg

ONE = re.compile(r"(?<!of )(?<![\d.,-])1 (frames|scenes|instances|tracks|links|lanes|predicted frames)\b")


def single() -> mg.MapFrames:
    made = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}}, classes=["divider"])
    return replace(made, scenes=("one",), track=made.label.astype(str))


def test_one_frame_is_called_one_frame_in_python() -> None:
    truth = single()
    assert repr(truth) == "<MapFrames truth: 1 frame, 2-D, 1 divider>"
    assert "1 frame of 1 scene" in truth._repr_html_()


def test_commands_call_one_frame_one_frame(call: Run, tmp_path: Path) -> None:
    truth = single()
    mg.write(truth, tmp_path / "truth.geojson")
    mg.write(truth.with_confidence(0.9), tmp_path / "one.geojson")
    files = ["one.geojson", "truth.geojson"]
    said = ""
    for words in (
        ["inspect", "truth.geojson"],
        ["evaluate", *files, "-o", "one.mg", "--report", "one.html"],
        ["inspect", "one.mg"],
        ["frames", "one.mg"],
        ["compare", "one.mg", "one.mg,name=again"],
    ):
        done = call(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        said += done.stdout + done.stderr
    said += (tmp_path / "one.html").read_text(encoding="utf-8")
    assert "truth.geojson: 1 frame, " in said
    assert [said[max(0, found.start() - 40) : found.end() + 40] for found in ONE.finditer(said)] == []
