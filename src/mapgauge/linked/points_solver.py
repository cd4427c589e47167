"""``PointsSolver``: the linear programme of network PLD in HiGHS, which can get more columns after it was solved.

The variables are the columns, and ``u, v`` for each entry that they change, with ``entry = u - v``. Columns that are
added later are 0 in the solution before, so that solution is still feasible and the primal simplex method needs few
steps. The first programme is solved by the dual one.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge.errors import MapgaugeError
from mapgauge.linked.solver import BINARY, LINEAR, OPTIONS, load_highs, rounded
from mapgauge.typing import Flags, Floats, Indices

_PRIMAL = 4  # simplex_strategy
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


class PointsSolver:
    """One linear programme. Its solution does not depend on anything but the columns and their order."""

    def __init__(self, columns: Columns, points: tuple[int, int], entries: int, cost: float, *, binary: bool = False):
        """Make a programme.

        Args:
            columns: The first columns.
            points: Number of points of both sides.
            entries: Number of entries.
            cost: Of one unit of an entry.
            binary: Whether every variable must be 0 or 1.
        """
        self._highs = load_highs()
        self._solver = self._highs.Highs()
        for name, value in (OPTIONS | (BINARY if binary else LINEAR) | _UNSCALED).items():
            self._solver.setOptionValue(name, value)
        self._cost, self._binary, self._points = cost, binary, points
        self._row = np.full(sum(points) + entries, -1)  # of the points of both sides, then of the entries
        self._rows, self._variables = 0, 0
        self._place = np.empty(0, np.int64)  # (columns,): the variable of each column
        self.add(columns)

    def add(self, columns: Columns) -> None:
        """Add columns."""
        first, every = self._points[0], sum(self._points)
        one, other = columns.points.T
        self._add_rows(np.concatenate([one, first + other]), -np.inf, 1.0)
        terms = self._add_rows(every + columns.entry, 0.0, 0.0)
        signs = np.tile([-1.0, 1.0], len(terms))
        self._add_columns(np.full(len(signs), self._cost), np.arange(len(signs) + 1), np.repeat(terms, 2), signs)
        count = len(columns)
        owner = np.repeat(np.arange(count), np.diff(columns.cell_start))
        owners = np.concatenate([owner, owner, np.repeat(np.arange(count), np.diff(columns.start))])
        order = np.argsort(owners, kind="stable")
        index = self._row[np.concatenate([one, first + other, every + columns.entry])[order]]
        value = np.concatenate([np.ones(2 * len(owner)), columns.value])[order]
        if len(self._place):
            self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        self._place = np.concatenate([self._place, self._variables + np.arange(count)])
        self._add_columns(-columns.saving, np.searchsorted(owners[order], np.arange(count + 1)), index, value)
        if self._binary:
            place = self._place[-count:].astype(np.int32)
            self._solver.changeColsBounds(count, place, np.zeros(count), np.ones(count))
            self._solver.changeColsIntegrality(count, place, np.ones(count, np.uint8))

    def _add_rows(self, places: Indices, lower: float, upper: float) -> Indices:
        """Add rows for the points or entries that have none, and return them."""
        used = np.unique(places)
        new = used[self._row[used] < 0]
        rows = self._rows + np.arange(len(new))
        self._row[new] = rows
        self._rows += len(new)
        none = np.empty(0, np.int32)
        limits = np.full(len(new), lower), np.full(len(new), upper)
        self._solver.addRows(len(new), *limits, 0, np.zeros(len(new), np.int32), none, np.empty(0))
        return rows

    def _add_columns(self, cost: Floats, start: Indices, index: Indices, value: Floats) -> None:
        count = len(cost)
        self._variables += count
        self._solver.addCols(
            *(count, cost, np.zeros(count), np.full(count, np.inf)),
            *(len(index), start[:-1].astype(np.int32), index.astype(np.int32), value),
        )

    def solve(self) -> Floats:
        """Return the best assignment of all columns."""
        self._solver.run()
        status = self._solver.getModelStatus()
        if status != self._highs.HighsModelStatus.kOptimal:
            found = self._solver.modelStatusToString(status)
            raise MapgaugeError(f"HiGHS did not solve an assignment of {len(self._place)} pairs of points: {found}")
        return rounded(np.array(self._solver.getSolution().col_value)[self._place])

    @property
    def total(self) -> float:
        """What the best assignment saves."""
        return -float(self._solver.getObjectiveValue())

    def prices(self) -> Prices:
        """Return the prices that prove the solution."""
        price = np.zeros(len(self._row))
        there = self._row >= 0
        price[there] = -np.array(self._solver.getSolution().row_dual)[self._row[there]]
        first, second, entry = np.split(price, np.cumsum(self._points))
        return Prices(np.maximum(first, 0.0), np.maximum(second, 0.0), there[sum(self._points) :], entry)
