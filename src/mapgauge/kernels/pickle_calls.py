"""What ``pickle_tree`` needs: its rows, what opcodes do, and the few functions that the pickle of an array calls.

A row is one value of a pickle: its kind, two numbers, and its weight.
"""

import pickletools

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit
from mapgauge.kernels.pickle_scan import WIDTH, opcode_table

# Kinds of values. LATIN: bytes that are written as text, as protocols 0 to 2 do. EMPTY: an array that is not filled.
NONE, FALSE, TRUE, WHOLE, FLOAT, TEXT, BYTES, LATIN = (U(i) for i in range(8))
TUPLE, LIST, DICT, NAME, DTYPE, EMPTY, ARRAY, SCALAR = (U(i) for i in range(8, 16))

KINDS = (
    *("NONE", "FALSE", "TRUE", "WHOLE", "FLOAT", "TEXT", "BYTES", "LATIN"),
    *("TUPLE", "LIST", "DICT", "NAME", "DTYPE", "EMPTY", "ARRAY", "SCALAR"),
)

# Columns of the table. INFO: the kind, and in further bits the type of an array, the depth and flags. FIRST and SECOND,
# by kind. WHOLE: the number. FLOAT: its bits. TEXT, BYTES, LATIN: where it starts in the pickle, and its length.
# Containers: where their values start in ``members``, and how many there are (keys count too). ARRAY: where the content
# starts in the pickle, and where the extents are in ``members``, which are numbers there. SCALAR: where it starts.
INFO, FIRST, SECOND, WEIGHT = (U(i) for i in range(4))
KIND_BITS, TYPE_BITS = U(255), U(255 << 8)
TYPE_SHIFT, DEPTH_SHIFT, AXES_SHIFT = U(8), U(16), U(24)
STORED, FETCHED, IS_LATIN = U(1 << 32), U(1 << 33), U(1 << 34)  # IS_LATIN: the content is written as text

TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")
_LETTERS = np.frombuffer("".join(TYPES).encode(), np.uint8).reshape(-1, 2)

# The functions and classes that a pickle may name, as the lines of a GLOBAL.
_OLD, _NEW_NAME = "numpy.core.", "numpy._core."
_NAMED = (
    *(f"{core}multiarray\n_reconstruct\n" for core in (_OLD, _NEW_NAME)),
    *(f"{core}multiarray\nscalar\n" for core in (_OLD, _NEW_NAME)),
    *(f"{core}numeric\n_frombuffer\n" for core in (_OLD, _NEW_NAME)),
    *("numpy\nndarray\n", "numpy\ndtype\n", "_codecs\nencode\n", "builtins\nbytes\n", "__builtin__\nbytes\n"),
)
RECONSTRUCT, SCALAR_OF, FROMBUFFER, NDARRAY, _DTYPE, ENCODE, _EMPTY_BYTES = (U(i) for i in (0, 2, 4, 6, 7, 8, 9))
_GROUPS = np.array([0, 0, 2, 2, 4, 4, 6, 7, 8, 9, 9], np.uint64)
_LARGEST, _LARGE = U(1 << 40), U(1 << 20)  # elements of an array, and the square root of that
_LARGEST_EMPTY = U(1 << 20)  # what the dimensions other than 0 of an empty array may give
MINUS_ONE = ~ZERO
DEEPEST = U(100)  # nested containers
LATIN1 = np.frombuffer(b"latin1", np.uint8)

# What an opcode does.
_ACTIONS = {
    "STORE": ("MEMOIZE", "BINPUT", "LONG_BINPUT"),
    "FETCH": ("BINGET", "LONG_BINGET"),
    "NUMBER": ("BININT1", "BININT2"),
    "SIGNED": ("BININT", "LONG1"),
    "REAL": ("BINFLOAT",),
    "STRING": ("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    "RAW": ("SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "BYTEARRAY8"),
    "CONSTANT": ("NONE", "NEWFALSE", "NEWTRUE"),
    "NEW": ("EMPTY_TUPLE", "EMPTY_LIST", "EMPTY_DICT"),
    "JOIN": ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    "ADD": ("APPEND", "APPENDS", "SETITEM", "SETITEMS"),
    "CALL": ("REDUCE",),
    "FILL": ("BUILD",),
    "LOOK_UP": ("GLOBAL", "STACK_GLOBAL"),
    "MARK": ("MARK",),
    "POP": ("POP",),
    "BEGIN": ("PROTO",),
    "FRAME": ("FRAME",),
    "STOP": ("STOP",),
}
CODES = {action: U(i + 1) for i, action in enumerate(_ACTIONS)}


def name_table() -> NDArray[np.uint8]:
    """Return the names that a pickle may look up, a row each, filled up with zeros."""
    return np.array(_NAMED, "S64").view(np.uint8).reshape(len(_NAMED), 64)


