"""The baseline of a whole evaluation, written as the public tools of the field do it.

Shapely resamples line by line, numba runs the full dynamic programmes for every pair, shift and direction, and SciPy
does the rest. It computes values only, whereas the tools also compute the parts of PLD and the matched points. The
results agree with ``mapgauge.evaluate``, so that the times can be compared.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from benchmarks import baseline
from benchmarks.baseline import Floats, jit
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from shapely.geometry import LineString

import mapgauge as mg

CLOSED = 0.1  # metres from the first point to the last


class Group(NamedTuple):
    """One class in one frame."""

    predictions: list[Floats]
    confidence: Floats
    truth: list[Floats]


def groups_of(predictions: mg.MapFrames, truth: mg.MapFrames, class_name: str) -> list[Group]:
    """One class of all frames as lists of arrays, which is how the tools hold them after loading."""
    groups = []
    for token in truth.tokens:
        found = [instance for instance in predictions[token] if instance.class_name == class_name]
        true = [instance.points for instance in truth[token] if instance.class_name == class_name]
        groups.append(Group([i.points for i in found], np.array([i.confidence for i in found], np.float64), true))
    return groups


def evaluate(groups: Sequence[Group], protocol: mg.Protocol, metrics: Sequence[str]) -> dict[str, list[float]]:
    """The values of one class by metric: PLD at the first cutoff, average precision at each threshold."""
    assert protocol.spacing is not None
    spacing = protocol.spacing
    lines = [
        Group(
            [resampled(points, spacing) for points in group.predictions],
            group.confidence,
            [resampled(points, spacing) for points in group.truth],
        )
        for group in groups
    ]
    values = {}
    if "pld" in metrics:
        values["pld"] = [_pld(lines, protocol.cutoffs[0])]
    if "ap_chamfer" in metrics:
        values["ap_chamfer"] = _precisions(lines, _chamfer, protocol.settings["ap_chamfer"].thresholds)
    if "ap_frechet" in metrics:
        values["ap_frechet"] = _precisions(lines, _frechet, protocol.settings["ap_frechet"].thresholds)
    return values


def resampled(points: Floats, spacing: float) -> Floats:
    """Points at equal spacing along a line, and its end."""
    line = LineString(points)
    before_end = max(math.ceil(line.length / spacing - 1e-9), 1)
    samples = [line.interpolate(k * spacing).coords[0] for k in range(before_end)]
    return np.array([*samples, line.coords[-1]])


def _pld(groups: Sequence[Group], cutoff: float) -> float:
    """Normalised PLD of order 1, pooled over groups."""
    total = mass = 0.0
    for predictions, confidence, truth in groups:
        half = 0.5 * (confidence.sum() + len(truth))
        saving = np.minimum(confidence[:, None], 1.0) * (1 - _sospa(predictions + truth, len(predictions), cutoff))
        total += half - saving[linear_sum_assignment(saving, maximize=True)].sum()
        mass += half
    return 2 * total / (mass + total)


def _precisions(
    groups: Sequence[Group], distance: Callable[[Floats, Floats], float], thresholds: Sequence[float]
) -> list[float]:
    """Average precision at each threshold."""
    marked: list[list[Floats]] = [[] for _ in thresholds]
    for predictions, confidence, truth in groups:
        distances = np.array([[distance(x, y) for y in truth] for x in predictions])
        for t, threshold in enumerate(thresholds):
            marked[t].append(hits(distances.reshape(len(predictions), len(truth)), confidence, threshold))
    confidences = np.concatenate([group.confidence for group in groups])
    count = sum(len(group.truth) for group in groups)
    return [area(confidences, np.concatenate(hit), count) for hit in marked]


def _opened(line: Floats) -> tuple[Floats, bool]:
    """A line without its closing point, and whether it had one."""
    closed = len(line) > 2 and math.dist(line[0], line[-1]) <= CLOSED
    return (line[:-1], True) if closed else (line, False)


def _sospa(lines: list[Floats], split: int, cutoff: float) -> Floats:
    """Normalised SOSPA of all pairs of a prediction (before ``split``) and a truth."""
    opened = [_opened(line) for line in lines]
    offsets = np.cumsum([0, *(len(line) for line, _ in opened)], dtype=np.int64)
    pairs = np.array([(i, j) for i in range(split) for j in range(split, len(lines))], np.int64).reshape(-1, 2)
    if not len(pairs):
        return np.empty((split, len(lines) - split))
    coords, closed = np.concatenate([line for line, _ in opened]), np.array([closed for _, closed in opened])
    cyclic = closed[pairs].any(axis=1)
    costs = np.empty(len(pairs))
    costs[~cyclic] = baseline.undirected_costs(coords, offsets, pairs[~cyclic], cutoff)
    costs[cyclic] = baseline.closed_costs(coords, offsets, pairs[cyclic], cutoff)
    return baseline.normalised(costs, offsets, pairs, cutoff).reshape(split, -1)


def _chamfer(x: Floats, y: Floats) -> float:
    distance = cdist(x, y)
    return float(distance.min(axis=0).mean() + distance.min(axis=1).mean()) / 2


def _frechet(x: Floats, y: Floats) -> float:
    (x, x_closed), (y, y_closed) = _opened(x), _opened(y)
    distance = cdist(x, y)
    shifts = len(x) if x_closed or y_closed else 1
    return min(_shortest_leash(distance, shifts), _shortest_leash(distance[:, ::-1].copy(), shifts))


@jit
def _shortest_leash(distance: Floats, shifts: int) -> float:
    """Discrete Fréchet distance from a matrix of distances, the smallest over this many cyclic shifts of its rows."""
    n, m = distance.shape
    row = np.empty(m)
    best = np.inf
    for shift in range(shifts):
        for i in range(n):
            diagonal = left = np.inf
            for j in range(m):
                above = row[j] if i > 0 else np.inf
                reach = 0.0 if i == 0 and j == 0 else min(above, diagonal, left)
                diagonal = above
                left = max(reach, distance[(i + shift) % n, j])
                row[j] = left
        best = min(best, left)
    return best


def hits(distance: Floats, confidence: Floats, threshold: float) -> Floats:
    """Mark the hits, from high confidence to low: a prediction hits if its nearest true line is near and still free."""
    hits = np.zeros(len(distance))
    taken = set()
    for i in np.argsort(-confidence, kind="stable") if distance.shape[1] else ():
        j = int(distance[i].argmin())
        if distance[i, j] <= threshold and j not in taken:
            taken.add(j)
            hits[i] = 1
    return hits


def area(confidence: Floats, hits: Floats, truth: int) -> float:
    """Area under the precision-recall curve; equal confidences are one step."""
    order = np.argsort(-confidence, kind="stable")
    last = np.append(np.diff(confidence[order]) != 0, True)
    found, number = hits[order].cumsum()[last], np.flatnonzero(last) + 1
    envelope = np.maximum.accumulate((found / number)[::-1])[::-1]
    return float(np.sum(np.diff(found / max(truth, 1), prepend=0) * envelope))
