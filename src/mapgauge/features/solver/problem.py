"""``Problem``: an assignment with link terms, as sparse arrays.

A problem has one variable ``w`` in [0, 1] for each candidate pair. It asks for the largest total

    sum(saving * w) - sum(weight * |terms @ w|)    subject to    rows @ w <= limit

``rows`` says that no element is assigned more than once. ``terms`` has one row for each link that the assignment may
break: the difference between the assignments at both ends of the link.
"""

from dataclasses import dataclass

import numpy as np

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
        """Divide the problem into parts that do not depend on each other.

        Args:
            part: The number of the part of each variable, from 0. No row and no term may have variables of two parts.

        Returns:
            For each part, its variables and its problem.
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
    """Return the part of each row, which is that of its first entry."""
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
