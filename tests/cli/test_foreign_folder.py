"""Commands are started in a folder of somebody else. None of its files runs code, changes a setting, or is loaded."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import environment
from tests.commands import said

import mapgauge as mg

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs programs that are scripts")

# What each command is called with. WORLD stands for the folder of a data set elsewhere.
CALLS = {
    "evaluate": "WORLD/good.json WORLD/truth.geojson -o results.mg --report report.html",
    "compare": "WORLD/good.mg WORLD/poor.mg",
    "frames": "WORLD/good.mg --worst 2",
    "diff": "WORLD/good.mg WORLD/poor.mg --explain",
    "why": "WORLD/good.mg",
    "sweep": "WORLD/good.json WORLD/truth.geojson -c 0.5,1.0 --figure sweep.png",
    "show": "WORLD/good.mg -o frame.svg",
    "plot": "parts WORLD/good.mg -o parts.pdf",
    "report": "WORLD/good.mg -o report.html",
    "view": "WORLD/good.mg --no-browser",
    "export": "WORLD/good.mg -o drive.rrd",
    "paper": "WORLD/good.mg WORLD/poor.mg --samples 10 -o paper",
    "confidence": "WORLD/good.mg --figure confidence.png",
    "errors": "WORLD/good.mg --figure errors.png",
    "suspects": "WORLD/good.mg WORLD/poor.mg",
    "changes": "WORLD/good.mg --prior WORLD/truth.geojson",
    "masks": "WORLD/good.json WORLD/truth.geojson -p maptracker-iou-60x30",
    "track": "WORLD/good.json --poses WORLD/truth.geojson -o tracked.geojson",
    "consistency": "WORLD/good.json --poses WORLD/truth.geojson --figure flicker.png",
    "global": "WORLD/good.json WORLD/truth.geojson --figure map.png",
    "challenge": "init Night --truth WORLD/truth.geojson -o night",
    "verify": "WORLD/good.mg --predictions WORLD/good.json --truth WORLD/truth.geojson",
    "history": "WORLD -o history.html",
    "splits": "WORLD/truth.geojson WORLD/truth.geojson",
    "inspect": "WORLD/good.json WORLD/truth.geojson",
    "convert": "WORLD/good.json good.parquet",
    "list": "published",
    "cite": "WORLD/good.mg",
    "compile": "--metrics pld",
    "doctor": "",
    "demo": "--size 5 -o demo",
    "truth": "map WORLD/truth.geojson --poses WORLD/truth.geojson -o own.geojson",
}
CODES = {
    "masks": 1,  # the predictions have no masks
    "truth": 1,  # the poses do not lie on this map
}
ENGINES = ("processes", "dask")

# Modules that Python, mapgauge, its dependencies or the processes that they start import.
MODULES = [
    "mapgauge",
    "numpy",
    "numba",
    "llvmlite",
    "msgspec",
    "typer",
    "click",
    "yaml",
    "matplotlib",
    "PIL",
    "pyarrow",
    "shapely",
    "pyproj",
    "pyogrio",
    "dask",
    "distributed",
    "fsspec",
    "tornado",
    "highspy",
    "rerun",
    "json",
    "random",
    "struct",
    "socket",
    "multiprocessing",
    "concurrent",
    "subprocess",
    "importlib",
    "encodings",
    "sitecustomize",
    "usercustomize",
    "evil",
]
TRAP = "import pathlib\npathlib.Path({trace!r}).touch()\n"
PROGRAMS = ("latex", "pdflatex", "xelatex", "dvipng", "dvips", "gs", "kpsewhich", "luatex")


def planted(folder: Path, trace: Path, programs: Path) -> None:
    """Make a folder whose files leave a trace if they are used."""
    folder.mkdir()
    for module in MODULES:
        (folder / f"{module}.py").write_text(TRAP.format(trace=str(trace / module)), encoding="utf-8")
    (folder / "evil.pth").write_text(
        f"import pathlib; pathlib.Path({str(trace / 'pth')!r}).touch()\n", encoding="utf-8"
    )
    (folder / ".numba_config.yaml").write_text(
        f"cache_dir: {trace / 'numba-cache'}\n"
        "cache_locator_classes: evil.Locator\n"
        f"dump_html: {trace / 'numba.html'}\n"
        f"chrome_trace: {trace / 'numba.json'}\n"
        "disable_jit: 1\n",
        encoding="utf-8",
    )
    (folder / "matplotlibrc").write_text("text.usetex: True\nbackend: module://evil\n", encoding="utf-8")
    for name in ("dask.yaml", "distributed.yaml"):
        preload = "distributed:\n  scheduler:\n    preload: [evil.py]\n  worker:\n    preload: [evil.py]\n"
        (folder / name).write_text(preload, encoding="utf-8")
    (folder / "proj.db").write_bytes(b"no database")
    programs.mkdir()
    for name in PROGRAMS:
        script = programs / name
        script.write_text(f"#!/bin/sh\ntouch {trace / name}\nexit 1\n", encoding="utf-8")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)


# The commands are called one after the other in one process. A module is imported and a file of settings is read by the
# first that needs it, so a trap is met as often as if each had a process, and Python starts once.
ONE_AFTER_ANOTHER = """
import contextlib, io, json, os, sys
from mapgauge.cli import main

