"""The assignment of the points of two networks of lines, with the links between consecutive points.

A link term compares the assignments of one predicted and one true line only. So lines without a point near the other
side have no part in the problem, and lines that are connected by near pairs form components that are solved one by
one.

The linear programme of a component begins with some of the pairs within the cutoff. Its dual solution prices all other
pairs: rows along a diagonal, which also go on beyond the cutoff, rectangles of parallel rows, and single pairs. Those
that pay are added, and the programme is solved again. A pair beyond the cutoff saves nothing, but an assignment that
goes on to the end of a line, or to the next near pair, breaks fewer links. Such a stretch is one variable.

If nothing pays, the prices are completed: every link of every pair of lines gets one. If no pair costs less than it
saves, these prices prove the solution. Otherwise a few pairs are added, or the solution is not proven. The programme of
a small component then gets all pairs, so its solution is exact.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mapgauge import kernels
from mapgauge.linked.points_solver import Columns, PointsSolver
from mapgauge.linked.problem import components_of
from mapgauge.typing import Flags, Floats, Indices

START = 0.5  # of the largest saving of a true point, from which a pair is in the first programme
SMALL = 1500  # pairs of points of a component, up to which all of them are added if the total is not proven
ROUNDS = 50  # four are usual
MOST = 4000  # columns that are added at once
STAYS = 1e-5  # a round that raises the total by no more than this share; after two of them there are no more
PROOFS = 4  # how often pairs without a valid price are added
LARGE = 60  # how many of them there may be
LOOKS = 2000  # pairs that are looked at to complete the prices, besides the number of near pairs
PROVEN = 1e-6  # the share by which a proven total may be below the best one
EXACT = 1e-9  # the same for small components, not a share


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The lines of one side. Lines must be in an order that depends on their content only, and have points."""

    points: Floats  # (dimension, points), contiguous
    start: Indices  # (lines,): the first point of each line
    count: Indices  # (lines,): its number of points
    ring: Flags  # (lines,): whether the last point is linked to the first
    confidence: Floats  # (lines,)


@dataclass(frozen=True, slots=True, eq=False)
class PointAssignment:
    """The best assignment of points."""

    first: Indices  # (pairs,): points of the first side
    second: Indices
    weight: Floats  # (pairs,), in (0, 1]
    saving: Floats  # (pairs,), 0 beyond the cutoff
    links: Floats  # the broken links of each entry that is not 0, in units of the link cost
    proven: bool  # whether no assignment is better


@dataclass(frozen=True, slots=True, eq=False)
class _Component:
    """Some blocks (pairs of lines) with the savings of their cells. See ``kernels/network.py``."""

    blocks: Indices  # (blocks, 7)
    saving: Floats  # (cells,)
    directed: bool

    @property
    def second(self) -> int:
        """Where the entries of the second matrix begin; 0 if there is one."""
        return len(self.saving) if self.directed else 0

    @property
    def entries(self) -> int:
        """Number of entries."""
        return len(self.saving) * (1 + self.directed)


def assign_points(
    x: Network, y: Network, cutoff: float, break_cost: float, *, directed: bool = False, binary: bool = False
) -> PointAssignment:
    """Return the best assignment of the points of two networks.

    Args:
        x: The first side.
        y: The second side.
        cutoff: The distance from which a pair saves nothing, metres.
        break_cost: The cost of a link that is missing or false.
        directed: Whether the direction of lines matters.
        binary: Whether assignments must be 0 or 1.
    """
    share = 0.5 / (1 + directed)  # of a link in one entry
    sizes = x.points.shape[1], y.points.shape[1]
    parts, every = [], True
    for component in _components(x, y, cutoff, directed):
        assigned, proven = _solve(component, sizes, share * break_cost, binary)
        every = every and proven
        entries = np.zeros(component.entries)
        kernels.network.add_to_entries(component.blocks, assigned, component.second, entries)
        taken = np.flatnonzero(assigned)
        pairs = _points_of(component.blocks, taken)
        parts.append((*pairs, assigned[taken], component.saving[taken], share * np.abs(entries[entries != 0])))
    if not parts:
        none = np.empty(0, np.int64)
        return PointAssignment(none, none, np.empty(0), np.empty(0), np.empty(0), proven=True)
    first, other, weight, saving, links = (np.concatenate(column) for column in zip(*parts, strict=True))
    return PointAssignment(first, other, weight, saving, links, every)


