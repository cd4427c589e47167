"""Reads the opcodes of a pickle into a table of values, without creating an object for each of them.

The table has a row per value: its kind, two numbers and its weight. Numbers are in the table, texts and bytes stay
where they are in the pickle, and a container has the rows of its values in a second array. An array is one row, so
that the points of a whole file can be copied at once.

Only what picklers write for plain data is read: numbers, texts, bytes, lists, tuples, dictionaries, and numpy's arrays
and scalars of numbers. The kernel gives up for anything else, and then ``scan_kernels`` and the unpickler of the
standard library say what is wrong. Both accept every file that the kernel accepts: weights, depths and the memo are
checked as in ``scan_kernels``, and arrays as in ``unpickling``.
"""

import numpy as np

from mapgauge.io.pickles import opcodes as op
from mapgauge.io.pickles.scan_kernels import _argument, _number
from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit

_STORE, _FETCH, _NUMBER, _SIGNED, _REAL, _STRING, _RAW, _CONSTANT, _NEW, _JOIN = list(op.CODES.values())[:10]
_ADD, _CALL, _FILL, _LOOK_UP, _MARK, _POP, _BEGIN, _FRAME, _STOP = list(op.CODES.values())[10:]
DONE, FULL, IRREGULAR = range(3)
_AXES = U(4)  # most extents of an array, which are written to ``members``
_HIGHEST_PROTOCOL = U(5)


@jit
def count_letters(data, start, stop):
    """Return the number of characters of a text; the largest number if one of them is not in Latin-1.

    A character beyond ASCII has two bytes: 0xC2 or 0xC3, and one from 0x80 to 0xBF.
    """
    # due: whether the next byte must be a second one
    count = ZERO
    sound = True
    due = False
    for i in range(start, stop):
        byte = data[i]
        sound &= due == (byte & 0xC0 == 0x80)
        due = byte >= 0xC0
        sound &= not due or byte == 0xC2 or byte == 0xC3
        count += U(byte < 0x80 or due)
    if sound and not due:
        return count
    return op.MINUS_ONE


@jit
def axes_of(values, row):
    """Return the number of dimensions of an array; 0 for other values."""
    return (values[row, op.INFO] >> op.AXES_SHIFT) & U(255)


@jit
def kind_of(values, row):
    """Return the kind of a value."""
    return values[row, op.INFO] & op.KIND_BITS


@jit
def depth_of(values, row):
    """Return the depth of a value: 1 if it holds no others."""
    return (values[row, op.INFO] >> op.DEPTH_SHIFT) & U(255)


@jit
def grown(values, row, depth, limit):
    """Set the depth of a container after others of a depth were added. Return whether it is too heavy or too deep."""
    depth = max(depth_of(values, row), depth + ONE)
    values[row, op.INFO] = (values[row, op.INFO] & ~(U(255) << op.DEPTH_SHIFT)) | (depth << op.DEPTH_SHIFT)
    return depth > op.DEEPEST or values[row, op.WEIGHT] > limit


@jit
def is_hashable(values, members, row):
    """Whether a value may be a key: a text, a number, or a tuple of texts and at most one number."""
    kind = kind_of(values, row)
    if kind in (op.TEXT, op.WHOLE):
        return True
    if kind != op.TUPLE:
        return False
    numbers = ZERO
    for i in range(values[row, op.FIRST], values[row, op.FIRST] + values[row, op.SECOND]):
        inner = kind_of(values, members[i])
        if inner == op.WHOLE:
            numbers += ONE
        elif inner != op.TEXT:
            return False
    return numbers <= ONE


@jit
def has_size(members, at, axes, itemsize, size):
    """Whether an array has a number of bytes. Its extents are in ``members``."""
    count = ONE
    others = ONE
    for i in range(at, at + axes):
        if members[i] > op.LARGE and others > op.LARGE:  # their product could overflow
            return False
        count *= members[i]
        others *= max(members[i], ONE)
        if others > op.LARGEST:
            return False
    return count * itemsize == size and (count > ZERO or others <= op.LARGEST_EMPTY)


