"""Pages of Parquet with the coordinates of lists of points: the size of each list, and the numbers.

A page has three parts: how deep each value repeats, how much of it is defined, and the values. The first two are
run-length encoded. The values are stored byte by byte: the first bytes of all values, then the second ones.
"""

import numpy as np

from mapgauge.kernels._jit import ONE, ZERO, U, jit, jit_allocating

SOME = 1024  # values that are decoded together


@jit
def _head(data, at, end):
    """Return the head of a run and where it ends; the head is 0 if it is damaged, and never else."""
    head, shift = ZERO, ZERO
    while at < end and shift <= U(28):
        head |= (U(data[at]) & U(127)) << shift
        if data[at] < 128:
            return head, at + ONE
        shift += U(7)
        at += ONE
    return ZERO, at


@jit
def _first_values(data, at, end, starts, count):
    """Write where lists begin, from levels of one bit, 0 at the first value of a list.

    Returns the number of lists; 0 if the bytes are not exactly ``count`` levels, or the first list begins before.
    """
    lists, done = ZERO, ZERO
    while done < count:
        head, at = _head(data, at, end)
        run, left = head >> ONE, count - done
        if run == ZERO:
            return ZERO
        if head & ONE:  # bytes of eight levels
            if run > end - at:
                return ZERO
            for byte in range(at, at + run):
                bits = U(data[byte]) if left >= U(8) else U(data[byte]) | (U(255) << left) & U(255)
                if bits != U(255):
                    for k in range(U(8)):
                        if (bits >> k) & ONE == ZERO:
                            starts[lists] = done + k
                            lists += ONE
                done += min(U(8), left)
                left = count - done
            at += run
        else:
            if run > left or at >= end or data[at] > 1:
                return ZERO
            if data[at] == 0:
                for k in range(run):
                    starts[lists] = done + k
                    lists += ONE
            done += run
            at += ONE
    return lists if at == end and starts[0] == ZERO else ZERO


@jit
def _expand(data, at, end, width, levels):
    """Write levels of ``width`` bits, 1 or 2. Returns whether the bytes are exactly these."""
    filled, count, mask = ZERO, U(len(levels)), (ONE << width) - ONE
    while filled < count:
        head, at = _head(data, at, end)
        run, left = head >> ONE, count - filled
        if run == ZERO:
            return False
        if head & ONE:
            if run * width > end - at:
                return False
            taken = min(U(8) * run, left)
            for k in range(taken):
                bit = k * width
                levels[filled + k] = (U(data[at + (bit >> U(3))]) >> (bit & U(7))) & mask
            at += run * width
        else:
            if run > left or at >= end:
                return False
            taken = run
            for k in range(taken):
                levels[filled + k] = data[at]
            at += ONE
        filled += taken
    return at == end


@jit
def _is_one_run(data, at, end, count, level):
    """Whether all levels are the same, written as one run."""
    head, at = _head(data, at, end)
    return head == count << ONE and at + ONE == end and data[at] == level


@jit
def _part(data, at):
    """Return where a part with its length before it begins and ends; both are 0 if it is longer than the page."""
    size = U(len(data))
    if at + U(4) > size:
        return ZERO, ZERO
    length = U(data[at]) | U(data[at + ONE]) << U(8) | U(data[at + U(2)]) << U(16) | U(data[at + U(3)]) << U(24)
    begin = at + U(4)
    return (begin, begin + length) if length <= size - begin else (ZERO, ZERO)


@jit_allocating
def sizes_of_lists(page, count, top):
    """Return the number of values in each list of a page, and where the values begin; no lists if it is damaged.

    Args:
        page: Its bytes.
        count: Number of levels: of values, and of lists without values.
        top: The level of a value that is defined, 1 or 2. Below, the list is empty or null.
    """
    broken = np.zeros(0, np.int64)
    begin, end = _part(page, ZERO)
    first, values = _part(page, end)
    if end == ZERO or values == ZERO:
        return broken, ZERO
    starts = np.empty(count + 1, np.int64)
    lists = _first_values(page, begin, end, starts, U(count))
    if lists == ZERO:
        return broken, ZERO
    starts[lists] = count
    sizes = np.empty(lists, np.int64)
    for k in range(lists):
        sizes[k] = starts[k + ONE] - starts[k]
    if _is_one_run(page, first, values, U(count), top):
        return sizes, values
    levels = np.empty(count, np.uint8)
    if not _expand(page, first, values, U(top), levels):
        return broken, ZERO
    for k in range(lists):
        if sizes[k] == 1:
            sizes[k] = levels[U(starts[k])] == top
        else:
            for i in range(U(starts[k]), U(starts[k + ONE])):
                if levels[i] != top:  # a null among values
                    return broken, ZERO
    return sizes, values


@jit
def _floats(page, at, count, words, numbers):
    """Write floats whose bytes are ``count`` bytes apart. Returns whether all are finite."""
    some = U(len(numbers))
    a, b, c, d = at, at + count, at + U(2) * count, at + U(3) * count
    most = np.uint32(0)
    for k in range(some):
        words[k] = (
            np.uint32(page[a + k])
            | np.uint32(page[b + k]) << np.uint32(8)
            | np.uint32(page[c + k]) << np.uint32(16)
            | np.uint32(page[d + k]) << np.uint32(24)
        )
    for k in range(some):
        most = max(most, words[k] & np.uint32(0x7F800000))  # all these bits are set if a number is not finite
    floats = words.view(np.float32)
    for k in range(some):
        numbers[k] = floats[k]
    return most < np.uint32(0x7F800000)


@jit
def _doubles(page, at, count, numbers):
    """Write doubles whose bytes are ``count`` bytes apart. Returns whether all are finite."""
    some = U(len(numbers))
    longs = numbers.view(np.uint64)
    most = ZERO
    for k in range(some):
        longs[k] = page[at + k]
    for byte in range(ONE, U(8)):
        first, shift = at + byte * count, U(8) * byte
        for k in range(some):
            longs[k] |= U(page[first + k]) << shift
    for k in range(some):
        most = max(most, longs[k] & U(0x7FF0000000000000))
    return most < U(0x7FF0000000000000)


@jit_allocating
def join_pages(pages, at, out):
    """Write the values of the pages of all coordinates, from ``at`` on, to ``out``. They are floats or doubles.

    Returns:
        0 if a page does not have exactly as many values, else 1, or 2 if a value is not finite.
    """
    count = U(len(out))
    words, numbers = np.empty(SOME, np.uint32), np.empty((len(pages), SOME))
    for page in pages:
        if U(len(page)) - at != U(4) * count and U(len(page)) - at != U(8) * count:
            return 0
    finite = True
    for first in range(ZERO, count, U(SOME)):
        some = min(U(SOME), count - first)
        for axis in range(len(pages)):
            page, row = pages[axis], numbers[axis, :some]
            if U(len(page)) - at == U(4) * count:
                finite &= _floats(page, at + first, count, words, row)
            else:
                finite &= _doubles(page, at + first, count, row)
        if len(pages) == 2:
            x, y = numbers[0], numbers[1]
            for k in range(some):
                out[first + k, ZERO] = x[k]
                out[first + k, ONE] = y[k]
        else:
            for axis in range(len(pages)):
                for k in range(some):
                    out[first + k, U(axis)] = numbers[axis, k]
    return 1 if finite else 2
