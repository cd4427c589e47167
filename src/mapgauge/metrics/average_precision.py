"""Average precision: the area under the curve of precision over recall."""

import math
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.arguments import check_whole
from mapgauge.errors import InvalidInput
from mapgauge.typing import Floats

Counts: TypeAlias = NDArray[np.int64]
Interpolation: TypeAlias = Literal["area", "11-point"]

ELEVEN = tuple(np.linspace(0, 1, 11).tolist())  # recalls
ROUNDING = 1e-9  # a recall that misses a level by less than this reaches it


def average_precision(
    confidence: ArrayLike,
    hits: ArrayLike,
    truth: int,
    *,
    interpolation: Interpolation = "area",
) -> float:
    """Average precision of predictions pooled over frames.

    Predictions of equal confidence are one step of the curve, because no threshold on the confidence separates them.
    The public evaluators add them one by one in the order of an unstable sort, so their result depends on the order of
    frames and on the machine.

    Args:
        confidence: One number per prediction.
        hits: Whether each prediction is a true positive.
        truth: Number of true instances, at least the number of hits.
        interpolation: ``"area"`` is the area under the monotone curve. ``"11-point"`` is the mean of the highest
            precision at recalls of at least 0, 0.1, ..., 1.

    Returns:
        A number in [0, 1]; 0 if there is no truth or no prediction.

    >>> average_precision([0.9, 0.8, 0.7], [True, False, True], 2)
    0.8333333333333333
    """
    try:
        values, given = np.asarray(confidence, np.float64), np.asarray(hits)
        flags = given.astype(np.bool_)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"confidence and hits must be one number and one flag per prediction: {error}") from error
    if values.shape != flags.shape or values.ndim != 1:
        raise InvalidInput(f"confidence and hits must have the same length, got {values.shape} and {flags.shape}")
    if interpolation not in ("area", "11-point"):
        raise InvalidInput(f"interpolation must be 'area' or '11-point', got {interpolation!r}")
    if np.isnan(values).any():
        raise InvalidInput(f"confidence {int(np.flatnonzero(np.isnan(values))[0])} is NaN, expected numbers")
    if not np.array_equal(given, flags):
        raise InvalidInput("hits must be True or False, or 1 or 0, one per prediction")
    truth, found = check_whole("truth", truth, 0), int(np.count_nonzero(flags))
    if found > truth:
        raise InvalidInput(f"hits must be at most truth, got {found} hits and {truth} true instances")
    every = np.ones((found, 1), np.bool_)
    (value,) = average_precisions(values, values[flags], every, truth, interpolation)
    return value


def average_precisions(
    confidence: Floats,
    hitting: Floats,
    hits: NDArray[np.bool_],
    truth: int,
    interpolation: Interpolation = "area",
) -> list[float]:
    """Return the average precision of the same predictions at several thresholds.

    At confidences without hits, recall stays and precision falls, so they change neither the area nor the highest
    precision. Only hits are sorted, with the number of all predictions that are at least as confident.

    Args:
        confidence: Confidence of all predictions.
        hitting: Confidence of the predictions that hit at some threshold.
        hits: Whether they hit, with a row for each of these predictions and a column for each threshold.
        truth: Number of true instances.
        interpolation: As for ``average_precision``.
    """
    if truth == 0:
        return [0.0] * hits.shape[1]
    order = np.argsort(-hitting)
    levels = hitting[order]
    number = len(confidence) - np.searchsorted(np.sort(confidence), levels)
    found = []
    for column in hits[order].T:
        recall, precision = curve(levels[column], number[column], truth)
        if interpolation == "11-point":
            found.append(float(np.mean(eleven_points(recall, precision))))
        else:
            # The sum is rounded once, so a curve that is computed in parts gives the same bits.
            found.append(math.fsum((np.diff(recall, prepend=0.0) * envelope(precision)).tolist()))
    return found


def curve(levels: Floats, number: Counts, truth: int) -> tuple[Floats, Floats]:
    """Return recall and precision after each level of confidence that has hits.

    Args:
        levels: Confidence of each hit, from high to low.
        number: For each hit, the number of predictions that are at least as confident.
        truth: Number of true instances.
    """
    last = np.append(levels[1:] != levels[:-1], True)[: len(levels)]
    return recall_and_precision(np.flatnonzero(last) + 1, number[last], truth)


def recall_and_precision(found: Any, number: Any, truth: int) -> tuple[Floats, Floats]:
    """Return recall and precision of the ``number`` most confident predictions, ``found`` of which hit."""
    return found / max(truth, 1), found / number


def envelope(precision: Floats) -> Floats:
    """Return the highest precision at each step or any later one."""
    return np.maximum.accumulate(precision[::-1])[::-1]


def eleven_points(recall: Floats, precision: Floats) -> Floats:
    """Return the highest precision at recalls of at least 0, 0.1, ..., 1, along the first axis; 0 if not reached."""
    reached = [np.where(recall >= level - ROUNDING, precision, 0.0).max(axis=0, initial=0.0) for level in ELEVEN]
    return np.array(reached)
