"""What ``mapgauge`` alone prints, and helps that fit a screen."""

import re
from typing import Any

import pytest
import typer.main
from tests.cli.conftest import Run
from tests.cli.test_options import commands

from mapgauge.cli.app import SCREEN, SELDOM, app, commands_of, daily, first_sentence
from mapgauge.cli.helps import HELP_ALL

NAMES = [name for name, command in commands() if not hasattr(command, "commands")]


def test_the_command_alone_names_what_is_used_daily(call: Run) -> None:
    done = call()
    assert done.returncode == 2
    lines = done.stdout.splitlines()
    assert len(lines) == 9
    assert [line.split()[0] for line in lines[4:]] == daily() == ["evaluate", "compare", "report", "show", "why"]
    assert "mapgauge demo" in lines[2]


@pytest.mark.parametrize("name", NAMES)
def test_a_help_fits_a_screen_of_100_columns(call: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = call(*name.split(), "--help").stdout.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 100


def test_the_help_of_all_commands_fits_a_screen(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    brief = call("--help").stdout
    assert len(brief.splitlines()) <= SCREEN
    rows = commands_of(plug_ins=False)
    more = [name for name, (_, row) in rows.items() if row.group == "More"]
    assert re.findall(r"^  (\w+)  ", brief, re.M) == [name for name in rows if name not in more]
    assert brief.endswith(f"More, with {HELP_ALL}: {', '.join(more)}\n")
    assert re.findall(r"^  (\w+)  ", call(HELP_ALL).stdout, re.M) == list(rows)
    assert max(map(len, brief.splitlines())) <= 100
    assert "--install-completion" not in brief
    assert "--install-completion" in call(HELP_ALL).stdout


def test_the_help_begins_with_the_commands_of_every_day() -> None:
    names = list(commands_of(plug_ins=False))
    seldom = [name for name in ("challenge", "compile", "demo") if name in names]
    assert all(names.index(name) < names.index(other) for name in [*daily(), "frames", "plot"] for other in seldom)


def test_a_short_help_leads_to_the_whole(call: Run) -> None:
    short = call("evaluate", "--help").stdout
    whole = call("evaluate", HELP_ALL).stdout
    assert short.endswith(f"mapgauge evaluate {HELP_ALL}\n")
    assert all(f"\n{panel}:" in whole for panel in SELDOM)
    assert not any(f"\n{panel}:" in short for panel in SELDOM)
    command: Any = typer.main.get_command(app)
    for option in command.commands["evaluate"].params:
        assert option.opts[-1] in whole
    assert HELP_ALL not in call("cite", "--help").stdout


def test_a_short_help_has_whole_sentences_and_defaults() -> None:
    assert first_sentence("Cutoffs of PLD. Tables show it.") == "Cutoffs of PLD."
    assert first_sentence("Seed. It is.  [default: 0]") == "Seed.  [default: 0]"
    assert first_sentence("One sentence.  [required]") == "One sentence.  [required]"


GROUPS = sorted(name for name, command in commands() if name and hasattr(command, "commands"))


@pytest.mark.parametrize("name", GROUPS)
def test_a_command_that_has_commands_takes_help_all_too(call: Run, name: str) -> None:
    whole = call(name, HELP_ALL)
    assert whole.returncode == 0
    assert whole.stdout == call(name, "--help").stdout


@pytest.mark.parametrize("name", NAMES)
def test_a_help_names_arguments_as_the_documentation_does(call: Run, name: str) -> None:
    usage, _, rest = call(*name.split(), "--help").stdout.partition("\n\n")
    assert "{" not in usage
    assert rest.startswith("  ")
    _, _, arguments = rest.partition("Arguments:\n")
    assert "<" not in arguments.partition("\n\n")[0]
