"""The rows that an accumulator keeps, and the settings they were computed with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.protocols import Protocol
from mapgauge.scoring.scores import Scores

TALLIES = 3  # columns of ``BatchRows.tally``


class ScoringSettings(NamedTuple):
    """The settings of an accumulator. Only accumulators with equal settings can be merged."""

    protocol: Protocol
    metrics: tuple[str, ...]
    classes: tuple[str, ...]  # that are evaluated


@dataclass(frozen=True, eq=False)
class BatchRows:
    """The rows of some frames."""

    scores: Scores
    tally: NDArray[np.int64]  # (frames, 3): predictions dropped, targets dropped, whether predictions lacked the frame
    tokens: tuple[str, ...]  # "" for a frame without a token
    scenes: tuple[str, ...]  # "" for an unknown scene

    @classmethod
    def concatenate(cls, parts: Sequence["BatchRows"]) -> "BatchRows":
        """Concatenate the rows of several batches."""
        return cls(
            Scores.concatenate([part.scores for part in parts]),
            np.concatenate([part.tally for part in parts]),
            tuple(token for part in parts for token in part.tokens),
            tuple(scene for part in parts for scene in part.scenes),
        )

    def at(self, frames: Sequence[int]) -> "BatchRows":
        """Return the rows of some frames."""
        return BatchRows(
            self.scores.at(np.asarray(frames, np.int64)),
            self.tally[list(frames)],
            picked(self.tokens, frames),
            picked(self.scenes, frames),
        )


def picked(texts: tuple[str, ...], frames: Sequence[int]) -> tuple[str, ...]:
    """Return the strings of some frames."""
    return tuple(texts[i] for i in frames)
