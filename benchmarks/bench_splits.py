"""Measures the search for the most similar training frame beside a comparison of all pairs of frames.

Run it with ``make bench-splits``. It prints a table in GitHub markdown.
"""

import time

import numpy as np
from benchmarks.tables import heading, machine, row

import mapgauge as mg
from mapgauge.demo import demo_world
from mapgauge.features.splits.neighbours import FrameIndex, prepared_truth

TRAIN = (1000, 4000, 16000)
VALIDATION = 200


def main() -> None:
    """Print processor milliseconds per validation frame, and the share of pairs that are compared."""
    machine("numpy", "numba")
    protocol = mg.protocol("paper-60x30")
    val = demo_world(VALIDATION, seed=2, predictions=0)[1]
    mg.neighbours(val.at(range(5)), val)  # compiles the kernels
    heading(
        f"Search for each of {VALIDATION} validation frames",
        *("training frames", "search", "all pairs", "times as fast", "pairs compared"),
    )
    for count in TRAIN:
        train = demo_world(count, seed=1, predictions=0)[1]
        before = time.process_time()
        near = mg.neighbours(val, train, workers=1)
        search = (time.process_time() - before) / VALIDATION
        index = FrameIndex.of(prepared_truth(val, protocol), prepared_truth(train, protocol), protocol)
        before = time.process_time()
        index.distances(0, np.arange(count))
        everything = time.process_time() - before
        share = near.compared / near.pairs
        cells = f"{1e3 * search:.1f} ms", f"{1e3 * everything:.0f} ms", f"{everything / search:.0f}", f"{share:.1%}"
        row(f"{count:,}", *cells)


if __name__ == "__main__":
    main()
