"""Columns of any type: arrays, tuples, or None where a file has none."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput
from mapgauge.typing import Indices

T = TypeVar("T")


def pick_rows(column: Any, rows: NDArray[np.int64] | slice) -> Any:
    """Return some rows of a column: an array, a tuple, or None."""
    if isinstance(column, tuple) and not isinstance(rows, slice):
        return tuple(column[i] for i in rows.tolist())
    return None if column is None else column[rows]


def changed(frames: T, **columns: Any) -> T:
    """Return ``MapFrames`` with other columns, as ``dataclasses.replace`` does, but without checking them."""
    made = object.__new__(type(frames))
    kept = {field.name: getattr(frames, field.name) for field in fields(frames)}  # type: ignore[arg-type]
    made.__dict__.update(kept | columns)
    return made


def check_sizes(columns: Mapping[str, Any], rows: int, of: str) -> None:
    """Refuse columns that do not have one row per ``of``."""
    for name, column in columns.items():
        if column is not None and len(column) != rows:
            raise InvalidInput(f"{name} has {len(column)} rows, expected {rows}, one per {of}")


def check_indices(frame: Indices, label: Indices, frames: int, classes: Sequence[str]) -> None:
    """Refuse indices of frames that are not in ascending order, indices outside their range, and doubled classes."""
    if len(set(classes)) < len(classes):
        raise InvalidInput(f"classes must have different names, got {', '.join(classes)}")
    if len(frame) and (frame[0] < 0 or frame[-1] >= frames or np.any(np.diff(frame) < 0)):
        raise InvalidInput(f"frame must be in ascending order, from 0 to at most {frames - 1}")
    if len(label) and not (label.min() >= 0 and label.max() < len(classes)):
        raise InvalidInput(f"label must be from 0 to {len(classes) - 1}, an index into classes")
