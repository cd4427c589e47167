"""Reads an array or a scalar of numpy, or a point, in a pickle in one step.

A pickler writes an array as about twenty opcodes, which are the same for all arrays but for the shape, the type and the
content. ``array_at`` and its like compare the opcodes with those expected, and write one row for all of them. They
return the place 0 for opcodes that differ, and then ``pickle_tree`` reads them one by one.

The small values inside, such as the shape, have no rows. If a pickle fetches one of them again, the memo says
``INSIDE``, and the pickle is read once more without these steps.
"""

from mapgauge.kernels._jit import ONE, THREE, TWO, ZERO, U, jit
from mapgauge.kernels.pickle_calls import (
    ARRAY,
    AXES_SHIFT,
    BYTES,
    DEPTH_SHIFT,
    DTYPE,
    ENCODE,
    FETCHED,
    FIRST,
    FLOAT,
    INFO,
    IS_LATIN,
    LATIN,
    LATIN1,
    LIST,
    MINUS_ONE,
    NAME,
    NDARRAY,
    SCALAR,
    SECOND,
    STORED,
    TEXT,
    TYPE_BITS,
    WEIGHT,
    count_letters,
    depth_of,
    has_size,
    is_text,
    itemsize,
    kind_of,
)
from mapgauge.kernels.pickle_scan import _number

INSIDE = MINUS_ONE
_ROOM = U(128)  # more bytes than the opcodes around the content have
_BINGET, _LONG_BINGET, _BINPUT, _LONG_BINPUT, _MEMOIZE = 104, 106, 113, 114, 0x94
_BININT, _BININT1, _BININT2, _MARK, _TUPLE, _REDUCE, _BUILD = 74, 75, 77, 40, 116, 82, 98
_TUPLE1, _TUPLE2, _TUPLE3, _NEWFALSE = 0x85, 0x86, 0x87, 0x89
_BINFLOAT, _APPENDS = 71, 101
_SHORT_BINBYTES, _BINBYTES, _BINBYTES8, _BYTEARRAY8, _BINUNICODE = 67, 66, 0x8E, 0x96, 88


@jit
def _store(data, at, memo, stored, row):
    """Skip an opcode that stores a value, if there is one. Return the place after it and the number of stored values.

    A wrong index is not skipped, and does not fit what follows.
    """
    code = data[at]
    if code == _MEMOIZE:
        memo[stored] = row
        return at + ONE, stored + ONE
    if code == _BINPUT and U(data[at + ONE]) == stored:
        memo[stored] = row
        return at + TWO, stored + ONE
    if code == _LONG_BINPUT and _number(data, at + ONE, U(4)) == stored:
        memo[stored] = row
        return at + U(5), stored + ONE
    return at, stored


@jit
def _fetch(data, at, memo, stored, values, kind):
    """Return the place after an opcode that fetches a value of a kind, and its row; the largest number for others."""
    code = data[at]
    index = MINUS_ONE
    if code == _BINGET:
        index, at = U(data[at + ONE]), at + TWO
    elif code == _LONG_BINGET:
        index, at = _number(data, at + ONE, U(4)), at + U(5)
    if index >= stored:
        return at, MINUS_ONE
    row = memo[index]
    return at, row if row != INSIDE and kind_of(values, row) == kind else MINUS_ONE


@jit
def _content_at(data, at, memo, stored, values, hashed):
    """Read bytes. Return the place after them, the number of stored values, their start, size, weight and flag.

    The last number is the sum of the weights of what was passed to functions. Python has one object for all bytes of
    length 0, and one for each byte of length 1, so pickles share them. They are not read in one step.
    """
    end = U(len(data))
    wrong = (ZERO, stored, ZERO, ZERO, ZERO, ZERO, hashed)
    code = data[at]
    width = ZERO
    if code == _SHORT_BINBYTES:
        width = ONE
    elif code == _BINBYTES:
        width = U(4)
    elif code in (_BINBYTES8, _BYTEARRAY8):
        width = U(8)
    if width > ZERO:
        size = _number(data, at + ONE, width)
        start = at + ONE + width
        if size < TWO or size > end - start or end - start - size < _ROOM:
            return wrong
        at, stored = _store(data, start + size, memo, stored, INSIDE)
        return at, stored, start, size, ONE + (size >> THREE), ZERO, hashed
    at, function = _fetch(data, at, memo, stored, values, NAME)
    if function == MINUS_ONE or values[function, FIRST] != ENCODE or data[at] != _BINUNICODE:
        return wrong
    length = _number(data, at + ONE, U(4))
    start = at + U(5)
    if length > end - start or end - start - length < _ROOM:
        return wrong
    size = count_letters(data, start, start + length)
    at, stored = _store(data, start + length, memo, stored, INSIDE)
    at, encoding = _fetch(data, at, memo, stored, values, TEXT)
    if size < TWO or size == MINUS_ONE or encoding == MINUS_ONE or data[at] != _TUPLE2:
        return wrong
    if not is_text(data, values, encoding, LATIN1):
        return wrong
    at, stored = _store(data, at + ONE, memo, stored, INSIDE)
    if data[at] != _REDUCE:
        return wrong
    at, stored = _store(data, at + ONE, memo, stored, INSIDE)
    weight = THREE + (length >> THREE) + values[encoding, WEIGHT] + values[function, WEIGHT]
    return at, stored, start, size, weight, IS_LATIN, hashed + weight - ONE


