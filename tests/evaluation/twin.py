"""A slow and simple second evaluation. It loops over frames, classes and pairs, and follows the definitions.

It shares only the settings with the evaluation that it checks. Distances and SOSPA come from the plain definitions. All
shifts and both directions are tried one after the other. scipy assigns the instances. Average precision is computed
level by level of confidence.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import shapely
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from tests.arrays import Points
from tests.kernels import reference

import mapgauge as mg

_wagner_fischer = njit(reference.wagner_fischer)
_frechet = njit(reference.frechet)

PARTS = ("matched_points", "unmatched_points", "confidence", "missed", "false")
NOTHING = dict.fromkeys(("pld", "localisation", "detection", *PARTS))
Matrix = NDArray[np.float64]


class Line(NamedTuple):
    """An instance as given."""

    points: Points
    confidence: float = 1.0


class Shape(NamedTuple):
    """An instance as compared."""

    whole: Points  # resampled
    points: Points  # without the closing point
    closed: bool
    confidence: float


class Row(NamedTuple):
    """One class of one frame."""

    predictions: int
    truth: int
    terms: dict[float, list[float]]  # by cutoff: five parts and the mass, p-th powers
    records: dict[tuple[str, float], list[tuple[float, bool]]]  # by metric and threshold: confidence and hit


Frames = Mapping[str, Mapping[str, Sequence[Line]]]  # by token and class
Values = dict[str, float | None]


def evaluate_slowly(
    predictions: Frames, truth: Frames, protocol: mg.Protocol
) -> tuple[dict[str, Values], list[dict[str, Row]]]:
    """Return the values of each class by the keys of results, and the rows of each frame by class."""
    occurring = [name for side in (truth, predictions) for groups in side.values() for name in groups]
    names = protocol.classes or tuple(dict.fromkeys(occurring))
    rows = [
        {
            name: row_of(
                shapes_of(predictions.get(token, {}).get(name, ()), protocol),
                shapes_of(groups.get(name, ()), protocol),
                protocol,
            )
            for name in names
        }
        for token, groups in truth.items()
    ]
    return {name: values_of([row[name] for row in rows], protocol) for name in names}, rows


def shapes_of(lines: Iterable[Line], protocol: mg.Protocol) -> list[Shape]:
    """Crop, resample and close a line."""
    shapes = []
    for line in lines:
        pieces = [line.points]
        if protocol.crop and protocol.region is not None:
            pieces = pieces_inside(line.points, *protocol.region)
        for piece in pieces:
            if protocol.sampling == "even" and is_closed(piece, protocol)[1]:
                piece = reference.from_its_start(piece)
            whole = resampled(piece, protocol.spacing, protocol.count, even=protocol.sampling == "even")
            closed, repeats = is_closed(whole, protocol)
            shapes.append(Shape(whole, whole[:-1] if repeats else whole, closed, line.confidence))
    return shapes


def pieces_inside(points: Points, length: float, width: float) -> list[Points]:
    """Return the parts of a line in a rectangle around the ego vehicle, by cutting each segment."""
    half = (length / 2, width / 2)
    if all(abs(p[k]) <= half[k] for p in points for k in range(2)):
        return [points]
    pieces: list[list[Points]] = []
    for a, b in pairwise(points):
        enter, leave = 0.0, 1.0
        for k in range(2):
            for sign in (-1, 1):  # a point is inside if sign * x <= half
                start, end = half[k] - sign * a[k], half[k] - sign * b[k]
                if start < 0 and end < 0:
                    leave = -1.0
                elif start < 0:
                    enter = max(enter, start / (start - end))
                elif end < 0:
                    leave = min(leave, start / (start - end))
        if enter < leave:
            first, last = (
                a + share * (b - a) if 0 < share < 1 else (a if share == 0 else b) for share in (enter, leave)
            )
            if pieces and enter == 0 and np.array_equal(pieces[-1][-1], a):
                pieces[-1].append(last)
            else:
                pieces.append([first, last])
    begins_inside = bool(pieces) and np.array_equal(pieces[0][0], points[0])
    ends_inside = bool(pieces) and np.array_equal(pieces[-1][-1], points[-1])
    if len(pieces) > 1 and begins_inside and ends_inside and np.array_equal(points[0], points[-1]):
        pieces[0] = pieces.pop() + pieces[0][1:]  # a polygon whose first point is inside
    return [np.array(piece) for piece in pieces]


def resampled(points: Points, spacing: float | None, count: int | None, *, even: bool = False) -> Points:
    """Return points at arc lengths 0, s, 2s, ... and the end, or at equal parts of the length."""
    if not len(points) or (spacing is None and count is None):
        return points
    length = sum(math.dist(a, b) for a, b in pairwise(points))
    if even:
        assert spacing is not None
        count = 1 + max(math.floor(length / spacing + 0.5 + 1e-9), 1)
    if count is not None:
        targets = [length * k / (count - 1) for k in range(count)]
    else:
        assert spacing is not None
        before_end = max(math.ceil(length / spacing - 1e-9), 1)  # avoids a second copy of the end if a sample is there
        targets = [k * spacing for k in range(before_end)] + [length]
    places: Points = reference.resample(points, targets)
    places[-1] = points[-1]
    return places


def is_closed(points: Points, protocol: mg.Protocol) -> tuple[bool, bool]:
    """Whether a line is closed, and whether its last point repeats the first."""
    if protocol.closed is False:
        return False, False
    gap = math.dist(points[0], points[-1]) if len(points) > 2 else math.inf
    if protocol.closed is True:
        return True, gap == 0
    return gap <= protocol.closed_tolerance, gap <= protocol.closed_tolerance


def row_of(predictions: list[Shape], truth: list[Shape], protocol: mg.Protocol) -> Row:
    """Return all terms and records of one class in one frame."""
    terms = {cutoff: pld_terms(predictions, truth, protocol, cutoff) for cutoff in protocol.cutoffs}
    records = {}
    for metric in ("chamfer", "frechet", "sospa"):
        own = protocol.settings.get(f"ap_{metric}")
        if own is not None:
            distance = [[distance_of(metric, x, y, protocol) for y in truth] for x in predictions]
            for threshold in own.thresholds:
                records[f"ap_{metric}", threshold] = hits_of(predictions, distance, threshold, own.strict)
    return Row(len(predictions), len(truth), terms, records)


def between(x: Points, y: Points) -> Matrix:
    """Return the Euclidean distances of all points."""
    distance: Matrix = np.sqrt(((x[:, None] - y[None]) ** 2).sum(axis=2))
    return distance


def readings(distance: Matrix, x: Shape, y: Shape, directed: bool, side: int) -> list[Matrix]:
    """Return the matrix for all shifts if either line is closed, and for both directions unless direction matters."""
    ways = [distance] if directed else [distance, np.flip(distance, axis=1)]
    shifts = range(max(distance.shape[side], 1) if x.closed or y.closed else 1)
    return [np.ascontiguousarray(np.roll(way, shift, axis=side)) for way in ways for shift in shifts]


def sospa_of(x: Shape, y: Shape, protocol: mg.Protocol, cutoff: float) -> tuple[float, float]:
    """Return normalised SOSPA, and the share of its p-th power that comes from distances of matched points."""
    n, m, p = len(x.points), len(y.points), protocol.order
    distance = between(x.points, y.points)
    if n + m == 0:
        return 0.0, 0.0
    if not (distance < cutoff).any():
        return 1.0, 0.0
    ways = readings(distance, x, y, protocol.directed, side=1)
    costs = [_wagner_fischer(way, cutoff, p) for way in ways]
    least = min(costs)
    number, matched = max(
        matched_cost(way, cutoff, p) for way, cost in zip(ways, costs, strict=True) if cost <= least * (1 + 1e-12)
    )
    assert math.isclose(matched + cutoff**p / 2 * (n + m - 2 * number), least, rel_tol=1e-9, abs_tol=1e-12)
    return reference.normalise(least ** (1 / p), n, m, cutoff, p), matched / least if least else 0.0


def matched_cost(distance: Matrix, cutoff: float, order: float) -> tuple[int, float]:
    """Return the number of points that the cheapest ordered assignment matches, and the sum of their costs."""
    gap = cutoff**order / 2
    n, m = distance.shape
    best = {(i, j): (gap * (i + j), 0, 0.0) for i in range(n + 1) for j in range(m + 1) if i == 0 or j == 0}
    for i in range(n):
        for j in range(m):
            options = [
                (cost + gap, unmatched, matched) for cost, unmatched, matched in (best[i, j + 1], best[i + 1, j])
            ]
            if distance[i, j] < cutoff:  # a pair at the cutoff does not reduce the cost
                cost, unmatched, matched = best[i, j]
                step = distance[i, j] ** order
                options.append((cost + step, unmatched - 1, matched + step))
            best[i + 1, j + 1] = min(options)
    return -best[n, m][1], best[n, m][2]


def pld_terms(predictions: list[Shape], truth: list[Shape], protocol: mg.Protocol, cutoff: float) -> list[float]:
    """Return the five parts and the mass, as p-th powers."""
    p = protocol.order
    pairs = {(i, j): sospa_of(x, y, protocol, cutoff) for i, x in enumerate(predictions) for j, y in enumerate(truth)}
    saving = np.zeros((len(predictions), len(truth)))
    for (i, j), (distance, _) in pairs.items():
        saving[i, j] = min(predictions[i].confidence, truth[j].confidence) * (1 - distance**p)
    assigned = np.stack(linear_sum_assignment(saving, maximize=True), axis=1)
    matches = [(i, j) for i, j in assigned.tolist() if saving[i, j] > 0]  # a match must reduce the cost
    near = apart = confidence = 0.0
    for i, j in matches:
        r, s = predictions[i].confidence, truth[j].confidence
        distance, share = pairs[i, j]
        near += min(r, s) * distance**p * share
        apart += min(r, s) * distance**p * (1 - share)
        confidence += abs(r - s) / 2
    missed = sum(y.confidence / 2 for j, y in enumerate(truth) if j not in {j for _, j in matches})
    false = sum(x.confidence / 2 for i, x in enumerate(predictions) if i not in {i for i, _ in matches})
    mass = sum(shape.confidence / 2 for shape in (*predictions, *truth))
    return [near, apart, confidence, missed, false, mass]


def distance_of(metric: str, x: Shape, y: Shape, protocol: mg.Protocol) -> float:
    """Return the distance that average precision compares with thresholds; infinity if the pair is no candidate."""
    if metric == "sospa":
        return sospa_of(x, y, protocol, protocol.cutoffs[0])[0]
    if not len(x.points) or not len(y.points):
        return math.inf
    factor, own = 1.0, protocol.settings[f"ap_{metric}"]
    if own.relaxed:
        factor = max(0.5, 1 - 0.005 * min(math.hypot(*point) for point in y.whole))
    distance = between(x.whole, y.whole)
    chamfer = factor * (distance.min(axis=0).mean() + distance.min(axis=1).mean()) / 2
    if metric == "chamfer":
        return float(chamfer) if own.buffers is None or widened_meet(x, y, own.buffers) else math.inf
    if own.prefilter is not None and chamfer >= own.prefilter:
        return math.inf
    # If a pair is closed, the prediction is shifted.
    ways = readings(between(x.points, y.points), x, y, protocol.directed, side=0)
    return factor * min(float(_frechet(way)) for way in ways)


def widened_meet(x: Shape, y: Shape, width: float) -> bool:
    """Whether MapTR's filter keeps a pair."""
    areas = [
        shapely.LineString(shape.whole[:, :2]).buffer(width, cap_style="flat", join_style="mitre") for shape in (x, y)
    ]
    return bool(areas[0].intersects(areas[1]))


