"""Random command lines: each ends with a documented exit code and a message, and leaves nothing behind.

A failure names the line, and the seed and number to make it again with ``MAPGAUGE_FUZZ_SEED``.
"""

import contextlib
import hashlib
import io
import os
import shlex
import shutil
import signal
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.commands import run_script
from tests.fuzz.command_lines import NEVER, Maker, commands, make_inputs, make_null

resource = pytest.importorskip("resource", reason="needs resource limits")
QUICK = 70  # command lines in `make test`; `make fuzz` asks for more
SECONDS = 120  # a line that takes longer hangs
MEMORY = 6 << 30  # bytes that a line may ask for
SEED = int(os.environ.get("MAPGAUGE_FUZZ_SEED", "15"))


class TookTooLong(BaseException):
    pass


def snapshot(folder: Path) -> dict[str, tuple[str, str]]:
    """The kind and the content of everything in a folder."""
    found = {}
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        what = str(path.readlink()) if stat.S_ISLNK(mode) else ""
        if stat.S_ISREG(mode):
            what = hashlib.blake2b(path.read_bytes()).hexdigest()
        found[str(path.relative_to(folder))] = (stat.filemode(mode), what)
    return found


@contextlib.contextmanager
def limits() -> Iterator[None]:
    """Bound the time and the memory of a command, so that a fault does not stop the machine."""

    def stop(*_: object) -> None:
        raise TookTooLong

    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) if sys.platform == "linux" else 0
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    if pages:
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)


def run_line(line: list[str]) -> tuple[int, str, str]:
    """Run ``mapgauge`` in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    argv, sys.argv = sys.argv, ["mapgauge", *line]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limits():
            try:
                run_script()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else -1
    finally:
        sys.argv = argv
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[return-value]


def faults_of(line: list[str], code: int, out: str, err: str, scratch: Path, run: Path) -> list[str]:
    """What is wrong with the end of a command."""
    found = []
    if code not in ((0, 1, 2, 3) if line[:1] == ["compare"] else (0, 1, 2)):
        crash = "".join(file.read_text(encoding="utf-8") for file in scratch.glob("mapgauge-error-*"))
        found.append(f"exit code {code}: ...{crash[-700:]}")
    if "Traceback" in out + err or "Exception ignored" in err:
        found.append("a traceback")
    if "out of memory" in err:
        found.append("it asked for too much memory")
    if code == 1 and not err.strip().splitlines()[-1].startswith("mapgauge: "):
        found.append("no message")
    if code == 2 and "Error" not in err and "Usage" not in err:
        found.append("no message about the usage")
    kept = [path for path in scratch.iterdir() if f"kept in {path}" not in err and code != 70]
    parts = [path for path in run.rglob("*") if path.name.endswith(".part")]
    if kept or parts:
        found.append(f"left behind: {kept + parts}")
    return found


def prepare(run: Path, scratch: Path, inputs: Path) -> None:
    """Make the folder of a run anew: an old file, a folder, and things that must not be replaced."""
    for folder in (run, scratch):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    (run / "old.mg").write_bytes(b"old")
    (run / "folder").mkdir()
    (run / "link.mg").symlink_to(inputs / "missing" / "new.mg")
    (run / "loop").symlink_to("loop")
    os.mkfifo(run / "pipe")
    make_null(run / "null")


def attack(folder: Path, monkeypatch: pytest.MonkeyPatch, cases: int) -> Counter[tuple[str, int]]:
    """Run random command lines. Return how often each command ended with each exit code."""
    inputs, run, scratch = make_inputs(folder / "inputs"), folder / "run", folder / "scratch"
    maker, ends, failures = Maker(inputs), Counter[tuple[str, int]](), []
    before = snapshot(inputs)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    for name, value in {"MPLBACKEND": "Agg", "TMPDIR": str(scratch), "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    for number in range(cases):
        line = maker.line(np.random.default_rng([SEED, number]))
        prepare(run, scratch, inputs)
        monkeypatch.chdir(run)
        odd = {name: row for name, row in snapshot(run).items() if row[0][0] not in "-d"}
        try:
            code, out, err = run_line(line)
            wrong = faults_of(line, code, out, err, scratch, run)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            code, out, err, wrong = -1, "", "", [f"{type(error).__name__}: {error}"]
        ends[line[0], code] += 1
        if {name: snapshot(run).get(name) for name in odd} != odd:
            wrong.append("a link, a device or a pipe was replaced")
        if snapshot(inputs) != before:
            wrong.append("an input was changed")
            before = snapshot(inputs)
        if wrong:
            failures.append(
                f"seed {SEED}, number {number}: mapgauge {shlex.join(line)[:600]}\n  {wrong}\n  {err[-300:]}"
            )
    assert not failures, f"{len(failures)} of {cases} command lines, {dict(ends)}:\n" + "\n".join(failures[:30])
    return ends


def test_every_command_and_option_can_be_drawn(tmp_path: Path) -> None:
    maker = Maker(make_inputs(tmp_path / "inputs"))
    some = maker.share > 0
    maker.share = some / some.sum()  # slow commands are drawn as often as others, because nothing runs
    rng = np.random.default_rng(0)
    drawn = {word.partition("=")[0] for _ in range(12_000) for word in maker.line(rng)}
    for words, params in commands().items():
        assert drawn.issuperset(words) or words == ("view",)  # which serves until it is interrupted
        for param in () if words == ("view",) else params:
            assert (
                param.param_type_name == "argument" or drawn.intersection(param.opts) or set(param.opts) <= set(NEVER)
            )


def test_random_command_lines_end_as_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = attack(tmp_path, monkeypatch, QUICK)
    assert sum(count for (_, code), count in ends.items() if code == 0) > QUICK // 8
    assert sum(count for (_, code), count in ends.items() if code in (1, 2)) > QUICK // 8


@pytest.mark.fuzz
def test_thousands_of_command_lines_end_as_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = int(os.environ.get("MAPGAUGE_FUZZ_COMMANDS", "5000"))
    ends = attack(tmp_path, monkeypatch, cases)
    with capsys.disabled():
        print(f"\n{cases} command lines, seed {SEED}: {dict(sorted(ends.items()))}")  # noqa: T201
