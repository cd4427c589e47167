"""Arrays inside a page: one block of bytes, compressed and written as text, and a directory of what is where.

A page that draws thousands of polylines must not spell out numbers. Typed arrays are read by the browser as they are.
"""

import base64
import gzip
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 6  # 9 takes seven times as long to save a fiftieth
ALIGNMENT = 8  # bytes; a typed array must begin at a multiple of its item's size

Directory = dict[str, tuple[str, int, int]]  # by name: type, first byte, number of items


def pack(arrays: Mapping[str, NDArray[Any]]) -> tuple[Directory, str]:
    """The directory and the text. Equal arrays are written once: methods usually share their truth.

    >>> directory, text = pack({"a": np.array([1, 2], np.int16), "b": np.array([1, 2], np.int16)})
    >>> directory
    {'a': ('int16', 0, 2), 'b': ('int16', 0, 2)}
    >>> list(gzip.decompress(base64.b64decode(text)))
    [1, 0, 2, 0]
    """
    directory: Directory = {}
    places: dict[tuple[str, bytes], int] = {}
    block = bytearray()
    for name, array in arrays.items():
        data = array.astype(array.dtype.newbyteorder("<")).tobytes()
        key = (array.dtype.name, data)
        if key not in places:
            block += bytes(-len(block) % ALIGNMENT)
            places[key] = len(block)
            block += data
        directory[name] = (array.dtype.name, places[key], array.size)
    return directory, base64.b64encode(gzip.compress(block, LEVEL, mtime=0)).decode()


def steps(values: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[Any]:
    """Rows of columns as differences to the row before, from scratch at each offset; they compress far better.

    Differences wrap around, and so do the sums that undo them. Columns come one after the other.

    >>> steps(np.array([[5, 1], [6, 2], [9, 9]], np.int16), np.array([0, 2, 3])).tolist()
    [[5, 1, 9], [1, 1, 9]]
    """
    found = values.copy()
    found[1:] -= values[:-1]
    first = offsets[:-1][np.diff(offsets) > 0]
    found[first] = values[first]
    return np.ascontiguousarray(found.T)
