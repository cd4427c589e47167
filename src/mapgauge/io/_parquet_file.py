"""The footer and the row groups of a Parquet file: the schema is checked before any column is read."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from mapgauge.decoding import decode_json
from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.frames.columns import stored_columns
from mapgauge.frames.findings import Finding
from mapgauge.io._format import declared_system, system_of_schema
from mapgauge.io.files.json_documents import MakeError, refuse_doubled_keys
from mapgauge.io.files.source import RAISE, most_bytes
from mapgauge.typing import Forward

_BYTE_ARRAY = 6  # the physical type of texts
_TAIL = 1 << 16  # bytes at the end of a file that are read at once
VERSION = 1  # of the schema; files with a later version are refused
REQUIRED = ("token", "class", "geometry")
_FIXED = ("frame", *REQUIRED, "scene", "timestamp", "confidence", "pose", "links")  # besides ``COLUMNS``
_BOUNDED = ("token", "class", "scene")  # columns of other names may hold bytes that are no text
AXES = ("x", "y", "z")
_NO_WKB = 'WKB is not supported: with geopandas, write geometry_encoding="geoarrow"'
_DEEPEST = 20  # nested structures and lists; the format has 7


class ThriftReader:
    """Reads Thrift's compact protocol into dictionaries by field number, lists, numbers and bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def structure(self, depth: int) -> dict[int, Any]:
        """Read a structure up to its end."""
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return fields
            if head >> 4:
                number = number + (head >> 4)
            else:
                number = self._signed()
            kind = head & 15
            if kind in (1, 2):
                fields[number] = kind == 1
            else:
                fields[number] = self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 8:
            return self._take(self._unsigned())
        if depth == _DEEPEST:
            raise ValueError("its footer is nested too deeply")
        if kind == 12:
            return self.structure(depth + 1)
        if kind in (9, 10):
            head = self._byte()
            if head >> 4 < 15:
                count = head >> 4
            else:
                count = self._unsigned()
            if count > len(self.data) - self.at:
                raise ValueError("its footer ends early")
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind in (1, 2, 3):  # in lists, a truth value is a byte
            return self._byte()
        if kind == 7:
            return self._take(8)
        raise ValueError(f"its footer has a field of the unknown type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) < count:
            raise ValueError("its footer ends early")
        self.at += count
        return taken

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("its footer has a number of more than 64 bits")

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


class RowGroupInfo(NamedTuple):
    """What the footer says about one row group."""

    rows: int
    values: int  # in all columns
    size: int  # bytes, uncompressed
    texts: dict[str, tuple[str, str]]  # bounds of columns of texts that have statistics: first, last
    numbers: dict[str, tuple[int, int]]  # bounds of columns of whole numbers


def footer_bytes(stream: Any) -> bytes:
    """Read the footer, which stands before its length and the four bytes at the end of the file."""
    end = stream.seek(0, 2)
    stream.seek(max(0, end - _TAIL))
    tail = stream.read(_TAIL)
    size = int.from_bytes(tail[-8:-4], "little") + 8
    if size > end:
        raise ValueError("its footer ends early")
    if size > len(tail):
        stream.seek(end - size)
        tail = stream.read(size)
    return bytes(tail[-size:-8])


def row_groups(data: bytes) -> list[RowGroupInfo]:
    """Return the row groups that a footer describes, or raise a ValueError if it is damaged."""
    try:
        document = ThriftReader(data).structure(0)
        ordered = 7 in document  # statistics have a defined order
        return [_row_group(group, ordered) for group in document[4]]
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"its footer is damaged ({type(error).__name__})") from error


def check_size(groups: Sequence[RowGroupInfo], data: int, error: MakeError) -> None:
    """Refuse a file that becomes far larger than it is, before its columns are read."""
    limit = most_bytes(data)
    size = max(sum(group.size for group in groups), 8 * sum(max(group.values, group.rows) for group in groups))
    if size > limit:
        raise error(f"the file has {data} bytes, and its columns {size}, expected at most {limit}", remedy=RAISE)


def _row_group(group: dict[int, Any], ordered: bool) -> RowGroupInfo:
    texts: dict[str, tuple[str, str]] = {}
    numbers: dict[str, tuple[int, int]] = {}
    for chunk in group[1]:
        about = chunk.get(3, {})
        statistics = about.get(12, {})
        if not ordered or len(about[3]) != 1 or 5 not in statistics or 6 not in statistics:
            continue
        name = about[3][0].decode()
        kind = about[1]
        first = statistics[6]
        last = statistics[5]
        if kind == _BYTE_ARRAY and name in _BOUNDED:
            texts[name] = first.decode(), last.decode()
        elif kind in (1, 2):  # 32 and 64 bits
            numbers[name] = int.from_bytes(first, "little", signed=True), int.from_bytes(last, "little", signed=True)
    rows = group[3]
    size = group[2]
    values = [chunk.get(3, {}).get(5, 0) for chunk in group[1]]
    if rows < 0 or size < 0 or min(values, default=0) < 0:
        raise ValueError("its footer gives a row group with a negative number of rows, values or bytes")
    return RowGroupInfo(rows, sum(values), size, texts=texts, numbers=numbers)


class _Version(msgspec.Struct):
    version: int


class Metadata(_Version):
    """The metadata of the file under the key ``mapgauge``."""

    dimension: int
    classes: tuple[str, ...]
    name: str = ""  # of the frames that were written, and the format they came from
    format: str = ""
    findings: tuple[Finding, ...] = ()
    forward: Forward | None = None
    boxes: tuple[str, ...] = ()  # names of the classes whose instances are boxes in an image


