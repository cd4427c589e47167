"""Computes the columns of the list of frames.

The page does not compute metrics. It has a column for each value, for all classes pooled and for each class, as
``Results.frames`` computes them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.table import METRICS, setting_of, title_of
from mapgauge.report.causes import is_first, is_pld_again
from mapgauge.results.frame_table import frame_arrays
from mapgauge.results.results import Results
from mapgauge.results.values import COUNTS, lists_of_frames


def column_keys(results: Results) -> list[dict[str, Any]]:
    """Return the columns of the list: key, title, whether they are whole numbers, and whether they are printed."""
    values = [
        {
            "key": value.key,
            "title": value.words + (setting_of(value.key, results.protocol) if value.role == "main" else ""),
            "whole": False,
            "printed": is_first(metric, results.metrics),
        }
        for metric, rows in lists_of_frames(results.metrics)
        for value in metric.with_role("main", "headline", "part")
        if not (value.role == "main" and is_pld_again(metric, results.metrics))
        if value.key in rows.values(np.zeros(len(rows.columns)), results.protocol)
    ]
    hits = [
        ValueKey(name, at, hits=True) for name in results.scores.hits for at in METRICS[name].settings(results.protocol)
    ]
    counts = [{"key": key, "title": key, "whole": True, "printed": True} for key in COUNTS]
    of_hits = [{"key": str(key), "title": title_of(key), "whole": True, "printed": False} for key in hits]
    return [*values, *counts, *of_hits]


def frame_numbers(results: Results) -> dict[str, NDArray[Any]]:
    """Return each column as ``(1 + classes, frames)``: all classes pooled, then each class. No value is NaN.

    There is no value if a frame has neither predictions nor truth of the classes that the metric covers.
    """
    scores, protocol, names = results.scores, results.protocol, results.class_names
    choices = [list(range(len(names))), *([c] for c in range(len(names)))]
    found = [frame_arrays(scores, results.metrics, protocol, chosen) for chosen in choices]
    there = (scores.predicted + scores.true > 0).T
    covered = {
        value.key: np.array([metric.covers(name, protocol) for name in names], np.bool_)
        for metric, _ in lists_of_frames(results.metrics)
        for value in metric.values
    }
    numbers: dict[str, NDArray[Any]] = {}
    for column in column_keys(results):
        key = column["key"]
        if column["whole"]:
            numbers[key] = np.array([columns[key] for columns in found], np.int32)
        else:
            mine = there & covered[key][:, None]
            values = np.array([columns[key] for columns in found], np.float32)
            numbers[key] = np.where(np.vstack([mine.any(axis=0), mine]), values, np.float32(np.nan))
    return numbers