@jit
def _shape_at(data, at, memo, stored, members, used):
    """Read the tuple of one to three extents. Return the place after it, the number of stored values and of axes."""
    axes = ZERO
    while axes < THREE:
        code = data[at]
        if code == _BININT1:
            extent, at = U(data[at + ONE]), at + TWO
        elif code == _BININT2:
            extent, at = _number(data, at + ONE, TWO), at + THREE
        elif code == _BININT:
            extent, at = _number(data, at + ONE, U(4)), at + U(5)
        else:
            break
        members[used + axes] = extent
        axes += ONE
    code = data[at]
    right = (
        (axes == ONE and code == _TUPLE1) or (axes == TWO and code == _TUPLE2) or (axes == THREE and code == _TUPLE3)
    )
    for k in range(axes):
        right = right and members[used + k] < U(1 << 31)
    at, stored = _store(data, at + ONE, memo, stored, INSIDE)
    return at if right else ZERO, stored, axes


@jit
def _call_at(data, at, code, memo, stored, row):
    """Read the end of a tuple of arguments, with its opcode, and the call of a function with it, which makes ``row``.

    Return the place after it, or 0, the number of stored values, and whether the new value is stored, as a flag.
    """
    if data[at] != code:
        return ZERO, stored, ZERO
    at, now = _store(data, at + ONE, memo, stored, INSIDE)
    if data[at] != _REDUCE:
        return ZERO, stored, ZERO
    at, after = _store(data, at + ONE, memo, now, row)
    return at, after, STORED if after > now else ZERO


@jit
def _write(values, row, info, start, second, weight, dtype):
    """Write the row of an array or a scalar."""
    values[dtype, INFO] |= FETCHED
    depth = max(depth_of(values, dtype), THREE) + TWO
    values[row, INFO] = info | (values[dtype, INFO] & TYPE_BITS) | (depth << DEPTH_SHIFT)
    values[row, FIRST], values[row, SECOND], values[row, WEIGHT] = start, second, weight


@jit
def array_at(data, at, function, values, row, members, used, memo, stored, hashed):
    """Read an array that ``_reconstruct`` makes, as protocols 2 to 4 write it.

    Args:
        data: The whole pickle.
        at: The place after the opcode that fetches the function.
        function: The row of the function.
        values: The table.
        row: The row to write.
        members: Receives the extents from ``used`` on.
        used: See ``members``.
        memo: The rows of the values in the memo.
        stored: Their number.
        hashed: The sum of the weights of what was passed to functions.

    Returns:
        The place after the array, or 0, and then ``used``, ``stored`` and ``hashed``.
    """
    wrong = (ZERO, used, stored, hashed)
    if U(len(data)) - at < _ROOM:
        return wrong
    at, kind = _fetch(data, at, memo, stored, values, NAME)
    if kind == MINUS_ONE or values[kind, FIRST] != NDARRAY:
        return wrong
    if data[at] != _BININT1 or data[at + ONE] != 0 or data[at + TWO] != _TUPLE1:
        return wrong
    at, now = _store(data, at + THREE, memo, stored, INSIDE)
    place = at
    at, letter = _fetch(data, place, memo, now, values, BYTES)
    if letter == MINUS_ONE:
        at, letter = _fetch(data, place, memo, now, values, LATIN)
    if letter == MINUS_ONE or values[letter, SECOND] != ONE or data[values[letter, FIRST]] != 98:
        return wrong
    at, now, flag = _call_at(data, at, _TUPLE3, memo, now, row)
    if at == ZERO or data[at] != _MARK or data[at + ONE] != _BININT1:
        return wrong
    at, now, axes = _shape_at(data, at + THREE, memo, now, members, used)
    if at == ZERO:
        return wrong
    at, dtype = _fetch(data, at, memo, now, values, DTYPE)
    if dtype == MINUS_ONE or data[at] != _NEWFALSE:
        return wrong
    at, now, start, size, weight, latin, total = _content_at(data, at + ONE, memo, now, values, hashed)
    if at == ZERO or data[at] != _TUPLE or not has_size(members, used, axes, itemsize(values, dtype), size):
        return wrong
    at, now = _store(data, at + ONE, memo, now, INSIDE)
    if data[at] != _BUILD:
        return wrong
    # The tuples (0,), (type, (0,), letter), the shape and the state, the version, the flag, and the array itself.
    weight += U(8) + axes + values[function, WEIGHT] + values[kind, WEIGHT] + values[letter, WEIGHT]
    weight += values[dtype, WEIGHT]
    _write(values, row, ARRAY | flag | latin | (axes << AXES_SHIFT), start, used, weight, dtype)
    return at + ONE, used + axes, now, total + weight - ONE


