"""Closed and full streams, no memory, and faults of mapgauge itself: one line, an exit code, and no traceback."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import Run, ended, environment

import mapgauge as mg
from mapgauge.dependencies import require

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")


def shell(world: Path, command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command line in bash, where ``mapgauge`` stands for this package."""
    text = f'mapgauge() {{ "{sys.executable}" -m mapgauge "$@"; }}; {command}'
    done = ended(["bash", "-c", text], world)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


@POSIX
@pytest.mark.parametrize("command", ["--help", "evaluate good.json truth.geojson", "compare good.mg --csv"])
def test_a_reader_that_ends_early_is_no_error(world: Path, command: str) -> None:
    done = shell(world, f"mapgauge {command} | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode in (0, 1)
    assert done.stderr == ""


@FULL
@pytest.mark.parametrize("command", ["--help", "evaluate good.json truth.geojson", "inspect good.mg --json"])
def test_a_full_disk_behind_stdout_is_an_error(world: Path, command: str) -> None:
    done = shell(world, f"mapgauge {command} > /dev/full")
    assert done.returncode == 1
    assert done.stderr == "mapgauge: stdout: cannot be written: No space left on device\n"


@FULL
def test_a_report_is_written_if_the_tables_cannot_be_printed(world: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = shell(world, f"mapgauge evaluate good.json truth.geojson --json --report {page} > /dev/full")
    full = "mapgauge: stdout: cannot be written: No space left on device"
    assert (done.returncode, done.stderr.splitlines()) == (1, [full, f"mapgauge: report in {page}"])
    assert page.read_text(encoding="utf-8").endswith("</html>\n")


@POSIX
@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_do_not_matter(world: Path, tmp_path: Path, streams: str) -> None:
    file = tmp_path / "copy.geojson"
    command = f"mapgauge convert truth.geojson {file} {streams}"
    done = shell(world, f"export PYTHONWARNINGS=error; {command}")  # also no warning of a file that is left open
    assert done.returncode == 0
    assert mg.read(file).tokens == mg.read(world / "truth.geojson").tokens


@FULL
def test_a_full_stderr_leaves_the_exit_code(world: Path) -> None:
    assert shell(world, "mapgauge inspect nothing.json 2> /dev/full").returncode == 1


def test_no_memory_is_explained(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def starve(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("mapgauge.io.read", starve)
    for command in ("evaluate good.json truth.geojson", "inspect good.json", "sweep good.json truth.geojson"):
        done = call(*command.split())
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("mapgauge: out of memory. Use fewer workers")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "error",
    [
        ImportError("libllvmlite.so: failed to map segment from shared object", name="numba"),
        OSError(12, "Cannot allocate memory"),
        RuntimeError("a library"),
    ],
)
def test_a_library_without_memory_is_explained(call: Run, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def starve(*_: object, **__: object) -> None:
        if isinstance(error, RuntimeError):
            raise error from MemoryError()
        raise error

    monkeypatch.setattr("mapgauge.io.read", starve)
    done = call("inspect", "good.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("mapgauge: out of memory. Use fewer workers")


def test_a_package_without_memory_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def starve(name: str) -> None:
        raise ImportError(f"{name}: failed to map segment from shared object")

    monkeypatch.setattr("mapgauge.dependencies.import_module", starve)
    with pytest.raises(MemoryError, match="pyarrow cannot be loaded"):
        require("pyarrow", "Parquet", "parquet")


def test_a_thread_that_cannot_start_is_explained(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def starve(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("mapgauge.io.read", starve)
    done = call("inspect", "good.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "mapgauge: can't start new thread: out of memory, or too many processes of this user. Use fewer workers\n"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits address space")
@pytest.mark.parametrize("kilobytes", [150_000, 250_000, 350_000])
def test_too_little_memory_is_no_bug(world: Path, kilobytes: int) -> None:
    limit = f"ulimit -v {kilobytes}; export OPENBLAS_NUM_THREADS=1"
    done = shell(world, f"{limit}; mapgauge evaluate good.json truth.geojson --metrics pld")
    assert done.returncode != 70, done.stderr
    assert "bug" not in done.stderr


@POSIX
def test_a_deleted_folder_is_named(world: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"evaluate {world}/good.json {world}/truth.geojson --metrics pld -o results.mg"
    done = shell(gone, f'rmdir "{gone}"; "{sys.executable}" -P -m mapgauge {command}')
    assert done.returncode == 1
    assert done.stderr == (
        "mapgauge: the current folder does not exist any more. Change to another one, and run the command again\n"
    )


@POSIX
def test_many_interrupts_leave_neither_a_traceback_nor_files(world: Path, tmp_path: Path) -> None:
    """The last of them meet Python while it waits for threads."""
    command = ["convert", *[str(world / f"{name}.json") for name in ("good", "poor") * 4], str(tmp_path / "out/")]
    command[-1] += "/"
    with subprocess.Popen(
        [sys.executable, "-m", "mapgauge", *command, "--workers", "2"],
        cwd=world,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        while not any(tmp_path.glob("out/*/*")) and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.02)  # until the command waits for its workers
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.002)
        _, said = process.communicate()
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_fault_of_mapgauge_is_written_to_a_file(call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a \ud800\nfault")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("mapgauge.io.read", wrong)
    done = call("inspect", "good.json")
    assert (done.returncode, done.stdout) == (70, "")
    told = re.fullmatch(
        r"mapgauge: unexpected error: ZeroDivisionError: a \? fault\. This is a bug in mapgauge\. "
        r"To report it, keep (.+)\n",
        done.stderr,
    )
    assert told is not None, done.stderr
    text = Path(told[1]).read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "'inspect', 'good.json'" in text
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    done = call("inspect", "good.json")
    assert done.returncode == 70
    assert "To report it, keep the command and its input" in done.stderr


def test_an_error_of_the_system_is_one_line(call: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "secret.json")

    monkeypatch.setattr("mapgauge.io.read", denied)
    done = call("inspect", "good.json")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "mapgauge: secret.json: Permission denied\n")


@POSIX
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])  # Windows lacks the second
def test_a_signal_while_a_file_is_written_leaves_the_old_file_alone(
    call: Run, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    number = signal.Signals[name]
    (tmp_path / "results.mg").write_bytes(b"old")
    monkeypatch.setattr("os.fsync", lambda _: os.kill(os.getpid(), number))
    line = ("evaluate", world / "good.json", world / "truth.geojson", "--metrics", "pld", "-o", "results.mg", "--json")
    assert call(*line, cwd=tmp_path).returncode == 128 + number
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("results.mg", b"old")]
    assert signal.getsignal(number) is signal.SIG_DFL


# numba would crash later, if a signal ended the loading of a kernel.
INTERRUPTED = """
import os, signal, sys
from numba.core.caching import CompileResultCacheImpl

rebuild = CompileResultCacheImpl.rebuild

def interrupted(self, *given):
    CompileResultCacheImpl.rebuild = rebuild
    os.kill(os.getpid(), signal.SIGINT)
    loaded = rebuild(self, *given)
    os.write(1, b"loaded")
    return loaded

CompileResultCacheImpl.rebuild = interrupted
from mapgauge.cli import main
main()
"""


@POSIX
def test_a_signal_waits_until_a_kernel_is_loaded(world: Path) -> None:
    mg.read(world / "truth.geojson")  # compiles the kernel
    done = ended([sys.executable, "-c", INTERRUPTED, "inspect", "truth.geojson"], world)
    assert done.stdout.startswith("loaded")
    assert done.returncode in (0, 130, -signal.SIGINT)  # 0 if the command ends before the signal comes again
    assert "Traceback" not in done.stderr
