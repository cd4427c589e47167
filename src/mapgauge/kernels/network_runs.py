"""The best runs of cells along each line of the second side alone, for network PLD. See ``network.py``.

A run is a row of cells on a diagonal of a block: points of one line that follow the points of another. If every point
of the first side could be assigned as often as one likes, the lines of the second side would be independent, and the
best runs along one of them are found point by point. The linear programme begins with these runs.
"""

from mapgauge.kernels._jit import U, jit


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
    """Find the best runs along each line of the second side. Returns their number, and the best total of all lines.

    A run may go on beyond the cutoff, to the end of a line, where it breaks no link.

    Args:
        blocks: ``(blocks, 7)``. No line of the second side is a ring.
        saving: ``(cells,)``.
        near: ``(near cells, 2)``, each with its block.
        order: The near cells by their point of the second side.
        diagonals: ``(blocks,)``, where the diagonals of each block begin.
        directed: Whether lines are followed in the same direction only.
        half: The cost of one unit of an entry.
        price: Of each point of the first side; not paid beyond the cutoff.
        value: ``(2, diagonals)``, written: the best total with a run that is on the diagonal.
        begin: ``(2, diagonals)``, written: the point of the second line where that run begins.
        best: ``(most points of a line + 1,)``, written: the best total of the first points of a line.
        back: ``(most points of a line + 1, 5)``, written: the last run of it, as a column.
        columns: ``(points of the second side, 5)``, written. See ``fill_columns``.
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

    Args:
        blocks: ``(blocks, 7)``.
        saving: ``(cells,)``.
        near: ``(near cells, 2)``, each with its block.
        order: The near cells by their point of the second side.
        directed: Whether lines are followed in the same direction only.
        half: The cost of one unit of an entry.
        value: ``(2, blocks, most diagonals)``, written.
        best: ``(2, 3 * most points of a line + 1)``, written.
        reach: ``(2, 2, near cells)``, written.
        loss: ``(near cells,)``, written.
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

    Args:
        cell_start: ``(columns + 1,)``, where the cells of each column begin.
        cell: ``(cells,)``.
        points: ``(cells, 2)``.
        number: ``(columns,)``, unsigned, all different.
        saving: Of all cells.
        first: Number of points of the first side.
        tag: ``(points of both sides,)``, unsigned, read and written.
        most: ``(points of both sides,)``, what each point saves at most in a column, read and written.
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
