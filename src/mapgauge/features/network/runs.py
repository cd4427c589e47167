"""The best set of runs between two networks of lines, and a proof that no other saves more.

A programme chooses runs that share no point. Its columns are runs that have been found so far. Its dual solution has a
price for each point of the first network. At these prices, the best runs along each line of the second network are
found one line at a time (``kernels.py``). The sum of the prices and of what these runs save bounds every solution, so
the runs are the best ones as soon as the programme reaches the bound. Otherwise the new runs become columns.

Prices of a programme with few columns jump. So new runs are found at prices halfway to the best ones so far, and then
after some steps along the subgradient of the bound.

Where the solution of the programme is divided, a point with several partners gets half of them barred, and in a second
problem the other half. Each is solved in the same way.
"""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from mapgauge.errors import MapgaugeError
from mapgauge.features.network.kernels import best_runs, keep_useful
from mapgauge.features.network.run_kernels import (
    first_free,
    pairs_of,
    parts_of,
    prices_of,
    rows_of,
    savings_of,
    uses_of,
)
from mapgauge.features.network.sides import Network
from mapgauge.features.solver.programme import INTEGRAL, LINEAR, OPTIONS, PRECISE, load_highs
from mapgauge.typing import Flags, Floats, Indices

EXACT = 1e-9  # the share of the total by which a bound may exceed a proven total
CUTS, ALL = 3, 1 << 40  # of a ring; all if its bound is what is left to prove
SHARE = 0.5  # of the best prices so far in those at which runs are found
STEPS = 3  # along the subgradient after each solution of the programme
SMALL = 0.2  # the share of the bound up to which a gap leaves out near pairs
FEWER = 0.7  # the share of this gap at which more of them are left out
MOST_SOLUTIONS = 1000  # of the programme; five are usual. Then the gap to the bound is reported


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Two networks and their near pairs."""

    x: Network
    y: Network
    x_lines: Indices
    y_lines: Indices
    near: tuple[Indices, Indices, Floats]  # see ``kernels.py``
    cutoff: float
    half: float  # the cost of the end of a run for one line
    cuts: Indices  # (lines of y,): where rings are cut

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of points of both sides."""
        return self.x.points.shape[1], self.y.points.shape[1]

    def savings(self, runs: Indices) -> Floats:
        """What each run saves."""
        lines = self.x.points, self.y.points, self.x_lines, self.y_lines
        found: Floats = savings_of(runs, *lines, self.x.confidence, self.y.confidence, self.cutoff, self.half)
        return found


class _Programme:
    """HiGHS with one programme after the other."""

    def __init__(self) -> None:
        self._highs = load_highs()
        self._solver = self._highs.Highs()
        for name, value in (OPTIONS | PRECISE | LINEAR).items():
            self._solver.setOptionValue(name, value)

    def solve(self, savings: Floats, rows: int, start: Indices, index: Indices) -> tuple[Floats, Floats]:
        """Return how much of each column is chosen, and the prices of the rows."""
        columns, inf, unit = len(savings), self._highs.kHighsInf, savings.max()
        column_wise, maximise = int(self._highs.MatrixFormat.kColwise), int(self._highs.ObjSense.kMaximize)
        bounds = np.zeros(columns), np.ones(columns), np.full(rows, -inf), np.ones(rows)
        matrix = start[:-1], index, np.ones(len(index)), np.zeros(columns, np.int32)
        sizes = columns, rows, len(index)
        self._solver.passModel(*sizes, column_wise, maximise, 0.0, savings / unit, *bounds, *matrix)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status != self._highs.HighsModelStatus.kOptimal:
            state = self._solver.modelStatusToString(status)
            raise MapgaugeError(f"HiGHS did not solve an assignment of {columns} runs of points: {state}")
        solution: Any = self._solver.getSolution()
        return np.array(solution.col_value), unit * np.maximum(np.array(solution.row_dual), 0.0)


@dataclass(slots=True, eq=False)
class _Problem:
    """Runs along some lines of the second network, without barred pairs."""

    barred: Indices
    bound: float
    price: Floats  # (points of x,), at which the bound was found
    near: tuple[Indices, Indices, Floats]  # those that a better solution than the best so far may have
    columns: dict[tuple[int, ...], float]  # runs and what they save
    solution: tuple[Indices, Floats]  # of the programme: runs, and how much of each is chosen
    gap: float = np.inf  # when near pairs were left out


