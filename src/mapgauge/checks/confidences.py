"""Checks of the values of confidences: their size, and whether they rank predictions."""

from collections.abc import Iterator

import numpy as np

from mapgauge.checks.context import Context
from mapgauge.errors import Remedy
from mapgauge.frames.findings import Finding

_MANY = 100  # confidences that must have something in common
_SMALL = 0.05  # the largest of many; of good models it is above 0.9, of a poor one after a fifth of the scale 0.2
_TWICE = (0.5, 1 / (1 + np.exp(-1.0)))  # a sigmoid of numbers in [0, 1]
_SPREAD = 0.02  # standard deviation of confidences that are meant to differ; some are 1, 0.999999, ...
# The area under the ROC curve of hits and others. On all samples, good predictions have 0.66 or more, and 0.58 or more
# with a jitter of 1 m. It is 0.50 for shuffled and 0.32 for inverted confidences.
_INVERTED = 0.4
_RANDOM = 0.03  # distance from 0.5,
_PRECISE = 0.023  # if its standard error is at most this, which takes more than 500 predictions
_SURE = 3.0  # standard errors
_FOUND = 0.3  # share of the truth with a hit. Sparse outputs, such as the three best of a frame, find less
_EACH = 20  # hits, and others, that are needed


def small(context: Context) -> Iterator[Finding]:
    """Find confidences that are all very small, as after a division by 100."""
    values = context.predictions.confidence
    if values is None or len(values) < _MANY or not 0 < values.max() < _SMALL or values.min() < 0:
        return
    text = (
        f"the largest of {len(values)} confidences is {values.max():.2g}. PLD weights predictions by confidence, so "
        "that almost all truth counts as missed"
    )
    remedy = Remedy.of("Check that they were not divided by 100, and that they are the confidences of classes")
    yield Finding("warning", "confidence-small", text, count=len(values), remedy=remedy)


def twice(context: Context) -> Iterator[Finding]:
    """Find confidences that are all between 0.5 and 0.7311, as a sigmoid of numbers in [0, 1]."""
    values = context.predictions.confidence
    low, high = _TWICE
    if values is None or len(values) < _MANY or values.min() == values.max():
        return
    if not (values.min() >= low and values.max() <= high + 1e-6):
        return
    text = (
        f"all {len(values)} confidences are between {values.min():.4f} and {values.max():.4f}. A sigmoid of numbers in "
        "[0, 1] has values between 0.5 and 0.7311, so it may have been applied twice"
    )
    remedy = Remedy.of("Apply the sigmoid once, to the logits")
    yield Finding("warning", "confidence-sigmoid", text, count=len(values), remedy=remedy)


def order(context: Context) -> Iterator[Finding]:
    """Find confidences that do not rank predictions, or rank them the wrong way round."""
    values = context.predictions.confidence
    ranking = context.ranking
    if values is None or ranking is None or not is_telling(context):
        return
    told = (
        f"In {len(context.fits.frames)} frames, {ranking.hits} predictions are near a true line of their class and "
        f"{ranking.others} are not. One of the first has a higher confidence than one of the others in "
        f"{100 * ranking.area:.0f} % of all pairs"
    )
    if inverted(context):
        text = f"confidences are higher for predictions that are far from the truth. {told}"
        remedy = Remedy.of("Check the sign of the confidences, and that they are not 1 - confidence")
    elif shuffled(context):
        text = f"confidences say nothing about the predictions. {told}"
        remedy = Remedy.of("Check that each confidence was written with its own prediction")
    else:
        return
    yield Finding("warning", "confidence-order", text, count=ranking.hits + ranking.others, remedy=remedy)


def is_telling(context: Context) -> bool:
    """Whether there are enough hits and others, and confidences that differ, to judge the ranking."""
    values = context.predictions.confidence
    ranking = context.ranking
    if values is None or ranking is None or min(ranking.hits, ranking.others) < _EACH:
        return False
    return ranking.found >= _FOUND and float(np.std(np.clip(values, 0, 1))) > _SPREAD


def inverted(context: Context) -> bool:
    """Whether hits have lower confidences than other predictions."""
    ranking = context.ranking
    return (
        ranking is not None
        and is_telling(context)
        and ranking.area < _INVERTED
        and ranking.area < 0.5 - _SURE * ranking.error
    )


def shuffled(context: Context) -> bool:
    """Whether confidences of hits and of other predictions are alike."""
    ranking = context.ranking
    return (
        ranking is not None and is_telling(context) and ranking.error < _PRECISE and abs(ranking.area - 0.5) < _RANDOM
    )
