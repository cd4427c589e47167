"""The heaviest increasing chain over a band: the dynamic programme behind SOSPA (lemma 1, written with gains).

``prefix[p]`` is the best total gain of a chain among the rows seen so far and the first ``p`` columns. It never
decreases with ``p``. A row changes it only from the row's first close column on. So each row processes its runs only,
carries the value at a run's end to the right as far as it is an improvement, and stops. Columns that no row has changed
yet have the value of the last changed column and are not stored.

The same band serves every reading of the two lines. Rows are read forwards or backwards, from any row on (closed x).
Columns are read from any cut on (closed y; position ``p`` is column ``(p - 1 + cut) mod m``).

A chain can be confined to the strip between two other chains of a closed line, and it can be continued from the state
that earlier rows left behind. Only long lines need this, and only for them it is compiled (see ``sospa.py``).

Open lines with too many close pairs of points to store: the rows are processed a stretch at a time.

The dynamic programme needs only the row before (``prefix``). So a stretch of rows is filled into the band, processed,
and overwritten by the next. To find the matching as well, the state before each stretch is saved. Then the stretches
are processed again from the last to the first, each from its saved state, and each is traced. With stretches of about
the square root of the number of rows, memory grows with the 1.5th power of the length and not with its square. The
chain is the same as the chain of the whole band, to the last bit.
"""

from typing import NamedTuple

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, most
from mapgauge.kernels.gains import ALIGNED, AT, HIGH, LOW, PREFIX, REST, ROW_BEST, fill_gains
from mapgauge.kernels.lines import BLOCK, length_of

UP = 0
LEFT = 1
MATCH = 2


class Reading(NamedTuple):
    """How two lines are read together: rows from ``first_row`` on, columns from ``cut`` on."""

    first_row: int
    backward: bool
    cut: int


@jit
def row_at(t, n, reading):
    """Index of the ``t``-th row in reading order."""
    first_row = reading.first_row
    if reading.backward:
        if t <= first_row:
            return first_row - t
        return first_row + n - t
    if first_row + t < n:
        return first_row + t
    return first_row + t - n


@jit
def rest_by_rows(band, n, reading):
    """Fill ``REST`` from ``ROW_BEST``, because no row can contribute more than its largest gain."""
    band.work[REST, n] = 0.0
    for back in range(n):
        t = n - ONE - back
        band.work[REST, t] = band.work[REST, t + ONE] + band.work[ROW_BEST, row_at(t, n, reading)]


@jit
def _positions(low, high, at, cut, m, wrapped):
    """The part of a run before (wrapped) or after the cut: positions ``low .. high``, and where its gains start."""
    if wrapped:
        if low >= cut:
            return ZERO, ZERO, at
        return low + (m - cut), min(high, cut) + (m - cut), at
    if high <= cut:
        return ZERO, ZERO, at
    if low < cut:
        return ZERO, high - cut, at + (cut - low)
    return low - cut, high - cut, at


@jit
def _strip_at(path, t, m, cut, strip):
    """The positions ``first .. behind`` of the t-th row between the chains in two slots of ``path``."""
    left, right = strip
    first = max(path[left, t], cut) - cut
    return first, max(min(path[right, t] + ONE - cut, m), first)


@jit
def _within(low, high, at, first, last):
    """The part of a run inside the positions ``first .. last``, and where its gains start."""
    begin = min(max(low, first), high)
    return begin, max(min(high, last), begin), at + (begin - low)


@jit
def _slot(r, q, wrapped):
    """Index into ``reach`` for the q-th row of run ``r``, before (wrapped) or after the cut."""
    return (r * BLOCK + q) * TWO + (ONE if wrapped else ZERO)


@jit
def _scan(prefix, gain, at, position, count, diagonal, best, move):
    """Process one run of one row. Returns this row's value at its end, and the previous row's value there."""
    for j in range(count):
        above = prefix[position + j]
        matched = diagonal + gain[at + j]
        if move is not None:
            move[at + j] = _move(matched, above, best)
        if matched > above:
            raised = matched
        else:
            raised = above
        if raised > best:
            best = raised
        prefix[position + j] = best
        diagonal = above
    return best, diagonal


