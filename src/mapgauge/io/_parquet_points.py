"""Reads points from the pages of a Parquet file, in a third of the time that pyarrow takes.

pyarrow expands where each list begins, for every coordinate of every point. Here this is read once per line, and the
numbers go directly to their places in one array. Only what mapgauge writes is read: pages of the first version, with
bytes split and with checksums, not compressed or compressed with LZ4 or zstd. Everything else, and every page that is
damaged, is left to pyarrow, which reads it or says what is wrong.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.dependencies import pyarrow_modules
from mapgauge.io._parquet_file import Axis, ThriftReader
from mapgauge.typing import Indices, Points

Read: TypeAlias = Callable[[int, int], Any]  # returns bytes of a file: first, number

_MANY = 30_000  # points; for fewer, pyarrow is fast enough and no kernel is compiled
_LZ4 = 7
_CODECS = {6: "zstd", _LZ4: "lz4_raw"}
_UNCOMPRESSED = 5  # bytes at the end of a block of LZ4, which are never compressed
_HEAD = 1 << 12  # bytes; the head of a page has its statistics
_DATA, _RLE, _SPLIT = 0, 3, 9  # a page of data, and its encodings
_FAULTS = (ValueError, KeyError, IndexError, TypeError, AttributeError, OSError, MemoryError)


class Lines(NamedTuple):
    """The number of points of each row, all points, and whether all coordinates are finite."""

    sizes: Indices
    coords: Points
    finite: bool


def read_lines(groups: Sequence[tuple[Axis, ...]], read: Read, *, threads: int = 1) -> Lines | None:
    """Return the points of some row groups; None if pyarrow must read them.

    Args:
        groups: Where each row group has its coordinates.
        read: Returns bytes of the file.
        threads: The number of threads.
    """
    most = [max((axis.values for axis in axes), default=0) for axes in groups]
    widths = {len(axes) for axes in groups}
    if sum(most) < _MANY or len(widths) > 1 or not widths <= {2, 3}:
        return None
    coords = np.empty((sum(most), widths.pop()))
    ends = np.cumsum(most).tolist()

    def fill(axes: tuple[Axis, ...], count: int, end: int) -> tuple[Indices, bool] | None:
        try:
            return _group(axes, read, coords[end - count : end])
        except (*_FAULTS, pyarrow_modules()[0].ArrowException):
            return None

    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(fill, groups, most, ends))
    else:
        found = list(map(fill, groups, most, ends))
    groups_read = [group for group in found if group is not None]
    if len(groups_read) < len(found):
        return None
    sizes = [group[0] for group in groups_read]
    counts = [int(size.sum()) for size in sizes]
    if counts != most:  # lines without points
        firsts = (end - count for end, count in zip(ends, most, strict=True))
        coords = np.concatenate([coords[first : first + n] for first, n in zip(firsts, counts, strict=True)])
    return Lines(np.concatenate(sizes), coords, all(finite for _, finite in groups_read))


def _group(axes: tuple[Axis, ...], read: Read, coords: Points) -> tuple[Indices, bool] | None:
    """Write the points of a row group, and return the size of each line, and whether all coordinates are finite.

    Returns None if it cannot be read here.
    """
    first, finite = 0, True
    sizes = []
    columns = [_pages(read(axis.start, axis.size), axis) for axis in axes]
    for together in zip(*columns, strict=True):
        pages = tuple(page for page, _ in together)
        found, begin = kernels.parquet_pages.sizes_of_lists(pages[0], together[0][1], axes[0].top)
        levels = pages[0][: int(begin)].tobytes()
        if not len(found) or any(page[: len(levels)].tobytes() != levels for page in pages[1:]):
            return None  # damaged, or other lines than those of the first coordinate
        end = first + int(found.sum())
        outcome = kernels.parquet_pages.join_pages(pages, np.uint64(len(levels)), coords[first:end])
        if outcome == 0:
            return None
        finite = finite and outcome == 1
        first = end
        sizes.append(found)
    return (np.concatenate(sizes), finite) if sizes else None


def _pages(data: Any, axis: Axis) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Yield each page without its head, not compressed, and its number of values.

    Raises:
        ValueError: It is not of the expected kind, or damaged.
    """
    view = memoryview(data).cast("B")
    at, left = 0, axis.values
    while at < axis.size:
        reader = ThriftReader(bytes(view[at : at + _HEAD]))
        head = reader.structure(0)
        about = head[5]
        if head[1] != _DATA or (about[2], about[3], about[4]) != (_SPLIT, _RLE, _RLE):
            raise ValueError("another kind of page")
        at += reader.at
        body = view[at : at + head[3]]
        at += head[3]
        count, size = about[1], head[2]
        if not 0 < count <= left or not 0 < head[3] == len(body) or not 0 < size <= 10 * count + 64:
            raise ValueError("the page has other sizes than its column")
        if zlib.crc32(body) != head[4] & 0xFFFFFFFF:
            raise ValueError("the page has another checksum")
        left -= count
        page = np.frombuffer(_unpacked(body, size, axis.codec), np.uint8)
        page.flags.writeable = False  # the kernel would be compiled again for other arrays
        yield page, count
    if left:
        raise ValueError("the column has fewer values")


def _unpacked(body: memoryview, size: int, codec: int) -> Any:
    """Return the bytes of a page."""
    if codec == 0:
        return body
    pa, _ = pyarrow_modules()
    page = pa.Codec(_CODECS[codec]).decompress(body, size)
    last = min(size, _UNCOMPRESSED)
    # pyarrow does not say if LZ4 has fewer bytes. Those after them are arbitrary.
    if codec == _LZ4 and bytes(memoryview(page)[-last:]) != bytes(body[-last:]):
        raise ValueError("the page has another size")
    return page
