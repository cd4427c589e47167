"""The rows that an accumulator keeps, and the settings they were computed with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mapgauge.evaluation.scene_frames import SceneFrames
from mapgauge.frames.content_hash import HASH_BYTES, added_hashes, frame_hashes, hash_text
from mapgauge.frames.map_frames import MapFrames
from mapgauge.metrics.table import METRICS
from mapgauge.protocols import Protocol
from mapgauge.scoring.scores import Scores

TALLIES = 3  # columns of ``BatchRows.tally``


class ScoringSettings(NamedTuple):
    """The settings of an accumulator. Only accumulators with equal settings can be merged."""

    protocol: Protocol
    metrics: tuple[str, ...]
    classes: tuple[str, ...]  # that are evaluated

    @property
    def of_frames(self) -> tuple[str, ...]:
        """Metrics that are computed when a frame arrives."""
        return tuple(name for name in self.metrics if METRICS[name].level == "frame")

    @property
    def of_scenes(self) -> tuple[str, ...]:
        """Metrics that are computed when all frames are there."""
        return tuple(name for name in self.metrics if METRICS[name].level == "scene")


@dataclass(frozen=True, eq=False)
class BatchRows:
    """The rows of some frames."""

    scores: Scores  # of metrics of frames
    tally: NDArray[np.int64]  # (frames, 3): predictions dropped, targets dropped, whether predictions lacked the frame
    tokens: tuple[str, ...]  # "" for a frame without a token
    scenes: tuple[str, ...]  # "" for an unknown scene
    hashes: NDArray[np.uint8]  # (frames, 2, 16): content hash of predictions and truth; zeros for a frame without any
    kept: SceneFrames | None = None  # the frames themselves, if there are metrics of scenes

    @classmethod
    def concatenate(cls, parts: Sequence["BatchRows"]) -> "BatchRows":
        """Concatenate the rows of several batches."""
        kept = [part.kept for part in parts if part.kept is not None]
        return cls(
            Scores.concatenate([part.scores for part in parts]),
            np.concatenate([part.tally for part in parts]),
            tuple(token for part in parts for token in part.tokens),
            tuple(scene for part in parts for scene in part.scenes),
            np.concatenate([part.hashes for part in parts]),
            SceneFrames.concatenate(kept) if kept else None,
        )

    def at(self, frames: Sequence[int]) -> "BatchRows":
        """Return the rows of some frames."""
        return BatchRows(
            self.scores.at(np.asarray(frames, np.int64)),
            self.tally[list(frames)],
            picked(self.tokens, frames),
            picked(self.scenes, frames),
            self.hashes[list(frames)],
            None if self.kept is None else self.kept.at(frames),
        )

    def hash_of(self, side: int) -> str:
        """Return the content hash of the predictions (0) or of the truth (1), in the same form as ``Input.hash``."""
        data = self.hashes[:, side].tobytes()
        parts = [data[i : i + HASH_BYTES] for i in range(0, len(data), HASH_BYTES)]
        return hash_text(added_hashes([int.from_bytes(part, "little") for part in parts]))


def hashes_of(
    predictions: MapFrames, truth: MapFrames, tokens: Sequence[str], tracks: tuple[bool, bool]
) -> NDArray[np.uint8]:
    """Return the content hashes of the frames of a batch.

    Args:
        predictions: The predictions, before they are aligned. Frames of the truth may be missing.
        truth: The truth.
        tokens: The tokens of the frames of the truth, which may differ from those in ``truth``: "" for none.
        tracks: Whether metrics use the tracks of the predictions and of the truth.
    """
    at = [truth.index[token] for token in predictions.tokens]
    hashes = np.zeros((len(truth), 2, HASH_BYTES), np.uint8)
    for side, frames, places in ((0, predictions, at), (1, truth, range(len(truth)))):
        found = b"".join(frame_hashes(frames, picked(tuple(tokens), places), tracks=tracks[side]))
        hashes[list(places), side] = np.frombuffer(found, np.uint8).reshape(-1, HASH_BYTES)
    return hashes


def picked(texts: tuple[str, ...], frames: Sequence[int]) -> tuple[str, ...]:
    """Return the strings of some frames."""
    return tuple(texts[i] for i in frames)
