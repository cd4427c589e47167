"""Pairs of points of two networks of lines, and the link terms between them, for network PLD.

A block is a pair of lines, one of each side. Its cells are the pairs of their points, row by row. A link term compares
cells of one block only: with ``W`` the assignment, entry ``(k, l)`` of a block is

    sum of W[i, l] over the neighbours i of k    less    sum of W[k, j] over the neighbours j of l

The entries of a block are numbered as its cells. If the direction of lines matters, there are two such matrices, one
along the lines and one against them, and the entries of the second follow those of all blocks of the first.

A row of ``blocks`` has the first point, the number of points and whether the line is a ring, for both lines, and the
first cell of the block.

A segment is a row of cells on a diagonal of a block; only the entries at its ends count. A rectangle is a set of
parallel segments of the same length, two diagonals apart; only the entries at its corners count.

Arguments of many kernels: ``saving`` is what each cell saves, and ``near`` the cells within the cutoff, each with its
block. ``second`` is where the entries of the second matrix begin, 0 if there is one. ``half`` is the cost of one unit
of an entry, and its largest price. ``u`` and ``v`` are the prices of the points of both sides. ``mark`` says whether an
entry is in the programme, with the price ``dual``. A row of ``columns`` is a rectangle: its block, its first cell, and
its number of cells along the diagonal and across it, negative on the other side. ``directed`` says whether lines are
followed in the same direction only.
"""

import math

from mapgauge.kernels._jit import jit

TOLERANCE = 1e-9  # a column that may save less than this is left out
LOOSE = 1e-6  # a cell of the programme with more slack is not assigned


@jit
def moved(i, n, ring, step):
    """Return the neighbour of point ``i`` of ``n``, or -1 if there is none."""
    k = i + step
    if 0 <= k < n:
        return k
    return (k + n) % n if ring else -1


@jit
def entry_of(block, i, j, z, second):
    """Return the ``z``-th entry that a cell changes, or -1. ``z`` below 2 adds to it, the others subtract.

    ``second`` is where the entries of the second matrix begin; 0 if there is one matrix.
    """
    step = -1 if z == 0 or z == 2 else 1
    shift = second if z == 1 or z == 2 else 0
    if z < 2:
        k = moved(i, block[1], block[2], step)
        return -1 if k < 0 else shift + block[6] + k * block[4] + j
    k = moved(j, block[4], block[5], step)
    return -1 if k < 0 else shift + block[6] + i * block[4] + k


@jit
def fill_savings(x, y, blocks, weight, cutoff, saving):
    """Write what each cell saves: the smaller confidence times one minus the distance over the cutoff, or 0.

    Points are ``(dimension, points)``. ``weight`` is the smaller confidence of both lines of each block.
    """
    limit = 1.001 * cutoff * cutoff  # a square root is needed only for pairs that may be near
    for b in range(len(blocks)):
        block = blocks[b]
        width = block[4]
        for i in range(block[1]):
            row = saving[block[6] + i * width : block[6] + (i + 1) * width]
            for z in range(len(x)):
                at, other = x[z, block[0] + i], y[z, block[3] : block[3] + width]
                for j in range(width):
                    difference = at - other[j]
                    row[j] += difference * difference
            for j in range(width):
                distance = math.sqrt(row[j]) if row[j] < limit else cutoff
                row[j] = weight[b] * (1.0 - distance / cutoff) if distance < cutoff else 0.0


@jit
def turned(block, i, j, a, b):
    """Return the cell ``a`` steps along the diagonal and ``b`` steps across it, or -1, -1."""
    k, l = i + a - b, j + a + b  # noqa: E741
    if (not block[2] and (k < 0 or k >= block[1])) or (not block[5] and (l < 0 or l >= block[4])):
        return -1, -1
    while k < 0:  # faster than a remainder
        k += block[1]
    while k >= block[1]:
        k -= block[1]
    while l < 0:
        l += block[4]  # noqa: E741
    while l >= block[4]:
        l -= block[4]  # noqa: E741
    return k, l