@jit
def extents_of(values, members, shape, used):
    """Write the extents in a tuple to ``members`` from ``used`` on. Return whether they can be a shape."""
    if kind_of(values, shape) != op.TUPLE or values[shape, op.SECOND] > U(4):
        return False
    for i in range(values[shape, op.SECOND]):
        row = members[values[shape, op.FIRST] + i]
        if kind_of(values, row) != op.WHOLE or values[row, op.FIRST] > op.LARGEST:
            return False
        members[used + i] = values[row, op.FIRST]
    return True


@jit
def named(data, first, last, second, end, lines, names):
    """Return the number of a name, in two parts that are lines or texts; the largest number if it is not known."""
    for i in range(U(len(names))):
        k = ZERO
        same = True
        for part in range(2):
            if part == 0:
                start, stop = (first, last)
            else:
                start, stop = (second, end)
            for j in range(start, stop):
                same = same and k < U(64) and names[i, k] == data[j]
                k += ONE
            if not lines:  # a text has no end of line
                same = same and k < U(64) and names[i, k] == 10
                k += ONE
        if same and k < U(64) and names[i, k] == 0:
            return op.GROUPS[i]
    return op.MINUS_ONE


@jit
def is_text(data, values, row, text):
    """Whether a value is a certain text."""
    if kind_of(values, row) != op.TEXT or values[row, op.SECOND] != U(len(text)):
        return False
    same = True
    for i in range(U(len(text))):
        same &= data[values[row, op.FIRST] + i] == text[i]
    return same


@jit
def itemsize(values, dtype):
    """Return the number of bytes of a number of a type."""
    return U(op.LETTERS[(values[dtype, op.INFO] & op.TYPE_BITS) >> op.TYPE_SHIFT, 1]) - U(48)


@jit
def is_letter(data, values, row, letter):
    """Whether a text, or bytes, is a single letter."""
    return values[row, op.SECOND] == ONE and data[values[row, op.FIRST]] == letter


@jit
def array_info(values, dtype, content, axes):
    """Return the info of an array."""
    if kind_of(values, content) == op.LATIN:
        latin = op.IS_LATIN
    else:
        latin = ZERO
    return op.ARRAY | (values[dtype, op.INFO] & op.TYPE_BITS) | (axes << op.AXES_SHIFT) | latin


