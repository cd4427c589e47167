"""Linear programmes of assignments with links, and their solver."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mapgauge.dependencies import require
from mapgauge.errors import MapgaugeError
from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Floats, Indices


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """A sparse matrix by rows. Row ``i`` has the entries ``start[i]:start[i + 1]``."""

    start: Indices  # (rows + 1,)
    column: Indices  # (entries,)
    value: Floats  # (entries,)

    @classmethod
    def of(cls, row: Indices, column: Indices, value: Floats, rows: int) -> "Sparse":
        """Make a matrix from entries in any order. Entries of a row keep their order."""
        order = np.argsort(row, kind="stable")
        counts = np.bincount(row, minlength=rows)
        return cls(np.concatenate([[0], counts.cumsum()]), column[order], value[order])

    @classmethod
    def stack(cls, parts: "list[Sparse]") -> "Sparse":
        """Return the rows of several matrices, one below the other."""
        starts = [np.zeros(1, np.int64)]
        total = 0
        for part in parts:
            starts.append(part.start[1:] + total)
            total += len(part.column)
        return cls(
            np.concatenate(starts),
            np.concatenate([part.column for part in parts]),
            np.concatenate([part.value for part in parts]),
        )

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    def times(self, vector: Floats) -> Floats:
        """Return the product with a vector. Entries are added in their order."""
        row = np.repeat(np.arange(len(self)), np.diff(self.start))
        return np.bincount(row, self.value * vector[self.column], minlength=len(self)).astype(np.float64)

    def pick(self, rows: Indices, at: Indices) -> "Sparse":
        """Return some of the rows. Column ``j`` becomes ``at[j]``."""
        counts = np.diff(self.start)[rows]
        entries = ranges(self.start[rows], counts)
        return Sparse(np.concatenate([[0], counts.cumsum()]), at[self.column[entries]], self.value[entries])


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """An assignment with link terms."""

    saving: Floats  # (variables,)
    rows: Sparse
    limit: Floats  # (rows,)
    terms: Sparse
    weight: Floats  # (terms,)

    def components(self, part: Indices) -> "list[tuple[Indices, Problem]]":
        """Divide the problem into parts that do not depend on each other; return the variables and the problem of each.

        ``part`` has the number of the part of each variable. No row and no term may have variables of two parts.
        """
        parts = int(part.max(initial=-1)) + 1
        variables = _grouped(part, parts)
        rows = _grouped(_first_of(self.rows, part), parts)
        terms = _grouped(_first_of(self.terms, part), parts)
        at = np.empty(len(part), np.int64)
        for columns in variables:
            at[columns] = np.arange(len(columns))
        return [
            (
                columns,
                Problem(
                    self.saving[columns],
                    self.rows.pick(r, at),
                    self.limit[r],
                    terms=self.terms.pick(t, at),
                    weight=self.weight[t],
                ),
            )
            for columns, r, t in zip(variables, rows, terms, strict=True)
        ]


def _first_of(matrix: Sparse, part: Indices) -> Indices:
    """Return the part of each row: the part of its first entry."""
    if len(matrix):
        return part[matrix.column[matrix.start[:-1]]]
    return np.empty(0, np.int64)


def _grouped(part: Indices, parts: int) -> list[Indices]:
    """Return the indices of each part, ascending."""
    order = np.argsort(part, kind="stable")
    if not parts:
        return []
    return np.split(order, np.searchsorted(part[order], np.arange(1, parts)))


def components_of(first: Indices, second: Indices) -> Indices:
    """Return the number of the component of each edge ``first[k], second[k]`` of a bipartite graph.

    >>> components_of(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])).tolist()
    [0, 0, 1, 1]
    """
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while (above := parent.setdefault(node, node)) != node:
            parent[node] = parent[above]
            node = above
        return node

    edges = list(zip(first.tolist(), (~second).tolist(), strict=True))  # a negative number for each second element
    for a, other in edges:
        parent[root(a)] = root(other)
    number: dict[int, int] = {}
    return np.array([number.setdefault(root(a), len(number)) for a, _ in edges], np.int64)


Options: TypeAlias = dict[str, bool | int | float | str]  # of the solver, by their names

INTEGRAL = 1e-7  # an assignment this close to 0 or 1 is 0 or 1
OPTIONS: Options = {"output_flag": False, "threads": 1, "parallel": "off"}
# The usual tolerances of 1e-7 would ignore confidences and costs of that size.
PRECISE: Options = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
LINEAR: Options = {"solver": "simplex", "simplex_strategy": 1, "presolve": "off"}
# Numbers of a price programme are of one size. Scaling would take a tenth of the time.
PRICES: Options = LINEAR | {"simplex_scale_strategy": 0}
# Without gaps, the 0/1 solution is the best one, and not one that is close to it.
BINARY: Options = {"mip_rel_gap": 0.0, "mip_abs_gap": 1e-9, "mip_feasibility_tolerance": 1e-9}


def solve(problem: Problem, *, binary: bool = False) -> Floats:
    """Return the best assignment: a number in [0, 1] for each variable; 0 or 1 if ``binary``, which can take longer."""
    highs = load_highs()
    solver = _solver(highs, BINARY if binary else LINEAR)
    _check_taken(solver.passModel(*_model(problem, highs, binary)), highs)
    variables = len(problem.saving)
    return rounded(np.array(_solution(solver, highs, variables).col_value[:variables]))


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The best assignment and the prices that prove it."""

    value: Floats  # (variables,), in [0, 1]
    row: Floats  # (rows,), at least 0: what one more unit of a limit would save
    term: Floats  # (terms,): what one less unit of a term would save, at most its weight


