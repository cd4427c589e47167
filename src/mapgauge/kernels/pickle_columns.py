"""Reads columns from the table of ``pickle_tree``: one member of many dictionaries, or the content of many arrays."""

import numpy as np

from mapgauge.kernels._jit import ONE, THREE, TWO, ZERO, U, jit
from mapgauge.kernels.pickle_calls import (
    ARRAY,
    DICT,
    FIRST,
    FLOAT,
    FLOAT32,
    FLOAT64,
    INFO,
    IS_LATIN,
    LIST,
    MINUS_ONE,
    SECOND,
    TEXT,
    TUPLE,
    TYPE_BITS,
    TYPE_SHIFT,
    WHOLE,
    axes_of,
    first_bytes,
    kind_of,
    word_at,
)

ALL, SOME_OTHER, SOME_TWICE = range(3)  # found for all values; one is no dictionary; one has the key twice


@jit
def bits_among(values, rows, shift):
    """Return which numbers occur in a byte of the info of values: bit ``k`` stands for the number ``k``."""
    found = ZERO
    for i in range(U(len(rows))):
        found |= ONE << ((values[rows[i], INFO] >> shift) & U(255))
    return found


@jit
def _is_key(data, values, row, names, start, stop):
    """Whether a value is the text in a part of ``names``."""
    if kind_of(values, row) != TEXT or values[row, SECOND] != stop - start:
        return False
    same = True
    for i in range(stop - start):
        same &= data[values[row, FIRST] + i] == names[start + i]
    return same


@jit
def find_members(data, values, members, rows, names, ends, places, out):
    """Write the rows of members of each dictionary into ``out``, or the largest number for one that lacks a member.

    Picklers write a key once. The keys of most dictionaries are therefore the same rows as those of the one before, and
    then the members are at the same places.

    Args:
        data: The whole pickle.
        values: The table.
        members: The rows of the values of containers.
        rows: The rows of the dictionaries.
        names: The keys, one after the other.
        ends: ``(keys,)``: where each of them ends.
        places: ``(keys,)``: memory for the places of the members in a dictionary.
        out: ``(keys, rows)``: receives the rows.
    """
    before, size = ZERO, MINUS_ONE  # the dictionary before
    for i in range(U(len(rows))):
        row = rows[i]
        if kind_of(values, row) != DICT:
            return SOME_OTHER
        start = values[row, FIRST]
        same = values[row, SECOND] == size
        if same:
            for k in range(ZERO, size, TWO):
                same &= members[start + k] == members[before + k]
        if not same:
            before, size = start, values[row, SECOND]
            for j in range(U(len(ends))):
                places[j] = MINUS_ONE
                first = ends[j - ONE] if j > ZERO else ZERO
                for k in range(ZERO, size, TWO):
                    if _is_key(data, values, members[start + k], names, first, ends[j]):
                        if places[j] != MINUS_ONE:
                            return SOME_TWICE
                        places[j] = k + ONE
        for j in range(U(len(ends))):
            out[j, i] = members[start + places[j]] if places[j] != MINUS_ONE else MINUS_ONE
    return ALL


@jit
def count_items(values, rows, counts):
    """Write the number of values of each container. Return the sum."""
    total = ZERO
    for i in range(U(len(rows))):
        counts[i] = values[rows[i], SECOND]
        total += counts[i]
    return total


@jit
def copy_items(values, members, rows, out):
    """Write the rows of the values of containers into ``out``, one container after the other."""
    at = ZERO
    for i in range(U(len(rows))):
        start = values[rows[i], FIRST]
        for k in range(values[rows[i], SECOND]):
            out[at + k] = members[start + k]
        at += values[rows[i], SECOND]


@jit
def copy_numbers(values, rows, out, bits):
    """Write numbers into ``out``. Return whether all are plain. ``bits`` is the same memory as whole numbers."""
    for i in range(U(len(rows))):
        kind = kind_of(values, rows[i])
        if kind == FLOAT:
            bits[i] = values[rows[i], FIRST]
        elif kind == WHOLE:
            out[i] = float(np.int64(values[rows[i], FIRST]))
        else:
            return False
    return True


