"""The page of the command line shows what the commands really print."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.commands import check, consoles_of, said

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
EXAMPLES = consoles_of(PAGE)
DEMO = EXAMPLES[0][0]  # writes the files that the other examples read


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return a function that runs an example, once, after the examples that write its inputs."""
    folder = tmp_path_factory.mktemp("examples")
    writers = {match[1]: command for command, _ in EXAMPLES if (match := re.search(r"-o (\S+)", command))}

    @cache
    def run(command: str) -> str:
        if command != DEMO:
            run(DEMO)
        for word in command.split():
            if word in writers and f"-o {word}" not in command:
                run(writers[word])
        return said(command, folder)

    return run


@pytest.mark.whole
def test_the_page_has_an_example_of_every_command() -> None:
    from mapgauge.cli.app import app

    names = {str(command.name) for command in app.registered_commands}
    names |= {str(group.typer_instance.info.name) for group in app.registered_groups if group.typer_instance}
    assert {command.split()[0] for command, _ in EXAMPLES} == names - {"view"}  # which serves until it is interrupted


@pytest.mark.whole
def test_the_table_has_every_command_in_the_groups_of_the_help() -> None:
    from mapgauge.cli.app import commands_of

    table = PAGE.read_text(encoding="utf-8").partition("| | command | what it does |")[2].partition("\n\n")[0]
    shown = []
    group = ""
    for row in table.splitlines()[2:]:
        _, first, command, *_ = row.split("|")
        group = first.strip(" *") or group
        shown.append((group, *re.findall(r"`(\w+)`", command)))
    assert shown == [(row.group, name) for name, (_, row) in commands_of(plug_ins=False).items()]


@pytest.mark.whole
def test_the_page_has_a_row_with_its_options_for_every_figure_of_plot() -> None:
    from mapgauge.cli.plot import figures

    table = PAGE.read_text(encoding="utf-8").partition("| figure | shows | options |")[2].partition("\n\n")[0]
    rows = [row.split("|") for row in table.splitlines()[2:]]
    shown = {re.findall(r"`(\w+)`", row[1])[0]: re.findall(r"`--([\w-]+)`", row[3]) for row in rows}
    assert shown == {name: list(row.options) for name, (_, _, row) in figures().items()}


def test_the_page_names_the_commands_that_have_fail_on() -> None:
    import typer

    from mapgauge.cli.app import app

    def has_it(command: Any) -> bool:
        inner = getattr(command, "commands", {}).values()
        return any("--fail-on" in option.opts for option in command.params) or any(map(has_it, inner))

    commands: Any = typer.main.get_command(app)
    able = {name for name, command in commands.commands.items() if has_it(command)}
    (listed,) = re.findall(r"computed, written and printed\. (.+) have this option", PAGE.read_text(encoding="utf-8"))
    assert set(re.findall(r"`(\w+)`", listed)) == able


@pytest.mark.whole
@pytest.mark.parametrize(("command", "expected"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_example_prints_what_the_page_says(printed: Callable[[str], str], command: str, expected: str) -> None:
    if command.startswith("export "):
        pytest.importorskip("rerun", reason="rerun-sdk is not installed")
    check(printed(command), expected, command)


@pytest.mark.whole
def test_the_page_of_the_keys_names_every_command_that_prints_json() -> None:
    import typer.main

    from mapgauge.cli.app import app

    def named(command: Any, name: str) -> list[str]:
        found = [name] if any("--json" in param.opts for param in command.params) else []
        for inner, one in getattr(command, "commands", {}).items():
            found += named(one, f"{name} {inner}".strip())
        return found

    text = PAGE.with_name("json-output.md").read_text(encoding="utf-8")
    assert [name for name in named(typer.main.get_command(app), "") if f"`{name}`" not in text] == []