@jit
def fill_columns(blocks, columns, saving, second, net, total, cell_start, cell, points, start, entry, value):
    """Write the total, the cells, their points ``(cells, 2)`` and the entries of columns.

    ``net`` has a place for each entry, 0 before and after. ``cell_start`` and ``start`` say where the cells and the
    entries of each column begin, and ``value`` what one unit of the column adds to an entry.
    """
    at = size = 0
    for k in range(len(columns)):
        column = columns[k]
        block = blocks[column[0]]
        side = 1 if column[4] > 0 else -1
        cell_start[k], start[k], total[k] = at, size, 0.0
        for step in range(2):  # the second time, the entries are known
            for a in range(column[3]):
                for b in range(abs(column[4])):
                    i, j = turned(block, column[1], column[2], a, side * b)
                    if step == 0:
                        c = block[6] + i * block[4] + j
                        cell[at], points[at, 0], points[at, 1] = c, block[0] + i, block[3] + j
                        total[k] += saving[c]
                        at += 1
                    for z in range(4):
                        e = entry_of(block, i, j, z, second)
                        if e >= 0 and step == 0:
                            net[e] += 1.0 if z < 2 else -1.0
                        elif e >= 0 and net[e] != 0.0:
                            entry[size], value[size] = e, net[e]
                            net[e] = 0.0
                            size += 1
    cell_start[len(columns)], start[len(columns)] = at, size


@jit
def fill_programme(
    cell_start, points, entry_start, entry, change, first, every, rows, row, times, place, start, index, value
):
    """Write columns as the linear programme has them. Return the numbers of new rows and of columns.

    Two columns follow for each new row of an entry: what the entry is above 0, and what it is below. The columns are
    those of ``fill_columns``, and ``first`` and ``every`` the number of points of the first side and of both. ``row``
    is the row of each point of both sides, then of each entry, or -1. ``times`` counts points, 0 before and after.
    """
    new = at = 0
    for k in range(len(cell_start) - 1):
        start[k] = at
        cells = 2 * (cell_start[k + 1] - cell_start[k])
        for c in range(cell_start[k], cell_start[k + 1]):
            times[points[c, 0]] += 1.0
            times[first + points[c, 1]] += 1.0
        for t in range(cells + entry_start[k + 1] - entry_start[k]):
            if t < cells:
                c = cell_start[k] + t // 2
                p = points[c, 0] if t % 2 == 0 else first + points[c, 1]
                number = times[p]
                times[p] = 0.0
                if number == 0.0:
                    continue
            else:
                e = entry_start[k] + t - cells
                p, number = every + entry[e], change[e]
            if row[p] < 0:
                row[p] = rows + new
                place[new] = p
                new += 1
            index[at], value[at] = row[p], number
            at += 1
    columns = len(cell_start) - 1
    for r in range(new):
        if place[r] >= every:
            for sign in (-1.0, 1.0):
                start[columns] = at
                index[at], value[at] = rows + r, sign
                columns += 1
                at += 1
    start[columns] = at
    return new, columns


@jit
def add_to_entries(blocks, assigned, second, entries):
    """Add the assignment of all cells to the entries that they change."""
    for b in range(len(blocks)):
        block = blocks[b]
        c = block[6]
        for i in range(block[1]):
            for j in range(block[4]):
                if assigned[c] > 0:
                    for z in range(4):
                        e = entry_of(block, i, j, z, second)
                        if e >= 0:
                            entries[e] += assigned[c] if z < 2 else -assigned[c]
                c += 1


@jit
def slack_of(block, i, j, second, u, v, y, saving):
    """Return by how much the prices of a cell exceed what it saves."""
    slack = u[block[0] + i] + v[block[3] + j] - saving
    for z in range(4):
        e = entry_of(block, i, j, z, second)
        if e >= 0:
            slack += y[e] if z < 2 else -y[e]
    return slack


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
    """Find segments that pay: those with a negative reduced cost. Return the number of new columns.

    Near cells of a segment become columns of the programme. Cells beyond the cutoff save nothing, but a diagonal that
    goes on breaks fewer links; a row of them becomes one column. ``chosen`` says whether a cell is a column. ``done``
    is ``(2, cells)``. ``gains`` is what one unit of the segment of a row of far cells gains, infinity for near cells.
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
