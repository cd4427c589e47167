"""The rows of results as data frames of pandas, polars or Arrow. These packages are imported when they are used."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from mapgauge.dependencies import require
from mapgauge.errors import InvalidInput
from mapgauge.protocols import Protocol
from mapgauge.results.frame_table import frame_columns
from mapgauge.results.rows import Rows
from mapgauge.results.summary import Summary
from mapgauge.results.values import COUNTS

Level: TypeAlias = Literal["frames", "classes", "summary"]
Columns: TypeAlias = dict[str, list[Any]]

LEVELS = ("frames", "classes", "summary")
TEXT = ("token", "scene", "class")


def columns_of(summary: Summary, rows: Rows, level: Level) -> Columns:
    """Return the columns of a level.

    Args:
        summary: The summary of the results.
        rows: The rows of the results. They are not read for ``"summary"``.
        level: ``"frames"``, ``"classes"`` or ``"summary"``.
    """
    if level not in LEVELS:
        raise InvalidInput(f"level must be one of {', '.join(map(repr, LEVELS))}, got {level!r}")
    if level == "summary":
        named = [*summary.classes.items(), ("mean", summary.mean)]
        keys = list(dict.fromkeys(key for _, values in named for key in values))
        return {"class": [name for name, _ in named]} | {key: [values.get(key) for _, values in named] for key in keys}
    count = len(summary.class_names)
    if level == "frames":
        return _named(rows) | _values(summary.metrics, summary.protocol, rows, range(count))
    found = [_values(summary.metrics, summary.protocol, rows, [c]) for c in range(count)]
    names = {key: [text for text in column for _ in range(count)] for key, column in _named(rows).items()}
    names["class"] = list(summary.class_names) * len(rows.tokens)
    # The classes of a frame follow each other.
    values = {
        key: [x for same in zip(*(columns[key] for columns in found), strict=True) for x in same]
        for key in (found[0] if found else ())
    }
    return names | values


def _named(rows: Rows) -> Columns:
    scenes = {} if rows.scenes is None else {"scene": list(rows.scenes)}
    return {"token": list(rows.tokens)} | scenes


def _values(metrics: Sequence[str], protocol: Protocol, rows: Rows, classes: Sequence[int]) -> Columns:
    return frame_columns(rows.scores, metrics, protocol, classes)


def _is_whole(key: str) -> bool:
    return key in COUNTS or key.startswith("hits:")


def to_pandas(columns: Columns) -> Any:
    """Return a pandas data frame. Values that do not exist are NaN."""
    pandas = require("pandas", "a pandas data frame", "pandas")
    return pandas.DataFrame(
        {
            key: column
            if key in TEXT
            else np.array(column, np.int64 if _is_whole(key) and None not in column else np.float64)
            for key, column in columns.items()
        }
    )


def to_polars(columns: Columns) -> Any:
    """Return a polars data frame. Values that do not exist are null."""
    polars = require("polars", "a polars data frame", "polars")
    kinds = {
        key: polars.String if key in TEXT else polars.Int64 if _is_whole(key) else polars.Float64 for key in columns
    }
    return polars.DataFrame(columns, schema=kinds)


def to_arrow(columns: Columns) -> Any:
    """Return an Arrow table. Values that do not exist are null."""
    arrow = require("pyarrow", "an Arrow table", "parquet")
    kinds = [
        (key, arrow.string() if key in TEXT else arrow.int64() if _is_whole(key) else arrow.float64())
        for key in columns
    ]
    return arrow.table(columns, schema=arrow.schema(kinds))
