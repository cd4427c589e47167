"""The command line as a whole: how many options there are, what they mean, and how long its commands are."""

import ast
import inspect
import shlex
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer.main
from tests.cli.conftest import Run

from mapgauge.cli.app import COMMANDS, app, load

MOST_OF_EVALUATE, MOST_OF_ALL = 25, 246
LONGEST = 40  # lines of the body of a command, without its signature and its docstring


def commands() -> Iterator[tuple[str, Any]]:
    """Yield all commands with their names, groups and the application included."""

    def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
        yield name, command
        for called, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{name} {called}".strip())

    return walk(typer.main.get_command(app), "")


def options(command: Any) -> list[Any]:
    return [one for one in command.params if one.param_type_name == "option" and "--help" not in one.opts]


def test_there_are_few_options() -> None:
    counts = {name: len(options(command)) for name, command in commands()}
    assert counts["evaluate"] <= MOST_OF_EVALUATE
    assert sum(counts.values()) <= MOST_OF_ALL, counts


def test_an_option_has_one_meaning_everywhere() -> None:
    """The first sentence of the help, the kind of value and all spellings agree.

    Only `-o` is a file or a folder, only `frames --tokens` prints the tokens that other commands read from a file, and
    `frames --like` takes a frame where `published --like` takes results.
    """
    meanings: dict[str, set[tuple[Any, ...]]] = {}
    for name, command in commands():
        for one in options(command):
            if (name, one.name) in (("frames", "tokens"), ("frames", "like")):
                continue
            metavar = "" if one.name == "output" else one.metavar
            said = (one.help or "").split(". ")[0].rstrip(".")
            for spelling in one.opts:
                meanings.setdefault(spelling, set()).add((said, metavar, one.multiple, one.is_flag, tuple(one.opts)))
    assert {spelling: found for spelling, found in meanings.items() if len(found) > 1} == {}


def functions() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for name, (place, *_) in COMMANDS.items():
        command = load(place)
        if isinstance(command, typer.Typer):
            found |= {f"{name} {one.name}": one.callback for one in command.registered_commands if one.callback}
        else:
            found[name] = command
    return found


@pytest.mark.parametrize("name", functions())
def test_the_body_of_a_command_parses_calls_and_prints(name: str) -> None:
    source = textwrap.dedent(inspect.getsource(functions()[name]))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    body = function.body[1:] if ast.get_docstring(function) else function.body
    last = body[-1].end_lineno
    assert last is not None
    assert last - body[0].lineno + 1 <= LONGEST


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_has_panels_and_two_examples_that_can_be_parsed(call: Run, name: str) -> None:
    words = [name, *({"truth": ["nuscenes"], "splits": ["propose"]}.get(name, []))]
    text = call(*words, "--help").stdout
    assert f"Examples:\n  mapgauge {name}" in text
    for example in COMMANDS[name][1:]:
        command = typer.main.get_command(app)
        arguments = [name, *shlex.split(example)]
        while hasattr(command, "commands"):
            command = command.commands[arguments.pop(0) if arguments[0] in command.commands else "overlap"]
        assert command.make_context(name, arguments)
    if name == "evaluate":
        panels = ["Arguments:", "What is computed:", "Output:", "Files:", "Where it runs:", "Options:", "Examples:"]
        assert [line for line in text.splitlines() if line in panels] == panels
