"""Segments and rectangles of cells that pay at given prices, for network PLD. See ``network.py``.

A segment is a row of cells on a diagonal of a block. Only the entries at its ends count. A rectangle is a set of
parallel segments of the same length, two diagonals apart from each other. Only the entries at its corners count.
"""

import math

from mapgauge.kernels._jit import jit
from mapgauge.kernels.network import TOLERANCE, entry_of, moved, slack_of, turned

LOOSE = 1e-6  # a cell of the programme with more slack is not assigned


@jit
def _end(block, i, j, one, other, second, half, mark, dual):
    """Return what the entries ``one`` and ``other`` of a cell cost at the end of a segment."""
    cost = 0.0
    for z in (one, other):
        e = entry_of(block, i, j, z, second)
        if e >= 0:
            sign = 1.0 if z < 2 else -1.0
            cost += sign * dual[e] if mark[e] else half
    return cost


@jit
def _reach(block, i, j, way, s, most, second, half, u, v, mark, dual, saving):
    """Return what the best continuation of a segment gains, and its number of cells.

    The segment is at ``i, j``. It goes on along the first line if ``way`` is 1, against it if -1, and makes ``s`` steps
    on the second line for each step along the first. It gets no more than ``most`` cells.
    """
    one, other = (1, 3 if s > 0 else 2) if way > 0 else (0, 2 if s > 0 else 3)
    best, length = -_end(block, i, j, one, other, second, half, mark, dual), 0
    total = top = 0.0
    for t in range(most):
        i, j = moved(i, block[1], block[2], way), moved(j, block[4], block[5], way * s)
        if i < 0 or j < 0:
            break
        total += saving[block[6] + i * block[4] + j] - u[block[0] + i] - v[block[3] + j]
        top = max(top, total)
        if total < top - 4 * half:  # two segments are better than one
            break
        if total > best - 2 * half:
            value = total - _end(block, i, j, one, other, second, half, mark, dual)
            if value > best:
                best, length = value, t + 1
    return best, length


@jit
def _segment(block, i, j, s, own, second, half, u, v, mark, dual, saving):
    """Return what the best segment through a cell gains, the number of its cells before this one, and of all.

    ``own`` is what the cell saves, less its prices.
    """
    most = min(block[1], block[4]) - 1
    gain, back = _reach(block, i, j, -1, s, most, second, half, u, v, mark, dual, saving)
    ahead, length = _reach(block, i, j, 1, s, most - back, second, half, u, v, mark, dual, saving)
    return own + gain + ahead, back, back + length + 1


@jit
def _strip(block, i, j, a, b, da, db, count, u, v, saving):
    """Return what the cells of a strip save, less their prices; a large loss if a cell is outside."""
    total = 0.0
    for t in range(count):
        k, l = turned(block, i, j, a + t * da, b + t * db)  # noqa: E741
        if k < 0:
            return -1e9
        total += saving[block[6] + k * block[4] + l] - u[block[0] + k] - v[block[3] + l]
    return total


@jit
def _corner(block, i, j, a, b, z, half, mark, dual):
    k, l = turned(block, i, j, a, b)  # noqa: E741
    e = entry_of(block, k, l, z, 0)
    if e < 0:
        return 0.0
    return (dual[e] if z < 2 else -dual[e]) if mark[e] else half


@jit
def _without_corners(total, block, i, j, first, last, left, right, half, mark, dual):
    """Return what a rectangle gains: the gain of its cells less what its four corners cost.

    It reaches from step ``first`` to step ``last`` along the diagonal, and from ``left`` to ``right`` across it.
    """
    total -= _corner(block, i, j, last, left, 1, half, mark, dual)
    total -= _corner(block, i, j, first, right, 0, half, mark, dual)
    total -= _corner(block, i, j, first, left, 2, half, mark, dual)
    return total - _corner(block, i, j, last, right, 3, half, mark, dual)


