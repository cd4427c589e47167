"""Average precision of the neighbours of each true vertex, as OpenLane-V2 defines its topology scores (TOP)."""

import math

import numpy as np

from mapgauge.kernels._jit import jit, jit_allocating

ROUNDS = 10  # of version 1.0


@jit
def vertex_precisions(true, score):
    """Sum of the average precisions of all rows.

    A row is a vertex. Its neighbours are the columns with ``true``, and its predicted neighbours those with a score
    above 0.5, from high to low. Among equal scores the first column comes first.
    """
    total = 0.0
    rows, columns = true.shape
    for v in range(rows):
        neighbours = predicted = 0
        for j in range(columns):
            neighbours += true[v, j]
            predicted += score[v, j] > 0.5
        if neighbours == 0 and predicted == 0:
            total += 1.0
        if neighbours == 0 or predicted == 0:
            continue
        precision = 0.0
        for j in range(columns):
            if true[v, j] and score[v, j] > 0.5:
                rank = hits = 1
                for k in range(columns):
                    before = score[v, k] > score[v, j] or (score[v, k] == score[v, j] and k < j)
                    rank += before
                    hits += before and true[v, k]
                precision += hits / rank
        total += precision / neighbours
    return total


@jit
def _round_thresholds(confidence, order, first, last, hit, out):
    """Write the confidence from which a prediction of a frame counts, for each of the ten rounds of version 1.0.

    The recalls of the sorted predictions have a quantile at 0.1, 0.2, ..., 1, by the nearest rank; a rank in the middle
    goes to the even one. The threshold is the confidence of the last prediction with this recall.
    """
    count = last - first
    for r in range(ROUNDS):
        rank = count * ((r + 1) * 10 / 100) - 1.0 - 0.5
        lower = math.floor(rank)
        k = lower if rank == lower and lower % 2 == 0 else lower + 1
        k = min(max(k, 0), count - 1)
        while k + 1 < count and not hit[order[first + k + 1]]:
            k += 1
        out[r] = confidence[order[first + k]]


@jit_allocating
def topology_sums(lanes, elements, same, old, confidence, own, nearest, hit, true_links, links, filler, out):
    """Write the sum of the average precisions of all vertices of each frame, and their number.

    Args:
        lanes: For each frame: first predicted lane, first true lane, end.
        elements: The same for the vertices in columns: the lanes again, or traffic elements.
        same: Whether the columns are the lanes.
        old: Whether the rules are those of version 1.0.
        confidence: Of all instances.
        own: All instances, frame by frame, predictions before truth, from high confidence to low.
        nearest: The true instance of each prediction.
        hit: Whether each prediction is matched with it.
        true_links: Sources and targets ``(2, links)`` of the true links, sorted by source.
        links: Sources, targets and scores of the predicted links, sorted by source.
        filler: The score of a pair that is not linked, if one of its lanes is missed.
        out: ``(frames, 2)``.
    """
    rounds = ROUNDS if old else 1
    from_lane, from_element = np.zeros(ROUNDS), np.zeros(ROUNDS)
    source, target, weight = links
    found = np.full(len(confidence), -1)  # the prediction of each true instance
    for f in range(len(lanes)):
        x0, y0, y1 = lanes[f]
        a0, b0, b1 = elements[f]
        n, m = y1 - y0, b1 - b0
        if n == 0 or m == 0:
            continue
        true = np.zeros((n, m), np.bool_)
        for k in range(np.searchsorted(true_links[0], y0), np.searchsorted(true_links[0], y1)):
            true[true_links[0, k] - y0, true_links[1, k] - b0] = True
        for i in range(x0, y0):
            if hit[i]:
                found[nearest[i]] = i
        if not same:
            for i in range(a0, b0):
                if hit[i]:
                    found[nearest[i]] = i
        predicted = np.zeros((y0 - x0, b0 - a0))
        for k in range(np.searchsorted(source, x0), np.searchsorted(source, y0)):
            predicted[source[k] - x0, target[k] - a0] = weight[k]
        if old:
            if y0 > x0:
                _round_thresholds(confidence, own, x0, y0, hit, from_lane)
            if b0 > a0:
                _round_thresholds(confidence, own, a0, b0, hit, from_element)
        score = np.empty((n, m))
        for r in range(rounds):
            for i in range(n):
                x = found[y0 + i]
                known = x >= 0 and (not old or confidence[x] >= from_lane[r])
                for j in range(m):
                    a = found[b0 + j]
                    if known and a >= 0 and (not old or confidence[a] >= from_element[r]):
                        score[i, j] = predicted[x - x0, a - a0]
                    else:
                        score[i, j] = 0.0 if true[i, j] else filler
            out[f, 0] += vertex_precisions(true, score) + vertex_precisions(true.T, score.T)
            out[f, 1] += n + m
