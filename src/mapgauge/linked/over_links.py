"""The assignment of elements with links, such as lanes that lead into each other.

Elements of two graphs are assigned to each other. A pair saves something if it is near. Every link that the
assignment breaks costs something (see ``graphs.py``). A pair that saves nothing may still carry a link, so all pairs
of elements of the same kind are candidates.

A pair that saves nothing is left out if it can only break links, whatever the other pairs are. If lanes have few
links, one linear programme with all other pairs is the fastest way. If they have many, as in a matrix of scores without
zeros, the programme begins with the pairs that save something. Its dual solution prices all others: a pair that cannot
pay for itself is not in the best assignment. Pairs that may are added, and the programme is solved again, until the
prices prove that no pair is left. Prices also prove the 0/1 solution: a pair is added if its price does not exceed the
gap between the 0/1 solution and the linear one.

An entry of a broken-link matrix that only one side can change is linear: its absolute value is the entry itself, and
it needs no row.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge.linked.graphs import Entries, LinkGraph, entries_of, two_sided
from mapgauge.linked.problem import Problem, Sparse
from mapgauge.linked.solver import Solution, solve_with_prices
from mapgauge.typing import Flags, Floats, Indices

# The programme begins with few pairs if there are more links per element, or if that of all pairs has more entries.
CROWDED, MANY = 8, 400_000
TOLERANCE = 1e-9  # a pair that may save less than this is left out


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """Two graphs and the savings of pairs. Elements must be in an order that depends on their content only."""

    x: LinkGraph
    y: LinkGraph
    kind_x: Indices  # (elements of x,); only elements of the same kind may be assigned
    kind_y: Indices
    saving: Floats  # (elements of x, elements of y), at least 0


@dataclass(frozen=True, slots=True, eq=False)
class LinkedAssignment:
    """The best assignment. Pairs are sorted."""

    first: Indices  # (pairs,)
    second: Indices
    weight: Floats  # in (0, 1]
    total: float  # savings less broken links, as the solver sees them
    linear: float  # the same of the linear programme; larger if a 0/1 solution was asked for and costs more


def assign_with_links(problem: Linked, link_cost: float, *, binary: bool = False) -> LinkedAssignment:
    """Return the best assignment of two graphs.

    Args:
        problem: The graphs and savings.
        link_cost: The cost of a broken link of weight 1, above 0.
        binary: Whether assignments must be 0 or 1. This can take much longer.
    """
    near = problem.saving > 0
    if _is_large(problem.x, problem.y):
        chosen, same = near, problem.kind_x[:, None] == problem.kind_y[None, :]
    else:
        chosen = same = _useful(problem)
    while True:
        found, price = _solve(problem, chosen, link_cost, binary=False)
        more = same & ~chosen & (price < -TOLERANCE)
        if not more.any():
            break
        chosen = chosen | more
    linear = found.total
    if binary and not _is_whole(found.weight):
        found, _ = _solve(problem, chosen, link_cost, binary=True)
        more = same & ~chosen & (price <= linear - found.total + TOLERANCE)
        if more.any():
            found, _ = _solve(problem, chosen | more, link_cost, binary=True)
    return LinkedAssignment(found.first, found.second, found.weight, found.total, linear)


def _is_large(x: LinkGraph, y: LinkGraph) -> bool:
    """Whether the programme of all pairs would take long."""
    crowded = any(len(graph.weight) > CROWDED * graph.size for graph in (x, y))
    return crowded or 2 * (len(x.weight) * y.size + len(y.weight) * x.size) > MANY


def _useful(problem: Linked) -> Flags:
    """Return the pairs that may be in a best assignment.

    A pair that saves nothing is left out if it breaks at least as many links by itself as it may repair.
    """
    chosen: Flags = problem.kind_x[:, None] == problem.kind_y[None, :]
    while True:
        first, second = np.nonzero(chosen)
        repaired = np.zeros(len(first))
        for entries in entries_of(problem.x, problem.y, first, second):
            both = two_sided(entries, chosen.size)[2][entries.place]
            repaired += np.bincount(entries.pair, np.where(both, 1.0, -1.0) * entries.weight, minlength=len(first))
        useless = (repaired <= 0) & (problem.saving[first, second] <= 0)
        if not useless.any():
            return chosen
        chosen[first[useless], second[useless]] = False


def _is_whole(weight: Floats) -> bool:
    return bool((weight == 1.0).all())


def _solve(problem: Linked, chosen: Flags, link_cost: float, *, binary: bool) -> tuple[LinkedAssignment, Floats]:
    """Solve the problem for some pairs. Also returns the price of every pair: the least it costs to assign it."""
    x, y = problem.x, problem.y
    first, second = np.nonzero(chosen)
    half, places = 0.5 * link_cost, x.size * y.size
    gain = problem.saving[first, second].copy()
    matrices = entries_of(x, y, first, second)
    sides = [two_sided(entries, places) for entries in matrices]
    terms = []
    for entries, (_, _, both) in zip(matrices, sides, strict=True):
        plain = ~both[entries.place]
        gain -= half * np.bincount(entries.pair[plain], entries.weight[plain], minlength=len(gain))
        terms.append(_terms(entries, both, len(first)))
    rows = _once(first, second, x.size, y.size)
    stacked = Sparse.stack(terms)
    solution = solve_with_prices(
        Problem(gain, rows, np.ones(len(rows)), stacked, np.full(len(stacked), half)), binary=binary
    )
    value = solution.value
    there = value > 0
    total = float(gain @ value - half * np.abs(stacked.times(value)).sum())
    found = LinkedAssignment(first[there], second[there], value[there], total, total)
    return found, np.empty(0) if binary else _prices(problem, solution, sides, half, rows)


def _terms(entries: Entries, both: Flags, pairs: int) -> Sparse:
    """Return the rows of a matrix that both sides can change."""
    kept = both[entries.place]
    row = (both.cumsum() - 1)[entries.place[kept]]
    # A link of an element to itself may be in a row twice: once for each side.
    key, at = np.unique(row * pairs + entries.pair[kept], return_inverse=True)
    value = np.bincount(at, entries.signed[kept], minlength=len(key)).astype(np.float64)
    return Sparse.of(key // max(pairs, 1), key % max(pairs, 1), value, int(np.count_nonzero(both)))


def _once(first: Indices, second: Indices, m: int, n: int) -> Sparse:
    """Return the rows that say that each element is assigned once."""
    pairs = np.arange(len(first))
    row = np.concatenate([first, m + second])
    return Sparse.of(row, np.tile(pairs, 2), np.ones(2 * len(pairs)), m + n)


def _prices(
    problem: Linked, solution: Solution, sides: list[tuple[Flags, Flags, Flags]], half: float, rows: Sparse
) -> Floats:
    """Return the reduced cost of every pair, for a feasible dual solution of the whole problem.

    An entry that no chosen pair changes has the price 0, which is feasible. An entry that only one side changes has
    the price of that side.
    """
    x, y = problem.x, problem.y
    a, b = x.dense(), y.dense()
    price = solution.row[: x.size, None] + solution.row[None, x.size :] - problem.saving
    start = 0
    for k, (added, subtracted, both) in enumerate(sides):
        dual = half * (added.astype(np.float64) - subtracted)
        count = int(np.count_nonzero(both))
        dual[both] = solution.term[start : start + count]
        start += count
        dual = dual.reshape(x.size, y.size)
        price += a.T @ dual - dual @ b.T if k == 0 else a @ dual - dual @ b
    return price
