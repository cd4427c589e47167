"""The rows of a result: tokens, scenes and scores of every frame, in memory or in a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mapgauge.scoring.scores import Scores


class Rows(Protocol):
    """Interface of rows, in memory or in a folder."""

    @property
    def tokens(self) -> tuple[str, ...]:
        """Tokens of the frames."""

    @property
    def scenes(self) -> tuple[str, ...] | None:
        """The scene of each frame, if known."""

    @property
    def scores(self) -> Scores:
        """The scores of each frame."""


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """Rows in memory."""

    tokens: tuple[str, ...]
    scenes: tuple[str, ...] | None
    scores: Scores


def pick_rows(rows: Rows, frames: Sequence[int]) -> MemoryRows:
    """Return the rows of some frames, in the given order."""
    order = np.asarray(frames, np.int64)
    where = order.tolist()
    scenes = None if rows.scenes is None else tuple(rows.scenes[i] for i in where)
    return MemoryRows(tuple(rows.tokens[i] for i in where), scenes, rows.scores.at(order))
