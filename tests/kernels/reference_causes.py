"""The causes of errors, and lengths and offsets of matched points, in plain Python: the reference for the tests.

This file stays unoptimised. ``docs/explanation/causes.md`` has the definitions. A line has ``points`` without a
closing point, ``label``, ``confidence`` and ``closed``. A match is a true line and pairs of matched points, by
prediction.
"""

import math
from collections import defaultdict

import numpy as np
from tests.kernels.reference import distances


def covered(line, other, limit):
    """For each point of a line, whether a point of the other line is closer than the limit."""
    return [min(row, default=math.inf) < limit for row in distances(line.points, other.points)]


def share(line, other, limit):
    """The share of a line that another line covers."""
    return sum(covered(line, other, limit)) / len(line.points)


def nearest(line, other):
    """For each point of a line, the nearest point of the other line."""
    return [min(range(len(row)), key=row.__getitem__) for row in distances(line.points, other.points).tolist()]


def value(cost, pairs, n, m, cutoff):
    """SOSPA of order 1 of a matching, and its normalised form."""
    total = cost + cutoff / 2 * (n + m - 2 * pairs)
    saturation = total / (cutoff / 2 * (n + m))
    return total, 2 * saturation / (1 + saturation)


def beyond_end(point, line, nearest_of_line):
    """Whether a point is past an end of an open line: its nearest point is an end, and it lies ahead of this end."""
    last = len(line.points) - 1
    if line.closed or last == 0 or nearest_of_line not in (0, last):
        return False
    end, before = line.points[nearest_of_line], line.points[1 if nearest_of_line == 0 else last - 1]
    return sum((p - e) * (e - b) for p, e, b in zip(point, end, before, strict=True)) > 0


def covered_truth(x, truth, own, cutoff):
    """True points that a prediction covers, by line and point, and the share of the prediction that each line owns.

    A point is not covered if it is past an end of the prediction, or if another line is nearer to the prediction there.
    """
    gaps = [[min(row, default=math.inf) for row in distances(x.points, truth[j].points)] for j in own]
    owner = {}
    for p in range(len(x.points)):
        j = min(range(len(own)), key=lambda k: gaps[k][p], default=None)
        if j is not None and gaps[j][p] < cutoff:
            owner[p] = own[j]
    over = set()
    for j in own:
        for k, (near, p) in enumerate(zip(covered(truth[j], x, cutoff), nearest(truth[j], x), strict=True)):
            if near and owner.get(p) == j and not beyond_end(truth[j].points[k], x, p):
                over.add((j, k))
    return over, owner


def cause_of_false(x, truth, taken, settled, rules):
    """The cause of a prediction as if it were unmatched, the true line it is about, and the share of that line."""
    cutoff, reach, least, _, sure, *_ = rules
    own = [j for j, y in enumerate(truth) if y.label == x.label]
    others = [j for j, y in enumerate(truth) if y.label != x.label]
    over, owner = covered_truth(x, truth, own, cutoff)

    def best_fit(places, limit, both):
        fits = {j: (share(x, truth[j], limit), share(truth[j], x, limit)) for j in places}
        fits = {j: (a, b) for j, (a, b) in fits.items() if a >= least and (b >= least or not both)}
        best = max(fits, key=lambda j: sum(fits[j]), default=None)
        return best, 0.0 if best is None else fits[best][1]

    close = [covered(x, truth[j], cutoff / 2) for j in own]
    if sum(any(flags) for flags in zip(*close, strict=True)) < least * len(x.points):
        lost, part = best_fit([j for j in own if j not in settled], reach, True)
        if lost is not None and best_fit(others, cutoff / 2, False)[0] is None:
            return "displaced", lost, part
    if over and len(owner) >= least * len(x.points):
        owned = list(owner.values())
        best = max(own, key=owned.count)
        if 2 * len(over & taken) >= len(over):
            return "duplicate", best, 0.0
        taken |= over
        lines = sum(sum(j == k for k, _ in over) >= least * len(truth[j].points) for j in own)
        return "merge" if lines > 1 else "fragment", best, 0.0
    for cause, places, limit, both in (("wrong_class", others, cutoff, False), ("displaced", own, reach, True)):
        best, part = best_fit(places, limit, both)
        if best is not None:
            return cause, best, part
    return "over_confident" if x.confidence >= sure else "background", None, 0.0


