"""Reads columns from the table of ``pickle_tree``: one member of many dictionaries, or the content of many arrays."""

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit
from mapgauge.kernels.pickle_calls import BYTES, DICT, FIRST, LATIN, MINUS_ONE, SECOND, is_text, kind_of

ALL, SOME_OTHER, SOME_TWICE = range(3)  # found for all values; one is no dictionary; one has the key twice


@jit
def find_members(data, values, members, rows, key, out):
    """Write the row of a member of each dictionary into ``out``, or the largest number for one that lacks it."""
    known = MINUS_ONE  # the row of the key in the dictionary before: picklers write a key once
    for i in range(U(len(rows))):
        row = rows[i]
        if kind_of(values, row) != DICT:
            return SOME_OTHER
        out[i] = MINUS_ONE
        start = values[row, FIRST]
        for k in range(start, start + values[row, SECOND], TWO):
            name = members[k]
            if name == known or is_text(data, values, name, key):
                if out[i] != MINUS_ONE:
                    return SOME_TWICE
                known = name
                out[i] = members[k + ONE]
    return ALL


@jit
def copy_contents(data, values, rows, out):
    """Copy the bytes of many values into ``out``, one after the other. Return whether all of them are bytes."""
    at = ZERO
    for i in range(U(len(rows))):
        row = rows[i]
        start, size = values[row, FIRST], values[row, SECOND]
        kind = kind_of(values, row)
        if kind == BYTES:
            for k in range(size):
                out[at + k] = data[start + k]
        elif kind == LATIN:
            for k in range(at, at + size):
                letter = data[start]
                if letter >= 128:
                    start += ONE
                    letter = ((letter & 3) << 6) | (data[start] & 63)
                out[k] = letter
                start += ONE
        else:
            return False
        at += size
    return True