@jit
def scalar_at(data, at, function, values, row, memo, stored, hashed):
    """Read a scalar. Return the place after it, or 0, and then ``stored`` and ``hashed``; see ``array_at``."""
    wrong = (ZERO, stored, hashed)
    if U(len(data)) - at < _ROOM:
        return wrong
    at, dtype = _fetch(data, at, memo, stored, values, DTYPE)
    if dtype == MINUS_ONE:
        return wrong
    at, now, start, size, weight, latin, total = _content_at(data, at, memo, stored, values, hashed)
    if at == ZERO or size != itemsize(values, dtype):
        return wrong
    at, now, flag = _call_at(data, at, _TUPLE2, memo, now, row)
    if at == ZERO:
        return wrong
    weight += TWO + values[function, WEIGHT] + values[dtype, WEIGHT]
    _write(values, row, SCALAR | latin | flag, start, ZERO, weight, dtype)
    return at, now, total + weight - ONE


@jit
def buffer_at(data, at, function, values, row, members, used, memo, stored, hashed):
    """Read an array that ``_frombuffer`` makes, as protocol 5 writes it; see ``array_at``."""
    wrong = (ZERO, used, stored, hashed)
    if U(len(data)) - at < _ROOM or data[at] != _MARK:
        return wrong
    at, now, start, size, weight, latin, total = _content_at(data, at + ONE, memo, stored, values, hashed)
    if at == ZERO or latin:
        return wrong
    at, dtype = _fetch(data, at, memo, now, values, DTYPE)
    if dtype == MINUS_ONE:
        return wrong
    at, now, axes = _shape_at(data, at, memo, now, members, used)
    if at == ZERO or not has_size(members, used, axes, itemsize(values, dtype), size):
        return wrong
    at, order = _fetch(data, at, memo, now, values, TEXT)
    if order == MINUS_ONE or values[order, SECOND] != ONE or data[values[order, FIRST]] != 67:
        return wrong
    at, now, flag = _call_at(data, at, _TUPLE, memo, now, row)
    if at == ZERO:
        return wrong
    weight += THREE + axes + values[function, WEIGHT] + values[dtype, WEIGHT] + values[order, WEIGHT]
    _write(values, row, ARRAY | flag | (axes << AXES_SHIFT), start, used, weight, dtype)
    return at, used + axes, now, total + weight - ONE


@jit
def point_at(data, at, values, row, members, used, memo, stored):
    """Read a list of two or three real numbers.

    ``at`` is the place after the opcode of an empty list. The list is at ``row`` and its numbers are after it. Return
    the place after it, or 0, then the number of stored values, and how many numbers there are.
    """
    wrong = (ZERO, stored, ZERO)
    if U(len(data)) - at < _ROOM:
        return wrong
    at, now = _store(data, at, memo, stored, row)
    if data[at] != _MARK:
        return wrong
    at += ONE
    count = ZERO
    while count < THREE and data[at] == _BINFLOAT:
        bits = ZERO
        for i in range(ONE, U(9)):
            bits = (bits << U(8)) | U(data[at + i])
        members[used + count] = row + count + ONE
        count += ONE
        values[row + count, INFO], values[row + count, FIRST] = FLOAT | (ONE << DEPTH_SHIFT), bits
        values[row + count, SECOND], values[row + count, WEIGHT] = ZERO, TWO
        at += U(9)
    if count < TWO or data[at] != _APPENDS:
        return wrong
    values[row, INFO] = LIST | (STORED if now > stored else ZERO) | (TWO << DEPTH_SHIFT)
    values[row, FIRST], values[row, SECOND], values[row, WEIGHT] = used, count, ONE + TWO * count
    return at + ONE, now, count
