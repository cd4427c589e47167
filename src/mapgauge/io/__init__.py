"""Files: one module per format, one row in ``FORMATS`` for each; ``read`` and ``write``.

A format is recognised by what is in the file, never by its name.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mapgauge.errors import InvalidInput, UnreadableFile
from mapgauge.files.places import is_dataset
from mapgauge.files.source import Content
from mapgauge.files.writing import save
from mapgauge.frames.map_frames import MapFrames
from mapgauge.io import geojson, hdmapnet, maptr, maptracker, openlanev2, parquet, streammapnet, vectormapnet
from mapgauge.io._collect import Classes, Settings, class_table
from mapgauge.io._format import Format
from mapgauge.io.dataset import open_dataset
from mapgauge.typing import Degenerate

# The order matters only where one file could be taken for two: the first that recognises it reads it.
FORMATS: Mapping[str, Format] = {
    row.name: row
    for row in (
        parquet.PARQUET,
        geojson.GEOJSON,
        maptr.RESULTS,
        maptr.TRUTH,
        streammapnet.RESULTS,
        hdmapnet.RESULTS,
        vectormapnet.RESULTS,
        openlanev2.RESULTS,
        openlanev2.TRUTH,
        maptracker.TRACKS,
        maptracker.TRUTH_TRACKS,
        streammapnet.TRUTH,
    )
}


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    classes: Classes | None = None,
    degenerate: Degenerate = "strict",
    **options: Any,
) -> MapFrames:
    """Read a result file or a ground-truth file.

    Args:
        path: The file; it may be compressed with gzip or zstd. Of Parquet also a folder, or a URL that fsspec knows.
        format: Its format by name (``mapgauge.io.FORMATS`` has the list); recognised by content if None.
        classes: What the file's numeric labels mean, if not what its format says: a list of names, ``{id: name}`` or
            ``{name: id}``.
        degenerate: What to do with instances that are no polyline (fewer than two points, a coordinate or a confidence
            that is not finite): ``"strict"`` refuses the file, ``"drop"`` leaves them out and counts them in a finding.
        options: What only some formats take: ``part`` and ``unshrink`` (vectormapnet), ``tracks``
            (streammapnet-truth), ``properties`` (geojson).

    Returns:
        The frames, with what the reader noticed in ``findings``.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "results.json"
    >>> frame = '{"vectors": [[[0, 0], [9, 0]]], "scores": [0.8], "labels": [1]}'
    >>> _ = path.write_text('{"meta": {}, "results": {"4b2f": ' + frame + "}}")
    >>> mg.read(path)["4b2f"]
    [Instance(class_name='divider', points=array([[0., 0.], [9., 0.]]), confidence=0.8, track=None)]
    """
    if degenerate not in ("strict", "drop"):
        raise InvalidInput(f"degenerate must be 'strict' or 'drop', got {degenerate!r}")
    if format in (None, "parquet") and classes is None and not options and is_dataset(path):
        return open_dataset(path).read(Settings(None, degenerate, {}))
    content = Content(path)
    row = recognise(content) if format is None else format_named(format)
    unknown = [name for name in options if name not in row.options]
    if unknown:
        takes = f"it takes {', '.join(row.options)}" if row.options else "it takes none"
        raise InvalidInput(f"{content.path}: no option {', '.join(unknown)} for the format {row.name}; {takes}")
    settings = Settings(None if classes is None else class_table(classes), degenerate, options)
    return row.read(content, settings)


def recognise(content: Content) -> Format:
    """The format of a file, by what is in it."""
    for _ in range(2):
        for row in FORMATS.values():
            if row.recognise(content):
                return row
        content.look_further()
    known = ", ".join(FORMATS)
    raise content.error(
        f"{_looks_like(content)}, but none of the known formats ({known}). Pass format= to be told what is missing"
    )


def format_named(name: str) -> Format:
    """A row of the table by its name."""
    if name not in FORMATS:
        raise InvalidInput(f"unknown format {name!r}. Known: {', '.join(FORMATS)}")
    return FORMATS[name]


def write(
    frames: MapFrames,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    classes: Classes | None = None,
) -> None:
    """Write frames to a file, completely or not at all.

    Args:
        frames: What to write.
        path: The file. ``.gz`` and ``.zst`` at its end compress it.
        format: The format by name. If None it follows from the suffix: ``.parquet`` and ``.geojson`` have one meaning.
        classes: The numeric ids to write for the class names, if not those of the format.

    >>> import mapgauge as mg
    >>> import pathlib, tempfile
    >>> truth = mg.MapFrames.of({"4b2f": {"divider": [[[0, 0], [9, 0]]]}})
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "truth.json.gz"
    >>> mg.write(truth, path, "maptr-truth")
    >>> mg.read(path).counts["divider"]
    1
    """
    target = Path(path)
    row = format_to_write(target, format)
    try:
        assert row.write is not None  # format_to_write saw to it
        data = row.write(frames, None if classes is None else class_table(classes))
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{target}: {error.object!r} is a name that UTF-8 cannot hold. Rename it") from error
    save(target, data)


def format_to_write(path: Path, format: str | None) -> Format:
    """The format that was named, or the one that the suffix of a file says."""
    able = ", ".join(row.name for row in FORMATS.values() if row.write)
    if format is not None:
        row = format_named(format)
        if row.write is None:
            raise InvalidInput(f"{path}: the format {row.name} can only be read. Writable: {able}")
        return row
    bare = path.name.removesuffix(".gz").removesuffix(".zst")
    meant = [row for row in FORMATS.values() if row.suffix and bare.endswith(row.suffix)]
    if len(meant) != 1:
        raise InvalidInput(f"{path}: which format? Pass format= with one of: {able}")
    return meant[0]


def _looks_like(content: Content) -> str:
    if content.kind == "json":
        keys = ", ".join(sorted(content.keys)[:8])
        return f"JSON with the keys {keys}" if keys else "JSON without keys"
    if content.kind == "pickle":
        document = content.document
        inside = f" with {', '.join(map(repr, list(document)[:3]))}" if isinstance(document, dict) and document else ""
        return f"a pickle of a {type(document).__name__}{inside}"
    return f"neither JSON, pickle nor Parquet (it begins with {content.data[:8]!r})"


__all__ = ["FORMATS", "Format", "UnreadableFile", "format_named", "format_to_write", "read", "recognise", "write"]
