"""The assignment of the points of two networks of lines.

Lines without a point near the other side have no part in it. Lines that are connected by near pairs are solved
together, and all others one by one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mapgauge import kernels
from mapgauge.features.network.effort import USUAL, Effort
from mapgauge.features.network.sides import Network
from mapgauge.geometry.polylines import ranges
from mapgauge.solver import components_of
from mapgauge.typing import Floats, Indices

if TYPE_CHECKING:
    from mapgauge.features.network.runs import Near, Task  # imports numba


@dataclass(frozen=True, slots=True, eq=False)
class PointAssignment:
    """The best assignment of points."""

    first: Indices  # (pairs,): points of the first side
    second: Indices
    saving: Floats  # (pairs,), 0 beyond the cutoff
    ends: int  # of runs, counted for each line that goes on there
    gap: float  # what another assignment may save more, at most


def assign_points(
    x: Network, y: Network, cutoff: float, break_cost: float, *, directed: bool, effort: Effort = USUAL
) -> PointAssignment:
    """Return the best assignment of the points of two networks. A pair saves nothing from the cutoff on.

    The network with fewer points is the second one. So the result is the same if the two change places.
    """
    if y.points.shape[1] > x.points.shape[1]:
        other = assign_points(y, x, cutoff, break_cost=break_cost, directed=directed, effort=effort)
        return PointAssignment(other.second, other.first, other.saving, ends=other.ends, gap=other.gap)
    if not y.points.size:
        none = np.empty(0, np.int64)
        return PointAssignment(none, none, np.empty(0), ends=0, gap=0.0)
    from mapgauge.features.network.kernels import find_pairs

    near = find_pairs(
        x.points,
        y.points,
        x.lines,
        y_lines=y.lines,
        x_weight=x.confidence,
        y_weight=y.confidence,
        cutoff=cutoff,
        directed=directed or break_cost == 0,
    )
    if break_cost == 0:
        pairs = [_without_links(near, lines, y) for lines in _components(near, x, y)]
        first, second = np.concatenate([np.empty((2, 0), np.int64), *pairs], axis=1)
        return _assigned(x, y, (first, second), gap=0.0, cutoff=cutoff, directed=directed)

    task = _task(x, y, near, cutoff=cutoff, break_cost=break_cost, effort=effort)
    parts = _components(task.near, x, y)
    if len(parts) > 1 and x.points.shape[1] > effort.large:
        return _by_parts(
            x, y, task.near, parts=parts, cutoff=cutoff, break_cost=break_cost, directed=directed, effort=effort
        )
    chosen, gap = _pairs_of_runs(task, parts)
    return _assigned(x, y, chosen, gap=gap, cutoff=cutoff, directed=directed)


def _task(x: Network, y: Network, near: "Near", cutoff: float, break_cost: float, effort: Effort) -> "Task":
    """Return two networks with the near pairs that may be in a run which saves more than it costs."""
    from mapgauge.features.network.runs import Task, keep_useful

    half = 0.5 * break_cost
    free = np.zeros(x.points.shape[1]), np.zeros(y.points.shape[1])
    every = np.arange(len(y.count))
    useful = keep_useful(every, (x.lines, y.lines), near, prices=free, half=half, floor=0.0)
    return Task(
        x=x,
        y=y,
        x_lines=x.lines,
        y_lines=y.lines,
        near=useful,
        cutoff=cutoff,
        half=half,
        cuts=np.zeros(len(y.count), np.int64),
        effort=effort,
    )


def _pairs_of_runs(task: "Task", parts: list[Indices]) -> tuple[tuple[Indices, Indices], float]:
    """Return the points of the best runs of both sides, and how much more other runs may save."""
    from mapgauge.features.network.run_kernels import pairs_of
    from mapgauge.features.network.runs import choose_runs

    runs = np.empty((0, 7), np.int64)
    gap = 0.0
    for lines in parts:
        chosen, more = choose_runs(task, lines)
        runs = np.concatenate([runs, chosen])
        gap = gap + more
    _, first, second = pairs_of(runs, task.x_lines, task.y_lines).T
    return (first, second), gap


def _assigned(
    x: Network, y: Network, pairs: tuple[Indices, Indices], gap: float, cutoff: float, directed: bool
) -> PointAssignment:
    """Return pairs of points in the order of the first side, with what each saves."""
    first, second = pairs
    order = np.lexsort((second, first))
    first = first[order]
    second = second[order]
    distance = np.sqrt(np.square(x.points[:, first] - y.points[:, second]).sum(axis=0))
    x_weight = np.repeat(x.confidence, x.count)[first]
    y_weight = np.repeat(y.confidence, y.count)[second]
    saving = np.minimum(x_weight, y_weight) * np.maximum(1.0 - distance / cutoff, 0.0)
    ends = _ends(x, y, first, second=second, directed=directed)
    return PointAssignment(first, second, saving, ends=ends, gap=gap)


def _by_parts(
    x: Network,
    y: Network,
    near: "Near",
    parts: list[Indices],
    cutoff: float,
    break_cost: float,
    directed: bool,
    effort: Effort,
) -> PointAssignment:
    """Return the best assignment of a large network. Each set of connected lines becomes a network of its own.

    The time and the memory of a solution grow with the network, so that of all sets would grow with its square.
    """
    start, pairs, _ = near
    made = []
    for lines in parts:
        points = ranges(y.start[lines], y.count[lines])
        own = np.unique(pairs[ranges(start[points], np.diff(start)[points]), 1])
        of_x = ranges(x.start[own], x.count[own])
        part = assign_points(
            _picked(x, own), _picked(y, lines), cutoff, break_cost=break_cost, directed=directed, effort=effort
        )
        made.append(PointAssignment(of_x[part.first], points[part.second], part.saving, ends=part.ends, gap=part.gap))
    first, second, saving = (
        np.concatenate(column)
        for column in zip(*((part.first, part.second, part.saving) for part in made), strict=True)
    )
    order = np.lexsort((second, first))
    ends = sum(part.ends for part in made)
    gap = sum(part.gap for part in made)
    return PointAssignment(first[order], second[order], saving[order], ends=ends, gap=gap)


def _picked(side: Network, lines: Indices) -> Network:
    """Return some lines of a network, in the given order."""
    count = side.count[lines]
    points = np.ascontiguousarray(side.points[:, ranges(side.start[lines], count)])
    return Network(points, count.cumsum() - count, count, ring=side.ring[lines], confidence=side.confidence[lines])


def _components(near: "Near", x: Network, y: Network) -> list[Indices]:
    """Return the lines of the second network in sets that share no line of the first by a near pair."""
    start, pairs, _ = near
    line = np.repeat(np.arange(len(y.count)), y.count)  # of each point
    is_near = np.zeros((len(x.count), len(y.count)), np.bool_)
    is_near[pairs[:, 1], np.repeat(line, np.diff(start))] = True
    first, second = np.nonzero(is_near)
    part = components_of(first, second)
    return [np.unique(second[part == k]) for k in range(int(part.max(initial=-1)) + 1)]


def _ends(x: Network, y: Network, first: Indices, second: Indices, directed: bool) -> int:
    """Return the number of ends of runs: for each link of a matched point that is not matched with a link."""
    ends = 0
    links = [x.after, y.after]
    partners = []
    for side, own, other in ((x, first, second), (y, second, first)):
        partner = np.full(side.points.shape[1], -1)
        partner[own] = other
        partners.append(partner)
    for k in (0, 1):
        start = np.flatnonzero(links[k] >= 0)
        stop = links[k][links[k] >= 0]
        a = partners[k][start]
        b = partners[k][stop]
        is_kept = (a >= 0) & (b >= 0) & ((links[1 - k][a] == b) | (not directed and links[1 - k][b] == a))
        ends += int(np.count_nonzero(a[~is_kept] >= 0) + np.count_nonzero(b[~is_kept] >= 0))
    return ends


def _without_links(near: "Near", lines: Indices, y: Network) -> Indices:
    """Return the best assignment of some lines where links cost nothing, ``(2, pairs)``."""
    start, pairs, gain = near
    points = ranges(y.start[lines], y.count[lines])
    own = ranges(start[points], np.diff(start)[points])
    at = np.repeat(points, np.diff(start)[points])
    (i, row), (j, column) = (np.unique(side, return_inverse=True) for side in (pairs[own, 0], at))
    saving = np.zeros((len(i), len(j)))
    saving[row, column] = gain[own]
    partner, _ = kernels.assignment.assign(saving)
    taken = np.flatnonzero(partner >= 0)
    taken = taken[saving[taken, partner[taken]] > 0]
    return np.stack([i[taken], j[partner[taken]]])
