"""The opcodes of pickles, as tables that kernels and readers share. This module does not import numba."""

import pickletools

import numpy as np
from numpy.typing import NDArray

U = np.uint64
ZERO = U(0)

# The outcomes of a scan.
SOUND, ENDS, UNKNOWN, REFUSED, MISSING, INDEX, AGAIN, UNDERFLOW, GROWS, HEAVY, DEEP, TRAILING, COLLIDES = range(13)

# Columns of the table of opcodes. TAKES: the number of values that an opcode pops, except those above a mark. GIVES:
# the number of values that it pushes. HASHES: 1 if it hashes all values that it pops or passes them to a function, 2 if
# it hashes every second value (the keys of a dictionary). CHOICE: the choice of the value that it pushes; for NUMBER it
# depends on the width of the argument.
WIDTH, TAKES, MARKED, GIVES, HASHES, ROLE, KEYS, CHOICE = range(8)

# Widths of arguments without a fixed number of bytes: one or two lines of text, or a count of 1, 4 or 8 bytes first.
LINE, LINES, COUNT1, COUNT4, COUNT8 = (U(i) for i in range(10, 15))
NONE_CHOSEN, ONE_CHOSEN, MANY_CHOSEN, NUMBER, SUM = (U(i) for i in range(5))
BUILDS, FILLS, STORES, FETCHES, MARKS, POPS, STOPS, FRAMES, NEVER, NO_OPCODE = (U(i) for i in range(10))

_WIDTHS = {
    pickletools.UP_TO_NEWLINE: LINE,
    pickletools.TAKEN_FROM_ARGUMENT1: COUNT1,
    pickletools.TAKEN_FROM_ARGUMENT4: COUNT4,  # signed, but a negative count is not valid either
    pickletools.TAKEN_FROM_ARGUMENT4U: COUNT4,
    pickletools.TAKEN_FROM_ARGUMENT8U: COUNT8,
}
_ROLES = {
    **dict.fromkeys(("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD"), FILLS),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), STORES),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), FETCHES),
    # Objects outside of the file. DUP, which no pickler writes. Numbers of more than 255 bytes, which Python itself
    # refuses to print.
    **dict.fromkeys(("PERSID", "BINPERSID", "NEXT_BUFFER", "READONLY_BUFFER", "EXT1", "EXT2", "EXT4"), NEVER),
    **dict.fromkeys(("DUP", "LONG4"), NEVER),
    "MARK": MARKS,
    "POP": POPS,
    "STOP": STOPS,
    "FRAME": FRAMES,
}
_HASHES = {
    **dict.fromkeys(("SETITEM", "SETITEMS", "DICT"), 2),
    **dict.fromkeys(("ADDITEMS", "FROZENSET", "REDUCE", "BUILD", "NEWOBJ", "NEWOBJ_EX", "OBJ", "INST"), 1),
}
_KEYS = {**dict.fromkeys(("SETITEM", "SETITEMS", "DICT"), 2), **dict.fromkeys(("ADDITEMS", "FROZENSET"), 1)}
_CHOICES = {
    **dict.fromkeys(("BININT", "BININT1", "BININT2", "FLOAT", "BINFLOAT"), ONE_CHOSEN),
    **dict.fromkeys(("INT", "LONG", "LONG1"), NUMBER),
    **dict.fromkeys(("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"), SUM),
    **dict.fromkeys(("FROZENSET", "REDUCE", "NEWOBJ", "NEWOBJ_EX", "OBJ", "INST"), MANY_CHOSEN),
}


def opcode_table() -> NDArray[np.uint8]:
    """Return a table that says what each of the 256 bytes does as an opcode."""
    table = np.zeros((256, 8), np.uint8)
    table[:, ROLE] = NO_OPCODE
    for opcode in pickletools.opcodes:
        row = table[ord(opcode.code)]
        if opcode.arg is None:
            width = 0
        else:
            width = opcode.arg.n
        row[WIDTH] = _WIDTHS.get(width, width)
        if opcode.name in ("GLOBAL", "INST"):
            row[WIDTH] = LINES
        before = list(opcode.stack_before)
        row[MARKED] = pickletools.markobject in before
        if row[MARKED]:
            row[TAKES] = before.index(pickletools.markobject)
        else:
            row[TAKES] = len(before)
        row[GIVES] = len(opcode.stack_after)
        row[HASHES] = _HASHES.get(opcode.name, 0)
        row[ROLE] = _ROLES.get(opcode.name, BUILDS)
        row[KEYS] = _KEYS.get(opcode.name, 0)
        row[CHOICE] = _CHOICES.get(opcode.name, NONE_CHOSEN)
    return table


def opcode_name(code: int) -> str:
    """Return the name of an opcode in the standard library."""
    return next(opcode.name for opcode in pickletools.opcodes if ord(opcode.code) == code)


# The table of values.

# Kinds of values. LATIN: bytes that are written as text, as protocols 0 to 2 do. EMPTY: an array that is not filled.
NONE, FALSE, TRUE, WHOLE, FLOAT, TEXT, BYTES, LATIN = (U(i) for i in range(8))
TUPLE, LIST, DICT, NAME, DTYPE, EMPTY, ARRAY, SCALAR = (U(i) for i in range(8, 16))

# Columns of the table. INFO: the kind, and in further bits the type of an array, the depth and flags. FIRST and SECOND,
# by kind. WHOLE: the number. FLOAT: its bits. TEXT, BYTES, LATIN: where it starts in the pickle, and its length.
# Containers: where their values start in ``members``, and how many there are (keys count too). ARRAY: where the content
# starts in the pickle, and where the extents are in ``members``, which are numbers there. SCALAR: where it starts.
INFO, FIRST, SECOND, WEIGHT = (U(i) for i in range(4))
KIND_BITS = U(255)
TYPE_BITS = U(255 << 8)
TYPE_SHIFT = U(8)
DEPTH_SHIFT = U(16)
AXES_SHIFT = U(24)
# IS_LATIN: the content is written as text
STORED = U(1 << 32)
FETCHED = U(1 << 33)
IS_LATIN = U(1 << 34)

TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")
LETTERS = np.frombuffer("".join(TYPES).encode(), np.uint8).reshape(-1, 2)

# The functions and classes that a pickle may name, as the lines of a GLOBAL.
_OLD = "numpy.core."
_NEW_NAME = "numpy._core."
_NAMED = (
    *(f"{core}multiarray\n_reconstruct\n" for core in (_OLD, _NEW_NAME)),
    *(f"{core}multiarray\nscalar\n" for core in (_OLD, _NEW_NAME)),
    *(f"{core}numeric\n_frombuffer\n" for core in (_OLD, _NEW_NAME)),
    "numpy\nndarray\n",
    "numpy\ndtype\n",
    "_codecs\nencode\n",
    "builtins\nbytes\n",
    "__builtin__\nbytes\n",
)
RECONSTRUCT, SCALAR_OF, FROMBUFFER, NDARRAY, DTYPE_OF, ENCODE, EMPTY_BYTES = (U(i) for i in (0, 2, 4, 6, 7, 8, 9))
GROUPS = np.array([0, 0, 2, 2, 4, 4, 6, 7, 8, 9, 9], np.uint64)
# elements of an array, and the square root of that
LARGEST = U(1 << 40)
LARGE = U(1 << 20)
LARGEST_EMPTY = U(1 << 20)  # what the dimensions other than 0 of an empty array may give
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