def causes_of_frame(predictions, truth, match, rules):
    """The costs of a frame by class and cause.

    Args:
        predictions: Lines with different confidences.
        truth: Lines, with fewer points first. The first of several that fit equally well is taken.
        match: The optimal assignment.
        rules: Cutoff, reach, and ``covered``, ``winding``, ``sure``, ``faint`` and ``worth``.
    """
    cutoff, reach, least, winding, _, faint, worth = rules
    costs = defaultdict(float)  # by class and cause
    loose, taken, settled = set(), set(), set()
    for i, (j, _) in match.items():
        x, y = predictions[i], truth[j]
        if max(share(x, y, cutoff), share(y, x, cutoff)) < least:
            loose.add(i)
        else:
            settled.add(j)
            near, points = covered(y, x, cutoff), nearest(y, x)
            taken |= {(j, k) for k in range(len(near)) if near[k] and not beyond_end(y.points[k], x, points[k])}
    cause, explained = {}, defaultdict(float)
    free, proper = defaultdict(float), defaultdict(float)  # by true line and point: the highest confidence
    for i in sorted(range(len(predictions)), key=lambda i: -predictions[i].confidence):
        x, alone = predictions[i], i not in match or i in loose
        mate, pairs = match.get(i, (None, []))
        if alone:
            cause[i], j, part = cause_of_false(x, truth, taken, settled, rules)
            explained[j, cause[i]] = max(explained[j, cause[i]], x.confidence * part)
        if i not in match:
            own = [j for j, y in enumerate(truth) if y.label == x.label]
            for point in covered_truth(x, truth, own, cutoff)[0]:
                free[point] = max(free[point], x.confidence)
            continue
        for j, y in enumerate(truth):
            if j != mate and y.label == x.label:
                flags, points = covered(y, x, cutoff), nearest(y, x)
                for k in range(len(y.points)):
                    if flags[k] and points[k] not in {a for a, _ in pairs}:
                        where = free if alone else proper
                        where[j, k] = max(where[j, k], x.confidence)

    def add_missed(j, cost):
        """Add a cost of a missed line. A prediction explains it as far as it is confident."""
        y = truth[j]
        merge = [min(proper[j, k] / y.confidence, 1) for k in range(len(y.points))]
        rest = 1.0
        shares = {
            "merge": sum(merge) / len(merge),
            "fragment": sum(min(free[j, k] / y.confidence, 1 - m) for k, m in enumerate(merge)) / len(merge),
            "wrong_class": explained[j, "wrong_class"] / y.confidence,
            "displaced": explained[j, "displaced"] / y.confidence,
            "missed": 1.0,
        }
        for name, part in shares.items():
            costs[y.label, name] += cost * min(part, rest)
            rest -= min(part, rest)

    for j in set(range(len(truth))) - {j for j, _ in match.values()}:
        add_missed(j, truth[j].confidence / 2)
    for i, x in enumerate(predictions):
        if i not in match:
            costs[x.label, cause[i]] += x.confidence / 2
            continue
        j, pairs = match[i]
        y = truth[j]
        cost = sum(math.dist(x.points[a], y.points[b]) for a, b in pairs)
        total, distance = value(cost, len(pairs), len(x.points), len(y.points), cutoff)
        weight, lacking = min(x.confidence, y.confidence), abs(x.confidence - y.confidence) / 2
        geometry = weight * distance
        if x.confidence >= y.confidence:
            costs[x.label, "over_confident"] += lacking
        elif i in loose:
            add_missed(j, lacking)
        elif x.confidence < faint:
            costs[x.label, "faint"] += lacking
        elif distance < worth:
            costs[x.label, "under_confident"] += lacking
        else:
            geometry += lacking
        if total == 0:
            continue
        costs[x.label, "localisation"] += geometry * cost / total
        unit = geometry * cutoff / 2 / total  # of an unmatched point
        matched = {a for a, _ in pairs}, {b for _, b in pairs}
        sides = []
        for mine, other, of_mine, of_other in ((x, y, *matched), (y, x, *matched[::-1])):
            flags, wide, points = covered(mine, other, cutoff), covered(mine, other, reach), nearest(mine, other)
            ends = () if other.closed else (0, len(other.points) - 1)
            beside = [near and point not in ends for near, point in zip(flags, points, strict=True)]
            apart = [near and point not in of_other for near, point in zip(wide, points, strict=True)]
            sides.append([(k, beside[k], apart[k]) for k in range(len(mine.points)) if k not in of_mine])
        many = sum(beside for side in sides for _, beside, _ in side) > winding * (len(x.points) + len(y.points))
        mixed = x.closed != y.closed
        winds = "wrong_shape" if mixed or many else "localisation"
        merged = [covered(x, z, cutoff) for k, z in enumerate(truth) if k != j and z.label == x.label]
        for k, beside, apart in sides[0]:
            past = "wrong_shape" if mixed else "displaced" if apart else "extent"
            own = "merge" if any(flags[k] for flags in merged) else cause[i] if i in loose else past
            costs[x.label, winds if beside else own] += unit
        for k, beside, apart in sides[1]:
            past = "wrong_shape" if mixed else "displaced" if apart else "extent"
            part = 0.0 if beside else min(max(free[j, k], proper[j, k]) / weight, 1)
            costs[x.label, "fragment"] += unit * part
            if not beside and i in loose:
                add_missed(j, unit * (1 - part))
            else:
                costs[x.label, winds if beside else past] += unit * (1 - part)
    return costs


