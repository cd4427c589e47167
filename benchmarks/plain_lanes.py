"""OpenLane-V2's scores, written plainly from their definitions: one pair, one vertex and one lane at a time.

This is how most people would write them, and how the public kit computes them: the discrete Fréchet distance by dynamic
programming in Python, Chamfer distances with numpy, and loops over vertices. Frames are dictionaries in the form of
OpenLane-V2's files.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[np.float64]
Frame = Mapping[str, Any]
Match = dict[int, int]  # the prediction of each true instance that has one

LANES, AREAS, OVERLAPS = (1.0, 2.0, 3.0), (0.5, 1.0, 1.5), (0.75,)
FAR = 1024.0  # distance of pairs that are not compared


def frechet(x: Array, y: Array) -> float:
    """Return the discrete Fréchet distance."""
    apart = np.sqrt(((x[:, None] - y[None]) ** 2).sum(axis=2))
    table = np.zeros_like(apart)
    for i in range(len(x)):
        for j in range(len(y)):
            before = [table[a, b] for a, b in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if a >= 0 and b >= 0]
            table[i, j] = max(min(before), apart[i, j]) if before else apart[i, j]
    return float(table[-1, -1])


def chamfer(true: Array, predicted: Array, drop_closing: bool) -> float:
    """Return the mean nearest-point distance in both directions."""
    if drop_closing and (true[0] == true[-1]).all():
        true = true[:-1]
    apart = np.sqrt(((predicted[:, None] - true[None]) ** 2).sum(axis=2))
    return float((apart.min(axis=1).mean() + apart.min(axis=0).mean()) / 2)


def overlap(true: Array, predicted: Array) -> float:
    """Return 1 minus the intersection over union of two boxes."""
    size = np.maximum(np.minimum(true[1], predicted[1]) - np.maximum(true[0], predicted[0]), 0)
    shared = size[0] * size[1]
    whole = np.prod(true[1] - true[0]) + np.prod(predicted[1] - predicted[0]) - shared
    return float(1 - shared / whole)


def relaxation(lane: Array) -> float:
    """Return the factor of distances to a true lane."""
    return max(0.5, 1 - 0.005 * min(math.sqrt(float((point**2).sum())) for point in lane))


def lane_distances(true: Sequence[Frame], predicted: Sequence[Frame], drop_closing: bool) -> Array:
    """Return the distances of lanes ``(true, predicted)``, of centrelines or of lane segments."""
    found = np.full((len(true), len(predicted)), FAR)
    for i, t in enumerate(true):
        centre = t["points"] if "points" in t else t["centerline"]
        factor = relaxation(centre)
        for j, p in enumerate(predicted):
            other = p["points"] if "points" in p else p["centerline"]
            if chamfer(centre, other, drop_closing) * factor >= LANES[-1]:
                continue
            distance = frechet(centre, other)
            if "left_laneline" in t:
                sides = ("left_laneline", "right_laneline")
                distance = 0.5 * (distance + sum(chamfer(t[side], p[side], drop_closing) for side in sides))
            found[i, j] = distance * factor
    return found


def distances(true: Sequence[Frame], predicted: Sequence[Frame], of: Callable[[Array, Array], float]) -> Array:
    """Return the distances of areas or boxes ``(true, predicted)``."""
    found = np.full((len(true), len(predicted)), FAR)
    for i, t in enumerate(true):
        for j, p in enumerate(predicted):
            found[i, j] = of(t["points"], p["points"])
    return found


def match(distance: Array, confidence: Sequence[float], threshold: float) -> Match:
    """Return the true positives: in the order of confidence, each prediction takes its nearest truth if it is free."""
    taken: Match = {}
    if not distance.size:
        return taken
    for j in sorted(range(len(confidence)), key=lambda j: -confidence[j]):
        nearest = int(distance[:, j].argmin())
        if distance[nearest, j] < threshold and nearest not in taken:
            taken[nearest] = j
    return taken


def average_precision(hits: Sequence[tuple[float, bool]], truth: int) -> float:
    """Return the mean of the highest precision at eleven recalls."""
    if not hits and not truth:
        return 1.0
    found, curve = 0, []
    for rank, (_, hit) in enumerate(sorted(hits, key=lambda one: -one[0]), start=1):
        found += hit
        curve.append((np.float32(found / max(truth, 1)), found / rank))
    levels = [np.float32(level) for level in np.arange(0, 1.001, 0.1)]
    return sum(max((p for r, p in curve if r >= level), default=0.0) for level in levels) / 11


def detection(frames: Iterable[tuple[Array, Sequence[float]]], threshold: float) -> float:
    """Return the average precision of the instances of all frames at one threshold."""
    hits, truth = [], 0
    for distance, confidence in frames:
        taken = set(match(distance, confidence, threshold).values())
        hits += [(sure, j in taken) for j, sure in enumerate(confidence)]
        truth += len(distance)
    return average_precision(hits, truth)


def vertex_precision(true: Sequence[int], scored: Sequence[tuple[float, int]]) -> float:
    """Return the average precision of the neighbours of one vertex."""
    if not true and not scored:
        return 1.0
    if not true or not scored:
        return 0.0
    found, total = 0, 0.0
    for rank, (_, neighbour) in enumerate(sorted(scored, key=lambda one: -one[0]), start=1):
        if neighbour in true:
            found += 1
            total += found / rank
    return total / len(true)


def vertices(true: Array, score: Array) -> list[float]:
    """Return the average precision of each row and of each column."""
    found = []
    for links, scores in ((true, score), (true.T, score.T)):
        for row, weights in zip(links.tolist(), scores.tolist(), strict=True):
            neighbours = [j for j, linked in enumerate(row) if linked]
            found.append(vertex_precision(neighbours, [(w, j) for j, w in enumerate(weights) if w > 0.5]))
    return found


def rounds(distance: Array, confidence: Sequence[float], threshold: float) -> list[Match]:
    """Return the matches of each of the ten rounds of version 1.0."""
    taken = match(distance, confidence, threshold)
    if not len(confidence):
        return [taken] * 10
    order = sorted(range(len(confidence)), key=lambda j: -confidence[j])
    recalls = np.cumsum([j in taken.values() for j in order]).tolist()
    found = []
    for q in np.arange(10, 101, 10) / 100:
        place = len(order) * q - 1 - 0.5
        k = math.floor(place) if place == math.floor(place) and place % 2 == 0 else math.floor(place) + 1
        recall = recalls[max(k, 0)]
        last = max(i for i, value in enumerate(recalls) if value == recall)
        found.append({t: j for t, j in taken.items() if confidence[j] >= confidence[order[last]]})
    return found


def topology(true: Array, scores: Array, rows: Match, columns: Match, filler: float) -> list[float]:
    """Return the average precision of each vertex of a frame."""
    placed = np.empty(true.shape)
    for i in range(true.shape[0]):
        for j in range(true.shape[1]):
            known = i in rows and j in columns
            placed[i, j] = scores[rows[i], columns[j]] if known else (1 - true[i, j]) * filler
    return vertices(true, placed)


def f_score(frames: Iterable[tuple[Sequence[Array], Sequence[Array]]]) -> float:
    """Return the F-score of lanes, given for each frame as predictions and truth."""
    places = np.arange(-50.0, 50.0)
    sums = np.zeros(4)
    for both in frames:
        lines: list[list[tuple[Array, NDArray[np.bool_]]]] = []
        for side in both:
            kept = []
            for lane in side:
                if len(lane) < 2 or not (lane[0, 0] < places[-1] and lane[-1, 0] > places[0]):
                    continue
                points = lane[np.argsort(lane[:, 0], kind="stable")]
                high = np.clip(np.searchsorted(points[:, 0], places), 1, len(points) - 1)
                a, b = points[high - 1], points[high]
                slope = (b[:, 1:] - a[:, 1:]) / (b[:, :1] - a[:, :1])
                seen = (places >= points[0, 0]) & (places <= points[-1, 0])
                if seen.sum() > 1:
                    kept.append((slope * (places[:, None] - a[:, :1]) + a[:, 1:], seen))
            lines.append(kept)
        predicted, true = lines
        cost, near = np.zeros((len(true), len(predicted))), np.zeros((len(true), len(predicted)))
        for i, (height, seen) in enumerate(true):
            for j, (other, visible) in enumerate(predicted):
                apart = np.sqrt(((height - other) ** 2).sum(axis=1))
                apart[~seen & ~visible] = 0
                apart[seen != visible] = 1.5
                near[i, j] = (apart[seen & visible] < 1.5).sum()
                cost[i, j] = max(math.floor(apart.sum()), apart.sum() > 0)
        rows, columns = linear_sum_assignment(cost)
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
            if cost[i, j] < 150:
                sums[:2] += near[i, j] / true[i][1].sum() >= 0.75, near[i, j] / predicted[j][1].sum() >= 0.75
        sums[2:] += len(true), len(predicted)
    recall, precision = sums[0] / max(sums[2], 1), sums[1] / max(sums[3], 1)
    return float(2 * recall * precision / max(recall + precision, 1e-300))


def topology_scores(
    frames: Sequence[tuple[Frame, Frame]],
    lanes: Sequence[Array],
    boxes: Sequence[Array],
    names: tuple[str, str],
    old: bool,
) -> tuple[float, float]:
    """Return TOP_ll and TOP_lt of frames of predictions and truth, with the distances of lanes and of boxes."""
    filler = 1.0 if old else 0.5 + 2.0**-23
    found: tuple[list[float], list[float]] = ([], [])
    kind = "lane_segment" if names[0].endswith("lsls") else "lane_centerline"
    for threshold in LANES:
        for (predicted, true), apart, others in zip(frames, lanes, boxes, strict=True):
            sure = [[one["confidence"] for one in predicted[key]] for key in (kind, "traffic_element")]
            if old:
                matches = list(
                    zip(rounds(apart, sure[0], threshold), rounds(others, sure[1], OVERLAPS[0]), strict=True)
                )
            else:
                matches = [(match(apart, sure[0], threshold), match(others, sure[1], OVERLAPS[0]))]
            for rows, elements in matches:
                for k, columns in enumerate((rows, elements)):
                    truth = np.asarray(true[names[k]], float)
                    if truth.size:
                        found[k].extend(topology(truth, np.asarray(predicted[names[k]]), rows, columns, filler))
    return float(np.mean(found[0])), float(np.mean(found[1]))
