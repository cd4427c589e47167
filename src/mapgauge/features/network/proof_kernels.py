"""The best runs of cells along one line, cells that pay, and the prices that prove a solution, for network PLD.

See ``kernels.py``. A run is a row of cells on a diagonal of a block: points of one line that follow the points of
another. If every point of the first side could be assigned as often as one likes, the lines of the second side would be
independent, and the best runs along one of them are found point by point. The linear programme begins with these runs.

A price of a point is at least 0, and that of an entry at most its cost. Prices prove a solution if
no cell costs less than it saves and if those of the points add up to the total of the solution.
"""

from mapgauge.features.network.kernels import TOLERANCE, entry_of, moved, slack_of, turned
from mapgauge.kernels._jit import U, jit


@jit
def _other_cell(block, e, second, up, side):
    """Return one of the cells whose slack falls if entry ``e`` goes up (or down), or -1, -1."""
    shift = second if second > 0 and e >= second else 0
    k, l = (e - shift - block[6]) // block[4], (e - shift - block[6]) % block[4]  # noqa: E741
    if second > 0:
        if side > 0:
            return -1, -1
        step = (-1 if up else 1) if shift == 0 else (1 if up else -1)
    else:
        step = 1 if side > 0 else -1
    if up:
        j = moved(l, block[4], block[5], step)
        return (k, j) if j >= 0 else (-1, -1)
    i = moved(k, block[1], block[2], step)
    return (i, l) if i >= 0 else (-1, -1)


@jit
def find_cells(blocks, saving, second, half, u, v, mark, dual, marked, chosen, columns):
    """Find cells beside entries with a price that may pay by themselves. Returns the number of new columns.

    The arguments are those of ``find_segments``. ``marked`` has the entries with a price that is not 0, each with its
    block.
    """
    count = 0
    for k in range(len(marked)):
        e, b = marked[k]
        block = blocks[b]
        for side in range(2):
            i, j = _other_cell(block, e, second, dual[e] > 0, side)
            if i < 0 or count == len(columns) or chosen[block[6] + i * block[4] + j]:
                continue
            c = block[6] + i * block[4] + j
            price = u[block[0] + i] + v[block[3] + j] - saving[c]
            for z in range(4):
                at = entry_of(block, i, j, z, second)
                if at >= 0:
                    price += (dual[at] if z < 2 else -dual[at]) if mark[at] else half
            if price < -TOLERANCE:
                chosen[c] = True
                row = columns[count]
                row[0], row[1], row[2], row[3], row[4] = b, i, j, 1, 1
                count += 1
    return count


@jit
def price_runs(blocks, columns, value, saving, second, half, u, v, mark, y):
    """Price the entries between the cells of each assigned segment, so that none of its cells pays by itself.

    The entries at the ends of a segment have a price in the programme. From its start, each cell adds what it saves
    less the prices of its points. ``value`` is how much of each column is assigned, ``y`` are the prices of the
    entries.
    """
    for k in range(len(columns)):
        column = columns[k]
        along, across = column[3], column[4]
        if value[k] <= 0.5 or max(along, across) == 1 or min(along, across) != 1:
            continue
        block = blocks[column[0]]
        near, far = (0, 1) if along > 1 else (1, 0)  # the entries of the first line before and after a cell
        carried = 0.0
        for t in range(along + across - 2):
            i, j = turned(block, column[1], column[2], t if along > 1 else 0, t if across > 1 else 0)
            if t == 0:
                e, f = entry_of(block, i, j, near, second), entry_of(block, i, j, 2, second)
                carried = (y[f] if f >= 0 else 0.0) - (y[e] if e >= 0 else 0.0)
            carried += saving[block[6] + i * block[4] + j] - u[block[0] + i] - v[block[3] + j]
            e, f = entry_of(block, i, j, far, second), entry_of(block, i, j, 3, second)
            if e < 0 or f < 0:
                continue
            if not mark[e] and not mark[f]:
                y[e], y[f] = 0.5 * carried, -0.5 * carried
            elif not mark[e]:
                y[e] = carried + y[f]
            elif not mark[f]:
                y[f] = y[e] - carried
            y[e], y[f] = min(max(y[e], -half), half), min(max(y[f], -half), half)


