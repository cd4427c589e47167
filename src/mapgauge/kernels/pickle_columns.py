"""Reads columns from the table of ``pickle_tree``: one member of many dictionaries, or the content of many arrays."""

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit
from mapgauge.kernels.pickle_calls import (
    ARRAY,
    DICT,
    FIRST,
    FLOAT,
    INFO,
    IS_LATIN,
    LIST,
    MINUS_ONE,
    SECOND,
    TUPLE,
    WHOLE,
    axes_of,
    is_text,
    kind_of,
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
def find_members(data, values, members, rows, key, out):
    """Write the row of a member of each dictionary into ``out``, or the largest number for one that lacks it.

    Picklers write a key once. The keys of most dictionaries are therefore the same rows as those of the one before, and
    then the member is at the same place.
    """
    before, size, place = ZERO, MINUS_ONE, MINUS_ONE  # the dictionary before: its start, size, and the member in it
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
            before, size, place = start, values[row, SECOND], MINUS_ONE
            for k in range(ZERO, size, TWO):
                if is_text(data, values, members[start + k], key):
                    if place != MINUS_ONE:
                        return SOME_TWICE
                    place = k + ONE
        out[i] = members[start + place] if place != MINUS_ONE else MINUS_ONE
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
def copy_contents(data, values, rows, sizes, out):
    """Copy the bytes of arrays or scalars into ``out``, one after the other. ``sizes`` has their numbers of bytes."""
    at = ZERO
    for i in range(U(len(rows))):
        row = rows[i]
        start, stop = values[row, FIRST], at + sizes[i]
        if values[row, INFO] & IS_LATIN:
            # The first of the two bytes of a character is overwritten by the second.
            byte = data[start]
            while at < stop:
                before, byte = byte, data[start]
                out[at] = byte | ((before == 0xC3) << 6)
                at += U(byte < 0xC0)
                start += ONE
        else:
            for k in range(sizes[i]):
                out[at + k] = data[start + k]
            at = stop
