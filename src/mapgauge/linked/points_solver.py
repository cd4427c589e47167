"""``PointsSolver``: the linear programme of network PLD in HiGHS, which can get more columns after it was solved.

The variables are the columns, and ``u, v`` for each entry that they change, with ``entry = u - v``. Columns that are
added later are 0 in the solution before, so that solution is still feasible and the primal simplex method needs few
steps. The first programme is solved by the dual one.

Many prices can prove the same solution. While columns are added, the limits of the first side have a small slack. It
makes these prices small, so that few other columns seem to pay.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge import kernels
from mapgauge.errors import MapgaugeError
from mapgauge.linked.solver import BINARY, LINEAR, OPTIONS, PRECISE, load_highs, rounded
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
        count, size = len(columns), 2 * len(columns.cell) + len(columns.entry)
        most = count + 2 * len(columns.entry)  # with the columns of entries
        place, start = np.empty(size, np.int64), np.empty(most + 1, np.int32)
        index, value = np.empty(size + most, np.int32), np.empty(size + most)
        new, every = kernels.network.fill_programme(
            *(columns.cell_start, columns.points, columns.start, columns.entry, columns.value),
            *(self._points[0], sum(self._points), len(self._place)),
            *(self._row, self._times, place, start, index, value),
        )
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
        self._solver.addCols(
            *(every, cost, np.zeros(every), np.full(every, np.inf)),
            *(size, start[:every], index[:size], value[:size]),
        )
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
            found = self._solver.modelStatusToString(status)
            raise MapgaugeError(f"HiGHS did not solve an assignment of {len(self._variable)} pairs of points: {found}")

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
