"""Names from files can have any character. None of them reaches a terminal, or breaks a file."""

import csv
import io
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge import plot
from mapgauge.cli.output import write_csv, write_json

# Escape sequences, C1 controls, marks of direction, a zero-width space, a tag beyond 16 bits, and harmless letters.
NAME = "a\x1b[2J\x9b31m\x7f\u202e\u2066\u200b\U000e0041é中"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_csv_in_a_terminal_has_no_control_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    write_csv([{"name": NAME, NAME: 1.5}])
    assert all(line.isprintable() for line in shown.getvalue().splitlines())
    assert list(csv.reader(io.StringIO(shown.getvalue())))[1] == ["a?[2J?31m?????é中", "1.5"]


def test_csv_in_a_pipe_has_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stdout", written)
    write_csv([{"name": NAME}])
    assert list(csv.reader(io.StringIO(written.getvalue()))) == [["name"], [NAME]]


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_json_has_no_control_characters_and_the_same_names(
    kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = kind()
    monkeypatch.setattr(sys, "stdout", written)
    document = {"names": [NAME, "two\nlines\t"], NAME: {"é": 1}}
    write_json(document)
    assert all(line.isprintable() for line in written.getvalue().splitlines())
    assert "é中" in written.getvalue()
    assert json.loads(written.getvalue()) == document


@pytest.mark.filterwarnings("ignore:Glyph")  # the typeface lacks them
def test_an_svg_is_xml_whatever_names_it_has(tmp_path: Path) -> None:
    frames = mg.MapFrames.of({"t": {"divider": [[[0.0, 0.0], [5.0, 5.0]]]}})
    results = mg.evaluate(frames.with_confidence(1), frames, metrics=["pld"])
    name = "a\x00\x08\x1b\ufffe"
    for figure in (plot.parts(results, title=name), plot.frame(results.assignment("t"), title=name)):
        plot.save(figure, tmp_path / "figure.svg")
        tree = ElementTree.parse(tmp_path / "figure.svg")
        words = ["".join(node.itertext()).strip() for node in tree.iter("{http://www.w3.org/2000/svg}text")]
        assert "a\ufffd\ufffd\ufffd\ufffd" in words


def test_a_file_of_scenes_that_lacks_tokens_is_named(call: Run, tmp_path: Path, world: Path) -> None:
    (tmp_path / "some.json").write_text('{"scene-0000-0": "s"}', encoding="utf-8")
    done = call("inspect", f"{world / 'good.json'},scenes={tmp_path / 'some.json'}")
    assert done.returncode == 1
    assert done.stderr.startswith(f"mapgauge: {tmp_path / 'some.json'}: 19 tokens have no scene (first: scene-0000-1)")
