"""The columns of the linear programme of network PLD, which grow until no other column pays.

The programme begins with a few columns. Its dual solution prices all other pairs. What pays is added, and the programme
is solved again. There are two ways.

If no line of the second side is a ring, the programme begins with the best runs along each of these lines, and gets
whole segments and rectangles. It has few columns, which need few prices: points that have the same columns share theirs
in any way. They get them in proportion to what they save at most, so that few other columns seem to pay.

Around rings, too many segments are alike. There the programme begins with the pairs of good runs. The near pairs of
segments and rectangles that pay are columns by themselves. A pair beyond the cutoff saves nothing, but an assignment
that goes on to the end of a line, or to the next near pair, breaks fewer links. Such a stretch is one column. Few of
them are used and they slow the solver down, so only the best ones of each pair of lines are added.

If nothing pays, or if a round of a large problem hardly raises the total, the prices are completed: every link of every
pair of lines gets one. If no pair costs less than it saves, these prices prove the solution. Otherwise a few pairs are
added, or the solution is not proven.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mapgauge.errors import MapgaugeError
from mapgauge.features.solver.programme import BINARY, LINEAR, OPTIONS, PRECISE, load_highs, rounded
from mapgauge.typing import Flags, Floats, Indices

_DUAL, _PRIMAL = 1, 4  # simplex_strategy
SLACK = 1e-3  # of the limits of the first side, until ``finish``
_UNSCALED = {"simplex_scale_strategy": 0}  # coefficients are 1 and -1


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Variables of the programme: cells, or stretches of cells that are assigned together."""

    saving: Floats  # (columns,)
    cell_start: Indices  # (columns + 1,): where the cells of each column begin
    cell: Indices
    points: Indices  # (cells of all columns, 2): the points of both sides
    start: Indices  # (columns + 1,): where the entries of each column begin
    entry: Indices
    value: Floats  # what one unit of the column adds to the entry

    def __len__(self) -> int:
        """Number of columns."""
        return len(self.saving)


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What one more unit of each limit would save."""

    first: Floats  # (points of the first side,)
    second: Floats
    marked: Flags  # (entries,): whether the entry has a price; one without costs the same for each unit
    entry: Floats  # (entries,)
    priced: Indices  # the entries whose price is not 0


class PointsSolver:
    """One linear programme. Its solution does not depend on anything but the columns and their order."""

    def __init__(
        self,
        columns: Columns,
        points: tuple[int, int],
        entries: int,
        cost: float,
        *,
        binary: bool = False,
        slack: float | None = None,
    ):
        """Make a programme.

        Args:
            columns: The first columns.
            points: Number of points of both sides.
            entries: Number of entries.
            cost: Of one unit of an entry.
            binary: Whether every variable must be 0 or 1.
            slack: Of the limits of the first side, until ``finish``. If None, ``SLACK``.
        """
        self._highs = load_highs()
        self._solver = self._highs.Highs()
        for name, value in (OPTIONS | PRECISE | (BINARY if binary else LINEAR) | _UNSCALED).items():
            self._solver.setOptionValue(name, value)
        self._cost, self._binary, self._points = cost, binary, points
        self._slack = SLACK if slack is None else slack
        self._row = np.full(sum(points) + entries, -1)  # of the points of both sides, then of the entries
        self._times = np.zeros(sum(points))
        self._place = np.empty(0, np.int64)  # (rows,): the point or entry of each row
        self._variable = np.empty(0, np.int64)  # (columns,): the variable of each column
        self._variables = 0
        self._price = np.zeros(len(self._row))
        self._marked = np.zeros(entries, np.bool_)
        self.add(columns)

    def add(self, columns: Columns) -> None:
        """Add columns."""
        from mapgauge.features.network.kernels import fill_programme

        count, size = len(columns), 2 * len(columns.cell) + len(columns.entry)
        most = count + 2 * len(columns.entry)  # with the columns of entries
        place, start = np.empty(size, np.int64), np.empty(most + 1, np.int32)
        index, value = np.empty(size + most, np.int32), np.empty(size + most)
        given = columns.cell_start, columns.points, columns.start, columns.entry, columns.value
        counts = self._points[0], sum(self._points), len(self._place)
        written = self._row, self._times, place, start, index, value
        new, every = fill_programme(*given, *counts, *written)
        size, places = int(start[every]), place[:new]
        lower, upper = np.full(new, -np.inf), np.ones(new)
        upper[places < self._points[0]] += self._slack
        entries = places >= sum(self._points)
        lower[entries] = upper[entries] = 0.0
        none = np.empty(0, np.int32)
        self._solver.addRows(new, lower, upper, 0, np.zeros(new, np.int32), none, np.empty(0))
        self._place = np.concatenate([self._place, places])
        self._marked[places[entries] - sum(self._points)] = True
        if self._variables:
            self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        cost = np.full(every, self._cost)
        cost[:count] = -columns.saving
        lower, upper = np.zeros(every), np.full(every, np.inf)
        self._solver.addCols(every, cost, lower, upper, size, start[:every], index[:size], value[:size])
        variable = self._variables + np.arange(count)
        self._variable = np.concatenate([self._variable, variable])
        self._variables += every
        if self._binary:
            at = variable.astype(np.int32)
            self._solver.changeColsBounds(count, at, np.zeros(count), np.ones(count))
            self._solver.changeColsIntegrality(count, at, np.ones(count, np.uint8))

    def solve(self) -> None:
        """Find the best assignment of all columns, within the slack."""
        self._solver.run()
        status = self._solver.getModelStatus()
        if status != self._highs.HighsModelStatus.kOptimal:
            state = self._solver.modelStatusToString(status)
            raise MapgaugeError(f"HiGHS did not solve an assignment of {len(self._variable)} pairs of points: {state}")

    def finish(self) -> Floats:
        """Return the best assignment of all columns, without slack."""
        if self._slack:
            self._slack, rows = 0.0, np.flatnonzero(self._place < self._points[0]).astype(np.int32)
            self._solver.changeRowsBounds(len(rows), rows, np.full(len(rows), -np.inf), np.ones(len(rows)))
            self._solver.setOptionValue("simplex_strategy", _DUAL)
        self.solve()
        return rounded(self.values())

    def values(self) -> Floats:
        """Return how much of each column the solution has."""
        return np.array(self._solver.getSolution().col_value)[self._variable]

    @property
    def total(self) -> float:
        """What the best assignment saves."""
        return -float(self._solver.getObjectiveValue())

    def prices(self) -> Prices:
        """Return the prices that prove the solution."""
        dual = np.array(self._solver.getSolution().row_dual)
        self._price[self._place] = -dual
        first, points = self._points[0], sum(self._points)
        priced = self._place[dual != 0] - points
        of_points = np.maximum(self._price[:points], 0.0)
        return Prices(of_points[:first], of_points[first:], self._marked, self._price[points:], priced[priced >= 0])


START = 0.6  # what may be lost along a line with a pair that is in the first programme
TOLERANCE = 1e-9
ROUNDS = 50  # four are usual
MOST = 4000  # columns that are added at once
FEW = 60  # whole segments and rectangles that are added at once; if there are more, the best ones of each block
EACH = 8  # of them
STRETCHES = 8  # stretches beyond the cutoff of each block that are added at once
STAYS = 1e-5  # the last round raises the total by no more than this share
ALL = 10_000  # pairs of points up to which everything that pays is added
ALL_OF_RINGS = 1500  # the same with rings on the second side, where very much seems to pay
PROOFS = 4  # how often pairs without a valid price are added
LARGE = 40  # how many of them there may be
LOOKS = 2000  # pairs that are looked at to complete the prices, or the number of near pairs if that is larger


@dataclass(frozen=True, eq=False)
class Component:
    """Some blocks (pairs of lines) with the savings of their cells. See ``kernels/network.py``."""

    blocks: Indices  # (blocks, 7)
    saving: Floats  # (cells,)
    directed: bool

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.saving)

    @property
    def has_rings(self) -> bool:
        """Whether the second side has rings."""
        return bool(self.blocks[:, 5].any())

    @property
    def is_large(self) -> bool:
        """Whether there are too many cells to add all that pays."""
        return self.cells > (ALL_OF_RINGS if self.has_rings else ALL)

    @property
    def second(self) -> int:
        """Where the entries of the second matrix begin; 0 if there is one."""
        return self.cells if self.directed else 0

    @property
    def entries(self) -> int:
        """Number of entries."""
        return self.cells * (1 + self.directed)

    @cached_property
    def near(self) -> Indices:
        """The cells that save something, each with its block."""
        return self.with_blocks(np.flatnonzero(self.saving > 0))

    @cached_property
    def by_point(self) -> Indices:
        """The order of the near cells by their point of the second side."""
        block = self.blocks[self.near[:, 1]]
        return np.argsort(block[:, 3] + (self.near[:, 0] - block[:, 6]) % block[:, 4], kind="stable")

    def with_blocks(self, places: Indices) -> Indices:
        """Return cells or entries, each with its block."""
        return np.stack([places, np.searchsorted(self.blocks[:, 6], places % self.cells, "right") - 1], axis=1)


def single_cells(component: Component, cells: Indices) -> Indices:
    """Return the rows of ``kernels.fill_columns`` for cells, each with its block."""
    c, b = cells.T
    at, width, ones = c - component.blocks[b, 6], component.blocks[b, 4], np.ones_like(c)
    return np.stack([b, at // width, at % width, ones, ones], axis=1)


def priced_columns(component: Component, rows: Indices, net: Floats) -> Columns:
    """Return the columns of some rows of ``kernels.fill_columns``."""
    from mapgauge.features.network.kernels import fill_columns

    count, cells = len(rows), int((rows[:, 3] * np.abs(rows[:, 4])).sum())
    saving, cell_start, start = np.empty(count), np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    cell, points = np.empty(cells, np.int64), np.empty((cells, 2), np.int64)
    entry, value = np.empty(4 * cells, np.int64), np.empty(4 * cells)
    written = saving, cell_start, cell, points, start, entry, value
    fill_columns(component.blocks, rows, component.saving, component.second, net, *written)
    size = int(start[-1])
    return Columns(saving, cell_start, cell, points, start, entry[:size], value[:size])


class _Cells:
    """Columns for lines with rings: near cells, and stretches of others."""

    def __init__(self, component: Component, sizes: tuple[int, int], half: float) -> None:
        self.component, self.chosen = component, np.zeros(component.cells, np.bool_)
        self._done, self._sides = np.empty((2, component.cells), np.uint8), np.empty(4, np.int64)
        self._gains = np.empty(MOST)
        self._half = half

    def first(self) -> Indices:
        from mapgauge.features.network.proof_kernels import find_losses

        blocks, near = self.component.blocks, self.component.near
        longest, loss = int((blocks[:, 1] + 3 * blocks[:, 4]).max()), np.empty(len(near))
        given = blocks, self.component.saving, near, self.component.by_point, self.component.directed, self._half
        room = np.empty((2, len(blocks), longest)), np.empty((2, longest + 1)), np.empty((2, 2, len(near)))
        find_losses(*given, *room, loss)
        taken = near[loss <= max(START, loss.min())]
        self.chosen[taken[:, 0]] = True
        return single_cells(self.component, taken)

    def add(self, columns: Columns) -> None:
        pass

    def spread(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        return first, second

    def find(self, half: float, first: Floats, second: Floats, marked: Flags, entry: Floats, more: Indices) -> int:
        from mapgauge.features.network.kernels import find_rectangles, find_segments

        component = self.component
        given = half, first, second, marked, entry, self.chosen, self._done
        both = component.blocks, component.saving, component.near
        count: int = find_segments(*both, component.directed, component.second, *given, self._gains, more[:MOST])
        if component.is_large:
            far = np.flatnonzero(np.isfinite(self._gains[:count]))
            chosen = np.ones(count, np.bool_)
            chosen[far] = _best_of_each(more[far, 0], self._gains[far], STRETCHES)
            count = _keep(more, chosen)
        if not component.directed:
            every = not component.is_large
            count += find_rectangles(*both, *given, every, self._sides, more[count:])
        return count


class _Runs:
    """Columns for open lines: whole segments and rectangles."""

    def __init__(self, component: Component, sizes: tuple[int, int], half: float) -> None:
        self.component, self.chosen = component, np.zeros(component.cells, np.bool_)
        self._done = np.empty((2, component.cells), np.uint8)
        self._sizes, self._half = sizes, half
        self._gains, self._count = np.empty(MOST), 0
        self._tag = np.zeros(sum(sizes), np.uint64)  # a number for the columns of each point
        self._most = np.zeros(sum(sizes))

    def first(self) -> Indices:
        rows, _ = self.runs(np.zeros(self._sizes[0]))
        if len(rows):
            return rows
        near = self.component.near
        return single_cells(self.component, near[[np.argmax(self.component.saving[near[:, 0]])]])

    def runs(self, price: Floats) -> tuple[Indices, float]:
        """Return the best runs along the lines of the second side at a price of the other points, and their total."""
        from mapgauge.features.network.proof_kernels import best_runs

        blocks, near = self.component.blocks, self.component.near
        count = np.where(blocks[:, 2] > 0, blocks[:, 1], blocks[:, 1] + blocks[:, 4] - 1)
        diagonals, longest = int(count.sum()), int(blocks[:, 4].max()) + 1
        rows = np.empty((self._sizes[1], 5), np.int64)
        given = blocks, self.component.saving, near, self.component.by_point, count.cumsum() - count
        by_diagonal = np.empty((2, diagonals)), np.empty((2, diagonals), np.int64)
        by_row = np.empty(longest), np.empty((longest, 5), np.int64)
        runs, total = best_runs(*given, self.component.directed, self._half, price, *by_diagonal, *by_row, rows)
        return rows[:runs], total

    def add(self, columns: Columns) -> None:
        from mapgauge.features.network.proof_kernels import tag_points

        number = np.arange(self._count, self._count + len(columns), dtype=np.uint64)
        self._count += len(columns)
        given = columns.cell_start, columns.cell, columns.points, number, self.component.saving
        tag_points(*given, self._sizes[0], self._tag, self._most)

    def spread(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        price = np.concatenate([first, second])
        used = np.flatnonzero(self._tag)
        _, group = np.unique(self._tag[used], return_inverse=True)
        total, most = np.bincount(group, price[used]), np.bincount(group, self._most[used])
        share = np.divide(total, most, out=np.zeros_like(total), where=most > 0)
        price[used] = np.where(most[group] > 0, share[group] * self._most[used], price[used])
        return price[: self._sizes[0]], price[self._sizes[0] :]

    def find(self, half: float, first: Floats, second: Floats, marked: Flags, entry: Floats, more: Indices) -> int:
        from mapgauge.features.network.kernels import find_whole

        component = self.component
        given = component.blocks, component.saving, component.near, component.directed, component.second
        prices = half, first, second, marked, entry
        count: int = find_whole(*given, *prices, self._done, self._gains, more[:MOST])
        if count > FEW:
            count = _keep(more, _best_of_each(more[:count, 0], self._gains[:count], EACH))
        rows, total = self.runs(first)
        if total > second.sum() + TOLERANCE:  # together they pay, so at least one of them does
            more[count : count + len(rows)] = rows
            count += len(rows)
        return count


def _best_of_each(block: Indices, gain: Floats, most: int) -> Flags:
    """Return whether each column is among the best ones of its block."""
    order = np.lexsort((-gain, block))
    start = np.flatnonzero(np.diff(block[order], prepend=-1))
    rank = np.arange(len(block)) - np.repeat(start, np.diff(start, append=len(block)))
    best = np.empty(len(block), np.bool_)
    best[order] = rank < most
    return best


def _keep(rows: Indices, chosen: Flags) -> int:
    """Move the chosen rows to the front. Returns their number."""
    kept = rows[: len(chosen)][chosen]
    rows[: len(kept)] = kept
    return len(kept)


def grow(
    component: Component, sizes: tuple[int, int], half: float, *, separate: bool
) -> tuple[PointsSolver, list[Columns], float]:
    """Return the solver with all columns that pay, these columns, and a total that no assignment exceeds.

    Args:
        component: The component.
        sizes: Number of points of both sides.
        half: The cost of one unit of an entry.
        separate: Whether near cells are columns by themselves.
    """
    from mapgauge.features.network.proof_kernels import complete_prices, find_cells, price_runs

    blocks, saving, near = component.blocks, component.saving, component.near
    way = (_Cells if separate else _Runs)(component, sizes, half)
    net = np.zeros(component.entries)
    rows = [way.first()]
    columns = [priced_columns(component, rows[0], net)]
    way.add(columns[0])
    solver = PointsSolver(columns[0], sizes, component.entries, half)
    more = np.empty((MOST + sum(sizes), 5), np.int64)
    bound, total, proofs = np.inf, -np.inf, 0
    for _ in range(ROUNDS):
        solver.solve()
        prices = solver.prices()
        worth = math.fsum(np.concatenate([prices.first[prices.first > 0], prices.second[prices.second > 0]]).tolist())
        stays = component.is_large and worth <= total + STAYS * (1.0 + worth)
        total = max(total, worth)
        given = half, *way.spread(prices.first, prices.second), prices.marked, prices.entry
        count = way.find(*given, more)
        if not count:
            marked = component.with_blocks(prices.priced)
            count = find_cells(blocks, saving, component.second, *given, marked, way.chosen, more)
        if not count or stays:
            excess, entry = np.zeros(sizes[0]), prices.entry.copy()
            price_runs(blocks, np.concatenate(rows), solver.values(), saving, component.second, *given[:-1], entry)
            marked = component.with_blocks(np.flatnonzero(entry != 0))
            fixed = blocks, saving, near, component.second
            cells, seen = np.empty((component.cells, 2), np.int64), np.zeros(component.cells, np.uint8)
            written = way.chosen, cells, seen, np.empty((LARGE, 2), np.int64), excess, more[count:]
            looks = max(LOOKS, len(near))
            violated, valid = complete_prices(*fixed, *given[:-1], entry, marked, looks, *written)
            bound = min(bound, worth + math.fsum(excess.tolist())) if valid else bound
            proofs += 1
            if not valid or not violated or proofs > PROOFS:
                break
            count += violated
        rows.append(more[:count].copy())
        columns.append(priced_columns(component, rows[-1], net))
        way.add(columns[-1])
        solver.add(columns[-1])
    return solver, columns, bound
