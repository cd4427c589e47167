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

from mapgauge.kernels._jit import ONE, TWO, ZERO, U, jit, most
from mapgauge.kernels.chain import Reading, heaviest_chain, row_at, trace
from mapgauge.kernels.gains import AT, CUT_GAIN, EARLY, HIGH, LATE, LOW, REST, ROW_BEST, TRIED
from mapgauge.kernels.lines import BLOCK

FEW = 24  # cuts that are tried one by one before the gains of all cuts are computed; these cost about as much
# slots of ``path`` for the cuts at 0 and at m; the others follow
AT_0 = ZERO
AT_M = ONE


@jit
def fewest_close(band, n):
    """The row with the fewest close columns, the cheapest first row to read a closed x from."""
    first_run = band.first_run
    runs = band.runs
    gain = band.gain
    best_row = ZERO
    fewest = ~ZERO
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
            best_row = i
            fewest = close
    return best_row


@jit
def _carry_back(values, first, last, best):
    """Raise positions from ``last`` down to ``first`` to ``best`` while it is larger. Values fall with the position."""
    p = last + ONE
    while p > first and values[p - ONE] < best:
        p -= ONE
        values[p] = best


@jit
def _rest_over_two_rounds(band, n, m, reading, promise, floor):
    """Fill ``REST`` with the gains of the heaviest chains over the double round, from each row on.

    Returns the column at which the chain over all rows begins, and whether its gain exceeds ``floor``. Stops as soon as
    the gain cannot exceed it. This is the mirror image of ``heaviest_chain``: rows and columns are processed from their
    ends, and positions before ``begin`` have the value at ``begin``.

    ``late[p]`` is the best total gain among the rows seen so far and the columns from ``p`` on in the second round.
    ``early[p]`` is the same for chains that begin in the first round. Behind a match in the first round, a chain may
    continue anywhere in the second, so with the rows before it gains up to ``late[begin]``. A row of the two rounds is
    processed in one loop.
    """
    first_run = band.first_run
    runs = band.runs
    gain = band.gain
    rest = band.work[REST]
    late = band.work[LATE]
    early = band.work[EARLY]
    late[m] = early[m] = rest[n] = 0.0
    begin = m
    first_column = ZERO
    for back in range(n):
        t = n - ONE - back
        if rest[t + ONE] + promise <= floor:
            return ZERO, False
        i = row_at(t, n, reading)
        promise -= band.work[ROW_BEST, i]
        b = i // BLOCK
        later = late[begin]
        earlier = early[begin]
        best = best_early = 0.0
        column = column_early = ZERO  # where this row last raised the value
        done = m  # positions from here on have this row's value
        for k in range(first_run[b + ONE] - first_run[b]):
            r = first_run[b + ONE] - ONE - k
            low = runs[r, LOW]
            high = runs[r, HIGH]
            at = runs[r, AT] + (i - b * BLOCK) * (high - low)
            for p in range(low, begin):
                late[p] = later
                early[p] = earlier
            begin = min(begin, low)
            diagonal = late[high]
            diagonal_early = early[high]
            if done < m:
                _carry_back(late, high, done - ONE, best)
                _carry_back(early, high, done - ONE, best_early)
            best = most(best, diagonal)
            best_early = most(best_early, diagonal_early)
            for j in range(high - low):
                p = high - ONE - j
                g = gain[at + (p - low)]
                behind = late[p]
                behind_early = early[p]
                raised = most(diagonal + g, behind)
                raised_early = most(most(diagonal_early, later) + g, behind_early)
                if raised > best:
                    column = p
                if raised_early > best_early:
                    column_early = p
                best = most(raised, best)
                best_early = most(raised_early, best_early)
                late[p] = best
                early[p] = best_early
                diagonal = behind
                diagonal_early = behind_early
            done = low
        if done < m:
            _carry_back(late, begin, done - ONE, best)
            _carry_back(early, begin, done - ONE, best_early)
        rest[t] = most(late[begin], early[begin])
        if rest[t] > rest[t + ONE]:
            if late[begin] == rest[t]:
                first_column = column
            else:
                first_column = column_early
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
    t = ZERO
    column = reading.cut
    for a in range(matched):
        i = U(band.pairs[matched - ONE - a, 0])
        j = U(band.pairs[matched - ONE - a, 1])
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
    band.work[CUT_GAIN, reading.cut] = heaviest_chain(band, n, m, reading, -1.0, band.move, strip, ZERO)
    matched, _ = trace(band, n, m, reading, strip, m, ZERO)
    _record_path(band, n, m, reading, matched, slot)


@jit
def gains_of_cuts(band, n, m, first_row, backward):
    """Fill ``CUT_GAIN`` with the gain of the heaviest chain of every cut, by divide and conquer.

    The cuts are the nodes of a binary tree, and a node is visited before its children. A chain is needed until both
    subtrees of its node are done, so each level of the tree needs one slot.
    """
    _gain_of_cut(band, n, m, Reading(first_row, backward, ZERO), None, AT_0)
    for t in range(n):
        band.path[AT_M, t] = band.path[AT_0, t] + m
    first = ZERO
    width = ONE
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
def best_cut(band, n, m, first_row, backward, promise, floor, move, long):
    """The gain of the heaviest chain over all cuts of a closed y, and its cut; -1 if no gain exceeds ``floor``.

    ``ROW_BEST`` must be filled, and ``promise`` is its sum. Unless ``long`` is None, the gains of all cuts are computed
    at once after a few cuts. The first chain, which is usually the best, is recorded in ``move`` unless that is None.
    Also returns whether a chain was recorded, and whether it is the best.
    """
    reading = Reading(first_row, backward, ZERO)
    cut, promising = _rest_over_two_rounds(band, n, m, reading, promise, floor)
    if not promising:
        return -1.0, ZERO, False, False
    rest = band.work[REST]
    tried = band.work[TRIED]
    for j in range(m):
        tried[j] = 0.0
    tried[cut] = 1.0
    best = max(floor, heaviest_chain(band, n, m, Reading(first_row, backward, cut), floor, move, None, ZERO))
    chains = 1
    first = cut
    for t in range(n):
        if rest[t] <= best:
            break
        i = row_at(t, n, reading)
        b = i // BLOCK
        for r in range(band.first_run[b], band.first_run[b + ONE]):
            low = band.runs[r, LOW]
            width = band.runs[r, HIGH] - band.runs[r, LOW]
            at = band.runs[r, AT] + (i - b * BLOCK) * width
            for k in range(width):
                j = low + k
                if band.gain[at + k] > 0.0 and tried[j] == 0.0:
                    tried[j] = 1.0
                    if long is not None and chains == FEW:
                        gains_of_cuts(band, n, m, first_row, backward)
                    if long is not None and chains >= FEW:
                        gain = band.work[CUT_GAIN, j]
                    else:
                        gain = heaviest_chain(band, n, m, Reading(first_row, backward, j), best, None, None, ZERO)
                    chains += 1
                    if gain > best:
                        best = gain
                        cut = j
    return (best if best > floor else -1.0), cut, True, cut == first and chains <= FEW
