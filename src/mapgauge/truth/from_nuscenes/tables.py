"""Reads records of the JSON tables of nuScenes.

``sample_data.json`` and ``ego_pose.json`` have millions of records, and truth needs about one in a hundred. A search
through the bytes of the file finds them. If it does not find all, the whole table is decoded.
"""

import mmap
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from mapgauge.decoding import decoder_of
from mapgauge.errors import UnreadableFile
from mapgauge.frames.findings import Finding, findings_about
from mapgauge.io.files.json_documents import gc_paused, keys_are_unique
from mapgauge.io.files.source import Content
from mapgauge.truth.json_files import read_json
from mapgauge.truth.selection import HasToken
from mapgauge.words import counted

T = TypeVar("T")
R = TypeVar("R", bound=HasToken)
ROOT = "Check that the data root is the folder that contains v1.0-trainval and maps"


def read_table(path: Path, record: type[T]) -> list[T]:
    """Read all records of a table. Only the fields of ``record`` are kept."""
    try:
        return read_json(path, list[record], "a table of nuScenes")  # type: ignore[valid-type]
    except FileNotFoundError as error:
        raise _missing(path) from error


def records_by_token(records: Iterable[R], path: Path, table: str, repeated: list[str]) -> dict[str, R]:
    """Return the records of a table by token. Names of exact copies are added to ``repeated``."""
    known: dict[str, R] = {}
    for record in records:
        first = known.setdefault(record.token, record)
        if first is record:
            continue
        if first != record:
            raise UnreadableFile(
                f"{path}: {table} {record.token} occurs twice, with different content",
                remedy="Check that the file was not put together from several versions",
            )
        repeated.append(f"{table} {record.token}")
    return known


def repeated_records(where: str, names: Sequence[str]) -> list[Finding]:
    """Return the finding about records that occur more than once, given their names."""
    text = f"{where}: {counted(len(names), 'record')} left out as copies of other records"
    return findings_about(names, "warning", "records-repeated", text=text)


def find_records(
    path: Path,
    record: type[T],
    pattern: bytes,
    wanted: Collection[bytes] | None,
    complete: Callable[[list[T]], bool],
) -> list[T]:
    """Read the records of a table in which a regular expression matches. They must not contain other records.

    ``wanted`` are the allowed values of the first group of the pattern; None allows all. If the records are not
    ``complete``, the whole table is decoded.
    """
    if not os.path.lexists(path):
        raise _missing(path)
    try:
        with Content(path).path.open("rb") as file:  # nothing but a plain file is opened
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # matches refer to it, so it is not closed here
        records = _search(data, record, re.compile(pattern), wanted=wanted)
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read: {error.strerror or error}") from error
    if records is not None and complete(records):
        return records
    return read_table(path, record)


def _search(
    data: mmap.mmap, record: type[T], pattern: re.Pattern[bytes], wanted: Collection[bytes] | None
) -> list[T] | None:
    """Return the matching records, or None if a match is not inside a record or a record has a key twice."""
    decoder = decoder_of(record)
    records = []
    texts = []
    with gc_paused():
        for match in pattern.finditer(data):
            if wanted is not None and match[1] not in wanted:
                continue
            start = data.rfind(b"{", 0, match.start())
            stop = data.find(b"}", match.end())
            try:
                texts.append(data[start : stop + 1])
                records.append(decoder.decode(texts[-1]))
            except (msgspec.DecodeError, UnicodeDecodeError):
                return None
    if not keys_are_unique(b"[" + b",".join(texts) + b"]"):
        return None
    return records


def _missing(path: Path) -> UnreadableFile:
    if path.parent.is_dir():
        folder = ""
    else:
        folder = f" (the folder {path.parent} does not exist)"
    text = f"{path}: no such file{folder}. It is part of the metadata of nuScenes {path.parent.name}"
    return UnreadableFile(text, remedy=ROOT)
