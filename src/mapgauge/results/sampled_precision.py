"""Average precision of bootstrap samples. Every prediction counts as often as its scene or frame was drawn."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.metric import Metric
from mapgauge.metrics.table import hit_metrics
from mapgauge.results.results import Results
from mapgauge.scoring.threads import in_threads
from mapgauge.scoring.totals import bits_of, flags_of
from mapgauge.typing import Flags, Floats, Indices


class _Curve(NamedTuple):
    """The predictions of a class from high confidence to low, and counts of each unit."""

    owner: Indices  # (predictions,): the unit of each prediction
    flags: Flags  # (predictions, settings): whether it is a true positive
    some: Flags  # whether a prediction of each confidence is a true positive at some setting
    starts: Indices  # the first prediction of each confidence, and the number of predictions
    counts: Floats  # (units, 2 + settings): numbers of true instances, predictions and true positives


def precisions(
    results: Results, classes: Sequence[tuple[int, str]], unit_of_frame: Indices, weights: Floats
) -> dict[tuple[str, int], dict[str, Floats]]:
    """Return average precisions of all samples at each setting, and the means over the settings.

    Args:
        results: The rows.
        classes: Indices and names of the classes.
        unit_of_frame: The unit (scene or frame) that each frame belongs to.
        weights: ``(samples, units)``: how often each unit was drawn, a whole number.

    Returns:
        By metric and class, the values by key. A sample without predictions and truth has NaN.
    """
    protocol, metrics = results.protocol, [metric for metric, _ in hit_metrics(results.metrics)]
    covered = [(c, [metric for metric in metrics if metric.covers(name, protocol)]) for c, name in classes]
    wanted = [(c, mine) for c, mine in covered if mine]
    if not wanted:
        return {}
    blocks = _blocks(weights)
    curves = in_threads(lambda task: _curve(results, *task, unit_of_frame, weights.shape[1]), wanted, None)
    tasks = [(curve, block) for curve in curves for block in blocks]
    done = in_threads(lambda task: _of_block(*task, protocol.interpolation == "11-point"), tasks, None)
    found = {}
    for k, (c, mine) in enumerate(wanted):
        columns = iter(np.concatenate(done[k * len(blocks) : (k + 1) * len(blocks)], axis=1)[:, : len(weights)])
        for metric in mine:
            each = {str(ValueKey(metric.main.key, setting)): next(columns) for setting in metric.settings(protocol)}
            found[metric.name, c] = {metric.main.key: np.mean(list(each.values()), axis=0)} | each
    return found


def _blocks(weights: Floats) -> NDArray[np.float32]:
    """Return the weights as ``(blocks, units, LANES)``. Samples that fill the last block have no units."""
    lanes, (samples, units) = kernels.bootstrap.LANES, weights.shape
    padded = np.zeros((-(-samples // lanes) * lanes, units), np.float32)
    padded[:samples] = weights
    return np.ascontiguousarray(padded.reshape(-1, lanes, units).swapaxes(1, 2))


def _curve(results: Results, c: int, metrics: Sequence[Metric], unit_of_frame: Indices, units: int) -> _Curve:
    scores, protocol = results.scores, results.protocol
    mine = np.flatnonzero(scores.counted(c, protocol))
    mine = mine[np.argsort(-scores.confidence[mine], kind="stable")]
    confidence = scores.confidence[mine]
    starts = np.flatnonzero(np.append(True, confidence[1:] != confidence[:-1])[: len(confidence)])
    owner = unit_of_frame[scores.frame[mine]]
    names = [metric.name for metric in metrics]
    flags = flags_of([scores.hits[name][mine] for name in names], bits_of(protocol, names))
    counts = [
        np.bincount(unit_of_frame, scores.true[:, c], units),
        np.bincount(owner, minlength=units).astype(np.float64),
        *(np.bincount(owner, column, units) for column in flags.T),
    ]
    some = np.logical_or.reduceat(flags.any(axis=1), starts) if len(starts) else np.empty(0, np.bool_)
    return _Curve(owner, flags, some, np.append(starts, len(owner)), np.stack(counts, axis=1))


def _of_block(curve: _Curve, weights: NDArray[np.float32], eleven: bool) -> Floats:
    """Return the average precisions of one block of samples, ``(settings, samples)``."""
    # The terms are whole numbers, so the sums are exact and do not depend on the order.
    drawn = np.ascontiguousarray((weights.T.astype(np.float64) @ curve.counts).T)
    total, number, found = drawn[0], drawn[1], drawn[2:]
    empty = np.where(number > 0, 0.0, np.nan)  # predictions without truth have the value 0
    state = np.zeros((len(found), 3, len(total)))
    state[:, 0] = found
    level = np.full(found.shape, kernels.bootstrap.LEVELS)
    kernels.bootstrap.weighted_precisions(
        *(curve.owner, curve.flags, curve.some, curve.starts, weights),
        *(total, number, state.ravel(), level, np.empty(len(total)), eleven),
    )
    value = state[:, 2] if eleven else state[:, 2] / np.where(total > 0, total, 1.0)
    return np.where(total > 0, value, empty)
