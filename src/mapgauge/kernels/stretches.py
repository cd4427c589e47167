"""Open lines with too many close pairs of points to store: the rows are processed a stretch at a time.

The dynamic programme needs only the row before (``prefix``). So a stretch of rows is filled into the band, processed,
and overwritten by the next. To find the matching as well, the state before each stretch is saved. Then the stretches
are processed again from the last to the first, each from its saved state, and each is traced. With stretches of about
the square root of the number of rows, memory grows with the 1.5th power of the length and not with its square. The
chain is the same as that of the whole band, to the last bit.
"""

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit
from mapgauge.kernels.band import ALIGNED, PREFIX
from mapgauge.kernels.chain import Reading, heaviest_chain, trace
from mapgauge.kernels.gains import fill_gains
from mapgauge.kernels.lines import length_of


@jit
def _stretch(band, n, m, backward, s):
    """First row and number of rows of the ``s``-th stretch in reading order; no rows after the last."""
    rows = U(len(band.gain)) // m // ALIGNED * ALIGNED
    count = (n + rows - ONE) // rows
    if s >= count:
        return ZERO, ZERO
    first = (count - ONE - s if backward else s) * rows
    return first, min(rows, n - first)


@jit
def _process(lines, x, y, first, rows, backward, end, cutoff, order, band, move):
    """Continue the chain over one stretch. Returns its gain so far."""
    fill_gains(lines, x, y, first, rows, cutoff, order, band)
    reading = Reading(rows - ONE if backward else ZERO, backward, ZERO)
    return heaviest_chain(band, rows, length_of(lines, y), reading, -1.0, move, None, end)


@jit
def gain_by_stretches(lines, x, y, backward, cutoff, order, band):
    """Gain of the heaviest chain of two open lines. Saves the state before each stretch."""
    n, m = length_of(lines, x), length_of(lines, y)
    s = end = ZERO
    gain, prefix = 0.0, band.work[PREFIX]
    first, rows = _stretch(band, n, m, backward, s)
    while rows > ZERO:
        at = s * (m + TWO)
        for p in range(ONE, end + ONE):
            band.saved[at + p] = prefix[p]
        band.saved[at] = end  # position 0 always has the value 0, so its place is free
        gain = _process(lines, x, y, first, rows, backward, end, cutoff, order, band, None)
        end = U(prefix[ZERO])
        s += ONE
        first, rows = _stretch(band, n, m, backward, s)
    return gain


@jit
def trace_by_stretches(lines, x, y, backward, cutoff, order, band):
    """Write the pairs of the chain whose states are saved, last pair first. Returns their number."""
    n, p = length_of(lines, x), length_of(lines, y)
    m = p
    k = s = ZERO
    while _stretch(band, n, m, backward, s)[1] > ZERO:
        s += ONE
    while s > ZERO and p > ZERO:
        s -= ONE
        first, rows = _stretch(band, n, m, backward, s)
        at = s * (m + TWO)
        end = U(band.saved[at])
        for q in range(ONE, end + ONE):
            band.work[PREFIX, q] = band.saved[at + q]
        _process(lines, x, y, first, rows, backward, end, cutoff, order, band, band.move)
        before = k
        reading = Reading(rows - ONE if backward else ZERO, backward, ZERO)
        k, p = trace(band, rows, m, reading, None, p, k)
        for a in range(before, k):
            band.pairs[a, 0] += first
    return k


@jit
def match_by_stretches(lines, x, y, directed, guess_backward, cutoff, order, band):
    """Write the pairs of the best matching of two open lines, last pair first.

    Returns their number and whether y is read backwards. Forwards wins a tie.
    """
    backward = not directed and guess_backward
    gain = gain_by_stretches(lines, x, y, backward, cutoff, order, band)
    if not directed:
        other = gain_by_stretches(lines, x, y, not backward, cutoff, order, band)
        if other > gain or (other == gain and backward):
            backward = not backward
        else:  # the states of the other direction are saved
            gain_by_stretches(lines, x, y, backward, cutoff, order, band)
    return trace_by_stretches(lines, x, y, backward, cutoff, order, band), backward
