"""What the opcodes of a pickle do, for ``pickle_tree``."""

import pickletools

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import U
from mapgauge.kernels.pickle_calls import DICT, LIST, TUPLE
from mapgauge.kernels.pickle_scan import WIDTH, opcode_table

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