class PriceProgramme:
    """The dual of the linear programme of a ``Problem`` with limits of 1: the prices of its rows and terms.

    Each variable is a row here, and its prices must reach its saving. It has fewer rows than the other form, and most
    prices of terms are at a bound. Variables can be added. The solver then continues from the last solution.
    """

    def __init__(self, rows: int, terms: int, weight: float) -> None:
        """Make a programme without variables. All terms have the same weight."""
        self._highs = load_highs()
        self._rows = rows
        self._solver = _solver(self._highs, PRICES)
        cost = np.concatenate([np.ones(rows), np.zeros(terms)])
        lower = np.concatenate([np.zeros(rows), np.full(terms, -weight)])
        upper = np.concatenate([np.full(rows, self._highs.kHighsInf), np.full(terms, weight)])
        none = np.empty(0, np.int32)
        self._solver.addCols(rows + terms, cost, lower, upper, 0, none, none, np.empty(0))

    def add(self, saving: Floats, entries: Sparse) -> None:
        """Add variables. Row ``i`` of ``entries`` has what the variable ``i`` adds to the rows, then to the terms."""
        start = entries.start[:-1].astype(np.int32)
        column = entries.column.astype(np.int32)
        upper = np.full(len(saving), self._highs.kHighsInf)
        status = self._solver.addRows(len(saving), saving, upper, len(column), start, column, entries.value)
        _check_taken(status, self._highs)

    def solve(self) -> Solution:
        """Return the best assignment of the variables in the order in which they were added, and its prices."""
        solution = _solution(self._solver, self._highs, self._solver.getNumRow())
        price = np.array(solution.col_value)
        return Solution(rounded(np.array(solution.row_dual)), price[: self._rows], price[self._rows :])


def rounded(solution: Floats) -> Floats:
    """Return an assignment in which numbers close to 0 or 1 are 0 or 1."""
    whole = np.round(solution)
    return np.clip(np.where(np.abs(solution - whole) <= INTEGRAL, whole, solution), 0.0, 1.0)


def _solver(highs: Any, options: Options) -> Any:
    """Return HiGHS without a model."""
    solver = highs.Highs()
    for name, value in (OPTIONS | PRECISE | options).items():
        solver.setOptionValue(name, value)
    return solver


def _check_taken(status: Any, highs: Any) -> None:
    """Raise an error if HiGHS did not take a model or a part of it."""
    if status == highs.HighsStatus.kError:
        raise MapgaugeError("HiGHS did not take the linear programme of an assignment")


def _solution(solver: Any, highs: Any, variables: int) -> Any:
    """Return HiGHS' solution of its model."""
    solver.run()
    if solver.getModelStatus() != highs.HighsModelStatus.kOptimal:
        state = solver.modelStatusToString(solver.getModelStatus())
        raise MapgaugeError(f"HiGHS did not solve an assignment of {variables} pairs: {state}")
    return solver.getSolution()


def load_highs() -> Any:
    """Return the module ``highspy``, which is an extra."""
    return require("highspy", "a metric with links", "links")


def _model(problem: Problem, highs: Any, binary: bool) -> tuple[Any, ...]:
    """Return the arguments of ``passModel``: the variables are ``w``, then ``u``, then ``v``."""
    variables = len(problem.saving)
    rows = len(problem.rows)
    terms = len(problem.terms)
    columns = variables + 2 * terms
    k = np.arange(terms)
    # Each row of a term ends with - u + v.
    ends = problem.terms.start[1:]
    index = np.insert(
        problem.terms.column, np.repeat(ends, 2), np.stack([variables + k, variables + terms + k], 1).ravel()
    )
    value = np.insert(problem.terms.value, np.repeat(ends, 2), np.tile([-1.0, 1.0], terms))
    start = np.concatenate([problem.rows.start[:-1], len(problem.rows.column) + problem.terms.start[:-1] + 2 * k])
    upper = np.concatenate([np.ones(variables), np.full(2 * terms, highs.kHighsInf)])
    integrality = np.concatenate([np.full(variables, int(binary)), np.zeros(2 * terms)]).astype(np.int32)
    return (
        columns,
        rows + terms,
        len(problem.rows.column) + len(index),
        int(highs.MatrixFormat.kRowwise),
        int(highs.ObjSense.kMinimize),
        0.0,
        np.concatenate([-problem.saving, problem.weight, problem.weight]),
        np.zeros(columns),
        upper,
        np.concatenate([np.full(rows, -highs.kHighsInf), np.zeros(terms)]),
        np.concatenate([problem.limit, np.zeros(terms)]),
        start.astype(np.int32),
        np.concatenate([problem.rows.column, index]).astype(np.int32),
        np.concatenate([problem.rows.value, value]),
        integrality,
    )
