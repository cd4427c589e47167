"""File formats: one module for each, whose rows the manifest names; ``read`` and ``write``.

A format is recognised by the content of the file, never by its name.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from mapgauge.arguments import check_workers
from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, Remedy, UnreadableFile
from mapgauge.frames.findings import shortened
from mapgauge.frames.history import read_history
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._format import (
    Classes,
    Format,
    ReadOptions,
    class_table,
    refuse_few_points,
    unknown_system,
    with_forward_of,
)
from mapgauge.io.dataset import open_dataset
from mapgauge.io.files.json_documents import gc_paused
from mapgauge.io.files.places import is_dataset
from mapgauge.io.files.source import Content, check_path
from mapgauge.io.files.writing import save
from mapgauge.manifest import RowTable
from mapgauge.metrics.settings import no_such
from mapgauge.typing import Degenerate
from mapgauge.words import did_you_mean

DECLARED = "declared"  # the coordinates stay in the reference system that a file declares
_TOP_KEYS = ("results", "map_results", "GTs", "features", "map_elements", "poses")  # by which JSON is recognised
_SHOWN = 8  # keys of a JSON file that an error names
_SHOWN_OF_PICKLE = 3

# The order matters only for a file that two formats recognise: the first one reads it. Those of plug-ins come last.
FORMATS: RowTable[Format] = RowTable("formats", "mapgauge.io._format:Format", order=lambda row: row.order)


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    classes: Classes | None = None,
    degenerate: Degenerate = "strict",
    workers: int | None = None,
    **options: Any,
) -> MapFrames:
    """Read a result file or a ground-truth file.

    Args:
        path: The file, which may be compressed with gzip or zstd. For Parquet also a folder, or a URL that fsspec
            supports.
        format: The name of the format; ``mapgauge.io.FORMATS`` lists them. If None, it is recognised by content.
        classes: The names of the numeric labels, if they differ from the names of the format: a list of names,
            ``{id: name}`` or ``{name: id}``.
        degenerate: What to do with degenerate instances, which have fewer than two points, or a coordinate or a
            confidence that is not finite. ``"strict"`` refuses the file. ``"drop"`` leaves them out and counts them in
            a finding.
        workers: Number of threads that read a large JSON file. If None, the number of processors.
        options: Options of single formats: ``part`` and ``unshrink`` (vectormapnet), ``tracks`` (streammapnet-truth),
            ``properties`` (geojson, csv, gis), ``project`` (geojson, csv, gis, lanelet2, parquet: see
            ``MapFrames.project``; ``"declared"`` leaves the coordinates in the reference system that the file has).

    Returns:
        The frames. Their ``findings`` say what the reader noticed.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "results.json"
    >>> frame = '{"vectors": [[[0, 0], [9, 0]]], "scores": [0.8], "labels": [1]}'
    >>> _ = path.write_text('{"meta": {}, "results": {"4b2f": ' + frame + "}}")
    >>> mg.read(path)["4b2f"]
    [Instance(class_name='divider', points=array([[0., 0.], [9., 0.]]), confidence=0.8, track=None, ignore=False)]
    """
    if degenerate not in ("strict", "drop"):
        raise InvalidInput(f"degenerate must be 'strict' or 'drop', got {degenerate!r}")
    try:
        if classes is None:
            table = None
        else:
            table = class_table(classes)
        frames = _read(path, format, ReadOptions(table, degenerate, options, workers=check_workers(workers)))
        return replace(frames, history=read_history(path, format, table, degenerate=degenerate, options=options))
    except MemoryError as error:
        raise UnreadableFile(
            f"{os.fspath(path)}: not enough memory to read this file",
            remedy="Write it as Parquet, which is read in parts, or use a machine with more memory",
        ) from error


def _read(path: str | os.PathLike[str], format: str | None, options: ReadOptions) -> MapFrames:
    if format in (None, "parquet") and options.classes is None and not options.extra and is_dataset(path):
        return open_dataset(path).read(ReadOptions(degenerate=options.degenerate))
    if isinstance(path, Content):
        content = path
    else:
        content = Content(path)
    if format is None:
        row = recognise(content)
    else:
        row = format_named(format)
    _check_options(content.path, row.name, row.options, options=options.extra)
    frames = row.read(content, options)
    if not frames.format:  # of a plug-in that makes frames by MapFrames.of
        frames = replace(frames, name=str(content.path), format=row.name)
    frames = with_forward_of(frames, row.forward)
    project = options.extra.get("project", DECLARED)
    if project != DECLARED:
        return frames.project(project)
    unknown = unknown_system(str(content.path), frames.crs)
    if unknown:
        return replace(frames, findings=(*frames.findings, *unknown))
    return frames


def _check_options(path: Path, format_name: str, known: tuple[str, ...], options: Mapping[str, Any]) -> None:
    """Refuse options that a format does not have."""
    unknown = [name for name in options if name not in known]
    if unknown:
        takes = "it takes none"
        if known:
            takes = f"it takes {', '.join(known)}"
        raise InvalidInput(f"{path}: the format {format_name} has no option {', '.join(unknown)}; {takes}")


def recognise(content: Content) -> Format:
    """Return the format of a file, judged by its content."""
    for _ in range(2):
        for row in FORMATS.values():
            if row.recognise(content):
                return row
        content.look_further()
    found, hint = _looks_like(content)
    raise content.error(
        f"unknown format: {found}{hint or '.'} Known: {', '.join(FORMATS)}",
        remedy=Remedy("Pass format= to see what is missing", "Write FILE,format=NAME to see what is missing"),
    )


def format_named(name: str) -> Format:
    """Return a row of the table by its name."""
    if name not in FORMATS:
        raise no_such("unknown format", name, list(FORMATS))
    return FORMATS[name]


def write(
    frames: MapFrames,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    classes: Classes | None = None,
    **options: Any,
) -> None:
    """Write frames to a file, completely or not at all.

    Args:
        frames: The frames to write.
        path: The file. The suffixes ``.gz`` and ``.zst`` compress it.
        format: The name of the format. If None, the suffix ``.parquet`` or ``.geojson`` decides.
        classes: The numeric ids to write for the class names, if they differ from the ids of the format.
        options: Options of single formats: ``points`` (openlanev2, openlanev2-truth: the type of the coordinates, such
            as ``"float16"``), and ``method``, ``authors``, ``email``, ``institution`` and ``country`` (openlanev2).

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> truth = mg.MapFrames.of({"4b2f": {"divider": [[[0, 0], [9, 0]]]}})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "truth.json.gz"
    >>> mg.write(truth, path, "maptr-truth")
    >>> mg.read(path).counts["divider"]
    1
    """
    check_path(path)
    target = Path(path)
    row = format_to_write(target, format)
    _check_options(target, row.name, row.write_options, options=options)
    refuse_few_points(frames, str(target))
    if not row.flags and frames.ignore is not None and frames.ignore.any():
        raise InvalidInput(
            f"{target}: the format {row.name} cannot say that lines are ignored",
            remedy=Remedy("Write Parquet or GeoJSON, or call .with_ignore(None) first", "Write Parquet or GeoJSON"),
        )
    try:
        assert row.write is not None  # format_to_write checked it
        with gc_paused():
            data = row.write(frames, None if classes is None else class_table(classes), **options)
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{target}: the name {error.object!r} cannot be written as UTF-8", remedy="Rename it"
        ) from error
    save(target, data)


def format_to_write(path: Path, format: str | None) -> Format:
    """Return the format with a name, or the format that the suffix of a file means."""
    able = ", ".join(row.name for row in FORMATS.values() if row.write)
    if format is not None:
        row = format_named(format)
        if row.write is None:
            raise InvalidInput(f"{path}: the format {row.name} can only be read. Writable: {able}")
        return row
    bare = path.name.removesuffix(".gz").removesuffix(".zst")
    meant = [row for row in FORMATS.values() if row.suffix and bare.endswith(row.suffix)]
    if len(meant) != 1:
        raise InvalidInput(
            f"{path}: which format?",
            remedy=Remedy(f"Pass format= with one of: {able}", f"Pass --to with one of: {able}"),
        )
    return meant[0]


def _looks_like(content: Content) -> tuple[str, str]:
    """Return what a file of an unknown format is, and the name that was probably meant, or ""."""
    if content.kind == "json":
        return _json_in_words(content)
    if content.kind == "pickle":
        document = content.document
        if isinstance(document, dict) and document:
            inside = f" with {', '.join(map(repr, list(document)[:_SHOWN_OF_PICKLE]))}"
        else:
            inside = ""
        return f"a pickle of a {type(document).__name__}{inside}", ""
    return f"neither JSON, pickle nor Parquet (it begins with {content.data[:8]!r})", ""


def _json_in_words(content: Content) -> tuple[str, str]:
    """Return what keys a JSON file has at its top, and the known key that one of them is near to, or ""."""
    try:
        keys = list(decode_json(content.text, dict[str, msgspec.Raw]))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # a list, or damaged: then keys of any depth
        anywhere = sorted(content.keys)[:_SHOWN]
        if not anywhere:
            return "JSON without keys", ""
        return f"JSON with the keys {', '.join(map(shortened, anywhere))}", ""
    if not keys:
        return "JSON without keys", ""
    shown = list(map(shortened, keys[:_SHOWN]))
    if len(keys) > _SHOWN:
        shown.append("...")
    hints = [did_you_mean(key, _TOP_KEYS) for key in keys[:_SHOWN] if key not in _TOP_KEYS]
    return f"JSON with the keys {', '.join(shown)} at its top", next(filter(None, hints), "")


__all__ = [
    "FORMATS",
    "Format",
    "UnreadableFile",
    "format_named",
    "format_to_write",
    "read",
    "recognise",
    "write",
]
