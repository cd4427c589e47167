"""Parquet data sets: one file or a folder of them, here or behind a URL, read by row group.

Only footers are read to open one. They say which frames each row group holds: the first and last key, which is the
scene and the token, or the token alone. ``docs/reference/parquet.md`` describes the columns.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import numpy as np

from mapgauge.dependencies import pyarrow_modules
from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.files.places import is_url, open_file, parquet_files
from mapgauge.frames.joining import join_frames
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io._collect import Settings
from mapgauge.io._parquet_rows import (
    Metadata,
    Rows,
    about_of,
    broken,
    broken_errors,
    open_footer,
    read_group,
)
from mapgauge.io.parquet import frames_of

Key: TypeAlias = tuple[str, str]  # scene and token; the scene is empty where frames meet by token alone

_SCENE = "scene="  # of a folder's name: the scene of all files in it
_STREAMS = 8  # footers read at once: they are small, and far away


class Group(NamedTuple):
    """A row group: where it is, and the keys of its frames."""

    file: str
    number: int  # in its file
    rows: int
    size: int  # bytes, uncompressed
    first: Key
    last: Key


class Piece(NamedTuple):
    """Row groups of a file: what a worker is told to read."""

    file: str
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Some row groups of a file, as errors name them."""

    file: str
    groups: tuple[int, ...] = ()

    def error(self, message: str) -> UnreadableFile:
        where = f" (row group {', '.join(map(str, self.groups))})" if self.groups else ""
        return UnreadableFile(f"{self.file}{where}: {message}")


@dataclass(frozen=True, eq=False)
class DataSet:
    """What the footers of a data set say."""

    path: str
    files: tuple[str, ...]
    groups: tuple[Group, ...]
    classes: tuple[str, ...]
    confidence: bool
    scenes: bool
    digest: str  # of all footers: another one means that the data changed
    findings: tuple[Any, ...]  # that were noted when it was written

    def read(self, settings: Settings | None = None) -> MapFrames:
        """All of it, in memory."""
        frames = read_pieces(pieces_of(self.groups), settings or Settings(None, "strict", {}))
        return replace(frames, name=self.path)


def open_dataset(path: str | os.PathLike[str]) -> DataSet:
    """Look at a data set: list its files, and read their footers."""
    files = parquet_files(path)
    with ThreadPoolExecutor(min(_STREAMS, len(files))) as pool:
        footers = list(pool.map(_footer, files))
    digest = hashlib.blake2b(digest_size=16)
    root = str(path if is_url(path) else Path(path).absolute())  # the data set is the same wherever it lies
    for file, footer in zip(files, footers, strict=True):
        digest.update(f"{file.removeprefix(root)}\0{footer.digest}\0".encode())
    for name in ("dimension", "confidence", "scenes"):
        values = [getattr(footer, name) for footer in footers if footer.groups]
        odd = next((k for k, value in enumerate(values) if value != values[0]), None)
        if odd is not None:
            raise InvalidInput(
                f"{path}: its files differ in {name}: {values[0]} in {files[0]}, {values[odd]} in {files[odd]}"
            )
    return DataSet(
        str(path),
        tuple(files),
        tuple(group for footer in footers for group in footer.groups),
        tuple(dict.fromkeys(name for footer in footers for name in footer.classes)),
        footers[0].confidence,
        footers[0].scenes,
        digest.hexdigest(),
        tuple(dict.fromkeys(finding for footer in footers for finding in footer.findings)),
    )


class _Footer(NamedTuple):
    groups: list[Group]
    classes: tuple[str, ...]
    dimension: int
    confidence: bool
    scenes: bool
    digest: str
    findings: tuple[Any, ...]


def _footer(file: str) -> _Footer:
    """What the footer of one file says."""
    place = _Place(file)
    try:
        with open_file(file) as stream:
            footer, schema = open_footer(place, stream)
            about = about_of(place, schema)
            keys = [_keys(file, stream, footer, schema, index) for index in range(footer.num_row_groups)]
            classes = _classes(stream, footer, schema, about)
    except broken_errors() as error:
        raise broken(place, error) from error
    groups = []
    for index, (first, last) in enumerate(keys):
        group = footer.row_group(index)
        if group.num_rows:
            groups.append(Group(file, index, group.num_rows, group.total_byte_size, first, last))
    point = schema.field("geometry").type
    dimension = about.dimension if about else getattr(getattr(point, "value_type", None), "num_fields", 0)
    text = footer.to_dict() | {"schema": str(schema)}
    scenes = "scene" in schema.names or _scene_of(file) is not None
    return _Footer(
        groups,
        classes,
        dimension,
        "confidence" in schema.names,
        scenes,
        hashlib.blake2b(repr(text).encode(), digest_size=16).hexdigest(),
        about.findings if about else (),
    )


