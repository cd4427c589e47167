"""The columns of a Parquet file as numpy arrays, each checked: types, nulls, and what must fit together."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import UnreadableFile
from mapgauge.files.source import Content
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import Indices
from mapgauge.typing import Points

VERSION = 1  # of the schema; a reader refuses files of a later one
REQUIRED = ("token", "class", "geometry")
COLUMNS = ("frame", *REQUIRED, "scene", "timestamp", "confidence", "track", "pose")
AXES = ("x", "y", "z")


class _Version(msgspec.Struct):
    version: int


class Metadata(_Version):
    """What the file's metadata say under ``mapgauge``."""

    dimension: int
    classes: tuple[str, ...]
    name: str = ""  # of what was written, and the format it came in
    format: str = ""
    findings: tuple[Finding, ...] = ()


class Source(Protocol):
    """What is read, as errors need it."""

    def error(self, message: str) -> UnreadableFile:
        """An error that says where it is."""


def broken_errors() -> tuple[type[Exception], ...]:
    """What pyarrow raises for damaged files."""
    return (pyarrow_modules()[0].ArrowException, OSError, ValueError, MemoryError)


def broken(source: Source, error: BaseException) -> UnreadableFile:
    """The error for what pyarrow cannot read."""
    return source.error(f"broken Parquet: {error}. Was it written or copied completely?")


def open_footer(source: Source, stream: Any) -> tuple[Any, Any]:
    """The metadata of a file and its schema, which is checked."""
    _, pq = pyarrow_modules()
    try:
        with pq.ParquetFile(stream) as file:
            footer, schema = file.metadata, file.schema_arrow
    except broken_errors() as error:
        raise broken(source, error) from error
    about_of(source, schema)
    _check(source, schema)
    return footer, schema


def read_group(stream: Any, footer: Any, schema: Any, index: int, without: Sequence[str] = ()) -> Any:
    """The columns of one row group, but for some."""
    _, pq = pyarrow_modules()
    with pq.ParquetFile(stream, metadata=footer, page_checksum_verification=True) as file:
        return file.read_row_group(index, columns=columns_of(schema, without), use_threads=False)


def columns_of(schema: Any, without: Sequence[str] = ()) -> list[str]:
    """The columns that we read."""
    return [name for name in schema.names if name in COLUMNS and name not in without]


def about_of(source: Source, schema: Any) -> Metadata | None:
    """What our writer noted; None in files of others."""
    data = (schema.metadata or {}).get(b"mapgauge")
    if data is None:
        return None
    try:
        version = msgspec.json.decode(data, type=_Version).version
        if version <= VERSION:
            about = msgspec.json.decode(data, type=Metadata)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise source.error(f"broken Parquet: its metadata 'mapgauge' are not as written: {error}") from error
    if version > VERSION:
        raise source.error(
            f"written by a newer mapgauge (schema {version}, this one reads up to {VERSION}). Update mapgauge"
        )
    return about


def _check(source: Source, schema: Any) -> None:
    """Refuse columns that are missing, occur twice or have another type."""
    missing = [name for name in REQUIRED if name not in schema.names]
    if missing:
        raise source.error(
            f"no column {', '.join(missing)}. Expected at least {', '.join(REQUIRED)}, "
            f"got {', '.join(schema.names) or 'none'}. docs/how-to/bring-your-own-data.md shows how to make one"
        )
    for name in COLUMNS:
        times = schema.names.count(name)
        if times > 1:
            raise source.error(f"{times} columns are called {name}, expected one")
        if times:
            kind = schema.field(name).type
            kind = getattr(kind, "storage_type", kind)
            expected = _expected(name, kind)
            if expected:
                raise source.error(f"the column {name} is {kind}, expected {expected}")