@jit
def called(data, values, members, used, function, arguments):
    """Return the info, the first and the second number of what a function returns; the info 0 if it is unexpected.

    The extents of an array are written to ``members`` from ``used`` on.
    """
    wrong = (ZERO, ZERO, ZERO)
    if kind_of(values, function) != op.NAME or kind_of(values, arguments) != op.TUPLE:
        return wrong
    at = values[arguments, op.FIRST]
    count = values[arguments, op.SECOND]
    name = values[function, op.FIRST]
    if name == op.EMPTY_BYTES:
        if count == ZERO:
            return (op.BYTES, ZERO, ZERO)
        return wrong
    if count == ZERO:
        return wrong
    first = members[at]
    if name == op.DTYPE_OF:
        if count <= U(3) and kind_of(values, first) == op.TEXT and values[first, op.SECOND] == TWO:
            for i in range(U(len(op.LETTERS))):
                k = values[first, op.FIRST]
                if data[k] == op.LETTERS[i, 0] and data[k + ONE] == op.LETTERS[i, 1]:
                    return op.DTYPE | (i << op.TYPE_SHIFT), ZERO, ZERO
        return wrong
    if count < TWO:
        return wrong
    second = members[at + ONE]
    if name == op.ENCODE:
        if count != TWO or kind_of(values, first) != op.TEXT or kind_of(values, second) != op.TEXT:
            return wrong
        if not is_text(data, values, second, op.LATIN1):
            return wrong
        start = values[first, op.FIRST]
        return op.LATIN, start, count_letters(data, start, start + values[first, op.SECOND])
    if name == op.SCALAR_OF:
        kind = kind_of(values, second)
        if count != TWO or kind_of(values, first) != op.DTYPE or kind not in (op.BYTES, op.LATIN):
            return wrong
        if values[second, op.SECOND] != itemsize(values, first):
            return wrong
        info = op.SCALAR | (values[first, op.INFO] & op.TYPE_BITS) | (op.IS_LATIN if kind == op.LATIN else ZERO)
        return info, values[second, op.FIRST], ZERO
    if name == op.RECONSTRUCT:
        if count != U(3) or kind_of(values, first) != op.NAME or values[first, op.FIRST] != op.NDARRAY:
            return wrong
        third = members[at + TWO]
        inner = values[second, op.FIRST]
        if kind_of(values, second) != op.TUPLE or values[second, op.SECOND] != ONE:
            return wrong
        if kind_of(values, members[inner]) != op.WHOLE:
            return wrong
        if kind_of(values, third) not in (op.TEXT, op.BYTES, op.LATIN) or not is_letter(data, values, third, 98):  # b
            return wrong
        if values[members[inner], op.FIRST] == ZERO:
            return (op.EMPTY, ZERO, ZERO)
        return wrong
    if name == op.FROMBUFFER:
        if count != U(4) or kind_of(values, first) != op.BYTES or kind_of(values, second) != op.DTYPE:
            return wrong
        shape = members[at + TWO]
        order = members[at + U(3)]
        if kind_of(values, order) != op.TEXT or not is_letter(data, values, order, 67):  # C
            return wrong
        if not extents_of(values, members, shape, used):
            return wrong
        axes = values[shape, op.SECOND]
        if has_size(members, used, axes, itemsize(values, second), values[first, op.SECOND]):
            return array_info(values, second, first, axes), values[first, op.FIRST], used
    return wrong


@jit
def filled(data, values, members, used, row, state):
    """Give an array its content, or a type its order of bytes. Return whether the state was as expected.

    The extents of an array are written to ``members`` from ``used`` on.
    """
    kind = kind_of(values, row)
    if kind_of(values, state) != op.TUPLE or values[row, op.INFO] & op.FETCHED:
        return False
    at = values[state, op.FIRST]
    count = values[state, op.SECOND]
    if kind == op.DTYPE and count == U(8):
        version = members[at]
        order = members[at + ONE]
        size = members[at + U(5)]
        for i in range(TWO, U(5)):
            if kind_of(values, members[at + i]) != op.NONE:
                return False
        if kind_of(values, version) != op.WHOLE or kind_of(values, size) != op.WHOLE:
            return False
        if values[version, op.FIRST] != U(3) or values[size, op.FIRST] != op.MINUS_ONE:
            return False
        if kind_of(values, order) != op.TEXT:
            return False
        return is_letter(data, values, order, 60) or is_letter(data, values, order, 124)  # < and |
    if kind == op.EMPTY and count == U(5):
        shape = members[at + ONE]
        dtype = members[at + TWO]
        fortran = members[at + U(3)]
        content = members[at + U(4)]
        if kind_of(values, dtype) != op.DTYPE or kind_of(values, fortran) != op.FALSE:
            return False
        if kind_of(values, content) not in (op.BYTES, op.LATIN):
            return False
        if not extents_of(values, members, shape, used):
            return False
        axes = values[shape, op.SECOND]
        if not has_size(members, used, axes, itemsize(values, dtype), values[content, op.SECOND]):
            return False
        info = array_info(values, dtype, content, axes)
        values[row, op.INFO] = (values[row, op.INFO] & ~(op.KIND_BITS | op.TYPE_BITS)) | info
        values[row, op.FIRST] = values[content, op.FIRST]
        values[row, op.SECOND] = used
        return True
    return False


@jit
def _adopt(values, members, used, stack, low, high):
    """Append a part of the stack to ``members``. Return the sum of the weights and the largest depth."""
    weight = ZERO
    depth = ZERO
    for i in range(low, high):
        row = stack[i]
        members[used + i - low] = row
        weight += values[row, op.WEIGHT]
        depth = max(depth, depth_of(values, row))
    return weight, depth


