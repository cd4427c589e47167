"""Reads the opcodes of a pickle into a table of values, without creating an object for each of them.

The table has a row per value: its kind, two numbers and its weight. Numbers are in the table, texts and bytes stay
where they are in the pickle, and a container has the rows of its values in a second array. An array is one row, so
that the points of a whole file can be copied at once.

Only what picklers write for plain data is read: numbers, texts, bytes, lists, tuples, dictionaries, and numpy's arrays
and scalars of numbers. It gives up for anything else, and then ``pickle_scan`` and the unpickler of the standard
library say what is wrong. What it accepts, those two accept too: weights, depths and the memo are checked as in
``pickle_scan``, and arrays as in ``files.pickle_values``.
"""

import numpy as np

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit
from mapgauge.kernels.pickle_calls import (
    AXES_SHIFT,
    BYTES,
    CODES,
    DEEPEST,
    DEPTH_SHIFT,
    DICT,
    FETCHED,
    FIRST,
    FLOAT,
    INFO,
    LIST,
    MINUS_ONE,
    NAME,
    SECOND,
    STORED,
    TEXT,
    TUPLE,
    WEIGHT,
    WHOLE,
    axes_of,
    called,
    count_letters,
    depth_of,
    filled,
    grown,
    is_hashable,
    kind_of,
    named,
)
from mapgauge.kernels.pickle_scan import LINE, _argument, _number

_STORE, _FETCH, _NUMBER, _SIGNED, _REAL, _STRING, _RAW, _CONSTANT, _NEW, _JOIN = list(CODES.values())[:10]
_ADD, _CALL, _FILL, _LOOK_UP, _MARK, _POP, _BEGIN, _FRAME, _STOP = list(CODES.values())[10:]
DONE, FULL, IRREGULAR = range(3)
_AXES = U(4)  # most extents of an array, which are written to ``members``
_HIGHEST_PROTOCOL = U(5)


@jit
def _adopt(values, members, used, stack, low, high):
    """Append a part of the stack to ``members``. Return the sum of the weights and the largest depth."""
    weight, depth = ZERO, ZERO
    for i in range(low, high):
        row = stack[i]
        members[used + i - low] = row
        weight += values[row, WEIGHT]
        depth = max(depth, depth_of(values, row))
    return weight, depth


