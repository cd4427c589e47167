"""The linear programme of PLD with links."""

from dataclasses import dataclass, replace

import numpy as np

from mapgauge.features.solver.programme import Problem, Solution, Sparse, solve_with_prices
from mapgauge.geometry.polylines import ranges
from mapgauge.typing import Flags, Floats, Indices

# The programme begins with few pairs if there are more links per element, or if that of all pairs has more entries.
CROWDED, MANY = 8, 400_000
TOLERANCE = 1e-9  # a pair that may save less than this is left out


@dataclass(frozen=True, slots=True, eq=False)
class LinkGraph:
    """Elements and the links between them. Links are sorted by source, then target, and each occurs once."""

    size: int  # number of elements
    source: Indices  # (links,)
    target: Indices  # (links,)
    weight: Floats  # (links,), above 0

    def ways(self, *, onward: bool) -> tuple[Sparse, Indices]:
        """Return the targets or sources of each element with the weights of their links, and the link of each entry."""
        row, column = (self.source, self.target) if onward else (self.target, self.source)
        return Sparse.of(row, column, self.weight, self.size), np.argsort(row, kind="stable")


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """What pairs add to one of the two matrices. The entry (k, l) has the place ``k * (elements of y) + l``."""

    place: Indices
    pair: Indices
    weight: Floats  # above 0
    link: Indices  # of the first graph, then of the second
    added: int  # the first so many come from links of the first graph; the others are subtracted


def entries_of(x: LinkGraph, y: LinkGraph, first: Indices, second: Indices) -> tuple[Entries, Entries]:
    """Return what the pairs ``first[p], second[p]`` add to both matrices."""
    forward = _entries(x.ways(onward=False), y.ways(onward=True), first, second, y.size)
    backward = _entries(x.ways(onward=True), y.ways(onward=False), first, second, y.size)
    return forward, backward


def _entries(
    x: tuple[Sparse, Indices], y: tuple[Sparse, Indices], first: Indices, second: Indices, width: int
) -> Entries:
    pairs = np.arange(len(first))
    (x_matrix, x_link), (y_matrix, y_link) = x, y
    (x_at, x_counts), (y_at, y_counts) = _at(x_matrix, first), _at(y_matrix, second)
    x_pair, y_pair = np.repeat(pairs, x_counts), np.repeat(pairs, y_counts)
    x_place = x_matrix.column[x_at] * width + second[x_pair]
    y_place = first[y_pair] * width + y_matrix.column[y_at]
    return Entries(
        np.concatenate([x_place, y_place]),
        np.concatenate([x_pair, y_pair]),
        np.concatenate([x_matrix.value[x_at], y_matrix.value[y_at]]),
        np.concatenate([x_link[x_at], y_link[y_at]]),
        len(x_pair),
    )


def _at(matrix: Sparse, rows: Indices) -> tuple[Indices, Indices]:
    """Return the places of the entries of some rows, and their number in each row."""
    counts = np.diff(matrix.start)[rows]
    return ranges(matrix.start[rows], counts), counts


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """How much of each link an assignment breaks: its weight, or half of it if only one of its elements is assigned."""

    false: Floats  # of each link of the first graph, without halves
    missing: Floats  # of each link of the second graph, without halves
    false_half: Floats  # of each link of the first graph
    missing_half: Floats  # of each link of the second graph