@jit
def read_on(data, actions, names, limit, values, members, stack, memo, marks, state):
    """Read a pickle until it ends (``DONE``), one of the arrays is full (``FULL``), or it is ``IRREGULAR``.

    ``actions`` and ``names`` are the tables of ``opcodes``, and ``limit`` is as in ``scan_kernels.scan``. ``values``
    are the rows of the table, and ``members`` the rows of the values of containers. ``stack``, ``memo`` and ``marks``
    belong to the machine that runs the pickle. ``state`` is what the next call needs to go on, all 0 before the first
    call. When it is done, the row of the document is ``stack[0]``.
    """
    end = U(len(data))
    at = state[0]
    rows = state[1]
    used = state[2]
    height = state[3]
    stored = state[4]
    marked = state[5]
    hashed = state[6]
    moved = state[7]
    if marked > ZERO:
        fence = marks[marked - ONE]
    else:
        fence = ZERO
    most_rows = U(len(values))
    most_members = U(len(members))
    highest = U(len(stack))
    most_stored = U(len(memo))
    while at < end:
        if rows == most_rows or height == highest or stored == most_stored or used + _AXES > most_members:
            break
        code = U(data[at])
        action = actions[code, ZERO]
        detail = actions[code, TWO]
        width = actions[code, ONE]
        begin = at
        start = at + ONE
        at = start + width
        if width >= op.LINE:
            start, at = _argument(data, start, width)
        if action == ZERO or at > end:
            return IRREGULAR
        if action == _STORE:
            if height == fence or (at > start and _number(data, start, at - start) != stored):
                return IRREGULAR
            row = stack[height - ONE]
            if values[row, op.INFO] & op.STORED:
                return IRREGULAR
            values[row, op.INFO] |= op.STORED
            memo[stored] = row
            stored += ONE
            continue
        if action == _FETCH:
            index = _number(data, start, at - start)
            if index >= stored:
                return IRREGULAR
            row = memo[index]
            values[row, op.INFO] |= op.FETCHED
            stack[height] = row
            height += ONE
            continue
        if action == _MARK:
            if marked == op.DEEPEST:
                return IRREGULAR
            marks[marked] = fence = height
            marked += ONE
            continue
        if action >= _POP:
            if action == _STOP:
                state[0] = at
                state[1] = rows
                state[2] = used
                if height == ONE and marked == ZERO and at == end:
                    return DONE
                return IRREGULAR
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

        info = ZERO
        first = ZERO
        second = ZERO
        weight = ONE + ((at - start) >> U(3))
        depth = ONE
        low = height  # values above are taken from the stack
        if action == _NUMBER:
            info = op.WHOLE
            first = _number(data, start, at - start)
        elif action == _SIGNED:
            size = at - start
            if size > U(8):
                return IRREGULAR
            first = _number(data, start, size)
            if size > ZERO and size < U(8) and data[at - ONE] >= 128:
                first |= op.MINUS_ONE << (U(8) * size)
            info = op.WHOLE
        elif action == _REAL:
            for i in range(U(8)):
                first = (first << U(8)) | U(data[start + i])
            info = op.FLOAT
        elif action == _STRING:
            if count_letters(data, start, at) == op.MINUS_ONE:
                return IRREGULAR
            info = op.TEXT
            first = start
            second = at - start
        elif action == _RAW:
            info = op.BYTES
            first = start
            second = at - start
        elif action in (_CONSTANT, _NEW):
            info = detail
            first = used
        elif action in (_JOIN, _ADD):
            if detail >= U(255):
                if marked == ZERO:
                    return IRREGULAR
                low = fence
                if marked > ONE:
                    below = marks[marked - TWO]
                else:
                    below = ZERO
            elif height - fence < detail:
                return IRREGULAR
            else:
                low = height - detail
                below = fence
            count = height - low
            before = ZERO
            row = ZERO
            if action == _ADD:
                if low == below:
                    return IRREGULAR
                row = stack[low - ONE]
                kind = kind_of(values, row)
                if kind != (op.LIST if detail & ONE else op.DICT) or values[row, op.INFO] & op.FETCHED:
                    return IRREGULAR
                if kind == op.DICT and count & ONE:
                    return IRREGULAR
                before = values[row, op.SECOND]
                if values[row, op.FIRST] + before == used:
                    before = ZERO  # the new values follow the earlier values
            if used + before + count > most_members:
                at = begin
                break
            fence = below
            if detail >= U(255):
                marked -= ONE
            inside, deep = _adopt(values, members, used + before, stack, low, height)
            if action == _JOIN:
                info = op.TUPLE
                first = used
                second = count
                weight = weight + inside
                depth = deep + ONE
                used += count
            else:
                if detail & ONE == ZERO:
                    for i in range(used + before, used + before + count, TWO):
                        if not is_hashable(values, members, members[i]):
                            return IRREGULAR
                        hashed += values[members[i], op.WEIGHT]
                if before > ZERO:  # other values were added in between: move the values of this container together
                    moved += before
                    if moved > U(1 << 16) + (end >> U(3)):
                        return IRREGULAR
                    for i in range(before):
                        members[used + i] = members[values[row, op.FIRST] + i]
                if before > ZERO or values[row, op.SECOND] == ZERO:
                    values[row, op.FIRST] = used
                used += before + count
                values[row, op.SECOND] += count
                values[row, op.WEIGHT] += inside
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
                lower = stack[low]
                upper = stack[low + ONE]
                if kind_of(values, lower) != op.TEXT or kind_of(values, upper) != op.TEXT:
                    return IRREGULAR
                a = values[lower, op.FIRST]
                b = values[upper, op.FIRST]
                first = named(data, a, a + values[lower, op.SECOND], b, b + values[upper, op.SECOND], False, names)
                weight = weight + values[lower, op.WEIGHT] + values[upper, op.WEIGHT]
                depth = TWO
            if first == op.MINUS_ONE:
                return IRREGULAR
            info = op.NAME
        else:  # _CALL or _FILL
            if height - fence < TWO:
                return IRREGULAR
            low = height - TWO
            lower = stack[low]
            upper = stack[low + ONE]
            inside = depth_of(values, upper)
            outside = depth_of(values, lower)
            hashed += values[upper, op.WEIGHT]
            if action == _FILL:
                if not filled(data, values, members, used, lower, upper):
                    return IRREGULAR
                used += axes_of(values, lower)
                values[lower, op.WEIGHT] += values[upper, op.WEIGHT]
                if grown(values, lower, inside, limit) or hashed > limit:
                    return IRREGULAR
                height = low + ONE
                continue
            hashed += values[lower, op.WEIGHT]
            info, first, second = called(data, values, members, used, lower, upper)
            if info == ZERO:
                return IRREGULAR
            used += (info >> op.AXES_SHIFT) & U(255)
            weight = weight + values[lower, op.WEIGHT] + values[upper, op.WEIGHT]
            depth = max(inside, outside) + ONE
        if weight > limit or hashed > limit or depth > op.DEEPEST:
            return IRREGULAR
        values[rows, op.INFO] = info | (depth << op.DEPTH_SHIFT)
        values[rows, op.FIRST] = first
        values[rows, op.SECOND] = second
        values[rows, op.WEIGHT] = weight
        stack[low] = rows
        height = low + ONE
        rows += ONE
    if at >= end:
        return IRREGULAR
    state[0] = at
    state[1] = rows
    state[2] = used
    state[3] = height
    state[4] = stored
    state[5] = marked
    state[6] = hashed
    state[7] = moved
    return FULL


@jit
def copy_content(data, starts, sizes, as_text, out):
    """Copy parts of a pickle into ``out``, one after the other.

    A part may be written as text, with two bytes for a byte above 127: 0xC2 or 0xC3, and a second one.
    """
    at = ZERO
    for i in range(U(len(starts))):
        start = starts[i]
        stop = at + sizes[i]
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
