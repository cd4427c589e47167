"""Writes results to one file, and reads the evaluated files again."""

import io
import lzma
import math
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.frames.content import has_content
from mapgauge.frames.findings import Finding
from mapgauge.frames.history import READ, Step, arguments_of, replay
from mapgauge.frames.map_frames import MapFrames
from mapgauge.geometry.polylines import Polylines
from mapgauge.io import read
from mapgauge.io._format import ReadOptions, refuse_few_points
from mapgauge.io._parquet_columns import ParquetColumns
from mapgauge.io.dataset import RowGroups
from mapgauge.io.files.json_documents import refuse_doubled_keys
from mapgauge.io.files.places import is_url
from mapgauge.io.files.source import RAISE, ZIP, Content, is_folder, is_plain_file, most_bytes
from mapgauge.io.files.writing import save
from mapgauge.io.parquet import frames_from_columns, write
from mapgauge.markup import shortened
from mapgauge.protocols import Protocol
from mapgauge.results.drives import Drive
from mapgauge.results.frame_tables import MemoryRows, Rows
from mapgauge.results.values import Input, InputRecords, Summary
from mapgauge.scoring.data import Data, Sides
from mapgauge.scoring.prepare import Frames, check_sides
from mapgauge.scoring.scores import Scores, Totals
from mapgauge.typing import Forward

_SIDES = ("predictions", "truth")
INCOMPLETE = "Check that it was written or copied completely"
_EVALUATE = Remedy(
    "Call mg.evaluate first, and save its results",
    "Run evaluate first: mapgauge evaluate PREDICTIONS TRUTH -o RESULTS.mg",
)
_ABOVE = 2  # folders above that of the results in which relative paths are searched for
_LOCAL = ("file://", "local://")  # URLs of files on this machine
_GIVE = Remedy(
    "Pass predictions and truth to load_results or to with_data",
    "Run the command where the files are, or write results with their geometry: mapgauge evaluate ... --with-geometry. "
    "Else give the files after the name of the results: RESULTS,predictions=FILE,truth=FILE",
)


def read_again(
    inputs: tuple[Input, Input], given: tuple[Frames | None, Frames | None], origin: Path | None
) -> tuple[MapFrames, MapFrames]:
    """Return the predictions and the truth of an evaluation.

    A side that is not given is read from the recorded file, which is also searched for beside ``origin``, the file of
    results.
    """
    name = str(origin or "these results")
    sides = list(zip(_SIDES, given, inputs, strict=True))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(_side, *sides[1], origin, name)
        return _side(*sides[0], origin, name), reading.result()


def recorded_paths(recorded: Input, origin: Path | None) -> list[str]:
    """Return the paths at which the file of one side may be: as recorded, and beside the file of results."""
    path = recorded.name
    if recorded.history:
        path = str(recorded.history[0].arguments.get("path", path))
    if not path:
        return []
    return _places(path, origin)


def _places(path: str, origin: Path | None) -> list[str]:
    """Return a path as recorded, then from the folder of the results, then its name alone in that folder.

    A relative path is also searched for from the folders above: the results may have been written into a folder of
    their own, and be used from another folder.
    """
    if is_url(path) or origin is None:
        return [path]
    folder = origin.parent
    beside = [folder / path, folder / Path(path).name]
    if not Path(path).is_absolute():
        beside += [above / path for above in folder.absolute().parents[:_ABOVE]]
    return list(dict.fromkeys([path, *map(os.fspath, beside)]))


def named_files(inputs: tuple[Input, Input], origin: Path | None) -> list[str]:
    """Return all files that results name: the files of both sides, and the files with their tracks."""
    paths = [path for recorded in inputs for path in recorded_paths(recorded, origin)]
    for recorded in inputs:
        if recorded.history:
            options = recorded.history[0].arguments.get("options")
        else:
            options = None
        if isinstance(options, dict):
            tracks = options.get("tracks")
        else:
            tracks = None
        if isinstance(tracks, str):
            paths += [tracks]
    return [path for path in paths if "\0" not in path]


