"""Checks WKB before a library reads it: a loop instead of recursion, and every count against the bytes that follow."""

import struct

DEEPEST = 8  # nested geometries; maps have 3 at most: a collection of several polygons. GEOS recurses without a limit.

_POINT = 1
_LINE = 2  # a count, and points
_POLYGON = 3  # a count, and for each ring a count and points
_PARTS = (4, 5, 6, 7)  # several points, lines or polygons, and collections: a count, and geometries
_CURVES = range(8, 15)  # arcs, and what may have arcs

# PostGIS writes flags (EWKB), ISO adds thousands: 1000 for Z, 2000 for M, 3000 for both.
_HAS_Z = 0x80000000
_HAS_M = 0x40000000
_HAS_SRID = 0x20000000
_SMALLEST_PART = 5  # bytes of a geometry: byte order and type
_SMALLEST_RING = 4  # bytes of a ring: the number of its points


def check_wkb(data: bytes) -> None:
    """Raise a ValueError unless some bytes are one geometry of known types, complete, and not nested deeply.

    >>> import struct
    >>> check_wkb(struct.pack("<BII4d", 1, 2, 2, 0, 1, 9, 1))
    >>> check_wkb(struct.pack("<BII4d", 1, 2, 3, 0, 1, 9, 1))
    Traceback (most recent call last):
        ...
    ValueError: its geometry has 3 points and room for 2
    """
    at = 0
    waiting = [1]  # the number of geometries that are still to come, at each level
    while waiting:
        if waiting[-1] == 0:
            waiting.pop()
            continue
        waiting[-1] -= 1
        at, parts = _read_one(data, at)
        if parts:
            if len(waiting) >= DEEPEST:
                raise ValueError(f"its geometry is nested more than {DEEPEST} deep")
            waiting.append(parts)
    if at != len(data):
        raise ValueError(f"its geometry has {len(data)} bytes, and ends after {at}")


def _read_one(data: bytes, at: int) -> tuple[int, int]:
    """Return where a geometry ends, or where its first part begins, and the number of its parts."""
    if len(data) - at < _SMALLEST_PART:
        raise ValueError("its geometry ends early")
    if data[at] > 1:
        raise ValueError(f"its geometry has the byte order {data[at]}, expected 0 or 1")
    order = ">"
    if data[at]:
        order = "<"
    (code,) = struct.unpack_from(f"{order}I", data, at + 1)
    at += 5
    if code & _HAS_SRID:
        at += 4
    code_iso = code & ~(_HAS_Z | _HAS_M | _HAS_SRID)
    kind = code_iso % 1000
    thousands = code_iso // 1000
    if thousands > 3:
        raise ValueError(f"its geometry has the unknown type {code}")
    has_z = bool(code & _HAS_Z) or thousands in (1, 3)
    has_m = bool(code & _HAS_M) or thousands in (2, 3)
    size = 8 * (2 + has_z + has_m)  # bytes of a point
    if kind == _POINT:
        if len(data) - at < size:
            raise ValueError("its geometry ends early")
        return at + size, 0
    if kind == _LINE:
        return _skip_points(data, at, order, size=size), 0
    if kind == _POLYGON:
        at, rings = _count(data, at, order, size=_SMALLEST_RING, what="rings")
        for _ in range(rings):
            at = _skip_points(data, at, order, size=size)
        return at, 0
    if kind in _PARTS:
        return _count(data, at, order, size=_SMALLEST_PART, what="parts")
    if kind in _CURVES:
        raise ValueError("its geometry has curves, expected straight lines")
    raise ValueError(f"its geometry has the unknown type {code}")


def _skip_points(data: bytes, at: int, order: str, size: int) -> int:
    at, points = _count(data, at, order, size=size, what="points")
    return at + points * size


def _count(data: bytes, at: int, order: str, size: int, what: str) -> tuple[int, int]:
    """Read a count of things that have a number of bytes at least; return where they begin, and the count."""
    if len(data) - at < 4:
        raise ValueError("its geometry ends early")
    (count,) = struct.unpack_from(f"{order}I", data, at)
    at += 4
    room = (len(data) - at) // size
    if count > room:
        raise ValueError(f"its geometry has {count} {what} and room for {room}")
    return at, count
