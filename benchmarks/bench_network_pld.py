"""Measures network PLD, ``make bench-network``: time for each class and frame, beside ``scipy.optimize.linprog``.

The baseline is one linear programme of the near pairs of points, built with numpy and solved by ``linprog``. It has no
pairs beyond the cutoff and may divide assignments, so its optimum is another one. Both run in one thread, one after the
other for each frame, so that their ratio does not depend on what else the machine does. Without an argument, the data
is that of ``mapgauge demo``. Arguments: a file of predictions and a file of truth.
"""

import sys
import time
from typing import Any

import numpy as np
from benchmarks.tables import heading, machine, row
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix, eye, hstack, vstack

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.network.network_pld import GAP, PROVEN, solve_network
from mapgauge.features.network.sides import NetworkSide, side_of
from mapgauge.frames.alignment import align
from mapgauge.metrics.groups import group

FRAMES = 12
PROTOCOL = mg.protocol("paper-60x30")
CUTOFF = 1.5
COSTS = (0.25, 0.5)


def sides(x: mg.MapFrames, y: mg.MapFrames) -> list[tuple[str, NetworkSide, NetworkSide]]:
    """Return both sides of each class and frame that has predictions and truth, with the name of the class."""
    groups = group(*align(x, y, classes=PROTOCOL.classes), PROTOCOL)
    found = []
    for g, (first, middle, end) in enumerate(groups.bounds.tolist()):
        if first < middle < end:
            both = (
                side_of(groups.polylines, *bounds, groups.closed, groups.repeats, groups.confidence, False)
                for bounds in ((first, middle), (middle, end))
            )
            found.append((groups.names[groups.label[g]], *both))
    return found


def neighbours(side: NetworkSide) -> np.ndarray:
    """Return the points before and after each point, or -1."""
    network = side.network
    found = np.full((network.points.shape[1], 2), -1)
    for start, count, ring in zip(network.start.tolist(), network.count.tolist(), network.ring.tolist(), strict=True):
        at = np.arange(start, start + count)
        found[at[1:], 0], found[at[:-1], 1] = at[:-1], at[1:]
        if ring:
            found[at[0], 0], found[at[-1], 1] = at[-1], at[0]
    return found


def plain(x: NetworkSide, y: NetworkSide, cost: float) -> float:
    """Return what the best divided assignment of near pairs saves, by ``linprog``."""
    a, b = x.network.points.T, y.network.points.T
    far = np.sqrt(np.square(a[:, None] - b[None]).sum(axis=2))
    first, second = np.nonzero(far < CUTOFF)
    if not len(first):
        return 0.0
    saving = np.minimum(x.confidence[first], y.confidence[second]) * (1 - far[first, second] / CUTOFF)
    rows: list[Any] = []
    pairs = np.arange(len(first))
    for k in (0, 1):
        for at, other, sign in ((neighbours(x)[first, k], second, 1.0), (neighbours(y)[second, k], first, -1.0)):
            there = at >= 0
            place = at * len(b) + other if sign > 0 else other * len(b) + at
            rows.append((place[there], pairs[there], np.full(np.count_nonzero(there), sign)))
    place, pair, value = (np.concatenate(column) for column in zip(*rows, strict=True))
    entry, at = np.unique(place, return_inverse=True)
    terms = coo_matrix((value, (at, pair)), (len(entry), len(first))).tocsr()
    once = vstack(
        [coo_matrix((np.ones(len(first)), (i, pairs)), (n, len(first))) for i, n in ((first, len(a)), (second, len(b)))]
    )
    slack = eye(len(entry))
    matrix = vstack(
        [hstack([once, coo_matrix((once.shape[0], len(entry)))]), hstack([terms, -slack]), hstack([-terms, -slack])]
    )
    rows_of: Any = csr_matrix(matrix)
    limit = np.concatenate([np.ones(once.shape[0]), np.zeros(2 * len(entry))])
    objective = np.concatenate([-saving, np.full(len(entry), cost / 2)])
    found: Any = linprog(objective, A_ub=rows_of, b_ub=limit, method="highs-ds")
    return -float(found.fun)


def main() -> None:
    """Print the table."""
    machine("mapgauge", "highspy", "scipy", "numpy")
    given = tuple(mg.read(path) for path in sys.argv[1:3]) if len(sys.argv) > 2 else demo_world(FRAMES, seed=0)
    frames = sides(*given)
    solve_network(*frames[0][1:], CUTOFF, 0.5)  # compiles
    heading(
        "Network PLD, one class and frame, one thread, CPU time in ms",
        *(
            "class",
            "break cost",
            "groups",
            "median",
            "mean",
            "largest",
            "not proven",
            "linprog, median",
            "linprog / mapgauge, median",
        ),
    )
    for cost in COSTS:
        for name in dict.fromkeys(name for name, *_ in frames):
            ours, theirs, unproven = [], [], 0
            for _, x, y in (one for one in frames if one[0] == name):
                begin = time.thread_time()
                numbers, _ = solve_network(x, y, CUTOFF, cost)
                middle = time.thread_time()
                plain(x, y, cost)
                theirs.append(time.thread_time() - middle)
                ours.append(middle - begin)
                unproven += numbers[GAP] > PROVEN * numbers[:5].sum()
            runs, linear = 1e3 * np.array(ours), 1e3 * np.array(theirs)
            row(
                *(name, f"{cost:g}", f"{len(runs)}", f"{np.median(runs):.1f}", f"{runs.mean():.1f}"),
                *(f"{runs.max():.0f}", f"{unproven}", f"{np.median(linear):.0f}", f"{np.median(linear / runs):.1f}"),
            )


if __name__ == "__main__":
    main()