def _side(side: str, given: Frames | None, recorded: Input, origin: Path | None, name: str) -> MapFrames:
    if not recorded.hash:
        raise InvalidInput(f"{name}: the {side} cannot be checked, because the results have no digest of them")
    if isinstance(given, MapFrames):
        if not has_content(given, recorded.hash):
            raise _wrong_side(side, recorded, name)
        return given
    if given is None:
        paths = recorded_paths(recorded, origin)
    else:
        paths = [os.fspath(given)]
    if not paths:
        raise InvalidInput(f"{name}: the {side} came from memory, not from a file", remedy=_GIVE)
    if given is None and is_url(paths[0]) and not paths[0].startswith(_LOCAL):
        raise InvalidInput(f"{name}: the {side} came from {paths[0]}. A URL is only read if it is given", remedy=_GIVE)
    failed: list[MapgaugeError] = []
    existing = [path for path in paths if given is not None or is_url(path) or is_plain_file(path) or is_folder(path)]
    if not existing:
        if len(paths) > 1:
            also_searched = f", neither here nor beside {name}"
        else:
            also_searched = ""
        raise UnreadableFile(f"{paths[0]}: no such file{also_searched}", remedy=_GIVE)
    # A file without the steps of the history is tried last: a moved file may have been converted.
    if recorded.history:
        histories = [recorded.history, None]
    else:
        histories = [None]
    for steps, path in product(histories, existing):
        try:
            frames = _read(path, steps, origin)
        except MapgaugeError as error:
            failed.append(error)
            continue
        if has_content(frames, recorded.hash):
            return frames
        failed.append(_wrong_side(side, recorded, name) if given is not None else _changed(path, recorded, name))
    raise failed[0]


def _read(path: str, history: tuple[Step, ...] | None, origin: Path | None) -> MapFrames:
    if history is None:
        # The evaluated data had no degenerate instances, or they were dropped. Dropping them gives the same content.
        return read(path, degenerate="drop")
    first, *steps = history
    arguments = arguments_of(first)
    if first.name != READ:
        raise InvalidInput(f"the history begins with the step {first.name}, expected {READ}")
    known = arguments["classes"]
    try:
        if known is None:
            classes = None
        else:
            classes = {int(number): str(name) for number, name in known.items()}
    except ValueError as error:
        raise InvalidInput(f"the step {READ} has classes without numbers: {error}") from error
    options = arguments["options"]
    if any(name in ("path", "format", "classes", "degenerate") for name in options):
        raise InvalidInput(f"the step {READ} has an option twice")
    if isinstance(tracks := options.get("tracks"), str):
        options = options | {"tracks": next(filter(is_plain_file, _places(tracks, origin)), tracks)}
    frames = read(path, arguments["format"], classes=classes, degenerate=arguments["degenerate"], **options)
    return replay(frames, tuple(steps))


def _changed(path: str, recorded: Input, name: str) -> InvalidInput:
    if recorded.history is None:
        why = "or it was read or changed in a way that the results did not record"
    else:
        why = "or another file has this name"
    return InvalidInput(
        f"{path}: not the content that was evaluated in {name}. The file changed since, {why}", remedy=_GIVE
    )


def _wrong_side(side: str, recorded: Input, name: str) -> InvalidInput:
    if side == _SIDES[0]:
        wrong = "these are not the predictions that were"
    else:
        wrong = "this is not the truth that was"
    return InvalidInput(f"{name}: {wrong} evaluated ({recorded.name or 'from memory'})")


Geometry: TypeAlias = Literal["original", "rounded"]

KINDS: tuple[Geometry, ...] = ("original", "rounded")
_MOST_LINKS = 1 << 22  # of a side, about 20 MB; more are left out, and figures then show no links
NAMES = ("geometry/predictions", "geometry/truth")  # of the arrays
ASIDE = tuple(f"{name}-ignored" for name in NAMES)  # of those that only drawings show; both or none


