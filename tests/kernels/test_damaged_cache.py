"""A cache of compiled kernels that is damaged or cannot be written stops nothing."""

import random
from collections.abc import Callable
from pathlib import Path

import numba
import pytest

from mapgauge.kernels import sospa
from mapgauge.kernels._jit import Kernel, jit
from mapgauge.kernels.progress import WATCH


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Kernel]:
    """Make a kernel as a new process does, with its cache in an empty folder."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return lambda: jit(sospa.normalise.__wrapped__)  # type: ignore[attr-defined]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "random": lambda data: random.Random(0).randbytes(len(data)),
    "zeros at the end": lambda data: data[: len(data) // 2] + bytes(len(data) // 2),
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_kernel_is_discarded_and_compiled_again(
    kernel: Callable[[], Kernel], tmp_path: Path, suffix: str, damage: str
) -> None:
    assert kernel()(0.25) == 0.4
    (file,) = tmp_path.rglob(f"*.{suffix}")
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    again, later = kernel(), kernel()
    assert again.is_compiled((numba.float64,)) == (suffix == "nbc")  # it may be wrong, and must not fail
    assert again(0.25) == 0.4
    assert sum(again.entry.stats.cache_hits.values()) == 0
    assert later(0.25) == 0.4
    assert sum(later.entry.stats.cache_hits.values()) == 1


def test_a_cache_that_cannot_be_written_is_reported_once(
    kernel: Callable[[], Kernel], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    for name, value in (("tell", told.append), ("told", False), ("unstored", "")):
        monkeypatch.setattr(WATCH, name, value)
    made = kernel()
    (folder,) = tmp_path.iterdir()
    folder /= "kernels"
    folder.write_text("a file in its place", encoding="utf-8")
    assert (made(0.25), made(1)) == (0.4, 1)
    assert len(told) == 1
    assert str(folder) in told[0]
    assert "Set the environment variable NUMBA_CACHE_DIR to a folder that only you can write to" in told[0]
