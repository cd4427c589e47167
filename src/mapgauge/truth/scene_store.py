"""Finished scenes on disk: work that was interrupted goes on where it stopped."""

import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from mapgauge.errors import InvalidInput, MapgaugeError, UnreadableFile
from mapgauge.files.writing import save
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io import read
from mapgauge.io.parquet import write

_SETTINGS = "settings.json"


class Parts:
    """A folder with a Parquet file for each finished scene, and with the settings they were cut with.

    It is made when the first scene is finished.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: Mapping[str, Any], *, restart: bool = False) -> None:
        """Look at what is there.

        Args:
            folder: Where finished scenes are kept.
            settings: What decides how a scene is cut, as plain values. Scenes cut with other settings are refused.
            restart: Throw away what is there.
        """
        self.folder = Path(folder)
        self._making = threading.Lock()
        self._settings = msgspec.json.encode(settings, order="deterministic")
        if not self.folder.exists():
            return
        try:
            strange = not (self.folder / _SETTINGS).is_file() and any(self.folder.iterdir())
        except OSError as error:
            raise self._error(error) from error
        if strange:
            raise MapgaugeError(f"{self.folder}: expected finished scenes or nothing here. Move it away")
        if restart:
            self.remove()
        elif (self.folder / _SETTINGS).is_file():
            self._compare(msgspec.json.decode(self._settings))

    def _compare(self, wanted: Mapping[str, Any]) -> None:
        path = self.folder / _SETTINGS
        anew = "start anew with restart (--restart on the command line)"
        try:
            found = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UnreadableFile(f"{path}: not the settings of finished scenes: {error}. To {anew}") from error
        except OSError as error:
            raise self._error(error) from error
        other = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
        if other:
            differs = [f"{name} was {_short(found.get(name))}, is {_short(wanted.get(name))}" for name in other]
            raise InvalidInput(
                f"{self.folder}: holds scenes that were cut with other settings ({'; '.join(differs)}). "
                f"Go on with those, or {anew}"
            )

    def _path(self, scene: str) -> Path:
        return self.folder / f"{quote(scene, safe='')}.parquet"

    def save(self, scene: str, frames: MapFrames) -> None:
        """Keep a finished scene."""
        with self._making:
            try:
                self.folder.mkdir(exist_ok=True)
            except OSError as error:
                raise self._error(error) from error
            if not (self.folder / _SETTINGS).is_file():
                save(self.folder / _SETTINGS, self._settings)
        save(self._path(scene), write(frames))

    def load(self, scene: str, tokens: Sequence[str]) -> MapFrames | None:
        """A finished scene, if it is there with these frames."""
        path = self._path(scene)
        if not path.is_file():
            return None
        try:
            frames = read(path, "parquet")
        except UnreadableFile:
            return None  # damaged: it is cut again
        return frames if list(frames.tokens) == list(tokens) else None

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _error(self, error: OSError) -> MapgaugeError:
        return MapgaugeError(f"{self.folder}: finished scenes cannot be kept here: {error.strerror or error}")


def _short(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