@jit
def _scan_block(prefix, gain, at, step, position, count, move):
    """Process the run of all ``BLOCK`` rows of a block, column by column. Returns the last row's value at its end.

    Rows do not wait for each other: while one is at a column, the row before is already at the next. This takes a third
    of the time of one row after the other. The gains of the first row start at ``at``, and ``step`` leads to the next.
    """
    at_1 = at + step
    at_2 = at + step + step
    at_3 = at + step + step + step
    diagonal = left_0 = left_1 = left_2 = left_3 = prefix[position - ONE]
    for j in range(count):
        above = prefix[position + j]
        matched_0 = diagonal + gain[at + j]
        matched_1 = left_0 + gain[at_1 + j]
        matched_2 = left_1 + gain[at_2 + j]
        matched_3 = left_2 + gain[at_3 + j]
        best_0 = most(most(matched_0, above), left_0)
        best_1 = most(most(matched_1, best_0), left_1)
        best_2 = most(most(matched_2, best_1), left_2)
        best_3 = most(most(matched_3, best_2), left_3)
        if move is not None:
            move[at + j] = _move(matched_0, above, left_0)
            move[at_1 + j] = _move(matched_1, best_0, left_1)
            move[at_2 + j] = _move(matched_2, best_1, left_2)
            move[at_3 + j] = _move(matched_3, best_2, left_3)
        diagonal = above
        left_0 = best_0
        left_1 = best_1
        left_2 = best_2
        left_3 = best_3
        prefix[position + j] = best_3
    return left_3


@jit
def _move(matched, above, left):
    """The move by which the chain enters a cell with these three choices."""
    if left > above:
        aside = LEFT
    else:
        aside = UP
    if matched > above and matched > left:
        return MATCH
    return aside


@jit
def _extend(prefix, end, high, tail):
    """Store the positions up to ``high``; those after ``end`` have the value ``tail``. Returns the new end."""
    for p in range(end + ONE, high + ONE):
        prefix[p] = tail
    return max(end, high)


@jit
def _carry(prefix, first, last, best):
    """Raise positions from ``first`` on to ``best`` while it is larger. Returns the first position not raised."""
    p = first
    while p <= last and prefix[p] < best:
        prefix[p] = best
        p += ONE
    return p


@jit
def heaviest_chain(band, n, m, reading, floor, move, strip, end):
    """Gain of the heaviest chain, or -1 as soon as it is certain that the gain does not exceed ``floor``.

    ``REST`` must hold an upper bound of the gain from each row on; it is not used if ``floor`` is negative. ``move`` is
    either the band's array, to record the chain for ``trace``, or None if only the value is needed. ``strip`` is None,
    or the slots of the two chains in ``path`` between which the chain must stay. If ``end`` is not 0, the chain
    continues the chain in ``PREFIX``, whose positions up to ``end`` are stored.
    """
    first_run = band.first_run
    runs = band.runs
    gain = band.gain
    prefix = band.work[PREFIX]
    reach = band.reach
    rest = band.work[REST]
    cut = reading.cut
    backward = reading.backward
    prefix[ZERO] = 0.0
    t = ZERO
    while t < n:
        i = row_at(t, n, reading)
        if floor >= 0.0 and prefix[end] + rest[t] <= floor:
            return -1.0
        b = i // BLOCK
        q = i - b * BLOCK
        tail = prefix[end]  # the previous row's value at all positions that are not stored
        r = first_run[b]
        if strip is None and first_run[b + ONE] == r + ONE and (cut <= runs[r, LOW] or runs[r, HIGH] <= cut):
            # Most rows have one run, which the cut does not divide. They need none of the bookkeeping below.
            width = runs[r, HIGH] - runs[r, LOW]
            wrapped = runs[r, LOW] < cut
            if wrapped:
                low = runs[r, LOW] + (m - cut)
            else:
                low = runs[r, LOW] - cut
            at = runs[r, AT] + q * width
            high = low + width
            end = _extend(prefix, end, high, tail)
            if q == (BLOCK - ONE if backward else ZERO) and t + BLOCK <= n and (backward or i + BLOCK <= n):
                best = _scan_block(prefix, gain, at, ZERO - width if backward else width, low + ONE, width, move)
                if move is not None:  # only the last row carries its value, which is the largest
                    for k in range(BLOCK):
                        reach[_slot(r, k, wrapped)] = ZERO
                q = BLOCK - ONE - q
                t += BLOCK
            else:
                best, _ = _scan(prefix, gain, at, low + ONE, width, prefix[low], prefix[low], move)
                t += ONE
            p = _carry(prefix, high + ONE, end, best)
            if move is not None:
                if p <= end:
                    reach[_slot(r, q, wrapped)] = p - ONE
                else:
                    reach[_slot(r, q, wrapped)] = m
            continue
        if strip is not None:
            first, behind = _strip_at(band.path, t, m, cut, strip)
        best = diagonal = 0.0
        done = last = ZERO  # positions up to ``done`` have this row's value; ``last`` is the slot of the last run
        for wrapped in range(ONE if cut == ZERO else TWO):
            for r in range(first_run[b], first_run[b + ONE]):
                low = runs[r, LOW]
                high = runs[r, HIGH]
                at = runs[r, AT] + q * (high - low)
                if cut > ZERO:
                    low, high, at = _positions(low, high, at, cut, m, wrapped == ONE)
                if strip is not None:
                    low, high, at = _within(low, high, at, first, behind)
                if low == high:
                    continue
                end = _extend(prefix, end, high, tail)
                if done == ZERO:
                    best = diagonal = prefix[low]
                else:
                    p = done + ONE
                    while p <= low and prefix[p] < best:
                        diagonal = prefix[p]
                        prefix[p] = best
                        p += ONE
                    if move is not None:
                        reach[last] = p - ONE
                    if p <= low:  # the value was not carried to this run: the previous row was better
                        best = diagonal = prefix[low]
                best, diagonal = _scan(prefix, gain, at, low + ONE, high - low, diagonal, best, move)
                done = high
                last = _slot(r, q, wrapped == ONE)
        if done > ZERO:
            p = _carry(prefix, done + ONE, end, best)
            if move is not None:
                if p <= end:
                    reach[last] = p - ONE
                else:
                    reach[last] = m
        t += ONE
    prefix[ZERO] = end  # the value there is 0, so its place is free
    if end > ZERO:
        return prefix[end]
    return 0.0