@jit
def copy_points(values, members, rows, width, out, bits):
    """Write points, which are lists of numbers, into ``out``. Return whether all are, and have the same width."""
    at = ZERO
    for i in range(U(len(rows))):
        row = rows[i]
        if kind_of(values, row) not in (LIST, TUPLE) or values[row, SECOND] != width:
            return False
        for k in range(values[row, FIRST], values[row, FIRST] + width):
            number = members[k]
            kind = kind_of(values, number)
            if kind == FLOAT:
                bits[at] = values[number, FIRST]
            elif kind == WHOLE:
                out[at] = float(np.int64(values[number, FIRST]))
            else:
                return False
            at += ONE
    return True


@jit
def copy_shapes(values, members, rows, axes, extents):
    """Write the number of dimensions of arrays, and their first three extents, 1 where there are fewer.

    Return whether all values are arrays.
    """
    for i in range(U(len(rows))):
        row = rows[i]
        if kind_of(values, row) != ARRAY:
            return False
        count = axes_of(values, row)
        axes[i] = count
        for k in range(U(3)):
            extents[i, k] = members[values[row, SECOND] + k] if k < count else ONE
    return True


@jit
def copy_letters(data, start, out, at, stop):
    """Copy characters of Latin-1 as bytes to ``out`` from ``at`` to ``stop``.

    Each byte is written, and the first of two bytes is overwritten by the second. This is faster than a branch.
    """
    due = ZERO  # 64 if the next byte follows 0xC3
    while at + U(8) <= stop:
        word = word_at(data, start)
        firsts = first_bytes(word)
        high = (firsts & (word << U(7))) >> ONE
        letters = word | (high << U(8)) | due
        due = high >> U(56)
        for i in range(U(8)):
            out[at] = np.uint8((letters >> (U(8) * i)) & U(255))
            at += ((~firsts) >> (U(8) * i + U(7))) & ONE
        start += U(8)
    while at < stop:
        byte = U(data[start])
        out[at] = np.uint8(byte | due)
        due = U(64) if byte == U(0xC3) else ZERO
        at += ONE if byte < U(0xC0) else ZERO
        start += ONE


@jit
def copy_contents(data, values, rows, sizes, out):
    """Copy the bytes of arrays or scalars into ``out``, one after the other. ``sizes`` has their numbers of bytes."""
    at = ZERO
    for i in range(U(len(rows))):
        row = rows[i]
        start, stop = values[row, FIRST], at + sizes[i]
        if values[row, INFO] & IS_LATIN:
            copy_letters(data, start, out, at, stop)
        else:
            for k in range(sizes[i]):
                out[at + k] = data[start + k]
        at = stop


@jit
def copy_floats(data, values, rows, counts, out, bits):
    """Write the numbers of arrays or scalars of float32 or float64 into ``out``, one array after the other.

    Return False if one has another type, or is written as text. ``bits`` is the same memory as whole numbers.
    """
    place = ZERO
    for i in range(U(len(rows))):
        info, start = values[rows[i], INFO], values[rows[i], FIRST]
        kind = (info & TYPE_BITS) >> TYPE_SHIFT
        if info & IS_LATIN:
            return False
        if kind == FLOAT64:
            for k in range(counts[i]):
                bits[place + k] = word_at(data, start + U(8) * k)
        elif kind == FLOAT32:
            for k in range(counts[i]):
                at = start + U(4) * k
                low = np.uint32(data[at]) | (np.uint32(data[at + ONE]) << np.uint32(8))
                high = (np.uint32(data[at + TWO]) << np.uint32(16)) | (np.uint32(data[at + THREE]) << np.uint32(24))
                out[place + k] = np.uint32(low | high).view(np.float32)
        else:
            return False
        place += counts[i]
    return True
