"""Scans the opcodes of a pickle before it is loaded.

The unpickler of the standard library trusts its input. A wrong index into the memo makes it allocate gigabytes. A few
hundred bytes can describe a value that no program can finish traversing (a list of two lists of two lists ..., each
stored once and fetched twice). Keys of equal hash make a dictionary take quadratic time. The scan follows the stack and
the memo of the pickle, but keeps only four numbers for each value:

- its weight: the number of values in it, where a value counts each time it is used, and 8 bytes of text count as one,
- its depth,
- its index in the memo,
- its choice: how many numbers of 64 bits its writer could choose to give it a certain hash. Texts have none, because
  Python hashes them with a secret. For a dictionary or a set, the number of its keys with a choice of two or more.

A value that was fetched from the memo must not grow any more. Therefore no value contains itself, and weights are
exact.
"""

import pickletools

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating

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
        width = 0 if opcode.arg is None else opcode.arg.n
        row[WIDTH] = _WIDTHS.get(width, width)
        if opcode.name in ("GLOBAL", "INST"):
            row[WIDTH] = LINES
        before = list(opcode.stack_before)
        row[MARKED] = pickletools.markobject in before
        row[TAKES] = before.index(pickletools.markobject) if row[MARKED] else len(before)
        row[GIVES] = len(opcode.stack_after)
        row[HASHES] = _HASHES.get(opcode.name, 0)
        row[ROLE] = _ROLES.get(opcode.name, BUILDS)
        row[KEYS] = _KEYS.get(opcode.name, 0)
        row[CHOICE] = _CHOICES.get(opcode.name, NONE_CHOSEN)
    return table


def opcode_name(code: int) -> str:
    """Return the name of an opcode in the standard library."""
    return next(opcode.name for opcode in pickletools.opcodes if ord(opcode.code) == code)


@jit
def _number(data, at, width):
    """Return a little-endian number."""
    value = ZERO
    for i in range(width):
        value |= U(data[at + i]) << (U(8) * i)
    return value


@jit
def _decimal(data, at, stop):
    """Return the number in a line of digits; the largest 64-bit number for any other line."""
    wrong = ~ZERO
    if stop <= at + ONE or stop - at > U(19):
        return wrong
    value = ZERO
    for i in range(at, stop - ONE):
        digit = U(data[i]) - U(48)
        if digit > U(9):
            return wrong
        value = value * U(10) + digit
    return value


@jit
def _after_line(data, at):
    """Return the start of the next line; 0 if this line does not end."""
    for i in range(at, U(len(data))):
        if data[i] == 10:
            return i + ONE
    return ZERO


@jit
def _argument(data, at, width):
    """Return the start and the end of an argument, without its count; the end is beyond data that are too short."""
    end = U(len(data))
    if width < LINE:
        return at, at + width
    if width <= LINES:
        stop = _after_line(data, at)
        if width == LINES and stop > ZERO:
            stop = _after_line(data, stop)
        return at, stop if stop > ZERO else end + ONE
    size = ONE if width == COUNT1 else U(8) if width == COUNT8 else U(4)
    if size > end - at:
        return at, end + ONE
    count = _number(data, at, size)
    at += size
    return at, at + count if count <= end - at else end + ONE


@jit_allocating
def _wider(array, columns):
    """Return the same rows with space for more columns."""
    out = np.zeros((array.shape[0], max(TWO * U(array.shape[1]), columns)), np.uint64)
    for i in range(U(array.shape[0])):
        for k in range(U(array.shape[1])):  # not a slice, which takes seconds to compile
            out[i, k] = array[i, k]
    return out


