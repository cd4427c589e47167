"""The columns of a Parquet file as checked numpy arrays: types, nulls, and consistency between rows."""

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.frames.columns import TEXTS, Column, Values
from mapgauge.frames.links import SUCCESSOR, Links
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._format import declared_system, system_of_schema
from mapgauge.io._parquet_file import (
    AXES,
    about_of,
    broken,
    broken_errors,
    check_size,
    columns_to_read,
    footer_bytes,
    open_parquet,
    opened,
    row_groups,
)
from mapgauge.io.files.json_documents import MakeError
from mapgauge.typing import Flags, Indices, Points

FRAME_ORDER = (
    "frame must start at 0 and increase by at most 1; a frame without instances is one row without class and geometry",
    "Leave the column out to make each run of equal tokens a frame",
)
_REMEDY = "Number the instances of each frame from 0, in the order of their rows, or leave the column links out"


class ParquetColumns:
    """The columns of a whole file or of some of its row groups, as arrays with one value per row.

    Every column is checked, and errors name the row.
    """

    def __init__(
        self,
        error: MakeError,
        schema: Any,
        groups: Sequence[Any],
        *,
        whole: bool = True,
        without: Sequence[str] = (),
    ) -> None:
        """Take the tables of some row groups of a file."""
        self.error = error
        self.whole = whole
        self.about = about_of(error, schema)
        self.crs = declared_system(system_of_schema(schema, error), error, "geometry", projected=True)
        self._pa = pa = pyarrow_modules()[0]
        try:
            # Not ``empty_table``: it imports pandas, which takes half a second.
            fields = [schema.field(name) for name in columns_to_read(schema, without)]
            empty = pa.Table.from_batches([], schema=pa.schema(fields))
            self.table = pa.concat_tables([empty, *groups])
            self.starts = np.cumsum([0, *(len(group) for group in groups)])[:-1].tolist()  # first rows of the groups
            self.table.validate(full=True)
        except broken_errors() as cause:
            raise broken(error, cause) from cause

    @classmethod
    def of_bytes(cls, file: bytes, error: MakeError, *, projected: bool = False) -> "ParquetColumns":
        """Read all rows of a file in memory."""
        pa, _ = pyarrow_modules()
        data = pa.py_buffer(file)
        parquet, schema = open_parquet(error, pa.BufferReader(data), projected=projected)
        footer = parquet.metadata
        names = columns_to_read(schema)

        def group(index: int) -> Any:
            with opened(pa.BufferReader(data), footer) as part:
                return part.read_row_group(index, columns=names, use_threads=False)

        try:
            check_size(row_groups(footer_bytes(pa.BufferReader(data))), len(file), error)
            # One thread per row group: pyarrow's own threads take a column each, and one column has all the points.
            with ThreadPoolExecutor(pa.cpu_count()) as pool:
                groups = list(pool.map(group, range(footer.num_row_groups)))
        except UnreadableFile:
            raise
        except broken_errors() as cause:
            raise broken(error, cause) from cause
        return cls(error, schema, groups)

    def has(self, name: str) -> bool:
        """Whether the file has a column."""
        return name in self.table.column_names

    def _column(self, name: str) -> Any:
        column = self.table[name]
        if isinstance(column.type, self._pa.BaseExtensionType):
            return self._pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
        return column

    def _refuse(self, bad: NDArray[np.bool_], what: str, remedy: str | None = None) -> None:
        """Raise an error for the first bad row."""
        if bad.any():
            raise self.error(f"row {np.argmax(bad)}: {what}", remedy=remedy)

    def texts(self, name: str, *, optional: bool = False) -> tuple[Indices, list[str]]:
        """Return a code for each row and the texts by code; the code of null is -1."""
        column = self._column(name)
        if not self._pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes: dict[str, int] = defaultdict(count().__next__)
        label = np.empty(len(column), np.int64)
        start = 0
        for array in column.chunks:  # each has a dictionary of its own
            texts = array.dictionary.to_pylist()
            code = np.array([-1 if text is None else codes[str(text)] for text in texts] + [-1])
            if array.null_count:
                indices = array.indices.cast(self._pa.int64()).fill_null(-1)
            else:
                indices = array.indices
            np.take(code, as_numpy(indices), out=label[start : start + len(array)])
            start += len(array)
        if not optional:
            self._refuse(label < 0, f"{name} is null, expected a text")
        return label, list(codes)

    def integers(self, name: str) -> Indices:
        """Return a column of whole numbers."""
        column = self._column(name)
        if column.null_count:
            self._refuse(as_numpy(column.is_null()), f"{name} is null, expected a whole number")
        try:
            return as_numpy(column.cast(self._pa.int64()))
        except self._pa.ArrowInvalid as cause:
            raise self.error(f"the column {name} has a number beyond 64 bits: {cause}") from cause

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers. Null is NaN, which makes an instance degenerate."""
        return _floats(self._column(name))

    def flags(self, name: str) -> Flags:
        """Return a column of true and false. Null is false."""
        return np.asarray(as_numpy(self._column(name).fill_null(False)), np.bool_)

    def of_instances(self, column: Column, instance: Indices) -> Values:
        """Return the values of a column of the table ``COLUMNS``. Null is the empty value."""
        if column.kind in TEXTS:
            codes, names = self.texts(column.name, optional=True)
            return np.array([*names, column.empty], np.str_)[codes[instance]]
        if column.kind == "flag":
            return self.flags(column.name)[instance]
        numbers = self.numbers(column.name)
        self._refuse(np.isinf(numbers), f"{column.name} is infinite, expected a finite number")
        numbers = numbers[instance]
        return np.where(np.isnan(numbers), column.empty, numbers)

    def frames(self, token: Indices) -> Indices:
        """Return the frame of each row: from the column ``frame``, or one frame per run of equal tokens."""
        change = np.diff(token, prepend=-1) != 0
        if not self.has("frame"):
            run = np.flatnonzero(change)
            again = np.ones(len(run), np.bool_)
            again[np.unique(token[run], return_index=True)[1]] = False
            bad = np.zeros(len(token), np.bool_)
            bad[run[again]] = True
            self._refuse(bad, "its token also occurs earlier, in rows that are not adjacent", "Sort the rows by token")
            return np.cumsum(change) - 1
        frame = self.integers("frame")
        step = np.diff(frame, prepend=-1)
        wrong = (step < 0) | (step > 1) | (frame < 0)
        if self.whole:
            wrong[:1] |= step[:1] == 0
        else:  # frames are numbered within the whole file, and row groups may be missing before each row group here
            starts = [start for start in self.starts if start < len(step)]
            wrong[starts] = (step[starts] < 0) | (frame[starts] < 0)
        self._refuse(wrong, *FRAME_ORDER)
        self._refuse((step == 0) & change, "it has the same frame as the row before, but another token")
        if self.whole:
            return frame
        return np.cumsum(step != 0) - 1

    def once(self, name: str, values: Indices, frame: Indices, first: Indices) -> Indices:
        """Return one value per frame, from a column that repeats it in each row."""
        self._refuse(values != values[first][frame], f"{name} differs from the {name} of the other rows of the frame")
        return values[first]

    def labels(self) -> tuple[Indices, tuple[str, ...]]:
        """Return the label of each row, -1 for a row without class, and the names of the classes."""
        label, names = self.texts("class", optional=True)
        if self.about is None:
            return label, tuple(names)
        known = {name: code for code, name in enumerate(self.about.classes)}
        code = np.array([known.get(name, -2) for name in names] + [-1])
        label = code[label]
        self._refuse(label == -2, f"unknown class; the metadata list {', '.join(self.about.classes) or 'none'}")
        return label, self.about.classes

    def points(self) -> tuple[Indices, Points]:
        """Return the number of points of each row, and all points."""
        column = self._column("geometry")
        sizes = _lengths(column)
        blocks = [self._pa.compute.list_flatten(chunk) for chunk in column.chunks]
        kind = column.type.value_type
        if self._pa.types.is_struct(kind):
            width = kind.num_fields
        else:
            widths = np.concatenate([np.empty(0, np.int64), *(_lengths(block) for block in blocks)])
            if len(widths):
                width = int(widths[0])
            else:
                width = 2
            odd = np.flatnonzero((widths != width) | (widths < 2) | (widths > 3))
            if len(odd):
                row = np.searchsorted(sizes.cumsum(), odd[0], side="right")
                raise self.error(
                    f"row {row}: a point has {widths[odd[0]]} coordinates, expected 2 or 3, the same number in all "
                    "points"
                )
        stops = np.cumsum([len(block) for block in blocks], dtype=np.int64)
        coords = np.empty((sizes.sum(), width))

        def fill(block: Any, stop: int) -> None:
            part = coords[stop - len(block) : stop]
            if self._pa.types.is_struct(kind):
                axes = block.flatten()
                for k in range(width):
                    part[:, k] = _numbers(axes[kind.get_field_index(AXES[k])])
            else:
                part[:] = _numbers(self._pa.compute.list_flatten(block)).reshape(-1, width)

        if self.whole:
            with ThreadPoolExecutor(self._pa.cpu_count()) as pool:
                list(pool.map(fill, blocks, stops.tolist()))
        else:  # a worker is one of many and has one processor
            list(map(fill, blocks, stops.tolist()))
        return sizes, coords

    def structs(self, name: str) -> tuple[Indices, dict[str, NDArray[Any]]]:
        """Return the number of structs in the list of each row, and their members: numbers, or texts.

        A null number is NaN or -1, and a null text is empty.
        """
        column = self._column(name).combine_chunks()
        flat = self._pa.compute.list_flatten(column)
        members: dict[str, NDArray[Any]] = {}
        for field, values in zip(flat.type, flat.flatten(), strict=True):
            if self._pa.types.is_integer(field.type):
                whole = values.cast(self._pa.int64(), safe=False).fill_null(-1)
                members[field.name] = as_numpy(whole)
            elif self._pa.types.is_floating(field.type):
                members[field.name] = _floats(values)
            elif self._pa.types.is_string(field.type) or self._pa.types.is_large_string(field.type):
                coded = values.dictionary_encode()
                names = np.array([*coded.dictionary.to_pylist(), ""], np.str_)
                members[field.name] = names[as_numpy(coded.indices.fill_null(-1))]
        return _lengths(column), members

    def instances(self, frame: Indices, label: Indices, sizes: Indices) -> Indices:
        """Return the rows that are instances; every other row is a frame without instances."""
        without = label < 0
        self._refuse(without & (sizes > 0), "it has a geometry but no class")
        if without.any():
            several = np.bincount(frame) > 1
            self._refuse(without & several[frame], "it has neither class nor geometry, but its frame has other rows")
        return np.flatnonzero(~without)

    def poses(self, frame: Indices, tokens: tuple[str, ...]) -> NDArray[np.float64]:
        """Return the pose of each frame, which its first row or several of its rows hold."""
        column = self._column("pose")
        given = as_numpy(column.is_valid())
        self._refuse(given & (_lengths(column) != 16), "pose must be 16 numbers, a 4x4 matrix row by row")
        values = _floats(self._pa.compute.list_flatten(column)).reshape(-1, 16)
        owner = frame[given]
        lacking = np.bincount(owner, minlength=len(tokens)) == 0
        if lacking.any():
            raise self.error(
                f"frame {tokens[np.argmax(lacking)]} has no pose, but other frames do; expected one in its first row"
            )
        poses = values[np.searchsorted(owner, np.arange(len(tokens)))]
        differs = np.zeros(len(frame), np.bool_)
        differs[given] = (values.view(np.int64) != poses.view(np.int64)[owner]).any(axis=1)
        self._refuse(differs, "pose differs from the pose of the other rows of the frame")
        return poses.reshape(-1, 4, 4)


def _lengths(lists: Any) -> Indices:
    """Return the number of values in each list; 0 for null."""
    pa, _ = pyarrow_modules()
    lengths = pa.compute.list_value_length(lists)
    if lengths.null_count:
        counts = np.zeros(len(lengths), np.int64)
        counts[as_numpy(lengths.is_valid())] = as_numpy(lengths.drop_null())
        return counts
    return as_numpy(lengths).astype(np.int64, copy=False)


def _floats(values: Any) -> NDArray[np.float64]:
    """Return numbers as float64; null is NaN."""
    return np.asarray(_numbers(values), np.float64)


def _numbers(values: Any) -> NDArray[np.floating[Any]]:
    """Return numbers in their own width if they are floating; null is NaN."""
    pa, _ = pyarrow_modules()
    if not pa.types.is_floating(values.type):
        values = values.cast(pa.float64(), safe=False)
    return as_numpy(values)


def as_numpy(values: Any) -> NDArray[Any]:
    """Return an array or a chunked array of numbers or flags as one array of numpy. Null is NaN.

    ``to_numpy`` and ``fill_null`` of pyarrow import pandas if it is installed, which takes half a second.
    """
    pa, _ = pyarrow_modules()
    if not isinstance(values, pa.ChunkedArray):
        return _block(values)
    blocks = [_block(chunk) for chunk in values.chunks]
    if not blocks:
        return _block(pa.array([], values.type))
    return np.concatenate(blocks)


def _block(values: Any) -> NDArray[Any]:
    pa, _ = pyarrow_modules()
    if values.null_count:
        known = _block(values.drop_null())
        floating = np.dtype(np.float64)
        if known.dtype.kind == "f":
            floating = known.dtype
        numbers = np.full(len(values), np.nan, floating)
        numbers[_block(values.is_valid())] = known
        return numbers
    if pa.types.is_boolean(values.type):
        return np.asarray(np.from_dlpack(values.cast(pa.uint8()))).view(np.bool_)
    return np.from_dlpack(values)


def link_type() -> Any:
    """Return the type of the column."""
    pa, _ = pyarrow_modules()
    members = [("target", pa.int32()), ("weight", pa.float64()), ("kind", pa.string())]
    return pa.list_(pa.struct([pa.field(name, kind, nullable=False) for name, kind in members]))


def link_lists(frames: MapFrames, links: Links, start: int, stop: int) -> Any:
    """Return the lists of the instances from ``start`` to ``stop``."""
    pa, _ = pyarrow_modules()
    bounds = np.searchsorted(links.source, np.arange(start, stop + 1))
    chosen = slice(int(bounds[0]), int(bounds[-1]))
    target = links.target[chosen] - frames.offsets[frames.frame[links.target[chosen]]]
    members = [
        pa.array(target, pa.int32()),
        pa.array(links.weight[chosen]),
        pa.DictionaryArray.from_arrays(links.code[chosen], pa.array(links.kinds, pa.string())).cast(pa.string()),
    ]
    kind = link_type()
    flat = pa.StructArray.from_arrays(members, fields=list(kind.value_type))
    return pa.ListArray.from_arrays(pa.array(bounds - bounds[0], pa.int32()), flat, type=kind)


def read_links(columns: ParquetColumns, frame: Indices, instance: Indices) -> Links:
    """Return the links of all instances.

    ``instance`` are the rows that are instances; every other row is a frame without instances.
    """
    sizes, members = columns.structs("links")
    row = np.repeat(np.arange(len(sizes)), sizes)
    weight = members.get("weight", np.ones(len(row))).astype(np.float64)
    kind = members.get("kind", np.full(len(row), SUCCESSOR))
    number = np.full(len(sizes), -1)
    number[instance] = np.arange(len(instance))
    if len(frame):
        minlength = int(frame[-1]) + 1
    else:
        minlength = 0
    counts = np.bincount(frame[instance], minlength=minlength)
    first = counts.cumsum() - counts
    target = members["target"]

    def refuse(bad: "np.ndarray[Any, np.dtype[np.bool_]]", what: str) -> None:
        if bad.any():
            k = int(np.argmax(bad))
            link = k - int(np.searchsorted(row, row[k]))
            raise columns.error(
                f"row {row[k]}: links[{link}] {what.format(target=target[k], weight=weight[k])}", remedy=_REMEDY
            )

    refuse(number[row] < 0, "begins at a row without class and geometry")
    known = counts[frame[row]]
    refuse((target < 0) | (target >= known), "has the target {target}, expected the number of an instance of its frame")
    refuse(~(np.isfinite(weight) & (weight >= 0)), "has the weight {weight}, expected a finite number of at least 0")
    refuse(kind == "", "has no kind, expected a name")
    try:
        return Links.of(number[row], first[frame[row]] + target, weight=weight, kind=kind)
    except InvalidInput as cause:
        raise columns.error(f"damaged links: {cause}", remedy=_REMEDY) from cause
