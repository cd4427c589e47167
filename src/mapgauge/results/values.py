"""Computes the values of each class from totals, as a dictionary by key, and their means."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from mapgauge.evaluation.scores import Totals
from mapgauge.metrics.metric import HitRows, Metric, SumRows, ValueKey
from mapgauge.metrics.table import METRICS, combined_metrics, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.typing import Floats

Values: TypeAlias = dict[str, float | None]
COUNTS = ("predictions", "truth")  # keys of counts, which have no mean


def values_of_classes(
    totals: Totals, names: Sequence[str], metrics: Sequence[str], protocol: Protocol, ranges: Sequence[float]
) -> dict[str, Values]:
    """Return all values of each class, by its name."""
    classes = {name: _class_values(totals, c, name, metrics, protocol, ranges) for c, name in enumerate(names)}
    for metric in map(METRICS.__getitem__, metrics):
        covered = [name for name in names if metric.covers(name, protocol)]
        if metric.absent is not None and any(classes[name][metric.main.key] is not None for name in covered):
            for name in covered:
                if classes[name][metric.main.key] is None:
                    classes[name] |= dict.fromkeys(map(str, keys_of(metric, protocol)), metric.absent)
    return classes


def keys_of(metric: Metric, protocol: Protocol) -> list[ValueKey]:
    """Return the keys of the values of an average precision: the mean over the settings, and each setting."""
    key = metric.main.key
    return [ValueKey(key), *(ValueKey(key, setting) for setting in metric.settings(protocol))]


def _class_values(
    totals: Totals, c: int, name: str, metrics: Sequence[str], protocol: Protocol, ranges: Sequence[float]
) -> Values:
    """Return all values of one class. They are None if it has neither predictions nor truth."""
    predicted, true = int(totals.predicted[c]), int(totals.true[c])
    values: Values = {"predictions": predicted, "truth": true}
    for metric in map(METRICS.__getitem__, metrics):
        has_value = predicted + true > 0 and metric.covers(name, protocol)
        if isinstance(metric.rows, SumRows):
            values |= _sum_values(metric, metric.rows, totals, c, protocol, ranges, has_value)
        elif isinstance(metric.rows, HitRows):
            each = totals.precision[metric.name][:, c].tolist()
            of_metric = [float(np.mean(each)), *each] if has_value else [None] * (1 + len(each))
            values |= dict(zip(map(str, keys_of(metric, protocol)), of_metric, strict=True))
        else:
            values[metric.main.key] = None
    return values


def _sum_values(
    metric: Metric,
    rows: SumRows,
    totals: Totals,
    c: int,
    protocol: Protocol,
    ranges: Sequence[float],
    has_value: bool,
) -> Values:
    """Return the values of a metric with sums: at the first setting, at each of several settings, and in rings."""
    values: Values = {}
    settings = metric.settings(protocol)
    pooled = totals.sums[metric.name]
    for k, setting in enumerate(settings):
        of_setting = values_of(metric, rows, pooled.sums[k, c], protocol) if has_value else dict.fromkeys(_keys(metric))
        if rows.frame_mean is not None:
            mean = float(pooled.frame_values[k, c]) / totals.frames if has_value else None
            of_setting[rows.frame_mean.value.key] = mean
        values |= of_setting if k == 0 else {}
        if len(settings) > 1:
            values |= {str(ValueKey(key, setting)): value for key, value in of_setting.items()}
    for k, ring in enumerate(pairwise(ranges) if rows.rings else ()):
        sums = pooled.rings[k, c]
        empty = rows.mass is not None and not sums[rows.mass]
        value = None if empty else values_of(metric, rows, sums, protocol)[metric.main.key]
        values[str(ValueKey(metric.main.key, ring=ring))] = value
    return values


def values_of(metric: Metric, rows: SumRows, sums: Floats, protocol: Protocol) -> Values:
    """Return all values of pooled sums ``(columns,)``. Values that do not exist, and values that are NaN, are None."""
    computed = rows.values(sums, protocol)
    finite = {key: float(value) for key, value in computed.items() if not np.isnan(value)}
    return {key: finite.get(key) for key in _keys(metric)}


def _keys(metric: Metric) -> list[str]:
    return [value.key for value in metric.values]


def mean_of(classes: Iterable[Values], metrics: Sequence[str] = ()) -> Values:
    """Return the mean of each value over the classes that have it, and the values of combined metrics."""
    rows = list(classes)
    mean: Values = {}
    for key in rows[0] if rows else ():
        if key not in COUNTS:
            of_classes = [value for row in rows if (value := row[key]) is not None]
            mean[key] = math.fsum(of_classes) / len(of_classes) if of_classes else None
    for metric, combined in combined_metrics(metrics):
        means = {name: np.array(np.nan if (value := mean.get(name)) is None else value) for name in combined.of}
        value = float(combined.of_means(means))
        mean[metric.main.key] = None if math.isnan(value) else value
    return mean


def lists_of_frames(metrics: Sequence[str]) -> list[tuple[Metric, SumRows]]:
    """Return the metrics that have a value for every single frame, with their rows."""
    return [(metric, rows) for metric, rows in sum_metrics(metrics) if metric.level == "frame"]
