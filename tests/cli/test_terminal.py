"""On a terminal there are colours and a bar; in a pipe, or where nobody wants them, there are none."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Run, environment

import mapgauge as mg

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

ESCAPE = "\x1b["


class Terminal:
    """A process of ``mapgauge`` at a terminal of its own."""

    def __init__(self, *arguments: object, cwd: Path, columns: int = 100, **variables: str) -> None:
        import fcntl
        import struct
        import termios

        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mapgauge", *map(str, arguments)],
            cwd=cwd,
            env=environment() | {"TERM": "xterm"} | variables,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        self.text = ""

    def read(self) -> bool:
        """Take what is there; False once the process has closed its terminal."""
        try:
            data = os.read(self.ours, 4096)
        except OSError:  # how Linux ends a terminal
            return False
        self.text += data.decode()
        return bool(data)

    def finish(self) -> str:
        while self.read():
            pass
        os.close(self.ours)
        self.process.wait()
        return self.text.replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_a_bar(world: Path) -> None:
    page = world / "page.html"
    options = ["--metrics", "pld", "--report", "page.html", "--tables", "--notes"]
    terminal = Terminal("evaluate", "good.json", "truth.geojson", *options, cwd=world)
    text = terminal.finish()
    assert "All 20 frames can be drawn" in page.read_text(encoding="utf-8")
    page.unlink()
    assert terminal.process.returncode == 0
    assert f"{ESCAPE}1mPLD, lower is better" in text
    assert f"{ESCAPE}36mnote{ESCAPE}0m: " in text
    assert "evaluating good [" in text
    assert "20/20 frames" in text
    assert "writing the report [" in text
    assert text.count("20/20 frames") == 2


def test_a_help_and_an_error_have_colours_in_a_terminal(world: Path) -> None:
    text = Terminal("compare", "--help", cwd=world).finish()
    assert f"{ESCAPE}1mArguments:{ESCAPE}0m" in text
    assert f"  {ESCAPE}36m-q, --quiet{ESCAPE}0m  " in text
    assert ESCAPE not in Terminal("compare", "--help", cwd=world, NO_COLOR="1").finish()
    assert f"{ESCAPE}1;31mmapgauge:{ESCAPE}0m" in Terminal("inspect", "absent.mg", cwd=world).finish()


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_can_be_refused(world: Path, variable: str, value: str) -> None:
    text = Terminal("inspect", "good.mg", cwd=world, columns=100, **{variable: value}).finish()
    assert not re.search(r"\x1b\[[0-9;]*m", text)
    assert "PLD, lower is better" in text


def test_lines_fit_a_narrow_terminal(world: Path) -> None:
    text = Terminal("inspect", "good.mg", cwd=world, columns=50, NO_COLOR="1").finish()
    assert max(len(line) for line in text.splitlines()) <= 50
    assert len(re.findall(r"^ped_crossing ", text, re.M)) > 3  # tables are folded
    assert "unmatched" in text


def test_a_pipe_gets_no_escape_codes(run: Run) -> None:
    done = run("inspect", "good.mg", TERM="xterm", COLUMNS="40")
    assert ESCAPE not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert max(len(line) for line in done.stdout.splitlines()) > 90


def test_a_closed_pipe_is_no_bug(world: Path) -> None:
    command = f"{sys.executable} -m mapgauge inspect good.mg --json | head -c 1"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=world,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    assert done.stdout == "{"
    assert "Traceback" not in done.stderr


def test_ctrl_c_ends_the_work_without_a_trace(world: Path, tmp_path: Path) -> None:
    predictions, truth = mg.read(world / "good.json"), mg.read(world / "truth.geojson")
    many = [i for i in range(len(truth)) for _ in range(30)]
    tokens = tuple(f"t{k}" for k in range(len(many)))
    mg.write(replace(predictions.at(many), tokens=tokens), tmp_path / "many.json", "streammapnet")
    mg.write(replace(truth.at(many), tokens=tokens), tmp_path / "many.pkl", "streammapnet-truth")
    terminal = Terminal(
        *("evaluate", "many.json", "many.pkl", "--set", "spacing=0.05", "--workers", "1", "-o", "results.mg"),
        cwd=tmp_path,
    )
    while "evaluating many" not in terminal.text and terminal.read():
        pass
    terminal.process.send_signal(signal.SIGINT)
    text = terminal.finish()
    assert terminal.process.returncode == 130
    assert "Traceback" not in text
    assert "reading many.json, many.pkl (" in text
    assert re.search(r"interrupted (while|after \d+ of 600 frames).*; nothing was written", text)
    assert not (tmp_path / "results.mg").exists()


def test_an_interrupt_inside_a_constructor_leaves_no_trace() -> None:
    program = """
import os, signal
import mapgauge.cli as cli

class HalfMade:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGINT)
        self.made = True

    def __del__(self):
        self.made

cli._run = lambda received: HalfMade()
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_an_interrupt_inside_compiled_code_leaves_no_trace() -> None:
    """numba reports it as a SystemError."""
    program = """
import os, signal
import mapgauge.cli as cli
import mapgauge.cli.app

def application(named):
    def run(*_, **__):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error
    return run

mapgauge.cli.app.application = application
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "")


def test_an_interrupt_while_numba_makes_the_result_of_a_kernel_waits_for_it() -> None:
    """An exception at this moment would end the process with a segmentation fault."""
    program = """
import os, signal, time
import numpy as np
from numba.core import serialize
import mapgauge.cli as cli
from mapgauge import kernels

unpickled = serialize._numba_unpickle
interrupts = [signal.SIGINT]

def _numba_unpickle(*given):
    for number in interrupts:
        os.kill(os.getpid(), number)
    interrupts.clear()
    return unpickled(*given)

def work(received):
    lines = kernels.lines.index_lines(np.zeros((2, 3)), np.array([0], np.uint64), np.array([3], np.uint64))
    print(type(lines).__name__, flush=True)
    time.sleep(600)

serialize._numba_unpickle = _numba_unpickle
cli._run = work
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr) == (130, "Lines\n", "")
