"""Reads and writes files of results: a numpy archive of arrays with a JSON header.

The files contain no pickle, so a file from an untrusted source can be opened safely.
"""

import io
import lzma
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.files.json_documents import refuse_doubled_keys
from mapgauge.files.limits import RAISE, most_bytes
from mapgauge.files.source import Content
from mapgauge.files.writing import save
from mapgauge.frames.findings import Finding
from mapgauge.protocols import PROTOCOLS, Protocol
from mapgauge.results.geometry import Sides, geometry_of
from mapgauge.results.rows import MemoryRows, Rows
from mapgauge.results.summary import Input, Summary
from mapgauge.scoring.scores import Scores

LAYOUT = 2  # later layouts are refused; 2 added the history of inputs and the geometry

# What Python's zip archives and numpy raise for a damaged file, beside ValueError.
BROKEN = (
    *(
        OSError,
        EOFError,
        LookupError,
        TypeError,
        AttributeError,
        RuntimeError,
        ArithmeticError,
        SyntaxError,
        MemoryError,
    ),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, msgspec.MsgspecError),
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


def read_results(path: str | os.PathLike[str]) -> tuple[Summary, MemoryRows, Callable[[], Sides] | None]:
    """Read a file that ``save_results`` wrote. If it has the geometry, the last value is a function that reads it."""
    content = Content(path)
    data = content.data  # read completely, so that no file stays open after an error
    try:
        arrays, text = read_archive(data)
        written = decode_json(text, _Layout)
        if written.layout > LAYOUT:
            raise content.error(f"written by a newer mapgauge ({written.mapgauge})", remedy="Update mapgauge")
        refuse_doubled_keys(text, content.error)
        header = decode_json(text, _Header)
        geometry = geometry_of(arrays, header.tokens, header.class_names, content.path)
        return *_parsed(header, arrays), geometry
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
    if "ties" not in settings:  # a file of an early version
        name = str(settings.get("name"))
        named = PROTOCOLS.get(name) or PROTOCOLS.get(
            name.rpartition("-")[0]
        )  # the name may end with a part of the lanes
        settings["ties"] = "content" if named is None else named.ties
    return Protocol(**settings)


def finite_bounds(ranges: tuple[float, ...]) -> tuple[float | None, ...]:
    """Return bounds of rings for JSON, with None instead of infinity, which JSON lacks."""
    return tuple(None if math.isinf(bound) else bound for bound in ranges)


def infinite_bounds(ranges: tuple[float | None, ...]) -> tuple[float, ...]:
    """Return bounds of rings from JSON, with infinity instead of None."""
    return tuple(math.inf if bound is None else bound for bound in ranges)
