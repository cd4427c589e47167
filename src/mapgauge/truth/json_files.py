"""Reads JSON files of data sets into ``msgspec`` types."""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from mapgauge.decoding import decode_json
from mapgauge.errors import UnreadableFile
from mapgauge.io.files.json_documents import gc_paused, refuse_doubled_keys
from mapgauge.io.files.source import Content

T = TypeVar("T")


def read_json(path: Path, schema: type[T], kind: str) -> T:
    """Read a ``msgspec`` type from a JSON file. The caller explains a ``FileNotFoundError``."""
    if not os.path.lexists(path):
        raise FileNotFoundError(path)
    data = Content(path).data
    with gc_paused():
        try:
            content = decode_json(data, schema)
        except msgspec.ValidationError as error:
            raise UnreadableFile(f"{path}: not {kind}: {error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableFile(
                f"{path}: not valid JSON: {error}", remedy="Check that the file was downloaded and copied completely"
            ) from error
    refuse_doubled_keys(data, lambda message, *, remedy=None: UnreadableFile(f"{path}: {message}", remedy=remedy))
    return content
