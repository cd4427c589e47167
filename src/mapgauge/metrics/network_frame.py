"""Solves network PLD of one frame and class: the assignment of points, its parts, breaks, joins and entropies.

Lines are put into an order that depends on their content only. The best assignment may not be unique, and then the
solver finds the same one for any order and direction of the input.
"""

import math
from dataclasses import dataclass

import numpy as np

from mapgauge.geometry.polylines import Polylines
from mapgauge.linked.points import Network, PointAssignment, assign_points
from mapgauge.typing import Flags, Floats, Indices

PARTS = ("matched", "confidence", "missed", "false", "links")
# The parts, the mass, the numbers of breaks and false joins, the entropies times the matched points, these points, and
# 1 if the value is not proven.
COLUMNS = (*PARTS, "mass", "breaks", "false_joins", "split", "merge", "matched_points", "unproven")
MASS, COUNTS, ENTROPIES, MATCHED, UNPROVEN = 5, slice(6, 8), slice(8, 10), 10, 11


@dataclass(frozen=True, slots=True, eq=False)
class NetworkSide:
    """The lines of one side of a frame and class."""

    network: Network
    index: Indices  # (lines,): the index of each line in the input

    @property
    def line(self) -> Indices:
        """The line of each point."""
        return np.repeat(np.arange(len(self.index)), self.network.count)

    @property
    def confidence(self) -> Floats:
        """The confidence of each point."""
        return np.repeat(self.network.confidence, self.network.count)


@dataclass(frozen=True, slots=True, eq=False)
class Overlaps:
    """How many points of each predicted line are assigned to each true line."""

    first: Indices  # (overlaps,): predicted lines
    second: Indices
    points: Floats  # (overlaps,), above 0


def side_of(
    polylines: Polylines, start: int, stop: int, closed: Flags, repeats: Flags, confidence: Floats, directed: bool
) -> NetworkSide:
    """Return the lines ``start`` to ``stop`` without closing points and without lines that have no points.

    Args:
        polylines: All polylines.
        start: The first line.
        stop: The end.
        closed: Whether each polyline is closed.
        repeats: Whether its last point repeats the first.
        confidence: Of each polyline.
        directed: Whether the direction of lines matters.
    """
    lines = []
    for k in range(start, stop):
        points = polylines.coords[polylines.offsets[k] : polylines.offsets[k + 1] - int(repeats[k])]
        if len(points):
            ring = bool(closed[k]) and len(points) > 2
            lines.append((float(confidence[k]), ring, _ordered(points.tolist(), ring, directed), k - start))
    lines.sort()
    count = np.array([len(points) for _, _, points, _ in lines], np.int64)
    flat = np.array([point for _, _, points, _ in lines for point in points], np.float64)
    network = Network(
        np.ascontiguousarray(flat.reshape(-1, polylines.dimension).T),
        count.cumsum() - count,
        count,
        np.array([ring for _, ring, _, _ in lines], np.bool_),
        np.array([weight for weight, _, _, _ in lines], np.float64),
    )
    return NetworkSide(network, np.array([k for *_, k in lines], np.int64))


def _ordered(points: list[list[float]], ring: bool, directed: bool) -> list[list[float]]:
    """Return the points in the first of all equivalent orders: both directions, and all starts of a ring."""
    forms = [points] if directed else [points, points[::-1]]
    if ring:
        least = min(points)
        forms = [form[k:] + form[:k] for form in forms for k, point in enumerate(form) if point == least]
    return min(forms)


def solve_network(
    x: NetworkSide, y: NetworkSide, cutoff: float, break_cost: float, *, directed: bool = False, binary: bool = False
) -> tuple[Floats, Overlaps]:
    """Return the numbers of ``COLUMNS`` of one frame and class, and which lines are assigned to which.

    Args:
        x: The predictions.
        y: The truth.
        cutoff: Metres.
        break_cost: The cost of a link that is missing or false.
        directed: Whether the direction of lines matters.
        binary: Whether assignments must be 0 or 1. Otherwise they are those of the linear programme.
    """
    found = assign_points(x.network, y.network, cutoff, break_cost, directed=directed, binary=binary)
    row = np.zeros(len(COLUMNS))
    row[: len(PARTS)] = _parts(x, y, found, break_cost)
    row[MASS] = 0.5 * math.fsum([*x.confidence.tolist(), *y.confidence.tolist()])
    near = found.saving > 0
    first, second, weight = found.first[near], found.second[near], found.weight[near]
    row[COUNTS] = _changes(y, second, x.line[first], weight), _changes(x, first, y.line[second], weight)
    overlaps = _overlaps(x.line[first], y.line[second], weight)
    row[ENTROPIES] = _entropy(overlaps.second, overlaps.points), _entropy(overlaps.first, overlaps.points)
    row[MATCHED] = math.fsum(overlaps.points.tolist())
    row[UNPROVEN] = not found.proven
    return row, overlaps


def _parts(x: NetworkSide, y: NetworkSide, found: PointAssignment, break_cost: float) -> list[float]:
    """Return the five parts of an assignment.

    A pair that saves nothing may carry links. It is not a match: its points are missed and false, at the same cost.
    """
    near = found.saving > 0
    i, j, w, saving = found.first[near], found.second[near], found.weight[near], found.saving[near]
    r, s = x.confidence, y.confidence
    free = [np.maximum(1.0 - np.bincount(at, w, minlength=len(c)), 0.0) for at, c in ((i, r), (j, s))]
    costs = (
        w * (np.minimum(r[i], s[j]) - saving),
        w * (0.5 * np.abs(r[i] - s[j])),
        0.5 * s * free[1],
        0.5 * r * free[0],
        break_cost * found.links,
    )
    return [math.fsum(cost.tolist()) for cost in costs]


def _changes(side: NetworkSide, point: Indices, other: Indices, weight: Floats) -> int:
    """Return how often the line of the other side changes along the lines of a side.

    A point belongs to the line to which most of it is assigned, and to none if that is less than half of it. Points
    that belong to none are passed over.
    """
    if not len(point):
        return 0
    lines = int(other.max()) + 1
    key, at = np.unique(point * lines + other, return_inverse=True)
    share = np.bincount(at, weight, minlength=len(key))
    order = np.lexsort((-share, key // lines))
    order = order[share[order] >= 0.5 - 1e-9]
    points, place = np.unique(key[order] // lines, return_index=True)
    if not len(points):
        return 0
    partner, own = (key[order] % lines)[place], side.line[points]
    same = own[1:] == own[:-1]
    total = int(np.count_nonzero(same & (partner[1:] != partner[:-1])))
    starts = np.flatnonzero(np.append(True, ~same))
    ends = np.append(starts[1:], len(own)) - 1
    closing = side.network.ring[own[starts]] & (partner[starts] != partner[ends])
    return total + int(np.count_nonzero(closing))


def _overlaps(first: Indices, second: Indices, weight: Floats) -> Overlaps:
    if not len(first):
        return Overlaps(first, second, weight)
    lines = int(second.max()) + 1
    key, at = np.unique(first * lines + second, return_inverse=True)
    order = np.argsort(at, kind="stable")
    parts = np.split(weight[order], np.bincount(at).cumsum()[:-1])
    return Overlaps(key // lines, key % lines, np.array([math.fsum(part.tolist()) for part in parts]))


def _entropy(of: Indices, points: Floats) -> float:
    """Return the conditional entropy of the other line, given the line ``of``, in bits, times the number of points."""
    totals = np.bincount(of, points) if len(of) else np.empty(0)
    return math.fsum(p * math.log2(t / p) for p, t in zip(points.tolist(), totals[of].tolist(), strict=True))
