"""Parses the lists of numbers in a JSON text directly into arrays, and leaves a short text without them.

A result file is a few hundred megabytes of numbers in brackets. A JSON library creates a Python object for each number
and a list for each point before an array can be filled, which takes most of the reading time. This kernel copies a text
and writes ``[k]`` in place of the k-th list of numbers, of points ``[[x, y], ...]`` or of polylines
``[[[x, y], ...], ...]``. A JSON library then decodes the copy, which is a hundredth of the text. Lists of anything else
are copied, so that the library finds what is wrong with them.

Every list of numbers is replaced. A list ``[5]`` in the copy can therefore only come from this kernel, never from the
file.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, ZERO, U, jit
from mapgauge.kernels.interpreting import interpreted_while_small

_OPEN, _CLOSE, _COMMA, _MINUS, _PLUS, _POINT = (np.uint8(ord(c)) for c in "[],-+.")
_QUOTE, _ESCAPE, _END, _SPACE = (np.uint8(ord(c)) for c in '"\\} ')
_E, _e, _0, _9 = (np.uint8(ord(c)) for c in "Ee09")
_BLANKS = tuple(np.uint8(ord(c)) for c in " \n\r\t")
_TEN = U(10)
_EXACT = U(2**53)  # all whole numbers up to here are exact doubles
_POWERS = np.array([10.0**k for k in range(23)])  # all of them are exact
_MOST_DIGITS = 19  # this number of digits always fits into 64 bits
_SPLIT = 2.0**27 + 1.0
_LONGEST = U(12)  # bytes of the longest ``[k]``

# Columns of the table of lists: 1 for numbers, 2 for points, 3 for polylines; the coordinates of a point; the start and
# the stop of its values, among numbers or coordinates; the start and the stop of its polylines.
DEPTH, WIDTH, START, STOP, FIRST_LINE, LAST_LINE = range(6)
COLUMNS = 6
DONE = 0
FAILED = 1


@jit
def quotient(w, k):
    """Return ``w / 10**k`` correctly rounded, for whole ``w`` below 10^19 and ``k`` up to 22; NaN in rare cases.

    ``q`` is a double near the quotient and ``c`` is its error, known from the exact remainder with a relative accuracy
    of 2^-50. If ``q + c`` rounds to the same double for a slightly smaller and a slightly larger ``c``, this double is
    the result. Otherwise the result is NaN.
    """
    d = _POWERS[k]
    high = float(w)
    low = float(np.int64(w - U(high)))
    if low == 0.0:
        return high / d  # both are exact, so there is one rounding
    q = high / d
    p = q * d
    # The exact error of this product (Dekker).
    t = _SPLIT * q
    q1 = t - (t - q)
    q2 = q - q1
    t = _SPLIT * d
    d1 = t - (t - d)
    d2 = d - d1
    error = ((q1 * d1 - p) + q1 * d2 + q2 * d1) + q2 * d2
    c = (((high - p) - error) + low) / d
    below = q + c * (1.0 - 2.0**-48)
    above = q + c * (1.0 + 2.0**-48)
    if below == above:
        return below
    return math.nan


@jit
def _number(text, i):
    """Return the number at ``i`` and its end: NaN if the caller must convert it, the end ``i`` if it is no number."""
    start = i
    negative = text[i] == _MINUS
    if negative:
        i += ONE
    whole = i
    w = ZERO
    while _0 <= text[i] <= _9:
        w = w * _TEN + U(text[i] - _0)
        i += ONE
    if i == whole or (text[whole] == _0 and i > whole + ONE):
        return 0.0, start
    length = np.int64(i - whole)
    places = 0
    if text[i] == _POINT:
        i += ONE
        fraction = i
        while _0 <= text[i] <= _9:
            w = w * _TEN + U(text[i] - _0)
            i += ONE
        if i == fraction:
            return 0.0, start
        places = np.int64(i - fraction)
    exponent = -places
    if text[i] == _e or text[i] == _E:
        i += ONE
        minus = text[i] == _MINUS
        if minus or text[i] == _PLUS:
            i += ONE
        begin = i
        power = 0
        while _0 <= text[i] <= _9:
            power = min(power * 10 + np.int64(text[i] - _0), 100_000)
            i += ONE
        if i == begin:
            return 0.0, start
        if minus:
            exponent += -power
        else:
            exponent += power
    # Leading zeros count as digits here. A number such as 0.0001 with twenty places is left to the caller, which only
    # takes longer.
    if length + places > _MOST_DIGITS or exponent < -22 or exponent > 0:
        value = math.nan
    elif w < _EXACT:
        value = float(w) / _POWERS[-exponent]
    else:
        value = quotient(w, -exponent)
    return (-value if negative else value), i


@jit
def _after_blanks(text, i):
    while text[i] <= _SPACE and text[i] in _BLANKS:
        i += ONE
    return i


@jit
def _next(text, i):
    """Return the place of the next element after the one that ends at ``i``, and whether there is one.

    Without a next element, the place is that after the closing bracket. It is 0 if the text is not a list.
    """
    i = _after_blanks(text, i)
    if text[i] == _COMMA:
        return _after_blanks(text, i + ONE), True
    return (i + ONE if text[i] == _CLOSE else ZERO), False


@jit
def _numbers(text, i, values, at, hard, left, kind):
    """Parse numbers up to the closing bracket, from the first one at ``i``.

    Returns:
        The place after the bracket, and the filled lengths of ``values`` and ``hard``. The place is 0 if this is not a
        list of numbers.
    """
    more = True
    while more:
        value, stop = _number(text, i)
        if stop == i or at == len(values) or left == len(hard):
            return ZERO, at, left
        if value != value:
            hard[left, 0] = i
            hard[left, 1] = stop
            hard[left, 2] = kind
            hard[left, 3] = at
            left += 1
        values[at] = value
        at += 1
        i, more = _next(text, stop)
        if i == ZERO:
            return ZERO, at, left
    return i, at, left


@jit
def _points(text, i, values, at, hard, left, width):
    """Parse points up to the closing bracket, from the first one at ``i``.

    Returns:
        As ``_numbers``, and the number of coordinates of a point. All points have this number, 2 or 3.
    """
    more = True
    while more:
        if text[i] != _OPEN:
            return ZERO, at, left, width
        begin = at
        i, at, left = _numbers(text, _after_blanks(text, i + ONE), values, at, hard, left, 1)
        if width == 0:
            width = at - begin
        if i == ZERO or at - begin != width or width < 2 or width > 3:
            return ZERO, at, left, width
        i, more = _next(text, i)
        if i == ZERO:
            return ZERO, at, left, width
    return i, at, left, width


@jit
def _depth(text, i):
    """Return how many brackets open at ``i`` before the first number, at most four, and the place after them."""
    depth = 0
    while text[i] == _OPEN and depth < 4:
        depth += 1
        i = _after_blanks(text, i + ONE)
    return depth, i


@jit
def _polylines(text, i, values, at, hard, left, sizes, line):
    """Parse polylines up to the closing bracket, from the first one at ``i``. The first one must have points.

    Returns:
        As ``_points``, and the filled length of ``sizes``.
    """
    width = 0
    more = True
    while more:
        if text[i] != _OPEN or line == len(sizes):
            return ZERO, at, left, width, line
        i = _after_blanks(text, i + ONE)
        begin = at
        if text[i] == _CLOSE and width > 0:
            i += ONE
        else:
            i, at, left, width = _points(text, i, values, at, hard, left, width)
            if i == ZERO:
                return ZERO, at, left, width, line
        sizes[line] = (at - begin) // width
        line += 1
        i, more = _next(text, i)
        if i == ZERO:
            return ZERO, at, left, width, line
    return i, at, left, width, line


@jit
def _write_index(copy, filled, index):
    """Write ``[index]`` and return the filled length."""
    copy[filled] = _OPEN
    filled += ONE
    scale = ONE
    while scale * _TEN <= index:
        scale *= _TEN
    while scale > ZERO:
        copy[filled] = _0 + np.uint8(index // scale % _TEN)
        filled += ONE
        scale //= _TEN
    copy[filled] = _CLOSE
    return filled + ONE


@interpreted_while_small(100_000)
@jit
def replace_lists(text, base, copy, numbers, coords, sizes, table, hard):
    """Copy a text with ``[base + k]`` in place of its k-th list of numbers, points or polylines.

    The text must end with ``}``. No list continues beyond it, so no end of the text is tested for. ``copy`` is some
    bytes longer. A row of ``table`` is a list, and a row of ``hard`` a number that the caller must convert: its start
    and stop in the text, 0 for ``numbers`` or 1 for ``coords``, and the place there.

    Return ``DONE``, or ``FAILED`` if the text ends within a string, or if there is no room for the copy. Then the
    filled lengths of ``copy``, ``numbers``, ``coords``, ``sizes``, ``table`` and ``hard``. Sound JSON has one number
    more than commas at most, so the last five arrays need no more room.
    """
    end = U(len(text))
    i = filled = ZERO
    number = 0
    coord = 0
    line = 0
    rows = 0
    left = 0
    while i < end:
        c = text[i]
        if c == _OPEN:
            depth, first = _depth(text, i)
            kind = 0
            if depth > 1:
                kind = 1
            stop = ZERO
            at = 0
            hard_left = left
            width = 1
            lines = line
            if depth == 1:
                stop, at, hard_left = _numbers(text, first, numbers, number, hard, left, kind)
            elif depth == 2 and line < len(sizes):
                inner = _after_blanks(text, i + ONE)
                stop, at, hard_left, width = _points(text, inner, coords, coord, hard, left, 0)
                if stop != ZERO:
                    sizes[line] = (at - coord) // width
                    lines = line + 1
            elif depth == 3:
                inner = _after_blanks(text, i + ONE)
                stop, at, hard_left, width, lines = _polylines(text, inner, coords, coord, hard, left, sizes, line)
            if stop != ZERO:
                if filled + _LONGEST + (end - stop) > U(len(copy)) or rows == len(table):
                    return FAILED, 0, 0, 0, 0, 0, 0
                table[rows, DEPTH] = depth
                table[rows, WIDTH] = width
                if kind:
                    table[rows, START] = coord
                else:
                    table[rows, START] = number
                table[rows, STOP] = at
                table[rows, FIRST_LINE] = line
                table[rows, LAST_LINE] = lines
                filled = _write_index(copy, filled, base + U(rows))
                rows += 1
                left = hard_left
                line = lines
                i = stop
                if kind:
                    coord = at
                else:
                    number = at
                continue
        elif c == _QUOTE:
            copy[filled] = c
            filled += ONE
            i += ONE
            while i < end and text[i] != _QUOTE:
                if text[i] == _ESCAPE and i + ONE < end:
                    copy[filled] = _ESCAPE
                    filled += ONE
                    i += ONE
                copy[filled] = text[i]
                filled += ONE
                i += ONE
            if i == end:
                return FAILED, 0, 0, 0, 0, 0, 0
        copy[filled] = text[i]
        filled += ONE
        i += ONE
    return DONE, np.int64(filled), number, coord, line, rows, left
