"""The assignment of the points of two networks of lines, with the links between consecutive points.

A link term compares the assignments of one predicted and one true line only. So lines without a point near the other
side have no part in the problem, and lines that are connected by near pairs form components that can be solved one by
one.

The linear programme of a component gets the pairs that matter (``points_growth.py``). If its solution is not proven to
be the best of all pairs, the programme of a small component gets all of them, so its solution is exact.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mapgauge import kernels
from mapgauge.features.network.growth import Component, PointsSolver, grow, priced_columns, single_cells
from mapgauge.features.solver.programme import components_of
from mapgauge.geometry.polylines import boxes_of
from mapgauge.typing import Flags, Floats, Indices

SMALL = 1500  # pairs of points of a component, up to which all of them are added if the total is not proven
PROVEN = 1e-6  # the share by which a proven total may be below the best one
TINY = 2.0**-8  # savings up to which their unit is changed
MUCH = 1e6  # savings of a pair, which a broken link does not have to cost more than
EXACT = 1e-9  # the same for small components, not a share


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The lines of one side. Lines must be in an order that depends on their content only, and have points."""

    points: Floats  # (dimension, points), contiguous
    start: Indices  # (lines,): the first point of each line
    count: Indices  # (lines,): its number of points
    ring: Flags  # (lines,): whether the last point is linked to the first
    confidence: Floats  # (lines,)


@dataclass(frozen=True, slots=True, eq=False)
class PointAssignment:
    """The best assignment of points."""

    first: Indices  # (pairs,): points of the first side
    second: Indices
    weight: Floats  # (pairs,), in (0, 1]
    saving: Floats  # (pairs,), 0 beyond the cutoff
    links: Floats  # the broken links of each entry that is not 0, in units of the link cost
    proven: bool  # whether no assignment is better


def assign_points(
    x: Network, y: Network, cutoff: float, break_cost: float, *, directed: bool = False, binary: bool = False
) -> PointAssignment:
    """Return the best assignment of the points of two networks. A pair saves nothing from the cutoff on."""
    from mapgauge.features.network.kernels import add_to_entries

    share = 0.5 / (1 + directed)  # of a link in one entry
    sizes = x.points.shape[1], y.points.shape[1]
    parts, every = [], True
    for component in _components(x, y, cutoff, directed):
        assigned, proven = _solve(*_scaled(component, share * break_cost), sizes, binary)
        every = every and proven
        entries = np.zeros(component.entries)
        add_to_entries(component.blocks, assigned, component.second, entries)
        taken = np.flatnonzero(assigned > 0)
        pairs = _points_of(component.blocks, taken)
        parts.append((*pairs, assigned[taken], component.saving[taken], share * np.abs(entries[entries != 0])))
    if not parts:
        none = np.empty(0, np.int64)
        return PointAssignment(none, none, np.empty(0), np.empty(0), np.empty(0), proven=True)
    first, other, weight, saving, links = (np.concatenate(column) for column in zip(*parts, strict=True))
    return PointAssignment(first, other, weight, saving, links, every)


def _components(x: Network, y: Network, cutoff: float, directed: bool) -> Iterator[Component]:
    """Yield the blocks with near pairs.

    Those with rings on the second side come by component. All others come together: their programmes are small, and
    several of them take longer than one.
    """
    from mapgauge.features.network.kernels import fill_savings

    near = _near_lines(x, y, cutoff)
    if not len(near):
        return
    blocks, weight = _blocks(x, y, near)
    saving = np.zeros(int(blocks[-1, 6] + blocks[-1, 1] * blocks[-1, 4]))
    fill_savings(x.points, y.points, blocks, weight, cutoff, saving)
    useful = np.flatnonzero(np.maximum.reduceat(saving, blocks[:, 6]) > 0)
    part = components_of(near[useful, 0], near[useful, 1])
    rings = np.bincount(part, blocks[useful, 5]) > 0
    part = np.where(rings[part], part, -1)
    for k in np.unique(part):
        of_part = useful[part == k]
        sizes = blocks[of_part, 1] * blocks[of_part, 4]
        own = np.concatenate([saving[c : c + size] for c, size in zip(blocks[of_part, 6], sizes, strict=True)])
        renumbered = blocks[of_part].copy()
        renumbered[:, 6] = sizes.cumsum() - sizes
        yield Component(renumbered, own, directed)


