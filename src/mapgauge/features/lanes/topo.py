"""TOPO, JTOPO and APLS of a pair of graphs."""

from functools import cached_property

import numpy as np

from mapgauge.features.lanes.graph_sampling import Near, Roads, Samples, match
from mapgauge.features.lanes.graph_settings import GraphSettings, Score, score, share
from mapgauge.typing import Floats, Indices, Pairs

_ROUNDING = 1e-9  # metres: a point at the end of a walk belongs to it


class Neighbourhoods:
    """Two sampled graphs and the matching of their points."""

    def __init__(self, predicted: Samples, true: Samples, settings: GraphSettings) -> None:
        """Match the points of both graphs."""
        self.predicted, self.true, self.settings = predicted, true, settings

    @cached_property
    def near(self) -> Near:
        """The matching of all points."""
        return match(self.predicted.points, self.true.points, self.settings.radius)

    def geo(self) -> Score | None:
        """Return the share of points that are matched; None if neither graph has points."""
        if not len(self.predicted.points) and not len(self.true.points):
            return None
        return share(len(self.near.accepted), len(self.predicted.points), len(self.true.points))

    def topo(self) -> Score | None:
        """Return the share of points that are matched around all matched pairs; None if neither graph has points."""
        return self._around(self.near.pairs)

    def jtopo(self) -> Score | None:
        """Return the same around true splits and the predicted points nearest to them; None without true splits."""
        if not self.true.splits.any():
            return None
        first, second = self.near.first, self.near.second
        _, nearest = np.unique(np.where(self.true.splits[second], second, -1), return_index=True)
        nearest = nearest[self.true.splits[second[nearest]]]
        return self._around(np.stack([first[nearest], second[nearest]], axis=1))

    def _around(self, pairs: Pairs) -> Score | None:
        geo = self.geo()
        if geo is None or not len(pairs):
            return None if geo is None else score(0.0, 0.0)
        precision, recall = self._shares(pairs)
        return score(geo.precision * precision, geo.recall * recall)

    def _shares(self, pairs: Pairs) -> tuple[float, float]:
        """Return the mean shares of points that are matched around some pairs."""
        from mapgauge.features.lanes.graph_kernels import matches_within

        near = self.near
        ranks = np.argsort(near.first, kind="stable")
        of = np.searchsorted(near.first[ranks], np.arange(len(self.predicted.points) + 1))
        counts = matches_within(
            self.predicted.csr(directed=True),
            self.true.csr(directed=True),
            np.ascontiguousarray(pairs),
            self.settings.walk + _ROUNDING,
            near.first,
            near.second,
            of,
            ranks,
        )
        shares: Floats = counts[:, 2:] / counts[:, :2]
        precision, recall = shares.mean(axis=0).tolist()
        return precision, recall


def apls(predicted: Roads, true: Roads, settings: GraphSettings, *, directed: bool) -> float | None:
    """Return APLS of two graphs; None if neither has a path that is long enough."""
    sides = [_similarity(a, b, settings, directed) for a, b in ((predicted, true), (true, predicted))]
    if sides[0] is None and sides[1] is None:
        return None
    one, two = (side or 0.0 for side in sides)
    return 2 * (one * two) / (one + two) if one + two > 0 else 0.0


def _similarity(own: Roads, other: Roads, settings: GraphSettings, directed: bool) -> float | None:
    from mapgauge.features.lanes.graph_kernels import SAME, path_cost

    samples = Samples.of(own, settings.control_spacing)
    place, host = _snapped(samples, own, other, settings.snap)
    total, count = path_cost(
        samples.csr(directed=directed),
        host.csr(directed=directed),
        np.arange(len(samples.points)),
        place,
        settings.shortest - SAME,
        False,
    )
    return 1 - total / count if count else None


def _snapped(samples: Samples, own: Roads, other: Roads, radius: float) -> tuple[Indices, Samples]:
    """Return the place of each control point in the other graph, and that graph with a point at each place."""
    from mapgauge.features.lanes.graph_kernels import SAME, snap

    if not len(other.edges):
        return np.full(len(samples.points), -1), Samples.of(other, 1.0)
    edge, part = snap(samples.points, samples.own, own.nodes[own.edges], other.nodes, other.edges, radius)
    there = np.flatnonzero(edge >= 0)
    along = part[there] * other.lengths[edge[there]]
    at_start, at_end = along <= SAME, along >= other.lengths[edge[there]] - SAME
    place = np.full(len(samples.points), -1)
    place[there[at_start]] = other.edges[edge[there[at_start]], 0]
    place[there[at_end & ~at_start]] = other.edges[edge[there[at_end & ~at_start]], 1]
    inside = there[~at_start & ~at_end]
    inside = inside[np.lexsort((part[inside], edge[inside]))]
    place[inside] = len(other.nodes) + np.arange(len(inside))
    return place, Samples.at(other, edge[inside], part[inside])
