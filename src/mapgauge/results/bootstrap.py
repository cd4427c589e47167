"""Values of bootstrap samples. Every row counts as often as its scene or frame was drawn.

Frames pool by sums, so a sample is a weighted sum of the same rows. For average precision, every prediction has a
weight.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mapgauge import kernels
from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.metric import CombinedRows, HitRows, Metric, SumRows
from mapgauge.metrics.table import METRICS, value_named
from mapgauge.results.results import Results
from mapgauge.typing import Floats, Indices


def drawn_values(results: Results, unit_of_frame: Indices, weights: Floats) -> dict[str, dict[str, Floats]]:
    """Return the values of all samples by class name (or ``"mean"``) and key. NaN where a sample has no value.

    Args:
        results: The rows.
        unit_of_frame: The unit (scene or frame) that each frame belongs to.
        weights: ``(samples, units)``: how often each unit was drawn.
    """
    found: dict[str, dict[str, Floats]] = {}
    for c, name in enumerate(results.class_names):
        if name not in results.without_value:
            found[name] = {}
            for metric in map(METRICS.__getitem__, results.metrics):
                if not metric.covers(name, results.protocol):
                    continue
                if isinstance(metric.rows, SumRows):
                    found[name] |= _sum_values(results, metric, metric.rows, c, unit_of_frame, weights)
                elif isinstance(metric.rows, HitRows):
                    found[name] |= _precisions(results, metric, c, unit_of_frame, weights)
    return found | {"mean": _means(results, found)}


def _means(results: Results, found: dict[str, dict[str, Floats]]) -> dict[str, Floats]:
    """Return the means over classes, in the order of the metrics, and the values of combined metrics."""
    mean: dict[str, Floats] = {}
    for metric in map(METRICS.__getitem__, results.metrics):
        mine = [name for name in results.class_names if metric.covers(name, results.protocol)]
        there = [found[name] for name in mine if name in found]
        for key in next(iter(there), {}):
            of = value_named(ValueKey.parse(key).name)
            if of is None or of[0] is not metric:
                continue
            columns = [values[key] for values in there]
            if metric.absent is not None:
                columns = [np.where(np.isnan(column), metric.absent, column) for column in columns]
                columns += [np.full_like(columns[0], metric.absent)] * (len(mine) - len(there))
            mean[key] = _mean(columns)
        if isinstance(metric.rows, CombinedRows):
            mean[metric.main.key] = metric.rows.of_means(mean)
    return mean


def units_with_class(results: Results, unit_of_frame: Indices) -> dict[str, NDArray[np.bool_]]:
    """Return for each class which units have predictions or truth of it. Only these have a part in its values."""
    there = np.zeros((int(unit_of_frame.max()) + 1, len(results.class_names)), np.bool_)
    np.logical_or.at(there, unit_of_frame, results.scores.predicted + results.scores.true > 0)
    return dict(zip(results.class_names, there.T, strict=True))


def _mean(columns: Sequence[Floats]) -> Floats:
    """Return the mean over classes. Each sample averages over the classes that have a value in it."""
    stacked = np.stack(columns)
    there = np.isfinite(stacked)
    total, number = np.where(there, stacked, 0.0).sum(axis=0), there.sum(axis=0)
    mean: Floats = np.divide(total, number, out=np.full(len(total), np.nan), where=number > 0)
    return mean


def _added(rows: Floats, unit_of_frame: Indices, units: int) -> Floats:
    """Return the sums of the rows of each unit."""
    sums = np.zeros((units, rows.shape[1]))
    np.add.at(sums, unit_of_frame, rows)
    return sums


def _drawn(weights: Floats, sums: Floats) -> Floats:
    """Return the sums of each sample. Unlike ``@``, the order of additions does not depend on the number of threads."""
    drawn: Floats = np.einsum("su,uc->sc", weights, sums)
    return drawn


def _sum_values(
    results: Results, metric: Metric, rows: SumRows, c: int, unit_of_frame: Indices, weights: Floats
) -> dict[str, Floats]:
    """Return the main value and the headline values from weighted sums at the first setting."""
    units = weights.shape[1]
    sums = _drawn(weights, _added(results.scores.sums[metric.name][0][:, c], unit_of_frame, units))
    counts = (results.scores.predicted[:, c] + results.scores.true[:, c]).astype(np.float64)
    there = _drawn(weights, _added(counts[:, None], unit_of_frame, units))[:, 0] > 0
    values = rows.values(sums, results.protocol)
    shown = [value.key for value in metric.with_role("main", "headline") if value.key in values]
    return {key: np.where(there, values[key], np.nan) for key in shown}


def _precisions(results: Results, metric: Metric, c: int, unit_of_frame: Indices, weights: Floats) -> dict[str, Floats]:
    """Return average precision at each setting, and the mean over the settings."""
    scores, protocol = results.scores, results.protocol
    mine = scores.counted(c, protocol)
    order = np.argsort(-scores.confidence[mine], kind="stable")
    confidence = scores.confidence[mine][order]
    last = np.append(confidence[1:] != confidence[:-1], True)[: len(confidence)]
    owner = unit_of_frame[scores.frame[mine][order]]
    truth = np.bincount(unit_of_frame, weights=scores.true[:, c])
    bits = scores.hits[metric.name][mine][order]
    values = {}
    for t, setting in enumerate(metric.settings(protocol)):
        hit = ((bits >> t) & 1).astype(np.float64)
        column = values[str(ValueKey(metric.main.key, setting))] = np.empty(len(weights))
        kernels.bootstrap.weighted_average_precision(
            owner, hit, last, weights, truth, column, protocol.interpolation == "11-point"
        )
    return {metric.main.key: np.mean(list(values.values()), axis=0)} | values
