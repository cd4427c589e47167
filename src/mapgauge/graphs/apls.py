"""APLS, average path length similarity: are paths between the same places as long in both graphs?

Control points lie on all edges of one graph. Each is snapped to the nearest place on the other graph. For all paths
between two control points, of length L in the one and L' in the other, ``S = 1 - mean(min(1, |L - L'| / L))``. A path
costs 1 if the other graph lacks it or lost an end. APLS is the harmonic mean of S in both directions.
"""

import numpy as np

from mapgauge import kernels
from mapgauge.graphs.sampling import Roads, Samples
from mapgauge.graphs.settings import GraphSettings
from mapgauge.typing import Indices


def apls(predicted: Roads, true: Roads, settings: GraphSettings, *, directed: bool) -> float | None:
    """Return APLS of two graphs; None if neither has a path that is long enough."""
    sides = [_similarity(a, b, settings, directed) for a, b in ((predicted, true), (true, predicted))]
    if sides[0] is None and sides[1] is None:
        return None
    one, two = (side or 0.0 for side in sides)
    return 2 * (one * two) / (one + two) if one + two > 0 else 0.0


def _similarity(own: Roads, other: Roads, settings: GraphSettings, directed: bool) -> float | None:
    samples = Samples.of(own, settings.control_spacing)
    place, host = _snapped(samples, own, other, settings.snap)
    total, count = kernels.walks.path_cost(
        samples.csr(directed=directed),
        host.csr(directed=directed),
        np.arange(len(samples.points)),
        place,
        settings.shortest - kernels.snapping.SAME,
        False,
    )
    return 1 - total / count if count else None


def _snapped(samples: Samples, own: Roads, other: Roads, radius: float) -> tuple[Indices, Samples]:
    """Return the place of each control point in the other graph, and that graph with a point at each place."""
    if not len(other.edges):
        return np.full(len(samples.points), -1), Samples.of(other, 1.0)
    edge, part = kernels.snapping.snap(
        samples.points, samples.own, own.nodes[own.edges], other.nodes, other.edges, radius
    )
    there = np.flatnonzero(edge >= 0)
    along = part[there] * other.lengths[edge[there]]
    at_start, at_end = along <= kernels.snapping.SAME, along >= other.lengths[edge[there]] - kernels.snapping.SAME
    place = np.full(len(samples.points), -1)
    place[there[at_start]] = other.edges[edge[there[at_start]], 0]
    place[there[at_end & ~at_start]] = other.edges[edge[there[at_end & ~at_start]], 1]
    inside = there[~at_start & ~at_end]
    inside = inside[np.lexsort((part[inside], edge[inside]))]
    place[inside] = len(other.nodes) + np.arange(len(inside))
    return place, Samples.at(other, edge[inside], part[inside])
