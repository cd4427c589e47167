"""``PointsSolver``: the linear programme of network PLD in HiGHS, which can get more columns after it was solved.

The variables are ``u, v`` for each entry of the first columns, with ``entry = u - v``, and the columns. Columns that are
added later are 0 in the solution before, so that solution is still feasible and the primal simplex method needs few
steps. The first programme is solved by the dual one.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapgauge.errors import MapgaugeError
from mapgauge.linked.solver import _BINARY, _LINEAR, _OPTIONS, _highs, _rounded
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
        self._highs = _highs()
        self._solver = self._highs.Highs()
        for name, value in (_OPTIONS | (_BINARY if binary else _LINEAR) | _UNSCALED).items():
            self._solver.setOptionValue(name, value)
        self._cost, self._binary, self._columns, self._points = cost, binary, 0, points
        self._row = np.full(sum(points) + entries, -1)  # of the points of both sides, then of the entries
        entry = np.unique(columns.entry)
        self._terms = len(entry)
        self._row[sum(points) + entry] = np.arange(self._terms)
        self._rows = self._terms
        unit = np.arange(self._terms, dtype=np.int32)
        zeros, two = np.zeros(self._terms), np.repeat(unit, 2)
        self._solver.addRows(self._terms, zeros, zeros, 0, np.zeros(self._terms, np.int32), unit[:0], zeros[:0])
        limits = np.zeros(len(two)), np.full(len(two), np.inf)
        signs = np.tile([-1.0, 1.0], self._terms)
        starts = np.arange(len(two), dtype=np.int32)
        self._solver.addCols(len(two), np.full(len(two), cost), *limits, len(two), starts, two, signs)
        self.add(columns)

    def add(self, columns: Columns) -> None:
        """Add columns."""
        one, other = columns.points.T
        used = np.unique(np.concatenate([one, self._points[0] + other]))
        new = used[self._row[used] < 0]
        self._row[new] = self._rows + np.arange(len(new))
        self._rows += len(new)
        starts = np.zeros(len(new), np.int32)
        self._solver.addRows(
            len(new), np.full(len(new), -np.inf), np.ones(len(new)), 0, starts, starts[:0], np.empty(0)
        )
        count = len(columns)
        column = np.repeat(np.arange(count), np.diff(columns.start))
        row = self._row[sum(self._points) + columns.entry]
        kept = row >= 0
        # An entry that none of the first columns changes has no row. Each unit of a column costs something there.
        plain = np.bincount(column[~kept], np.abs(columns.value[~kept]), minlength=count)
        owner = np.repeat(np.arange(count), np.diff(columns.cell_start))
        owners = np.concatenate([owner, owner, column[kept]])
        order = np.argsort(owners, kind="stable")
        index = np.concatenate([self._row[one], self._row[self._points[0] + other], row[kept]])[order]
        value = np.concatenate([np.ones(2 * len(owner)), columns.value[kept]])[order]
        start = np.searchsorted(owners[order], np.arange(count))
        upper = np.full(count, 1.0 if self._binary else np.inf)
        self._solver.addCols(
            *(count, self._cost * plain - columns.saving, np.zeros(count), upper),
            *(len(order), start.astype(np.int32), index.astype(np.int32), value),
        )
        if self._binary:
            place = 2 * self._terms + self._columns + np.arange(count, dtype=np.int32)
            self._solver.changeColsIntegrality(count, place, np.ones(count, np.uint8))
        if self._columns:
            self._solver.setOptionValue("simplex_strategy", _PRIMAL)
        self._columns += count

    def solve(self) -> Floats:
        """Return the best assignment of all columns."""
        self._solver.run()
        status = self._solver.getModelStatus()
        if status != self._highs.HighsModelStatus.kOptimal:
            found = self._solver.modelStatusToString(status)
            raise MapgaugeError(f"HiGHS did not solve an assignment of {self._columns} pairs of points: {found}")
        return _rounded(np.array(self._solver.getSolution().col_value[2 * self._terms :]))

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