def _keys(file: str, stream: Any, footer: Any, schema: Any, index: int) -> tuple[Key, Key]:
    """The first and the last key of a row group: from its statistics, or from its rows where it has none."""
    group = footer.row_group(index)
    known = {}
    for k in range(group.num_columns):
        column = group.column(k)
        if column.path_in_schema in ("token", "scene"):
            statistics = column.statistics
            if statistics is not None and statistics.has_min_max and isinstance(statistics.min, str):
                known[column.path_in_schema] = (statistics.min, statistics.max)
    wanted = [name for name in ("token", "scene") if name in schema.names]
    if any(name not in known for name in wanted):
        _, pq = pyarrow_modules()
        with pq.ParquetFile(stream, metadata=footer) as parquet:
            table = parquet.read_row_group(index, columns=wanted, use_threads=False)
        for name in wanted:
            texts = [str(value) for value in table[name].unique().to_pylist() if value is not None]
            known[name] = (min(texts, default=""), max(texts, default=""))
    scene = _scene_of(file)
    scenes = known.get("scene", (scene or "", scene or ""))
    return (scenes[0], known["token"][0]), (scenes[1], known["token"][1])


def _classes(stream: Any, footer: Any, schema: Any, about: Metadata | None) -> tuple[str, ...]:
    """The classes of a file: as our writer noted them; in files of others, those that occur."""
    if about is not None:
        return about.classes
    _, pq = pyarrow_modules()
    found: dict[str, None] = {}
    with pq.ParquetFile(stream, metadata=footer) as parquet:
        for index in range(footer.num_row_groups):
            column = parquet.read_row_group(index, columns=["class"], use_threads=False)["class"]
            found |= dict.fromkeys(name for name in column.unique().to_pylist() if name is not None)
    return tuple(found)


def _scene_of(file: str) -> str | None:
    """The scene that the folders of a file name, as in ``scene=0103/part-0.parquet``."""
    return next((unquote(part[len(_SCENE) :]) for part in file.split("/") if part.startswith(_SCENE)), None)


def pieces_of(groups: Iterable[Group]) -> tuple[Piece, ...]:
    """Row groups, file by file."""
    by_file = groupby(sorted(groups, key=lambda group: (group.file, group.number)), key=lambda group: group.file)
    return tuple(Piece(file, tuple(group.number for group in part)) for file, part in by_file)


def read_pieces(pieces: Sequence[Piece], settings: Settings, without: Sequence[str] = ()) -> MapFrames:
    """The frames of some row groups, without some of the columns that need not be there."""
    return join_frames([_read_piece(piece, settings, without) for piece in pieces])


def _read_piece(piece: Piece, settings: Settings, without: Sequence[str]) -> MapFrames:
    place = _Place(piece.file, piece.groups)
    with open_file(piece.file) as stream:
        footer, schema = open_footer(place, stream)
        tables = []
        for index in piece.groups:
            try:
                tables.append(read_group(stream, footer, schema, index, without))
            except broken_errors() as error:
                raise broken(_Place(piece.file, (index,)), error) from error
    frames = frames_of(Rows(place, schema, tables, whole=False, without=without), settings, piece.file)
    scene = _scene_of(piece.file)
    if frames.scenes is None and scene is not None:
        frames = replace(frames, scenes=(scene,) * len(frames))
    return frames


def keys_of(frames: MapFrames, by_scene: bool) -> "np.ndarray[Any, np.dtype[np.object_]]":
    """The key of each frame."""
    scenes = frames.scenes if by_scene and frames.scenes is not None else ("",) * len(frames)
    keys = np.empty(len(frames), np.object_)
    keys[:] = list(zip(scenes, frames.tokens, strict=True))
    return keys
