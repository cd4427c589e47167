"""A pickle as a table of values, from which whole columns are read at once. ``tree_kernels`` makes the table.

Readers use it for sound files of plain data. It raises ``Irregular`` for anything else, and then the reader unpickles
the file and looks at one object at a time, which is slow, but can say what is wrong and where. A value is named by its
row in the table.
"""

import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge.io.pickles import opcodes as op
from mapgauge.io.pickles.unpickling import most_values
from mapgauge.typing import Indices, Points

T = TypeVar("T")
Rows: TypeAlias = Indices  # indices of values in the table

_CONSTANTS = {int(op.NONE): None, int(op.FALSE): False, int(op.TRUE): True}
_FIRST = 1 << 15  # values in the table at first
# How much of a document an outline shows, by which a format is recognised.
_OUTLINE = 8  # members of a container
_OUTLINE_DEPTH = 3  # containers in containers
_FEW = 16  # values that are created one by one
_LOOKED_UP = ("results", "groundTruth")
_BLOCK = 4096  # arrays that are copied at once, so that their bytes stay in the cache until they are converted


class Irregular(Exception):
    """The file has something else than a reader of columns expects."""


def expect(*conditions: Any) -> None:
    """Raise ``Irregular`` if a condition does not hold, for one of several values or for all."""
    if not all(np.all(condition) for condition in conditions):
        raise Irregular


def or_none(read: Callable[..., T], *arguments: Any) -> T | None:
    """Return what a reader of columns returns, or None if the file is irregular."""
    try:
        return read(*arguments)
    except Irregular:
        return None


