"""Reads large JSON files fast.

A kernel parses all lists of numbers into arrays, in several threads, and leaves a short text without them. msgspec
decodes that text by its schema. All functions here handle sound files only and return ``None`` for any other file. The
caller then reads the file again as plain objects, which is slow, but can say what is wrong and where.
"""

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.decoding import decode_json
from mapgauge.geometry.polylines import ranges
from mapgauge.io.files.json_documents import gc_paused, has_doubled_keys
from mapgauge.typing import Floats, Indices, Points

T = TypeVar("T")
Place = list[int]  # what a list becomes in the short text: [k], or [] for an empty list
PART = 1 << 22  # bytes of text that one call of the kernel parses
_SHORTEST = 3  # bytes of the shortest list of numbers


class PointLists(NamedTuple):
    """The points of many lists of polylines."""

    counts: Indices  # (lists,): number of polylines of each
    sizes: Indices  # (polylines,): number of points of each
    coords: Points  # (points, dimension)


class _JsonPart(NamedTuple):
    """A part of a text, and its lists."""

    text: bytes  # with [k] in place of each list
    first: int  # the k of the first list
    numbers: Floats
    coords: Floats
    sizes: Indices
    table: NDArray[np.int64]  # a row for each list, with the columns of ``kernels.json_lists``


class NumberLists:
    """A JSON text with ``[k]`` in place of each list of numbers, of points or of polylines, and those lists."""

    def __init__(self, parts: list[_JsonPart]) -> None:
        """Join the parts of a text."""
        columns = kernels.json_lists
        before = np.zeros(3, np.int64)
        for part in parts:
            of_numbers = part.table[:, columns.DEPTH] == 1
            part.table[:, columns.START : columns.STOP + 1] += np.where(of_numbers, before[0], before[1])[:, None]
            part.table[:, columns.FIRST_LINE : columns.LAST_LINE + 1] += before[2]
            before += len(part.numbers), len(part.coords), len(part.sizes)
        text, first, *arrays = zip(*parts, strict=True)
        self.text = b"".join(text)
        self._first = np.array(first)
        self._row = np.cumsum([0, *(len(part.table) for part in parts)])
        self._numbers, self._coords, self._sizes, self._table = map(np.concatenate, arrays)

    @classmethod
    def of(cls, text: bytes, workers: int | None = None, part: int = PART) -> "NumberLists | None":
        """Parse a JSON object by parts of so many bytes, with a number of threads; None for one per processor."""
        end = text.rfind(b"}") + 1
        if not end or text[end:].strip(b" \t\r\n"):
            return None
        # A part may end within a string that has a brace. Then the whole text is parsed at once.
        for size in (part, end):
            cuts = _cuts(text, end, size)
            parse = partial(_parse, text)
            if len(cuts) == 1:
                parts = list(map(parse, cuts))
            else:
                with ThreadPoolExecutor(min(workers or os.cpu_count() or 1, len(cuts))) as pool:
                    parts = list(pool.map(parse, cuts))
            if None not in parts:
                return cls([one for one in parts if one is not None])
        return None

    def _rows(self, places: Iterable[Place], depth: int) -> Indices | None:
        """Return the row of each list that is not empty, or None if one of them has another depth."""
        where = np.array([k for place in places for k in place], np.int64)
        part = np.searchsorted(self._first, where, side="right") - 1
        rows: Indices = self._row[part] + where - self._first[part]
        right = (self._table[rows, kernels.json_lists.DEPTH] == depth).all()
        if not right:
            return None
        return rows

    def numbers(self, places: Sequence[Place]) -> tuple[Indices, Floats] | None:
        """Return the length of each list of numbers, and all numbers; None if one of them is something else."""
        rows = self._rows(places, depth=1)
        if rows is None:
            return None
        start = self._table[rows, kernels.json_lists.START]
        stop = self._table[rows, kernels.json_lists.STOP]
        return _spread(places, stop - start), self._numbers[_ranges(start, stop)]

    def points(self, places: Sequence[Place]) -> PointLists | None:
        """Return polylines, or None if one of them is something else. ``counts`` is 1 for each that is not empty."""
        lists = self.polylines(places, depth=2)
        if lists is None:
            return None
        return lists._replace(sizes=_spread(places, lists.sizes))

    def polylines(self, places: Sequence[Place], depth: int = 3) -> PointLists | None:
        """Return lists of polylines, or None if one of them is something else."""
        columns = kernels.json_lists
        rows = self._rows(places, depth)
        if rows is None:
            return None
        width, start, stop, first, last = self._table[rows, columns.WIDTH :].T
        if not len(rows):
            return PointLists(_spread(places, last - first), np.empty(0, np.int64), np.empty((0, 2)))
        if (width != width[0]).any():
            return None
        sizes = self._sizes[_ranges(first, last)]
        coords = self._coords[_ranges(start, stop)]
        return PointLists(_spread(places, last - first), sizes, coords.reshape(-1, int(width[0])))