class Rows:
    """Columns as arrays with one value per row, each checked; errors say which row.

    They are those of a whole file, or of some of its row groups.
    """

    def __init__(
        self, source: Source, schema: Any, groups: Sequence[Any], *, whole: bool = True, without: Sequence[str] = ()
    ) -> None:
        """Take what ``read_group`` gave for some groups of a file; ``source`` knows what to call it in errors."""
        self.source = source
        self.whole = whole
        self.about = about_of(source, schema)
        pa, _ = pyarrow_modules()
        try:
            empty = pa.schema([schema.field(name) for name in columns_of(schema, without)]).empty_table()
            self.table = pa.concat_tables([empty, *groups])
            self.table.validate(full=True)
        except broken_errors() as error:
            raise broken(source, error) from error

    @classmethod
    def of(cls, content: Content) -> "Rows":
        """All rows of a file."""
        pa, _ = pyarrow_modules()
        data = pa.py_buffer(content.data)
        footer, schema = open_footer(content, pa.BufferReader(data))

        def group(index: int) -> Any:
            return read_group(pa.BufferReader(data), footer, schema, index)

        try:
            # One thread per row group: pyarrow's own threads take a column each, and one column has all the points.
            with ThreadPoolExecutor(pa.cpu_count()) as pool:
                groups = list(pool.map(group, range(footer.num_row_groups)))
        except broken_errors() as error:
            raise broken(content, error) from error
        return cls(content, schema, groups)

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self.table.column_names

    def _column(self, name: str) -> Any:
        pa, _ = pyarrow_modules()
        column = self.table[name]
        if isinstance(column.type, pa.BaseExtensionType):
            return pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
        return column

    def _refuse(self, bad: NDArray[np.bool_], what: str) -> None:
        """Raise an error about the first of the rows that are bad."""
        if bad.any():
            raise self.source.error(f"row {np.argmax(bad)}: {what}")

    def texts(self, name: str, *, optional: bool = False) -> tuple[Indices, list[str]]:
        """A code for each row, and the texts by code; -1 where there is none."""
        pa, _ = pyarrow_modules()
        column = self._column(name)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        codes: dict[str, int] = {}
        texts = array.dictionary.to_pylist()
        code = np.array([-1 if text is None else codes.setdefault(str(text), len(codes)) for text in texts] + [-1])
        found = code[array.indices.cast(pa.int64()).fill_null(-1).to_numpy()]
        if not optional:
            self._refuse(found < 0, f"{name} is null, expected a text")
        return found, list(codes)

    def integers(self, name: str) -> Indices:
        """A column of whole numbers."""
        pa, _ = pyarrow_modules()
        column = self._column(name)
        self._refuse(column.is_null().to_numpy(), f"{name} is null, expected a whole number")
        try:
            return np.asarray(column.cast(pa.int64()).to_numpy())
        except pa.ArrowInvalid as error:
            raise self.source.error(f"the column {name} has a number beyond 64 bits: {error}") from error

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers; null is NaN, which makes an instance degenerate."""
        return _floats(self._column(name))

    def frames(self, token: Indices) -> Indices:
        """The frame of each row: as the file says, or a run of equal tokens."""
        change = np.diff(token, prepend=-1) != 0
        if not self.has("frame"):
            run = np.flatnonzero(change)
            again = np.ones(len(run), np.bool_)
            again[np.unique(token[run], return_index=True)[1]] = False
            bad = np.zeros(len(token), np.bool_)
            bad[run[again]] = True
            self._refuse(bad, "its token came before, in rows that are not next to it. Sort the rows by token")
            return np.cumsum(change) - 1
        frame = self.integers("frame")
        if not self.whole:  # numbers count in the whole file, of which some frames are here
            frame = np.cumsum(np.diff(frame, prepend=frame[:1]) != 0)
        step = np.diff(frame, prepend=-1)
        self._refuse(
            (step < 0) | (step > 1) | ((step == 0) & (np.arange(len(step)) == 0)),
            "frame must count from 0 and rise by at most 1; a frame without instances is one row without class and "
            "geometry. Without a column frame, each run of equal tokens is one",
        )
        self._refuse((step == 0) & change, "it has the frame of the row before, but another token")
        return frame

    def once(self, name: str, values: Indices, frame: Indices, first: Indices) -> Indices:
        """A value for each frame, from a column that repeats it in each row."""
        self._refuse(values != values[first][frame], f"{name} is not that of the other rows of the frame")
        return values[first]

    def labels(self) -> tuple[Indices, tuple[str, ...]]:
        """The label of each row, -1 where there is no class, and the names of the classes."""
        label, names = self.texts("class", optional=True)
        if self.about is None:
            return label, tuple(names)
        known = {name: code for code, name in enumerate(self.about.classes)}
        code = np.array([known.get(name, -2) for name in names] + [-1])
        label = code[label]
        self._refuse(label == -2, f"unknown class. The file says it has {', '.join(self.about.classes) or 'none'}")
        return label, self.about.classes

    def points(self) -> tuple[Indices, Points]:
        """The number of points of each row, and all points."""
        pa, _ = pyarrow_modules()
        column = self._column("geometry")
        sizes = _lengths(column)
        blocks = [pa.compute.list_flatten(chunk) for chunk in column.chunks]
        kind = column.type.value_type
        if pa.types.is_struct(kind):
            width = kind.num_fields
        else:
            widths = np.concatenate([np.empty(0, np.int64), *(_lengths(block) for block in blocks)])
            width = int(widths[0]) if len(widths) else 2
            odd = np.flatnonzero((widths != width) | (widths < 2) | (widths > 3))
            if len(odd):
                row = np.searchsorted(sizes.cumsum(), odd[0], side="right")
                raise self.source.error(
                    f"row {row}: a point has {widths[odd[0]]} coordinates, expected 2 or 3 and as many in all points"
                )
        stops = np.cumsum([len(block) for block in blocks], dtype=np.int64)
        coords = np.empty((sizes.sum(), width))

        def fill(block: Any, stop: int) -> None:
            part = coords[stop - len(block) : stop]
            if pa.types.is_struct(kind):
                axes = block.flatten()
                for k in range(width):
                    part[:, k] = _floats(axes[kind.get_field_index(AXES[k])])
            else:
                part[:] = _floats(pa.compute.list_flatten(block)).reshape(-1, width)

        if self.whole:
            with ThreadPoolExecutor(pa.cpu_count()) as pool:
                list(pool.map(fill, blocks, stops.tolist()))
        else:  # a worker, one of many, has one processor
            list(map(fill, blocks, stops.tolist()))
        return sizes, coords

    def instances(self, frame: Indices, label: Indices, sizes: Indices) -> Indices:
        """The rows that are an instance; each of the others is a frame without any."""
        without = label < 0
        self._refuse(without & (sizes > 0), "it has a geometry but no class")
        several = np.bincount(frame) > 1
        self._refuse(without & several[frame], "it has neither class nor geometry, but its frame has other rows")
        return np.flatnonzero(~without)

    def poses(self, frame: Indices, tokens: tuple[str, ...]) -> NDArray[np.float64]:
        """The pose of each frame: in its first row, or the same in several."""
        pa, _ = pyarrow_modules()
        column = self._column("pose")
        given = column.is_valid().to_numpy()
        self._refuse(given & (_lengths(column) != 16), "pose must be 16 numbers, a 4x4 matrix row by row")
        values = _floats(pa.compute.list_flatten(column)).reshape(-1, 16)
        owner = frame[given]
        lacking = np.bincount(owner, minlength=len(tokens)) == 0
        if lacking.any():
            raise self.source.error(
                f"frame {tokens[np.argmax(lacking)]} has no pose, others have. Expected one in its first row"
            )
        poses = values[np.searchsorted(owner, np.arange(len(tokens)))]
        differs = np.zeros(len(frame), np.bool_)
        differs[given] = (values.view(np.int64) != poses.view(np.int64)[owner]).any(axis=1)
        self._refuse(differs, "pose is not that of the other rows of the frame")
        return poses.reshape(-1, 4, 4)


def _expected(name: str, kind: Any) -> str:
    """What the type of a column should be, if it is something else."""
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
    if many(kind):
        point = kind.value_type
        axes = [field.name for field in point] if types.is_struct(point) else []
        if sorted(axes) in (["x", "y"], ["x", "y", "z"]) and all(number(field.type) for field in point):
            return ""
        if many(point) and number(point.value_type):
            return ""
    wkb = types.is_binary(kind) or types.is_large_binary(kind)
    hint = '. WKB is not read: geopandas writes points with geometry_encoding="geoarrow"' if wkb else ""
    return f"lists of points, each a struct of x, y (and z) or a list of numbers{hint}"


def _lengths(lists: Any) -> Indices:
    """The number of values in each list; 0 for null."""
    pa, _ = pyarrow_modules()
    return np.asarray(pa.compute.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _floats(values: Any) -> NDArray[np.float64]:
    """Numbers as float64; null is NaN."""
    pa, _ = pyarrow_modules()
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
