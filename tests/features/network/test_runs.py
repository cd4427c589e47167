"""The best runs along lines at prices, against all runs tried one by one."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.features.network.network_cases import CUTOFF, Map, disturbed, pair_costs, random_map, random_rings

from mapgauge.features.network.kernels import all_runs, best_runs, find_pairs
from mapgauge.features.network.run_kernels import pairs_of, prices_of, rows_of, savings_of, uses_of
from mapgauge.features.network.runs import keep_useful

HALF = 0.15
ALL = 1 << 40


class Case:
    """Two maps as kernels need them, with prices of the points of the first."""

    def __init__(self, x: Map, y: Map, rng: np.random.Generator, directed: bool) -> None:
        self.x, self.y, self.directed = x, y, directed
        self.x_lines, self.y_lines = (lines_of(side) for side in (x, y))
        points = [np.ascontiguousarray(side.points.T) for side in (x, y)]
        weights = [np.array(side.confidence, float) for side in (x, y)]
        self.given = points[0], points[1], self.x_lines, self.y_lines, weights[0], weights[1]
        self.near = find_pairs(*self.given, CUTOFF, directed)
        self.price = rng.random(len(x.points)) * 0.3 * (rng.random(len(x.points)) < 0.5)

    def best(self, line: int, most: int = ALL) -> tuple[Any, ...]:
        y_price = np.zeros(len(self.y.points))
        given = self.x_lines, self.y_lines, self.near, self.price, HALF, most
        return *best_runs(np.array([line]), np.zeros(len(self.y_lines), np.int64), *given, y_price), y_price

    def savings(self, runs: np.ndarray) -> np.ndarray:
        found: np.ndarray = savings_of(runs, *self.given, CUTOFF, HALF)
        return found


def lines_of(side: Map) -> np.ndarray:
    count = np.array([len(line) for line in side.lines], np.int64)
    return np.stack([count.cumsum() - count, count, np.array(side.rings, np.int64)], axis=1)


def all_runs_of(case: Case, line: int) -> np.ndarray:
    """All runs along a line of the second map."""
    runs = []
    _, m, ring = case.y_lines[line].tolist()
    for a, (_, n, x_ring) in enumerate(case.x_lines.tolist()):
        for step in (1,) if case.directed else (1, -1):
            for i in range(n):
                for j in range(m):
                    most = min(n if x_ring else (n - i if step > 0 else i + 1), m if ring else m - j)
                    runs += [(line, a, step, i, j, size, 0) for size in range(1, most + 1)]
                if ring and x_ring and n == m:
                    runs.append((line, a, step, i, 0, m, 1))
    return np.array(runs, np.int64)


def plain_saving(case: Case, run: np.ndarray) -> float:
    """What a run saves, less its ends, from the definition."""
    b, a, step, i, j, size, closed = run.tolist()
    x, y = case.x_lines[a], case.y_lines[b]
    pair, r, s = pair_costs(case.x, case.y)
    points = [(x[0] + (i + step * t) % x[1], y[0] + (j + t) % y[1]) for t in range(size)]
    total = sum(r[p] + s[q] - pair[p, q] for p, q in points)
    links = [side.links(True) + side.links(True).T for side in (case.x, case.y)]
    if not closed:
        inner = 2 * (size - 1)
        ends = sum(links[0][p].sum() + links[1][q].sum() for p, q in points) - 2 * inner
        total -= HALF * ends
    return float(total)


def best_of_all(case: Case, runs: np.ndarray, line: int) -> float:
    """The most that runs along a line gain that share none of its points, by trying all cuts of a ring."""
    _, m, ring = case.y_lines[line].tolist()
    gain = case.savings(runs) - prices_of(runs, case.x_lines, case.y_lines, case.price, np.zeros(len(case.y.points)))
    closed = runs[:, 6] == 1
    best = max([0.0, *gain[closed]])
    for cut in range(m if ring else 1):
        start = (runs[:, 4] - cut) % m
        stop = start + runs[:, 5]
        value = np.zeros(m + 1)
        for t in range(1, m + 1):
            ends = (stop == t) & ~closed
            value[t] = max([value[t - 1], *(value[start[ends]] + gain[ends])])
        best = max(best, value[m])
    return float(best)


def cases(rng: np.random.Generator, count: int) -> Iterator[Case]:
    for k in range(count):
        y = random_rings(rng, 2, 7) if k % 2 else random_map(rng, 2, 7, 3.0)
        x = (random_rings(rng, 2, 7), disturbed(y, rng), random_map(rng, 3, 7, 3.0))[k % 3]
        yield Case(x, y, rng, directed=k % 4 == 3)


def test_savings_follow_the_definition(rng: np.random.Generator) -> None:
    for case in cases(rng, 6):
        runs = all_runs_of(case, 0)
        # A run around two rings with as many points is closed.
        ring = (case.x_lines[runs[:, 1], 2] > 0) & (case.y_lines[0, 2] > 0)
        around = ring & (runs[:, 5] == case.x_lines[runs[:, 1], 1]) & (runs[:, 5] == case.y_lines[0, 1])
        runs = runs[~around | (runs[:, 6] == 1)][:: max(1, len(runs) // 60)]
        assert case.savings(runs) == pytest.approx([plain_saving(case, run) for run in runs], abs=1e-12)


def test_the_best_runs_are_the_best_of_all(rng: np.random.Generator) -> None:
    tried = 0
    for case in cases(rng, 24):
        for line in range(len(case.y_lines)):
            runs, bound, loose, y_price = case.best(line)
            every = all_runs_of(case, line)
            best = best_of_all(case, every, line)
            nothing = np.zeros(len(case.y.points))
            gain = case.savings(runs) - prices_of(runs, case.x_lines, case.y_lines, case.price, nothing)
            assert gain.sum() == pytest.approx(best, abs=1e-12)
            assert bound == pytest.approx(best, abs=1e-12)
            assert best <= case.best(line, most=1)[1] + 1e-12  # with one cut
            tried += len(runs) > 0
            # Near pairs that are left out are in no run that gains as much.
            floor = -0.1
            lines, prices = (case.x_lines, case.y_lines), (case.price, y_price)
            near = keep_useful(np.array([line]), lines, case.near, prices, HALF, floor)
            kept = set(
                zip(
                    near[1][:, 0].tolist(),
                    np.repeat(np.arange(len(near[0]) - 1), np.diff(near[0])).tolist(),
                    strict=True,
                )
            )
            gain = case.savings(every) - prices_of(every, case.x_lines, case.y_lines, case.price, y_price)
            _, p, q = pairs_of(every[gain > floor + 1e-9], case.x_lines, case.y_lines).T
            close = np.linalg.norm(case.x.points[p] - case.y.points[q], axis=1) < CUTOFF
            weight = np.minimum(case.x.weight[p], case.y.weight[q])
            close &= weight > 0
            assert set(zip(p[close].tolist(), q[close].tolist(), strict=True)) <= kept
            # No set of runs with one that loses something saves more than the second bound, less this.
            assert loose >= best - 1e-12
    assert tried >= 12


def test_all_runs_that_gain_enough_are_listed(rng: np.random.Generator) -> None:
    """All that start and end at near pairs or at an end of a line; others have far pairs at their ends for nothing."""
    listed = 0
    for case in cases(rng, 24):
        for line in range(len(case.y_lines)):
            _, _, loose, y_price = case.best(line)
            floor = -float(rng.choice([0.05, 0.3, 1.0]))
            highest = loose - y_price.sum()
            given = np.array([line]), case.x_lines, case.y_lines, case.near, case.price, y_price, HALF, floor, highest
            runs = all_runs(*given, 10_000)
            every = all_runs_of(case, line)
            savings = case.savings(every)
            gain = savings - prices_of(every, case.x_lines, case.y_lines, case.price, y_price)
            names = {tuple(run) for run in runs.tolist()}
            assert len(names) == len(runs)
            assert names <= {tuple(run) for run in every[gain >= floor - 1e-9].tolist()}
            # A run that is not listed gains less, or as much as a shorter one that is.
            for run in every[(savings > 0) & (gain > floor + 1e-9)].tolist():
                if tuple(run) not in names:
                    assert is_longer(case, run, names)
            listed += len(runs)
            assert len(all_runs(*given, 3)) == min(len(runs), 3)
    assert listed > 100


def is_longer(case: Case, run: list[int], names: set[tuple[int, ...]]) -> bool:
    """Whether a run without some of its first and last pairs is listed."""
    b, a, step, i, j, size, _ = run
    n, m = case.x_lines[a, 1], case.y_lines[b, 1]
    return any(
        (b, a, step, int((i + step * first) % n), int((j + first) % m), stop - first, 0) in names
        for first in range(size)
        for stop in range(first + 1, size + 1)
    )


def test_points_in_the_same_runs_share_a_row(rng: np.random.Generator) -> None:
    for case in cases(rng, 6):
        runs = all_runs_of(case, 0)
        runs = runs[rng.permutation(len(runs))[:12]]
        sizes = len(case.x.points), len(case.y.points)
        row, rows, start, index = rows_of(runs, case.x_lines, case.y_lines, *sizes)
        matrix = np.zeros((rows, len(runs)))
        for c in range(len(runs)):
            matrix[index[start[c] : start[c + 1]], c] += 1
        run, p, q = pairs_of(runs, case.x_lines, case.y_lines).T
        members = np.zeros((sum(sizes), len(runs)))
        members[p, run] = members[sizes[0] + q, run] = 1
        assert uses_of(runs, case.x_lines, sizes[0]).tolist() == members[: sizes[0]].sum(axis=1).tolist()
        for point in range(sum(sizes)):
            if members[point].sum() > 1:
                assert matrix[row[point]].tolist() == members[point].tolist()
            else:
                assert row[point] == -1
        assert len(np.unique(matrix, axis=0)) == rows
