"""Drops copies from the lines of one frame and joins lines whose ends meet, in the order of a list.

The public converters work like this: the first of several copies stays, and a line is joined with the first line that
meets one of its ends. So the result depends on the order.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mapgauge.truth.cutting.shapes import Geometries, shapely_module
from mapgauge.typing import Flags, Indices, Points


class NamedLine(NamedTuple):
    """A line, and the ids of the map elements that it was made from."""

    points: Points
    elements: tuple[str, ...]


def near_pairs(lines: Geometries, others: Geometries, distance: float) -> tuple[Indices, Indices]:
    """Return the pairs of a line and another line that are at most ``distance`` apart."""
    shapely = shapely_module()
    low, high = shapely.bounds(lines)[:, None, :2], shapely.bounds(lines)[:, None, 2:]
    box = shapely.bounds(others)[None]
    a, b = ((low <= box[..., 2:] + distance) & (box[..., :2] - distance <= high)).all(axis=2).nonzero()
    close = shapely.dwithin(lines[a], others[b], distance)
    return a[close], b[close]


def firsts(count: int, pairs: tuple[Indices, Indices]) -> list[int]:
    """Return the indices that stay. An index goes if it is a copy of an earlier one that stays."""
    earlier: list[list[int]] = [[] for _ in range(count)]
    for i, j in zip(*(side.tolist() for side in pairs), strict=True):
        earlier[max(i, j)].append(min(i, j))
    kept: set[int] = set()
    for k in range(count):
        if kept.isdisjoint(earlier[k]):
            kept.add(k)
    return sorted(kept)


def strips_overlap(one: Geometries, other: Geometries, width: float, least: float) -> Flags:
    """Return which pairs of lines run beside each other.

    Both are widened by ``width`` to each side, with round ends. The common area must be more than ``least`` square
    metres per metre of the shorter line.
    """
    shapely = shapely_module()
    strips = [shapely.buffer(lines, width, quad_segs=16) for lines in (one, other)]
    shorter = np.minimum(shapely.length(one), shapely.length(other))
    found: Flags = shapely.area(shapely.intersection(*strips)) > least * shorter
    return found


def drop_beside(lines: Geometries, edges: Geometries, width: float, least: float) -> list[int]:
    """Return the indices of the lines that do not run beside an edge."""
    if not len(lines) or not len(edges):
        return list(range(len(lines)))
    line, edge = near_pairs(lines, edges, 2 * width)
    beside = strips_overlap(lines[line], edges[edge], width, least)
    gone = set(line[beside].tolist())
    return [k for k in range(len(lines)) if k not in gone]


def copies(strips: Geometries, least: float) -> tuple[Indices, Indices]:
    """Return the pairs of widened lines whose intersection is at least the share ``least`` of their union."""
    shapely = shapely_module()
    area = shapely.area(strips)
    low, high = shapely.bounds(strips)[:, :2], shapely.bounds(strips)[:, 2:]
    meets = ((low[:, None] <= high[None]) & (low[None] <= high[:, None])).all(axis=2)
    # The intersection is at most the smaller area, and the union at least the larger.
    meets &= np.minimum(area[:, None], area[None]) >= least * np.maximum(area[:, None], area[None])
    a, b = np.triu(meets, 1).nonzero()
    both = shapely.area(shapely.intersection(strips[a], strips[b]))
    alike = both >= least * (area[a] + area[b] - both)
    return a[alike], b[alike]


def join_in_order(lines: Sequence[NamedLine], distance: float) -> list[NamedLine]:
    """Join lines whose ends are less than ``distance`` apart.

    The first line is joined with the first of the others that meets one of its ends, and so on until none does. Then it
    is finished, and the next line is the first. Both ends that met stay in the joined line.
    """
    left = list(lines)
    ends = [line.points[[0, -1]] for line in left]
    finished: list[NamedLine] = []
    while left:
        one, end = left.pop(0), ends.pop(0)
        while left:
            gaps = np.linalg.norm(end[None, :, None] - np.array(ends)[:, None], axis=3)
            meets = gaps.reshape(-1, 4) < distance  # start-start, start-end, end-start, end-end
            which = np.flatnonzero(meets.any(axis=1))
            if not len(which):
                break
            k = int(which[0])
            other, _ = left.pop(k), ends.pop(k)
            how = int(meets[k].argmax())
            points = other.points[::-1] if how in (0, 3) else other.points
            pair = [points, one.points] if how < 2 else [one.points, points]
            one = NamedLine(np.concatenate(pair), tuple(dict.fromkeys(one.elements + other.elements)))
            end = one.points[[0, -1]]
        finished.append(one)
    return finished
