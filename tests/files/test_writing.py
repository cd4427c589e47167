"""Writing: a file is complete or not there, links stay links, and what is not a file is refused."""

import gzip
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import mapgauge as mg
from mapgauge.dependencies import zstd_module
from mapgauge.io.files.places import put_file
from mapgauge.io.files.writing import remove_folder, save

FRAMES = mg.MapFrames.of({"a": {"divider": [[[0, 0], [9, 0]]]}})


def names_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("times", [100, pytest.param(400, marks=pytest.mark.fuzz)])
def test_threads_that_write_one_file_do_not_disturb_each_other(tmp_path: Path, times: int) -> None:
    path = tmp_path / "file"
    contents = [bytes([65 + k]) * 50_000 for k in range(4)]
    save(path, contents[0])
    done = threading.Event()

    def write(content: bytes) -> None:
        for _ in range(times):
            save(path, content)

    def read() -> int:
        seen = 0
        while not done.is_set():
            assert path.read_bytes() in contents
            seen += 1
        return seen

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        for writer in [pool.submit(write, content) for content in contents]:
            writer.result()
        done.set()
        assert all(reader.result() > 0 for reader in readers)
    assert names_in(tmp_path) == ["file"]


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "target.parquet"
    target.write_bytes(b"old")
    for name, pointing in (("absolute", target), ("relative", Path("elsewhere/target.parquet"))):
        link = tmp_path / f"{name}.parquet"
        link.symlink_to(pointing)
        mg.write(FRAMES, link)
        assert link.is_symlink()
        assert mg.read(target).counts == {"divider": 1}
        target.write_bytes(b"old")
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "elsewhere" / "new")
    save(dangling, b"new")
    assert (tmp_path / "elsewhere" / "new").read_bytes() == b"new"
    assert not list(tmp_path.rglob("*.part"))


def test_a_circle_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(mg.MapgaugeError, match="a: cannot be written"):
        save(tmp_path / "a", b"")


def test_a_pipe_a_device_and_a_folder_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(os.devnull)
    (tmp_path / "folder").mkdir()
    cases = {"pipe": "a pipe", "link": "a device", "folder": "a directory"}
    for name, kind in cases.items():
        with pytest.raises(mg.MapgaugeError, match=f"{name}: cannot be written: this is {kind}, expected a file"):
            save(tmp_path / name, b"data")
    with pytest.raises(mg.MapgaugeError, match="this is a device"):
        mg.write(FRAMES, os.devnull, "geojson")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    assert names_in(tmp_path) == ["folder", "link", "pipe"]


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException) -> None:
    (tmp_path / "file").write_bytes(b"old")
    synced = os.fsync

    def fail(number: int) -> None:
        synced(number)
        raise fault

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((mg.MapgaugeError, KeyboardInterrupt, MemoryError)):
        save(tmp_path / "file", b"new")
    assert names_in(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_permissions_are_those_of_the_old_file_or_of_any_new_file(tmp_path: Path) -> None:
    for mask in (0o022, 0o077):
        before = os.umask(mask)
        try:
            (tmp_path / "plain").write_bytes(b"")
            save(tmp_path / "new", b"")
        finally:
            os.umask(before)
        assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
        (tmp_path / "new").unlink()
        (tmp_path / "plain").unlink()
    (tmp_path / "old").write_bytes(b"")
    for mode in (0o600, 0o664, 0o755):
        (tmp_path / "old").chmod(mode)
        save(tmp_path / "old", b"new")
        assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == mode


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="an administrator may write to every file")
def test_a_write_protected_file_stays(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "old").chmod(0o400)
    with pytest.raises(mg.MapgaugeError, match="write-protected"):
        save(tmp_path / "old", b"new")


def test_names_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    save(tmp_path / ("é" * 127), b"data")
    for write in (save, lambda path, data: mg.write(FRAMES, path, "geojson")):
        with pytest.raises(mg.MapgaugeError, match=r"cannot be written: File name too long"):
            write(tmp_path / ("x" * 256), b"data")
    with pytest.raises(mg.MapgaugeError, match="cannot be written"):
        save(tmp_path / "a\0b", b"data")
    with pytest.raises(mg.InvalidInput, match=r"path must be .*got None"):
        mg.write(FRAMES, None, "geojson")  # type: ignore[arg-type]


def test_zstd_files_have_a_checksum(tmp_path: Path) -> None:
    save(tmp_path / "a.zst", bytes(range(256)) * 40)
    packed = (tmp_path / "a.zst").read_bytes()
    assert packed[4] & 4  # the flag in the header of the frame
    for k in range(8 * 10, 8 * len(packed), 7):
        damaged = bytearray(packed)
        damaged[k // 8] ^= 1 << k % 8
        with pytest.raises(zstd_module().ZstdError):
            zstd_module().decompress(bytes(damaged))


def test_a_local_url_is_written_like_a_path(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    put_file("memory://folder/file", b"data")
    put_file(f"file://{tmp_path}/folder/file", b"data")
    assert (tmp_path / "folder" / "file").read_bytes() == b"data"
    assert names_in(tmp_path / "folder") == ["file"]
    with pytest.raises(mg.MapgaugeError, match="this is a device"):
        put_file(f"file://{os.devnull}", b"data")


def test_suffixes_compress(tmp_path: Path) -> None:
    save(tmp_path / "a.gz", b"data")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"data"


def test_ctrl_c_does_not_leave_a_part_of_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "chunks"
    folder.mkdir()
    for k in range(3):
        (folder / f"{k}").write_bytes(b"")
    deleted: list[object] = []
    unlink = os.unlink

    def interrupted(name: str, **options: int) -> None:
        unlink(name, **options)
        deleted.append(name)
        if len(deleted) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "unlink", interrupted)
    remove_folder(folder)
    assert len(deleted) == 3
    assert not folder.exists()