@jit
def complete_prices(
    blocks, saving, near, second, half, u, v, mark, y, marked, budget, chosen, queue, waits, left, excess, columns
):
    """Complete the prices, so that as few cells as possible cost less than they save.

    The prices of entries that are in the programme stay. The others begin at 0 and may be anything from ``-half`` to
    ``half``. Where a cell costs less than it saves, the prices of its entries are changed, and then those of the cells
    that pay for it, and so on. If no such cell is left, the prices prove the solution. Otherwise ``excess``, one number
    for each point of the first side, added to ``u`` makes them valid.

    ``y`` are the prices of the entries, and ``marked`` the entries with a price that is not 0, each with its block.
    ``budget`` is the number of cells that are looked at. ``chosen`` says whether a cell is a column. ``queue``,
    ``waits`` and ``left`` are space to work with. Return the number of new columns, and whether ``excess`` counts all
    cells.
    """
    size, head, count, stuck = len(queue), 0, 0, 0
    for k in range(len(near)):
        c, b = near[k]
        block = blocks[b]
        i, j = (c - block[6]) // block[4], (c - block[6]) % block[4]
        if slack_of(block, i, j, second, u, v, y, saving[c]) < -TOLERANCE:
            queue[count, 0], queue[count, 1] = c, b
            waits[c] = 1
            count += 1
    for k in range(len(marked)):
        e, b = marked[k]
        block = blocks[b]
        for side in range(2):
            i, j = _other_cell(block, e, second, y[e] > 0, side)
            if i < 0:
                continue
            c = block[6] + i * block[4] + j
            if not waits[c] and slack_of(block, i, j, second, u, v, y, saving[c]) < -TOLERANCE:
                queue[count, 0], queue[count, 1] = c, b
                waits[c] = 1
                count += 1
    while count > 0 and budget > 0 and stuck < len(left):
        c, b = queue[head]
        head, count, budget = (head + 1) % size, count - 1, budget - 1
        waits[c] = 0
        block = blocks[b]
        i, j = (c - block[6]) // block[4], (c - block[6]) % block[4]
        need = -slack_of(block, i, j, second, u, v, y, saving[c])
        for _ in range(3):
            free = 0
            for z in range(4):
                e = entry_of(block, i, j, z, second)
                if e >= 0 and not mark[e] and (y[e] < half if z < 2 else y[e] > -half):
                    free += 1
            if free == 0 or need <= 0:
                break
            part = need / free
            for z in range(4):
                e = entry_of(block, i, j, z, second)
                if e < 0 or mark[e]:
                    continue
                move = min(part, half - y[e]) if z < 2 else min(part, y[e] + half)
                if move <= 0:
                    continue
                y[e] += move if z < 2 else -move
                need -= move
                for side in range(2):
                    k, l = _other_cell(block, e, second, z < 2, side)  # noqa: E741
                    if k < 0:
                        continue
                    other = block[6] + k * block[4] + l
                    if other == c or waits[other]:
                        continue
                    if slack_of(block, k, l, second, u, v, y, saving[other]) < -TOLERANCE:
                        at = (head + count) % size
                        queue[at, 0], queue[at, 1] = other, b
                        waits[other] = 1
                        count += 1
        if need > TOLERANCE and stuck < len(left):
            left[stuck, 0], left[stuck, 1] = c, b
            stuck += 1
    for k in range(count):
        at = (head + k) % size
        waits[queue[at, 0]] = 0
        if stuck < len(left):
            left[stuck, 0], left[stuck, 1] = queue[at, 0], queue[at, 1]
            stuck += 1
    new = 0
    for k in range(stuck):
        c, b = left[k]
        block = blocks[b]
        i, j = (c - block[6]) // block[4], (c - block[6]) % block[4]
        slack = slack_of(block, i, j, second, u, v, y, saving[c])
        if slack < -TOLERANCE:
            excess[block[0] + i] = max(excess[block[0] + i], -slack)
            if not chosen[c] and new < len(columns):
                chosen[c] = True
                row = columns[new]
                row[0], row[1], row[2], row[3], row[4] = b, i, j, 1, 1
                new += 1
    return new, stuck < len(left)


@jit
def _diagonal(block, k, t, way):
    """Return the number of a diagonal among those of its block."""
    at = k - t if way == 0 else k + t
    if block[2]:
        return at % block[1]
    return at + block[4] - 1 if way == 0 else at


@jit
def _room(block, k, way):
    """Return how many points the first line has after point ``k``, in the direction of the second line."""
    if block[2]:
        return block[1] + block[4]
    return block[1] - 1 - k if way == 0 else k


