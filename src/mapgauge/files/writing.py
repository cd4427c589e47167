"""Atomic writing: a file is written completely or not at all."""

import gzip
import os
from pathlib import Path

from mapgauge.dependencies import zstd_module
from mapgauge.errors import MapgaugeError


def save(path: Path, data: bytes) -> None:
    """Write a file completely or not at all; the suffixes ``.gz`` and ``.zst`` compress it."""
    if path.suffix == ".gz":
        data = gzip.compress(data, compresslevel=6, mtime=0)  # no time stamp: equal data give equal files
    elif path.suffix == ".zst":
        data = zstd_module().compress(data)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            part.write_bytes(data)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise MapgaugeError(f"{path}: cannot be written: {error.strerror or error}") from error
