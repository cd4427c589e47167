"""Help, version, completion: what has to be there at once."""

import re
import subprocess
import sys

import pytest
from tests.cli.conftest import Run

import mapgauge as mg
from mapgauge.cli.app import commands_of
from mapgauge.protocols import PROTOCOLS

COMMANDS = list(commands_of(plug_ins=False))


def test_help_names_every_command(call: Run) -> None:
    short = call("--help")
    assert short.returncode == 0
    assert short.stderr == ""
    assert [name for name in COMMANDS if not re.search(rf"\b{name}\b", short.stdout)] == []
    done = call("--help-all")
    assert re.findall(r"^  (\w+) {2,}[A-Z]", done.stdout, re.M) == COMMANDS
    assert "..." not in done.stdout.partition("Evaluate:")[2]  # no short help is cut
    assert re.findall(r"^(\w+):$", done.stdout.partition("Evaluate:")[2], re.M) == ["Look", "Ask", "Data", "More"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(call: Run, command: str) -> None:
    done = call(command, "-h")
    assert done.returncode == 0
    assert done.stdout.startswith(f"Usage: mapgauge {command} ")


def test_help_imports_nothing_slow() -> None:
    code = "import sys, mapgauge.cli.app; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, encoding="utf-8"
    ).stdout.split()
    assert not {"numpy", "msgspec", "numba", "rich", "matplotlib", "pyarrow", "scipy", "shapely"} & set(loaded)


def test_the_version(call: Run) -> None:
    assert call("--version").stdout == f"mapgauge {mg.__version__}\n"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mapgauge co", {"compare", "compile", "confidence", "consistency", "convert"}),
        ("mapgauge evaluate --protocol ", set(PROTOCOLS)),
        ("mapgauge convert --to map", {"maptr", "maptr-truth"}),
        ("mapgauge evaluate --ra", {"--ranges"}),
    ],
)
def test_shells_complete(call: Run, monkeypatch: pytest.MonkeyPatch, words: str, expected: set[str]) -> None:
    monkeypatch.setenv("_MAPGAUGE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert set(call().stdout.split()) == expected


def test_the_list_names_every_metric(call: Run) -> None:
    from mapgauge.metrics.table import METRICS

    table, _, settings = call("list", "metrics").stdout.partition("\n\n")
    assert [line.split()[0] for line in table.splitlines()[1:]] == list(METRICS)
    assert settings.startswith("Settings, for --set NAME=VALUE\n")


@pytest.mark.needs_feature("tracks")
def test_the_list_names_the_settings_of_metrics(call: Run) -> None:
    assert "\ntrack_pld.switch_cost" in call("list", "metrics").stdout
