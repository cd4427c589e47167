"""The files of a Shapefile: from a ZIP archive or a folder, with checks that they are complete."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import numpy as np

from mapgauge.errors import UnreadableFile
from mapgauge.io.files.source import RAISE, Content, is_plain_file, most_bytes
from mapgauge.typing import Flags, Indices

PARTS = (".shp", ".shx", ".dbf", ".prj", ".cpg")  # what is read; other files are left alone
MAGIC = b"\x00\x00\x27\x0a"
_NEEDED = (".shp", ".shx")
_HEADER = 100  # bytes, of .shp and .shx
_NO_POINTS = 44  # bytes of a record without points: type, box and two counts
_TABLE_HEADER = 32  # bytes at least, of .dbf
_MOST_MEMBERS = 10_000  # files in an archive
_ENCRYPTED = 1  # a flag of a member of a ZIP archive
_COMPLETE = "Check that it was copied or downloaded completely"


def zipped_shapefiles(content: Content) -> dict[str, dict[str, bytes]]:
    """Return the Shapefiles in a ZIP archive: the content of the parts by their suffix, by name.

    The sizes are checked before anything is unpacked, and the sums of all parts afterwards.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            return _unpacked(content, archive)
    except UnreadableFile:  # which is a ValueError
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        # NotImplementedError: a compression that zipfile does not know.
        raise content.error(f"a damaged ZIP archive: {str(error)[:200]}", remedy=_COMPLETE) from error
    except (ValueError, struct.error, OverflowError, UnicodeError) as error:  # damaged headers
        raise content.error(f"a damaged ZIP archive: {str(error)[:200]}", remedy=_COMPLETE) from error


def _unpacked(content: Content, archive: zipfile.ZipFile) -> dict[str, dict[str, bytes]]:
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS:
        raise content.error(f"a ZIP archive of {len(members)} files, expected at most {_MOST_MEMBERS}")
    chosen: dict[tuple[str, str], zipfile.ZipInfo] = {}
    for member in members:
        path = PurePosixPath(member.filename)
        suffix = path.suffix.lower()
        if suffix not in PARTS or path.name.startswith(".") or "__MACOSX" in path.parts:
            continue
        key = str(path.with_suffix("")), suffix
        if key in chosen:
            raise content.error(f"the ZIP archive has {member.filename!r:.100} twice")
        chosen[key] = member
    limit = most_bytes(len(content.data))
    size = sum(member.file_size for member in chosen.values())
    if size > limit:
        text = f"the ZIP archive has {len(content.data)} bytes, and its maps {size}, expected at most {limit}"
        raise content.error(text, remedy=RAISE)
    maps: dict[str, dict[str, bytes]] = {}
    for (name, suffix), member in chosen.items():
        if member.flag_bits & _ENCRYPTED:
            text = f"{member.filename!r:.100} in the ZIP archive has a password, expected none"
            raise content.error(text, remedy="Unpack it, and give the .shp file")
        # Other compressions give any number of bytes at once.
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            text = f"{member.filename!r:.100} is compressed in an unusual way, expected deflate or none"
            raise content.error(text, remedy="Make the ZIP archive again with another program")
        data = archive.read(member)  # no more bytes than the stated size
        if len(data) != member.file_size:
            raise content.error(f"a damaged ZIP archive: {member.filename!r:.100} is not as long as stated")
        maps.setdefault(name, {})[suffix] = data
    maps = {name: parts for name, parts in maps.items() if ".shp" in parts}
    if not maps:
        raise content.error("a ZIP archive without a Shapefile (.shp)")
    return maps


def shapefile_beside(content: Content) -> dict[str, bytes]:
    """Return the parts of a Shapefile: the given file, and those of the same name beside it."""
    parts = {".shp": content.data}
    try:
        names = sorted(content.path.parent.iterdir())
    except OSError as error:
        raise content.error(f"the other parts of the Shapefile cannot be found: {error.strerror}") from error
    for path in names:
        suffix = path.suffix.lower()
        if suffix in PARTS and suffix not in parts and path.stem == content.path.stem and is_plain_file(path):
            if _size(path):
                parts[suffix] = Content(path).data
            else:
                parts[suffix] = b""
    return parts


