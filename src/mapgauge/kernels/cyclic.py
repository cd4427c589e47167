"""The best cut of a closed line: the best of all cyclic shifts (eq. 7), without trying them all.

Shifting one side is enough (lemma 2), so the rows keep their order and the columns are cut. Write the columns twice.
Every cut is then a window of m columns in this double round. The heaviest chain over the *whole* double round, from
each row on, bounds all cuts at once. It needs one pass, from the last row to the first. The cut where this chain begins
is usually optimal, and its gain then equals the bound. The search then takes one bound and one chain instead of m
chains.

Otherwise the search is a branch and bound over the first matched row. If that row is i and its partner is column j,
cutting before j loses nothing. No chain that starts at row i or later can gain more than the bound for these rows.

If the bound helps little, as with points that are all within a cutoff of each other, the gains of all cuts are
computed by Maes' divide and conquer. Best chains of different cuts need not cross in the double round. The chain of a
cut halfway between two others is therefore searched only in the strip between their chains. This takes O(n m log m).
"""

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit
from mapgauge.kernels.band import AT, HIGH, LOW
from mapgauge.kernels.chain import Reading, heaviest_chain, row_at, trace
from mapgauge.kernels.lines import BLOCK

FEW = 24  # cuts that are tried one by one before the gains of all cuts are computed; these cost about as much
AT_0, AT_M = ZERO, ONE  # slots of ``path`` for the cuts at 0 and at m; the others follow


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
def _rest_over_two_rounds(band, n, m, reading, promise, floor):
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
        i = row_at(t, n, reading)
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
def _slot_of(cut, m):
    """The slot for the chain of a cut: one for each number of trailing zero bits."""
    if cut == ZERO:
        return AT_0
    if cut >= m:
        return AT_M
    slot = TWO
    while cut & ONE == ZERO:
        cut >>= ONE
        slot += ONE
    return slot


@jit
def _record_path(band, n, m, reading, matched, slot):
    """Store the traced chain of a cut: the column of each row in the double round.

    A row without a match has the column after the last match. This is the path of the chain that goes down before it
    goes right.
    """
    t, column = ZERO, reading.cut
    for a in range(matched):
        i, j = U(band.pairs[matched - ONE - a, 0]), U(band.pairs[matched - ONE - a, 1])
        while row_at(t, n, reading) != i:
            band.path[slot, t] = column
            t += ONE
        band.path[slot, t] = column = j if j >= reading.cut else j + m
        t += ONE
        column += ONE
    for late in range(t, n):
        band.path[slot, late] = column


@jit
def _gain_of_cut(band, n, m, reading, strip, slot):
    """Store the gain of one cut, and its chain in a slot."""
    band.cut_gain[reading.cut] = heaviest_chain(band, n, m, reading, -1.0, band.move, strip, ZERO)
    matched, _ = trace(band, n, m, reading, strip, m, ZERO)
    _record_path(band, n, m, reading, matched, slot)


@jit
def gains_of_cuts(band, n, m, first_row, backward):
    """Fill ``cut_gain`` with the gain of the heaviest chain of every cut, by divide and conquer.

    The cuts are the nodes of a binary tree, and a node is visited before its children. A chain is needed until both
    subtrees of its node are done, so each level of the tree needs one slot.
    """
    _gain_of_cut(band, n, m, Reading(first_row, backward, ZERO), None, AT_0)
    for t in range(n):
        band.path[AT_M, t] = band.path[AT_0, t] + m
    first, width = ZERO, ONE
    while width < m:
        width <<= ONE
    while first < m:
        middle = first + (width >> ONE)
        if first < middle < m:
            strip = (_slot_of(first, m), _slot_of(first + width, m))
            _gain_of_cut(band, n, m, Reading(first_row, backward, middle), strip, _slot_of(middle, m))
        if width > TWO:
            width >>= ONE
        else:
            first += width
            width = first & (~first + ONE)  # the lowest bit: the size of the next subtree to the right


@jit
def best_cut(band, n, m, first_row, backward, promise, floor, long):
    """The gain of the heaviest chain over all cuts of a closed y, and its cut; -1 if no gain exceeds ``floor``.

    ``row_best`` must be filled, and ``promise`` is its sum. Unless ``long`` is None, the gains of all cuts are computed
    at once after a few cuts.
    """
    reading = Reading(first_row, backward, ZERO)
    cut, promising = _rest_over_two_rounds(band, n, m, reading, promise, floor)
    if not promising:
        return -1.0, ZERO
    rest, tried = band.rest, band.tried
    for j in range(m):
        tried[j] = False
    tried[cut] = True
    best = max(floor, heaviest_chain(band, n, m, Reading(first_row, backward, cut), floor, None, None, ZERO))
    chains = 1
    for t in range(n):
        if rest[t] <= best:
            break
        i = row_at(t, n, reading)
        b = i // BLOCK
        for r in range(band.first_run[b], band.first_run[b + ONE]):
            low, width = band.runs[r, LOW], band.runs[r, HIGH] - band.runs[r, LOW]
            at = band.runs[r, AT] + (i - b * BLOCK) * width
            for k in range(width):
                j = low + k
                if band.gain[at + k] > 0.0 and not tried[j]:
                    tried[j] = True
                    if long is not None and chains == FEW:
                        gains_of_cuts(band, n, m, first_row, backward)
                    if long is not None and chains >= FEW:
                        gain = band.cut_gain[j]
                    else:
                        gain = heaviest_chain(band, n, m, Reading(first_row, backward, j), best, None, None, ZERO)
                    chains += 1
                    if gain > best:
                        best, cut = gain, j
    return (best if best > floor else -1.0), cut
