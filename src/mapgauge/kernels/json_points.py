"""Parses nested lists of points in JSON text directly into arrays.

A result file is a few hundred megabytes of numbers in brackets. A JSON library creates a Python object for each number
and a list for each point before an array can be filled, which takes most of the reading time. This kernel parses
``[[[x, y], [x, y], ...], ...]`` and nothing else. Any other text is left to a JSON library, which also gives better
error messages.

Measured on 39 MB (600 frames of 75 lines of 20 points; ``benchmarks/README.md`` has the command): 0.18 s for the whole
file with this kernel, 0.41 s with msgspec alone, decoding to flat lists, 2.0 s with the standard library.
"""

import math

import numpy as np

from mapgauge.kernels._jit import ONE, ZERO, U, jit

_OPEN, _CLOSE, _COMMA, _MINUS, _PLUS, _POINT = (np.uint8(ord(c)) for c in "[],-+.")
_E, _e, _0, _9 = (np.uint8(ord(c)) for c in "Ee09")
_BLANKS = tuple(np.uint8(ord(c)) for c in " \n\r\t")
_TEN = U(10)
_EXACT = U(2**53)  # all whole numbers up to here are exact doubles
_POWERS = np.array([10.0**k for k in range(23)])  # all of them are exact
_MOST_DIGITS = 19  # this number of digits always fits into 64 bits
_SPLIT = 2.0**27 + 1.0

# States between two symbols. After "[" a value or "]" may follow; after ",", a value; after a value, "," or "]".
_FIRST, _NEXT, _AFTER = 0, 1, 2

DEPTH_OF_NUMBERS = 3
REGULAR, IRREGULAR = 0, 1


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
    below, above = q + c * (1.0 - 2.0**-48), q + c * (1.0 + 2.0**-48)
    return below if below == above else math.nan


@jit
def _number(text, i, end):
    """Return the number at ``i`` and its end: NaN if the caller must convert it, the end ``i`` if it is no number."""
    start = i
    negative = text[i] == _MINUS
    if negative:
        i += ONE
    whole = i
    w = ZERO
    while i < end and _0 <= text[i] <= _9:
        w = w * _TEN + U(text[i] - _0)
        i += ONE
    if i == whole or (text[whole] == _0 and i > whole + ONE):
        return 0.0, start
    length = np.int64(i - whole)
    places = 0
    if i < end and text[i] == _POINT:
        i += ONE
        fraction = i
        while i < end and _0 <= text[i] <= _9:
            w = w * _TEN + U(text[i] - _0)
            i += ONE
        if i == fraction:
            return 0.0, start
        places = np.int64(i - fraction)
    exponent = -places
    if i < end and (text[i] == _e or text[i] == _E):
        i += ONE
        minus = i < end and text[i] == _MINUS
        if i < end and (text[i] == _MINUS or text[i] == _PLUS):
            i += ONE
        begin = i
        power = 0
        while i < end and _0 <= text[i] <= _9:
            power = min(power * 10 + np.int64(text[i] - _0), 100_000)
            i += ONE
        if i == begin:
            return 0.0, start
        exponent += -power if minus else power
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
def parse_points(text, values, sizes, counts, hard):
    """Parse lists of polylines, separated by commas, into flat arrays.

    Args:
        text: The bytes.
        values: All coordinates in order.
        sizes: Number of points of each polyline.
        counts: Number of polylines of each list.
        hard: Rows ``(start, stop, index)`` of numbers that the caller must convert: their place in the text and in
            ``values``.

    Returns:
        ``REGULAR`` or ``IRREGULAR``, then the filled length of ``values``, ``sizes``, ``counts`` and ``hard``, and the
        number of coordinates of a point (0 if there are no points). The length of all output arrays is the number of
        commas in the text plus one.
    """
    end = U(len(text))
    i = ZERO
    depth, state = 0, _FIRST
    filled, lines, lists, left, dimension = 0, 0, 0, 0, 0
    point = 0  # start of the current point in ``values``
    sizes[0] = counts[0] = 0
    bad = (IRREGULAR, 0, 0, 0, 0, 0)
    while i < end:
        c = text[i]
        if c == _COMMA:
            if state != _AFTER:
                return bad
            state = _NEXT
            i += ONE
        elif c == _OPEN:
            if state == _AFTER or depth == DEPTH_OF_NUMBERS:
                return bad
            depth += 1
            if depth == DEPTH_OF_NUMBERS:
                point = filled
            elif depth == 2:
                sizes[lines] = 0
            else:
                counts[lists] = 0
            state = _FIRST
            i += ONE
        elif c == _CLOSE:
            if state == _NEXT or depth == 0:
                return bad
            if depth == DEPTH_OF_NUMBERS:
                width = filled - point
                if dimension == 0:
                    dimension = width
                if width != dimension or width < 2 or width > 3:
                    return bad
                sizes[lines] += 1
            elif depth == 2:
                counts[lists] += 1
                lines += 1
            else:
                lists += 1
            depth -= 1
            state = _AFTER
            i += ONE
        elif c in _BLANKS:
            i += ONE
        else:
            if depth != DEPTH_OF_NUMBERS or state == _AFTER:
                return bad
            value, stop = _number(text, i, end)
            if stop == i:
                return bad
            if value != value:
                hard[left, 0], hard[left, 1], hard[left, 2] = i, stop, filled
                left += 1
            values[filled] = value
            filled += 1
            i = stop
            state = _AFTER
    if depth != 0 or state == _NEXT:
        return bad
    return REGULAR, filled, lines, lists, left, dimension
