"""Compiled kernels are pickles. They are loaded from a folder that only this user can write to, and from no other."""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mapgauge.kernels import _folder
from mapgauge.kernels._folder import Unusable, folder, folder_of

posix = pytest.mark.skipif(os.name == "nt", reason="folders have no mode")
USE = """
import numpy as np
from mapgauge.kernels.sospa import normalise
print(float(normalise(0.25)), sum(normalise.entry.stats.cache_hits.values()))
"""


class Touch:
    """What a hostile pickle does: it makes a file."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.trace,)


def used(**environment: str) -> subprocess.CompletedProcess[str]:
    """Call a kernel in a new process."""
    return subprocess.run(
        [sys.executable, "-P", "-c", USE],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONWARNINGS": "default"} | environment,  # a warning is part of the answer
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Call a kernel in a process with an empty cache, and return this cache. Nothing was written beside the package."""
    cache = tmp_path_factory.mktemp("filled")
    beside = Path(_folder.__file__).parent / "__pycache__"
    before = {path.name for path in beside.glob("*.nb[ci]")}
    assert used(NUMBA_CACHE_DIR=str(cache)).stdout == "0.4 0\n"
    assert {path.name for path in beside.glob("*.nb[ci]")} == before
    return cache


def planted(cache: Path, trace: Path) -> None:
    """Replace all files of a cache by hostile pickles."""
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert files
    for file in files:
        file.write_bytes(pickle.dumps(Touch(trace)))


@posix
def test_the_folder_is_private_and_named_after_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    before = os.umask(0)
    try:
        made = folder()
    finally:
        os.umask(before)
    assert made.parent == tmp_path
    assert made.stat().st_mode & 0o777 == 0o700
    assert made.name == f"kernels-{hashlib.sha256(os.fsencode(_folder.PACKAGE)).hexdigest()[:16]}"


def test_kernels_lie_in_the_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.setenv("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert folder().parent == tmp_path / "cache" / "mapgauge"
    monkeypatch.setenv("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "relative")
    assert tmp_path / "home" in folder().parents


def test_files_of_equal_names_have_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    package = _folder.PACKAGE
    files = [package / "kernels" / "a.py", package / "features" / "raster" / "a.py", tmp_path / "x" / "a.py"]
    files.append(tmp_path / "y" / "a.py")
    folders = {folder_of(str(file)) for file in files}
    assert len(folders) == len(files)
    assert all(one.is_relative_to(folder()) for one in folders)


@posix
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    path = folder()
    path.chmod(mode)
    _folder._checked.cache_clear()
    with pytest.raises(Unusable, match="other users can write into this folder"):
        folder()


@posix
def test_a_folder_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    path = folder()
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    _folder._checked.cache_clear()
    with pytest.raises(Unusable, match="belongs to another user"):
        folder()


@posix
def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    path = folder()
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    _folder._checked.cache_clear()
    with pytest.raises(Unusable, match="a link in place of a folder"):
        folder()


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser can give away a link")
def test_a_link_of_another_user_on_the_way_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(link))
    assert folder().parent == link
    os.lchown(link, 12345, 12345)
    _folder._checked.cache_clear()
    with pytest.raises(Unusable, match="this link belongs to another user"):
        folder()


def test_a_relative_path_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", ".numba")
    with pytest.raises(Unusable, match="NUMBA_CACHE_DIR=.numba is not an absolute path"):
        folder()


@posix
def test_nothing_is_loaded_from_a_folder_that_is_refused(filled: Path, tmp_path: Path) -> None:
    cache, trace = tmp_path / "cache", tmp_path / "trace"
    shutil.copytree(filled, cache)
    planted(cache, trace)
    (path,) = cache.iterdir()
    path.chmod(0o777)
    done = used(NUMBA_CACHE_DIR=str(cache))
    assert done.stdout == "0.4 0\n"
    assert "other users can write into this folder). They are compiled again in every run" in done.stderr
    assert not trace.exists()
    path.chmod(0o700)
    used(NUMBA_CACHE_DIR=str(cache))
    assert trace.exists()  # the test would notice


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser can write everywhere")
def test_a_folder_that_cannot_be_written_is_loaded_from(filled: Path, tmp_path: Path) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    for path in tmp_path.rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    assert used(NUMBA_CACHE_DIR=str(tmp_path)).stdout == "0.4 1\n"


def test_the_folders_beside_the_package_are_not_used(filled: Path) -> None:
    assert list(filled.rglob("*.nbi"))
