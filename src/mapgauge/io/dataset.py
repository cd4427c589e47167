"""Parquet data sets: one file or a folder of files, local or behind a URL, read by row group.

Opening a data set reads only the footers. They give the first and the last key of each row group. A key is the scene
and the token of a frame, or the token alone. ``docs/reference/parquet.md`` describes the columns.
"""

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

import numpy as np

from mapgauge.dependencies import fsspec_module, pyarrow_modules
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.frames.alignment import agreed_forward, join_frames
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io import parquet
from mapgauge.io._format import ReadOptions, refuse_few_points
from mapgauge.io._parquet_columns import FRAME_ORDER, ParquetColumns
from mapgauge.io._parquet_file import (
    VERSION,
    Metadata,
    RowGroupInfo,
    about_of,
    broken,
    broken_errors,
    check_size,
    columns_to_read,
    footer_bytes,
    open_parquet,
    row_groups,
)
from mapgauge.io.files.json_documents import MakeError
from mapgauge.io.files.places import FINISHING, UNFINISHED, is_unfinished, is_url, open_file, parquet_files, put_file
from mapgauge.io.files.writing import save
from mapgauge.io.parquet import frames_from_columns
from mapgauge.typing import Forward

Key: TypeAlias = tuple[str, str]  # scene and token; the scene is empty if frames are matched by token alone

_SCENE = "scene="  # begins the name of a folder whose files all belong to one scene
# What file systems of fsspec tell about the content, the version and the age of a file.
_HASHES = ("etag", "checksum", "md5", "md5hash", "content_md5", "content-md5", "digest", "crc32c")
_VERSIONS = ("generation", "versionid", "version_id")
_TIMES = ("mtime", "modified", "last_modified", "last-modified", "lastmodified", "updated", "created")
_STREAMS = 8  # number of footers read at the same time: they are small, but may be far away


class Group(NamedTuple):
    """A row group: its place, its size and the keys of its frames."""

    file: str
    number: int  # index in its file
    rows: int
    size: int  # bytes, uncompressed
    first: Key
    last: Key


class RowGroups(NamedTuple):
    """Some row groups of one file, which a worker reads."""

    file: str
    groups: tuple[int, ...]

    def error(self, message: str, *, remedy: Remedy | str | None = None) -> UnreadableFile:
        """Return an error whose message begins with the file and the row groups."""
        if self.groups:
            where = f" (row group {', '.join(map(str, self.groups))})"
        else:
            where = ""
        return UnreadableFile(f"{self.file}{where}: {message}", remedy=remedy)


@dataclass(frozen=True, eq=False, kw_only=True)
class DataSet:
    """A data set, described by its footers."""

    path: str
    files: tuple[str, ...]
    groups: tuple[Group, ...]
    classes: tuple[str, ...]
    confidence: bool
    scenes: bool
    digest: str  # of all footers: a different digest means that the data changed
    stamps: Mapping[str, str]  # of each file, by its path in the data set: see ``stamp_of``
    findings: tuple[Any, ...]  # stored when the data set was written
    forward: Forward | None = None  # the axis that points forward, if the files agree
    boxes: tuple[str, ...] = ()  # names of the classes whose instances are boxes in an image

    def read(self, options: ReadOptions | None = None) -> MapFrames:
        """Read the whole data set into memory."""
        frames = read_row_groups(row_groups_of(self.groups), options or ReadOptions())
        return replace(frames, name=self.path)

    def tokens(self) -> list[str]:
        """Read the tokens of all frames, sorted."""
        return sorted({token for _, tokens in _tokens_of(self.groups) for token in tokens})

    def groups_with(self, token: str) -> list[Group]:
        """Return the row groups that have a frame. The tokens of all groups that may have it are read."""
        groups = [group for group in self.groups if group.first[1] <= token <= group.last[1]]
        return [group for group, tokens in _tokens_of(groups) if token in tokens]

    def files_changed(self, stamps: Mapping[str, str]) -> set[str]:
        """Return the files that may have other content than when the stamps were taken."""
        now = zip(self.files, self.stamps.items(), strict=True)
        return {file for file, (name, stamp) in now if not stamp or stamps.get(name) != stamp}


