"""The gallery of the documentation has every figure, with a command that draws it."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from docs.pictures import IMAGES

from mapgauge import plot
from mapgauge.cli.app import app
from mapgauge.manifest import mapping, own

PAGE = (Path(__file__).parents[1] / "docs" / "gallery.md").read_text(encoding="utf-8")
COMMANDS = [
    line.removeprefix("mapgauge ")
    for block in re.findall(r"^```sh\n(.+?)^```$", PAGE, re.M | re.S)
    for line in block.splitlines()
]


def test_the_gallery_names_every_function_that_draws() -> None:
    assert set(re.findall(r"`mg\.plot\.(\w+)`", PAGE)) == set(plot.__all__) - {"save"}


def test_the_gallery_has_a_command_for_every_figure_of_plot() -> None:
    figures = {figure.command for _, figure in mapping("figures", among=own()).values() if figure.command}
    assert {command.split()[1] for command in COMMANDS if command.startswith("plot ")} == figures


def test_the_gallery_shows_what_its_commands_write() -> None:
    written = {f"gallery-{command.split()[-1]}" for command in COMMANDS if re.search(r"\.(svg|png)$", command)}
    assert written == {picture.name for picture in IMAGES.glob("gallery-*")}
    assert written == set(re.findall(r"images/(gallery-[\w.-]+)", PAGE))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_gallery_can_be_parsed(command: str) -> None:
    arguments = shlex.split(command)
    parser = typer.main.get_command(app).commands[arguments[0]]  # type: ignore[attr-defined]
    if hasattr(parser, "commands"):
        parser = parser.commands["overlap"]  # what a group without the name of an inner command runs
    assert parser.make_context(arguments[0], arguments[1:])