def lengths_of_points(line):
    """The length that each point of a line stands for: half of the two pieces beside it."""
    n = len(line.points)
    steps = [math.dist(line.points[k], line.points[(k + 1) % n]) for k in range(n if line.closed else n - 1)]
    return [((steps[k] if k < len(steps) else 0) + (steps[k - 1] if k or line.closed else 0)) / 2 for k in range(n)]


def distance_to_line(point, line):
    """The distance of a point to the nearest segment of a line, seen from above."""
    return min(distance for distance, _ in places_on_line(point, line))


def places_on_line(point, line):
    """Places of a line: the distance of a point, seen from above, and the point of the line that is nearest there."""
    n = len(line.points)
    yield math.dist(point[:2], line.points[0][:2]), 0
    for k in range(n if line.closed else n - 1):
        (x, y), (u, v) = line.points[k][:2], line.points[(k + 1) % n][:2]
        square = (u - x) ** 2 + (v - y) ** 2
        share = ((point[0] - x) * (u - x) + (point[1] - y) * (v - y)) / square if square else 0.0
        share = min(max(share, 0.0), 1.0)
        distance = math.dist(point[:2], (x + share * (u - x), y + share * (v - y)))
        if share <= 0.5:
            yield distance, k
        if share >= 0.5:
            yield distance, (k + 1) % n


def place_of(point, label, truth, found, cutoff):
    """Where an unmatched point of a class lies: what it is beside. ``found`` are the matched points of true lines."""
    places = [
        (distance, k in found[j], y.label == label)
        for j, y in enumerate(truth)
        for distance, k in places_on_line(point, y)
        if distance < cutoff
    ]
    own = [(distance, matched) for distance, matched, same in places if same]
    if not own:
        return "other_class" if places else "far"
    least = min(distance for distance, _ in own)
    return "repeated" if any(matched for distance, matched in own if distance <= least + 1e-9) else "pieces"


def lengths_and_offsets(predictions, truth, match, cutoff, sure, bins, edges, rings):
    """By class: all columns of the metric but the last: lengths, offsets, parts of PLD, histograms, rings."""
    sums = defaultdict(lambda: np.zeros(20 + 2 * bins + 2 * rings))
    points_found = defaultdict(set)
    for j, y in enumerate(truth):
        mate = next((i for i, (other, _) in match.items() if other == j), None)
        matched = set() if mate is None else {b for _, b in match[mate][1]}
        points_found[j] = matched
        lengths = lengths_of_points(y)
        found = sum(lengths[k] for k in matched)
        sums[y.label][:3] += sum(lengths), found, found * (mate is not None and predictions[mate].confidence >= sure)
        for k, length in enumerate(lengths):
            ring = sum(math.hypot(*y.points[k][:2]) >= start for start in edges) - 1
            sums[y.label][20 + 2 * bins + ring] += length
            sums[y.label][20 + 2 * bins + rings + ring] += length * (k in matched)
    for i, x in enumerate(predictions):
        j, pairs = match.get(i, (None, []))
        lengths = lengths_of_points(x)
        right, certain = sum(lengths[a] for a, _ in pairs), x.confidence >= sure
        beside = defaultdict(float)
        for a in set(range(len(x.points))) - {a for a, _ in pairs}:
            beside[place_of(x.points[a], x.label, truth, points_found, cutoff)] += lengths[a]
        sums[x.label][3:11] += (
            x.confidence * sum(lengths),
            x.confidence * right,
            certain * sum(lengths),
            certain * right,
            x.confidence * (beside["far"] + beside["other_class"]),
            x.confidence * beside["other_class"],
            x.confidence * beside["repeated"],
            x.confidence * beside["pieces"],
        )
        if not pairs:
            continue
        weight, offsets = (
            min(x.confidence, truth[j].confidence),
            [math.dist(x.points[a], truth[j].points[b]) for a, b in pairs],
        )
        most = cutoff / 2 * (len(x.points) + len(truth[j].points))
        sospa = sum(offsets) + most - cutoff * len(pairs)
        for (a, b), offset in zip(pairs, offsets, strict=True):
            up = abs(x.points[a][2] - truth[j].points[b][2]) if len(x.points[a]) > 2 else 0.0
            across = distance_to_line(x.points[a], truth[j])
            along = math.sqrt(max(offset**2 - across**2 - up**2, 0.0))
            sums[x.label][11:17] += weight * np.array([1, cutoff, offset, across, along, up])
            if offset:
                share = weight * 2 / (most + sospa) / offset
                sums[x.label][17:20] += share * np.array([across**2, along**2, up**2])
            sums[x.label][20 + min(int(offset * bins / cutoff), bins - 1)] += weight
            sums[x.label][20 + bins + min(int(across * bins / cutoff), bins - 1)] += weight
    return sums
