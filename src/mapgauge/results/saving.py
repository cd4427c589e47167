"""Writes results to one file, with the geometry if wanted."""

import io
import lzma
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.evaluation.data import Data, Sides
from mapgauge.evaluation.prepare import check_sides
from mapgauge.evaluation.scores import Scores
from mapgauge.evaluation.totals import Sums
from mapgauge.frames.findings import Finding
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.io._format import ReadOptions, refuse_few_points
from mapgauge.io._parquet_columns import ParquetColumns
from mapgauge.io.dataset import RowGroups
from mapgauge.io.files.json_documents import refuse_doubled_keys
from mapgauge.io.files.source import RAISE, Content, most_bytes
from mapgauge.io.files.writing import save
from mapgauge.io.parquet import frames_from_columns, write
from mapgauge.protocols import Protocol
from mapgauge.results.summary import Input, Summary
from mapgauge.results.tables import MemoryRows, Rows


@dataclass(frozen=True, eq=False)
class Partial:
    """The rows of a chunk."""

    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    scores: Scores
    sums: Sums
    missing: int  # number of frames of the truth that the predictions lack
    ignored: int  # number of frames of the predictions that the truth lacks
    counts: tuple[list[int], list[int]]  # number of instances read from each side, by its own classes
    frames: tuple[int, int]  # number of frames read from each side
    findings: tuple[Finding, ...]  # of the readers
    seconds: tuple[float, float]  # processor time of reading and aligning, and of scoring
    hashes: tuple[int, int]  # content hash of each side


Geometry: TypeAlias = Literal["original", "rounded"]

KINDS: tuple[Geometry, ...] = ("original", "rounded")
_MOST_LINKS = 1 << 22  # of a side, about 20 MB; more are left out, and figures then show no links
NAMES = ("geometry/predictions", "geometry/truth")  # of the arrays


def geometry_arrays(sides: Sides, kind: Geometry) -> dict[str, Any]:
    """Return the geometry of results as arrays of bytes.

    Args:
        sides: Predictions and truth, in the order of the rows of results.
        kind: ``"original"`` keeps all bits. ``"rounded"`` rounds coordinates to float32.
    """
    return {
        name: np.frombuffer(write(_geometry_only(side, kind)), np.uint8)
        for name, side in zip(NAMES, sides, strict=True)
    }


def _geometry_only(frames: MapFrames, kind: Geometry) -> MapFrames:
    """Return only what assignments and figures need."""
    polylines = frames.polylines
    refuse_few_points(frames, frames.name or "frames")
    if kind == "rounded":
        # Written as float64: the bytes that are zero after rounding compress to almost nothing.
        polylines = Polylines(polylines.coords.astype(np.float32).astype(np.float64), polylines.offsets)
    nothing = dict.fromkeys(("scenes", "poses"))
    if frames.links is not None and len(frames.links) > _MOST_LINKS:
        nothing["links"] = None
    return replace(frames, polylines=polylines, name="", findings=(), **nothing)  # type: ignore[arg-type]


def geometry_of(
    arrays: dict[str, Any], tokens: tuple[str, ...], classes: tuple[str, ...], path: Path
) -> Callable[[], Sides] | None:
    """Return a function that reads the geometry, or None if there is none. The arrays are removed from ``arrays``.

    Args:
        arrays: All arrays of the file, by name.
        tokens: Frames of the results.
        classes: Classes of the results.
        path: The file, for errors.
    """
    geometry = {name: arrays.pop(name) for name in NAMES if name in arrays}
    if not geometry:
        return None
    if len(geometry) < len(NAMES) or any(array.dtype != np.uint8 or array.ndim != 1 for array in geometry.values()):
        raise ValueError("its geometry is not complete")
    return partial(_read_sides, geometry, tokens, classes, path)


def _read_sides(arrays: Mapping[str, Any], tokens: tuple[str, ...], classes: tuple[str, ...], path: Path) -> Sides:
    error = RowGroups(f"{path}: its geometry", ()).error
    columns = [ParquetColumns.of_bytes(arrays[name].tobytes(), error) for name in NAMES]
    x, y = (replace(frames_from_columns(of_side, ReadOptions(), str(path)), name="") for of_side in columns)
    if any(side.tokens != tokens or side.classes != classes or side.dimension != y.dimension for side in (x, y)):
        raise error("other frames or classes than its results")
    check_sides(x, y)
    return x, y


LAYOUT = 2  # later layouts are refused

# What Python's zip archives and numpy raise for a damaged file, beside ValueError.
BROKEN = (
    OSError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    ArithmeticError,
    SyntaxError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    tokenize.TokenError,
    msgspec.MsgspecError,
)


