"""Checks that a FlatGeobuf file is complete. GDAL reads a file that was cut short as an empty or a shorter map."""

import struct

MAGIC = b"fgb\x03fgb"  # the eighth byte is the number of a patch
_START = 8  # bytes of the magic number
_MOST_HEADER = 10 << 20  # bytes; the limit of GDAL
_COUNT_FIELD = 8  # of the table Header in the format's header.fbs
_NODE_SIZE_FIELD = 9
_NODE_SIZE = 16  # of the index, if the header does not state it
_NODE_BYTES = 40  # four numbers of 8 bytes and an offset
_SMALLEST_FEATURE = 4 + 4  # the size of a feature, and the place of its table


def count_features(data: bytes) -> int:
    """Return the number of features, or raise a ValueError if the file is not complete.

    The features are counted one after another. A header that states no number is of a file that was written in one go.
    """
    stated, node_size = _read_header(data)
    at = _START + 4 + _unsigned(data, _START, "header")
    if stated > (len(data) - at) // _SMALLEST_FEATURE:
        raise ValueError(f"its header states {stated} features, and there is no room for them")
    if stated and node_size:
        at += _index_bytes(stated, node_size)
    found = 0
    while at < len(data):
        at += 4 + _unsigned(data, at, "feature")
        found += 1
    if at > len(data):
        raise ValueError(f"it ends within feature {found}" if found else "it ends within its index")
    if stated and found != stated:
        raise ValueError(f"its header states {stated} features, and it has {found}")
    return found


def header(data: bytes) -> bytes:
    """Return the header: names, columns and the reference system."""
    size = _unsigned(data, _START, "header")
    found = data[_START + 4 : _START + 4 + size]
    if size > _MOST_HEADER or len(found) < size:
        raise ValueError("it ends within its header")
    return found


def _read_header(data: bytes) -> tuple[int, int]:
    """Return the stated number of features, 0 if it is unknown, and the size of the nodes of the index, 0 for none."""
    found = header(data)
    try:
        (table,) = struct.unpack_from("<I", found, 0)
        (back,) = struct.unpack_from("<i", found, table)
        fields = table - back  # where the table of fields begins
        if fields < 0:
            raise ValueError("its header is damaged")
        (length,) = struct.unpack_from("<H", found, fields)
        count = 0
        node_size = _NODE_SIZE
        place = _field(found, fields, length, number=_COUNT_FIELD)
        if place:
            (count,) = struct.unpack_from("<Q", found, table + place)
        place = _field(found, fields, length, number=_NODE_SIZE_FIELD)
        if place:
            (node_size,) = struct.unpack_from("<H", found, table + place)
    except struct.error as error:
        raise ValueError("its header is damaged") from error
    if node_size == 1:
        raise ValueError("its header is damaged")
    return count, node_size


def _field(header: bytes, fields: int, length: int, number: int) -> int:
    """Return the place of a field in its table; 0 if the table does not have it."""
    at = 4 + 2 * number
    if at + 2 > length:
        return 0
    (place,) = struct.unpack_from("<H", header, fields + at)
    return int(place)


def _index_bytes(count: int, node_size: int) -> int:
    """Return the size of the index: a tree whose leaves are the features. A single feature has a root of its own."""
    level = count
    nodes = count
    while True:
        level = -(-level // node_size)
        nodes += level
        if level == 1:
            return nodes * _NODE_BYTES


def _unsigned(data: bytes, at: int, what: str) -> int:
    if at + 4 > len(data):
        raise ValueError(f"it ends within its {what}")
    return int.from_bytes(data[at : at + 4], "little")