def action_table() -> NDArray[np.uint64]:
    """Return what each of the 256 bytes does as an opcode, and the width of its argument: (256, 3).

    The third column tells opcodes of the same action apart: how many values a tuple takes (or 255 for a mark), the
    constant, the container, or how many values belong together and whether there is a mark.
    """
    table = np.zeros((256, 3), np.uint64)
    table[:, 1] = opcode_table()[:, WIDTH]
    details = dict.fromkeys(("NEWFALSE", "TUPLE1", "STACK_GLOBAL", "APPEND"), 1)
    details |= dict.fromkeys(("NEWTRUE", "TUPLE2", "SETITEM"), 2) | {"TUPLE3": 3}
    details |= {"EMPTY_TUPLE": int(TUPLE), "EMPTY_LIST": int(LIST), "EMPTY_DICT": int(DICT)}
    details |= {"TUPLE": 255, "APPENDS": 257, "SETITEMS": 258}  # with a mark
    action_of = {name: CODES[action] for action, names in _ACTIONS.items() for name in names}
    for opcode in pickletools.opcodes:
        table[ord(opcode.code), 0] = action_of.get(opcode.name, 0)
        table[ord(opcode.code), 2] = details.get(opcode.name, 0)
    return table


@jit
def count_letters(data, start, stop):
    """Return the number of characters of a text; the largest number if one of them is not in Latin-1.

    A character beyond ASCII has two bytes: 0xC2 or 0xC3, and one from 0x80 to 0xBF.
    """
    count, sound, due = ZERO, True, False  # due: whether the next byte must be a second one
    for i in range(start, stop):
        byte = data[i]
        sound &= due == (byte & 0xC0 == 0x80)
        due = byte >= 0xC0
        sound &= not due or byte == 0xC2 or byte == 0xC3
        count += U(byte < 0x80 or due)
    return count if sound and not due else MINUS_ONE


@jit
def axes_of(values, row):
    """Return the number of dimensions of an array; 0 for other values."""
    return (values[row, INFO] >> AXES_SHIFT) & U(255)


@jit
def kind_of(values, row):
    return values[row, INFO] & KIND_BITS


@jit
def depth_of(values, row):
    """Return the depth of a value: 1 if it holds no others."""
    return (values[row, INFO] >> DEPTH_SHIFT) & U(255)


@jit
def grown(values, row, depth, limit):
    """Set the depth of a container after others of a depth were added. Return whether it is too heavy or too deep."""
    depth = max(depth_of(values, row), depth + ONE)
    values[row, INFO] = (values[row, INFO] & ~(U(255) << DEPTH_SHIFT)) | (depth << DEPTH_SHIFT)
    return depth > DEEPEST or values[row, WEIGHT] > limit


@jit
def is_hashable(values, members, row):
    """Whether a value may be a key: a text, a number, or a tuple of texts and at most one number."""
    kind = kind_of(values, row)
    if kind in (TEXT, WHOLE):
        return True
    if kind != TUPLE:
        return False
    numbers = ZERO
    for i in range(values[row, FIRST], values[row, FIRST] + values[row, SECOND]):
        inner = kind_of(values, members[i])
        if inner == WHOLE:
            numbers += ONE
        elif inner != TEXT:
            return False
    return numbers <= ONE


@jit
def has_size(members, at, axes, itemsize, size):
    """Whether an array has a number of bytes. Its extents are in ``members``."""
    count, others = ONE, ONE
    for i in range(at, at + axes):
        if members[i] > _LARGE and others > _LARGE:  # their product could overflow
            return False
        count *= members[i]
        others *= max(members[i], ONE)
        if others > _LARGEST:
            return False
    return count * itemsize == size and (count > ZERO or others <= _LARGEST_EMPTY)


@jit
def extents_of(values, members, shape, used):
    """Write the extents in a tuple to ``members`` from ``used`` on. Return whether they can be a shape."""
    if kind_of(values, shape) != TUPLE or values[shape, SECOND] > U(4):
        return False
    for i in range(values[shape, SECOND]):
        row = members[values[shape, FIRST] + i]
        if kind_of(values, row) != WHOLE or values[row, FIRST] > _LARGEST:
            return False
        members[used + i] = values[row, FIRST]
    return True


@jit
def named(data, first, last, second, end, lines, names):
    """Return the number of a name, in two parts that are lines or texts; the largest number if it is not known."""
    for i in range(U(len(names))):
        k, same = ZERO, True
        for part in range(2):
            start, stop = (first, last) if part == 0 else (second, end)
            for j in range(start, stop):
                same = same and k < U(64) and names[i, k] == data[j]
                k += ONE
            if not lines:  # a text has no end of line
                same = same and k < U(64) and names[i, k] == 10
                k += ONE
        if same and k < U(64) and names[i, k] == 0:
            return _GROUPS[i]
    return MINUS_ONE


@jit
def is_text(data, values, row, text):
    """Whether a value is a certain text."""
    if kind_of(values, row) != TEXT or values[row, SECOND] != U(len(text)):
        return False
    same = True
    for i in range(U(len(text))):
        same &= data[values[row, FIRST] + i] == text[i]
    return same


@jit
def itemsize(values, dtype):
    """Return the number of bytes of a number of a type."""
    return U(_LETTERS[(values[dtype, INFO] & TYPE_BITS) >> TYPE_SHIFT, 1]) - U(48)


