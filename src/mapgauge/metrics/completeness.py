"""Offsets in metres, and completeness and correctness in per cent, from the matching of PLD.

A point of a resampled line stands for half of the two pieces of the line beside it. The length of matched points is the
matched length. A matched pair of points counts in offsets with the smaller of its two confidences, as it does in PLD.
In a ring around the ego vehicle, only points in the ring are matched and count. They stand for the same lengths as in
the whole line, so that the lengths of all rings add up to the length of the lines.

An offset, the distance of two matched points, is divided at right angles: across is the horizontal distance to the true
line, up the difference of heights, along what remains. So ``offset**2 = across**2 + along**2 + up**2``, and the part of
PLD that comes from matched points is divided in the proportion of these squares.

Medians and percentiles come from histograms with ``BINS`` bins from 0 to the cutoff, 0.015 m wide for a cutoff of
1.5 m. Histograms of frames add up, so the values of many frames count all their points. They are interpolated within a
bin.

The true and the found length are also known by distance from the ego vehicle, in the rings of ``ring_edges``. A point
and the length that it stands for belong to the ring that the point is in. Lines are matched as a whole, so these
lengths add up to the true and the found length. In the rings of ``--ranges``, only the points in a ring are matched.
"""

import math
from collections.abc import Sequence

import numpy as np

from mapgauge import kernels
from mapgauge.geometry.polylines import ranges
from mapgauge.metrics.assigned import assigned, parts_of
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.metrics.pld import added
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats, Indices

BINS = 100
SURE = 0.5  # confidence of predictions that count as sure
RINGS = 6  # by distance from the vehicle, at most
_FEWEST_RINGS = 3  # also in a short region
_RING = 10.0  # metres between two rings
COLUMNS = (
    "true",  # metres of true length, as the next two
    "found",
    "sure_found",
    "predicted",  # metres of predicted length, as the next seven; all but "sure" and "sure_right" times confidence
    "right",
    "sure",
    "sure_right",
    "far",  # no truth of the class is closer than the cutoff
    "other_class",  # the part of "far" that is closer than the cutoff to truth of another class
    "repeated",  # not matched, beside truth of the class that is matched there
    "pieces",  # not matched, beside truth of the class that is not matched there
    "weight",  # of matched points
    "cutoff",  # weight times cutoff
    "offset",  # sums of distances of matched points, times weight
    "across",
    "along",
    "up",
    "points_across",  # summands of PLD's part of matched points, for order 1
    "points_along",
    "points_up",
    *(f"offsets_{k}" for k in range(BINS)),
    *(f"across_{k}" for k in range(BINS)),
    *(f"true_in_ring_{k}" for k in range(RINGS)),  # metres of true length by distance from the vehicle
    *(f"found_in_ring_{k}" for k in range(RINGS)),
    "pld_and_mass",  # by which PLD is normalised
)
OFFSETS = slice(COLUMNS.index("offsets_0"), COLUMNS.index("across_0"))
_ACROSS = slice(COLUMNS.index("across_0"), COLUMNS.index("true_in_ring_0"))
_IN_RINGS = slice(COLUMNS.index("true_in_ring_0"), COLUMNS.index("pld_and_mass"))


def ring_edges(region: Sequence[float] | None) -> tuple[float, ...]:
    """Return where the rings around the vehicle begin, in metres, for a region or none. The last ring has no end.

    >>> ring_edges((60.0, 30.0)), ring_edges((30.0, 15.0)), ring_edges((200.0, 100.0))
    ((0.0, 10.0, 20.0), (0.0, 5.0, 10.0), (0.0, 20.0, 40.0, 60.0, 80.0))
    >>> ring_edges(None)
    (0.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    """
    if region is None:
        return tuple(k * _RING for k in range(RINGS))
    half = region[0] / 2
    step = _RING
    if half < _FEWEST_RINGS * step:
        step = half / _FEWEST_RINGS
    while half / step >= RINGS + 1:
        step += _RING
    count = max(int(half / step), _FEWEST_RINGS)
    return tuple(round(k * step, 1) for k in range(count))


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    matches = assigned(groups, protocol, cutoff)
    x, y = matches.pairs
    total = matches.total[x]
    weight = np.minimum(groups.confidence[x], groups.confidence[y])
    factor = weight * np.divide(matches.distance[x], total, out=np.zeros(len(x)), where=total > 0)
    whole = groups
    partner = matches.partner
    if groups.part is not None:
        # Lengths and distances to lines are those of whole lines. Only points of the part count.
        whole, points, rows = groups.part
        x = rows[x]
        y = rows[y]
        partner = np.full(whole.points.shape[1], kernels.matched_points.LEFT_OUT)
        partner[points] = np.where(matches.partner >= 0, points[matches.partner], matches.partner)
    count = len(whole.confidence)
    truth_of = np.full(count, -1)
    prediction_of = np.full(count, -1)
    factor_of = np.zeros(count)
    truth_of[x] = y
    prediction_of[y] = x
    factor_of[x] = factor
    block = np.zeros((len(groups.bounds), len(COLUMNS)))
    kernels.matched_points.measure_groups(
        whole.lines,
        whole.repeats,
        whole.confidence,
        bounds=whole.bounds,
        classes=whole.classes,
        truth_of=truth_of,
        prediction_of=prediction_of,
        partner=partner,
        factor=factor_of,
        cutoff=cutoff,
        sure=SURE,
        bins=BINS,
        out=block,
    )
    if groups.part is None and protocol.has_ego:
        block[:, _IN_RINGS] = _lengths_in_rings(groups, partner, ring_edges(protocol.region))
    block[:, -1] = added(parts_of(matches, groups, protocol.order).T)
    return block


