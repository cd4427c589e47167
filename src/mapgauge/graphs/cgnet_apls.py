"""APLS as CGNet's evaluator computes it, with its faults.

- Control points are the nodes of a graph; no points are added between them. Edges count in both directions.
- The control points of one graph are inserted into the other one after the other, and change it as they are. A point
  that falls on a node takes its place, and the point that had the place before is lost.
- Paths below 5 m are left out, except those from a lost point.

For graphs of more than 1000 nodes, CGNet searches only the edges of the 20 nearest nodes. This is not copied.

CGNet uses the geometry of shapely. The kernel has the same operations. A rounding difference can change which node a
point takes, so a frame may differ by some thousandths.
"""

import numpy as np

from mapgauge import kernels
from mapgauge.frames.graph import Edges, Graph
from mapgauge.graphs.cgnet import check_flat, in_order
from mapgauge.graphs.sampling import csr

_SNAP, _SHORTEST, _BOX = 0.5, 5.0, 0.05  # metres


def apls(predicted: Graph, true: Graph) -> float:
    """Return APLS of two graphs; 0 if one of them has no paths."""
    check_flat(predicted)
    check_flat(true)
    if not len(predicted.edges) or not len(true.edges):
        return 0.0
    one, two = _similarity(true, predicted), _similarity(predicted, true)
    return 2 / (1 / one + 1 / two) if one > 0 and two > 0 else 0.0


def _similarity(own: Graph, other: Graph) -> float:
    edges = _undirected(other)
    place, ends, lengths, count = kernels.snapping.insert_one_by_one(own.nodes, other.nodes, edges, _SNAP, _BOX)
    native = _undirected(own)
    total, paths = kernels.walks.path_cost(
        csr(len(own.nodes), native, Graph(own.nodes, native).lengths, np.ones_like(native, np.bool_)),
        csr(count, ends, lengths, np.ones_like(ends, np.bool_)),
        np.arange(len(own.nodes)),
        place,
        _SHORTEST,
        True,
    )
    return 1 - total / paths if paths else 0.0


def _undirected(graph: Graph) -> Edges:
    """Return the edges without direction, from the lower node, in the order in which networkx lists them."""
    pairs = dict.fromkeys((min(edge), max(edge)) for edge in in_order(graph))
    return np.array(sorted(pairs, key=lambda edge: edge[0]), np.int64).reshape(-1, 2)
