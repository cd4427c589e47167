"""Row groups and statistics from the footer of a Parquet file.

pyarrow ends the whole process, without an exception, if it is asked for a column of a row group whose description in
the footer is damaged. The footer is therefore read here. It is a structure of Thrift in its compact protocol.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mapgauge.files.errors import MakeError
from mapgauge.files.limits import RAISE, most_bytes
from mapgauge.io._thrift import ThriftReader

_AXES = [b"x", b"y", b"z"]
_FLOAT, _DOUBLE, _BYTE_ARRAY = 4, 5, 6  # physical types; texts are arrays of bytes
_TAIL = 1 << 16  # bytes at the end of a file that are read at once


class RowGroupInfo(NamedTuple):
    """What the footer says about one row group."""

    rows: int
    values: int  # in all columns
    size: int  # bytes, uncompressed
    texts: dict[str, tuple[str, str]]  # bounds of columns of texts that have statistics: first, last
    numbers: dict[str, tuple[int, int]]  # bounds of columns of whole numbers
    axes: "tuple[Axis, ...]"  # of the points; none unless they are lists of structs of floats or doubles without nulls


class Axis(NamedTuple):
    """Where a row group has one coordinate of all points."""

    top: int  # the level of a value that is defined
    codec: int  # how its pages are compressed
    start: int  # where its first page begins in the file
    size: int  # bytes of all pages
    values: int  # number of points, and of lines without points


def footer_bytes(stream: Any) -> bytes:
    """Read the footer, which stands before its length and the four bytes at the end of the file."""
    end = stream.seek(0, 2)
    stream.seek(max(0, end - _TAIL))
    tail = stream.read(_TAIL)
    size = int.from_bytes(tail[-8:-4], "little") + 8
    if size > end:
        raise ValueError("its footer ends early")
    if size > len(tail):
        stream.seek(end - size)
        tail = stream.read(size)
    return bytes(tail[-size:-8])


def row_groups(data: bytes) -> list[RowGroupInfo]:
    """Return the row groups that a footer describes.

    Raises:
        ValueError: The footer is damaged.
    """
    try:
        document = ThriftReader(data).structure(0)
        ordered = 7 in document  # statistics have a defined order
        top = _top_level(document[2])
        return [_row_group(group, ordered, top) for group in document[4]]
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"its footer is damaged ({type(error).__name__})") from error


def check_size(groups: Sequence[RowGroupInfo], data: int, error: MakeError) -> None:
    """Refuse a file that becomes far larger than it is, before its columns are read.

    Args:
        groups: Its row groups.
        data: The number of bytes of the file.
        error: Creates the exception to raise.
    """
    limit = most_bytes(data)
    size = max(sum(group.size for group in groups), 8 * sum(max(group.values, group.rows) for group in groups))
    if size > limit:
        raise error(f"the file has {data} bytes, and its columns {size}, expected at most {limit}", remedy=RAISE)


def _top_level(schema: list[dict[int, Any]]) -> int:
    """Return the level of a coordinate that is defined; 0 if points are not lists of structs without nulls."""
    place = next((k for k, element in enumerate(schema) if element.get(4) == b"geometry"), len(schema))
    lines, repeated, point, *axes = [*schema[place : place + 6], {}, {}, {}][:6]
    axes = axes[: point[5]] if point.get(5) in (2, 3) else []
    names = [element.get(4) for element in axes]
    wanted = (lines.get(3), repeated.get(3), repeated.get(5), point.get(3)) in ((0, 2, 1, 0), (1, 2, 1, 0))
    plain = all(element.get(3) == 0 and element.get(1) in (_FLOAT, _DOUBLE) for element in axes)
    return 1 + int(lines[3]) if wanted and plain and names == _AXES[: len(names)] and names else 0


def _axes(group: dict[int, Any], top: int) -> tuple[Axis, ...]:
    """Return where the coordinates are; none if the footer does not say it."""
    columns = {tuple(chunk.get(3, {}).get(3, ())): chunk for chunk in group[1]}
    found = []
    for axis in _AXES:
        chunk = columns.get((b"geometry", b"list", b"element", axis))
        if chunk is not None and top:
            about = chunk[3]
            numbers = [about.get(field) for field in (4, 9, 7, 5)]
            if 1 in chunk or 11 in about or not all(isinstance(number, int) and number >= 0 for number in numbers):
                return ()  # in another file, with a dictionary, or damaged
            found.append(Axis(top, *numbers))
    return tuple(found)


def _row_group(group: dict[int, Any], ordered: bool, top: int) -> RowGroupInfo:
    texts: dict[str, tuple[str, str]] = {}
    numbers: dict[str, tuple[int, int]] = {}
    for chunk in group[1]:
        about = chunk.get(3, {})
        statistics = about.get(12, {})
        if not ordered or len(about[3]) != 1 or 5 not in statistics or 6 not in statistics:
            continue
        name, kind = about[3][0].decode(), about[1]
        first, last = statistics[6], statistics[5]
        if kind == _BYTE_ARRAY:
            texts[name] = first.decode(), last.decode()
        elif kind in (1, 2):  # 32 and 64 bits
            numbers[name] = int.from_bytes(first, "little", signed=True), int.from_bytes(last, "little", signed=True)
    rows, size = group[3], group[2]
    values = [chunk.get(3, {}).get(5, 0) for chunk in group[1]]
    if rows < 0 or size < 0 or min(values, default=0) < 0:
        raise ValueError("its footer gives a row group with a negative number of rows, values or bytes")
    return RowGroupInfo(rows, sum(values), size, texts, numbers, _axes(group, top))
