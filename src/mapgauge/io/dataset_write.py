"""Writes Parquet data sets: folders of files that can be streamed together.

Frames are sorted by scene and token, or by token if there are no scenes, and a scene is in one file. The row groups of
two such data sets have ranges of keys in the same order, so that streaming reads both data sets side by side.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np

from mapgauge.dependencies import fsspec_module
from mapgauge.errors import InvalidInput, MapgaugeError
from mapgauge.files.places import FINISHING, UNFINISHED, is_unfinished, is_url, put_file
from mapgauge.files.writing import save
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io import parquet
from mapgauge.io._writing import refuse_few_points
from mapgauge.io.dataset import keys_of

FILE_ROWS = 1 << 20  # approximate number of rows of a file: a hundred megabytes of predictions


class DatasetWriter:
    """A data set that is being written. All files appear in it when ``finish`` is called."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Create the folder, which must not contain Parquet files."""
        self.path = os.fspath(path).rstrip("/" if is_url(path) else f"/{os.sep}")
        if not is_url(self.path):
            self._make()
        elif _exists(self.path):
            raise InvalidInput(f"{self.path}: files exist already at this URL", remedy="Give another URL")

    def _make(self) -> None:
        folder = Path(self.path)
        self._refuse_files()
        self._new = not folder.is_dir()
        # Each writer has a folder of its own, so that two writers of one data set do not mix their files.
        self._hidden = folder / UNFINISHED / secrets.token_hex(8)
        try:
            self._hidden.mkdir(parents=True)
        except OSError as error:
            self.remove()
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
            data = parquet.write(ordered.between(part))
            if is_url(self.path):
                put_file(f"{self.path}/{file}", data)
            else:
                save(self._hidden / file, data)
            return file

        with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
            return list(pool.map(write, enumerate(_files(ordered))))

    def finish(self) -> None:
        """Make the files visible, all of them or none."""
        if is_url(self.path):
            return  # renaming is not cheap there: a failed run calls ``remove``
        folder = Path(self.path)
        mark, moved = folder / FINISHING, list[Path]()
        try:
            mark.touch(exist_ok=False)  # the data set is not read while this file exists
        except OSError as error:
            why = "another command writes here, or was killed" if is_unfinished(folder) else error.strerror or error
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
        """Delete what was written."""
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


def _files(frames: MapFrames) -> Iterator[slice]:
    """Return the run of frames of each file: whole scenes, about ``FILE_ROWS`` rows. No frames give one empty file."""
    ends = np.concatenate([[0], np.maximum(np.diff(frames.offsets), 1).cumsum()])
    scenes = frames.scenes
    starts = [0]
    for i in range(1, len(frames)):
        within = scenes is not None and scenes[i] == scenes[i - 1]
        if not within and ends[i] - ends[starts[-1]] >= FILE_ROWS:
            starts.append(i)
    return (slice(first, last) for first, last in pairwise([*starts, len(frames)]))


def _exists(url: str) -> bool:
    try:
        fs, root = fsspec_module().core.url_to_fs(url)
        return bool(fs.exists(root) and fs.find(root))
    except (OSError, ValueError, ImportError) as error:
        raise MapgaugeError(f"{url}: cannot be listed: {error}") from error