def geometry_arrays(sides: Sides, kind: Geometry) -> dict[str, Any]:
    """Return both sides, in the order of the rows of results, as arrays of bytes. They may be rounded to float32."""
    asides = [side.aside for side in sides]
    return {
        name: np.frombuffer(write(_geometry_only(side, kind)), np.uint8)
        for name, side in zip((*NAMES, *ASIDE), (*sides, *asides), strict=True)
        if side is not None
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
    return replace(frames, polylines=polylines, name="", findings=(), aside=None, **nothing)  # type: ignore[arg-type]


def geometry_of(
    arrays: dict[str, Any], tokens: tuple[str, ...], classes: tuple[str, ...], path: Path
) -> Callable[[], Sides] | None:
    """Return a function that reads the geometry, or None if there is none. Its arrays are removed from ``arrays``."""
    geometry = {name: arrays.pop(name) for name in (*NAMES, *ASIDE) if name in arrays}
    if not geometry:
        return None
    complete = tuple(geometry) in (NAMES, (*NAMES, *ASIDE))
    if not complete or any(array.dtype != np.uint8 or array.ndim != 1 for array in geometry.values()):
        raise ValueError("its geometry is not complete")
    return partial(_read_sides, geometry, tokens, classes, path)


def _read_sides(arrays: Mapping[str, Any], tokens: tuple[str, ...], classes: tuple[str, ...], path: Path) -> Sides:
    error = RowGroups(f"{path}: its geometry", ()).error
    columns = [ParquetColumns.of_bytes(array.tobytes(), error) for array in arrays.values()]
    x, y, *asides = (replace(frames_from_columns(of_side, ReadOptions(), str(path)), name="") for of_side in columns)
    if any(s.tokens != tokens or s.classes != classes or s.dimension != y.dimension for s in (x, y, *asides)):
        raise error("other frames or classes than its results")
    check_sides(x, y)
    if asides:
        return (replace(x, aside=asides[0]), replace(y, aside=asides[1]))
    return (x, y)


SUMMARY = "summary"  # the first member of a file: its pooled values, see ``mapgauge.results.pooled``
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
    ranges: tuple[float | None, ...]  # infinity is null in JSON
    inputs: tuple[Input, Input]
    frames_missing: int
    frames_ignored: int
    findings: tuple[Finding, ...]
    kept: dict[str, Any] = {}
    forward: Forward | None = None  # the axis that points forward, if there are poses
    date: str = ""
    metadata: dict[str, str] = {}
    truth_lengths: dict[str, float] | None = None


def save_results(
    summary: Summary,
    rows: Rows,
    path: str | os.PathLike[str],
    drive: Drive | None = None,
    geometry: Mapping[str, Any] | None = None,
    values: bytes = b"",
) -> None:
    """Write results to one file, with poses and the arrays of ``geometry_arrays`` if there are some.

    ``values`` are the pooled values. They come first, so that they are found without the table of contents.
    """
    if drive is None:
        forward = None
    else:
        forward = drive.forward
    if summary.truth_lengths is None:
        truth_lengths = None
    else:
        truth_lengths = dict(summary.truth_lengths)
    header = _Header(
        LAYOUT,
        summary.version,
        summary.protocol.to_dict(),
        metrics=summary.metrics,
        class_names=summary.class_names,
        tokens=rows.tokens,
        scenes=rows.scenes,
        ranges=summary.ranges,
        inputs=summary.inputs,
        frames_missing=summary.frames_missing,
        frames_ignored=summary.frames_ignored,
        findings=summary.findings,
        kept=dict(summary.kept),
        forward=forward,
        date=summary.date,
        metadata=dict(summary.metadata),
        truth_lengths=truth_lengths,
    )
    arrays = archive_arrays(header, rows.scores.only(summary.metrics))
    if drive is not None:
        arrays |= drive.arrays()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        # Its size must stand before it, in 32 bits.
        _add_array(archive, SUMMARY, np.frombuffer(values, np.uint8), large=False)
        for name, array in arrays.items():
            _add_array(archive, name, array, large=True)
    with zipfile.ZipFile(buffer, "a") as archive:  # the geometry is compressed already
        for name, array in (geometry or {}).items():
            _add_array(archive, name, array, large=True)
    save(Path(path), buffer.getvalue())


def _add_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any], *, large: bool) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=large) as member:
        np.save(member, array)