def _lengths_in_rings(groups: Groups, partner: Indices, edges: Sequence[float]) -> Floats:
    """Return the true and the found length of each group by distance from the vehicle, ``(groups, 2 * RINGS)``."""
    rows = np.flatnonzero(~groups.is_prediction)
    count = np.diff(groups.offsets)[rows]
    point = ranges(groups.offsets[rows], count)
    line = np.repeat(rows, count)
    coords = groups.points[:, point]
    # A point stands for half of the two pieces of the line beside it.
    steps = np.sqrt(np.square(np.diff(coords, axis=1)).sum(axis=0))
    ends = count.cumsum()[:-1]
    steps[ends[(ends > 0) & (ends <= len(steps))] - 1] = 0.0  # from one line to the next
    length = np.zeros(len(point))
    length[:-1] += steps / 2
    length[1:] += steps / 2
    # The last point of a closed line repeats the first, and only the first is matched.
    is_closing = groups.repeats[line] & (point == groups.offsets[line + 1] - 1)
    is_found = partner[np.where(is_closing, groups.offsets[line], point)] >= 0
    x, y = coords[:2]
    ring = np.searchsorted(np.array(edges), np.sqrt(x * x + y * y), side="right") - 1
    cell = (groups.side[line] // 2) * RINGS + ring
    size = len(groups.bounds) * RINGS
    true = np.bincount(cell, length, size)
    found = np.bincount(cell, np.where(is_found, length, 0.0), size)
    return np.concatenate([true.reshape(-1, RINGS), found.reshape(-1, RINGS)], axis=1)


def quantile_in_bins(histogram: Floats, share: float) -> Floats:
    """Return the place below which a share of the weight lies, in bins. A bin spreads its weight evenly."""
    below = np.cumsum(histogram, axis=-1)
    target = share * below[..., -1:]
    k = np.minimum((below < target).sum(axis=-1, keepdims=True), histogram.shape[-1] - 1)
    in_bin = np.take_along_axis(histogram, k, -1)
    inside = target - (np.take_along_axis(below, k, -1) - in_bin)
    place: Floats = (k + np.clip(inside / np.where(in_bin > 0, in_bin, 1.0), 0.0, 1.0))[..., 0]
    return place


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return a share, at most 1; NaN if the whole is 0."""
    return np.where(whole > 0, np.minimum(part / np.where(whole > 0, whole, 1.0), 1.0), np.nan)


def values_of(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values; NaN where there is no length or no match."""
    column = dict(zip(COLUMNS, np.moveaxis(sums, -1, 0), strict=True))
    weight = column["weight"]
    predicted = column["predicted"]
    has_matches = weight > 0
    per_weight = np.where(has_matches, weight, np.nan)
    values = {
        "completeness": _ratio(column["found"], column["true"]),
        "correctness": _ratio(column["right"], predicted),
        "sure_completeness": _ratio(column["sure_found"], column["true"]),
        "sure_correctness": _ratio(column["sure_right"], column["sure"]),
        **{name: _ratio(column[name], predicted) for name in ("far", "other_class", "repeated", "pieces")},
    }
    for name, bins in (("across", _ACROSS), ("offset", OFFSETS)):
        width = np.where(column[name] == 0, 0.0, column["cutoff"] / per_weight / BINS)  # metres of a bin
        width = np.where(has_matches, width, np.nan)  # 0 if all offsets are exactly 0
        values[f"median_{name}"] = quantile_in_bins(sums[..., bins], 0.5) * width
        values[f"p95_{name}"] = quantile_in_bins(sums[..., bins], 0.95) * width
    values |= {f"mean_{name}": column[name] / per_weight for name in ("offset", "across", "along", "up")}
    if protocol.order == 1:
        for name in ("across", "along", "up"):
            values[f"localisation_{name}"] = 2 * _ratio(column[f"points_{name}"], column["pld_and_mass"])
    lengths = {"true_length": "true", "found_length": "found", "predicted_length": "predicted", "sure_length": "sure"}
    return values | {key: column[name] for key, name in lengths.items()}


def by_distance(sums: Floats, protocol: Protocol) -> list[tuple[float, float | None, float, float]]:
    """Return where each ring around the vehicle begins and ends, and the true and the found length in it, in metres.

    The last ring has no end. A map has no vehicle, so it has no rings.
    """
    if not protocol.has_ego:
        return []
    edges = ring_edges(protocol.region)
    lengths = sums[_IN_RINGS].tolist()
    ends = [*edges[1:], None]
    return [
        (start, end, lengths[k], lengths[RINGS + k]) for k, (start, end) in enumerate(zip(edges, ends, strict=True))
    ]


def in_words(sums: Floats, protocol: Protocol) -> str:
    """Return in words how far off a method is, and how much it finds, from the sums of all frames and classes."""
    value = {key: float(number) for key, number in values_of(sums, protocol).items()}
    words = []
    if math.isfinite(value["median_across"]):
        words.append(f"matched points lie {value['median_across']:.2f} m beside the true line (median)")
    if math.isfinite(value["completeness"]):
        lengths = lengths_in_words(value["found_length"], value["true_length"])
        words.append(f"{100 * value['completeness']:.0f} % of the true length found ({lengths})")
    if math.isfinite(value["far"]):
        words.append(
            f"{100 * value['far']:.0f} % of the predicted length has no truth of its class within "
            f"{protocol.cutoffs[0]:g} m ({100 * value['other_class']:.0f} % has truth of another class there)"
        )
        words.append(
            f"{100 * value['repeated']:.0f} % lies on truth that is matched already, "
            f"{100 * value['pieces']:.0f} % on truth that is not matched"
        )
    return ", ".join(words) or "nothing to compare"


def lengths_in_words(part: float, whole: float) -> str:
    """Return two lengths in metres or kilometres, with the same number of digits.

    >>> lengths_in_words(21120, 26000), lengths_in_words(80.4, 412)
    ('21.1 of 26.0 km', '80 of 412 m')
    """
    if whole < 1000:
        return f"{part:.0f} of {whole:.0f} m"
    digits = max(5 - math.floor(math.log10(whole)), 0)
    return f"{part / 1000:.{digits}f} of {whole / 1000:.{digits}f} km"


_UNBOUNDED = (0.0, np.inf)
COMPLETENESS = Metric(
    name="completeness",
    title="Completeness, correctness and offsets in metres",
    symbol="completeness",
    lower_is_better=False,
    values=(
        Value(key="completeness", part="", title="completeness", role="main"),
        Value(key="correctness", part="correctness", title="correctness", role="headline", lower_is_better=False),
        Value(
            key="sure_completeness",
            part="sure_completeness",
            title="completeness, sure",
            role="headline",
            lower_is_better=False,
        ),
        Value(
            key="sure_correctness",
            part="sure_correctness",
            title="correctness, sure",
            role="headline",
            lower_is_better=False,
        ),
        Value(key="far", part="far", title="far", role="headline", lower_is_better=True),
        Value(key="other_class", part="other_class", title="on another class", lower_is_better=True),
        Value(key="repeated", part="repeated", title="repeated", lower_is_better=True),
        Value(key="pieces", part="pieces", title="in pieces", lower_is_better=True),
        Value(
            key="median_across",
            part="median_across",
            title="median across m",
            role="headline",
            limits=_UNBOUNDED,
            lower_is_better=True,
        ),
        Value(
            key="localisation_across",
            part="localisation_across",
            title="Loc across",
            role="headline",
            lower_is_better=True,
        ),
        Value(
            key="localisation_along",
            part="localisation_along",
            title="Loc along",
            role="headline",
            lower_is_better=True,
        ),
        Value(key="localisation_up", part="localisation_up", title="Loc up", lower_is_better=True),
        *(
            Value(
                key=key,
                part=key,
                title=f"{key.replace('_', ' ').replace('p95', '95 %')} m",
                role="other",
                limits=_UNBOUNDED,
                lower_is_better=True,
            )
            for key in (
                "p95_across",
                "mean_across",
                "mean_along",
                "mean_up",
                "median_offset",
                "mean_offset",
                "p95_offset",
            )
        ),
        *(
            Value(key=key, part=key, title=f"{key.replace('_', ' ')} m", role="other", limits=_UNBOUNDED)
            for key in ("true_length", "found_length", "predicted_length", "sure_length")
        ),
    ),
    rows=SumRows(COLUMNS, _score, values_of, mass=len(COLUMNS) - 1, rings=True),
    setting=Setting("cutoffs", "cutoff"),
    stated=lambda protocol: f"matched within {protocol.cutoffs[0]:g} m; sure: confidence of at least {SURE:g}",
    ignores=True,
    default=False,
    limits=(0.0, 1.0),
    order=1,
)
