"""Rows of results as tables: frames, data frames, and flat keys."""

import math
import typing
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.metrics.metric import ValueKey
from mapgauge.metrics.table import METRICS, hit_metrics, value_named
from mapgauge.protocols import Protocol
from mapgauge.results.drives import Drive
from mapgauge.results.values import COUNTS, Summary, lists_of_frames, mean_of, values_of_classes
from mapgauge.scoring.scores import Scores, Totals
from mapgauge.typing import Floats
from mapgauge.words import did_you_mean


class Rows(typing.Protocol):
    """Interface of rows, in memory or in a folder."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of the frames."""

    @property
    def scenes(self) -> tuple[str, ...] | None:
        """The scene of each frame, if known."""

    @property
    def scores(self) -> Scores:
        """The scores of each frame. They may have more metrics than the results show."""

    @property
    def metrics(self) -> Collection[str]:
        """The names of the metrics that the scores have."""

    @property
    def drive(self) -> Drive | None:
        """The poses of the frames, if they are kept."""


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Rows in memory."""

    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    scores: Scores
    drive: Drive | None = None

    @property
    def metrics(self) -> Collection[str]:
        """The names of the metrics that the scores have."""
        return self.scores.metrics


def pick_rows(rows: Rows, frames: Sequence[int]) -> MemoryRows:
    """Return the rows of some frames, in the given order."""
    order = np.asarray(frames, np.int64)
    where = order.tolist()
    if rows.scenes is None:
        scenes = None
    else:
        scenes = tuple(rows.scenes[i] for i in where)
    if rows.drive is None:
        drive = None
    else:
        drive = rows.drive.at(order)
    return MemoryRows(tuple(rows.tokens[i] for i in where), scenes, rows.scores.at(order), drive=drive)


def frame_precisions(
    scores: Scores, metrics: Sequence[str], protocol: Protocol, class_names: Sequence[str]
) -> dict[str, Floats]:
    """Return the average precisions of single frames by key, ``(1 + classes, frames)``: means first, then each class.

    A frame alone has few instances, so they are coarse. NaN is a value that does not exist.
    """
    names = tuple(metric.name for metric, _ in hit_metrics(metrics) if metric.level == "frame")
    keys = [metric.main.key for metric, _ in hit_metrics(names)]
    table = np.full((len(keys), 1 + len(class_names), len(scores.true)), np.nan)
    for frame in range(table.shape[2] if keys else 0):
        totals = Totals.of(scores.at(np.array([frame])), protocol)
        by_class = values_of_classes(totals, class_names, names, protocol=protocol, ranges=())
        rows = [mean_of(by_class.values()), *(by_class[name] for name in class_names)]
        values = [[row.get(key) for row in rows] for key in keys]
        table[..., frame] = np.array(values, np.float64)  # None becomes NaN
    return dict(zip(keys, table, strict=True))


def frame_columns(summary: Summary, scores: Scores, classes: Sequence[int]) -> dict[str, list[Any]]:
    """Return what ``frame_arrays`` does as lists. Values that do not exist are None."""
    arrays = frame_arrays(summary, scores, classes)
    return {key: plain_values(column) for key, column in arrays.items()}


def plain_values(column: NDArray[Any]) -> list[Any]:
    """Return a column as a list, with None for NaN."""
    return [None if value != value else value for value in column.tolist()]


def frame_arrays(summary: Summary, scores: Scores, classes: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Return counts, values and hits of each frame by key, over some classes. Values that do not exist are NaN.

    A frame that has neither predictions nor truth of the classes that a metric covers has no value of it: nothing was
    compared.
    """
    protocol = summary.protocol
    chosen = list(classes)
    columns: dict[str, NDArray[Any]] = {
        "predictions": scores.predicted[:, chosen].sum(axis=1),
        "truth": scores.true[:, chosen].sum(axis=1),
    }
    for metric, rows in lists_of_frames(summary.metrics):
        values = rows.values(_pooled(scores.sums[metric.name][0][:, chosen]), protocol)
        covered = [c for c in chosen if metric.covers(summary.class_names[c], protocol)]
        is_empty = (scores.predicted[:, covered] + scores.true[:, covered]).sum(axis=1) == 0
        for value in metric.values:
            column = values.get(value.key, np.full(scores.frames, np.nan))
            columns[value.key] = np.where(is_empty, np.nan, column)
    kept = np.isin(scores.label, chosen)
    frame = scores.frame[kept]
    for name, bits in scores.hits.items():
        for t, setting in enumerate(METRICS[name].settings(protocol)):
            number = np.bincount(frame, weights=(bits[kept] >> t) & 1, minlength=scores.frames)
            columns[str(ValueKey(name, setting, hits=True))] = number.astype(np.int64)
    return columns


