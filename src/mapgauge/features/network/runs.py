"""The best set of runs between two networks of lines, and a proof that no other saves more.

A programme chooses runs that share no point. Its columns are runs that have been found so far. Its dual solution has a
price for each point of the first network. At these prices, the best runs along each line of the second network are
found one line at a time (``kernels.py``). The sum of the prices and of what these runs save bounds every solution, so
the runs are the best ones as soon as the programme reaches the bound. Otherwise the new runs become columns.

Prices of a programme with few columns jump. So new runs are found at prices halfway to the best ones so far, and then
after some steps along the subgradient of the bound.

As the gap between the bound and the best solution so far closes, near pairs and runs are left out that lose more than
this gap. If few runs are left, all of them become columns of one last programme, which chooses whole runs.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from mapgauge.errors import MapgaugeError
from mapgauge.features.network.effort import Effort
from mapgauge.features.network.kernels import all_runs, best_runs, is_useful
from mapgauge.features.network.run_kernels import first_free, parts_of, prices_of, rows_of, savings_of, uses_of
from mapgauge.features.network.sides import Network
from mapgauge.solver import BINARY, LINEAR, OPTIONS, PRECISE, Options, load_highs
from mapgauge.typing import Flags, Floats, Indices

EXACT = 1e-9  # the share of the total by which a bound may exceed a proven total
CUTS = 3  # of a ring
ALL = 1 << 40  # of a ring whose bound is what is left to prove
SHARE = 0.5  # of the best prices so far in those at which runs are found
STEPS = 3  # along the subgradient after each solution of the programme
SMALL = 0.2  # the share of the bound up to which a gap leaves out near pairs
FEWER = 0.7  # the share of this gap at which more of them are left out
LIMITS: Options = {"mip_max_nodes": 2000}  # for programmes that choose whole runs


Near = tuple[Indices, Indices, Floats]  # near pairs: see ``kernels.py``


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """Two networks and their near pairs."""

    x: Network
    y: Network
    x_lines: Indices
    y_lines: Indices
    near: Near
    cutoff: float
    half: float  # the cost of the end of a run for one line
    cuts: Indices  # (lines of y,): where rings are cut
    effort: Effort

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of points of both sides."""
        return self.x.points.shape[1], self.y.points.shape[1]

    def savings(self, runs: Indices) -> Floats:
        """What each run saves."""
        found: Floats = savings_of(
            runs,
            self.x.points,
            self.y.points,
            x_lines=self.x_lines,
            y_lines=self.y_lines,
            x_weight=self.x.confidence,
            y_weight=self.y.confidence,
            cutoff=self.cutoff,
            half=self.half,
        )
        return found


def keep_useful(
    chosen: Indices,
    lines: tuple[Indices, Indices],
    near: Near,
    prices: tuple[Floats, Floats],
    half: float,
    floor: float,
) -> Near:
    """Return the near pairs of some lines of the second network with runs that may gain more than ``floor``."""
    start, pairs, saving = near
    kept: Flags = is_useful(
        chosen,
        lines[0],
        lines[1],
        near=near,
        price=prices[0],
        y_price=prices[1],
        half=half,
        floor=floor,
    )
    return np.append(0, kept.cumsum())[start], pairs[kept], saving[kept]


class _Programme:
    """HiGHS with one programme after the other."""

    def __init__(self, *, whole: bool) -> None:
        self._highs = load_highs()
        self._whole = whole
        self._solver = self._highs.Highs()
        options = OPTIONS | PRECISE
        if whole:
            options = options | BINARY | LIMITS
        else:
            options = options | LINEAR
        for name, value in options.items():
            self._solver.setOptionValue(name, value)

    def solve(self, savings: Floats, rows: int, start: Indices, index: Indices) -> tuple[Floats, Floats, float]:
        """Return how much of each column is chosen, the prices of the rows, and a bound of what columns save."""
        columns = len(savings)
        unit = savings.max()
        # passModel() takes no keywords.
        self._solver.passModel(
            columns,
            rows,
            len(index),
            int(self._highs.MatrixFormat.kColwise),
            int(self._highs.ObjSense.kMaximize),
            0.0,  # what no column adds
            savings / unit,
            np.zeros(columns),  # bounds of columns
            np.ones(columns),
            np.full(rows, -self._highs.kHighsInf),  # bounds of rows
            np.ones(rows),
            start[:-1],
            index,
            np.ones(len(index)),  # entries of the matrix
            np.full(columns, int(self._whole), np.int32),  # whether columns are whole numbers
        )
        self._solver.run()
        status = self._solver.getModelStatus()
        states = self._highs.HighsModelStatus
        if status not in (states.kOptimal, states.kSolutionLimit):
            state = self._solver.modelStatusToString(status)
            raise MapgaugeError(f"HiGHS did not solve an assignment of {columns} runs of points: {state}")
        solution: Any = self._solver.getSolution()
        weight = np.array(solution.col_value)
        dual = unit * np.maximum(np.array(solution.row_dual), 0.0)
        if self._whole:
            bound = unit * self._solver.getInfo().mip_dual_bound
        else:
            bound = float(weight @ savings)
        return weight, dual, bound


