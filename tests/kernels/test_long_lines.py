"""Long lines that wander, fold back and cross themselves, so that rows have several runs and values are carried."""

import math
import os
from typing import Any

import numpy as np
import pytest
from benchmarks.extra_kernels import gain_of_lines
from numba import njit
from tests.arrays import Points
from tests.kernels import reference

from mapgauge.kernels._jit import ONE, ZERO, U
from mapgauge.kernels.chain import Reading, heaviest_chain
from mapgauge.kernels.cyclic import fewest_close, gains_of_cuts
from mapgauge.kernels.gains import CUT_GAIN, allocate_band, fill_gains, make_band
from mapgauge.kernels.lines import Lines, index_lines, length_of
from mapgauge.kernels.sospa import align_lines, total_cost

_wagner_fischer = njit(reference.wagner_fischer)
_rolled = njit(reference._rolled)
BOTH = np.array([[0, 1]])  # the pairs of lines: the first and the second


@njit
def _expected(x, y, cyclic, directed, cutoff, order):  # type: ignore[no-untyped-def]
    """``sospa^p`` by definition: all shifts and both directions, each by Wagner-Fischer."""
    n, m = len(x), len(y)
    best = np.inf
    for way in range(1 if directed else 2):
        distance = np.empty((n, m))
        for i in range(n):
            for j in range(m):
                distance[i, j] = math.sqrt(np.sum((x[i] - y[m - 1 - j if way else j]) ** 2))
        for shift in range(max(m, 1) if cyclic else 1):
            turned = distance if shift == 0 else _rolled(distance, 0, shift)
            best = min(best, _wagner_fischer(turned, cutoff, order))
    return best


def _ours(lines: Lines, cyclic: bool, directed: bool, cutoff: float, order: float) -> tuple[float, float]:
    """``sospa^p`` from the matching, and from the gain alone."""
    band = make_band(lines, np.array([cyclic, cyclic]), BOTH, cutoff, True)
    n, m = U(length_of(lines, ZERO)), U(length_of(lines, ONE))
    matched, cost, _ = align_lines(lines, ZERO, ONE, cyclic, directed, cutoff, order, band, True)
    total = total_cost(cost, U(matched), n + m, cutoff, order)
    gain = gain_of_lines(lines, ZERO, ONE, cyclic, directed, cutoff, order, band, True)
    unit = 1.0 if order == 1.0 else cutoff**order
    return total * unit, cutoff**order * (0.5 * float(n + m) - gain)


def wander(rng: np.random.Generator, n: int, dimension: int) -> Points:
    """A random walk that stays within a few metres, so that it comes close to itself."""
    heading = np.cumsum(rng.normal(0, rng.choice([0.05, 0.3, 1.5]), n))
    steps = rng.choice([0.2, 0.5, 1.0]) * np.c_[np.cos(heading), np.sin(heading)]
    walk = np.cumsum(steps, axis=0) % rng.uniform(2, 30)
    points: Points = np.c_[walk, rng.normal(0, 0.3, (n, 2))][:, :dimension]
    return points


def pair(rng: np.random.Generator, most: int) -> tuple[Points, Points]:
    dimension = int(rng.choice([2, 2, 2, 1, 3, 4]))
    n, m = rng.integers(0, most + 1, 2)
    x = wander(rng, n, dimension)
    kind = rng.integers(5)
    if kind == 0 or n == 0:
        y = wander(rng, m, dimension)
    else:  # a noisy, cut, shifted or reversed copy
        y = np.roll(x, rng.integers(n), axis=0) if kind > 2 else x
        y = y[np.sort(rng.integers(0, n, m))] if kind == 1 else y[: max(m, 1)]
        y = y + rng.normal(0, rng.choice([0, 0.02, 0.3]), y.shape) + rng.normal(0, 0.3, dimension)
        y = y[::-1] if rng.random() < 0.3 else y
    if rng.random() < 0.3:  # on a grid, with ties, equal points, and distances equal to the cutoff
        x, y = np.round(2 * x) / 2, np.round(2 * y) / 2
    return np.ascontiguousarray(x), np.ascontiguousarray(y)


def lines_of(x: Points, y: Points) -> Lines:
    points = np.ascontiguousarray(np.concatenate([x, y]).T)
    start = np.array([0, len(x)], np.uint64)
    lines: Lines = index_lines(points, start, np.array([len(x), len(x) + len(y)], np.uint64))
    return lines


