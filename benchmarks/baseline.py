"""The baselines: the same results computed directly from the definitions, compiled with numba, without optimisation.

Speed is reported as a ratio to these functions. They are written as one would write them with numba and some care: one
row of memory, no allocation in the inner loops, no power. The speed of Wagner and Fischer's recurrence depends on a
detail. If the value to the left, which has only just been computed, is the last argument of the minimum, the processor
can overlap more work, and the loop is up to 1.7 times faster. Both forms are measured. Where only one form is measured,
it is the faster one.
"""

import math
from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

import mapgauge as mg

F = TypeVar("F", bound=Callable[..., object])
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def jit(function: F) -> F:
    """Compile with ``numba.njit`` and keep the type."""
    return cast("F", numba.njit(nogil=True)(function))


@jit
def plain_cost(x: Floats, y: Floats, cutoff: float, row: Floats) -> float:
    """SOSPA of order 1 by Wagner and Fischer's recurrence with one rolling row. A match costs d, a gap c/2."""
    gap = 0.5 * cutoff
    for j in range(len(y) + 1):
        row[j] = j * gap
    for i in range(len(x)):
        u, v = x[i, 0], x[i, 1]
        diagonal, left = row[0], (i + 1) * gap
        row[0] = left
        for j in range(len(y)):
            a, b = u - y[j, 0], v - y[j, 1]
            matched = diagonal + math.sqrt(a * a + b * b)
            diagonal = row[j + 1]
            left = min(matched, left + gap, diagonal + gap)
            row[j + 1] = left
    return float(row[len(y)])


@jit
def sospa_cost(x: Floats, y: Floats, cutoff: float, row: Floats) -> float:
    """Same as ``plain_cost``, with the arguments of the minimum in the faster order."""
    gap = 0.5 * cutoff
    for j in range(len(y) + 1):
        row[j] = j * gap
    for i in range(len(x)):
        u, v = x[i, 0], x[i, 1]
        diagonal, left = row[0], (i + 1) * gap
        row[0] = left
        for j in range(len(y)):
            a, b = u - y[j, 0], v - y[j, 1]
            matched = diagonal + math.sqrt(a * a + b * b)
            diagonal = row[j + 1]
            left = min(matched, diagonal + gap, left + gap)
            row[j + 1] = left
    return float(row[len(y)])


@jit
def longest_of(offsets: Indices) -> int:
    """Number of points of the longest line."""
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@jit
def sospa_costs(coords: Floats, offsets: Indices, pairs: Indices, cutoff: float, plain: bool = False) -> Floats:
    """``sospa_cost`` (or ``plain_cost``) of many pairs of lines in one call."""
    row = np.empty(longest_of(offsets) + 1)
    out = np.empty(len(pairs))
    for k in range(len(pairs)):
        i, j = pairs[k]
        x, y = coords[offsets[i] : offsets[i + 1]], coords[offsets[j] : offsets[j + 1]]
        out[k] = plain_cost(x, y, cutoff, row) if plain else sospa_cost(x, y, cutoff, row)
    return out


@jit
def undirected_costs(coords: Floats, offsets: Indices, pairs: Indices, cutoff: float) -> Floats:
    """Same as ``sospa_costs``, with the smaller cost of both directions of the second line."""
    row = np.empty(longest_of(offsets) + 1)
    out = np.empty(len(pairs))
    for k in range(len(pairs)):
        i, j = pairs[k]
        x, y = coords[offsets[i] : offsets[i + 1]], coords[offsets[j] : offsets[j + 1]]
        out[k] = min(sospa_cost(x, y, cutoff, row), sospa_cost(x, y[::-1].copy(), cutoff, row))
    return out


@jit
def closed_costs(coords: Floats, offsets: Indices, pairs: Indices, cutoff: float) -> Floats:
    """Same as ``undirected_costs`` for polygons: the smallest cost over all start points of the second line."""
    row = np.empty(longest_of(offsets) + 1)
    out = np.full(len(pairs), np.inf)
    for k in range(len(pairs)):
        i, j = pairs[k]
        x, y = coords[offsets[i] : offsets[i + 1]], coords[offsets[j] : offsets[j + 1]]
        twice = np.concatenate((y, y))
        for line in (twice, twice[::-1].copy()):
            for cut in range(len(y)):
                out[k] = min(out[k], sospa_cost(x, line[cut : cut + len(y)], cutoff, row))
    return out


def normalised(costs: Floats, offsets: Indices, pairs: Indices, cutoff: float) -> Floats:
    """``2 s / (M + s)``, where M is the cost of matching nothing."""
    points = np.diff(offsets)[pairs].sum(axis=1)
    result: Floats = 2 * costs / (0.5 * cutoff * points + costs)
    return result


def pld(predictions: list[Floats], confidence: Floats, truth: list[Floats], cutoff: float) -> float:
    """PLD of order 1 from the full matrix of distances and SciPy's assignment; truths have confidence 1."""
    lines = predictions + truth
    offsets = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    i, j = np.divmod(np.arange(len(predictions) * len(truth)), len(truth))
    pairs = np.stack([i, len(predictions) + j], axis=1)
    costs = undirected_costs(np.concatenate(lines), offsets, pairs, cutoff)
    distance = normalised(costs, offsets, pairs, cutoff).reshape(len(predictions), len(truth))
    return _best_assignment(confidence, distance)


def pld_from_matrix(predictions: list[Floats], confidence: Floats, truth: list[Floats], cutoff: float) -> float:
    """PLD of order 1 from all distances, computed by mapgauge, and SciPy's assignment; truths have confidence 1."""
    return _best_assignment(
        confidence, mg.sospa_matrix(predictions, truth, cutoff=cutoff, directed=False, normalised=True)
    )


def _best_assignment(confidence: Floats, distance: Floats) -> float:
    from scipy.optimize import linear_sum_assignment

    saving = np.minimum(confidence[:, None], 1.0) * (1 - distance)
    chosen = linear_sum_assignment(saving, maximize=True)
    return float(0.5 * (confidence.sum() + distance.shape[1]) - saving[chosen].sum())