class _Search:
    """The best runs along some lines of the second network."""

    def __init__(self, task: Task, lines: Indices) -> None:
        self.task, self.lines = task, lines
        self.best, self.total = np.empty((0, 7), np.int64), 0.0
        self.programme: _Programme | None = None
        self.left = MOST_SOLUTIONS
        self.most = np.zeros(task.sizes[0])  # what each point of x saves at most
        start, pairs, saving = task.near
        for first, count, _ in task.y_lines[lines].tolist():
            own = slice(start[first], start[first + count])
            np.maximum.at(self.most, pairs[own, 0], saving[own])

    def is_proven(self, bound: float) -> bool:
        """Whether no solution within a bound is better than the best so far."""
        return bound * (1 - EXACT) <= self.total

    def keep(self, runs: Indices) -> None:
        """Keep a solution if it is the best so far."""
        total = float(self.task.savings(runs).sum())
        if total > self.total:
            self.best, self.total = runs, total

    def improve(self, problem: _Problem, price: Floats, most: int) -> tuple[bool, float, Indices]:
        """Find the best runs at some prices and add them to the columns.

        Returns:
            Whether there is a new column, the bound at these prices, and how often each point of ``x`` is used.
        """
        task, y_price = self.task, np.zeros(self.task.sizes[1])
        given = task.x_lines, task.y_lines, problem.near, price, task.half, problem.barred, most
        found, bound, loose = best_runs(self.lines, task.cuts, *given, y_price)
        total = float(price.sum())
        uses = uses_of(found, task.x_lines, task.sizes[0])
        if uses.max(initial=0) <= 1:
            self.keep(found)
        else:
            found = np.concatenate([found, parts_of(found, task.x_lines, task.y_lines, uses)])
        before = len(problem.columns)
        for run, saving in zip(map(tuple, found.tolist()), task.savings(found).tolist(), strict=True):
            if saving > 0:
                problem.columns.setdefault(run, saving)
        is_new = len(problem.columns) > before
        if total + bound < problem.bound:
            problem.bound, problem.price = total + bound, price
            gap = total + loose - self.total
            if gap < FEWER * min(problem.gap, SMALL * problem.bound) and not self.is_proven(problem.bound):
                problem.gap = gap
                self.reduce(problem, y_price, -gap - EXACT * (total + loose))
        return is_new, total + bound, uses

    def reduce(self, problem: _Problem, y_price: Floats, floor: float) -> None:
        """Leave out near pairs and columns that no better solution has, because they gain less than ``floor``."""
        task = self.task
        given = task.x_lines, task.y_lines, problem.near, problem.price, y_price, task.half, floor
        problem.near = keep_useful(self.lines, *given)
        runs = np.array(list(problem.columns), np.int64).reshape(-1, 7)
        costs = prices_of(runs, task.x_lines, task.y_lines, problem.price, y_price).tolist()
        pairs = zip(problem.columns.items(), costs, strict=True)
        problem.columns = {run: saving for (run, saving), cost in pairs if saving - cost >= floor}

    def relax(self, problem: _Problem) -> None:
        """Solve the programme until its bound proves it or the best solution so far, or nothing is new."""
        task, points = self.task, self.task.sizes[0]
        _, _, uses = self.improve(problem, problem.price, CUTS)
        if uses.max(initial=0) <= 1 and not self.is_proven(problem.bound):
            self.improve(problem, problem.price, ALL)
        while self.left > 0 and not self.is_proven(problem.bound):
            self.left -= 1
            target, total, before = np.zeros(points), 0.0, problem.bound
            if problem.columns:
                runs, savings = np.array(list(problem.columns), np.int64), np.array(list(problem.columns.values()))
                row, rows, start, index = rows_of(runs, task.x_lines, task.y_lines, *task.sizes)
                self.programme = self.programme or _Programme()
                weight, dual = self.programme.solve(savings, rows, start, index)
                problem.solution, total = (runs, weight), float(weight @ savings)
                order = np.argsort(-weight, kind="stable")
                self.keep(runs[first_free(order, runs, task.x_lines, task.y_lines, *task.sizes)])
                target = self.spread(dual, row[:points])
            for share, most in ((SHARE, CUTS), (0.0, CUTS), (0.0, ALL)):
                price, is_new = share * problem.price + (1 - share) * target, False
                for _ in range(1 + STEPS):
                    if problem.bound * (1 - EXACT) <= max(total, self.total):
                        return
                    is_added, value, uses = self.improve(problem, price, most)
                    is_new |= is_added
                    price = _step(price, uses, value - max(total, self.total))
                if is_new or problem.bound < before - EXACT * before:
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
    return np.maximum(price - max(excess, 0.0) / size * slope, 0.0) if size else price