def open_dataset(path: str | os.PathLike[str]) -> DataSet:
    """Open a data set: list its files and read their footers."""
    path = os.fspath(path)  # not an opened file: the path is recorded in results
    files = parquet_files(path)
    with ThreadPoolExecutor(min(_STREAMS, len(files))) as pool:
        stamps = list(pool.map(stamp_of, files))  # before anything is read
        footers = list(pool.map(_footer, files))
    digest = hashlib.blake2b(digest_size=16)
    root = str(path if is_url(path) else Path(path).absolute())  # the digest does not depend on where the data set is
    names = [file.removeprefix(root) for file in files]
    for name, footer in zip(names, footers, strict=True):
        digest.update(f"{name}\0{footer.digest}\0".encode())
    for name in ("dimension", "confidence", "scenes"):
        values = [getattr(footer, name) for footer in footers if footer.groups]
        odd = next((k for k, value in enumerate(values) if value != values[0]), None)
        if odd is not None:
            raise InvalidInput(
                f"{path}: the files differ in {name}: {values[0]} in {files[0]}, {values[odd]} in {files[odd]}"
            )
    return DataSet(
        path=path,
        files=tuple(files),
        groups=tuple(group for footer in footers for group in footer.groups),
        classes=tuple(dict.fromkeys(name for footer in footers for name in footer.about.classes)),
        confidence=footers[0].confidence,
        scenes=footers[0].scenes,
        digest=digest.hexdigest(),
        stamps=dict(zip(names, stamps, strict=True)),
        findings=tuple(dict.fromkeys(finding for footer in footers for finding in footer.about.findings)),
        forward=agreed_forward(footer.about.forward for footer in footers),
        boxes=tuple(dict.fromkeys(name for footer in footers for name in footer.about.boxes)),
    )


def stamp_of(file: str) -> str:
    """Return what tells whether a file was written again: its size with its times, or with the checksum of a store.

    A footer is not enough. It has the sizes of all columns and the bounds of their values, which stay the same if two
    values are exchanged. The stamp is "" if the file system knows neither times nor checksums.
    """
    try:
        if not is_url(file):
            status = Path(file).stat()
            return f"{status.st_size:x}-{status.st_mtime_ns:x}-{status.st_ctime_ns:x}"
        fs, name = fsspec_module().core.url_to_fs(file)
        known = {str(key).lower(): value for key, value in fs.info(name).items()}
    except (OSError, ValueError, ImportError):
        return ""  # reading the file gives a better error
    marks = [f"{key}={known[key]}" for key in (*_HASHES, *_VERSIONS, *_TIMES) if known.get(key)]
    text = "\0".join([str(known.get("size")), *marks])
    if not marks:
        return ""
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


class _Footer(NamedTuple):
    groups: list[Group]
    about: Metadata
    dimension: int
    confidence: bool
    scenes: bool
    digest: str


def _footer(file: str) -> _Footer:
    """Read the footer of one file."""
    error = RowGroups(file, ()).error
    try:
        with open_file(file) as stream:
            parquet, schema = open_parquet(error, stream)
            footer = parquet.metadata
            about = about_of(error, schema)
            data = footer_bytes(stream)
            infos = row_groups(data)
            check_size(infos, stream.seek(0, 2), error)
            groups = [
                _group(file, stream, footer, schema=schema, index=index, info=info)
                for index, info in enumerate(infos)
                if info.rows
            ]
            if about is None:  # the file of another program
                dimension = getattr(getattr(schema.field("geometry").type, "value_type", None), "num_fields", 0)
                about = Metadata(VERSION, dimension, _classes(stream, footer))
            _check_frames(error, stream, footer, schema=schema, infos=infos)
    except UnreadableFile:
        raise
    except broken_errors() as cause:
        raise broken(error, cause) from cause
    scenes = "scene" in schema.names or _scene_of(file) is not None
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    return _Footer(
        groups, about, about.dimension, confidence="confidence" in schema.names, scenes=scenes, digest=digest
    )


def _group(file: str, stream: Any, footer: Any, schema: Any, index: int, info: RowGroupInfo) -> Group:
    """Return a row group with its keys, from its statistics or, without statistics, from its rows."""
    scene = _scene_of(file) or ""
    bounds = {"scene": (scene, scene)}
    for name in ("token", "scene"):
        if name in schema.names:
            texts = info.texts.get(name) or [str(value) for value in _values(stream, footer, index, name=name)]
            bounds[name] = (min(texts, default=""), max(texts, default=""))
    first, last = zip(bounds["scene"], bounds["token"], strict=True)
    return Group(file, index, info.rows, size=info.size, first=first, last=last)


