"""Hits from few distances are the hits from the distances of all pairs, also among ties."""

import numpy as np
import pytest
from tests.arrays import Indices

from mapgauge import kernels


def groups_of(rng: np.random.Generator) -> tuple[kernels.lines.Lines, Indices, Indices]:
    """Lines of a few points on a coarse grid, so that many distances are equal; their groups, and an order."""
    sizes = rng.integers(0, 8, (int(rng.integers(1, 5)), 2))
    ends = sizes.cumsum().reshape(-1, 2)
    bounds = np.column_stack([np.concatenate([[0], ends[:-1, 1]]), ends])
    start = rng.integers(0, 4, (int(sizes.sum()), 1, 2)) / 2.0
    offsets = np.cumsum([0, *rng.integers(1, 7, len(start))])
    points = np.repeat(start[:, 0], np.diff(offsets), axis=0) + rng.integers(0, 3, (offsets[-1], 2)) / 4.0
    lines = kernels.lines.index_lines(
        np.ascontiguousarray(points.T), offsets[:-1].astype(np.uint64), offsets[1:].astype(np.uint64)
    )
    order = [first + rng.permutation(split - first) for first, split, _ in bounds]
    every = np.arange(len(start))
    for (first, split, _), chosen in zip(bounds, order, strict=True):
        every[first:split] = chosen
    return lines, bounds, every


@pytest.mark.parametrize("strict", [False, True])
def test_hits_from_few_distances_are_those_from_all(strict: bool) -> None:
    rng = np.random.default_rng(3)
    some = 0
    for _ in range(300):
        lines, bounds, order = groups_of(rng)
        count = len(order)
        thresholds = rng.permutation(np.array([0.25, 0.5, 0.75, 1.0]))[: rng.integers(1, 5)]
        factor = rng.choice([1.0, 0.5, 0.75], count)
        closed, directed = rng.random(count) < 0.3, bool(rng.random() < 0.5)
        for flags in (None, closed):
            distance = np.zeros(int(np.prod(np.diff(bounds, axis=1), axis=1).sum()))
            if flags is None:
                kernels.chamfer.chamfer_pairs(lines, bounds, factor, np.inf, False, distance)
            else:
                kernels.frechet.frechet_pairs(lines, flags, bounds, factor, directed, np.inf, distance)
            expected, found = np.zeros(count, np.uint16), np.zeros(count, np.uint16)
            memory = np.empty(count, np.int64), np.empty(count), np.empty(count, np.bool_)
            kernels.average_precision.hits_of_groups(bounds, order, distance, thresholds, strict, *memory, expected)
            kernels.average_precision.hits_of_lines(
                lines, flags, bounds, order, factor, directed, thresholds, strict, found
            )
            assert found.tolist() == expected.tolist()
            some += int(np.count_nonzero(found))
    assert some > 500