def read_results(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of ``Results`` from a file that ``save_results`` wrote."""
    content = Content(path)
    data = content.data  # read completely, so that no file stays open after an error
    try:
        arrays, text = read_archive(data)
        written = decode_json(text, _Layout)
        if written.layout > LAYOUT:
            raise content.error(f"written by a newer mapgauge ({written.mapgauge})", remedy="Update mapgauge")
        refuse_doubled_keys(text, content.error)
        header = decode_json(text, _Header)
        read = geometry_of(arrays, header.tokens, header.class_names, path=content.path)
        return _parsed(header, arrays, read)
    except UnreadableFile:
        raise
    except (ValueError, *BROKEN) as error:
        has_remedy = isinstance(error, InvalidInput)  # its text ends with what to do
        if has_remedy:
            remedy: str | Remedy | None = None
        elif data.startswith(ZIP):
            remedy = INCOMPLETE
        else:
            remedy = _EVALUATE
        raise content.error(f"not a file of results: {shortened(str(error), longest=200)}", remedy=remedy) from error


def _parsed(header: _Header, arrays: dict[str, Any], read: Callable[[], Sides] | None) -> dict[str, Any]:
    scores = Scores.of_arrays(arrays, header.metrics)
    protocol = protocol_from(header.protocol)
    frames = len(header.tokens)
    classes = len(header.class_names)
    rings = max(len(header.ranges) - 1, 0)
    scores.check(frames, classes, protocol, metrics=header.metrics, rings=rings)
    if header.scenes is not None and len(header.scenes) != frames:
        raise ValueError("its columns do not fit together")
    drive = Drive.of_arrays(arrays, header.forward, frames)
    if read is None:
        geometry = None
    else:
        geometry = Data(partial(_with_poses, read, drive, header, protocol=protocol), protocol)
    kept = (
        "metrics",
        "class_names",
        "frames_missing",
        "frames_ignored",
        "findings",
        "kept",
        "date",
        "metadata",
        "truth_lengths",
    )
    return {name: getattr(header, name) for name in kept} | {
        "protocol": protocol,
        "ranges": infinite_bounds(header.ranges),
        "records": InputRecords.known(*header.inputs),
        "version": header.mapgauge,
        "totals_from": partial(Totals.of, scores, protocol),
        "rows": MemoryRows(header.tokens, header.scenes, scores, drive=drive),
        "geometry": geometry,
    }


def _with_poses(read: Callable[[], Sides], drive: Drive | None, header: _Header, protocol: Protocol) -> Sides:
    """Return the sides of a file with its poses."""
    sides = read()
    if drive is None:
        return sides
    return drive.given_to(sides, protocol, header.tokens, scenes=header.scenes)


def archive_arrays(header: msgspec.Struct, scores: Scores) -> dict[str, Any]:
    """Return all arrays of an archive by name, including the header."""
    return {"header": np.frombuffer(msgspec.json.encode(header), np.uint8), **scores.arrays()}


def read_archive(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The arrays of an archive, and the text of its header."""
    with zipfile.ZipFile(io.BytesIO(data)) as members:
        names = members.namelist()
        size = sum(member.file_size for member in members.infolist())
        limit = most_bytes(len(data))
    if size > limit:
        raise InvalidInput(f"it has {len(data)} bytes, and its arrays {size}, expected at most {limit}", remedy=RAISE)
    if len(set(names)) < len(names):
        raise ValueError("an array occurs twice")
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        arrays: dict[str, Any] = {name: archive[name] for name in archive.files}
    arrays.pop(SUMMARY, None)
    return arrays, arrays.pop("header").tobytes()


def protocol_from(values: dict[str, Any]) -> Protocol:
    """Return the protocol from the result of ``Protocol.to_dict`` after a JSON round trip."""
    return Protocol.from_dict(values)


def infinite_bounds(ranges: tuple[float | None, ...]) -> tuple[float, ...]:
    """Return bounds of rings from JSON, with infinity instead of None."""
    return tuple(math.inf if bound is None else bound for bound in ranges)