def _check_frames(error: MakeError, stream: Any, footer: Any, schema: Any, infos: Sequence[RowGroupInfo]) -> None:
    """Refuse row groups whose numbers of frames do not follow each other; a worker sees some row groups only."""
    if "frame" not in schema.names:
        return
    before = -1
    for index, info in enumerate(infos):
        if not info.rows:
            continue
        frames = info.numbers.get("frame") or _values(stream, footer, index, name="frame")
        first = min(frames, default=before)
        last = max(frames, default=before)
        if first not in (before, before + 1) or (before < 0 and first):
            message, remedy = FRAME_ORDER
            raise error(f"row group {index}: {message}, got {first} after {max(before, 0)}", remedy=remedy)
        before = last


def _values(stream: Any, footer: Any, index: int, name: str) -> list[Any]:
    """Return the different values of a column of a row group, without null."""
    _, pq = pyarrow_modules()
    with pq.ParquetFile(stream, metadata=footer) as parquet:
        column = parquet.read_row_group(index, columns=[name], use_threads=False)[name]
    return [value for value in column.unique().to_pylist() if value is not None]


def _classes(stream: Any, footer: Any) -> tuple[str, ...]:
    """Return the classes of all rows."""
    names: dict[str, None] = {}
    for index in range(footer.num_row_groups):
        names |= dict.fromkeys(_values(stream, footer, index, name="class"))
    return tuple(names)


def _scene_of(file: str) -> str | None:
    """Return the scene in the path of a file, as in ``scene=0103/part-0.parquet``; None if there is none."""
    return next((unquote(part[len(_SCENE) :]) for part in file.split("/") if part.startswith(_SCENE)), None)


def _tokens_of(groups: Iterable[Group]) -> Iterator[tuple[Group, set[str]]]:
    """Read the tokens of row groups, file by file."""
    for path, of_file in groupby(sorted(groups, key=lambda group: group[:2]), key=lambda group: group.file):
        with open_file(path) as stream:
            file, _ = open_parquet(RowGroups(path, ()).error, stream)
            with file:
                for group in of_file:
                    try:
                        table = file.read_row_group(group.number, columns=["token"], use_threads=False)
                    except broken_errors() as cause:
                        raise broken(RowGroups(path, (group.number,)).error, cause) from cause
                    yield group, {str(value) for value in table["token"].unique().to_pylist()}


def row_groups_of(groups: Iterable[Group]) -> tuple[RowGroups, ...]:
    """Return row groups by file."""
    by_file = groupby(sorted(groups, key=lambda group: (group.file, group.number)), key=lambda group: group.file)
    listed = ((file, list(part)) for file, part in by_file)
    return tuple(RowGroups(file, tuple(group.number for group in part)) for file, part in listed)


def read_row_groups(parts: Sequence[RowGroups], options: ReadOptions, without: Sequence[str] = ()) -> MapFrames:
    """Read the frames of some row groups, without some of the optional columns."""
    return join_frames([_read(part, options, without) for part in parts])


def _read(part: RowGroups, options: ReadOptions, without: Sequence[str]) -> MapFrames:
    with open_file(part.file) as stream:
        file, schema = open_parquet(part.error, stream)
        names = columns_to_read(schema, without)
        tables = []
        with file:
            for index in part.groups:
                try:
                    tables.append(file.read_row_group(index, columns=names, use_threads=False))
                except broken_errors() as cause:
                    raise broken(RowGroups(part.file, (index,)).error, cause) from cause
    columns = ParquetColumns(part.error, schema, tables, whole=False, without=without)
    frames = frames_from_columns(columns, options, part.file)
    scene = _scene_of(part.file)
    if frames.scenes is None and scene is not None:
        frames = replace(frames, scenes=(scene,) * len(frames))
    return frames


def keys_of(frames: MapFrames, by_scene: bool) -> list[Key]:
    """Return the key of each frame."""
    if by_scene and frames.scenes is not None:
        scenes = frames.scenes
    else:
        scenes = ("",) * len(frames)
    return list(zip(scenes, frames.tokens, strict=True))


FILE_ROWS = 1 << 20  # approximate number of rows of a file: a hundred megabytes of predictions