def _near_lines(x: Network, y: Network, cutoff: float) -> Indices:
    """Return the pairs of lines whose bounding boxes are within the cutoff, ``(pairs, 2)``."""
    if not x.points.size or not y.points.size:
        return np.empty((0, 2), np.int64)
    boxes = [boxes_of(side.points, side.start, axis=1) for side in (x, y)]
    gap = np.maximum(boxes[0][0][:, :, None] - boxes[1][1][:, None], boxes[1][0][:, None] - boxes[0][1][:, :, None])
    weight = np.minimum(x.confidence[:, None], y.confidence)
    return np.argwhere((gap.max(axis=0) < cutoff) & (weight > 0))


def _blocks(x: Network, y: Network, lines: Indices) -> tuple[Indices, Floats]:
    i, j = lines.T
    sizes = x.count[i] * y.count[j]
    sides = [(side.start[k], side.count[k], side.ring[k]) for side, k in ((x, i), (y, j))]
    blocks = np.stack([*sides[0], *sides[1], sizes.cumsum() - sizes], axis=1).astype(np.int64)
    return blocks, np.minimum(x.confidence[i], y.confidence[j])


def _points_of(blocks: Indices, cells: Indices) -> tuple[Indices, Indices]:
    """Return the points of both sides of some cells."""
    block = blocks[np.searchsorted(blocks[:, 6], cells, "right") - 1]
    at = cells - block[:, 6]
    return block[:, 0] + at // block[:, 4], block[:, 3] + at % block[:, 4]


def _scaled(component: Component, half: float) -> tuple[Component, float]:
    """Return a component and the cost of an entry in a unit in which savings are not much smaller than 1.

    Otherwise the tolerances of the solver would ignore lines with very small confidences. The unit is a power of 2, so
    nothing is rounded.
    """
    unit = 2.0 ** math.frexp(component.saving.max())[1]
    if unit > TINY:
        return component, half
    return replace(component, saving=component.saving / unit), min(half / unit, MUCH)


def _solve(component: Component, half: float, sizes: tuple[int, int], binary: bool) -> tuple[Floats, bool]:
    """Return the assignment of all cells of a component, and whether it is proven to be the best one."""
    if half == 0:
        return _without_links(component), True
    cells, small = component.cells, component.cells <= SMALL
    ways = [binary or component.has_rings]
    if not component.is_large:
        ways.append(True)  # if the total is not proven otherwise
    for separate in ways:
        solver, columns, bound = grow(component, sizes, half, separate=separate)
        value = solver.finish()
        proven = bound <= solver.total + (EXACT if small else PROVEN * (1.0 + solver.total))
        if proven or separate:
            break
    divided = binary and bool(((value > 0) & (value < 1)).any())
    if small and (divided or not proven):
        every = single_cells(component, component.with_blocks(np.arange(cells)))
        columns = [priced_columns(component, every, np.zeros(component.entries))]
    if divided or (small and not proven):
        solver = PointsSolver(columns[0], sizes, component.entries, half, binary=binary, slack=0.0)
        for more in columns[1:]:
            solver.add(more)
        value, proven = solver.finish(), small
    weight = np.repeat(value, np.concatenate([np.diff(some.cell_start) for some in columns]))
    cell = np.concatenate([some.cell for some in columns])
    return np.minimum(np.bincount(cell, weight, minlength=cells), 1.0), proven


def _without_links(component: Component) -> Floats:
    """Return the assignment of all cells where links cost nothing. It needs no linear programme."""
    near = np.flatnonzero(component.saving > 0)
    (i, row), (j, column) = (np.unique(at, return_inverse=True) for at in _points_of(component.blocks, near))
    saving = np.zeros((len(i), len(j)))
    saving[row, column] = component.saving[near]
    partner, _ = kernels.assignment.assign(saving)
    assigned = np.zeros(len(component.saving))
    assigned[near] = partner[row] == column
    return assigned