def check(rng: np.random.Generator, most: int, cases: int) -> None:
    for case in range(cases):
        x, y = pair(rng, most)
        cutoff, order = float(rng.choice([0.3, 0.5, 1.5, 4.0])), float(rng.choice([1, 1, 2, 1.5]))
        cyclic, directed = bool(rng.random() < 0.4), bool(rng.random() < 0.5)
        lines = lines_of(x, y)
        expected = _expected(x, y, cyclic, directed, cutoff, order)
        total, from_gain = _ours(lines, cyclic, directed, cutoff, order)
        where = f"case {case}: {len(x)} and {len(y)} points, {cutoff=} {order=} {cyclic=} {directed=}"
        assert math.isclose(total, expected, rel_tol=1e-12, abs_tol=1e-300), where
        # The gain carries a bonus of 2^-42 for each match.
        assert abs(from_gain - expected) <= 1e-12 * cutoff**order * (len(x) + len(y)), where


def test_long_lines_agree_with_the_definition(rng: np.random.Generator) -> None:
    check(rng, most=120, cases=300)


def test_small_lines_agree_with_the_definition(rng: np.random.Generator) -> None:
    check(rng, most=12, cases=3000)


def _gains_of_all_cuts(lines: Lines, backward: bool, cutoff: float) -> tuple[Points, list[float]]:
    """The gain of each cut, by divide and conquer and one by one."""
    n, m = U(length_of(lines, ZERO)), U(length_of(lines, ONE))
    band = make_band(lines, np.array([True, True]), BOTH, cutoff, True)
    fill_gains(lines, ZERO, ONE, ZERO, n, cutoff, 1.0, band)
    start: Any = U(fewest_close(band, n))
    cuts: Any = np.arange(m, dtype=U)
    single = [heaviest_chain(band, n, m, Reading(start, backward, cut), -1.0, None, None, ZERO) for cut in cuts]
    gains_of_cuts(band, n, m, start, backward)
    together: Points = band.work[CUT_GAIN, : int(m)]
    return together, single


def test_divide_and_conquer_finds_the_gain_of_every_cut(rng: np.random.Generator) -> None:
    for most, cases in ((6, 400), (40, 300), (150, 20)):
        for _ in range(cases):
            x, y = pair(rng, most)
            if len(x) and len(y):
                cutoff = float(rng.choice([0.5, 1.5, 4.0, 40.0]))  # with the last, all points are close
                lines = lines_of(x, y)
                together, single = _gains_of_all_cuts(lines, bool(rng.random() < 0.5), cutoff)
                np.testing.assert_array_equal(together, single)


def _both_memories(lines: Lines, directed: bool, cutoff: float) -> list[tuple[Any, float, Points]]:
    """Open lines aligned in one band, and in stretches of 32 rows: the matching, its gain alone, and its pairs."""
    n, m = U(length_of(lines, ZERO)), U(length_of(lines, ONE))
    whole = make_band(lines, np.array([False, False]), BOTH, cutoff, True)
    small = allocate_band(n, m, U(len(whole.runs)), U(32) * m, False, (n // U(32) + ONE) * (m + U(2)))
    found = []
    for band in (whole, small):
        matching = align_lines(lines, ZERO, ONE, False, directed, cutoff, 1.0, band, True)
        pairs = band.pairs[: int(matching[0])].copy()
        gain = gain_of_lines(lines, ZERO, ONE, False, directed, cutoff, 1.0, band, True)
        found.append((matching, gain, pairs))
    return found


def test_stretches_give_the_same_matching_as_one_band(rng: np.random.Generator) -> None:
    for _ in range(300):
        x, y = pair(rng, 200)
        if len(x) and len(y):
            cutoff = float(rng.choice([0.5, 1.5, 4.0, 40.0]))
            one, other = _both_memories(lines_of(x, y), bool(rng.random() < 0.5), cutoff)
            assert one[:2] == other[:2]
            np.testing.assert_array_equal(one[2], other[2])


@pytest.mark.fuzz
def test_fuzz() -> None:
    """A million cases; more than half have up to ten points, some a few hundred."""
    cases = int(os.environ.get("MAPGAUGE_FUZZ_CASES", "1000000"))
    rng = np.random.default_rng()
    for most, share in ((10, 0.6), (30, 0.385), (100, 0.0148), (400, 0.0002)):
        check(rng, most=most, cases=math.ceil(share * cases))
