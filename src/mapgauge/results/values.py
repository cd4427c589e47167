"""Inputs, settings and values of results: the values of each class, pooled over all frames, and their means."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mapgauge.frames.content import content_hash, hash_text
from mapgauge.frames.findings import Finding
from mapgauge.frames.history import History
from mapgauge.frames.map_frames import MapFrames
from mapgauge.markup import number, text_table
from mapgauge.metrics.metric import HitRows, Metric, SumRows, ValueKey
from mapgauge.metrics.table import METRICS, combined_metrics, setting_of, sum_metrics, value_keys
from mapgauge.protocols import Protocol, full_name
from mapgauge.results.metadata import digest_of
from mapgauge.scoring.scores import Totals
from mapgauge.typing import Floats

Values: TypeAlias = dict[str, float | None]
COUNTS = ("predictions", "truth")  # keys of counts, which have no mean


def values_of_classes(
    totals: Totals, names: Sequence[str], metrics: Sequence[str], protocol: Protocol, ranges: Sequence[float]
) -> dict[str, Values]:
    """Return all values of each class, by its name."""
    classes = {
        name: _class_values(totals, c, name, metrics=metrics, protocol=protocol, ranges=ranges)
        for c, name in enumerate(names)
    }
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
    predicted = int(totals.predicted[c])
    true = int(totals.true[c])
    values: Values = {"predictions": predicted, "truth": true}
    for metric in map(METRICS.__getitem__, metrics):
        has_value = predicted + true > 0 and metric.covers(name, protocol)
        if isinstance(metric.rows, SumRows):
            values |= _sum_values(
                metric, metric.rows, totals, c=c, protocol=protocol, ranges=ranges, has_value=has_value
            )
        elif isinstance(metric.rows, HitRows):
            each = totals.precision[metric.name][:, c].tolist()
            if has_value:
                of_metric = [float(np.mean(each)), *each]
            else:
                of_metric = [None] * (1 + len(each))
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
        if has_value:
            of_setting = values_of(metric, rows, pooled.sums[k, c], protocol=protocol)
        else:
            of_setting = dict.fromkeys(_keys(metric))
        if rows.frame_mean is not None:
            if has_value:
                mean = float(pooled.frame_values[k, c]) / totals.frames
            else:
                mean = None
            of_setting[rows.frame_mean.value.key] = mean
        if k == 0:
            values |= of_setting
        if len(settings) > 1:
            values |= {str(ValueKey(key, setting)): value for key, value in of_setting.items()}
    for k, ring in enumerate(pairwise(ranges) if rows.rings else ()):
        sums = pooled.rings[k, c]
        empty = rows.mass is not None and not sums[rows.mass]
        if empty:
            value = None
        else:
            value = values_of(metric, rows, sums, protocol=protocol)[metric.main.key]
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
    keys: Iterable[str] = ()
    if rows:
        keys = rows[0]
    for key in keys:
        if key in COUNTS:
            continue
        of_classes = [value for row in rows if (value := row[key]) is not None]
        if of_classes:
            mean[key] = math.fsum(of_classes) / len(of_classes)
        else:
            mean[key] = None
    for metric, combined in combined_metrics(metrics):
        # None becomes NaN, which is no value.
        means = {name: np.array(mean.get(name), np.float64) for name in combined.of}
        value = float(combined.of_means(means))
        if math.isnan(value):
            mean[metric.main.key] = None
        else:
            mean[metric.main.key] = value
    return mean


def lists_of_frames(metrics: Sequence[str]) -> list[tuple[Metric, SumRows]]:
    """Return the metrics that have a value for every single frame, with their rows."""
    return [(metric, rows) for metric, rows in sum_metrics(metrics) if metric.level == "frame"]


class Input(NamedTuple):
    """The record of the predictions or the truth of an evaluation."""

    name: str  # path of the file; "" for frames in memory
    format: str
    frames: int
    counts: dict[str, int]  # number of instances by class
    hash: str  # content hash, the same for every file format and for streamed data; see ``frames.content_hash``
    history: History = None  # how the frames were read and changed; None if they cannot be read again

    @classmethod
    def of(cls, frames: MapFrames, *, tracks: bool = False) -> "Input":
        """Return the record of frames in memory. The hash includes their tracks if a metric uses them."""
        text = hash_text(content_hash(frames, tracks=tracks))
        return cls(frames.name, frames.format, len(frames), counts=frames.counts, hash=text, history=frames.history)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values."""
        return self._asdict() | {"history": None if self.history is None else [s._asdict() for s in self.history]}


class InputRecords:
    """The records of both sides. Their hashes take as long as reading, so they are computed when they are asked for."""

    def __init__(self, names: tuple[str, str], compute: Callable[[], tuple[Input, Input]]) -> None:
        """Keep the names of both sides, and the function that returns the records."""
        self.names = names
        self._compute: Callable[[], tuple[Input, Input]] | None = compute

    @classmethod
    def known(cls, predictions: Input, truth: Input) -> "InputRecords":
        """Return records that are known already."""
        return cls((predictions.name, truth.name), partial(_both, predictions, truth))

    @classmethod
    def of(cls, predictions: MapFrames, truth: MapFrames, tracks: tuple[bool, bool]) -> "InputRecords":
        """Return the records of frames in memory. ``tracks`` says whether a metric uses the tracks of each side."""
        return cls((predictions.name, truth.name), partial(_inputs_of, predictions, truth, tracks))

    @cached_property
    def inputs(self) -> tuple[Input, Input]:
        """The records of predictions and truth. The frames that they are computed from are released."""
        assert self._compute is not None  # until now
        inputs = self._compute()
        self._compute = None
        return inputs


