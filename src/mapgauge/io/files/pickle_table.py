"""Columns from the table of a pickle that ``kernels.pickle_tree`` makes: members of dictionaries, numbers, arrays.

A value is named by its row in the table. All methods take and return many rows at once.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.typing import Indices

Rows: TypeAlias = Indices  # indices of values in the table
_BLOCK = 1 << 16  # numbers that are converted at once


class Irregular(Exception):
    """The file has something else than a reader of columns expects."""


def expect(*conditions: Any) -> None:
    """Raise ``Irregular`` if a condition does not hold, for one of several values or for all."""
    if not all(np.all(condition) for condition in conditions):
        raise Irregular


class PickleTable:
    """The values of a pickle."""

    def __init__(self, data: bytes, values: NDArray[np.uint64], members: NDArray[np.uint64]) -> None:
        """Keep the pickle, the table and the rows of the values of containers."""
        self.data = np.frombuffer(data, np.uint8)
        self._table, self._inside = values, members
        signed = values.view(np.int64)
        self._info, self._first, self._second = signed[:, 0], signed[:, 1], signed[:, 2]
        self._members = members.view(np.int64)

    def are(self, rows: Rows, *kinds: str) -> NDArray[np.bool_]:
        """Return which values are of one of some kinds, such as ``"LIST"``."""
        table = np.zeros(256, np.bool_)
        table[[_kind_numbers()[kind] for kind in kinds]] = True
        flags: NDArray[np.bool_] = table[self._info[rows] & 255]
        return flags

    def only(self, rows: Rows, *kinds: str) -> bool:
        """Whether all values are of one of some kinds."""
        found = self._bits(rows, 0)
        return not found & ~sum(1 << _kind_numbers()[kind] for kind in kinds)

    def _bits(self, rows: Rows, shift: int) -> int:
        found: Any = kernels.pickle_columns.bits_among(self._table, rows.view(np.uint64), np.uint64(shift))
        return int(found)

    def expect(self, rows: Rows, *kinds: str) -> None:
        """Refuse values of other kinds."""
        expect(self.only(rows, *kinds))

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
        kernel, which = kernels.pickle_columns, rows.view(np.uint64)
        counts = np.empty(len(rows), np.uint64)
        total: Any = kernel.count_items(self._table, which, counts)
        inside = np.empty(int(total), np.uint64)
        kernel.copy_items(self._table, self._inside, which, inside)
        return counts.view(np.int64), inside.view(np.int64)

    def find(self, rows: Rows, key: str) -> Rows:
        """Return a member of each dictionary; -1 where it is missing. Refuse a key that occurs twice."""
        found: Rows = self.find_all(rows, key)[0]
        return found

    def find_all(self, rows: Rows, *keys: str) -> NDArray[np.int64]:
        """Return several members of each dictionary, ``(keys, rows)``; see ``find``."""
        kernel = kernels.pickle_columns
        ends = np.array([len(key) for key in keys], np.uint64).cumsum()
        out, places = np.empty((len(keys), len(rows)), np.uint64), np.empty(len(keys), np.uint64)
        names = np.frombuffer("".join(keys).encode(), np.uint8)
        table = self.data, self._table, self._inside
        found: Any = kernel.find_members(*table, rows.view(np.uint64), names, ends, places, out)
        expect(found == kernel.ALL)
        return out.view(np.int64)

    def member(self, rows: Rows, key: str) -> Rows:
        """Return a member that each dictionary must have."""
        found: Rows = self.members(rows, key)[0]
        return found

    def members(self, rows: Rows, *keys: str) -> NDArray[np.int64]:
        """Return several members that each dictionary must have, ``(keys, rows)``."""
        found = self.find_all(rows, *keys)
        expect(found >= 0)
        return found

    def wholes(self, rows: Rows) -> Indices:
        """Return whole numbers, of Python or of numpy."""
        if self.only(rows, "WHOLE"):
            return self._first[rows]
        plain = self.are(rows, "WHOLE")
        found = np.zeros(len(rows), np.int64)
        found[plain] = self._first[rows[plain]]
        others = self._scalars(rows[~plain], "iu")
        expect(others.dtype.kind in "iu", others.dtype != np.uint64)
        found[~plain] = others
        return found

    def numbers(self, rows: Rows) -> NDArray[np.float64]:
        """Return real numbers, of Python or of numpy."""
        found = np.empty(len(rows))
        if kernels.pickle_columns.copy_numbers(self._table, rows.view(np.uint64), found, found.view(np.uint64)):
            return found
        if self.only(rows, "SCALAR"):
            return self._floats(rows, np.ones(len(rows), np.int64), "iuf")
        whole, real = self.are(rows, "WHOLE"), self.are(rows, "FLOAT")
        found[whole] = self._first[rows[whole]]
        found[real] = self._first[rows[real]].view(np.float64)
        rest = ~(whole | real)
        found[rest] = self._scalars(rows[rest], "iuf")
        return found

    def points(self, rows: Rows, width: int) -> NDArray[np.float64]:
        """Return points, which are lists or tuples of a number of real numbers: ``(rows, width)``."""
        found, size = np.empty((len(rows), width)), np.uint64(width)
        flat, which = found.reshape(-1), rows.view(np.uint64)
        copy: Any = kernels.pickle_columns.copy_points
        if copy(self._table, self._inside, which, size, flat, flat.view(np.uint64)):
            return found
        counts, numbers = self.items(rows)
        expect(counts == width)
        return self.numbers(numbers).reshape(-1, width)

    def _scalars(self, rows: Rows, kinds: str) -> NDArray[Any]:
        self.expect(rows, "SCALAR")
        return self._values(rows, np.ones(len(rows), np.int64), kinds)

    def _types(self, rows: Rows, kinds: str) -> list[str]:
        """Return the types of arrays or scalars, which must be of some kinds."""
        found = self._bits(rows, int(kernels.pickle_calls.TYPE_SHIFT)) if len(rows) else 0
        types = [name for code, name in enumerate(kernels.pickle_calls.TYPES) if found >> code & 1]
        expect(all(name[0] in kinds for name in types))
        return types

    def _values(self, rows: Rows, counts: Indices, kinds: str) -> NDArray[Any]:
        """Return the numbers in arrays or scalars, one array after the other; as float64 if their types differ."""
        types = self._types(rows, kinds)
        if len(types) != 1:
            return self._floats(rows, counts, kinds)
        out = np.empty(counts.sum(), types[0])
        self._copy(rows, counts, out)
        return out

    def _copy(self, rows: Rows, counts: Indices, out: NDArray[Any]) -> None:
        """Copy the content of arrays of one type."""
        sizes = (counts * out.itemsize).view(np.uint64)
        kernels.pickle_columns.copy_contents(self.data, self._table, rows.view(np.uint64), sizes, out.view(np.uint8))

    def _floats(self, rows: Rows, counts: Indices, kinds: str) -> NDArray[np.float64]:
        """Return the numbers in arrays or scalars as float64. Those of other types are converted block by block."""
        types = self._types(rows, kinds)
        ends = counts.cumsum()
        out = np.empty(int(ends[-1]) if len(ends) else 0)
        copy: Any = kernels.pickle_columns.copy_floats
        columns = (column.view(np.uint64) for column in (rows, counts))
        if copy(self.data, self._table, *columns, out, out.view(np.uint64)):
            return out
        if len(types) > 1:
            for name in types:
                some = (self._info[rows] >> 8) & 255 == kernels.pickle_calls.TYPES.index(name)
                out[np.repeat(some, counts)] = self._floats(rows[some], counts[some], kinds)
            return out
        start = 0
        while start < len(rows):
            first = int(ends[start] - counts[start])
            stop = max(start + 1, int(np.searchsorted(ends, first + _BLOCK)))
            last = int(ends[stop - 1])
            block = np.empty(last - first, types[0])
            self._copy(rows[start:stop], counts[start:stop], block)
            out[first:last] = block
            start = stop
        return out

    def places(self, rows: Rows, types: Mapping[str, Any]) -> tuple[Indices, Indices] | None:
        """Return where the contents of arrays start in ``data``, and the numbers of their types.

        It is None if one has another type, or is written as text.
        """
        info, names = self._info[rows], kernels.pickle_calls.TYPES
        table = np.array([int(types.get(name, -1)) for name in names], np.int64)
        found = table[(info >> 8) & 255]
        if (found < 0).any() or (info & int(kernels.pickle_calls.IS_LATIN)).any():
            return None
        return self._first[rows], found

    def shapes(self, rows: Rows) -> tuple[Indices, Indices]:
        """Return the number of dimensions of arrays, and their first three extents, 1 where there are fewer."""
        axes, extents = np.empty(len(rows), np.int64), np.empty((len(rows), 3), np.int64)
        kernel = kernels.pickle_columns
        outs = axes.view(np.uint64), extents.view(np.uint64)
        expect(kernel.copy_shapes(self._table, self._inside, rows.view(np.uint64), *outs))
        return axes, extents

    def array_values(self, rows: Rows, kinds: str) -> NDArray[Any]:
        """Return the numbers in arrays, one array after the other, of the kinds of numpy that are allowed."""
        return self._values(rows, self._counts(rows), kinds)

    def array_floats(self, rows: Rows, kinds: str) -> NDArray[np.float64]:
        """Return the numbers in arrays as float64."""
        return self._floats(rows, self._counts(rows), kinds)

    def _counts(self, rows: Rows) -> Indices:
        axes, extents = self.shapes(rows)
        expect(axes <= 3)
        counts: Indices = extents.prod(axis=1)
        return counts


@lru_cache(1)
def _kind_numbers() -> dict[str, int]:
    return {name: number for number, name in enumerate(kernels.pickle_calls.KINDS)}
