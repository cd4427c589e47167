"""A walk over the opcodes of a pickle, before it is loaded.

The unpickler of the standard library trusts its input: a wrong index into the memo makes it allocate gigabytes, and a
few hundred bytes can describe a value that no program gets to the end of (a list of two lists of two lists ..., each
stored once and fetched twice). The walk follows the pickle's stack and memo, but of each value it keeps only

- its weight: how many values it is made of, counted again wherever it is used again, with text and bytes at 8 to one,
- its depth,
- where the memo has it.

A value that was fetched from the memo must not grow any more. Then nothing contains itself, and weights are exact.
"""

import pickletools

import numpy as np
from numpy.typing import NDArray

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating

# What a walk can end with.
SOUND, ENDS, UNKNOWN, REFUSED, MISSING, INDEX, AGAIN, UNDERFLOW, GROWS, HEAVY, DEEP, TRAILING = range(12)

# Columns of the table of opcodes. TAKES: how many values it pops, apart from those above a mark. GIVES: how many it
# pushes. HASHES: 1 if it hashes all that it takes or hands them to a function, 2 if every second (a dictionary's keys).
WIDTH, TAKES, MARKED, GIVES, HASHES, ROLE = range(6)

# Width of an argument that is not a fixed number of bytes: text lines, or a count of so many bytes before it.
LINE, LINES, COUNT1, COUNT4, COUNT8 = (U(i) for i in range(10, 15))
BUILDS, FILLS, STORES, FETCHES, MARKS, POPS, STOPS, FRAMES, NEVER, NO_OPCODE = (U(i) for i in range(10))

_WIDTHS = {
    pickletools.UP_TO_NEWLINE: LINE,
    pickletools.TAKEN_FROM_ARGUMENT1: COUNT1,
    pickletools.TAKEN_FROM_ARGUMENT4: COUNT4,  # signed, but a negative count is no sound one either
    pickletools.TAKEN_FROM_ARGUMENT4U: COUNT4,
    pickletools.TAKEN_FROM_ARGUMENT8U: COUNT8,
}
_ROLES = {
    **dict.fromkeys(("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD"), FILLS),
    **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"), STORES),
    **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), FETCHES),
    # Objects from outside of the file; DUP, which no pickler writes; numbers of more than 255 bytes, which Python
    # itself refuses to print.
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


def opcode_table() -> NDArray[np.uint8]:
    """What each of the 256 bytes does as an opcode."""
    table = np.zeros((256, 6), np.uint8)
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
    return table


def opcode_name(code: int) -> str:
    """What the standard library calls an opcode."""
    return next(opcode.name for opcode in pickletools.opcodes if ord(opcode.code) == code)


@jit
def _number(data, at, width):
    """A little-endian number."""
    value = ZERO
    for i in range(width):
        value |= U(data[at + i]) << (U(8) * i)
    return value


@jit
def _decimal(data, at, stop):
    """The number in a line of digits; the largest number there is for any other line."""
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
    """Where the next line begins; 0 if this one does not end."""
    for i in range(at, U(len(data))):
        if data[i] == 10:
            return i + ONE
    return ZERO


@jit
def _argument(data, at, width):
    """Where an opcode's argument begins and ends, without its count; it does not end where the data ends before it."""
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
    """The same rows with room for more columns."""
    out = np.zeros((array.shape[0], max(TWO * U(array.shape[1]), columns)), np.uint64)
    for i in range(U(array.shape[0])):
        for k in range(U(array.shape[1])):  # not a slice, which takes seconds to compile
            out[i, k] = array[i, k]
    return out


@jit_allocating
def scan(data: NDArray[np.uint8], table: NDArray[np.uint8], limit: U, deepest: U) -> tuple[int, U]:
    """Walk over a pickle. Returns how it ended and at which byte; ``SOUND`` with the number of bytes.

    ``limit`` is for the weight of a value, and for the weights of all values that are hashed or handed to a function;
    ``deepest`` for the depth.
    """
    end = U(len(data))
    stack = np.zeros((3, 256), np.uint64)  # weight, depth, index into the memo plus 1
    memo = np.zeros((3, 256), np.uint64)  # weight (0: nothing is stored), depth, whether it was fetched
    marks = np.zeros(deepest, np.uint64)  # heights of the stack; each mark belongs to a container that is being filled
    height, marked, fence = ZERO, ZERO, ZERO  # the fence is the last mark: nothing below it can be taken
    pushed, stored, hashed = ZERO, ZERO, ZERO
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
                stack[TWO, height] = index + ONE
                height += ONE
                pushed += ONE
                continue
            if height <= fence:
                return UNDERFLOW, begin
            if index > pushed:  # a pickler counts what it stores, and it stores what it pushed
                return INDEX, begin
            if index >= U(memo.shape[1]):
                memo = _wider(memo, index + ONE)
            if memo[ZERO, index] > ZERO or stack[TWO, height - ONE] > ZERO:
                return AGAIN, begin
            memo[ZERO, index], memo[ONE, index] = stack[ZERO, height - ONE], stack[ONE, height - ONE]
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
        step = U(table[code, HASHES])
        for i in range(first, height):
            weight += stack[ZERO, i]
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
            if index > ZERO:
                memo[ZERO, index - ONE], memo[ONE, index - ONE] = weight, depth
            height = low + ONE
        else:
            height = low
            if table[code, GIVES]:
                if height == U(stack.shape[1]):
                    stack = _wider(stack, height)
                stack[ZERO, height], stack[ONE, height], stack[TWO, height] = weight, depth, ZERO
                height += ONE
                pushed += ONE
        if weight > limit:
            return HEAVY, begin
        if depth > deepest:
            return DEEP, begin
    return ENDS, end