class _Layout(msgspec.Struct):
    layout: int
    mapgauge: str


class _Header(_Layout):
    protocol: dict[str, Any]
    metrics: tuple[str, ...]
    class_names: tuple[str, ...]
    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    ranges: tuple[float | None, ...]
    inputs: tuple[Input, Input]
    frames_missing: int
    frames_ignored: int
    findings: tuple[Finding, ...]


def save_results(
    summary: Summary, rows: Rows, path: str | os.PathLike[str], geometry: Mapping[str, Any] | None = None
) -> None:
    """Write results to one file.

    Args:
        summary: The summary.
        rows: The scores of all frames.
        path: The file.
        geometry: The arrays of ``geometry_arrays``; None for a file without geometry.
    """
    header = _Header(
        LAYOUT,
        summary.version,
        summary.protocol.to_dict(),
        summary.metrics,
        summary.class_names,
        rows.tokens,
        rows.scenes,
        finite_bounds(summary.ranges),
        summary.inputs,
        summary.frames_missing,
        summary.frames_ignored,
        summary.findings,
    )
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **archive_arrays(header, rows.scores))
    with zipfile.ZipFile(buffer, "a") as archive:  # the geometry is compressed already
        for name, array in (geometry or {}).items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.save(member, array)
    save(Path(path), buffer.getvalue())


def read_results(path: str | os.PathLike[str]) -> tuple[Summary, MemoryRows, Data | None]:
    """Read a file that ``save_results`` wrote. The last value is the geometry, if the file has it."""
    content = Content(path)
    data = content.data  # read completely, so that no file stays open after an error
    try:
        arrays, text = read_archive(data)
        written = decode_json(text, _Layout)
        if written.layout > LAYOUT:
            raise content.error(f"written by a newer mapgauge ({written.mapgauge})", remedy="Update mapgauge")
        refuse_doubled_keys(text, content.error)
        header = decode_json(text, _Header)
        read = geometry_of(arrays, header.tokens, header.class_names, content.path)
        summary, rows = _parsed(header, arrays)
        return summary, rows, None if read is None else Data(read, summary.protocol)
    except UnreadableFile:
        raise
    except (ValueError, *BROKEN) as error:
        raise content.error(f"not a file of results: {error}") from error


def _parsed(header: _Header, arrays: dict[str, Any]) -> tuple[Summary, MemoryRows]:
    scores = Scores.of_arrays(arrays, header.metrics)
    protocol = protocol_from(header.protocol)
    frames, classes = len(header.tokens), len(header.class_names)
    scores.check(frames, classes, protocol, header.metrics, max(len(header.ranges) - 1, 0))
    if header.scenes is not None and len(header.scenes) != frames:
        raise ValueError("its columns do not fit together")
    summary = Summary(
        protocol,
        header.metrics,
        header.class_names,
        infinite_bounds(header.ranges),
        header.inputs,
        header.frames_missing,
        header.frames_ignored,
        header.findings,
        header.mapgauge,
        scores,
    )
    return summary, MemoryRows(header.tokens, header.scenes, scores)


def archive_arrays(header: msgspec.Struct, scores: Scores) -> dict[str, Any]:
    """Return all arrays of an archive by name, including the header."""
    return {"header": np.frombuffer(msgspec.json.encode(header), np.uint8), **scores.arrays()}


def read_archive(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The arrays of an archive, and the text of its header."""
    with zipfile.ZipFile(io.BytesIO(data)) as members:
        names = members.namelist()
        size, limit = sum(member.file_size for member in members.infolist()), most_bytes(len(data))
    if size > limit:
        raise InvalidInput(f"it has {len(data)} bytes, and its arrays {size}, expected at most {limit}", remedy=RAISE)
    if len(set(names)) < len(names):
        raise ValueError("an array occurs twice")
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
    return arrays, arrays.pop("header").tobytes()


def protocol_from(values: dict[str, Any]) -> Protocol:
    """Return the protocol from the result of ``Protocol.to_dict`` after a JSON round trip."""
    settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return Protocol(**settings)


def finite_bounds(ranges: tuple[float, ...]) -> tuple[float | None, ...]:
    """Return bounds of rings for JSON, with None instead of infinity, which JSON lacks."""
    return tuple(None if math.isinf(bound) else bound for bound in ranges)


def infinite_bounds(ranges: tuple[float | None, ...]) -> tuple[float, ...]:
    """Return bounds of rings from JSON, with infinity instead of None."""
    return tuple(math.inf if bound is None else bound for bound in ranges)
