"""Reads large JSON files fast.

msgspec decodes the document by its schema and leaves lists of points undecoded. A kernel parses those into arrays. All
functions here handle sound files only and return ``None`` for any other file. The caller then reads the file again as
plain objects, which is slow, but can say what is wrong and where.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.files.garbage import gc_paused
from mapgauge.files.json_documents import count_colons, has_doubled_keys
from mapgauge.typing import Points

T = TypeVar("T")
_BLOCK = 1 << 22  # bytes of text that one call of the kernel parses


class PointLists(NamedTuple):
    """The points of many lists of polylines."""

    counts: NDArray[np.int64]  # (lists,): number of polylines of each
    sizes: NDArray[np.int64]  # (polylines,): number of points of each
    coords: Points  # (points, dimension)


def decode(text: bytes, schema: type[T]) -> T | None:
    """Return the document, or None if it does not follow the schema."""
    with gc_paused():
        try:
            return msgspec.json.decode(text, type=schema)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None


def read_points(lists: Sequence[msgspec.Raw], *, polylines: bool = False) -> PointLists | None:
    """Parse lists of polylines, each ``[[[x, y], ...], ...]``; return None if one of them is something else.

    With ``polylines`` each of them is one polyline, ``[[x, y], ...]``, and ``counts`` has no meaning.
    """
    parts: list[PointLists] = []
    ends = np.cumsum([len(memoryview(text)) for text in lists], dtype=np.int64)
    start = 0
    while start < len(lists):
        done = ends[start - 1] if start else 0
        stop = min(int(np.searchsorted(ends, done + _BLOCK)) + 1, len(lists))
        text = b",".join(lists[start:stop])  # Raw supports the buffer protocol, which is all that join needs
        part = _parse(b"[" + text + b"]" if polylines else text)
        if part is None or len({p.coords.shape[1] for p in (*parts[:1], part) if len(p.coords)}) > 1:
            return None
        parts.append(part)
        start = stop
    with_points = [part.coords for part in parts if len(part.coords)]
    none = np.empty(0, np.int64)
    return PointLists(
        np.concatenate([none, *(part.counts for part in parts)]),
        np.concatenate([none, *(part.sizes for part in parts)]),
        np.concatenate(with_points) if with_points else np.empty((0, 2)),
    )


def keys_are_unique(text: bytes, keys: int, undecoded: Sequence[msgspec.Raw], *others: object) -> bool:
    """Whether no object in a decoded document has a key twice; msgspec takes the last one.

    Each key is followed by a colon. If the text has as many colons as different keys were decoded, no key occurs twice.
    Otherwise there are keys that the schema does not have, or texts with a colon, or a key occurs twice. The text
    without its points is then parsed again to tell which.

    Args:
        text: The whole document.
        keys: The number of different keys in all objects, or fewer.
        undecoded: Values that are lists of numbers.
        others: Values of any kind that msgspec did not decode, or ``UNSET``. Their own keys are not in ``keys``.
    """
    inner = [bytes(value) for value in others if isinstance(value, msgspec.Raw)]
    colons = count_colons(text) - sum(map(count_colons, inner))
    if colons == keys + len(inner) and not any(map(has_doubled_keys, inner)):
        return True
    return not has_doubled_keys(_without(text, undecoded))


def _without(text: bytes, values: Sequence[msgspec.Raw]) -> bytes:
    """Return a document with 0 in place of some values, which are views into its text."""
    base = _address(text)
    parts = []
    at = 0
    for value in values:
        start = _address(value) - base
        if at <= start < len(text):  # otherwise it is a copy
            parts.append(text[at:start])
            at = start + len(memoryview(value))
    return b"0".join([*parts, text[at:]])


def _address(buffer: Any) -> int:
    return int(np.frombuffer(buffer, np.uint8).__array_interface__["data"][0])


def _parse(text: bytes) -> PointLists | None:
    symbols = np.frombuffer(text, np.uint8)
    room = np.count_nonzero(symbols == ord(",")) + 1
    values, hard = np.empty(room), np.empty((room, 3), np.int64)
    sizes, counts = np.empty(room, np.int64), np.empty(room, np.int64)
    found: Any = kernels.json_points.parse_points(symbols, values, sizes, counts, hard)
    state, filled, lines, lists, left, dimension = found
    if state != kernels.json_points.REGULAR:
        return None
    for begin, end, index in hard[:left].tolist():
        values[index] = float(text[begin:end])
    coords = values[:filled].reshape(-1, dimension or 2).copy()
    return PointLists(counts[:lists].copy(), sizes[:lines].copy(), coords)
