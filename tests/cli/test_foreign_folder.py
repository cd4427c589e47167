"""Commands are started in a folder of somebody else. None of its files runs code, changes a setting, or is loaded."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import environment

import mapgauge as mg
from mapgauge.cli.app import commands_of

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
    "view": 130,  # it is interrupted
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


@pytest.fixture
def start(tmp_path: Path) -> list[str]:
    """What the installed command ``mapgauge`` is: a script in another folder."""
    script = tmp_path / "bin" / "mapgauge"
    script.parent.mkdir()
    script.write_text("from mapgauge.cli import main\nif __name__ == '__main__':\n    main()\n", encoding="utf-8")
    return [sys.executable, str(script)]


def outcome(start: list[str], world: Path, tmp_path: Path, command: str) -> tuple[int, str, list[str]]:
    """Run a command in a hostile folder; return the exit code, what it said, and the traces."""
    folder, trace, programs = tmp_path / "download", tmp_path / "trace", tmp_path / "programs"
    trace.mkdir()
    planted(folder, trace, programs)
    variables = environment() | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    words = [word.replace("WORLD", str(world)) for word in command.split()]
    with subprocess.Popen(
        [*start, *words],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=-1,
        stderr=-1,
        text=True,
        encoding="utf-8",
    ) as process:
        if words[0] == "view":
            assert process.stdout is not None
            process.stdout.readline()  # the server answers
            process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    return process.returncode, said, sorted(path.name for path in trace.iterdir())


@pytest.mark.whole
def test_every_command_is_tried() -> None:
    assert set(CALLS) == set(commands_of(plug_ins=False))


@pytest.mark.whole
@pytest.mark.parametrize("command", CALLS)
def test_files_of_the_folder_are_not_used(command: str, start: list[str], world: Path, tmp_path: Path) -> None:
    if command == "export":
        pytest.importorskip("rerun", reason="rerun-sdk is not installed")
    code, said, traces = outcome(start, world, tmp_path, f"{command} {CALLS[command]}")
    assert traces == []
    assert code == CODES.get(command, 0), said


@pytest.mark.parametrize("engine", ENGINES)
def test_workers_do_not_use_them_either(engine: str, start: list[str], world: Path, tmp_path: Path) -> None:
    for name in ("good.json", "truth.geojson"):
        mg.write(mg.read(world / name), tmp_path / Path(name).with_suffix(".parquet"))
    command = f"evaluate WORLD/good.parquet WORLD/truth.parquet --engine {engine} --workers 1"
    code, said, traces = outcome(start, tmp_path, tmp_path, command)
    assert traces == []
    assert code == 0, said


@pytest.mark.parametrize("content", ["- a\n- list\n", "{not yaml", "\x00", "opt: 9\nnum_threads: 0\n"])
def test_a_damaged_file_of_numba_is_not_read(content: str, start: list[str], world: Path, tmp_path: Path) -> None:
    (tmp_path / ".numba_config.yaml").write_text(content, encoding="utf-8")
    done = subprocess.run(
        [*start, "evaluate", str(world / "good.json"), str(world / "truth.geojson")],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stderr) == (0, "")


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