def hits_of(
    predictions: list[Shape], distance: list[list[float]], threshold: float, strict: bool
) -> list[tuple[float, bool]]:
    """Return the confidence of each prediction and whether it hits. The most confident prediction comes first."""
    taken = set()
    records = []
    for i in sorted(range(len(predictions)), key=lambda i: -predictions[i].confidence):
        hit = False
        if distance[i]:
            nearest = distance[i].index(min(distance[i]))
            near = distance[i][nearest] < threshold if strict else distance[i][nearest] <= threshold
            hit = near and nearest not in taken
            if hit:
                taken.add(nearest)
        records.append((predictions[i].confidence, hit))
    return records


def average_precision(records: Iterable[tuple[float, bool]], truth: int, interpolation: str = "area") -> float:
    """Return the area under precision over recall, or the mean at 11 recalls. Equal confidences are one step."""
    at_level: dict[float, list[bool]] = {}
    for confidence, hit in records:
        at_level.setdefault(confidence, []).append(hit)
    if not at_level or not truth:
        return 0.0
    found = number = 0
    curve = []  # true positives and precision after each level
    for level in sorted(at_level, reverse=True):
        found, number = found + sum(at_level[level]), number + len(at_level[level])
        curve.append((found, found / number))
    if interpolation == "11-point":
        return sum(max((p for f, p in curve if 10 * f >= k * truth), default=0.0) for k in range(11)) / 11
    area = highest = 0.0
    for (before, _), (after, precision) in reversed(list(pairwise([(0, 0.0), *curve]))):
        highest = max(highest, precision)
        area += (after - before) / truth * highest
    return area


