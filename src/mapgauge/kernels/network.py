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

TOLERANCE = 1e-9  # a stretch that may save less than this is left out


@jit
def _moved(i, n, ring, step):
    """Return the neighbour of point ``i`` of ``n``, or -1 if there is none."""
    k = i + step
    if 0 <= k < n:
        return k
    return (k + n) % n if ring else -1


@jit
def _entry(block, i, j, z, second):
    """Return the ``z``-th entry that a cell changes, or -1. ``z`` below 2 adds to it, the others subtract.

    ``second`` is where the entries of the second matrix begin; 0 if there is one matrix.
    """
    step = -1 if z == 0 or z == 2 else 1
    shift = second if z == 1 or z == 2 else 0
    if z < 2:
        k = _moved(i, block[1], block[2], step)
        return -1 if k < 0 else shift + block[6] + k * block[4] + j
    k = _moved(j, block[4], block[5], step)
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
        saving: ``(cells,)``, written.
    """
    for b in range(len(blocks)):
        block = blocks[b]
        c = block[6]
        for i in range(block[0], block[0] + block[1]):
            for j in range(block[3], block[3] + block[4]):
                square = 0.0
                for z in range(len(x)):
                    difference = x[z, i] - y[z, j]
                    square += difference * difference
                distance = math.sqrt(square)
                saving[c] = weight[b] * (1.0 - distance / cutoff) if distance < cutoff else 0.0
                c += 1


@jit
def fill_columns(blocks, chosen, second, cell, points, start, entry, sign):
    """Write the columns of the linear programme, one for each chosen cell: its points and the entries it changes.

    Args:
        blocks: ``(blocks, 7)``.
        chosen: ``(cells,)``.
        second: Where the entries of the second matrix begin, or 0.
        cell: ``(columns,)``, written.
        points: ``(columns, 2)``, the points of both sides, written.
        start: ``(columns + 1,)``, where the entries of each column begin, written.
        entry: ``(4 * columns,)``, written.
        sign: ``(4 * columns,)``, written.
    """
    k = at = 0
    for b in range(len(blocks)):
        block = blocks[b]
        c = block[6]
        for i in range(block[1]):
            for j in range(block[4]):
                if chosen[c]:
                    cell[k], start[k] = c, at
                    points[k, 0], points[k, 1] = block[0] + i, block[3] + j
                    for z in range(4):
                        e = _entry(block, i, j, z, second)
                        if e >= 0:
                            entry[at], sign[at] = e, 1.0 if z < 2 else -1.0
                            at += 1
                    k += 1
                c += 1
    start[k] = at


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
                        e = _entry(block, i, j, z, second)
                        if e >= 0:
                            entries[e] += assigned[c] if z < 2 else -assigned[c]
                c += 1


@jit
def _length(block, i, j, a, s, saving):
    """Return how many cells beyond the cutoff follow ``i, j`` in steps of ``a, s``; 0 if the other end lists them."""
    for length in range(min(block[1], block[4])):
        i, j = _moved(i, block[1], block[2], a), _moved(j, block[4], block[5], s)
        if i < 0 or j < 0:
            return length
        if saving[block[6] + i * block[4] + j] > 0:
            return length if a > 0 else 0
    return 0


@jit
def _net(block, stretch, second, sign, net):
    """Add the entries of all cells of a stretch, times ``sign``."""
    i, j = stretch[1], stretch[2]
    for _ in range(stretch[5]):
        i, j = _moved(i, block[1], block[2], stretch[3]), _moved(j, block[4], block[5], stretch[4])
        for z in range(4):
            e = _entry(block, i, j, z, second)
            if e >= 0:
                net[e] += sign if z < 2 else -sign


@jit
def _price(block, stretch, second, half, u, v, mark, dual, net):
    """Return the reduced cost of a stretch. ``net`` is all zero before and after."""
    _net(block, stretch, second, 1.0, net)
    price = 0.0
    i, j = stretch[1], stretch[2]
    for _ in range(stretch[5]):
        i, j = _moved(i, block[1], block[2], stretch[3]), _moved(j, block[4], block[5], stretch[4])
        price += u[block[0] + i] + v[block[3] + j]
        for z in range(4):
            e = _entry(block, i, j, z, second)
            if e >= 0 and net[e] != 0.0:
                price += net[e] * dual[e] if mark[e] else half * abs(net[e])
                net[e] = 0.0  # it is counted once
    return price


@jit
def find_stretches(blocks, saving, directed, second, half, u, v, mark, dual, net, stretches):
    """Write the stretches that may pay: those with a negative reduced cost. Returns their number.

    A stretch is a row of cells beyond the cutoff on a diagonal, from a near cell to the end of a line or to the next
    near cell. Its cells save nothing, but a diagonal that goes on breaks fewer links. A row of ``stretches`` has the
    block, the points of the near cell, the steps on both lines, and the number of cells.

    Args:
        blocks: ``(blocks, 7)``.
        saving: ``(cells,)``.
        directed: Whether lines are followed in the same direction only.
        second: Where the entries of the second matrix begin, or 0.
        half: The cost of one unit of an entry.
        u: The price of each point of the first side.
        v: The same for the second side.
        mark: ``(entries,)``, whether an entry has a price; an entry without one costs ``half`` for each unit.
        dual: ``(entries,)``, the prices.
        net: ``(entries,)``, zeros.
        stretches: ``(most, 6)``, written.
    """
    count = 0
    for b in range(len(blocks)):
        block = blocks[b]
        c = block[6]
        for i in range(block[1]):
            for j in range(block[4]):
                if saving[c] > 0:
                    for way in range(2 if directed else 4):
                        a = 1 if way % 2 == 0 else -1
                        s = a if way < 2 else -a
                        length = _length(block, i, j, a, s, saving)
                        if length == 0 or count == len(stretches):
                            continue
                        new = stretches[count]
                        new[0], new[1], new[2], new[3], new[4], new[5] = b, i, j, a, s, length
                        if _price(block, new, second, half, u, v, mark, dual, net) < -TOLERANCE:
                            count += 1
                c += 1
    return count


@jit
def find_cells(blocks, saving, second, half, u, v, mark, dual, chosen):
    """Choose the cells beyond the cutoff that may pay by themselves. Returns how many are new.

    The arguments are those of ``find_stretches``. ``chosen`` is read and written: 2 for the new cells.
    """
    count = 0
    for b in range(len(blocks)):
        block = blocks[b]
        c = block[6]
        for i in range(block[1]):
            for j in range(block[4]):
                if not chosen[c] and saving[c] == 0.0:
                    price = u[block[0] + i] + v[block[3] + j]
                    for z in range(4):
                        e = _entry(block, i, j, z, second)
                        if e >= 0 and mark[e]:
                            price += dual[e] if z < 2 else -dual[e]
                        elif e >= 0:
                            price += half
                    if price < -TOLERANCE:
                        chosen[c] = 2
                        count += 1
                c += 1
    return count


@jit
def fill_stretch(block, stretch, second, net, cells, points, entry, value):
    """Write the cells, points and entries of a stretch. Returns the number of entries. ``net`` stays all zero."""
    _net(block, stretch, second, 1.0, net)
    count = 0
    i, j = stretch[1], stretch[2]
    for k in range(stretch[5]):
        i, j = _moved(i, block[1], block[2], stretch[3]), _moved(j, block[4], block[5], stretch[4])
        cells[k] = block[6] + i * block[4] + j
        points[k, 0], points[k, 1] = block[0] + i, block[3] + j
        for z in range(4):
            e = _entry(block, i, j, z, second)
            if e >= 0 and net[e] != 0.0:
                entry[count], value[count] = e, net[e]
                net[e] = 0.0
                count += 1
    return count
