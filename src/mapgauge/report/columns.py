"""Computes the columns of the list of frames.

The page does not compute metrics. It has a column for each value, for all classes pooled and for each class, as
``Results.frames`` computes them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.table import METRICS, title_of
from mapgauge.results.frame_table import frame_columns
from mapgauge.results.results import Results
from mapgauge.results.values import COUNTS, lists_of_frames


def column_keys(results: Results) -> list[dict[str, Any]]:
    """Return the columns of the list: key, title, and whether they are whole numbers."""
    values = [
        {"key": value.key, "title": value.words, "whole": False}
        for metric, rows in lists_of_frames(results.metrics)
        for value in metric.with_role("main", "headline", "part")
        if value.key in rows.values(np.zeros(len(rows.columns)), results.protocol)
    ]
    hits = [
        ValueKey(name, at, hits=True) for name in results.scores.hits for at in METRICS[name].settings(results.protocol)
    ]
    counts = [{"key": key, "title": key, "whole": True} for key in COUNTS]
    return [*values, *counts, *({"key": str(key), "title": title_of(key), "whole": True} for key in hits)]


def frame_numbers(results: Results) -> dict[str, NDArray[Any]]:
    """Return each column as ``(1 + classes, frames)``: all classes pooled, then each class. No value is NaN."""
    classes = len(results.class_names)
    choices = [list(range(classes)), *([c] for c in range(classes))]
    found = [frame_columns(results.scores, results.metrics, results.protocol, chosen) for chosen in choices]
    numbers: dict[str, NDArray[Any]] = {}
    for column in column_keys(results):
        key = column["key"]
        if column["whole"]:
            numbers[key] = np.array([columns[key] for columns in found], np.int32)
        else:
            there = [np.add(columns["predictions"], columns["truth"]) > 0 for columns in found]
            values = np.array([columns[key] for columns in found], np.float32)
            numbers[key] = np.where(there, values, np.float32(np.nan))
    return numbers
