"""The fast way through large JSON files.

msgspec finds its way through the document by its schema and hands over lists of points as they stand in the file; a
kernel reads those. All of it works on sound files only and otherwise gives ``None``: then the file is read again as
plain objects, slowly, by code that can say what is wrong and where.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.typing import Points

T = TypeVar("T")
_CHUNK = 1 << 22  # bytes of text that one call of the kernel reads


class PointLists(NamedTuple):
    """Many lists of polylines."""

    counts: NDArray[np.int64]  # (lists,): polylines of each
    sizes: NDArray[np.int64]  # (polylines,): points of each
    coords: Points  # (points, dimension)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Python's garbage collector would look at the growing heap again and again, and find no garbage."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def decode(text: bytes, schema: type[T]) -> T | None:
    """The document, or None if it does not follow the schema."""
    with collector_paused():
        try:
            return msgspec.json.decode(text, type=schema)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None


def read_points(lists: Sequence[msgspec.Raw], *, polylines: bool = False) -> PointLists | None:
    """Parse lists of polylines, ``[[[x, y], ...], ...]`` each, or None if one of them is something else.

    With ``polylines`` each is one polyline, ``[[x, y], ...]``; ``counts`` then means nothing.
    """
    parts: list[PointLists] = []
    start = 0
    while start < len(lists):
        stop, size = start, 0
        while stop < len(lists) and size < _CHUNK:
            size += len(memoryview(lists[stop]))
            stop += 1
        text = b",".join(lists[start:stop])  # Raw is a buffer, and join takes those
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
