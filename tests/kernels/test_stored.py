"""Kernels whose intermediate code comes with the package."""

import json
import re
import zipfile
from collections.abc import Iterator
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
def stored(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file with stored code, which a test may change before the first kernel is compiled."""
    path = tmp_path / "stored.zip"
    path.write_bytes(written.read_bytes())
    monkeypatch.setattr(_stored, "FILE", path)
    _stored.index.cache_clear()
    yield path
    _stored.index.cache_clear()


def change(path: Path, key: str, **values: object) -> None:
    """Change the row of a kernel in the index, or what the file was made for."""
    with zipfile.ZipFile(path) as file:
        codes = {one: file.read(one) for one in file.namelist()}
    content = json.loads(codes[_stored.INDEX])
    if key in content["kernels"]:
        content["kernels"][key] = _stored.Stored(*content["kernels"][key])._replace(**values)  # type: ignore[arg-type]
    else:
        content |= values
    with zipfile.ZipFile(path, "w") as file:
        for one, code in codes.items():
            file.writestr(one, json.dumps(content).encode() if one == _stored.INDEX else code)


def normalise(value: float) -> float:
    """Compile the kernel now, and call it."""
    compiled = compile_entry(nogil=True, error_model="numpy")(sospa.normalise.__wrapped__)  # type: ignore[attr-defined]
    return float(compiled(value))


def test_stored_code_is_used(stored: Path) -> None:
    assert normalise(0.25) == sospa.normalise(0.25) == 0.4
    change(stored, key_of(NORMALISE), name="stored.kernels.gains._gain.0")  # the code of another kernel
    _stored.index.cache_clear()
    assert normalise(0.25) == gains._gain(0.25) != 0.4


def test_stored_code_allocates_and_returns_arrays(stored: Path) -> None:
    saving = np.random.default_rng(0).uniform(size=(5, 7))
    function = assignment.assign.__wrapped__  # type: ignore[attr-defined]
    assert _stored.find(function, (numba.float64[:, ::1],)) is not None
    partner, work = compile_entry(nogil=True, error_model="numpy")(function)(saving)
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
    change(stored, key, **values)
    assert _stored.find(sospa.normalise.__wrapped__, (numba.float64,)) is None  # type: ignore[attr-defined]
    assert normalise(0.25) == 0.4


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
    assert _stored.find(sospa.normalise.__wrapped__, (numba.float64,)) is None  # type: ignore[attr-defined]


def test_the_file_of_the_package_names_no_folder_of_the_machine() -> None:
    with zipfile.ZipFile(Path(_stored.__file__).with_name("stored.zip")) as file:
        assert len(file.namelist()) > 20
        for name in file.namelist():
            assert b"site-packages" not in file.read(name)
            assert not re.search(rb"[/\\\\](home|root|usr|work|tmp|Users)[/\\\\]", file.read(name))
