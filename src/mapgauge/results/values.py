"""Computes the values of each class from totals, as a dictionary by key, and their means."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.metric import Metric, SumRows
from mapgauge.metrics.table import METRICS, sum_metrics
from mapgauge.protocols import Protocol
from mapgauge.scoring.totals import Totals
from mapgauge.typing import Floats

Values: TypeAlias = dict[str, float | None]
COUNTS = ("predictions", "truth")  # keys of counts, which have no mean


def class_values(totals: Totals, c: int, metrics: Sequence[str], protocol: Protocol, ranges: Sequence[float]) -> Values:
    """Return all values of one class. They are None if it has neither predictions nor truth."""
    predicted, true = int(totals.predicted[c]), int(totals.true[c])
    values: Values = {"predictions": predicted, "truth": true}
    for name in metrics:
        metric = METRICS[name]
        there = predicted + true > 0
        if isinstance(metric.rows, SumRows):
            values |= _sum_values(metric, metric.rows, totals, c, protocol, ranges, there)
        else:
            each = totals.precision[name][:, c].tolist()
            values[metric.main.key] = float(np.mean(each)) if there else None
            for setting, value in zip(metric.settings(protocol), each, strict=True):
                values[str(ValueKey(metric.main.key, setting))] = value if there else None
    return values


def _sum_values(
    metric: Metric,
    rows: SumRows,
    totals: Totals,
    c: int,
    protocol: Protocol,
    ranges: Sequence[float],
    there: bool,
) -> Values:
    """Return the values of a metric with sums: at the first setting, at each of several settings, and in rings."""
    values: Values = {}
    settings = metric.settings(protocol)
    pooled = totals.sums[metric.name]
    for k, setting in enumerate(settings):
        found = values_of(metric, rows, pooled.sums[k, c], protocol) if there else dict.fromkeys(_keys(metric))
        if rows.frame_mean is not None:
            mean = float(pooled.frame_values[k, c]) / totals.frames if there else None
            found[rows.frame_mean.value.key] = mean
        values |= found if k == 0 else {}
        if len(settings) > 1:
            values |= {str(ValueKey(key, setting)): value for key, value in found.items()}
    for k, ring in enumerate(pairwise(ranges) if rows.rings else ()):
        sums = pooled.rings[k, c]
        empty = rows.mass is not None and not sums[rows.mass]
        value = None if empty else values_of(metric, rows, sums, protocol)[metric.main.key]
        values[str(ValueKey(metric.main.key, ring=ring))] = value
    return values


def values_of(metric: Metric, rows: SumRows, sums: Floats, protocol: Protocol) -> Values:
    """Return all values of pooled sums ``(columns,)``. Values that do not exist, and values that are NaN, are None."""
    found = rows.values(sums, protocol)
    there = {key: float(value) for key, value in found.items() if not np.isnan(value)}
    return {key: there.get(key) for key in _keys(metric)}


def _keys(metric: Metric) -> list[str]:
    return [value.key for value in metric.values]


def mean_of(classes: Iterable[Values]) -> Values:
    """Return the mean of each value over the classes that have it."""
    rows = list(classes)
    mean: Values = {}
    for key in rows[0] if rows else ():
        if key not in COUNTS:
            there = [value for row in rows if (value := row[key]) is not None]
            mean[key] = math.fsum(there) / len(there) if there else None
    return mean


def lists_of_frames(metrics: Sequence[str]) -> list[tuple[Metric, SumRows]]:
    """Return the metrics that have a value for every single frame, with their rows."""
    return [(metric, rows) for metric, rows in sum_metrics(metrics) if metric.level == "frame"]