def read_tree(data: bytes) -> "PickleTree | None":
    """Return the values in a pickle; None if it is damaged, or has values other than plain data."""
    from mapgauge.io.pickles.tree_kernels import DONE, FULL, read_on

    if sys.byteorder != "little":
        return None
    symbols = np.frombuffer(data, np.uint8)
    space = max(1024, min(len(data) // 12, _FIRST))
    values = np.empty((space, 4), np.uint64)
    members = np.empty(space, np.uint64)
    stack = np.empty(4096, np.uint64)
    memo = np.empty(space, np.uint64)
    marks = np.zeros(int(op.DEEPEST), np.uint64)
    state = np.zeros(8, np.uint64)
    limit = np.uint64(most_values(len(data)))
    actions = op.action_table()
    names = op.name_table()
    while True:
        outcome: Any = read_on(
            symbols,
            actions,
            names,
            limit=limit,
            values=values,
            members=members,
            stack=stack,
            memo=memo,
            marks=marks,
            state=state,
        )
        at, rows, used, height, stored, *_ = state.tolist()
        if outcome != FULL:
            if outcome == DONE:
                return PickleTree(data, values[:rows], members[:used], root=int(stack[0]))
            return None
        share = at / len(data)
        values = _longer(values, rows, share)
        members = _longer(members, used, share)
        stack = _longer(stack, height, share=1.0)
        memo = _longer(memo, stored, share)


def _longer(array: NDArray[np.uint64], filled: int, share: float) -> NDArray[np.uint64]:
    """Return an array with more space if it may be full soon. ``share``: how much of the pickle was read."""
    if 4 * filled < 3 * len(array) - 4096 and filled < share * len(array):
        return array
    size = max(2 * len(array), int(1.1 * filled / max(share, 1e-3))) + 4096
    out = np.empty((size, *array.shape[1:]), np.uint64)
    out[:filled] = array[:filled]
    return out


class PickleTree:
    """The values of a pickle, as columns and as objects. Most methods take and return many rows at once."""

    def __init__(self, data: bytes, values: NDArray[np.uint64], members: NDArray[np.uint64], root: int) -> None:
        """Keep the pickle, the table and the rows of the values of containers. ``root`` is the row of the document."""
        self._bytes = data
        self._data = np.frombuffer(data, np.uint8)
        self._info, self._first, self._second, _ = values.view(np.int64).T
        self._members = members.view(np.int64)
        self._keys: dict[int, list[Any]] = {}
        self.root: Rows = np.array([root])

    def are(self, rows: Rows, *kinds: str) -> NDArray[np.bool_]:
        """Return which values are of one of some kinds, such as ``"LIST"``."""
        table = np.zeros(256, np.bool_)
        table[[int(getattr(op, kind)) for kind in kinds]] = True
        flags: NDArray[np.bool_] = table[self._info[rows] & 255]
        return flags

    def only(self, rows: Rows, *kinds: str) -> bool:
        """Whether all values are of one of some kinds."""
        return bool(self.are(rows, *kinds).all())

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
        return counts // 2, inside[::2], inside[1::2]

    def _contents(self, rows: Rows) -> tuple[Indices, Rows]:
        counts = self._second[rows]
        ends = counts.cumsum()
        places = np.repeat(self._first[rows] - ends + counts, counts)
        places += np.arange(len(places))
        return counts, self._members[places]

    def find(self, rows: Rows, key: str) -> Rows:
        """Return a member of each dictionary; -1 where it is missing. Refuse a key that occurs twice."""
        member: Rows = self.find_all(rows, key)[0]
        return member

    def find_all(self, rows: Rows, *keys: str) -> NDArray[np.int64]:
        """Return several members of each dictionary, ``(keys, rows)``; see ``find``."""
        counts, names, values = self.pairs(rows)
        which = self._which(names, keys)
        known = np.flatnonzero(which >= 0)
        owner = np.repeat(np.arange(len(rows)), counts)
        members = np.full((len(keys), len(rows)), -1)
        members[which[known], owner[known]] = values[known]
        expect(np.count_nonzero(members >= 0) == len(known))
        return members

    def _which(self, rows: Rows, keys: tuple[str, ...]) -> NDArray[np.int16]:
        """Return which of some texts each value is; -1 if it is none. Picklers write a key once, so few rows differ."""
        which = np.full(len(self._info), -1, np.int16)
        which[rows] = 0
        different = np.flatnonzero(which == 0)
        different = different[self.are(different, "TEXT")]
        which[rows] = -1
        for i, key in enumerate(keys):
            text = np.frombuffer(key.encode(), np.uint8)
            some = different[self._second[different] == len(text)]
            letters = self._data[self._first[some][:, None] + np.arange(len(text))]
            which[some[(letters == text).all(axis=1)]] = i
        return which[rows]

    def member(self, rows: Rows, key: str) -> Rows:
        """Return a member that each dictionary must have."""
        member: Rows = self.members(rows, key)[0]
        return member

    def members(self, rows: Rows, *keys: str) -> NDArray[np.int64]:
        """Return several members that each dictionary must have, ``(keys, rows)``."""
        members = self.find_all(rows, *keys)
        expect(members >= 0)
        return members

    def wholes(self, rows: Rows) -> Indices:
        """Return whole numbers, of Python or of numpy."""
        numbers: Indices = self._first[rows]
        others = ~self.are(rows, "WHOLE")
        if others.any():
            scalars = self._scalars(rows[others], "iu")
            expect(scalars.dtype.kind in "iu", scalars.dtype != np.uint64)
            numbers[others] = scalars
        return numbers

    def numbers(self, rows: Rows) -> NDArray[np.float64]:
        """Return real numbers, of Python or of numpy."""
        bits = self._first[rows]
        whole = self.are(rows, "WHOLE")
        numbers: NDArray[np.float64] = bits.view(np.float64)
        numbers[whole] = bits[whole].astype(np.float64)
        others = ~(whole | self.are(rows, "FLOAT"))
        if others.any():
            numbers[others] = self._scalars(rows[others], "iuf")
        return numbers

    def _scalars(self, rows: Rows, kinds: str) -> NDArray[Any]:
        self.expect(rows, "SCALAR")
        return self._values(rows, np.ones(len(rows), np.int64), kinds)

    def _values(self, rows: Rows, counts: Indices, kinds: str) -> NDArray[Any]:
        """Return the numbers in arrays or scalars, one array after the other; as float64 if their types differ."""
        codes = self._types(rows)
        types = {code: op.TYPES[code] for code in np.flatnonzero(np.bincount(codes)).tolist()}
        expect(all(name[0] in kinds for name in types.values()))
        if len(types) == 1:
            (name,) = types.values()
            return self._content(rows, counts * np.dtype(name).itemsize).view(name)
        numbers = np.empty(counts.sum())
        for code in types:
            some = codes == code
            numbers[np.repeat(some, counts)] = self._values(rows[some], counts[some], kinds)
        return numbers

    def _types(self, rows: Rows) -> Indices:
        """Return the numbers of the types of arrays or scalars."""
        codes: Indices = self._info[rows] >> int(op.TYPE_SHIFT) & 255
        return codes

    def _content(self, rows: Rows, sizes: Indices) -> NDArray[np.uint8]:
        """Return the bytes of arrays or scalars, one after the other."""
        from mapgauge.io.pickles.tree_kernels import copy_content

        content = np.empty(sizes.sum(), np.uint8)
        as_text = self._info[rows] & int(op.IS_LATIN) != 0
        starts = self._first[rows].view(np.uint64)
        counts = sizes.view(np.uint64)
        copy_content(self._data, starts, counts, as_text=as_text, out=content)
        return content

    def shapes(self, rows: Rows) -> tuple[Indices, Indices]:
        """Return the number of dimensions of arrays, and their first three extents, 1 where there are fewer."""
        self.expect(rows, "ARRAY")
        axes = self._info[rows] >> int(op.AXES_SHIFT) & 255
        extents = np.ones((len(rows), 3), np.int64)
        for k in range(3):
            some = axes > k
            extents[some, k] = self._members[self._second[rows[some]] + k]
        return axes, extents

    def array_values(self, rows: Rows, kinds: str) -> NDArray[Any]:
        """Return the numbers in arrays, one array after the other, of the kinds of numpy that are allowed."""
        axes, extents = self.shapes(rows)
        expect(axes <= 3)
        return self._values(rows, extents.prod(axis=1), kinds)

    def arrays(self, rows: Rows) -> list[NDArray[Any]]:
        """Return arrays of numbers."""
        axes, extents = self.shapes(rows)
        expect(axes <= 3)
        shapes = [shape[:width] for shape, width in zip(extents.tolist(), axes.tolist(), strict=True)]
        return [self.array_values(rows[i : i + 1], "iufb").reshape(shape) for i, shape in enumerate(shapes)]

    def texts(self, rows: Rows) -> list[str]:
        """Return texts, which must not be empty."""
        self.expect(rows, "TEXT")
        expect(self._second[rows] > 0)
        spans = zip(self._first[rows].tolist(), self._second[rows].tolist(), strict=True)
        return [self._bytes[start : start + size].decode() for start, size in spans]

    def keys(self, row: int) -> list[Any]:
        """Return the keys of a dictionary, which must differ."""
        if row not in self._keys:
            _, rows, _ = self.pairs(np.array([row]))
            keys = self.values(rows)
            expect(len(set(keys)) == len(keys))
            self._keys[row] = keys
        return self._keys[row]

    def text_keys(self, row: int) -> list[str]:
        """Return the keys of a dictionary, which must be different texts, and not empty."""
        keys = self.keys(row)
        expect(all(isinstance(key, str) and key for key in keys))
        return keys

    def values(self, rows: Rows) -> list[Any]:
        """Return small values as the unpickler would create them."""
        if len(rows) > _FEW and self.only(rows, "TEXT") and (self._second[rows] > 0).all():
            return list(self.texts(rows))
        if self.only(rows, "WHOLE"):
            return list(self._first[rows].tolist())
        if len(rows) > _FEW and self.only(rows, "TUPLE"):
            counts, inside = self.items(rows)
            values = self.values(inside)
            return [tuple(values[end - count : end]) for count, end in zip(counts, counts.cumsum(), strict=True)]
        return [self.value(row) for row in rows.tolist()]

    def value(self, row: int) -> Any:
        """Return a small value as the unpickler would create it."""
        kind = int(self._info[row]) & 255
        first = int(self._first[row])
        second = int(self._second[row])
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == op.WHOLE:
            return first
        if kind == op.FLOAT:
            return struct.unpack("<d", struct.pack("<q", first))[0]
        if kind == op.TEXT:
            return self._bytes[first : first + second].decode()
        if kind in (op.TUPLE, op.LIST):
            inside = [self.value(i) for i in self._members[first : first + second].tolist()]
            if kind == op.TUPLE:
                return tuple(inside)
            return inside
        rows = np.array([row])
        if kind == op.SCALAR:
            return self._scalars(rows, "iufb")[0]
        return self.arrays(rows)[0]

    def outline(self, row: int | None = None, depth: int = 0) -> Any:
        """Return the document as far as is needed to recognise a format.

        The outline has all keys of dictionaries, the first values of containers to a depth of three, and the values of
        the keys that recognisers look up. Other values are None.
        """
        if row is None:
            row = int(self.root[0])
        kind = int(self._info[row]) & 255
        if kind not in (op.DICT, op.LIST) or depth == _OUTLINE_DEPTH:
            if kind == op.DICT:
                return {}
            return None
        first = int(self._first[row])
        count = int(self._second[row])
        inside = self._members[first : first + count]
        if kind == op.LIST:
            return [self.outline(value, depth + 1) for value in inside[:_OUTLINE].tolist()]
        return {
            key: self.outline(value, depth + 1) if i < _OUTLINE or key in _LOOKED_UP else None
            for i, (key, value) in enumerate(zip(self.keys(row), inside[1::2].tolist(), strict=True))
        }


# Columns of instances: points and numbers of a whole file at once.


def points_of(tree: PickleTree, rows: Rows, *, flat: bool = False) -> tuple[Indices, Points]:
    """Return the number of points of arrays or lists, and all their points.

    ``flat`` also allows ``x, y, x, y, ...``.
    """
    if len(rows) and tree.only(rows, "LIST", "TUPLE"):
        return _listed_points(tree, rows, flat)
    dimensions, extents = tree.shapes(rows)
    in_row = dimensions == 1
    expect(in_row | (dimensions == 2), extents[:, 0] > 0, flat or not in_row.any(), extents[in_row, 0] % 2 == 0)
    sizes = np.where(in_row, extents[:, 0] // 2, extents[:, 0])
    return sizes, _table(tree, rows, np.where(in_row, 2, extents[:, 1]), total=int(sizes.sum()))


def _listed_points(tree: PickleTree, rows: Rows, flat: bool) -> tuple[Indices, Points]:
    """Return the points of nested lists, or of lists of numbers if they may be flat."""
    sizes, points = tree.items(rows)
    if flat and tree.only(points[:1], "FLOAT", "WHOLE"):
        tree.expect(points, "FLOAT", "WHOLE")
        expect(sizes > 0, sizes % 2 == 0)
        return sizes // 2, tree.numbers(points).reshape(-1, 2)
    width = int(tree.items(points[:1])[0].sum())
    expect(sizes > 0, width in (2, 3))
    counts, numbers = tree.items(points)
    expect(counts == width)
    return sizes, tree.numbers(numbers).reshape(-1, width)


def stacked_points_of(tree: PickleTree, rows: Rows, *, flat: bool = False) -> tuple[Indices, Indices, Points]:
    """Return points of arrays with several polylines each: the number of polylines, their sizes, and all points.

    An array is ``(polylines, points, dimension)``. ``flat`` also allows ``(polylines, 2 points)`` with
    ``x, y, x, y, ...`` in a row.
    """
    dimensions, extents = tree.shapes(rows)
    counts = extents[:, 0]
    some = counts > 0
    rows = rows[some]
    dimensions = dimensions[some]
    extents = extents[some]
    in_row = dimensions == 2
    expect(in_row | (dimensions == 3), flat or not in_row.any(), extents[:, 1] > 0, extents[in_row, 1] % 2 == 0)
    sizes = np.where(in_row, extents[:, 1] // 2, extents[:, 1])
    sizes = np.repeat(sizes, extents[:, 0])
    return counts, sizes, _table(tree, rows, np.where(in_row, 2, extents[:, 2]), total=int(sizes.sum()))


def _table(tree: PickleTree, rows: Rows, widths: Indices, total: int) -> Points:
    """Return the numbers of arrays as points, a number in all. All must have the same dimension."""
    width = 2
    if len(widths):
        width = int(widths[0])
    expect(width in (2, 3), widths == width)
    points = np.empty((total, width))
    at = 0
    for start in range(0, len(rows), _BLOCK):
        block = tree.array_values(rows[start : start + _BLOCK], "iuf").reshape(-1, width)
        points[at : at + len(block)] = block
        at += len(block)
    return points


def numbers_of(tree: PickleTree, rows: Rows) -> tuple[Indices, NDArray[np.float64]]:
    """Return the lengths of lists or arrays of numbers, and all their numbers."""
    if tree.only(rows, "ARRAY"):
        return _lengths(tree, rows), tree.array_values(rows, "iuf").astype(np.float64, copy=False)
    counts, inside = tree.items(rows)
    return counts, tree.numbers(inside)


def wholes_of(tree: PickleTree, rows: Rows) -> tuple[Indices, Indices]:
    """Return the lengths of lists or arrays of whole numbers, and all their numbers."""
    if tree.only(rows, "ARRAY"):
        lengths = _lengths(tree, rows)
        some = rows[lengths > 0]
        values = tree.array_values(some, "iu")
        expect(not len(some) or (values.dtype.kind in "iu" and values.dtype != np.uint64))
        return lengths, values.astype(np.int64, copy=False)
    counts, inside = tree.items(rows)
    return counts, tree.wholes(inside)


def _lengths(tree: PickleTree, rows: Rows) -> Indices:
    dimensions, extents = tree.shapes(rows)
    expect((dimensions == 1) | ((dimensions > 0) & (extents[:, 0] == 0)))
    return extents[:, 0]


def arrays_of(tree: PickleTree, rows: Rows) -> Sequence[Any] | NDArray[Any]:
    """Return small arrays or nested lists of numbers. Arrays of equal form become one array."""
    if tree.only(rows, "ARRAY"):
        dimensions, extents = tree.shapes(rows)
        if len(rows) and (dimensions == dimensions[0]).all() and (extents == extents[0]).all():
            return tree.array_values(rows, "iuf").reshape(len(rows), *extents[0, : dimensions[0]])
    elif tree.only(rows, "LIST"):
        form = [len(rows)]
        inside = rows
        while len(inside) and tree.only(inside, "LIST"):
            counts, inside = tree.items(inside)
            form.append(int(counts[0]))
            expect(counts == counts[0])
        return tree.numbers(inside).reshape(form)
    return tree.values(rows)
