"""The assignment of the points of two networks of lines, with the links between consecutive points.

A link term compares the assignments of one predicted and one true line only. So lines without a point near the other
side have no part in the problem, and lines that are connected by near pairs form components that are solved one by
one.

The linear programme of a component begins with the pairs within the cutoff. A pair beyond it saves nothing, but an
assignment that goes on to the end of a line, or to the next near pair, breaks fewer links. Such a stretch of pairs is
one variable: to stop within it saves nothing. The dual solution prices all stretches, and then all single pairs beyond
the cutoff. Those that may pay are added, and the programme is solved again, until the prices prove that none is left or
the total stays. The programme of a small component has all pairs from the start, so its solution is exact.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mapgauge import kernels
from mapgauge.linked.points_solver import Columns, PointsSolver
from mapgauge.linked.problem import components_of
from mapgauge.typing import Flags, Floats, Indices

SMALL = 1500  # pairs of points of a component, up to which all of them are candidates
ROUNDS = 50  # two or three are usual
MOST = 400  # stretches that are added at once
STAYS = 1e-4  # the total stays if single pairs beyond the cutoff raise it by no more than this share


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
    parts = []
    for component in _components(x, y, cutoff, directed):
        assigned = _solve(component, sizes, share * break_cost, binary)
        entries = np.zeros(component.entries)
        kernels.network.add_to_entries(component.blocks, assigned, component.second, entries)
        taken = np.flatnonzero(assigned)
        pairs = _points_of(component.blocks, taken)
        parts.append((*pairs, assigned[taken], component.saving[taken], share * np.abs(entries[entries != 0])))
    if not parts:
        none = np.empty(0, np.int64)
        return PointAssignment(none, none, np.empty(0), np.empty(0), np.empty(0))
    first, other, weight, saving, links = (np.concatenate(column) for column in zip(*parts, strict=True))
    return PointAssignment(first, other, weight, saving, links)


def _components(x: Network, y: Network, cutoff: float, directed: bool) -> Iterator[_Component]:
    """Yield the blocks with near pairs, by component."""
    near = _near_lines(x, y, cutoff)
    if not len(near):
        return
    blocks, weight = _blocks(x, y, near)
    saving = np.empty(int(blocks[-1, 6] + blocks[-1, 1] * blocks[-1, 4]))
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


def _solve(component: _Component, sizes: tuple[int, int], half: float, binary: bool) -> Floats:
    """Return the assignment of all cells of a component."""
    if half == 0:
        return _without_links(component)
    small = len(component.saving) <= SMALL
    blocks, saving = component.blocks, component.saving
    chosen = np.ones(len(saving), np.uint8) if small else (saving > 0).astype(np.uint8)
    every = [_near_columns(component, chosen == 1)]
    solver = PointsSolver(every[0], sizes, component.entries, half)
    value = solver.solve()
    total, cells = -np.inf, False
    for _ in range(0 if small else ROUNDS):
        stays = solver.total <= total + (STAYS * abs(total) if cells else 0.0)
        if cells and stays:
            break
        prices, more, total = solver.prices(), np.empty((MOST, 6), np.int64), solver.total
        found = component.second, half, prices.first, prices.second, prices.marked, prices.entry
        count, cells = 0, False
        if not stays:
            count = kernels.network.find_stretches(
                blocks, saving, component.directed, *found, np.zeros(component.entries), more
            )
        if count:
            every.append(_stretch_columns(component, more[:count]))
        elif kernels.network.find_cells(blocks, saving, *found, chosen):
            every.append(_near_columns(component, chosen == 2))
            chosen[chosen == 2] = 1
            cells = True
        else:
            break
        solver.add(every[-1])
        value = solver.solve()
    if binary and ((value > 0) & (value < 1)).any():
        solver = PointsSolver(every[0], sizes, component.entries, half, binary=True)
        for columns in every[1:]:
            solver.add(columns)
        value = solver.solve()
    weight = np.repeat(value, np.concatenate([np.diff(columns.cell_start) for columns in every]))
    cell = np.concatenate([columns.cell for columns in every])
    return np.minimum(np.bincount(cell, weight, minlength=len(component.saving)), 1.0)


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


def _near_columns(component: _Component, chosen: Flags) -> Columns:
    """Return one column for each chosen cell."""
    count = int(np.count_nonzero(chosen))
    cell, points = np.empty(count, np.int64), np.empty((count, 2), np.int64)
    start, entry, value = np.empty(count + 1, np.int64), np.empty(4 * count, np.int64), np.empty(4 * count)
    kernels.network.fill_columns(component.blocks, chosen, component.second, cell, points, start, entry, value)
    size = int(start[-1])
    return Columns(component.saving[cell], np.arange(count + 1), cell, points, start, entry[:size], value[:size])


def _stretch_columns(component: _Component, stretches: Indices) -> Columns:
    """Return one column for each stretch."""
    lengths = stretches[:, 5]
    begin = np.concatenate([[0], lengths.cumsum()])
    cell, points = np.empty(begin[-1], np.int64), np.empty((begin[-1], 2), np.int64)
    entry, value = np.empty(4 * begin[-1], np.int64), np.empty(4 * begin[-1])
    start, net = np.zeros(len(stretches) + 1, np.int64), np.zeros(component.entries)
    for k, stretch in enumerate(stretches):
        mine = slice(begin[k], begin[k + 1])
        start[k + 1] = start[k] + kernels.network.fill_stretch(
            *(component.blocks[stretch[0]], stretch, component.second, net),
            *(cell[mine], points[mine], entry[start[k] :], value[start[k] :]),
        )
    size = int(start[-1])
    return Columns(np.zeros(len(stretches)), begin, cell, points, start, entry[:size], value[:size])
