"""Reads JSON files by a schema."""

from pathlib import Path
from typing import TypeVar

import msgspec

from mapgauge.errors import UnreadableFile
from mapgauge.files.garbage import gc_paused

T = TypeVar("T")


def read_json(path: Path, schema: type[T], kind: str) -> T:
    """Read a JSON file. Only the fields of the schema are decoded.

    Args:
        path: The file.
        schema: A ``msgspec`` type.
        kind: What the file should be, for the error message: ``"a table of nuScenes"``.

    Raises:
        FileNotFoundError: The file is missing. Only the caller can say where to get it.
        UnreadableFile: The file cannot be read, is not JSON, or does not follow the schema.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read: {error.strerror or error}") from error
    with gc_paused():
        try:
            return msgspec.json.decode(data, type=schema)
        except msgspec.ValidationError as error:
            raise UnreadableFile(f"{path}: not {kind}: {error}") from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UnreadableFile(
                f"{path}: not valid JSON: {error}", remedy="Check that the file was downloaded and copied completely"
            ) from error