@jit
def _grow_rectangle(block, i, j, own, half, u, v, mark, dual, saving, sides):
    """Grow a rectangle of cells on parallel diagonals from a cell. Returns its gain. Only its corners cost something.

    ``sides`` has its first and last step along and across the diagonal, written.
    """
    total = own
    sides[:] = 0
    grows = True
    while grows:
        grows = False
        for side in range(4):
            along, across = sides[1] - sides[0] + 1, sides[3] - sides[2] + 1
            if side < 2:
                a = sides[0] - 1 if side == 0 else sides[1] + 1
                more = _strip(block, i, j, a, sides[2], 0, 1, across, u, v, saving)
            else:
                b = sides[2] - 1 if side == 2 else sides[3] + 1
                more = _strip(block, i, j, sides[0], b, 1, 0, along, u, v, saving)
            if more > 0 and (along if side < 2 else across) < min(block[1], block[4]) // 2:
                total += more
                sides[side] += 1 if side % 2 else -1
                grows = True
    return _without_corners(total, block, i, j, sides[0], sides[1], sides[2], sides[3], half, mark, dual)


@jit
def find_rectangles(blocks, saving, near, half, u, v, mark, dual, chosen, done, every, sides, columns):
    """Find rectangles of cells that pay. Returns the number of new columns.

    If the direction of lines does not matter, cells on parallel diagonals can share their ends: only the four corners
    of a rectangle cost something. The near cells of a rectangle become columns, and all others if ``every`` is
    true. The arguments are those of ``find_segments``. ``sides`` is room for four numbers.
    """
    count = 0
    done[0] = 0
    for k in range(len(near)):
        c, b = near[k]
        block = blocks[b]
        i, j = (c - block[6]) // block[4], (c - block[6]) % block[4]
        own = saving[c] - u[block[0] + i] - v[block[3] + j]
        if own <= TOLERANCE or chosen[c] or done[0, c]:
            continue
        pays = _grow_rectangle(block, i, j, own, half, u, v, mark, dual, saving, sides) > TOLERANCE
        for a in range(sides[0], sides[1] + 1):
            for across in range(sides[2], sides[3] + 1):
                p, q = turned(block, i, j, a, across)
                at = block[6] + p * block[4] + q
                done[0, at] = 1
                if pays and (every or saving[at] > 0.0) and not chosen[at] and count < len(columns):
                    chosen[at] = True
                    row = columns[count]
                    row[0], row[1], row[2], row[3], row[4] = b, p, q, 1, 1
                    count += 1
    return count


@jit
def find_segments(blocks, saving, near, directed, second, half, u, v, mark, dual, chosen, done, gains, columns):
    """Find segments that pay: those with a negative reduced cost. Returns the number of new columns.

    A segment is a row of cells on a diagonal. Only the entries at its ends count. Its near cells become columns of the
    programme. Cells beyond the cutoff save nothing, but a diagonal that goes on breaks fewer links. A row of them
    becomes one column. See ``fill_columns`` for the rows of ``columns``.

    Args:
        blocks: ``(blocks, 7)``.
        saving: ``(cells,)``.
        near: ``(near cells, 2)``, each with its block.
        directed: Whether lines are followed in the same direction only.
        second: Where the entries of the second matrix begin, or 0.
        half: The cost of one unit of an entry.
        u: The price of each point of the first side.
        v: The same for the second side.
        mark: ``(entries,)``, whether an entry has a price; an entry without one costs ``half`` for each unit.
        dual: ``(entries,)``, the prices.
        chosen: ``(cells,)``, whether a cell is a column; read and written.
        done: ``(2, cells)``, written.
        gains: ``(most,)``, written: what one unit of the segment of a row of far cells gains, infinity for near cells.
        columns: ``(most, 5)``, written.
    """
    count = 0
    done[:] = 0
    for k in range(len(near)):
        c, b = near[k]
        block = blocks[b]
        i, j = (c - block[6]) // block[4], (c - block[6]) % block[4]
        own = saving[c] - u[block[0] + i] - v[block[3] + j]
        if own <= TOLERANCE or (chosen[c] and slack_of(block, i, j, second, u, v, dual, saving[c]) > LOOSE):
            continue
        for way in range(1 if directed else 2):
            if done[way, c]:
                continue
            s = 1 - 2 * way
            gain, back, length = _segment(block, i, j, s, own, second, half, u, v, mark, dual, saving)
            pays, far = gain > TOLERANCE, False
            p, q = (i - back) % block[1], (j - s * back) % block[4]
            for _ in range(length):
                at = block[6] + p * block[4] + q
                done[way, at] = 1
                if far and saving[at] == 0.0:
                    columns[count - 1, 3 + way] += s
                elif pays and not chosen[at] and count < len(columns):
                    row = columns[count]
                    row[0], row[1], row[2], row[3], row[4] = b, p, q, 1, s
                    count += 1
                    far = saving[at] == 0.0
                    chosen[at] = not far
                    gains[count - 1] = gain if far else math.inf
                else:
                    far = False
                p, q = moved(p, block[1], block[2], 1), moved(q, block[4], block[5], s)
    return count


