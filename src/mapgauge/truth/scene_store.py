"""Keeps finished scenes on disk, so that an interrupted run can continue where it stopped."""

import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from mapgauge.decoding import decode_json
from mapgauge.errors import InvalidInput, MapgaugeError, Remedy, UnreadableFile
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io import read
from mapgauge.io.files.source import Content
from mapgauge.io.files.writing import save
from mapgauge.io.parquet import write

_SETTINGS = "settings.json"
_MOST = 1 << 28  # its bytes
_RESTART = Remedy(
    "Use the same settings as before, or pass restart=True to cut all scenes again",
    "Use the same options as before, or pass --restart to cut all scenes again",
)


class SceneStore:
    """A folder with one Parquet file for each finished scene, and the settings that the scenes were cut with.

    The folder is made when the first scene is saved.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: Mapping[str, Any], *, restart: bool = False) -> None:
        """Open a folder, which need not exist yet.

        Args:
            folder: Where finished scenes are kept.
            settings: Everything that decides how a scene is cut, as plain values. A folder with other settings is
                refused.
            restart: Delete the scenes in the folder.
        """
        self.folder = Path(folder)
        self._making = threading.Lock()
        self._settings = msgspec.json.encode(settings, order="deterministic")
        if not self.folder.exists():
            return
        try:
            foreign = not (self.folder / _SETTINGS).is_file() and any(self.folder.iterdir())
        except OSError as error:
            raise self._error(error) from error
        if foreign:
            raise MapgaugeError(
                f"{self.folder}: expected an empty folder or one with finished scenes, found other files",
                remedy=Remedy("Pass another folder as parts=", "Move this folder, or write to another file with -o"),
            )
        if restart:
            self.remove()
        elif (self.folder / _SETTINGS).is_file():
            self._compare(msgspec.json.decode(self._settings))

    def _compare(self, wanted: Mapping[str, Any]) -> None:
        path = self.folder / _SETTINGS
        try:
            found = decode_json(Content(path, _MOST).data, dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnreadableFile(
                f"{path}: not the settings of finished scenes: {error}",
                remedy=Remedy("Pass restart=True to cut all scenes again", "Pass --restart to cut all scenes again"),
            ) from error
        other = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
        if other:
            differs = [f"{name} was {_short(found.get(name))}, is {_short(wanted.get(name))}" for name in other]
            raise InvalidInput(
                f"{self.folder}: the finished scenes were cut with other settings ({'; '.join(differs)})",
                remedy=_RESTART,
            )

    def _path(self, scene: str) -> Path:
        return self.folder / f"{quote(scene, safe='')}.parquet"

    def save(self, scene: str, frames: MapFrames) -> None:
        """Save a finished scene."""
        with self._making:
            try:
                self.folder.mkdir(exist_ok=True)
            except OSError as error:
                raise self._error(error) from error
            if not (self.folder / _SETTINGS).is_file():
                save(self.folder / _SETTINGS, self._settings)
        save(self._path(scene), write(frames))

    def load(self, scene: str, tokens: Sequence[str]) -> MapFrames | None:
        """Return a finished scene, or None if it is not there with exactly these frames."""
        path = self._path(scene)
        if not path.is_file():
            return None
        try:
            frames = read(path, "parquet")
        except UnreadableFile:
            return None  # a damaged scene is cut again
        return frames if list(frames.tokens) == list(tokens) else None

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _error(self, error: OSError) -> MapgaugeError:
        return MapgaugeError(f"{self.folder}: finished scenes cannot be kept here: {error.strerror or error}")


def _short(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
