"""Every exit code in the table of the command line is that of a real process. More commands are tried in this one."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Run, environment

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
TABLE = PAGE.read_text("utf-8").partition("## Exit codes")[2].partition("\n\n|")[2].partition("\n\n")[0]
EVALUATE = ("evaluate", "good.json", "truth.geojson")
TURNED = ("evaluate", "good.json,rotate=90", "truth.geojson")
COMMANDS: dict[int, list[tuple[str, ...]]] = {
    0: [("--version",), EVALUATE, ("compare", "good.mg", "poor.mg"), (*TURNED, "-q"), ("--help",)],
    1: [
        ("evaluate", "none.json", "truth.geojson"),
        (*EVALUATE, "-o", "truth.geojson/x.mg"),
        (*TURNED, "-q", "--fail-on", "error"),
        ("verify", "good.mg", "--predictions", "poor.json", "--truth", "truth.geojson"),
        ("challenge", "check", "truth.geojson", "--manifest", "none.json"),
    ],
    2: [(), ("evaluat",), ("evaluate", "--cutof", "1", "none.json", "none.json"), (*EVALUATE, "--json", "--csv")],
    3: [("compare", "good.mg", "poor.mg", "--fail-if", "pld > 0.01")],
}
OF_FEATURES = {"verify": "provenance", "challenge": "challenge"}  # commands that are not of the core
SIGNALS = {130: "SIGINT", 143: "SIGTERM", 129: "SIGHUP"}
UNEXPECTED = 70  # test_last_defence.py makes a fault


def test_the_table_has_all_codes() -> None:
    codes = [int(code) for cell in re.findall(r"^\| ([\d, ]+) \|", TABLE, re.M) for code in cell.split(", ")]
    assert codes == [*COMMANDS, UNEXPECTED, *SIGNALS]
    row = next(line for line in TABLE.splitlines() if line.startswith("| 130"))
    assert re.findall(r"Ctrl-C|SIG\w+", row) == ["Ctrl-C", "SIGTERM", "SIGHUP"]


def needed_by(command: tuple[str, ...]) -> list[pytest.MarkDecorator]:
    return [pytest.mark.needs_feature(OF_FEATURES[word]) for word in command[:1] if word in OF_FEATURES]


@pytest.mark.parametrize(
    ("code", "command"),
    [
        pytest.param(code, command, marks=needed_by(command))
        for code, commands in COMMANDS.items()
        for command in commands
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_a_command_ends_with_its_code(call: Run, code: int, command: tuple[str, ...]) -> None:
    done = call(*command)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("code", "command"), [(code, commands[0]) for code, commands in COMMANDS.items()])
def test_a_process_ends_with_the_code_of_its_command_and_says_the_same(
    run: Run, call: Run, code: int, command: tuple[str, ...]
) -> None:
    done, here = run(*command), call(*command)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert (done.stdout, done.stderr) == (here.stdout, here.stderr)


@pytest.mark.skipif(sys.platform == "win32", reason="a process of Windows cannot send these signals")
@pytest.mark.parametrize("code", SIGNALS)
def test_a_command_that_waits_for_its_input_ends_with_the_code_of_the_signal(
    world: Path, tmp_path: Path, code: int
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "mapgauge", "evaluate", "-,format=geojson", world / "truth.geojson", "-o", "x.mg"],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin
        assert process.stderr
        # More than a pipe holds, so the command is reading when all is written.
        process.stdin.write(b'{"type": "FeatureCollection", "features": [' + b" " * 1_000_000)
        process.stdin.flush()
        process.send_signal(getattr(signal, SIGNALS[code]))
        # A signal between two reads is seen after the second one, which would wait for ever.
        process.stdin.close()
        said = process.stderr.read()
        assert process.wait(60) == code, said
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []
