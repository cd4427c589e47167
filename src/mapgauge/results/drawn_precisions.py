"""Average precisions of bootstrap samples.

A unit that a sample has k times brings each of its predictions and true instances k times. This changes how many are
counted, and not how they are ordered. So predictions are sorted once, and a sample is one pass over them with weights.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.metrics.average_precision import RECALLS
from mapgauge.metrics.metric import Metric, ValueKey
from mapgauge.metrics.table import hit_metrics
from mapgauge.scoring.data import in_threads
from mapgauge.scoring.scores import bits_of, flags_of
from mapgauge.typing import Flags, Floats, Indices

if TYPE_CHECKING:
    from mapgauge.results.results import Results

_AREA = np.empty(0)  # instead of recalls: the area under the curve


class _Curve(NamedTuple):
    """The predictions of a class from high confidence to low, and counts of each unit."""

    owner: Indices  # (predictions,): the unit of each prediction
    flags: Flags  # (predictions, settings): whether it is a true positive
    some: Flags  # whether a prediction of each confidence is a true positive at some setting
    starts: Indices  # the first prediction of each confidence, and the number of predictions
    counts: Floats  # (units, 2 + settings): numbers of true instances, predictions and true positives


class _SharedCurve(NamedTuple):
    """The metrics of a class that share an interpolation, and so a curve."""

    c: int  # the class
    metrics: list[Metric]
    recalls: Floats  # the recalls at which precision is averaged, or _AREA


def precisions(
    results: "Results", classes: Sequence[tuple[int, str]], unit_of_frame: Indices, weights: Floats
) -> dict[tuple[str, int], dict[str, Floats]]:
    """Return average precisions of all samples at each setting and the means, by metric and class, then by key.

    A sample without predictions and truth has NaN. ``weights`` are ``(samples, units)``, whole numbers.
    """
    protocol = results.protocol
    shared = _shared_curves(results, classes)
    if not shared:
        return {}
    samples, units = weights.shape
    blocks = _blocks(weights)
    curves = in_threads(
        lambda one: _curve(results, one.c, one.metrics, unit_of_frame=unit_of_frame, units=units), shared, workers=None
    )
    tasks = [(curve, block, one.recalls) for one, curve in zip(shared, curves, strict=True) for block in blocks]
    done = in_threads(lambda task: _of_block(*task), tasks, workers=None)

    values = {}
    for k, one in enumerate(shared):
        of_blocks = done[k * len(blocks) : (k + 1) * len(blocks)]
        columns = iter(np.concatenate(of_blocks, axis=1)[:, :samples])  # a row for each setting of each metric
        for metric in one.metrics:
            key = metric.main.key
            at_settings = {str(ValueKey(key, setting)): next(columns) for setting in metric.settings(protocol)}
            mean = np.mean(list(at_settings.values()), axis=0)
            values[metric.name, one.c] = {key: mean} | at_settings
    return values


def _shared_curves(results: "Results", classes: Sequence[tuple[int, str]]) -> list[_SharedCurve]:
    """Return the metrics of each class by interpolation."""
    protocol = results.protocol
    metrics = [metric for metric, _ in hit_metrics(results.metrics)]
    shared = []
    for c, name in classes:
        covering = [metric for metric in metrics if metric.covers(name, protocol)]
        for interpolation in ("area", *RECALLS):
            same = [metric for metric in covering if protocol.settings[metric.name].interpolation == interpolation]
            if same:
                shared.append(_SharedCurve(c, same, RECALLS.get(interpolation, _AREA)))
    return shared


def _blocks(weights: Floats) -> NDArray[np.float32]:
    """Return the weights as ``(blocks, units, LANES)``. Samples that fill the last block have no units."""
    lanes = kernels.average_precision.LANES
    samples, units = weights.shape
    padded = np.zeros((-(-samples // lanes) * lanes, units), np.float32)
    padded[:samples] = weights
    return np.ascontiguousarray(padded.reshape(-1, lanes, units).swapaxes(1, 2))


def _curve(results: "Results", c: int, metrics: Sequence[Metric], unit_of_frame: Indices, *, units: int) -> _Curve:
    """Return the predictions of a class in the order of their confidence, with the hits of some metrics."""
    scores = results.scores
    protocol = results.protocol
    rows = np.flatnonzero(scores.counted(c, protocol))
    rows = rows[np.argsort(-scores.confidence[rows], kind="stable")]
    confidence = scores.confidence[rows]
    starts = np.flatnonzero(np.append(True, confidence[1:] != confidence[:-1])[: len(confidence)])
    owner = unit_of_frame[scores.frame[rows]]
    names = [metric.name for metric in metrics]
    flags = flags_of([scores.hits[name][rows] for name in names], bits_of(protocol, names))
    counts = [
        np.bincount(unit_of_frame, scores.true[:, c], units),
        np.bincount(owner, minlength=units).astype(np.float64),
        *(np.bincount(owner, column, units) for column in flags.T),
    ]
    if len(starts):
        some = np.logical_or.reduceat(flags.any(axis=1), starts)
    else:
        some = np.empty(0, np.bool_)
    return _Curve(
        owner=owner,
        flags=flags,
        some=some,
        starts=np.append(starts, len(owner)),
        counts=np.stack(counts, axis=1),
    )


def _of_block(curve: _Curve, weights: NDArray[np.float32], recalls: Floats) -> Floats:
    """Return the average precisions of one block of samples, ``(settings, samples)``; areas without ``recalls``."""
    # The terms are whole numbers, so the sums are exact and do not depend on the order.
    drawn = np.ascontiguousarray((weights.T.astype(np.float64) @ curve.counts).T)
    total = drawn[0]
    number = drawn[1]
    hits = drawn[2:]
    empty = np.where(number > 0, 0.0, np.nan)  # predictions without truth have the value 0
    state = np.zeros((len(hits), 3, len(total)))
    state[:, 0] = hits
    level = np.full(hits.shape, len(recalls) - 1)
    kernels.average_precision.weighted_precisions(
        curve.owner,
        curve.flags,
        curve.some,
        starts=curve.starts,
        weights=weights,
        total=total,
        number=number,
        state=state.ravel(),
        level=level,
        gain=np.empty(len(total)),
        recalls=recalls,
    )
    value = state[:, 2]
    if len(recalls) == 0:
        value = value / np.where(total > 0, total, 1.0)
    return np.where(total > 0, value, empty)
