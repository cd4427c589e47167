"""The table of frames: counts, values of metrics that score single frames, and numbers of hits.

The value of a frame pools its classes in the same way as results pool frames: the sums of the classes are added, then
normalised.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.metrics.keys import ValueKey
from mapgauge.metrics.table import METRICS, value_named
from mapgauge.protocols import Protocol
from mapgauge.results.rows import Rows
from mapgauge.results.values import lists_of_frames
from mapgauge.scoring.scores import Scores
from mapgauge.typing import Floats


def frame_columns(
    scores: Scores, metrics: Sequence[str], protocol: Protocol, classes: Sequence[int]
) -> dict[str, list[Any]]:
    """Return what ``frame_arrays`` does as lists. Values that do not exist are None."""
    return {
        key: column.tolist()
        if column.dtype.kind == "i"
        else [None if math.isnan(value) else value for value in column.tolist()]
        for key, column in frame_arrays(scores, metrics, protocol, classes).items()
    }


def frame_arrays(
    scores: Scores, metrics: Sequence[str], protocol: Protocol, classes: Sequence[int]
) -> dict[str, NDArray[Any]]:
    """Return counts, values and hits of each frame by key, over some classes. Values that do not exist are NaN.

    Args:
        scores: The rows.
        metrics: Names of the computed metrics.
        protocol: All settings.
        classes: Indices of the classes to pool.
    """
    chosen = list(classes)
    columns: dict[str, NDArray[Any]] = {
        "predictions": scores.predicted[:, chosen].sum(axis=1),
        "truth": scores.true[:, chosen].sum(axis=1),
    }
    for metric, rows in lists_of_frames(metrics):
        found = rows.values(_pooled(scores.sums[metric.name][0][:, chosen]), protocol)
        for value in metric.values:
            columns[value.key] = found.get(value.key, np.full(scores.frames, np.nan))
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
    """Return the columns as sorted rows with token and scene.

    Text and values of which higher ones are better are in ascending order, other numbers in descending order. Frames
    without the value come last.
    """
    every: dict[str, Any] = {"token": rows.tokens}
    if rows.scenes is not None:
        every["scene"] = rows.scenes
    every |= columns
    if sort not in every:
        raise InvalidInput(f"no column {sort!r} to sort by. Available: {', '.join(every)}")
    table = [dict(zip(every, values, strict=True)) for values in zip(*every.values(), strict=True)]
    of = value_named(sort)
    rising = sort in ("token", "scene") or (of is not None and not of[0].lower_is_better)
    there = [row for row in table if row[sort] is not None]
    there.sort(key=lambda row: row[sort], reverse=not rising)
    return (there + [row for row in table if row[sort] is None])[:count]
