"""Columns of instances from the table of a pickle: points, numbers, classes and tracks of a whole file at once.

All functions raise ``Irregular`` for a file that only the readers of single objects can judge.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.io._collect import Collector, Column
from mapgauge.io.pickles.tree import PickleTree, Rows, expect
from mapgauge.typing import Indices, Points

_BLOCK = 4096  # arrays that are copied at once, so that their bytes stay in the cache until they are converted


def expect_texts(keys: Sequence[Any]) -> list[str]:
    """Return keys that must be texts, and not empty."""
    expect(all(isinstance(key, str) and key for key in keys))
    return list(keys)


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
    return sizes, _table(tree, rows, np.where(in_row, 2, extents[:, 1]), int(sizes.sum()))


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
    rows, dimensions, extents = rows[some], dimensions[some], extents[some]
    in_row = dimensions == 2
    expect(in_row | (dimensions == 3), flat or not in_row.any(), extents[:, 1] > 0, extents[in_row, 1] % 2 == 0)
    sizes = np.where(in_row, extents[:, 1] // 2, extents[:, 1])
    sizes = np.repeat(sizes, extents[:, 0])
    return counts, sizes, _table(tree, rows, np.where(in_row, 2, extents[:, 2]), int(sizes.sum()))


def _table(tree: PickleTree, rows: Rows, widths: Indices, total: int) -> Points:
    """Return the numbers of arrays as points, a number in all. All must have the same dimension."""
    width = int(widths[0]) if len(widths) else 2
    expect(width in (2, 3), widths == width)
    points, at = np.empty((total, width)), 0
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


def arrays_of(tree: PickleTree, rows: Rows) -> Column:
    """Return small arrays or nested lists of numbers. Arrays of equal form become one array."""
    if tree.only(rows, "ARRAY"):
        dimensions, extents = tree.shapes(rows)
        if len(rows) and (dimensions == dimensions[0]).all() and (extents == extents[0]).all():
            return tree.array_values(rows, "iuf").reshape(len(rows), *extents[0, : dimensions[0]])
    elif tree.only(rows, "LIST"):
        form, inside = [len(rows)], rows
        while len(inside) and tree.only(inside, "LIST"):
            counts, inside = tree.items(inside)
            form.append(int(counts[0]))
            expect(counts == counts[0])
        return tree.numbers(inside).reshape(form)
    return tree.values(rows)


def codes_of(collector: Collector, labels: Indices) -> Indices:
    """Return the codes of the classes of numeric labels."""
    codes = collector.codes_of(labels)
    expect(codes >= 0)
    return codes