def broken(x: LinkGraph, y: LinkGraph, first: Indices, second: Indices, weight: Floats) -> Broken:
    """Return how much of each link the assignment of the pairs ``first[p], second[p]`` breaks."""
    free_x = np.maximum(1.0 - np.bincount(first, weight, minlength=x.size), 0.0)
    free_y = np.maximum(1.0 - np.bincount(second, weight, minlength=y.size), 0.0)
    totals = [np.zeros(len(graph.weight)) for graph in (x, y, x, y)]
    for entries in entries_of(x, y, first, second):
        added = np.arange(len(entries.place)) < entries.added
        amount = entries.weight * weight[entries.pair]
        places, at = np.unique(entries.place, return_inverse=True)
        sums = [np.bincount(at[side], amount[side], minlength=len(places)) for side in (added, ~added)]
        free = free_x[places // max(y.size, 1)], free_y[places % max(y.size, 1)]
        for k, side in enumerate((added, ~added)):
            excess = np.maximum(sums[k] - sums[1 - k], 0.0)
            half = np.minimum(excess, free[k] * sums[k])
            whole = sums[k][at[side]]
            share = np.divide(amount[side], whole, out=np.zeros(len(whole)), where=whole > 0)
            for total, part in ((totals[k], excess - half), (totals[k + 2], half)):
                total += np.bincount(entries.link[side], 0.5 * share * part[at[side]], minlength=len(total))
    return Broken(*totals)


def two_sided(entries: Entries, places: int) -> tuple[Flags, Flags, Flags]:
    """Return which entries of a matrix get something added, something subtracted, and both."""
    signed = np.zeros((2, places), np.bool_)
    signed[0, entries.place[: entries.added]] = True
    signed[1, entries.place[entries.added :]] = True
    return signed[0], signed[1], signed[0] & signed[1]


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
    """Return the best assignment of two graphs. The link cost must be above 0. ``binary`` can take much longer."""
    x, y = problem.x, problem.y
    crowded = any(len(graph.weight) > CROWDED * graph.size for graph in (x, y))
    if crowded or 2 * (len(x.weight) * y.size + len(y.weight) * x.size) > MANY:
        chosen, same = problem.saving > 0, problem.kind_x[:, None] == problem.kind_y[None, :]
    else:
        chosen = same = _useful(problem)
    while True:
        best, price = _solve(problem, chosen, link_cost, priced=chosen is not same)
        more = same & ~chosen & (price < -TOLERANCE)
        if not more.any():
            break
        chosen = chosen | more
    linear = best.total
    if binary and not (best.weight == 1.0).all():
        best, _ = _solve(problem, chosen, link_cost, binary=True)
        more = same & ~chosen & (price <= linear - best.total + TOLERANCE)
        if more.any():
            best, _ = _solve(problem, chosen | more, link_cost, binary=True)
    return replace(best, linear=linear)


def _useful(problem: Linked) -> Flags:
    """Return the pairs that may be in a best assignment: those that save something or may repair links."""
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


def _solve(
    problem: Linked, chosen: Flags, link_cost: float, *, binary: bool = False, priced: bool = False
) -> tuple[LinkedAssignment, Floats]:
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
    # Each element is assigned once.
    assigned, pairs = np.concatenate([first, x.size + second]), np.arange(len(first))
    rows = Sparse.of(assigned, np.tile(pairs, 2), np.ones(2 * len(pairs)), x.size + y.size)
    stacked = Sparse.stack(terms)
    solution = solve_with_prices(
        Problem(gain, rows, np.ones(len(rows)), stacked, np.full(len(stacked), half)), binary=binary
    )
    value = solution.value
    taken = value > 0
    total = float(gain @ value - half * np.abs(stacked.times(value)).sum())
    best = LinkedAssignment(first[taken], second[taken], value[taken], total, total)
    return best, _prices(problem, solution, sides, half) if priced else np.zeros_like(problem.saving)


def _terms(entries: Entries, both: Flags, pairs: int) -> Sparse:
    """Return the rows of a matrix that both sides can change."""
    kept = both[entries.place]
    row = (both.cumsum() - 1)[entries.place[kept]]
    # A link of an element to itself may be in a row twice: once for each side.
    key, at = np.unique(row * pairs + entries.pair[kept], return_inverse=True)
    signed = np.where(np.arange(len(kept)) < entries.added, entries.weight, -entries.weight)
    value = np.bincount(at, signed[kept], minlength=len(key)).astype(np.float64)
    return Sparse.of(key // max(pairs, 1), key % max(pairs, 1), value, int(np.count_nonzero(both)))


def _prices(problem: Linked, solution: Solution, sides: list[tuple[Flags, Flags, Flags]], half: float) -> Floats:
    """Return the reduced cost of every pair, for a feasible dual solution of the whole problem."""
    x, y = problem.x, problem.y
    a, b = (np.zeros((graph.size, graph.size)) for graph in (x, y))
    a[x.source, x.target], b[y.source, y.target] = x.weight, y.weight
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
