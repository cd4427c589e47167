"""Errors of files that only appear between two steps, or that depend on the system: each names the file."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import mapgauge as mg
from mapgauge.io.files.json_documents import parse_json
from mapgauge.io.files.places import open_file, put_file
from mapgauge.io.files.writing import save
from mapgauge.plugin import Content


def refuse(error: BaseException) -> Any:
    """Return a function that raises an error."""

    def refused(*_: Any, **__: Any) -> None:
        raise error

    return refused


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "p.json").write_bytes(b"{}")
    return tmp_path / "p.json"


def test_a_file_that_is_emptied_or_deleted_before_it_is_read(path: Path) -> None:
    content = Content(path)
    path.write_bytes(b"")
    with pytest.raises(mg.UnreadableFile, match="p.json: the file is empty$"):
        _ = content.data
    path.unlink()
    with pytest.raises(mg.UnreadableFile, match=r"p.json: cannot be read"):
        _ = content.data


def test_a_file_that_needs_more_memory_than_there_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = Content(path)
    monkeypatch.setattr(Path, "open", refuse(MemoryError()))
    with pytest.raises(mg.UnreadableFile, match="p.json: not enough memory to read this file$"):
        _ = content.data


def test_permissions_are_respected(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An administrator may do everything, so the answer of the system is replaced."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(mg.UnreadableFile, match="p.json: cannot be read: permission denied$"):
        mg.read(path)
    with pytest.raises(mg.MapgaugeError, match="p.json: cannot be written: the file is write-protected$"):
        save(path, b"new")
    assert path.read_bytes() == b"{}"


def test_a_parquet_file_that_cannot_be_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(mg.UnreadableFile, match=r"gone.parquet: cannot be opened"):
        open_file(str(path.with_name("gone.parquet")))
    monkeypatch.setattr(pa, "OSFile", refuse(PermissionError("denied")))
    with pytest.raises(mg.UnreadableFile, match="p.json: cannot be opened: denied$"):
        open_file(str(path))


def test_an_unknown_protocol_of_a_url_cannot_be_written() -> None:
    with pytest.raises(mg.MapgaugeError, match="^nowhere://set/a.parquet: cannot be written: Protocol not known"):
        put_file("nowhere://set/a.parquet", b"data")


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(mg.UnreadableFile, match="Exceeds the limit"):
        parse_json(b"[" + b"1" * 5000 + b"]", mg.UnreadableFile)
