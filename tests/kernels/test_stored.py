"""Kernels whose intermediate code comes with the package."""

import json
import re
import zipfile
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from tools.stored_kernels import key_of, write

from mapgauge.kernels import _stored, assignment, gains, sospa
from mapgauge.kernels._inner import compile_entry
from mapgauge.kernels.compiling import Compiled

GAIN, NORMALISE = Compiled("kernels.gains._gain", ("float64",)), Compiled("kernels.sospa.normalise", ("float64",))
ASSIGN = Compiled("kernels.assignment.assign", ("float64 2 C",))  # allocates, and returns a tuple with an array


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not hasattr(llvm, "create_new_module_pass_manager") or not hasattr(
        llvm.create_new_module_pass_manager(), "add_strip_symbols_pass"
    ):
        pytest.skip("the oldest llvmlite cannot write stored code")
    path = tmp_path_factory.mktemp("stored") / "stored.zip"
    write([GAIN, NORMALISE, ASSIGN], path)
    return path


@pytest.fixture
def stored(written: Path, tmp_path: Path) -> Path:
    """A file with stored code, which a test may damage before the first kernel is compiled with it."""
    path = tmp_path / "stored.zip"
    path.write_bytes(written.read_bytes())
    return path


def changed(path: Path, key: str, **values: object) -> Path:
    """Return a copy with another row of a kernel in the index, or made for something else."""
    with zipfile.ZipFile(path) as file:
        codes = {one: file.read(one) for one in file.namelist()}
    content = json.loads(codes[_stored.INDEX])
    if key in content["kernels"]:
        content["kernels"][key] = _stored.Stored(*content["kernels"][key])._replace(**values)  # type: ignore[arg-type]
    else:
        content |= values
    copy = path.with_name("changed.zip")
    with zipfile.ZipFile(copy, "w") as file:
        for one, code in codes.items():
            file.writestr(one, json.dumps(content).encode() if one == _stored.INDEX else code)
    return copy


def normalise(value: float, file: Path) -> float:
    """Compile the kernel now with a file of stored code, and call it."""
    function = sospa.normalise.__wrapped__  # type: ignore[attr-defined]
    compiled = compile_entry(nogil=True, error_model="numpy", file=file)(function)
    return float(compiled(value))


def test_stored_code_is_used(stored: Path) -> None:
    assert normalise(0.25, stored) == sospa.normalise(0.25) == 0.4
    other = changed(stored, key_of(NORMALISE), name="stored.kernels.gains._gain.0")  # the code of another kernel
    assert normalise(0.25, other) == gains._gain(0.25) != 0.4


def test_stored_code_allocates_and_returns_arrays(stored: Path) -> None:
    saving = np.random.default_rng(0).uniform(size=(5, 7))
    function = assignment.assign.__wrapped__  # type: ignore[attr-defined]
    assert _stored.find(function, (numba.float64[:, ::1],), stored) is not None
    partner, work = compile_entry(nogil=True, error_model="numpy", file=stored)(function)(saving)
    expected, same_work = assignment.assign(saving)
    assert (partner.tolist(), work) == (expected.tolist(), same_work)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (key_of(NORMALISE), {"stamp": "of an older file"}),
        (key_of(NORMALISE), {"name": "no such code"}),
        ("", {"made_for": ["0.1", "x86_64-unknown-linux-gnu"]}),
    ],
)
def test_code_that_does_not_suit_is_not_used(stored: Path, key: str, values: dict[str, object]) -> None:
    other = changed(stored, key, **values)
    assert _stored.find(sospa.normalise.__wrapped__, (numba.float64,), other) is None  # type: ignore[attr-defined]
    assert normalise(0.25, other) == 0.4


@pytest.mark.parametrize("damage", ["missing", "cut", "switched off"])
def test_kernels_are_compiled_as_usual_without_stored_code(
    stored: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage == "missing":
        stored.unlink()
    elif damage == "cut":
        stored.write_bytes(stored.read_bytes()[:-100])
    else:
        monkeypatch.setenv(_stored.SWITCH, "0")
    assert _stored.find(sospa.normalise.__wrapped__, (numba.float64,), stored) is None  # type: ignore[attr-defined]


def test_the_file_of_the_package_names_no_folder_of_the_machine() -> None:
    with zipfile.ZipFile(_stored.FILE) as file:
        assert len(file.namelist()) > 20
        for name in file.namelist():
            assert b"site-packages" not in file.read(name)
            assert not re.search(rb"[/\\\\](home|root|usr|work|tmp|Users)[/\\\\]", file.read(name))
