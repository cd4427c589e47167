"""Single records out of JSON tables of a gigabyte.

nuScenes' ``sample_data.json`` and ``ego_pose.json`` have millions of records, of which one in a hundred is wanted. A
search through the bytes of the file finds those, and only they are decoded. The search relies on how the tables are
usually written. Where it does not find what it should, the whole table is decoded, which takes more time and memory.
"""

import mmap
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

import msgspec

from mapgauge.errors import UnreadableFile
from mapgauge.files.garbage import gc_paused

T = TypeVar("T")


def read_table(path: Path, record: type[T]) -> list[T]:
    """All records of a table; only the fields of ``record`` are kept."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise missing(path, error) from error
    return decode_json(data, list[record], path, "a table of nuScenes")  # type: ignore[valid-type]


def decode_json(data: bytes, schema: type[T], path: Path, what: str) -> T:
    """A document by its schema, or an error that says where it is wrong."""
    with gc_paused():
        try:
            return msgspec.json.decode(data, type=schema)
        except msgspec.ValidationError as error:
            raise UnreadableFile(f"{path}: not {what}: {error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableFile(f"{path}: not JSON: {error}. Was it written or copied completely?") from error


def missing(path: Path, error: OSError) -> UnreadableFile:
    """What to say about a table that cannot be read."""
    if isinstance(error, FileNotFoundError):
        where = path.parent.name
        there = "" if path.parent.is_dir() else f" (there is no folder {path.parent})"
        return UnreadableFile(
            f"{path}: no such file{there}. It belongs to the metadata of nuScenes {where}; is this the folder that "
            "contains v1.0-trainval and maps?"
        )
    return UnreadableFile(f"{path}: cannot be read: {error.strerror or error}")


def find_records(
    path: Path,
    record: type[T],
    pattern: bytes,
    wanted: Collection[bytes] | None,
    complete: Callable[[list[T]], bool],
) -> list[T]:
    """Records that contain a pattern.

    Args:
        path: The table: an array of records that contain no records.
        record: What to decode.
        pattern: A regular expression that is found inside the records sought; the first group may tell them apart.
        wanted: Of what the first group may be one; None for anything.
        complete: Whether these are all that there should be. If not, the whole table is decoded.
    """
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # closed with its last use: matches refer to it
        found = _search(data, record, re.compile(pattern), wanted)
    except ValueError:  # an empty file cannot be mapped
        found = None
    except OSError as error:
        raise missing(path, error) from error
    return found if found is not None and complete(found) else read_table(path, record)


def _search(
    data: mmap.mmap, record: type[T], pattern: re.Pattern[bytes], wanted: Collection[bytes] | None
) -> list[T] | None:
    decoder = msgspec.json.Decoder(record)
    found = []
    with gc_paused():
        for match in pattern.finditer(data):
            if wanted is not None and match[1] not in wanted:
                continue
            start, stop = data.rfind(b"{", 0, match.start()), data.find(b"}", match.end())
            try:
                found.append(decoder.decode(data[start : stop + 1]))
            except (msgspec.DecodeError, UnicodeDecodeError):
                return None
    return found