@jit
def read_on(data, actions, names, limit, values, members, stack, memo, marks, state):
    """Read a pickle until it ends, or until one of the arrays is full.

    Args:
        data: The whole pickle.
        actions: ``pickle_calls.action_table()``.
        names: ``pickle_calls.name_table()``.
        limit: The limit on weights, as for ``pickle_scan.scan``.
        values: The rows of the table.
        members: The rows of the values of containers.
        stack: The rows of the values on the stack.
        memo: The rows of the values in the memo.
        marks: ``DEEPEST`` heights of the stack.
        state: What the next call needs to go on. It is all 0 before the first call.

    Returns:
        ``DONE``, ``FULL`` or ``IRREGULAR``. When it is done, the row of the document is ``stack[0]``.
    """
    end = U(len(data))
    at, rows, used, height, stored = state[0], state[1], state[2], state[3], state[4]
    marked, hashed, moved = state[5], state[6], state[7]
    fence = marks[marked - ONE] if marked > ZERO else ZERO
    most_rows, most_members = U(len(values)), U(len(members))
    highest, most_stored = U(len(stack)), U(len(memo))
    while at < end:
        if rows == most_rows or height == highest or stored == most_stored or used + _AXES > most_members:
            break
        code = U(data[at])
        action, detail, width = actions[code, ZERO], actions[code, TWO], actions[code, ONE]
        begin = at
        start = at + ONE
        at = start + width
        if width >= LINE:
            start, at = _argument(data, start, width)
        if action == ZERO or at > end:
            return IRREGULAR
        if action == _STORE:
            if height == fence or (at > start and _number(data, start, at - start) != stored):
                return IRREGULAR
            row = stack[height - ONE]
            if values[row, INFO] & STORED:
                return IRREGULAR
            values[row, INFO] |= STORED
            memo[stored] = row
            stored += ONE
            continue
        if action == _FETCH:
            index = _number(data, start, at - start)
            if index >= stored:
                return IRREGULAR
            row = memo[index]
            values[row, INFO] |= FETCHED
            stack[height] = row
            height += ONE
            continue
        if action == _MARK:
            if marked == DEEPEST:
                return IRREGULAR
            marks[marked] = fence = height
            marked += ONE
            continue
        if action >= _POP:
            if action == _STOP:
                state[0], state[1], state[2] = at, rows, used
                return DONE if height == ONE and marked == ZERO and at == end else IRREGULAR
            if action == _POP:
                if height == fence:
                    return IRREGULAR
                height -= ONE
            elif action == _BEGIN:
                if U(data[start]) > _HIGHEST_PROTOCOL:
                    return IRREGULAR
            elif _number(data, start, U(8)) > end - at:  # a frame
                return IRREGULAR
            continue

        info, first, second = ZERO, ZERO, ZERO
        weight, depth = ONE + ((at - start) >> U(3)), ONE
        low = height  # values above are taken from the stack
        if action == _NUMBER:
            info, first = WHOLE, _number(data, start, at - start)
        elif action == _SIGNED:
            size = at - start
            if size > U(8):
                return IRREGULAR
            first = _number(data, start, size)
            if size > ZERO and size < U(8) and data[at - ONE] >= 128:
                first |= MINUS_ONE << (U(8) * size)
            info = WHOLE
        elif action == _REAL:
            for i in range(U(8)):
                first = (first << U(8)) | U(data[start + i])
            info = FLOAT
        elif action == _STRING:
            if count_letters(data, start, at) == MINUS_ONE:
                return IRREGULAR
            info, first, second = TEXT, start, at - start
        elif action == _RAW:
            info, first, second = BYTES, start, at - start
        elif action in (_CONSTANT, _NEW):
            info, first = detail, used
        elif action in (_JOIN, _ADD):
            if detail >= U(255):
                if marked == ZERO:
                    return IRREGULAR
                low = fence
                below = marks[marked - TWO] if marked > ONE else ZERO
            elif height - fence < detail:
                return IRREGULAR
            else:
                low, below = height - detail, fence
            count, before, row = height - low, ZERO, ZERO
            if action == _ADD:
                if low == below:
                    return IRREGULAR
                row = stack[low - ONE]
                kind = kind_of(values, row)
                if kind != (LIST if detail & ONE else DICT) or values[row, INFO] & FETCHED:
                    return IRREGULAR
                if kind == DICT and count & ONE:
                    return IRREGULAR
                before = values[row, SECOND]
                if values[row, FIRST] + before == used:
                    before = ZERO  # the new values follow those before
            if used + before + count > most_members:
                at = begin
                break
            fence = below
            if detail >= U(255):
                marked -= ONE
            inside, deep = _adopt(values, members, used + before, stack, low, height)
            if action == _JOIN:
                info, first, second = TUPLE, used, count
                weight, depth = weight + inside, deep + ONE
                used += count
            else:
                if detail & ONE == ZERO:
                    for i in range(used + before, used + before + count, TWO):
                        if not is_hashable(values, members, members[i]):
                            return IRREGULAR
                        hashed += values[members[i], WEIGHT]
                if before > ZERO:  # other values were added in between: move those of this one together
                    moved += before
                    if moved > U(1 << 16) + (end >> U(3)):
                        return IRREGULAR
                    for i in range(before):
                        members[used + i] = members[values[row, FIRST] + i]
                if before > ZERO or values[row, SECOND] == ZERO:
                    values[row, FIRST] = used
                used += before + count
                values[row, SECOND] += count
                values[row, WEIGHT] += inside
                if grown(values, row, deep, limit) or hashed > limit:
                    return IRREGULAR
                height = low
                continue
        elif action == _LOOK_UP:
            if detail == ZERO:
                first = named(data, start, at, start, start, True, names)
            else:
                if height - fence < TWO:
                    return IRREGULAR
                low = height - TWO
                one, two = stack[low], stack[low + ONE]
                if kind_of(values, one) != TEXT or kind_of(values, two) != TEXT:
                    return IRREGULAR
                a, b = values[one, FIRST], values[two, FIRST]
                first = named(data, a, a + values[one, SECOND], b, b + values[two, SECOND], False, names)
                weight, depth = weight + values[one, WEIGHT] + values[two, WEIGHT], TWO
            if first == MINUS_ONE:
                return IRREGULAR
            info = NAME
        else:  # _CALL or _FILL
            if height - fence < TWO:
                return IRREGULAR
            low = height - TWO
            one, two = stack[low], stack[low + ONE]
            inside, outside = depth_of(values, two), depth_of(values, one)
            hashed += values[two, WEIGHT]
            if action == _FILL:
                if not filled(data, values, members, used, one, two):
                    return IRREGULAR
                used += axes_of(values, one)
                values[one, WEIGHT] += values[two, WEIGHT]
                if grown(values, one, inside, limit) or hashed > limit:
                    return IRREGULAR
                height = low + ONE
                continue
            hashed += values[one, WEIGHT]
            info, first, second = called(data, values, members, used, one, two)
            if info == ZERO:
                return IRREGULAR
            used += (info >> AXES_SHIFT) & U(255)
            weight, depth = weight + values[one, WEIGHT] + values[two, WEIGHT], max(inside, outside) + ONE
        if weight > limit or hashed > limit or depth > DEEPEST:
            return IRREGULAR
        values[rows, INFO], values[rows, FIRST] = info | (depth << DEPTH_SHIFT), first
        values[rows, SECOND], values[rows, WEIGHT] = second, weight
        stack[low] = rows
        height = low + ONE
        rows += ONE
    if at >= end:
        return IRREGULAR
    state[0], state[1], state[2], state[3], state[4] = at, rows, used, height, stored
    state[5], state[6], state[7] = marked, hashed, moved
    return FULL


@jit
def copy_content(data, starts, sizes, as_text, out):
    """Copy parts of a pickle into ``out``, one after the other.

    A part may be written as text, with two bytes for a byte above 127: 0xC2 or 0xC3, and a second one.
    """
    at = ZERO
    for i in range(U(len(starts))):
        start, stop = starts[i], at + sizes[i]
        if not as_text[i]:
            for k in range(sizes[i]):
                out[at + k] = data[start + k]
            at = stop
        while at < stop:
            byte = U(data[start])
            if byte >= U(128):
                start += ONE
                byte = U(data[start]) | ((byte & ONE) << U(6))
            out[at] = np.uint8(byte)
            start += ONE
            at += ONE
