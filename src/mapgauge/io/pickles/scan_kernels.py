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

import numpy as np
from numpy.typing import NDArray

from mapgauge.io.pickles import opcodes as op
from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, jit_allocating


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
    if width < op.LINE:
        return at, at + width
    if width <= op.LINES:
        stop = _after_line(data, at)
        if width == op.LINES and stop > ZERO:
            stop = _after_line(data, stop)
        return at, stop if stop > ZERO else end + ONE
    if width == op.COUNT1:
        size = ONE
    elif width == op.COUNT8:
        size = U(8)
    else:
        size = U(4)
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
    # the fence is the last mark: values below it cannot be popped
    height = ZERO
    marked = ZERO
    fence = ZERO
    pushed = ZERO
    stored = ZERO
    hashed = ZERO
    compared = ZERO
    at = ZERO
    while at < end:
        begin = at
        code = U(data[at])
        role = table[code, op.ROLE]
        if role == op.NO_OPCODE:
            return op.UNKNOWN, begin
        if role == op.NEVER:
            return op.REFUSED, begin
        start, at = _argument(data, at + ONE, U(table[code, op.WIDTH]))
        if at > end:
            return op.ENDS, begin

        if role == op.STOPS:
            if height <= fence:
                return op.UNDERFLOW, begin
            return (op.SOUND if at == end else op.TRAILING), at
        if role == op.FRAMES:
            if _number(data, start, U(8)) > end - at:
                return op.ENDS, begin
            continue
        if role == op.MARKS:
            if marked == deepest:
                return op.DEEP, begin
            marks[marked] = fence = height
            marked += ONE
            continue
        if role == op.POPS and height == fence and marked > ZERO:  # the mark itself
            marked -= ONE
            if marked > ZERO:
                fence = marks[marked - ONE]
            else:
                fence = ZERO
            continue

        if role in (op.STORES, op.FETCHES):
            if table[code, op.WIDTH] == op.LINE:
                index = _decimal(data, start, at)
            elif at > start:
                index = _number(data, start, at - start)
            else:
                index = stored  # MEMOIZE
            if role == op.FETCHES:
                if index >= U(memo.shape[1]) or memo[ZERO, index] == ZERO:
                    return op.MISSING, begin
                if height == U(stack.shape[1]):
                    stack = _wider(stack, height)
                memo[TWO, index] = ONE
                stack[ZERO, height], stack[ONE, height] = memo[ZERO, index], memo[ONE, index]
                stack[U(3), height] = memo[U(3), index]
                stack[TWO, height] = index + ONE
                height += ONE
                pushed += ONE
                continue
            if height <= fence:
                return op.UNDERFLOW, begin
            if index > pushed:  # a pickler numbers the values that it stores, and it stores only values that it pushed
                return op.INDEX, begin
            if index >= U(memo.shape[1]):
                memo = _wider(memo, index + ONE)
            if memo[ZERO, index] > ZERO or stack[TWO, height - ONE] > ZERO:
                return op.AGAIN, begin
            memo[ZERO, index], memo[ONE, index] = stack[ZERO, height - ONE], stack[ONE, height - ONE]
            memo[U(3), index] = stack[U(3), height - ONE]
            stack[TWO, height - ONE] = index + ONE
            stored += ONE
            continue

        low = height
        if table[code, op.MARKED]:
            if marked == ZERO:
                return op.UNDERFLOW, begin
            low = fence
            marked -= ONE
            if marked > ZERO:
                fence = marks[marked - ONE]
            else:
                fence = ZERO
        takes = U(table[code, op.TAKES])
        if low - fence < takes:
            return op.UNDERFLOW, begin
        low -= takes
        if role == op.FILLS:
            first = low + ONE
        else:
            first = low
        weight = ONE + ((at - start) >> U(3))
        depth = ONE
        step = U(table[code, op.HASHES])
        every = U(table[code, op.KEYS])
        chosen = ZERO  # the sum of the choices
        if role == op.FILLS:
            chosen_keys = stack[U(3), low]
        else:
            chosen_keys = ZERO
        for i in range(first, height):
            weight += stack[ZERO, i]
            chosen += stack[U(3), i]
            if every > ZERO and (i - first) % every == ZERO and stack[U(3), i] > ONE:
                compared += chosen_keys
                chosen_keys += ONE
                if compared > most:
                    return op.COLLIDES, begin
            depth = max(depth, stack[ONE, i] + ONE)
            if step > ZERO and (i - first) % step == ZERO:
                hashed += stack[ZERO, i]
            if weight > limit or hashed > limit:
                return op.HEAVY, begin
        if role == op.FILLS:
            index = stack[TWO, low]
            if index > ZERO and memo[TWO, index - ONE] > ZERO:
                return op.GROWS, begin
            weight += stack[ZERO, low] - ONE
            depth = max(depth, stack[ONE, low])
            stack[ZERO, low] = weight
            stack[ONE, low] = depth
            if every > ZERO:
                stack[U(3), low] = chosen_keys
            if index > ZERO:
                memo[ZERO, index - ONE] = weight
                memo[ONE, index - ONE] = depth
            height = low + ONE
        else:
            height = low
            if table[code, op.GIVES]:
                if height == U(stack.shape[1]):
                    stack = _wider(stack, height)
                choice = U(table[code, op.CHOICE])
                if choice == op.SUM:
                    choice = chosen
                elif choice == op.NUMBER:
                    # A line of up to 20 symbols and a newline, or 8 bytes: at most 64 bits, of which few give one hash.
                    if table[code, op.WIDTH] == op.LINE:
                        short = U(21)
                    else:
                        short = U(8)
                    if at - start <= short:
                        choice = op.ONE_CHOSEN
                    else:
                        choice = op.MANY_CHOSEN
                elif every > ZERO and choice == op.NONE_CHOSEN:  # a new dictionary
                    choice = chosen_keys
                stack[ZERO, height] = weight
                stack[ONE, height] = depth
                stack[TWO, height] = ZERO
                stack[U(3), height] = choice
                height += ONE
                pushed += ONE
        if weight > limit:
            return op.HEAVY, begin
        if depth > deepest:
            return op.DEEP, begin
    return op.ENDS, end