@jit
def called(data, values, members, used, function, arguments):
    """Return the info, the first and the second number of what a function returns; the info 0 if it is unexpected.

    The extents of an array are written to ``members`` from ``used`` on.
    """
    wrong = (ZERO, ZERO, ZERO)
    if kind_of(values, function) != NAME or kind_of(values, arguments) != TUPLE:
        return wrong
    at, count = values[arguments, FIRST], values[arguments, SECOND]
    name = values[function, FIRST]
    if name == _EMPTY_BYTES:
        return (BYTES, ZERO, ZERO) if count == ZERO else wrong
    if count == ZERO:
        return wrong
    first = members[at]
    if name == _DTYPE:
        if count <= U(3) and kind_of(values, first) == TEXT and values[first, SECOND] == TWO:
            for i in range(U(len(_LETTERS))):
                k = values[first, FIRST]
                if data[k] == _LETTERS[i, 0] and data[k + ONE] == _LETTERS[i, 1]:
                    return DTYPE | (i << TYPE_SHIFT), ZERO, ZERO
        return wrong
    if count < TWO:
        return wrong
    second = members[at + ONE]
    if name == ENCODE:
        if count != TWO or kind_of(values, first) != TEXT or kind_of(values, second) != TEXT:
            return wrong
        if not is_text(data, values, second, LATIN1):
            return wrong
        start = values[first, FIRST]
        return LATIN, start, count_letters(data, start, start + values[first, SECOND])
    if name == SCALAR_OF:
        kind = kind_of(values, second)
        if count != TWO or kind_of(values, first) != DTYPE or kind not in (BYTES, LATIN):
            return wrong
        if values[second, SECOND] != itemsize(values, first):
            return wrong
        info = SCALAR | (values[first, INFO] & TYPE_BITS) | (IS_LATIN if kind == LATIN else ZERO)
        return info, values[second, FIRST], ZERO
    if name == RECONSTRUCT:
        if count != U(3) or kind_of(values, first) != NAME or values[first, FIRST] != NDARRAY:
            return wrong
        third = members[at + TWO]
        inner = values[second, FIRST]
        if kind_of(values, second) != TUPLE or values[second, SECOND] != ONE:
            return wrong
        if kind_of(values, members[inner]) != WHOLE:
            return wrong
        kind = kind_of(values, third)
        if kind not in (TEXT, BYTES, LATIN) or values[third, SECOND] != ONE or data[values[third, FIRST]] != 98:
            return wrong
        return (EMPTY, ZERO, ZERO) if values[members[inner], FIRST] == ZERO else wrong
    if name == FROMBUFFER:
        if count != U(4) or kind_of(values, first) != BYTES or kind_of(values, second) != DTYPE:
            return wrong
        shape, order = members[at + TWO], members[at + U(3)]
        if kind_of(values, order) != TEXT or values[order, SECOND] != ONE or data[values[order, FIRST]] != 67:
            return wrong
        if not extents_of(values, members, shape, used):
            return wrong
        axes = values[shape, SECOND]
        if has_size(members, used, axes, itemsize(values, second), values[first, SECOND]):
            return ARRAY | (values[second, INFO] & TYPE_BITS) | (axes << AXES_SHIFT), values[first, FIRST], used
    return wrong


@jit
def filled(data, values, members, used, row, state):
    """Give an array its content, or a type its order of bytes. Return whether the state was as expected.

    The extents of an array are written to ``members`` from ``used`` on.
    """
    kind = kind_of(values, row)
    if kind_of(values, state) != TUPLE or values[row, INFO] & FETCHED:
        return False
    at, count = values[state, FIRST], values[state, SECOND]
    if kind == DTYPE and count == U(8):
        order = members[at + ONE]
        if kind_of(values, order) != TEXT or values[order, SECOND] != ONE:
            return False
        letter = data[values[order, FIRST]]
        for i in range(TWO, U(5)):
            if kind_of(values, members[at + i]) != NONE:
                return False
        version, size = members[at], members[at + U(5)]
        if kind_of(values, version) != WHOLE or values[version, FIRST] != U(3) or kind_of(values, size) != WHOLE:
            return False
        return values[size, FIRST] == MINUS_ONE and (letter == 60 or letter == 124)  # < and |
    if kind == EMPTY and count == U(5):
        shape, dtype, fortran, content = members[at + ONE], members[at + TWO], members[at + U(3)], members[at + U(4)]
        inside = kind_of(values, content)
        if kind_of(values, dtype) != DTYPE or kind_of(values, fortran) != FALSE or inside not in (BYTES, LATIN):
            return False
        if not extents_of(values, members, shape, used):
            return False
        axes = values[shape, SECOND]
        if not has_size(members, used, axes, itemsize(values, dtype), values[content, SECOND]):
            return False
        info = (
            ARRAY | (values[dtype, INFO] & TYPE_BITS) | (axes << AXES_SHIFT) | (IS_LATIN if inside == LATIN else ZERO)
        )
        values[row, INFO] = (values[row, INFO] & ~(KIND_BITS | TYPE_BITS)) | info
        values[row, FIRST], values[row, SECOND] = values[content, FIRST], used
        return True
    return False
