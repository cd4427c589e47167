"""Cells that pay at given prices, and the completion of prices that proves a solution, for network PLD.

See ``network.py``. A price of a point is at least 0, and that of an entry at most its cost. Prices prove a solution if
no cell costs less than it saves and if those of the points add up to the total of the solution.
"""

from mapgauge.kernels._jit import jit
from mapgauge.kernels.network import TOLERANCE, entry_of, moved, slack_of, turned


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
    less the prices of its points.

    Args:
        blocks: ``(blocks, 7)``.
        columns: ``(columns, 5)``. See ``fill_columns``.
        value: ``(columns,)``, how much of each column is assigned.
        saving: ``(cells,)``.
        second: Where the entries of the second matrix begin, or 0.
        half: The largest price of an entry.
        u: The price of each point of the first side.
        v: The same for the second side.
        mark: ``(entries,)``, whether an entry is in the programme.
        y: ``(entries,)``, the prices, read and written.
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
    that pay for it, and so on. If no such cell is left, the prices prove the solution. Otherwise ``excess`` added to
    ``u`` makes them valid.

    Args:
        blocks: ``(blocks, 7)``.
        saving: ``(cells,)``.
        near: ``(near cells, 2)``, each with its block.
        second: Where the entries of the second matrix begin, or 0.
        half: The largest price of an entry.
        u: The price of each point of the first side.
        v: The same for the second side.
        mark: ``(entries,)``, whether an entry is in the programme.
        y: ``(entries,)``, the prices, 0 where there is none, written.
        marked: ``(entries, 2)``, the entries with a price that is not 0, each with its block.
        budget: Number of cells that are looked at.
        chosen: ``(cells,)``, whether a cell is a column; read and written.
        queue: ``(cells, 2)``, written.
        waits: ``(cells,)``, zeros before and after.
        left: ``(most, 2)``, written: cells that still cost less than they save.
        excess: ``(points of the first side,)``, zeros, written.
        columns: ``(most, 5)``, written: these cells as columns.

    Returns:
        The number of new columns, and whether ``excess`` counts all cells.
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
