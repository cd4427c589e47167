"""The content of one file: its bytes, decompressed up to a limit, and the document in them."""

import contextlib
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from mapgauge.dependencies import zstd_module
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.io.files.json_documents import parse_json
from mapgauge.io.pickles.tree import PickleTree, or_none, read_tree
from mapgauge.io.pickles.unpickling import unpickle

T = TypeVar("T")
Kind: TypeAlias = Literal["json", "pickle", "parquet", "other"]

VARIABLE = "MAPGAUGE_MAX_BYTES"
RAISE = f"If you trust the file, set the environment variable {VARIABLE} to a larger number"

_RATIO = 100  # JSON of maps compresses to about a fifth, and seldom to less than a thirtieth
_ALWAYS = 1 << 26  # small files may have any ratio
_MOST = 1 << 34

_HEAD = 1 << 16  # number of bytes that are searched for the keys of a JSON file first
_KEY = re.compile(rb'"([^"\\]{1,80})"\s*:')
_NAMED = 3  # files in a folder that an error names
_PARQUET = b"PAR1"
_REMEDIES = {"a pipe": "Write its content to a file first"}
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
ZIP = b"PK\x03\x04"
_RESULTS = (b"summary.npy", b"header.npy")  # the first file in a ZIP with results; of older results, the second
_FIRST_NAME = 30  # bytes of a ZIP before the name of its first file
RESULTS_HEAD = _FIRST_NAME + max(map(len, _RESULTS))  # bytes that show whether a file has results

_ZEROS = re.compile(rb"\0*")
_CHUNK = 1 << 10, 1 << 22  # bytes given to a decompressor after the first member: at first, and at most


def begins_as_results(head: bytes) -> bool:
    """Whether a file with these first bytes, ``RESULTS_HEAD`` or more, is one of results."""
    return head.startswith(ZIP) and head[_FIRST_NAME:].startswith(_RESULTS)


def most_bytes(size: int) -> int:
    """Return the most bytes that a compressed file of a size may give.

    >>> most_bytes(1000), most_bytes(10**7)
    (67108864, 1000000000)
    """
    given = max_bytes()
    if given is None:
        return min(max(_RATIO * size, _ALWAYS), _MOST)
    return given


def memory() -> int | None:
    """Return the bytes of memory of this machine; None if the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def max_bytes() -> int | None:
    """Return the value of ``MAPGAUGE_MAX_BYTES``, which also limits files that are not compressed; None if not set."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:20]) > 0):
        raise InvalidInput(f"{VARIABLE} is {text[:40]!r}, expected a whole number of bytes greater than 0")
    return int(text[:20])


def kind_of(mode: int) -> str | None:
    """Return what a path is if it is not a plain file, such as ``"a device"``; None for a plain file."""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), None)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder."""
    return stat.S_ISDIR(_mode(path))


def is_plain_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a file that can be read from its beginning as often as needed."""
    return stat.S_ISREG(_mode(path))


def _mode(path: str | os.PathLike[str]) -> int:
    """Return the mode of a path; 0 if there is nothing, or if no file can have this name."""
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):  # a name with a zero byte is a ValueError
        return 0


class _Outputs:
    """The declared outputs, which of them were read, and what was written."""

    def __init__(self) -> None:
        self.paths: list[Path] = []
        self.written: list[Path] = []
        self._read: list[Path] = []

    def declare(self, paths: Iterable[Path] = ()) -> None:
        """Replace the declared outputs."""
        self.paths = list(paths)
        self.written = []
        self._read = []

    def check_input(self, path: str | os.PathLike[str]) -> None:
        """Refuse to read a file that will be overwritten. It is then not overwritten, even if this error is handled."""
        for output in self.paths:
            if _is_same(Path(path), output):
                self._read.append(output)
                raise overwrites(output)

    def check_output(self, path: Path) -> None:
        """Refuse to write a file that was read."""
        if any(_is_same(path, read) for read in self._read):
            raise overwrites(path)


OUTPUTS = _Outputs()


def overwrites(path: Path) -> MapgaugeError:
    """Return the error for an output that is an input."""
    return MapgaugeError(f"{path}: would overwrite an input of this command", remedy="Give another name")


def _is_same(path: Path, other: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):  # a path does not exist, or cannot
        return path.samefile(other)
    return False


