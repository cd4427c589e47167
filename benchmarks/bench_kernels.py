"""Measures the speed of the kernels. Ratios are to a named baseline that runs in turn with them, on the same input.

Run it with ``make bench``. It prints tables in GitHub markdown. Quote them together with the machine at the top.
"""

# numba infers the types of kernels from their arguments.
# mypy: allow-untyped-calls

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numba
import numpy as np
from benchmarks import baseline, workloads
from benchmarks.extra_kernels import gains_of_pairs
from benchmarks.tables import at_most, heading, machine, row
from benchmarks.workloads import PER_SIDE, Points, Workload
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from similaritymeasures import frechet_dist

import mapgauge as mg
from mapgauge.kernels.assignment import assign
from mapgauge.kernels.gains import pairs_of_groups
from mapgauge.kernels.lines import Lines, index_lines
from mapgauge.kernels.sospa import values_of_pairs

CUTOFF = 1.5  # metres
REPETITIONS = 15  # at least
SECONDS = 2.0  # at least, for each comparison
TOLERANCE = 1e-9  # per point; gains carry a bonus of 2^-42 for each matched point
SOLVES = 200  # assignments in a batch

# The largest ratio to Wagner and Fischer's recurrence, by the number of points of a line.
NEAR = {60: 0.30, 200: 0.08}
# For a pair that is too far apart, the work is to copy its points and to make and compare boxes of them. It grows with
# the points, and the recurrence with their square, so longer lines have a smaller ratio. These are the ratios of the
# prototype by which the algorithm was chosen.
FAR = {60: 0.03, 200: 0.01}

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Job(NamedTuple):
    """A function to time, and the number of pairs (or solves, or calls) in one run of it."""

    run: Callable[[], object]
    items: int = 1


def race(*jobs: Job) -> list[float]:
    """Run the jobs in turn, many times, and return the best of each in microseconds per item.

    The best time counts, because other load on the machine only adds time.
    """
    for job in jobs:
        job.run()  # compile outside the clock
    best = [float("inf")] * len(jobs)
    repetitions, begin = 0, time.perf_counter()
    while repetitions < REPETITIONS or time.perf_counter() - begin < SECONDS:
        for k, job in enumerate(jobs):
            start = time.perf_counter()
            job.run()
            best[k] = min(best[k], time.perf_counter() - start)
        repetitions += 1
    return [1e6 * seconds / job.items for seconds, job in zip(best, jobs, strict=True)]


def agree(ours: object, plain: object, scale: float = 1.0) -> None:
    """Stop if the two results differ."""
    worst = float(np.max(np.abs(np.asarray(ours) - np.asarray(plain)))) / scale
    if not worst <= TOLERANCE:
        raise SystemExit(f"mapgauge and the baseline differ by {worst:.3g}, expected at most {TOLERANCE:g}")


def comparison(title: str, plain: str) -> None:
    """Print the header of a table of races."""
    heading(title, "case", f"{plain}, us", "mapgauge, us", "ratio")


def result(case: str, times: list[float], target: float | None = None) -> None:
    """Print a race as a row: the times, then the ratios of the last time to the others, the first with its target."""
    ratios = [times[-1] / baseline for baseline in times[:-1]]
    cells = [f"{ratio:.3g}" for ratio in ratios]
    if target is not None:
        cells[0] = at_most(ratios[0], target, cells[0])
    row(case, *(f"{time:.2f}" for time in times), *cells)


def lines_of(coords: Points, offsets: Indices) -> Lines:
    """Do what the public functions do with checked input before they call a kernel; always inside the clock."""
    bounds = offsets.astype(np.uint64)
    lines: Lines = index_lines(np.ascontiguousarray(coords.T), bounds[:-1], bounds[1:])
    return lines


def gains(work: Workload, *, closed: bool, directed: bool) -> Floats:
    """Gain of every pair: all that a kernel computes for a value without its matching."""
    lines = lines_of(work.coords, work.offsets)
    out = np.empty(len(work.pairs))
    gains_of_pairs(lines, np.full(len(lines.span), closed), work.pairs, directed, CUTOFF, 1.0, None, out)
    return out


def values(work: Workload, *, closed: bool, directed: bool) -> Floats:
    """SOSPA of every pair from the gains; outside the clock."""
    points = np.diff(work.offsets)[work.pairs].sum(axis=1)
    found: Floats = CUTOFF * (0.5 * points - gains(work, closed=closed, directed=directed))
    return found


