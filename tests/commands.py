"""The commands that a page of the documentation shows, and what they really print."""

import io
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from mapgauge.cli import main

UNWANTED = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "MPLBACKEND", "DISPLAY")  # set by a terminal or a person


def consoles_of(page: Path) -> list[tuple[str, str]]:
    """The commands on a page, each with what it is said to print."""
    return re.findall(r"^```console\n\$ mapgauge (.+)\n((?:.*\n)*?)```$", page.read_text(encoding="utf-8"), re.M)


def run_script() -> None:
    """Run the command line with the words in ``sys.argv``, as the script ``mapgauge`` does. It ends with SystemExit."""
    main()


def said(command: str, folder: Path) -> str:
    """What a command prints in a folder, messages included; in this process, which is much faster than in its own.

    A command that ends in ``> FILE`` prints into this file.
    """
    *words, sign, file = ["", *shlex.split(command)]
    if sign == ">":
        (folder / file).write_text(said(shlex.join(words[1:]), folder), encoding="utf-8")
        return ""
    with (
        pytest.MonkeyPatch.context() as patch,
        io.StringIO() as heard,
        redirect_stdout(heard),
        redirect_stderr(heard),
    ):
        for name in UNWANTED:
            patch.delenv(name, raising=False)
        patch.chdir(folder)
        patch.setattr("sys.argv", ["mapgauge", *shlex.split(command)])
        with pytest.raises(SystemExit) as ended:
            run_script()
        assert not ended.value.code, heard.getvalue()
        return heard.getvalue()


def check(words: str, expected: str, command: str) -> None:
    """Fail unless a command printed what its page says. A line of three dots stands for any lines."""
    parts = [re.escape(part) for part in expected.split("...\n")]
    assert re.fullmatch("(?:.*\n)*".join(parts), words), f"{command}\n{words}"
