"""The command line as a whole: what options mean, and what the help shows."""

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from tests.cli.conftest import Run

from mapgauge.cli.app import app, commands_of


def commands() -> Iterator[tuple[str, Any]]:
    """Yield all commands with their names, groups and the application included."""

    def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        yield name, command
        for called, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{name} {called}".strip())

    return walk(typer.main.get_command(app), "")


def options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and "--help" not in one.opts]


def test_an_option_has_one_meaning_everywhere() -> None:
    """The first sentence of the help, the kind of value and all spellings agree.

    Only `-o` is a file or a folder, only `frames --tokens` prints the tokens that other commands read from a file, and
    `frames --like` takes a frame where `published --like` takes results. A history reads nights of one protocol, and
    tags that are no option of a file. Some commands take one cutoff where others take several.
    """
    others = (("frames", "tokens"), ("frames", "like"), ("history", "protocol"), ("history", "by"))
    meanings: dict[str, set[tuple[Any, ...]]] = {}
    for name, command in commands():
        for one in options(command):
            if (name, one.name) in others or (one.name == "cutoff" and not one.multiple):
                continue
            metavar = "" if one.name == "output" else one.metavar
            said = (one.help or "").split(". ")[0].rstrip(".")
            if one.name == "output":
                said = said.partition(":")[0]  # each command says what it writes
            for spelling in one.opts:
                meanings.setdefault(spelling, set()).add((said, metavar, one.multiple, one.is_flag, tuple(one.opts)))
    assert {spelling: found for spelling, found in meanings.items() if len(found) > 1} == {}


COMMANDS = {name: row for name, (_, row) in commands_of(plug_ins=False).items()}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_has_panels_and_two_examples_that_can_be_parsed(call: Run, name: str) -> None:
    words = [
        name,
        *({"truth": ["nuscenes"], "challenge": ["check"], "splits": ["propose"], "list": ["metrics"]}.get(name, [])),
    ]
    text = call(*words, "--help-all").stdout
    assert f"Examples:\n  mapgauge {name}" in text
    for example in COMMANDS[name].examples:
        command = typer.main.get_command(app)
        arguments = [name, *shlex.split(example)]
        while hasattr(command, "commands"):
            command = command.commands[arguments.pop(0) if arguments[0] in command.commands else "overlap"]
        assert command.make_context(name, arguments)
    if name == "evaluate":
        panels = ["Arguments:", "What is computed:", "Output:", "Files:", "Where it runs:", "Seldom needed:"]
        panels += ["Options:", "Examples:"]
        assert [line for line in text.splitlines() if line in panels] == panels
