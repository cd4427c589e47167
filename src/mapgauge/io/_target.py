"""Writing: the whole file or none, and the ids that stand for class names."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path

from mapgauge.errors import InvalidInput, MapgaugeError
from mapgauge.frames import MapFrames
from mapgauge.io._source import zstd_module


def save(path: Path, data: bytes) -> None:
    """Write a file so that it is there completely or not at all, compressed if its name says so."""
    if path.suffix == ".gz":
        data = gzip.compress(data, compresslevel=6, mtime=0)  # no time stamp: equal data, equal file
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


def ids_of(frames: MapFrames, table: Sequence[str], override: dict[int, str] | None, format_name: str) -> list[int]:
    """The numeric id to write for each class of the frames that has instances; -1 for the others."""
    numbers = {
        name: i for i, name in (enumerate(table) if override is None else sorted(override.items(), reverse=True))
    }
    unknown = [name for name, count in frames.counts.items() if count and name not in numbers]
    if unknown:
        raise InvalidInput(
            f"{format_name} has no id for the class {', '.join(unknown)}. It has: {', '.join(numbers)}. "
            "Rename or select classes, or pass classes= with names and ids"
        )
    return [numbers.get(name, -1) for name in frames.classes]


def confidences_of(frames: MapFrames, format_name: str) -> list[float]:
    """The confidences, for a format that cannot do without."""
    if frames.confidence is None:
        raise InvalidInput(
            f"{format_name} holds predictions, and these frames have no confidence. "
            "Write a truth format, or call .with_confidence(1) first"
        )
    return list(frames.confidence.tolist())
