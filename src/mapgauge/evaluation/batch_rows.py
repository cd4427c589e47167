"""The rows that an accumulator keeps of the frames it has seen, and the settings they belong to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.protocols import Protocol
from mapgauge.scoring.scores import Scores

TALLIES = 3  # columns of ``BatchRows.tally``


class ScoringSettings(NamedTuple):
    """What defines the numbers; only accumulators with equal settings merge."""

    protocol: Protocol
    metrics: tuple[str, ...]
    classes: tuple[str, ...]  # that are compared


@dataclass(frozen=True, eq=False)
class BatchRows:
    """What is kept of some frames."""

    scores: Scores
    tally: NDArray[np.int64]  # (frames, 3): predictions dropped, targets dropped, whether predictions lacked the frame
    tokens: tuple[str, ...]  # "" for a frame without a name
    scenes: tuple[str, ...]  # "" where none is known

    @classmethod
    def concatenate(cls, parts: Sequence["BatchRows"]) -> "BatchRows":
        """Rows of several batches as one."""
        return cls(
            Scores.concatenate([part.scores for part in parts]),
            np.concatenate([part.tally for part in parts]),
            tuple(token for part in parts for token in part.tokens),
            tuple(scene for part in parts for scene in part.scenes),
        )

    def at(self, frames: Sequence[int]) -> "BatchRows":
        """The rows of some frames."""
        return BatchRows(
            self.scores.at(np.asarray(frames, np.int64)),
            self.tally[list(frames)],
            picked(self.tokens, frames),
            picked(self.scenes, frames),
        )


def picked(texts: tuple[str, ...], frames: Sequence[int]) -> tuple[str, ...]:
    """The texts of some frames."""
    return tuple(texts[i] for i in frames)
