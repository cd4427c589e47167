"""Compares layouts of points in Parquet: bytes, time to write, and time to read into one array.

Run it with ``python -m benchmarks.bench_layouts``. Frames are generated (``mapgauge.demo``): 75 predictions of 20
points with float32 numbers, as models compute them. Times are processor time, the best of several. The
first row is the baseline. Every layout must give back the same bits.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.tables import heading, machine, row

from mapgauge.demo import demo_world
from mapgauge.typing import Indices, Points

FRAMES = 2_000
ROUNDS = 5
ROWS = 256 * 75  # of a row group
SPLIT = "BYTE_STREAM_SPLIT"


class Lines(NamedTuple):
    """Points of all lines, and where each line begins and ends."""

    points: Points
    ends: Indices


def structs(lines: Lines, kind: Any) -> Any:
    """Lists of structs of x and y."""
    point = pa.struct([pa.field(axis, kind, nullable=False) for axis in "xy"])
    axes = [pa.array(lines.points[:, k].astype(kind.to_pandas_dtype())) for k in (0, 1)]
    return {"line": _lists(lines.ends, pa.StructArray.from_arrays(axes, fields=list(point)))}


def two_lists(lines: Lines, kind: Any) -> Any:
    """A list of x, and a list of y."""
    number = kind.to_pandas_dtype()
    return {axis: _lists(lines.ends, pa.array(lines.points[:, k].astype(number))) for k, axis in enumerate("xy")}


def in_turn(lines: Lines, kind: Any) -> Any:
    """Lists of x, y, x, y, ..."""
    return {"line": _lists(2 * lines.ends, pa.array(lines.points.ravel().astype(kind.to_pandas_dtype())))}


def pairs(lines: Lines, kind: Any) -> Any:
    """Lists of lists of two numbers."""
    flat = pa.array(lines.points.ravel().astype(kind.to_pandas_dtype()))
    return {"line": _lists(lines.ends, pa.FixedSizeListArray.from_arrays(flat, 2))}


def binary(lines: Lines, kind: Any) -> Any:
    """The bytes of x, y, x, y, ..."""
    numbers = lines.points.astype(kind.to_pandas_dtype())
    ends = (lines.ends * numbers.itemsize * 2).astype(np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(numbers))]
    return {"line": pa.BinaryArray.from_buffers(pa.binary(), len(ends) - 1, buffers)}


def _lists(ends: Indices, values: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


def write(columns: dict[str, Any], compression: str, split: bool) -> Any:
    """Return the bytes of a file."""
    table, sink = pa.table(columns), pa.BufferOutputStream()
    names = [pq.ParquetSchema.column(_schema_of(table), k).path for k in range(_width(table))]
    with pq.ParquetWriter(
        sink,
        table.schema,
        column_encoding=dict.fromkeys(names, SPLIT if split else "PLAIN"),
        use_dictionary=False,
        compression=compression,
        compression_level=1 if compression == "zstd" else None,
        data_page_size=1 << 22,
        write_page_checksum=True,
    ) as writer:
        writer.write_table(table, row_group_size=ROWS)
    return sink.getvalue()


def _schema_of(table: Any) -> Any:
    sink = pa.BufferOutputStream()
    pq.write_table(table.slice(0, 0), sink)
    return pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema


def _width(table: Any) -> int:
    return len(_schema_of(table).names)


def read(file: Any, points: int, kind: Any) -> Points:
    """Return all points of a file as one array of float64."""
    found = np.empty((points, 2))
    at: dict[str, int] = {}
    with pq.ParquetFile(pa.BufferReader(file), page_checksum_verification=True) as parquet:
        for index in range(parquet.num_row_groups):
            table = parquet.read_row_group(index, use_threads=False)
            for name in table.column_names:
                for chunk in table[name].chunks:
                    first = at.get(name, 0)
                    at[name] = first + _fill(found, first, name, chunk, kind)
    return found


def _fill(found: Points, first: int, name: str, chunk: Any, kind: Any) -> int:
    """Write the points of an array from ``first`` on, and return their number."""
    if pa.types.is_binary(chunk.type):
        values = np.frombuffer(chunk.buffers()[2], kind.to_pandas_dtype())
        found.reshape(-1)[2 * first : 2 * first + len(values)] = values
        return len(values) // 2
    flat = chunk.flatten()
    if pa.types.is_struct(flat.type):
        for k, axis in enumerate(flat.flatten()):
            found[first : first + len(flat), k] = axis.to_numpy()
        return len(flat)
    if name in ("x", "y"):
        found[first : first + len(flat), "xy".index(name)] = flat.to_numpy()
        return len(flat)
    values = (flat.flatten() if pa.types.is_fixed_size_list(flat.type) else flat).to_numpy()
    found.reshape(-1)[2 * first : 2 * first + len(values)] = values
    return len(values) // 2


LAYOUTS: dict[str, tuple[Callable[[Lines, Any], Any], Any, str, bool]] = {
    "list of struct of double, zstd": (structs, pa.float64(), "zstd", True),
    "list of struct of double, LZ4 (other numbers)": (structs, pa.float64(), "lz4", True),
    "list of struct of float, LZ4 (numbers of a model)": (structs, pa.float32(), "lz4", True),
    "list of struct of float, zstd": (structs, pa.float32(), "zstd", True),
    "list of struct of float, not compressed": (structs, pa.float32(), "none", True),
    "x and y as two lists of float, zstd": (two_lists, pa.float32(), "zstd", True),
    "list of float, x and y in turn, zstd": (in_turn, pa.float32(), "zstd", True),
    "list of lists of two floats, zstd": (pairs, pa.float32(), "zstd", True),
    "binary, zstd": (binary, pa.float32(), "zstd", False),
    "binary, LZ4": (binary, pa.float32(), "lz4", False),
}


def best(job: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Return the least processor time of a job, and what it returns."""
    least, result = np.inf, None
    for _ in range(rounds):
        begin = time.process_time()
        result = job()
        least = min(least, time.process_time() - begin)
    return least, result


def main(frames: int, rounds: int) -> None:
    """Generate lines, and print a row for each layout."""
    machine("numpy", "pyarrow", "mapgauge")
    made = demo_world(frames)[0].polylines
    lines = Lines(made.coords.astype(np.float32).astype(np.float64), made.offsets)
    heading(
        f"Layouts of {frames:,} frames in Parquet, one thread",
        *("layout", "bytes per frame", "write, s per 100,000", "read, s per 100,000", "read, ratio to the first row"),
    )
    base = 0.0
    for name, (columns, kind, compression, split) in LAYOUTS.items():
        writing, file = best(partial(_written, columns, lines, kind, compression, split), rounds)
        reading, points = best(partial(read, file, len(lines.points), kind), rounds)
        if not np.array_equal(points.view(np.int64), lines.points.view(np.int64)):
            raise SystemExit(f"{name}: other points came back")
        base = base or reading
        each = [f"{1e5 * seconds / frames:.1f}" for seconds in (writing, reading)]
        row(name, f"{file.size / frames:,.0f}", *each, f"{reading / base:.2f}")


def _written(columns: Callable[[Lines, Any], Any], lines: Lines, kind: Any, compression: str, split: bool) -> Any:
    return write(columns(lines, kind), compression, split)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    main(arguments.frames, arguments.rounds)
