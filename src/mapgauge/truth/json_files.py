"""Reads JSON files by a schema."""

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from mapgauge.decoding import decode_json
from mapgauge.errors import Remedy, UnreadableFile
from mapgauge.files.garbage import gc_paused
from mapgauge.files.json_documents import refuse_doubled_keys
from mapgauge.files.source import Content

T = TypeVar("T")


def read_json(path: Path, schema: type[T], kind: str) -> T:
    """Read a JSON file. Only the fields of the schema are decoded.

    Args:
        path: The file.
        schema: A ``msgspec`` type.
        kind: What the file should be, for the error message: ``"a table of nuScenes"``.

    Raises:
        FileNotFoundError: The file is missing. Only the caller can say where to get it.
        UnreadableFile: The file cannot be read, is not JSON, does not follow the schema, or has a key twice.
    """
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

    def error_of(message: str, *, remedy: Remedy | str | None = None) -> UnreadableFile:
        return UnreadableFile(f"{path}: {message}", remedy=remedy)

    refuse_doubled_keys(data, error_of)
    return content
