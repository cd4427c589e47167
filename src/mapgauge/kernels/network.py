"""Pairs of points of two networks of lines, and the link terms between them, for network PLD.

A block is a pair of lines, one of each side. Its cells are the pairs of their points, row by row. A link term compares
cells of one block only: with ``W`` the assignment, entry ``(k, l)`` of a block is

    sum of W[i, l] over the neighbours i of k    less    sum of W[k, j] over the neighbours j of l

The entries of a block are numbered as its cells. If the direction of lines matters, there are two such matrices, one
along the lines and one against them, and the entries of the second follow those of all blocks of the first.

A row of ``blocks`` has the first point, the number of points and whether the line is a ring, for both lines, and the
first cell of the block.
"""

import math

from mapgauge.kernels._jit import jit

TOLERANCE = 1e-9  # a column that may save less than this is left out


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
    """Compute what each cell saves: the smaller confidence times one minus the distance over the cutoff, or 0.

    Args:
        x: ``(dimension, points)``.
        y: The same for the second side.
        blocks: ``(blocks, 7)``.
        weight: ``(blocks,)``, the smaller confidence of both lines.
        cutoff: Metres.
        saving: ``(cells,)``, zeros, written.
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
    """Write the cells, points and entries of columns.

    A column is a rectangle of cells: its block, its first cell, and its number of cells along the diagonal and across
    it. A negative number across counts cells on the other side.

    Args:
        blocks: ``(blocks, 7)``.
        columns: ``(columns, 5)``.
        saving: ``(cells,)``.
        second: Where the entries of the second matrix begin, or 0.
        net: ``(entries,)``, zeros before and after.
        total: ``(columns,)``, the saving of each column, written.
        cell_start: ``(columns + 1,)``, where the cells of each column begin, written.
        cell: ``(cells of all columns,)``, written.
        points: ``(cells of all columns, 2)``, the points of both sides, written.
        start: ``(columns + 1,)``, where the entries of each column begin, written.
        entry: ``(4 * cells of all columns,)``, written.
        value: What one unit of the column adds to the entry, written.
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
    """Write columns as the linear programme has them, and number the rows that are new.

    Two columns follow for each new row of an entry: what the entry is above 0, and what it is below.

    Args:
        cell_start: ``(columns + 1,)``, where the cells of each column begin.
        points: ``(cells, 2)``.
        entry_start: ``(columns + 1,)``, where the entries of each column begin.
        entry: ``(entries,)``.
        change: ``(entries,)``.
        first: Number of points of the first side.
        every: Number of points of both sides.
        rows: Number of rows of the programme.
        row: The row of each point of both sides, then of each entry, or -1; read and written.
        times: ``(points of both sides,)``, zeros before and after: how often a column has each point.
        place: Written: the points and entries of the new rows.
        start: Written: where the rows of each column begin, and the end of the last one.
        index: Written: the rows of each column.
        value: Written.

    Returns:
        The numbers of new rows and of columns.
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