def broken_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that pyarrow raises for damaged files."""
    return (pyarrow_modules()[0].ArrowException, OSError, ValueError, MemoryError)


def broken(error: MakeError, cause: BaseException) -> UnreadableFile:
    """Return the error for a file that pyarrow cannot read."""
    return error(f"broken Parquet: {cause}", remedy="Check that it was written or copied completely")


def open_parquet(error: MakeError, stream: Any, *, projected: bool = False) -> tuple[Any, Any]:
    """Open a file to read row groups, and return its schema as well, which is checked.

    A reference system without metres is refused, unless the coordinates are projected later.
    """
    try:
        file = opened(stream)
        schema = file.schema_arrow
        about_of(error, schema)
        _check(error, schema)
        where = "the reference system of the column geometry"
        declared_system(system_of_schema(schema, error), error, where, projected=projected)
    except UnreadableFile:
        raise
    except broken_errors() as cause:  # a damaged name of a column is not UTF-8
        raise broken(error, cause) from cause
    return file, schema


def opened(stream: Any, footer: Any = None) -> Any:
    """Open a file whose pages are checked when they are read."""
    _, pq = pyarrow_modules()
    return pq.ParquetFile(stream, metadata=footer, page_checksum_verification=True)


def columns_to_read(schema: Any, without: Sequence[str] = ()) -> list[str]:
    """Return the names of the columns that mapgauge reads."""
    known = {*_FIXED, *(column.name for column in stored_columns())}
    return [name for name in schema.names if name in known and name not in without]


def about_of(error: MakeError, schema: Any) -> Metadata | None:
    """Return the metadata that mapgauge wrote; None for files that another program wrote."""
    data = (schema.metadata or {}).get(b"mapgauge")
    if data is None:
        return None
    try:
        version = decode_json(data, _Version).version
        if version <= VERSION:
            about = decode_json(data, Metadata)
    except (msgspec.MsgspecError, UnicodeDecodeError) as cause:
        raise error(f"broken Parquet: the metadata 'mapgauge' are invalid: {cause}") from cause
    if version > VERSION:
        raise error(
            f"written by a newer mapgauge (schema {version}, this version reads up to {VERSION})",
            remedy="Update mapgauge",
        )
    refuse_doubled_keys(data, error)
    return about


def _check(error: MakeError, schema: Any) -> None:
    """Refuse columns that are missing, occur twice or have the wrong type."""
    missing = [name for name in REQUIRED if name not in schema.names]
    if missing:
        raise error(
            f"no column {', '.join(missing)}; expected at least {', '.join(REQUIRED)}, "
            f"got {', '.join(schema.names) or 'none'}",
            remedy=Remedy(
                'Make such a file with mg.write(mg.MapFrames.of(...), "map.parquet"), or save a map as GeoParquet',
                "Make such a file from one of another format with: mapgauge convert FILE map.parquet, or save a map as "
                "GeoParquet",
            ),
        )
    kinds = {column.name: column.kind for column in stored_columns()}
    for name in (*_FIXED, *kinds):
        times = schema.names.count(name)
        if times > 1:
            raise error(f"{times} columns are called {name}, expected one")
        if times:
            kind = schema.field(name).type
            kind = getattr(kind, "storage_type", kind)
            expected = _expected(kinds.get(name, name), kind)
            if expected:
                binary = pyarrow_modules()[0].types.is_binary(kind) or pyarrow_modules()[0].types.is_large_binary(kind)
                if name == "geometry" and binary:
                    remedy = _NO_WKB
                else:
                    remedy = None
                raise error(f"the column {name} is {kind}, expected {expected}", remedy=remedy)


def _expected(name: str, kind: Any) -> str:
    """Return the expected type of a column if it has another type, else an empty text.

    ``name`` is its name, or ``Column.kind`` of a row of ``COLUMNS``.
    """
    pa, _ = pyarrow_modules()
    types = pa.types

    def number(kind: Any) -> bool:
        return bool(types.is_integer(kind) or types.is_floating(kind))

    def text(kind: Any) -> bool:
        return bool(types.is_string(kind) or types.is_large_string(kind))

    def many(kind: Any) -> bool:
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    if types.is_dictionary(kind):
        plain = kind.value_type
    else:
        plain = kind
    named = text(plain) or types.is_string_view(plain)
    if many(kind):
        inner = kind.value_type
    else:
        inner = pa.null()
    if types.is_struct(inner):
        members = {field.name: field.type for field in inner}
    else:
        members = {}
    if name == "links":
        sound = types.is_integer(members.get("target", pa.null())) and number(members.get("weight", pa.float64()))
        sound = sound and text(members.get("kind", pa.string()))
    else:
        points = sorted(members) in (["x", "y"], ["x", "y", "z"]) and all(map(number, members.values()))
        sound = points or (many(inner) and number(inner.value_type))
    whole = types.is_integer(kind), "whole numbers"
    name_or_id = named or types.is_integer(plain), "text"
    expected = {
        "frame": whole,
        "timestamp": whole,
        "token": name_or_id,
        "scene": name_or_id,
        "id": name_or_id,
        "class": (named, "text, the name of the class"),
        "confidence": (number(kind), "numbers"),
        "pose": (number(inner), "lists of 16 numbers"),
        "flag": (types.is_boolean(kind), "true or false"),
        "text": (named, "text"),
        "number": (number(kind), "numbers"),
        "links": (sound, "lists of structs with target, a whole number, weight and kind"),
        "geometry": (sound, "lists of points, each a struct of x, y (and z) or a list of numbers"),
    }
    fits, description = expected[name]
    if fits:
        return ""
    return description