def _components(x: Network, y: Network, cutoff: float, directed: bool) -> Iterator[_Component]:
    """Yield the blocks with near pairs, by component."""
    near = _near_lines(x, y, cutoff)
    if not len(near):
        return
    blocks, weight = _blocks(x, y, near)
    saving = np.zeros(int(blocks[-1, 6] + blocks[-1, 1] * blocks[-1, 4]))
    kernels.network.fill_savings(x.points, y.points, blocks, weight, cutoff, saving)
    useful = np.flatnonzero(np.maximum.reduceat(saving, blocks[:, 6]) > 0)
    part = components_of(near[useful, 0], near[useful, 1])
    for k in range(int(part.max(initial=-1)) + 1):
        mine = useful[part == k]
        sizes = blocks[mine, 1] * blocks[mine, 4]
        own = np.concatenate([saving[c : c + size] for c, size in zip(blocks[mine, 6], sizes, strict=True)])
        renumbered = blocks[mine].copy()
        renumbered[:, 6] = sizes.cumsum() - sizes
        yield _Component(renumbered, own, directed)


def _near_lines(x: Network, y: Network, cutoff: float) -> Indices:
    """Return the pairs of lines whose bounding boxes are within the cutoff, ``(pairs, 2)``."""
    if not x.points.size or not y.points.size:
        return np.empty((0, 2), np.int64)
    boxes = [[reach.reduceat(side.points, side.start, axis=1) for reach in (np.minimum, np.maximum)] for side in (x, y)]
    gap = np.maximum(boxes[0][0][:, :, None] - boxes[1][1][:, None], boxes[1][0][:, None] - boxes[0][1][:, :, None])
    weight = np.minimum(x.confidence[:, None], y.confidence)
    return np.argwhere((gap.max(axis=0) < cutoff) & (weight > 0))


def _blocks(x: Network, y: Network, lines: Indices) -> tuple[Indices, Floats]:
    i, j = lines.T
    sizes = x.count[i] * y.count[j]
    sides = [(side.start[k], side.count[k], side.ring[k]) for side, k in ((x, i), (y, j))]
    blocks = np.stack([*sides[0], *sides[1], sizes.cumsum() - sizes], axis=1).astype(np.int64)
    return blocks, np.minimum(x.confidence[i], y.confidence[j])


def _points_of(blocks: Indices, cells: Indices) -> tuple[Indices, Indices]:
    """Return the points of both sides of some cells."""
    block = blocks[np.searchsorted(blocks[:, 6], cells, "right") - 1]
    at = cells - block[:, 6]
    return block[:, 0] + at // block[:, 4], block[:, 3] + at % block[:, 4]


def _solve(component: _Component, sizes: tuple[int, int], half: float, binary: bool) -> tuple[Floats, bool]:
    """Return the assignment of all cells of a component, and whether it is proven to be the best one."""
    if half == 0:
        return _without_links(component), True
    cells = len(component.saving)
    solver, columns, bound = _grow(component, sizes, half)
    value = solver.finish()
    small = cells <= SMALL
    proven = bound <= solver.total + (EXACT if small else PROVEN * (1.0 + solver.total))
    divided = binary and bool(((value > 0) & (value < 1)).any())
    if small and (divided or not proven):
        every = _with_blocks(component.blocks, np.arange(cells), cells)
        columns = [_columns(component, _single_cells(component.blocks, every), np.zeros(component.entries))]
    if divided or (small and not proven):
        solver = PointsSolver(columns[0], sizes, component.entries, half, binary=binary, slack=0.0)
        for more in columns[1:]:
            solver.add(more)
        value, proven = solver.finish(), small
    weight = np.repeat(value, np.concatenate([np.diff(some.cell_start) for some in columns]))
    cell = np.concatenate([some.cell for some in columns])
    return np.minimum(np.bincount(cell, weight, minlength=cells), 1.0), proven


