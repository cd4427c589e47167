"""A pickle as a table of values, from which whole columns are read at once. ``kernels.pickle_tree`` makes the table.

Readers use it for sound files of plain data. It raises ``Irregular`` for anything else, and then the reader unpickles
the file and looks at one object at a time, which is slow, but can say what is wrong and where.
"""

import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.io.files.pickle_table import Irregular, PickleTable, Rows, expect
from mapgauge.io.files.pickles import most_values

T = TypeVar("T")


def or_none(read: Callable[..., T], *arguments: Any) -> T | None:
    """Return what a reader of columns returns, or None if the file is irregular."""
    try:
        return read(*arguments)
    except Irregular:
        return None


@lru_cache(1)
def _tables() -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    return kernels.pickle_actions.action_table(), kernels.pickle_calls.name_table()


def read_tree(data: bytes) -> "PickleTree | None":
    """Return the values in a pickle; None if it is damaged, or has values other than plain data."""
    kernel = kernels.pickle_tree
    if sys.byteorder != "little":
        return None
    outcome, tree = _read(data, in_steps=True)
    if outcome == kernel.SHARED:
        outcome, tree = _read(data, in_steps=False)
    return tree if outcome == kernel.DONE else None


def _read(data: bytes, in_steps: bool) -> tuple[int, "PickleTree"]:
    """Read a pickle. Return the outcome, and the values that were read. ``in_steps``: arrays in one step each."""
    kernel = kernels.pickle_tree
    symbols = np.frombuffer(data, np.uint8)
    space = max(1024, min(len(data) // 12, _FIRST))
    values, members = np.empty((space, 4), np.uint64), np.empty(space, np.uint64)
    stack, memo = np.empty(4096, np.uint64), np.empty(space, np.uint64)
    marks, state = np.zeros(int(kernels.pickle_calls.DEEPEST), np.uint64), np.zeros(8, np.uint64)
    limit = np.uint64(most_values(len(data)))
    while True:
        outcome: Any = kernel.read_on(symbols, in_steps, *_tables(), limit, values, members, stack, memo, marks, state)
        at, rows, used, height, stored, *_ = state.tolist()
        if outcome != kernel.FULL:
            return outcome, PickleTree(data, values[:rows], members[:used], int(stack[0]))
        share = at / len(data)
        values, members = _longer(values, rows, share), _longer(members, used, share)
        stack, memo = _longer(stack, height, 1.0), _longer(memo, stored, share)


def _longer(array: NDArray[np.uint64], filled: int, share: float) -> NDArray[np.uint64]:
    """Return an array with more space if it may be full soon. ``share``: how much of the pickle was read."""
    if 4 * filled < 3 * len(array) - 4096 and filled < share * len(array):
        return array
    size = max(2 * len(array), int(1.1 * filled / max(share, 1e-3))) + 4096
    out = np.empty((size, *array.shape[1:]), np.uint64)
    out[:filled] = array[:filled]
    return out


class PickleTree(PickleTable):
    """The values of a pickle, as columns and as objects."""

    def __init__(self, data: bytes, values: NDArray[np.uint64], members: NDArray[np.uint64], root: int) -> None:
        """Keep the table. ``root`` is the row of the document."""
        super().__init__(data, values, members)
        self._bytes = data
        self._keys: dict[int, list[Any]] = {}
        self.root = np.array([root])

    def texts(self, rows: Rows) -> list[str]:
        """Return texts, which must not be empty."""
        self.expect(rows, "TEXT")
        expect(self._second[rows] > 0)
        unique, inverse = np.unique(rows, return_inverse=True)
        starts, stops = self._first[unique], self._first[unique] + self._second[unique]
        texts = [self._text(*span) for span in zip(starts.tolist(), stops.tolist(), strict=True)]
        return texts if len(texts) == len(rows) and (unique == rows).all() else [texts[i] for i in inverse.tolist()]

    def _text(self, start: int, stop: int) -> str:
        return self._bytes[start:stop].decode()

    def keys(self, row: int) -> list[Any]:
        """Return the keys of a dictionary, which must differ."""
        if row not in self._keys:
            _, rows, _ = self.pairs(np.array([row]))
            keys = self._tuples(rows) if len(rows) > _FEW and self.only(rows, "TUPLE") else self.values(rows)
            expect(len(set(keys)) == len(keys))
            self._keys[row] = keys
        return self._keys[row]

    def _tuples(self, rows: Rows) -> list[Any]:
        counts, inside = self.items(rows)
        values = self.values(inside)
        return [tuple(values[end - count : end]) for count, end in zip(counts, counts.cumsum(), strict=True)]

    def values(self, rows: Rows) -> list[Any]:
        """Return small values as the unpickler would create them."""
        if len(rows) > _FEW and self.only(rows, "TEXT") and (self._second[rows] > 0).all():
            return list(self.texts(rows))
        if self.only(rows, "WHOLE"):
            return list(self._first[rows].tolist())
        return [self.value(row) for row in rows.tolist()]

    def value(self, row: int) -> Any:
        """Return a small value as the unpickler would create it."""
        kind = self._kind(row)
        first, second = int(self._first[row]), int(self._second[row])
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == "WHOLE":
            return first
        if kind == "FLOAT":
            return struct.unpack("<d", struct.pack("<q", first))[0]
        if kind == "TEXT":
            return self._text(first, first + second)
        if kind in ("TUPLE", "LIST"):
            inside = [self.value(i) for i in self._members[first : first + second].tolist()]
            return tuple(inside) if kind == "TUPLE" else inside
        rows = np.array([row])
        if kind == "SCALAR":
            return self._scalars(rows, "iufb")[0]
        expect(kind == "ARRAY")
        dimensions, extents = self.shapes(rows)
        return self.array_values(rows, "iufb").reshape(extents[0, : dimensions[0]])

    def outline(self, row: int | None = None, depth: int = 0) -> Any:
        """Return the document as far as is needed to recognise a format.

        It has all keys of dictionaries, the first values of containers to a depth of three, and those of the keys that
        recognisers look up. Other values are None.
        """
        row = int(self.root[0]) if row is None else row
        kind = self._kind(row)
        if kind not in ("DICT", "LIST") or depth == _OUTLINE_DEPTH:
            return {} if kind == "DICT" else None
        first, count = int(self._first[row]), int(self._second[row])
        inside = self._members[first : first + count]
        if kind == "LIST":
            return [self.outline(value, depth + 1) for value in inside[:_OUTLINE].tolist()]
        return {
            key: self.outline(value, depth + 1) if i < _OUTLINE or key in _LOOKED_UP else None
            for i, (key, value) in enumerate(zip(self.keys(row), inside[1::2].tolist(), strict=True))
        }

    def _kind(self, row: int) -> str:
        return kernels.pickle_calls.KINDS[int(self._info[row]) & 255]


_CONSTANTS = {"NONE": None, "FALSE": False, "TRUE": True}
_FIRST = 1 << 15  # values in the table at first
_OUTLINE, _OUTLINE_DEPTH = 8, 3
_FEW = 16  # values that are created one by one
_LOOKED_UP = ("results", "groundTruth")
