"""Average precision: the area under precision over recall, from predictions that hit or do not."""

import math
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mapgauge.errors import InvalidInput

Floats: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]
Interpolation: TypeAlias = Literal["area", "11-point"]

ELEVEN = tuple(np.linspace(0, 1, 11).tolist())  # recalls
_ROUNDING = 1e-9  # a recall that misses a level by less than this reaches it


def average_precision(
    confidence: ArrayLike,
    hits: ArrayLike,
    truth: int,
    *,
    interpolation: Interpolation = "area",
) -> float:
    """Average precision of predictions pooled over frames, as the field computes it.

    Predictions of equal confidence are one step of the curve: no threshold on the confidence can tell them apart. The
    public evaluators take them one by one in the order of an unstable sort, so their result depends on the order of
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
        raise InvalidInput(f"confidence and hits must have the same length, got {values.shape} and {flags.shape}")
    if interpolation not in ("area", "11-point"):
        raise InvalidInput(f"interpolation must be 'area' or '11-point', got {interpolation!r}")
    every = np.ones((np.count_nonzero(flags), 1), np.bool_)
    return average_precisions(values, values[flags], every, truth, interpolation)[0]


def average_precisions(
    confidence: Floats,
    hitting: Floats,
    hits: NDArray[np.bool_],
    truth: int,
    interpolation: Interpolation = "area",
) -> list[float]:
    """Average precision of the same predictions at several thresholds.

    Levels of confidence without hits change neither an area nor a highest precision: there recall stays and precision
    falls. So only hits are sorted, with the number of all predictions that are at least as confident.

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
    found = []
    for column in hits[order].T:
        recall, precision = curve(levels[column], number[column], truth)
        if interpolation == "11-point":
            found.append(float(np.mean(eleven_points(recall, precision))))
        else:
            # Rounded once: the same when the curve is made in pieces.
            found.append(math.fsum((np.diff(recall, prepend=0.0) * envelope(precision)).tolist()))
    return found


def curve(levels: Floats, number: Counts, truth: int) -> tuple[Floats, Floats]:
    """Recall and precision after each level of confidence that has hits.

    Args:
        levels: The confidence of each hit, from high to low.
        number: For each hit, the number of predictions that are at least as confident.
        truth: Number of true instances.
    """
    last = np.append(levels[1:] != levels[:-1], True)[: len(levels)]
    return recall_and_precision(np.flatnonzero(last) + 1, number[last], truth)


def recall_and_precision(found: Any, number: Any, truth: int) -> tuple[Floats, Floats]:
    """Recall and precision of the most confident predictions: ``found`` hits among ``number`` of them."""
    return found / max(truth, 1), found / number


def envelope(precision: Floats) -> Floats:
    """The highest precision at this step or at any later one."""
    return np.maximum.accumulate(precision[::-1], axis=0)[::-1]


def eleven_points(recall: Floats, precision: Floats) -> Floats:
    """The highest precision at recalls of at least 0, 0.1, ..., 1, along the first axis; 0 where none is reached."""
    reached = [np.where(recall >= level - _ROUNDING, precision, 0.0).max(axis=0, initial=0.0) for level in ELEVEN]
    return np.array(reached)
