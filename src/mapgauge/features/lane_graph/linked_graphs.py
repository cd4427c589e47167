"""The linear programme of PLD with links."""

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from mapgauge.solver import PriceProgramme, Problem, Solution, Sparse, solve
from mapgauge.typing import Flags, Floats, Indices

# The first way of each element, and the links, other elements and weights of ways.
Ways: TypeAlias = tuple[Indices, Indices, Indices, Floats]
BothWays: TypeAlias = tuple[Ways, Ways]  # into elements, and onward from them
TOLERANCE = 1e-9  # a pair that may save less than this is left out
MARGIN = 1.5  # pairs that cost less than this many links are added with those that save something, for fewer rounds


@dataclass(frozen=True, slots=True, eq=False)
class LinkGraph:
    """Elements and the links between them. Links are sorted by source, then target, and each occurs once."""

    size: int  # number of elements
    source: Indices  # (links,)
    target: Indices  # (links,)
    weight: Floats  # (links,), above 0

    def ways(self) -> BothWays:
        """Return the ways into elements and the ways onward from them."""
        from mapgauge.features.lane_graph.link_kernels import ways_of

        into: Ways = ways_of(self.target, self.source, self.weight, size=self.size)
        onward: Ways = ways_of(self.source, self.target, self.weight, size=self.size)
        return into, onward


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """How much of each link an assignment breaks: its weight, or half of it if only one of its elements is assigned."""

    false: Floats  # of each link of the first graph, without halves
    missing: Floats  # of each link of the second graph, without halves
    false_half: Floats  # of each link of the first graph
    missing_half: Floats  # of each link of the second graph


def broken(x: LinkGraph, y: LinkGraph, first: Indices, second: Indices, weight: Floats) -> Broken:
    """Return how much of each link the assignment of the pairs ``first[p], second[p]`` breaks."""
    from mapgauge.features.lane_graph.link_kernels import broken_links

    counts = len(x.weight), len(y.weight)
    false, missing = broken_links(x.ways(), y.ways(), first, second=second, weight=weight, links=counts)
    return Broken(
        false[0, : counts[0]], missing[0, : counts[1]], false[1, : counts[0]], missing_half=missing[1, : counts[1]]
    )


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
    """Return the best assignment of two graphs. The link cost must be above 0. ``binary`` can take much longer.

    The linear programme begins with the pairs that save something. Prices tell which others may improve it.
    """
    from mapgauge.features.lane_graph.link_kernels import marks_of

    x = problem.x
    y = problem.y
    half = 0.5 * link_cost
    ways = x.ways(), y.ways()
    same = problem.kind_x[:, None] == problem.kind_y[None, :]
    chosen = more = same & (problem.saving > 0)
    order = np.empty(0, np.int64)  # the pairs of the programme in the order in which they were added
    if not chosen.any():
        return LinkedAssignment(order, order, np.empty(0), total=0.0, linear=0.0)
    is_term = marks_of(*ways, same).all(axis=1)  # both sides can change the entry
    number = np.where(is_term, np.cumsum(is_term).reshape(is_term.shape) - 1, -1)
    programme = PriceProgramme(x.size + y.size, int(np.count_nonzero(is_term)), half)
    while True:
        programme.add(*_gains(problem, ways, more, number=number, half=half))
        order = np.concatenate([order, np.flatnonzero(more)])
        solution = programme.solve()
        price = _prices(problem, ways, solution, marks=marks_of(*ways, chosen), number=number, half=half)
        others = same & ~chosen
        if not (price[others] < -TOLERANCE).any():
            break
        more = others & (price < MARGIN * link_cost)
        chosen = chosen | more
    linear = float(solution.row.sum())
    best = _assignment(chosen, solution.value[np.argsort(order)], linear)
    if binary and not (best.weight == 1.0).all():
        best = _solve_binary(problem, ways, chosen, number=number, half=half)
        more = others & (price <= linear - best.total + TOLERANCE)
        if more.any():
            best = _solve_binary(problem, ways, chosen | more, number=number, half=half)
    return replace(best, linear=linear)


def _assignment(chosen: Flags, value: Floats, total: float) -> LinkedAssignment:
    """Return the chosen pairs with a value above 0."""
    first, second = np.nonzero(chosen)
    taken = value > 0
    return LinkedAssignment(first[taken], second[taken], value[taken], total=total, linear=total)


def _gains(
    problem: Linked, ways: tuple[BothWays, BothWays], chosen: Flags, number: Indices, half: float
) -> tuple[Floats, Sparse]:
    """Return what each of the chosen pairs saves, less the links that only one side can change, and its entries."""
    from mapgauge.features.lane_graph.link_kernels import pair_rows

    first, second = np.nonzero(chosen)
    start, column, value, alone = pair_rows(ways[0], ways[1], first, second=second, number=number)
    return problem.saving[first, second] - half * alone, Sparse(start, column, value)


def _solve_binary(
    problem: Linked, ways: tuple[BothWays, BothWays], chosen: Flags, number: Indices, half: float
) -> LinkedAssignment:
    """Return the best 0/1 assignment of the chosen pairs."""
    gain, entries = _gains(problem, ways, chosen, number=number, half=half)
    elements = problem.x.size + problem.y.size
    pairs = np.arange(len(gain))
    columns = Sparse.of(
        entries.column, np.repeat(pairs, np.diff(entries.start)), entries.value, rows=elements + int(number.max()) + 1
    )
    used = np.flatnonzero(np.diff(columns.start))
    rows = columns.pick(used[used < elements], pairs)
    terms = columns.pick(used[used >= elements], pairs)
    value = solve(Problem(gain, rows, np.ones(len(rows)), terms=terms, weight=np.full(len(terms), half)), binary=True)
    return _assignment(chosen, value, float(gain @ value - half * np.abs(terms.times(value)).sum()))


def _prices(
    problem: Linked,
    ways: tuple[BothWays, BothWays],
    solution: Solution,
    marks: Flags,
    number: Indices,
    half: float,
) -> Floats:
    """Return the reduced cost of every pair: the least it costs to assign it. ``marks`` are those of the programme."""
    from mapgauge.features.lane_graph.link_kernels import add_link_prices

    added, subtracted = marks.swapaxes(0, 1)
    dual = half * (added.astype(np.float64) - subtracted)
    both = added & subtracted
    dual[both] = solution.term[number[both]]
    price: Floats = solution.row[: problem.x.size, None] + solution.row[None, problem.x.size :] - problem.saving
    add_link_prices(*ways, dual, price)
    return price