def values_from_matchings(work: Workload) -> Floats:
    """Normalised SOSPA of every pair from the matchings, as the public functions return it; one call per group."""
    closed = np.zeros(2 * PER_SIDE, np.bool_)
    pairs = pairs_of_groups(np.array([[0, PER_SIDE, 2 * PER_SIDE]]))
    groups = []
    for first in range(0, len(work.offsets) - 1, len(closed)):
        offsets = work.offsets[first : first + len(closed) + 1]
        lines = lines_of(work.coords[offsets[0] : offsets[-1]], offsets - offsets[0])
        groups.append(values_of_pairs(lines, closed, pairs, True, CUTOFF, 1.0, None)[1])
    return np.concatenate(groups)


def open_values() -> None:
    """Measure open SOSPA, one direction, value only."""
    heading(
        "Open SOSPA, one direction, value only, one batched call, per pair",
        "case",
        "Wagner-Fischer, us",
        "its faster form, us",
        "mapgauge, us",
        "ratio",
        "to the faster form",
    )
    for noise in (0.05, 0.3):
        for n in (20, 60, 120, 200):
            _open(f"n = {n}, noise {noise} m", workloads.open_lines(n, noise=noise), NEAR.get(n))
    for n in (60, 200):
        _open(f"n = {n}, 20 m apart", workloads.open_lines(n, noise=0.3, apart=20.0), FAR[n])


def _open(case: str, work: Workload, target: float | None) -> None:
    plain = Job(partial(baseline.sospa_costs, *work, CUTOFF, plain=True), len(work.pairs))
    faster = Job(partial(baseline.sospa_costs, *work, CUTOFF), len(work.pairs))
    ours = Job(partial(gains, work, closed=False, directed=True), len(work.pairs))
    for other in (plain, faster):
        agree(values(work, closed=False, directed=True), other.run(), len(work.line(0)))
    result(case, race(plain, faster, ours), target)


def closed_values() -> None:
    """Measure closed SOSPA, both directions, against all rotations."""
    comparison("Closed SOSPA, both directions, value only, one batched call, per pair", "all rotations")
    for noise in (0.15, 0.4):
        work = workloads.closed_lines(60, noise=noise)
        few = work._replace(pairs=work.pairs[::PER_SIDE])  # the baseline is slow
        plain = Job(partial(baseline.closed_costs, *few, CUTOFF), len(few.pairs))
        ours = Job(partial(gains, work, closed=True, directed=False), len(work.pairs))
        agree(values(few, closed=True, directed=False), plain.run(), 60)
        result(f"n = 60, noise {noise} m", race(plain, ours), 1 / 20)


def matchings() -> None:
    """Measure open SOSPA with the matching, one direction."""
    comparison(
        "Open SOSPA, one direction, with the matching, one call per group, per pair", "Wagner-Fischer, value only"
    )
    for n in (60, 200):
        work = workloads.open_lines(n, noise=0.3)
        plain = Job(partial(baseline.sospa_costs, *work, CUTOFF), len(work.pairs))
        ours = Job(partial(values_from_matchings, work), len(work.pairs))
        costs = baseline.sospa_costs(*work, CUTOFF)
        agree(ours.run(), baseline.normalised(costs, work.offsets, work.pairs, CUTOFF))
        result(f"n = {n}, noise 0.3 m", race(plain, ours))


def frechet() -> None:
    """Measure the discrete Fréchet distance; both are called from Python for one pair at a time."""
    comparison("Fréchet distance, one call per pair; per call", "similaritymeasures frechet_dist")
    for n in (60, 200):
        work = workloads.open_lines(n, noise=0.3)
        pairs = [(work.line(i), work.line(j)) for i, j in work.pairs[:2]]
        plain = Job(partial(_each, frechet_dist, pairs), len(pairs))
        ours = Job(partial(_each, mg.frechet, pairs), len(pairs))
        agree(ours.run(), plain.run())
        result(f"n = {n}", race(plain, ours))


def _each(distance: Callable[[Points, Points], float], pairs: list[tuple[Points, Points]]) -> list[float]:
    return [distance(x, y) for x, y in pairs]


def _solve_each(solve: Callable[[Floats], object], savings: Floats) -> None:
    for saving in savings:
        solve(saving)


def _assign_all(savings: Floats, partner: Indices) -> None:
    for k in range(len(savings)):
        partner[k] = assign(savings[k])[0]


# Many assignments in one call, as in PLD. Not cached, because numba would not notice a change of ``assign``.
assign_all = numba.njit(nogil=True)(_assign_all)


