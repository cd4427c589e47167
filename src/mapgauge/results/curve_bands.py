"""Bands of sampling uncertainty around curves: an interval at each point, from bootstrap samples of scenes.

A band is pointwise. At each point, it covers the true curve with its level. The whole curve lies in it less often.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mapgauge.results.bootstrap import Drawn, added_by_unit, draw, drawn_sums
from mapgauge.results.estimation import estimate, is_enough
from mapgauge.results.intervals import LEVEL
from mapgauge.results.standard_errors import Draws
from mapgauge.typing import Flags, Floats, Indices
from mapgauge.words import counted

if TYPE_CHECKING:
    from mapgauge.results.results import Results

SAMPLES = 300  # they make an error of 4 % of the width of a band
_LEVELS = 200  # confidences at which the samples of a curve are computed


class CurveBand(NamedTuple):
    """The ends of the intervals at the points of a curve; NaN where there are too few scenes."""

    low: Floats
    high: Floats


def drawn_for_bands(results: "Results", samples: int = SAMPLES) -> Drawn:
    """Return the draws of scenes, or of frames if the scenes are not known."""
    return draw([results], samples, seed=0)


def band_in_words(kind: str, count: int, level: float = LEVEL) -> str:
    """Return what a band is, or why there is none, from what was drawn: scenes or frames, and how many there are.

    >>> band_in_words("scene", 12), band_in_words("scene", 1)
    ('band: 95 % at each point, over 12 scenes', 'no band: 1 scene is too few')
    """
    if not is_enough(Draws(np.zeros(0), count)):
        return f"no band: {counted(count, f'{kind} is', f'{kind}s are')} too few"
    return f"band: {100 * level:g} % at each point, over {counted(count, kind, form=',')}"


def mean_band(
    values: Floats, place: Indices, unit: Indices, weights: Floats, *, bins: int, level: float = LEVEL
) -> CurveBand:
    """Return the band of the mean of values from 0 to 1 in bins.

    Args:
        values: What is averaged.
        place: The bin of each value.
        unit: The scene or frame of each value.
        weights: How often each unit was drawn, ``(samples, units)``.
        bins: The number of bins.
        level: The probability with which the band covers the true value at a point.
    """
    units = weights.shape[1]
    cell = unit * bins + place
    number = np.bincount(cell, minlength=units * bins).reshape(units, bins).astype(np.float64)
    sums: Floats = np.bincount(cell, values, units * bins).reshape(units, bins).astype(np.float64)
    drawn_number = drawn_sums(weights, number)
    drawn = drawn_sums(weights, sums)
    samples = np.divide(drawn, drawn_number, out=np.full(drawn.shape, np.nan), where=drawn_number > 0)
    total = number.sum(axis=0)
    means = np.divide(sums.sum(axis=0), total, out=np.full(bins, np.nan), where=total > 0)
    return _band(means, samples, np.count_nonzero(number, axis=0), level=level)


def precision_band(
    confidence: Floats,
    hits: Flags,
    unit: Indices,
    truth: Floats,
    drawn: Drawn,
    at: Floats,
    precision: Floats,
    *,
    level: float = LEVEL,
) -> CurveBand:
    """Return the band of precision at some recalls: of the highest precision at this or any higher recall.

    Args:
        confidence: Of the predictions of a class.
        hits: Whether each of them hits a true instance.
        unit: The scene or frame of each prediction.
        truth: The number of true instances in each frame.
        drawn: The draws.
        at: The recalls.
        precision: The precision at these recalls.
        level: The probability with which the band covers the true precision at a recall.
    """
    true = added_by_unit(truth, drawn.unit_of_frame, drawn.count)
    levels = np.unique(confidence[hits])[::-1]
    levels = levels[np.unique(np.linspace(0, len(levels) - 1, min(_LEVELS, len(levels))).round().astype(np.int64))]
    # The number of levels above each prediction: it is counted at all levels from this one on.
    place = np.searchsorted(-levels, -confidence, side="left")
    predicted = _counted(unit, place, len(levels), units=drawn.count)
    found = _counted(unit[hits], place[hits], len(levels), units=drawn.count)
    of_predicted = drawn_sums(drawn.weights, predicted)
    of_found = drawn_sums(drawn.weights, found)
    of_truth = drawn_sums(drawn.weights, true[:, None])
    share = np.divide(of_found, of_predicted, out=np.zeros_like(of_found), where=of_predicted > 0)
    highest = np.maximum.accumulate(share[:, ::-1], axis=1)[:, ::-1]
    recall = np.divide(of_found, of_truth, out=np.zeros_like(of_found), where=of_truth > 0)
    samples = np.zeros((len(recall), len(at)))
    for k, (of_sample, best) in enumerate(zip(recall, highest, strict=True)):
        first = np.searchsorted(of_sample, at, side="left")
        reached = first < len(best)
        samples[k, reached] = best[first[reached]]  # a recall that a sample does not reach has the precision 0
    units = np.count_nonzero(true + predicted[:, -1])
    return _band(precision, samples, np.full(len(at), units), level=level)


def _counted(unit: Indices, place: Indices, levels: int, units: int) -> Floats:
    """Return the number of predictions of each unit from each level on, ``(units, levels)``."""
    inside = place < levels
    cell = unit[inside] * levels + place[inside]
    counts = np.bincount(cell, minlength=units * levels).reshape(units, levels)
    summed: Floats = counts.cumsum(axis=1).astype(np.float64)
    return summed


def _band(values: Floats, samples: Floats, units: Indices, level: float) -> CurveBand:
    """Return the intervals of values from 0 to 1, from their samples ``(samples, values)``."""
    low = np.full(len(values), np.nan)
    high = np.full(len(values), np.nan)
    for k, value in enumerate(values.tolist()):
        draws = Draws(samples[:, k], int(units[k]))
        if is_enough(draws):
            _, low[k], high[k] = estimate(value, draws, level, limits=(0.0, 1.0))
    return CurveBand(low, high)