def _both(predictions: Input, truth: Input) -> tuple[Input, Input]:
    return predictions, truth


def _inputs_of(predictions: MapFrames, truth: MapFrames, tracks: tuple[bool, bool]) -> tuple[Input, Input]:
    return Input.of(predictions, tracks=tracks[0]), Input.of(truth, tracks=tracks[1])


@dataclass(frozen=True, eq=False, kw_only=True)
class Summary:
    """Inputs, settings, and the values of all classes, pooled over all frames."""

    protocol: Protocol
    metrics: tuple[str, ...]  # names of the computed metrics
    class_names: tuple[str, ...]
    ranges: tuple[float, ...]  # bounds of the rings around the ego vehicle, in metres
    records: InputRecords  # of predictions and truth
    frames_missing: int  # frames of the truth that the predictions lack; they count as frames without predictions
    frames_ignored: int  # predicted frames that the truth lacks; they are left out
    findings: tuple[Finding, ...]  # of the readers and the checks
    version: str  # of mapgauge
    totals_from: Callable[[], Totals] = field(repr=False)  # returns the totals; they are computed when needed
    # What features keep with the results, as plain values by name.
    kept: Mapping[str, Any] = field(default_factory=dict)
    date: str = ""  # of the evaluation, in UTC: 2026-11-03T07:30:00Z; "" if unknown
    metadata: Mapping[str, str] = field(default_factory=dict)  # what was noted about the evaluation
    # Metres of truth of each class in the evaluated region; None if they are not known.
    truth_lengths: Mapping[str, float] | None = None

    @property
    def inputs(self) -> tuple[Input, Input]:
        """The records of predictions and truth."""
        return self.records.inputs

    @property
    def input_names(self) -> tuple[str, str]:
        """The names of predictions and truth. Unlike ``inputs``, they need no hashes."""
        return self.records.names

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the contents of predictions and truth and of all settings; "" if a content is not known.

        It depends neither on the files, nor on date and metadata.
        """
        hashes = [side.hash for side in self.inputs]
        if not all(hashes):
            return ""
        settings = {"protocol": self.protocol.to_dict(), "metrics": list(self.metrics)}
        rings = [None if math.isinf(bound) else bound for bound in self.ranges]
        return digest_of({"predictions": hashes[0], "truth": hashes[1], "ranges": rings} | settings)

    @cached_property
    def totals(self) -> Totals:
        """Counts, sums and average precisions over all frames."""
        return self.totals_from()

    @cached_property
    def classes(self) -> dict[str, Values]:
        """Values of each class."""
        return values_of_classes(
            self.totals, self.class_names, self.metrics, protocol=self.protocol, ranges=self.ranges
        )

    @cached_property
    def mean(self) -> Values:
        """Mean over classes of each value."""
        return mean_of(self.classes.values(), self.metrics)

    @cached_property
    def without_value(self) -> tuple[str, ...]:
        """Classes with neither predictions nor truth."""
        filled = (self.totals.predicted + self.totals.true > 0).tolist()
        return tuple(name for name, is_filled in zip(self.class_names, filled, strict=True) if not is_filled)

    @property
    def frame_counts(self) -> dict[str, int]:
        """Numbers of frames that were evaluated, missing from the predictions, ignored, and without truth."""
        return {
            "evaluated": self.totals.frames,
            "missing": self.frames_missing,
            "ignored": self.frames_ignored,
            "without_truth": self.totals.without_truth,
        }

    def table_keys(self, metric: str) -> list[str]:
        """Return the keys of the values of a metric, in the order of tables."""
        keys = value_keys(METRICS[metric], self.protocol, self.ranges, "main", "headline", "part")
        return [str(key) for key in keys]

    def rows_of(self, metric: str) -> list[tuple[str, Values]]:
        """Return the values of the classes that a metric has values for, and the means, with their names."""
        covered = [name for name in self.class_names if METRICS[metric].covers(name, self.protocol)]
        return [*((name, self.classes[name]) for name in covered), ("mean", self.mean)]

    def table(self) -> str:
        """Return the summary as text: one table per metric, with a row per class and the mean."""
        tables = []
        for metric in self.metrics:
            keys = self.table_keys(metric)
            body = [
                [name, *(count_text(values.get(key)) for key in COUNTS), *(number(values[key]) for key in keys)]
                for name, values in self.rows_of(metric)
            ]
            tables.append(text_table(["class", *COUNTS, *(key + setting_of(key, self.protocol) for key in keys)], body))
        return "\n\n".join(tables)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain Python values."""
        return {
            "mapgauge": self.version,
            "date": self.date or None,
            "metadata": dict(self.metadata),
            "digest": self.digest or None,
            "protocol": self.protocol.to_dict() | {"full_name": full_name(self.protocol)},
            "inputs": {"predictions": self.inputs[0].to_dict(), "truth": self.inputs[1].to_dict()},
            "frames": self.frame_counts,
            "classes": self.classes,
            "mean": self.mean,
            "without_value": list(self.without_value),
            "findings": [asdict(finding) for finding in self.findings],
        }


def count_text(value: float | None) -> str:
    """Return a count in a table; "" if there is none, as in the row of the means."""
    if value is None:
        return ""
    return f"{value:.0f}"