def _pooled(block: Floats) -> Floats:
    """Add ``(frames, classes, columns)`` over classes. Sums are rounded once, so the order of classes has no effect."""
    if block.shape[1] == 1:
        return block[:, 0]
    frames, _, width = block.shape
    columns = block.swapaxes(1, 2).reshape(frames * width, -1).tolist()
    return np.array([math.fsum(terms) for terms in columns]).reshape(frames, width)


def worst_first(metrics: Sequence[str]) -> str:
    """Return the key by which the worst frames come first: the first value of single frames, or the token."""
    return next((metric.main.key for metric, _ in lists_of_frames(metrics)), "token")


def frame_rows(columns: dict[str, list[Any]], rows: Rows, sort: str, count: int | None) -> list[dict[str, Any]]:
    """Return the columns as sorted rows with token and scene."""
    every = _named(rows) | columns
    if sort not in every:
        hint = did_you_mean(sort, every)
        raise InvalidInput(f"no column {sort!r} to sort by. Available: {', '.join(every)}{hint}")
    frames = ranked(every[sort], sort, range(len(rows.tokens)))[:count]
    return [{key: column[frame] for key, column in every.items()} for frame in frames]


def ranked(values: Sequence[Any], key: str, frames: Sequence[int]) -> list[int]:
    """Return frames in the order of the values of a key, the worst first. Frames without a value come last.

    Text and values of which higher ones are better are in ascending order, other numbers in descending order.
    """
    with_value = [frame for frame in frames if values[frame] is not None]
    of = value_named(key.removeprefix("pld_").partition(".")[0])
    rising = any(isinstance(values[frame], str) for frame in with_value[:1])
    rising = rising or (of is not None and not of[0].lower_is_better)
    without = [frame for frame in frames if values[frame] is None]
    return sorted(with_value, key=values.__getitem__, reverse=not rising) + without


Level: TypeAlias = Literal["frames", "classes", "summary"]
Columns: TypeAlias = dict[str, list[Any]]

LEVELS = ("frames", "classes", "summary")
TEXT = ("token", "scene", "class")


def table_columns(summary: Summary, rows: Rows, level: Level) -> Columns:
    """Return the columns of a level. The rows are not read for ``"summary"``."""
    if level not in LEVELS:
        raise InvalidInput(f"level must be one of {', '.join(map(repr, LEVELS))}, got {level!r}")
    if level == "summary":
        named = [*summary.classes.items(), ("mean", summary.mean)]
        columns: Columns = {"class": [name for name, _ in named]}
        for key in dict.fromkeys(key for _, values in named for key in values):
            columns[key] = [values.get(key) for _, values in named]
        return columns
    count = len(summary.class_names)
    scores = rows.scores.only(summary.metrics)
    if level == "frames":
        return _named(rows) | frame_columns(summary, scores, range(count))
    # The classes of a frame follow each other.
    columns = {}
    for key, texts in _named(rows).items():
        columns[key] = [text for text in texts for _ in range(count)]
    columns["class"] = list(summary.class_names) * len(rows.tokens)
    by_class = [frame_columns(summary, scores, [c]) for c in range(count)]
    if by_class:
        for key in by_class[0]:
            of_frames = zip(*(of_class[key] for of_class in by_class), strict=True)
            columns[key] = [value for values in of_frames for value in values]
    return columns


def _named(rows: Rows) -> Columns:
    if rows.scenes is None:
        scenes = {}
    else:
        scenes = {"scene": list(rows.scenes)}
    return {"token": list(rows.tokens)} | scenes


def _kind_of(key: str) -> Literal["text", "whole", "number"]:
    """Return what the values of a column are."""
    if key in TEXT:
        return "text"
    if key in COUNTS or key.startswith("hits:"):
        return "whole"
    return "number"


def to_pandas(columns: Columns) -> Any:
    """Return a pandas data frame. Values that do not exist are NaN."""
    pandas = require("pandas", "a pandas data frame", "pandas")
    arrays: dict[str, Any] = {}
    for key, column in columns.items():
        kind = _kind_of(key)
        if kind == "text":
            arrays[key] = column
        elif kind == "whole" and None not in column:
            arrays[key] = np.array(column, np.int64)
        else:
            arrays[key] = np.array(column, np.float64)
    return pandas.DataFrame(arrays)


def to_polars(columns: Columns) -> Any:
    """Return a polars data frame. Values that do not exist are null."""
    polars = require("polars", "a polars data frame", "polars")
    kinds = {"text": polars.String, "whole": polars.Int64, "number": polars.Float64}
    return polars.DataFrame(columns, schema={key: kinds[_kind_of(key)] for key in columns})


def to_arrow(columns: Columns) -> Any:
    """Return an Arrow table. Values that do not exist are null."""
    arrow = require("pyarrow", "an Arrow table", "parquet")
    kinds = {"text": arrow.string(), "whole": arrow.int64(), "number": arrow.float64()}
    return arrow.table(columns, schema=arrow.schema([(key, kinds[_kind_of(key)]) for key in columns]))
