"""Linear programmes of assignments with links, and their solver."""

import math
from dataclasses import dataclass
from typing import Any

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
        starts, total = [np.zeros(1, np.int64)], 0
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
                    self.saving[columns], self.rows.pick(r, at), self.limit[r], self.terms.pick(t, at), self.weight[t]
                ),
            )
            for columns, r, t in zip(variables, rows, terms, strict=True)
        ]


def _first_of(matrix: Sparse, part: Indices) -> Indices:
    """Return the part of each row: the part of its first entry."""
    return part[matrix.column[matrix.start[:-1]]] if len(matrix) else np.empty(0, np.int64)


def _grouped(part: Indices, parts: int) -> list[Indices]:
    """Return the indices of each part, ascending."""
    order = np.argsort(part, kind="stable")
    return np.split(order, np.searchsorted(part[order], np.arange(1, parts))) if parts else []


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


INTEGRAL = 1e-7  # an assignment this close to 0 or 1 is 0 or 1
OPTIONS = {"output_flag": False, "threads": 1, "parallel": "off"}
# The usual tolerances of 1e-7 would ignore confidences and costs of that size.
PRECISE = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10}
LINEAR = {"solver": "simplex", "simplex_strategy": 1, "presolve": "off"}
# Without gaps, the 0/1 solution is the best one, and not one that is close to it.
BINARY = {"mip_rel_gap": 0.0, "mip_abs_gap": 1e-9, "mip_feasibility_tolerance": 1e-9}


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The best assignment and the prices that prove it."""

    value: Floats  # (variables,), in [0, 1]
    row: Floats  # (rows,), at least 0: what one more unit of a limit would save
    term: Floats  # (terms,): what one less unit of a term would save, at most its weight


def solve(problem: Problem, *, binary: bool = False) -> Floats:
    """Return the best assignment: a number in [0, 1] for each variable; 0 or 1 if ``binary``, which can take longer."""
    values = _run(problem, binary, 1.0)
    return rounded(np.array(values.col_value[: len(problem.saving)]))


def solve_with_prices(problem: Problem, *, binary: bool = False) -> Solution:
    """Return the best assignment and its prices. The rows must keep every variable from exceeding 1.

    Prices are exact for the linear programme only.
    """
    variables, rows = len(problem.saving), len(problem.rows)
    if not variables:
        return Solution(np.empty(0), np.zeros(rows), np.zeros(len(problem.terms)))
    values = _run(problem, binary, 1.0 if binary else math.inf)
    dual = np.array(values.row_dual) if not binary else np.zeros(rows + len(problem.terms))
    return Solution(rounded(np.array(values.col_value[:variables])), np.maximum(-dual[:rows], 0.0), -dual[rows:])


def rounded(solution: Floats) -> Floats:
    """Return an assignment in which numbers close to 0 or 1 are 0 or 1."""
    whole = np.round(solution)
    return np.clip(np.where(np.abs(solution - whole) <= INTEGRAL, whole, solution), 0.0, 1.0)


def _run(problem: Problem, binary: bool, upper: float) -> Any:
    """Return HiGHS' solution."""
    highs = load_highs()
    solver = highs.Highs()
    for name, value in (OPTIONS | PRECISE | (BINARY if binary else LINEAR)).items():
        solver.setOptionValue(name, value)
    status = solver.passModel(*_model(problem, highs, binary, upper))
    if status != highs.HighsStatus.kError:
        solver.run()
    if solver.getModelStatus() != highs.HighsModelStatus.kOptimal:
        state = solver.modelStatusToString(solver.getModelStatus())
        raise MapgaugeError(f"HiGHS did not solve an assignment of {len(problem.saving)} pairs: {state}")
    return solver.getSolution()


def load_highs() -> Any:
    """Return the module ``highspy``, which is an extra."""
    return require("highspy", "a metric with links", "links")


def _model(problem: Problem, highs: Any, binary: bool, bound: float) -> tuple[Any, ...]:
    """Return the arguments of ``passModel``: the variables are ``w``, then ``u``, then ``v``."""
    variables, rows, terms = len(problem.saving), len(problem.rows), len(problem.terms)
    columns = variables + 2 * terms
    k = np.arange(terms)
    # Each row of a term ends with - u + v.
    ends = problem.terms.start[1:]
    index = np.insert(
        problem.terms.column, np.repeat(ends, 2), np.stack([variables + k, variables + terms + k], 1).ravel()
    )
    value = np.insert(problem.terms.value, np.repeat(ends, 2), np.tile([-1.0, 1.0], terms))
    start = np.concatenate([problem.rows.start[:-1], len(problem.rows.column) + problem.terms.start[:-1] + 2 * k])
    upper = np.concatenate([np.full(variables, bound), np.full(2 * terms, highs.kHighsInf)])
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
