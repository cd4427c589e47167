"""A pickle as a table of values, from which whole columns are read at once. ``kernels.pickle_tree`` makes the table.

Readers use it for sound files of plain data. It raises ``Irregular`` for anything else, and then the reader unpickles
the file and looks at one object at a time, which is slow, but can say what is wrong and where.
"""

import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.files.pickles import most_values
from mapgauge.typing import Indices

T = TypeVar("T")
Rows: TypeAlias = Indices  # indices of values in the table


class Irregular(Exception):
    """The file has something else than a reader of columns expects."""


def or_none(read: Callable[..., T], *arguments: Any) -> T | None:
    """Return what a reader of columns returns, or None if the file is irregular."""
    try:
        return read(*arguments)
    except Irregular:
        return None


def expect(*conditions: Any) -> None:
    """Raise ``Irregular`` if a condition does not hold, for one of several values or for all."""
    if not all(np.all(condition) for condition in conditions):
        raise Irregular


@lru_cache(1)
def _tables() -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    return kernels.pickle_tree.action_table(), kernels.pickle_calls.name_table()


def read_tree(data: bytes) -> "PickleTree | None":
    """Return the values in a pickle; None if it is damaged, or has values other than plain data."""
    kernel = kernels.pickle_tree
    if sys.byteorder != "little":
        return None
    symbols = np.frombuffer(data, np.uint8)
    space = max(1024, len(data) // 12)  # the arrays of large files have more bytes for each value
    values, members = np.empty((space, 4), np.uint64), np.empty(space, np.uint64)
    stack, memo = np.empty(4096, np.uint64), np.empty(space, np.uint64)
    marks, state = np.zeros(int(kernels.pickle_calls.DEEPEST), np.uint64), np.zeros(8, np.uint64)
    limit = np.uint64(most_values(len(data)))
    while True:
        outcome: Any = kernel.read_on(symbols, *_tables(), limit, values, members, stack, memo, marks, state)
        if outcome != kernel.FULL:
            break
        _, rows, used, height, stored, *_ = state.tolist()
        values, members = _longer(values, rows), _longer(members, used)
        stack, memo = _longer(stack, height), _longer(memo, stored)
    if outcome == kernel.IRREGULAR:
        return None
    _, rows, used, *_ = state.tolist()
    return PickleTree(symbols, values[:rows], members[:used], int(stack[0]))


def _longer(array: NDArray[np.uint64], filled: int) -> NDArray[np.uint64]:
    """Return an array with more space if it may be full soon."""
    if 4 * filled < 3 * len(array) - 4096:
        return array
    out = np.empty((2 * len(array) + 4096, *array.shape[1:]), np.uint64)
    out[:filled] = array[:filled]
    return out


class PickleTree:
    """The values of a pickle. A value is named by its row in a table; methods take and return many rows at once."""

    def __init__(
        self, data: NDArray[np.uint8], values: NDArray[np.uint64], members: NDArray[np.uint64], root: int
    ) -> None:
        """Keep the table. ``root`` is the row of the document."""
        self._data, self._table, self._inside = data, values, members
        signed = values.view(np.int64)
        self._info, self._first, self._second = signed[:, 0], signed[:, 1], signed[:, 2]
        self._members = members.view(np.int64)
        self._keys: dict[int, list[Any]] = {}
        self.root = np.array([root])

    def kinds(self, rows: Rows) -> Indices:
        """Return the kinds of values, as numbers of ``kernels.pickle_calls``."""
        return self._info[rows] & 255

    def are(self, rows: Rows, *kinds: str) -> NDArray[np.bool_]:
        """Return which values are of one of some kinds, such as ``"LIST"``."""
        table = np.zeros(256, np.bool_)
        table[[int(getattr(kernels.pickle_calls, kind)) for kind in kinds]] = True
        return table[self.kinds(rows)]

    def expect(self, rows: Rows, *kinds: str) -> None:
        """Refuse values of other kinds."""
        expect(self.are(rows, *kinds))

    def items(self, rows: Rows) -> tuple[Indices, Rows]:
        """Return the lengths of lists and tuples, and their values, one list after the other."""
        self.expect(rows, "LIST", "TUPLE")
        return self._contents(rows)

    def pairs(self, rows: Rows) -> tuple[Indices, Rows, Rows]:
        """Return the number of keys of dictionaries, their keys and their values. Keys may occur twice."""
        self.expect(rows, "DICT")
        counts, inside = self._contents(rows)
        return counts // 2, inside[::2].copy(), inside[1::2].copy()

    def _contents(self, rows: Rows) -> tuple[Indices, Rows]:
        counts, starts = self._second[rows], self._first[rows]
        ends = counts.cumsum()
        index = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + counts, counts)
        return counts, self._members[index]

    def find(self, rows: Rows, key: str) -> Rows:
        """Return a member of each dictionary; -1 where it is missing. Refuse a key that occurs twice."""
        kernel = kernels.pickle_columns
        out = np.empty(len(rows), np.uint64)
        name = np.frombuffer(key.encode(), np.uint8)
        found: Any = kernel.find_members(self._data, self._table, self._inside, rows.view(np.uint64), name, out)
        expect(found == kernel.ALL)
        return out.view(np.int64)

    def member(self, rows: Rows, key: str) -> Rows:
        """Return a member that each dictionary must have."""
        found = self.find(rows, key)
        expect(found >= 0)
        return found

    def texts(self, rows: Rows) -> list[str]:
        """Return texts, which must not be empty."""
        self.expect(rows, "TEXT")
        expect(self._second[rows] > 0)
        unique, inverse = np.unique(rows, return_inverse=True)
        spans = zip(self._first[unique].tolist(), self._second[unique].tolist(), strict=True)
        data = self._data
        texts = [data[start : start + size].tobytes().decode() for start, size in spans]
        return [texts[i] for i in inverse.tolist()]

    def wholes(self, rows: Rows) -> Indices:
        """Return whole numbers, of Python or of numpy."""
        plain = self.are(rows, "WHOLE")
        if plain.all():
            return self._first[rows]
        found = np.zeros(len(rows), np.int64)
        found[plain] = self._first[rows[plain]]
        others = self._scalars(rows[~plain], "iu")
        expect(others.dtype.kind in "iu", others.dtype != np.uint64)
        found[~plain] = others
        return found

    def numbers(self, rows: Rows) -> NDArray[np.float64]:
        """Return real numbers, of Python or of numpy."""
        whole, real = self.are(rows, "WHOLE"), self.are(rows, "FLOAT")
        found = np.empty(len(rows))
        found[whole] = self._first[rows[whole]]
        found[real] = self._first[rows[real]].view(np.float64)
        rest = ~(whole | real)
        if rest.any():
            found[rest] = self._scalars(rows[rest], "iuf")
        return found

    def _scalars(self, rows: Rows, kinds: str) -> NDArray[Any]:
        self.expect(rows, "SCALAR")
        return self._values(rows, np.ones(len(rows), np.int64), kinds)

    def _values(self, rows: Rows, counts: Indices, kinds: str) -> NDArray[Any]:
        """Return the numbers in arrays or scalars, one array after the other; as float64 if their types differ."""
        types = (self._info[rows] >> 8) & 255
        names = kernels.pickle_calls.TYPES
        present = np.flatnonzero(np.bincount(types, minlength=len(names)))
        expect(all(names[code][0] in kinds for code in present))
        if len(present) == 1:
            return self._bytes(rows).view(names[int(present[0])])
        found = np.empty(counts.sum())
        for code in present.tolist():
            some = types == code
            found[np.repeat(some, counts)] = self._bytes(rows[some]).view(names[code])
        return found

    def _bytes(self, rows: Rows) -> NDArray[np.uint8]:
        contents = self._first[rows]
        out = np.empty(self._second[contents].sum(), np.uint8)
        expect(kernels.pickle_columns.copy_contents(self._data, self._table, contents.view(np.uint64), out))
        return out

    def shapes(self, rows: Rows) -> tuple[Indices, Indices]:
        """Return the number of dimensions of arrays, and their first three extents, 1 where there are fewer."""
        self.expect(rows, "ARRAY")
        shape = self._second[rows]
        dimensions, starts = self._second[shape], self._first[shape]
        extents = np.ones((len(rows), 3), np.int64)
        for axis in range(3):
            some = dimensions > axis
            extents[some, axis] = self._first[self._members[starts[some] + axis]]
        return dimensions, extents

    def array_values(self, rows: Rows, kinds: str) -> NDArray[Any]:
        """Return the numbers in arrays, one array after the other, of the kinds of numpy that are allowed."""
        dimensions, extents = self.shapes(rows)
        expect(dimensions <= 3)
        return self._values(rows, extents.prod(axis=1), kinds)

    def keys(self, row: int) -> list[Any]:
        """Return the keys of a dictionary, which must differ."""
        if row not in self._keys:
            _, rows, _ = self.pairs(np.array([row]))
            keys = self._tuples(rows) if len(rows) and self.are(rows, "TUPLE").all() else self.values(rows)
            expect(len(set(keys)) == len(keys))
            self._keys[row] = keys
        return self._keys[row]

    def _tuples(self, rows: Rows) -> list[Any]:
        counts, inside = self.items(rows)
        values = self.values(inside)
        return [tuple(values[end - count : end]) for count, end in zip(counts, counts.cumsum(), strict=True)]

    def values(self, rows: Rows) -> list[Any]:
        """Return small values as the unpickler would create them."""
        if self.are(rows, "TEXT").all() and (self._second[rows] > 0).all():
            return list(self.texts(rows))
        if self.are(rows, "WHOLE").all():
            return list(self._first[rows].tolist())
        return [self.value(row) for row in rows.tolist()]

    def value(self, row: int) -> Any:
        """Return a small value as the unpickler would create it."""
        kind = _kind_names()[int(self._info[row] & 255)]
        first, second = int(self._first[row]), int(self._second[row])
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == "WHOLE":
            return first
        if kind == "FLOAT":
            return struct.unpack("<d", struct.pack("<q", first))[0]
        if kind == "TEXT":
            return self._data[first : first + second].tobytes().decode()
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
        rows = np.array([row])
        if depth < _OUTLINE_DEPTH and self.are(rows, "DICT").all():
            keys, values = self.keys(row), self.pairs(rows)[2].tolist()
            return {
                key: self.outline(value, depth + 1) if i < _OUTLINE or key in _LOOKED_UP else None
                for i, (key, value) in enumerate(zip(keys, values, strict=True))
            }
        if depth < _OUTLINE_DEPTH and self.are(rows, "LIST").all():
            return [self.outline(value, depth + 1) for value in self.items(rows)[1][:_OUTLINE].tolist()]
        return {} if self.are(rows, "DICT").all() else None


_CONSTANTS = {"NONE": None, "FALSE": False, "TRUE": True}
_OUTLINE, _OUTLINE_DEPTH = 8, 3
_LOOKED_UP = ("results", "groundTruth")


@lru_cache(1)
def _kind_names() -> dict[int, str]:
    return {int(getattr(kernels.pickle_calls, name)): name for name in kernels.pickle_calls.KINDS}