def check_path(path: object) -> None:
    """Refuse a source that is neither text nor a path."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise InvalidInput(f"path must be a text or a path, got {path!r:.60}")


def _inside(folder: Path) -> str:
    """Return what to give instead of a folder: the files that are in it, or else its folders.

    The files are not opened, so none of them is said to be the right one.
    """
    inside = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
    if not inside:
        return "It is empty"
    files = [path.name for path in inside if is_plain_file(path)]
    if files:
        kind = "files"
        names = files
    else:
        kind = "folders"
        names = [path.name for path in inside]
    if len(names) > _NAMED:
        names = [*names[:_NAMED], "..."]
    text = f"Give one file. The {kind} in it: {', '.join(names)}"
    return text.encode("utf-8", "backslashreplace").decode()


class Content:
    """One file to read.

    The file is opened once, when its bytes are first needed, and closed again before the first of them is used. A
    ``Content`` is also a path: ``read`` accepts it and does not open the file again.
    """

    def __init__(self, path: str | os.PathLike[str], most: int | None = None) -> None:
        """Check that the file exists and is not empty, and has ``most`` bytes at most, without opening it."""
        check_path(path)
        self.path: Path = Path(path)
        self._compressed = False
        try:
            status = self.path.stat()
            kind = kind_of(status.st_mode)
            if kind is not None:
                remedy = _REMEDIES.get(kind)
                if kind == "a directory":
                    remedy = _inside(self.path)
                raise self.error(f"this is {kind}, expected a file", remedy=remedy)
            if not os.access(self.path, os.R_OK):
                raise self.error("cannot be read: permission denied")
        except FileNotFoundError:
            folder = self.path.parent
            if folder.is_dir():
                reason = "does not contain it"
            else:
                reason = "does not exist"
            raise self.error(f"no such file (the folder {folder} {reason})") from None
        except UnreadableFile:
            raise
        except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
            raise self.error(f"cannot be read: {_reason(error)}") from error
        OUTPUTS.check_input(self.path)
        if not status.st_size:
            raise self.error("the file is empty")
        limit = max_bytes()
        if limit is not None and status.st_size > limit:
            raise self.error(f"the file has {status.st_size} bytes, more than {limit}", remedy=RAISE)
        if most is not None and status.st_size > most:
            raise self.error(f"the file has {status.st_size} bytes, expected at most {most}")

    def __fspath__(self) -> str:
        """Return the path as text."""
        return os.fspath(self.path)

    def error(self, message: str, *, remedy: Remedy | str | None = None) -> UnreadableFile:
        """Return an error whose message begins with the path."""
        # A file may hold texts, and have a name, that cannot be printed: halves of pairs of surrogates.
        text = f"{self.path}: {message}".encode("utf-8", "backslashreplace").decode()
        return UnreadableFile(text, remedy=remedy)

    @cached_property
    def data(self) -> bytes:
        """All bytes, decompressed."""
        return self._decompressed(self._read(unless=None))

    @cached_property
    def is_parquet(self) -> bool:
        """Whether the file is an uncompressed Parquet file, which can be read row group by row group.

        Only the first bytes of a Parquet file are read. Any other file can only be read completely, so this reads it
        at once and keeps the bytes in ``data``.
        """
        if "data" not in self.__dict__:
            data = self._read(unless=_PARQUET)
            if data == _PARQUET:
                return True
            self.data = self._decompressed(data)
            return False
        return self.data.startswith(_PARQUET) and not self._compressed

    def _read(self, unless: bytes | None) -> bytes:
        """Read the file in one go; if it begins with ``unless``, read no further and return that."""
        # Not a memory map: if the file shrank while it is mapped, the process would be killed.
        try:
            with self.path.open("rb", buffering=0) as file:
                before = os.fstat(file.fileno())
                if unless is not None:
                    if file.read(len(unless)) == unless:
                        return unless
                    file.seek(0)
                if before.st_size > (memory() or before.st_size):
                    raise self.error(f"the file has {before.st_size} bytes, more than this machine has memory")
                data = file.readall()
                after = os.fstat(file.fileno())
        except OSError as error:
            raise self.error(f"cannot be read: {_reason(error)}") from error
        except MemoryError as error:
            raise self.error("not enough memory to read this file") from error
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(data) != after.st_size:
            raise self.error(
                "the file changed while it was read", remedy="Wait until nothing writes to it, then try again"
            )
        if not data:
            raise self.error("the file is empty")
        return data

    def _decompressed(self, data: bytes) -> bytes:
        self._compressed = data.startswith((GZIP, ZSTD))
        if not self._compressed:
            return data
        limit = most_bytes(len(data))
        try:
            return decompressed(data, limit)
        except TooLarge:
            raise self.error(
                f"the file has {len(data)} bytes, and more than {limit} once it is decompressed", remedy=RAISE
            ) from None
        except ValueError as error:
            raise self.error(
                f"broken compression: {error}", remedy="Check that it was copied or downloaded completely"
            ) from error

    @cached_property
    def kind(self) -> Kind:
        """The kind of file, judged by its first bytes."""
        start = self.data[:64]
        if start.startswith(_PARQUET):
            return "parquet"
        if begins_as_results(start):
            raise self.error(
                "these are results, expected predictions or truth", remedy="Load them with mapgauge.load_results"
            )
        if start.startswith(ZIP) and not self.is_zipped_map:
            raise self.error(
                "a zip archive, as torch.save writes it; expected JSON, a pickle or Parquet",
                remedy="Save numpy arrays with pickle.dump, or unpack the archive",
            )
        if start[:3] == b"\xef\xbb\xbf" or start.lstrip(b" \t\r\n")[:1] in (b"{", b"["):
            return "json"
        # Protocols 2 and later begin with b"\x80"; 0 and 1 begin with an opcode for a container, as in b"(dp0".
        if start[:1] == b"\x80" or start[:1] in (b"(", b"]", b"}"):
            return "pickle"
        return "other"

    @property
    def is_zipped_map(self) -> bool:
        """Whether the file is a zip archive with a Shapefile. Its names stand at the end."""
        return self.data.startswith(ZIP) and b".shp" in self.data[-_HEAD:].lower()

    @cached_property
    def text(self) -> bytes:
        """The bytes of a JSON file, without a byte order mark."""
        return self.data.removeprefix(b"\xef\xbb\xbf")

    @cached_property
    def keys(self) -> frozenset[str]:
        """Keys near the beginning of a JSON file; all keys once ``look_further`` was called."""
        return self._keys_within(_HEAD)

    def look_further(self) -> None:
        """Search the whole file for keys, because its beginning was not enough to recognise the format."""
        self.keys = self._keys_within(len(self.text))

    def _keys_within(self, end: int) -> frozenset[str]:
        if self.kind == "json":
            keys = set(_KEY.findall(self.text, 0, end))
        else:
            keys = set()
        return frozenset(key.decode("utf-8", "replace") for key in keys)

    @cached_property
    def document(self) -> Any:
        """The whole file as plain objects, for pickles and for JSON that does not follow the schema."""
        if self.kind == "pickle":
            return unpickle(self.data, self.error)
        return parse_json(self.text, self.error)

    @cached_property
    def tree(self) -> PickleTree | None:
        """The values of a pickle as a table; None for other files, and for pickles that are not sound plain data."""
        if self.kind != "pickle":
            return None
        return read_tree(self.data)

    def columns(self, read: Callable[..., T], *arguments: Any) -> T | None:
        """Return what a reader of columns makes of a pickle; None if the file is not sound plain data."""
        if self.tree is None:
            columns = None
        else:
            columns = or_none(read, self.tree, *arguments)
        if columns is None:
            self.tree = None  # it is not needed any more, and as large as the file
        return columns

    @cached_property
    def outline(self) -> Any:
        """The beginning of the document, as far as recognising its format needs it; see ``PickleTree.outline``."""
        if self.tree is None:
            outline = None
        else:
            outline = or_none(self.tree.outline)
        if outline is None:
            return self.document
        return outline

    def is_pickled(self, kind: type) -> bool:
        """Whether the file is a pickle of a value of some type."""
        return self.kind == "pickle" and isinstance(self.outline, kind)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


class TooLarge(Exception):
    """The content is larger than allowed."""


def decompressed(data: bytes, limit: int) -> bytes:
    """Return the content of a gzip or zstd file; other data unchanged. Raise ``TooLarge``, or ValueError if damaged."""
    if data.startswith(GZIP):
        return _decompressed_members(
            data, limit, lambda: zlib.decompressobj(wbits=31), broken=zlib.error, padding=_ZEROS
        )
    if data.startswith(ZSTD):
        zstd = zstd_module()
        return _decompressed_members(data, limit, zstd.ZstdDecompressor, broken=zstd.ZstdError, padding=None)
    return data


def _decompressed_members(
    data: bytes,
    limit: int,
    make: Callable[[], Any],
    broken: type[Exception],
    padding: re.Pattern[bytes] | None,
) -> bytes:
    """Decompress all members of a file; the members follow each other, with padding between them."""
    parts: list[bytes] = []
    room = limit + 1
    view = memoryview(data)
    at = 0
    chunk = len(data)  # the first member at once, so that its content needs no second copy
    while at < len(data):
        member = make()
        while not member.eof:
            if at == len(data):
                raise ValueError("the file ends before the compressed data do")
            given = view[at : at + chunk]
            try:
                part = member.decompress(given, room)
            except broken as error:
                raise ValueError(str(error)) from error
            parts.append(part)
            room -= len(part)
            if room <= 0:
                raise TooLarge
            at += len(given)
            chunk = min(2 * chunk, _CHUNK[1])
        at -= len(member.unused_data)
        # Short at first: a decompressor copies what follows its member, which is slow for many small members.
        chunk = _CHUNK[0]
        if padding is not None:
            at = padding.match(data, at).end()  # type: ignore[union-attr]  # matches the empty text
    if len(parts) == 1:
        return parts[0]
    return b"".join(parts)


def read_tokens(path: Path) -> list[str]:
    """Return the tokens in a file with one per line. Empty lines do not count."""
    try:
        lines = Content(path).data.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UnreadableFile(f"{path}: expected text with one token per line: {error}") from error
    tokens = [line.strip() for line in lines if line.strip()]
    if not tokens:
        raise UnreadableFile(f"{path}: expected text with one token per line, found no tokens")
    return tokens