@jit
def best_runs(blocks, saving, near, order, diagonals, directed, half, price, value, begin, best, back, columns):
    """Find the best runs along each line of the second side. Return their number, and the best total of all lines.

    A run may go on beyond the cutoff, to the end of a line, where it breaks no link. No line of the second side is a
    ring. ``order`` has the near cells by their point of the second side, and ``diagonals`` where those of each block
    begin. ``price`` is that of each point of the first side, not paid beyond the cutoff. ``value`` and ``begin`` are,
    for both directions and each diagonal, the best total with a run that is on it and where that run begins. ``best``
    is the best total of the first points of a line, and ``back`` the last run of it.
    """
    value[:] = -1e300
    count = at = 0
    every = 0.0
    while at < len(order):
        c, b = near[order[at]]
        line, m = blocks[b, 3], blocks[b, 4]
        best[: m + 1], back[: m + 1] = 0.0, 0
        for t in range(m):
            if t > 0 and best[t - 1] > best[t]:
                best[t], back[t, 3] = best[t - 1], 0
            while at < len(order):
                c, b = near[order[at]]
                block = blocks[b]
                if block[3] != line or (c - block[6]) % m != t:
                    break
                at += 1
                k = (c - block[6]) // m
                for way in range(1 if directed else 2):
                    d = diagonals[b] + _diagonal(block, k, t, way)
                    before, after = _room(block, k, 1 - way), _room(block, k, way)
                    start, total = t, best[t] - half * ((before > 0) + (t > 0))
                    whole = min(before, t)
                    if whole > 0 and whole < block[1]:  # from the end of a line
                        other = best[t - whole] - half * ((before > whole) + (t > whole))
                        if other > total:
                            start, total = t - whole, other
                    if value[way, d] > total and t - begin[way, d] < block[1]:
                        start, total = begin[way, d], value[way, d]
                    total += saving[c] - price[block[0] + k]
                    value[way, d], begin[way, d] = total, start
                    for step in (0, min(after, m - 1 - t)):
                        end = total - half * ((after > step) + (m - 1 - t > step))
                        last = t + step + 1
                        if end > best[last] and last - start <= block[1]:
                            best[last] = end
                            first = k - (t - start) if way == 0 else k + (t - start)
                            row = back[last]
                            row[0], row[1], row[2] = b, first % block[1], start
                            row[3], row[4] = (last - start, 1) if way == 0 else (1, last - start)
        if best[m - 1] > best[m]:
            best[m], back[m, 3] = best[m - 1], 0
        every += best[m]
        t = m
        while t > 0:
            if back[t, 3] == 0:
                t -= 1
            else:
                for z in range(5):
                    columns[count, z] = back[t, z]
                count += 1
                t -= max(back[t, 3], back[t, 4])
    return count, every


@jit
def _sweep(blocks, saving, near, order, directed, half, laps, back, value, best, reach):
    """Go along a line of the second side, or back. Returns the best total of the last lap.

    ``order`` has its near cells, ``value`` is room for diagonals, ``best`` gets the best total of the first points, and
    ``reach`` the best total with a run up to each near cell, for both ways.
    """
    b = near[order[0], 1]
    m, ring = blocks[b, 4], blocks[b, 5]
    value[:] = -1e300
    best[: laps * m + 1] = 0.0
    for lap in range(laps):
        at = 0
        for t in range(m):
            now = lap * m + t
            if now > 0:
                best[now] = max(best[now], best[now - 1])
            while at < len(order):
                near_at = order[len(order) - 1 - at] if back else order[at]
                c, b = near[near_at]
                block = blocks[b]
                j, k = (c - block[6]) % m, (c - block[6]) // m
                if j != (m - 1 - t if back else t):
                    break
                at += 1
                for way in range(1 if directed else 2):
                    rises = (way == 0) != back  # whether the run goes on to later points of the first line
                    d = (k - now if rises else k + now) % (block[1] if block[2] else value.shape[2])
                    before, after = _room(block, k, 1 if rises else 0), _room(block, k, 0 if rises else 1)
                    total = best[now] - half * ((before > 0) + (t > 0 or ring > 0))
                    total = saving[c] + max(total, value[way, b, d])
                    value[way, b, d] = reach[way, near_at] = total
                    end = total - half * ((after > 0) + (t < m - 1 or ring > 0))
                    best[now + 1] = max(best[now + 1], end)
    last = laps * m
    best[last] = max(best[last], best[last - 1])
    return best[last] - best[last - m]


@jit
def find_losses(blocks, saving, near, order, directed, half, value, best, reach, loss):
    """Find how much is lost, along each line of the second side alone, if a near cell must be assigned.

    ``order`` has the near cells by their point of the second side. ``value`` ``(2, blocks, most diagonals)``, ``best``
    ``(2, 3 * most points of a line + 1)`` and ``reach`` ``(2, 2, near cells)`` are space to work with.
    """
    reach[:] = -1e300
    first = 0
    while first < len(order):
        b = near[order[first], 1]
        line, m = blocks[b, 3], blocks[b, 4]
        laps = 3 if blocks[b, 5] else 1
        end = first
        while end < len(order) and blocks[near[order[end], 1], 3] == line:
            end += 1
        mine, start = order[first:end], (laps - 1) * m
        for back in range(2):
            _sweep(blocks, saving, near, mine, directed, half, laps, back == 1, value, best[back], reach[back])
        most = 0.0
        for t in range(m + 1):
            most = max(most, best[0, start + t] + best[1, start + m - t])
        for k in mine:
            both = max(reach[0, 0, k] + reach[1, 0, k], reach[0, 1, k] + reach[1, 1, k])
            loss[k] = most - (both - saving[near[k, 0]])
        first = end


@jit
def tag_points(cell_start, cell, points, number, saving, first, tag, most):
    """Add a number for each column to the tags of its points. Points with equal tags have the same columns.

    ``most`` is what each point saves at most in a column. Tags and numbers are unsigned, and numbers differ.
    """
    for k in range(len(number)):
        mixed = (number[k] + U(1)) * U(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> U(30))) * U(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> U(27))) * U(0x94D049BB133111EB)
        mixed ^= mixed >> U(31)
        for c in range(cell_start[k], cell_start[k + 1]):
            for side in range(2):
                p = points[c, 0] if side == 0 else first + points[c, 1]
                tag[p] += mixed
                most[p] = max(most[p], saving[cell[c]])
