"""Average precision: the area under precision over recall, from predictions that hit or do not."""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.errors import InvalidInput


def average_precision(
    confidence: ArrayLike,
    hits: ArrayLike,
    truth: int,
    *,
    interpolation: Literal["area", "11-point"] = "area",
) -> float:
    """Average precision of predictions pooled over frames as the field computes it.

    Predictions of equal confidence are one step of the curve: no threshold on the confidence can tell them apart. The
    public evaluators take them one by one in the order of an unstable sort, so that theirs depends on the order of
    frames and on the machine.

    Args:
        confidence: One number per prediction.
        hits: For each prediction whether it is a true positive.
        truth: Number of true instances.
        interpolation: ``"area"`` under the curve made monotone, or ``"11-point"``, the mean of the highest precision at
            recalls of at least 0, 0.1, ..., 1.

    Returns:
        A number in [0, 1]; 0 if there is no truth or no prediction.

    >>> average_precision([0.9, 0.8, 0.7], [True, False, True], 2)
    0.8333333333333333
    """
    values, flags = np.asarray(confidence, np.float64), np.asarray(hits, np.bool_)
    if values.shape != flags.shape or values.ndim != 1:
        raise InvalidInput(f"confidence and hits must be as many, got shapes {values.shape} and {flags.shape}")
    if interpolation not in ("area", "11-point"):
        raise InvalidInput(f"interpolation must be 'area' or '11-point', got {interpolation!r}")
    return average_precisions(
        values, values[flags], np.ones((np.count_nonzero(flags), 1), np.bool_), truth, interpolation
    )[0]


def average_precisions(
    confidence: NDArray[np.float64],
    hitting: NDArray[np.float64],
    hits: NDArray[np.bool_],
    truth: int,
    interpolation: Literal["area", "11-point"] = "area",
) -> list[float]:
    """Average precision of the same predictions at several thresholds.

    Levels of confidence without hits change neither an area nor a highest precision: there recall stays and precision
    falls. So only what hits is put in order, with the number of all predictions that are as confident.

    Args:
        confidence: Of all predictions.
        hitting: The confidence of those that hit at some threshold.
        hits: For each of these a row, a column for each threshold: whether it hits.
        truth: Number of true instances.
        interpolation: As for ``average_precision``.
    """
    if truth == 0 or not len(confidence):
        return [0.0] * hits.shape[1]
    order = np.argsort(-hitting)
    levels = hitting[order]
    number = len(confidence) - np.searchsorted(np.sort(confidence), levels)
    return [_average(*_hit_levels(levels[column], number[column], truth), interpolation) for column in hits[order].T]


def _hit_levels(
    levels: NDArray[np.float64], number: NDArray[np.int64], truth: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Recall and precision after each level of confidence with hits.

    Args:
        levels: The confidence of each hit, from high to low.
        number: Of predictions that are as confident, for each hit.
        truth: Number of true instances.
    """
    last = np.append(levels[1:] != levels[:-1], True)[: len(levels)]
    found = np.flatnonzero(last) + 1
    return found / truth, found / number[last]


def _average(
    recall: NDArray[np.float64], precision: NDArray[np.float64], interpolation: Literal["area", "11-point"]
) -> float:
    if interpolation == "11-point":
        # A recall that misses 0.3 by rounding reaches it.
        reached = [precision[recall >= level - 1e-9] for level in np.linspace(0, 1, 11)]
        return float(np.mean([part.max() if len(part) else 0.0 for part in reached]))
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    # Rounded once: the same when the curve is made in pieces.
    return math.fsum((np.diff(recall, prepend=0.0) * envelope).tolist())


def curve(
    confidence: NDArray[np.float64], hits: NDArray[np.bool_], truth: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Recall and precision after each level of confidence; predictions sorted from high to low."""
    last = np.append(confidence[1:] != confidence[:-1], True)
    found, number = np.cumsum(hits)[last], np.flatnonzero(last) + 1
    return found / max(truth, 1), found / number
