"""Kernels that are compiled before they are called: by the command and by processes of their own."""

import inspect
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numba
import pytest
from typer.testing import CliRunner

from mapgauge import manifest
from mapgauge.cli import compiling as shown_by
from mapgauge.cli.app import app
from mapgauge.cli.output import settle
from mapgauge.kernels import _jit, compiling
from mapgauge.kernels._stored import in_words, type_from
from mapgauge.kernels.compiling import kernel_named
from mapgauge.kernels.progress import WATCH, Watch

# Two small kernels, and one for a type that it does not take.
TABLE = """
from mapgauge.kernels import compiling
from mapgauge.kernels.compiling import Compiled
from mapgauge.kernels.sospa import normalise, saturation
rows = [
    Compiled("kernels.sospa.normalise", ("float64",)),
    Compiled("kernels.sospa.saturation", ("float64", "uint64", "float64", "float64")),
    Compiled("kernels.sospa.total_cost", ("none",) * 5),
]
compiling.table = lambda: {"read": [], "small": rows}
"""
USE = """
import numpy as np
print(float(normalise(0.25)), float(saturation(0.3, np.uint64(7), 1.5, 1.0)).hex())
print(*(sum(kernel.entry.stats.cache_hits.values()) for kernel in (normalise, saturation)))
"""


def python(code: str, folder: Path, compilers: int) -> list[str]:
    """Run some code in a process of its own, with a cache of its own, and return the lines that it prints."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "MAPGAUGE_COMPILERS": str(compilers)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_processes_compile_the_same_kernels(tmp_path: Path) -> None:
    begun, values, hits = python(f"{TABLE}print(compiling.compile_ahead(['small'])){USE}", tmp_path / "ahead", 2)
    assert (begun, hits) == ("3", "1 1")  # loaded from the cache, which the processes filled
    begun, alone, hits = python(f"{TABLE}print(compiling.compile_ahead(['small'])){USE}", tmp_path / "alone", 0)
    assert (begun, hits) == ("0", "0 0")
    assert values == alone


COMMAND = """
import contextlib, sys
from mapgauge.cli import main
sys.argv = ["mapgauge", "compile"]
rows.pop()
with contextlib.suppress(SystemExit):
    main()
"""


def test_the_command_fills_the_cache(tmp_path: Path) -> None:
    told = python(f"{TABLE}{COMMAND}", tmp_path, 0)[0]
    assert told.startswith("2 kernels compiled in ")
    assert str(tmp_path) in told
    again, _, hits = python(f"{TABLE}{COMMAND}{USE}", tmp_path, 2)
    assert again.startswith("0 kernels compiled in ")
    assert hits == "1 1"


def test_the_command_refuses_unknown_metrics() -> None:
    done = CliRunner().invoke(app, ["compile", "--metrics", "nothing"])
    assert done.exit_code == 2
    assert "unknown metric 'nothing'" in done.stderr


@pytest.mark.parametrize(
    "given",
    [
        numba.float64,
        numba.types.none,
        numba.uint8[::1],
        numba.types.Array(numba.bool_, 2, "A", readonly=True),
        numba.types.Tuple((numba.int64, numba.float64[::1])),
    ],
)
def test_types_become_text_and_types_again(given: object) -> None:
    assert type_from(in_words(given)) == given


def test_kernels_of_deleted_features_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "signatures.json"
    words = [["features.deleted.kernels.area", "bool"], ["kernels.sospa.normalise", "float64"]]
    file.write_text(json.dumps({"words": words}), encoding="utf-8")
    assert compiling.table(file) == {"words": [compiling.Compiled("kernels.sospa.normalise", ("float64",))]}


def test_no_other_kernel_is_left_out() -> None:
    stored = json.loads(compiling.FILE.read_text(encoding="utf-8"))
    names = {name for rows in stored.values() for name, *_ in rows}
    left_out = names - {one.kernel for rows in compiling.table().values() for one in rows}
    present = tuple(f"{one.module.removeprefix('mapgauge.')}." for one in manifest.own())
    assert all(name.startswith("features.") and not name.startswith(present) for name in left_out)


@pytest.mark.parametrize("one", sorted({one for rows in compiling.table().values() for one in rows}))
def test_the_table_fits_the_kernels(one: compiling.Compiled) -> None:
    function = kernel_named(one.kernel).entry.py_func
    assert len(one.types) == len(inspect.signature(function).parameters), "run: python -m tools.kernel_signatures"
    assert tuple(in_words(type_from(text)) for text in one.types) == one.types


def test_usual_work_needs_arrays_of_one_layout_only() -> None:
    types = {text for rows in compiling.table().values() for one in rows for text in one.types}
    assert not [text for text in types if " F" in text]


def test_a_line_is_shown_while_kernels_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("TERM", "xterm")
    watch = Watch(show=shown_by._show, clear=settle)
    watch.started()
    watch.report(12, 60, watch.begun)
    assert "compiling kernels (first run on this machine): 0, 0 s" in shown.getvalue()
    assert "machine): 12 of 60, 0 s" in shown.getvalue()
    watch.clear()
    assert shown.getvalue().endswith("0 s\r\x1b[K")
    watch.clear()
    assert shown.getvalue().endswith("0 s\r\x1b[K")  # it is not erased again, after whatever came then
    monkeypatch.setattr("mapgauge.cli.output.is_quiet", lambda: True)
    before = shown.getvalue()
    watch.started()
    assert shown.getvalue() == before


@pytest.mark.parametrize("answered", [b"\0", b"\0\1", b""])
def test_a_kernel_of_two_types_holds_nobody_up(answered: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes answer for each of the types, or end before."""
    monkeypatch.setattr(WATCH, "interrupted", False)  # a command that ended in this process sets it
    kernel = f"a.kernel{len(answered)}"  # the thread of another case may still be ending
    work = compiling._Elsewhere(tick=0.01)
    answers, answer = os.pipe()
    work.listen([compiling.Compiled(kernel, (one,)) for one in ("int64", "float64")], answers)
    waiting = threading.Thread(target=work.wait, args=(kernel,), daemon=True)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert kernel in _jit.PENDING
    os.write(answer, answered)
    os.close(answer)
    waiting.join(120)
    assert not waiting.is_alive()
    assert kernel not in _jit.PENDING


@pytest.mark.whole
def test_the_table_names_no_feature_that_is_absent() -> None:
    stored = json.loads(compiling.FILE.read_text(encoding="utf-8"))
    assert {work: len(rows) for work, rows in stored.items()} == {
        work: len(rows) for work, rows in compiling.table().items()
    }


def test_what_comes_after_the_tables_is_compiled_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "is_compiled", lambda one: False)
    found, tables = compiling.missing_for(["read", "words", "pld"]), compiling.needed_for(["read", "pld"])
    assert set(found[: len(tables)]) == set(tables)
    assert len(found) > len(tables)