@jit
def _last_run_before(band, t, i, position, cut, m, strip):
    """The last part of a run in row ``i`` that starts before ``position``; low equals high if there is none."""
    b = i // BLOCK
    q = i - b * BLOCK
    begin = band.first_run[b]
    count = band.first_run[b + ONE] - band.first_run[b]
    for half in range(ONE if cut == ZERO else TWO):
        wrapped = cut != ZERO and half == ZERO
        for back in range(count):
            r = begin + (count - ONE - back)
            low = band.runs[r, LOW]
            high = band.runs[r, HIGH]
            low, high, at = _positions(low, high, band.runs[r, AT] + q * (high - low), cut, m, wrapped)
            if strip is not None:
                first, behind = _strip_at(band.path, t, m, cut, strip)
                low, high, at = _within(low, high, at, first, behind)
            if low < high and low < position:
                return low, high, at, band.reach[_slot(r, q, wrapped)]
    return ZERO, ZERO, ZERO, ZERO


@jit
def trace(band, n, m, reading, strip, p, k):
    """Write the matched (row, column) pairs of the recorded chain up to position ``p``, last pair first.

    The pairs are added behind the first ``k`` pairs of the band. Returns their number, and the position before the
    first row.
    """
    cut = reading.cut
    pairs = band.pairs
    t = n
    while t > ZERO and p > ZERO:
        i = row_at(t - ONE, n, reading)
        low, high, at, reach = _last_run_before(band, t - ONE, i, p, cut, m, strip)
        if p > high:
            if p > reach:  # the row did not change this position (if it has no run here, reach is 0)
                t -= ONE
                continue
            p = high
        how = band.move[at + (p - ONE - low)]
        if how == MATCH:
            column = p - ONE + cut
            pairs[k, 0] = i
            if column < m:
                pairs[k, 1] = column
            else:
                pairs[k, 1] = column - m
            k += ONE
        if how != LEFT:
            t -= ONE
        if how != UP:
            p -= ONE
    return k, p


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
    n = length_of(lines, x)
    m = length_of(lines, y)
    s = end = ZERO
    gain = 0.0
    prefix = band.work[PREFIX]
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
    n = length_of(lines, x)
    p = length_of(lines, y)
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