class DatasetWriter:
    """A data set that is being written. All files appear in it when ``finish`` is called."""

    def __init__(
        self, path: str | os.PathLike[str], *, file_rows: int | None = None, group_rows: int | None = None
    ) -> None:
        """Create the folder, which must not contain Parquet files.

        A file has about ``file_rows`` rows, and its row groups at most ``group_rows``. By default these are
        ``FILE_ROWS`` and ``parquet.GROUP_ROWS``.
        """
        self._file_rows = FILE_ROWS
        if file_rows is not None:
            self._file_rows = file_rows
        self._group_rows = group_rows
        self.path: str = os.fspath(path).rstrip("/" if is_url(path) else f"/{os.sep}")
        if is_url(self.path):
            if _exists(self.path):
                raise InvalidInput(f"{self.path}: files exist already at this URL", remedy="Give another URL")
            return
        folder = Path(self.path)
        self._refuse_files()
        self._new = not folder.is_dir()
        # Each writer has a folder of its own, so that two writers of one data set do not mix their files.
        self._hidden = folder / UNFINISHED / secrets.token_hex(8)
        try:
            self._hidden.mkdir(parents=True)
        except BaseException as error:
            self.remove()
            if not isinstance(error, OSError):  # an interrupt
                raise
            raise MapgaugeError(f"{folder}: this folder cannot be created: {error.strerror or error}") from error

    def _refuse_files(self) -> None:
        """Refuse a folder that has Parquet files already."""
        folder = Path(self.path)
        if folder.is_dir() and not all(UNFINISHED in file.parts for file in folder.rglob("*.parquet")):
            raise InvalidInput(
                f"{folder}: this folder contains Parquet files already", remedy="Give another folder, or empty it"
            )

    def add(self, frames: MapFrames, name: str = "part", workers: int | None = None) -> list[str]:
        """Write frames to files whose names begin with ``name``, in threads; return the names of the files."""
        refuse_few_points(frames, self.path)
        ordered = sorted_frames(frames)

        def write(numbered: tuple[int, slice]) -> str:
            number, part = numbered
            file = f"{name}-{number:05}.parquet"
            data = parquet.write(ordered.between(part), group_rows=self._group_rows)
            if is_url(self.path):
                put_file(f"{self.path}/{file}", data)
            else:
                save(self._hidden / file, data)
            return file

        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            return list(pool.map(write, enumerate(_files(ordered, self._file_rows))))

    def finish(self) -> None:
        """Make the files visible, all of them or none."""
        if is_url(self.path):
            return  # renaming is not cheap there: a failed run calls ``remove``
        folder = Path(self.path)
        mark = folder / FINISHING
        moved = list[Path]()
        try:
            mark.touch(exist_ok=False)  # the data set is not read while this file exists
        except OSError as error:
            if is_unfinished(folder):
                why = "another command writes here, or was killed"
            else:
                why = error.strerror or str(error)
            raise MapgaugeError(f"{folder}: cannot be written: {why}", remedy="Give another folder") from error
        try:
            self._refuse_files()
            for file in sorted(self._hidden.iterdir()):
                moved.append(folder / file.name)
                file.replace(folder / file.name)
        except BaseException as error:
            for file in moved:
                file.unlink(missing_ok=True)
            mark.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise MapgaugeError(f"{folder}: cannot be written: {error.strerror or error}") from error
            raise
        mark.unlink()
        self._clear()

    def remove(self) -> None:
        """Delete all files that were written."""
        if is_url(self.path):
            fs, root = fsspec_module().core.url_to_fs(self.path)
            if fs.exists(root):
                fs.rm(root, recursive=True)
            return
        self._clear()
        if self._new:
            with suppress(OSError):
                Path(self.path).rmdir()

    def _clear(self) -> None:
        """Delete the hidden folder, and the one around it unless another writer uses it."""
        shutil.rmtree(self._hidden, ignore_errors=True)
        with suppress(OSError):
            self._hidden.parent.rmdir()


def sorted_frames(frames: MapFrames) -> MapFrames:
    """Return the frames sorted by scene and token, or by token."""
    keys = keys_of(frames, by_scene=True)
    return frames.at(sorted(range(len(keys)), key=keys.__getitem__))


def _files(frames: MapFrames, file_rows: int) -> Iterator[slice]:
    """Return the run of frames of each file: whole scenes, about ``file_rows`` rows. No frames give one empty file."""
    ends = np.concatenate([[0], np.maximum(np.diff(frames.offsets), 1).cumsum()])
    scenes = frames.scenes
    starts = [0]
    for i in range(1, len(frames)):
        within = scenes is not None and scenes[i] == scenes[i - 1]
        if not within and ends[i] - ends[starts[-1]] >= file_rows:
            starts.append(i)
    return (slice(first, last) for first, last in pairwise([*starts, len(frames)]))


def _exists(url: str) -> bool:
    try:
        fs, root = fsspec_module().core.url_to_fs(url)
        return bool(fs.exists(root) and fs.find(root))
    except (OSError, ValueError, ImportError) as error:
        raise MapgaugeError(f"{url}: cannot be listed: {error}") from error