def assignments() -> None:
    """Measure optimal assignments as an evaluation calls them: ``assign`` from compiled code, SciPy from Python."""
    comparison("Assignment, 90 % of the savings are 0; per solve", "SciPy linear_sum_assignment")
    for rows, columns in ((50, 5), (100, 30)):
        savings = workloads.savings(rows, columns, SOLVES)
        partner = np.empty((SOLVES, rows), np.int64)
        solve = partial(linear_sum_assignment, maximize=True)
        plain = Job(partial(_solve_each, solve, savings), SOLVES)
        ours = Job(partial(assign_all, savings, partner), SOLVES)
        ours.run()
        reference = [saving[solve(saving)].sum() for saving in savings]
        agree([saving[p >= 0, p[p >= 0]].sum() for saving, p in zip(savings, partner, strict=True)], reference)
        result(f"{rows} x {columns}", race(plain, ours))


def pld() -> None:
    """Measure PLD of one class in one frame, from lists of arrays to the value."""
    comparison("PLD, 50 predictions, 6 truths of about 60 points; per call", "full matrix and SciPy")
    predictions, confidence, truth = workloads.frame(50, 6)
    plain = Job(partial(baseline.pld, predictions, confidence, truth, CUTOFF))
    ours = Job(partial(mg.pld, predictions, truth, confidence=confidence, cutoff=CUTOFF, directed=False))
    agree(mg.pld(predictions, truth, confidence=confidence, cutoff=CUTOFF, directed=False).value, plain.run())
    result("both directions", race(plain, ours))


def heaps() -> None:
    """Measure the worst cases: all lines on one another, and all points of a polygon within one cutoff."""
    heading(
        "PLD of heaped sets, both directions; per call",
        "case",
        "all of mapgauge's distances and SciPy, us",
        "Wagner-Fischer and SciPy, us",
        "mapgauge, us",
        "ratio",
        "to Wagner-Fischer",
    )
    for count, n in ((100, 3), (100, 10), (100, 30), (100, 80), (20, 3), (400, 3), (400, 10)):
        lines = workloads.heap(2 * count, n)
        predictions, truth, confidence = lines[:count], lines[count:], np.linspace(0.01, 1, count)
        full = Job(partial(baseline.pld_from_matrix, predictions, confidence, truth, CUTOFF))
        plain = Job(partial(baseline.pld, predictions, confidence, truth, CUTOFF))
        ours = Job(partial(mg.pld, predictions, truth, confidence=confidence, cutoff=CUTOFF, directed=False))
        value = mg.pld(predictions, truth, confidence=confidence, cutoff=CUTOFF, directed=False).value
        for other in (full, plain):
            agree(value, other.run(), count)
        result(f"{count} x {count} lines of {n} points", race(full, plain, ours), 2.0)
    comparison("Closed SOSPA, both directions, all points within the cutoff; per call", "all rotations")
    for n in (60, 120, 300):
        x, y = (0.1 * line for line in workloads.heap(2, n))
        work = Workload(np.concatenate([x, y]), np.array([0, n, 2 * n]), np.array([[0, 1]]))
        plain = Job(partial(baseline.closed_costs, *work, CUTOFF))
        ours = Job(partial(mg.sospa, x, y, cutoff=CUTOFF, closed=True, directed=False))
        agree(ours.run(), plain.run(), n)
        result(f"n = {n}", race(plain, ours))


def worst() -> None:
    """Measure single calls of the largest worst cases."""
    heading("Worst cases, single calls", "function and input", "processor time")
    for count in (200, 400, 2000):
        lines = workloads.heap(2 * count, 10)
        predictions, truth, confidence = lines[:count], lines[count:], np.linspace(0.01, 1, count)
        once(
            f"PLD, {count:,} x {count:,} lines of 10 points",
            partial(mg.pld, predictions, truth, confidence=confidence, cutoff=CUTOFF, directed=False),
        )
    for n in (500, 1000, 2000):
        x, y = (0.1 * line for line in workloads.heap(2, n))
        sospa = partial(mg.sospa, x, y, cutoff=CUTOFF, closed=True, directed=True)
        once(f"closed SOSPA, {n:,} random points, one direction", sospa)
    x, y = (0.1 * line for line in workloads.heap(2, 16_000))
    once("open SOSPA, 16,000 random points, one direction", partial(mg.sospa, x, y, cutoff=CUTOFF, directed=True))


def once(case: str, run: Callable[[], object]) -> None:
    """Print the processor time of one call. Its kernels are compiled by the calls before."""
    begin = time.process_time()
    run()
    row(case, f"{time.process_time() - begin:.3f} s")


def main() -> None:
    """Measure everything."""
    machine("numpy", "numba", "mapgauge")
    for section in (open_values, closed_values, matchings, frechet, assignments, pld, heaps, worst):
        section()


if __name__ == "__main__":
    main()