def _spread(places: Sequence[Place], values: Indices) -> Indices:
    """Return a value for each list, given the values of the lists that are not empty. It is 0 for the others."""
    spread = np.array([len(place) for place in places], np.int64)
    spread[spread > 0] = values
    return spread


def _ranges(start: Indices, stop: Indices) -> Any:
    """Return an index of the values from each start to its stop: one slice if they follow each other."""
    if (start[1:] == stop[:-1]).all():
        if len(start):
            return slice(int(start[0]), int(stop[-1]))
        return slice(0, 0)
    return ranges(start, stop - start)


def _cuts(text: bytes, end: int, size: int) -> list[tuple[int, int]]:
    """Return the pieces of a text, of at least some size. Each of them ends with a brace."""
    cuts = [0]
    while (cut := text.find(b"}", cuts[-1] + size, end) + 1) and cut < end:
        cuts.append(cut)
    return list(pairwise([*cuts, end]))


def _parse(text: bytes, piece: tuple[int, int]) -> _JsonPart | None:
    """Parse a piece of a text; return None if it is not sound."""
    columns = kernels.json_lists
    first = piece[0] // _SHORTEST
    symbols = np.frombuffer(text, np.uint8)[slice(*piece)]
    room = len(symbols) // 2 + 1  # a number takes two bytes, with the comma
    copy = np.empty(len(symbols) + 64, np.uint8)
    sizes = np.empty(room, np.int64)
    numbers = np.empty(room)
    coords = np.empty(room)
    table = np.empty((room, columns.COLUMNS), np.int64)
    hard = np.empty((room, 4), np.int64)
    state, copied, number, coord, lines, rows, left = columns.replace_lists(
        symbols, np.uint64(first), copy, numbers, coords, sizes, table, hard
    )
    if state != columns.DONE:
        return None
    for begin, end, kind, index in hard[:left].tolist():
        (coords if kind else numbers)[index] = float(symbols[begin:end].tobytes())
    if not np.isfinite(numbers[:number]).all():
        return None
    # Copies, because the arrays are much longer than what is in them.
    arrays: Any = (array.copy() for array in (numbers[:number], coords[:coord], sizes[:lines], table[:rows]))
    return _JsonPart(copy[:copied].tobytes(), first, *arrays)


def decode(text: bytes, schema: type[T]) -> T | None:
    """Return the document, or None if it does not follow the schema."""
    with gc_paused():
        try:
            return decode_json(text, schema)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None


def read_points(lines: Sequence[msgspec.Raw]) -> PointLists | None:
    """Parse polylines, each ``[[x, y], ...]``; return None if one of them is something else."""
    lists = NumberLists.of(b'{"":[' + b",".join(lines) + b"]}")  # Raw has the buffer protocol, which join needs
    if lists is None:
        document = None
    else:
        document = decode(lists.text, dict[str, Place])
    if lists is None or document is None:
        return None
    return lists.polylines(list(document.values()))


def decoded_keys_are_all(text: bytes, keys: int, undecoded: Sequence[msgspec.Raw], *others: object) -> bool:
    """Whether no object in a decoded document has a key twice; msgspec takes the last one.

    Each key is followed by a colon. If the text has as many colons as different keys were decoded, no key occurs twice.
    Otherwise there are keys that the schema does not have, or texts with a colon, or a key occurs twice. The text
    without its points is then parsed again to tell. ``undecoded`` are lists of numbers; ``others`` are values that
    msgspec did not decode, or ``UNSET``; their own keys are not in ``keys``.
    """
    inner = [bytes(value) for value in others if isinstance(value, msgspec.Raw)]
    colons = text.count(b":") - sum(value.count(b":") for value in inner)
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
