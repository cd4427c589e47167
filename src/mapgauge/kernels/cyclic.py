"""The best cut of a closed line: the best of all cyclic shifts (eq. 7), without trying them all.

Shifting one side is enough (lemma 2), so the rows keep their order and the columns are cut. Write the columns twice.
Every cut is then a window of m columns in this double round. The heaviest chain over the *whole* double round, from
each row on, bounds all cuts at once. It needs one pass, from the last row to the first. The cut where this chain begins
is usually optimal, and its gain then equals the bound. The search then takes one bound and one chain instead of m
chains.

Otherwise the search is a branch and bound over the first matched row. If that row is i and its partner is column j,
cutting before j loses nothing. No chain that starts at row i or later can gain more than the bound for these rows.
"""

from mapgauge.kernels._jit import ONE, TWO, ZERO, jit
from mapgauge.kernels.band import AT, HIGH, LOW
from mapgauge.kernels.chain import heaviest_chain, row_at
from mapgauge.kernels.lines import BLOCK


@jit
def fewest_close(band, n):
    """The row with the fewest close columns, the cheapest first row to read a closed x from."""
    first_run, runs, gain = band.first_run, band.runs, band.gain
    best_row, fewest = ZERO, ~ZERO
    for i in range(n):
        b = i // BLOCK
        close = ZERO
        for r in range(first_run[b], first_run[b + ONE]):
            width = runs[r, HIGH] - runs[r, LOW]
            at = runs[r, AT] + (i - b * BLOCK) * width
            for c in range(at, at + width):
                if gain[c] > 0.0:
                    close += ONE
        if close < fewest:
            best_row, fewest = i, close
    return best_row


@jit
def _raise(values, begin, end, least):
    """Raise the values ``begin .. end`` to at least ``least``."""
    for p in range(begin, end):
        values[p] = values[p] if values[p] > least else least


@jit
def _rest_over_two_rounds(band, n, m, first_row, backward, promise, floor):
    """Fill ``rest`` with the gains of the heaviest chains over the double round, from each row on.

    Returns the column at which the chain over all rows begins, and whether its gain exceeds ``floor``. Stops as soon as
    the gain cannot exceed it. This is the mirror image of ``heaviest_chain``: ``suffix[p]`` is the best total gain
    among the rows seen so far and the columns from ``p`` on. Rows and columns are processed from their ends.
    """
    first_run, runs, gain, suffix, rest = band.first_run, band.runs, band.gain, band.suffix, band.rest
    for p in range(TWO * m + ONE):
        suffix[p] = 0.0
    rest[n] = 0.0
    first_column = ZERO
    for back in range(n):
        t = n - ONE - back
        if rest[t + ONE] + promise <= floor:
            return ZERO, False
        i = row_at(t, n, first_row, backward)
        promise -= band.row_best[i]
        b = i // BLOCK
        count = first_run[b + ONE] - first_run[b]
        best = diagonal = 0.0
        done = TWO * m + ONE  # positions from here on have this row's value
        column = ZERO  # where a match in this row last raised the value
        for round_ in range(TWO):
            shift = m if round_ == ZERO else ZERO
            for k in range(count):
                r = first_run[b + ONE] - ONE - k
                low, high = runs[r, LOW] + shift, runs[r, HIGH] + shift
                at = runs[r, AT] + (i - b * BLOCK) * (high - low)
                if high < done:  # the previous row's value; directly next to another run, ``diagonal`` already has it
                    diagonal = suffix[high]
                _raise(suffix, high, done, best)
                best = max(best, diagonal)
                for j in range(high - low):
                    p = high - ONE - j
                    behind = suffix[p]
                    matched = diagonal + gain[at + (p - low)]
                    raised = matched if matched > behind else behind
                    column = p if raised > best and matched > behind else column
                    best = raised if raised > best else best
                    suffix[p] = best
                    diagonal = behind
                done = low
        _raise(suffix, ZERO, done, best)
        rest[t] = suffix[ZERO]
        if rest[t] > rest[t + ONE]:
            first_column = column if column < m else column - m
    return first_column, rest[ZERO] > floor


@jit
def best_cut(band, n, m, first_row, backward, promise, floor):
    """The gain of the heaviest chain over all cuts of a closed y, and its cut; -1 if no gain exceeds ``floor``.

    ``row_best`` must be filled, and ``promise`` is its sum.
    """
    cut, promising = _rest_over_two_rounds(band, n, m, first_row, backward, promise, floor)
    if not promising:
        return -1.0, ZERO
    rest, tried = band.rest, band.tried
    for j in range(m):
        tried[j] = False
    tried[cut] = True
    best = max(floor, heaviest_chain(band, n, m, first_row, backward, cut, floor, None))
    for t in range(n):
        if rest[t] <= best:
            break
        i = row_at(t, n, first_row, backward)
        b = i // BLOCK
        for r in range(band.first_run[b], band.first_run[b + ONE]):
            low, width = band.runs[r, LOW], band.runs[r, HIGH] - band.runs[r, LOW]
            at = band.runs[r, AT] + (i - b * BLOCK) * width
            for k in range(width):
                j = low + k
                if band.gain[at + k] > 0.0 and not tried[j]:
                    tried[j] = True
                    gain = heaviest_chain(band, n, m, first_row, backward, j, best, None)
                    if gain > best:
                        best, cut = gain, j
    return (best if best > floor else -1.0), cut
