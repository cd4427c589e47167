"""Columns of any type: arrays, tuples, or None where a file has none."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mapgauge.errors import InvalidInput


def pick_rows(column: Any, rows: NDArray[np.int64] | slice) -> Any:
    """Return some rows of a column: an array, a tuple, or None."""
    if isinstance(column, tuple) and not isinstance(rows, slice):
        return tuple(column[i] for i in rows.tolist())
    return None if column is None else column[rows]


def check_sizes(columns: Mapping[str, Any], rows: int, of: str) -> None:
    """Refuse columns that do not have one row per ``of``."""
    for name, column in columns.items():
        if column is not None and len(column) != rows:
            raise InvalidInput(f"{name} has {len(column)} rows, expected {rows}, one per {of}")