def _size(path: Path) -> int:
    return path.stat().st_size


def check_shapefile(content: Content, parts: Mapping[str, bytes], name: str) -> Flags:
    """Refuse a Shapefile that is not complete, and return for each of its elements whether it has points."""
    missing = [suffix for suffix in _NEEDED if suffix not in parts]
    if missing:
        raise content.error(
            f"{name}: a Shapefile without its part {missing[0]}",
            remedy="Keep .shp, .shx, .dbf and .prj together, or put them into one ZIP archive",
        )
    shp = _stated_part(content, parts[".shp"], f"{name}.shp")
    shx = _stated_part(content, parts[".shx"], f"{name}.shx")
    count, rest = divmod(len(shx) - _HEADER, 8)
    entries = 2 * np.frombuffer(shx, ">i4", 2 * count, _HEADER).astype(np.int64).reshape(-1, 2)
    starts = entries[:, 0]
    sizes = entries[:, 1]
    # A record has its number, its length and at least its type.
    fits = (starts >= _HEADER) & (sizes >= 4) & (starts + 8 + sizes <= len(shp))
    if rest or not fits.all() or not np.array_equal(2 * _numbers(shp, starts + 4, ">i4"), sizes):
        raise content.error(f"{name}.shx: it does not fit to {name}.shp", remedy=_COMPLETE)
    kinds = _numbers(shp, starts + 8, "<i4")
    kind = int.from_bytes(shp[32:36], "little")
    if not np.isin(kinds, (0, kind)).all():
        raise content.error(f"{name}.shp: its records have other types than its header states", remedy=_COMPLETE)
    has_points: Flags = (kinds != 0) & (sizes > _NO_POINTS)
    if ".dbf" in parts:
        has_points = has_points[_kept(content, parts[".dbf"], name, count=count)]
    return has_points


def _stated_part(content: Content, data: bytes, name: str) -> bytes:
    """Return a part of a Shapefile up to the length that its header states."""
    if len(data) < _HEADER or not data.startswith(MAGIC):
        raise content.error(f"{name}: not a part of a Shapefile, or cut off", remedy=_COMPLETE)
    stated = 2 * int.from_bytes(data[24:28], "big")
    if not _HEADER <= stated <= len(data):
        raise content.error(f"{name}: {len(data)} bytes, and its header states {stated}", remedy=_COMPLETE)
    return data[:stated]


def _numbers(data: bytes, at: Indices, kind: str) -> Indices:
    """Return the numbers of four bytes that stand at some places."""
    found = np.frombuffer(data, np.uint8)[at[:, None] + np.arange(4)]
    numbers: Indices = found.view(kind).ravel().astype(np.int64)
    return numbers


def _kept(content: Content, table: bytes, name: str, count: int) -> Flags:
    """Check the table of properties, and return which records are not marked as deleted."""
    if len(table) < _TABLE_HEADER:
        raise content.error(f"{name}.dbf: cut off", remedy=_COMPLETE)
    records, start, size = struct.unpack_from("<IHH", table, 4)
    if records != count:
        text = f"{name}.dbf: its header states {records} records, and {name}.shx has {count}"
        raise content.error(text, remedy=_COMPLETE)
    if start + records * size > len(table) or size < 1:
        text = f"{name}.dbf: {len(table)} bytes, and its header states {start + records * size}"
        raise content.error(text, remedy=_COMPLETE)
    marks = np.frombuffer(table, np.uint8)[start + size * np.arange(records)]
    deleted: Flags = marks == ord("*")
    if not (deleted | (marks == ord(" "))).all():
        raise content.error(f"{name}.dbf: a record has no mark, expected a blank or a star", remedy=_COMPLETE)
    return ~deleted