@jit_allocating
def scan(data: NDArray[np.uint8], table: NDArray[np.uint8], limit: U, deepest: U, most: U) -> tuple[int, U]:
    """Scan a pickle. Return the outcome and the byte at which it was found; for ``SOUND`` the number of bytes.

    ``limit`` applies to the weight of a value, and to the sum of the weights of all values that are hashed or passed to
    a function. ``deepest`` applies to the depth. ``most`` applies to the comparisons of keys that might be needed if
    all keys with a choice of two or more had the same hash.
    """
    end = U(len(data))
    stack = np.zeros((4, 256), np.uint64)  # weight, depth, index into the memo plus 1, choice
    memo = np.zeros((4, 256), np.uint64)  # weight (0 if nothing is stored), depth, whether it was fetched, choice
    marks = np.zeros(deepest, np.uint64)  # heights of the stack; each mark belongs to a container that is being filled
    height, marked, fence = ZERO, ZERO, ZERO  # the fence is the last mark: values below it cannot be popped
    pushed, stored, hashed, compared = ZERO, ZERO, ZERO, ZERO
    at = ZERO
    while at < end:
        begin, code = at, U(data[at])
        role = table[code, ROLE]
        if role == NO_OPCODE:
            return UNKNOWN, begin
        if role == NEVER:
            return REFUSED, begin
        start, at = _argument(data, at + ONE, U(table[code, WIDTH]))
        if at > end:
            return ENDS, begin

        if role == STOPS:
            if height <= fence:
                return UNDERFLOW, begin
            return (SOUND if at == end else TRAILING), at
        if role == FRAMES:
            if _number(data, start, U(8)) > end - at:
                return ENDS, begin
            continue
        if role == MARKS:
            if marked == deepest:
                return DEEP, begin
            marks[marked] = fence = height
            marked += ONE
            continue
        if role == POPS and height == fence and marked > ZERO:  # the mark itself
            marked -= ONE
            fence = marks[marked - ONE] if marked > ZERO else ZERO
            continue

        if role in (STORES, FETCHES):
            if table[code, WIDTH] == LINE:
                index = _decimal(data, start, at)
            elif at > start:
                index = _number(data, start, at - start)
            else:
                index = stored  # MEMOIZE
            if role == FETCHES:
                if index >= U(memo.shape[1]) or memo[ZERO, index] == ZERO:
                    return MISSING, begin
                if height == U(stack.shape[1]):
                    stack = _wider(stack, height)
                memo[TWO, index] = ONE
                stack[ZERO, height], stack[ONE, height] = memo[ZERO, index], memo[ONE, index]
                stack[TWO, height], stack[U(3), height] = index + ONE, memo[U(3), index]
                height += ONE
                pushed += ONE
                continue
            if height <= fence:
                return UNDERFLOW, begin
            if index > pushed:  # a pickler numbers the values that it stores, and it stores only values that it pushed
                return INDEX, begin
            if index >= U(memo.shape[1]):
                memo = _wider(memo, index + ONE)
            if memo[ZERO, index] > ZERO or stack[TWO, height - ONE] > ZERO:
                return AGAIN, begin
            memo[ZERO, index], memo[ONE, index] = stack[ZERO, height - ONE], stack[ONE, height - ONE]
            memo[U(3), index] = stack[U(3), height - ONE]
            stack[TWO, height - ONE] = index + ONE
            stored += ONE
            continue

        low = height
        if table[code, MARKED]:
            if marked == ZERO:
                return UNDERFLOW, begin
            low = fence
            marked -= ONE
            fence = marks[marked - ONE] if marked > ZERO else ZERO
        takes = U(table[code, TAKES])
        if low - fence < takes:
            return UNDERFLOW, begin
        low -= takes
        first = low + ONE if role == FILLS else low
        weight, depth = ONE + ((at - start) >> U(3)), ONE
        step, every = U(table[code, HASHES]), U(table[code, KEYS])
        chosen = ZERO  # the sum of the choices
        chosen_keys = stack[U(3), low] if role == FILLS else ZERO
        for i in range(first, height):
            weight += stack[ZERO, i]
            chosen += stack[U(3), i]
            if every > ZERO and (i - first) % every == ZERO and stack[U(3), i] > ONE:
                compared += chosen_keys
                chosen_keys += ONE
                if compared > most:
                    return COLLIDES, begin
            depth = max(depth, stack[ONE, i] + ONE)
            if step > ZERO and (i - first) % step == ZERO:
                hashed += stack[ZERO, i]
            if weight > limit or hashed > limit:
                return HEAVY, begin
        if role == FILLS:
            index = stack[TWO, low]
            if index > ZERO and memo[TWO, index - ONE] > ZERO:
                return GROWS, begin
            weight += stack[ZERO, low] - ONE
            depth = max(depth, stack[ONE, low])
            stack[ZERO, low], stack[ONE, low] = weight, depth
            if every > ZERO:
                stack[U(3), low] = chosen_keys
            if index > ZERO:
                memo[ZERO, index - ONE], memo[ONE, index - ONE] = weight, depth
            height = low + ONE
        else:
            height = low
            if table[code, GIVES]:
                if height == U(stack.shape[1]):
                    stack = _wider(stack, height)
                choice = U(table[code, CHOICE])
                if choice == SUM:
                    choice = chosen
                elif choice == NUMBER:
                    # A line of up to 20 symbols and a newline, or 8 bytes: at most 64 bits, of which few give one hash.
                    short = U(21) if table[code, WIDTH] == LINE else U(8)
                    choice = ONE_CHOSEN if at - start <= short else MANY_CHOSEN
                elif every > ZERO and choice == NONE_CHOSEN:  # a new dictionary
                    choice = chosen_keys
                stack[ZERO, height], stack[ONE, height], stack[TWO, height] = weight, depth, ZERO
                stack[U(3), height] = choice
                height += ONE
                pushed += ONE
        if weight > limit:
            return HEAVY, begin
        if depth > deepest:
            return DEEP, begin
    return ENDS, end