class _RunSearch:
    """The best runs along some lines of the second network."""

    def __init__(self, task: Task, lines: Indices) -> None:
        self.task = task
        self.lines = lines
        self.near = task.near
        self.best = np.empty((0, 7), np.int64)
        self.total = 0.0
        self.bound = np.inf  # by ``best_runs``
        self.loose = np.inf  # by ``best_runs``
        self.gap = np.inf  # when near pairs were left out
        self.prices = (np.zeros(task.sizes[0]), np.zeros(task.sizes[1]))  # at which the bound was found
        self.columns: dict[tuple[int, ...], float] = {}  # runs and what they save
        self.programmes: dict[bool, _Programme] = {}
        self.most = np.zeros(task.sizes[0])  # what each point of x saves at most
        start, pairs, saving = task.near
        for first, count, _ in task.y_lines[lines].tolist():
            own = slice(start[first], start[first + count])
            np.maximum.at(self.most, pairs[own, 0], saving[own])

    @property
    def known(self) -> tuple[Indices, Floats]:
        """The columns, and what they save."""
        runs = np.array(list(self.columns), np.int64).reshape(-1, 7)
        savings = np.array(list(self.columns.values()))
        return runs, savings

    @property
    def is_proven(self) -> bool:
        """Whether no solution is better than the best so far."""
        return self.bound * (1 - EXACT) <= self.total

    def keep(self, runs: Indices) -> None:
        """Keep a solution if it is the best so far."""
        total = float(self.task.savings(runs).sum())
        if total > self.total:
            self.best = runs
            self.total = total

    def improve(self, price: Floats, most: int) -> tuple[bool, float, Indices]:
        """Add the best runs at some prices. Return whether one is new, the bound, and uses of each point of ``x``."""
        task = self.task
        y_price = np.zeros(task.sizes[1])  # filled by ``best_runs``
        before = len(self.columns)
        runs, bound, loose = best_runs(
            self.lines,
            task.cuts,
            task.x_lines,
            y_lines=task.y_lines,
            near=self.near,
            price=price,
            half=task.half,
            most=most,
            y_price=y_price,
        )
        bound = bound + float(price.sum())
        loose = loose + float(price.sum())
        uses = uses_of(runs, task.x_lines, task.sizes[0])
        if uses.max(initial=0) <= 1:
            self.keep(runs)
        else:
            runs = np.concatenate([runs, parts_of(runs, task.x_lines, task.y_lines, uses=uses)])
        for run, saving in zip(map(tuple, runs.tolist()), task.savings(runs).tolist(), strict=True):
            if saving > 0:
                self.columns.setdefault(run, saving)
        is_new = len(self.columns) > before
        if bound < self.bound:
            self.bound = bound
            self.loose = loose
            self.prices = (price, y_price)
            if loose - self.total < FEWER * min(self.gap, SMALL * bound) and not self.is_proven:
                self.reduce(task.effort.some_runs)
        return is_new, bound, uses

    def reduce(self, most: int) -> None:
        """Leave out near pairs and columns that no better solution has, because they lose more than the gap.

        If at most ``most`` runs are left, find the best of them.
        """
        self.gap = self.loose - self.total
        floor = -self.gap - EXACT * self.loose  # what a run of a better solution gains at least, at these prices
        self.near = keep_useful(
            self.lines,
            (self.task.x_lines, self.task.y_lines),
            self.near,
            prices=self.prices,
            half=self.task.half,
            floor=floor,
        )
        runs = self._runs_left(floor, most)
        if runs is None:
            self._drop_columns(floor)
        else:
            self.finish(runs)

    def _runs_left(self, floor: float, most: int) -> Indices | None:
        """Return all runs that gain at least ``floor``; None if there are ``most`` or more."""
        _, pairs, _ = self.near
        if len(pairs) > most:  # so many pairs would make more runs than a programme takes
            return None
        x_price, y_price = self.prices
        highest = max(self.loose - float(x_price.sum() + y_price.sum()), 0.0)
        runs: Indices = all_runs(
            self.lines,
            self.task.x_lines,
            self.task.y_lines,
            near=self.near,
            price=x_price,
            y_price=y_price,
            half=self.task.half,
            floor=floor,
            highest=highest,
            most=most,
        )
        if len(runs) >= most:  # the kernel stops there
            return None
        return runs

    def _drop_columns(self, floor: float) -> None:
        """Leave out the columns that gain less than ``floor``."""
        x_price, y_price = self.prices
        runs, savings = self.known
        spent = prices_of(runs, self.task.x_lines, self.task.y_lines, price=x_price, y_price=y_price)
        kept = savings - spent >= floor
        self.columns = dict(zip(map(tuple, runs[kept].tolist()), savings[kept].tolist(), strict=True))

    def finish(self, runs: Indices) -> None:
        """Find the best of some runs, of which every better solution than the best so far consists."""
        self.bound = min(self.bound, self.total)
        savings = self.task.savings(runs)
        runs = runs[savings > 0]
        savings = savings[savings > 0]
        if len(runs):
            self.bound, _, gain = self.solve(runs, savings, whole=False)
            kept = gain >= self.total - self.bound * (1 + EXACT)
            if not self.is_proven:
                self.bound = self.solve(runs[kept], savings[kept], whole=True)[0]

    def solve(self, runs: Indices, savings: Floats, *, whole: bool) -> tuple[float, Floats, Floats]:
        """Solve a programme. Returns the bound, the prices of points of ``x``, and what runs gain at the prices."""
        task = self.task
        x_points, y_points = task.sizes
        row, rows, start, index = rows_of(runs, task.x_lines, task.y_lines, x_points=x_points, y_points=y_points)
        if whole not in self.programmes:
            self.programmes[whole] = _Programme(whole=whole)
        weight, dual, bound = self.programmes[whole].solve(savings, rows, start, index=index)
        order = np.argsort(-weight, kind="stable")
        chosen = first_free(order, runs, task.x_lines, y_lines=task.y_lines, x_points=x_points, y_points=y_points)
        self.keep(runs[chosen])
        cost = np.bincount(np.repeat(np.arange(len(runs)), np.diff(start)), dual[index], minlength=len(runs))
        return bound, self.spread(dual, row[:x_points]), savings - cost

    def run(self) -> None:
        """Improve the bound and the best solution until they agree, or nothing is new."""
        points = self.task.sizes[0]
        _, _, uses = self.improve(np.zeros(points), CUTS)
        if uses.max(initial=0) <= 1 and not self.is_proven:
            self.improve(np.zeros(points), ALL)
        for _ in range(self.task.effort.solutions):
            if self.is_proven:
                return
            target = np.zeros(points)
            total = 0.0
            before = self.bound
            if self.columns:
                total, target, _ = self.solve(*self.known, whole=False)
            for share, most in ((SHARE, CUTS), (0.0, CUTS), (0.0, ALL)):
                price = share * self.prices[0] + (1 - share) * target
                is_new = False
                for _ in range(1 + STEPS):
                    if self.bound * (1 - EXACT) <= max(total, self.total):
                        return
                    is_added, value, uses = self.improve(price, most)
                    is_new |= is_added
                    price = _step(price, uses, value - max(total, self.total))
                if is_new or self.bound < before - EXACT * before:
                    break
            else:
                return

    def spread(self, dual: Floats, row: Indices) -> Floats:
        """Return the prices of points. Points of one row share its price in proportion to what they save at most."""
        weight = np.where(row >= 0, self.most, 0.0)
        total = np.bincount(row[row >= 0], weight[row >= 0], minlength=len(dual) + 1)
        return weight * (np.append(dual, 0.0) / np.where(total > 0, total, 1.0))[row]


def _step(price: Floats, uses: Indices, excess: float) -> Floats:
    """Return prices after a step along the subgradient: more where points are used twice, less where they are free."""
    slope = np.where((price <= 0) & (uses == 0), 0, 1 - uses)
    size = int(slope @ slope)
    if not size:
        return price
    return np.maximum(price - max(excess, 0.0) / size * slope, 0.0)


def choose_runs(task: Task, lines: Indices) -> tuple[Indices, float]:
    """Return the best runs along some lines of the second network, and how much more others may save."""
    search = _RunSearch(task, lines)
    search.run()
    if not search.is_proven:
        if search.columns:
            search.solve(*search.known, whole=True)
        search.reduce(task.effort.all_runs)
    if search.is_proven:
        return search.best, 0.0
    return search.best, search.bound - search.total
