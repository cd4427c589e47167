"""Files that become far larger than they are, and things that never end."""

import gzip
import io
import os
import threading
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mapgauge as mg
from mapgauge.dependencies import zstd_module
from mapgauge.io.files.source import decompressed, most_bytes
from mapgauge.plugin import Content

LARGE = 1 << 27  # bytes; twice what a small file may give
DATA = b'{"a": [1, 2, 3]}'


def _packed(make: Callable[[], object]) -> bytes:
    packer = make()
    parts = [packer.compress(bytes(1 << 22)) for _ in range(LARGE >> 22)]  # type: ignore[attr-defined]
    return b"".join([*parts, packer.flush()])  # type: ignore[attr-defined]


BOMBS = {
    "gzip": lambda: _packed(lambda: zlib.compressobj(9, wbits=31)),
    "gzip in parts": lambda: gzip.compress(bytes(1 << 22)) * (LARGE >> 22),
    "zstd": lambda: _packed(zstd_module().ZstdCompressor),
    "zstd in parts": lambda: zstd_module().compress(bytes(1 << 22)) * (LARGE >> 22),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_compressed_file_that_grows_too_much_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(BOMBS[name]())
    tracemalloc.start()
    try:
        with pytest.raises(mg.UnreadableFile, match=r"once it is decompressed.*MAPGAUGE_MAX_BYTES"):
            mg.read(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * most_bytes(0)
    finally:
        tracemalloc.stop()


def test_the_limit_can_be_raised_and_lowered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(zstd_module().compress(bytes(LARGE)))
    with pytest.raises(mg.UnreadableFile, match="once it is decompressed"):
        Content(path).data  # noqa: B018
    monkeypatch.setenv("MAPGAUGE_MAX_BYTES", str(LARGE))
    assert len(Content(path).data) == LARGE
    monkeypatch.setenv("MAPGAUGE_MAX_BYTES", "100")
    path.write_bytes(bytes(101))
    with pytest.raises(mg.UnreadableFile, match="the file has 101 bytes, more than 100"):
        Content(path)
    for wrong in ("much", "-1", "0", "1e9"):
        monkeypatch.setenv("MAPGAUGE_MAX_BYTES", wrong)
        with pytest.raises(mg.InvalidInput, match=r"MAPGAUGE_MAX_BYTES is .*whole number"):
            Content(path)


def test_files_of_several_members_are_read_whole() -> None:
    for pack in (gzip.compress, zstd_module().compress):
        assert decompressed(pack(DATA) + pack(b"") + pack(DATA * 9000), 1 << 20) == DATA * 9001
        assert decompressed(pack(DATA) * 5000, 1 << 20) == DATA * 5000
    assert decompressed(gzip.compress(DATA) + bytes(5) + gzip.compress(DATA) + bytes(600), 1 << 20) == DATA * 2
    assert decompressed(DATA, 1) == DATA


def test_what_follows_a_compressed_file_is_refused() -> None:
    for pack in (gzip.compress, zstd_module().compress):
        for wrong in (pack(DATA) + b"more", pack(DATA)[:-3], pack(DATA) + pack(DATA)[:-3]):
            with pytest.raises(ValueError, match="."):
                decompressed(wrong, 1 << 20)


def test_a_results_file_that_grows_too_much_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.savez_compressed(file, header=np.zeros(LARGE, np.uint8))
    (tmp_path / "r.mg").write_bytes(file.getvalue())
    with pytest.raises(mg.UnreadableFile, match=r"its arrays .*MAPGAUGE_MAX_BYTES"):
        mg.load_results(tmp_path / "r.mg")


@pytest.mark.parametrize(
    "header",
    ["{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }", "{'descr': (", "{" * 90, "'", "(\x00"],
)
def test_a_results_file_with_a_damaged_array_is_refused(header: str, tmp_path: Path) -> None:
    text = header.encode().ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "r.mg", "w") as file:
        file.writestr("header.npy", b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(mg.UnreadableFile, match="not a file of results"):
        mg.load_results(tmp_path / "r.mg")


def test_a_parquet_file_that_grows_too_much_is_refused(tmp_path: Path) -> None:
    rows = 10_000_000
    index = pa.array(np.zeros(rows, np.int32))
    text = pa.DictionaryArray.from_arrays(index, pa.array(["a"]))
    empty = pa.nulls(rows, pa.list_(pa.list_(pa.float64())))
    pq.write_table(pa.table({"token": text, "class": text, "geometry": empty}), tmp_path / "f.parquet")
    assert (tmp_path / "f.parquet").stat().st_size < 1 << 20
    with pytest.raises(mg.UnreadableFile, match="its columns .* expected at most"):
        mg.read(tmp_path / "f.parquet")
    with pytest.raises(mg.UnreadableFile, match="its columns .* expected at most"):
        mg.read(tmp_path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_a_device_is_refused() -> None:
    for read in (mg.read, mg.load_results):
        with pytest.raises(mg.UnreadableFile, match="/dev/zero: this is a device, expected a file"):
            read("/dev/zero")


def test_a_pipe_is_refused_as_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[BaseException] = []

    def read() -> None:
        for action in (mg.read, mg.load_results, lambda path: mg.evaluate(path, path)):
            try:
                action(path)
            except mg.UnreadableFile as error:
                found.append(error)

    thread = threading.Thread(target=read, daemon=True)  # which would wait for a writer for ever
    thread.start()
    thread.join(60)
    assert len(found) == 3
    for error in found:
        assert "this is a pipe, expected a file. Write its content to a file first" in str(error)


@pytest.mark.parametrize("path", [None, 3, b"file", ["a"]])
def test_what_is_not_a_path_is_refused(path: object) -> None:
    with pytest.raises(mg.InvalidInput, match="path must be a text"):
        mg.read(path)  # type: ignore[arg-type]


def test_a_name_that_is_too_long_is_refused() -> None:
    for name in ("x" * 300, "x/" * 5000):
        with pytest.raises(mg.UnreadableFile, match="cannot be read: File name too long"):
            mg.read(name)


def test_too_little_memory_is_said_in_our_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file.json").write_bytes(DATA)

    def full(self: Content) -> str:
        raise MemoryError

    monkeypatch.setattr(Content, "kind", property(full))
    with pytest.raises(mg.UnreadableFile, match="file.json: not enough memory to read this file"):
        mg.read(tmp_path / "file.json")
