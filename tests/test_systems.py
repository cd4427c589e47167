"""What mapgauge does on macOS and Windows, as far as Linux can tell: the branches for other systems are taken here.

Nobody has run mapgauge on these systems (``docs/stability.md``). Other tests of this kind: folders of kernels in
``tests/kernels/test_folder.py``, hostile files in ``tests/features/challenge/test_challenge.py`` and
``tests/io/test_hostile_maps.py``, the encoding of text in ``tests/test_encoding.py``.
"""

import ast
import errno
import io
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import mapgauge as mg
from mapgauge import cli
from mapgauge.cli import output, targets
from mapgauge.evaluation import engines
from mapgauge.io import gdal_process
from mapgauge.io.files import writing
from mapgauge.kernels import _folder

ROOT = Path(__file__).parents[1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Pipe(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="cp1252", newline="")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(("terminal", "escapes"), [(None, False), ("dumb", False), ("xterm-256color", True)])
def test_the_console_of_windows_gets_no_escape_sequences(
    monkeypatch: pytest.MonkeyPatch, terminal: str | None, escapes: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("TERM", raising=False)
    if terminal is not None:
        monkeypatch.setenv("TERM", terminal)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert ("\x1b" in output.paint("worse", "error", Terminal())) == escapes
    assert output.can_rewrite() == escapes


def test_other_terminals_obey_escape_sequences_unless_they_are_dumb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TERM", raising=False)
    assert output.obeys_escapes(Terminal())
    assert not output.obeys_escapes(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not output.obeys_escapes(Terminal())


@pytest.mark.usefixtures("windows")
def test_pipes_and_files_get_utf_8_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    pipe = Pipe()
    monkeypatch.setattr(sys, "stdout", pipe)
    cli._open_streams()
    pipe.write("Fréchet → 1")
    pipe.flush()
    assert pipe.buffer.getvalue() == "Fréchet → 1".encode()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("windows")
def test_an_encoding_that_the_user_has_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    pipe = Pipe()
    monkeypatch.setattr(sys, "stdout", pipe)
    cli._open_streams()
    assert pipe.encoding == "cp1252"


def test_a_pool_has_no_more_processes_than_windows_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Executor:
        def __init__(self, workers: int, **_: Any) -> None:
            asked.append(workers)

        def shutdown(self, **_: Any) -> None: ...

    monkeypatch.setattr("concurrent.futures.ProcessPoolExecutor", Executor)
    for system in ("linux", "win32"):
        monkeypatch.setattr(sys, "platform", system)
        with engines._processes(96) as pool:
            assert pool.width() == asked[-1]
    assert asked == [96, 61]


def test_names_of_methods_become_names_of_files_that_windows_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert targets._stems(["a/b", "c:d?"]) == ["a-b", "c:d?"]
    monkeypatch.setattr(sys, "platform", "win32")
    assert targets._stems(["a/b", "c:d?"]) == ["a-b", "c-d-"]
    with pytest.raises(typer.BadParameter):
        targets._stems(["c:d", "c?d"])


@pytest.mark.parametrize("name", ["nul", "CON", "Com1", "aux.v2"])
def test_no_file_gets_the_name_of_a_device_of_windows(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert targets._stems([name, "console"]) == [name, "console"]
    monkeypatch.setattr(sys, "platform", "win32")
    assert targets._stems([name, "console"]) == [f"{name}-", "console"]


@pytest.mark.parametrize(("system", "said"), [("win32", ""), ("linux", "mapgauge: Invalid argument\n")])
def test_nothing_is_said_if_the_reader_of_a_pipe_ends_on_windows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], system: str, said: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(cli, "_drop_output", lambda: None)
    cli.fail_with(OSError(errno.EINVAL, "Invalid argument"))
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_names_of_files_are_compared_without_their_case(monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    assert targets._stems(["A", "a"]) == ["A", "a"]
    monkeypatch.setattr(sys, "platform", system)
    with pytest.raises(typer.BadParameter):
        targets._stems(["A", "a"])


def test_gdal_runs_where_the_system_has_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    gdal_process._limit_resources(1)  # it does nothing


def test_signals_that_a_system_does_not_have_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(signal, "SIGHUP")
    monkeypatch.delattr(signal, "pthread_kill")
    with cli._signals() as received:
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert received == []


def test_a_file_is_written_where_folders_cannot_be_opened_and_disks_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> int:
        raise PermissionError

    target = tmp_path / "truth.geojson"
    truth = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})
    mg.write(truth, target)
    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.delattr(os, "statvfs")
    writing._sync_folder(tmp_path)
    assert not writing.is_read_only(tmp_path)
    mg.write(truth, target)
    monkeypatch.undo()
    assert mg.read(target).tokens == ("a",)


@pytest.mark.parametrize(
    ("system", "name", "folder"),
    [("darwin", "posix", "Library/Caches"), ("win32", "nt", "AppData/Local"), ("linux", "posix", ".cache")],
)
def test_kernels_lie_where_the_system_keeps_what_can_be_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str, name: str, folder: str
) -> None:
    home = Path.home()
    for variable in (_folder.VARIABLE, "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", system)
    # Path looks at os.name when it is called, so the module gets another os.
    monkeypatch.setattr(_folder, "os", type("System", (), {"name": name, "environ": os.environ}))
    assert _folder._user_cache() == home / folder
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert (_folder._user_cache() == tmp_path) == (name == "nt")


def test_processors_are_counted_where_a_process_cannot_be_bound_to_some(monkeypatch: pytest.MonkeyPatch) -> None:
    from mapgauge.kernels import compiling

    monkeypatch.delenv(compiling.SWITCH, raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert compiling.compilers() == 3


POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}
NAMED = re.compile(rf"\b({'|'.join(sorted(POSIX_MODULES))}|signal)\b")
EVERYWHERE = {"SIGINT", "SIGTERM", "SIG_DFL", "SIG_IGN", "Signals"}  # of the module ``signal``
FOLDERS = ("src", "tests", "benchmarks")
SOAK = {"tests/fuzz/forks.py", "tests/fuzz/soak.py"}  # a program that a test starts, but not on Windows


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: decorators and defaults of functions, but not their bodies."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in (*child.decorator_list, child.args):
                yield from ast.walk(part)
        elif not isinstance(child, ast.Lambda | ast.If):  # a branch asks for the system
            yield child
            yield from outside_functions(child)


def test_tests_and_what_they_import_can_be_imported_on_windows() -> None:
    """One module that cannot would stop all tests there."""
    found = []
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        is_program = path.name.startswith("bench_") or path.name == "jobs.py"
        name = path.relative_to(ROOT).as_posix()
        if name in SOAK or is_program or 'importorskip("resource"' in text or not NAMED.search(text):
            continue
        for node in outside_functions(ast.parse(text)):
            names: set[str] = set()
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names} & POSIX_MODULES
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "signal":
                names = {node.attr} - EVERYWHERE
            found += [f"{name}: {used}" for used in names if used.startswith("SIG") or used in POSIX_MODULES]
    assert found == []