def _barred(runs: Indices, barred: Indices, task: Task) -> Flags:
    """Return which runs have a barred pair."""
    run, p, q = pairs_of(runs, task.x_lines, task.y_lines).T
    hit = np.zeros(len(runs), np.bool_)
    for first, stop, other, end in barred.tolist():
        hit[run[(first <= p) & (p < stop) & (other <= q) & (q < end)]] = True
    return hit


def _branches(problem: _Problem, task: Task) -> list[_Problem]:
    """Return two problems that bar some partners each of the point whose partners are most divided."""
    runs, weight = problem.solution
    run, *points = pairs_of(runs, task.x_lines, task.y_lines).T
    weight, best, bars = weight[run], INTEGRAL, []
    for side in (0, 1):
        own, size = points[side], task.sizes[1 - side]
        pair, at = np.unique(own * size + points[1 - side], return_inverse=True)
        point, partner = pair // size, pair % size
        total = np.concatenate([[0.0], np.bincount(at, weight, minlength=len(pair)).cumsum()])
        first, last = np.searchsorted(point, point), np.searchsorted(point, point, "right")
        before = total[:-1] - total[first]
        divided = np.minimum(before, total[last] - total[:-1])
        if len(divided) and divided.max() > best:
            k = int(divided.argmax())
            best, split = divided[k], int(partner[k])
            ranges = [(int(point[k]), int(point[k]) + 1, *part) for part in ((0, split), (split, size))]
            bars = [bar if side == 0 else (*bar[2:], *bar[:2]) for bar in ranges]
    problems, columns = [], np.array(list(problem.columns), np.int64).reshape(-1, 7)
    for bar in bars:
        barred = np.concatenate([problem.barred, np.array([bar], np.int64)])
        hit = _barred(columns, barred[-1:], task).tolist()
        kept = {run: saving for (run, saving), out in zip(problem.columns.items(), hit, strict=True) if not out}
        problems.append(_Problem(barred, problem.bound, problem.price, problem.near, kept, problem.solution))
    return problems


def choose_runs(task: Task, lines: Indices) -> tuple[Indices, float]:
    """Return the best runs along some lines of the second network, and how much more others may save."""
    search, nothing = _Search(task, lines), np.empty((0, 7), np.int64)
    price, barred = np.zeros(task.sizes[0]), np.empty((0, 4), np.int64)
    problem = _Problem(barred, np.inf, price, task.near, {}, (nothing, np.empty(0)))
    open_problems, solved = [(-problem.bound, 0, problem)], 0
    while open_problems and search.left > 0 and not search.is_proven(-open_problems[0][0]):
        _, _, problem = heapq.heappop(open_problems)
        before = problem.bound
        problem.bound = np.inf  # at other pairs, the same prices give another bound
        search.relax(problem)
        problem.bound = min(problem.bound, before)
        solved += 1
        if search.is_proven(problem.bound):
            continue
        branches = _branches(problem, task)
        if not branches:  # neither divided nor proven
            heapq.heappush(open_problems, (-problem.bound, 2 * solved, problem))
            break
        for k, branch in enumerate(branches):
            heapq.heappush(open_problems, (-problem.bound, 2 * solved + k, branch))
    bound = -open_problems[0][0] if open_problems else 0.0
    return search.best, 0.0 if search.is_proven(bound) else bound - search.total