def _grow(component: _Component, sizes: tuple[int, int], half: float) -> tuple[PointsSolver, list[Columns], float]:
    """Return the solver with all columns that pay, these columns, and a total that no assignment exceeds."""
    blocks, saving, cells = component.blocks, component.saving, len(component.saving)
    near = _with_blocks(blocks, np.flatnonzero(saving), cells)
    chosen, net = np.zeros(cells, np.bool_), np.zeros(component.entries)
    kernels.network.choose_start(blocks, saving, near, START, np.zeros(sizes[1]), np.empty((4, max(sizes))), chosen)
    columns = [_columns(component, _single_cells(blocks, near[chosen[near[:, 0]]]), net)]
    solver = PointsSolver(columns[0], sizes, component.entries, half)
    done, sides, more = np.empty((2, cells), np.uint8), np.empty(4, np.int64), np.empty((MOST, 6), np.int64)
    queue, waits, left = np.empty((cells, 2), np.int64), np.zeros(cells, np.uint8), np.empty((LARGE, 2), np.int64)
    bound, total, stays, proofs = np.inf, -np.inf, 0, 0
    for _ in range(ROUNDS):
        solver.solve()
        prices = solver.prices()
        worth = math.fsum([*prices.first.tolist(), *prices.second.tolist()])
        stays = stays + 1 if worth <= total + STAYS * (1.0 + worth) else 0
        total = max(total, worth)
        found = component.second, half, prices.first, prices.second, prices.marked, prices.entry
        marked = _with_blocks(blocks, prices.priced, cells)
        count = kernels.network_pricing.find_segments(
            blocks, saving, near, component.directed, *found, chosen, done, more
        )
        if not component.directed:
            rest = more[count:]
            count += kernels.network_pricing.find_rectangles(
                blocks, saving, near, *found[1:], chosen, done, sides, rest
            )
        if not count:
            count = kernels.network_proof.find_cells(blocks, saving, *found, marked, chosen, more)
        if not count or stays > 1:
            excess = np.zeros(sizes[0])
            violated, valid = kernels.network_proof.complete_prices(
                *(blocks, saving, near, *found[:-1], prices.entry.copy(), marked, LOOKS + len(near), chosen),
                *(queue, waits, left, excess, more[count:]),
            )
            bound = min(bound, worth + math.fsum(excess.tolist())) if valid else bound
            proofs += 1
            if not valid or not violated or proofs > PROOFS:
                break
            count += violated
        columns.append(_columns(component, more[:count], net))
        solver.add(columns[-1])
    return solver, columns, bound


def _with_blocks(blocks: Indices, places: Indices, cells: int) -> Indices:
    """Return cells or entries, each with its block."""
    return np.stack([places, np.searchsorted(blocks[:, 6], places % cells, "right") - 1], axis=1)


def _without_links(component: _Component) -> Floats:
    """Return the assignment of all cells where links cost nothing. It needs no linear programme."""
    near = np.flatnonzero(component.saving > 0)
    (i, row), (j, column) = (np.unique(at, return_inverse=True) for at in _points_of(component.blocks, near))
    saving = np.zeros((len(i), len(j)))
    saving[row, column] = component.saving[near]
    partner, _ = kernels.assignment.assign(saving)
    assigned = np.zeros(len(component.saving))
    assigned[near] = partner[row] == column
    return assigned


def _single_cells(blocks: Indices, cells: Indices) -> Indices:
    """Return the rows of ``kernels.network.fill_columns`` for cells, each with its block."""
    c, b = cells.T
    at, width, one = c - blocks[b, 6], blocks[b, 4], np.ones_like(c)
    return np.stack([b, at // width - 1, at % width - 1, one, one, one], axis=1)


def _columns(component: _Component, rows: Indices, net: Floats) -> Columns:
    """Return the columns of some rows of ``kernels.network.fill_columns``."""
    count, cells = len(rows), int(rows[:, 5].sum())
    saving, cell_start, start = np.empty(count), np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    cell, points = np.empty(cells, np.int64), np.empty((cells, 2), np.int64)
    entry, value = np.empty(4 * cells, np.int64), np.empty(4 * cells)
    kernels.network.fill_columns(
        *(component.blocks, rows, component.saving, component.second, net),
        *(saving, cell_start, cell, points, start, entry, value),
    )
    size = int(start[-1])
    return Columns(saving, cell_start, cell, points, start, entry[:size], value[:size])
