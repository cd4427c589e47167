"""One place chooses between text, JSON, CSV and LaTeX, and options are dataclasses."""

import ast
import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.conftest import Run

import mapgauge
from mapgauge.cli.command import command, without_effect
from mapgauge.cli.emit import Document, Line, Listing, Printing, emit
from mapgauge.cli.output import Table

SOURCE = Path(mapgauge.__file__).parent
# These write by themselves: the module of streams. `paper` writes CSV to a file.
OWN = {"cli/output.py", "cli/emit.py", "cli/paper.py"}


def test_no_other_module_chooses_between_forms() -> None:
    commands = [*(SOURCE / "cli").glob("*.py"), *(SOURCE / "features").glob("*/command.py")]
    choosing = set()
    for file in commands:
        names = {
            node.id for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Name)
        }
        names |= {
            node.attr
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)
        }
        if {"write_json", "write_csv"} & names:
            choosing.add(file.relative_to(SOURCE).as_posix())
    assert choosing <= OWN


def test_no_command_reads_options_by_text() -> None:
    commands = [*(SOURCE / "cli").glob("*.py"), *(SOURCE / "features").glob("*/command.py")]
    reading = {file.name for file in commands if re.search(r"(context|ctx)\.params", file.read_text(encoding="utf-8"))}
    assert not reading


@dataclasses.dataclass(frozen=True, kw_only=True)
class GreetingOptions(Printing):
    name: str
    times: int = 1
    json: bool = False
    csv: bool = False


class Greeting(Document):
    """A document with two forms."""

    def text(self) -> list[Table | Line | Listing]:
        return [
            Table(title="A", header=["x"], rows=[["1"]]),
            Line("said"),
            Table(title="B", header=["x"], rows=[["2"]]),
            Line("apart", gap=True),
        ]

    def to_dict(self) -> Any:
        return {"said": True}


def test_a_command_has_the_fields_of_its_options_as_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    given: list[GreetingOptions] = []

    @command
    def greet(options: GreetingOptions) -> None:
        """Say hello."""
        given.append(options)

    app = typer.Typer(rich_markup_mode=None)
    app.command()(greet)
    app(["you", "--times", "2"], standalone_mode=False)
    assert given == [GreetingOptions(name="you", times=2)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        given[0].times = 3  # type: ignore[misc]
    app(["--help"], standalone_mode=False)
    assert "Say hello." in capsys.readouterr().out


def test_two_forms_are_refused() -> None:
    with pytest.raises(typer.BadParameter, match="only one of --json and --csv"):
        GreetingOptions(name="you", json=True, csv=True)


def test_an_option_without_effect_is_refused_unless_it_has_its_default() -> None:
    without_effect(GreetingOptions(name="you", times=1), ["times"], "here")
    with pytest.raises(typer.BadParameter, match="has no effect here"):
        without_effect(GreetingOptions(name="you", times=2), ["times"], "here")


def test_a_document_is_printed_in_the_form_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    emit(GreetingOptions(name="you", json=True), Greeting())
    assert capsys.readouterr().out == '{\n  "said": true\n}\n'
    emit(GreetingOptions(name="you"), Greeting())
    assert capsys.readouterr().out == "A\nx\n1\nsaid\n\nB\nx\n2\n\napart\n"
    with pytest.raises(TypeError, match="Greeting has no CSV"):
        emit(GreetingOptions(name="you", csv=True), Greeting())


def test_no_command_needs_more_than_its_options(call: Run) -> None:
    """The forms of a list, which has no other options."""
    assert call("list", "formats", "--json").stdout.startswith("[")
    assert call("list", "formats").stdout.startswith("parquet")