def values_of(rows: list[Row], protocol: mg.Protocol) -> Values:
    """Return the summary of one class over all frames."""
    predictions, truth = sum(row.predictions for row in rows), sum(row.truth for row in rows)
    values: Values = {"predictions": predictions, "truth": truth}
    for k, cutoff in enumerate(protocol.cutoffs):
        found = dict(NOTHING)
        if predictions + truth:
            found = pld_values(
                [sum(column) for column in zip(*(row.terms[cutoff] for row in rows), strict=True)], protocol
            )
            each = [pld_values(row.terms[cutoff], protocol)["pld"] or 0.0 for row in rows]
            found["pld_frame_mean"] = sum(each) / len(each)
        if k == 0:
            values |= found
        if len(protocol.cutoffs) > 1:
            values |= {f"{key}@{cutoff}": value for key, value in found.items()}
    for metric in ("ap_chamfer", "ap_frechet", "ap_sospa"):
        own = protocol.settings.get(metric)
        thresholds = () if own is None else own.thresholds
        each = []
        for threshold in thresholds:
            records = [record for row in rows for record in row.records[metric, threshold]]
            assert own is not None
            each.append(average_precision(records, truth, own.interpolation))
            values[f"{metric}@{threshold}"] = each[-1] if predictions + truth else None
        if thresholds:
            values[metric] = sum(each) / len(each) if predictions + truth else None
    return values


def pld_values(terms: Sequence[float], protocol: mg.Protocol) -> Values:
    """Return normalised PLD and its parts from sums of terms."""
    p, mass = protocol.order, terms[5]
    value = sum(terms[:5]) ** (1 / p)
    if mass == 0:
        values: Values = dict.fromkeys(NOTHING, 0.0)
    else:
        total = mass ** (1 / p) + value
        parts = [2 * term / total for term in terms[:5]]
        values = {"pld": 2 * value / total, "localisation": parts[0], "detection": sum(parts[1:])}
        values |= dict(zip(PARTS, parts, strict=True))
    if p != 1:  # only the normalised value of order 1 has parts
        values = dict(NOTHING) | {"pld": values["pld"]}
    return values
