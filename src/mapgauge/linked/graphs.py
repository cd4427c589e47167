"""``LinkGraph``: the links of one side by source and by target, and ``broken``: the links that an assignment breaks.

An assignment ``W`` between the elements of two graphs with links ``A`` and ``B`` breaks the links

    A W - W B    and    A' W - W B'                                            (' is the transpose)

Entry ``(k, l)`` of the first matrix compares what leads from element ``k`` into the partners of ``l`` with what leads
from the partners of ``k`` into ``l``. The second matrix does the same against the direction of the links.
"""

from dataclasses import dataclass

import numpy as np

from mapgauge.geometry.polylines import ranges
from mapgauge.linked.problem import Sparse
from mapgauge.typing import Flags, Floats, Indices


@dataclass(frozen=True, slots=True, eq=False)
class LinkGraph:
    """Elements and the links between them. Links are sorted by source, then target, and each occurs once."""

    size: int  # number of elements
    source: Indices  # (links,)
    target: Indices  # (links,)
    weight: Floats  # (links,), above 0

    @classmethod
    def of(cls, size: int, source: Indices, target: Indices, weight: Floats) -> "LinkGraph":
        """Make a graph from links in any order. Links of weight 0 are left out."""
        order = np.lexsort((target, source))
        order = order[weight[order] > 0]
        return cls(size, source[order], target[order], weight[order])

    def onward(self) -> tuple[Sparse, Indices]:
        """Return the targets of each element with the weights of their links, and the link of each entry."""
        return Sparse.of(self.source, self.target, self.weight, self.size), np.arange(len(self.weight))

    def back(self) -> tuple[Sparse, Indices]:
        """Return the sources of each element with the weights of their links, and the link of each entry."""
        matrix = Sparse.of(self.target, self.source, self.weight, self.size)
        return matrix, np.argsort(self.target, kind="stable")

    def dense(self) -> Floats:
        """Return the weights as a matrix."""
        matrix = np.zeros((self.size, self.size))
        matrix[self.source, self.target] = self.weight
        return matrix


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """What pairs add to the entries of one of the two matrices.

    ``place`` is ``k * (elements of the second graph) + l`` for the entry ``(k, l)``.
    """

    place: Indices
    pair: Indices
    weight: Floats  # above 0
    link: Indices  # of the first graph, then of the second
    added: int  # the first so many come from links of the first graph; the others are subtracted

    @property
    def signed(self) -> Floats:
        """The weights, negative for links of the second graph."""
        return np.concatenate([self.weight[: self.added], -self.weight[self.added :]])


def entries_of(x: LinkGraph, y: LinkGraph, first: Indices, second: Indices) -> tuple[Entries, Entries]:
    """Return what the pairs ``first[p], second[p]`` add to both matrices."""
    forward = _entries(x.back(), y.onward(), first, second, y.size)
    backward = _entries(x.onward(), y.back(), first, second, y.size)
    return forward, backward


def _entries(
    x: tuple[Sparse, Indices], y: tuple[Sparse, Indices], first: Indices, second: Indices, width: int
) -> Entries:
    pairs = np.arange(len(first))
    own, other = _at(x[0], first), _at(y[0], second)
    mine, yours = np.repeat(pairs, own[1]), np.repeat(pairs, other[1])
    return Entries(
        np.concatenate([x[0].column[own[0]] * width + second[mine], first[yours] * width + y[0].column[other[0]]]),
        np.concatenate([mine, yours]),
        np.concatenate([x[0].value[own[0]], y[0].value[other[0]]]),
        np.concatenate([x[1][own[0]], y[1][other[0]]]),
        len(mine),
    )


def _at(matrix: Sparse, rows: Indices) -> tuple[Indices, Indices]:
    """Return the places of the entries of some rows, and their number in each row."""
    counts = np.diff(matrix.start)[rows]
    return ranges(matrix.start[rows], counts), counts


@dataclass(frozen=True, slots=True, eq=False)
class Broken:
    """How much of each link an assignment breaks.

    A link between two assigned elements that the other side lacks is broken by 1 times its weight. A link between an
    assigned and an unassigned element is broken by half its weight and called a half link. A link between unassigned
    elements is not broken. An assignment that is divided counts in proportion.
    """

    false: Floats  # of each link of the first graph, without halves
    missing: Floats  # of each link of the second graph, without halves
    false_half: Floats  # of each link of the first graph
    missing_half: Floats  # of each link of the second graph


def broken(x: LinkGraph, y: LinkGraph, first: Indices, second: Indices, weight: Floats) -> Broken:
    """Return how much of each link the assignment of the pairs ``first[p], second[p]`` breaks.

    Args:
        x: The first graph.
        y: The second graph.
        first: Elements of the first graph.
        second: Elements of the second graph.
        weight: The assignment of each pair, in (0, 1].
    """
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
                _add(total, entries.link[side], 0.5 * share * part[at[side]])
    return Broken(*totals)


def _add(total: Floats, at: Indices, amount: Floats) -> None:
    total += np.bincount(at, amount, minlength=len(total))


def two_sided(entries: Entries, places: int) -> tuple[Flags, Flags, Flags]:
    """Return which entries of a matrix get something added, something subtracted, and both."""
    signed = np.zeros((2, places), np.bool_)
    signed[0, entries.place[: entries.added]] = True
    signed[1, entries.place[entries.added :]] = True
    return signed[0], signed[1], signed[0] & signed[1]
