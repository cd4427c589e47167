"""The values of results in each bootstrap sample, and in how many units a class has values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mapgauge.metrics.metric import CombinedRows, Metric, Role, SumRows, ValueKey
from mapgauge.metrics.table import METRICS, sum_metrics, value_named
from mapgauge.results.bootstrap import added_by_unit, drawn_sums
from mapgauge.results.drawn_precisions import precisions
from mapgauge.results.standard_errors import Draws
from mapgauge.scoring.data import in_threads
from mapgauge.typing import Flags, Floats, Indices

if TYPE_CHECKING:
    from mapgauge.results.results import Results

MEAN = "mean"
Samples: TypeAlias = dict[str, dict[str, Floats]]  # values of bootstrap samples by class (or MEAN) and key
Lacking: TypeAlias = dict[str, dict[str, int]]  # numbers of units without a value by class (or MEAN) and key


_SHOWN: tuple[Role, ...] = ("main", "headline")


def drawn_values(
    results: "Results", unit_of_frame: Indices, weights: Floats, roles: Sequence[Role] = _SHOWN
) -> Samples:
    """Return the values of all samples by class name (or "mean") and key. NaN where a sample has no value.

    ``roles`` are those of the values of metrics with sums.
    """
    classes = [(c, name) for c, name in enumerate(results.class_names) if name not in results.without_value]
    of_sums = _sum_values(results, classes, unit_of_frame, weights=weights, roles=roles)
    of_hits = precisions(results, classes, unit_of_frame, weights=weights)
    samples: Samples = {}
    for c, name in classes:
        samples[name] = {}
        for metric in results.metrics:
            # A metric has sums or hits. Combined metrics have neither.
            samples[name] |= of_sums.get((metric, c)) or of_hits.get((metric, c)) or {}
    samples[MEAN] = _means(results, samples)
    return samples


def _means(results: "Results", by_class: Samples) -> dict[str, Floats]:
    """Return the means over classes, in the order of the metrics, and the values of combined metrics."""
    mean: dict[str, Floats] = {}
    for metric in map(METRICS.__getitem__, results.metrics):
        covered = [name for name in results.class_names if metric.covers(name, results.protocol)]
        present = [by_class[name] for name in covered if name in by_class]
        for key in next(iter(present), {}):
            of = value_named(ValueKey.parse(key).name)
            if of is None or of[0] is not metric:
                continue
            columns = [values[key] for values in present]
            if metric.absent is not None:
                columns = [np.where(np.isnan(column), metric.absent, column) for column in columns]
                columns += [np.full_like(columns[0], metric.absent)] * (len(covered) - len(present))
            mean[key] = mean_over_classes(columns)
        if isinstance(metric.rows, CombinedRows):
            mean[metric.main.key] = metric.rows.of_means(mean)
    return mean


def mean_over_classes(columns: Sequence[Floats]) -> Floats:
    """Return the mean over classes. Each sample averages over the classes that have a value in it."""
    stacked = np.stack(columns)
    finite = np.isfinite(stacked)
    total = np.where(finite, stacked, 0.0).sum(axis=0)
    number = finite.sum(axis=0)
    mean: Floats = np.divide(total, number, out=np.full_like(total, np.nan), where=number > 0)
    return mean


def _sum_values(
    results: "Results",
    classes: Sequence[tuple[int, str]],
    unit_of_frame: Indices,
    weights: Floats,
    roles: Sequence[Role],
) -> dict[tuple[str, int], dict[str, Floats]]:
    """Return the values with some roles from weighted sums at the first setting, by metric and class."""
    scores = results.scores
    protocol = results.protocol
    units = weights.shape[1]
    instances = added_by_unit((scores.predicted + scores.true).astype(np.float64), unit_of_frame, units)
    occurs = drawn_sums(weights, instances) > 0
    tasks = [
        (metric, rows, c)
        for metric, rows in sum_metrics(results.metrics)
        for c, name in classes
        if metric.covers(name, protocol)
    ]

    def work(task: tuple[Metric, SumRows, int]) -> dict[str, Floats]:
        metric, rows, c = task
        of_unit = added_by_unit(scores.sums[metric.name][0][:, c], unit_of_frame, units)
        values = rows.values(drawn_sums(weights, of_unit), protocol)
        shown = [value.key for value in metric.with_role(*roles) if value.key in values]
        return {key: np.where(occurs[:, c], values[key], np.nan) for key in shown}

    of_tasks = in_threads(work, tasks, workers=None)
    return {(metric.name, c): values for (metric, _, c), values in zip(tasks, of_tasks, strict=True)}


def units_with_class(results: "Results", unit_of_frame: Indices, units: int | None = None) -> dict[str, Flags]:
    """Return for each class which units have predictions or truth of it. Only these have a part in its values."""
    if units is None:
        units = int(unit_of_frame.max()) + 1
    occurs = np.zeros((units, len(results.class_names)), np.bool_)
    np.logical_or.at(occurs, unit_of_frame, results.scores.predicted + results.scores.true > 0)
    return dict(zip(results.class_names, occurs.T, strict=True))


def count_units(occurs: Sequence[dict[str, Flags]]) -> dict[str, int]:
    """Return how many units have each class in one of some results, and how many have any class as ``"mean"``."""
    by_class = {name: np.logical_or.reduce([flags[name] for flags in occurs]) for name in occurs[0]}
    counts = {name: int(np.count_nonzero(flags)) for name, flags in by_class.items()}
    counts[MEAN] = int(np.count_nonzero(np.logical_or.reduce(list(by_class.values()))))
    return counts


def lacking_units(results: "Results", unit_of_frame: Indices, units: int) -> Lacking:
    """Return in how many units a class occurs without having a value, by class (or "mean") and key.

    An offset is such a value: it exists where something is matched. Keys that no unit lacks are left out.
    """
    occurs = units_with_class(results, unit_of_frame, units)
    counts: Lacking = {}
    for key, having in _units_with_value(results, occurs, unit_of_frame, units=units).items():
        occurring = {name: occurs[name] for name in having}
        occurring[MEAN] = np.logical_or.reduce(list(occurring.values()))
        having[MEAN] = np.logical_or.reduce(list(having.values()))
        for name, flags in having.items():
            missing = int(np.count_nonzero(occurring[name] & ~flags))
            if missing:
                counts.setdefault(name, {})[key] = missing
    return counts


def _units_with_value(
    results: "Results", occurs: dict[str, Flags], unit_of_frame: Indices, *, units: int
) -> dict[str, dict[str, Flags]]:
    """Return by key and class which units have the class and a value of it. Only sums can lack a value."""
    having: dict[str, dict[str, Flags]] = {}
    for metric, rows in sum_metrics(results.metrics):
        shown = [value.key for value in metric.with_role("main", "headline")]
        for c, name in enumerate(results.class_names):
            if name in results.without_value or not metric.covers(name, results.protocol):
                continue
            of_unit = added_by_unit(results.scores.sums[metric.name][0][:, c], unit_of_frame, units)
            values = rows.values(of_unit, results.protocol)
            for key in shown:
                if key in values:
                    having.setdefault(key, {})[name] = np.isfinite(values[key]) & occurs[name]
    return having


def draws_of(samples: Samples, name: str, key: str, count: dict[str, int], lacking: Sequence[Lacking] = ()) -> Draws:
    """Return the draws of one value, and for a mean the draws of all classes.

    Args:
        samples: The values of the bootstrap samples.
        name: A class, or ``"mean"``.
        key: The key of the value.
        count: How many units have each class, from ``count_units``.
        lacking: For each method, how many of these units have no value. The units of the method that lacks most count:
            a value that comes from a single scene says nothing about its spread, whatever the other method has.
    """

    def units(of: str) -> int:
        return count[of] - max((each.get(of, {}).get(key, 0) for each in lacking), default=0)

    classes: list[str] = []
    if name == MEAN:
        classes = [other for other in samples if other != MEAN]
    parts = tuple(Draws(samples[other][key], units(other)) for other in classes if key in samples[other])
    return Draws(samples[name][key], units(name), parts)
