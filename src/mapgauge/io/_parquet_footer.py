"""Row groups and statistics from the footer of a Parquet file.

pyarrow ends the whole process, without an exception, if it is asked for a column of a row group whose description in
the footer is damaged. The footer is therefore read here. It is a structure of Thrift in its compact protocol.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from mapgauge.files.errors import MakeError
from mapgauge.files.limits import RAISE, most_bytes

_BYTE_ARRAY = 6  # physical type of texts
_DEEPEST = 20  # nested structures and lists; the format has 7
_TAIL = 1 << 16  # bytes at the end of a file that are read at once


class RowGroupInfo(NamedTuple):
    """What the footer says about one row group."""

    rows: int
    values: int  # in all columns
    size: int  # bytes, uncompressed
    texts: dict[str, tuple[str, str]]  # bounds of columns of texts that have statistics: first, last
    numbers: dict[str, tuple[int, int]]  # bounds of columns of whole numbers


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
        document = _Reader(data).structure(0)
        ordered = 7 in document  # statistics have a defined order
        return [_row_group(group, ordered) for group in document[4]]
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


def _row_group(group: dict[int, Any], ordered: bool) -> RowGroupInfo:
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
    return RowGroupInfo(rows, sum(values), size, texts, numbers)


class _Reader:
    """Reads Thrift's compact protocol into dictionaries by field number, lists, numbers and bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def structure(self, depth: int) -> dict[int, Any]:
        """Read a structure up to its end."""
        fields: dict[int, Any] = {}
        number = 0
        while True:
            head = self._byte()
            if head == 0:
                return fields
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 8:
            return self._take(self._unsigned())
        if depth == _DEEPEST:
            raise ValueError("its footer is nested too deeply")
        if kind == 12:
            return self.structure(depth + 1)
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._unsigned()
            if count > len(self.data) - self.at:
                raise ValueError("its footer ends early")
            return [self._value(head & 15, depth + 1) for _ in range(count)]
        if kind in (1, 2, 3):  # in lists, a truth value is a byte
            return self._byte()
        if kind == 7:
            return self._take(8)
        raise ValueError(f"its footer has a field of the unknown type {kind}")

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) < count:
            raise ValueError("its footer ends early")
        self.at += count
        return taken

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("its footer has a number of more than 64 bits")

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
