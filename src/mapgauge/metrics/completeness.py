"""Numbers in metres and per cent, from the matching of PLD: how far off, how much is found, how much is right.

A point of a resampled line stands for half of the two pieces of the line beside it. The length of matched points is the
matched length. A matched pair of points counts in offsets with the smaller of its two confidences, as it does in PLD.

The median and the 95th percentile of offsets come from a histogram with ``BINS`` bins from 0 to the cutoff, 0.015 m
wide for a cutoff of 1.5 m. Histograms of frames add up, so the values of many frames count all their points.
They are interpolated within a bin.
"""

import math

import numpy as np

from mapgauge import kernels
from mapgauge.metrics.assigned import assigned
from mapgauge.metrics.groups import Groups
from mapgauge.metrics.metric import Metric, Setting, SumRows, Value
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats

BINS = 100
SURE = 0.5  # confidence of predictions that count as sure
COLUMNS = (
    "true",  # metres of true length, as the next two
    "found",
    "sure_found",
    "predicted",  # metres of predicted length, as the next three; this and the next are weighted by confidence
    "right",
    "sure",
    "sure_right",
    "weight",  # of matched points
    "offset",  # sum of their distances
    "cutoff",  # weight times cutoff
    *(f"offsets_{k}" for k in range(BINS)),
)


def _score(groups: Groups, protocol: Protocol, cutoff: float) -> Floats:
    matches = assigned(groups, protocol, cutoff)
    prediction_of = np.full(len(matches.truth_of), -1)
    matched = np.flatnonzero(matches.truth_of >= 0)
    prediction_of[matches.truth_of[matched]] = matched
    block = np.zeros((len(groups.bounds), len(COLUMNS)))
    kernels.matched_points.measure_groups(
        groups.lines,
        groups.repeats,
        groups.confidence,
        groups.bounds,
        matches.truth_of,
        prediction_of,
        matches.partner,
        cutoff,
        SURE,
        BINS,
        block,
    )
    return block


def _quantile(sums: Floats, share: float) -> Floats:
    """Return the offset below which a share of the weight lies, in bins. A bin spreads its weight evenly."""
    below = np.cumsum(sums[..., -BINS:], axis=-1)
    target = share * below[..., -1:]
    k = np.minimum((below < target).sum(axis=-1, keepdims=True), BINS - 1)
    in_bin = np.take_along_axis(sums[..., -BINS:], k, -1)
    inside = target - (np.take_along_axis(below, k, -1) - in_bin)
    place: Floats = (k + np.clip(inside / np.where(in_bin > 0, in_bin, 1.0), 0.0, 1.0))[..., 0]
    return place


def _ratio(part: Floats, whole: Floats) -> Floats:
    """Return a share, at most 1; NaN if the whole is 0."""
    return np.where(whole > 0, np.minimum(part / np.where(whole > 0, whole, 1.0), 1.0), np.nan)


def values_of(sums: Floats, protocol: Protocol) -> dict[str, Floats]:
    """Return all values; NaN where there is no length or no match."""
    true, found_length, sure_found_length, predicted, right, sure, sure_right, weight, offset, cut = np.moveaxis(
        sums[..., :10], -1, 0
    )
    has_matches = weight > 0
    per_weight = np.where(has_matches, weight, 1.0)
    width = np.where(has_matches, cut / per_weight / BINS, np.nan)  # metres of a bin
    width = np.where(has_matches & (offset == 0), 0.0, width)  # all offsets are exactly 0
    return {
        "completeness": _ratio(found_length, true),
        "correctness": _ratio(right, predicted),
        "sure_completeness": _ratio(sure_found_length, true),
        "sure_correctness": _ratio(sure_right, sure),
        "median_offset": _quantile(sums, 0.5) * width,
        "mean_offset": np.where(has_matches, offset / per_weight, np.nan),
        "p95_offset": _quantile(sums, 0.95) * width,
        "true_length": true,
        "found_length": found_length,
        "predicted_length": predicted,
        "sure_length": sure,
    }


def in_words(sums: Floats, protocol: Protocol) -> str:
    """Return in words how far off a method is, and how much it finds, from sums over all frames and classes."""
    value = {key: float(number) for key, number in values_of(sums, protocol).items()}
    words = []
    if math.isfinite(value["median_offset"]):
        words.append(f"{value['median_offset']:.2f} m off (median)")
    if math.isfinite(value["completeness"]):
        lengths = _lengths(value["found_length"], value["true_length"])
        words.append(f"{value['completeness']:.0%} of the true length found ({lengths})")
    if math.isfinite(value["correctness"]):
        words.append(f"{1 - value['correctness']:.0%} of the predicted length not there")
    return ", ".join(words) or "nothing to compare"


def _lengths(part: float, whole: float) -> str:
    """Return two lengths in metres or kilometres, with the same number of digits.

    >>> _lengths(21120, 26000), _lengths(80.4, 412)
    ('21.1 of 26.0 km', '80 of 412 m')
    """
    if whole < 1000:
        return f"{part:.0f} of {whole:.0f} m"
    digits = max(5 - math.floor(math.log10(whole)), 0)
    return f"{part / 1000:.{digits}f} of {whole / 1000:.{digits}f} km"


_UNBOUNDED = (0.0, np.inf)
COMPLETENESS = Metric(
    name="completeness",
    title="Completeness, correctness and offsets",
    symbol="completeness",
    lower_is_better=False,
    values=(
        Value("completeness", "", "completeness", "main"),
        Value("correctness", "correctness", "correctness", "headline", lower_is_better=False),
        Value("sure_completeness", "sure_completeness", "completeness, sure", "headline", lower_is_better=False),
        Value("sure_correctness", "sure_correctness", "correctness, sure", "headline", lower_is_better=False),
        Value("median_offset", "median_offset", "median offset m", "headline", _UNBOUNDED, lower_is_better=True),
        Value("mean_offset", "mean_offset", "mean offset m", "headline", _UNBOUNDED, lower_is_better=True),
        Value("p95_offset", "p95_offset", "95 % offset m", "headline", _UNBOUNDED, lower_is_better=True),
        Value("true_length", "true_length", "true length m", "other", _UNBOUNDED),
        Value("found_length", "found_length", "found length m", "other", _UNBOUNDED),
        Value("predicted_length", "predicted_length", "predicted length m", "other", _UNBOUNDED),
        Value("sure_length", "sure_length", "sure length m", "other", _UNBOUNDED),
    ),
    rows=SumRows(COLUMNS, _score, values_of),
    setting=Setting("cutoffs", "cutoff"),
    stated=lambda protocol: f"matched within {protocol.cutoffs[0]:g} m; sure: confidence of at least {SURE:g}",
    default=False,
    limits=(0.0, 1.0),
)
