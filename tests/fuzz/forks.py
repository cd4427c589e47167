"""Runs ``mapgauge`` in forked processes that have everything imported, with faults: some hundred commands a minute."""

import atexit
import contextlib
import errno
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mapgauge.cli import main

PROC = Path("/proc")
PATIENCE = 30  # seconds until the processes of a command that has ended must be gone
LONGEST = 120  # seconds; a command that takes longer hangs


@dataclass
class Fault:
    """What goes wrong in a command."""

    kind: str = "none"
    number: int = 0  # a signal, an error number, or a size in bytes
    call: int = 0  # the call that fails
    after: float = 0.0  # seconds

    def __str__(self) -> str:
        return f"{self.kind} {self.number} {self.call} {self.after:.3f}"


@dataclass
class Command:
    """A command that was started."""

    line: list[str]
    process: int
    streams: Path
    began: float = field(default_factory=time.monotonic)
    code: int | None = None  # negative for a signal
    seconds: float = 0.0

    @property
    def err(self) -> str:
        return (self.streams / "err").read_text(encoding="utf-8", errors="replace")

    def poll(self) -> bool:
        """Whether the command has ended."""
        if self.code is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
                self.seconds = time.monotonic() - self.began
        return self.code is not None

    def wait(self) -> int:
        """Return the exit code. A command that hangs is killed, and its exit code is -1."""
        while not self.poll():
            if time.monotonic() - self.began > LONGEST:
                os.killpg(self.process, signal.SIGKILL)
                os.waitpid(self.process, 0)
                self.code = -1
                break
            time.sleep(0.002)
        assert self.code is not None
        return self.code

    def send(self, number: int) -> None:
        """Send a signal if the command still runs."""
        if not self.poll():
            os.kill(self.process, number)

    def others(self) -> list[int]:
        """Processes that the command has started and that still run."""
        return [process for process in session(self.process) if process != self.process]

    def gone(self) -> bool:
        """Wait until the processes of the command are gone. Kill those that stay."""
        end = time.monotonic() + PATIENCE
        while self.others() and time.monotonic() < end:
            time.sleep(0.01)
        left = self.others()
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not left


def session(leader: int) -> list[int]:
    """The processes of a session, without those that have ended."""
    found = []
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                if int(state[3]) == leader and state[0] != "Z":
                    found.append(int(entry.name))
    return found


def start(line: list[str], folder: Path, scratch: Path, streams: Path, fault: Fault) -> Command:
    """Fork a process that runs ``mapgauge`` in a folder, in a session of its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    streams.mkdir(exist_ok=True)
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        os.read(reading, 1)  # until the command begins; earlier signals would not meet mapgauge
        os.close(reading)
        return Command(line, process, streams)
    code: Any = 99  # if all goes wrong
    try:
        os.setsid()
        os.chdir(folder)
        for number, name in ((0, os.devnull), (1, streams / "out"), (2, streams / "err")):
            opened = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, number)
            os.close(opened)
        os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
        _inject(fault)
        sys.argv = ["mapgauge", *line]
        os.close(reading)
        os.write(writing, b"!")
        os.close(writing)
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):  # what Python does at exit
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _inject(fault: Fault) -> None:
    """Let a call of the system fail in this process: the call of a given number, or every write beyond a size."""
    if fault.kind == "size":
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.number, resource.RLIM_INFINITY))
    elif fault.kind in ("fsync", "replace", "mkdir", "open"):
        original = getattr(os, fault.kind)
        setattr(os, fault.kind, _failing(original, fault))


def _failing(original: Callable[..., Any], fault: Fault) -> Callable[..., Any]:
    calls = 0

    def call(*arguments: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == fault.call:
            raise OSError(fault.number, os.strerror(fault.number))
        return original(*arguments, **keywords)

    return call


ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EACCES)


def in_child(check: Callable[[], str]) -> str:
    """Run a function in a forked process and return its text. Its threads and memory do not stay."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        try:
            text = check()
        except BaseException as error:
            text = f"error: {type(error).__name__}: {error}"
        with os.fdopen(writing, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as stream:
        text = stream.read()
    os.waitpid(process, 0)
    return text


def files_in(*folders: Path) -> Iterator[Path]:
    """Everything in some folders that is no folder, also hidden files."""
    for folder in folders:
        for where, _, names in os.walk(folder):
            yield from (Path(where) / name for name in names)
