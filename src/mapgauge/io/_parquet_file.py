"""The footer and the row groups of a Parquet file: the schema is checked before any column is read."""

from collections.abc import Sequence
from typing import Any

import msgspec

from mapgauge.decoding import decode_json
from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.files.errors import MakeError
from mapgauge.files.json_documents import refuse_doubled_keys
from mapgauge.frames.findings import Finding
from mapgauge.io._crs import refuse_geoparquet
from mapgauge.typing import Forward

VERSION = 1  # of the schema; files with a later version are refused
REQUIRED = ("token", "class", "geometry")
COLUMNS = ("frame", *REQUIRED, "scene", "timestamp", "confidence", "track", "pose", "links", "intersection")
AXES = ("x", "y", "z")
_NO_WKB = 'WKB is not supported: with geopandas, write geometry_encoding="geoarrow"'


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


_KNOWN: dict[bytes, Metadata] = {}  # sound metadata that were decoded
_MOST = 8  # of them


def broken_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that pyarrow raises for damaged files."""
    return (pyarrow_modules()[0].ArrowException, OSError, ValueError, MemoryError)


def broken(error: MakeError, cause: BaseException) -> UnreadableFile:
    """Return the error for a file that pyarrow cannot read."""
    return error(f"broken Parquet: {cause}", remedy="Check that it was written or copied completely")


def open_footer(error: MakeError, stream: Any) -> tuple[Any, Any]:
    """Return the metadata of a file and its schema, which is checked."""
    file, schema = open_parquet(error, stream)
    with file:
        return file.metadata, schema


def open_parquet(error: MakeError, stream: Any) -> tuple[Any, Any]:
    """Open a file to read row groups, and return its schema as well, which is checked."""
    try:
        file = _opened(stream)
        schema = file.schema_arrow
        about_of(error, schema)
        _check(error, schema)
        refuse_geoparquet(schema, error)
    except UnreadableFile:
        raise
    except broken_errors() as cause:  # a damaged name of a column is not UTF-8
        raise broken(error, cause) from cause
    return file, schema


def read_group(stream: Any, footer: Any, schema: Any, index: int, without: Sequence[str] = ()) -> Any:
    """Read one row group, without some columns."""
    with _opened(stream, footer) as file:
        return file.read_row_group(index, columns=columns_of(schema, without), use_threads=False)


def _opened(stream: Any, footer: Any = None) -> Any:
    _, pq = pyarrow_modules()
    return pq.ParquetFile(stream, metadata=footer, page_checksum_verification=True)


def columns_of(schema: Any, without: Sequence[str] = ()) -> list[str]:
    """Return the names of the columns that mapgauge reads."""
    return [name for name in schema.names if name in COLUMNS and name not in without]


def about_of(error: MakeError, schema: Any) -> Metadata | None:
    """Return the metadata that mapgauge wrote; None for files that another program wrote."""
    data = (schema.metadata or {}).get(b"mapgauge")
    if data is None:
        return None
    if data in _KNOWN:  # the parts of a data set have the same
        return _KNOWN[data]
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
    if len(_KNOWN) == _MOST:
        _KNOWN.clear()
    _KNOWN[data] = about
    return about


def _check(error: MakeError, schema: Any) -> None:
    """Refuse columns that are missing, occur twice or have the wrong type."""
    missing = [name for name in REQUIRED if name not in schema.names]
    if missing:
        raise error(
            f"no column {', '.join(missing)}; expected at least {', '.join(REQUIRED)}, "
            f"got {', '.join(schema.names) or 'none'}",
            remedy=Remedy(
                'Make such a file with mg.write(mg.MapFrames.of(...), "map.parquet")',
                "Make such a file from one of another format with: mapgauge convert FILE map.parquet",
            ),
        )
    for name in COLUMNS:
        times = schema.names.count(name)
        if times > 1:
            raise error(f"{times} columns are called {name}, expected one")
        if times:
            kind = schema.field(name).type
            kind = getattr(kind, "storage_type", kind)
            expected = _expected(name, kind)
            if expected:
                remedy = _NO_WKB if name == "geometry" and _is_binary(kind) else None
                raise error(f"the column {name} is {kind}, expected {expected}", remedy=remedy)


def _expected(name: str, kind: Any) -> str:
    """Return the expected type of a column if it has another type, else an empty text."""
    pa, _ = pyarrow_modules()
    types = pa.types

    def number(kind: Any) -> bool:
        return bool(types.is_integer(kind) or types.is_floating(kind))

    def many(kind: Any) -> bool:
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))

    plain = kind.value_type if types.is_dictionary(kind) else kind
    text = types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)
    if name in ("frame", "timestamp"):
        return "" if types.is_integer(kind) else "whole numbers"
    if name in ("token", "scene", "track"):
        return "" if text or types.is_integer(plain) else "text"
    if name == "class":
        return "" if text else "text, the name of the class"
    if name == "confidence":
        return "" if number(kind) else "numbers"
    if name == "pose":
        return "" if many(kind) and number(kind.value_type) else "lists of 16 numbers"
    if name == "intersection":
        return "" if types.is_boolean(kind) else "true or false"
    if name == "links":
        members = {field.name: field.type for field in kind.value_type} if many(kind) and _is_struct(kind) else {}
        whole = "target" in members and types.is_integer(members["target"])
        weighed = number(members.get("weight", pa.float64()))
        named = types.is_string(members.get("kind", pa.string())) or types.is_large_string(members["kind"])
        return "" if whole and weighed and named else "lists of structs with target, a whole number, weight and kind"
    if many(kind):
        point = kind.value_type
        axes = [field.name for field in point] if _is_struct(kind) else []
        if sorted(axes) in (["x", "y"], ["x", "y", "z"]) and all(number(field.type) for field in point):
            return ""
        if many(point) and number(point.value_type):
            return ""
    return "lists of points, each a struct of x, y (and z) or a list of numbers"


def _is_struct(kind: Any) -> bool:
    """Whether the values of a list type are structs."""
    return bool(pyarrow_modules()[0].types.is_struct(kind.value_type))


def _is_binary(kind: Any) -> bool:
    types = pyarrow_modules()[0].types
    return bool(types.is_binary(kind) or types.is_large_binary(kind))
