"""A file's bytes: found, decompressed, and the same at the end of reading as at its beginning."""

import gzip
import json
import os
import re
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mapgauge.dependencies import zstd_module
from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.files.pickles import unpickle

Kind: TypeAlias = Literal["json", "pickle", "parquet", "other"]

_HEAD = 1 << 16  # bytes in which the keys of a JSON file are looked for first
_KEY = re.compile(rb'"([^"\\]{1,80})"\s*:')
_GZIP, _ZSTD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"


class Content:
    """One file to read: its bytes, and as what they can be taken."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Look at the file; its bytes are read when they are needed."""
        self.path = Path(path)
        try:
            if self.path.is_dir():
                raise self.error("this is a directory, expected a file. Give the file inside it")
            with self.path.open("rb") as file:
                self._start = file.read(8)
        except UnreadableFile:
            raise
        except FileNotFoundError:
            folder = self.path.parent
            where = "is not there either" if not folder.is_dir() else "has no file of this name"
            raise self.error(f"no such file ({folder} {where})") from None
        except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
            raise self.error(f"cannot be read: {_reason(error)}") from error
        if not self._start:
            raise self.error("the file is empty")

    def error(self, message: str, *, remedy: Remedy | str | None = None) -> UnreadableFile:
        """An error that begins with the path."""
        return UnreadableFile(f"{self.path}: {message}", remedy=remedy)

    @cached_property
    def data(self) -> bytes:
        """All bytes, decompressed."""
        # Not a memory map: if the file shrank while it is mapped, the process would be killed.
        try:
            with self.path.open("rb") as file:
                before = os.fstat(file.fileno())
                data = file.read()
                after = os.fstat(file.fileno())
        except OSError as error:
            raise self.error(f"cannot be read: {_reason(error)}") from error
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(data) != after.st_size:
            raise self.error("the file changed while it was read. Is something still writing it? Try again")
        try:
            if data.startswith(_GZIP):
                return gzip.decompress(data)
            if data.startswith(_ZSTD):
                return _unzstd(data)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise self.error(f"broken compression: {error}. Was it copied or downloaded completely?") from error
        return data

    @property
    def compressed(self) -> bool:
        """Whether the file on disk is gzip or zstd."""
        return self._start.startswith((_GZIP, _ZSTD))

    @cached_property
    def kind(self) -> Kind:
        """What the bytes look like."""
        start = self.data[:64] if self.compressed else self._start
        if start.startswith(_PARQUET):
            return "parquet"
        if start.startswith(b"PK\x03\x04"):
            raise self.error(
                "a zip archive; torch.save writes such files. Save numpy arrays with pickle.dump, or unpack it"
            )
        if start[:3] == b"\xef\xbb\xbf" or start.lstrip(b" \t\r\n")[:1] in (b"{", b"["):
            return "json"
        # Protocols 2 and later name themselves; 0 and 1 begin with an opcode for a container, as in b"(dp0".
        if start[:1] == b"\x80" or start[:1] in (b"(", b"]", b"}"):
            return "pickle"
        return "other"

    @cached_property
    def text(self) -> bytes:
        """The bytes of a JSON file, without a byte order mark."""
        return self.data.removeprefix(b"\xef\xbb\xbf")

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys near the beginning of a JSON file; all of them once ``look_further`` was called."""
        return self._keys_within(_HEAD)

    def look_further(self) -> None:
        """Look for keys in the whole file: its beginning did not say what it is."""
        self.keys = self._keys_within(len(self.text))

    def _keys_within(self, end: int) -> frozenset[str]:
        found = set(_KEY.findall(self.text, 0, end)) if self.kind == "json" else set()
        return frozenset(key.decode("utf-8", "replace") for key in found)

    @cached_property
    def document(self) -> Any:
        """The whole file as plain objects: the way for pickles, and for JSON that is not as it should be.

        JSON objects come as lists of pairs behind a ``Pairs``, so that a key that occurs twice is not lost.
        """
        if self.kind == "pickle":
            return unpickle(self.data, self.error)
        try:
            return json.loads(self.text, object_pairs_hook=Pairs)
        except UnicodeDecodeError as error:
            raise self.error(f"not JSON: not UTF-8 text ({error.reason} at byte {error.start})") from error
        except json.JSONDecodeError as error:
            end = (
                " The file ends too early: was it written or copied completely?"
                if error.pos >= len(self.text) - 1
                else ""
            )
            raise self.error(f"not JSON: {error.msg} at line {error.lineno}, column {error.colno}.{end}") from error
        except RecursionError as error:
            raise self.error("not a map: the JSON is nested too deeply") from error
        except ValueError as error:  # a whole number of thousands of digits
            raise self.error(f"not a map: {str(error)[:100]}") from error


class Pairs(dict[str, Any]):
    """A JSON object that remembers keys that occurred more than once, with all their values."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        """Keep all pairs only if a key occurs twice."""
        super().__init__(pairs)
        self.all = pairs if len(pairs) > len(self) else None

    def every(self) -> list[tuple[str, Any]]:
        """All keys and values, in order, also those that occur again."""
        return list(self.items()) if self.all is None else self.all


def _unzstd(data: bytes) -> bytes:
    zstd = zstd_module()
    try:
        return bytes(zstd.decompress(data))
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
