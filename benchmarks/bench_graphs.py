"""Measures the graph scores against a plain networkx implementation of the same definitions, on the same graphs.

Run it with ``make bench-lanes``. It prints tables in GitHub markdown. The graphs have the size of those of CGNet: lanes
in 60 x 30 m with a node every 2.5 m, some of which split and merge. The numbers of both are compared, too.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from benchmarks import plain_graphs as plain
from benchmarks.extra_graph_kernels import all_distances
from benchmarks.tables import at_least, heading, machine, race, row
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import mapgauge as mg
from mapgauge.features.graph_scores.graph import Graph
from mapgauge.features.graph_scores.graph_sampling import Graphs, GraphSettings, Roads, Samples
from mapgauge.features.graph_scores.graph_scores import GraphPairs
from mapgauge.metrics.table import chosen_metrics
from mapgauge.scoring.data import Data
from mapgauge.scoring.prepare import prepare
from mapgauge.scoring.score import score_frames

FRAMES, LANES, GOAL = 3, 14, 50.0
MANY = 32  # frames that are scored together
SPEEDS = {"graph": 170.0, "cgnet-graph": 105.0}  # frames a second
SETTINGS = GraphSettings()


def lanes(rng: np.random.Generator) -> dict[str, Any]:
    """Lanes along the road and across it. Half of the lanes begin at a node of an earlier one."""
    nodes: list[list[float]] = []
    edges: list[list[int]] = []
    for lane in range(LANES):
        begins = lane > 1 and rng.random() < 0.5
        last = int(rng.integers(len(nodes))) if begins else None
        place = np.array(nodes[last]) if last is not None else rng.uniform((-14, -29), (14, 0))
        heading = rng.choice([0.0, np.pi / 2]) + rng.normal(0, 0.2)
        for _ in range(int(rng.integers(8, 16))):
            if last is None:
                nodes.append(place.tolist())
                last = len(nodes) - 1
            heading += rng.normal(0, 0.05)
            place = place + 2.5 * np.array([np.cos(heading), np.sin(heading)])
            nodes.append(place.tolist())
            edges.append([last, len(nodes) - 1])
            last = len(nodes) - 1
    return {"nodes": nodes, "edges": edges}


def predicted(rng: np.random.Generator, truth: dict[str, Any]) -> dict[str, Any]:
    """The true graph with moved nodes and without some edges."""
    nodes = np.array(truth["nodes"]) + rng.normal(0, 0.2, (len(truth["nodes"]), 2))
    return {"nodes": nodes.tolist(), "edges": [edge for edge in truth["edges"] if rng.random() > 0.03]}


def main() -> None:
    """Print the tables."""
    machine("mapgauge", "numba", "numpy", "networkx", "scipy")
    rng = np.random.default_rng(0)
    truth = [lanes(rng) for _ in range(FRAMES)]
    found = [predicted(rng, graph) for graph in truth]
    ours = [(Graph.of(x), Graph.of(y)) for x, y in zip(found, truth, strict=True)]
    joined = [Graphs.of(*pair) for pair in ours]
    theirs = [
        (plain.graph_of(x["nodes"], x["edges"]), plain.graph_of(y["nodes"], y["edges"]))
        for x, y in zip(found, truth, strict=True)
    ]

    def each(name: str) -> Callable[[], object]:
        return lambda: [getattr(GraphPairs(graphs, SETTINGS), name)() for graphs in joined]

    jobs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "GEO, TOPO and JTOPO": (
            lambda: [(near.geo(), near.topo(), near.jtopo()) for near in (GraphPairs(one, SETTINGS) for one in joined)],
            lambda: [plain.topo_scores(x, y) for x, y in theirs],
        ),
        "APLS": (each("apls"), lambda: [plain.apls(x, y, directed=False) for x, y in theirs]),
        "APLS directed": (each("apls_directed"), lambda: [plain.apls(x, y, directed=True) for x, y in theirs]),
        "split points": (each("sda"), lambda: [plain.split_score(x, y) for x, y in theirs]),
    }
    heading("Graph scores: milliseconds per frame", "score", "mapgauge", "networkx", "times as fast")
    for name, (mine, other) in jobs.items():
        mine()  # compiles
        (slow,) = race(other, rounds=1)
        (fast,) = race(mine, rounds=5)
        ratio = slow / fast
        text = f"{ratio:,.0f}" if name == "split points" else at_least(ratio, GOAL, f"{ratio:,.0f}")
        row(name, f"{1e3 * fast / FRAMES:.2f}", f"{1e3 * slow / FRAMES:,.0f}", text)
    (whole,) = race(lambda: [mg.graph_scores(x, y) for x, y in ours], rounds=5)
    (copied,) = race(lambda: [mg.graph_scores(x, y, parity="cgnet") for x, y in ours], rounds=2)
    row("all scores", f"{1e3 * whole / FRAMES:.2f}", "", "")
    row("all scores, CGNet's rules", f"{1e3 * copied / FRAMES:.2f}", "", "")
    worst = max(
        abs((scores[key] or 0.0) - value)
        for (x, y), (a, b) in zip(ours, theirs, strict=True)
        for scores in (mg.graph_scores(x, y).to_dict(),)
        for key, value in {**plain.topo_scores(a, b), "apls": plain.apls(a, b, directed=False)}.items()
    )
    row("largest difference of a score", f"{worst:.1e}", "", "")
    many_frames(rng)
    shortest_paths(ours[0][1])


def many_frames(rng: np.random.Generator) -> None:
    """Compare frames that are scored together with the same frames one by one, in processor time."""
    truth = {str(k): lanes(rng) for k in range(MANY)}
    found = mg.frames_from_graphs({token: predicted(rng, graph) for token, graph in truth.items()})
    heading(f"Graph scores of {MANY} frames, one core", "protocol", "frames a second", "times as fast as one by one")
    for name, goal in SPEEDS.items():
        protocol = mg.protocol(name)
        every = chosen_metrics(protocol, None)
        x, y = prepare(found, mg.frames_from_graphs(truth), protocol, "error")
        all_frames = [Data.of(x, y, protocol)]
        single_frames = [Data.of(x.at([k]), y.at([k]), protocol) for k in range(MANY)]

        def scores(parts: list[Data], metrics: tuple[str, ...]) -> None:
            for part in parts:
                score_frames(part, metrics)

        jobs = [partial(scores, parts, every) for parts in (all_frames, single_frames)]
        together, single = race(*jobs, rounds=5, clock=time.process_time)
        row(name, at_least(MANY / together, goal, f"{MANY / together:.0f}"), f"{single / together:.1f}")


def shortest_paths(graph: Graph) -> None:
    """Compare ways to compute the lengths of all paths between the control points of a graph and its copy."""
    samples = Samples.of(Roads.of(Graphs.of(graph, graph).tidy()), SETTINGS.control_spacing)
    first, target, length = samples.csr(directed=False)
    count = len(first) - 1
    starts = np.arange(count)
    matrix: Any = csr_array((length, target, first), shape=(count, count))
    near = all_distances(first, target, length, starts)  # compiles
    assert np.allclose(near, dijkstra(matrix))
    own, scipy, limited, one_by_one = race(
        lambda: all_distances(first, target, length, starts),
        lambda: dijkstra(matrix),
        lambda: dijkstra(matrix, limit=SETTINGS.walk),
        lambda: [dijkstra(matrix, indices=[k], limit=SETTINGS.walk) for k in starts.tolist()],
        rounds=3,
    )
    heading(f"Shortest paths between all {count} control points of two equal graphs", "how", "ms")
    row("the kernel of mapgauge", f"{1e3 * own:.2f}")
    row("scipy.sparse.csgraph", f"{1e3 * scipy:.2f}")
    row("scipy.sparse.csgraph up to 8 m, all at once", f"{1e3 * limited:.2f}")
    row("scipy.sparse.csgraph up to 8 m, one call per node", f"{1e3 * one_by_one:.2f}")


if __name__ == "__main__":
    main()
