"""Writes error maps: GeoJSON and GeoParquet, a line for each piece and method."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import InvalidInput
from mapgauge.features.error_map.counting import CountedPieces
from mapgauge.io.files.writing import save
from mapgauge.typing import Floats

SUFFIXES = (".geojson", ".json", ".parquet")
_PART = 1 << 16  # pieces that are written at once
# A line of two points in the well-known binary form of the Open Geospatial Consortium: little endian, type, count.
_LINE = np.dtype([("endian", "u1"), ("type", "<u4"), ("count", "<u4"), ("ends", "<f8", 4)])


def check_suffix(path: Path) -> None:
    """Refuse a file name with another suffix."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(
            f"{path}: the suffix {path.suffix or '(none)'} is no format of error maps",
            remedy=f"Write a file that ends with {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}",
        )


def save_map(made: CountedPieces, path: Path) -> None:
    """Write all pieces, in the format that the suffix of the file names."""
    check_suffix(path)
    if path.suffix.lower() == ".parquet":
        save(path, _parquet(made))
    else:
        save(path, b"".join(_geojson(made)))


def _ends(made: CountedPieces) -> Floats:
    """Return the ends of all pieces, ``(pieces, 4)``: x and y of both, in millimetres as metres."""
    pieces = made.pieces
    ends = [pieces.x - pieces.half_x, pieces.y - pieces.half_y, pieces.x + pieces.half_x, pieces.y + pieces.half_y]
    rounded: Floats = np.stack(ends, axis=1).round(3)
    return rounded


def _columns(made: CountedPieces, name: str) -> dict[str, NDArray[Any]]:
    """Return the columns of a method, its name first. With one method, there is no difference."""
    columns: dict[str, NDArray[Any]] = {"method": np.full(len(made.pieces.x), name, object)}
    columns |= made.columns(name)
    if len(made.names) > 1 and "difference" not in columns:
        columns["difference"] = np.zeros(len(made.pieces.x))
    for key in ("x", "y"):
        del columns[key]  # the geometry has them
    return columns


def _geojson(made: CountedPieces) -> Iterator[bytes]:
    """Yield the parts of a FeatureCollection."""
    encoder = msgspec.json.Encoder()
    ends = _ends(made)
    head: dict[str, Any] = {"type": "FeatureCollection", "confidence": made.confidence, "cutoff": made.cutoff}
    yield encoder.encode(head)[:-1] + b',"features":['
    between = b"\n"
    for name in made.names:
        columns = _columns(made, name)
        for start in range(0, len(ends), _PART):
            some = slice(start, start + _PART)
            lists = {key: _plain(values[some]) for key, values in columns.items()}
            for line, *values in zip(ends[some].tolist(), *lists.values(), strict=True):
                feature = {
                    "type": "Feature",
                    "properties": dict(zip(lists, values, strict=True)),
                    "geometry": {"type": "LineString", "coordinates": [line[:2], line[2:]]},
                }
                yield between + encoder.encode(feature)
                between = b",\n"
    yield b"\n]}\n"


def _plain(values: NDArray[Any]) -> list[Any]:
    """Return values for JSON: numbers with four decimals, None for NaN."""
    if values.dtype.kind != "f":
        return values.tolist()  # type: ignore[no-any-return]
    return [None if value != value else value for value in values.round(4).tolist()]


def _parquet(made: CountedPieces) -> bytes:
    """Return the bytes of a GeoParquet file."""
    pa, pq = pyarrow_modules()
    ends = _ends(made)
    lines = np.zeros(len(ends), _LINE)
    lines["endian"] = 1
    lines["type"] = 2  # a line string
    lines["count"] = 2
    lines["ends"] = ends
    size = pa.array(np.arange(len(ends) + 1) * _LINE.itemsize, pa.int32()).buffers()[1]
    geometry = pa.BinaryArray.from_buffers(pa.binary(), len(ends), [None, size, pa.py_buffer(lines.tobytes())])
    tables = []
    for name in made.names:
        columns: dict[str, Any] = {}
        for key, values in _columns(made, name).items():
            if values.dtype.kind == "f":
                columns[key] = pa.array(values, from_pandas=True)  # NaN becomes null
            elif values.dtype == object:
                columns[key] = pa.array(values, pa.string())
            else:
                columns[key] = pa.array(values)
        tables.append(pa.table(columns | {"geometry": geometry}))
    table = pa.concat_tables(tables)
    about = {
        "version": "1.0.0",
        "primary_column": "geometry",
        "columns": {
            "geometry": {
                "encoding": "WKB",
                "geometry_types": ["LineString"],
                "crs": None,  # metres of the data set's own map: unknown to the format, unlike longitude and latitude
            }
        },
    }
    settings = {"confidence": made.confidence, "cutoff": made.cutoff}
    described = {b"geo": json.dumps(about).encode(), b"mapgauge": json.dumps(settings).encode()}
    table = table.replace_schema_metadata(described)
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())
