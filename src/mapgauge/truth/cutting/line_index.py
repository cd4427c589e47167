"""A spatial index of long lines, over short runs of their points."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.geometry.polylines import ranges
from mapgauge.truth.cutting.patches import Patches
from mapgauge.truth.cutting.shapes import Geometries, query_index, shapely_module, spatial_index
from mapgauge.typing import Flags, Indices, Points

_RUN = 32  # segments of a line that share one entry of the index


@dataclass(frozen=True, eq=False)
class LineIndex:
    """Lines as flat arrays, with a spatial index over runs of their points.

    The boundary of a town may have ten thousand points, and a frame sees fifty of them. A closed line is stored twice
    in a row. So a part that contains its first point is a contiguous range of points as well.
    """

    coords: Points  # (points, 2)
    along: NDArray[np.float64]  # (points,): metres from the first point of the line
    first: Indices  # (lines,): index of the first point
    steps: Indices  # (lines,): number of segments; of one round if the line is closed
    closed: Flags  # (lines,)
    length: NDArray[np.float64]  # (lines,): metres; of one round if the line is closed
    line: Indices  # (runs,): the line that a run is a part of
    begin: Indices  # (runs,): its first point
    end: Indices  # (runs,): its last point, which is also the first of the next run
    tree: Any

    @classmethod
    def of(cls, geometries: Geometries) -> "LineIndex":
        """Index shapely linestrings or rings, at least one."""
        shapely = shapely_module()
        coords, owner = shapely.get_coordinates(geometries, return_index=True)
        sizes = np.bincount(owner, minlength=len(geometries))
        start = sizes.cumsum() - sizes
        closed = shapely.is_closed(geometries) & (sizes > 3)
        steps = sizes - 1
        # A closed line gets a second round. The point where the rounds meet is not repeated.
        points = ranges(np.stack([start, start + 1], axis=1).ravel(), np.stack([sizes, closed * steps], axis=1).ravel())
        coords = np.ascontiguousarray(coords[points])
        total = sizes + closed * steps
        first = total.cumsum() - total
        gap = np.zeros(len(coords))
        gap[1:] = np.hypot(*np.diff(coords, axis=0).T)
        sums = gap.cumsum()
        along = sums - np.repeat(sums[first], total)
        counts = -(-steps // _RUN)
        line = np.repeat(np.arange(len(sizes)), counts)
        begin = first[line] + _RUN * ranges(np.zeros_like(counts), counts)
        end = np.minimum(begin + _RUN, (first + steps)[line])
        inside = coords[ranges(begin, end - begin + 1)]
        heads = (end - begin + 1).cumsum() - (end - begin + 1)
        low, high = np.minimum.reduceat(inside, heads), np.maximum.reduceat(inside, heads)
        tree = spatial_index(shapely.box(low[:, 0], low[:, 1], high[:, 0], high[:, 1]))
        return cls(coords, along, first, steps, closed, along[first + steps], line, begin, end, tree)

    def near(self, patches: Patches, grow: float) -> tuple[Indices, Indices, Indices, Indices]:
        """Return the ranges of points that may lie in a patch, as columns: patch, line, first point, last point.

        A range of a closed line may continue past its first point.
        """
        patch, runs = query_index(self.tree, patches.rectangles(grow))
        line = self.line[runs]
        new = np.ones(len(runs), np.bool_)
        new[1:] = (np.diff(runs) != 1) | (np.diff(line) != 0) | (np.diff(patch) != 0)
        head = np.flatnonzero(new)
        tail = np.append(head[1:], len(runs))[: len(head)] - 1
        patch, line, begin, end = patch[head], line[head], self.begin[runs[head]], self.end[runs[tail]]
        # A range at the end of a closed line continues with the range at its beginning.
        same = patch * len(self.first) + line
        last = np.searchsorted(same, same, side="right") - 1
        once = self.first[line] + self.steps[line]
        wraps = self.closed[line] & (begin == self.first[line]) & (end[last] == once) & (last > np.arange(len(line)))
        end[last[wraps]] = end[wraps] + self.steps[line[wraps]]
        return patch[~wraps], line[~wraps], begin[~wraps], end[~wraps]