ended = {}
for line in sys.argv[2:]:
    sys.argv[1:] = line.split()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            main()
        except SystemExit as exited:
            code = int(exited.code or 0)
    ended[line] = [code, said.getvalue(), sorted(os.listdir(TRACE))]
print(json.dumps(ended))
"""


def script_in(folder: Path, code: str) -> list[str]:
    """Write a script into a folder, as the installed command ``mapgauge`` is one; return what starts it."""
    folder.mkdir()
    script = folder / "mapgauge"
    script.write_text(code, encoding="utf-8")
    return [sys.executable, str(script)]


@pytest.fixture
def start(tmp_path: Path) -> list[str]:
    """What the installed command ``mapgauge`` is: a script in another folder."""
    return script_in(tmp_path / "bin", "from mapgauge.cli import main\nif __name__ == '__main__':\n    main()\n")


class Folder:
    """A hostile folder, and where its files leave traces."""

    def __init__(self, place: Path) -> None:
        self.path = place / "download"
        self.trace = place / "trace"
        self.trace.mkdir()
        planted(self.path, self.trace, place / "programs")
        self.variables = environment() | {"PATH": f"{place / 'programs'}{os.pathsep}{os.environ['PATH']}"}

    def start(self, command: list[str]) -> "subprocess.Popen[str]":
        """Start a process in the folder."""
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def traces(self) -> list[str]:
        return sorted(path.name for path in self.trace.iterdir())


def filled(command: str, world: Path) -> str:
    """A command with its words, for the files of a data set."""
    return f"{command} {CALLS[command]}".replace("WORLD", str(world))


@pytest.fixture(scope="module")
def ended(world: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, list[str]]]:
    """The exit code of each command, what it said, and the traces after it. ``view`` does not end by itself."""
    place = tmp_path_factory.mktemp("foreign")
    folder = Folder(place)
    start = script_in(place / "bin", ONE_AFTER_ANOTHER.replace("TRACE", repr(str(folder.trace))))
    lines = {filled(command, world): command for command in CALLS if command != "view"}
    with folder.start([*start, "", *lines]) as process:
        printed, said = process.communicate()
    assert process.returncode == 0, said
    return {lines[line]: tuple(found) for line, found in json.loads(printed).items()}


@pytest.mark.whole
def test_every_command_is_tried(tmp_path: Path) -> None:
    assert set(CALLS) == set(re.findall(r"^  (\w+) {2,}[A-Z]", said("--help-all", tmp_path), re.M))


@pytest.mark.whole
@pytest.mark.parametrize("command", [command for command in CALLS if command != "view"])
def test_files_of_the_folder_are_not_used(command: str, ended: dict[str, tuple[int, str, list[str]]]) -> None:
    if command == "export":
        pytest.importorskip("rerun", reason="rerun-sdk is not installed")
    code, said, traces = ended[command]
    assert traces == []
    assert code == CODES.get(command, 0), said


@pytest.mark.whole
def test_the_view_does_not_use_them_either(start: list[str], world: Path, tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    with folder.start([*start, *filled("view", world).split()]) as process:
        assert process.stdout is not None
        process.stdout.readline()  # the server answers
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert folder.traces() == []
    assert process.returncode == 130, said


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_do_not_use_them_either(engine: str, start: list[str], world: Path, tmp_path: Path) -> None:
    for name in ("good.json", "truth.geojson"):
        mg.write(mg.read(world / name), tmp_path / Path(name).with_suffix(".parquet"))
    folder = Folder(tmp_path)
    inputs = [str(tmp_path / "good.parquet"), str(tmp_path / "truth.parquet")]
    with folder.start([*start, "evaluate", *inputs, "--engine", engine, "--workers", "1"]) as process:
        _, said = process.communicate()
    assert folder.traces() == []
    assert process.returncode == 0, said


@pytest.mark.parametrize("content", ["{not yaml", "opt: 9\nnum_threads: 0\n"])
def test_a_damaged_file_of_numba_is_not_read(content: str, tmp_path: Path) -> None:
    """Numba reads it when it is imported, and kernels import it."""
    (tmp_path / ".numba_config.yaml").write_text(content, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from mapgauge.kernels import lines; print(lines.__name__)"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "mapgauge.kernels.lines\n", "")


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("NUMBA_NUM_THREADS", "0", "numba cannot be imported with NUMBA_NUM_THREADS=0: Number of threads specified"),
        ("NUMBA_DISABLE_JIT", "1", "NUMBA_DISABLE_JIT is set, and mapgauge must compile its kernels. Unset it"),
    ],
)
def test_settings_of_the_environment_that_cannot_work_are_named(
    variable: str, value: str, said: str, start: list[str], tmp_path: Path
) -> None:
    variables = {name: text for name, text in environment().items() if not name.startswith("NUMBA_")}
    done = subprocess.run(
        [*start, "compile"],
        cwd=tmp_path,
        env=variables | {variable: value},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"mapgauge: {said}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("variables", "rc", "why"),
    [
        ({"MPLBACKEND": "nonsense"}, b"", "Key backend: 'nonsense'"),
        ({}, b"\xff", "'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_settings_that_matplotlib_cannot_read_are_named(
    variables: dict[str, str], rc: bytes, why: str, start: list[str], world: Path, tmp_path: Path
) -> None:
    (tmp_path / "matplotlibrc").write_bytes(rc)
    command = ["plot", "parts", str(world / "good.mg"), "-o", "parts.svg"]
    done = subprocess.run(
        [*start, *command],
        cwd=tmp_path,
        env=environment() | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 1
    assert f"mapgauge: drawing figures needs matplotlib, which cannot be imported: {why}" in done.stderr
    assert "Look at MPLBACKEND in the environment, and at the file matplotlibrc in the current folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_module_that_is_run_uses_no_packages_of_the_folder(world: Path, tmp_path: Path) -> None:
    """``python -m mapgauge`` finds the package itself in the current folder first. Nothing can be done about that."""
    trace = tmp_path / "trace"
    trace.mkdir()
    for module in ("numpy", "numba", "msgspec", "typer", "yaml", "llvmlite", "csv", "http"):
        (tmp_path / f"{module}.py").write_text(TRAP.format(trace=str(trace / module)), encoding="utf-8")
    command = ["-m", "mapgauge", "evaluate", str(world / "good.json"), str(world / "truth.geojson")]
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, env=environment(), capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert list(trace.iterdir()) == []
