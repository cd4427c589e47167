"""On a terminal there are colours and a bar; in a pipe, or where nobody wants them, there are none."""

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Run, ended, environment

import mapgauge as mg
from mapgauge.scoring.data import STOPPED, in_threads

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

ESCAPE = "\x1b["


# What the installed command runs. `python -m` ends by SIGINT where the interrupt meets code that is made from text.
START = "from mapgauge.cli import main; main()"


class Terminal:
    """A process of ``mapgauge`` at a terminal of its own."""

    def __init__(self, *arguments: object, cwd: Path, columns: int = 100, **variables: str) -> None:
        import fcntl
        import struct
        import termios

        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *map(str, arguments)],
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
    # A digest is one word, which can be copied.
    assert max(len(line) for line in text.splitlines() if " " in line.strip()) <= 50
    assert len(re.findall(r"^ped_crossing ", text, re.M)) > 3  # tables are folded
    assert "unmatched" in text


def test_a_pipe_gets_no_escape_codes(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    done = call("inspect", "good.mg")
    assert ESCAPE not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert max(len(line) for line in done.stdout.splitlines()) > 90


def test_a_closed_pipe_is_no_bug(world: Path) -> None:
    command = f"{sys.executable} -m mapgauge inspect good.mg --json | head -c 1"
    done = ended(["sh", "-c", command], world)
    assert done.returncode == 0
    assert done.stdout == "{"
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def many(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data set of 600 frames, which takes seconds, and its results."""
    folder = tmp_path_factory.mktemp("many")
    predictions, truth = mg.read(world / "good.json"), mg.read(world / "truth.geojson")
    frames = [i for i in range(len(truth)) for _ in range(30)]
    tokens = tuple(f"t{k}" for k in range(len(frames)))
    mg.write(replace(predictions.at(frames), tokens=tokens), folder / "many.json", "streammapnet")
    mg.write(replace(truth.at(frames), tokens=tokens), folder / "many.pkl", "streammapnet-truth")
    return folder


SLOW = ["many.json", "many.pkl"]
FINE = ["--set", "spacing=0.05"]


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", *SLOW, *FINE, "--workers", "2", "-o", "new.mg"],
        ["evaluate", *SLOW, *FINE, "--workers", "1"],
        ["sweep", *SLOW, "--vary", "spacing=0.02,0.03", "--workers", "2"],
        ["report", *SLOW, "-o", "new.html"],
    ],
)
def test_ctrl_c_ends_the_work_and_says_how_far_it_was(many: Path, words: list[str]) -> None:
    terminal = Terminal(*words, cwd=many, columns=160)
    while "evaluating many" not in terminal.text and terminal.read():
        pass
    terminal.process.send_signal(signal.SIGINT)
    text = terminal.finish()
    assert terminal.process.returncode == 130, text
    assert "Traceback" not in text
    assert "reading many.json, many.pkl (" in text  # before all imports
    assert re.search(r"mapgauge: interrupted (while \S.*|after \d+ of [\d,]+ frames); nothing was written\n$", text)
    assert not list(many.glob("new*"))


def test_after_an_interrupt_threads_begin_no_further_task() -> None:
    begun = []

    def work(task: int) -> int:
        begun.append(task)
        STOPPED.set()
        return task

    try:
        with pytest.raises(KeyboardInterrupt):
            in_threads(work, range(1000), workers=2)
    finally:
        STOPPED.clear()
    assert len(begun) < 1000
    assert in_threads(abs, [-1, -2], workers=2) == [1, 2]


def test_the_line_about_reading_is_gone_before_the_text(many: Path) -> None:
    for words in (["inspect", "many.json"], ["inspect", "many.json", "--json"]):
        text = Terminal(*words, cwd=many, NO_COLOR="1").finish()
        assert re.search(r"reading many\.json \(\d+ MB\) \.\.\.\r\x1b\[K", text)
        lines = [line.rpartition("\r\x1b[K")[2] for line in text.split("\n")]
        assert not [line for line in lines if "reading" in line]


def test_a_terminal_shows_the_text_of_a_pipe(world: Path, call: Run) -> None:
    words = ["evaluate", "good.json", "poor.json", "truth.geojson", "--ranges", "0,10,20", "--notes"]
    text = Terminal(*words, cwd=world, columns=80, NO_COLOR="1").finish()
    lines = [line.rpartition("\r\x1b[K")[2] for line in text.split("\n")]
    assert [line for line in lines if line] == [line for line in call(*words).stdout.splitlines() if line]


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


def test_a_thread_that_an_interrupt_stops_leaves_no_trace() -> None:
    """The view computes its panels in threads, which end after the command."""
    program = """
import os, signal, threading, time
import mapgauge.cli as cli

def work(received):
    def compute():
        while not received:
            time.sleep(0.01)
        time.sleep(0.2)
        raise KeyboardInterrupt

    threading.Thread(target=compute).start()
    os.kill(os.getpid(), signal.SIGINT)

cli._run = work
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