@jit
def _widen(block, corner, along, across, total, half, u, v, mark, dual, saving, done, row):
    """Widen a segment to the rectangle that gains most. Returns its gain. ``row`` gets it if it gains more."""
    i, j, best = corner[0], corner[1], total
    longest = max(along, across, min(block[1], block[4]) // 2)
    total = _strip(block, i, j, 0, 0, 1 if along > 1 else 0, 0 if along > 1 else 1, along * across, u, v, saving)
    grows = True
    while grows:
        grows = False
        for side in range(4):
            if (along if side < 2 else across) >= longest:
                continue
            if side < 2:
                more = _strip(block, i, j, -1 if side == 0 else along, 0, 0, 1, across, u, v, saving)
            else:
                more = _strip(block, i, j, 0, -1 if side == 2 else across, 1, 0, along, u, v, saving)
            if more <= 0:
                continue
            grows = True
            total += more
            if side == 0 or side == 2:
                i, j = turned(block, i, j, -1 if side == 0 else 0, -1 if side == 2 else 0)
            along, across = along + (side < 2), across + (side > 1)
            value = _without_corners(total, block, i, j, 0, along - 1, 0, across - 1, half, mark, dual)
            if value > best:
                best = value
                row[1], row[2], row[3], row[4] = i, j, along, across
    for a in range(along):
        for b in range(across):
            k, l = turned(block, i, j, a, b)  # noqa: E741
            for way in range(2):
                done[way, block[6] + k * block[4] + l] |= 2  # a segment there is not widened again
    return best


@jit
def find_whole(blocks, saving, near, directed, second, half, u, v, mark, dual, done, gains, columns):
    """Find segments and rectangles that pay, each as one column. Returns the number of new columns.

    The arguments are those of ``find_segments``. ``gains`` is written: what one unit of each column gains.
    """
    count = 0
    done[:] = 0
    for k in range(len(near)):
        c, b = near[k]
        block = blocks[b]
        i, j = (c - block[6]) // block[4], (c - block[6]) % block[4]
        own = saving[c] - u[block[0] + i] - v[block[3] + j]
        if own <= TOLERANCE:
            continue
        for way in range(1 if directed else 2):
            if done[way, c] & 1:
                continue
            s = 1 - 2 * way
            gain, back, length = _segment(block, i, j, s, own, second, half, u, v, mark, dual, saving)
            for t in range(-back, length - back):
                p, q = (i + t) % block[1], (j + s * t) % block[4]
                done[way, block[6] + p * block[4] + q] |= 1
            if count + 1 >= len(columns):
                return count
            if way == 0:
                p, q = turned(block, i, j, -back, 0)
                along, across = length, 1
            else:
                p, q = turned(block, i, j, 0, back - length + 1)
                along, across = 1, length
            row = columns[count]
            row[0], row[1], row[2], row[3], row[4] = b, p, q, along, across
            gains[count] = gain
            count += gain > TOLERANCE
            if not directed and length > 1 and done[way, c] < 2:
                row = columns[count]
                row[0] = b
                wide = _widen(block, (p, q), along, across, gain, half, u, v, mark, dual, saving, done, row)
                gains[count] = wide
                count += wide > max(gain, TOLERANCE)
    return count
